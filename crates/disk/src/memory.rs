//! Files that live in memory only, for stores without a directory that keep history or are followed.
//!
//! ```text
//!  content: [ whole: shared with every mapping ][ tail: appended since ]
//! ```
//!
//! Invariant: bytes once appended stay as they are while any mapping of them lives; nothing here ever fails but for
//! names that are not there, or are there already.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::lock::LockTable;
use crate::{AppendFile, Disk, DiskError, DiskLock, LockMode, Mapping, SharedFile};

/// A disk in memory; clones are handles to the same one. It is gone with the last of them.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    names: Arc<Mutex<Names>>,
    locks: LockTable,
}

#[derive(Debug, Default)]
struct Names {
    directories: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, Arc<Mutex<Content>>>,
}

/// The content of a file.
#[derive(Debug)]
struct Content {
    whole: Mapping,
    tail: Vec<u8>,
}

impl Default for Content {
    fn default() -> Self {
        Content { whole: Mapping::from_parts(0, []), tail: Vec::new() }
    }
}

impl Content {
    fn len(&self) -> usize {
        self.whole.len() + self.tail.len()
    }

    fn map(&mut self) -> Mapping {
        if !self.tail.is_empty() {
            self.whole = Mapping::from_parts(self.len(), [&*self.whole, &*self.tail]);
            self.tail = Vec::new();
        }
        self.whole.clone()
    }

    fn read_at(&self, offset: u64, length: usize) -> Vec<u8> {
        let begin = usize::try_from(offset).map_or(self.len(), |offset| offset.min(self.len()));
        let end = begin.saturating_add(length).min(self.len());
        let cut = self.whole.len();
        let mut bytes = Vec::with_capacity(end - begin);
        bytes.extend_from_slice(&self.whole[begin.min(cut)..end.min(cut)]);
        bytes.extend_from_slice(&self.tail[begin.max(cut) - cut..end.max(cut) - cut]);
        bytes
    }
}

impl MemoryDisk {
    /// An empty disk with no directory but `/` and the current one.
    pub fn new() -> Self {
        MemoryDisk::default()
    }

    fn find(&self, operation: &'static str, path: &Path) -> Result<Arc<Mutex<Content>>, DiskError> {
        let found = self.names.lock().files.get(path).cloned();
        found.ok_or_else(|| absent(operation, path))
    }
}

impl Names {
    fn is_directory(&self, path: &Path) -> bool {
        ["", "/", "."].iter().any(|root| path == Path::new(root)) || self.directories.contains(path)
    }

    fn check_parent(&self, operation: &'static str, path: &Path) -> Result<(), DiskError> {
        let is_there = path.parent().is_some_and(|parent| self.is_directory(parent));
        if is_there { Ok(()) } else { Err(absent(operation, path)) }
    }
}

fn absent(operation: &'static str, path: &Path) -> DiskError {
    DiskError::from_io(operation, path, io::ErrorKind::NotFound.into())
}

impl Disk for MemoryDisk {
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        self.names.lock().directories.extend(path.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
        let mut names = self.names.lock();
        names.check_parent("create", path)?;
        if names.files.contains_key(path) {
            return Err(DiskError::from_io("create", path, io::ErrorKind::AlreadyExists.into()));
        }
        let content = Arc::<Mutex<Content>>::default();
        names.files.insert(path.to_owned(), content.clone());
        Ok(Box::new(MemoryFile { content, length: 0 }))
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
        let content = self.find("open", path)?;
        let length = content.lock().len() as u64;
        Ok(Box::new(MemoryFile { content, length }))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        self.read_at(path, 0, usize::MAX)
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> Result<Vec<u8>, DiskError> {
        Ok(self.find("read", path)?.lock().read_at(offset, length))
    }

    fn map(&self, path: &Path) -> Result<Mapping, DiskError> {
        Ok(self.find("map", path)?.lock().map())
    }

    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError> {
        Ok(self.find("look at", path).ok().map(|content| content.lock().len() as u64))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let mut names = self.names.lock();
        if !names.files.contains_key(from) {
            return Err(absent("rename", from));
        }
        names.check_parent("rename", to)?;
        if let Some(content) = names.files.remove(from) {
            names.files.insert(to.to_owned(), content);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        let removed = self.names.lock().files.remove(path);
        removed.map(drop).ok_or_else(|| absent("remove", path))
    }

    fn truncate(&self, path: &Path, length: u64) -> Result<(), DiskError> {
        let content = self.find("truncate", path)?;
        let mut content = content.lock();
        if length > content.len() as u64 {
            return Err(DiskError::from_io("truncate", path, io::ErrorKind::InvalidInput.into()));
        }
        let kept = content.read_at(0, length as usize);
        *content = Content { tail: kept, ..Content::default() };
        Ok(())
    }

    fn rewrite(&self, path: &Path, _: u64) -> Result<(), DiskError> {
        self.find("rewrite", path).map(drop)
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, DiskError> {
        let names = self.names.lock();
        if !names.is_directory(directory) {
            return Err(absent("list", directory));
        }
        let inside = names.files.keys().filter(|path| path.parent() == Some(directory));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn sync_dir(&self, directory: &Path) -> Result<(), DiskError> {
        if self.names.lock().is_directory(directory) {
            Ok(())
        } else {
            Err(absent("sync directory", directory))
        }
    }

    fn lock(&self, path: &Path, mode: LockMode) -> Result<DiskLock, DiskError> {
        self.names.lock().check_parent("lock", path)?;
        self.locks.lock(path, mode)
    }
}

/// A file being appended to.
#[derive(Debug)]
struct MemoryFile {
    content: Arc<Mutex<Content>>,
    length: u64,
}

impl AppendFile for MemoryFile {
    fn append_vectored(&mut self, parts: &[&[u8]]) -> Result<(), DiskError> {
        let mut content = self.content.lock();
        parts.iter().for_each(|part| content.tail.extend_from_slice(part));
        self.length = content.len() as u64;
        Ok(())
    }

    fn shared(&self) -> Arc<dyn SharedFile> {
        Arc::new(Memory)
    }

    /// None: nothing here is synced.
    fn make_room(&mut self, _: u64) {}

    fn room_end(&self) -> u64 {
        self.length
    }

    fn cut_room(&mut self) -> Result<(), DiskError> {
        Ok(())
    }

    fn len(&self) -> u64 {
        self.length
    }
}

/// What is in memory is as durable as it will be.
#[derive(Debug)]
struct Memory;

impl SharedFile for Memory {
    fn sync(&self) -> Result<(), DiskError> {
        Ok(())
    }

    fn make_room(&self, _: u64) {}
}
