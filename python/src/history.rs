//! Streams of commits and differences of versions, as Python gets them.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::ArrayRef;
use arrow_schema::Field;
use evergraph::{Batch, Sequence, Stream as InnerStream, StreamError};
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::Raise;
use crate::error::closed;
use crate::gate::detached;
use crate::incremental::{Failure, Followers, Incremental, follow};
use crate::snapshot::Snapshot;
use crate::table::{Column, Table};
use crate::value::time_to_python;

/// How long Ctrl-C may go unnoticed.
const POLL: Duration = Duration::from_millis(50);

/// A stream of batches.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Stream {
    inner: Mutex<Option<Followed>>,
}

/// A stream, and who follows it.
struct Followed {
    stream: InnerStream,
    followers: Followers,
}

impl Followed {
    /// The next batch; every algorithm is brought to where it ends. One that cannot follow says so when it is asked.
    fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Batch>, StreamError> {
        let batch = self.stream.next(timeout)?;
        if let Some(batch) = &batch {
            let moved = || Ok::<_, StreamError>(batch.snapshot.clone().zip(batch.changes()));
            drop(self.followers.update(moved));
        }
        Ok(batch)
    }
}

impl Stream {
    pub(crate) fn new(inner: InnerStream) -> Self {
        Stream { inner: Mutex::new(Some(Followed { stream: inner, followers: Followers::default() })) }
    }
}

/// Keys of vertices as a column.
fn ids(array: ArrayRef) -> Column {
    let field = Arc::new(Field::new("id", array.data_type().clone(), false));
    Column { array, field }
}

fn batch_to_python<'py>(py: Python<'py>, batch: Batch) -> PyResult<Bound<'py, PyTuple>> {
    let (edges, deleted, changed) = detached(py, || {
        let names = &batch.names;
        let tables = [&batch.edges, &batch.deleted].map(|edges| Table::new(names.listed_edges(edges)));
        let [edges, deleted] = tables;
        (edges, deleted, ids(names.keys_of(&batch.changed_vertices)))
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
            let next = detached(py, || self.inner.lock().as_mut().map(|followed| followed.next(Some(slice))));
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
        let done = detached(py, || self.inner.lock().as_mut().map(|followed| followed.stream.acknowledge()));
        done.ok_or_else(|| closed(py, "the stream is closed"))?.map_err(|error| error.raise(py))
    }

    /// Lets go of the log; a named cursor stays.
    fn close(&self, py: Python<'_>) {
        detached(py, || drop(self.inner.lock().take()));
    }

    /// An algorithm that follows the stream from where it is.
    fn follow(&self, name: &str, arguments: &Bound<'_, PyDict>) -> PyResult<Incremental> {
        let here = || {
            let mut inner = self.inner.lock();
            let followed = inner.as_mut().ok_or(Failure::Closed)?;
            let state = followed.stream.state()?;
            followed.followers.begin(&state);
            Ok(state)
        };
        let join = |begun, new: &Incremental| {
            self.inner.lock().as_mut().is_none_or(|followed| followed.followers.join(begun, new))
        };
        follow(name, arguments, here, join)
    }

    #[getter]
    fn position(&self, py: Python<'_>) -> Option<Sequence> {
        detached(py, || self.inner.lock().as_ref().map(|followed| followed.stream.position()))
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
    let change = detached(py, || before.inner.diff(&after.inner));
    let change = change.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let edges = [change.added, change.removed, change.changed_from, change.changed_to];
    let vertices = [change.added_vertices, change.removed_vertices, change.changed_vertices];
    let [added, removed, changed_from, changed_to] = edges.map(Table::new);
    let [come, gone, changed] = vertices.map(ids);
    (added, removed, changed_from, changed_to, come, gone, changed).into_pyobject(py)
}
