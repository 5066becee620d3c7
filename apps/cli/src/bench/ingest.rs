//! Ingest: shuffled edges added batch by batch to a growing graph, both directions stored.
//!
//! ```text
//! ShuffledEdges ─► batches made outside the time ─► add_edges, put_edge ─► edges a second
//! ```
//!
//! Large batches bring in the whole graph; small ones its last part, when lists are long and updates most expensive.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use evergraph::{Database, Durability, KeyKind, Options};
use serde::Serialize;
use tempfile::TempDir;

use super::beside;
use super::command::{Table, YARDSTICK, agreed, processor};
use super::load::{EDGE_TYPE, declare};
use super::report::{Bar, Row, Unit};
use super::shuffled::{ShuffledEdges, ShuffledSize, key};
use super::timing::{in_turns, median, time};
use crate::console::Console;
use crate::error::CommandError;
use crate::progress::Activity;
use crate::units;

/// The size of the graph, and what to measure.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct IngestArgs {
    #[command(flatten)]
    size: ShuffledSize,
    /// Where stores with a log are made [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Measure only this; commas between
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    only: Vec<Measurement>,
}

const EXAMPLES: &str = "\
Examples:
  evergraph bench ingest                          all of it; some minutes
  evergraph bench ingest --scale 16
  evergraph bench ingest --only simple,multi      edges a second into a store in memory
  evergraph bench ingest --only log               how much longer it takes with the log on disk

Rates are undirected edges a second, both directions stored. The bars are meant for the default
graph on two cores. In batches of a million edges, and with a log, three new stores are filled, and
the middle one counts: the first has to find its memory. What goes on beside PageRank of the same
store is compared with the same beside PageRank of another one, which takes the cores, caches and
memory as well; an iteration of PageRank is told for a million edges, its share of the snapshot
included.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measurement {
    /// Edge types with sorted lists and each edge once
    Simple,
    /// Edge types that keep every event
    Multi,
    /// The same with the log on disk
    Log,
    /// Batches while PageRank loops on the newest snapshots, and PageRank meanwhile
    Beside,
}

#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    processor: String,
    threads: usize,
    scale: u32,
    edges_per_vertex: u64,
    edges: u64,
    rows: &'a [Row],
}

pub(super) const BATCH: usize = 1_000_000;
pub(super) const MEDIUM_BATCH: usize = 1 << 16;
const SMALL_BATCH: usize = 1_000;
/// So many new stores are filled with large batches, each in a second or two: the first finds no memory that the process had before,
/// which some systems take long to give.
const TURNS: usize = 3;
/// Edges that come in small batches, and in transactions of their own.
const SMALL_EDGES: usize = 1_000_000;
const SINGLE_EDGES: usize = 250_000;

/// What edges a second are asked for: batches, medium and small ones, single edges.
const SIMPLE_BARS: [f64; 4] = [5e6, 2.5e6, 5e5, 2.5e5];
const MULTI_BAR: f64 = 16e6;

/// Runs the command.
pub(super) fn run(args: &IngestArgs, console: &mut Console) -> Result<(), CommandError> {
    let activity = Activity::new("generating");
    let edges = args.size.edges()?;
    let edge_count = units::count(edges.len() as u64);
    let what = format_args!(
        "Kronecker graph, scale {}, {edge_count} undirected edges in random order",
        args.size.scale
    );
    let mut table = Table::titled(console, what, YARDSTICK)?;
    activity.say("ingesting");
    measure(args, &edges, &mut table)?;
    let Table { console, rows } = table;
    if console.is_json() {
        console.json(&Report {
            version: env!("CARGO_PKG_VERSION"),
            processor: processor(),
            threads: rayon::current_num_threads(),
            scale: args.size.scale,
            edges_per_vertex: args.size.edges_per_vertex,
            edges: edges.len() as u64,
            rows: &rows,
        })?;
    }
    agreed(&rows)
}

fn measure(args: &IngestArgs, edges: &ShuffledEdges, table: &mut Table<'_>) -> Result<(), CommandError> {
    let wanted = |what| args.only.is_empty() || args.only.contains(&what);
    for (what, multi) in [(Measurement::Simple, false), (Measurement::Multi, true)] {
        if wanted(what) {
            for keys in [KeyKind::Dense, KeyKind::Int64] {
                rates(edges, multi, keys, table)?;
            }
            table.add(vec![in_order(edges, multi)?])?;
        }
    }
    if wanted(Measurement::Log) {
        let directory = args.dir.clone().unwrap_or_else(std::env::temp_dir);
        for multi in [false, true] {
            table.add(vec![with_log(edges, multi, &directory)?])?;
        }
    }
    if wanted(Measurement::Beside) {
        table.add(beside::measure(edges)?)?;
    }
    Ok(())
}

fn name(multi: bool) -> &'static str {
    if multi { "multi" } else { "simple" }
}

/// A new store in memory, or in a directory with the log synced by the clock.
fn new_store(
    directory: Option<&Path>,
    multi: bool,
    symmetric: bool,
    keys: KeyKind,
) -> Result<Database, CommandError> {
    let options = Options { keys: Some(keys), durability: Durability::Interval, ..Options::default() };
    let database = match directory {
        Some(directory) => Database::open(directory, options)?,
        None => Database::in_memory(options),
    };
    declare(&database, symmetric, multi)?;
    Ok(database)
}

/// Adds a range of the edges in batches of one size, and tells the seconds that took.
pub(super) fn ingest(
    database: &Database,
    edges: &ShuffledEdges,
    range: std::ops::Range<usize>,
    batch: usize,
    keys: KeyKind,
) -> Result<f64, CommandError> {
    let mut seconds = 0.0;
    for start in range.clone().step_by(batch) {
        let part = edges.batch(start..range.end.min(start + batch), keys);
        let (elapsed, added) = time(|| database.add_edges(EDGE_TYPE, vec![part]));
        added?;
        seconds += elapsed;
    }
    Ok(seconds)
}

/// Edges a second by size of batch.
fn rates(
    edges: &ShuffledEdges,
    multi: bool,
    keys: KeyKind,
    table: &mut Table<'_>,
) -> Result<(), CommandError> {
    let bars = match (multi, keys) {
        (false, _) => SIMPLE_BARS.map(Some),
        (true, _) => [Some(MULTI_BAR), None, None, None],
    };
    let row = |what: String, rate: f64, bar: Option<f64>| {
        let row = Row::new(&format!("{}, {keys}, {what}", name(multi)), Unit::EdgesPerSecond, rate, None);
        bar.map_or(row.clone(), |bar| row.bar(Bar::AtLeast(bar)))
    };
    let count = units::count;
    for (batch, bar, stores) in [(BATCH, bars[0], TURNS), (MEDIUM_BATCH, bars[1], 1)] {
        let mut times = Vec::new();
        let mut found = 0;
        for _ in 0..stores {
            let database = new_store(None, multi, true, keys)?;
            times.push(ingest(&database, edges, 0..edges.len(), batch, keys)?);
            found = database.stats().num_edges;
        }
        let rate = edges.len() as f64 / median(times);
        let row = row(format!("batches of {}", count(batch as u64)), rate, bar);
        table.add(vec![row.agreement(found == edges.len() as u64, format!("{} edges", count(found)))])?;
    }
    let database = new_store(None, multi, true, keys)?;
    let single = edges.len() - SINGLE_EDGES.min(edges.len() / 8);
    let small = single - SMALL_EDGES.min(edges.len() / 4);
    ingest(&database, edges, 0..small, BATCH, keys)?;
    let seconds = ingest(&database, edges, small..single, SMALL_BATCH, keys)?;
    let small_row =
        row(format!("batches of {}", count(SMALL_BATCH as u64)), (single - small) as f64 / seconds, bars[2]);
    table.add(vec![small_row])?;
    let (seconds, put) = time(|| {
        edges.pairs()[single..].iter().try_for_each(|&(src, dst)| {
            database.put_edge(key(src, keys), key(dst, keys), EDGE_TYPE, &[]).map(drop)
        })
    });
    put?;
    let found = database.stats().num_edges;
    let single_row = row("edge by edge".to_owned(), (edges.len() - single) as f64 / seconds, bars[3]);
    table.add(vec![single_row.agreement(found == edges.len() as u64, format!("{} edges", count(found)))])
}

/// The time with the log on disk beside that without.
fn with_log(edges: &ShuffledEdges, multi: bool, directory: &Path) -> Result<Row, CommandError> {
    let keys = KeyKind::Dense;
    let seconds = |logged: bool| {
        let home = TempDir::with_prefix_in("ingest-", directory).map_err(CommandError::file(directory))?;
        let database = new_store(logged.then(|| home.path()), multi, true, keys)?;
        ingest(&database, edges, 0..edges.len(), BATCH, keys)
    };
    let pair = in_turns(TURNS, || seconds(true), || seconds(false))?;
    let rate = edges.len() as f64 / pair.ours;
    let row = Row::new(&format!("{}, dense, with a log", name(multi)), Unit::EdgesPerSecond, rate, None);
    Ok(Row { ratio: Some(pair.ratio), ..row }.bar(Bar::Ratio(1.25)))
}

/// The time of directed edges that ascend by source beside that of the same edges in random order.
fn in_order(edges: &ShuffledEdges, multi: bool) -> Result<Row, CommandError> {
    let (keys, ordered) = (KeyKind::Dense, edges.in_order());
    let seconds = |edges: &ShuffledEdges| {
        let database = new_store(None, multi, false, keys)?;
        ingest(&database, edges, 0..edges.len(), BATCH, keys)
    };
    let pair = in_turns::<CommandError>(TURNS, || seconds(&ordered), || seconds(edges))?;
    let what = format!("{}, dense, directed, sorted", name(multi));
    let row = Row::new(&what, Unit::EdgesPerSecond, edges.len() as f64 / pair.ours, None);
    Ok(Row { ratio: Some(pair.ratio), ..row }.bar(Bar::Ratio(1.0)))
}
