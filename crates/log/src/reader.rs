//! Following the log from a sequence number on, without disturbing the writer.
//!
//! Invariant: the caller says through which commit the log is synced, and nothing beyond that is looked at; so
//! whatever the writer is in the middle of appending is never seen, nor are parts of a commit that has no end.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evergraph_disk::{Corruption, Disk, DiskError};
use evergraph_types::Sequence;

use crate::LogError;
use crate::directory::{file_path, file_sequences};
use crate::file::{FileBytes, Record};
use crate::format::{FILE_HEADER_BYTES, FileIdentity, RECORD_HEADER_BYTES, RecordHeader, RecordKind};

/// How many bytes are read at a time, at least; more where a record is longer …
const READ_BYTES: usize = 1 << 18;

/// … and fewer where the writer has been followed to the last record: behind the next one there will be room for the most part.
const TAIL_BYTES: usize = 1 << 14;

/// Reads records in order. The writer may append and trim meanwhile.
#[derive(Debug)]
pub struct LogReader {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    store_id: [u8; 16],
    next_sequence: Sequence,
    /// Whether a part of the next commit was read.
    has_begun: bool,
    file: Option<OpenFile>,
}

/// The file being read.
#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    identity: FileIdentity,
    /// A part of the file that begins at `start`.
    bytes: Vec<u8>,
    start: usize,
    /// The last commit known to be synced when they were read.
    through: Sequence,
    /// Where in the file the next record begins.
    offset: usize,
}

impl LogReader {
    /// A reader of the log in `directory` whose first record will be the one with the commit `from`. Touches no
    /// file yet.
    pub fn new(disk: Arc<dyn Disk>, directory: &Path, store_id: [u8; 16], from: Sequence) -> Self {
        LogReader {
            disk,
            directory: directory.to_owned(),
            store_id,
            next_sequence: from.max(1),
            has_begun: false,
            file: None,
        }
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
        self.has_begun = found.header.kind == RecordKind::Part;
        if !self.has_begun {
            self.next_sequence = found.header.last_sequence.saturating_add(1);
        }
        let payload = file.bytes.get(found.payload).unwrap_or_default();
        Ok(Some(Record::new(&found.header, payload)))
    }

    /// The first commit not read yet, or not to its end: where to go on later.
    pub fn next_sequence(&self) -> Sequence {
        self.next_sequence
    }

    /// Where the next record is looked for: the file and the offset in it; the directory before the first one was.
    pub fn place(&self) -> (&Path, u64) {
        let file = self.file.as_ref();
        file.map_or((&self.directory, 0), |file| (&file.path, file.offset as u64))
    }

    /// Finds the record with the next commit, in the open file or the one it goes on in.
    fn find(&mut self, through: Sequence) -> Result<Option<Found>, LogError> {
        loop {
            let Some(file) = &mut self.file else {
                self.file = Some(self.open(None, through)?);
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
                    if self.has_begun && header.kind == RecordKind::Commits {
                        return Err(file.corruption("another commit follows the parts of one"));
                    }
                    if header.last_sequence > through {
                        return Ok(None);
                    }
                    if header.kind == RecordKind::Part && header.last_sequence > file.through {
                        // Read before the commit had its end: it may be a part of one that was given up.
                        if let ReadOn::Gone = file.read_on(&*self.disk, file.more(), through)? {
                            self.file = None;
                        }
                        continue;
                    }
                    let begin = file.offset - file.start + RECORD_HEADER_BYTES;
                    let found =
                        Found { header, payload: begin..begin + record.payload.len(), end: record.end };
                    return Ok(Some(found));
                }
                Ok(None) => None,
                Err(fault) => Some(fault),
            };
            // Zeros are held: room that the record has come to.
            let is_room = fault.is_none() && !file.held().is_empty();
            let wanted = if is_room { TAIL_BYTES } else { file.more() };
            match (file.read_on(&*self.disk, wanted, through)?, fault) {
                (ReadOn::More, _) => {}
                (ReadOn::Gone, _) => self.file = None,
                (ReadOn::Nothing, Some(fault)) => return Err(file.corruption(fault.what)),
                (ReadOn::Nothing, None) if self.has_begun => {
                    return Err(file.corruption("the end of the commit is not there"));
                }
                (ReadOn::Nothing, None) => self.file = Some(self.open(self.file.as_ref(), through)?),
            }
        }
    }

    /// Opens the file that holds the next commit, which must be another than the one read to its end.
    fn open(&self, exhausted: Option<&OpenFile>, through: Sequence) -> Result<OpenFile, LogError> {
        loop {
            let sequences = file_sequences(&*self.disk, &self.directory)?;
            let holding = sequences.iter().copied().rfind(|first| *first <= self.next_sequence);
            let Some(first_sequence) = holding else {
                let first = sequences.first().copied();
                let (directory, asked) = (self.directory.clone(), self.next_sequence);
                return Err(LogError::Trimmed { directory, asked, first });
            };
            if let Some(file) = exhausted.filter(|file| file.identity.first_sequence == first_sequence) {
                return Err(file.corruption(format!("the file ends before commit {}", self.next_sequence)));
            }
            let path = file_path(&self.directory, first_sequence);
            let bytes = match self.disk.read_at(&path, 0, READ_BYTES) {
                // Trimmed since it was listed.
                Err(DiskError::NotFound { .. }) => continue,
                read => read?,
            };
            let identity = FileIdentity { store_id: self.store_id, first_sequence };
            let file = OpenFile { path, identity, bytes, start: 0, through, offset: FILE_HEADER_BYTES };
            if let Err(fault) = file.bytes().check_header(&file.path)? {
                return Err(Corruption::new(&file.path, 0, fault.what).into());
            }
            return Ok(file);
        }
    }
}

/// Where a record lies in the open file: its payload in the bytes held, its end in the file.
struct Found {
    header: RecordHeader,
    payload: Range<usize>,
    end: usize,
}

/// What reading on in a file gave.
enum ReadOn {
    More,
    Nothing,
    Gone,
}

impl OpenFile {
    fn bytes(&self) -> FileBytes<'_> {
        FileBytes { bytes: &self.bytes, start: self.start, identity: self.identity }
    }

    fn corruption(&self, what: impl Into<String>) -> LogError {
        Corruption::new(&self.path, self.offset as u64, what).into()
    }

    /// What was read from the next record on.
    fn held(&self) -> &[u8] {
        self.bytes.get(self.offset.saturating_sub(self.start)..).unwrap_or_default()
    }

    /// How many bytes to read where those that are held are too few.
    fn more(&self) -> usize {
        READ_BYTES.max(2 * self.held().len())
    }

    /// Reads from the next record on so many bytes.
    fn read_on(&mut self, disk: &dyn Disk, wanted: usize, through: Sequence) -> Result<ReadOn, DiskError> {
        let fresh = match disk.read_at(&self.path, self.offset as u64, wanted) {
            Err(DiskError::NotFound { .. }) => return Ok(ReadOn::Gone),
            read => read?,
        };
        self.through = through;
        if fresh == self.held() {
            return Ok(ReadOn::Nothing);
        }
        (self.bytes, self.start) = (fresh, self.offset);
        Ok(ReadOn::More)
    }
}
