//! How much room a graph takes in each list format, and what reading it costs then.
//!
//! ```text
//! child process:  ShuffledEdges ─► add_edges in batches ─► bytes counted, bytes grown, peak   per list entry
//! this process:   the graph as payments ─► bytes per list entry, amounts read          fast beside compact
//! this process:   a store as it was left, once its background has settled,
//!                 and after compact() ─► scan, pagerank, bfs                           beside the yardstick
//! ```
//!
//! A list entry is a stored edge in one direction; what vertex tables and dictionary take is counted in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use evergraph::{Database, Durability, KeyKind, ListFormat, Options};
use evergraph_yardstick::Graph;
use tempfile::TempDir;

use super::command::{Table, YARDSTICK};
use super::ingest::{BATCH, MEDIUM_BATCH, ingest};
use super::load::{Loaded, declare};
use super::report::{Bar, Row, Unit};
use super::resident::{give_back_everywhere, output_of, peak_resident_bytes, resident_bytes};
use super::settle::settle;
use super::shuffled::ShuffledEdges;
use super::subjects::Subjects;
use super::{bfs, columns, pagerank, scan};
use crate::console::Console;
use crate::error::CommandError;
use crate::load_values::ListFormatArg;

const KEYS: KeyKind = KeyKind::Dense;
/// Turns of each reading measurement.
const REPEATS: usize = 3;
/// Links of a page of the web-like graph for each edge that a vertex of the Kronecker graph is made of.
const LINKS_PER_EDGE: u64 = 2;

/// The size of the graphs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MemoryArgs {
    /// The graphs have 2^N vertices
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=30))]
    scale: u32,
    /// The Kronecker graph is made of so many edges per vertex, the web-like one of twice as many
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    edges_per_vertex: u64,
    /// Only this list format
    #[arg(long, value_enum)]
    format: Option<ListFormatArg>,
    /// Measure only this; commas between
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    only: Vec<Measurement>,
    /// Where stores are made [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  evergraph bench memory                          both formats; some minutes
  evergraph bench memory --only bytes --format compact
  evergraph bench memory --scale 16

Bytes are per list entry, vertex tables included: an edge that is stored in both directions has two. Edges
come in random order in batches of a million into a store in memory, which is counted once its background has
settled: once two looks two seconds apart find the same space.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measurement {
    /// Bytes for each list entry
    Bytes,
    /// Scan, PageRank and BFS as ingested, once the background has settled, and after compacting
    Reads,
    /// Bytes for each list entry of edges with three properties, and reading one of these
    Columns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GraphArg {
    /// Undirected, few vertices with most edges
    Kronecker,
    /// Directed, with links that are mostly near
    Web,
}

/// What the process is told.
#[derive(Debug, Args)]
pub(crate) struct ChildArgs {
    #[arg(long, value_enum)]
    graph: GraphArg,
    #[arg(long)]
    scale: u32,
    #[arg(long)]
    edges_per_vertex: u64,
    #[arg(long)]
    multi: bool,
    #[arg(long, value_enum)]
    format: ListFormatArg,
}

/// Runs the command.
pub(super) fn run(
    args: &MemoryArgs,
    program: &[OsString],
    console: &mut Console,
) -> Result<(), CommandError> {
    let mut table = Table::titled(console, format_args!("Graphs of scale {}", args.scale), YARDSTICK)?;
    let wanted = |what| args.only.is_empty() || args.only.contains(&what);
    let formats: Vec<ListFormatArg> =
        args.format.map_or(vec![ListFormatArg::Fast, ListFormatArg::Compact], |format| vec![format]);
    if wanted(Measurement::Bytes) {
        for &format in &formats {
            for graph in [GraphArg::Kronecker, GraphArg::Web] {
                table.add(bytes(args, program, graph, format, false)?)?;
            }
            table.add(bytes(args, program, GraphArg::Kronecker, format, true)?)?;
        }
    }
    if wanted(Measurement::Columns) {
        columns::measure(&ShuffledEdges::new(args.scale, args.edges_per_vertex)?, &mut table)?;
    }
    if wanted(Measurement::Reads) {
        let edges = ShuffledEdges::new(args.scale, args.edges_per_vertex)?;
        let directory = args.dir.clone().unwrap_or_else(std::env::temp_dir);
        for &format in &formats {
            reads(&edges, format.into(), &directory, &mut table)?;
        }
    }
    table.finish()
}

fn options(format: ListFormat) -> Options {
    Options { keys: Some(KEYS), format: Some(format), durability: Durability::Interval, ..Options::default() }
}

/// What becomes of a store before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// Nothing, by a store that does nothing in the background.
    Left,
    Settled,
    Compacted,
}

/// Reads the graph as the batches left it in memory, once the background has settled, and after compacting it there and on
/// disk, beside the yardstick.
fn reads(
    edges: &ShuffledEdges,
    format: ListFormat,
    directory: &Path,
    table: &mut Table<'_>,
) -> Result<(), CommandError> {
    let mut yardstick = Some(Graph::undirected(edges.pairs())?);
    for (what, batch, then, on_disk) in [
        ("as ingested", BATCH, Then::Left, false),
        ("small batches", MEDIUM_BATCH, Then::Left, false),
        ("settled", BATCH, Then::Settled, false),
        ("small batches, settled", MEDIUM_BATCH, Then::Settled, false),
        ("compacted", MEDIUM_BATCH, Then::Compacted, false),
        ("compacted on disk", BATCH, Then::Compacted, true),
    ] {
        let home = TempDir::with_prefix_in("memory-", directory).map_err(CommandError::file(directory))?;
        let options = Options { background: then != Then::Left, ..options(format) };
        let database = match on_disk {
            true => Database::open(home.path(), options)?,
            false => Database::in_memory(options),
        };
        declare(&database, true, false)?;
        ingest(&database, edges, 0..edges.len(), batch, KEYS)?;
        match then {
            Then::Left => {}
            Then::Settled => settle(&database),
            Then::Compacted => database.compact()?,
        }
        let snapshot = database.snapshot()?;
        let Some(graph) = yardstick.take() else { break };
        let subjects = Subjects::new(Loaded { database, snapshot, _directory: Some(home) }, graph);
        let (most, bfs_most) = if then == Then::Compacted { (1.1, 1.2) } else { (1.3, 1.2) };
        let mut rows = Vec::new();
        for (measured, most) in [
            (scan::measure(&subjects, REPEATS)?, most),
            (pagerank::measure(&subjects, REPEATS)?, most),
            (bfs::measure(&subjects, REPEATS)?, bfs_most),
        ] {
            rows.extend(measured.into_iter().map(|row| {
                let row =
                    Row { name: format!("{format}, {what}: {}", row.name), bar: None, holds: None, ..row };
                if format == ListFormat::Fast { row.bar(Bar::Ratio(most)) } else { row }
            }));
        }
        table.add(rows)?;
        yardstick = Some(subjects.yardstick);
    }
    Ok(())
}

/// Bytes for each list entry: what the store counts, what its process has grown by, and the most it took on the way.
fn bytes(
    args: &MemoryArgs,
    program: &[OsString],
    graph: GraphArg,
    format: ListFormatArg,
    multi: bool,
) -> Result<Vec<Row>, CommandError> {
    let value = |value: Option<clap::builder::PossibleValue>| {
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    };
    let (graph_name, format_name) = (value(graph.to_possible_value()), value(format.to_possible_value()));
    let mut command: Vec<OsString> = vec![
        "bench-ingest-memory".into(),
        format!("--graph={graph_name}").into(),
        format!("--scale={}", args.scale).into(),
        format!("--edges-per-vertex={}", args.edges_per_vertex).into(),
        format!("--format={format_name}").into(),
    ];
    command.extend(multi.then(|| "--multi".into()));
    let output = output_of(program, &command, rayon::current_num_threads())?;
    let mut numbers = output.split_whitespace().filter_map(|number| number.parse::<f64>().ok());
    let (Some(entries), Some(counted)) = (numbers.next(), numbers.next()) else { return Ok(Vec::new()) };
    let kind = if multi { ", multi" } else { "" };
    let row = |what: &str, bytes| {
        Row::new(
            &format!("{format_name}, {graph_name}{kind}{what}"),
            Unit::BytesPerEdge,
            bytes / entries,
            None,
        )
    };
    let bar = match (format, graph, multi) {
        (ListFormatArg::Fast, GraphArg::Kronecker, false) => Some(5.0),
        (ListFormatArg::Compact, GraphArg::Kronecker, false) => Some(3.0),
        (ListFormatArg::Compact, GraphArg::Web, false) => Some(2.0),
        _ => None,
    };
    let own = row("", counted);
    let mut rows = vec![bar.map_or(own.clone(), |bar| own.bar(Bar::Value(bar)))];
    if let Some(growth) = numbers.next() {
        let mut grown = row(", resident", growth);
        grown.ratio = Some(growth / counted);
        rows.push(grown.bar(Bar::Ratio(1.2)));
    }
    if let Some(peak) = numbers.next() {
        let mut peak_row = row(", at the peak", peak);
        peak_row.ratio = Some(peak / counted);
        rows.push(peak_row);
    }
    Ok(rows)
}

/// Runs the command in the process of its own: list entries, bytes counted, bytes grown, and the most it had grown by.
pub(crate) fn measure_child(args: &ChildArgs, console: &mut Console) -> Result<(), CommandError> {
    let edges = match args.graph {
        GraphArg::Kronecker => ShuffledEdges::new(args.scale, args.edges_per_vertex)?,
        GraphArg::Web => ShuffledEdges::of_web(args.scale, LINKS_PER_EDGE * args.edges_per_vertex),
    };
    let database = Database::in_memory(options(args.format.into()));
    declare(&database, args.graph == GraphArg::Kronecker, args.multi)?;
    // The memory of the first batch is used again by those after it.
    drop(edges.batch(0..BATCH.min(edges.len()), KEYS));
    give_back_everywhere();
    // From here on the system notes the peak anew.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = resident_bytes();
    ingest(&database, &edges, 0..edges.len(), BATCH, KEYS)?;
    settle(&database);
    let stats = database.stats();
    let grown = |after: Option<u64>| after.zip(before).map(|(after, before)| after.saturating_sub(before));
    let text = |bytes: Option<u64>| bytes.map_or_else(String::new, |bytes| bytes.to_string());
    let (now, peak) = (grown(resident_bytes()), grown(peak_resident_bytes()));
    let counted = stats.memory_bytes + stats.dictionary_bytes;
    console.line(format_args!("{} {counted} {} {}", 2 * edges.len(), text(now), text(peak)))
}
