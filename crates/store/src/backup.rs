//! Backup: the newest version, written as a store of its own with a single segment. Commits and archives go on
//! meanwhile. History is not part of it.
//!
//! Invariant: until its manifest is written, last of all, what is in the directory is no store.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use evergraph_disk::{Disk, LockMode, OsDisk};
use evergraph_types::Sequence;
use parking_lot::Mutex;

use crate::archive::archive;
use crate::error::BackupError;
use crate::home::{Archived, Home, lock_path, segment_directory};
use crate::manifest::Manifest;
use crate::open::{is_store, new_store_id};
use crate::store::Inner;

/// Writes the newest version to a new store in `directory`; gives the commit it is the state after.
pub(crate) fn backup(inner: &Inner, directory: &Path) -> Result<Sequence, BackupError> {
    if inner.is_closed.load(Ordering::Acquire) {
        return Err(BackupError::Closed);
    }
    let disk: Arc<dyn Disk> =
        inner.home.as_ref().map_or_else(|| Arc::new(OsDisk) as _, |home| home.disk.clone());
    if is_store(&*disk, directory)? {
        return Err(BackupError::Exists { path: directory.to_owned() });
    }
    let failed = |error: &dyn std::error::Error| BackupError::Failed { reason: error.to_string() };
    let segments = segment_directory(directory);
    disk.create_dir_all(&segments).map_err(|error| failed(&error))?;
    let lock = disk.lock(&lock_path(directory), LockMode::Exclusive).map_err(|error| failed(&error))?;
    let version = inner.current.load_full();
    let manifest = Manifest { retain: inner.retain, format: version.format, ..Manifest::new(new_store_id()) };
    let home = Home {
        disk,
        directory: directory.to_owned(),
        store_id: manifest.store_id,
        lock: Mutex::new(Some(lock)),
        is_in_memory: false,
        heap_bytes: AtomicUsize::new(0),
        archived_sequence: AtomicU64::new(0),
        spills: AtomicU64::new(0),
        archive: Mutex::new(Archived {
            manifest,
            segments: version.segments.to_vec(),
            bases: Vec::new(),
            ghosts: Vec::new(),
        }),
    };
    // As if every segment were merged: whatever any of them holds is written anew.
    archive(&home, &mut home.archive.lock(), &version, 0, None, || Ok(())).map_err(|fault| failed(&fault))?;
    Ok(version.sequence)
}
