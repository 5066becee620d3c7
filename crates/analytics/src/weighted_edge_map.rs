//! `edge_map` along edges with weights: from the frontier out, for methods that relax (Ligra's Bellman-Ford is one).
//!
//! Invariant: every edge out of the frontier is visited once.

use evergraph_types::VertexId;
use rayon::prelude::*;

use crate::ranges::{HUB_DEGREE, HUB_PIECE};
use crate::{AlgorithmError, Control, VertexSubset, WeightedTable};

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
        let pieces = neighbors.par_chunks(HUB_PIECE).zip(weights.par_chunks(HUB_PIECE));
        let found = pieces.map(|(neighbors, weights)| {
            let mut found = Vec::new();
            visit_slice(&mut found, src, neighbors, weights);
            found
        });
        next.extend(found.collect::<Vec<_>>().concat());
        Ok(next)
    };
    let few = || ids.iter().map(|&vertex| table.degree(vertex)).sum::<usize>() <= SEQUENTIAL_EDGES;
    let next = if ids.len() <= SEQUENTIAL_EDGES && few() {
        ids.iter().try_fold(Vec::new(), visit_list)?
    } else {
        let pieces = ids.par_iter().with_min_len(4).try_fold(Vec::new, visit_list);
        pieces.collect::<Result<Vec<Vec<VertexId>>, AlgorithmError>>()?.concat()
    };
    Ok(VertexSubset::from_distinct(table.id_bound(), next))
}
