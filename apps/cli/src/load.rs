//! `evergraph load`: text files of edges into a store, each file as one transaction.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use evergraph::load::{ColumnRef, LoadError, LoadOptions, OnError, Reject};
use evergraph::{
    CommitError, Database, DatabaseLoadError, EdgeTypeOptions, LoadReport, LoadRequest, Options,
};
use serde::Serialize;

use crate::allocator::give_back_at_once;
use crate::console::{Console, notice};
use crate::error::CommandError;
use crate::interrupt::Interrupt;
use crate::load_values::{
    DurabilityArg, FormatArg, KeysArg, ListFormatArg, OnErrorArg, PropertiesArg, column, delimiter,
    properties,
};
use crate::progress::Activity;
use crate::units;

/// What to load, and how to read it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LoadArgs {
    /// The store; created if absent
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// SNAP edge lists, CSV or TSV, plain or compressed with gzip or zstd
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The type of the edges
    #[arg(long, value_name = "NAME", default_value = "edge")]
    edge_type: String,
    /// The column of source keys, by name or position from 0 [default: src, source or from, else 0]
    #[arg(long, value_name = "COLUMN", value_parser = column)]
    src: Option<ColumnRef>,
    /// The column of destination keys [default: dst, target or to, else 1]
    #[arg(long, value_name = "COLUMN", value_parser = column)]
    dst: Option<ColumnRef>,
    /// The property columns, each as [NAME=]COLUMN[:TYPE] and commas between, or none
    /// [default: all others of a file with a header; the types by the values]
    #[arg(long, value_name = "LIST", value_parser = properties)]
    properties: Option<PropertiesArg>,
    /// The kind of vertex keys; dense numbers are used as ids as they are [default: by the values]
    #[arg(long, value_enum)]
    keys: Option<KeysArg>,
    /// The format of the files [default: by name and first line]
    #[arg(long, value_enum)]
    format: Option<FormatArg>,
    /// What separates fields, \t for a tab [default: by the first line]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// The first line names the columns
    #[arg(long, overrides_with = "no_header")]
    header: bool,
    /// The first line is an edge
    #[arg(long)]
    no_header: bool,
    /// What to do with a line that is no edge
    #[arg(long, value_enum, default_value = "raise")]
    on_error: OnErrorArg,
    /// Create the edge type with edges that hold in both directions
    #[arg(long)]
    symmetric: bool,
    /// Create the edge type with every line an edge of its own, repeated ones too
    #[arg(long)]
    multi: bool,
    /// Create the edge type with edges that are events, this property their time
    #[arg(long, value_name = "PROPERTY")]
    time: Option<String>,
    /// Go on where an earlier load of the file was interrupted: commit it in parts, each with the place it has come to
    #[arg(long)]
    resume: bool,
    /// With --resume, commit about every so many megabytes of the file, each time writing anew the lists that are added to
    /// [default: a sixteenth of it, at least 256]
    #[arg(long, value_name = "MB", requires = "resume", value_parser = clap::value_parser!(u64).range(1..))]
    part: Option<u64>,
    /// Write edges to files of the store on the way whenever they take more memory than this, in megabytes
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..))]
    memory_limit: Option<u64>,
    /// When a load is done
    #[arg(long, value_enum, default_value = "sync")]
    durability: DurabilityArg,
    /// How neighbor lists are kept, from now on; a new store is fast
    #[arg(long, value_enum)]
    list_format: Option<ListFormatArg>,
}

const EXAMPLES: &str = "\
Examples:
  evergraph load votes.eg wiki-Vote.txt.gz
  evergraph load bank.eg payments.csv --edge-type pays --src payer --dst payee
  evergraph load chat.eg CollegeMsg.txt --multi --properties at=2:int64 --time at
  evergraph load roads.eg part-*.tsv --symmetric --on-error skip

Each file is one transaction: it is loaded as a whole or, if it fails or the command is killed, not at all; with --resume it is \
several, and the same command again goes on behind the last of them. A file that was changed before that place is refused. The edge \
type is made by the first file; --symmetric, --multi and --time say how. A store that is not there is made, and if nothing is \
loaded it is taken away again.";

#[derive(Serialize)]
struct Report<'a> {
    database: &'a Path,
    edges: u64,
    vertices: u64,
    rejected: u64,
    version: u64,
    seconds: f64,
    files: Vec<FileReport<'a>>,
}

#[derive(Serialize)]
struct FileReport<'a> {
    file: &'a Path,
    edges: u64,
    vertices: u64,
    lines: u64,
    resumed_lines: u64,
    rejected: u64,
    rejects: Vec<RejectReport>,
    version: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct RejectReport {
    line: u64,
    column: u32,
    reason: String,
    text: String,
}

/// Runs the command.
pub(crate) fn run(args: &LoadArgs, console: &mut Console) -> Result<(), CommandError> {
    // A mistyped name is to leave no store behind.
    for file in &args.files {
        std::fs::metadata(file).map_err(CommandError::file(file))?;
    }
    let options = Options {
        durability: args.durability.into(),
        keys: args.keys.map(Into::into),
        format: args.list_format.map(Into::into),
        memory_limit_bytes: args.memory_limit.map(|megabytes| megabytes << 20),
        ..Options::default()
    };
    if args.memory_limit.is_some() {
        give_back_at_once();
    }
    let interrupt = Interrupt::listen();
    let was_there = args.database.exists();
    let database = Database::open(&args.database, options)?;
    let files = load_all(args, &database, &interrupt, console).inspect_err(|_| {
        if !was_there {
            remove_unused(&args.database, &database);
        }
    })?;
    database.close()?;
    if !console.is_json() {
        return Ok(());
    }
    console.json(&Report {
        database: &args.database,
        edges: files.iter().map(|file| file.edges).sum(),
        vertices: files.iter().map(|file| file.vertices).sum(),
        rejected: files.iter().map(|file| file.rejected).sum(),
        version: files.last().map_or(0, |file| file.version),
        seconds: files.iter().map(|file| file.seconds).sum(),
        files,
    })
}

/// Loads one file after the other, and tells of each.
fn load_all<'a>(
    args: &'a LoadArgs,
    database: &Database,
    interrupt: &Interrupt,
    console: &mut Console,
) -> Result<Vec<FileReport<'a>>, CommandError> {
    let request = args.request();
    let mut files = Vec::new();
    for file in &args.files {
        let loaded = {
            let activity = Activity::of_shares(file.display().to_string()).stopped_by(interrupt);
            database.load(file, &request, &activity).map_err(|error| match error {
                DatabaseLoadError::Read(LoadError::Cancelled { .. })
                | DatabaseLoadError::Commit(CommitError::Cancelled) => args.interrupted(file),
                error => error.into(),
            })?
        };
        let report = FileReport::new(file, loaded);
        if !console.is_json() {
            report.tell(console)?;
        }
        files.push(report);
    }
    Ok(files)
}

/// Takes a store away that this command has made and nothing was committed to. Its lock is held still, so that nobody else
/// has it, and it goes by another name first, so that nobody opens what is left of it.
fn remove_unused(path: &Path, database: &Database) {
    if database.stats().sequence > 0 {
        return;
    }
    let mut aside = OsString::from(path.as_os_str());
    aside.push(format!(".unused-{}", std::process::id()));
    // If that fails there is an empty store, which does no harm.
    let _ = std::fs::rename(path, &aside).and_then(|()| std::fs::remove_dir_all(&aside));
}

impl LoadArgs {
    /// What is told if a signal stops the load of a file.
    fn interrupted(&self, file: &Path) -> CommandError {
        let (file, database) = (file.display(), self.database.display());
        CommandError::interrupted(match self.resume {
            true => {
                format!("{database} has what was committed of {file}; the same command goes on behind it")
            }
            false => format!("nothing of {file} is in {database}"),
        })
    }

    fn request(&self) -> LoadRequest {
        let properties = self.properties.as_ref().map(|list| list.0.clone());
        let options = LoadOptions {
            format: self.format.map(Into::into),
            delimiter: self.delimiter,
            header: match (self.header, self.no_header) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            src: self.src.clone(),
            dst: self.dst.clone(),
            properties,
            keys: self.keys.map(Into::into),
            on_error: match self.on_error {
                OnErrorArg::Raise => OnError::Raise,
                OnErrorArg::Skip => OnError::Skip,
            },
            ..LoadOptions::default()
        };
        let (multi, symmetric, time) = (self.multi, self.symmetric, self.time.clone());
        let is_plain = !multi && !symmetric && time.is_none();
        let create =
            (!is_plain).then(|| EdgeTypeOptions { multi, symmetric, time, ..EdgeTypeOptions::default() });
        let part_bytes = self.part.map(|megabytes| megabytes << 20);
        LoadRequest { edge_type: self.edge_type.clone(), options, create, resume: self.resume, part_bytes }
    }
}

impl<'a> FileReport<'a> {
    fn new(file: &'a Path, loaded: LoadReport) -> Self {
        FileReport {
            file,
            edges: loaded.edges,
            vertices: loaded.vertices,
            lines: loaded.lines,
            resumed_lines: loaded.resumed_lines,
            rejected: loaded.rejects.count,
            rejects: loaded.rejects.kept.into_iter().map(RejectReport::from).collect(),
            version: loaded.sequence,
            seconds: loaded.seconds,
        }
    }

    fn tell(&self, console: &mut Console) -> Result<(), CommandError> {
        const SHOWN: usize = 10;
        for reject in self.rejects.iter().take(SHOWN) {
            let RejectReport { line, column, reason, text } = reject;
            notice(format_args!("{}:{line}:{column}: {reason}, in {text:?}", self.file.display()));
        }
        let rejected = match self.rejected {
            0 => String::new(),
            count => format!(", {} left out", units::counted(count, "line", "lines")),
        };
        let resumed = match self.resumed_lines {
            0 => String::new(),
            lines => format!(", {} loaded before", units::count(lines)),
        };
        console.line_now(format_args!(
            "{}: {} and {} new, {}{resumed}{rejected}; version {}, {}",
            self.file.display(),
            units::counted(self.edges, "edge", "edges"),
            units::counted(self.vertices, "vertex", "vertices"),
            units::counted(self.lines, "line", "lines"),
            self.version,
            units::seconds(self.seconds),
        ))
    }
}

impl From<Reject> for RejectReport {
    fn from(reject: Reject) -> Self {
        let Reject { line, column, reason, text } = reject;
        RejectReport { line, column, reason, text }
    }
}
