//! Rust errors as Python exceptions: one class per variant, in one place. The classes are in `evergraph/_errors.py`.
//!
//! Invariant: the message is the one of the Rust error, with keys for ids of vertices; what it names (a file, a line, an offset) is
//! also an attribute of the exception.

use std::fmt::Display;
use std::io;
use std::path::Path;

use evergraph::algorithms::AlgorithmError;
use evergraph::{
    BackupError, ChangesError, Closed, CommitError, Contested, Corruption, DatabaseLoadError, DiskError,
    EvaluateError, EventError, HistoryError, Key, LoadError, NoRoom, OpenError, SchemaError, SchemaPart,
    Snapshot, StreamError, ViewError, WindowError, WriteError, shown,
};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::key::key_to_python;

/// An error that has a place among the Python exceptions.
pub(crate) trait Raise {
    /// The exception.
    fn raise(self, py: Python<'_>) -> PyErr;
}

/// An exception under construction.
struct Raised<'py> {
    py: Python<'py>,
    error: PyErr,
}

impl<'py> Raised<'py> {
    /// The class of this name with this message; should even that fail, the failure.
    fn new(py: Python<'py>, class: &str, message: impl Display) -> Self {
        let build = || -> PyResult<PyErr> {
            let class = py.import("evergraph._errors")?.getattr(class)?;
            Ok(PyErr::from_value(class.call1((message.to_string(),))?))
        };
        Raised { py, error: build().unwrap_or_else(|failure| failure) }
    }

    fn with(self, name: &str, value: impl IntoPyObjectExt<'py>) -> Self {
        let set =
            value.into_bound_py_any(self.py).and_then(|value| self.error.value(self.py).setattr(name, value));
        match set {
            Ok(()) => self,
            Err(error) => Raised { error, ..self },
        }
    }

    fn path(self, path: &Path) -> Self {
        self.with("path", path)
    }

    fn because(self, source: io::Error) -> Self {
        self.error.set_cause(self.py, Some(os_error(self.py, source)));
        self
    }
}

/// An error of the system as Python raises it, with `errno` and the class that belongs to it.
fn os_error(py: Python<'_>, source: io::Error) -> PyErr {
    let Some(code) = source.raw_os_error() else { return source.into() };
    let build = || -> PyResult<PyErr> {
        let text = py.import("os")?.call_method1("strerror", (code,))?;
        Ok(PyErr::from_value(py.get_type::<PyOSError>().call1((code, text))?))
    };
    build().unwrap_or_else(|failure| failure)
}

/// A thing asked for that is not there.
pub(crate) fn not_found(py: Python<'_>, what: impl Display) -> PyErr {
    Raised::new(py, "NotFoundError", what).error
}

/// Use after the end.
pub(crate) fn closed(py: Python<'_>, what: impl Display) -> PyErr {
    Raised::new(py, "ClosedError", what).error
}

impl Raise for PyErr {
    fn raise(self, _: Python<'_>) -> PyErr {
        self
    }
}

impl Raise for Closed {
    fn raise(self, py: Python<'_>) -> PyErr {
        let class = if self == Closed::Forked { "ForkedError" } else { "ClosedError" };
        Raised::new(py, class, self).error
    }
}

impl Raise for SchemaError {
    fn raise(self, py: Python<'_>) -> PyErr {
        Raised::new(py, "SchemaError", self).error
    }
}

impl Raise for WriteError {
    fn raise(self, py: Python<'_>) -> PyErr {
        let class = match &self {
            WriteError::Schema(_) => "SchemaError",
            WriteError::TimedOut => "TransactionTimeoutError",
            WriteError::NoSavepoint => "SavepointError",
            WriteError::Closed(closed) => return closed.raise(py),
            _ => "EvergraphError",
        };
        Raised::new(py, class, self).error
    }
}

impl Raise for CommitError {
    fn raise(self, py: Python<'_>) -> PyErr {
        (&self).raise(py)
    }
}

impl Raise for &CommitError {
    fn raise(self, py: Python<'_>) -> PyErr {
        let class = match self {
            CommitError::Conflict { what, sequence } => return conflict(py, self, what, *sequence),
            CommitError::Schema(_) => "SchemaError",
            CommitError::TimedOut => "TransactionTimeoutError",
            CommitError::NoSavepoint => "SavepointError",
            CommitError::Archive { .. } => "ArchiveError",
            CommitError::Durability { .. } => "DurabilityError",
            CommitError::NotLoaded { .. } => "DiskError",
            CommitError::ReadOnly => "ReadOnlyError",
            CommitError::Closed(closed) => return closed.raise(py),
            _ => "EvergraphError",
        };
        Raised::new(py, class, self).error
    }
}

/// A conflict, with what it is about.
fn conflict(py: Python<'_>, error: &CommitError, what: &Contested, version: u64) -> PyErr {
    let raised = Raised::new(py, "ConflictError", error).with("version", version);
    let key = |key: &Key| key_to_python(py, key.clone());
    let raised = match what {
        Contested::Vertex { key: vertex } => raised.with("kind", "vertex").with("key", key(vertex)),
        Contested::Edge { src, dst, edge_type } => {
            let raised = raised.with("kind", "edge").with("src", key(src)).with("dst", key(dst));
            raised.with("edge_type", edge_type)
        }
        Contested::Edges { key: vertex, edge_type } => {
            let raised = raised.with("kind", "edges").with("key", vertex.as_ref().map(key));
            raised.with("edge_type", edge_type)
        }
        Contested::Schema { parts } => {
            let names: Vec<&str> = parts.iter().filter_map(SchemaPart::name).collect();
            raised.with("kind", "schema").with("names", PyTuple::new(py, names).ok())
        }
        Contested::Item { name } => raised.with("kind", "item").with("names", (name,)),
        _ => raised,
    };
    raised.error
}

impl Raise for HistoryError {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            HistoryError::NotRetained { first, last, .. } => {
                Raised::new(py, "NotRetainedError", &self).with("first", first).with("last", last).error
            }
            HistoryError::Open(error) => error.raise(py),
            HistoryError::Closed(closed) => closed.raise(py),
            other => Raised::new(py, "EvergraphError", other).error,
        }
    }
}

impl Raise for ChangesError {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            ChangesError::Trimmed { first, .. } => {
                Raised::new(py, "NotRetainedError", &self).with("first", first).error
            }
            ChangesError::Ahead { .. } | ChangesError::BadName { .. } => {
                PyValueError::new_err(self.to_string())
            }
            ChangesError::InUse { .. } => Raised::new(py, "LockedError", self).error,
            ChangesError::ReadOnly => Raised::new(py, "ReadOnlyError", self).error,
            ChangesError::Closed(closed) => closed.raise(py),
            ChangesError::Corrupt(corruption) => corruption.raise(py),
            ChangesError::Disk(error) => error.raise(py),
            other => Raised::new(py, "EvergraphError", other).error,
        }
    }
}

impl Raise for StreamError {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            StreamError::BatchSize | StreamError::Stateless => PyValueError::new_err(self.to_string()),
            StreamError::Schema(error) => error.raise(py),
            StreamError::TypesDropped { .. } => Raised::new(py, "SchemaError", self).error,
            StreamError::Changes(error) => error.raise(py),
            StreamError::History(error) => error.raise(py),
            StreamError::Closed(error) => error.raise(py),
            other => Raised::new(py, "EvergraphError", other).error,
        }
    }
}

impl Raise for WindowError {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            WindowError::NotPositive { .. } | WindowError::Invalid { .. } => {
                PyValueError::new_err(self.to_string())
            }
            WindowError::NoTime { .. }
            | WindowError::TimeType { .. }
            | WindowError::TypeChanged { .. }
            | WindowError::PropertyChanged { .. } => Raised::new(py, "SchemaError", self).error,
            WindowError::Schema(error) => error.raise(py),
            WindowError::Changes(error) => error.raise(py),
            WindowError::Closed(error) => error.raise(py),
            other => Raised::new(py, "EvergraphError", other).error,
        }
    }
}

impl Raise for BackupError {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            BackupError::Exists { ref path } => Raised::new(py, "AlreadyExistsError", &self).path(path).error,
            BackupError::Target(error) => error.raise(py),
            BackupError::Inside { ref path, .. } => Raised::new(py, "BackupError", &self).path(path).error,
            BackupError::Failed { .. } | BackupError::Cancelled => Raised::new(py, "BackupError", self).error,
            BackupError::Closed(closed) => closed.raise(py),
            other => Raised::new(py, "EvergraphError", other).error,
        }
    }
}

impl Raise for OpenError {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            OpenError::Corrupt(corruption) => corruption.raise(py),
            OpenError::Schema(error) => error.raise(py),
            OpenError::Disk(error) => error.raise(py),
            OpenError::Locked(DiskError::Locked { ref path, ref holder }) => {
                Raised::new(py, "LockedError", &self).path(path).with("holder", holder).error
            }
            OpenError::NoPath => PyValueError::new_err(self.to_string()),
            OpenError::NotAStore { ref path } | OpenError::NotADirectory { ref path } => {
                Raised::new(py, "NotAStoreError", &self).path(path).error
            }
            OpenError::NotFound { .. } => not_found(py, self),
            OpenError::NewerFormat { ref path, .. } => {
                Raised::new(py, "NewerFormatError", &self).path(path).error
            }
            other => Raised::new(py, "EvergraphError", other).error,
        }
    }
}

impl Raise for Corruption {
    fn raise(self, py: Python<'_>) -> PyErr {
        Raised::new(py, "CorruptionError", &self).path(&self.path).with("offset", self.offset).error
    }
}

impl Raise for DiskError {
    fn raise(self, py: Python<'_>) -> PyErr {
        let raised = Raised::new(py, "DiskError", &self).path(self.path());
        match self {
            DiskError::Io { source, .. } => raised.because(source).error,
            _ => raised.error,
        }
    }
}

impl Raise for LoadError {
    fn raise(self, py: Python<'_>) -> PyErr {
        let raised = Raised::new(py, "LoadError", &self);
        match self {
            LoadError::Line { path, line, column, .. } => {
                raised.path(&path).with("line", line).with("column", column).error
            }
            LoadError::Decompress { path, line, source, .. } => {
                raised.path(&path).with("line", (line > 0).then_some(line)).because(source).error
            }
            LoadError::Open { path, source } => raised.path(&path).because(source).error,
            LoadError::Empty { path }
            | LoadError::MissingColumn { path, .. }
            | LoadError::Unsupported { path, .. }
            | LoadError::Option { path, .. }
            | LoadError::Changed { path, .. }
            | LoadError::Unended { path, .. }
            | LoadError::Cancelled { path } => raised.path(&path).error,
            _ => raised.error,
        }
    }
}

impl Raise for EvaluateError {
    fn raise(self, py: Python<'_>) -> PyErr {
        match &self {
            EvaluateError::Predicate(_) => Raised::new(py, "PredicateError", self).error,
            _ => PyValueError::new_err(self.to_string()),
        }
    }
}

impl Raise for ViewError {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            ViewError::NotFound { .. } | ViewError::NoSuchMember { .. } => not_found(py, self),
            ViewError::Exists { .. } => Raised::new(py, "ViewExistsError", self).error,
            ViewError::Empty | ViewError::Mixed | ViewError::NothingToFreeze | ViewError::BadName { .. } => {
                PyValueError::new_err(self.to_string())
            }
            ViewError::Evaluate(error) => error.raise(py),
            ViewError::Commit(error) => error.raise(py),
            ViewError::Closed(error) => error.raise(py),
            other => Raised::new(py, "EvergraphError", other).error,
        }
    }
}

impl Raise for EventError {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            EventError::InUse { .. } => Raised::new(py, "HandlerInUseError", self).error,
            EventError::BadName { .. } | EventError::Nothing => PyValueError::new_err(self.to_string()),
            EventError::NotRetained { .. } => not_found(py, self),
            EventError::View(error) => error.raise(py),
            EventError::Commit(error) => error.raise(py),
            EventError::Changes(ChangesError::Closed(closed)) | EventError::Closed(closed) => {
                closed.raise(py)
            }
            EventError::Changes(ChangesError::ReadOnly) => Raised::new(py, "ReadOnlyError", self).error,
            EventError::Changes(ChangesError::InUse { .. }) => {
                Raised::new(py, "HandlerInUseError", self).error
            }
            other => Raised::new(py, "EvergraphError", other).error,
        }
    }
}

impl Raise for DatabaseLoadError {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            DatabaseLoadError::Read(error) => error.raise(py),
            DatabaseLoadError::Commit(error) => error.raise(py),
            other => Raised::new(py, "EvergraphError", other).error,
        }
    }
}

impl Raise for NoRoom {
    fn raise(self, _: Python<'_>) -> PyErr {
        PyMemoryError::new_err(self.to_string())
    }
}

/// An error of an algorithm, and the view it ran on: it knows ids, users know keys.
pub(crate) struct InView<'a> {
    pub(crate) error: AlgorithmError,
    pub(crate) view: &'a Snapshot,
}

impl Raise for InView<'_> {
    fn raise(self, py: Python<'_>) -> PyErr {
        let message = self.error.with_keys(self.view);
        let key = |vertex| self.view.key(vertex);
        match self.error {
            AlgorithmError::SourceNotFound { .. } => not_found(py, message),
            AlgorithmError::InvalidArgument { .. }
            | AlgorithmError::UnfitProperty { .. }
            | AlgorithmError::InvalidNumber { .. }
            | AlgorithmError::NegativeWeight { .. }
            | AlgorithmError::ZeroWeight { .. }
            | AlgorithmError::NotFinite { .. }
            | AlgorithmError::NotIndependent { .. } => PyValueError::new_err(message),
            AlgorithmError::NegativeCycle { vertex } | AlgorithmError::Cyclic { vertex } => {
                let raised = Raised::new(py, "CycleError", message);
                raised.with("vertex", key_to_python(py, key(vertex))).error
            }
            AlgorithmError::NoPath { from, to } => {
                let name = |end| key_to_python(py, key(end)).repr().map_or_else(|_| String::new(), shown);
                let what = format!("there is no path from {} to {}", name(from), name(to));
                Raised::new(py, "NoPathError", format!("{what} in version {}", self.view.version())).error
            }
            AlgorithmError::NoRoom(no_room) => no_room.raise(py),
            AlgorithmError::WrongResult(_) => Raised::new(py, "VerifyError", message).error,
            _ => Raised::new(py, "EvergraphError", message).error,
        }
    }
}
