//! Long work of a store that somebody watches, and may stop.
//!
//! ```text
//!  caller  ask() ......... progress ─► answer ....... progress ─► answer .................................. result
//!            │                ▲          │               ▲          │                                          ▲
//!  work      └─► some rows ─► goes_on()? ┴─► some rows ─► goes_on()? ┴─► … ─► the last question ─► publish ────┘
//!                                        │ no                                nothing is asked any more
//!                                        └─► given up: nothing of it is there, and the store goes on
//! ```
//!
//! The work has a thread of its own, and the caller answers on the caller's, which holds nothing of the store. Where an answer does not
//! come soon, since whoever gives it does something first that waits for the work, the work goes on without, and hears it when it
//! comes. So whoever is asked may do anything with the store. The committer is not held meanwhile: who reads or commits before it
//! answers waits for nothing.
//!
//! Invariants: work waits for whoever watches it no longer than [`PATIENCE`]; work that was told to stop once is told so ever after,
//! so that whatever was left out because of it is never taken for whole.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evergraph_disk::{Condvar, Mutex};
use evergraph_types::{EdgeBatch, EdgeTypeOptions, Progress, Sequence};
use parking_lot::MutexGuard;

use crate::commits::batch::BatchWrites;
use crate::commits::commit::BatchSummary;
use crate::error::{BackupError, Closed, CommitError};
use crate::files::archive::{Merge, checkpoint};
use crate::files::backup::backup;
use crate::store::{Inner, Store};
use crate::system::parallel::by_reference;
use crate::system::pool::in_background;

/// So long work waits for an answer at the most: for any that does not itself wait for the work.
const PATIENCE: Duration = Duration::from_millis(250);

/// So often work that waits for its turn asks whether it is to.
pub(crate) const TURN: Duration = Duration::from_millis(50);

/// What work asks whether it is to go on.
pub(crate) struct Watch<'a> {
    done: AtomicU64,
    /// How much there is to do; `None` if nobody knows.
    total: Option<u64>,
    is_stopped: AtomicBool,
    /// Whether the store is closed, for work that stops then.
    is_closed: Option<&'a AtomicBool>,
    /// `None` if nobody watches.
    questions: Option<Questions>,
}

/// What the work has asked whoever watches it.
#[derive(Default)]
struct Questions {
    state: Mutex<Asked>,
    /// Told to whoever answers.
    asked: Condvar,
    /// Told to the work.
    answered: Condvar,
}

#[derive(Default)]
struct Asked {
    /// How many times.
    questions: u64,
    answers: u64,
    /// Whether the answer is not waited for.
    is_late: bool,
    /// Whether the work is over, or nobody is there to answer.
    is_over: bool,
}

impl<'a> Watch<'a> {
    /// Work that goes on until it is done.
    pub(crate) fn nobody() -> Self {
        let (done, is_stopped) = (AtomicU64::new(0), AtomicBool::new(false));
        Watch { done, total: None, is_stopped, is_closed: None, questions: None }
    }

    /// Work that goes on until the store is closed.
    pub(crate) fn until_closed(inner: &'a Inner) -> Self {
        Watch { is_closed: Some(&inner.is_closed), ..Watch::nobody() }
    }

    /// Does this work, `progress` being asked on this thread, and any number of times, whether it goes on.
    pub(crate) fn ask<T: Send>(
        mut self,
        progress: Option<&dyn Progress>,
        total: Option<u64>,
        work: impl FnOnce(&Self) -> T + Send,
    ) -> T {
        let Some(progress) = progress else { return work(&self) };
        (self.total, self.questions) = (total, Some(Questions::default()));
        let watch = &self;
        by_reference(|| work(watch), |work| watch.answer_beside(progress, work))
    }

    /// Runs the work on a thread of its own and answers what it asks.
    fn answer_beside(&self, progress: &dyn Progress, work: &mut (dyn FnMut() + Send)) {
        let work = &Mutex::new(work);
        thread::scope(|scope| {
            let attempt = move || {
                let _over = Over(self);
                (*work.lock())();
            };
            match thread::Builder::new().name("evergraph-watched".to_owned()).spawn_scoped(scope, attempt) {
                Ok(worker) => {
                    // Whoever panics does not answer any more.
                    let gone = Gone(self);
                    self.answer(progress);
                    std::mem::forget(gone);
                    worker.join().unwrap_or_else(|panic| resume_unwind(panic));
                }
                // The system has no thread to give: nobody is asked.
                Err(_) => attempt(),
            }
        });
    }

    /// Answers until the work is over.
    fn answer(&self, progress: &dyn Progress) {
        let Some(questions) = &self.questions else { return };
        while let Some(question) = questions.next() {
            if !self.is_stopped() && self.update(progress).is_break() {
                self.stop();
            }
            questions.answer(question);
        }
    }

    fn update(&self, progress: &dyn Progress) -> ControlFlow<()> {
        let done = self.done.load(Ordering::Relaxed);
        progress.update(self.total.map_or(done, |total| done.min(total)), self.total)
    }

    /// Notes that so much more is done.
    pub(crate) fn advance(&self, by: u64) {
        self.done.fetch_add(by, Ordering::Relaxed);
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it is not to go on, as far as is known: for work that asks too often to wait for an answer.
    pub(crate) fn is_stopped(&self) -> bool {
        if self.is_closed() {
            self.stop();
        }
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn is_closed(&self) -> bool {
        self.is_closed.is_some_and(|is_closed| is_closed.load(Ordering::Acquire))
    }

    /// Asks whether to go on.
    pub(crate) fn goes_on(&self) -> bool {
        if let Some(questions) = self.questions.as_ref().filter(|_| !self.is_stopped()) {
            questions.ask();
        }
        !self.is_stopped()
    }

    /// Asks whether to go on.
    pub(crate) fn check(&self) -> Result<(), CommitError> {
        if self.goes_on() { Ok(()) } else { Err(self.why_stopped()) }
    }

    /// What work is told that does not go on.
    pub(crate) fn why_stopped(&self) -> CommitError {
        if self.is_closed() { Closed::Ended.into() } else { CommitError::Cancelled }
    }

    /// Locks what others may hold for long, unless it is told to stop before.
    pub(crate) fn lock<'m, T>(
        &self,
        mutex: &'m parking_lot::Mutex<T>,
    ) -> Result<MutexGuard<'m, T>, CommitError> {
        loop {
            match mutex.try_lock_for(TURN) {
                Some(guard) => return Ok(guard),
                None => self.check()?,
            }
        }
    }
}

impl Questions {
    /// Asks, and waits for the answer if that comes soon.
    fn ask(&self) {
        let mut state = self.state.lock();
        if state.is_late {
            return;
        }
        state.questions += 1;
        let question = state.questions;
        self.asked.notify_one();
        let end = Instant::now() + PATIENCE;
        while state.answers < question && !state.is_over {
            if self.answered.wait_until(&mut state, end) {
                state.is_late = state.answers < question;
                return;
            }
        }
    }

    /// The newest question, once there is one; `None` when the work is over.
    fn next(&self) -> Option<u64> {
        let mut state = self.state.lock();
        while state.questions == state.answers && !state.is_over {
            self.asked.wait(&mut state);
        }
        (!state.is_over).then_some(state.questions)
    }

    /// Answers a question, and those before.
    fn answer(&self, question: u64) {
        let mut state = self.state.lock();
        (state.answers, state.is_late) = (question, false);
        self.answered.notify_all();
    }

    fn end(&self) {
        self.state.lock().is_over = true;
        self.asked.notify_all();
        self.answered.notify_all();
    }
}

/// Says that the work is over when it is dropped, be it by a panic.
struct Over<'w, 'a>(&'w Watch<'a>);

impl Drop for Over<'_, '_> {
    fn drop(&mut self) {
        self.0.questions.iter().for_each(Questions::end);
    }
}

/// Stops the work when it is dropped, for nobody is there to answer.
struct Gone<'w, 'a>(&'w Watch<'a>);

impl Drop for Gone<'_, '_> {
    fn drop(&mut self) {
        self.0.stop();
        self.0.questions.iter().for_each(Questions::end);
    }
}

/// A store whose long work somebody watches: see [`Store::watched`].
#[derive(Clone, Copy)]
pub struct Watched<'a> {
    store: &'a Store,
    /// `None` if nobody watches.
    progress: Option<&'a dyn Progress>,
}

impl Store {
    /// The store, for work that takes long, with `progress` hearing how far it is and whether to stop. Work that was stopped
    /// gives [`CommitError::Cancelled`] or [`BackupError::Cancelled`], has done nothing, and leaves the store as it was; where it gives a result it has come to its end,
    /// whatever `progress` said last. A batch that goes through the log at once, because history is kept or somebody
    /// follows it, is stopped before it begins or not at all.
    ///
    /// `progress` is asked on this thread, while the work is done by others, and may use the store: what it reads and commits does not
    /// wait for the work; another load or checkpoint, and whatever else has to wait for this one, does, which then goes on without
    /// asking. If it closes the store, the work is stopped as [`Store::close`] says.
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
        Watched { store: self, progress: Some(progress) }
    }

    /// The store, for work that nobody watches.
    pub(crate) fn unwatched(&self) -> Watched<'_> {
        Watched { store: self, progress: None }
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
        // It reads nothing that goes with the store.
        Watch::nobody().ask(self.progress, None, |watch| in_background(|| backup(inner, directory, watch)))
    }

    fn commit(&self, batch: BatchWrites) -> Result<BatchSummary, CommitError> {
        self.store.commit_batch(batch, self.progress)
    }

    fn archive(&self, merge: Merge) -> Result<(), CommitError> {
        let inner = self.store.inner();
        // What is done at the end is not for a process that was forked, either.
        inner.usable()?;
        let watch = Watch::until_closed(inner);
        let done = watch.ask(self.progress, None, |watch| checkpoint(inner, merge, watch));
        inner.give_back();
        done
    }
}
