//! What algorithms are made of: frontiers and maps over edges, passes over all lists, weights, work shared by threads, and how a
//! caller watches and stops it.
//!
//! ```text
//!  frontiers: vertex_subset, bitmap, buckets ─► edge_map, weighted_edge_map, closures
//!  passes:    ranges, fetch ─► gather, matrix, power_iteration
//!  lists made for it: weights, lengths, simple, incident, oriented
//! ```

pub(crate) mod bitmap;
pub(crate) mod buckets;
pub(crate) mod closures;
pub(crate) mod control;
pub(crate) mod edge_list;
pub(crate) mod edge_map;
pub(crate) mod fetch;
pub(crate) mod gather;
pub(crate) mod incident;
pub(crate) mod intersect;
pub(crate) mod lengths;
pub(crate) mod matrix;
pub(crate) mod oriented;
pub(crate) mod parallel;
pub(crate) mod per_thread;
pub(crate) mod power_iteration;
pub(crate) mod prefetch;
pub(crate) mod random;
pub(crate) mod ranges;
pub(crate) mod simple;
pub(crate) mod sort;
pub(crate) mod vertex_subset;
pub(crate) mod weighted_edge_map;
pub(crate) mod weights;
