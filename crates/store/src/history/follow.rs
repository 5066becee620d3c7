//! How far the log may be read, and waiting for more of it.
//!
//! ```text
//!  commit   through := n ─► anyone waiting? ─► wake           (no lock unless somebody waits)
//!  reader   waiting += 1 ─► through > mine? ─► sleep
//! ```
//!
//! Invariant: every commit up to `through` is published, and as safely in the log as the store's durability promises
//! in the long run: synced, but with `durability="none"`. A reader that counts itself before it looks, and a commit
//! that looks for readers after it is through, never miss each other.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use evergraph_disk::{Condvar, Mutex};
use evergraph_types::Sequence;

/// The newest commit that readers of the log may see.
#[derive(Debug)]
pub(crate) struct Follow {
    through: AtomicU64,
    waiting: AtomicUsize,
    is_over: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Follow {
    /// Everything up to a commit may be read.
    pub(crate) fn new(through: Sequence) -> Self {
        Follow {
            through: AtomicU64::new(through),
            waiting: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            lock: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn through(&self) -> Sequence {
        self.through.load(Ordering::Acquire)
    }

    /// Everything up to `through` may be read now.
    pub(crate) fn advance(&self, through: Sequence) {
        self.through.fetch_max(through, Ordering::SeqCst);
        self.wake();
    }

    /// No more will come.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Waits until there is a commit after `sequence`, nothing will come any more, or the time is over; tells whether
    /// there is one.
    pub(crate) fn wait_beyond(&self, sequence: Sequence, timeout: Option<Duration>) -> bool {
        self.wait_beyond_or(sequence, timeout, || false)
    }

    /// As [`Follow::wait_beyond`], but also ends when `is_called`, which is asked again after [`Follow::wake`].
    pub(crate) fn wait_beyond_or(
        &self,
        sequence: Sequence,
        timeout: Option<Duration>,
        is_called: impl Fn() -> bool,
    ) -> bool {
        if self.through() > sequence {
            return true;
        }
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut guard = self.lock.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let found = loop {
            if self.through.load(Ordering::SeqCst) > sequence {
                break true;
            }
            if self.is_over.load(Ordering::SeqCst) || is_called() {
                break false;
            }
            match deadline {
                Some(deadline) if self.changed.wait_until(&mut guard, deadline) => {
                    break self.through() > sequence;
                }
                Some(_) => {}
                None => self.changed.wait(&mut guard),
            }
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        found
    }

    /// Has those who wait look again.
    pub(crate) fn wake(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.lock.lock());
            self.changed.notify_all();
        }
    }
}
