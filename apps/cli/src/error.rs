//! Why a command ends without doing what was asked, and the exit code that says so.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | the data says no: a file, a store or a result is not what it should be |
//! | 2 | wrong usage: the command line makes no sense, whatever the data |
//! | 130 | Ctrl-C, or another signal (128 and its number), has stopped it |

use std::io;
use std::path::{Path, PathBuf};

use evergraph::algorithms::AlgorithmError;
use evergraph::generate::{ModelError, WriteError};
use evergraph::load::{ExportError, LoadError};
use evergraph::{BackupError, DatabaseLoadError, DiskError, OpenError, ViewError, WindowError};
use evergraph_yardstick::{GraphError, ParseError};
use thiserror::Error;

use crate::interrupt;

/// The exit code when all went well.
pub(crate) const DONE: i32 = 0;
/// The exit code when the data says no.
pub(crate) const NO: i32 = 1;
/// The exit code for wrong usage.
pub(crate) const WRONG_USAGE: i32 = 2;
/// The exit code of what a signal has stopped, less its number, as of what it has killed.
const STOPPED: i32 = 128;

/// The end of a command that was not done.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    /// Arguments that clap cannot judge.
    #[error("{0}")]
    Usage(String),
    /// The parameters of a random graph make none.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The store did not open.
    #[error(transparent)]
    Open(#[from] evergraph::OpenError),
    /// Another process has the store open, which can do this itself.
    #[error("{path} is open in {holder}; close it there, or {instead}", path = path.display())]
    InUse {
        /// The store.
        path: PathBuf,
        /// The process.
        holder: String,
        /// What to do there.
        instead: &'static str,
    },
    /// A store could not be copied.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// A signal has stopped it.
    #[error("stopped: {left}")]
    Interrupted {
        /// Which.
        signal: i32,
        /// What there is now.
        left: String,
    },
    /// A commit was refused.
    #[error(transparent)]
    Commit(#[from] evergraph::CommitError),
    /// A window could not be opened or advanced, or the log not followed.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// The store was closed.
    #[error(transparent)]
    Closed(#[from] evergraph::Closed),
    /// A name or value does not fit the store's schema.
    #[error(transparent)]
    Schema(#[from] evergraph::SchemaError),
    /// A version is not kept.
    #[error(transparent)]
    History(#[from] evergraph::HistoryError),
    /// Two snapshots cannot be compared.
    #[error(transparent)]
    Difference(#[from] evergraph::DiffError),
    /// The commits could not be followed.
    #[error(transparent)]
    Stream(#[from] evergraph::StreamError),
    /// A view could not be used.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A handler could not be put to work.
    #[error(transparent)]
    Event(#[from] evergraph::EventError),
    /// A store that is measured beside Evergraph failed, or answered otherwise.
    #[error("{0}")]
    Rival(String),
    /// A file could not be loaded.
    #[error(transparent)]
    Load(#[from] DatabaseLoadError),
    /// A file could not be read as edges.
    #[error(transparent)]
    Read(#[from] LoadError),
    /// Edges could not be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A random graph could not be written.
    #[error(transparent)]
    Generate(#[from] WriteError),
    /// An algorithm gave no result.
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    /// The same on a graph whose keys users know.
    #[error("{message}")]
    InGraph {
        /// Why.
        error: AlgorithmError,
        /// The message, with keys.
        message: String,
    },
    /// The yardstick cannot read the benchmark's file.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The yardstick cannot hold the benchmark's graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// There is no vertex of this key.
    #[error("there is no vertex {key} in this graph; `evergraph export` lists the edges with their keys")]
    NoVertex {
        /// The key as it was given.
        key: String,
    },
    /// A file or directory could not be used.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Writing over a file was not asked for.
    #[error("{path} exists already; name another file, or add --force to replace it", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A kill proved nothing, or that something is lost.
    #[error(transparent)]
    Crash(#[from] crate::crash::CrashError),
    /// Standard output failed.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// What is wrong is part of the output.
    #[error("see the report")]
    Reported,
}

impl CommandError {
    /// A file or directory that could not be used.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| CommandError::File { path, source }
    }

    /// What a store that another process has open makes of opening it, if that process can do what was asked for.
    pub(crate) fn in_use(path: &Path, instead: &'static str) -> impl FnOnce(Self) -> Self {
        let path = path.to_owned();
        move |error| match error {
            CommandError::Open(OpenError::Locked(DiskError::Locked { holder, .. })) => {
                CommandError::InUse { path, holder, instead }
            }
            error => error,
        }
    }

    /// Something that a signal has stopped.
    pub(crate) fn interrupted(left: String) -> Self {
        CommandError::Interrupted { signal: interrupt::heard().unwrap_or(libc::SIGINT), left }
    }

    /// The exit code.
    pub(crate) fn exit_code(&self) -> i32 {
        match self {
            CommandError::Usage(_)
            | CommandError::Model(_)
            | CommandError::Backup(BackupError::Inside { .. })
            | CommandError::Window(WindowError::NotPositive { .. } | WindowError::Invalid { .. })
            | CommandError::View(
                ViewError::Empty | ViewError::Mixed | ViewError::NothingToFreeze | ViewError::BadName { .. },
            ) => WRONG_USAGE,
            // That the graph has no such property says nothing of the command line.
            CommandError::Algorithm(error) | CommandError::InGraph { error, .. } => match error {
                AlgorithmError::InvalidArgument { .. } | AlgorithmError::InvalidNumber { .. } => WRONG_USAGE,
                _ => NO,
            },
            CommandError::Interrupted { signal, .. } => STOPPED + signal,
            _ if self.is_closed_pipe() => DONE,
            _ => NO,
        }
    }

    /// The message, with the names of options where the library has those of arguments.
    pub(crate) fn message(&self) -> String {
        const OPTIONS: [(&str, &str); 8] = [
            ("on_error=\"skip\"", "--on-error skip"),
            ("keys=\"", "--keys \""),
            ("leave keys out", "leave --keys out"),
            // Whoever made it has removed it.
            ("the backup was not finished, remove its directory", "the backup was not finished"),
            ("opening it to write makes one", "evergraph load makes one"),
            (
                "create it with time=, or slide over the order of ingest",
                "load it with --time, or slide by --order ingest",
            ),
            (
                "open the store with retain= to keep more of what is to come",
                "how much is kept, the program says that opens the store to write (retain)",
            ),
            (
                "begin anew from a snapshot, and open the store with a longer retain= for slow readers",
                "leave --from out to begin with what is there",
            ),
        ];
        if let CommandError::Load(DatabaseLoadError::Read(LoadError::Option { path, option, reason })) = self
        {
            return format!("{}: --{option}: {reason}", path.display());
        }
        let mut message = self.to_string();
        if let Some(advice) = message.find(". create_edge_type(") {
            message.replace_range(advice.., "; evergraph info lists them");
        }
        OPTIONS.iter().fold(message, |message, (argument, option)| message.replace(argument, option))
    }

    /// Whether there is something to say that was not said.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, CommandError::Reported) || self.is_closed_pipe()
    }

    /// Whether the reader of standard output has gone, which is its right.
    fn is_closed_pipe(&self) -> bool {
        let error = match self {
            CommandError::Output(error) | CommandError::Export(ExportError::Write(error)) => error,
            CommandError::Generate(WriteError::Write { source, .. }) => source,
            _ => return false,
        };
        error.kind() == io::ErrorKind::BrokenPipe
    }
}
