//! Work on many items in parallel, handed to rayon by reference.
//!
//! What rayon makes of a closure is compiled anew for each one: the hundred places of the analytics that called it directly made 750 copies, which
//! were two thirds of that crate's code. Tasks that come this way go through [`drive`], of which there is one copy, and what is compiled
//! for a place is its own loop.
//!
//! Invariant: what comes of items is in their order, whichever thread did which when.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Where an item waits for its task, and then what came of it.
enum Slot<I, R> {
    Waiting(I),
    UnderWay,
    Done(R),
}

/// What `work` makes of each item, a task each, in the current pool.
///
/// ```
/// use evergraph_store::parallel_map;
///
/// let mut words = ["one", "two", "three"].map(String::from);
/// let lengths = parallel_map(&mut words, |word| {
///     word.push('!');
///     word.len()
/// });
/// assert_eq!((lengths, &*words[2]), (vec![4, 4, 6], "three!"));
/// ```
pub fn parallel_map<I: Send, R: Send>(
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> R + Sync,
) -> Vec<R> {
    let slots: Vec<Mutex<Slot<I, R>>> = items.into_iter().map(Slot::Waiting).map(Mutex::new).collect();
    let exchange = |at: usize, slot: Slot<I, R>| {
        std::mem::replace(&mut *slots[at].lock().unwrap_or_else(PoisonError::into_inner), slot)
    };
    drive(slots.len(), &|at| {
        if let Slot::Waiting(item) = exchange(at, Slot::UnderWay) {
            exchange(at, Slot::Done(work(item)));
        }
    });
    let done = slots.into_iter().filter_map(|slot| match slot.into_inner() {
        Ok(Slot::Done(result)) => Some(result),
        _ => None,
    });
    done.collect()
}

/// What `work` gives, which `run` has done once: it takes it by reference, and so is compiled once for all work.
///
/// # Panics
/// If `run` returns and has not done it.
pub fn by_reference<T: Send>(
    work: impl FnOnce() -> T + Send,
    run: impl FnOnce(&mut (dyn FnMut() + Send)),
) -> T {
    let (mut work, mut result) = (Some(work), None);
    run(&mut || {
        if let Some(work) = work.take() {
            result = Some(work());
        }
    });
    result.unwrap_or_else(|| unreachable!("whoever takes work does it"))
}

/// Calls `task` with each number below `count`.
fn drive(count: usize, task: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(task);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_by_reference_is_done_once() {
        let text = String::from("moved");
        let run = |work: &mut (dyn FnMut() + Send)| {
            work();
            work();
        };
        assert_eq!(by_reference(move || text, run), "moved");
    }

    #[test]
    fn results_are_in_the_order_of_items_that_may_be_moved_and_written_to() {
        let mut numbers = vec![0; 10_000];
        let lens = parallel_map(numbers.chunks_mut(7).enumerate(), |(number, chunk)| {
            chunk.fill(number);
            (number, chunk.len())
        });
        let expected: Vec<usize> = (0..10_000).map(|at| at / 7).collect();
        assert_eq!(numbers, expected);
        assert!(
            lens.iter().enumerate().all(|(at, &(number, len))| number == at && len == 7.min(10_000 - 7 * at))
        );
        assert_eq!(lens.len(), 10_000_usize.div_ceil(7));
    }
}
