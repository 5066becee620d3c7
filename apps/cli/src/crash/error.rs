//! What can come out of a kill besides a store that is as it should be.

use std::io;

use thiserror::Error;

/// Why a kill proved nothing, or proved a fault.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrashError {
    /// The writer process could not be started or read.
    #[error("the writer process cannot be run: {0}")]
    Start(#[from] io::Error),
    /// The writer process ended before it was killed.
    #[error("the writer process ended by itself ({status}): {message}")]
    Ended {
        /// How it ended.
        status: String,
        /// What it said.
        message: String,
    },
    /// The store does not open.
    #[error(transparent)]
    Open(#[from] evergraph::OpenError),
    /// The store was closed.
    #[error(transparent)]
    Closed(#[from] evergraph::Closed),
    /// An acknowledged transaction is gone.
    #[error(
        "writer {writer} was told that {acknowledged} transactions are durable, but only {found} are there"
    )]
    Lost {
        /// Which writer.
        writer: u64,
        /// How many transactions it was told are durable.
        acknowledged: u64,
        /// How many are there.
        found: u64,
    },
    /// A transaction is there in part.
    #[error(
        "after {transactions} transactions of writer {writer} there is something else than they wrote: {what}"
    )]
    Torn {
        /// Which writer.
        writer: u64,
        /// How many of its transactions are there.
        transactions: u64,
        /// What differs.
        what: String,
    },
    /// The checksums and invariants of the store do not hold.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}
