//! Streams of commits and differences of versions, as Python gets them.

use std::sync::Arc;
use std::time::Duration;

use arrow_schema::Field;
use evergraph::{Batch, EdgeRows, ListedEdges, Sequence, Snapshot as Inner, Stream as InnerStream, VertexId};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::Raise;
use crate::error::closed;
use crate::snapshot::Snapshot;
use crate::table::{Column, Table};
use crate::value::time_to_python;

/// How long Ctrl-C may go unnoticed.
const POLL: Duration = Duration::from_millis(50);

/// A stream of batches.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Stream {
    inner: Mutex<Option<InnerStream>>,
}

impl Stream {
    pub(crate) fn new(inner: InnerStream) -> Self {
        Stream { inner: Mutex::new(Some(inner)) }
    }
}

/// The keys of vertices as a column.
fn keys(names: &Inner, ids: &[VertexId]) -> Column {
    let array = names.keys_of(ids);
    let field = Arc::new(Field::new("id", array.data_type().clone(), false));
    Column { array, field }
}

fn batch_to_python<'py>(py: Python<'py>, batch: Batch) -> PyResult<Bound<'py, PyTuple>> {
    let (edges, deleted, changed) = py.detach(|| {
        let names = &batch.names;
        let tables = [&batch.edges, &batch.deleted].map(|edges| Table::new(names.listed_edges(edges)));
        let [edges, deleted] = tables;
        (edges, deleted, keys(names, &batch.changed_vertices))
    });
    let time = time_to_python(py, batch.time_micros)?;
    let snapshot = batch.snapshot.map(Snapshot::new);
    (batch.after, batch.version, time, edges, deleted, changed, snapshot).into_pyobject(py)
}

#[pymethods]
impl Stream {
    /// The next batch as (after, version, time, edges, deleted, changed vertices, snapshot); `None` if none came.
    fn next<'py>(
        &self,
        py: Python<'py>,
        timeout_seconds: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let mut left = timeout_seconds.map(Duration::from_secs_f64);
        loop {
            let slice = left.map_or(POLL, |left| left.min(POLL));
            let next = py.detach(|| self.inner.lock().as_mut().map(|stream| stream.next(Some(slice))));
            let next = next.ok_or_else(|| closed(py, "the stream is closed"))?;
            if let Some(batch) = next.map_err(|error| error.raise(py))? {
                return batch_to_python(py, batch).map(Some);
            }
            py.check_signals()?;
            if let Some(left) = &mut left {
                *left = left.saturating_sub(slice);
                if left.is_zero() {
                    return Ok(None);
                }
            }
        }
    }

    fn acknowledge(&self, py: Python<'_>) -> PyResult<()> {
        let done = py.detach(|| self.inner.lock().as_mut().map(InnerStream::acknowledge));
        done.ok_or_else(|| closed(py, "the stream is closed"))?.map_err(|error| error.raise(py))
    }

    /// Lets go of the log; a named cursor stays.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.inner.lock().take()));
    }

    #[getter]
    fn position(&self, py: Python<'_>) -> Option<Sequence> {
        py.detach(|| self.inner.lock().as_ref().map(InnerStream::position))
    }
}

/// What changed from one snapshot to another: edges added, removed, changed from and to, as tables, and the keys of
/// vertices added, removed and changed.
#[pyfunction]
pub(crate) fn diff<'py>(
    py: Python<'py>,
    before: &Snapshot,
    after: &Snapshot,
) -> PyResult<Bound<'py, PyTuple>> {
    let (before, after) = (&before.inner, &after.inner);
    let (tables, vertices) = py.detach(|| {
        let diff = before.whole().diff(after.whole());
        let names = if before.whole().sequence() > after.whole().sequence() { before } else { after };
        let part: [fn(&evergraph::EdgeDiff) -> &EdgeRows; 4] = [
            |edges| &edges.added,
            |edges| &edges.removed,
            |edges| &edges.changed_from,
            |edges| &edges.changed_to,
        ];
        let tables = part.map(|part| {
            let listed: Vec<ListedEdges> =
                diff.edges.iter().map(|edges| listed(edges.edge_type, part(edges))).collect();
            Table::new(names.listed_edges(&listed))
        });
        let vertices = [&diff.added_vertices, &diff.removed_vertices, &diff.changed_vertices];
        (tables, vertices.map(|ids| keys(names, ids)))
    });
    let [added, removed, changed_from, changed_to] = tables;
    let [come, gone, changed] = vertices;
    (added, removed, changed_from, changed_to, come, gone, changed).into_pyobject(py)
}

fn listed(edge_type: u16, rows: &EdgeRows) -> ListedEdges {
    let columns = rows.columns.iter().cloned().enumerate();
    ListedEdges {
        edge_type,
        src: rows.src.clone(),
        dst: rows.dst.clone(),
        columns: columns.map(|(property, column)| (property as u16, column)).collect(),
        ..ListedEdges::default()
    }
}
