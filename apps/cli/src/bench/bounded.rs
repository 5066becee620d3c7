//! PageRank and breadth-first search on a store in a process of its own that may have only so much memory.
//!
//! Invariant: what is found is told by a checksum of all bits of it, so that two runs agree only if they found the same.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use evergraph::algorithms::{self, BfsOptions, Control, PageRankOptions};
use evergraph::{Access, Database, GraphView, Options, Snapshot};
use serde::{Deserialize, Serialize};

use super::control_group;
use super::resident::resident_bytes;
use super::timing::time;
use crate::allocator::give_back_at_once;
use crate::console::Console;
use crate::error::CommandError;

/// Passes over all lists, as many on both sides.
const ITERATIONS: u32 = 10;
/// Searches, from vertices with edges spread over the ids.
const SOURCES: usize = 4;

/// What the process is told.
#[derive(Debug, Args)]
pub(crate) struct BoundedArgs {
    /// The store
    store: PathBuf,
    /// So many bytes of memory
    #[arg(long)]
    limit_bytes: u64,
    /// The control group that has them, which the process enters
    #[arg(long)]
    group: Option<PathBuf>,
    /// How the system is told segments will be read
    #[arg(long, value_enum)]
    access: AccessArg,
}

/// What the system is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AccessArg {
    /// Here and there, and passes ask for what comes next: what the store does by itself
    Default,
    /// Nothing
    Normal,
    /// From front to back
    Sequential,
}

impl AccessArg {
    /// As it is written on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn access(self) -> Option<Access> {
        match self {
            AccessArg::Default => None,
            AccessArg::Normal => Some(Access::Normal),
            AccessArg::Sequential => Some(Access::Sequential),
        }
    }
}

/// One algorithm.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) seconds: f64,
    /// What the process had the disk read.
    pub(super) read_bytes: u64,
    pub(super) checksum: u64,
    /// How many passes over all lists, or how many searches.
    pub(super) rounds: u32,
}

/// What a process found.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) pagerank: Run,
    pub(super) bfs: Run,
    /// On the heap once the flat view is made.
    pub(super) heap_bytes: u64,
}

/// Runs the command in the process of its own.
pub(crate) fn measure_bounded(args: &BoundedArgs, console: &mut Console) -> Result<(), CommandError> {
    give_back_at_once();
    if let Some(group) = &args.group {
        control_group::enter(group)?;
    }
    let options =
        Options { read_only: true, memory_limit_bytes: Some(args.limit_bytes), ..Options::default() };
    let database = Database::open(&args.store, options)?;
    if let Some(access) = args.access.access() {
        database.advise(access);
    }
    console.json(&run(&database.snapshot()?)?)
}

/// Runs both algorithms.
pub(super) fn run(snapshot: &Snapshot) -> Result<Found, CommandError> {
    let flat = snapshot.flat();
    let heap_bytes = resident_bytes().unwrap_or(0);
    let measured = |work: &dyn Fn() -> Result<(u64, u32), CommandError>| -> Result<Run, CommandError> {
        let before = disk_bytes();
        let (seconds, outcome) = time(work);
        let (checksum, rounds) = outcome?;
        Ok(Run { seconds, read_bytes: disk_bytes() - before, checksum, rounds })
    };
    let options = PageRankOptions { max_iter: ITERATIONS, tol: 0.0, ..PageRankOptions::default() };
    let pagerank = measured(&|| {
        let ranks = algorithms::pagerank(&*flat, &options, &Control::new())?;
        Ok((checksum(ranks.scores.iter().map(|score| score.to_bits())), ranks.iterations))
    })?;
    let step = (flat.id_bound() as usize / SOURCES).max(1);
    let sources = (0..flat.id_bound()).step_by(step).take(SOURCES);
    let sources: Vec<u32> = sources
        .filter_map(|first| (first..flat.id_bound()).find(|&vertex| !flat.out_neighbors(vertex).is_empty()))
        .collect();
    let bfs = measured(&|| {
        let mut sum = 0;
        for source in &sources {
            let found = algorithms::bfs(&*flat, &[*source], &BfsOptions::default(), &Control::new())?;
            let both = found.distances.iter().chain(&found.parents);
            sum ^= checksum(both.map(|&number| u64::from(number)));
        }
        Ok((sum, sources.len() as u32))
    })?;
    Ok(Found { pagerank, bfs, heap_bytes })
}

/// FNV-1a, a word at a time.
fn checksum(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xCBF2_9CE4_8422_2325, |sum, word| (sum ^ word).wrapping_mul(0x0000_0100_0000_01B3))
}

/// What this process has had the disk read so far.
fn disk_bytes() -> u64 {
    let counts = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let bytes = counts.lines().find_map(|line| line.strip_prefix("read_bytes:")?.trim().parse().ok());
    bytes.unwrap_or(0)
}
