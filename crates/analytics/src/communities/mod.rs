//! Groups of vertices with many edges inside, of the whole graph or around a seed.

pub mod label_propagation;
pub mod leiden;
pub mod local_cluster;
pub mod louvain;
pub(crate) mod modularity;
pub mod nibble;
