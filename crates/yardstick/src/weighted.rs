//! A CSR with a whole number beside each neighbor, as GAPBS lays it out: one word of the number after each neighbor.
//!
//! Invariant: the lists are those of the CSR it was made from.

use rayon::prelude::*;

use crate::Csr;

/// One direction of an immutable graph with weights of edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedCsr {
    offsets: Vec<u64>,
    edges: Vec<(u32, u32)>,
}

impl WeightedCsr {
    /// Gives each edge of a CSR the weight that `weight` has for its ends.
    pub fn new(csr: &Csr, weight: impl Fn(u32, u32) -> u32 + Sync) -> Self {
        let lists = (0..csr.num_vertices() as u32).into_par_iter().flat_map_iter(|vertex| {
            let weight = &weight;
            csr.neighbors(vertex).iter().map(move |&neighbor| (neighbor, weight(vertex, neighbor)))
        });
        WeightedCsr { offsets: csr.offsets().to_vec(), edges: lists.collect() }
    }

    /// The number of vertices.
    pub fn num_vertices(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The neighbors of a vertex, each with the weight of the edge to it. Panics if there is no such vertex.
    #[inline]
    pub fn edges(&self, vertex: u32) -> &[(u32, u32)] {
        &self.edges[self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize]
    }
}
