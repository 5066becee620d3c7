//! Betweenness from some sources: how many shortest paths lead through each vertex, each path as a share of those between
//! its ends. Brandes: "A Faster Algorithm for Betweenness Centrality", J. Mathematical Sociology 25, 2001; successors as
//! one bit for each edge, as in GAPBS (Madduri, Ediger, et al.: "A Faster Parallel Algorithm and Efficient Multithreaded
//! Implementations for Evaluating Betweenness Centrality on Massive Datasets", MTAAP 2009).
//!
//! ```text
//!  outwards, level by level:   paths(v) = sum of paths(u),  bit (u, v) set         for edges u ─► v to the next level
//!  back, last level first:     delta(u) = sum of paths(u) / paths(v) * (1 + delta(v))    over the edges with a bit
//! ```
//!
//! Invariant: the bit of an edge is set exactly if it leads from a level to the next.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::Graph;

/// Vertices of a level that a task works on at a time.
const BLOCK: usize = 64;
const UNSEEN: u32 = u32::MAX;

/// The sum over `sources` of what depends on each vertex; a source has no share in paths from itself.
/// Panics if a source is no vertex.
pub fn betweenness(graph: &Graph, sources: &[u32]) -> Vec<f32> {
    let mut scores = vec![0.0; graph.num_vertices()];
    let words = (graph.out().num_neighbors() as usize).div_ceil(64);
    let mut successors: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
    for &source in sources {
        successors.par_iter_mut().with_min_len(1 << 14).for_each(|word| *word.get_mut() = 0);
        let search = Search::outwards(graph, source, &successors);
        let deltas = search.back();
        scores.par_iter_mut().zip(&deltas).with_min_len(1 << 14).enumerate().for_each(
            |(vertex, (score, delta))| {
                if vertex != source as usize {
                    *score += f32::from_bits(delta.load(Relaxed));
                }
            },
        );
    }
    scores
}

struct Search<'a> {
    graph: &'a Graph,
    successors: &'a [AtomicU64],
    paths: Vec<AtomicU64>,
    levels: Vec<Vec<u32>>,
}

impl<'a> Search<'a> {
    fn outwards(graph: &'a Graph, source: u32, successors: &'a [AtomicU64]) -> Self {
        let count = graph.num_vertices();
        let depths: Vec<AtomicU32> = (0..count).into_par_iter().map(|_| AtomicU32::new(UNSEEN)).collect();
        let paths: Vec<AtomicU64> = (0..count).into_par_iter().map(|_| AtomicU64::new(0)).collect();
        depths[source as usize].store(0, Relaxed);
        paths[source as usize].store(1f64.to_bits(), Relaxed);
        let mut search = Search { graph, successors, paths, levels: Vec::new() };
        let mut level = vec![source];
        while !level.is_empty() {
            let next = search.step(&level, &depths, search.levels.len() as u32 + 1);
            search.levels.push(std::mem::replace(&mut level, next));
        }
        search
    }

    /// The vertices at `depth`, which edges from the level before lead to.
    fn step(&self, level: &[u32], depths: &[AtomicU32], depth: u32) -> Vec<u32> {
        let out = self.graph.out();
        let visit = |mut next: Vec<u32>, block: &[u32]| {
            for &vertex in block {
                let own = f64::from_bits(self.paths[vertex as usize].load(Relaxed));
                for (edge, &neighbor) in (out.offsets()[vertex as usize]..).zip(out.neighbors(vertex)) {
                    let place = &depths[neighbor as usize];
                    let won = || place.compare_exchange(UNSEEN, depth, Relaxed, Relaxed).is_ok();
                    if place.load(Relaxed) == UNSEEN && won() {
                        next.push(neighbor);
                    }
                    if place.load(Relaxed) == depth {
                        self.successors[edge as usize / 64].fetch_or(1 << (edge % 64), Relaxed);
                        add(&self.paths[neighbor as usize], own);
                    }
                }
            }
            next
        };
        let join = |mut left: Vec<u32>, right: Vec<u32>| {
            left.extend_from_slice(&right);
            left
        };
        level.par_chunks(BLOCK).fold(Vec::new, visit).reduce(Vec::new, join)
    }

    /// What depends on each vertex.
    fn back(&self) -> Vec<AtomicU32> {
        let count = self.graph.num_vertices();
        let deltas: Vec<AtomicU32> = (0..count).into_par_iter().map(|_| AtomicU32::new(0)).collect();
        let out = self.graph.out();
        for level in self.levels.iter().rev().skip(1) {
            level.par_chunks(BLOCK).for_each(|block| {
                for &vertex in block {
                    let own = f64::from_bits(self.paths[vertex as usize].load(Relaxed));
                    let mut delta = 0.0;
                    for (edge, &neighbor) in (out.offsets()[vertex as usize]..).zip(out.neighbors(vertex)) {
                        if self.successors[edge as usize / 64].load(Relaxed) >> (edge % 64) & 1 == 1 {
                            let theirs = f64::from_bits(self.paths[neighbor as usize].load(Relaxed));
                            let after = f32::from_bits(deltas[neighbor as usize].load(Relaxed));
                            delta += (own / theirs) as f32 * (1.0 + after);
                        }
                    }
                    deltas[vertex as usize].store(delta.to_bits(), Relaxed);
                }
            });
        }
        deltas
    }
}

fn add(place: &AtomicU64, more: f64) {
    let mut old = place.load(Relaxed);
    let sum = |old| (f64::from_bits(old) + more).to_bits();
    while let Err(current) = place.compare_exchange_weak(old, sum(old), Relaxed, Relaxed) {
        old = current;
    }
}

/// The same by a queue and lists of predecessors, one vertex at a time and in 64 bits.
pub fn betweenness_by_queue(graph: &Graph, sources: &[u32]) -> Vec<f64> {
    let count = graph.num_vertices();
    let mut scores = vec![0.0; count];
    for &source in sources {
        let (mut depths, mut paths) = (vec![UNSEEN; count], vec![0.0; count]);
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); count];
        (depths[source as usize], paths[source as usize]) = (0, 1.0);
        let (mut order, mut at) = (vec![source], 0);
        while let Some(&vertex) = order.get(at) {
            at += 1;
            for &neighbor in graph.out().neighbors(vertex) {
                if depths[neighbor as usize] == UNSEEN {
                    depths[neighbor as usize] = depths[vertex as usize] + 1;
                    order.push(neighbor);
                }
                if depths[neighbor as usize] == depths[vertex as usize] + 1 {
                    paths[neighbor as usize] += paths[vertex as usize];
                    before[neighbor as usize].push(vertex);
                }
            }
        }
        let mut deltas = vec![0.0; count];
        for &vertex in order.iter().skip(1).rev() {
            for &earlier in &before[vertex as usize] {
                deltas[earlier as usize] +=
                    paths[earlier as usize] / paths[vertex as usize] * (1.0 + deltas[vertex as usize]);
            }
            scores[vertex as usize] += deltas[vertex as usize];
        }
    }
    scores
}
