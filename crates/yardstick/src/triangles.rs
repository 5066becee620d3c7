//! Triangle counting by merging: for every edge u > v, the neighbors below v that both have. Each triangle is met once.
//!
//! On a dense graph with skewed degrees the vertices are renamed first, highest degree first, and only neighbors
//! of smaller number are kept: then the lists that get merged are short, since hubs have few neighbors before them.
//! Schank, Wagner: "Finding, Counting and Listing all Triangles in Large Graphs", WEA 2005.
//!
//! Invariant: lists are ascending, so the neighbors below a vertex are a beginning of its list.

use std::cmp::Reverse;

use rayon::prelude::*;

use crate::build::{EdgeSource, build};
use crate::{Csr, Graph};

/// Vertices a task works on at a time: few, for hubs are much work.
const BLOCK: usize = 64;

/// The number of triangles. The graph must have been made with [`Graph::undirected`]; of a directed one this counts
/// the triangles with edges u → v, u → w, v → w where u > v > w.
pub fn triangles(graph: &Graph) -> u64 {
    let out = graph.out();
    if is_worth_renaming(out) {
        let lower = lower_by_degree(out);
        return count(&lower, |vertex| lower.neighbors(vertex));
    }
    count(out, |vertex| {
        let neighbors = out.neighbors(vertex);
        &neighbors[..neighbors.partition_point(|&neighbor| neighbor < vertex)]
    })
}

/// Counts over the lists of lower neighbors.
fn count<'a>(csr: &Csr, lower: impl Fn(u32) -> &'a [u32] + Sync) -> u64 {
    let count_vertex = |vertex| {
        let own = lower(vertex);
        own.iter()
            .enumerate()
            .map(|(before, &neighbor)| count_common(&own[..before], lower(neighbor)))
            .sum::<u64>()
    };
    csr.vertex_blocks(BLOCK).map(|block| block.map(count_vertex).sum::<u64>()).sum()
}

/// How many numbers two ascending lists share.
#[inline]
fn count_common(one: &[u32], other: &[u32]) -> u64 {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(&left), Some(&right)) = (one.get(i), other.get(j)) {
        common += u64::from(left == right);
        i += usize::from(left <= right);
        j += usize::from(right <= left);
    }
    common
}

/// Whether there are enough edges, and degrees uneven enough, for renaming to pay: GAPBS's rule of thumb, that a
/// vertex has 10 edges and that the mean degree of a sample is 1.3 times its median.
fn is_worth_renaming(csr: &Csr) -> bool {
    const SAMPLES: usize = 1000;
    let vertices = csr.num_vertices().max(1);
    if csr.num_neighbors() / 2 / (vertices as u64) < 10 {
        return false;
    }
    let degrees = (0..csr.num_vertices() as u32)
        .step_by(vertices.div_ceil(2 * SAMPLES))
        .map(|vertex| csr.degree(vertex));
    let mut sample: Vec<u64> = degrees.filter(|&degree| degree > 0).collect();
    sample.sort_unstable();
    let mean = sample.iter().sum::<u64>() as f64 / sample.len().max(1) as f64;
    sample.get(sample.len() / 2).is_some_and(|&median| mean / 1.3 > median as f64)
}

/// The lists of lower neighbors after renaming by descending degree.
fn lower_by_degree(csr: &Csr) -> Csr {
    let mut order: Vec<u32> = (0..csr.num_vertices() as u32).collect();
    order.par_sort_unstable_by_key(|&vertex| (Reverse(csr.degree(vertex)), vertex));
    let mut names = vec![0; order.len()];
    (0..).zip(&order).for_each(|(name, &vertex)| names[vertex as usize] = name);
    build(csr.num_vertices(), &Renamed { csr, names: &names })
}

/// The edges of an undirected graph under other names, each once, from the larger name to the smaller.
struct Renamed<'a> {
    csr: &'a Csr,
    names: &'a [u32],
}

const VERTICES_PER_CHUNK: usize = 1 << 16;

impl EdgeSource for Renamed<'_> {
    fn num_chunks(&self) -> usize {
        self.names.len().div_ceil(VERTICES_PER_CHUNK)
    }

    fn num_edges(&self) -> usize {
        self.csr.num_neighbors() as usize / 2
    }

    fn emit(&self, chunk: usize, mut sink: impl FnMut(u32, u32)) {
        let end = ((chunk + 1) * VERTICES_PER_CHUNK).min(self.names.len());
        for vertex in chunk * VERTICES_PER_CHUNK..end {
            let name = self.names[vertex];
            let others =
                self.csr.neighbors(vertex as u32).iter().map(|&neighbor| self.names[neighbor as usize]);
            others.filter(|&other| other < name).for_each(|other| sink(name, other));
        }
    }
}

/// The number of triangles, by intersecting the neighbor sets of both ends of every edge.
pub fn triangles_by_sets(graph: &Graph) -> u64 {
    let out = graph.out();
    let sets: Vec<std::collections::HashSet<u32>> = (0..graph.num_vertices() as u32)
        .map(|vertex| out.neighbors(vertex).iter().copied().collect())
        .collect();
    let common =
        |vertex: u32, neighbor: u32| sets[vertex as usize].intersection(&sets[neighbor as usize]).count();
    let edges = (0..graph.num_vertices() as u32).flat_map(|u| out.neighbors(u).iter().map(move |&v| (u, v)));
    // Each triangle is met at each of its edges, in both directions.
    edges.map(|(vertex, neighbor)| common(vertex, neighbor) as u64).sum::<u64>() / 6
}
