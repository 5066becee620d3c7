//! The random graph models and what their parameters may be.
//!
//! Invariant: a model that passed [`Model::validate`] has at least one vertex, at most 2^40, and an edge count
//! that fits in 64 bits; its probabilities lie in 0..=1 and add up to at most 1.

use thiserror::Error;

/// The largest scale: 2^40 vertices, the most that a store's format allows.
pub const MAX_SCALE: u32 = 40;

/// A random graph model. Every model draws edges independently, so self loops and repeated edges occur.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// Recursive quadrants: Graph500's Kronecker graphs and R-MAT.
    Kronecker(Kronecker),
    /// Uniform pairs.
    ErdosRenyi(ErdosRenyi),
}

/// A recursive-matrix graph: each edge descends `scale` levels of the adjacency matrix and at each level picks a
/// quadrant: top left with probability `a`, top right with `b`, bottom left with `c`, bottom right with the rest.
///
/// Chakrabarti, Zhan, Faloutsos: "R-MAT: A Recursive Model for Graph Mining", SDM 2004.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kronecker {
    /// Base-2 logarithm of the number of vertices, 0 to [`MAX_SCALE`].
    pub scale: u32,
    /// Edges per vertex.
    pub edge_factor: u64,
    /// The probability of the top left quadrant.
    pub a: f64,
    /// The probability of the top right quadrant.
    pub b: f64,
    /// The probability of the bottom left quadrant.
    pub c: f64,
    /// Relabel the vertices by a seeded permutation, so that a vertex's number says nothing about its degree.
    pub shuffle: bool,
}

impl Kronecker {
    /// The graph of the Graph500 benchmark: quadrants 0.57, 0.19, 0.19, 0.05, labels shuffled.
    pub fn graph500(scale: u32, edge_factor: u64) -> Self {
        Kronecker { scale, edge_factor, a: 0.57, b: 0.19, c: 0.19, shuffle: true }
    }

    /// An R-MAT graph with these quadrant probabilities and the labels as they fall: low numbers are hubs.
    pub fn rmat(scale: u32, edge_factor: u64, [a, b, c]: [f64; 3]) -> Self {
        Kronecker { scale, edge_factor, a, b, c, shuffle: false }
    }
}

/// Uniform random pairs: both ends of each edge are drawn from all vertices alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErdosRenyi {
    /// The number of vertices, at least 1.
    pub vertices: u64,
    /// The number of edges.
    pub edges: u64,
}

/// Parameters that make no graph.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The scale is too large.
    #[error("scale {scale} is out of range: use 0 to {MAX_SCALE}")]
    Scale {
        /// The scale asked for.
        scale: u32,
    },
    /// No vertices, or too many.
    #[error("{vertices} vertices are out of range: use 1 to {max}", max = 1u64 << MAX_SCALE)]
    Vertices {
        /// The number asked for.
        vertices: u64,
    },
    /// More edges than can be counted.
    #[error("{edge_factor} edges for each of {vertices} vertices are too many to count: use fewer")]
    Edges {
        /// Edges per vertex.
        edge_factor: u64,
        /// The number of vertices.
        vertices: u64,
    },
    /// Quadrant probabilities that are none.
    #[error("quadrant probabilities a={a} b={b} c={c} must each be from 0 to 1 and add up to at most 1")]
    Probabilities {
        /// Top left.
        a: f64,
        /// Top right.
        b: f64,
        /// Bottom left.
        c: f64,
    },
    /// Vertex numbers that do not fit the 32 bits asked for.
    #[error("{vertices} vertices do not fit 32-bit numbers: use at most {max} or a text format", max = 1u64 << 32)]
    TooWide {
        /// The number of vertices.
        vertices: u64,
    },
}

impl Model {
    /// The number of vertices; isolated ones count.
    pub fn num_vertices(&self) -> u64 {
        match self {
            Model::Kronecker(model) => 1 << model.scale,
            Model::ErdosRenyi(model) => model.vertices,
        }
    }

    /// The number of edges drawn; self loops and repeats count.
    pub fn num_edges(&self) -> u64 {
        match self {
            Model::Kronecker(model) => model.edge_factor << model.scale,
            Model::ErdosRenyi(model) => model.edges,
        }
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), ModelError> {
        match *self {
            Model::Kronecker(model) => model.validate(),
            Model::ErdosRenyi(ErdosRenyi { vertices, .. }) if vertices == 0 || vertices > 1 << MAX_SCALE => {
                Err(ModelError::Vertices { vertices })
            }
            Model::ErdosRenyi(_) => Ok(()),
        }
    }
}

impl Kronecker {
    fn validate(&self) -> Result<(), ModelError> {
        let Kronecker { scale, edge_factor, a, b, c, .. } = *self;
        if scale > MAX_SCALE {
            return Err(ModelError::Scale { scale });
        }
        let vertices = 1u64 << scale;
        if edge_factor.checked_mul(vertices).is_none() {
            return Err(ModelError::Edges { edge_factor, vertices });
        }
        // Sums of decimal fractions may miss 1 by a rounding error; NaN fails every comparison.
        let probability = |p: f64| (0.0..=1.0).contains(&p);
        if !(probability(a) && probability(b) && probability(c) && a + b + c <= 1.0 + 1e-9) {
            return Err(ModelError::Probabilities { a, b, c });
        }
        Ok(())
    }
}
