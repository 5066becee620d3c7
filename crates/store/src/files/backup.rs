//! Backup: the newest version, written as a store of its own with a single segment. Commits and archives go on
//! meanwhile. History is not part of it.
//!
//! Invariant: until its manifest is written, last of all, what is in the directory is no store.

use std::path::Path;
use std::sync::Arc;

use evergraph_disk::{Disk, DiskInPlace, LockMode, OsDisk};
use evergraph_types::Sequence;

use crate::error::BackupError;
use crate::files::archive::{ArchiveFault, Task, archive};
use crate::files::home::{Archived, Home, absolute, lock_path, segment_directory};
use crate::files::manifest::Manifest;
use crate::files::open::{is_store, new_store_id};
use crate::keys::recycler::Recycled;
use crate::store::Inner;
use crate::upkeep::watch::Watch;
use crate::versions::version::Version;

/// Writes the newest version to a new store in `directory`, as long as whoever watches wants it; gives the commit it is the state after.
pub(crate) fn backup(inner: &Inner, directory: &Path, watch: &Watch<'_>) -> Result<Sequence, BackupError> {
    inner.usable()?;
    let directory = &absolute(directory)?;
    // The disk of a store in memory goes with it.
    let own = inner.home.as_ref().filter(|home| !home.is_in_memory);
    let disk: Arc<dyn Disk> = own.map_or_else(|| Arc::new(OsDisk) as _, |home| home.disk.clone());
    if is_store(&*disk, directory)? {
        return Err(BackupError::Exists { path: directory.to_owned() });
    }
    if let Some(home) = own.filter(|home| directory.starts_with(&home.directory)) {
        return Err(BackupError::Inside { path: directory.to_owned(), store: home.directory.clone() });
    }
    let failed = |error: &dyn std::error::Error| BackupError::Failed { reason: error.to_string() };
    let segments = segment_directory(directory);
    disk.create_dir_all(&segments).map_err(|error| failed(&error))?;
    let lock = disk.lock(&lock_path(directory), LockMode::Exclusive).map_err(|error| failed(&error))?;
    let disk: Arc<dyn Disk> = Arc::new(DiskInPlace::new(disk, directory, &lock));
    let (version, recycled) = newest_with_keys(inner);
    let manifest = Manifest { retain: inner.retain, format: version.format, ..Manifest::new(new_store_id()) };
    let segments = version.segments.to_vec();
    let (guides, bases, past, ghosts) = Default::default();
    let archived = Archived { manifest, segments, guides, bases, past, ghosts };
    let home = Home::new(disk, directory, lock, archived, 0);
    // As if every segment were merged: whatever any of them holds is written anew.
    let memory_limit = inner.options.memory_limit_bytes;
    let (upper, recycled) = (version.sequence, &recycled);
    let task = Task { version: &version, upper, kept: 0, recycled, bulk: None, memory_limit, watch };
    match archive(&home, &mut home.archive.lock(), task, Sequence::MAX) {
        Ok(_) => Ok(version.sequence),
        Err(ArchiveFault::GivenUp) => Err(BackupError::Cancelled),
        Err(fault) => Err(failed(&fault)),
    }
}

/// The newest version, and the ids that have no keys in it. While none has lost its key nobody is waited for: if one does
/// meanwhile, the version tells it still.
fn newest_with_keys(inner: &Inner) -> (Arc<Version>, Recycled) {
    let version = inner.current.load_full();
    if inner.last_pass.lock().0 == 0 {
        return (version, Recycled::default());
    }
    let committer = inner.committer.lock();
    (inner.current.load_full(), committer.resolver.recycler.recycled())
}
