//! Graph algorithms on views: Ligra's interface at the bottom, one algorithm a file on top, each with the paper it is
//! from and a slow verifier.
//!
//! ```text
//!  bfs   sssp   connected_components   pagerank   triangle_count ...   algorithms() lists them for other languages
//!   │      │          │                  │            │
//!  edge_map│   Ranges: work cut evenly, the same on any machine         Oriented: lists as bitmaps
//!   │   Buckets       │                  │            │
//!  VertexSubset,      └───── FlatView (crate view) ───┘                 Control: cancellation and progress
//!  WeightedTable: lists with a property of edges as weight              PerThread: scratch memory
//! ```
//!
//! Those in [`incremental`] follow a view from version to version instead of beginning anew.
//!
//! Algorithms take any [`GraphView`](evergraph_view::GraphView), run on the current rayon pool, and never print. What
//! they give does not depend on the number of threads.

pub mod betweenness_centrality;
pub mod bfs;
mod bitmap;
mod buckets;
pub mod closeness_centrality;
pub mod clustering;
pub mod connected_components;
mod control;
pub mod core_number;
pub mod degree_statistics;
mod delta_stepping;
pub mod diameter;
mod documentation;
mod edge_map;
mod gather;
pub mod incremental;
mod intersect;
pub mod k_hop;
pub mod label_propagation;
mod lengths;
pub mod link_prediction;
pub mod local_cluster;
pub mod louvain;
pub mod maximal_independent_set;
mod multi_bfs;
mod oriented;
pub mod pagerank;
mod per_thread;
mod prefetch;
mod random;
pub mod random_walk;
mod ranges;
mod registry;
pub mod shortest_path;
mod simple;
pub mod sssp;
pub mod strongly_connected_components;
pub mod topological_sort;
pub mod triangle_count;
mod vertex_subset;
mod weights;

pub use betweenness_centrality::{BetweennessOptions, Sources, betweenness_centrality};
pub use bfs::{Bfs, BfsOptions, UNREACHED, bfs};
pub use bitmap::Bitmap;
pub use buckets::{Buckets, LocalBuckets};
pub use closeness_centrality::{ClosenessOptions, closeness_centrality};
pub use clustering::{Clustering, Definition, clustering, local_clustering_coefficient};
pub use connected_components::{Components, connected_components};
pub use control::{AlgorithmError, Control, NO_VERTEX, Progress, VerifyError};
pub use core_number::{CoreNumbers, core_number};
pub use degree_statistics::{DegreeStatistics, degree_statistics};
pub use diameter::{Diameter, diameter};
pub use documentation::documentation;
pub use edge_map::{EdgeFunction, Way, edge_map};
pub use k_hop::{KHop, k_hop};
pub use label_propagation::{Labels, label_propagation};
pub use link_prediction::{Measure, link_prediction};
pub use local_cluster::{LocalCluster, LocalClusterOptions, local_cluster};
pub use louvain::{Communities, LouvainOptions, louvain};
pub use maximal_independent_set::maximal_independent_set;
pub use pagerank::{PageRank, PageRankOptions, pagerank};
pub use random_walk::{WalkOptions, random_walks};
pub use ranges::Ranges;
pub use registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, Rows, Scalar, Value, VertexColumn,
    algorithm, algorithms,
};
pub use shortest_path::{ShortestPath, shortest_path};
pub use sssp::{Sssp, SsspOptions, sssp};
pub use strongly_connected_components::strongly_connected_components;
pub use topological_sort::{TopologicalOrder, find_cycle, topological_sort};
pub use triangle_count::triangle_count;
pub use vertex_subset::{VertexSubset, vertex_filter, vertex_map};
pub use weights::{Sign, Weight, WeightedTable};
