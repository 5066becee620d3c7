//! `evergraph backup`: the newest version of a store, written as a store of its own.
//!
//! Invariant: a backup that does not come to its end takes away the directory that it has made.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use evergraph::BackupError;
use serde::Serialize;

use crate::console::Console;
use crate::directory_size::DirectorySize;
use crate::error::CommandError;
use crate::interrupt::Interrupt;
use crate::progress::Activity;
use crate::store::open_to_read;
use crate::units;

/// What to copy, and where to.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BackupArgs {
    /// The store; other processes may read it meanwhile, and none may write
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The copy: a directory that is absent or empty
    #[arg(value_name = "DEST")]
    destination: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  evergraph backup votes.eg copy.eg && evergraph check copy.eg
  evergraph backup votes.eg backups/votes-$(date +%F).eg
  evergraph backup votes.eg copy.eg --json | jq .version

The copy is a store like any other: compact, durable when the command is done, with the newest version and no history. The store it is \
of is only read. Ctrl-C, or an error such as a full disk, leaves no copy. A program that has the store open to write takes \
backups itself, by db.backup(path), while it goes on.";

#[derive(Serialize)]
struct Report<'a> {
    database: &'a Path,
    backup: &'a Path,
    version: u64,
    vertices: u64,
    edges: u64,
    bytes: u64,
    files: u64,
    seconds: f64,
}

/// Runs the command.
pub(crate) fn run(args: &BackupArgs, console: &mut Console) -> Result<(), CommandError> {
    let start = Instant::now();
    let (path, destination) = (&args.database, &args.destination);
    let database = {
        let _activity = Activity::new("opening");
        open_to_read(path).map_err(CommandError::in_use(path, "let that program call db.backup(path)"))?
    };
    let stats = database.stats();
    let was_there = destination.symlink_metadata().is_ok();
    let done = {
        let interrupt = Interrupt::listen();
        let activity = Activity::new("copying").stopped_by(&interrupt);
        database.watched(&activity).backup(destination)
    };
    if matches!(done, Err(BackupError::Cancelled | BackupError::Failed { .. })) && !was_there {
        remove_unfinished(destination);
    }
    let version = done.map_err(|error| match error {
        BackupError::Cancelled => {
            CommandError::interrupted(format!("there is no backup in {}", destination.display()))
        }
        error => error.into(),
    })?;
    database.close()?;
    let size = DirectorySize::of(destination);
    let report = Report {
        database: path,
        backup: destination,
        version,
        vertices: stats.num_vertices,
        edges: stats.num_edges,
        bytes: size.bytes,
        files: size.files,
        seconds: start.elapsed().as_secs_f64(),
    };
    console.result(&report, text)
}

/// Takes away what a backup has left of a directory: one for its lists, empty, and the lock. If there is more, it stays.
fn remove_unfinished(destination: &Path) {
    if !destination.join("MANIFEST").exists() && fs::remove_dir(destination.join("segments")).is_ok() {
        // An empty directory does no harm.
        let _ = fs::remove_file(destination.join("LOCK")).and_then(|()| fs::remove_dir(destination));
    }
}

fn text(report: &Report<'_>) -> String {
    format!(
        "{}: version {} of {}, {}, {}; {} in {}, {}",
        report.backup.display(),
        report.version,
        report.database.display(),
        units::counted(report.vertices, "vertex", "vertices"),
        units::counted(report.edges, "edge", "edges"),
        units::bytes(report.bytes),
        units::counted(report.files, "file", "files"),
        units::seconds(report.seconds),
    )
}
