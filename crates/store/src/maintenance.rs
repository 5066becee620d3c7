//! The store's own thread: syncs by the clock, archives when memory or the log has grown.
//!
//! Invariant: the thread keeps the store alive only while it works for it, and ends when the store closes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use evergraph_disk::Access;
use parking_lot::{Condvar, Mutex};

use crate::archive::{Merge, checkpoint};
use crate::commit::{Committer, Refusal};
use crate::options::Durability;
use crate::store::Inner;

/// How the store wakes its thread.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    archive: bool,
    stop: bool,
}

impl Signal {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.notify_all();
    }

    /// Has the thread archive.
    pub(crate) fn archive(&self) {
        self.set(|state| state.archive = true);
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.set(|state| state.stop = true);
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
}

/// Starts the thread, if the store wants one.
pub(crate) fn start(inner: &Arc<Inner>) {
    if inner.home.is_none() || inner.options.read_only || !inner.options.background {
        return;
    }
    let timeout = (inner.options.durability == Durability::Interval).then_some(inner.options.interval);
    let (signal, store) = (inner.signal.clone(), Arc::downgrade(inner));
    let thread = std::thread::Builder::new().name("evergraph-maintenance".to_owned());
    if let Err(error) = thread.spawn(move || run(&signal, &store, timeout)) {
        tracing::warn!(%error, "no maintenance thread: the store archives and syncs only when asked to");
    }
}

fn run(signal: &Signal, store: &Weak<Inner>, timeout: Option<Duration>) {
    loop {
        let state = signal.wait(timeout);
        let Some(inner) = store.upgrade().filter(|_| !state.stop) else { return };
        inner.sync_by_clock();
        if state.archive
            && let Err(error) = checkpoint(&inner, Merge::Tiered)
        {
            tracing::warn!(%error, "archiving failed");
        }
    }
}

impl Inner {
    /// Syncs what was appended since the last time.
    fn sync_by_clock(&self) {
        let mut committer = self.committer.lock();
        let wanted = committer.durability == Durability::Interval && committer.refusal.is_none();
        if wanted && committer.log.as_ref().is_some_and(|log| log.append_bytes_since_sync() > 0) {
            self.sync_log(&mut committer);
        }
    }

    /// Syncs the log, so that readers may see all of it; tells whether that was possible.
    pub(crate) fn sync_log(&self, committer: &mut Committer) -> bool {
        let Some(log) = &mut committer.log else { return true };
        match log.sync() {
            Ok(()) => self.follow.advance(log.last_sequence()),
            Err(error) => committer.refusal = Some(Refusal::Failed(error.to_string())),
        }
        committer.refusal.is_none()
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

    /// Wakes the thread if there is enough to archive.
    pub(crate) fn note_growth(&self, committer: &Committer) {
        let Some(log) = &committer.log else { return };
        let live = self.reclaimer.live_bytes();
        let Some(home) = &self.home else { return };
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
