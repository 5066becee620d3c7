//! A disk that changes nothing in a directory that is another one by now.
//!
//! ```text
//!  lock net.eg/LOCK ─► ... ─► mv net.eg old.eg ─► another net.eg ─► create net.eg/log/…02.log: refused
//!                                                                   append to …01.log: it is in old.eg, and goes on
//! ```
//!
//! Files are named by paths, and whoever has moved a directory may have put another in its place; the file that was locked tells
//! them apart. It is looked for before each change, so one who moves the directory in the very moment between is not noticed.
//!
//! Invariant: what is outside of the directory is as on the disk below.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::lock::Place;
use crate::{AppendFile, Disk, DiskError, DiskLock, LockMode, Mapping};

/// The disk.
#[derive(Debug)]
pub struct DiskInPlace {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    place: Place,
}

impl DiskInPlace {
    /// The disk for whoever has locked a file in this directory.
    pub fn new(disk: Arc<dyn Disk>, directory: &Path, lock: &DiskLock) -> Self {
        DiskInPlace { disk, directory: directory.to_owned(), place: lock.place() }
    }

    fn check(&self, operation: &'static str, path: &Path) -> Result<(), DiskError> {
        if !path.starts_with(&self.directory) || self.place.is_in_place() {
            return Ok(());
        }
        let directory = self.directory.display();
        let source = io::Error::other(format!("{directory} was moved or removed while the store was open"));
        Err(DiskError::Io { operation, path: path.to_owned(), source })
    }
}

impl Disk for DiskInPlace {
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.check("create directory", path)?;
        self.disk.create_dir_all(path)
    }

    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
        self.check("create", path)?;
        self.disk.create(path)
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
        self.check("open", path)?;
        self.disk.open_append(path)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        self.disk.read(path)
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> Result<Vec<u8>, DiskError> {
        self.disk.read_at(path, offset, length)
    }

    fn map(&self, path: &Path) -> Result<Mapping, DiskError> {
        self.disk.map(path)
    }

    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError> {
        self.disk.len(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.check("rename", from)?;
        self.check("rename", to)?;
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.check("remove", path)?;
        self.disk.remove(path)
    }

    fn truncate(&self, path: &Path, length: u64) -> Result<(), DiskError> {
        self.check("truncate", path)?;
        self.disk.truncate(path, length)
    }

    fn rewrite(&self, path: &Path, offset: u64) -> Result<(), DiskError> {
        self.check("rewrite", path)?;
        self.disk.rewrite(path, offset)
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, DiskError> {
        self.disk.list(directory)
    }

    fn sync_dir(&self, directory: &Path) -> Result<(), DiskError> {
        self.disk.sync_dir(directory)
    }

    fn free_bytes(&self, directory: &Path) -> Option<u64> {
        self.disk.free_bytes(directory)
    }

    fn lock(&self, path: &Path, mode: LockMode) -> Result<DiskLock, DiskError> {
        self.disk.lock(path, mode)
    }
}
