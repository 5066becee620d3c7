//! A database as Python holds it, and how it is opened and checked.

use std::path::PathBuf;

use evergraph::algorithms::Control;
use evergraph::{
    At, Database as Inner, Durability, ListFormat, Options, PropertyType, Retain, StreamOptions, ViewRequest,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::column::{batch_of, ends_of};
use crate::events::status_to_python;
use crate::gate::{duration, enter, enter_interruptibly, enter_writing};
use crate::history::Stream;
use crate::incremental::Incremental;
use crate::key::key_of;
use crate::load::{LoadReport, load_request};
use crate::progress::Told;
use crate::schema::{
    Described, alteration_of, described, edge_type_options, key_kind, kind_in, vertex_properties,
};
use crate::snapshot::Snapshot;
use crate::stats::{report_to_python, stats_to_python};
use crate::transaction::{Transaction, transaction_options};
use crate::value::{borrowed, properties_of};
use crate::view::View;
use crate::window::{Window, WindowArguments};

/// Batches of so many edges are committed on a thread of their own, while this one listens for Ctrl-C; others are done
/// before it would be heard.
const INTERRUPTIBLE_ROWS: usize = 1 << 18;

/// An open store.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Database {
    inner: Inner,
}

/// Opens the store in a directory, or a new one in memory.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn open(
    py: Python<'_>,
    path: Option<PathBuf>,
    modes: (bool, bool),
    durability: &str,
    keys: Option<&str>,
    memory_limit_bytes: Option<u64>,
    retain: Option<&str>,
    format: Option<&str>,
) -> PyResult<Database> {
    let (read_only, strict) = modes;
    let durability = Durability::from_name(durability).ok_or_else(|| {
        PyValueError::new_err(format!(
            "durability: {durability:?} is none of \"sync\", \"interval\", \"none\""
        ))
    })?;
    let keys = keys.map(key_kind).transpose()?;
    let format = format
        .map(|name| {
            let message = || format!("format: {name:?} is none of \"fast\", \"compact\"");
            ListFormat::from_name(name).ok_or_else(|| PyValueError::new_err(message()))
        })
        .transpose()?;
    let retain = retain.map(|text| {
        Retain::from_text(text).ok_or_else(|| {
            PyValueError::new_err(format!(
                "retain: {text:?} is no number of versions, no time such as \"7d\", and neither \"all\" nor \"none\""
            ))
        })
    });
    let retain = retain.transpose()?;
    let options = Options {
        retain,
        format,
        durability,
        read_only,
        strict,
        keys,
        memory_limit_bytes,
        ..Options::default()
    };
    let inner = match path {
        Some(path) => enter_interruptibly(py, None, |_| Inner::open(path, options))?,
        None if read_only => {
            return Err(PyValueError::new_err("a new graph in memory cannot be read-only: name a path"));
        }
        None => Inner::in_memory(options),
    };
    Ok(Database { inner })
}

/// Counts of edges and vertices that a batch changed, and its commit.
fn summary(inner: evergraph::BatchSummary) -> (u64, u64, u64) {
    (inner.edges, inner.vertices, inner.sequence)
}

impl Database {
    fn kind_in(&self, edge_type: Option<&str>, name: &str) -> Option<PropertyType> {
        kind_in(self.inner.version().ok()?.schema(), edge_type, name)
    }
}

#[pymethods]
impl Database {
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.inner.path().map(PathBuf::from)
    }

    #[getter]
    fn is_read_only(&self) -> bool {
        self.inner.is_read_only()
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.inner.usable().is_err()
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        enter(py, || self.inner.close())
    }

    fn begin(&self, py: Python<'_>, isolation: &str, timeout_seconds: Option<f64>) -> PyResult<Transaction> {
        let options = transaction_options(isolation, timeout_seconds)?;
        enter(py, || self.inner.begin_with(options)).map(Transaction::new)
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        // Takes less time than letting go of the interpreter would.
        self.inner.snapshot().map(Snapshot::new).map_err(|error| crate::error::Raise::raise(error, py))
    }

    /// The graph at a version, or at a time in microseconds.
    fn snapshot_at(
        &self,
        py: Python<'_>,
        version: Option<u64>,
        time_micros: Option<i64>,
    ) -> PyResult<Snapshot> {
        let at = match (version, time_micros) {
            (Some(version), _) => At::Commit(version),
            (None, micros) => At::Time(micros.unwrap_or(i64::MAX)),
        };
        enter_interruptibly(py, None, |_| self.inner.snapshot_at(at)).map(Snapshot::new)
    }

    /// The graph as far as it is archived.
    fn archived_snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        let version = enter_interruptibly(py, None, |_| self.inner.archived_version())?;
        Ok(Snapshot::new(evergraph::Snapshot::new(version)))
    }

    /// Which versions there are: (first, time of the first, last).
    fn retained<'py>(&self, py: Python<'py>) -> PyResult<(u64, Bound<'py, PyAny>, u64)> {
        let retained = enter(py, || self.inner.usable().map(|()| self.inner.retained()))?;
        Ok((retained.first, crate::value::time_to_python(py, retained.first_time_micros)?, retained.last))
    }

    #[expect(clippy::too_many_arguments, reason = "one for each of Python")]
    fn stream(
        &self,
        py: Python<'_>,
        edge_types: Option<Vec<String>>,
        batch_size: usize,
        every_seconds: Option<f64>,
        stateful: bool,
        after: Option<u64>,
        name: Option<String>,
    ) -> PyResult<Stream> {
        let every = every_seconds.map(duration);
        let options = StreamOptions { edge_types, batch_size, every, is_stateful: stateful, after, name };
        enter(py, || self.inner.stream(options)).map(Stream::new)
    }

    /// The durable cursors: (name, last version acknowledged).
    fn cursors(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        enter(py, || self.inner.usable().map(|()| self.inner.cursors()))
    }

    fn drop_cursor(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        enter(py, || self.inner.drop_cursor(name))
    }

    fn window(&self, py: Python<'_>, arguments: WindowArguments) -> PyResult<Window> {
        Window::open(py, &self.inner, arguments)
    }

    fn follow(
        &self,
        edge_type: Option<&str>,
        name: &str,
        arguments: &Bound<'_, PyDict>,
    ) -> PyResult<Incremental> {
        Incremental::of_database(&self.inner, edge_type, name, arguments)
    }

    fn put_vertex(
        &self,
        key: &Bound<'_, PyAny>,
        vertex_type: Option<&str>,
        properties: &Bound<'_, PyDict>,
    ) -> PyResult<u64> {
        let key_ref = key_of(key)?;
        let properties = properties_of(properties, "vertex", |name| self.kind_in(None, name))?;
        enter(key.py(), || self.inner.put_vertex(key_ref, vertex_type, &borrowed(&properties)))
    }

    fn delete_vertex(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key_ref = key_of(key)?;
        enter(key.py(), || self.inner.delete_vertex(key_ref))
    }

    fn put_edge(
        &self,
        src: &Bound<'_, PyAny>,
        dst: &Bound<'_, PyAny>,
        edge_type: &str,
        properties: &Bound<'_, PyDict>,
    ) -> PyResult<u64> {
        let (src_ref, dst_ref) = (key_of(src)?, key_of(dst)?);
        let properties = properties_of(properties, edge_type, |name| self.kind_in(Some(edge_type), name))?;
        enter(src.py(), || self.inner.put_edge(src_ref, dst_ref, edge_type, &borrowed(&properties)))
    }

    fn delete_edge(&self, src: &Bound<'_, PyAny>, dst: &Bound<'_, PyAny>, edge_type: &str) -> PyResult<bool> {
        let (src_ref, dst_ref) = (key_of(src)?, key_of(dst)?);
        enter(src.py(), || self.inner.delete_edge(src_ref, dst_ref, edge_type))
    }

    /// Gives (edges added, vertices added, version).
    fn add_edges(
        &self,
        src: &Bound<'_, PyAny>,
        dst: &Bound<'_, PyAny>,
        edge_type: &str,
        columns: &Bound<'_, PyDict>,
    ) -> PyResult<(u64, u64, u64)> {
        let snapshot = enter(src.py(), || self.inner.snapshot())?;
        let owner = snapshot.schema().edge_type(edge_type).map(|(_, owner)| owner);
        let batch = batch_of(src, dst, columns, (edge_type, owner), self.inner.is_strict())?;
        match batch.len() {
            ..INTERRUPTIBLE_ROWS => enter(src.py(), || self.inner.add_edges(edge_type, vec![batch])),
            _ => enter_writing(src.py(), None, |control| {
                self.inner.watched(&Told(control)).add_edges(edge_type, vec![batch])
            }),
        }
        .map(summary)
    }

    /// Gives (edges deleted, 0, version).
    fn delete_edges(
        &self,
        src: &Bound<'_, PyAny>,
        dst: &Bound<'_, PyAny>,
        edge_type: &str,
    ) -> PyResult<(u64, u64, u64)> {
        let batch = ends_of(src, dst)?;
        match batch.len() {
            ..INTERRUPTIBLE_ROWS => enter(src.py(), || self.inner.delete_edges(edge_type, vec![batch])),
            _ => enter_writing(src.py(), None, |control| {
                self.inner.watched(&Told(control)).delete_edges(edge_type, vec![batch])
            }),
        }
        .map(summary)
    }

    fn create_edge_type(
        &self,
        py: Python<'_>,
        name: &str,
        properties: &Bound<'_, PyDict>,
        traits: (bool, bool, bool),
        time: Option<String>,
    ) -> PyResult<()> {
        let options = edge_type_options(properties, traits, time)?;
        enter(py, || self.inner.create_edge_type(name, options))
    }

    /// Alters the schema; `alteration_of` has the actions.
    fn alter(
        &self,
        py: Python<'_>,
        action: &str,
        edge_type: Option<String>,
        name: String,
        argument: Option<String>,
    ) -> PyResult<()> {
        let alteration = alteration_of(action, edge_type, name, argument)?;
        enter(py, || self.inner.alter(&alteration))
    }

    /// The schema of the newest version, as `described` gives it.
    fn schema(&self, py: Python<'_>) -> PyResult<Described> {
        let snapshot = enter(py, || self.inner.snapshot())?;
        Ok(described(snapshot.schema()))
    }

    fn create_vertex_type(&self, py: Python<'_>, name: &str, properties: &Bound<'_, PyDict>) -> PyResult<()> {
        let properties = vertex_properties(properties)?;
        let properties: Vec<_> = properties.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        enter(py, || self.inner.create_vertex_type(name, &properties))
    }

    /// Loads a file of edges; `options` are those of `load_request`.
    fn load(
        &self,
        py: Python<'_>,
        path: PathBuf,
        edge_type: String,
        options: &Bound<'_, PyDict>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<LoadReport> {
        let request = load_request(edge_type, options)?;
        let load = |control: &Control| self.inner.load(&path, &request, &Told(control));
        enter_writing(py, progress, load).map(LoadReport::new)
    }

    /// `predicates` are those of vertices and of edges.
    fn create_view(
        &self,
        py: Python<'_>,
        name: &str,
        vertices: Vec<Bound<'_, PyAny>>,
        edges: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>, Option<String>)>,
        predicates: (Option<String>, Option<String>),
        frozen: bool,
    ) -> PyResult<View> {
        let (vertices_where, edges_where) = predicates;
        let vertices = vertices.iter().map(|key| Ok(key_of(key)?.to_key())).collect::<PyResult<_>>()?;
        let key = |(src, dst, kind): &(Bound<'_, PyAny>, Bound<'_, PyAny>, Option<String>)| {
            Ok((key_of(src)?.to_key(), key_of(dst)?.to_key(), kind.clone()))
        };
        let edges = edges.iter().map(key).collect::<PyResult<_>>()?;
        let request = ViewRequest { vertices, edges, vertices_where, edges_where, frozen };
        enter(py, || self.inner.views().create(name, &request)).map(|view| View::new(&self.inner, view))
    }

    fn view(&self, py: Python<'_>, name: &str) -> PyResult<View> {
        enter(py, || self.inner.views().get(name)).map(|view| View::new(&self.inner, view))
    }

    /// How all handlers fare, each as keyword arguments of `HandlerStatus`.
    fn handlers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let statuses = enter(py, || self.inner.usable().map(|()| self.inner.views().handlers()))?;
        statuses.iter().map(|status| status_to_python(py, status)).collect()
    }

    fn view_names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        enter(py, || self.inner.views().names())
    }

    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        enter_writing(py, None, |control| self.inner.watched(&Told(control)).checkpoint())
    }

    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        enter_writing(py, None, |control| self.inner.watched(&Told(control)).compact())
    }

    /// Gives the version that was written.
    fn backup(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        enter_writing(py, None, |control| self.inner.watched(&Told(control)).backup(path))
    }

    /// What the store holds, as keyword arguments of `Stats`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        stats_to_python(py, &enter(py, || self.inner.usable().map(|()| self.inner.stats()))?)
    }
}

/// Verifies the store in a directory: (problems as (path, offset, what), counts by name).
#[pyfunction]
pub(crate) fn check(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyTuple>> {
    let report = enter_interruptibly(py, None, |_| evergraph::check(&path))?;
    report_to_python(py, report)
}
