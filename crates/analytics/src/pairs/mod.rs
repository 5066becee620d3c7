//! Measures of pairs of vertices.

pub mod link_prediction;
