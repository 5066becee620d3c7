//! Scratch memory of each thread of the pool, made once per run: for buffers too large to make for every piece of work.
//!
//! Invariant: whoever holds a thread's scratch does not call into rayon, which might run other work on that thread that
//! wants the same scratch.

use std::sync::{Mutex, PoisonError};

/// One `T` per thread.
#[derive(Debug)]
pub(crate) struct PerThread<T> {
    slots: Vec<Slot<T>>,
}

/// In cache lines of its own, two of them, since processors fetch them in pairs: what one thread writes to its scratch, the
/// lock included, is not to slow down its neighbor.
#[derive(Debug)]
#[repr(align(128))]
struct Slot<T>(Mutex<T>);

impl<T: Send> PerThread<T> {
    /// For the threads of the current pool.
    pub(crate) fn new(make: impl Fn() -> T) -> Self {
        PerThread { slots: (0..rayon::current_num_threads()).map(|_| Slot(Mutex::new(make()))).collect() }
    }

    /// Calls `body` with the scratch of this thread.
    pub(crate) fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        let slot = rayon::current_thread_index().unwrap_or(0) % self.slots.len();
        body(&mut self.slots[slot].0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The scratch of each thread, for whoever has it to himself.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().map(|slot| slot.0.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the threads have left.
    pub(crate) fn into_inner(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().map(|slot| slot.0.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}
