//! shuttle's primitives under the names that the store has for the standard library's and parking_lot's: a step of each is one
//! that the scheduler is asked for.

use std::sync::PoisonError;
use std::time::Duration;

use shuttle::hint::spin_loop;
pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};

/// More looks than these would show nothing new.
const LOOKS_MAX: u32 = 3;

pub(crate) mod fair {
    use std::ops::{Deref, DerefMut};

    use super::lock;

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(super::Mutex<T>);

    #[derive(Debug)]
    pub(crate) struct MutexGuard<'a, T>(super::MutexGuard<'a, T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Mutex(super::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(lock(&self.0))
        }

        pub(crate) fn is_locked(&self) -> bool {
            self.0.try_lock().is_err()
        }

        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().expect("a panic ends the test")
        }
    }

    impl<T> MutexGuard<'_, T> {
        /// Who is next is tried in any order.
        pub(crate) fn unlock_fair(guard: Self) {
            drop(guard);
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.0
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.0
        }
    }
}

/// Even if a thread that had it panicked, as the store does: what ends the test is that panic, and not that others saw it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn look(looks: u32, has_come: impl Fn() -> bool) {
    for _ in 0..looks.min(LOOKS_MAX) {
        if has_come() {
            break;
        }
        spin_loop();
    }
}

pub(crate) fn look_for(_patience: Duration, has_come: impl Fn() -> bool) {
    look(LOOKS_MAX, has_come);
}
