//! `edge_map` along edges with weights: from the frontier out, for methods that relax (Ligra's Bellman-Ford is one), or from
//! every vertex back to the frontier, as in `edge_map.rs`, where the lists of the other direction are at hand.
//!
//! Invariant: a push visits every edge out of the frontier once; a pull those of a vertex until it wants no more.

use evergraph_types::VertexId;

use crate::engine::bitmap::WORD_BITS;
use crate::engine::edge_map::PULL_FRACTION;
use crate::engine::parallel::{for_each, map, try_map};
use crate::engine::ranges::{HUB_DEGREE, HUB_PIECE};
use crate::{AlgorithmError, Bitmap, Control, VertexSubset, WeightedTable};

/// Words of the next bitmap filled by one task of a pull.
const WORDS_PER_TASK: usize = 16;

/// Vertices whose edges are visited by one task of a push.
const IDS_PER_TASK: usize = 1 << 5;

/// Fewer edges than this are visited on the calling thread.
const SEQUENTIAL_EDGES: usize = 1 << 12;

/// Calls `visit(src, dst, weight)` for the edges of `table` that leave `frontier`, in parallel; gives the `dst` for which
/// it was `true`, which it must be at most once for each.
pub fn weighted_edge_map(
    table: &WeightedTable,
    frontier: &VertexSubset,
    visit: impl Fn(VertexId, VertexId, f64) -> bool + Sync,
    control: &Control,
) -> Result<VertexSubset, AlgorithmError> {
    let ids = frontier.ids();
    let visit_slice = |next: &mut Vec<VertexId>, src: VertexId, neighbors: &[VertexId], weights: &[f64]| {
        let edges = neighbors.iter().zip(weights);
        next.extend(edges.filter(|&(&dst, &weight)| visit(src, dst, weight)).map(|(&dst, _)| dst));
    };
    let visit_list = |mut next: Vec<VertexId>, &src: &VertexId| {
        control.check()?;
        let (neighbors, weights) = table.list(src);
        if neighbors.len() < HUB_DEGREE {
            visit_slice(&mut next, src, neighbors, weights);
            return Ok(next);
        }
        let pieces = neighbors.chunks(HUB_PIECE).zip(weights.chunks(HUB_PIECE));
        let found = map(pieces, |(neighbors, weights)| {
            let mut found = Vec::new();
            visit_slice(&mut found, src, neighbors, weights);
            found
        });
        next.extend(found.concat());
        Ok(next)
    };
    let few = || ids.iter().map(|&vertex| table.degree(vertex)).sum::<usize>() <= SEQUENTIAL_EDGES;
    let next = if ids.len() <= SEQUENTIAL_EDGES && few() {
        ids.iter().try_fold(Vec::new(), visit_list)?
    } else {
        try_map(control, ids.chunks(IDS_PER_TASK), |ids| ids.iter().try_fold(Vec::new(), visit_list))?
            .concat()
    };
    Ok(VertexSubset::from_distinct(table.id_bound(), next))
}

/// Whether the edges out of a frontier are so many that a pull is the shorter way.
pub(crate) fn is_heavy(table: &WeightedTable, frontier: &VertexSubset) -> bool {
    let count = frontier.len() as u64;
    let entries = || frontier.ids().iter().map(|&vertex| table.degree(vertex) as u64).sum::<u64>();
    count > u64::from(table.id_bound()) / PULL_FRACTION
        || count + entries() > table.weights().len() as u64 / PULL_FRACTION
}

/// Calls `update(src, dst, weight)` for the edges into every `dst` that come from the frontier, while `cond(dst)` holds;
/// gives the `dst` for which it was `true`. `against` has the lists against the edges. Only edges of a hub meet at a `dst`.
pub(crate) fn weighted_pull(
    against: &WeightedTable,
    frontier: &Bitmap,
    update: impl Fn(VertexId, VertexId, f64) -> bool + Sync,
    cond: impl Fn(VertexId) -> bool + Sync,
    control: &Control,
) -> Result<VertexSubset, AlgorithmError> {
    let pull_list = |dst: VertexId, sources: &[VertexId], weights: &[f64]| {
        let mut changed = false;
        for (&src, &weight) in sources.iter().zip(weights).filter(|&(&src, _)| frontier.contains(src)) {
            changed |= update(src, dst, weight);
            if !cond(dst) {
                break;
            }
        }
        changed
    };
    let pull = |dst: VertexId| {
        let (sources, weights) = against.list(dst);
        if sources.is_empty() || !cond(dst) {
            return false;
        }
        if sources.len() < HUB_DEGREE {
            return pull_list(dst, sources, weights);
        }
        let pieces = sources.chunks(HUB_PIECE).zip(weights.chunks(HUB_PIECE));
        map(pieces, |(sources, weights)| cond(dst) && pull_list(dst, sources, weights)).contains(&true)
    };
    let mut next = Bitmap::empty(against.id_bound());
    let tasks = next.words_mut().chunks_mut(WORDS_PER_TASK).enumerate();
    for_each(control, tasks, |(task, words)| {
        for (word, first) in words.iter_mut().zip((task * WORDS_PER_TASK..).map(|index| index * WORD_BITS)) {
            let bound = against.id_bound() as usize;
            for bit in 0..WORD_BITS.min(bound.saturating_sub(first)) {
                *word |= u64::from(pull((first + bit) as VertexId)) << bit;
            }
        }
    })?;
    Ok(VertexSubset::from_bitmap(next))
}
