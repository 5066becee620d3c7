//! Work on many items in parallel: [`parallel_map`](evergraph_view::parallel_map), and what algorithms do with it again and again.
//!
//! Invariant: what comes of items is in their order, whichever thread did which when; once the caller cancels, none is begun.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use evergraph_types::VertexId;
use evergraph_view::by_reference;
pub(crate) use evergraph_view::parallel_map as map;
use rayon::iter::{IndexedParallelIterator, ParallelIterator};

use crate::{AlgorithmError, Control};

/// Items of a task that does next to nothing with each.
pub(crate) const ITEMS_PER_TASK: usize = 1 << 14;

/// Vertices of a task that does little with each.
const VERTICES_PER_TASK: usize = 1 << 12;

/// Runs `body` on a thread of the current pool, so that its many small parallel steps need not enter the pool each.
pub(crate) fn in_pool<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    fn enter(body: &mut (dyn FnMut() + Send)) {
        rayon::scope(|_| body());
    }
    by_reference(body, enter)
}

/// As [`map`], until one fails or the caller cancels.
pub(crate) fn try_map<I: Send, R: Send>(
    control: &Control,
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> Result<R, AlgorithmError> + Sync,
) -> Result<Vec<R>, AlgorithmError> {
    let has_failed = AtomicBool::new(false);
    let results = map(items, |item| {
        let result = (!has_failed.load(Relaxed)).then(|| control.check().and_then(|()| work(item)))?;
        if result.is_err() {
            has_failed.store(true, Relaxed);
        }
        Some(result)
    });
    results.into_iter().flatten().collect()
}

/// Calls `work` with each item, until the caller cancels.
pub(crate) fn for_each<I: Send>(
    control: &Control,
    items: impl IntoIterator<Item = I>,
    work: impl Fn(I) + Sync,
) -> Result<(), AlgorithmError> {
    let work = |item| {
        work(item);
        Ok(())
    };
    try_map(control, items, work).map(drop)
}

/// So many of one value. Its memory is first written to by all threads: the system gives it page by page, and clears each.
pub(crate) fn filled<T: Copy + Send>(value: T, len: usize) -> Vec<T> {
    rayon::iter::repeat_n(value, len).with_min_len(ITEMS_PER_TASK).collect()
}

/// Whole numbers in blocks of so many.
pub(crate) fn blocks(count: usize, block: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).step_by(block).map(move |start| start..count.min(start + block))
}

/// Vertex ids in blocks.
pub(crate) fn vertex_blocks(bound: VertexId) -> impl Iterator<Item = Range<VertexId>> {
    let blocks = blocks(bound as usize, VERTICES_PER_TASK);
    blocks.map(|block| block.start as VertexId..block.end as VertexId)
}

/// What `of` says of each vertex id.
pub(crate) fn of_vertices<R: Send>(bound: VertexId, of: impl Fn(VertexId) -> R + Sync) -> Vec<R> {
    let blocks = map(vertex_blocks(bound), |block| block.map(&of).collect::<Vec<R>>());
    blocks.into_iter().flatten().collect()
}

/// The vertex ids for which `holds`.
pub(crate) fn filter_vertices(bound: VertexId, holds: impl Fn(VertexId) -> bool + Sync) -> Vec<VertexId> {
    let blocks = map(vertex_blocks(bound), |block| block.filter(|&vertex| holds(vertex)).collect::<Vec<_>>());
    blocks.concat()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn blocks_cover_all_once() {
        for bound in [0, 1, 4_095, 4_096, 4_097, 100_000] {
            assert_eq!(of_vertices(bound, |vertex| vertex), (0..bound).collect::<Vec<_>>());
            let odd = filter_vertices(bound, |vertex| vertex % 2 == 1);
            assert_eq!(odd, (0..bound).filter(|vertex| vertex % 2 == 1).collect::<Vec<_>>());
        }
    }

    #[test]
    fn after_an_error_or_once_cancelled_no_more_items_are_begun() {
        let control = Control::new();
        let begun = AtomicUsize::new(0);
        let fail = |item: usize| {
            begun.fetch_add(1, Relaxed);
            if item == 17 { Err(AlgorithmError::NoPath { from: 1, to: 2 }) } else { Ok(item) }
        };
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        let error = one.install(|| try_map(&control, 0..1 << 10, fail));
        assert_eq!(error, Err(AlgorithmError::NoPath { from: 1, to: 2 }));
        assert_eq!(begun.load(Relaxed), 18);
        assert_eq!(try_map(&control, 20..30, fail), Ok((20..30).collect()));
        control.cancel();
        assert_eq!(try_map(&control, 20..30, fail), Err(AlgorithmError::Cancelled));
    }
}
