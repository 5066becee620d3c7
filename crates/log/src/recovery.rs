//! Reading a log from its start after a crash or a clean end, whichever it was.
//!
//! ```text
//!   …00001.log          …0002f.log          …00051.log  newest
//!  [header|r|r|r|r]    [header|r|r|r]      [header|r|r|~~~]
//!   └ any fault here or in a gap between     └ a fault here is a torn tail, unless a later
//!     files is damage: it was synced           record says that these bytes were synced
//! ```
//!
//! A commit that comes in parts is visited once its end is found; parts without one are a torn tail, too. Zeros up to
//! the end of a file are room made ahead, and no fault.
//!
//! Files that hold nothing behind `after` are not read, so that opening takes no longer for the history kept.
//!
//! That the newest files are missing, or cut off where a record ends, the log does not tell by itself: whoever opens it says
//! which commits were in it.
//!
//! Invariant: what is visited is an unbroken run of whole records from `after + 1` on, and every record that was
//! ever synced is in it, or an error names the place.

use std::path::{Path, PathBuf};

use evergraph_disk::{Access, Corruption, Disk, DiskError};
use evergraph_types::Sequence;

use crate::directory::{file_path, file_sequences};
use crate::file::{Fault, FileBytes, Record};
use crate::format::{FILE_HEADER_BYTES, FileIdentity, RecordKind};
use crate::{LogError, ReplayError};

/// What is asked of a log when it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Commits after this one are visited.
    pub after: Sequence,
    /// Commits after this one must be there …
    pub needed_after: Sequence,
    /// … up to this one, which the caller knows to have been durable.
    pub needed_through: Sequence,
}

impl Wanted {
    /// The commits after this one, whatever there is of them.
    pub fn after(after: Sequence) -> Self {
        Wanted { after, needed_after: after, needed_through: after }
    }
}

/// What reading the log found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// How many records were visited.
    pub records: u64,
    /// The last commit: that of the log, or `after` where the log ends before it.
    pub last_sequence: Sequence,
    /// What a crash left unfinished at the end.
    pub torn: Option<TornTail>,
}

/// The end of the log that a crash left unfinished, or whoever gave up a commit in parts: it holds no commit that was
/// acknowledged as durable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TornTail {
    /// The newest file.
    pub path: PathBuf,
    /// Where its whole records end, in bytes, without those of a commit that has no end.
    pub offset: u64,
    /// How many bytes follow there.
    pub bytes: u64,
    /// Why they are no commit.
    pub what: String,
}

/// One file of the log as it was found.
#[derive(Clone, Debug)]
pub(crate) struct FoundFile {
    pub(crate) path: PathBuf,
    pub(crate) first_sequence: Sequence,
    /// The last commit in it; one less than the first if there is none.
    pub(crate) last_sequence: Sequence,
    /// The format it was begun in; 0 if the header is not whole or was not looked at.
    pub(crate) version: u32,
    /// The whole records, without those of a commit that has no end, and the header; 0 if not even that is whole.
    pub(crate) bytes: u64,
    /// The length of the file: with room ahead, or what is torn.
    pub(crate) length: u64,
    /// How many bytes from the start are known to have been synced.
    pub(crate) synced_bytes: u64,
    /// Where the last commit record ends.
    pub(crate) commits_end: u64,
}

/// All of the log as it was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) files: Vec<FoundFile>,
    pub(crate) recovery: Recovery,
}

/// Reads the log in `directory` and hands each record with commits that are wanted to `visit`. Changes nothing.
pub(crate) fn read_log<E>(
    disk: &dyn Disk,
    directory: &Path,
    store_id: [u8; 16],
    wanted: Wanted,
    visit: &mut dyn FnMut(Record<'_>) -> Result<(), E>,
) -> Result<Found, ReplayError<E>> {
    let after = wanted.after;
    let mut walk = Walk {
        after,
        visit,
        files: Vec::new(),
        recovery: Recovery { records: 0, last_sequence: after, torn: None },
    };
    let sequences = file_sequences(disk, directory)?;
    for (position, first_sequence) in sequences.iter().copied().enumerate() {
        let path = file_path(directory, first_sequence);
        let next = sequences.get(position + 1).filter(|next| **next <= after.saturating_add(1));
        if let Some(next) = next.filter(|_| first_sequence > 0) {
            walk.pass_over(disk, path, first_sequence, next - 1)?;
            continue;
        }
        let mapping = disk.map(&path)?;
        mapping.advise(Access::Sequential);
        let file =
            FileBytes { bytes: &mapping, start: 0, identity: FileIdentity { store_id, first_sequence } };
        let newest = position + 1 == sequences.len();
        walk.file(path, file, newest)?;
    }
    let found = Found { files: walk.files, recovery: walk.recovery };
    found.check_holds(directory, wanted)?;
    Ok(found)
}

impl Found {
    /// Checks that the commits that must be there are.
    fn check_holds(&self, directory: &Path, wanted: Wanted) -> Result<(), Corruption> {
        let Wanted { needed_after, needed_through, .. } = wanted;
        if needed_through <= needed_after {
            return Ok(());
        }
        let Some((oldest, newest)) = self.files.first().zip(self.files.last()) else {
            let first = needed_after + 1;
            let what =
                format!("commits {first} to {needed_through} were here, but there is no file of the log");
            return Err(Corruption::new(directory, 0, what));
        };
        if newest.last_sequence < needed_through {
            let what = format!(
                "the log ends with commit {}, but commit {needed_through} was in it: the file was cut off, or the one \
                 behind it is missing",
                newest.last_sequence
            );
            return Err(Corruption::new(&newest.path, newest.bytes, what));
        }
        if oldest.first_sequence > needed_after + 1 {
            let what = format!(
                "the log begins with commit {}, but commit {} was in it: the file before it is missing",
                oldest.first_sequence,
                needed_after + 1
            );
            return Err(Corruption::new(&oldest.path, 0, what));
        }
        Ok(())
    }
}

/// The state of reading.
struct Walk<'v, E> {
    after: Sequence,
    visit: &'v mut dyn FnMut(Record<'_>) -> Result<(), E>,
    files: Vec<FoundFile>,
    recovery: Recovery,
}

impl<E> Walk<'_, E> {
    /// Takes in a file that only history needs: it is read when somebody asks for that.
    fn pass_over(
        &mut self,
        disk: &dyn Disk,
        path: PathBuf,
        first_sequence: Sequence,
        last_sequence: Sequence,
    ) -> Result<(), DiskError> {
        let bytes = disk.len(&path)?.unwrap_or(0);
        let (length, synced_bytes, commits_end) = (bytes, bytes, bytes);
        let found = FoundFile {
            path,
            first_sequence,
            last_sequence,
            version: 0,
            bytes,
            length,
            synced_bytes,
            commits_end,
        };
        self.files.push(found);
        Ok(())
    }

    fn file(&mut self, path: PathBuf, file: FileBytes<'_>, newest: bool) -> Result<(), ReplayError<E>> {
        let first_sequence = file.identity.first_sequence;
        let mut found = FoundFile {
            path,
            first_sequence,
            last_sequence: first_sequence.saturating_sub(1),
            version: 0,
            bytes: 0,
            length: file.bytes.len() as u64,
            synced_bytes: 0,
            commits_end: 0,
        };
        let header = file.check_header(&found.path)?;
        self.check_continues(&found)?;
        let fault = match header {
            Err(fault) => Some(fault),
            Ok(version) => {
                found.version = version;
                self.records(&mut found, file)?
            }
        };
        if let Some(fault) = fault {
            self.torn(&found, file, fault, newest)?;
        }
        self.recovery.last_sequence = self.recovery.last_sequence.max(found.last_sequence);
        self.files.push(found);
        Ok(())
    }

    /// Between files there may be gaps only in what is no longer needed: trimming removes files in any order.
    fn check_continues(&self, found: &FoundFile) -> Result<(), LogError> {
        let first = found.first_sequence;
        let next = self.files.last().map(|file| file.last_sequence.saturating_add(1));
        let continues = match next {
            Some(next) => first == next || (first > next && first <= self.after.saturating_add(1)),
            None => first <= self.after.saturating_add(1),
        };
        if first > 0 && continues {
            return Ok(());
        }
        let expected = next.unwrap_or(0).max(self.after.saturating_add(1));
        let what = format!("the file begins with commit {first}, but commit {expected} is expected");
        Err(Corruption::new(&found.path, 0, what).into())
    }

    /// Visits the records; gives the fault that ends them, if one does.
    fn records(
        &mut self,
        found: &mut FoundFile,
        file: FileBytes<'_>,
    ) -> Result<Option<Fault>, ReplayError<E>> {
        let mut offset = FILE_HEADER_BYTES;
        found.bytes = offset as u64;
        found.commits_end = found.bytes;
        // Those of the commit whose end is not found yet.
        let mut parts: Vec<(Record<'_>, usize)> = Vec::new();
        loop {
            let parsed = match file.record_at(offset) {
                Ok(Some(parsed)) => parsed,
                Ok(None) if parts.is_empty() => return Ok(None),
                Ok(None) => return Ok(Some(Fault { offset, what: "the end of the commit is not there" })),
                Err(fault) => return Ok(Some(fault)),
            };
            found.synced_bytes = found.synced_bytes.max(parsed.header.synced_bytes);
            let record = Record::new(&parsed.header, parsed.payload);
            match parsed.header.kind {
                RecordKind::Part => parts.push((record, offset)),
                RecordKind::Commits if !parts.is_empty() => {
                    let what = "another commit follows the parts of one";
                    return Err(Corruption::new(&found.path, offset as u64, what).into());
                }
                RecordKind::Commits | RecordKind::End => {
                    for (part, offset) in parts.drain(..) {
                        self.visit(found, part, offset)?;
                    }
                    self.visit(found, record, offset)?;
                    found.commits_end = parsed.end as u64;
                }
                RecordKind::Mark => {}
            }
            offset = parsed.end;
            if parts.is_empty() {
                found.bytes = offset as u64;
            }
        }
    }

    fn visit(
        &mut self,
        found: &mut FoundFile,
        record: Record<'_>,
        offset: usize,
    ) -> Result<(), ReplayError<E>> {
        let expected = found.last_sequence.saturating_add(1);
        if record.first_sequence != expected {
            let what = format!("the record begins with commit {}, not {expected}", record.first_sequence);
            return Err(Corruption::new(&found.path, offset as u64, what).into());
        }
        if !record.goes_on {
            found.last_sequence = record.last_sequence;
        }
        if record.last_sequence > self.after {
            (self.visit)(record).map_err(ReplayError::Visit)?;
            self.recovery.records += 1;
        }
        Ok(())
    }

    /// Decides that a crash left the fault, or that it is damage.
    fn torn(
        &mut self,
        found: &FoundFile,
        file: FileBytes<'_>,
        fault: Fault,
        newest: bool,
    ) -> Result<(), Corruption> {
        if !newest || file.was_synced(fault) {
            return Err(Corruption::new(&found.path, fault.offset as u64, fault.what));
        }
        self.recovery.torn = Some(TornTail {
            path: found.path.clone(),
            offset: found.bytes,
            bytes: file.bytes.len() as u64 - found.bytes,
            what: fault.what.to_owned(),
        });
        Ok(())
    }
}
