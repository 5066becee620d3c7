//! The files of a log directory by name.

use std::path::{Path, PathBuf};

use evergraph_disk::{Disk, DiskError};
use evergraph_types::Sequence;

/// Where the file whose first sequence number is `first` lies.
pub(crate) fn file_path(directory: &Path, first: Sequence) -> PathBuf {
    directory.join(format!("{first:016x}.log"))
}

/// The first sequence numbers of the log files in the directory, ascending. Other files are not ours and are left
/// alone; no directory means no files.
pub(crate) fn file_sequences(disk: &dyn Disk, directory: &Path) -> Result<Vec<Sequence>, DiskError> {
    let names = match disk.list(directory) {
        Err(DiskError::NotFound { .. }) => Vec::new(),
        listed => listed?,
    };
    let mut sequences: Vec<Sequence> = names.iter().filter_map(|name| parse(name)).collect();
    sequences.sort_unstable();
    Ok(sequences)
}

fn parse(name: &str) -> Option<Sequence> {
    let digits = name.strip_suffix(".log")?;
    let sequence = Sequence::from_str_radix(digits, 16).ok()?;
    // One spelling each, so that two names never mean one file.
    (digits == format!("{sequence:016x}")).then_some(sequence)
}
