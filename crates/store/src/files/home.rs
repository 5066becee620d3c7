//! The directory of a store.
//!
//! ```text
//!  net.eg/MANIFEST             what makes up the store
//!         LOCK                 held by whoever has it open
//!         log/*.log            the commits behind the manifest
//!         segments/*.segment   everything up to it
//!         segments/*.spill     edges of a load under way
//!         history/*.manifest   older manifests, from which older versions are made
//!         cursors/*.cursor     how far named readers of the log have come
//! ```

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use evergraph_disk::{Disk, DiskError, DiskLock};
use evergraph_segment::Segment;
use parking_lot::Mutex;

use crate::error::OpenError;
use crate::files::manifest::{Manifest, SegmentEntry};
use crate::history::changes::LogPlace;
use crate::versions::guide::Guides;

/// Where an open store lives.
#[derive(Debug)]
pub(crate) struct Home {
    /// It changes nothing in the directory once that is another one.
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) directory: PathBuf,
    /// In every file of the store.
    pub(crate) store_id: [u8; 16],
    /// `None` once the store is closed.
    pub(crate) lock: Mutex<Option<DiskLock>>,
    /// Whether the directory is one in memory, which nobody else sees.
    pub(crate) is_in_memory: bool,
    /// Bytes on the heap after the last archive.
    pub(crate) heap_bytes: AtomicUsize,
    /// The commit the manifest is the state after.
    pub(crate) archived_sequence: AtomicU64,
    /// Bytes of the manifest's segments, and list entries in them.
    pub(crate) segment_bytes: AtomicU64,
    pub(crate) segment_entries: AtomicU64,
    /// Bytes of the segments that were written since the store was opened …
    pub(crate) written_bytes: AtomicU64,
    /// … and of these, what no segment had held before.
    pub(crate) archived_bytes: AtomicU64,
    /// Files that loads under way have made.
    pub(crate) spills: AtomicU64,
    /// Segments that were opened, the newest version's and others.
    opened: Mutex<Vec<Weak<Segment>>>,
    /// The manifests that versions can be made from, oldest first, for those who read them and do not wait for whoever archives.
    kept: Mutex<Arc<[Arc<Manifest>]>>,
    /// Whoever holds this is the only one that writes segments and the manifest.
    pub(crate) archive: Mutex<Archived>,
}

/// What is archived.
#[derive(Debug)]
pub(crate) struct Archived {
    pub(crate) manifest: Manifest,
    /// Those of the manifest, in its order.
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Those to what these hold.
    pub(crate) guides: Guides,
    /// The older manifests that history begins from, oldest first.
    pub(crate) bases: Vec<Manifest>,
    /// Those that the manifest does not name any more, whose files are still there.
    pub(crate) past: Vec<Manifest>,
    /// Segments that were merged away but that lists changed meanwhile still share parts with.
    pub(crate) ghosts: Vec<Arc<Segment>>,
}

/// A directory of the system, named so that it is the same wherever the program goes while the store is open.
pub(crate) fn absolute(directory: &Path) -> Result<PathBuf, OpenError> {
    if directory.as_os_str().is_empty() {
        return Err(OpenError::NoPath);
    }
    let path = directory.to_owned();
    Ok(std::path::absolute(directory).map_err(|source| DiskError::Io { operation: "find", path, source })?)
}

impl Home {
    /// The home of a store with this manifest, which its lock is held for.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        directory: &Path,
        lock: DiskLock,
        archived: Archived,
        heap_bytes: usize,
    ) -> Self {
        let home = Home {
            disk,
            directory: directory.to_owned(),
            store_id: archived.manifest.store_id,
            lock: Mutex::new(Some(lock)),
            is_in_memory: false,
            heap_bytes: AtomicUsize::new(heap_bytes),
            archived_sequence: AtomicU64::default(),
            segment_bytes: AtomicU64::default(),
            segment_entries: AtomicU64::default(),
            written_bytes: AtomicU64::default(),
            archived_bytes: AtomicU64::default(),
            spills: AtomicU64::default(),
            opened: Mutex::new(archived.segments.iter().map(Arc::downgrade).collect()),
            kept: Mutex::new(Arc::default()),
            archive: Mutex::new(archived),
        };
        let archived = home.archive.lock();
        home.note_manifest(&archived.manifest);
        home.note_kept(&archived);
        drop(archived);
        home
    }

    /// What others are told of the manifest, without waiting for whoever archives.
    pub(crate) fn note_manifest(&self, manifest: &Manifest) {
        let sum = |of: fn(&SegmentEntry) -> u64| manifest.segments.iter().map(of).sum();
        self.archived_sequence.store(manifest.sequence, Ordering::Relaxed);
        self.segment_bytes.store(sum(|segment| segment.bytes), Ordering::Relaxed);
        self.segment_entries.store(sum(|segment| segment.entries), Ordering::Relaxed);
    }

    /// The bases and the manifest, oldest first, as of the newest version. Whoever archives may let go of any of them meanwhile, and
    /// then of the files that it names.
    pub(crate) fn kept(&self) -> Arc<[Arc<Manifest>]> {
        self.kept.lock().clone()
    }

    /// Notes what is kept, once the manifest is that of a version that there is, and before any file goes.
    pub(crate) fn note_kept(&self, archived: &Archived) {
        let before = self.kept();
        let shared = |manifest: &Manifest| {
            let at = before.binary_search_by_key(&manifest.sequence, |kept| kept.sequence).ok()?;
            Some(before.get(at)?.clone()).filter(|kept| kept.segments == manifest.segments)
        };
        let kept = archived.manifests();
        let kept = kept.map(|manifest| shared(manifest).unwrap_or_else(|| Arc::new(manifest.clone())));
        *self.kept.lock() = kept.collect();
    }

    /// Notes that a segment was written, with so many bytes that no segment had held before.
    pub(crate) fn note_written(&self, bytes: u64, archived_bytes: u64) {
        self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.archived_bytes.fetch_add(archived_bytes.min(bytes), Ordering::Relaxed);
    }

    /// Notes that a segment was opened.
    pub(crate) fn note_opened(&self, segment: &Arc<Segment>) {
        let mut opened = self.opened.lock();
        opened.retain(|segment| segment.strong_count() > 0);
        opened.push(Arc::downgrade(segment));
    }

    /// The segments that anybody still holds.
    pub(crate) fn open_segments(&self) -> Vec<Arc<Segment>> {
        self.opened.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Where its log is read.
    pub(crate) fn log_place(&self) -> LogPlace {
        LogPlace {
            disk: self.disk.clone(),
            directory: log_directory(&self.directory),
            store_id: self.store_id,
        }
    }

    /// A number for the next file of a load.
    pub(crate) fn next_spill(&self) -> u64 {
        self.spills.fetch_add(1, Ordering::Relaxed)
    }

    /// The length of the log's files, for a store that does not have the log open; 0 if they cannot be read.
    pub(crate) fn log_bytes(&self) -> u64 {
        let directory = log_directory(&self.directory);
        let names = self.disk.list(&directory).unwrap_or_default();
        names.iter().filter_map(|name| self.disk.len(&directory.join(name)).ok().flatten()).sum()
    }
}

/// The lock file of a store.
pub(crate) fn lock_path(directory: &Path) -> PathBuf {
    directory.join("LOCK")
}

/// Where the log lies.
pub(crate) fn log_directory(directory: &Path) -> PathBuf {
    directory.join("log")
}

/// Where the segments lie.
pub(crate) fn segment_directory(directory: &Path) -> PathBuf {
    directory.join("segments")
}

/// Where a segment lies.
pub(crate) fn segment_path(directory: &Path, number: u64) -> PathBuf {
    segment_directory(directory).join(segment_name(number))
}

/// The file name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("{number:016x}.segment")
}
