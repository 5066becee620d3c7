//! Archiving: what is in memory only, and what small segments hold, becomes one new segment. Checkpoint and merge are this one
//! operation, and the commit of a bulk load begins like it (`bulk.rs`).
//!
//! ```text
//!  version ─► write segment, sync ─► sync directory ─► MANIFEST ─► repoint the vertex tables ─► trim the log,
//!             of what is dirty and                     the commit   by ordinary publishes,      remove what was
//!             of the merged segments                   of it        some rows each              merged
//! ```
//!
//! Invariants: until the manifest is replaced, the old segments and the log hold everything; from then on the new
//! ones do. A crash in between leaves files that nobody names, which the next open removes. A failed archive
//! therefore loses nothing and changes nothing.
//!
//! What merging costs
//! ==================
//!
//! An archive writes `d` bytes that were in memory only, and merges the newest segments as long as the next one is at most twice as
//! large as what is written anyway. Sizes of segments, oldest first, so are `s₁ > 2 s₂ > 4 s₃ …`, and there are at most
//! `1 + log₂(S / m)` of them, if the largest is `S` and no archive wrote less than `m`; and never more than [`MAX_SEGMENTS`].
//!
//! Of this follows a bound on all that is written, `W`, by all that was archived first, `A`, the sum of all `d`:
//!
//! ```text
//!  W ≤ A · (3.5 + log₁.₅(S / m)) + n · S / 2⁷        of n archives that found MAX_SEGMENTS segments
//! ```
//!
//! *Proof.* Say a segment of `x` bytes holds `f(x) = x · (2.5 + log₁.₅(S / x))` coins, and each byte that is archived brings
//! `3.5 + log₁.₅(S / m)`. `f` does not fall up to `S`, for its slope is `2.5 − 1/ln 1.5 + log₁.₅(S / x)` and the first two are
//! more than 0. Let an archive merge segments into one of `w = d + Σ s`, were nothing in them dead. Each has
//! `s ≤ 2 (w − s)`, that is `w ≥ 1.5 s`: a byte of it holds one coin less in the new segment, and pays its writing with that. A byte of `d`
//! pays one coin too, and has as many left as it is to hold, since `w ≥ m`. What is dead leaves the new segment smaller than
//! `w`, which holds no more coins than one of `w` would. So coins are never short. The exception are merges for the sake
//! of [`MAX_SEGMENTS`], which take the newest segment with `d` however small that is: it is smaller than `S / 2⁷`, and this is the last term. ∎
//!
//! Merges of everything, for the sake of space, come on top: each writes at most four times what has died since the one before
//! (`maintenance.rs`), so all of them no more than `4 A`, and what was dead when the store was opened. Archives of what commits have scattered on the heap
//! are archives like others, if smaller: they count in `A` and in `m`. Bytes in one segment hold no more
//! coins than in several. `compact()` writes all there is, as often as it is asked for. `d` is estimated by
//! what lists take as they are in memory: where they are compressed to a part `1/c`, a byte pays its writing with `log₁.₅(1 + 1/2c)`
//! coins, and the logarithm is divided by that.
//!
//! A list is in one segment, whatever its older versions were in, and its runs follow each other there: an archive writes whole
//! lists. So an archive beside which nothing is committed leaves *one fragment for each list*; from then on until the next one each run of
//! 256 neighbors that a commit changes lies by itself, in memory, and may part those beside it: a list of `k` runs is in at most
//! `k` fragments.

use std::convert::Infallible;
use std::sync::Arc;

use evergraph_disk::{Corruption, DiskError};
use evergraph_log::ReplayError;
use evergraph_segment::{Segment, SegmentError};
use evergraph_types::Sequence;
use thiserror::Error;

use crate::commits::commit::{Committer, Written as Progress, now_micros};
use crate::error::{CommitError, OpenError};
use crate::files::guides::guides_of;
use crate::files::home::{Archived, Home, segment_directory, segment_name};
use crate::files::install::rows_of;
use crate::files::manifest::{EdgeCounts, Manifest, SegmentEntry};
use crate::files::segment_writer::{Bulk, BulkGrowth, Contents, Written, write_segment};
use crate::history::retain::Retain;
use crate::keys::recycler::Recycled;
use crate::store::Inner;
use crate::system::pool::in_background;
use crate::upkeep::recluster::{AT_REST, Gather, Pass};
use crate::upkeep::watch::Watch;
use crate::versions::draft::Draft;
use crate::versions::guide::{Guides, Mapped};
use crate::versions::version::Version;

/// So many rows of a new segment are put into the tables while commits wait.
const REPOINTED_ROWS: usize = 1 << 14;

/// A store has at most this many segments after an archive.
pub(crate) const MAX_SEGMENTS: usize = 8;

/// Which segments are merged into the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// The newest ones that are small beside what is written anyway, so that each byte is rewritten a logarithmic
    /// number of times: the module's proof.
    Tiered,
    /// All.
    Everything,
}

/// Why nothing was archived.
#[derive(Debug, Error)]
pub(crate) enum ArchiveFault {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Segment(#[from] SegmentError),
    #[error(transparent)]
    Corrupt(#[from] Corruption),
    #[error(transparent)]
    Log(#[from] ReplayError<Infallible>),
    #[error("it was given up")]
    GivenUp,
}

/// What becomes a segment.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    /// Whose dirty cells.
    pub(crate) version: &'a Version,
    /// The commit they are the state after; of a load that is not one yet, the one that it would be by now.
    pub(crate) upper: Sequence,
    /// So many of the oldest segments stay, the others are merged into the new one.
    pub(crate) kept: usize,
    /// Which ids have no keys in the version, and which have got others.
    pub(crate) recycled: &'a Recycled,
    /// Edges to add.
    pub(crate) bulk: Option<&'a Bulk>,
    /// The limit on the memory of the store.
    pub(crate) memory_limit: Option<u64>,
    /// Asked again and again whether to go on: otherwise it is given up.
    pub(crate) watch: &'a Watch<'a>,
}

/// What an archive made.
pub(crate) struct Made {
    pub(crate) segment: Arc<Segment>,
    /// Segments no longer in the manifest.
    merged: Vec<Arc<Segment>>,
    pub(crate) growth: BulkGrowth,
}

/// Brings the lists of a store without files together.
fn checkpoint_in_memory(inner: &Inner, merge: Merge, watch: &Watch<'_>) -> Result<(), CommitError> {
    inner.recycle(merge == Merge::Everything, watch);
    let wanted = if merge == Merge::Everything { Gather::Everything } else { AT_REST };
    let is_done = Pass::new(inner, wanted).go_on(inner, watch, || watch.goes_on())?;
    if is_done { Ok(()) } else { Err(watch.why_stopped()) }
}

/// Archives the newest version, as long as whoever watches wants it. What is archived is in the log, too, so that whoever closes the
/// store need not wait for it.
pub(crate) fn checkpoint(inner: &Inner, merge: Merge, watch: &Watch<'_>) -> Result<(), CommitError> {
    if inner.options.read_only {
        return Err(CommitError::ReadOnly);
    }
    inner.usable()?;
    let Some(home) = &inner.home else { return checkpoint_in_memory(inner, merge, watch) };
    let mut archived = watch.lock(&home.archive)?;
    inner.usable()?;
    inner.recycle(merge == Merge::Everything, watch);
    let (version, recycled, until_now) = inner.state_to_archive()?;
    let kept = archived.kept_segments(&version, merge);
    let as_of = (archived.manifest.sequence, archived.manifest.last_pass);
    if (version.sequence, recycled.last_pass) == as_of && archived.is_settled(&version, kept) {
        return Ok(());
    }
    inner.sync_kept_log()?;
    let failed = |fault: ArchiveFault| match inner.committer.lock().failure() {
        Some(reason) => CommitError::Durability { reason },
        None => CommitError::Archive { reason: fault.to_string() },
    };
    let merged: Vec<u64> = archived.manifest.segments[kept..].iter().map(|segment| segment.number).collect();
    if version.sequence > archived.manifest.sequence
        && inner.wants_base(&archived, &inner.committer.lock(), version.sequence)
    {
        archived.keep_base(home).map_err(|error| failed(error.into()))?;
    }
    let files = &mut *archived;
    let written = in_background(|| {
        let memory_limit = inner.options.memory_limit_bytes;
        let upper = version.sequence;
        let recycled = &recycled;
        let task = Task { version: &version, upper, kept, recycled, bulk: None, memory_limit, watch };
        archive(home, files, task, inner.cursors.versions_floor())
    });
    let made = written.map_err(|fault| match fault {
        ArchiveFault::GivenUp => watch.why_stopped(),
        fault => failed(fault),
    })?;
    home.note_kept(&archived);
    let removed = archived.remove_past(home);

    // Lists reach into what was merged until each is pointed elsewhere.
    archived.ghosts.extend(made.merged);
    let repointed = inner.repoint(&made.segment, &version, archived.mapped());
    if repointed.map_err(|damage| failed(damage.into()))? {
        archived.ghosts.clear();
    }
    inner.follow.advance(version.sequence);
    // It holds what was archived on the heap, which is freed before anybody waits.
    drop(version);

    let mut committer = inner.committer.lock();
    committer.resolver.recycler.note_written(&recycled);
    inner.repoint_with(archived.mapped(), |_| true);
    inner.note_archived(home, &mut committer, until_now);
    // Of what was committed meanwhile.
    inner.note_growth(&committer);
    drop(committer);
    inner.promote();
    inner.trim_log(&archived);
    inner.settle_access();
    note_removal(removed.and_then(|()| archived.remove_unnamed(home, merged)));
    Ok(())
}

pub(crate) fn note_removal(outcome: Result<(), DiskError>) {
    if let Err(error) = outcome {
        // The next open will.
        tracing::warn!(%error, "a segment that is not needed any more could not be removed");
    }
}

/// The files of a store as its next manifest is to name them.
pub(crate) struct NextFiles {
    manifest: Manifest,
    segments: Vec<Arc<Segment>>,
    guides: Guides,
    /// The numbers of the segments that are new.
    written: Vec<u64>,
}

impl NextFiles {
    /// Those there are.
    pub(crate) fn of(archived: &Archived) -> Self {
        NextFiles {
            manifest: archived.manifest.clone(),
            segments: archived.segments.clone(),
            guides: archived.guides.clone(),
            written: Vec::new(),
        }
    }

    /// How many segments there are to be.
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Writes a segment, durably.
    pub(crate) fn write(
        &mut self,
        home: &Home,
        archived: &mut Archived,
        task: Task<'_>,
    ) -> Result<Made, ArchiveFault> {
        let Task { version, upper, kept, recycled, bulk, memory_limit, watch } = task;
        // A number is used once, even if the attempt fails.
        let number = archived.manifest.next_segment;
        archived.manifest.next_segment += 1;
        self.manifest.next_segment = archived.manifest.next_segment;
        self.written.push(number);
        let (kept_entries, merged_entries) = self.manifest.segments.split_at(kept);
        let first_key = match (merged_entries.first(), kept_entries.last()) {
            (Some(merged), _) => merged.first_key,
            (None, Some(newest)) => newest.end_key,
            (None, None) => 0,
        };
        let merged = self.segments.split_off(kept);
        let directory = segment_directory(&home.directory);
        let path = directory.join(segment_name(number));
        let versions = (self.segments.last().map_or(0, |newest| newest.info().upper), upper);
        let contents = Contents {
            version,
            merged: &merged,
            versions,
            kept: &self.segments,
            first_key,
            recycled,
            bulk,
            memory_limit,
            watch,
        };
        let Written { bytes, entries, growth } =
            write_segment(&*home.disk, home.store_id, &path, number, contents)?;
        if !watch.goes_on() {
            return Err(ArchiveFault::GivenUp);
        }
        home.note_written(bytes, if merged.is_empty() { bytes } else { version.dirty_bytes() });
        home.disk.sync_dir(&directory)?;
        let segment = Arc::new(Segment::open(&*home.disk, &path, &self.manifest.store_id)?);
        home.note_opened(&segment);
        self.segments.push(segment.clone());
        self.guides = guides_of(&version.schema, &self.segments, &self.guides);
        self.manifest.segments.truncate(kept);
        self.manifest.segments.push(SegmentEntry {
            number,
            bytes,
            first_key,
            end_key: version.id_bound.max(first_key),
            format: Some(version.format),
            entries,
            checksum: Some(segment.checksum()),
        });
        Ok(Made { segment, merged, growth })
    }

    /// Writes the manifest, which says that these are the files as of `version`, which keys were let go of by commit `last_pass`, and
    /// that of history what is not past is kept, and whatever versions are needed from commit `needed` on.
    pub(crate) fn commit(
        &mut self,
        home: &Home,
        archived: &mut Archived,
        version: &Version,
        last_pass: Sequence,
        needed: Sequence,
    ) -> Result<(), ArchiveFault> {
        let mut manifest = Manifest {
            last_pass,
            sequence: version.sequence,
            time_micros: version.time_micros,
            schema: (*version.schema).clone(),
            id_bound: version.id_bound,
            num_vertices: version.num_vertices,
            counts: version.edges.iter().map(EdgeCounts::from).collect(),
            catalog: version.catalog.clone(),
            ..self.manifest.clone()
        };
        let num_past = archived.num_past(&manifest, now_micros(), needed);
        manifest.bases = Some(archived.bases[num_past..].iter().map(|base| base.sequence).collect());
        manifest.write(&*home.disk, &home.directory)?;
        home.note_manifest(&manifest);
        archived.past.extend(archived.bases.drain(..num_past));
        archived.manifest = manifest;
        archived.segments = std::mem::take(&mut self.segments);
        archived.guides = std::mem::take(&mut self.guides);
        Ok(())
    }

    /// Removes what was written, so that further attempts do not fill the disk. A manifest that was replaced, but perhaps not
    /// durably, may name it: then it stays. A backup has none until its end.
    pub(crate) fn give_up(self, home: &Home) {
        let named = match Manifest::read(&*home.disk, &home.directory) {
            Ok(manifest) => manifest.segments,
            Err(OpenError::Disk(DiskError::NotFound { .. })) => Vec::new(),
            Err(_) => return,
        };
        let is_named = |number: &u64| named.iter().any(|entry| entry.number == *number);
        for number in self.written.iter().filter(|number| !is_named(number)) {
            let path = segment_directory(&home.directory).join(segment_name(*number));
            if let Err(error) = home.disk.remove(&path) {
                tracing::warn!(%error, "the segment of an archive that failed could not be removed");
            }
        }
    }
}

/// Writes a segment and the manifest that names it; of history what is needed from commit `needed` on is kept.
pub(crate) fn archive(
    home: &Home,
    archived: &mut Archived,
    task: Task<'_>,
    needed: Sequence,
) -> Result<Made, ArchiveFault> {
    let mut files = NextFiles::of(archived);
    let made = files.write(home, archived, task);
    let last_pass = task.recycled.last_pass;
    let made =
        made.and_then(|made| files.commit(home, archived, task.version, last_pass, needed).map(|()| made));
    made.inspect_err(|_| files.give_up(home))
}

impl Archived {
    /// How many of the oldest segments stay as they are.
    fn kept_segments(&self, version: &Version, merge: Merge) -> usize {
        let mut kept = self.segments.len();
        match merge {
            Merge::Everything => kept = 0,
            Merge::Tiered => {
                let mut written = version.dirty_bytes();
                while kept > 0 && (kept >= MAX_SEGMENTS || self.segments[kept - 1].bytes() <= 2 * written) {
                    kept -= 1;
                    written += self.segments[kept].bytes();
                }
            }
        }
        kept
    }

    /// Whether a merge of all but the `kept` oldest segments would write what there is.
    fn is_settled(&self, version: &Version, kept: usize) -> bool {
        let is_as_set = |entry: &SegmentEntry| entry.format == Some(version.format);
        self.segments.len() - kept < 2 && self.manifest.segments[kept..].iter().all(is_as_set)
    }

    /// Every segment that lists may reach into.
    pub(crate) fn mapped(&self) -> Arc<Mapped> {
        Arc::new(Mapped::new(self.segments.iter().chain(&self.ghosts).cloned(), self.guides.clone()))
    }
}

impl Inner {
    /// The newest version with all that was accepted, the ids without keys in it, and how far commits are.
    fn state_to_archive(&self) -> Result<(Arc<Version>, Recycled, Progress), CommitError> {
        let committer = self.committer.lock();
        committer.intact()?;
        let recycled = committer.resolver.recycler.recycled();
        Ok((self.current.load_full(), recycled, self.written(&committer)))
    }

    /// Points the tables of the newest version to a segment that holds `version`, but for what has changed since, with
    /// `segments` mapped; tells whether nothing had, so that no list reaches into what the segment replaces. Some rows are
    /// published at a time, so that a commit waits for these at the most.
    fn repoint(
        &self,
        segment: &Segment,
        version: &Version,
        segments: Arc<Mapped>,
    ) -> Result<bool, Corruption> {
        let mut settled = true;
        let mut lots = rows_of(segment, &version.schema, REPOINTED_ROWS);
        while let Some(rows) = in_background(|| lots.next()) {
            let rows = rows?;
            let committer = self.committer.lock();
            settled &= self.repoint_with(segments.clone(), |draft| rows.put(draft, Some(version)));
            // Whoever waits to commit comes before the next rows.
            committer.unlock_fair();
        }
        Ok(settled)
    }

    /// Publishes the newest version with its tables pointed elsewhere, which is the same for its readers. The committer is
    /// the caller's.
    fn repoint_with(&self, segments: Arc<Mapped>, put: impl FnOnce(&mut Draft) -> bool) -> bool {
        let base = self.current.load_full();
        let mut draft = Draft::new(&base, base.dictionary.clone(), base.sequence, base.time_micros);
        draft.changes.stamp = None;
        draft.set_segments(segments);
        let settled = put(&mut draft);
        let (version, changes) = draft.finish();
        drop(base);
        self.publish(version, changes);
        settled
    }

    /// Syncs the log if it is kept: one that ended before the manifest could not be gone on with.
    fn sync_kept_log(&self) -> Result<(), CommitError> {
        let mut committer = self.committer.lock();
        let is_synced = !self.is_log_kept() || self.sync_log(&mut committer);
        match &committer.refusal {
            Some(refusal) if !is_synced => Err(refusal.clone().into()),
            _ => Ok(()),
        }
    }

    /// Whether the manifest, before it is replaced by that of commit `next`, is to be kept as a base: some history is, and
    /// the log since the base before has become long; or a reader needs versions from before `next`.
    pub(crate) fn wants_base(&self, archived: &Archived, committer: &Committer, next: Sequence) -> bool {
        let needed = self.cursors.versions_floor();
        if needed < next && (archived.bases.is_empty() || archived.manifest.sequence <= needed) {
            return true;
        }
        let log_bytes =
            |base: &Manifest| committer.log.as_ref().map_or(0, |log| log.bytes_after(base.sequence));
        let is_near =
            archived.bases.last().is_some_and(|base| log_bytes(base) <= self.options.log_limit_bytes);
        self.retain != Retain::Nothing && !is_near
    }

    /// Lets go of what of the log neither history nor readers need, while commits go on.
    pub(crate) fn trim_log(&self, archived: &Archived) {
        let mut committer = self.committer.lock();
        // Whoever begins to read the log from then on asks the committer.
        let needed = self.log_needed_after(archived);
        let begun = committer.ask_log(|log| log.begin_trim(needed));
        drop(committer);
        if let Some(trim) = begun.flatten() {
            let trimmed = trim.run();
            let left = self.committer.lock().ask_log(|log| Ok(log.end_trim(trimmed))).flatten();
            if let Some(error) = left {
                // The next archive will.
                tracing::warn!(%error, "a file of the log that is not needed any more could not be removed");
            }
        }
    }

    /// The commit after which the log is still needed. Where history has a limit, that is the limit for readers too.
    fn log_needed_after(&self, archived: &Archived) -> Sequence {
        match (self.retain, self.cursors.floor()) {
            (Retain::Nothing, Some(floor)) => floor.min(archived.oldest().sequence),
            _ => archived.oldest().sequence,
        }
    }
}
