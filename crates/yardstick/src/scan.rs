//! What every graph store does all day: read all lists, and look single edges up.

use rayon::prelude::*;

use crate::{Csr, Graph};

/// Vertices a task works on at a time.
const BLOCK: usize = 1 << 12;

/// The sum of all neighbors in all lists, wrapping: a full scan, list by list.
pub fn sum_of_neighbors(csr: &Csr) -> u64 {
    let sum_list = |vertex| csr.neighbors(vertex).iter().map(|&neighbor| u64::from(neighbor)).sum::<u64>();
    csr.vertex_blocks(BLOCK)
        .map(|block| block.map(sum_list).fold(0, u64::wrapping_add))
        .reduce(|| 0, u64::wrapping_add)
}

/// How many of these pairs are edges: random look-ups, each by binary search.
/// Panics if a source is no vertex.
pub fn count_edges_present(graph: &Graph, pairs: &[(u32, u32)]) -> usize {
    pairs.par_iter().with_min_len(BLOCK).filter(|&&(src, dst)| graph.out().has_edge(src, dst)).count()
}
