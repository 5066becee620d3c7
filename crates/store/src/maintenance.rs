//! The store's own thread: syncs by the clock, archives when memory or the log has grown, and brings lists together in a
//! store without files.
//!
//! ```text
//!  commit ─► enough to do? ─► signal ─► thread, which starts with the first signal, or at once if it syncs by the clock
//!                                        ├ files:    archives at once
//!                                        └ no files: waits until commits pause, or for as long as patience lasts
//! ```
//!
//! Invariant: the thread keeps the store alive only while it works for it, and has ended when the store is closed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use evergraph_disk::Access;
use evergraph_log::{Log, LogError, LogSync};
use evergraph_types::Sequence;
use parking_lot::{Condvar, Mutex};

use crate::archive::{Merge, checkpoint};
use crate::commit::{Committer, Refusal};
use crate::options::Durability;
use crate::pool::give_back;
use crate::recluster::{AT_REST, UNDER_LOAD, gather};
use crate::store::Inner;

/// Lists are not worth bringing together before so much was written.
const GATHER_BYTES_MIN: u64 = 4 << 20;
/// Nor before as much was written as this part of what there is.
const GATHER_PART: u64 = 8;
/// Commits have paused if there was none for so long: longer than what whoever commits does in between.
const PAUSE: Duration = Duration::from_millis(500);
/// If they do not pause, lists are brought together amid them after so long …
const PATIENCE: Duration = Duration::from_secs(1);
/// … and after so many times what it took the last time: no more than this part of the time is spent on it.
const PATIENCE_TURNS: u32 = 16;

/// How the store wakes its thread.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
    thread: Mutex<Thread>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    archive: bool,
    stop: bool,
}

/// The thread, if there is to be one.
#[derive(Debug, Default)]
enum Thread {
    #[default]
    None,
    /// It starts when there is something to do for the store.
    Wanted(Weak<Inner>),
    Running(JoinHandle<()>),
}

impl Signal {
    /// Has the thread archive. Commits ask for it again and again until it does: the thread is woken once.
    pub(crate) fn archive(self: &Arc<Self>) {
        if !std::mem::replace(&mut self.state.lock().archive, true) {
            self.changed.notify_all();
            self.start(None);
        }
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_all();
    }

    /// Waits until the thread, which was told to stop, has ended.
    pub(crate) fn join(&self) {
        let thread = std::mem::take(&mut *self.thread.lock());
        if let Thread::Running(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the maintenance thread has panicked");
        }
    }

    /// Starts the thread if one is wanted that has not started; it syncs whenever `timeout` is over.
    fn start(self: &Arc<Self>, timeout: Option<Duration>) {
        let mut thread = self.thread.lock();
        let Thread::Wanted(store) = &*thread else { return };
        let (signal, store) = (self.clone(), store.clone());
        let builder = std::thread::Builder::new().name("evergraph-maintenance".to_owned());
        *thread = match builder.spawn(move || run(&signal, &store, timeout)) {
            Ok(thread) => Thread::Running(thread),
            Err(error) => {
                tracing::warn!(%error, "no maintenance thread: the store archives and syncs only when asked to");
                Thread::None
            }
        };
    }

    /// Waits until there is something to archive, the store closes, or `timeout` is over; takes the wish to archive.
    fn wait(&self, timeout: Option<Duration>) -> State {
        let mut state = self.state.lock();
        if !state.archive && !state.stop {
            match timeout {
                Some(timeout) => drop(self.changed.wait_for(&mut state, timeout)),
                None => self.changed.wait(&mut state),
            }
        }
        let taken = *state;
        state.archive = false;
        taken
    }

    /// Waits for so long; tells whether the store closes meanwhile.
    fn rest(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut state = self.state.lock();
        while !state.stop && !self.changed.wait_until(&mut state, end).timed_out() {}
        state.stop
    }
}

/// Has the thread start when it is needed, if the store wants one.
pub(crate) fn start(inner: &Arc<Inner>) {
    if inner.options.read_only || !inner.options.background {
        return;
    }
    *inner.signal.thread.lock() = Thread::Wanted(Arc::downgrade(inner));
    if inner.home.is_some() && inner.options.durability == Durability::Interval {
        inner.signal.start(Some(inner.options.interval));
    }
}

fn run(signal: &Signal, store: &Weak<Inner>, timeout: Option<Duration>) {
    let mut took = Duration::ZERO;
    loop {
        let state = signal.wait(timeout);
        let Some(inner) = store.upgrade().filter(|_| !state.stop) else { return };
        inner.sync_by_clock();
        if !state.archive {
            continue;
        }
        if inner.home.is_none() {
            drop(inner);
            gather_in_time(signal, store, &mut took);
        } else if let Err(error) = checkpoint(&inner, Merge::Tiered) {
            tracing::warn!(%error, "archiving failed");
        }
        give_back();
    }
}

/// Brings lists together: when commits pause, all of which an eighth is scattered, and amid commits, if they do not pause,
/// those of which half is. Returns after a pause in which nothing was left to do, or when the store closes. `took` is how long it took
/// the last time.
fn gather_in_time(signal: &Signal, store: &Weak<Inner>, took: &mut Duration) {
    let (mut last, mut seen) = (Instant::now(), None);
    loop {
        let Some(inner) = store.upgrade() else { return };
        let now = || inner.current.load().sequence();
        let sequence = now();
        let is_calm = seen.replace(sequence) == Some(sequence);
        if is_calm || last.elapsed() >= PATIENCE.max(PATIENCE_TURNS * *took) {
            let start = Instant::now();
            let wanted = if is_calm { AT_REST } else { UNDER_LOAD };
            match gather(&inner, wanted, || !is_calm || now() == sequence) {
                Ok(true) if is_calm => return *took = start.elapsed(),
                Ok(true) => (last, *took) = (Instant::now(), start.elapsed()),
                Ok(false) => {}
                // The store is closed.
                Err(_) => return,
            }
        }
        drop(inner);
        if signal.rest(PAUSE) {
            return;
        }
    }
}

impl Inner {
    /// Syncs what was appended since the last time, while commits go on.
    fn sync_by_clock(&self) {
        let begun = {
            let committer = self.committer.lock();
            let wanted = committer.durability == Durability::Interval && committer.refusal.is_none();
            committer.log.as_ref().filter(|_| wanted).and_then(Log::begin_sync)
        };
        let Some(synced) = begun.map(LogSync::run) else { return };
        let mut committer = self.committer.lock();
        let Some(ended) = committer.log.as_mut().map(|log| log.end_sync(synced)) else { return };
        self.note_sync(&mut committer, ended);
    }

    /// Syncs the log, so that readers may see all of it; tells whether that was possible.
    pub(crate) fn sync_log(&self, committer: &mut Committer) -> bool {
        let Some(log) = &mut committer.log else { return true };
        let synced = log.sync().map(|()| log.last_sequence());
        self.note_sync(committer, synced);
        committer.refusal.is_none()
    }

    /// Lets readers see what was synced; after a failure takes no more commits.
    fn note_sync(&self, committer: &mut Committer, synced: Result<Sequence, LogError>) {
        match synced {
            Ok(through) => self.follow.advance(through),
            Err(error) => committer.refusal = Some(Refusal::Failed(error.to_string())),
        }
    }

    /// Tells the system how segments will be read: where they are larger than the limit on memory, here and there, for what
    /// it fetched ahead would drive out what is still needed; passes ask for what comes next themselves.
    pub(crate) fn settle_access(&self) {
        let Some(limit) = self.options.memory_limit_bytes else { return };
        let segments = self.current.load().segments.clone();
        let bytes: u64 = segments.iter().map(|segment| segment.bytes()).sum();
        for segment in segments.iter() {
            if bytes <= limit {
                segment.advise(Access::Normal);
                continue;
            }
            segment.advise(Access::Random);
            // It was read to be checked, and to be found by the vertex tables.
            segment.release(0..segment.data().len());
        }
    }

    /// Wakes the thread if there is enough to archive, or to bring together.
    pub(crate) fn note_growth(&self, committer: &Committer) {
        let live = self.reclaimer.live_bytes();
        let Some(home) = &self.home else {
            let written = self.reclaimer.written_bytes() - self.gathered_bytes.load(Ordering::Relaxed);
            if written > GATHER_BYTES_MIN.max(live as u64 / GATHER_PART) {
                self.signal.archive();
            }
            return;
        };
        let Some(log) = &committer.log else { return };
        let archived = home.heap_bytes.load(Ordering::Relaxed);
        let unarchived = log.bytes_after(home.archived_sequence.load(Ordering::Relaxed));
        let memory_is_full = self.options.memory_limit_bytes.is_some_and(|limit| {
            // What stays on the heap after an archive is no reason for another.
            live as u64 > limit / 2 && live.saturating_sub(archived) as u64 > limit / 8
        });
        if unarchived > self.options.log_limit_bytes || memory_is_full {
            self.signal.archive();
        }
    }
}
