//! LinkBench: nodes and links with properties, read and written one at a time by several clients, beside the rivals
//! of this trade.
//!
//! ```text
//! workload: graph, requests ─► ours, rivals: each answers them ─► drive: rates and times ─► table
//! ```
//!
//! The stores take turns, each on its own files in one directory. Before, all of them answer the same requests of one
//! client and must say the same.

mod command;
mod drive;
mod lines;
mod ours;
mod workload;

pub(crate) use command::{LinkbenchArgs, run};
