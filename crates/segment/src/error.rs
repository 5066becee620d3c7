//! Why a segment was not written or not opened. Every message names the file.

use std::path::PathBuf;

use evergraph_disk::{Corruption, DiskError};
use thiserror::Error;

use crate::SectionId;

/// A segment that could not be written or must not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The file holds other bytes than were written.
    #[error(transparent)]
    Corrupt(#[from] Corruption),
    /// The file is whole, but written by a later release.
    #[error(
        "{} is a segment of format {found}, and this release reads up to format {supported}; \
         open the store with the release that wrote it or a later one",
        path.display()
    )]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The format it is in.
        found: u32,
        /// The latest format this release reads.
        supported: u32,
    },
    /// The file is whole, but a segment of another store.
    #[error(
        "{} is a segment of another store; put back the file that belongs here, or restore the store from a backup",
        path.display()
    )]
    WrongStore {
        /// The file.
        path: PathBuf,
    },
    /// The writer was given two sections of one id.
    #[error("{} was not finished because section {id} was begun twice; give each section its own id", path.display())]
    DuplicateSection {
        /// The file.
        path: PathBuf,
        /// The id used twice.
        id: SectionId,
    },
}
