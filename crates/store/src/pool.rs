//! The threads the store forks its work to: a pool of its own.
//!
//! Not the pool of the caller, for two reasons. A worker that waits for its parallel tasks runs other tasks of its
//! pool meanwhile; if one of them commits, it wants the committer that the worker holds, and both wait for ever. And
//! when all workers wait for their commits to be answered, none is left to run the tasks of the commit. Work in
//! the store's pool is the store's alone, so neither can happen.
//!
//! Invariant: work in the pool takes no lock that is held while work is forked (committer, archive, history): its thread
//! may be one that waits for the forked tasks of the holder. So these locks are taken before the pool is entered.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Fewer rows than this are worked on by the thread that has them: handing them over would take longer.
pub(crate) const PARALLEL_ROWS: usize = 1 << 12;

static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();

/// Runs `work`, which forks, in the store's pool.
pub(crate) fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let Some(pool) = POOL.get_or_init(new_pool) else { return work() };
    if pool.current_thread_index().is_some() {
        work()
    } else if rayon::current_thread_index().is_none() {
        pool.install(work)
    } else {
        // A worker of another pool would run that pool's tasks while it waits; a thread of no pool just waits.
        std::thread::scope(|scope| {
            let done = scope.spawn(|| pool.install(work)).join();
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// What the program has given.
static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// Has `give_back` called on each thread of all stores after lists were archived or brought together: by a program whose allocator
/// has a thread take back what others have freed of its memory only when it allocates again, which threads at rest
/// do not. The first one given stays.
pub fn give_back_with(give_back: fn()) {
    GIVE_BACK.get_or_init(|| give_back);
}

/// Gives memory back on the threads of the pool, when they have time, and on this one.
pub(crate) fn give_back() {
    let Some(give_back) = GIVE_BACK.get() else { return };
    if let Some(Some(pool)) = POOL.get() {
        pool.spawn_broadcast(|_| give_back());
    }
    give_back();
}

/// As many threads as the program uses elsewhere.
fn new_pool() -> Option<ThreadPool> {
    let builder = ThreadPoolBuilder::new()
        .num_threads(rayon::current_num_threads())
        .thread_name(|thread| format!("evergraph-{thread}"));
    builder
        .build()
        .inspect_err(|error| tracing::warn!(%error, "no threads for the store: it works alone"))
        .ok()
}
