//! A snapshot as Python holds it. Vertices are asked for by key; ids stay inside.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use evergraph::{
    Direction, EdgeData, GraphView, Key, KeyRef, Snapshot as Inner, VertexData, VertexId, room_for_ids, shown,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::error::{Raise, not_found};
use crate::gate::detached;
use crate::key::{key_of, key_to_python};
use crate::schema::{Described, described};
use crate::table::{Column, Table};
use crate::value::{properties_to_python, time_to_python};

/// One version of the graph.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Snapshot {
    pub(crate) inner: Inner,
}

impl Snapshot {
    pub(crate) fn new(inner: Inner) -> Self {
        Snapshot { inner }
    }

    /// The id of a vertex, or the error that says that there is none.
    pub(crate) fn require(&self, key: &Bound<'_, PyAny>) -> PyResult<VertexId> {
        let key_ref = key_of(key)?;
        self.inner.vertex_id(key_ref).ok_or_else(|| absent(key, &self.inner))
    }
}

fn absent(key: &Bound<'_, PyAny>, view: &Inner) -> PyErr {
    let shown = key.repr().map_or_else(|_| "that key".to_owned(), shown);
    not_found(key.py(), format!("there is no vertex {shown} in version {}", view.version()))
}

fn direction(reverse: bool) -> Direction {
    if reverse { Direction::In } else { Direction::Out }
}

fn rows_of(view: &Inner, keys: &ArrayRef) -> Vec<i64> {
    let ids = view.vertex_ids();
    let row = |key: KeyRef<'_>| {
        let row = view.vertex_id(key).and_then(|id| ids.binary_search(&id).ok());
        row.map_or(-1, |row| row as i64)
    };
    match keys.data_type() {
        DataType::Utf8 => keys.as_string::<i32>().iter().flatten().map(|key| row(key.into())).collect(),
        DataType::LargeUtf8 => keys.as_string::<i64>().iter().flatten().map(|key| row(key.into())).collect(),
        _ => keys.as_primitive::<Int64Type>().values().iter().map(|&key| row(key.into())).collect(),
    }
}

#[pymethods]
impl Snapshot {
    #[getter]
    fn num_vertices(&self) -> u64 {
        self.inner.num_vertices()
    }

    #[getter]
    fn num_edges(&self) -> u64 {
        self.inner.num_edges()
    }

    #[getter]
    fn version(&self) -> u64 {
        self.inner.version()
    }

    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        time_to_python(py, self.inner.time_micros())
    }

    #[getter]
    fn is_symmetric(&self) -> bool {
        self.inner.is_symmetric()
    }

    /// The selected edge types: (name, whether it is multi, whether it is symmetric, property names).
    #[getter]
    fn edge_types(&self) -> Vec<(String, bool, bool, Vec<String>)> {
        let selected = self.inner.edge_types();
        let described = selected.into_iter().filter_map(|name| {
            let (_, kind) = self.inner.schema().edge_type(name)?;
            let properties = kind.properties().map(|(_, property)| property.name.clone()).collect();
            Some((name.to_owned(), kind.options.multi, kind.options.symmetric, properties))
        });
        described.collect()
    }

    /// The schema, as `described` gives it.
    fn schema(&self) -> Described {
        described(self.inner.schema())
    }

    fn with_edge_types(&self, py: Python<'_>, edge_types: Vec<String>) -> PyResult<Snapshot> {
        let names: Vec<&str> = edge_types.iter().map(String::as_str).collect();
        self.inner.with_edge_types(&names).map(Snapshot::new).map_err(|error| error.raise(py))
    }

    fn has_vertex(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.inner.vertex_id(key_of(key)?).is_some())
    }

    fn has_edge(
        &self,
        src: &Bound<'_, PyAny>,
        dst: &Bound<'_, PyAny>,
        edge_type: Option<&str>,
    ) -> PyResult<bool> {
        Ok(self.inner.has_edge(key_of(src)?, key_of(dst)?, edge_type))
    }

    /// The type and the properties of a vertex.
    fn vertex<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<(Option<String>, Bound<'py, PyDict>)> {
        let data = self.inner.vertex(key_of(key)?);
        let VertexData { vertex_type, properties } = data.ok_or_else(|| absent(key, &self.inner))?;
        Ok((vertex_type, properties_to_python(key.py(), properties)?))
    }

    /// The type and the properties of each edge between two vertices.
    fn edges_between<'py>(
        &self,
        src: &Bound<'py, PyAny>,
        dst: &Bound<'py, PyAny>,
        edge_type: Option<&str>,
    ) -> PyResult<Vec<(String, Bound<'py, PyDict>)>> {
        let edges = self.inner.edges_between(key_of(src)?, key_of(dst)?, edge_type);
        let to_python =
            |edge: EdgeData| Ok((edge.edge_type, properties_to_python(src.py(), edge.properties)?));
        edges.into_iter().map(to_python).collect()
    }

    fn neighbors<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        edge_type: Option<&str>,
        reverse: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let (py, key_ref) = (key.py(), key_of(key)?);
        let neighbors = detached(py, || self.inner.neighbors(key_ref, direction(reverse), edge_type));
        let neighbors: Vec<Key> = neighbors.ok_or_else(|| absent(key, &self.inner))?;
        PyList::new(py, neighbors.into_iter().map(|key| key_to_python(py, key)))
    }

    fn degree(&self, key: &Bound<'_, PyAny>, edge_type: Option<&str>, reverse: bool) -> PyResult<usize> {
        let degree = self.inner.degree_of(key_of(key)?, direction(reverse), edge_type);
        degree.ok_or_else(|| absent(key, &self.inner))
    }

    fn edges_of(&self, key: &Bound<'_, PyAny>, edge_type: Option<&str>, reverse: bool) -> PyResult<Table> {
        let key_ref = key_of(key)?;
        let edges = detached(key.py(), || self.inner.edges_of(key_ref, direction(reverse), edge_type));
        edges.map(Table::new).ok_or_else(|| absent(key, &self.inner))
    }

    /// The keys of all vertices, in the order of the rows of `vertices`.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ids = detached(py, || self.inner.vertex_ids());
        PyList::new(py, ids.into_iter().map(|id| key_to_python(py, self.inner.key(id))))
    }

    /// The rows of vertices in `vertices`, by key: int64, -1 for a key that is none.
    fn rows<'py>(&self, py: Python<'py>, keys: &Column) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, detached(py, || rows_of(&self.inner, &keys.array)))
    }

    fn vertices(&self, py: Python<'_>) -> Table {
        Table::new(detached(py, || self.inner.vertex_table()))
    }

    fn edges(&self, py: Python<'_>) -> Table {
        Table::new(detached(py, || self.inner.edge_table()))
    }

    /// Compressed sparse rows: (indptr, indices), int64 and uint32.
    fn to_csr<'py>(&self, py: Python<'py>, reverse: bool) -> PyResult<Bound<'py, PyTuple>> {
        room_for_ids(self.inner.id_bound().into()).map_err(|error| error.raise(py))?;
        let csr = detached(py, || self.inner.to_csr(direction(reverse)));
        let (indptr, indices) = (PyArray1::from_vec(py, csr.indptr), PyArray1::from_vec(py, csr.indices));
        (indptr, indices).into_pyobject(py)
    }
}
