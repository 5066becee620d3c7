//! The same work with one thread, with two, with four and so on, each in a process of its own: how much faster more of them are.
//!
//! ```text
//! for 1, 2, 4 … threads:  RAYON_NUM_THREADS=n evergraph bench-scaling ─► seconds of each piece of work, as JSON
//! ```
//!
//! Where clients read and write at once there are as many as threads, and the time is that of all by the number of their requests.
//! What the yardstick takes for scans and PageRank tells what the memory of the machine gives that many threads.

use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::Args;
use evergraph::{Database, Direction, Durability, KeyKind, Options, VertexId};
use evergraph_yardstick::Graph;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::command::processor;
use super::ingest::{BATCH, ingest};
use super::load::{EDGE_TYPE, Loaded, declare};
use super::report::Row;
use super::resident::output_of;
use super::shuffled::{ShuffledEdges, ShuffledSize, key, mix_bits};
use super::subjects::Subjects;
use super::timing::time;
use super::{bfs, components, pagerank, scan};
use crate::console::Console;
use crate::error::CommandError;
use crate::progress::Activity;
use crate::table::{Layout, Side};
use crate::units;

const KEYS: KeyKind = KeyKind::Dense;
/// Turns of each algorithm.
const REPEATS: usize = 3;
/// For so many edges of the graph clients read a list, put an edge in a transaction of its own, and put one that is synced.
const EDGES_PER_READ: usize = 4;
const EDGES_PER_PUT: usize = 40;
const EDGES_PER_SYNCED_PUT: usize = 2_000;

/// The size of the graph, and how many threads to go up to.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ScalingArgs {
    #[command(flatten)]
    pass: PassArgs,
    /// Each number of threads has so many turns, of which the fastest counts
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,
}

const EXAMPLES: &str = "\
Examples:
  evergraph bench scaling                         1, 2, 4 … threads, up to one per core; minutes
  evergraph bench scaling --scale 16 --threads 4

Beside each time, how many times faster than with one thread that is. The yardstick is a plain
immutable CSR, which has nothing to share but the memory.";

/// What each process is told, too.
#[derive(Debug, Args)]
pub(crate) struct PassArgs {
    #[command(flatten)]
    size: ShuffledSize,
    /// Where stores are made [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Seconds of a piece of work.
#[derive(Debug, Serialize, Deserialize)]
struct Work {
    name: String,
    seconds: f64,
}

/// Seconds of a piece of work by number of threads.
#[derive(Debug, Serialize)]
struct Scaled {
    name: String,
    seconds: Vec<f64>,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    processor: String,
    scale: u32,
    edges_per_vertex: u64,
    threads: Vec<usize>,
    rows: Vec<Scaled>,
}

/// Runs the command.
pub(super) fn run(
    args: &ScalingArgs,
    program: &[OsString],
    console: &mut Console,
) -> Result<(), CommandError> {
    let threads = up_to(rayon::current_num_threads());
    let activity = Activity::new("measuring");
    let mut rows: Vec<Scaled> = Vec::new();
    for (place, &count) in threads.iter().enumerate() {
        for repeat in 0..args.repeats {
            let with = units::counted(count as u64, "thread", "threads");
            activity.say(format!("measuring {with}, turn {} of {}", repeat + 1, args.repeats));
            for Work { name, seconds } in pass(&args.pass, program, count)? {
                match rows.iter_mut().find(|row| row.name == name) {
                    Some(row) if row.seconds.len() > place => {
                        row.seconds[place] = row.seconds[place].min(seconds);
                    }
                    Some(row) => row.seconds.push(seconds),
                    None => rows.push(Scaled { name, seconds: vec![seconds] }),
                }
            }
        }
    }
    drop(activity);
    if console.is_json() {
        return console.json(&Report {
            version: env!("CARGO_PKG_VERSION"),
            processor: processor(),
            scale: args.pass.size.scale,
            edges_per_vertex: args.pass.size.edges_per_vertex,
            threads,
            rows,
        });
    }
    console.line(format_args!(
        "Kronecker graph, scale {}; {}\n\n{}",
        args.pass.size.scale,
        processor(),
        table(&threads, &rows)
    ))
}

/// 1, 2, 4 and so on, and the most there are.
fn up_to(most: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(1), |threads| Some(threads * 2));
    doubled.take_while(|&threads| threads < most).chain([most]).collect()
}

fn table(threads: &[usize], rows: &[Scaled]) -> String {
    let titles: Vec<String> =
        threads.iter().map(|&count| units::counted(count as u64, "thread", "threads")).collect();
    let columns = titles.iter().flat_map(|title| [(&**title, Side::Right, 0), ("", Side::Right, 0)]);
    let layout = Layout::new(std::iter::once(("work", Side::Left, 0)).chain(columns));
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let faster = |seconds: f64| format!("{:.2}x", row.seconds[0] / seconds);
            let times = row.seconds.iter().flat_map(|&seconds| [units::seconds(seconds), faster(seconds)]);
            std::iter::once(row.name.clone()).chain(times).collect()
        })
        .collect();
    layout.table(&cells)
}

/// What a process with so many threads measures.
fn pass(args: &PassArgs, program: &[OsString], threads: usize) -> Result<Vec<Work>, CommandError> {
    let mut command: Vec<OsString> = vec![
        "bench-scaling".into(),
        format!("--scale={}", args.size.scale).into(),
        format!("--edges-per-vertex={}", args.size.edges_per_vertex).into(),
    ];
    command.extend(args.dir.iter().flat_map(|directory| ["--dir".into(), directory.into()]));
    let output = output_of(program, &command, threads)?;
    serde_json::from_str(&output).map_err(|error| io::Error::other(error).into())
}

/// Runs the command in the process of its own.
pub(crate) fn measure_pass(args: &PassArgs, console: &mut Console) -> Result<(), CommandError> {
    let edges = args.size.edges()?;
    let directory = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let mut work = in_memory(&edges)?;
    work.extend(on_disk(&edges, &directory)?);
    work.push(synced(&edges, &directory)?);
    console.json(&work)
}

impl Work {
    fn new(name: &str, seconds: f64) -> Self {
        Work { name: name.to_owned(), seconds }
    }

    /// What a row says of Evergraph, and of the yardstick.
    fn of(row: Row) -> impl Iterator<Item = Work> {
        let theirs = row.theirs.map(|seconds| Work::new(&format!("{}: yardstick", row.name), seconds));
        [Work::new(&row.name, row.ours)].into_iter().chain(theirs)
    }
}

fn open(home: &TempDir, durability: Durability) -> Result<Database, CommandError> {
    let database =
        Database::open(home.path(), Options { keys: Some(KEYS), durability, ..Options::default() })?;
    declare(&database, true, false)?;
    Ok(database)
}

fn new_home(directory: &Path) -> Result<TempDir, CommandError> {
    TempDir::with_prefix_in("scaling-", directory).map_err(CommandError::file(directory))
}

/// Batches, algorithms, reads and puts of a store in memory.
fn in_memory(edges: &ShuffledEdges) -> Result<Vec<Work>, CommandError> {
    let database = Database::in_memory(Options { keys: Some(KEYS), ..Options::default() });
    declare(&database, true, false)?;
    let seconds = ingest(&database, edges, 0..edges.len(), BATCH, KEYS)?;
    let mut work = vec![Work::new(&format!("batches of {}, in memory", units::count(BATCH as u64)), seconds)];
    let (seconds, compacted) = time(|| database.compact());
    compacted?;
    work.push(Work::new("compacted in memory", seconds));
    let snapshot = database.snapshot()?;
    let loaded = Loaded { database, snapshot, _directory: None };
    let subjects = Subjects::new(loaded, Graph::undirected(edges.pairs())?);
    for rows in [
        scan::measure(&subjects, REPEATS)?,
        pagerank::measure(&subjects, REPEATS)?,
        bfs::measure(&subjects, REPEATS)?,
        components::measure(&subjects, REPEATS)?,
    ] {
        work.extend(rows.into_iter().flat_map(Work::of));
    }
    let database = &subjects.loaded.database;
    work.push(Work::new(
        "a list read, a client a thread",
        reads(database, (edges.len() / EDGES_PER_READ).max(1))?,
    ));
    work.push(Work::new("an edge put, a client a thread", puts(database, edges, EDGES_PER_PUT)?));
    Ok(work)
}

/// A load, batches with the log, and a merge of both.
fn on_disk(edges: &ShuffledEdges, directory: &Path) -> Result<Vec<Work>, CommandError> {
    let home = new_home(directory)?;
    let database = open(&home, Durability::Interval)?;
    let half = edges.len() / 2;
    let loaded = ingest(&database, edges, 0..half, half, KEYS)?;
    let logged = ingest(&database, edges, half..edges.len(), BATCH, KEYS)?;
    let (merged, result) = time(|| database.compact());
    result?;
    Ok(vec![
        Work::new("half of it loaded, on disk", loaded),
        Work::new(&format!("the rest in batches of {}", units::count(BATCH as u64)), logged),
        Work::new("archived and merged", merged),
    ])
}

/// Edges put that are synced, each by itself.
fn synced(edges: &ShuffledEdges, directory: &Path) -> Result<Work, CommandError> {
    let home = new_home(directory)?;
    let database = open(&home, Durability::Sync)?;
    Ok(Work::new("an edge put and synced", puts(&database, edges, EDGES_PER_SYNCED_PUT)?))
}

/// Seconds by requests, so many, of as many clients as there are threads, each of which makes a range of them.
fn of_clients(
    requests: usize,
    client: impl Fn(Range<usize>) -> Result<(), CommandError> + Sync,
) -> Result<f64, CommandError> {
    let clients = rayon::current_num_threads();
    let bounds = |number| requests * number / clients..requests * (number + 1) / clients;
    let (seconds, results) = time(|| {
        std::thread::scope(|scope| {
            let client = &client;
            let running: Vec<_> =
                (0..clients).map(|number| scope.spawn(move || client(bounds(number)))).collect();
            running.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        })
    });
    for result in results {
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    }
    Ok(seconds / requests as f64)
}

/// Lists of vertices anywhere, each read from the newest version.
fn reads(database: &Database, count: usize) -> Result<f64, CommandError> {
    let store = database.store();
    let edge_type = store.read()?.schema().edge_type(EDGE_TYPE).map_or(0, |(id, _)| id);
    of_clients(count, |turns| {
        let mut sum = 0;
        for turn in turns {
            let version = store.read()?;
            let vertex = (mix_bits(turn as u64) % u64::from(version.id_bound().max(1))) as VertexId;
            let list = version.neighbors(edge_type, Direction::Out, vertex);
            list.for_each_slice(|slice| sum += slice.iter().map(|&it| u64::from(it)).sum::<u64>());
        }
        std::hint::black_box(sum);
        Ok(())
    })
}

/// Edges put one by one that are not in the graph, most of them, between vertices with as many edges as those have.
fn puts(database: &Database, edges: &ShuffledEdges, edges_per_put: usize) -> Result<f64, CommandError> {
    let (pairs, len) = (edges.pairs(), edges.len());
    of_clients((len / edges_per_put).max(1), |turns| {
        for turn in turns {
            let (src, dst) = (pairs[turn % len].0, pairs[(turn + len / 2) % len].1);
            database.put_edge(key(src, KEYS), key(dst, KEYS), EDGE_TYPE, &[])?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_doubled_up_to_the_most() {
        assert_eq!(up_to(1), [1]);
        assert_eq!(up_to(2), [1, 2]);
        assert_eq!(up_to(6), [1, 2, 4, 6]);
        assert_eq!(up_to(16), [1, 2, 4, 8, 16]);
    }

    #[test]
    fn each_time_is_compared_with_that_of_one_thread() {
        let rows = [Scaled { name: "scan".to_owned(), seconds: vec![0.012, 0.006] }];
        let lines: Vec<String> = table(&[1, 2], &rows).lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "work  1 thread         2 threads");
        assert_eq!(lines[2], "scan   12.0 ms  1.00x    6.00 ms  2.00x");
    }
}
