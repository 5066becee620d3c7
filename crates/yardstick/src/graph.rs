//! A graph as the kernels take it: one CSR if edges have no direction, else one for each direction.

use rayon::prelude::*;
use thiserror::Error;

use crate::Csr;
use crate::build::{Ends, Pairs, build};

/// The most vertices a graph may have: BFS keeps degrees and parents apart by their sign, in 32 bits.
pub const MAX_VERTICES: u32 = i32::MAX as u32;

/// An immutable graph, simple and without self loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    out: Csr,
    incoming: Option<Csr>,
}

/// Why pairs make no graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A vertex number beyond the limit.
    #[error("vertex {vertex} is out of range: the yardstick takes numbers below {MAX_VERTICES}")]
    VertexRange {
        /// The largest vertex number seen.
        vertex: u32,
    },
}

impl Graph {
    /// A graph whose edges have no direction: each is kept in the lists of both its ends.
    /// Vertices are 0 to the largest number in `pairs`.
    ///
    /// ```
    /// use evergraph_yardstick::Graph;
    ///
    /// let graph = Graph::undirected(&[(0, 1), (1, 0), (2, 1), (2, 2)])?;
    /// assert_eq!(graph.out().neighbors(1), [0, 2]);
    /// # Ok::<(), evergraph_yardstick::GraphError>(())
    /// ```
    pub fn undirected(pairs: &[(u32, u32)]) -> Result<Self, GraphError> {
        let out = build(count_vertices(pairs)?, &Pairs { pairs, ends: Ends::Both });
        Ok(Graph { out, incoming: None })
    }

    /// A graph whose edges go from the first to the second of each pair.
    /// Vertices are 0 to the largest number in `pairs`.
    pub fn directed(pairs: &[(u32, u32)]) -> Result<Self, GraphError> {
        let count = count_vertices(pairs)?;
        let out = build(count, &Pairs { pairs, ends: Ends::AsGiven });
        let incoming = build(count, &Pairs { pairs, ends: Ends::Reversed });
        Ok(Graph { out, incoming: Some(incoming) })
    }

    /// The lists of destinations.
    pub fn out(&self) -> &Csr {
        &self.out
    }

    /// The lists of sources; the same as `out` if edges have no direction.
    pub fn incoming(&self) -> &Csr {
        self.incoming.as_ref().unwrap_or(&self.out)
    }

    /// Whether edges have a direction.
    pub fn is_directed(&self) -> bool {
        self.incoming.is_some()
    }

    /// The number of vertices.
    pub fn num_vertices(&self) -> usize {
        self.out.num_vertices()
    }

    /// The number of edges; one without direction counts once.
    pub fn num_edges(&self) -> u64 {
        if self.is_directed() { self.out.num_neighbors() } else { self.out.num_neighbors() / 2 }
    }
}

fn count_vertices(pairs: &[(u32, u32)]) -> Result<usize, GraphError> {
    match pairs.par_iter().map(|&(src, dst)| src.max(dst)).max() {
        Some(vertex) if vertex >= MAX_VERTICES => Err(GraphError::VertexRange { vertex }),
        largest => Ok(largest.map_or(0, |vertex| vertex as usize + 1)),
    }
}
