//! The committer: one group of transactions at a time, from what callers ask to the version readers see.
//!
//! ```text
//!  caller A ─► queue ◄─ caller B          whoever gets the lead commits all that wait as one group
//!                │
//!  accept ─► record ─► apply ─► publish ─► answer
//!  validate   one       draft    one swap    only now is
//!  resolve    append,            of the      anyone told
//!  ids        one sync           root
//!  ─── committer ───    ──── applier ────
//! ```
//!
//! Once a group is recorded, the next one may be, while it is applied; where commits are synced, the next one is accepted while one is, and recorded
//! while that is applied: see [`stages`](crate::commits::stages). Where many callers sleep meanwhile, a thread of the store's own leads them, and
//! applies a group while it is synced: see [`crowd`](crate::commits::crowd). A batch of many edges is recorded and applied side by side and has the
//! store to itself: a draft that fails to be recorded is given up. A large load has a way of its own, beside which commits go on: see
//! [`branch`](crate::commits::branch).
//!
//! Invariants: what is published is in the log; a group that fails to be recorded is not published, and no other is
//! accepted after it; every caller is answered, even if whoever leads panics.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use evergraph_disk::DiskError;
pub(crate) use evergraph_log::Synced;
use evergraph_log::{Log, LogError, LogSync};
use evergraph_types::{Direction, Sequence};
use parking_lot::{Mutex, MutexGuard};

use crate::commits::batch::BatchWrites;
use crate::commits::branch::Branch;
use crate::commits::conflict::{Late, RecentChanges};
use crate::commits::queue::{HandedIn, Lead, Outcome, Pace};
use crate::commits::resolve::Resolver;
use crate::commits::stages::Applier;
use crate::error::{Closed, CommitError};
use crate::history::changes::LogPlace;
use crate::keys::dictionary::Dictionary;
use crate::lists::heap::Changes;
use crate::lists::spares::Spares;
use crate::options::Durability;
use crate::store::Inner;
use crate::system::pool::in_pool;
use crate::transactions::reads::Reads;
use crate::transactions::writes::Writes;
use crate::upkeep::watch::Watch;
use crate::versions::draft::Draft;
use crate::versions::reclaim::Held;
use crate::versions::version::Version;
use crate::write_sets::codec::encode;
use crate::write_sets::ops::WriteSet;

pub(crate) const INTERRUPTED: &str = "a commit was interrupted";

/// A group of so many requests lets the next one be accepted while it is synced; fewer are joined by those who ask then.
const OVERLAPPED_REQUESTS: usize = 4;

/// A group of so many callers, most of whom sleep, is led by the store's own thread: among fewer, whoever is awake leads sooner than that is.
const CROWD: usize = 16;

/// Beside a sync that takes longer it does not matter when the next group is accepted: the later, the larger it is.
const QUICK_SYNC: Duration = Duration::from_micros(500);

/// Batches of fewer edges are committed as transactions are, by the thread that leads: to hand them over takes longer.
const FORKED_ROWS: usize = 1 << 9;

/// What these read is asked for as soon as they are known; what more edges read comes while they are applied.
pub(crate) const PREFETCHED_ROWS: usize = 16;

/// What a caller wants committed.
#[derive(Debug)]
pub(crate) enum Request {
    /// Those of a transaction; with what it read, if that must not have changed.
    Writes(Box<Writes>, Option<Box<Mutex<Reads>>>),
    Batch(Box<BatchWrites>),
}

impl Request {
    fn is_batch(&self) -> bool {
        matches!(self, Request::Batch(_))
    }

    /// The edges of a batch.
    fn batch_rows(&self) -> usize {
        if let Request::Batch(batch) = self { batch.rows() } else { 0 }
    }

    /// Whether it deletes vertices, whose edges are logged, too: the newest version tells which these are.
    fn deletes_vertices(&self) -> bool {
        matches!(self, Request::Writes(writes, _) if writes.vertices.iter().any(|(_, write)| write.delete))
    }
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BatchSummary {
    /// The commit, or the newest one before where there was nothing to change.
    pub sequence: Sequence,
    /// The commit it follows. Those with numbers between this and its own were made beside it, and what they wrote counts as later.
    pub follows: Sequence,
    /// Edges added or deleted. Only told of batches.
    pub edges: u64,
    /// Vertices added. Only told of batches.
    pub vertices: u64,
}

/// What only the committer touches.
#[derive(Debug)]
pub(crate) struct Committer {
    pub(crate) resolver: Resolver,
    pub(crate) recent: RecentChanges,
    /// `None` for a store in memory that nobody follows.
    pub(crate) log: Option<Log>,
    /// Where the log is read, if there is one.
    pub(crate) place: Option<LogPlace>,
    pub(crate) durability: Durability,
    /// The newest commit it has accepted …
    pub(crate) sequence: Sequence,
    /// … and its time.
    pub(crate) time_micros: i64,
    /// What it has appended to the log.
    pub(crate) logged_bytes: u64,
    /// How far it was when the version was made that is archived.
    pub(crate) archived: Written,
    /// Of the last groups that it has accepted, the newest commit and how many rows of edges there are.
    pub(crate) unpublished: Vec<(Sequence, u64)>,
    /// The newest commit that deletes edges as a batch does, also between ids without vertices.
    pub(crate) deleted_by_batch: Sequence,
    /// What a load under way is to know of commits.
    pub(crate) branch: Option<Branch>,
    /// Why no more commits are taken.
    pub(crate) refusal: Option<Refusal>,
}

/// How much commits have written since the store was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// To the log; what was replayed counts.
    pub(crate) logged_bytes: u64,
    /// To the heap.
    pub(crate) heap_bytes: u64,
}

/// Why a store takes no commits.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    Closed,
    ReadOnly,
    Failed(String),
}

impl From<Refusal> for CommitError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Closed => Closed::Ended.into(),
            Refusal::ReadOnly => CommitError::ReadOnly,
            Refusal::Failed(reason) => CommitError::Durability { reason },
        }
    }
}

/// Whether a group is worth handing to the pool.
fn forks(group: &[Request]) -> bool {
    group.iter().map(Request::batch_rows).sum::<usize>() >= FORKED_ROWS
}

/// A request that was looked at.
struct Accepted {
    writes: WriteSet,
    is_batch: bool,
    sequence: Sequence,
    /// Why nothing of it is written.
    refused: Option<CommitError>,
}

/// Requests that were looked at together.
struct AcceptedGroup {
    accepted: Vec<Accepted>,
    /// With their keys.
    dictionary: Arc<Dictionary>,
    /// The newest commit.
    last: Sequence,
    time_micros: i64,
}

impl AcceptedGroup {
    /// What is answered if they are not applied; of those that were not refused it tells nothing.
    fn into_answers(self) -> Vec<Outcome> {
        let answer = |accepted: Accepted| accepted.refused.map_or(Ok(BatchSummary::default()), Err);
        self.accepted.into_iter().map(answer).collect()
    }
}

/// A group that was applied to the newest version.
struct Applied {
    draft: Draft,
    /// Whether it is another version than that.
    is_new: bool,
    answers: Vec<Outcome>,
}

/// How a group that has the store to itself is recorded and applied.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    OneByOne,
    /// Side by side, in the pool.
    Forked,
    /// Applied while the thread for that syncs it.
    Aside,
}

/// Commits as they are logged.
pub(super) struct Record {
    first: Sequence,
    last: Sequence,
    payload: Vec<u8>,
}

impl Inner {
    /// Commits the request together with all others that wait.
    pub(crate) fn submit(&self, request: Request) -> Outcome {
        if !self.process.is_here() {
            return Err(Closed::Forked.into());
        }
        self.queue.submit(self.pace(), request, |lead| self.commit_group(lead))
    }

    /// Hands in a request whose answer is asked for later.
    pub(crate) fn hand_in(&self, request: Request) -> Result<HandedIn, CommitError> {
        self.usable()?;
        Ok(self.queue.hand_in(request))
    }

    /// Waits for the answer to a request that was handed in, which is committed if it was not yet.
    pub(crate) fn answer(&self, handed_in: HandedIn) -> Outcome {
        if !self.process.is_here() {
            return Err(Closed::Forked.into());
        }
        self.queue.answer(self.pace(), handed_in, |lead| self.commit_group(lead))
    }

    /// Commits what was handed in and nobody waits for.
    pub(crate) fn commit_handed_in(&self) {
        if self.queue.gathered() > 0 {
            let writes = Writes::new(None, self.current.load().schema.clone());
            // Each of the others is told for itself.
            self.submit(Request::Writes(Box::new(writes), None)).ok();
        }
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.options.durability == Durability::Sync && self.home.is_some()
    }

    fn pace(&self) -> Pace {
        if self.is_synced() { Pace::Disk } else { Pace::Memory }
    }

    /// Commits all requests of a group, or has that done where many sleep.
    fn commit_group(&self, lead: &mut Lead<'_>) -> Vec<Outcome> {
        let is_crowd = self.is_synced() && lead.requests.len() >= CROWD && lead.is_crowded();
        if is_crowd && lead.hand_over(|crowd| self.lead_by_thread(crowd)) {
            return Vec::new();
        }
        let mut committer = self.enter_committer();
        let group = &mut lead.requests;
        let is_alone =
            forks(group) || committer.branch.is_some() || group.iter().any(Request::deletes_vertices);
        if is_alone {
            return self.commit_alone(committer, group, Way::OneByOne);
        }
        let commit = if self.is_synced() { Self::commit_synced } else { Self::commit_in_stages };
        match committer.accept(self, group) {
            Ok((accepted, record)) => commit(self, committer, accepted, record, lead),
            Err(refused) => refused,
        }
    }

    /// The committer, once no load under way has commits wait for it.
    pub(super) fn enter_committer(&self) -> MutexGuard<'_, Committer> {
        let mut committer = self.committer.enter();
        while committer.is_ahead() {
            self.branch_moved.wait(&mut committer);
        }
        committer
    }

    /// The way of most groups: once it is logged, the next one may be.
    fn commit_in_stages(
        &self,
        mut committer: MutexGuard<'_, Committer>,
        accepted: AcceptedGroup,
        record: Option<Record>,
        lead: &mut Lead<'_>,
    ) -> Vec<Outcome> {
        if let Err(reason) = committer.record(record, accepted.time_micros) {
            return committer.fail(reason, accepted.into_answers());
        }
        let mut applier = self.committer.applier_after(&mut committer);
        if applier.is_busy {
            return committer.fail(INTERRUPTED.to_owned(), accepted.into_answers());
        }
        self.go_on(&mut committer);
        drop(committer);
        lead.pass_on();
        let applied = applier.apply(self, accepted);
        self.publish_applied(&mut applier, applied, None)
    }

    /// The way where each commit is synced: the next group is accepted meanwhile, and synced while this one is applied.
    fn commit_synced(
        &self,
        mut committer: MutexGuard<'_, Committer>,
        accepted: AcceptedGroup,
        record: Option<Record>,
        lead: &mut Lead<'_>,
    ) -> Vec<Outcome> {
        let is_large = accepted.accepted.len() >= OVERLAPPED_REQUESTS;
        let mut syncer = self.committer.syncer_after(&mut committer);
        let appended = match &syncer.failure {
            Some(reason) => Err(reason.clone()),
            None => committer.append(record, accepted.time_micros),
        };
        if let Err(reason) = appended {
            return committer.fail(reason, accepted.into_answers());
        }
        let sync = committer.log.as_ref().and_then(Log::begin_sync);
        syncer.failure = Some(INTERRUPTED.to_owned());
        self.go_on(&mut committer);
        drop(committer);
        if is_large && syncer.took < QUICK_SYNC {
            lead.go_on();
        }
        let begin = Instant::now();
        syncer.synced = sync.map(LogSync::run);
        syncer.took = begin.elapsed();
        syncer.failure = syncer.synced.as_ref().and_then(Synced::failure).map(DiskError::to_string);
        lead.pass_on();
        let mut applier = self.committer.applier_after_sync();
        if applier.is_busy {
            syncer.failure.get_or_insert(INTERRUPTED.to_owned());
        }
        if let Some(reason) = syncer.failure.clone() {
            drop((applier, syncer));
            return self.committer.lock().fail(reason, accepted.into_answers());
        }
        drop(syncer);
        let applied = applier.apply(self, accepted);
        self.publish_applied(&mut applier, applied, None)
    }

    /// The way of a group that has the store to itself: one that is worth handing to the pool is recorded and applied side by side.
    pub(super) fn commit_alone(
        &self,
        committer: MutexGuard<'_, Committer>,
        group: &mut [Request],
        way: Way,
    ) -> Vec<Outcome> {
        let mut stages = self.committer.all(committer);
        let (committer, applier) = stages.split();
        match forks(group) {
            true => in_pool(|| self.commit_by(Way::Forked, committer, applier, group)),
            false => self.commit_by(way, committer, applier, group),
        }
    }

    fn commit_by(
        &self,
        way: Way,
        committer: &mut Committer,
        applier: &mut Applier,
        group: &mut [Request],
    ) -> Vec<Outcome> {
        let (accepted, record) = match committer.accept(self, group) {
            Ok(accepted) => accepted,
            Err(refused) => return refused,
        };
        let time_micros = accepted.time_micros;
        let apply = || applier.apply(self, accepted);
        let (recorded, applied) = match way {
            Way::OneByOne => (committer.record(record, time_micros), apply()),
            Way::Forked => rayon::join(|| committer.record(record, time_micros), apply),
            Way::Aside => self.record_aside(committer, (record, time_micros), apply),
        };
        if let Err(reason) = recorded {
            applied.draft.discard();
            applier.is_busy = false;
            return committer.fail(reason, applied.answers);
        }
        let answers = self.publish_applied(applier, applied, committer.branch.as_mut());
        self.go_on(committer);
        answers
    }

    /// Makes what was applied the newest version, which `branch` is told of; gives the answers.
    fn publish_applied(
        &self,
        applier: &mut Applier,
        applied: Applied,
        branch: Option<&mut Branch>,
    ) -> Vec<Outcome> {
        let Applied { draft, is_new, answers } = applied;
        let last = draft.version.sequence;
        if is_new {
            let (version, mut changes) = draft.finish();
            branch.into_iter().for_each(|branch| branch.withhold(&mut changes.retired));
            applier.spares = self.publish(version, changes);
            self.reclaimer.note_spares(&applier.spares);
        }
        if self.options.durability != Durability::Interval || self.home.is_none() {
            self.follow.advance(last);
        }
        applier.is_busy = false;
        answers
    }

    /// After a group was logged.
    fn go_on(&self, committer: &mut Committer) {
        committer.refusal = None;
        self.note_growth(committer);
        if self.home.is_none() {
            committer.trim_in_memory(self);
        }
    }

    /// Makes a version the current one, and frees in time what the changes have retired of the one before, which they were made
    /// to; gives back the spares of the changes, with what is free already.
    pub(crate) fn publish(&self, version: Version, changes: Changes) -> Spares {
        let Changes { allocated_bytes, retired, mut spares, .. } = changes;
        self.reclaimer.allocated(allocated_bytes);
        let base = self.current.swap(Arc::new(version));
        let sequence = base.sequence;
        self.reclaimer.retire(Held::Noted(base), sequence, retired, Some(&mut spares));
        spares
    }
}

impl Applier {
    /// Makes the next version of what was accepted, and the answers.
    fn apply(&mut self, inner: &Inner, group: AcceptedGroup) -> Applied {
        self.is_busy = true;
        let base = inner.current.load();
        let is_new = group.last > base.sequence;
        let mut draft = Draft::new(&base, group.dictionary, group.last, group.time_micros);
        draft.changes.scratch = std::mem::take(&mut self.scratch);
        draft.changes.spares = std::mem::take(&mut self.spares);
        inner.reclaimer.note_spares(&self.spares);
        let mut answers = Vec::with_capacity(group.accepted.len());
        for Accepted { writes, is_batch, sequence, refused } in group.accepted {
            let follows = sequence - u64::from(!writes.is_empty());
            let mut summary = BatchSummary::default();
            if is_batch {
                summary = apply_batch(&mut draft, writes, None);
            } else {
                draft.apply(writes);
            }
            summary = BatchSummary { sequence, follows, ..summary };
            answers.push(refused.map_or(Ok(summary), Err));
        }
        draft.flush();
        self.scratch = std::mem::take(&mut draft.changes.scratch).kept();
        Applied { draft, is_new, answers }
    }
}

/// Asks the processor for what few edges will be merged into, as a transaction does when they are put.
fn prefetch_lists(version: &Version, writes: &WriteSet) {
    for (edge_type, ops) in writes.edges.iter().filter(|(_, ops)| ops.len() <= PREFETCHED_ROWS) {
        for (direction, ends) in [(Direction::Out, &ops.src), (Direction::In, &ops.dst)] {
            ends.iter().for_each(|&vertex| version.prefetch_end(*edge_type, direction, vertex));
        }
    }
}

/// Applies a batch, unless whoever watches says no, and counts what it changed.
pub(crate) fn apply_batch(draft: &mut Draft, writes: WriteSet, watch: Option<&Watch<'_>>) -> BatchSummary {
    let edge_type = writes.edges.first().map_or(0, |(edge_type, _)| *edge_type);
    let (edges_before, vertices_before) = draft.counts(edge_type);
    draft.apply(writes);
    draft.flush_watched(watch);
    let (edges, vertices) = draft.counts(edge_type);
    let (edges, vertices) = (edges.abs_diff(edges_before), vertices.saturating_sub(vertices_before));
    BatchSummary { edges, vertices, ..BatchSummary::default() }
}

impl Committer {
    /// Validates each request and turns it into ids, and all of them into a record; or refuses them all. Of what is accepted it leaves what it
    /// has no use for.
    fn accept(
        &mut self,
        inner: &Inner,
        group: &mut [Request],
    ) -> Result<(AcceptedGroup, Option<Record>), Vec<Outcome>> {
        if let Some(refusal) = &self.refusal {
            return Err(group.iter().map(|_| Err(refusal.clone().into())).collect());
        }
        self.refusal = Some(Refusal::Failed(INTERRUPTED.to_owned()));
        // Before it is asked who is open: those that begin after that begin with this version, or a newer one.
        let newest = inner.current.load();
        self.recent.forget(inner.writers.oldest().unwrap_or(newest.sequence));
        // Loads have commits of their own.
        self.sequence = self.sequence.max(newest.sequence);
        self.time_micros = now_micros().max(self.time_micros).max(newest.time_micros);
        let mut accepted = Vec::with_capacity(group.len());
        // Of those before, the newest version may lack one group, or two where they are synced.
        self.unpublished.retain(|(last, _)| *last > newest.sequence);
        let mut rows_before = self.unpublished.iter().map(|(_, rows)| rows).sum();
        let mut rows = 0;
        for request in group {
            let is_batch = request.is_batch();
            let (mut writes, mut refused) = match self.resolve_within_limits(request, &newest, rows_before) {
                Ok(writes) => (writes, None),
                Err(error) => (WriteSet::default(), Some(error)),
            };
            if is_batch {
                prefetch_lists(&newest, &writes);
            }
            // In vain but for the schema of a load under way, which the next try then finds.
            let mut brings_schema = false;
            if let Some(CommitError::Conflict { sequence: newest, .. }) = &mut refused {
                brings_schema = self.resolver.schema_is_unlogged;
                *newest = if brings_schema { self.sequence + 1 } else { *newest };
            }
            if !writes.is_empty() || brings_schema {
                self.sequence += 1;
                self.resolver.note_logged(&mut writes);
                self.branch.iter_mut().for_each(|branch| branch.note_commit(&writes));
            }
            if is_batch && writes.edges.iter().any(|(_, ops)| ops.deletes.is_some()) {
                self.deleted_by_batch = self.sequence;
            }
            (rows_before, rows) = (rows_before + writes.num_rows(), rows + writes.num_rows());
            self.note(&writes, self.sequence);
            accepted.push(Accepted { writes, is_batch, sequence: self.sequence, refused });
        }
        self.unpublished.push((self.sequence, rows));
        let record = self.encode(&newest, &accepted);
        let (last, time_micros) = (self.sequence, self.time_micros);
        let group =
            AcceptedGroup { accepted, dictionary: self.resolver.dictionary.clone(), last, time_micros };
        Ok((group, record))
    }

    /// The write set of a request, if it may commit, and no list of the newest version, with so many rows accepted since, is then
    /// too long. If one is, the keys and the schema that it brings come with the next commit.
    fn resolve_within_limits(
        &mut self,
        request: &mut Request,
        newest: &Version,
        rows_before: u64,
    ) -> Result<WriteSet, CommitError> {
        let writes = self.resolve(request)?;
        let Resolver { schema, schema_is_unlogged, .. } = &mut self.resolver;
        let checked = newest.check_list_lengths(schema, &writes, rows_before);
        *schema_is_unlogged |= checked.is_err() && writes.schema.is_some();
        if let (Err(_), Some(rebound)) = (&checked, &writes.rebound) {
            self.resolver.recycler.note_unlogged(&rebound.ids);
        }
        Ok(checked.map(|()| writes)?)
    }

    /// Takes no more commits; gives the answers to a group that was not brought to its end.
    fn fail(&mut self, reason: String, answers: Vec<Outcome>) -> Vec<Outcome> {
        self.refusal = Some(Refusal::Failed(reason.clone()));
        let error = || Err(CommitError::Durability { reason: reason.clone() });
        answers.into_iter().map(|answer| answer.and_then(|_| error())).collect()
    }

    /// The write set of a request, if it may commit. After an error nothing has changed.
    fn resolve(&mut self, request: &mut Request) -> Result<WriteSet, CommitError> {
        match request {
            Request::Writes(writes, reads) => {
                let reads = reads.as_mut().map(|reads| &*reads.get_mut());
                // First of all, for otherwise the ids of what is new mean one thing here and another one there.
                let schema = self.resolver.reconcile(writes);
                let schema = schema.ok_or_else(|| self.recent.late_for_schema(&writes.base_schema));
                let valid = schema.and_then(|schema| {
                    self.resolver.check_known_keys(writes)?;
                    self.recent.validate(writes, reads, &self.resolver)?;
                    self.validate_beside_load(reads).map(|()| schema)
                });
                let schema = valid.map_err(|late| late.named(&self.resolver))?;
                Ok(self.resolver.resolve_writes(writes, schema)?)
            }
            Request::Batch(batch) => Ok(self.resolver.resolve_batch(std::mem::take(batch))?.into_write_set()),
        }
    }

    /// Whether what a transaction has read is what it would have read after a load under way.
    fn validate_beside_load(&self, reads: Option<&Reads>) -> Result<(), Late<'static>> {
        match self.branch.as_ref().zip(reads) {
            Some((branch, reads)) if branch.changes(reads) => {
                Err(Late::for_load(branch.edge_type(), self.sequence + 1))
            }
            _ => Ok(()),
        }
    }

    /// Whether commits are so far ahead of a load under way that they are to wait for it.
    fn is_ahead(&self) -> bool {
        self.branch.as_ref().is_some_and(Branch::is_full)
    }

    /// Remembers what commit `sequence` changes, for transactions that began before it.
    pub(crate) fn note(&mut self, writes: &WriteSet, sequence: Sequence) {
        let schema = &self.resolver.schema;
        let symmetric = |edge_type| schema.edge_types[usize::from(edge_type)].options.symmetric;
        self.recent.note(writes, symmetric, sequence);
    }

    /// Why no more commits are taken, if one failed.
    pub(crate) fn failure(&self) -> Option<String> {
        match &self.refusal {
            Some(Refusal::Failed(reason)) => Some(reason.clone()),
            _ => None,
        }
    }

    /// Refuses after a failure: the disk is left alone until the store is opened again.
    pub(crate) fn intact(&self) -> Result<(), CommitError> {
        self.failure().map_or(Ok(()), |reason| Err(CommitError::Durability { reason }))
    }

    /// Asks the log for something, if there is one; after a failure takes no more commits.
    pub(crate) fn ask_log<T>(&mut self, ask: impl FnOnce(&mut Log) -> Result<T, LogError>) -> Option<T> {
        let done = ask(self.log.as_mut()?);
        done.map_err(|error| self.refusal = Some(Refusal::Failed(error.to_string()))).ok()
    }

    /// What was accepted as it is logged, if there is a log and anything to log. `base` tells the edges of vertices that are deleted.
    fn encode(&self, base: &Version, accepted: &[Accepted]) -> Option<Record> {
        self.log.as_ref()?;
        let logged = || accepted.iter().filter(|accepted| !accepted.writes.is_empty());
        let (first, last) = (logged().next()?.sequence, logged().next_back()?.sequence);
        let schema = &self.resolver.schema;
        let named = logged().map(|accepted| accepted.writes.naming_deleted_edges(base, schema));
        Some(Record { first, last, payload: encode(named) })
    }

    /// Brings a record to the log.
    pub(super) fn append(&mut self, record: Option<Record>, time_micros: i64) -> Result<(), String> {
        let (Some(log), Some(Record { first, last, payload })) = (&mut self.log, record) else {
            return Ok(());
        };
        log.append(first, last, time_micros, &payload).map_err(|error| error.to_string())?;
        self.logged_bytes += payload.len() as u64;
        Ok(())
    }

    /// Brings a record to the log, as durable as the store promises.
    fn record(&mut self, record: Option<Record>, time_micros: i64) -> Result<(), String> {
        self.append(record, time_micros)?;
        match (&mut self.log, self.durability) {
            (Some(log), Durability::Sync) => log.sync().map_err(|error| error.to_string()),
            _ => Ok(()),
        }
    }

    /// Takes in what became of a sync of what was appended; after a failure takes no more commits.
    pub(crate) fn end_sync(&mut self, synced: Synced) {
        self.ask_log(|log| log.end_sync(synced));
    }
}

/// The time in microseconds since 1970-01-01 UTC.
pub(crate) fn now_micros() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::store::Store;

    /// As if whoever applied one had panicked.
    #[test]
    fn nothing_is_applied_after_a_group_that_was_not_to_its_end() -> Result<(), Box<dyn std::error::Error>> {
        for deletes in [false, true] {
            let store = Store::in_memory(Options::default());
            store.put_edge(1, 2, "knows", &[])?;
            store.inner().committer.lock().split().1.is_busy = true;
            for _ in 0..2 {
                let put = || store.put_edge(2, 3, "knows", &[]).map(drop);
                let outcome = if deletes { store.delete_vertex(1).map(drop) } else { put() };
                assert!(matches!(outcome, Err(CommitError::Durability { .. })), "{outcome:?}");
            }
            assert_eq!(store.version()?.sequence(), 1);
            assert!(store.inner().committer.lock().failure().is_some());
        }
        Ok(())
    }

    /// As if the clock had been an hour ahead for one commit, and was then set right.
    #[test]
    fn times_do_not_fall_when_the_clock_does() -> Result<(), Box<dyn std::error::Error>> {
        let store = Store::in_memory(Options::default());
        store.put_edge(1, 2, "knows", &[])?;
        let inner = store.inner();
        let base = inner.current.load_full();
        let ahead = now_micros() + 3_600_000_000;
        let draft = Draft::new(&base, base.dictionary.clone(), base.sequence + 1, ahead);
        let (version, changes) = draft.finish();
        drop(base);
        inner.publish(version, changes);
        store.put_edge(2, 3, "knows", &[])?;
        let version = store.version()?;
        assert_eq!((version.sequence(), version.time_micros), (3, ahead));
        assert_eq!(version.num_vertices(), 3);
        Ok(())
    }

    /// As a handler's place does, which is all that its commit has.
    #[test]
    fn commits_that_replace_no_block_leave_nothing_behind_while_a_version_is_held() {
        let store = Store::in_memory(Options { background: false, ..Options::default() });
        store.put_edge(1, 2, "knows", &[]).expect("it fits");
        let held = store.version().expect("open");
        for number in 0..1_000 {
            let mut transaction = store.begin().expect("open");
            transaction.put_item("place", number.to_string().as_bytes()).expect("it fits");
            transaction.commit().expect("nothing is in its way");
        }
        let groups = store.inner().reclaimer.queue.lock().groups.len();
        assert!(groups < 50, "{groups} groups");
        drop(held);
    }
}
