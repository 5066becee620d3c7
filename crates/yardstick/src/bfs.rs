//! Breadth-first search that changes direction: from a small frontier each vertex pushes to its neighbors; towards a
//! large one each unvisited vertex looks among its own neighbors for any vertex of the frontier and stops at the
//! first. Beamer, Asanović, Patterson: "Direction-Optimizing Breadth-First Search", SC 2012.
//!
//! ```text
//!  frontier as queue ──push──► queue        while  edges out of the frontier <= edges unexplored / ALPHA
//!         │                      ▲
//!         ▼                      │
//!  frontier as bitmap ──pull──► bitmap      until  the frontier shrinks and is <= vertices / BETA
//! ```
//!
//! The parents double as the visited set: a negative entry is minus the degree of a vertex not yet visited (-1 if
//! it has none), so that a push learns how many edges leave the next frontier without another look-up.
//!
//! Invariant: an entry goes from negative to a parent once and never changes again.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

use crate::{Csr, Graph};

/// The parent of a vertex that the search does not reach.
pub const UNREACHED: u32 = u32::MAX;

const ALPHA: u64 = 15;
const BETA: usize = 18;
/// Bits in a word of a bitmap.
const WORD: usize = 64;
/// Words of a bitmap that a task works on at a time.
const WORDS_PER_BLOCK: usize = 16;
/// Vertices of a frontier that a task pushes from at a time.
const PUSH_BLOCK: usize = 64;

/// A parent for every vertex that can be reached from `source`, one step nearer to it; `source` is its own.
/// Panics if there is no vertex `source`.
pub fn bfs(graph: &Graph, source: u32) -> Vec<u32> {
    let parents = unvisited(graph.out());
    parents[source as usize].store(source as i32, Relaxed);
    let mut frontier = vec![source];
    let mut unexplored = graph.out().num_neighbors();
    let mut leaving = graph.out().degree(source);
    while !frontier.is_empty() {
        if leaving > unexplored / ALPHA {
            frontier = pull_until_small(graph.incoming(), &parents, &frontier);
            leaving = 1;
        } else {
            unexplored = unexplored.saturating_sub(leaving);
            (frontier, leaving) = push(graph.out(), &parents, &frontier);
        }
    }
    // The largest parent is below 2^31, so every negative entry, and no other, becomes UNREACHED.
    parents.into_par_iter().with_min_len(1 << 14).map(|parent| parent.into_inner().max(-1) as u32).collect()
}

fn unvisited(out: &Csr) -> Vec<AtomicI32> {
    let degrees = out.offsets().par_windows(2).with_min_len(1 << 12).map(|ends| (ends[1] - ends[0]) as i32);
    degrees.map(|degree| AtomicI32::new(-degree.max(1))).collect()
}

/// One step from the frontier outwards: the next frontier, and how many edges leave it.
fn push(out: &Csr, parents: &[AtomicI32], frontier: &[u32]) -> (Vec<u32>, u64) {
    let blocks = frontier.par_chunks(PUSH_BLOCK);
    let step = |(mut next, mut leaving): (Vec<u32>, u64), block: &[u32]| {
        for &vertex in block {
            for &neighbor in out.neighbors(vertex) {
                let parent = &parents[neighbor as usize];
                let current = parent.load(Relaxed);
                let won = || parent.compare_exchange(current, vertex as i32, Relaxed, Relaxed).is_ok();
                if current < 0 && won() {
                    next.push(neighbor);
                    leaving += u64::from(current.unsigned_abs());
                }
            }
        }
        (next, leaving)
    };
    let merge = |(mut next, leaving): (Vec<u32>, u64), (more, more_leaving): (Vec<u32>, u64)| {
        if next.is_empty() {
            return (more, more_leaving);
        }
        next.extend_from_slice(&more);
        (next, leaving + more_leaving)
    };
    blocks.fold(|| (Vec::new(), 0), step).reduce(|| (Vec::new(), 0), merge)
}

/// Steps of unvisited vertices towards the frontier, until it is small again.
fn pull_until_small(incoming: &Csr, parents: &[AtomicI32], frontier: &[u32]) -> Vec<u32> {
    let mut front = bitmap(parents.len());
    let mut next = bitmap(parents.len());
    frontier.par_iter().with_min_len(1 << 10).for_each(|&vertex| {
        front[vertex as usize / WORD].fetch_or(1 << (vertex as usize % WORD), Relaxed);
    });
    let mut size = frontier.len();
    loop {
        let before = size;
        size = pull(incoming, parents, &front, &next);
        std::mem::swap(&mut front, &mut next);
        if size < before && size <= parents.len() / BETA {
            return members(&front);
        }
    }
}

/// One step: every unvisited vertex that has a neighbor in `front` joins `next`. The number of those.
fn pull(incoming: &Csr, parents: &[AtomicI32], front: &[AtomicU64], next: &[AtomicU64]) -> usize {
    let is_in_front =
        |vertex: u32| front[vertex as usize / WORD].load(Relaxed) >> (vertex as usize % WORD) & 1 == 1;
    let blocks = parents.par_chunks(WORD * WORDS_PER_BLOCK).zip(next.par_chunks(WORDS_PER_BLOCK)).enumerate();
    let pull_word = |first: usize, parents: &[AtomicI32]| {
        let mut word = 0u64;
        for (bit, parent) in parents.iter().enumerate() {
            if parent.load(Relaxed) < 0 {
                let neighbors = incoming.neighbors((first + bit) as u32);
                if let Some(&found) = neighbors.iter().find(|&&neighbor| is_in_front(neighbor)) {
                    parent.store(found as i32, Relaxed);
                    word |= 1 << bit;
                }
            }
        }
        word
    };
    let pull_block = |(block, (parents, words)): (usize, (&[AtomicI32], &[AtomicU64]))| {
        let mut joined = 0;
        for (index, (parents, word)) in parents.chunks(WORD).zip(words).enumerate() {
            let bits = pull_word((block * WORDS_PER_BLOCK + index) * WORD, parents);
            word.store(bits, Relaxed);
            joined += bits.count_ones() as usize;
        }
        joined
    };
    blocks.map(pull_block).sum()
}

fn bitmap(bits: usize) -> Vec<AtomicU64> {
    (0..bits.div_ceil(WORD)).map(|_| AtomicU64::new(0)).collect()
}

fn members(bitmap: &[AtomicU64]) -> Vec<u32> {
    let members_of = |(index, word): (usize, &AtomicU64)| {
        let mut bits = word.load(Relaxed);
        std::iter::from_fn(move || {
            let bit = (bits != 0).then(|| bits.trailing_zeros())?;
            bits &= bits - 1;
            Some((index * WORD) as u32 + bit)
        })
    };
    bitmap.par_iter().with_min_len(1 << 10).enumerate().flat_map_iter(members_of).collect()
}

/// The number of steps from `source` to every vertex, [`UNREACHED`] where there is no way: the plain serial search.
pub fn bfs_depths(graph: &Graph, source: u32) -> Vec<u32> {
    let mut depths = vec![UNREACHED; graph.num_vertices()];
    depths[source as usize] = 0;
    let mut queue = std::collections::VecDeque::from([source]);
    while let Some(vertex) = queue.pop_front() {
        for &neighbor in graph.out().neighbors(vertex) {
            if depths[neighbor as usize] == UNREACHED {
                depths[neighbor as usize] = depths[vertex as usize] + 1;
                queue.push_back(neighbor);
            }
        }
    }
    depths
}

/// Whether `parents` is what [`bfs`] promises, checked against [`bfs_depths`] and the edges.
pub fn is_bfs_tree(graph: &Graph, source: u32, parents: &[u32]) -> bool {
    let depths = bfs_depths(graph, source);
    let is_right = |(vertex, (&parent, &depth)): (usize, (&u32, &u32))| match (parent, depth) {
        (UNREACHED, _) | (_, UNREACHED) => parent == depth,
        (_, 0) => parent == source && vertex == source as usize,
        _ => depths.get(parent as usize) == Some(&(depth - 1)) && graph.out().has_edge(parent, vertex as u32),
    };
    parents.len() == depths.len() && parents.iter().zip(&depths).enumerate().all(is_right)
}
