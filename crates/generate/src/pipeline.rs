//! Items made in parallel, taken in order, in bounded memory.
//!
//! ```text
//!  workers     make batch 1 │ make batch 2 │ make batch 3 │
//!  caller                   │ take batch 1 │ take batch 2 │ take batch 3
//! ```
//!
//! Invariant: at most two batches exist at a time, each of twice as many items as there are threads.

use rayon::prelude::*;

/// Makes the items `0..count` on the current thread pool and hands them to `take` in order, on the calling thread.
/// The first error ends it.
pub(crate) fn in_order<T: Send, E>(
    count: u64,
    make: impl Fn(u64) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let batch = 2 * rayon::current_num_threads() as u64;
    let make_batch =
        |start: u64| (start..(start + batch).min(count)).into_par_iter().map(&make).collect::<Vec<T>>();
    let mut ready = make_batch(0);
    let mut next = batch;
    while !ready.is_empty() {
        let mut coming = Vec::new();
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| coming = make_batch(next));
            ready.drain(..).try_for_each(&mut take)
        })?;
        ready = coming;
        next += batch;
    }
    Ok(())
}
