//! How much room a directory takes: what its files hold, added up.

use std::fs;
use std::path::Path;

/// Files below a directory, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DirectorySize {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl DirectorySize {
    /// What cannot be looked at, because it is gone by now, counts nothing.
    pub(crate) fn of(directory: &Path) -> Self {
        let mut size = DirectorySize::default();
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                let below = DirectorySize::of(&entry.path());
                size.files += below.files;
                size.bytes += below.bytes;
            } else {
                size.files += 1;
                size.bytes += found.len();
            }
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_are_counted() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("log")).unwrap();
        for (name, text) in [("MANIFEST", "abc"), ("log/1.log", "defgh"), ("LOCK", "")] {
            fs::write(directory.path().join(name), text).unwrap();
        }
        assert_eq!(DirectorySize::of(directory.path()), DirectorySize { files: 3, bytes: 8 });
        assert_eq!(DirectorySize::of(&directory.path().join("none")), DirectorySize::default());
    }
}
