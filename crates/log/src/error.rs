//! What can go wrong with the log, split by what the caller can do.

use std::path::PathBuf;

use evergraph_disk::{Corruption, DiskError};
use evergraph_types::Sequence;
use thiserror::Error;

/// The log could not do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// Bytes that had been synced are not what was written, or a part of the log is missing.
    #[error(transparent)]
    Corruption(#[from] Corruption),
    /// The log was written by a newer program.
    #[error(
        "{} is in log format {found}, but this program reads formats up to {supported}; use a newer Evergraph",
        path.display()
    )]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version this program reads.
        supported: u32,
    },
    /// The file belongs to another store.
    #[error("{} belongs to another store; move it away", path.display())]
    OtherStore {
        /// The file.
        path: PathBuf,
    },
    /// The commits asked for have been trimmed away.
    #[error(
        "commit {asked} is no longer in the log, which begins with {}; start from a snapshot instead",
        first.map_or("nothing".to_owned(), |first| format!("commit {first}"))
    )]
    Trimmed {
        /// Where the log lies.
        directory: PathBuf,
        /// The sequence number asked for.
        asked: Sequence,
        /// The first one there is, if any.
        first: Option<Sequence>,
    },
    /// Commits must be appended without gaps.
    #[error("commits {first} to {last} cannot be appended: the next commit is {expected}")]
    OutOfOrder {
        /// The sequence number expected.
        expected: Sequence,
        /// The first one given.
        first: Sequence,
        /// The last one given.
        last: Sequence,
    },
    /// A commit was begun in parts, and has no end yet.
    #[error("no other commit can be appended before the end of commit {sequence}")]
    Unfinished {
        /// The commit.
        sequence: Sequence,
    },
    /// An earlier write or sync failed.
    #[error("the log takes no more commits because an earlier write failed ({reason}); open the store again")]
    Poisoned {
        /// The failure.
        reason: String,
    },
}

/// Recovery stopped.
#[derive(Debug, Error)]
pub enum ReplayError<E> {
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The visitor refused a record.
    #[error("{0}")]
    Visit(E),
}

impl<E> From<DiskError> for ReplayError<E> {
    fn from(error: DiskError) -> Self {
        ReplayError::Log(error.into())
    }
}

impl<E> From<Corruption> for ReplayError<E> {
    fn from(corruption: Corruption) -> Self {
        ReplayError::Log(corruption.into())
    }
}
