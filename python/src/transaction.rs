//! A transaction as Python holds it: open until `commit` or `rollback`, then only an error.
//!
//! Invariant: the lock is never held while the interpreter is let go of or Python code runs, so two threads that share
//! a transaction wait for each other and for nothing else.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use evergraph::{
    Closed, CommitError, Direction, Isolation, PendingCommit as InnerCommit, PropertyType,
    Savepoint as InnerSavepoint, Transaction as Inner, TransactionOptions, WriteError,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::error::{Raise, closed};
use crate::gate::{detached, duration, enter, once};
use crate::key::{key_of, key_to_python};
use crate::schema::{Described, alteration_of, described, edge_type_options, kind_in, vertex_properties};
use crate::value::{borrowed, properties_of, properties_to_python};

/// How to begin a transaction.
pub(crate) fn transaction_options(
    isolation: &str,
    timeout_seconds: Option<f64>,
) -> PyResult<TransactionOptions> {
    let isolation = Isolation::from_name(isolation).ok_or_else(|| {
        PyValueError::new_err(format!("isolation: {isolation:?} is none of \"snapshot\", \"serializable\""))
    })?;
    Ok(TransactionOptions { isolation, timeout: timeout_seconds.map(duration) })
}

/// How many seconds to wait after a conflict, given the number of tries before and the seconds this one took.
#[pyfunction]
pub(crate) fn conflict_backoff(tried: u32, took_seconds: f64) -> f64 {
    evergraph::conflict_backoff(tried, duration(took_seconds)).as_secs_f64()
}

/// A point of a transaction to go back to.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Savepoint {
    inner: InnerSavepoint,
}

/// A commit that was handed in. Whoever waits for it first brings it about; all who wait are told the same.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct PendingCommit {
    /// Until somebody waits.
    inner: Mutex<Option<InnerCommit>>,
    outcome: OnceLock<Result<u64, CommitError>>,
    /// In a fork of the process, nobody goes on waiting who did when it was forked.
    process: u32,
}

impl PendingCommit {
    fn new(inner: InnerCommit) -> Self {
        let (inner, outcome) = (Mutex::new(Some(inner)), OnceLock::new());
        PendingCommit { inner, outcome, process: std::process::id() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<InnerCommit>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PendingCommit {
    #[getter]
    fn is_done(&self) -> bool {
        self.outcome.get().is_some() || self.lock().as_ref().is_some_and(InnerCommit::is_done)
    }

    /// The version that has it, as far as somebody was told.
    #[getter]
    fn version(&self) -> Option<u64> {
        self.outcome.get()?.as_ref().ok().copied()
    }

    fn wait(&self, py: Python<'_>) -> PyResult<u64> {
        if self.outcome.get().is_none() && self.process != std::process::id() {
            return Err(Closed::Forked.raise(py));
        }
        let wait = || match self.lock().take() {
            Some(inner) => inner.wait(),
            // Only a panic has taken it and told nothing.
            None => Err(Closed::Ended.into()),
        };
        once(py, &self.outcome, wait).as_ref().copied().map_err(|error| error.raise(py))
    }
}

impl Drop for PendingCommit {
    fn drop(&mut self) {
        // To let go of it is to wait, and whoever else is to commit may want the interpreter.
        if let Some(inner) = self.lock().take() {
            Python::try_attach(|py| detached(py, || drop(inner)));
        }
    }
}

/// An open read-write transaction.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Transaction {
    inner: Mutex<Option<Inner>>,
    /// Whether it is taken back from a handler, and ended then.
    is_lent: bool,
}

impl Transaction {
    pub(crate) fn new(inner: Inner) -> Self {
        Transaction { inner: Mutex::new(Some(inner)), is_lent: false }
    }

    /// For the length of a call, at the end of which it is taken back.
    pub(crate) fn lent(inner: Inner) -> Self {
        Transaction { inner: Mutex::new(Some(inner)), is_lent: true }
    }

    /// Takes it from Python, which ends it.
    fn end(&self, py: Python<'_>) -> PyResult<Inner> {
        if self.is_lent && self.lock().is_some() {
            return Err(PyValueError::new_err(
                "the transaction of a handler is committed when the handler returns, with its place, and undone if it raises: neither commit it nor roll it back",
            ));
        }
        self.take(py)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Inner>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kind_in(&self, edge_type: Option<&str>, name: &str) -> Option<PropertyType> {
        kind_in(self.lock().as_ref()?.schema(), edge_type, name)
    }

    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Inner> {
        self.lock().take().ok_or_else(|| over(py))
    }

    fn read<T>(&self, py: Python<'_>, read: impl FnOnce(&Inner) -> T) -> PyResult<T> {
        let guard = self.lock();
        let inner = guard.as_ref().ok_or_else(|| over(py))?;
        let read = inner.usable().map(|()| read(inner));
        drop(guard);
        read.map_err(|closed| closed.raise(py))
    }

    fn write<T>(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&mut Inner) -> Result<T, WriteError>,
    ) -> PyResult<T> {
        let mut guard = self.lock();
        let inner = guard.as_mut().ok_or_else(|| over(py))?;
        let outcome = inner.usable().map_err(WriteError::from).and_then(|()| write(inner));
        drop(guard);
        outcome.map_err(|error| error.raise(py))
    }
}

fn direction_of(reverse: bool) -> Direction {
    if reverse { Direction::In } else { Direction::Out }
}

fn over(py: Python<'_>) -> PyErr {
    closed(py, "this transaction is over: it was committed or rolled back; begin another one")
}

#[pymethods]
impl Transaction {
    #[getter]
    fn is_open(&self) -> bool {
        self.lock().is_some()
    }

    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<u64> {
        self.lock().as_ref().map(|inner| inner.version().sequence()).ok_or_else(|| over(py))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        let inner = self.end(py)?;
        enter(py, || inner.commit())
    }

    fn submit(&self, py: Python<'_>) -> PyResult<PendingCommit> {
        let inner = self.end(py)?;
        let inner = enter(py, || inner.submit())?;
        Ok(PendingCommit::new(inner))
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        let inner = self.end(py)?;
        detached(py, || inner.rollback());
        Ok(())
    }

    fn savepoint(&self, py: Python<'_>) -> PyResult<Savepoint> {
        self.write(py, |inner| Ok(inner.savepoint())).map(|inner| Savepoint { inner })
    }

    fn has_savepoint(&self, py: Python<'_>, savepoint: &Savepoint) -> PyResult<bool> {
        self.write(py, |inner| Ok(inner.has_savepoint(savepoint.inner)))
    }

    fn rollback_to(&self, py: Python<'_>, savepoint: &Savepoint) -> PyResult<()> {
        self.write(py, |inner| inner.rollback_to(savepoint.inner))
    }

    fn undo_block(&self, py: Python<'_>, savepoint: &Savepoint) -> PyResult<()> {
        self.write(py, |inner| inner.undo_block(savepoint.inner))
    }

    fn release(&self, py: Python<'_>, savepoint: &Savepoint) -> PyResult<()> {
        self.write(py, |inner| inner.release(savepoint.inner))
    }

    fn put_vertex(
        &self,
        key: &Bound<'_, PyAny>,
        vertex_type: Option<&str>,
        properties: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let key_ref = key_of(key)?;
        let properties = properties_of(properties, "vertex", |name| self.kind_in(None, name))?;
        self.write(key.py(), |inner| inner.put_vertex(key_ref, vertex_type, &borrowed(&properties)))
    }

    fn delete_vertex(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key_ref = key_of(key)?;
        self.write(key.py(), |inner| inner.delete_vertex(key_ref))
    }

    fn put_edge(
        &self,
        src: &Bound<'_, PyAny>,
        dst: &Bound<'_, PyAny>,
        edge_type: &str,
        properties: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let (src_ref, dst_ref) = (key_of(src)?, key_of(dst)?);
        let properties = properties_of(properties, edge_type, |name| self.kind_in(Some(edge_type), name))?;
        self.write(src.py(), |inner| inner.put_edge(src_ref, dst_ref, edge_type, &borrowed(&properties)))
    }

    fn delete_edge(&self, src: &Bound<'_, PyAny>, dst: &Bound<'_, PyAny>, edge_type: &str) -> PyResult<bool> {
        let (src_ref, dst_ref) = (key_of(src)?, key_of(dst)?);
        self.write(src.py(), |inner| inner.delete_edge(src_ref, dst_ref, edge_type))
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
        self.write(py, |inner| inner.create_edge_type(name, options))
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
        self.write(py, |inner| inner.alter(&alteration))
    }

    /// The schema with the changes of this transaction, as `described` gives it.
    fn schema(&self, py: Python<'_>) -> PyResult<Described> {
        self.read(py, |inner| described(inner.schema()))
    }

    fn create_vertex_type(&self, py: Python<'_>, name: &str, properties: &Bound<'_, PyDict>) -> PyResult<()> {
        let properties = vertex_properties(properties)?;
        let properties: Vec<_> = properties.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        self.write(py, |inner| inner.create_vertex_type(name, &properties))
    }

    fn has_vertex(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key_ref = key_of(key)?;
        self.read(key.py(), |inner| inner.has_vertex(key_ref))
    }

    fn has_edge(&self, src: &Bound<'_, PyAny>, dst: &Bound<'_, PyAny>, edge_type: &str) -> PyResult<bool> {
        let (src_ref, dst_ref) = (key_of(src)?, key_of(dst)?);
        self.read(src.py(), |inner| inner.has_edge(src_ref, dst_ref, edge_type))
    }

    /// The type and the properties of a vertex, or `None`.
    fn vertex<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (py, key_ref) = (key.py(), key_of(key)?);
        let data = self.read(py, |inner| inner.vertex(key_ref))?;
        let to_python = |data: evergraph::VertexData| -> PyResult<_> {
            (data.vertex_type, properties_to_python(py, data.properties)?).into_pyobject(py)
        };
        data.map(to_python).transpose()
    }

    /// The properties of each edge between two vertices.
    fn edges<'py>(
        &self,
        src: &Bound<'py, PyAny>,
        dst: &Bound<'py, PyAny>,
        edge_type: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, src_ref, dst_ref) = (src.py(), key_of(src)?, key_of(dst)?);
        let edges = self.read(py, |inner| inner.edges(src_ref, dst_ref, edge_type))?;
        let edges: PyResult<Vec<_>> = edges.into_iter().map(|edge| properties_to_python(py, edge)).collect();
        PyList::new(py, edges?)
    }

    /// The number of edges of a vertex in one direction, or `None` if there is no such vertex.
    fn degree(&self, key: &Bound<'_, PyAny>, edge_type: &str, reverse: bool) -> PyResult<Option<usize>> {
        let (key_ref, direction) = (key_of(key)?, direction_of(reverse));
        self.read(key.py(), |inner| inner.degree(key_ref, edge_type, direction))
    }

    /// The neighbors of a vertex, or `None` if there is no such vertex.
    fn neighbors<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        edge_type: &str,
        reverse: bool,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let (py, key_ref, direction) = (key.py(), key_of(key)?, direction_of(reverse));
        let neighbors = self.read(py, |inner| inner.neighbors(key_ref, edge_type, direction))?;
        let to_python =
            |keys: Vec<evergraph::Key>| PyList::new(py, keys.into_iter().map(|key| key_to_python(py, key)));
        neighbors.map(to_python).transpose()
    }
}
