//! Churn: a tenth of the edges is deleted and put back, ten times over; what that does to space and to scans once the
//! background has settled.
//!
//! Invariant: in the end the graph is the one from the beginning, which is checked.

use std::path::PathBuf;

use clap::Args;
use evergraph::{Database, Direction, Durability, GraphView, KeyKind, Options};
use tempfile::TempDir;

use super::command::Table;
use super::ingest::{BATCH, ingest};
use super::load::{EDGE_TYPE, declare};
use super::report::{Bar, Row, Unit};
use super::settle::settle;
use super::shuffled::{ShuffledEdges, ShuffledSize};
use super::timing::{median, time};
use crate::console::Console;
use crate::error::CommandError;
use crate::load_values::ListFormatArg;
use crate::units;

const KEYS: KeyKind = KeyKind::Dense;
const SCANS: usize = 15;

/// The size of the graph, and how often what is changed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  evergraph bench churn\n  evergraph bench churn --scale 16 --rounds 30")]
pub(super) struct ChurnArgs {
    #[command(flatten)]
    size: ShuffledSize,
    /// How often a tenth of the edges is deleted and put back
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// The list format
    #[arg(long, value_enum, default_value = "fast")]
    format: ListFormatArg,
    /// Where the store on disk is made [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What a store is like at a moment.
struct State {
    bytes: u64,
    scan_seconds: f64,
    sum: u64,
}

/// Runs the command.
pub(super) fn run(args: &ChurnArgs, console: &mut Console) -> Result<(), CommandError> {
    let edges = args.size.edges()?;
    let edge_count = units::count(edges.len() as u64);
    let what = format_args!("Kronecker graph, scale {}, {edge_count} undirected edges", args.size.scale);
    let mut table = Table::titled(console, what, "before")?;
    let directory = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    for on_disk in [false, true] {
        let home = TempDir::with_prefix_in("churn-", &directory).map_err(CommandError::file(&directory))?;
        let options = Options {
            keys: Some(KEYS),
            format: Some(args.format.into()),
            durability: Durability::Interval,
            ..Options::default()
        };
        let database = match on_disk {
            true => Database::open(home.path(), options)?,
            false => Database::in_memory(options),
        };
        table.add(churn(&database, &edges, args.rounds, on_disk)?)?;
    }
    table.finish()
}

fn churn(
    database: &Database,
    edges: &ShuffledEdges,
    rounds: u16,
    on_disk: bool,
) -> Result<Vec<Row>, CommandError> {
    declare(database, true, false)?;
    ingest(database, edges, 0..edges.len(), BATCH, KEYS)?;
    let before = State::of(database)?;
    let tenth = edges.len().div_ceil(10);
    for round in 0..usize::from(rounds) {
        let start = round * tenth % edges.len();
        let part = start..edges.len().min(start + tenth);
        for start in part.clone().step_by(BATCH) {
            let batch = edges.batch(start..part.end.min(start + BATCH), KEYS);
            database.delete_edges(EDGE_TYPE, vec![batch])?;
        }
        ingest(database, edges, part, BATCH, KEYS)?;
    }
    let after = State::of(database)?;
    let place = if on_disk { "on disk" } else { "in memory" };
    let entries = 2.0 * edges.len() as f64;
    let space = Row::new(
        &format!("{place}: space"),
        Unit::BytesPerEdge,
        after.bytes as f64 / entries,
        Some(before.bytes as f64 / entries),
    );
    let scan =
        Row::new(&format!("{place}: scan"), Unit::Seconds, after.scan_seconds, Some(before.scan_seconds));
    let same = before.sum == after.sum;
    let what = format!("sums {} and {}", before.sum, after.sum);
    Ok(vec![space.bar(Bar::Ratio(1.5)), scan.bar(Bar::Ratio(1.2)).agreement(same, what)])
}

impl State {
    /// The state once the background has settled.
    fn of(database: &Database) -> Result<State, CommandError> {
        settle(database);
        let snapshot = database.snapshot()?;
        let flat = snapshot.flat();
        let table = flat.table(Direction::Out);
        let mut sum = 0;
        let seconds = (0..SCANS).map(|_| {
            let (seconds, found) = time(|| {
                let mut sum = 0u64;
                for list in table.lists(0..flat.id_bound()) {
                    list.for_each_slice(|slice| sum += slice.iter().map(|&it| u64::from(it)).sum::<u64>());
                }
                sum
            });
            sum = found;
            seconds
        });
        let scan_seconds = median(seconds.collect());
        let stats = database.stats();
        let bytes = stats.memory_bytes + stats.dictionary_bytes + stats.segment_bytes;
        Ok(State { bytes, scan_seconds, sum })
    }
}
