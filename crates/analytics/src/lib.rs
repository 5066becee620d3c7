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

pub mod bellman_ford;
pub mod betweenness_centrality;
pub mod bfs;
mod bitmap;
mod buckets;
pub mod closeness_centrality;
mod closures;
pub mod clustering;
pub mod connected_components;
mod control;
pub mod core_number;
pub mod degree_statistics;
mod delta_stepping;
pub mod diameter;
mod dijkstra;
mod documentation;
mod edge_list;
mod edge_map;
pub mod eigenvector_centrality;
mod fetch;
mod gather;
pub mod greedy_color;
pub mod hits;
mod incident;
pub mod incremental;
mod intersect;
pub mod k_hop;
pub mod katz_centrality;
pub mod label_propagation;
pub mod leiden;
mod lengths;
pub mod link_prediction;
pub mod local_cluster;
pub mod louvain;
mod matrix;
pub mod maximal_independent_set;
pub mod maximal_matching;
pub mod minimum_spanning_edges;
mod modularity;
mod multi_bfs;
pub mod multi_source_bfs;
pub mod nibble;
pub mod node2vec_walk;
mod oriented;
pub mod pagerank;
mod parallel;
mod per_thread;
mod power_iteration;
mod prefetch;
mod random;
pub mod random_walk;
mod ranges;
mod registry;
pub mod shortest_path;
mod simple;
mod sort;
pub mod sssp;
pub mod strongly_connected_components;
pub mod temporal_reachability;
pub mod topological_sort;
pub mod triangle_count;
mod vertex_subset;
mod weighted_betweenness;
pub mod weighted_clustering;
mod weighted_edge_map;
mod weighted_pagerank;
mod weights;

pub use bellman_ford::{BellmanFord, bellman_ford};
pub use betweenness_centrality::{BetweennessOptions, Sources, betweenness_centrality};
pub use bfs::{Bfs, BfsOptions, UNREACHED, bfs};
pub use bitmap::Bitmap;
pub use buckets::{Buckets, OwnBuckets};
pub use closeness_centrality::{ClosenessOptions, closeness_centrality};
pub use closures::{edge_map_with, weighted_edge_map_with};
pub use clustering::{Clustering, Definition, clustering, local_clustering_coefficient};
pub use connected_components::{Components, connected_components};
pub use control::{AlgorithmError, Control, NO_VERTEX, Progress, VerifyError};
pub use core_number::{CoreNumbers, core_number};
pub use degree_statistics::{DegreeStatistics, degree_statistics};
pub use diameter::{Diameter, diameter};
pub use documentation::documentation;
pub use edge_list::{EdgeList, edge_list};
pub use edge_map::{EdgeFunction, Way, edge_map};
pub use eigenvector_centrality::{EigenvectorOptions, eigenvector_centrality};
pub use greedy_color::{ColorOrder, Coloring, greedy_color};
pub use hits::{Hits, HitsOptions, hits};
pub use k_hop::{KHop, k_hop};
pub use katz_centrality::{KatzOptions, katz_centrality};
pub use label_propagation::{Labels, label_propagation};
pub use leiden::leiden;
pub use link_prediction::{Measure, link_prediction};
pub use local_cluster::{LocalCluster, LocalClusterOptions, local_cluster};
pub use louvain::{Communities, LouvainOptions, louvain};
pub use maximal_independent_set::maximal_independent_set;
pub use maximal_matching::maximal_matching;
pub use minimum_spanning_edges::{SpanningForest, minimum_spanning_edges};
pub use multi_source_bfs::{MultiSourceBfs, multi_source_bfs};
pub use nibble::{NibbleOptions, nibble};
pub use node2vec_walk::{Node2vecOptions, node2vec_walks};
pub use pagerank::{PageRank, PageRankOptions, pagerank};
pub use power_iteration::PowerIteration;
pub use random_walk::{WalkOptions, random_walks};
pub use ranges::Ranges;
pub use registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, Rows, Scalar, Value, VertexColumn,
    algorithm, algorithms,
};
pub use shortest_path::{ShortestPath, shortest_path};
pub use sssp::{Sssp, SsspOptions, sssp};
pub use strongly_connected_components::strongly_connected_components;
pub use temporal_reachability::{TemporalOptions, TemporalReachability, temporal_reachability};
pub use topological_sort::{TopologicalOrder, find_cycle, topological_sort};
pub use triangle_count::triangle_count;
pub use vertex_subset::{VertexSubset, vertex_filter, vertex_map, vertex_reduce};
pub use weighted_clustering::weighted_clustering;
pub use weighted_edge_map::weighted_edge_map;
pub use weights::{Sign, Weight, WeightedTable};
