//! `evergraph bench`: Evergraph and the yardstick on the same graph, in one run, in turns.
//!
//! ```text
//! graph_file ─► text edge list, made once ─┬─► load: Database and yardstick Graph ─► Subjects
//!                                          │        scan, lookups, bfs, pagerank, components, bytes, snapshot
//!                                          └─► triangles, on the symmetrized graph
//! linkbench: requests ─► Evergraph and the rivals, in turns ─► rates
//! ingest: shuffled edges ─► batches ─► growing Database, also beside PageRank on it
//! memory: as ingest, in both list formats ─► bytes per entry; Subjects ─► scan, pagerank, bfs
//! outofcore: a store four times as large as memory ─► a process that is held to it ─► PageRank, BFS, bytes a second
//! scaling: the same work in processes with 1, 2, 4 … threads ─► seconds of each
//! churn: edges deleted and put back ─► bytes and scan, beside those from before
//!
//! each measurement ─► Rows: ours, the yardstick's, ratio, bar, whether both found the same ─► table or JSON
//! ```
//!
//! Both sides do the same work and store both directions. Results are compared, and one that differs fails the run.

mod analytics;
mod beside;
mod bfs;
#[cfg(target_os = "linux")]
mod bounded;
mod bytes;
mod churn;
mod columns;
mod command;
mod components;
#[cfg(target_os = "linux")]
mod control_group;
mod difference;
mod events;
mod graph_file;
mod ingest;
mod linkbench;
mod load;
mod lookups;
mod memory;
#[cfg(target_os = "linux")]
mod outofcore;
mod pagerank;
mod report;
mod resident;
mod scaling;
mod scan;
mod settle;
mod shuffled;
mod snapshot;
mod stream;
mod subjects;
mod timing;
mod triangles;
mod web;
mod window;

#[cfg(target_os = "linux")]
pub(crate) use bounded::{BoundedArgs, measure_bounded};
pub(crate) use command::{BenchArgs, processor, run};
pub(crate) use memory::{ChildArgs, measure_child};
pub(crate) use resident::{MemoryArgs, measure_memory};
pub(crate) use scaling::{PassArgs, measure_pass};
pub(crate) use timing::time;
