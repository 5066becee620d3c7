//! The newest file of the log while records are appended to it: what of it is synced, and saying so in the records.
//!
//! Invariant: `synced` never counts a byte that no successful sync of this process has covered.

use std::path::Path;
use std::sync::Arc;

use evergraph_disk::{AppendFile, Disk, DiskError, SharedFile, checksum};
use evergraph_types::Sequence;

use crate::LogOptions;
use crate::format::{ALIGNMENT, FileIdentity, RecordHeader, RecordKind};

/// The file that is appended to.
#[derive(Debug)]
pub(crate) struct ActiveFile {
    file: Box<dyn AppendFile>,
    identity: FileIdentity,
    appended: Extent,
    synced: Extent,
    /// The records that a later one says are synced.
    vouched_records: u64,
}

/// How much of the file something is true of, from the start on. Records are those this process knows, without marks.
#[derive(Clone, Copy, Debug)]
struct Extent {
    bytes: u64,
    records: u64,
}

/// What a sync will cover, and with what.
#[derive(Debug)]
pub(crate) struct ActiveSync {
    file: Arc<dyn SharedFile>,
    identity: FileIdentity,
    covered: Extent,
}

impl ActiveSync {
    /// Makes it durable, beside whoever appends more.
    pub(crate) fn run(&self) -> Result<(), DiskError> {
        self.file.sync()
    }
}

/// How long a file is to be.
#[derive(Debug)]
pub(crate) struct ActiveRoom {
    file: Arc<dyn SharedFile>,
    length: u64,
}

impl ActiveRoom {
    /// Makes the room, beside whoever appends.
    pub(crate) fn run(&self) {
        self.file.make_room(self.length);
    }
}

impl ActiveFile {
    pub(crate) fn create(
        disk: &dyn Disk,
        directory: &Path,
        path: &Path,
        identity: FileIdentity,
    ) -> Result<ActiveFile, DiskError> {
        let mut file = disk.create(path)?;
        file.append(&identity.encode())?;
        file.sync()?;
        disk.sync_dir(directory)?;
        let bytes = file.len();
        Ok(ActiveFile::continuing(file, identity, bytes, true))
    }

    /// A file that goes on, so many bytes of which are synced; `is_vouched` says whether its records tell so.
    pub(crate) fn continuing(
        file: Box<dyn AppendFile>,
        identity: FileIdentity,
        synced_bytes: u64,
        is_vouched: bool,
    ) -> ActiveFile {
        let records = u64::from(!is_vouched);
        let synced = Extent { bytes: synced_bytes, records };
        let appended = Extent { bytes: file.len(), records };
        ActiveFile { file, identity, appended, synced, vouched_records: 0 }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.appended.bytes
    }

    /// What no sync of this process has covered.
    pub(crate) fn unsynced_bytes(&self) -> u64 {
        self.appended.bytes - self.synced.bytes
    }

    /// Whether a record is in the file that no later one vouches for.
    fn is_unvouched(&self) -> bool {
        self.vouched_records < self.appended.records
    }

    pub(crate) fn append(
        &mut self,
        kind: RecordKind,
        (first_sequence, last_sequence): (Sequence, Sequence),
        time_micros: i64,
        payload: &[u8],
    ) -> Result<(), DiskError> {
        let offset = self.appended.bytes;
        let header = RecordHeader {
            kind,
            payload_bytes: payload.len() as u64,
            first_sequence,
            last_sequence,
            time_micros,
            synced_bytes: self.synced.bytes,
            payload_checksum: checksum(payload),
        };
        let header = header.encode(&self.identity, offset);
        let padding = [0; ALIGNMENT];
        let padding = &padding[..payload.len().next_multiple_of(ALIGNMENT) - payload.len()];
        self.file.append_vectored(&[&header, payload, padding])?;
        self.vouched_records = self.synced.records;
        self.appended.bytes = self.file.len();
        if kind != RecordKind::Mark {
            self.appended.records += 1;
        }
        Ok(())
    }

    /// A sync of all records, if one is not synced.
    pub(crate) fn begin_sync(&self) -> Option<ActiveSync> {
        let is_wanted = self.synced.records < self.appended.records;
        is_wanted.then(|| ActiveSync {
            file: self.file.shared(),
            identity: self.identity,
            covered: self.appended,
        })
    }

    /// Takes in a sync that succeeded, unless it was of an older file.
    pub(crate) fn end_sync(&mut self, sync: &ActiveSync, last_sequence: Sequence) -> Result<(), DiskError> {
        if sync.identity != self.identity || sync.covered.bytes <= self.synced.bytes {
            return Ok(());
        }
        let several = sync.covered.records > self.synced.records + 1;
        self.synced = sync.covered;
        // A single record is vouched for by the next one; of several only the last would be.
        if several { self.mark(last_sequence) } else { Ok(()) }
    }

    /// Makes room for a record of so many bytes and the ones after it, if it is small beside the room and a step of that is used.
    /// It becomes durable with the record, so that a sync seldom has a new length to record.
    pub(crate) fn make_room(&mut self, payload_bytes: u64, options: LogOptions) {
        let LogOptions { room_bytes, step_bytes, .. } = options;
        let end = self.appended.bytes + room_bytes;
        if payload_bytes <= room_bytes / 4 && self.file.room_end() + step_bytes <= end {
            self.file.make_room(end);
        }
    }

    /// Room for so many bytes behind its last record.
    pub(crate) fn begin_room(&self, ahead: u64) -> ActiveRoom {
        ActiveRoom { file: self.file.shared(), length: self.appended.bytes + ahead }
    }

    /// The room behind its last record.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.file.room_end().saturating_sub(self.appended.bytes)
    }

    /// Leaves the file without room behind its last record.
    pub(crate) fn close(mut self, last_sequence: Sequence) -> Result<(), DiskError> {
        if self.is_unvouched() {
            self.mark(last_sequence)?;
        }
        self.file.cut_room()
    }

    fn mark(&mut self, last_sequence: Sequence) -> Result<(), DiskError> {
        self.append(RecordKind::Mark, (last_sequence, last_sequence), 0, &[])
    }

    /// Makes all of the file durable, marks included, before a newer file may exist.
    pub(crate) fn seal(mut self) -> Result<(), DiskError> {
        let has_room = self.file.room_end() > self.appended.bytes;
        self.file.cut_room()?;
        if has_room || self.synced.bytes < self.appended.bytes { self.file.sync() } else { Ok(()) }
    }
}
