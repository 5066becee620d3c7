//! Distances, shortest paths, what is near, and walks.

pub mod bellman_ford;
pub mod bfs;
pub(crate) mod delta_stepping;
pub mod diameter;
pub(crate) mod dijkstra;
pub mod k_hop;
pub(crate) mod multi_bfs;
pub mod multi_source_bfs;
pub mod node2vec_walk;
pub mod random_walk;
pub mod shortest_path;
pub mod sssp;
pub mod temporal_reachability;
