//! The edges of a frontier as arrays, for algorithms that are written in Python over numpy.
//!
//! ```text
//!  rows of vertices      Frontiers                        numpy
//!  [4, 7, 9]  ── batches ──►  [4, 7], [9]   each with at most so many edges, unless one vertex has more
//!  [4, 7]     ── edges ────►  src [4, 4, 7], dst [1, 9, 4], weight [.5, 1., 2.]
//! ```
//!
//! A row is the position of a vertex in `Snapshot.vertices`.
//!
//! Invariant: rows given out are those of vertices of the view.

use std::sync::Arc;

use evergraph::algorithms::{AlgorithmError, Control, EdgeList, Weight, edge_list};
use evergraph::{Direction, GraphView, Snapshot as View, VertexId};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::algorithm::{flag_of, text_of};
use crate::error::InView;
use crate::gate::{detached, enter_interruptibly};
use crate::key::key_to_python;
use crate::snapshot::Snapshot;

/// The vertices of a view by row.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Frontiers {
    view: View,
    /// Where some ids are no vertices: the id of each row, and the row of each id.
    translation: Option<(Vec<VertexId>, Vec<i64>)>,
}

#[pymethods]
impl Frontiers {
    #[new]
    fn new(py: Python<'_>, snapshot: &Snapshot) -> Self {
        let view = snapshot.inner.clone();
        let translation = detached(py, || {
            let bound = view.id_bound();
            (view.num_vertices() != u64::from(bound)).then(|| {
                let ids = view.vertex_ids();
                let mut rows = vec![-1; bound as usize];
                (0..).zip(&ids).for_each(|(row, &id)| rows[id as usize] = row);
                (ids, rows)
            })
        });
        Frontiers { view, translation }
    }

    /// Whether a row of another view is the same vertex here: both are of one version of one graph, with the same vertices.
    /// Windows are graphs of their own, with versions of their own.
    fn has_rows_of(&self, py: Python<'_>, other: &Frontiers) -> bool {
        let (view, others) = (&self.view, &other.view);
        if view.version() != others.version() || !view.whole().is_of_same_store(others.whole()) {
            return false;
        }
        let vertices = |view: &View| view.confinement().map(|part| part.vertices().clone());
        let (own, others) = (vertices(view), vertices(others));
        py.detach(|| match (own, others) {
            (Some(own), Some(others)) => Arc::ptr_eq(&own, &others) || own.iter().eq(others.iter()),
            // What is not confined has all vertices of the version.
            _ => view.num_vertices() == other.view.num_vertices(),
        })
    }

    /// The row of a vertex.
    fn row(&self, key: &Bound<'_, PyAny>) -> PyResult<i64> {
        let id = Snapshot::new(self.view.clone()).require(key)?;
        Ok(self.rows(&[id])[0])
    }

    /// The keys of the vertices in these rows.
    fn keys<'py>(&self, py: Python<'py>, rows: PyReadonlyArray1<'_, i64>) -> PyResult<Bound<'py, PyList>> {
        let ids = self.ids(rows.as_slice()?)?;
        PyList::new(py, ids.into_iter().map(|id| key_to_python(py, self.view.key(id))))
    }

    /// Where to cut an array of rows, so that no piece has more edges than that, unless one vertex has.
    fn batches(
        &self,
        py: Python<'_>,
        rows: PyReadonlyArray1<'_, i64>,
        reverse: &Bound<'_, PyAny>,
        most_edges: usize,
    ) -> PyResult<Vec<usize>> {
        let reverse = flag_of("reverse", reverse)?;
        let ids = self.ids(rows.as_slice()?)?;
        Ok(detached(py, || {
            let flat = self.view.flat();
            let table = flat.table(direction(reverse));
            let (mut cuts, mut edges) = (vec![0], 0);
            for (at, &id) in ids.iter().enumerate() {
                let own = table.degree(id);
                if edges > 0 && edges + own > most_edges {
                    cuts.push(at);
                    edges = 0;
                }
                edges += own;
            }
            cuts.push(ids.len());
            cuts
        }))
    }

    /// The edges of the vertices in these rows: (src, dst, weight), rows as int64 and float64 or none.
    fn edges<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'_, i64>,
        reverse: bool,
        weight: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let weight = weight.map(|name| text_of("weight", name)).transpose()?;
        let ids = self.ids(rows.as_slice()?)?;
        let (view, weight) = (&self.view, weight.map(Weight::Property));
        let work = |control: &Control| {
            let found = edge_list(view, direction(reverse), &ids, weight.as_ref(), control);
            found.map_err(|error: AlgorithmError| InView { error, view })
        };
        let EdgeList { sources, destinations, weights } = enter_interruptibly(py, None, work)?;
        let [src, dst] = [sources, destinations].map(|ids| detached(py, || self.rows(&ids)));
        let weights = weight.map(|_| PyArray1::from_vec(py, weights));
        (PyArray1::from_vec(py, src), PyArray1::from_vec(py, dst), weights).into_pyobject(py)
    }
}

impl Frontiers {
    fn ids(&self, rows: &[i64]) -> PyResult<Vec<VertexId>> {
        let vertices = self.view.num_vertices();
        let id = |&row: &i64| match (u64::try_from(row), &self.translation) {
            (Ok(row), None) if row < vertices => Ok(row as VertexId),
            (Ok(row), Some((ids, _))) if row < vertices => Ok(ids[row as usize]),
            _ => Err(PyValueError::new_err(format!("{row} is not a row of a vertex; there are {vertices}"))),
        };
        rows.iter().map(id).collect()
    }

    fn rows(&self, ids: &[VertexId]) -> Vec<i64> {
        match &self.translation {
            None => ids.iter().map(|&id| i64::from(id)).collect(),
            Some((_, rows)) => ids.iter().map(|&id| rows[id as usize]).collect(),
        }
    }
}

fn direction(reverse: bool) -> Direction {
    if reverse { Direction::In } else { Direction::Out }
}
