//! `evergraph bench`: Evergraph and the yardstick on the same graph, in one run, in turns.
//!
//! ```text
//! graph_file ─► text edge list, made once ─┬─► load: Database and yardstick Graph ─► Subjects
//!                                          │        scan, lookups, bfs, pagerank, components, bytes, snapshot
//!                                          └─► triangles, on the symmetrized graph
//! linkbench: requests ─► Evergraph and the rivals, in turns ─► rates
//! ingest: shuffled edges ─► batches ─► growing Database ─► Subjects ─► scan, bfs, pagerank
//!
//! each measurement ─► Rows: ours, the yardstick's, ratio, bar, whether both found the same ─► table or JSON
//! ```
//!
//! Both sides do the same work and store both directions. Results are compared, and one that differs fails the run.

mod analytics;
mod bfs;
mod bytes;
mod command;
mod components;
mod events;
mod graph_file;
mod ingest;
mod linkbench;
mod load;
mod lookups;
mod pagerank;
mod report;
mod resident;
mod scan;
mod shuffled;
mod snapshot;
mod stream;
mod subjects;
mod timing;
mod triangles;
mod window;

pub(crate) use command::{BenchArgs, processor, run};
pub(crate) use ingest::{MemoryArgs as IngestMemoryArgs, measure_memory as measure_ingest_memory};
pub(crate) use resident::{MemoryArgs, measure_memory};
pub(crate) use timing::time;
