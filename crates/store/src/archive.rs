//! Archiving: what is in memory only, and what small segments hold, becomes one new segment. Checkpoint, merge and
//! the commit of a bulk load are this one operation.
//!
//! ```text
//!  version ─► write segment, sync ─► sync directory ─► MANIFEST ─► repoint the vertex tables ─► trim the log,
//!             of what is dirty and                     the commit   by an ordinary publish      remove what was
//!             of the merged segments                   of it                                    merged
//! ```
//!
//! Invariants: until the manifest is replaced, the old segments and the log hold everything; from then on the new
//! ones do. A crash in between leaves files that nobody names, which the next open removes. A failed archive
//! therefore loses nothing and changes nothing.
//!
//! Where somebody follows the log or history is kept, a bulk load is in the log, too, in parts:
//!
//! ```text
//!  pieces in ids ─► part by part ─► log     ... segment, sync ─► end of the commit ─► log, sync ─► MANIFEST ─► publish
//!               └─► sorted rows  ─► spill                       from here on it is one
//! ```

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use evergraph_disk::{Corruption, DiskError};
use evergraph_log::{Log, LogOptions, ReplayError};
use evergraph_segment::{Segment, SegmentError};
use evergraph_types::{Direction, Sequence};
use thiserror::Error;

use crate::batch::{BatchWrites, EndIds, ResolvedBatch};
use crate::codec::encode;
use crate::commit::{BatchSummary, Committer, INTERRUPTED, Refusal, Request, apply_batch, now_micros};
use crate::draft::Draft;
use crate::error::CommitError;
use crate::home::{Archived, Home, log_directory, segment_directory, segment_name};
use crate::install::install;
use crate::manifest::{EdgeCounts, Manifest, SegmentEntry};
use crate::ops::{OpColumn, WriteSet};
use crate::pool::in_pool;
use crate::recluster::{AT_REST, Gather, gather};
use crate::retain::Retain;
use crate::segment_writer::{Bulk, BulkGrowth, BulkLists, BulkRows, Contents, Written, write_segment};
use crate::spill::Spilled;
use crate::store::Inner;
use crate::version::Version;

/// Of the memory limit, the part that rows which are read back at a time may take; they are merged and written in some times that.
const SPILLED_PER_LIMIT: u64 = 8;

/// A store has at most this many segments after an archive.
pub(crate) const MAX_SEGMENTS: usize = 8;

/// Which segments are merged into the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// The newest ones that are small beside what is written anyway, so that each byte is rewritten a logarithmic
    /// number of times.
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
    #[error("it was given up, for the store is being closed")]
    GivenUp,
}

/// What becomes a segment.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    /// Whose dirty cells.
    pub(crate) version: &'a Version,
    /// So many of the oldest segments stay, the others are merged into the new one.
    pub(crate) kept: usize,
    /// Edges to add.
    pub(crate) bulk: Option<&'a Bulk>,
    /// Looked at again and again: otherwise it is given up.
    pub(crate) goes_on: &'a (dyn Fn() -> bool + Sync),
}

/// What an archive made.
pub(crate) struct Made {
    segment: Arc<Segment>,
    /// Segments no longer in the manifest.
    merged: Vec<Arc<Segment>>,
    growth: BulkGrowth,
}

/// Archives the newest version.
pub(crate) fn checkpoint(inner: &Inner, merge: Merge) -> Result<(), CommitError> {
    if inner.options.read_only {
        return Err(CommitError::ReadOnly);
    }
    let Some(home) = &inner.home else {
        let wanted = if merge == Merge::Everything { Gather::Everything } else { AT_REST };
        return gather(inner, wanted, || true).map(drop);
    };
    let mut archived = home.archive.lock();
    if inner.is_closed.load(Ordering::Acquire) {
        return Err(CommitError::Closed);
    }
    let (version, progress) = {
        let committer = inner.committer.lock();
        (inner.current.load_full(), inner.progress(&committer))
    };
    let kept = archived.kept_segments(&version, merge);
    let is_as_set = |entry: &SegmentEntry| entry.format == Some(version.format);
    let is_settled =
        archived.segments.len() - kept < 2 && archived.manifest.segments[kept..].iter().all(is_as_set);
    if version.sequence == archived.manifest.sequence && is_settled {
        return Ok(());
    }
    inner.sync_kept_log()?;
    let failed = |fault: ArchiveFault| CommitError::Archive { reason: fault.to_string() };
    let merged: Vec<u64> = archived.manifest.segments[kept..].iter().map(|segment| segment.number).collect();
    if version.sequence > archived.manifest.sequence
        && inner.wants_base(&archived, &inner.committer.lock(), version.sequence)
    {
        archived.keep_base(home).map_err(|error| failed(error.into()))?;
    }
    let files = &mut *archived;
    // What is archived is in the log, too, so that whoever closes the store need not wait for it.
    let goes_on = || !inner.is_closed.load(Ordering::Acquire);
    let written = in_pool(|| {
        let task = Task { version: &version, kept, bulk: None, goes_on: &goes_on };
        archive(home, files, task, || Ok(()))
    });
    let made = written.map_err(|fault| match fault {
        ArchiveFault::GivenUp => CommitError::Closed,
        fault => failed(fault),
    })?;
    let dropped = archived.drop_history(home, version.sequence, now_micros(), inner.cursors.versions_floor());

    let mut committer = inner.committer.lock();
    let repointed = inner.repoint(&made.segment, &version, |settled| {
        if settled {
            archived.ghosts.clear();
        } else {
            archived.ghosts.extend(made.merged.iter().cloned());
        }
        archived.mapped()
    });
    repointed.map_err(|damage| failed(damage.into()))?;
    inner.settle_access();
    inner.follow.advance(version.sequence);
    // It holds what was archived on the heap.
    drop(version);
    inner.note_archived(home, &mut committer, progress);
    inner.trim_log(&archived, &mut committer);
    // Of what was committed meanwhile.
    inner.note_growth(&committer);
    drop(committer);
    note_removal(dropped.and_then(|()| archived.remove_unnamed(home, merged)));
    Ok(())
}

fn note_removal(outcome: Result<(), DiskError>) {
    if let Err(error) = outcome {
        // The next open will.
        tracing::warn!(%error, "a segment that is not needed any more could not be removed");
    }
}

/// Commits a large batch as a segment: without the log, or, where that is kept, in parts.
pub(crate) fn commit_bulk(
    inner: &Inner,
    home: &Home,
    batch: BatchWrites,
) -> Result<BatchSummary, CommitError> {
    let mut archived = home.archive.lock();
    let mut committer = inner.committer.lock();
    if let Some(refusal) = &committer.refusal {
        return Err(refusal.clone().into());
    }
    let is_logged = inner.is_log_kept();
    if is_logged && !batch.is_large(inner.options.memory_limit_bytes) {
        // A reader came meanwhile, and it reads the log.
        drop((committer, archived));
        return inner.submit(Request::Batch(batch));
    }
    let (archived, committer) = (&mut *archived, &mut *committer);
    in_pool(|| commit_as_segment(inner, home, archived, committer, batch, is_logged))
}

fn commit_as_segment(
    inner: &Inner,
    home: &Home,
    archived: &mut Archived,
    committer: &mut Committer,
    batch: BatchWrites,
    is_logged: bool,
) -> Result<BatchSummary, CommitError> {
    let base = inner.current.load_full();
    let sequence = base.sequence + 1;
    let time_micros = now_micros().max(base.time_micros);
    let mut draft = Draft::new(&base, committer.resolver.dictionary.clone(), sequence, time_micros);
    let mut summary = BatchSummary { sequence, ..BatchSummary::default() };
    let limit = inner.options.memory_limit_bytes;
    let outcome = match batch.is_large(limit) {
        true => spill_batch(home, committer, &mut draft, batch, limit, is_logged),
        false => {
            let batch = committer.accept_batch(batch, sequence);
            batch.map(|batch| apply_whole(&mut draft, batch, &mut summary))
        }
    };
    let bulk = match outcome {
        Ok(bulk) => bulk,
        Err(error) => {
            draft.discard();
            return Err(error);
        }
    };
    draft.version.dictionary = committer.resolver.dictionary.clone();
    if bulk.is_some() {
        summary.vertices = draft.version.num_vertices - base.num_vertices;
    }
    let is_base_kept = match is_logged && inner.wants_base(archived, committer, sequence) {
        true => archived.keep_base(home).map_err(ArchiveFault::from),
        false => Ok(()),
    };
    let finish = || if is_logged { committer.append_end(sequence, time_micros) } else { Ok(()) };
    match is_base_kept.and_then(|()| archive_draft(home, archived, &mut draft, bulk.as_ref(), finish)) {
        Ok(edges) => summary.edges += edges,
        Err(fault) => {
            let reason = fault.to_string();
            committer.refusal = Some(Refusal::Failed(reason.clone()));
            draft.discard();
            return Err(CommitError::Durability { reason });
        }
    }
    drop(bulk);
    inner.publish(base, draft);
    inner.settle_access();
    inner.note_archived(home, committer, inner.progress(committer));
    committer.recent.forget(inner.writers.oldest());
    inner.follow.advance(sequence);
    // The batch is committed, whatever becomes of the log now.
    if is_logged {
        let floor = inner.cursors.versions_floor();
        note_removal(archived.drop_history(home, sequence, now_micros(), floor));
        committer.refusal = None;
        inner.trim_log(archived, committer);
    } else {
        let restarted = committer.restart_log(home, sequence, inner.options.log_options());
        committer.refusal = restarted.err().map(|fault| Refusal::Failed(fault.to_string()));
    }
    if archived.segments.len() > MAX_SEGMENTS {
        inner.signal.archive();
    }
    inner.note_growth(committer);
    Ok(summary)
}

/// Takes a batch that memory holds; gives its edges if they can be merged into the lists while these are archived.
fn apply_whole(draft: &mut Draft, batch: ResolvedBatch, summary: &mut BatchSummary) -> Option<Bulk> {
    if !draft.takes_bulk(&batch) {
        *summary = apply_batch(draft, batch.into_write_set(), summary.sequence);
        return None;
    }
    let (lists, ends, _) = apply_vertices(draft, batch);
    Some(Bulk { lists, rows: BulkRows::Ends(ends) })
}

/// Takes all of a batch but its edges, the vertices at their ends included; gives the lists that are to grow, the ends, and
/// the properties.
fn apply_vertices(draft: &mut Draft, mut batch: ResolvedBatch) -> (BulkLists, Vec<EndIds>, Vec<OpColumn>) {
    let vertices = batch.vertices();
    let ResolvedBatch { writes, edge_type, ends, columns, .. } = batch;
    draft.apply(writes);
    draft.flush();
    draft.mark_ids(&vertices);
    let options = &draft.version.schema.edge_types[usize::from(edge_type)].options;
    (BulkLists { edge_type, symmetric: options.symmetric, reverse: options.reverse }, ends, columns)
}

/// Takes a batch piece by piece: the rows of each go to a file as soon as they have ids, and to the log as a part of the commit
/// where that is wanted.
fn spill_batch(
    home: &Home,
    committer: &mut Committer,
    draft: &mut Draft,
    batch: BatchWrites,
    limit: Option<u64>,
    is_logged: bool,
) -> Result<Option<Bulk>, CommitError> {
    let bytes = limit.unwrap_or(u64::MAX) / SPILLED_PER_LIMIT;
    committer.resolver.check_batch(&batch)?;
    let mut bulk: Option<Bulk> = None;
    let taken = batch.for_each_piece(limit, |piece| -> Result<(), CommitError> {
        let mut piece = committer.accept_batch(piece, draft.version.sequence)?;
        if is_logged {
            committer.append_part(&mut piece, draft.version.sequence, draft.version.time_micros)?;
        }
        let (lists, ends, columns) = apply_vertices(draft, piece);
        if bulk.is_none() {
            let rows = BulkRows::Spilled(Spilled::new(home, bytes).map_err(CommitError::durability)?);
            bulk = Some(Bulk { lists, rows });
        }
        if let Some(Bulk { rows: BulkRows::Spilled(spilled), .. }) = &mut bulk {
            for direction in [Direction::Out, Direction::In] {
                let Some(side) = lists.side(direction) else { continue };
                spilled.add(direction, side, &ends, &columns).map_err(CommitError::durability)?;
            }
        }
        Ok(())
    });
    match (taken, &committer.refusal) {
        (Ok(()), _) => Ok(bulk),
        // Some of its keys have ids, which nothing else may be given.
        (Err(error), Some(_)) => {
            committer.refusal = Some(Refusal::Failed(error.to_string()));
            Err(error)
        }
        (Err(error), None) => Err(error),
    }
}

impl Committer {
    /// A batch, or a piece of one, in ids. From the first that is accepted on, the store takes no other commit until the
    /// refusal is taken back.
    fn accept_batch(&mut self, batch: BatchWrites, sequence: Sequence) -> Result<ResolvedBatch, CommitError> {
        let batch = self.resolver.resolve_batch(batch)?;
        self.refusal = Some(Refusal::Failed(INTERRUPTED.to_owned()));
        self.recent.note_bulk(batch.edge_type, sequence);
        self.note(&batch.writes, sequence);
        Ok(batch)
    }

    /// Appends a piece of a batch to the log, as a part of commit `sequence`.
    fn append_part(
        &mut self,
        piece: &mut ResolvedBatch,
        sequence: Sequence,
        time_micros: i64,
    ) -> Result<(), CommitError> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let payload = piece.seen_as_write_set(|writes| encode([writes].into_iter()));
        log.append_part(sequence, time_micros, &payload).map_err(CommitError::durability)
    }

    /// Makes the parts in the log a commit, durably.
    fn append_end(&mut self, sequence: Sequence, time_micros: i64) -> Result<(), ArchiveFault> {
        let Some(log) = &mut self.log else { return Ok(()) };
        let payload = encode([&WriteSet::default()].into_iter());
        let appended = log.append_end(sequence, time_micros, &payload).and_then(|()| log.sync());
        Ok(appended.map_err(ReplayError::Log)?)
    }
}

/// Archives a draft with the edges of `bulk`, `finish` being the last before the manifest; gives the number of edges that these
/// add.
fn archive_draft(
    home: &Home,
    archived: &mut Archived,
    draft: &mut Draft,
    bulk: Option<&Bulk>,
    finish: impl FnOnce() -> Result<(), ArchiveFault>,
) -> Result<u64, ArchiveFault> {
    let kept = archived.segments.len();
    let edge_type = bulk.map_or(0, |bulk| bulk.lists.edge_type);
    let edges_before = draft.version.num_edges(edge_type);
    let task = Task { version: &draft.version, kept, bulk, goes_on: &|| true };
    let made = archive(home, archived, task, finish)?;
    install(&made.segment, draft, None)?;
    if let Some(tables) = bulk.and_then(|bulk| draft.version.edges.get_mut(usize::from(bulk.lists.edge_type)))
    {
        made.growth.add_to(tables);
    }
    draft.set_segments(archived.mapped());
    Ok(draft.version.num_edges(edge_type) - edges_before)
}

/// Writes the segment and the manifest, and `finish` between them.
pub(crate) fn archive(
    home: &Home,
    archived: &mut Archived,
    task: Task<'_>,
    finish: impl FnOnce() -> Result<(), ArchiveFault>,
) -> Result<Made, ArchiveFault> {
    let number = archived.manifest.next_segment;
    // A number is used once, even if the attempt fails.
    archived.manifest.next_segment += 1;
    let made = archive_as(number, home, archived, task, finish);
    if made.is_err() {
        remove_unnamed(home, number);
    }
    made
}

fn archive_as(
    number: u64,
    home: &Home,
    archived: &mut Archived,
    task: Task<'_>,
    finish: impl FnOnce() -> Result<(), ArchiveFault>,
) -> Result<Made, ArchiveFault> {
    let Task { version, kept, bulk, goes_on } = task;
    let (kept_entries, merged_entries) = archived.manifest.segments.split_at(kept);
    let first_key = match (merged_entries.first(), kept_entries.last()) {
        (Some(merged), _) => merged.first_key,
        (None, Some(newest)) => newest.end_key,
        (None, None) => 0,
    };
    let merged = archived.segments[kept..].to_vec();
    let directory = segment_directory(&home.directory);
    let path = directory.join(segment_name(number));
    let contents = Contents { version, merged: &merged, is_bottom: kept == 0, first_key, bulk, goes_on };
    let Written { bytes, entries, growth } =
        write_segment(&*home.disk, home.store_id, &path, number, contents)?;
    if !goes_on() {
        return Err(ArchiveFault::GivenUp);
    }
    home.disk.sync_dir(&directory)?;
    let segment = Arc::new(Segment::open(&*home.disk, &path, &archived.manifest.store_id)?);
    let mut tables = version.edges.clone();
    if let Some(tables) = bulk.and_then(|bulk| tables.get_mut(usize::from(bulk.lists.edge_type))) {
        growth.add_to(tables);
    }
    let counts = tables.iter().map(EdgeCounts::from).collect();
    let mut manifest = Manifest {
        sequence: version.sequence,
        time_micros: version.time_micros,
        schema: (*version.schema).clone(),
        id_bound: version.id_bound,
        num_vertices: version.num_vertices,
        counts,
        catalog: version.catalog.clone(),
        ..archived.manifest.clone()
    };
    manifest.segments.truncate(kept);
    manifest.segments.push(SegmentEntry {
        number,
        bytes,
        first_key,
        end_key: version.id_bound.max(first_key),
        format: Some(version.format),
        entries,
    });
    finish()?;
    manifest.write(&*home.disk, &home.directory)?;
    home.note_manifest(&manifest);
    archived.manifest = manifest;
    archived.segments.truncate(kept);
    archived.segments.push(segment.clone());
    Ok(Made { segment, merged, growth })
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

    /// Every segment that lists may reach into.
    pub(crate) fn mapped(&self) -> Arc<[Arc<Segment>]> {
        self.segments.iter().chain(&self.ghosts).cloned().collect()
    }
}

impl Inner {
    /// Publishes the newest version with its tables pointed to a segment that holds `version`, but for what has changed
    /// since; `segments` tells which ones there are then, from whether nothing had changed, so that no
    /// list reaches into what the segment replaces. The committer is the caller's meanwhile.
    fn repoint(
        &self,
        segment: &Segment,
        version: &Version,
        segments: impl FnOnce(bool) -> Arc<[Arc<Segment>]>,
    ) -> Result<(), Corruption> {
        let base = self.current.load_full();
        let mut draft = Draft::new(&base, base.dictionary.clone(), base.sequence, base.time_micros);
        draft.changes.stamp = None;
        let settled = in_pool(|| install(segment, &mut draft, Some(version)))?;
        draft.set_segments(segments(settled));
        self.publish(base, draft);
        Ok(())
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
    fn wants_base(&self, archived: &Archived, committer: &Committer, next: Sequence) -> bool {
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

    /// Lets go of what of the log neither history nor readers need.
    fn trim_log(&self, archived: &Archived, committer: &mut Committer) {
        let needed = self.log_needed_after(archived);
        let trimmed = committer.log.as_mut().map_or(Ok(()), |log| log.trim(needed));
        if let Err(error) = trimmed {
            committer.refusal = Some(Refusal::Failed(error.to_string()));
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

impl Committer {
    /// Begins a new log behind commit `sequence`, which is not in the old one.
    fn restart_log(
        &mut self,
        home: &Home,
        sequence: Sequence,
        options: LogOptions,
    ) -> Result<(), ArchiveFault> {
        let Some(mut log) = self.log.take() else { return Ok(()) };
        log.trim(sequence).map_err(ReplayError::Log)?;
        drop(log);
        let store_id = home.store_id;
        let directory = log_directory(&home.directory);
        let (log, _) =
            Log::open(home.disk.clone(), &directory, store_id, sequence, options, &mut |_| Ok(()))?;
        self.log = Some(log);
        Ok(())
    }
}

/// Removes what an archive that failed has written, so that further attempts do not fill the disk. A manifest that was
/// replaced, but perhaps not durably, may name it: then it stays.
fn remove_unnamed(home: &Home, number: u64) {
    let Ok(manifest) = Manifest::read(&*home.disk, &home.directory) else { return };
    let path = segment_directory(&home.directory).join(segment_name(number));
    if manifest.segments.iter().all(|entry| entry.number != number)
        && let Err(error) = home.disk.remove(&path)
    {
        tracing::warn!(%error, "the segment of an archive that failed could not be removed");
    }
}
