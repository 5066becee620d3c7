//! Compressed sparse rows: all neighbor lists end to end, and where each begins.
//!
//! ```text
//! offsets    0     2  3        6 …        list of vertex v = neighbors[offsets[v]..offsets[v + 1]]
//! neighbors  1  4  2  0  3  4  …          ascending within a list
//! ```
//!
//! Invariant: `offsets` ascends from 0 to the length of `neighbors`, one more entry than vertices; every list is
//! strictly ascending without its own vertex; every neighbor is a vertex.

use std::ops::Range;

use rayon::prelude::*;

/// One direction of an immutable graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csr {
    offsets: Vec<u64>,
    neighbors: Vec<u32>,
}

impl Csr {
    /// Takes over parts that keep the invariant.
    pub(crate) fn from_parts(offsets: Vec<u64>, neighbors: Vec<u32>) -> Self {
        debug_assert_eq!(offsets.last(), Some(&(neighbors.len() as u64)));
        Csr { offsets, neighbors }
    }

    /// The number of vertices.
    pub fn num_vertices(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of neighbors in all lists.
    pub fn num_neighbors(&self) -> u64 {
        self.neighbors.len() as u64
    }

    /// The length of a list. Panics if there is no such vertex.
    #[inline]
    pub fn degree(&self, vertex: u32) -> u64 {
        let vertex = vertex as usize;
        self.offsets[vertex + 1] - self.offsets[vertex]
    }

    /// A list, ascending. Panics if there is no such vertex.
    #[inline]
    pub fn neighbors(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        assert!(vertex < self.num_vertices(), "no vertex {vertex}");
        // SAFETY: the vertex has an offset and one after it; offsets ascend to the length of `neighbors`.
        #[expect(unsafe_code)]
        unsafe {
            let (start, end) = (*self.offsets.get_unchecked(vertex), *self.offsets.get_unchecked(vertex + 1));
            self.neighbors.get_unchecked(start as usize..end as usize)
        }
    }

    /// Whether `dst` is in the list of `src`, by binary search. Panics if there is no vertex `src`.
    #[inline]
    pub fn has_edge(&self, src: u32, dst: u32) -> bool {
        self.neighbors(src).binary_search(&dst).is_ok()
    }

    /// Where each list begins, and at the end the number of all neighbors.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// All lists end to end.
    pub fn all_neighbors(&self) -> &[u32] {
        &self.neighbors
    }

    /// Bytes held, 8 for each vertex and 4 for each neighbor.
    pub fn size_bytes(&self) -> u64 {
        (self.offsets.len() * size_of::<u64>() + self.neighbors.len() * size_of::<u32>()) as u64
    }

    /// Bytes for each neighbor held.
    pub fn bytes_per_edge(&self) -> f64 {
        self.size_bytes() as f64 / self.num_neighbors().max(1) as f64
    }

    /// The vertices in blocks of this size, to be worked on in parallel.
    pub(crate) fn vertex_blocks(&self, size: usize) -> impl IndexedParallelIterator<Item = Range<u32>> {
        let count = self.num_vertices();
        let block = move |index: usize| (index * size) as u32..((index + 1) * size).min(count) as u32;
        (0..count.div_ceil(size)).into_par_iter().map(block)
    }
}

/// A value for every vertex of a CSR, to be looked up by neighbor without a check for each.
pub(crate) struct ByNeighbor<'a, T> {
    csr: &'a Csr,
    values: &'a [T],
}

impl<'a, T> ByNeighbor<'a, T> {
    /// Panics unless there are exactly as many values as vertices.
    pub(crate) fn new(csr: &'a Csr, values: &'a [T]) -> Self {
        assert_eq!(values.len(), csr.num_vertices());
        ByNeighbor { csr, values }
    }

    /// For each vertex of a range, the values of its neighbors in the order of its list.
    /// Panics if the range goes past the vertices.
    #[inline]
    pub(crate) fn of(&self, vertices: Range<usize>) -> impl Iterator<Item = impl Iterator<Item = &'a T>> {
        let (values, neighbors) = (self.values, self.csr.neighbors.as_slice());
        self.csr.offsets[vertices.start..vertices.end + 1].windows(2).map(move |ends| {
            // SAFETY: offsets ascend to the length of `neighbors`.
            #[expect(unsafe_code)]
            let list = unsafe { neighbors.get_unchecked(ends[0] as usize..ends[1] as usize) };
            list.iter().map(move |&neighbor| {
                keep_rolled();
                // SAFETY: every neighbor is a vertex of the CSR, and each vertex has a value.
                #[expect(unsafe_code)]
                unsafe {
                    values.get_unchecked(neighbor as usize)
                }
            })
        })
    }
}

/// Keeps the loop it stands in from being unrolled. Most lists are shorter than an unrolled body, and the branches
/// around it, guessed wrong for every other list, cost PageRank 10%.
#[inline(always)]
fn keep_rolled() {
    // SAFETY: no instruction, no effect.
    #[cfg(not(miri))]
    #[expect(unsafe_code)]
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}
