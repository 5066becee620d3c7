//! `evergraph stream`: the commits that the log of a store holds, as batches of edges.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use evergraph::{Batch, Database, ListedEdges, Options, StreamOptions};
use serde::Serialize;

use crate::cell::KeyCell;
use crate::console::Console;
use crate::error::CommandError;
use crate::follow::FollowArgs;
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
    #[arg(long, value_name = "EDGES", default_value_t = 65536, value_parser = clap::value_parser!(u64).range(1..))]
    batch_size: u64,
    #[command(flatten)]
    follow: FollowArgs,
}

const EXAMPLES: &str = "\
Examples:
  evergraph stream bank.eg --from 1200
  evergraph stream bank.eg --edge-type pays --name billing
  evergraph --json stream bank.eg --batch-size 1 | head
  evergraph stream bank.eg --follow

A line has the version, put or delete, source, destination and type; tabs between. Versions ascend, and the deletes of a \
commit come before its puts, so that doing what the lines say, one by one, leads to the same graph. What there is is given, and \
then it ends, unless it is to follow. With --follow the store is opened whenever it has changed and nobody else writes, and left \
alone in between. The program that writes to a store says how much of its past is kept; for a name, what it has not been given is \
kept.";

#[derive(Serialize)]
struct Line<'a> {
    version: u64,
    op: &'a str,
    src: KeyCell,
    dst: KeyCell,
    #[serde(rename = "type")]
    edge_type: &'a str,
}

/// Runs the command.
pub(crate) fn run(args: &StreamArgs, console: &mut Console) -> Result<(), CommandError> {
    args.follow.run(&args.database, args.from, |after| give(args, after, console))
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
        batch_size: usize::try_from(args.batch_size).unwrap_or(usize::MAX),
        after: Some(after.unwrap_or_else(|| database.retained().first)),
        name: args.name.clone(),
        ..StreamOptions::default()
    };
    let mut stream = database.stream(options)?;
    while let Some(batch) = stream.next(Some(Duration::ZERO))? {
        for (op, edges) in in_order(&batch) {
            write(console, &batch, op, edges)?;
        }
        // What is acknowledged has been written.
        console.flush()?;
    }
    Ok(stream.position())
}

/// What a batch puts and deletes, commit by commit; the deletes of a commit come before its puts, as they were meant.
fn in_order(batch: &Batch) -> Vec<(&'static str, &ListedEdges)> {
    let deletes = batch.deleted.iter().map(|edges| ("delete", edges));
    let mut parts: Vec<_> = deletes.chain(batch.edges.iter().map(|edges| ("put", edges))).collect();
    // Each part is of one commit, and the sort leaves parts of the same commit as they are.
    parts.sort_by_key(|(_, edges)| edges.sequences.first().copied());
    parts
}

fn write(console: &mut Console, batch: &Batch, op: &str, edges: &ListedEdges) -> Result<(), CommandError> {
    let version = batch.names.whole();
    let kind = version.schema().edge_types.get(usize::from(edges.edge_type));
    let edge_type = kind.map_or("", |kind| kind.name.as_str());
    for row in 0..edges.src.len() {
        let [src, dst] = [edges.src[row], edges.dst[row]].map(|id| KeyCell(version.key(id)));
        let line = Line { version: edges.sequences[row], op, src, dst, edge_type };
        console.result(&line, |line| {
            format!("{}\t{}\t{}\t{}\t{}", line.version, line.op, line.src, line.dst, line.edge_type)
        })?;
    }
    Ok(())
}
