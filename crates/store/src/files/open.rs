//! Opening a store, whether it was closed, killed or cut off from power: one procedure.
//!
//! ```text
//!  LOCK ─► MANIFEST ─► map and verify the segments ─► their rows, oldest first, into a draft ─► keys
//!                                                                                               │
//!  remove files that nobody names ◄─ version ◄─ replay the log behind the manifest into it ◄────┘
//! ```
//!
//! Invariant: until everything was read and found whole, nothing is changed but the torn tail of the log.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use evergraph_disk::{Corruption, Disk, DiskError, DiskInPlace, LockMode};
use evergraph_log::{Log, Record, ReplayError};
use evergraph_segment::{Segment, SegmentError};
use evergraph_types::{KeyKind, SchemaError};
use hashbrown::HashSet;

use crate::commits::resolve::Resolver;
use crate::error::OpenError;
use crate::files::guides::guides_of;
use crate::files::home::{
    Archived, Home, lock_path, log_directory, segment_directory, segment_name, segment_path,
};
use crate::files::install::install;
use crate::files::manifest::{MANIFEST, Manifest, SegmentEntry};
use crate::files::recycled_rows::KeysAnew;
use crate::files::rows::keys_section;
use crate::history::bases::{read_bases, remove_stale_bases};
use crate::history::cursors::{Cursors, HANDLER_ITEMS};
use crate::keys::dictionary::Dictionary;
use crate::keys::recycler::Recycler;
use crate::loads::spill::SPILL_SUFFIX;
use crate::options::Options;
use crate::store::Inner;
use crate::versions::draft::Draft;
use crate::versions::guide::{Guides, Mapped};
use crate::versions::reclaim::Held;
use crate::versions::version::Version;
use crate::write_sets::codec::{Input, decode};

/// What the replay of the log has replaced is freed whenever so much was allocated.
const GARBAGE_BYTES: usize = 8 << 20;

/// Opens the store in `directory`.
pub(crate) fn open(disk: Arc<dyn Disk>, directory: &Path, options: Options) -> Result<Inner, OpenError> {
    let is_new = !is_store(&*disk, directory)?;
    if is_new && options.read_only {
        return Err(OpenError::NotFound { path: directory.to_owned() });
    }
    if is_new {
        disk.create_dir_all(directory)?;
    }
    let mode = if options.read_only { LockMode::Shared } else { LockMode::Exclusive };
    let lock = disk.lock(&lock_path(directory), mode)?;
    let disk: Arc<dyn Disk> = Arc::new(DiskInPlace::new(disk, directory, &lock));
    // Another process may have created the store while this one waited for its turn to look.
    if !is_store(&*disk, directory)? {
        Manifest::new(new_store_id()).write(&*disk, directory)?;
    }
    let mut manifest = Manifest::read(&*disk, directory)?;
    SchemaError::unless_keys_are(options.keys, manifest.schema.key_kind)?;
    let bases = read_bases(&*disk, directory, &manifest)?;
    if !options.read_only {
        disk.create_dir_all(&segment_directory(directory))?;
    }
    let segments = open_segments(&*disk, directory, &manifest)?;
    let mut recovery = Recovery::of_segments(&manifest, &segments, &options)?;
    let archived_heap_bytes = recovery.heap_bytes();
    let mut first_free = 0;
    let recovered = recovery.replay_log(disk.clone(), directory, &manifest, &options).and_then(|log| {
        // The first key may be in the log alone.
        SchemaError::unless_keys_are(options.keys, recovery.draft.version.schema.key_kind)?;
        if !options.read_only {
            first_free = remove_leftovers(&*disk, directory, &manifest, &bases)?;
            manifest.next_segment = manifest.next_segment.max(first_free);
            let retain = options.retain.unwrap_or(manifest.retain);
            let format = options.format.unwrap_or(manifest.format);
            if (retain, format) != (manifest.retain, manifest.format) {
                (manifest.retain, manifest.format) = (retain, format);
                manifest.write(&*disk, directory)?;
            }
            if let Some(log) = &log {
                manifest.note_logged(&*disk, directory, log.last_sequence());
            }
        }
        Ok(log)
    });
    let (mut version, mut recycler) = recovery.finish_with_keys();
    version.format = manifest.format;
    let newest = version.sequence;
    let recovered = recovered.and_then(|log| {
        let cursors = Cursors::of_store(&*disk, directory, &manifest.store_id, newest)?;
        let has_handlers = !version.items(HANDLER_ITEMS).is_empty();
        let read_only = options.read_only;
        cursors.rename_handlers(&*disk, directory, &manifest.store_id, has_handlers, read_only)?;
        Ok((log, cursors))
    });
    let (log, cursors) = match recovered {
        Ok(recovered) => recovered,
        Err(error) => {
            Arc::new(version).release();
            return Err(error);
        }
    };
    recycler.note_needed(cursors.versions_floor(), manifest.last_pass);
    let guides = version.segments.guides().clone();
    let archived = Archived { manifest, segments, guides, bases, past: Vec::new(), ghosts: Vec::new() };
    let home = Home::new(disk, directory, lock, archived, archived_heap_bytes);
    home.spills.store(first_free, Ordering::Relaxed);
    Ok(Inner::new(version, recycler, log, Some(home), cursors, options))
}

/// Whether there is a store; an error if there is something else.
pub(crate) fn is_store(disk: &dyn Disk, directory: &Path) -> Result<bool, OpenError> {
    if directory.as_os_str().is_empty() {
        return Err(OpenError::NoPath);
    }
    let names = match disk.list(directory) {
        Ok(names) => names,
        Err(DiskError::NotFound { .. }) => return Ok(false),
        Err(DiskError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(OpenError::NotADirectory { path: directory.to_owned() });
        }
        Err(error) => return Err(error.into()),
    };
    if names.iter().any(|name| name == MANIFEST) {
        return Ok(true);
    }
    let manifest = directory.join(MANIFEST);
    let has_files = |part: PathBuf| disk.list(&part).is_ok_and(|names| !names.is_empty());
    let what = match (has_files(log_directory(directory)), has_files(segment_directory(directory))) {
        (true, _) => Some("it is missing, but the rest of a store is there"),
        // The manifest of a backup comes last.
        (_, true) => {
            Some("it is missing, but segments are there: those of a backup that was cut short, or of a store")
        }
        _ => None,
    };
    if let Some(what) = what {
        return Err(Corruption::new(&manifest, 0, what).into());
    }
    // What a creation that was cut short leaves.
    let own = |name: &String| name == "LOCK" || name.starts_with(MANIFEST);
    if names.iter().all(own) { Ok(false) } else { Err(OpenError::NotAStore { path: directory.to_owned() }) }
}

/// Sixteen random bytes, from the seeds of the standard library's hash maps.
pub(crate) fn new_store_id() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    let half = || RandomState::new().hash_one(crate::commits::commit::now_micros()).to_le_bytes();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&half());
    id[8..].copy_from_slice(&half());
    id
}

fn open_segments(
    disk: &dyn Disk,
    directory: &Path,
    manifest: &Manifest,
) -> Result<Vec<Arc<Segment>>, OpenError> {
    let open = |entry| open_segment(disk, directory, entry, &manifest.store_id);
    manifest.segments.iter().map(open).collect()
}

/// Opens a segment that a manifest of the store in `directory` names.
pub(crate) fn open_segment(
    disk: &dyn Disk,
    directory: &Path,
    entry: &SegmentEntry,
    store_id: &[u8; 16],
) -> Result<Arc<Segment>, OpenError> {
    let path = segment_path(directory, entry.number);
    let segment = match Segment::open(disk, &path, store_id) {
        Err(SegmentError::Disk(DiskError::NotFound { .. })) => {
            return Err(Corruption::new(&path, 0, "the file is missing").into());
        }
        outcome => outcome?,
    };
    entry.mismatch(&segment).map_or(Ok(Arc::new(segment)), |mismatch| Err(mismatch.into()))
}

/// The newest version while it is put together.
pub(crate) struct Recovery {
    draft: Draft,
    resolver: Resolver,
}

impl Recovery {
    /// What the segments hold.
    pub(crate) fn of_segments(
        manifest: &Manifest,
        segments: &[Arc<Segment>],
        options: &Options,
    ) -> Result<Self, OpenError> {
        let kind = manifest.schema.key_kind.unwrap_or(KeyKind::Dense);
        let dictionary = Arc::new(Dictionary::new(kind));
        dictionary.reserve(manifest.id_bound);
        let anew = KeysAnew::of(manifest, segments)?;
        let mut recovery = Self::install_all(manifest, segments, dictionary.clone(), options.keys)?;
        let mut add = |segment: &Arc<Segment>| add_keys(segment, &dictionary, manifest.id_bound, &anew);
        let added =
            segments.iter().try_for_each(&mut add).and_then(|()| recovery.check_free(&anew, segments));
        if let Err(damage) = added {
            Arc::new(recovery.finish()).release();
            return Err(damage.into());
        }
        for (id, key) in &anew.rebound {
            let old = dictionary.add(*id, key.as_ref());
            debug_assert!(old.is_none(), "each id gets one key");
        }
        let guides = guides_of(&manifest.schema, segments, &Guides::default());
        recovery.draft.set_segments(Arc::new(Mapped::new(segments.iter().cloned(), guides)));
        recovery.resolver.recycler = Recycler::of_segments(&anew.free, manifest.last_pass);
        Ok(recovery)
    }

    /// Whether ids that are said to have no keys are no vertices.
    fn check_free(&self, anew: &KeysAnew, segments: &[Arc<Segment>]) -> Result<(), Corruption> {
        let vertices = &self.draft.version.vertices;
        match (anew.free.iter().find(|id| vertices.get(**id).is_some()), segments.last()) {
            (Some(id), Some(newest)) => {
                let what = format!("vertex {id} is said to have no key");
                Err(Corruption::new(newest.path(), 0, what))
            }
            _ => Ok(()),
        }
    }

    /// What the segments of a base hold, for a dictionary that knows its keys.
    pub(crate) fn of_base(
        manifest: &Manifest,
        segments: &[Arc<Segment>],
        dictionary: Arc<Dictionary>,
    ) -> Result<Self, OpenError> {
        Self::install_all(manifest, segments, dictionary, None)
    }

    fn install_all(
        manifest: &Manifest,
        segments: &[Arc<Segment>],
        dictionary: Arc<Dictionary>,
        wanted_kind: Option<KeyKind>,
    ) -> Result<Self, OpenError> {
        let base = Version::empty(manifest.schema.clone(), Dictionary::dense());
        let mut draft = Draft::new(&base, dictionary.clone(), manifest.sequence, manifest.time_micros);
        draft.version.format = manifest.format;
        draft.set_schema(manifest.schema.clone());
        draft.set_segments(Arc::new(Mapped::new(segments.iter().cloned(), Guides::default())));
        let resolver = Resolver::of(&draft.version, wanted_kind);
        let mut recovery = Recovery { draft, resolver };
        for segment in segments {
            if let Err(damage) = install(segment, &mut recovery.draft, Some(manifest.id_bound)) {
                Arc::new(recovery.finish()).release();
                return Err(damage.into());
            }
        }
        let version = &mut recovery.draft.version;
        version.id_bound = manifest.id_bound;
        version.num_vertices = manifest.num_vertices;
        version.catalog = manifest.catalog.clone();
        for (tables, counts) in version.edges.iter_mut().zip(&manifest.counts) {
            (tables.out.entries, tables.out.loops) = counts.out;
            (tables.reverse.entries, tables.reverse.loops) = counts.reverse;
        }
        recovery.resolver.bound = manifest.id_bound;
        Ok(recovery)
    }

    /// Applies the commits behind the manifest. Gives the log to go on with, unless the store is read-only.
    fn replay_log(
        &mut self,
        disk: Arc<dyn Disk>,
        directory: &Path,
        manifest: &Manifest,
        options: &Options,
    ) -> Result<Option<Log>, OpenError> {
        if options.read_only {
            return self.scan_log(&*disk, directory, manifest).map(|()| None);
        }
        let directory = log_directory(directory);
        let (store_id, wanted) = (manifest.store_id, manifest.wanted());
        let mut visit = |record: Record<'_>| self.replay(&directory, record);
        let opened = Log::open(disk, &directory, store_id, wanted, options.log_options(), &mut visit);
        let (log, _) = opened.map_err(open_error)?;
        Ok(Some(log))
    }

    /// Applies the commits behind the manifest without changing the log.
    pub(crate) fn scan_log(
        &mut self,
        disk: &dyn Disk,
        directory: &Path,
        manifest: &Manifest,
    ) -> Result<(), OpenError> {
        let directory = log_directory(directory);
        let mut visit = |record: Record<'_>| self.replay(&directory, record);
        let scanned = Log::scan(disk, &directory, manifest.store_id, manifest.wanted(), &mut visit);
        scanned.map(drop).map_err(open_error)
    }

    /// Applies one record of the log, which may be a part of a commit.
    fn replay(&mut self, directory: &Path, record: Record<'_>) -> Result<(), Corruption> {
        self.draft.changes.stamp = Some(record.last_sequence);
        let what = format!("the commits {} to {} make no sense", record.first_sequence, record.last_sequence);
        let damage = || Corruption::new(directory, 0, what.clone());
        for writes in decode(record.payload).ok_or_else(damage)? {
            if !self.resolver.replay(&writes, record.last_sequence) {
                return Err(damage());
            }
            self.draft.apply(writes);
        }
        self.draft.version.sequence = record.last_sequence;
        self.draft.version.time_micros = record.time_micros;
        if record.goes_on {
            // What is pending of it is not to grow with the commit.
            self.draft.flush();
        }
        if self.draft.changes.allocated_bytes > GARBAGE_BYTES {
            self.free_replaced();
        }
        Ok(())
    }

    /// What it has on the heap.
    fn heap_bytes(&mut self) -> usize {
        self.free_replaced();
        self.draft.version.reclaimer.live_bytes()
    }

    /// Frees what was replaced on the way, which belonged to no version.
    fn free_replaced(&mut self) {
        let Draft { version, changes, .. } = &mut self.draft;
        let done = std::mem::replace(changes, changes.fork());
        version.reclaimer.allocated(done.allocated_bytes);
        version.reclaimer.retire(Held::Counted(Weak::new()), version.sequence, done.retired, None);
    }

    /// The newest version.
    pub(crate) fn finish(self) -> Version {
        self.finish_with_keys().0
    }

    /// The newest version, and the ids that no key has in it.
    fn finish_with_keys(mut self) -> (Version, Recycler) {
        self.draft.flush();
        self.free_replaced();
        self.draft.version.dictionary = self.resolver.dictionary;
        self.resolver.recycler.settle();
        (self.draft.finish().0, self.resolver.recycler)
    }
}

fn open_error(error: ReplayError<Corruption>) -> OpenError {
    match error {
        ReplayError::Log(error) => error.into(),
        ReplayError::Visit(corruption) => corruption.into(),
    }
}

/// Adds the keys of a segment, but those of ids that have none or others by now.
fn add_keys(
    segment: &Segment,
    dictionary: &Dictionary,
    bound: u32,
    anew: &KeysAnew,
) -> Result<(), Corruption> {
    for part in 0.. {
        let Some(bytes) = segment.section(keys_section(part)) else { break };
        let offset = segment.section_offset(keys_section(part)).unwrap_or(0);
        let damage = || Corruption::new(segment.path(), offset, "the keys make no sense");
        let mut input = Input(bytes);
        let first = input.u32().ok_or_else(damage)?;
        let keys = input.keys().flatten().ok_or_else(damage)?;
        if first as usize + keys.len() > bound as usize {
            return Err(damage());
        }
        anew.for_each_run(first, keys.len(), &mut |rows| dictionary.add_some(first, &keys, rows));
    }
    Ok(())
}

/// Removes what neither the manifest nor a base names: left over from an archive or a load that did not finish. What cannot be
/// removed harms nobody, and the next open will: gives the first number that no such file has.
fn remove_leftovers(
    disk: &dyn Disk,
    directory: &Path,
    manifest: &Manifest,
    bases: &[Manifest],
) -> Result<u64, OpenError> {
    remove_stale_bases(disk, directory, bases)?;
    let directory = segment_directory(directory);
    let entries = bases.iter().chain([manifest]).flat_map(|manifest| &manifest.segments);
    let named: HashSet<String> = entries.map(|entry| segment_name(entry.number)).collect();
    let mut first_free = 0;
    for name in disk.list(&directory)?.iter().filter(|name| !named.contains(*name)) {
        let number = [".segment", SPILL_SUFFIX].iter().find_map(|suffix| name.strip_suffix(suffix));
        let Some(number) = number else { continue };
        if let Err(error) = disk.remove(&directory.join(name)) {
            tracing::warn!(%error, "a file that was left over could not be removed");
            let number = u64::from_str_radix(number, 16).unwrap_or(0);
            first_free = first_free.max(number.saturating_add(1));
        }
    }
    Ok(first_free)
}
