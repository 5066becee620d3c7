//! What a graph is made of: components, orders, triangles, cores, independent sets, matchings, colors, forests.

pub mod clustering;
pub mod connected_components;
pub mod core_number;
pub mod greedy_color;
pub mod maximal_independent_set;
pub mod maximal_matching;
pub mod minimum_spanning_edges;
pub mod strongly_connected_components;
pub mod topological_sort;
pub mod triangle_count;
pub mod weighted_clustering;
