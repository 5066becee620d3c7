//! The lock that keeps a second writer out of a store.
//!
//! The system's lock on an open file decides; the process number written into the file only names the holder for
//! the error message. So a killed process leaves no lock behind, and two opens in one process conflict as well.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{DiskError, LockMode};

/// A lock held; dropping it gives it back.
#[derive(Debug)]
pub struct DiskLock {
    /// Gives the lock back on drop.
    holder: Box<dyn Holder>,
}

/// What gives a lock back when it is dropped.
pub(crate) trait Holder: Send + Sync + Debug {
    /// Where the lock was taken.
    fn place(&self) -> Place {
        Place::default()
    }
}

/// Which file was locked, by its path and by what tells it from any other, where there is anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place(Option<(PathBuf, FileIdentity)>);

/// Device and inode.
type FileIdentity = (u64, u64);

impl Place {
    /// Whether that file is the one at its path still. If not, somebody has moved or removed the directory, and what is at the
    /// path now may be another's.
    pub(crate) fn is_in_place(&self) -> bool {
        let Place(locked) = self;
        locked
            .as_ref()
            .is_none_or(|(path, own)| fs::metadata(path).is_ok_and(|there| identity(&there) == Some(*own)))
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Option<FileIdentity> {
    None
}

impl DiskLock {
    pub(crate) fn new(holder: impl Holder + 'static) -> Self {
        DiskLock { holder: Box::new(holder) }
    }

    /// Where it was taken.
    pub(crate) fn place(&self) -> Place {
        self.holder.place()
    }
}

/// The locks of a disk that no other process sees.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockTable {
    /// Holders by path: -1 is one exclusive holder, `n` are `n` shared ones.
    holders: Arc<Mutex<BTreeMap<PathBuf, isize>>>,
}

impl LockTable {
    /// Takes the lock at `path`.
    pub(crate) fn lock(&self, path: &Path, mode: LockMode) -> Result<DiskLock, DiskError> {
        let mut all = self.holders.lock();
        let holders = all.entry(path.to_owned()).or_insert(0);
        match mode {
            LockMode::Exclusive if *holders == 0 => *holders = -1,
            LockMode::Shared if *holders >= 0 => *holders += 1,
            _ => {
                let holder = format!("process {} (simulated)", std::process::id());
                return Err(DiskError::Locked { path: path.to_owned(), holder });
            }
        }
        Ok(DiskLock::new(TableHolder { table: self.clone(), path: path.to_owned() }))
    }
}

#[derive(Debug)]
struct TableHolder {
    table: LockTable,
    path: PathBuf,
}

impl Holder for TableHolder {}

impl Drop for TableHolder {
    fn drop(&mut self) {
        if let Some(holders) = self.table.holders.lock().get_mut(&self.path) {
            *holders = (*holders - 1).max(0);
        }
    }
}

/// A locked file of the operating system.
#[derive(Debug)]
struct LockedFile {
    file: File,
    path: PathBuf,
    mode: LockMode,
}

impl Holder for LockedFile {
    fn place(&self) -> Place {
        let own = self.file.metadata().ok().and_then(|own| identity(&own));
        Place(own.map(|own| (self.path.clone(), own)))
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if self.mode == LockMode::Exclusive {
            // So that the next conflict, with readers, does not name this process. Failing is harmless.
            let _ = self.file.set_len(0);
        }
        // Closing the file alone would not do: a process forked meanwhile has it open as well.
        let _ = self.file.unlock();
    }
}

/// Takes the lock of the operating system at `path`.
pub(crate) fn lock_file(path: &Path, mode: LockMode) -> Result<DiskLock, DiskError> {
    let failed = |source| DiskError::from_io("lock", path, source);
    let mut file = open(path, mode).map_err(failed)?;
    let attempt = match mode {
        LockMode::Exclusive => file.try_lock(),
        LockMode::Shared => file.try_lock_shared(),
    };
    match attempt {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = if is_only_read(&file, mode) { READER.to_owned() } else { holder(&mut file) };
            return Err(DiskError::Locked { path: path.to_owned(), holder });
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    if mode == LockMode::Exclusive {
        write_holder(&mut file).map_err(failed)?;
    }
    Ok(DiskLock::new(LockedFile { file, path: path.to_owned(), mode }))
}

fn open(path: &Path, mode: LockMode) -> std::io::Result<File> {
    if mode == LockMode::Shared {
        // Readers may lack the right to write.
        if let Ok(file) = File::open(path) {
            return Ok(file);
        }
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

fn write_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// Whoever holds the lock to read; the file does not say who.
const READER: &str = "a process that reads it, this one or another";

/// Whether it is readers that keep a writer out: then the number in the file is that of a writer who was killed.
fn is_only_read(file: &File, wanted: LockMode) -> bool {
    let is_shared = wanted == LockMode::Exclusive && file.try_lock_shared().is_ok();
    if is_shared {
        // Closing the file gives it back as well.
        let _ = file.unlock();
    }
    is_shared
}

/// Names the holder by the process number in the lock file; readers do not leave theirs.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(32).read_to_string(&mut text));
    let Some(process) = read.ok().and_then(|_| text.trim().parse::<u32>().ok()) else {
        return READER.to_owned();
    };
    let here = if process == std::process::id() { ", this one" } else { "" };
    match fs::read_to_string(format!("/proc/{process}/comm")) {
        Ok(name) => format!("process {process} ({}{here})", name.trim_end()),
        Err(_) => format!("process {process}"),
    }
}
