//! The two traits every stored byte passes through, and what they promise about a loss of power.
//!
//! ```text
//!  call                      survives a loss of power
//!  ------------------------  ---------------------------------------------------------------
//!  append, make_room         only after sync on the same file; until then any part of it may
//!  create, rename, remove    only after sync_dir on the directory; until then maybe
//!  truncate, rewrite         once it returns
//!  create_dir_all            once it returns
//! ```
//!
//! Invariant the store relies on: bytes once appended are never changed, only cut off by recovery before anyone
//! maps the file. That is what makes read-only mappings sound. Room ahead is not appended: nobody maps a file that
//! has some while it is appended to.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use crate::{DiskError, DiskLock, Mapping};

/// How a lock is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// One holder, no other of either mode: a writer.
    Exclusive,
    /// Any number of holders as long as none is exclusive: readers.
    Shared,
}

/// Files and directories. Paths are used as they are given.
pub trait Disk: Send + Sync + Debug {
    /// Creates the directory and its missing parents, durably. It is no error if it exists.
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError>;

    /// Creates a new, empty file to append to.
    ///
    /// # Errors
    /// [`DiskError::Exists`] if there is one of this name.
    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError>;

    /// Opens a file to append at its end.
    ///
    /// # Errors
    /// [`DiskError::NotFound`] if it is absent.
    fn open_append(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError>;

    /// The whole file, copied.
    fn read(&self, path: &Path) -> Result<Vec<u8>, DiskError>;

    /// Up to `length` bytes from `offset` on, copied; fewer where the file ends before.
    fn read_at(&self, path: &Path, offset: u64, length: usize) -> Result<Vec<u8>, DiskError>;

    /// The whole file as it is now, mapped read-only. Bytes appended later are not part of the mapping.
    fn map(&self, path: &Path) -> Result<Mapping, DiskError>;

    /// The length in bytes; `None` if there is no such file.
    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError>;

    /// Renames a file, atomically replacing `to` if it exists.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<(), DiskError>;

    /// Cuts the file to `length` bytes, durably. It must not be longer than the file is.
    fn truncate(&self, path: &Path, length: u64) -> Result<(), DiskError>;

    /// Writes the bytes from `offset` to the end once more in their place and syncs them. Recovery calls it for
    /// bytes it can read but that nothing proves to be on disk: after a failed sync the system may hold them only
    /// in its cache, marked clean, and a further sync alone would report success without writing them.
    fn rewrite(&self, path: &Path, offset: u64) -> Result<(), DiskError>;

    /// The names of the files in a directory, sorted. Directories are left out.
    fn list(&self, directory: &Path) -> Result<Vec<String>, DiskError>;

    /// Makes creations, renames and removals in this directory durable.
    fn sync_dir(&self, directory: &Path) -> Result<(), DiskError>;

    /// How many bytes files in this directory may grow by before the disk is full; `None` where nobody knows.
    fn free_bytes(&self, _directory: &Path) -> Option<u64> {
        None
    }

    /// Takes the lock at `path`, a file created if absent, without waiting. It is given back when the
    /// [`DiskLock`] is dropped or the process ends, however it ends.
    ///
    /// # Errors
    /// [`DiskError::Locked`] naming the holder.
    fn lock(&self, path: &Path, mode: LockMode) -> Result<DiskLock, DiskError>;
}

/// A file that only grows. After any failure it is poisoned: every later call gives [`DiskError::Poisoned`],
/// since neither what a failed append left nor what a failed sync lost can be known.
pub trait AppendFile: Send + Debug {
    /// Appends the bytes.
    fn append(&mut self, bytes: &[u8]) -> Result<(), DiskError> {
        self.append_vectored(&[bytes])
    }

    /// Appends the parts one after the other, in one system call where the system takes them at once.
    fn append_vectored(&mut self, parts: &[&[u8]]) -> Result<(), DiskError>;

    /// Makes everything appended so far durable.
    fn sync(&mut self) -> Result<(), DiskError> {
        self.shared().sync()
    }

    /// The file for someone else, while it is appended to.
    fn shared(&self) -> Arc<dyn SharedFile>;

    /// Lets zeros follow what was appended until the file is `length` bytes long. What is appended then takes their
    /// place, and is written and synced quicker: the file is as long as before. There may be less room or none, as when the
    /// disk is full, which is no failure. Whoever reads the file sees the zeros.
    fn make_room(&mut self, length: u64);

    /// Where the room ahead ends at most, in bytes from the start; no less than [`AppendFile::len`].
    fn room_end(&self) -> u64;

    /// Cuts off the room ahead. That is durable after the next sync at the latest. Nobody else makes more from here on.
    fn cut_room(&mut self) -> Result<(), DiskError>;

    /// The length of what was appended, in bytes.
    fn len(&self) -> u64;

    /// Whether the file holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What can be done to a file beside whoever appends to it.
pub trait SharedFile: Send + Sync + Debug {
    /// Makes everything durable that was appended before the call. A failure poisons the file for whoever appends, too.
    fn sync(&self) -> Result<(), DiskError>;

    /// [`AppendFile::make_room`], unless the room was cut off. What is appended meanwhile waits only if it finds no room left.
    fn make_room(&self, length: u64);
}
