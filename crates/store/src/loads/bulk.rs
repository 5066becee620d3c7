//! The commit of a large batch: its edges become a segment, and nearly all of that is done while others commit.
//!
//! ```text
//!  ids ─► tables, rows ─► segment, sync ─► tables point to it ─► what was committed since ─► MANIFEST ─► publish
//!   ▲                                                            another segment              ▲
//!  committer          commits go on (`branch.rs`) ..........................................  committer
//! ```
//!
//! In a store without files it is the same without segments and manifest.
//!
//! Where somebody follows the log or history is kept, the batch is in the log, too, in parts, and commits wait for all of it:
//!
//! ```text
//!  pieces in ids ─► part by part ─► log     ... segment, sync ─► end of the commit ─► log, sync ─► MANIFEST ─► publish
//!               └─► sorted rows  ─► spill                       from here on it is one
//! ```
//!
//! Invariants: until the manifest is replaced, nothing of the batch is in the store, for anybody; the committer is never
//! waited for within the pool, whose threads may be needed by whoever has it, and not held while it is asked whether to go on.

use std::sync::Arc;

use evergraph_log::{Log, LogOptions, ReplayError, Wanted};
use evergraph_types::{Direction, EdgeTypeId, Sequence, VertexId};

use crate::commits::batch::{BatchWrites, EndIds, FittedBatch, NewKeys, ResolvedBatch};
use crate::commits::branch::Branch;
use crate::commits::commit::{
    BatchSummary, Committer, INTERRUPTED, Refusal, Request, apply_batch, now_micros,
};
use crate::commits::stages::AllStages;
use crate::error::CommitError;
use crate::files::archive::{ArchiveFault, MAX_SEGMENTS, NextFiles, Task, note_removal};
use crate::files::home::{Archived, Home, log_directory};
use crate::files::install::install;
use crate::files::segment_writer::{Bulk, BulkLists, BulkRows};
use crate::keys::recycler::Recycled;
use crate::loads::spill::Spilled;
use crate::loads::staged::slices_of;
use crate::store::Inner;
use crate::system::pool::{in_background, in_pool};
use crate::upkeep::watch::Watch;
use crate::versions::draft::Draft;
use crate::versions::version::Version;
use crate::write_sets::codec::encode;
use crate::write_sets::ops::{OpColumn, WriteSet};

/// Of the memory limit, the part that rows which are read back at a time may take; they are merged and written in some times that.
const SPILLED_PER_LIMIT: u64 = 8;
/// So many bytes of log a batch catches up with while commits wait.
const LAST_BYTES: u64 = 1 << 18;
/// So many rows get their ids while commits wait.
const ROWS_AT_ONCE: usize = if cfg!(debug_assertions) { 1 << 11 } else { 1 << 16 };
/// So often it catches up while they go on.
const ROUNDS: u32 = 4;

/// For each row a batch has so many steps to go: to its ids, to a run or a range of its own, and to either list.
pub(crate) const STEPS_PER_ROW: u64 = 4;

/// Commits a large batch, of a store on disk as a segment: without the log or, where that is kept, in parts.
pub(crate) fn commit_bulk(
    inner: &Inner,
    batch: BatchWrites,
    watch: &Watch<'_>,
) -> Result<BatchSummary, CommitError> {
    let mut archived = inner.home.as_ref().map(|home| watch.lock(&home.archive)).transpose()?;
    let (mut fitted, mut committer) = fit(inner, batch, watch)?;
    let is_logged = inner.is_log_kept() || inner.home.is_none() && committer.log.is_some();
    if is_logged && !inner.is_in_pieces(&fitted.batch) {
        // A reader came meanwhile, and it reads the log.
        drop((committer, archived));
        return inner.submit(Request::Batch(Box::new(fitted.batch)));
    }
    if committer.resolver.schema_is_unlogged {
        // What a load that was given up has left, which is the kind of keys, comes with this one.
        fitted.schema.get_or_insert_with(|| (*committer.resolver.schema).clone());
    }
    if let Some(schema) = &fitted.schema {
        committer.resolver.set_unlogged_schema(schema.clone());
    }
    let base = inner.current.load_full();
    let recycled = committer.resolver.recycler.recycled();
    let dictionary = committer.resolver.dictionary.clone();
    let time_micros = now_micros().max(base.time_micros);
    let draft = Draft::new(&base, dictionary, base.sequence + 1, time_micros);
    let is_shared = !is_logged && inner.reclaimer.will_know_births(base.sequence);
    let turn = Turn::begin(inner, committer, base.sequence, is_shared, &fitted);
    // What is in the log in part goes to its end, and so does what alone knows its ids.
    let deaf = Watch::nobody();
    let watch = if is_shared { watch } else { &deaf };
    let disk = inner.home.as_ref().zip(archived.as_deref_mut());
    let disk = disk.map(|(home, archived)| OnDisk { home, files: NextFiles::of(archived), archived });
    let mut load = Load { inner, disk, turn, base, draft, recycled, is_logged, watch };
    match load.make(fitted).and_then(|summary| load.commit().map(|()| summary)) {
        Ok(summary) => Ok(load.publish(summary)),
        Err(error) => Err(load.give_up(error)),
    }
}

/// A batch that goes with the newest schema, and the committer, which has that.
fn fit<'a>(
    inner: &'a Inner,
    batch: BatchWrites,
    watch: &Watch<'_>,
) -> Result<(FittedBatch, AllStages<'a>), CommitError> {
    let fit = if inner.is_in_pieces(&batch) { FittedBatch::in_pieces } else { FittedBatch::new };
    let before = inner.committer.lock().resolver.schema.clone();
    let fitted = in_background(|| fit(&before, inner.options.keys, batch))?;
    watch.check()?;
    let committer = inner.committer_without_load(watch)?;
    if let Some(refusal) = &committer.refusal {
        return Err(refusal.clone().into());
    }
    let newest = &committer.resolver.schema;
    let fitted = match Arc::ptr_eq(newest, &before) {
        true => fitted,
        false => in_pool(|| fit(newest, inner.options.keys, fitted.batch))?,
    };
    Ok((fitted, committer))
}

/// A batch on its way.
struct Load<'a> {
    inner: &'a Inner,
    disk: Option<OnDisk<'a>>,
    turn: Turn<'a>,
    /// The version it began with.
    base: Arc<Version>,
    draft: Draft,
    /// The ids that have no keys, as of the commits that are in the draft. None loses its key meanwhile.
    recycled: Recycled,
    /// Whether it is in the log, in parts.
    is_logged: bool,
    /// Asked whether to go on, until commits wait for the end.
    watch: &'a Watch<'a>,
}

/// Where the segments of a batch go.
struct OnDisk<'a> {
    home: &'a Home,
    archived: &'a mut Archived,
    /// As they are to be.
    files: NextFiles,
}

impl Load<'_> {
    /// Brings the batch, and what was committed meanwhile, to segments and to the draft. Afterwards commits wait.
    fn make(&mut self, fitted: FittedBatch) -> Result<BatchSummary, CommitError> {
        let mut summary = BatchSummary::default();
        let bulk = match &self.disk {
            Some(OnDisk { home, .. }) if self.inner.is_in_pieces(&fitted.batch) => {
                self.take_pieces(fitted, home)?
            }
            _ => self.take_whole(fitted, &mut summary)?,
        };
        if bulk.is_some() {
            summary.vertices = self.draft.version.num_vertices - self.base.num_vertices;
        }
        summary.edges += self.archive(bulk)?;
        self.catch_up()?;
        Ok(summary)
    }

    /// Takes a batch that memory holds; gives its edges if they can be merged into the lists while these are archived.
    fn take_whole(
        &mut self,
        fitted: FittedBatch,
        summary: &mut BatchSummary,
    ) -> Result<Option<Bulk>, CommitError> {
        let Load { disk, turn, draft, watch, .. } = self;
        let schema = fitted.schema.clone().map_or_else(|| fitted.before.clone(), Arc::new);
        let batch = turn.map_keys(fitted, draft, watch)?;
        if !batch.delete {
            let checked = draft.version.check_batch_lengths(&schema, batch.edge_type, &batch.ends);
            // Nothing of it is in the log: its keys come with the next commit.
            checked.inspect_err(|_| turn.failure = None)?;
        }
        turn.let_others_commit();
        let bulk = in_background(|| {
            if disk.is_none() || !draft.takes_bulk(&batch) {
                *summary = apply_batch(draft, batch.into_write_set(), Some(watch));
                return None;
            }
            let (lists, ends, _) = apply_vertices(draft, batch);
            Some(Bulk { lists, rows: BulkRows::Ends(ends) })
        });
        watch.check().map(|()| bulk)
    }

    /// Takes a batch piece by piece: the rows of each go to a file as soon as they have ids, and to the log as a part of the commit
    /// where that is wanted.
    fn take_pieces(&mut self, fitted: FittedBatch, home: &Home) -> Result<Option<Bulk>, CommitError> {
        let Load { inner, turn, draft, is_logged, watch, .. } = self;
        let limit = inner.options.memory_limit_bytes;
        let bytes = limit.unwrap_or(u64::MAX) / SPILLED_PER_LIMIT;
        let FittedBatch { batch, before, mut schema, .. } = fitted;
        // Whatever others make of it meanwhile counts as later.
        let own_schema = schema.clone().map_or(before, Arc::new);
        let mut bulk: Option<Bulk> = None;
        batch.for_each_piece(limit, |piece| {
            turn.let_others_commit();
            let mut piece = in_background(|| FittedBatch::new(&own_schema, inner.options.keys, piece))?;
            piece.schema = schema.take();
            let rows = piece.batch.rows() as u64;
            let mut piece = turn.map_keys(piece, draft, watch)?;
            if *is_logged {
                let Version { sequence, time_micros, .. } = draft.version;
                turn.committer()?.append_part(&mut piece, sequence, time_micros)?;
            }
            turn.let_others_commit();
            let added = in_background(|| {
                let (lists, ends, columns) = apply_vertices(draft, piece);
                let is_multi = draft.version.schema.edge_types[usize::from(lists.edge_type)].options.multi;
                if bulk.is_none() {
                    let spilled = Spilled::new(home, bytes, is_multi)?;
                    bulk = Some(Bulk { lists, rows: BulkRows::Spilled(spilled) });
                }
                let Some(Bulk { rows: BulkRows::Spilled(spilled), .. }) = &mut bulk else { return Ok(()) };
                let sides =
                    [Direction::Out, Direction::In].map(|direction| (direction, lists.side(direction)));
                spilled.note_rows(rows);
                sides.into_iter().try_for_each(|(direction, side)| match side {
                    Some(side) => spilled.add(direction, side, &ends, &columns),
                    None => Ok(()),
                })
            });
            watch.advance(rows);
            added.map_err(CommitError::not_loaded)
        })?;
        Ok(bulk)
    }

    /// Writes what is dirty in the draft, and the edges of `bulk`, to a segment, and points the draft to it; gives the number of edges
    /// added.
    fn archive(&mut self, bulk: Option<Bulk>) -> Result<u64, CommitError> {
        let Load { inner, disk, draft, turn, recycled, watch, .. } = self;
        let Some(OnDisk { home, archived, files }) = disk else { return Ok(0) };
        let memory_limit = inner.options.memory_limit_bytes;
        let edge_type = bulk.as_ref().map_or(0, |bulk| bulk.lists.edge_type);
        let edges_before = draft.version.num_edges(edge_type);
        let upper = inner.current.load().sequence + 1;
        let (deaf, is_waited_for) = (Watch::nobody(), turn.held.is_some());
        let watch = if is_waited_for { &deaf } else { *watch };
        let write = move || -> Result<(), ArchiveFault> {
            let (bulk, version) = (bulk.as_ref(), &draft.version);
            let task = Task { version, upper, kept: files.len(), recycled, bulk, memory_limit, watch };
            let made = files.write(home, archived, task)?;
            install(&made.segment, draft, None)?;
            if let Some(tables) = draft.version.edges.get_mut(usize::from(edge_type)) {
                made.growth.add_to(tables);
            }
            Ok(())
        };
        let written = if is_waited_for { in_pool(write) } else { in_background(write) };
        written.map_err(|fault| match fault {
            ArchiveFault::GivenUp => watch.why_stopped(),
            fault => CommitError::not_loaded(fault),
        })?;
        Ok(self.draft.version.num_edges(edge_type) - edges_before)
    }

    /// Takes in what was committed meanwhile, the last of it while commits wait.
    fn catch_up(&mut self) -> Result<(), CommitError> {
        for round in 0.. {
            let (missed, bytes) = self.turn.take_journal()?;
            if missed.is_empty() {
                break;
            }
            // Their keys may be the first there are.
            let resolver = &self.turn.committer()?.resolver;
            self.draft.version.dictionary = resolver.dictionary.clone();
            self.recycled = resolver.recycler.recycled();
            let is_last = bytes <= LAST_BYTES || round == ROUNDS;
            if !is_last {
                self.turn.let_others_commit();
            }
            let draft = &mut self.draft;
            let apply = || -> Result<(), CommitError> {
                let mut rows_before = 0;
                for writes in missed {
                    let schema = writes.schema.as_ref().unwrap_or(&draft.version.schema);
                    draft.version.check_list_lengths(schema, &writes, rows_before)?;
                    rows_before += writes.num_rows();
                    draft.apply(writes);
                }
                draft.flush();
                Ok(())
            };
            if is_last {
                in_pool(apply)?
            } else {
                in_background(apply)?
            }
            self.archive(None)?;
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// Makes it the next commit, and its files those of the store.
    fn commit(&mut self) -> Result<(), CommitError> {
        let Load { inner, disk, turn, base, draft, recycled, is_logged, .. } = self;
        let newest = inner.current.load_full();
        let (sequence, time_micros) = (newest.sequence + 1, now_micros().max(newest.time_micros));
        draft.postpone(base, sequence, time_micros);
        let Some(OnDisk { home, archived, files }) = disk else { return Ok(()) };
        let mut record = || -> Result<(), ArchiveFault> {
            if let Some(committer) = turn.held.as_deref_mut().filter(|_| *is_logged) {
                if inner.wants_base(archived, committer, sequence) {
                    archived.keep_base(home)?;
                }
                committer.append_end(sequence, time_micros)?;
            }
            let needed = inner.cursors.versions_floor();
            files.commit(home, archived, &draft.version, recycled.last_pass, needed)
        };
        record().map_err(CommitError::durability)
    }

    /// Makes it the newest version.
    fn publish(self, summary: BatchSummary) -> BatchSummary {
        let Load { inner, mut disk, mut turn, base, mut draft, recycled, is_logged, .. } = self;
        disk.iter().for_each(|disk| draft.set_segments(disk.archived.mapped()));
        let (version, mut changes) = draft.finish();
        let (sequence, id_bound) = (version.sequence, version.id_bound);
        let (newest, follows) = (inner.current.load_full(), base.sequence);
        let progress = turn.end(sequence, id_bound, |branch, committer| {
            if let Some(branch) = branch {
                // What it caught up with is in its own version a second time.
                changes.retired.extend(branch.born_since(&base, &newest));
            }
            drop(newest);
            inner.publish(version, changes);
            inner.follow.advance(sequence);
            committer.deleted_by_batch = sequence;
            if let Some(disk) = &mut disk {
                committer.resolver.recycler.note_written(&recycled);
                disk.home.note_kept(disk.archived);
                disk.forget_past(inner, committer, sequence, is_logged);
            }
            inner.written(committer)
        });
        drop(turn);
        // It holds what was archived on the heap, which is freed while nobody waits.
        drop(base);
        let mut committer = inner.committer.lock();
        if let Some(OnDisk { home, .. }) = &disk {
            inner.note_archived(home, &mut committer, progress);
        }
        inner.note_growth(&committer);
        drop(committer);
        if let Some(disk) = disk {
            disk.settle(inner, is_logged);
        }
        // Its rows and their order, if not its lists, were in memory.
        inner.signal.give_back();
        inner.settle_access();
        BatchSummary { sequence, follows, ..summary }
    }

    /// Gives it up.
    fn give_up(self, error: CommitError) -> CommitError {
        let Load { disk, mut turn, draft, .. } = self;
        draft.discard();
        if let Some(OnDisk { home, files, .. }) = disk {
            files.give_up(home);
        }
        turn.fail(error)
    }
}

impl OnDisk<'_> {
    /// Lets go of the past that nobody needs, and, if the batch is not logged, of the log, for a new one behind commit `sequence`:
    /// the batch is committed, whatever becomes of that.
    fn forget_past(&mut self, inner: &Inner, committer: &mut Committer, sequence: Sequence, is_logged: bool) {
        note_removal(self.archived.remove_past(self.home));
        if !is_logged {
            let restarted = committer.restart_log(self.home, sequence, inner.options.log_options());
            committer.refusal = restarted.err().map(|fault| Refusal::Failed(fault.to_string()));
        }
    }

    /// Lets go of what of the log is not needed any more, while commits go on.
    fn settle(self, inner: &Inner, is_logged: bool) {
        if is_logged {
            inner.trim_log(self.archived);
        }
        if self.archived.segments.len() > MAX_SEGMENTS {
            inner.signal.archive();
        }
    }
}

/// The committer's part in a batch: held all the time, or only when it is needed.
struct Turn<'a> {
    inner: &'a Inner,
    /// `None` while others commit.
    held: Option<AllStages<'a>>,
    is_shared: bool,
    /// The type of the edges …
    edge_type: EdgeTypeId,
    /// … and what else it changes but them, for transactions that began before.
    changed: WriteSet,
    /// Why no more commits are taken, if it does not come to its end: some of its keys have ids, which nothing else may be
    /// given, or are in the log in part.
    failure: Option<String>,
}

impl<'a> Turn<'a> {
    fn begin(
        inner: &'a Inner,
        mut committer: AllStages<'a>,
        base: Sequence,
        is_shared: bool,
        fitted: &FittedBatch,
    ) -> Self {
        committer.branch = is_shared.then(|| Branch::new(base, fitted.edge_type));
        let (schema, items) = (fitted.schema.clone(), fitted.items());
        let changed = WriteSet { schema, items, ..WriteSet::default() };
        Turn { inner, held: Some(committer), is_shared, edge_type: fitted.edge_type, changed, failure: None }
    }

    /// The committer, unless it takes no more commits.
    fn committer(&mut self) -> Result<&mut Committer, CommitError> {
        let committer = self.held.get_or_insert_with(|| self.inner.committer.lock());
        match &committer.refusal {
            Some(refusal) => Err(refusal.clone().into()),
            None => Ok(committer),
        }
    }

    fn let_others_commit(&mut self) {
        if let Some(committer) = self.held.take_if(|_| self.is_shared) {
            committer.unlock_fair();
        }
    }

    /// A batch, or a piece of one, in ids, which the draft knows the keys of. Where others may commit, they do between some
    /// rows and the next, and their keys among its own.
    fn map_keys(
        &mut self,
        fitted: FittedBatch,
        draft: &mut Draft,
        watch: &Watch<'_>,
    ) -> Result<ResolvedBatch, CommitError> {
        let (mut batch, mut parts) = fitted.split();
        parts.iter_mut().for_each(|part| part.columns.clear());
        let rows_at_once = if self.is_shared { ROWS_AT_ONCE } else { usize::MAX };
        let mut slices = parts.into_iter().flat_map(|part| slices_of(part, rows_at_once)).peekable();
        let (mut lot, mut rows) = (Vec::new(), 0);
        while let Some(slice) = slices.next() {
            rows += slice.len();
            lot.push(slice);
            if rows < rows_at_once && slices.peek().is_some() {
                continue;
            }
            self.let_others_commit();
            watch.check()?;
            let mapped_rows = std::mem::take(&mut rows);
            let resolver = &mut self.committer()?.resolver;
            let (lot, first_new_id) = (std::mem::take(&mut lot), resolver.bound);
            let new_keys = if batch.delete { NewKeys::No } else { NewKeys::AtNextIds };
            let mapped = in_pool(|| resolver.map_keys(lot, new_keys))?;
            draft.version.dictionary = resolver.dictionary.clone();
            batch.take_ends(first_new_id, mapped, !self.is_shared);
            watch.advance(mapped_rows as u64);
            self.failure = Some(INTERRUPTED.to_owned());
        }
        Ok(batch)
    }

    /// What was committed since this was last asked for, and how many bytes of log that is.
    fn take_journal(&mut self) -> Result<(Vec<WriteSet>, u64), CommitError> {
        let journal = self.committer()?.branch.as_mut().map(Branch::take_journal);
        self.inner.branch_moved.notify_all();
        Ok(journal.unwrap_or_default())
    }

    /// Ends it as commit `sequence`, with the keys of the ids below `id_bound`; `publish` makes it the newest; gives what that gives.
    fn end<T>(
        &mut self,
        sequence: Sequence,
        id_bound: VertexId,
        publish: impl FnOnce(Option<Branch>, &mut Committer) -> T,
    ) -> T {
        let committer = self.held.get_or_insert_with(|| self.inner.committer.lock());
        committer.recent.note_bulk(self.edge_type, sequence);
        committer.note(&self.changed, sequence);
        let branch = committer.branch.take();
        committer.resolver.note_archived(id_bound);
        self.failure = None;
        publish(branch, committer)
    }

    /// Notes why it is given up, if no more commits are to be taken; gives what the caller is told. Where others went on
    /// committing they still may, unless what failed is log or manifest.
    fn fail(&mut self, error: CommitError) -> CommitError {
        let goes_on = self.is_shared && !matches!(error, CommitError::Durability { .. });
        if goes_on || self.failure.is_none() {
            self.failure = None;
            return error;
        }
        match error {
            CommitError::NotLoaded { reason } | CommitError::Durability { reason } => {
                self.failure = Some(reason.clone());
                CommitError::Durability { reason }
            }
            error => {
                self.failure = Some(error.to_string());
                error
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut committer = self.held.take().unwrap_or_else(|| self.inner.committer.lock());
        if let Some(branch) = committer.branch.take() {
            self.inner.current.load_full().retire(branch.into_withheld());
        }
        committer.resolver.take_back_schema(&self.inner.current.load());
        if let Some(failure) = self.failure.take() {
            committer.refusal.get_or_insert(Refusal::Failed(failure));
        }
        drop(committer);
        self.inner.branch_moved.notify_all();
    }
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

impl Committer {
    /// Appends a piece of a batch to the log, as a part of commit `sequence`.
    fn append_part(
        &mut self,
        piece: &mut ResolvedBatch,
        sequence: Sequence,
        time_micros: i64,
    ) -> Result<(), CommitError> {
        // Keys of a load that was given up have ids before its own.
        self.resolver.note_logged(&mut piece.writes);
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
        let (log, _) = Log::open(
            home.disk.clone(),
            &directory,
            store_id,
            Wanted::after(sequence),
            options,
            &mut |_| Ok(()),
        )?;
        self.log = Some(log);
        Ok(())
    }
}
