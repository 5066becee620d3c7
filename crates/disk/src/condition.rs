//! A mutex and a condition for threads that wait for long, of which a fork copies nothing that matters.
//!
//! `parking_lot` keeps one table for the process of all threads that sleep. A child has a copy of it, and none of the threads: what
//! the table says of them lies in memory that the child's own threads get, so that whoever locks, waits or notifies there may
//! walk through it for ever. Those of the standard library sleep on a word of their own. So whatever waits for work, which a parent
//! does at nearly every fork, waits here; `parking_lot` is left where a lock is held for short or has to be fair.
//!
//! Invariant: what a mutex guards is whole whenever it is not locked, even if a thread panicked that had it.

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// The standard library's mutex, which a panic does not poison.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

/// What has it locked; `None` only while it waits.
#[derive(Debug)]
pub struct MutexGuard<'a, T>(Option<std::sync::MutexGuard<'a, T>>);

/// The standard library's condition.
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

impl<T> Mutex<T> {
    /// A mutex that is not locked.
    pub const fn new(value: T) -> Self {
        Mutex(std::sync::Mutex::new(value))
    }

    /// Waits for it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Condvar {
    /// A condition that nobody waits for.
    pub const fn new() -> Self {
        Condvar(std::sync::Condvar::new())
    }

    /// Unlocks it until it is notified, or for no reason.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let waited = guard.0.take().map(|own| self.0.wait(own).unwrap_or_else(PoisonError::into_inner));
        guard.0 = waited;
    }

    /// As [`Condvar::wait`], for so long at the most; tells whether that is over.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, time: Duration) -> bool {
        let wait = |own| self.0.wait_timeout(own, time).unwrap_or_else(PoisonError::into_inner);
        let (own, result) = guard.0.take().map(wait).unzip();
        guard.0 = own;
        result.is_some_and(|result| result.timed_out())
    }

    /// As [`Condvar::wait`], until then at the most; tells whether it is that late.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, end: Instant) -> bool {
        self.wait_for(guard, end.saturating_duration_since(Instant::now()))
    }

    /// Wakes one who waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all who wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().unwrap_or_else(|| unreachable!("only who waits has it unlocked"))
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().unwrap_or_else(|| unreachable!("only who waits has it unlocked"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_woken_or_late() {
        let (value, changed) = (Mutex::new(0), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut seen = value.lock();
                while *seen < 2 {
                    changed.wait(&mut seen);
                }
                *seen += 1;
                changed.notify_one();
            });
            *value.lock() = 2;
            changed.notify_all();
            let mut seen = value.lock();
            while *seen < 3 {
                assert!(!changed.wait_for(&mut seen, Duration::from_secs(60)));
            }
        });
        let mut seen = value.lock();
        assert!(changed.wait_until(&mut seen, Instant::now()));
        assert_eq!(*seen, 3);
    }

    #[test]
    fn a_panic_leaves_it_usable() {
        let value = Mutex::new(0);
        let panicked = std::thread::scope(|scope| {
            let panics = || {
                *value.lock() = 1;
                let _guard = value.lock();
                panic!("on purpose");
            };
            scope.spawn(panics).join().is_err()
        });
        assert!(panicked);
        assert_eq!(*value.lock(), 1);
    }
}
