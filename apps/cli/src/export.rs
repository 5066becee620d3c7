//! `evergraph export`: the edges of a store as text, the inverse of `evergraph load`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use evergraph::load::{Format, WriteOptions, write_edges};
use serde::Serialize;

use crate::console::{Console, notice};
use crate::error::CommandError;
use crate::load_values::{FormatArg, delimiter};
use crate::output_file::{OutputFile, extensions};
use crate::progress::Activity;
use crate::store::open_to_read;
use crate::units;

/// What to write, where and how.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportArgs {
    /// The store
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The file to write, compressed if it ends in .gz or .zst; - is standard output
    file: PathBuf,
    /// Only edges of this type; may be repeated [default: all types, with a column that names them]
    #[arg(long = "edge-type", value_name = "TYPE")]
    edge_types: Vec<String>,
    /// How edges are written [default: by the name of the file, else csv]
    #[arg(long, value_enum)]
    format: Option<FormatArg>,
    /// What separates fields [default: a comma in csv, a tab else]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Leave out the line of column names
    #[arg(long)]
    no_header: bool,
    /// Replace a file that is there already
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  evergraph export votes.eg votes.csv
  evergraph export votes.eg votes.txt.gz --format edgelist
  evergraph export bank.eg - --edge-type pays | head

What is written loads back into an equal graph. The file appears under its name when it is complete.";

#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    version: u64,
    edges: u64,
    seconds: f64,
}

/// Runs the command.
pub(crate) fn run(args: &ExportArgs, console: &mut Console) -> Result<(), CommandError> {
    let to_output = args.file == Path::new("-");
    if to_output && console.is_json() {
        return Err(CommandError::Usage("--json reports on a file, and - is none: name a file".to_owned()));
    }
    let snapshot = open_to_read(&args.database)?.snapshot()?;
    let snapshot = match args.edge_types.iter().map(String::as_str).collect::<Vec<_>>() {
        all if all.is_empty() => snapshot,
        names => snapshot.with_edge_types(&names)?,
    };
    let options = WriteOptions {
        format: args.format(),
        delimiter: args.delimiter,
        header: args.no_header.then_some(false),
        ..WriteOptions::default()
    };
    let start = Instant::now();
    let total = evergraph::GraphView::num_edges(&snapshot);
    let activity = Activity::of_steps("exporting", total);
    let mut done = 0;
    let batches = snapshot.edge_batches().inspect(|batch| {
        done += batch.len() as u64;
        activity.set(done);
    });
    let mut file = OutputFile::create(&args.file, args.force)?;
    let edges = write_edges(&mut file, batches, &options)?;
    file.finish()?;
    drop(activity);
    let seconds = start.elapsed().as_secs_f64();
    let report = Report { file: &args.file, version: snapshot.version(), edges, seconds };
    if to_output {
        return Ok(());
    }
    if console.is_json() {
        return console.json(&report);
    }
    notice(format_args!(
        "{} of version {} in {}, {}",
        units::counted(report.edges, "edge", "edges"),
        report.version,
        report.file.display(),
        units::seconds(report.seconds),
    ));
    Ok(())
}

impl ExportArgs {
    fn format(&self) -> Format {
        match self.format {
            Some(format) => format.into(),
            None => match extensions(&self.file).0 {
                "tsv" => Format::Tsv,
                "txt" | "el" | "edges" | "edgelist" => Format::EdgeList,
                _ => Format::Csv,
            },
        }
    }
}
