//! The committer: one group of transactions at a time, from what callers ask to the version readers see.
//!
//! ```text
//!  caller A ─► queue ◄─ caller B          whoever gets the lock commits all that wait as one group
//!                │
//!  accept ─► record ─► apply ─► publish ─► answer
//!  validate   one       draft    one swap    only now is
//!  resolve    append,            of the      anyone told
//!  ids        one sync           root
//! ```
//!
//! A batch, and a group that waits for the disk, is recorded and applied side by side: a draft that fails to be recorded is
//! given up. A large load has a way of its own, beside which commits go on: see [`branch`](crate::branch).
//!
//! Invariants: what is published is in the log; a group that fails to be recorded is not published, and no other is
//! accepted after it; every caller is answered, even if the committer panics.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use evergraph_disk::checksum;
use evergraph_log::Log;
use evergraph_types::Sequence;

use crate::batch::BatchWrites;
use crate::branch::Branch;
use crate::changes::LogPlace;
use crate::codec::encode;
use crate::conflict::{Late, RecentChanges, Thing};
use crate::draft::Draft;
use crate::error::CommitError;
use crate::heap::Changes;
use crate::merge::Scratch;
use crate::ops::WriteSet;
use crate::options::Durability;
use crate::pool::in_pool;
use crate::queue::{Outcome, Pace};
use crate::reads::Reads;
use crate::resolve::Resolver;
use crate::store::Inner;
use crate::version::Version;
use crate::writes::Writes;

pub(crate) const INTERRUPTED: &str = "a commit was interrupted";

/// A group of so many requests is applied while it is synced; for fewer, to hand over takes longer than to apply.
const OVERLAPPED_REQUESTS: usize = 4;

/// What a caller wants committed.
#[derive(Debug)]
pub(crate) enum Request {
    /// Those of a transaction; with what it read, if that must not have changed.
    Writes(Writes, Option<Box<Reads>>),
    Batch(BatchWrites),
}

impl Request {
    fn is_batch(&self) -> bool {
        matches!(self, Request::Batch(_))
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
    /// What it has appended to the log.
    pub(crate) logged_bytes: u64,
    /// How far it was when the version was made that is archived.
    pub(crate) archived: Progress,
    /// Buffers of the commit before, which a small one would spend its time on growing.
    pub(crate) scratch: Scratch,
    /// What a load under way is to know of commits.
    pub(crate) branch: Option<Branch>,
    /// Why no more commits are taken.
    pub(crate) refusal: Option<Refusal>,
}

/// How much commits have written since the store was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
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
            Refusal::Closed => CommitError::Closed,
            Refusal::ReadOnly => CommitError::ReadOnly,
            Refusal::Failed(reason) => CommitError::Durability { reason },
        }
    }
}

/// A request that was looked at.
struct Accepted {
    writes: WriteSet,
    is_batch: bool,
    sequence: Sequence,
    /// Why nothing of it is written.
    refused: Option<CommitError>,
}

/// Commits as they are logged.
struct Record {
    first: Sequence,
    last: Sequence,
    payload: Vec<u8>,
}

impl Inner {
    /// Commits the request together with all others that wait.
    pub(crate) fn submit(&self, request: Request) -> Outcome {
        let is_synced = self.options.durability == Durability::Sync && self.home.is_some();
        let pace = if is_synced { Pace::Disk } else { Pace::Memory };
        self.queue.submit(pace, request, |group| {
            let is_overlapped = is_synced && group.len() >= OVERLAPPED_REQUESTS;
            let forks = is_overlapped || group.iter().any(Request::is_batch);
            let mut committer = self.committer.lock();
            while committer.is_ahead() {
                self.branch_moved.wait(&mut committer);
            }
            let committer = &mut *committer;
            let commit = || self.commit_group(committer, group, forks);
            if forks { in_pool(commit) } else { commit() }
        })
    }

    /// The way of every commit; gives the answers. Whether it `forks` is whether it records and applies side by side.
    fn commit_group(&self, committer: &mut Committer, group: Vec<Request>, forks: bool) -> Vec<Outcome> {
        if let Some(refusal) = &committer.refusal {
            return group.iter().map(|_| Err(refusal.clone().into())).collect();
        }
        let base = self.current.load_full();
        committer.refusal = Some(Refusal::Failed(INTERRUPTED.to_owned()));
        let accepted = committer.accept(group, base.sequence);
        let time_micros = now_micros().max(base.time_micros);
        let last = accepted.last().map_or(base.sequence, |accepted| accepted.sequence);
        let record = committer.encode(&base, &accepted);
        let mut draft = Draft::new(&base, committer.resolver.dictionary.clone(), last, time_micros);
        draft.changes.scratch = std::mem::take(&mut committer.scratch);
        draft.changes.spares = self.reclaimer.take_spares();
        let record = || committer.append(record, time_micros);
        let apply = || apply(draft, accepted);
        let (recorded, (mut draft, answers)) =
            if forks { rayon::join(record, apply) } else { (record(), apply()) };
        committer.scratch = std::mem::take(&mut draft.changes.scratch).kept();
        self.reclaimer.put_spares(std::mem::take(&mut draft.changes.spares));
        if let Err(reason) = recorded {
            draft.discard();
            committer.refusal = Some(Refusal::Failed(reason.clone()));
            let error = || Err(CommitError::Durability { reason: reason.clone() });
            return answers.into_iter().map(|answer| answer.and_then(|_| error())).collect();
        }
        if last > base.sequence {
            let (version, mut changes) = draft.finish();
            committer.branch.iter_mut().for_each(|branch| branch.withhold(&mut changes.retired));
            self.publish(base, version, changes);
        }
        if committer.durability != Durability::Interval || self.home.is_none() {
            self.follow.advance(last);
        }
        committer.recent.forget(self.writers.oldest());
        committer.refusal = None;
        self.note_growth(committer);
        if self.home.is_none() {
            committer.trim_in_memory(self);
        }
        answers
    }

    /// Makes a version the current one in place of `base`, and frees in time what the changes have retired.
    pub(crate) fn publish(&self, base: Arc<Version>, version: Version, changes: Changes) {
        self.reclaimer.allocated(changes.allocated_bytes);
        self.current.store(Arc::new(version));
        base.retire(changes.retired);
    }
}

/// Makes the next version of what was accepted, and the answers.
fn apply(mut draft: Draft, accepted: Vec<Accepted>) -> (Draft, Vec<Outcome>) {
    let mut answers = Vec::with_capacity(accepted.len());
    for Accepted { writes, is_batch, sequence, refused } in accepted {
        let follows = sequence - u64::from(!writes.is_empty());
        let mut summary = BatchSummary::default();
        if is_batch {
            summary = apply_batch(&mut draft, writes);
        } else {
            draft.apply(writes);
        }
        summary = BatchSummary { sequence, follows, ..summary };
        answers.push(refused.map_or(Ok(summary), Err));
    }
    draft.flush();
    (draft, answers)
}

/// Applies a batch and counts what it changed.
pub(crate) fn apply_batch(draft: &mut Draft, writes: WriteSet) -> BatchSummary {
    let edge_type = writes.edges.first().map_or(0, |(edge_type, _)| *edge_type);
    let (edges_before, vertices_before) = draft.counts(edge_type);
    draft.apply(writes);
    let (edges, vertices) = draft.counts(edge_type);
    let (edges, vertices) = (edges.abs_diff(edges_before), vertices.saturating_sub(vertices_before));
    BatchSummary { edges, vertices, ..BatchSummary::default() }
}

impl Committer {
    /// Validates each request and turns it into ids.
    fn accept(&mut self, group: Vec<Request>, last: Sequence) -> Vec<Accepted> {
        let mut sequence = last;
        let mut accepted = Vec::with_capacity(group.len());
        for request in group {
            let is_batch = request.is_batch();
            let (mut writes, mut refused) = match self.resolve(request) {
                Ok(writes) => (writes, None),
                Err(error) => (WriteSet::default(), Some(error)),
            };
            // In vain but for the schema of a load under way, which the next try then finds.
            let mut brings_schema = false;
            if let Some(CommitError::Conflict { sequence: newest, .. }) = &mut refused {
                brings_schema = self.resolver.schema_is_unlogged;
                *newest = if brings_schema { sequence + 1 } else { *newest };
            }
            if !writes.is_empty() || brings_schema {
                sequence += 1;
                self.resolver.note_logged(&mut writes);
                self.branch.iter_mut().for_each(|branch| branch.note_commit(&writes));
            }
            self.note(&writes, sequence);
            accepted.push(Accepted { writes, is_batch, sequence, refused });
        }
        accepted
    }

    /// The write set of a request, if it may commit. After an error nothing has changed.
    pub(crate) fn resolve(&mut self, request: Request) -> Result<WriteSet, CommitError> {
        match request {
            Request::Writes(writes, reads) => {
                let valid = self.recent.validate(&writes, reads.as_deref(), &self.resolver);
                valid.map_err(|late| {
                    let read = reads.iter().flat_map(|reads| &reads.items);
                    self.conflict(&late, writes.items.keys().chain(read).map(|name| &**name))
                })?;
                let schema = self.resolver.reconcile(&writes).ok_or_else(|| CommitError::Conflict {
                    what: "the schema".to_owned(),
                    sequence: self.recent.newest_schema,
                })?;
                Ok(self.resolver.resolve_writes(writes, schema)?)
            }
            Request::Batch(batch) => Ok(self.resolver.resolve_batch(batch)?.into_write_set()),
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

    /// What was accepted as it is logged, if there is a log and anything to log.
    fn encode(&self, base: &Version, accepted: &[Accepted]) -> Option<Record> {
        self.log.as_ref()?;
        let logged: Vec<&Accepted> = accepted.iter().filter(|accepted| !accepted.writes.is_empty()).collect();
        let (first, last) = (logged.first()?.sequence, logged.last()?.sequence);
        let named: Vec<Cow<'_, WriteSet>> = logged
            .iter()
            .map(|accepted| accepted.writes.naming_deleted_edges(base, &self.resolver.schema))
            .collect();
        Some(Record { first, last, payload: encode(named.iter().map(AsRef::as_ref)) })
    }

    /// Brings a record to the log, as durable as the store promises.
    fn append(&mut self, record: Option<Record>, time_micros: i64) -> Result<(), String> {
        let (Some(log), Some(Record { first, last, payload })) = (&mut self.log, record) else {
            return Ok(());
        };
        log.append(first, last, time_micros, &[&payload]).map_err(|error| error.to_string())?;
        self.logged_bytes += payload.len() as u64;
        match self.durability {
            Durability::Sync => log.sync().map_err(|error| error.to_string()),
            Durability::Interval | Durability::None => Ok(()),
        }
    }

    /// `items` are the names of those the transaction wrote or read.
    fn conflict<'a>(&self, late: &Late, items: impl IntoIterator<Item = &'a str>) -> CommitError {
        let key = |vertex| self.resolver.dictionary.key(vertex);
        let what = match late.what {
            Thing::Vertex(vertex) => format!("vertex {}", key(vertex)),
            Thing::Item(hash) => {
                let name = items.into_iter().find(|name| checksum(name.as_bytes()) == hash);
                format!("the catalog item {:?}", name.unwrap_or_default())
            }
            Thing::Neighbors(edge_type, vertex) => {
                let name = &self.resolver.schema.edge_types[usize::from(edge_type)].name;
                format!("the neighbors of {} over edges of type {name:?}", key(vertex))
            }
            Thing::Schema => "the schema, some of which was dropped or renamed,".to_owned(),
            Thing::EdgeType => "an edge type that was looked for in vain".to_owned(),
            Thing::Edge(edge_type, src, dst) => {
                let name = &self.resolver.schema.edge_types[usize::from(edge_type)].name;
                format!("edge {} -> {} of type {name:?}, or one of its ends,", key(src), key(dst))
            }
        };
        CommitError::Conflict { what, sequence: late.sequence }
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
        inner.publish(base, version, changes);
        store.put_edge(2, 3, "knows", &[])?;
        let version = store.version()?;
        assert_eq!((version.sequence(), version.time_micros), (3, ahead));
        assert_eq!(version.num_vertices(), 3);
        Ok(())
    }
}
