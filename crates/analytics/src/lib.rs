//! Graph algorithms on views.
pub mod bfs;
mod bitmap;
pub mod connected_components;
mod control;
mod edge_map;
pub mod pagerank;
mod ranges;
mod vertex_subset;

pub use bfs::{Bfs, BfsOptions, UNREACHED, bfs};
pub use bitmap::Bitmap;
pub use connected_components::{Components, connected_components};
pub use control::{AlgorithmError, Control, NO_VERTEX, Progress, VerifyError};
pub use edge_map::{EdgeFunction, Way, edge_map};
pub use pagerank::{PageRank, PageRankOptions, pagerank};
pub use ranges::Ranges;
pub use vertex_subset::{VertexSubset, vertex_filter, vertex_map};
