//! `evergraph stream`: the commits that the log of a store holds, as batches of edges.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use evergraph::{Batch, Database, ListedEdges, OpenError, Options, StreamOptions};
use serde::Serialize;

use crate::console::Console;
use crate::error::CommandError;
use crate::store::open_to_read;

/// What to follow, and from where.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StreamArgs {
    /// The store
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Only edges of this type; may be repeated [default: all types]
    #[arg(long = "edge-type", value_name = "TYPE")]
    edge_types: Vec<String>,
    /// Begin with the commit after this version [default: with all that is kept]
    #[arg(long, value_name = "VERSION")]
    from: Option<u64>,
    /// Go on after the last batch that this name was given, and remember this one
    #[arg(long)]
    name: Option<String>,
    /// A batch ends with the commit that brings it to so many edges
    #[arg(long, value_name = "EDGES", default_value_t = 65536)]
    batch_size: usize,
    /// Wait for further commits; other processes make them while this one does not have the store open
    #[arg(long)]
    follow: bool,
    /// With --follow: end when nothing came for so many seconds
    #[arg(long, value_name = "SECONDS", requires = "follow")]
    timeout: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  evergraph stream bank.eg --from 1200
  evergraph stream bank.eg --edge-type pays --name billing
  evergraph --json stream bank.eg --batch-size 1 | head
  evergraph stream bank.eg --follow

Gives what is there and ends, unless it is to follow. With --follow the store is opened whenever it has changed and
nobody else writes, and left alone in between. What a store keeps, retain= says when it is opened; for a name, what it
has not been given is kept.";

/// How often to look whether there is something new.
const POLL: Duration = Duration::from_millis(200);

#[derive(Serialize)]
struct Line<'a> {
    version: u64,
    op: &'a str,
    src: String,
    dst: String,
    #[serde(rename = "type")]
    edge_type: &'a str,
}

/// Runs the command.
pub(crate) fn run(args: &StreamArgs, console: &mut Console) -> Result<(), CommandError> {
    let mut after = args.from;
    let mut silent_since = Instant::now();
    loop {
        let seen = Files::of(&args.database);
        match give(args, after, console) {
            Ok(through) => {
                if after.replace(through) != Some(through) {
                    silent_since = Instant::now();
                }
            }
            // Somebody writes, and closes the store again.
            Err(CommandError::Open(OpenError::Locked(_))) if args.follow => {}
            Err(error) => return Err(error),
        }
        if !args.follow {
            return Ok(());
        }
        let is_over =
            || args.timeout.is_some_and(|seconds| silent_since.elapsed() >= Duration::from_secs(seconds));
        loop {
            if is_over() {
                return Ok(());
            }
            std::thread::sleep(POLL);
            if Files::of(&args.database) != seen {
                break;
            }
        }
    }
}

/// Names and lengths of the files that commits change, to tell that there are some.
#[derive(PartialEq)]
struct Files(Vec<(PathBuf, u64, Option<SystemTime>)>);

impl Files {
    fn of(database: &Path) -> Self {
        let log = std::fs::read_dir(database.join("log")).ok().into_iter().flatten();
        let log = log.filter_map(|entry| Some(entry.ok()?.path()));
        let facts = log.chain([database.join("MANIFEST")]).filter_map(|path| {
            let facts = std::fs::metadata(&path).ok()?;
            Some((path, facts.len(), facts.modified().ok()))
        });
        let mut facts: Vec<_> = facts.collect();
        facts.sort();
        Files(facts)
    }
}

/// Gives the commits there are after one, and tells up to which.
fn give(args: &StreamArgs, after: Option<u64>, console: &mut Console) -> Result<u64, CommandError> {
    let database = match args.name {
        None => open_to_read(&args.database)?,
        // A cursor is written.
        Some(_) if args.database.exists() => Database::open(&args.database, Options::default())?,
        Some(_) => return open_to_read(&args.database).map(|_| 0),
    };
    let options = StreamOptions {
        edge_types: (!args.edge_types.is_empty()).then(|| args.edge_types.clone()),
        batch_size: args.batch_size,
        after: Some(after.unwrap_or_else(|| database.retained().first)),
        name: args.name.clone(),
        ..StreamOptions::default()
    };
    let mut stream = database.stream(options)?;
    while let Some(batch) = stream.next(Some(Duration::ZERO))? {
        for (op, edges) in [("put", &batch.edges), ("delete", &batch.deleted)] {
            edges.iter().try_for_each(|edges| write(console, &batch, op, edges))?;
        }
        // What is acknowledged has been written.
        console.flush()?;
    }
    Ok(stream.position())
}

fn write(console: &mut Console, batch: &Batch, op: &str, edges: &ListedEdges) -> Result<(), CommandError> {
    let version = batch.names.whole();
    let kind = version.schema().edge_types.get(usize::from(edges.edge_type));
    let edge_type = kind.map_or("", |kind| kind.name.as_str());
    for row in 0..edges.src.len() {
        let [src, dst] = [edges.src[row], edges.dst[row]].map(|id| version.key(id).to_string());
        let line = Line { version: edges.sequences[row], op, src, dst, edge_type };
        console.result(&line, |line| {
            format!("{}\t{}\t{}\t{}\t{}", line.version, line.op, line.src, line.dst, line.edge_type)
        })?;
    }
    Ok(())
}
