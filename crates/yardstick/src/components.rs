//! Connected components by Afforest: link every vertex with its first few neighbors, which already joins most of the
//! largest component; find that component by a sample; then link all other edges except those of its vertices,
//! which are nearly all there are. Sutton, Ben-Nun, Barak: "Optimizing Parallel Graph Connectivity Computation via
//! Subgraph Sampling", IPDPS 2018.
//!
//! ```text
//!  labels = trees pointing to smaller numbers:   link      9 ─► 4 ─► 1      hang the larger root on the smaller
//!                                                compress  9 ─► 1 ◄─ 4      every vertex points to its root
//! ```
//!
//! Invariant: a label is never larger than its vertex, so labels never form a cycle, whatever the threads do.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::{Csr, Graph};

/// Neighbors of each vertex that are linked before the sample is taken.
const NEIGHBOR_ROUNDS: usize = 2;
const SAMPLES: usize = 1024;
/// Vertices a task works on at a time.
const BLOCK: usize = 1 << 14;

/// The component of every vertex, named by its smallest vertex. Edges join whatever their direction.
pub fn components(graph: &Graph) -> Vec<u32> {
    let out = graph.out();
    let labels: Vec<AtomicU32> =
        (0..graph.num_vertices() as u32).into_par_iter().map(AtomicU32::new).collect();
    for round in 0..NEIGHBOR_ROUNDS {
        for_each_vertex(out, |vertex| {
            if let Some(&neighbor) = out.neighbors(vertex).get(round) {
                link(vertex, neighbor, &labels);
            }
        });
        compress(out, &labels);
    }
    let largest = most_frequent(&labels);
    for_each_vertex(out, |vertex| {
        if labels[vertex as usize].load(Relaxed) == largest {
            return;
        }
        let rest = out.neighbors(vertex).iter().skip(NEIGHBOR_ROUNDS);
        rest.for_each(|&neighbor| link(vertex, neighbor, &labels));
        if graph.is_directed() {
            graph.incoming().neighbors(vertex).iter().for_each(|&neighbor| link(vertex, neighbor, &labels));
        }
    });
    compress(out, &labels);
    labels.into_iter().map(AtomicU32::into_inner).collect()
}

fn for_each_vertex(csr: &Csr, work: impl Fn(u32) + Sync) {
    csr.vertex_blocks(BLOCK).for_each(|block| block.for_each(&work));
}

/// Joins the trees of two vertices: hangs the larger root on the smaller, and starts over where another thread has
/// moved the larger meanwhile.
#[inline]
fn link(one: u32, other: u32, labels: &[AtomicU32]) {
    let label = |vertex: u32| labels[vertex as usize].load(Relaxed);
    let (mut one, mut other) = (label(one), label(other));
    while one != other {
        let (low, high) = (one.min(other), one.max(other));
        let above = label(high);
        let is_root = above == high;
        if above == low
            || is_root && labels[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok()
        {
            return;
        }
        one = label(label(high));
        other = label(low);
    }
}

/// Points every vertex to its root.
fn compress(csr: &Csr, labels: &[AtomicU32]) {
    for_each_vertex(csr, |vertex| {
        let mut label = labels[vertex as usize].load(Relaxed);
        loop {
            let above = labels[label as usize].load(Relaxed);
            if above == label {
                return;
            }
            labels[vertex as usize].store(above, Relaxed);
            label = above;
        }
    });
}

/// The label met most often in an evenly spread sample; 0 if there are no labels.
fn most_frequent(labels: &[AtomicU32]) -> u32 {
    let step = labels.len().div_ceil(SAMPLES).max(1);
    let mut sample: Vec<u32> = labels.iter().step_by(step).map(|label| label.load(Relaxed)).collect();
    sample.sort_unstable();
    let runs = sample.chunk_by(|one, other| one == other);
    runs.max_by_key(|run| run.len()).and_then(|run| run.first().copied()).unwrap_or(0)
}

/// The component of every vertex, named by its smallest vertex, by a serial union of all edges.
pub fn components_by_union_find(graph: &Graph) -> Vec<u32> {
    let mut parents: Vec<u32> = (0..graph.num_vertices() as u32).collect();
    fn root(parents: &mut [u32], mut vertex: u32) -> u32 {
        while parents[vertex as usize] != vertex {
            parents[vertex as usize] = parents[parents[vertex as usize] as usize];
            vertex = parents[vertex as usize];
        }
        vertex
    }
    for vertex in 0..graph.num_vertices() as u32 {
        for &neighbor in graph.out().neighbors(vertex) {
            let (one, other) = (root(&mut parents, vertex), root(&mut parents, neighbor));
            parents[one.max(other) as usize] = one.min(other);
        }
    }
    (0..graph.num_vertices() as u32).map(|vertex| root(&mut parents, vertex)).collect()
}
