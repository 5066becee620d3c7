//! A disk that lets something happen in the middle of what a store does.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use evergraph_disk::{AppendFile, Disk, DiskError, DiskLock, LockMode, Mapping};
use parking_lot::Mutex;

/// The disk.
pub(crate) struct HookedDisk {
    disk: Arc<dyn Disk>,
    hook: Mutex<Option<Hook>>,
}

/// What happens once, when a file with this extension is created.
struct Hook {
    extension: &'static str,
    run: Box<dyn FnOnce() + Send>,
}

impl HookedDisk {
    pub(crate) fn over(disk: Arc<dyn Disk>) -> Arc<Self> {
        Arc::new(HookedDisk { disk, hook: Mutex::new(None) })
    }

    /// Lets something happen when the next file with this extension is created.
    pub(crate) fn when_creating(&self, extension: &'static str, run: impl FnOnce() + Send + 'static) {
        *self.hook.lock() = Some(Hook { extension, run: Box::new(run) });
    }

    /// Lets nothing happen any more.
    pub(crate) fn forget(&self) {
        self.hook.lock().take();
    }
}

impl fmt::Debug for HookedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookedDisk")
    }
}

impl Disk for HookedDisk {
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.create_dir_all(path)
    }
    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
        let is_meant =
            |hook: &mut Hook| path.extension().is_some_and(|extension| extension == hook.extension);
        let hook = self.hook.lock().take_if(is_meant);
        if let Some(hook) = hook {
            (hook.run)();
        }
        self.disk.create(path)
    }
    fn open_append(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
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
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        self.disk.remove(path)
    }
    fn truncate(&self, path: &Path, length: u64) -> Result<(), DiskError> {
        self.disk.truncate(path, length)
    }
    fn rewrite(&self, path: &Path, offset: u64) -> Result<(), DiskError> {
        self.disk.rewrite(path, offset)
    }
    fn list(&self, directory: &Path) -> Result<Vec<String>, DiskError> {
        self.disk.list(directory)
    }
    fn sync_dir(&self, directory: &Path) -> Result<(), DiskError> {
        self.disk.sync_dir(directory)
    }
    fn lock(&self, path: &Path, mode: LockMode) -> Result<DiskLock, DiskError> {
        self.disk.lock(path, mode)
    }
}
