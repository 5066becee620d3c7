//! shuttle's primitives in the shape of parking_lot's, which the store is written for.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A mutex that is never poisoned: a panic ends the test.
#[derive(Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

/// What a lock gives; empty only while it waits.
pub(crate) struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

/// What is waited for.
#[derive(Default)]
pub(crate) struct Condvar(shuttle::sync::Condvar);

impl<T> Mutex<T> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().expect("nobody panicked")))
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("locked")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("locked")
    }
}

impl Condvar {
    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let inner = guard.0.take().expect("locked");
        guard.0 = Some(self.0.wait(inner).expect("nobody panicked"));
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar")
    }
}
