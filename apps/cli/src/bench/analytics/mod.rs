//! `evergraph bench analytics`: whole-graph algorithms on a snapshot, against the yardstick and against other libraries.
//!
//! ```text
//! graphs ─► Task: the yardstick's graph and lengths      kernels: each algorithm on both sides, and what must agree
//!       └─► Views: snapshots of a store on disk ──┬─ straight after load          against the yardstick
//!                                                 ├─ with 1% of its edges changed ┐
//!                                                 └─ loaded in ten segments       ┴ against the first
//! rivals ─► a Python process with what libraries it has                           against the first
//! ```
//!
//! Graphs have no directions, as those of the GAP suite, and vertices have the same numbers everywhere.

mod command;
mod graphs;
mod kernels;
mod rivals;

pub(super) use command::{AnalyticsArgs, run};
