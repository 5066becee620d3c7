//! The newest version: a pointer that a commit swaps, and readers that count no reference.
//!
//! ```text
//!  reader   slot := pointer ─► the newest still? ─► reads ─► empties the slot
//!  commit   swaps the pointer ─► does any slot hold the old one? ─► no: it is let go of; yes: it is asked again by the next commit
//! ```
//!
//! These are hazard pointers (Michael, IEEE TPDS 2004): who reads writes to what is its own alone, and who commits writes to
//! nothing of a reader's, and frees what it has replaced itself.
//!
//! Invariant: a version that a slot holds, or a guard without one has counted, is alive. A reader writes its slot before it looks
//! at the pointer again, and a commit swaps the pointer before it looks at the slots, all in one order (`SeqCst`): one of them
//! sees the other.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::null_mut;
use std::sync::{Arc, Weak};

use crate::system::sync::{AtomicPtr, Ordering};
use crate::versions::reader_slots::{all_slots, with_own_slots};

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

/// The newest of the versions, which it holds a reference to. A line of memory has nothing else that commits write to.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Current<T: 'static>(AtomicPtr<T>);

// SAFETY: it is an `Arc` that threads share.
unsafe impl<T: Send + Sync> Send for Current<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Current<T> {}

/// A version that is kept alive until this is dropped.
#[derive(Debug)]
pub(crate) struct Guard<'a, T: 'static> {
    version: *const T,
    /// Where it is noted; `None` for one that has a reference of its own.
    slot: Option<&'static Slot>,
    of: PhantomData<&'a Current<T>>,
}

// SAFETY: it stands for an `Arc`.
unsafe impl<T: Send + Sync> Send for Guard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Guard<'_, T> {}

/// A version that is the newest no more, with the reference that [`Current`] had. It lives on unless it is asked for.
#[derive(Debug)]
#[must_use]
pub(crate) struct Replaced<T: 'static>(ManuallyDrop<Arc<T>>);

impl<T> Current<T> {
    pub(crate) fn new(version: T) -> Self {
        Current(AtomicPtr::new(Arc::into_raw(Arc::new(version)).cast_mut()))
    }

    /// The newest version, for a short read.
    #[inline]
    pub(crate) fn load(&self) -> Guard<'_, T> {
        with_own_slots(|own| {
            let is_free = |slot: &&Slot| slot.load(Ordering::Relaxed).is_null();
            match own.0[..SLOTS - 1].iter().find(is_free) {
                Some(slot) => self.note_in(slot),
                None => Guard { version: Arc::into_raw(self.load_full()), slot: None, of: PhantomData },
            }
        })
    }

    /// The newest version, with a reference of its own.
    pub(crate) fn load_full(&self) -> Arc<T> {
        with_own_slots(|own| {
            let noted = self.note_in(&own.0[SLOTS - 1]);
            // SAFETY: it is alive, since it is noted.
            unsafe {
                Arc::increment_strong_count(noted.version);
                Arc::from_raw(noted.version)
            }
        })
    }

    /// Notes the newest version in a slot of the calling thread, which is empty.
    #[inline]
    fn note_in(&self, slot: &'static Slot) -> Guard<'_, T> {
        let mut version = self.0.load(Ordering::Relaxed);
        loop {
            slot.store(version.cast(), Ordering::SeqCst);
            let newest = self.0.load(Ordering::SeqCst);
            // Maybe not the one that was there before, but one at its place: it is the newest, and noted.
            if newest == version {
                return Guard { version, slot: Some(slot), of: PhantomData };
            }
            version = newest;
        }
    }

    /// Makes a version the newest; gives the one before.
    pub(crate) fn swap(&self, version: Arc<T>) -> Replaced<T> {
        let old = self.0.swap(Arc::into_raw(version).cast_mut(), Ordering::SeqCst);
        // SAFETY: the reference was its own, and is given on.
        Replaced(ManuallyDrop::new(unsafe { Arc::from_raw(old) }))
    }
}

impl<T> Drop for Current<T> {
    fn drop(&mut self) {
        // SAFETY: the reference is its own, and every guard was dropped before.
        drop(unsafe { Arc::from_raw(self.0.load(Ordering::Relaxed)) });
    }
}

impl<T> Replaced<T> {
    /// Whether somebody who has counted no reference may read it: nobody notes a version that is not the newest and goes on to.
    fn is_noted(&self) -> bool {
        let is_own = |slot: &Slot| slot.load(Ordering::SeqCst).cast_const() == Arc::as_ptr(&self.0).cast();
        all_slots().flat_map(|slots| &slots.0).any(is_own)
    }

    /// To see whether it is alive.
    pub(crate) fn watched(&self) -> Weak<T> {
        Arc::downgrade(&self.0)
    }
}

/// Takes out the versions that nobody reads who has counted no reference.
pub(crate) fn take_unread<T>(replaced: &mut Vec<Replaced<T>>, take: impl FnMut(Arc<T>)) {
    let unread = replaced.extract_if(.., |version| !version.is_noted());
    unread.map(|version| ManuallyDrop::into_inner(version.0)).for_each(take);
}

impl<T> Deref for Replaced<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: alive, since it is noted or has a reference of its own.
        unsafe { &*self.version }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        match self.slot {
            Some(slot) => slot.store(null_mut(), Ordering::Release),
            // SAFETY: a reference of its own.
            None => drop(unsafe { Arc::from_raw(self.version) }),
        }
    }
}
