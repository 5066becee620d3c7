//! Graph algorithms on views: Ligra's interface at the bottom, one algorithm a file on top, each with the paper it is
//! from and a slow verifier.
//!
//! ```text
//!  bfs   sssp   connected_components   pagerank   triangle_count ...   algorithms() lists them for other languages
//!   │      │          │                  │            │
//!  edge_map│   Ranges: work cut evenly, the same on any machine         Oriented: lists of lower ranks
//!   │   Buckets       │                  │            │
//!  VertexSubset,      └───── FlatView (crate view) ───┘                 Control: cancellation and progress
//!  WeightedTable: lists with a property of edges as weight              PerThread: scratch memory
//!  Matrix: those lists times a vector                                   edge_map_with: the interface for closures
//! ```
//!
//! Those in [`incremental`] follow a view from version to version instead of beginning anew.
//!
//! Algorithms take any [`GraphView`](evergraph_view::GraphView), run on the current rayon pool, and never print. What
//! they give does not depend on the number of threads.

mod communities;
mod documentation;
mod engine;
pub mod incremental;
mod pairs;
mod paths;
mod ranking;
mod registry;
mod structure;

pub use communities::label_propagation::{Labels, label_propagation};
pub use communities::leiden::leiden;
pub use communities::local_cluster::{LocalCluster, LocalClusterOptions, local_cluster};
pub use communities::louvain::{Communities, LouvainOptions, louvain};
pub use communities::nibble::{NibbleOptions, nibble};
pub use communities::{label_propagation, leiden, local_cluster, louvain, nibble};
pub use documentation::documentation;
pub use engine::bitmap::Bitmap;
pub use engine::buckets::{Buckets, OwnBuckets};
pub use engine::closures::{edge_map_with, weighted_edge_map_with};
pub use engine::control::{AlgorithmError, Control, NO_VERTEX, Progress, VerifyError};
pub use engine::edge_list::{EdgeList, edge_list};
pub use engine::edge_map::{EdgeFunction, Way, edge_map};
pub use engine::power_iteration::PowerIteration;
pub use engine::ranges::Ranges;
pub use engine::vertex_subset::{VertexSubset, vertex_filter, vertex_map, vertex_reduce};
pub use engine::weighted_edge_map::weighted_edge_map;
pub use engine::weights::{Sign, Weight, WeightedTable};
pub use pairs::link_prediction;
pub use pairs::link_prediction::{Measure, link_prediction};
pub use paths::bellman_ford::{BellmanFord, bellman_ford};
pub use paths::bfs::{Bfs, BfsOptions, UNREACHED, bfs};
pub use paths::diameter::{Diameter, diameter};
pub use paths::k_hop::{KHop, k_hop};
pub use paths::multi_source_bfs::{MultiSourceBfs, multi_source_bfs};
pub use paths::node2vec_walk::{Node2vecOptions, node2vec_walks};
pub use paths::random_walk::{WalkOptions, random_walks};
pub use paths::shortest_path::{ShortestPath, shortest_path};
pub use paths::sssp::{Sssp, SsspOptions, sssp};
pub use paths::temporal_reachability::{TemporalOptions, TemporalReachability, temporal_reachability};
pub use paths::{
    bellman_ford, bfs, diameter, k_hop, multi_source_bfs, node2vec_walk, random_walk, shortest_path, sssp,
    temporal_reachability,
};
pub use ranking::betweenness_centrality::{BetweennessOptions, Sources, betweenness_centrality};
pub use ranking::closeness_centrality::{ClosenessOptions, closeness_centrality};
pub use ranking::degree_statistics::{DegreeStatistics, degree_statistics};
pub use ranking::eigenvector_centrality::{EigenvectorOptions, eigenvector_centrality};
pub use ranking::hits::{Hits, HitsOptions, hits};
pub use ranking::katz_centrality::{KatzOptions, katz_centrality};
pub use ranking::pagerank::{PageRank, PageRankOptions, pagerank};
pub use ranking::{
    betweenness_centrality, closeness_centrality, degree_statistics, eigenvector_centrality, hits,
    katz_centrality, pagerank,
};
pub use registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, Rows, Scalar, Value, VertexColumn,
    algorithm, algorithms,
};
pub use structure::clustering::{Clustering, Definition, clustering, local_clustering_coefficient};
pub use structure::connected_components::{Components, connected_components};
pub use structure::core_number::{CoreNumbers, core_number};
pub use structure::greedy_color::{ColorOrder, Coloring, greedy_color};
pub use structure::maximal_independent_set::maximal_independent_set;
pub use structure::maximal_matching::maximal_matching;
pub use structure::minimum_spanning_edges::{SpanningForest, minimum_spanning_edges};
pub use structure::strongly_connected_components::strongly_connected_components;
pub use structure::topological_sort::{TopologicalOrder, find_cycle, topological_sort};
pub use structure::triangle_count::triangle_count;
pub use structure::weighted_clustering::weighted_clustering;
pub use structure::{
    clustering, connected_components, core_number, greedy_color, maximal_independent_set, maximal_matching,
    minimum_spanning_edges, strongly_connected_components, topological_sort, triangle_count,
    weighted_clustering,
};
