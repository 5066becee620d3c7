//! Following the log from a sequence number on, without disturbing the writer.
//!
//! Invariant: the caller says through which commit the log is synced, and nothing beyond that is looked at; so
//! whatever the writer is in the middle of appending is never seen.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evergraph_disk::{Corruption, Disk, DiskError, Mapping};
use evergraph_types::Sequence;

use crate::LogError;
use crate::directory::{file_path, file_sequences};
use crate::file::{FileBytes, Record};
use crate::format::{FILE_HEADER_BYTES, FileIdentity, RECORD_HEADER_BYTES, RecordHeader, RecordKind};

/// Reads records in order. The writer may append and trim meanwhile.
#[derive(Debug)]
pub struct LogReader {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    store_id: [u8; 16],
    next_sequence: Sequence,
    file: Option<OpenFile>,
}

/// The file being read.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    identity: FileIdentity,
    mapping: Mapping,
    offset: usize,
}

impl LogReader {
    /// A reader of the log in `directory` whose first record will be the one with the commit `from`. Touches no
    /// file yet.
    pub fn new(disk: Arc<dyn Disk>, directory: &Path, store_id: [u8; 16], from: Sequence) -> Self {
        LogReader { disk, directory: directory.to_owned(), store_id, next_sequence: from.max(1), file: None }
    }

    /// The next record, if all its commits are within `through`, the last commit known to be synced; `None` when
    /// there is none yet. Call again with a larger `through`.
    ///
    /// # Errors
    /// [`LogError::Trimmed`] if the reader fell behind what the log still holds; [`LogError::Corruption`] if a
    /// record up to `through` is damaged or missing.
    pub fn next(&mut self, through: Sequence) -> Result<Option<Record<'_>>, LogError> {
        if self.next_sequence > through {
            return Ok(None);
        }
        let found = self.find(through)?;
        let (Some(found), Some(file)) = (found, &mut self.file) else { return Ok(None) };
        file.offset = found.end;
        self.next_sequence = found.header.last_sequence.saturating_add(1);
        let payload = file.mapping.get(found.payload).unwrap_or_default();
        Ok(Some(Record::new(&found.header, payload)))
    }

    /// The first commit not read yet: where to go on later.
    pub fn next_sequence(&self) -> Sequence {
        self.next_sequence
    }

    /// Finds the record with the next commit, in the open file or the one it goes on in.
    fn find(&mut self, through: Sequence) -> Result<Option<Found>, LogError> {
        loop {
            let Some(file) = &mut self.file else {
                self.file = Some(self.open(None)?);
                continue;
            };
            let fault = match file.bytes().record_at(file.offset) {
                Ok(Some(record)) => {
                    let header = record.header;
                    if header.kind == RecordKind::Mark || header.last_sequence < self.next_sequence {
                        file.offset = record.end;
                        continue;
                    }
                    if header.first_sequence > self.next_sequence {
                        return Err(file.corruption(format!("commit {} is missing here", self.next_sequence)));
                    }
                    let begin = file.offset + RECORD_HEADER_BYTES;
                    let found =
                        Found { header, payload: begin..begin + record.payload.len(), end: record.end };
                    return Ok((header.last_sequence <= through).then_some(found));
                }
                Ok(None) => None,
                Err(fault) => Some(fault),
            };
            match (file.refresh(&*self.disk)?, fault) {
                (Refreshed::Longer, _) => {}
                (Refreshed::Gone, _) => self.file = None,
                (Refreshed::Same, Some(fault)) => return Err(file.corruption(fault.what)),
                (Refreshed::Same, None) => self.file = Some(self.open(self.file.as_ref())?),
            }
        }
    }

    /// Opens the file that holds the next commit, which must be another than the one read to its end.
    fn open(&self, exhausted: Option<&OpenFile>) -> Result<OpenFile, LogError> {
        loop {
            let sequences = file_sequences(&*self.disk, &self.directory)?;
            let holding = sequences.iter().copied().rfind(|first| *first <= self.next_sequence);
            let Some(first_sequence) = holding else {
                let first = sequences.first().copied();
                return Err(LogError::Trimmed { asked: self.next_sequence, first });
            };
            if let Some(file) = exhausted.filter(|file| file.identity.first_sequence == first_sequence) {
                return Err(file.corruption(format!("the file ends before commit {}", self.next_sequence)));
            }
            let path = file_path(&self.directory, first_sequence);
            let mapping = match self.disk.map(&path) {
                // Trimmed since it was listed.
                Err(DiskError::NotFound { .. }) => continue,
                mapped => mapped?,
            };
            let identity = FileIdentity { store_id: self.store_id, first_sequence };
            let file = OpenFile { path, identity, mapping, offset: FILE_HEADER_BYTES };
            if let Err(fault) = file.bytes().check_header(&file.path)? {
                return Err(Corruption::new(&file.path, 0, fault.what).into());
            }
            return Ok(file);
        }
    }
}

/// Where a record lies in the open file.
struct Found {
    header: RecordHeader,
    payload: Range<usize>,
    end: usize,
}

/// What became of a file since it was mapped.
enum Refreshed {
    Longer,
    Same,
    Gone,
}

impl OpenFile {
    fn bytes(&self) -> FileBytes<'_> {
        FileBytes { bytes: &self.mapping, identity: self.identity }
    }

    fn corruption(&self, what: impl Into<String>) -> LogError {
        Corruption::new(&self.path, self.offset as u64, what).into()
    }

    /// Maps the file anew if it has grown.
    fn refresh(&mut self, disk: &dyn Disk) -> Result<Refreshed, DiskError> {
        match disk.len(&self.path)? {
            None => return Ok(Refreshed::Gone),
            Some(length) if length <= self.mapping.len() as u64 => return Ok(Refreshed::Same),
            Some(_) => {}
        }
        match disk.map(&self.path) {
            Err(DiskError::NotFound { .. }) => Ok(Refreshed::Gone),
            mapped => {
                self.mapping = mapped?;
                Ok(Refreshed::Longer)
            }
        }
    }
}
