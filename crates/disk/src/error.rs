//! What can go wrong with files: the disk refuses ([`DiskError`]) or it gives back other bytes than were written
//! ([`Corruption`]). Both always name the file.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// An operation the disk did not carry out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DiskError {
    /// The system refused, for a reason without a variant of its own.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: `"append to"`.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// There is no such file or directory.
    #[error("cannot {operation} {}: there is no such file or directory", path.display())]
    NotFound {
        /// What was tried.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
    },
    /// There is a file of this name already.
    #[error("cannot {operation} {}: it exists already", path.display())]
    Exists {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// No space is left.
    #[error("cannot {operation} {}: the disk is full; free some space", path.display())]
    Full {
        /// What was tried.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
    },
    /// Another holder has the lock.
    #[error(
        "{} is locked by {holder}; close the store there, or open it read-only here if it is open read-only there",
        path.display()
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Who holds it, as `process 1234 (python3)`.
        holder: String,
    },
    /// An earlier append or sync of this file failed.
    #[error("{} takes no more writes because an earlier one failed ({reason}); open the store again", path.display())]
    Poisoned {
        /// The file.
        path: PathBuf,
        /// The failure.
        reason: String,
    },
}

impl DiskError {
    /// The error of `operation` on `path`, sorted by kind.
    pub fn from_io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => DiskError::NotFound { operation, path },
            io::ErrorKind::AlreadyExists => DiskError::Exists { operation, path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DiskError::Full { operation, path },
            _ => DiskError::Io { operation, path, source },
        }
    }

    /// The file or directory concerned.
    pub fn path(&self) -> &Path {
        match self {
            DiskError::Io { path, .. }
            | DiskError::NotFound { path, .. }
            | DiskError::Exists { path, .. }
            | DiskError::Full { path, .. }
            | DiskError::Locked { path, .. }
            | DiskError::Poisoned { path, .. } => path,
        }
    }
}

/// Bytes on disk that are not those that were written. Never repaired silently.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{} is damaged at byte {offset}: {what}; restore it from a backup or run `evergraph check` to see all damage",
    path.display()
)]
pub struct Corruption {
    /// The file.
    pub path: PathBuf,
    /// Where in the file, in bytes from its start.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}

impl Corruption {
    /// Damage in `path` at `offset`.
    pub fn new(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        Corruption { path: path.to_owned(), offset, what: what.into() }
    }
}
