//! `evergraph demo`: the story of a graph that is loaded, changes while it is analyzed, is killed and recovers.
//!
//! Invariant: every number shown is measured or computed in this run, but for those called published.

mod command;
mod data;
mod kill;
mod messages;
mod replay;
mod story;
mod votes;

pub(crate) use command::{DemoArgs, run};
