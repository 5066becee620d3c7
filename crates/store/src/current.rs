//! The newest version: a pointer that a commit swaps, and readers that count no reference.
//!
//! ```text
//!  reader   slot := pointer ─► the newest still? ─► reads ─► slot: pointer → empty        found it empty? gives back the count
//!  commit   swaps the pointer ─► each slot that holds the old one: counts a reference for it ─► slot: old → empty
//! ```
//!
//! That is how `arc_swap` does it, whose writers write to each slot of each thread, and so take from all threads the memory that
//! they read with. Here a commit looks first, and what is not about its version stays where it is.
//!
//! Invariant: whoever has a guard has the version in a slot, or a reference of its own. A reader writes its slot before it looks
//! at the pointer again, and a commit swaps the pointer before it looks at the slots, all in one order (`SeqCst`): one of them
//! sees the other.
#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::null_mut;
use std::sync::Arc;

use crate::reader_slots::{all_slots, with_own_slots};
use crate::sync::{AtomicPtr, Ordering};

/// How many versions a thread reads at once without counting: with what else there is of a thread, a line of memory.
const SLOTS: usize = 6;

/// What a thread is reading, of any store; the last is in use for a moment only.
#[derive(Debug)]
pub(crate) struct Slots([Slot; SLOTS]);

type Slot = AtomicPtr<()>;

impl Default for Slots {
    fn default() -> Self {
        Slots(std::array::from_fn(|_| AtomicPtr::new(null_mut())))
    }
}

/// The newest of the versions, which it holds a reference to.
#[derive(Debug)]
pub(crate) struct Current<T: 'static>(AtomicPtr<T>);

// SAFETY: it is an `Arc` that threads share.
unsafe impl<T: Send + Sync> Send for Current<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Current<T> {}

/// A version that is kept alive until this is dropped.
#[derive(Debug)]
pub(crate) struct Guard<T: 'static> {
    version: *const T,
    /// Where it is noted; `None` for one that has a reference of its own.
    slot: Option<&'static Slot>,
}

// SAFETY: it stands for an `Arc`.
unsafe impl<T: Send + Sync> Send for Guard<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Guard<T> {}

impl<T> Current<T> {
    pub(crate) fn new(version: T) -> Self {
        Current(AtomicPtr::new(Arc::into_raw(Arc::new(version)).cast_mut()))
    }

    /// The newest version, for a short read.
    #[inline]
    pub(crate) fn load(&self) -> Guard<T> {
        with_own_slots(|own| {
            let is_free = |slot: &&Slot| slot.load(Ordering::Acquire).is_null();
            match own.0[..SLOTS - 1].iter().find(is_free) {
                Some(slot) => self.note_in(slot),
                None => Guard { version: Arc::into_raw(self.load_full()), slot: None },
            }
        })
    }

    /// The newest version, with a reference of its own.
    pub(crate) fn load_full(&self) -> Arc<T> {
        with_own_slots(|own| self.note_in(&own.0[SLOTS - 1]).into_arc())
    }

    /// Notes the newest version in a slot of the calling thread, which is empty.
    #[inline]
    fn note_in(&self, slot: &'static Slot) -> Guard<T> {
        loop {
            let version = self.0.load(Ordering::Relaxed);
            slot.store(version.cast(), Ordering::SeqCst);
            // Maybe not the one that was there before, but one at its place: it is the newest, and noted.
            if self.0.load(Ordering::SeqCst) == version {
                return Guard { version, slot: Some(slot) };
            }
            if !empty(slot, version) {
                return Guard { version, slot: None };
            }
        }
    }

    /// Makes a version the newest; gives the one before.
    pub(crate) fn swap(&self, version: Arc<T>) -> Arc<T> {
        let old = self.0.swap(Arc::into_raw(version).cast_mut(), Ordering::SeqCst);
        // SAFETY: nobody gets it from here any more.
        unsafe { take_over(old) }
    }
}

impl<T> Drop for Current<T> {
    fn drop(&mut self) {
        // SAFETY: nobody gets it from here any more.
        drop(unsafe { take_over(self.0.load(Ordering::Relaxed)) });
    }
}

/// The reference that a [`Current`] had, after each guard that had none was given one.
///
/// # Safety
/// `version` was taken out of the `Current`.
unsafe fn take_over<T>(version: *const T) -> Arc<T> {
    for slot in all_slots().flat_map(|slots| &slots.0) {
        if slot.load(Ordering::SeqCst) == version.cast_mut().cast() {
            // SAFETY: the reference of the `Current` is still there.
            unsafe { count_for(slot, version) };
        }
    }
    // SAFETY: this is the reference of the `Current`.
    unsafe { Arc::from_raw(version) }
}

/// Counts a reference in place of the note in a slot, unless that is gone by now.
///
/// # Safety
/// `version` is alive, and stays so without this reference if the note is gone.
unsafe fn count_for<T>(slot: &Slot, version: *const T) {
    // SAFETY: alive by contract.
    unsafe { Arc::increment_strong_count(version) };
    if !empty(slot, version) {
        // SAFETY: as above.
        unsafe { Arc::decrement_strong_count(version) };
    }
}

/// Empties a slot that holds this version; tells whether it still did.
fn empty<T>(slot: &Slot, version: *const T) -> bool {
    let version = version.cast_mut().cast();
    slot.compare_exchange(version, null_mut(), Ordering::AcqRel, Ordering::Acquire).is_ok()
}

impl<T> Guard<T> {
    /// As a reference of its own.
    fn into_arc(self) -> Arc<T> {
        let Guard { version, slot } = *ManuallyDrop::new(self);
        if let Some(slot) = slot {
            // SAFETY: alive, since it is noted, or has been given the reference that is one too many then.
            unsafe { count_for(slot, version) };
        }
        // SAFETY: a reference of its own.
        unsafe { Arc::from_raw(version) }
    }
}

impl<T> Deref for Guard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: alive, since it is noted or has a reference of its own.
        unsafe { &*self.version }
    }
}

impl<T> Drop for Guard<T> {
    #[inline]
    fn drop(&mut self) {
        if !self.slot.is_some_and(|slot| empty(slot, self.version)) {
            // SAFETY: a reference of its own, or one that it was given.
            drop(unsafe { Arc::from_raw(self.version) });
        }
    }
}
