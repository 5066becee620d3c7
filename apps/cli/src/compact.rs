//! `evergraph compact`: everything in a store, rewritten as one segment.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use evergraph::CommitError;
use serde::Serialize;

use crate::console::Console;
use crate::directory_size::DirectorySize;
use crate::error::CommandError;
use crate::interrupt::Interrupt;
use crate::progress::Activity;
use crate::store::open_to_write;
use crate::units;

/// What to compact.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompactArgs {
    /// The store; no other process may have it open
    #[arg(value_name = "DB")]
    database: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  evergraph compact votes.eg
  evergraph compact votes.eg --json | jq '.bytes_before - .bytes_after'

Each list is brought into one piece, where reading is fastest, and what was deleted or replaced gives its room back; versions \
that the store retains keep theirs. Meanwhile it takes about as much room again. Ctrl-C, or an error such as a full disk, leaves \
all that is in the store as it was. A program that has the store open compacts it itself, by db.compact(), while it goes on.";

#[derive(Serialize)]
struct Report<'a> {
    database: &'a Path,
    version: u64,
    bytes_before: u64,
    bytes_after: u64,
    segments_before: u64,
    segments_after: u64,
    seconds: f64,
}

/// Runs the command.
pub(crate) fn run(args: &CompactArgs, console: &mut Console) -> Result<(), CommandError> {
    let start = Instant::now();
    let path = &args.database;
    let before = DirectorySize::of(path);
    let database = {
        let _activity = Activity::new("opening");
        open_to_write(path)
            .map_err(CommandError::in_use(path, "let that program call db.compact() if it writes"))?
    };
    let segments_before = database.stats().segments;
    let done = {
        let interrupt = Interrupt::listen();
        let activity = Activity::new("compacting").stopped_by(&interrupt);
        database.watched(&activity).compact()
    };
    done.map_err(|error| match error {
        CommitError::Cancelled => CommandError::interrupted(format!("{} is as it was", path.display())),
        error => error.into(),
    })?;
    let stats = database.stats();
    database.close()?;
    let report = Report {
        database: path,
        version: stats.sequence,
        bytes_before: before.bytes,
        bytes_after: DirectorySize::of(path).bytes,
        segments_before,
        segments_after: stats.segments,
        seconds: start.elapsed().as_secs_f64(),
    };
    console.result(&report, text)
}

fn text(report: &Report<'_>) -> String {
    let part = |bytes, segments| {
        format!("{} in {}", units::bytes(bytes), units::counted(segments, "segment", "segments"))
    };
    format!(
        "{}: {} before, {} now; version {}, {}",
        report.database.display(),
        part(report.bytes_before, report.segments_before),
        part(report.bytes_after, report.segments_after),
        report.version,
        units::seconds(report.seconds),
    )
}
