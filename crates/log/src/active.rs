//! The newest file of the log while records are appended to it: what of it is synced, and saying so in the records.
//!
//! Invariant: `synced_bytes` never counts a byte that no successful sync of this process has covered.

use std::path::Path;

use evergraph_disk::{AppendFile, Checksum, Disk, DiskError};
use evergraph_types::Sequence;

use crate::format::{ALIGNMENT, FileIdentity, RecordHeader, RecordKind};

/// The file that is appended to.
#[derive(Debug)]
pub(crate) struct ActiveFile {
    pub(crate) file: Box<dyn AppendFile>,
    pub(crate) identity: FileIdentity,
    /// How many bytes from the start are synced.
    pub(crate) synced_bytes: u64,
    /// Bytes and number of the records not yet synced; marks do not count.
    pub(crate) unsynced_record_bytes: u64,
    pub(crate) unsynced_records: u64,
    /// Whether a record is in the file that no later one vouches for.
    pub(crate) unvouched: bool,
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
        let synced_bytes = file.len();
        Ok(ActiveFile {
            file,
            identity,
            synced_bytes,
            unsynced_record_bytes: 0,
            unsynced_records: 0,
            unvouched: false,
        })
    }

    pub(crate) fn append(
        &mut self,
        kind: RecordKind,
        (first_sequence, last_sequence): (Sequence, Sequence),
        time_micros: i64,
        payload_parts: &[&[u8]],
    ) -> Result<(), DiskError> {
        let mut sum = Checksum::new();
        let mut payload_bytes = 0;
        for part in payload_parts {
            sum.update(part);
            payload_bytes += part.len();
        }
        let offset = self.file.len();
        let header = RecordHeader {
            kind,
            payload_bytes: payload_bytes as u64,
            first_sequence,
            last_sequence,
            time_micros,
            synced_bytes: self.synced_bytes,
            payload_checksum: sum.finish(),
        };
        let header = header.encode(&self.identity, offset);
        let padding = [0; ALIGNMENT];
        let mut parts: Vec<&[u8]> = Vec::with_capacity(payload_parts.len() + 2);
        parts.push(&header);
        parts.extend_from_slice(payload_parts);
        parts.push(&padding[..payload_bytes.next_multiple_of(ALIGNMENT) - payload_bytes]);
        self.file.append_vectored(&parts)?;
        if kind == RecordKind::Commits {
            self.unsynced_records += 1;
            self.unsynced_record_bytes += self.file.len() - offset;
            self.unvouched = true;
        }
        Ok(())
    }

    pub(crate) fn sync(&mut self, last_sequence: Sequence) -> Result<(), DiskError> {
        if self.unsynced_records == 0 {
            return Ok(());
        }
        self.file.sync()?;
        self.synced_bytes = self.file.len();
        let several = self.unsynced_records > 1;
        self.unsynced_records = 0;
        self.unsynced_record_bytes = 0;
        // A single record is vouched for by the next one; of several only the last would be.
        if several { self.mark(last_sequence) } else { Ok(()) }
    }

    pub(crate) fn mark(&mut self, last_sequence: Sequence) -> Result<(), DiskError> {
        self.append(RecordKind::Mark, (last_sequence, last_sequence), 0, &[])?;
        self.unvouched = false;
        Ok(())
    }

    /// Makes all of the file durable, marks included, before a newer file may exist.
    pub(crate) fn seal(mut self) -> Result<(), DiskError> {
        if self.synced_bytes < self.file.len() {
            self.file.sync()?;
        }
        Ok(())
    }
}
