//! The threads the store forks its work to: a pool for what commits and readers wait for, and one for what goes on beside them.
//!
//! Not the pool of the caller, for two reasons. A worker that waits for its parallel tasks runs other tasks of its
//! pool meanwhile; if one of them commits, it wants the committer that the worker holds, and both wait for ever. And
//! when all workers wait for their commits to be answered, none is left to run the tasks of the commit. Work in
//! the store's pools is the store's alone, so neither can happen.
//!
//! Two, since a pool begins what is new to it when all that was begun is done: a commit of a thousand edges would wait for the tables
//! that an archive is writing. Between threads the system is fair.
//!
//! Each process has its own, for a fork takes no threads along; so the caller's pool, which knows nothing of that, is of no use in a
//! child, and there is one that stands in for it ([`in_callers_pool`]).
//!
//! Invariant: work in a pool takes no lock that is held while work is forked (committer, archive, history): its thread
//! may be one that waits for the forked tasks of the holder. So these locks are taken before a pool is entered. Work that
//! commits wait for is not in the background.

use std::sync::OnceLock;

use evergraph_disk::{PerProcess, Process};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::system::parallel::by_reference;

/// Fewer rows than this are worked on by the thread that has them: handing them over would take longer.
pub(crate) const PARALLEL_ROWS: usize = 1 << 12;

/// The least number of parallel items for a task, if they have so many rows in all: where these are few, all.
pub(crate) fn items_per_task(rows: usize) -> usize {
    if rows < PARALLEL_ROWS { usize::MAX } else { 1 }
}

type Pool = PerProcess<Option<ThreadPool>>;

static POOL: Pool = PerProcess::new();
static BACKGROUND: Pool = PerProcess::new();

/// Runs `work`, which forks, in the store's pool; in the background, if that is where it comes from.
pub(crate) fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    run_in(&POOL, "evergraph", work)
}

/// Runs `work`, which forks and nobody waits for who commits, in the background.
pub(crate) fn in_background<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    run_in(&BACKGROUND, "evergraph-background", work)
}

/// Runs `work`, which forks in the caller's pool, wherever that has threads: a process that was forked from another one gets a pool
/// for it. A program that forks calls algorithms through this in its children.
///
/// ```
/// use evergraph_store::in_callers_pool;
///
/// assert_eq!(in_callers_pool(|| 1 + 1), 2);
/// ```
pub fn in_callers_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static CHILD: Pool = PerProcess::new();
    match Process::here().is_forked() {
        true if rayon::current_thread_index().is_none() => run_in(&CHILD, "evergraph-child", work),
        _ => work(),
    }
}

/// Makes the threads that algorithms fork to, unless the program has any: where the system has none to give, work that forks can only
/// panic, so a program that is to say so instead calls this first.
///
/// # Errors
/// What the system says.
///
/// ```
/// assert!(evergraph_store::require_threads().is_ok());
/// ```
pub fn require_threads() -> std::io::Result<()> {
    static ARE_THERE: OnceLock<()> = OnceLock::new();
    if ARE_THERE.get().is_none() {
        // What could not be made for the whole program is never tried again: so one for nobody comes first.
        drop(ThreadPoolBuilder::new().build().map_err(std::io::Error::other)?);
        // If there is one already, it stays.
        ARE_THERE.get_or_init(|| drop(ThreadPoolBuilder::new().build_global()));
    }
    Ok(())
}

fn run_in<T: Send>(pool: &Pool, name: &'static str, work: impl FnOnce() -> T + Send) -> T {
    by_reference(work, |work| run(pool, name, work))
}

fn run(pool: &Pool, name: &'static str, work: &mut (dyn FnMut() + Send)) {
    let Some(pool) = pool.get_or_init(|| new_pool(name)) else { return work() };
    if pools().any(|pool| pool.current_thread_index().is_some()) {
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

/// Those there are.
pub(crate) fn pools() -> impl Iterator<Item = &'static ThreadPool> {
    [&POOL, &BACKGROUND].into_iter().filter_map(|pool| pool.get()?.as_ref())
}

/// As many threads as the program uses elsewhere.
fn new_pool(name: &'static str) -> Option<ThreadPool> {
    let builder = ThreadPoolBuilder::new()
        .num_threads(rayon::current_num_threads())
        .thread_name(move |thread| format!("{name}-{thread}"));
    builder
        .build()
        .inspect_err(|error| tracing::warn!(%error, "no threads for the store: it works alone"))
        .ok()
}
