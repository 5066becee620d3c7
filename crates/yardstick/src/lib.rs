//! The yardstick: how fast a graph that never changes can be. A flat immutable CSR and the kernels of the GAP
//! benchmark suite (Beamer, Asanović, Patterson: "The GAP Benchmark Suite", arXiv 1508.03619), for benchmarks only.
//!
//! ```text
//! text ──parse_edge_list──► pairs ──Graph::undirected──► Csr ──► bfs · pagerank · components · betweenness · triangles · scan
//!                                                           └─► WeightedCsr ──► sssp
//! ```
//!
//! Nothing here knows of the store, so that no weakness of the store can hide in its own reference. Each kernel has
//! its slow verifier beside it. All run on the current rayon thread pool.

mod betweenness;
mod bfs;
mod build;
mod components;
mod csr;
mod graph;
mod pagerank;
mod parse;
mod scan;
mod sssp;
mod triangles;
mod weighted;

pub use betweenness::{betweenness, betweenness_by_queue};
pub use bfs::{UNREACHED, bfs, bfs_depths, is_bfs_tree};
pub use components::{components, components_by_union_find};
pub use csr::Csr;
pub use graph::{Graph, GraphError, MAX_VERTICES};
pub use pagerank::{PageRank, PageRankOptions, Score, pagerank, pagerank_jacobi, pagerank_residual};
pub use parse::{ParseError, parse_edge_list};
pub use scan::{count_edges_present, sum_of_neighbors};
pub use sssp::{INFINITE, sssp, sssp_by_dijkstra};
pub use triangles::{triangles, triangles_by_sets};
pub use weighted::WeightedCsr;
