//! What threads wait with: the standard library's, whose condition wakes all who wait with one system call, where parking_lot's
//! wakes one, and each of them the next. The tests of interleavings compile the queue and the count of writers against
//! others of the same names, which try the orders in which threads may come.

use std::sync::PoisonError;
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

/// Locks it, even if a thread that had it panicked: nothing is half done in what these guard.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Unlocks it until it is notified, or for no reason.
pub(crate) fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
