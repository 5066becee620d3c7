//! Refusing writes after a failed one, once for both disks.
//!
//! Invariant: after the first error the file below is not touched again, but by an append or a sync that was under way
//! when it came. Syncs follow each other: the system tells one of them of a failure, and the next must not pass for a
//! success.

use std::fmt::Debug;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::{AppendFile, DiskError, SyncFile};

/// A file to append to that need not remember its failures.
pub(crate) trait RawFile: Send + Sync + Debug {
    /// Writes the parts from `offset` on, where the call before ended; on an error any part of them may be in the file.
    fn append(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError>;
    /// Lengthens the file with zeros from `range.start` on; on an error any part of them may be in it.
    fn make_room(&self, range: Range<u64>) -> Result<(), DiskError>;
    /// Cuts the file to so many bytes.
    fn cut(&self, length: u64) -> Result<(), DiskError>;
    /// Makes everything appended durable.
    fn sync(&self) -> Result<(), DiskError>;
}

/// The [`AppendFile`] over a [`RawFile`].
#[derive(Debug)]
pub(crate) struct PoisonedOnFailure<F> {
    shared: Arc<Guarded<F>>,
    length: u64,
    room_end: u64,
}

/// What whoever appends shares with whoever syncs.
#[derive(Debug)]
struct Guarded<F> {
    file: F,
    path: PathBuf,
    failure: OnceLock<String>,
    syncing: Mutex<()>,
}

impl<F: RawFile> PoisonedOnFailure<F> {
    pub(crate) fn new(file: F, path: PathBuf, length: u64) -> Self {
        let shared = Guarded { file, path, failure: OnceLock::new(), syncing: Mutex::default() };
        PoisonedOnFailure { shared: Arc::new(shared), length, room_end: length }
    }
}

impl<F> Guarded<F> {
    fn guarded(&self, act: impl FnOnce(&F) -> Result<(), DiskError>) -> Result<(), DiskError> {
        if let Some(reason) = self.failure.get() {
            return Err(DiskError::Poisoned { path: self.path.clone(), reason: reason.clone() });
        }
        act(&self.file).inspect_err(|error| drop(self.failure.set(error.to_string())))
    }
}

impl<F: RawFile + 'static> AppendFile for PoisonedOnFailure<F> {
    fn append_vectored(&mut self, parts: &[&[u8]]) -> Result<(), DiskError> {
        self.shared.guarded(|file| file.append(self.length, parts))?;
        self.length += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        self.room_end = self.room_end.max(self.length);
        Ok(())
    }

    fn make_room(&mut self, length: u64) {
        if self.shared.failure.get().is_none() && length > self.room_end {
            // Of what may fail here nothing was promised to anyone.
            drop(self.shared.file.make_room(self.room_end..length));
            self.room_end = length;
        }
    }

    fn room_end(&self) -> u64 {
        self.room_end
    }

    fn cut_room(&mut self) -> Result<(), DiskError> {
        if self.room_end > self.length {
            self.shared.guarded(|file| file.cut(self.length))?;
            self.room_end = self.length;
        }
        Ok(())
    }

    fn syncer(&self) -> Arc<dyn SyncFile> {
        self.shared.clone()
    }

    fn len(&self) -> u64 {
        self.length
    }
}

impl<F: RawFile> SyncFile for Guarded<F> {
    fn sync(&self) -> Result<(), DiskError> {
        let _syncing = self.syncing.lock();
        self.guarded(RawFile::sync)
    }
}
