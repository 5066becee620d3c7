//! The command: three acts in a directory of their own, and what to try next.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use tempfile::TempDir;

use super::story::Story;
use super::{kill, messages, votes};
use crate::console::Console;
use crate::error::CommandError;
use crate::units;

/// What is left of the demo.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// Keep the stores and the files they are loaded from here, in a new directory [default: remove them]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  evergraph demo
  evergraph demo --keep demo && evergraph info demo/votes.eg

The graphs are wiki-Vote and CollegeMsg of the Stanford Large Network Dataset Collection
(J. Leskovec, A. Krevl, http://snap.stanford.edu/data). They are part of this program.";

#[derive(Serialize)]
struct Report {
    votes: votes::Report,
    messages: messages::Report,
    kill: kill::Report,
    seconds: f64,
    /// Whether everything is as published, and nothing is lost.
    as_promised: bool,
}

/// Runs the command. `program` starts it again in another process.
pub(crate) fn run(args: &DemoArgs, program: &[OsString], console: &mut Console) -> Result<(), CommandError> {
    let start = Instant::now();
    let stage = Stage::new(args)?;
    let mut story = Story::new(console);
    story.title()?;
    let votes = votes::play(&mut story, stage.path())?;
    let messages = messages::play(&mut story, stage.path())?;
    let kill = kill::play(&mut story, stage.path(), program)?;
    let as_promised = votes.is_as_published() && messages.is_as_published() && kill.nothing_is_lost();
    let report = Report { votes, messages, kill, seconds: start.elapsed().as_secs_f64(), as_promised };
    close(&mut story, args, &report)?;
    if console.is_json() {
        console.json(&report)?;
    }
    if as_promised { Ok(()) } else { Err(CommandError::Reported) }
}

/// Where the stores are made.
enum Stage {
    Temporary(TempDir),
    Kept(PathBuf),
}

impl Stage {
    fn new(args: &DemoArgs) -> Result<Self, CommandError> {
        let Some(path) = &args.keep else {
            let directory = std::env::temp_dir();
            let created = TempDir::with_prefix_in("evergraph-demo-", &directory);
            return Ok(Stage::Temporary(created.map_err(CommandError::file(&directory))?));
        };
        std::fs::create_dir(path).map_err(CommandError::file(path))?;
        Ok(Stage::Kept(path.clone()))
    }

    fn path(&self) -> &Path {
        match self {
            Stage::Temporary(directory) => directory.path(),
            Stage::Kept(path) => path,
        }
    }
}

fn close(story: &mut Story, args: &DemoArgs, report: &Report) -> Result<(), CommandError> {
    let verdict = if report.as_promised { "All as promised" } else { "NOT as promised" };
    story.heading(&format!("{verdict}, in {}.", units::seconds(report.seconds)))?;
    story.heading("What to try next")?;
    let directory = args.keep.clone().unwrap_or_else(|| PathBuf::from("demo"));
    if args.keep.is_none() {
        suggest(story, "evergraph demo --keep demo", "the same, and the stores stay in ./demo")?;
    }
    let pagerank = format!("evergraph run pagerank {} --top 5", directory.join("votes.eg").display());
    suggest(story, &pagerank, "an algorithm on what was loaded")?;
    suggest(story, "evergraph load my.eg edges.csv", "your own edges: SNAP, CSV or TSV, .gz or .zst")?;
    suggest(story, "evergraph bench --scale 16", "against a graph that never changes")?;
    suggest(story, "python -c 'import evergraph as eg; help(eg)'", "all of it from Python")
}

fn suggest(story: &mut Story, command: &str, what: &str) -> Result<(), CommandError> {
    story.say(format_args!("{command:<46} {what}"))
}
