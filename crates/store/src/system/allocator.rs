//! What the store asks of the program's allocator: to give back what was freed, and how much it has.
//!
//! Invariant: a store works the same with an allocator that it knows nothing of.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::lists::pages;
use crate::system::pool::pools;

/// What a program tells of its allocator.
#[derive(Clone, Copy, Debug)]
pub struct Allocator {
    /// Has it take back what other threads have freed of the memory of the calling thread, which some allocators do only when that thread
    /// allocates again, and threads at rest do not. Called on each thread of all stores after lists were archived or brought
    /// together, and when commits that have taken memory pause.
    pub give_back: fn(GiveBack),
    /// How many bytes it has from the system that are in memory, if that can be told.
    pub bytes: fn() -> Option<u64>,
}

/// Where memory goes that was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveBack {
    /// To the threads it came from, which take it for the next commits: amid them.
    ToThreads,
    /// To the system: once commits pause, and under a memory limit.
    ToSystem,
}

/// What the program has told.
static ALLOCATOR: OnceLock<Allocator> = OnceLock::new();

/// Tells all stores of the process what its allocator can do. What is told first stays.
pub fn use_allocator(allocator: Allocator) {
    ALLOCATOR.get_or_init(|| allocator);
}

/// How many bytes the allocator has in memory, and blocks that are not its own, for the whole process.
pub(crate) fn allocator_bytes() -> Option<u64> {
    ALLOCATOR.get().and_then(|allocator| (allocator.bytes)()).map(|bytes| bytes + pages::bytes() as u64)
}

/// How often memory is being given back.
static GIVING_BACK: AtomicUsize = AtomicUsize::new(0);

/// Memory that is being given back by several threads. The last of them does it once more: an allocator may let one thread at a
/// time give to the system, and what another had just come to be free would stay.
#[derive(Debug)]
pub(crate) struct GivingBack {
    give_back: fn(GiveBack),
    to: GiveBack,
}

impl GivingBack {
    pub(crate) fn here(&self) {
        (self.give_back)(self.to);
    }
}

impl Drop for GivingBack {
    fn drop(&mut self) {
        self.here();
        GIVING_BACK.fetch_sub(1, Ordering::Release);
    }
}

/// Gives memory back on the threads of the pools, when they have time, on this one, and on one that `elsewhere` asks.
pub(crate) fn give_back(to: GiveBack, elsewhere: impl FnOnce(Arc<GivingBack>)) {
    let Some(&Allocator { give_back, .. }) = ALLOCATOR.get() else { return };
    GIVING_BACK.fetch_add(1, Ordering::Relaxed);
    let all = Arc::new(GivingBack { give_back, to });
    for pool in pools() {
        let all = all.clone();
        pool.spawn_broadcast(move |_| all.here());
    }
    elsewhere(all.clone());
    all.here();
}

/// Gives memory of this thread back to the system.
pub(crate) fn give_back_here() {
    ALLOCATOR.get().into_iter().for_each(|allocator| (allocator.give_back)(GiveBack::ToSystem));
}

/// Whether some of the pools' threads have not had the time yet to give back what they were asked to.
pub(crate) fn is_giving_back() -> bool {
    GIVING_BACK.load(Ordering::Acquire) > 0
}
