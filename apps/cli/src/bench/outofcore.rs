//! A graph four times as large as memory: PageRank and breadth-first search on mapped segments, in a process of its own
//! whose memory a control group bounds, beside the same in memory and beside the plain reading of the same files.
//!
//! ```text
//!  ShuffledEdges ─┬─► store in memory ─► PageRank, BFS ──────────────────────────────┐ same to the bit?
//!                 └─► store on disk, compacted ─┬─► process with a limit: the same ──┘
//!                                               └─► files read front to back, cold ─► bytes a second
//! ```
//!
//! PageRank's bytes a second are those of the lists it pulled, less what it found in memory: what it had the disk read
//! beyond them does not count.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use clap::Args;
use evergraph::{Database, Durability, KeyKind, Options};
use rayon::prelude::*;
use tempfile::TempDir;

use super::bounded::{self, AccessArg, Found};
use super::command::Table;
use super::control_group::ControlGroup;
use super::ingest::{BATCH, ingest};
use super::load::{EDGE_TYPE, declare};
use super::report::{Bar, Row, Unit};
use super::resident::output_of;
use super::shuffled::ShuffledEdges;
use super::timing::time;
use crate::console::{self, Console};
use crate::error::CommandError;
use crate::load_values::ListFormatArg;
use crate::units;

const KEYS: KeyKind = KeyKind::Dense;
/// Of the disk's speed, PageRank is to reach this share.
const SHARE: f64 = 0.6;
/// What is read at once when files are read front to back.
const READ_BYTES: usize = 1 << 22;
/// A program needs so much memory whatever the graph.
const LEAST_BYTES: u64 = 16 << 20;

/// The size of the graph, and of memory.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct OutOfCoreArgs {
    /// The graph has 2^N vertices
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=30))]
    scale: u32,
    /// The graph is made of so many edges per vertex
    #[arg(long, value_name = "K", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    edges_per_vertex: u64,
    /// The graph's files are so many times the memory that the process may have
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    times: u64,
    /// The list format
    #[arg(long, value_enum, default_value = "fast")]
    format: ListFormatArg,
    /// How the system is told that segments will be read; commas between
    #[arg(long, value_name = "HOW", value_enum, value_delimiter = ',', default_value = "default")]
    access: Vec<AccessArg>,
    /// Where the store is made, on the disk to be measured [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  evergraph bench outofcore                         some minutes, and 2 GB of memory and of disk
  evergraph bench outofcore --access default,normal,sequential
  evergraph bench outofcore --scale 16

A control group of Linux bounds the memory of the process that is measured, its heap and what the system
holds of its segments together. To make one is the right of the administrator: where none can be made the
benchmark says so, and its bars are not judged.";

/// Runs the command.
pub(super) fn run(
    args: &OutOfCoreArgs,
    program: &[OsString],
    console: &mut Console,
) -> Result<(), CommandError> {
    let edges = ShuffledEdges::new(args.scale, args.edges_per_vertex)?;
    let directory = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let home = TempDir::with_prefix_in("outofcore-", &directory).map_err(CommandError::file(&directory))?;
    let in_memory = in_memory(args, &edges)?;
    let files = on_disk(args, &edges, home.path())?;
    let edge_count = edges.len() as u64;
    drop(edges);
    let bytes =
        files.iter().map(|path| std::fs::metadata(path).map(|file| file.len())).sum::<io::Result<u64>>()?;
    let limit_bytes = bytes / args.times;
    let what = format_args!(
        "Kronecker graph, scale {}, {} undirected edges, {} in segments, {} of memory",
        args.scale,
        units::count(edge_count),
        units::bytes(bytes),
        units::bytes(limit_bytes),
    );
    let group = ControlGroup::new(limit_bytes.max(LEAST_BYTES));
    if let Err(error) = &group {
        console::notice(format_args!("memory is not bounded, since no control group can be made: {error}"));
    }
    let group = group.ok();
    let mut table = Table::titled(console, what, "reference")?;
    for &access in &args.access {
        let speed = disk_speed(&files)?;
        files.iter().try_for_each(|path| forget(path))?;
        let found = bounded(program, home.path(), limit_bytes, group.as_ref(), access)?;
        table.add(rows(access, &found, &in_memory, bytes, speed, group.is_some()))?;
    }
    table.finish()
}

fn rows(
    access: AccessArg,
    found: &Found,
    in_memory: &Found,
    bytes: u64,
    speed: f64,
    is_bounded: bool,
) -> Vec<Row> {
    let name = access.name();
    let row = |what: &str, unit, ours, theirs| Row::new(&format!("{name}: {what}"), unit, ours, theirs);
    let (ranks, search) = (&found.pagerank, &found.bfs);
    let useful = ranks.read_bytes.min(bytes * u64::from(ranks.rounds)) as f64 / ranks.seconds;
    let agree = |row: Row, left: u64, right: u64| row.agreement(left == right, format!("{left:016x}"));
    let per_round = |run: &bounded::Run| run.seconds / f64::from(run.rounds.max(1));
    let read = |run: &bounded::Run| run.read_bytes as f64 / f64::from(run.rounds.max(1));
    let of_disk = row("pagerank, bytes/s", Unit::BytesPerSecond, useful, Some(speed));
    vec![
        if is_bounded { of_disk.bar(Bar::RatioAtLeast(SHARE)) } else { of_disk },
        agree(
            row(
                "pagerank, an iteration",
                Unit::Seconds,
                per_round(ranks),
                Some(per_round(&in_memory.pagerank)),
            ),
            ranks.checksum,
            in_memory.pagerank.checksum,
        ),
        row("pagerank, read a pass", Unit::Bytes, read(ranks), Some(bytes as f64)),
        agree(
            row("bfs, a search", Unit::Seconds, per_round(search), Some(per_round(&in_memory.bfs))),
            search.checksum,
            in_memory.bfs.checksum,
        ),
        row("bfs, read a search", Unit::Bytes, read(search), Some(bytes as f64)),
        row("heap", Unit::Bytes, found.heap_bytes as f64, None),
    ]
}

fn options(args: &OutOfCoreArgs) -> Options {
    Options {
        keys: Some(KEYS),
        format: Some(args.format.into()),
        durability: Durability::Interval,
        ..Options::default()
    }
}

/// What both algorithms find in memory.
fn in_memory(args: &OutOfCoreArgs, edges: &ShuffledEdges) -> Result<Found, CommandError> {
    let database = Database::in_memory(options(args));
    declare(&database, true, false)?;
    ingest(&database, edges, 0..edges.len(), BATCH, KEYS)?;
    bounded::run(&database.snapshot()?)
}

/// Makes the store; gives its segments.
fn on_disk(
    args: &OutOfCoreArgs,
    edges: &ShuffledEdges,
    directory: &Path,
) -> Result<Vec<PathBuf>, CommandError> {
    let database = Database::open(directory, options(args))?;
    declare(&database, true, false)?;
    database.add_edges(EDGE_TYPE, vec![edges.batch(0..edges.len(), KEYS)])?;
    database.compact()?;
    database.close()?;
    let segments = directory.join("segments");
    let files = std::fs::read_dir(&segments).map_err(CommandError::file(&segments))?;
    Ok(files.map(|file| file.map(|file| file.path())).collect::<io::Result<_>>()?)
}

/// Runs both algorithms in a process that may have only so much memory.
fn bounded(
    program: &[OsString],
    store: &Path,
    limit_bytes: u64,
    group: Option<&ControlGroup>,
    access: AccessArg,
) -> Result<Found, CommandError> {
    let mut command: Vec<OsString> = vec![
        "bench-bounded".into(),
        store.as_os_str().to_owned(),
        format!("--limit-bytes={limit_bytes}").into(),
        format!("--access={}", access.name()).into(),
    ];
    command.extend(group.into_iter().flat_map(|group| ["--group".into(), group.directory().into()]));
    let output = output_of(program, &command, rayon::current_num_threads())?;
    serde_json::from_str(&output).map_err(|error| io::Error::other(error).into())
}

/// Bytes a second of the files read from front to back while nothing of them is in memory: by one reader or by as many as
/// there are threads, each with its part, whichever is faster.
fn disk_speed(files: &[PathBuf]) -> Result<f64, CommandError> {
    let mut fastest: f64 = 0.0;
    for readers in [1, rayon::current_num_threads() as u64] {
        files.iter().try_for_each(|path| forget(path))?;
        let (seconds, read) =
            time(|| files.iter().map(|path| read_in_parts(path, readers)).sum::<io::Result<u64>>());
        fastest = fastest.max(read? as f64 / seconds);
    }
    Ok(fastest)
}

fn read_in_parts(path: &Path, readers: u64) -> io::Result<u64> {
    let length = std::fs::metadata(path)?.len();
    let part = length.div_ceil(readers).max(1);
    (0..readers)
        .into_par_iter()
        .map(|reader| {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(reader * part))?;
            let (mut file, mut buffer, mut total) = (file.take(part), vec![0; READ_BYTES], 0);
            loop {
                match file.read(&mut buffer)? {
                    0 => return Ok(total),
                    read => total += read as u64,
                }
            }
        })
        .sum()
}

/// Has the system forget what it holds of a file that is on disk.
fn forget(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    Ok(rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?)
}
