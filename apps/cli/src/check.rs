//! `evergraph check`: every checksum and invariant of a store, verified without changing anything.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use crate::console::Console;
use crate::error::CommandError;
use crate::progress::Activity;
use crate::units;

/// What to check.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// The store
    #[arg(value_name = "DB")]
    database: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  evergraph check votes.eg
  evergraph check votes.eg --json | jq .problems

The exit code is 0 if the store is sound and 1 if it is not.";

#[derive(Serialize)]
struct Report {
    healthy: bool,
    version: u64,
    vertices: u64,
    edges: u64,
    segments: u64,
    log_records: u64,
    torn_bytes: u64,
    problems: Vec<Problem>,
    seconds: f64,
}

#[derive(Serialize)]
struct Problem {
    path: PathBuf,
    offset: Option<u64>,
    what: String,
}

/// Runs the command.
pub(crate) fn run(args: &CheckArgs, console: &mut Console) -> Result<(), CommandError> {
    let start = Instant::now();
    let found = {
        let _activity = Activity::new("checking");
        evergraph::check(&args.database)?
    };
    let problems = found.problems.iter().map(|problem| Problem {
        path: problem.path.clone(),
        offset: problem.offset,
        what: problem.what.clone(),
    });
    let report = Report {
        healthy: found.is_healthy(),
        version: found.sequence,
        vertices: found.num_vertices,
        edges: found.num_edges,
        segments: found.segments,
        log_records: found.log_records,
        torn_bytes: found.torn_bytes,
        problems: problems.collect(),
        seconds: start.elapsed().as_secs_f64(),
    };
    console.result(&report, |report| text(args, report))?;
    if report.healthy { Ok(()) } else { Err(CommandError::Reported) }
}

fn text(args: &CheckArgs, report: &Report) -> String {
    let mut text = String::new();
    for problem in &report.problems {
        let offset = problem.offset.map_or(String::new(), |offset| format!(", byte {offset}"));
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}{offset}: {}", problem.path.display(), problem.what);
    }
    let seconds = units::seconds(report.seconds);
    if !report.healthy {
        let problems = units::counted(report.problems.len() as u64, "problem", "problems");
        let _ = write!(text, "{} is damaged, {problems} found in {seconds}", args.database.display());
        return text;
    }
    let _ = write!(
        text,
        "{} is sound: version {}, {}, {}; {} and {} verified in {seconds}",
        args.database.display(),
        report.version,
        units::counted(report.vertices, "vertex", "vertices"),
        units::counted(report.edges, "edge", "edges"),
        units::counted(report.segments, "segment", "segments"),
        units::counted(report.log_records, "log record", "log records"),
    );
    if report.torn_bytes > 0 {
        let torn = units::bytes(report.torn_bytes);
        let _ =
            write!(text, "\n{torn} of a commit that was cut short end the log; the next open removes them");
    }
    text
}
