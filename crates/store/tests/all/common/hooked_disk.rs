//! A disk that lets something happen in the middle of what a store does.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use evergraph_disk::{AppendFile, Disk, DiskError, DiskLock, LockMode, Mapping, SharedFile};
use parking_lot::Mutex;

/// The disk.
pub(crate) struct HookedDisk {
    disk: Arc<dyn Disk>,
    hook: Arc<Mutex<Option<Hook>>>,
    /// How long each sync takes beside what it does.
    sync_time: Duration,
}

/// What happens once, when a file with this extension is created, read in part, synced or removed.
struct Hook {
    call: Call,
    extension: &'static str,
    run: Box<dyn FnOnce() + Send>,
}

/// A hook that waits, as seen from outside.
pub(crate) struct Pause {
    begun: Receiver<()>,
    release: Sender<()>,
}

impl Pause {
    /// The pause, and the hook that waits from when it is called until the pause ends.
    pub(crate) fn new() -> (Self, impl FnOnce() + Send + 'static) {
        let (begin, begun) = channel();
        let (release, is_released) = channel();
        let hook = move || {
            begin.send(()).expect("it is waited for");
            is_released.recv().expect("it is sent");
        };
        (Pause { begun, release }, hook)
    }

    /// Waits until it has begun.
    pub(crate) fn begun(&self, what: &str) {
        self.begun.recv().unwrap_or_else(|_| panic!("{what}"));
    }

    pub(crate) fn end(&self) {
        self.release.send(()).expect("it waits");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Create,
    Read,
    Sync,
    Remove,
}

impl HookedDisk {
    pub(crate) fn over(disk: Arc<dyn Disk>) -> Arc<Self> {
        HookedDisk::slow(disk, Duration::ZERO)
    }

    /// A disk on which each sync takes at least so long.
    pub(crate) fn slow(disk: Arc<dyn Disk>, sync_time: Duration) -> Arc<Self> {
        Arc::new(HookedDisk { disk, hook: Arc::default(), sync_time })
    }

    /// Lets something happen when the next file with this extension is created.
    pub(crate) fn when_creating(&self, extension: &'static str, run: impl FnOnce() + Send + 'static) {
        *self.hook.lock() = Some(Hook { call: Call::Create, extension, run: Box::new(run) });
    }

    /// Lets something happen before a part of a file with this extension is read the next time.
    pub(crate) fn when_reading(&self, extension: &'static str, run: impl FnOnce() + Send + 'static) {
        *self.hook.lock() = Some(Hook { call: Call::Read, extension, run: Box::new(run) });
    }

    /// Lets something happen before a file with this extension is synced the next time.
    pub(crate) fn when_syncing(&self, extension: &'static str, run: impl FnOnce() + Send + 'static) {
        *self.hook.lock() = Some(Hook { call: Call::Sync, extension, run: Box::new(run) });
    }

    /// Lets something happen before a file with this extension is removed the next time.
    pub(crate) fn when_removing(&self, extension: &'static str, run: impl FnOnce() + Send + 'static) {
        *self.hook.lock() = Some(Hook { call: Call::Remove, extension, run: Box::new(run) });
    }

    /// Lets nothing happen any more.
    pub(crate) fn forget(&self) {
        self.hook.lock().take();
    }

    fn hooked(&self, file: Box<dyn AppendFile>, path: &Path) -> Box<dyn AppendFile> {
        let shared = HookedShared {
            file: file.shared(),
            path: path.to_owned(),
            hook: self.hook.clone(),
            sync_time: self.sync_time,
        };
        Box::new(HookedFile { file, shared: Arc::new(shared) })
    }
}

/// Lets happen what is to happen with a call for a file.
fn run(hook: &Mutex<Option<Hook>>, call: Call, path: &Path) {
    let is_meant = |hook: &mut Hook| {
        hook.call == call && path.extension().is_some_and(|extension| extension == hook.extension)
    };
    let meant = hook.lock().take_if(is_meant);
    if let Some(hook) = meant {
        (hook.run)();
    }
}

struct HookedFile {
    file: Box<dyn AppendFile>,
    shared: Arc<HookedShared>,
}

impl AppendFile for HookedFile {
    fn append_vectored(&mut self, parts: &[&[u8]]) -> Result<(), DiskError> {
        self.file.append_vectored(parts)
    }
    fn shared(&self) -> Arc<dyn SharedFile> {
        self.shared.clone()
    }
    fn make_room(&mut self, length: u64) {
        self.file.make_room(length);
    }
    fn room_end(&self) -> u64 {
        self.file.room_end()
    }
    fn cut_room(&mut self) -> Result<(), DiskError> {
        self.file.cut_room()
    }
    fn len(&self) -> u64 {
        self.file.len()
    }
}

impl fmt::Debug for HookedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookedFile")
    }
}

struct HookedShared {
    file: Arc<dyn SharedFile>,
    path: PathBuf,
    hook: Arc<Mutex<Option<Hook>>>,
    sync_time: Duration,
}

impl SharedFile for HookedShared {
    fn sync(&self) -> Result<(), DiskError> {
        run(&self.hook, Call::Sync, &self.path);
        std::thread::sleep(self.sync_time);
        self.file.sync()
    }

    fn make_room(&self, length: u64) {
        self.file.make_room(length);
    }
}

impl fmt::Debug for HookedShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookedShared")
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
        run(&self.hook, Call::Create, path);
        Ok(self.hooked(self.disk.create(path)?, path))
    }
    fn open_append(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
        Ok(self.hooked(self.disk.open_append(path)?, path))
    }
    fn read(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        self.disk.read(path)
    }
    fn read_at(&self, path: &Path, offset: u64, length: usize) -> Result<Vec<u8>, DiskError> {
        run(&self.hook, Call::Read, path);
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
        run(&self.hook, Call::Remove, path);
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
