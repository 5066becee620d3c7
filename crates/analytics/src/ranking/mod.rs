//! Scores that say how much a vertex matters, and degrees.

pub mod betweenness_centrality;
pub mod closeness_centrality;
pub mod degree_statistics;
pub mod eigenvector_centrality;
pub mod hits;
pub mod katz_centrality;
pub mod pagerank;
pub(crate) mod weighted_betweenness;
pub(crate) mod weighted_pagerank;
