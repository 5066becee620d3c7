//! Slots of the threads of one order, in place of those of all threads there are.

use std::cell::RefCell;

use crate::versions::current::Slots;

thread_local! {
    // The scheduler runs all threads of a test on the one that asked for it.
    static ALL: RefCell<Vec<&'static Slots>> = const { RefCell::new(Vec::new()) };
}

shuttle::thread_local! {
    static OWN: &'static Slots = add();
}

fn add() -> &'static Slots {
    let slots = Box::leak(Box::default());
    ALL.with_borrow_mut(|all| all.push(slots));
    slots
}

/// Forgets those of other orders.
pub(crate) fn forget_slots() {
    ALL.with_borrow_mut(Vec::clear);
}

pub(crate) fn all_slots() -> impl Iterator<Item = &'static Slots> {
    ALL.with_borrow(Vec::clone).into_iter()
}

pub(crate) fn with_own_slots<R>(run: impl FnOnce(&'static Slots) -> R) -> R {
    run(OWN.with(|own| *own))
}
