//! Long work of a store that somebody watches, and may stop.
//!
//! ```text
//!  work: check() ─► some rows ─► advance(rows), check() ─► … ─► the last check ─► publish
//!          │ Break                                                               nothing is asked any more
//!          └─► given up: nothing of it is there, and the store goes on
//! ```
//!
//! Invariant: work that was told to stop once is told so ever after, so that whatever was left out because of it is never taken
//! for whole.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use evergraph_types::{EdgeBatch, EdgeTypeOptions, NoProgress, Progress, Sequence};

use crate::archive::{Merge, checkpoint};
use crate::backup::backup;
use crate::batch::BatchWrites;
use crate::commit::BatchSummary;
use crate::error::{BackupError, CommitError};
use crate::pool::in_background;
use crate::store::Store;

/// What work asks whether it is to go on.
pub(crate) struct Watch<'a> {
    progress: &'a dyn Progress,
    done: AtomicU64,
    /// How much there is to do; `None` if nobody knows.
    total: Option<u64>,
    is_stopped: AtomicBool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(progress: &'a dyn Progress, total: Option<u64>) -> Self {
        Watch { progress, done: AtomicU64::new(0), total, is_stopped: AtomicBool::new(false) }
    }

    /// Work that nobody watches.
    pub(crate) fn nobody() -> Self {
        Watch::new(&NoProgress, None)
    }

    /// Notes that so much more is done.
    pub(crate) fn advance(&self, by: u64) {
        self.done.fetch_add(by, Relaxed);
    }

    /// Asks whether to go on.
    pub(crate) fn goes_on(&self) -> bool {
        if self.is_stopped.load(Relaxed) {
            return false;
        }
        let done = self.done.load(Relaxed);
        let flow = self.progress.update(self.total.map_or(done, |total| done.min(total)), self.total);
        if flow.is_break() {
            self.is_stopped.store(true, Relaxed);
        }
        flow == ControlFlow::Continue(())
    }

    /// Asks whether to go on.
    pub(crate) fn check(&self) -> Result<(), CommitError> {
        if self.goes_on() { Ok(()) } else { Err(CommitError::Cancelled) }
    }
}

/// A store whose long work somebody watches: see [`Store::watched`].
#[derive(Clone, Copy)]
pub struct Watched<'a> {
    store: &'a Store,
    progress: &'a dyn Progress,
}

impl Store {
    /// The store, for work that takes long, with `progress` hearing how far it is and whether to stop. Work that was stopped
    /// gives [`CommitError::Cancelled`] or [`BackupError::Cancelled`], has done nothing, and leaves the store as it was; where it gives a result it has come to its end,
    /// whatever `progress` said last. A batch that goes through the log at once, because history is kept or somebody
    /// follows it, is stopped before it begins or not at all.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use evergraph_store::{CommitError, Options, Store};
    /// # use evergraph_types::{EdgeBatch, KeyColumn, Progress};
    /// struct Stop;
    ///
    /// impl Progress for Stop {
    ///     fn update(&self, _done: u64, _total: Option<u64>) -> ControlFlow<()> {
    ///         ControlFlow::Break(())
    ///     }
    /// }
    ///
    /// let store = Store::in_memory(Options::default());
    /// let edges = EdgeBatch { src: KeyColumn::Int(vec![1]), dst: KeyColumn::Int(vec![2]), columns: Vec::new() };
    /// let outcome = store.watched(&Stop).add_edges("follows", vec![edges]);
    /// assert!(matches!(outcome, Err(CommitError::Cancelled)));
    /// # Ok::<(), CommitError>(())
    /// ```
    pub fn watched<'a>(&'a self, progress: &'a dyn Progress) -> Watched<'a> {
        Watched { store: self, progress }
    }
}

impl Watched<'_> {
    /// [`Store::add_edges`].
    ///
    /// # Errors
    /// Its errors, and [`CommitError::Cancelled`].
    pub fn add_edges(&self, edge_type: &str, parts: Vec<EdgeBatch>) -> Result<BatchSummary, CommitError> {
        self.commit(BatchWrites { parts, ..self.store.batch_of(edge_type, None) })
    }

    /// [`Store::add_edges_as`].
    ///
    /// # Errors
    /// Its errors, and [`CommitError::Cancelled`].
    pub fn add_edges_as(
        &self,
        edge_type: &str,
        options: EdgeTypeOptions,
        parts: Vec<EdgeBatch>,
    ) -> Result<BatchSummary, CommitError> {
        self.commit(BatchWrites { parts, ..self.store.batch_of(edge_type, Some(options)) })
    }

    /// [`Store::delete_edges`].
    ///
    /// # Errors
    /// Its errors, and [`CommitError::Cancelled`].
    pub fn delete_edges(
        &self,
        edge_type: &str,
        mut parts: Vec<EdgeBatch>,
    ) -> Result<BatchSummary, CommitError> {
        parts.iter_mut().for_each(|part| part.columns.clear());
        self.commit(BatchWrites { parts, delete: true, ..self.store.batch_of(edge_type, None) })
    }

    /// [`Store::checkpoint`]. If it is stopped in a store in memory, some lists may have been brought together.
    ///
    /// # Errors
    /// Its errors, and [`CommitError::Cancelled`].
    pub fn checkpoint(&self) -> Result<(), CommitError> {
        self.archive(Merge::Tiered)
    }

    /// [`Store::compact`]. If it is stopped in a store in memory, some lists may have been brought together.
    ///
    /// # Errors
    /// Its errors, and [`CommitError::Cancelled`].
    pub fn compact(&self) -> Result<(), CommitError> {
        self.archive(Merge::Everything)
    }

    /// [`Store::backup`].
    ///
    /// # Errors
    /// Its errors, and [`BackupError::Cancelled`].
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<Sequence, BackupError> {
        let (inner, directory) = (self.store.inner(), directory.as_ref());
        in_background(|| backup(inner, directory, &Watch::new(self.progress, None)))
    }

    fn commit(&self, batch: BatchWrites) -> Result<BatchSummary, CommitError> {
        self.store.commit_batch(batch, self.progress)
    }

    fn archive(&self, merge: Merge) -> Result<(), CommitError> {
        let done = checkpoint(self.store.inner(), merge, self.progress);
        self.store.inner().give_back();
        done
    }
}
