//! The command: which measurements, in which order, and the table.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use evergraph::{GraphView, KeyKind};
use serde::Serialize;

use super::analytics;
#[cfg(target_os = "linux")]
use super::outofcore;
use super::report::{Row, layout};
use super::subjects::Subjects;
use super::{
    bfs, bytes, churn, components, events, graph_file, ingest, linkbench, load, lookups, memory, pagerank,
    scaling, scan, snapshot, stream, triangles, window,
};
use crate::console::Console;
use crate::error::CommandError;
use crate::load_values::KeysArg;
use crate::progress::Activity;
use crate::units;

/// The column of the other side.
pub(super) const YARDSTICK: &str = "yardstick";

/// The size of the graph, and what to measure on it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    /// Something else than a loaded graph
    #[command(subcommand)]
    subject: Option<Subject>,
    /// The graph has 2^N vertices
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=30))]
    scale: u32,
    /// The graph has so many edges per vertex
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    edges_per_vertex: u64,
    /// Both sides take so many turns; medians are shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,
    /// The keys of the store that all but loading is measured on; dense ones are those of the yardstick
    #[arg(long, value_enum, default_value = "dense")]
    keys: KeysArg,
    /// Where the graph's file is kept and stores are made [default: evergraph-bench in the system's folder for
    /// temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Measure only this; commas between
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    only: Vec<Measurement>,
}

/// Benchmarks of their own.
#[derive(Debug, Subcommand)]
enum Subject {
    /// Measure algorithms on snapshots in several states, also against other libraries
    Analytics(analytics::AnalyticsArgs),
    /// How soon handlers of views are told, and what watching costs those who write
    #[command(after_help = "Example:\n  evergraph bench events --views 100")]
    Events(events::EventsArgs),
    /// Edges added batch by batch to a growing graph, and what reading it costs then
    Ingest(ingest::IngestArgs),
    /// Nodes and links with properties, read and written one at a time, beside the rivals of this trade
    Linkbench(linkbench::LinkbenchArgs),
    /// Algorithms that follow a stream of edges, against their batch twins after each batch
    #[command(after_help = "Example:\n  evergraph bench stream --scale 16")]
    Stream(stream::StreamArgs),
    /// A sliding window that moves on, against the same graph built anew
    #[command(after_help = "Example:\n  evergraph bench window --edges 1000000")]
    Window(window::WindowArgs),
    /// How much memory a graph takes in each list format, and what reading it costs then
    Memory(memory::MemoryArgs),
    /// PageRank and BFS on a store several times as large as memory, beside the speed of the disk
    #[cfg(target_os = "linux")]
    #[command(name = "outofcore")]
    OutOfCore(outofcore::OutOfCoreArgs),
    /// Edges deleted and put back again and again: what that does to space and scans
    Churn(churn::ChurnArgs),
    /// Ingest, archives, merges, algorithms, reads and puts with one thread, with two, with four and so on
    Scaling(scaling::ScalingArgs),
}

const EXAMPLES: &str = "\
Examples:
  evergraph bench                             the graph of the published figures; some minutes
  evergraph bench --scale 16                  a smaller one; seconds
  evergraph bench --only bfs,pagerank --repeats 9 --threads 1
  evergraph bench --json > bench.json
  evergraph bench ingest                      how fast a graph grows
  evergraph bench linkbench                   requests of a social network
  evergraph bench stream                      what follows a graph as it changes
  evergraph bench window                      what a sliding window costs
  evergraph bench memory                      how much room it takes
  evergraph bench scaling                     what more threads gain

Both sides take turns on the same graph, and what they find is compared. Times depend on the
machine and on what else it does; ratios, medians over the turns, much less. The bars are meant for
the default graph on two cores. The exit code is 1 if results differ, and 0 even where a bar is
missed.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measurement {
    Load,
    Scan,
    Lookups,
    Bfs,
    Pagerank,
    Components,
    Bytes,
    Snapshot,
    Triangles,
}

#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    processor: String,
    threads: usize,
    scale: u32,
    edges_per_vertex: u64,
    repeats: u16,
    file: &'a Path,
    vertices: u64,
    edges: u64,
    rows: &'a [Row],
}

/// Runs the command. `program` starts it again in another process.
pub(crate) fn run(args: &BenchArgs, program: &[OsString], console: &mut Console) -> Result<(), CommandError> {
    match &args.subject {
        Some(Subject::Analytics(args)) => return analytics::run(args, program, console),
        Some(Subject::Events(args)) => return tabulate(console, |add| events::measure(*args, add)),
        Some(Subject::Ingest(args)) => return ingest::run(args, console),
        Some(Subject::Linkbench(args)) => return linkbench::run(args, console),
        Some(Subject::Stream(args)) => return tabulate(console, |add| stream::measure(*args, add)),
        Some(Subject::Window(args)) => return tabulate(console, |add| window::measure(*args, add)),
        Some(Subject::Memory(args)) => return memory::run(args, program, console),
        #[cfg(target_os = "linux")]
        Some(Subject::OutOfCore(args)) => return outofcore::run(args, program, console),
        Some(Subject::Churn(args)) => return churn::run(args, console),
        Some(Subject::Scaling(args)) => return scaling::run(args, program, console),
        None => {}
    }
    let directory = args.dir.clone().unwrap_or_else(|| std::env::temp_dir().join("evergraph-bench"));
    let file = graph_file::ensure(&directory, args.scale, args.edges_per_vertex)?;
    if !console.is_json() {
        console.line(format_args!(
            "Kronecker graph, scale {}, {} edges per vertex; {}, {}; medians of {}\n\n{}",
            args.scale,
            args.edges_per_vertex,
            processor(),
            units::counted(rayon::current_num_threads() as u64, "thread", "threads"),
            units::counted(args.repeats.into(), "turn", "turns"),
            layout(YARDSTICK).head(),
        ))?;
        console.flush()?;
    }
    let mut table = Table::new(console);
    let (vertices, edges) = measure(args, program, &file, &directory, &mut table)?;
    let Table { console, rows } = table;
    if console.is_json() {
        console.json(&Report {
            version: env!("CARGO_PKG_VERSION"),
            processor: processor(),
            threads: rayon::current_num_threads(),
            scale: args.scale,
            edges_per_vertex: args.edges_per_vertex,
            repeats: args.repeats,
            file: &file,
            vertices,
            edges,
            rows: &rows,
        })?;
    } else {
        let missed = rows.iter().filter(|row| row.holds == Some(false)).count() as u64;
        let barred = rows.iter().filter(|row| row.holds.is_some()).count() as u64;
        console.line(format_args!(
            "\n{}, {}, both directions stored. {}.",
            units::counted(vertices, "vertex", "vertices"),
            units::counted(edges, "edge", "edges"),
            units::bars(barred - missed, barred),
        ))?;
    }
    agreed(&rows)
}

/// Runs measurements whose second column the rows explain.
fn tabulate(
    console: &mut Console,
    measure: impl FnOnce(&mut AddRow) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    if !console.is_json() {
        console.line_now(layout(YARDSTICK).head())?;
    }
    let mut table = Table::new(console);
    measure(&mut |row| table.add(vec![row]))?;
    table.finish()
}

/// Takes a row as soon as it is measured.
pub(super) type AddRow<'a> = dyn FnMut(Row) -> Result<(), CommandError> + 'a;

/// Rows, shown as they come.
pub(super) struct Table<'a> {
    pub(super) console: &'a mut Console,
    pub(super) rows: Vec<Row>,
}

impl<'a> Table<'a> {
    pub(super) fn new(console: &'a mut Console) -> Self {
        Table { console, rows: Vec::new() }
    }

    /// A table under a line that says what is measured and on what machine, and the name of the other side.
    pub(super) fn titled(
        console: &'a mut Console,
        what: std::fmt::Arguments<'_>,
        other: &str,
    ) -> Result<Self, CommandError> {
        if !console.is_json() {
            let threads = units::counted(rayon::current_num_threads() as u64, "thread", "threads");
            console.line_now(format_args!(
                "{what}; {}, {threads}\n\n{}",
                processor(),
                layout(other).head()
            ))?;
        }
        Ok(Table::new(console))
    }

    pub(super) fn add(&mut self, rows: Vec<Row>) -> Result<(), CommandError> {
        for row in rows {
            if !self.console.is_json() {
                self.console.line_now(layout(YARDSTICK).row(&row.cells()))?;
            }
            self.rows.push(row);
        }
        Ok(())
    }

    /// Writes the rows as JSON if that is wanted. Sides that disagree are an error.
    pub(super) fn finish(self) -> Result<(), CommandError> {
        if self.console.is_json() {
            self.console.json(&self.rows)?;
        }
        agreed(&self.rows)
    }
}

/// Whether both sides found the same throughout.
pub(super) fn agreed(rows: &[Row]) -> Result<(), CommandError> {
    if rows.iter().all(Row::agrees) { Ok(()) } else { Err(CommandError::Reported) }
}

/// Runs the measurements, and tells how many vertices and edges the graph has.
fn measure(
    args: &BenchArgs,
    program: &[OsString],
    file: &Path,
    directory: &Path,
    table: &mut Table,
) -> Result<(u64, u64), CommandError> {
    let activity = Activity::new("measuring");
    let wanted = |what| {
        let wanted = args.only.is_empty() || args.only.contains(&what);
        if wanted {
            activity.say(format!("measuring {what:?}").to_lowercase());
        }
        wanted
    };
    let repeats = usize::from(args.repeats);
    let keys = KeyKind::from(args.keys);
    let subjects = if wanted(Measurement::Load) {
        let other = if keys == KeyKind::Dense { KeyKind::Int64 } else { KeyKind::Dense };
        table.add(vec![load::measure(file, directory, other, repeats)?.0])?;
        let (row, subjects) = load::measure(file, directory, keys, repeats)?;
        table.add(vec![row])?;
        subjects
    } else {
        Subjects::new(load::load(file, directory, keys)?.1, load::build(file)?.1)
    };
    if wanted(Measurement::Scan) {
        table.add(scan::measure(&subjects, repeats)?)?;
    }
    if wanted(Measurement::Lookups) {
        table.add(lookups::measure(&subjects, repeats)?)?;
    }
    if wanted(Measurement::Bfs) {
        table.add(bfs::measure(&subjects, repeats)?)?;
    }
    if wanted(Measurement::Pagerank) {
        table.add(pagerank::measure(&subjects, repeats)?)?;
    }
    if wanted(Measurement::Components) {
        table.add(components::measure(&subjects, repeats)?)?;
    }
    if wanted(Measurement::Bytes) {
        table.add(bytes::measure(&subjects, file, args.keys, program)?)?;
    }
    if wanted(Measurement::Snapshot) {
        table.add(snapshot::measure(&subjects, repeats)?)?;
    }
    let size = (subjects.snapshot.num_vertices(), subjects.snapshot.num_edges());
    drop(subjects);
    if wanted(Measurement::Triangles) {
        table.add(triangles::measure(file, keys)?)?;
    }
    Ok(size)
}

/// The name of the processor, where the system tells it.
pub(crate) fn processor() -> String {
    let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "unknown processor".to_owned(), |(_, name)| name.to_owned())
}
