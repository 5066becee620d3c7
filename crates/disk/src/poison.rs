//! Refusing writes after a failed one, once for both disks.
//!
//! Invariant: after the first error the file below is not touched again.

use std::fmt::Debug;
use std::path::PathBuf;

use crate::{AppendFile, DiskError};

/// A file to append to that need not remember its failures.
pub(crate) trait RawFile: Send + Debug {
    /// Appends the parts; on an error any part of them may be in the file.
    fn append(&mut self, parts: &[&[u8]]) -> Result<(), DiskError>;
    /// Makes everything appended durable.
    fn sync(&mut self) -> Result<(), DiskError>;
}

/// The [`AppendFile`] over a [`RawFile`].
#[derive(Debug)]
pub(crate) struct PoisonedOnFailure<F> {
    file: F,
    path: PathBuf,
    length: u64,
    failure: Option<String>,
}

impl<F: RawFile> PoisonedOnFailure<F> {
    pub(crate) fn new(file: F, path: PathBuf, length: u64) -> Self {
        PoisonedOnFailure { file, path, length, failure: None }
    }

    fn guarded(&mut self, act: impl FnOnce(&mut F) -> Result<(), DiskError>) -> Result<(), DiskError> {
        if let Some(reason) = &self.failure {
            return Err(DiskError::Poisoned { path: self.path.clone(), reason: reason.clone() });
        }
        act(&mut self.file).inspect_err(|error| self.failure = Some(error.to_string()))
    }
}

impl<F: RawFile> AppendFile for PoisonedOnFailure<F> {
    fn append_vectored(&mut self, parts: &[&[u8]]) -> Result<(), DiskError> {
        self.guarded(|file| file.append(parts))?;
        self.length += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        Ok(())
    }

    fn sync(&mut self) -> Result<(), DiskError> {
        self.guarded(RawFile::sync)
    }

    fn len(&self) -> u64 {
        self.length
    }
}
