//! What threads wait and count with: the standard library's, whose condition wakes all who wait with one system call, where
//! parking_lot's wakes one, and each of them the next; and parking_lot's mutex where one asks whether it is held, or hands it
//! over. The tests of interleavings compile the queue, the stages, the newest version, the count of writers and what frees blocks against
//! others of the same names, which try the orders in which threads may come.

use std::hint::spin_loop;
use std::sync::PoisonError;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A mutex that tells whether it is held, and that can be handed to whoever waits for it.
pub(crate) mod fair {
    pub(crate) use parking_lot::{Mutex, MutexGuard};
}

/// Locks it, even if a thread that had it panicked: nothing is half done in what these guard.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Unlocks it until it is notified, or for no reason.
pub(crate) fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Looks whether what is waited for has come until it has, so often at the most.
#[inline]
pub(crate) fn look(looks: u32, has_come: impl Fn() -> bool) {
    for _ in 0..looks {
        if has_come() {
            break;
        }
        spin_loop();
    }
}

/// Looks whether what is waited for has come until it has, so long at the most.
pub(crate) fn look_for(patience: Duration, has_come: impl Fn() -> bool) {
    let begin = Instant::now();
    while !has_come() && begin.elapsed() < patience {
        spin_loop();
    }
}
