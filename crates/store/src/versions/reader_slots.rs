//! The slots in which threads note the versions they read: see [`current`](crate::versions::current).
//!
//! Invariant: slots are never given back, so that whoever has seen some may look at them at any time; those of a thread that has
//! ended go to one that begins.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::versions::current::Slots;

/// What there is of a thread. Two lines of memory, since processors fetch these in pairs, of which one is used.
#[derive(Debug)]
#[repr(C, align(128))]
struct Node {
    slots: Slots,
    next: Option<&'static Node>,
    is_taken: AtomicBool,
}

/// All there are, the last made first.
static NODES: AtomicPtr<Node> = AtomicPtr::new(std::ptr::null_mut());

/// The slots of a thread, until it ends.
struct Own(&'static Node);

thread_local! {
    static OWN: Own = Own::take();
}

impl Own {
    fn take() -> Self {
        let take = |node: &&Node| !node.is_taken.swap(true, Ordering::Acquire);
        let free = nodes().filter(|node| !node.is_taken.load(Ordering::Relaxed)).find(take);
        Own(free.unwrap_or_else(add_node))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

fn add_node() -> &'static Node {
    let node = Node { slots: Slots::default(), next: None, is_taken: AtomicBool::new(true) };
    let node = Box::leak(Box::new(node));
    loop {
        let first = NODES.load(Ordering::SeqCst);
        node.next = node_at(first);
        if NODES.compare_exchange(first, node, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            return node;
        }
    }
}

fn node_at(pointer: *mut Node) -> Option<&'static Node> {
    // SAFETY: nodes are never freed, nor written to but for their atomics once they are in the list.
    unsafe { pointer.as_ref() }
}

fn nodes() -> impl Iterator<Item = &'static Node> {
    std::iter::successors(node_at(NODES.load(Ordering::SeqCst)), |node| node.next)
}

/// The slots of all threads. Those of a thread that is not seen yet have not been used either.
pub(crate) fn all_slots() -> impl Iterator<Item = &'static Slots> {
    nodes().map(|node| &node.slots)
}

/// Runs `run` with the slots of the calling thread.
#[inline]
pub(crate) fn with_own_slots<R>(run: impl FnOnce(&'static Slots) -> R) -> R {
    match OWN.try_with(|own| own.0) {
        Ok(node) => run(&node.slots),
        // The thread is about to end, and has given them up.
        Err(_) => run(&Own::take().0.slots),
    }
}
