//! `evergraph export`: the edges of a store as text, the inverse of `evergraph load`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use evergraph::load::{Format, NamedFormat, WriteOptions, write_edges};
use evergraph::{GraphView, KeyKind, Snapshot};
use serde::Serialize;

use crate::console::{Console, notice};
use crate::error::CommandError;
use crate::load_values::{FormatArg, delimiter};
use crate::output_file::{OutputFile, named};
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

Edges are written, each with its properties; of vertices only the keys of those that have edges. The file appears under its name \
when it is complete.

Formats, by the ending of the name: csv (.csv, and what has no other), tsv (.tsv, .tab), edgelist (.txt, .el, .edges, .edgelist).
  csv, tsv  keep the names of properties, their values, and which edges have none
  edgelist  keeps values that are there and without blanks, and fails at others; where keys are
            numbers it keeps the names of properties: else --properties of evergraph load gives them

What evergraph load makes of the file is one edge type, called as --edge-type says; several that were written together differ by the \
property type. It is simple and directed, so that parallel edges become one: --multi, --symmetric and --time make it what it was. Types \
of properties are found by their values (dates become timestamps), and so is the kind of keys: --properties and --keys fix them. \
Vertices without edges, and types and properties of vertices, are not written.";

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
    let format = args.format()?;
    let snapshot = open_to_read(&args.database)?.snapshot()?;
    let snapshot = match args.edge_types.iter().map(String::as_str).collect::<Vec<_>>() {
        all if all.is_empty() => snapshot,
        names => snapshot.with_edge_types(&names)?,
    };
    let options = WriteOptions {
        format,
        delimiter: args.delimiter,
        header: args.header(&snapshot, format),
        ..WriteOptions::default()
    };
    let start = Instant::now();
    let total = snapshot.num_edges();
    let activity = Activity::of_steps("exporting", total);
    let mut done = 0;
    let batches = snapshot.edge_batches().inspect(|batch| {
        done += batch.len() as u64;
        activity.set(done);
    });
    let mut file = OutputFile::create(&args.file, args.force)?;
    let named = named(&args.file);
    let edges = write_edges(&mut file, batches, &options).map_err(|error| named(error.into()))?;
    file.finish().map_err(named)?;
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
    fn format(&self) -> Result<Format, CommandError> {
        match (self.format, NamedFormat::of(&self.file)) {
            (Some(format), _) => Ok(format.into()),
            (None, NamedFormat::Edges(format)) => Ok(format),
            (None, NamedFormat::Foreign(what)) => Err(CommandError::Usage(format!(
                "{}: {what} is not written here: name a file that ends in .csv, .tsv or .txt, or say --format",
                self.file.display()
            ))),
            (None, NamedFormat::Unknown) => Ok(Format::Csv),
        }
    }

    /// Whether there is a line of column names, where it is not as usual. An edge list has one if it says more than the first
    /// edge does and a load knows it for what it is: it does where keys are numbers and names are words.
    fn header(&self, snapshot: &Snapshot, format: Format) -> Option<bool> {
        if self.no_header {
            return Some(false);
        }
        let types = snapshot.edge_types();
        let kinds = types.iter().filter_map(|name| snapshot.schema().edge_type(name));
        let mut names = kinds.flat_map(|(_, kind)| kind.properties()).map(|(_, it)| it.name.as_str());
        let has_columns = types.len() > 1 || names.clone().next().is_some();
        let is_word = |name: &str| {
            name.starts_with(|first: char| first.is_ascii_alphabetic())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && !["true", "false", "nan", "inf", "infinity"].contains(&name.to_ascii_lowercase().as_str())
        };
        let are_numbers = snapshot.schema().key_kind.is_some_and(|kind| kind != KeyKind::Text);
        (format == Format::EdgeList
            && has_columns
            && are_numbers
            && snapshot.num_edges() > 0
            && names.all(is_word))
        .then_some(true)
    }
}
