//! The edge log: every commit, in order, on disk before it is acknowledged.
//!
//! [`Log`] appends, syncs and trims; opening it recovers what a crash left. [`LogReader`] follows it from any
//! sequence number on while it grows. A commit that is too large for one record is appended in parts. The bytes are drawn in
//! `format.rs`; what a record's payload means is not known here.

mod active;
mod directory;
mod error;
mod file;
mod format;
mod reader;
mod recovery;
mod writer;

pub use error::{LogError, ReplayError};
pub use file::Record;
pub use format::FORMAT_VERSION;
pub use reader::LogReader;
pub use recovery::{Recovery, TornTail, Wanted};
pub use writer::{Log, LogOptions, LogRoom, LogSync, LogTrim, Synced, Trimmed};
