//! Incremental algorithms: results that follow a graph as it changes, at a cost in proportion to what a change affects.
//!
//! ```text
//!  view ──new──► state ──update(view after, changes)──► state ──update──► ...      result() at any time,
//!                                                                                  that of the batch twin
//! ```
//!
//! Each is a struct with the same three steps, and all of them are an [`Incremental`], so that whoever follows a stream
//! or a window drives any number of them with one loop. [`Changes`] say what turned the view before into the view after.
//! Updates read the flat view, which costs a pointer for 64 vertices where one edge type is selected; a view of several
//! types is laid out anew for each version, so follow one type.
//!
//! Invariant: after every update the result is that of the batch twin on the view after: the same numbers, or for
//! PageRank within the same tolerance.

mod bfs;
mod changes;
mod components;
mod cores;
mod degrees;
mod follow;
mod pagerank;
mod paths;
mod sssp;
mod top;
mod triangles;

pub use bfs::IncrementalBfs;
pub use changes::Changes;
pub use components::IncrementalComponents;
pub use cores::IncrementalCores;
pub use degrees::IncrementalDegrees;
pub use follow::{Incremental, incremental, incremental_algorithms, takes_repeats};
pub use pagerank::IncrementalPageRank;
pub use sssp::IncrementalSssp;
pub use top::TopK;
pub use triangles::IncrementalTriangles;
