//! Streams of commits and differences of versions, as Python gets them.
//!
//! Invariant: nobody waits for commits with the lock of a stream held, so that it can be looked at and closed meanwhile.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::Field;
use evergraph::{Batch, Sequence, Snapshot as View, Stream as InnerStream, StreamError};
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::Raise;
use crate::error::closed;
use crate::gate::{Patience, detached};
use crate::incremental::{Failure, Followers, Incremental, follow};
use crate::snapshot::Snapshot;
use crate::table::{Column, Table};
use crate::value::time_to_python;

/// A stream of batches.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Stream {
    inner: Mutex<Option<Followed>>,
}

/// A stream, and who follows it.
struct Followed {
    stream: InnerStream,
    followers: Followers,
    /// A batch that was pulled and not taken yet.
    ready: Option<Pulled>,
}

/// A batch as it is given to Python.
struct Pulled {
    after: Sequence,
    version: Sequence,
    time_micros: i64,
    edges: Table,
    deleted: Table,
    changed: Column,
    snapshot: Option<View>,
}

impl Pulled {
    fn of(batch: Batch) -> Self {
        let names = &batch.names;
        let [edges, deleted] =
            [&batch.edges, &batch.deleted].map(|edges| Table::new(names.listed_edges(edges)));
        let changed = ids(names.keys_of(&batch.changed_vertices));
        let Batch { after, version, time_micros, snapshot, .. } = batch;
        Pulled { after, version, time_micros, edges, deleted, changed, snapshot }
    }

    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        let time = time_to_python(py, self.time_micros)?;
        let snapshot = self.snapshot.map(Snapshot::new);
        let parts = (self.after, self.version, time, self.edges, self.deleted, self.changed, snapshot);
        parts.into_pyobject(py)
    }
}

impl Followed {
    /// Has the next batch ready, if it is there; every algorithm is brought to where it ends. One that cannot follow says so when
    /// it is asked.
    fn pull(&mut self) -> Result<bool, StreamError> {
        if self.ready.is_none()
            && let Some(batch) = self.stream.try_next()?
        {
            let moved = || Ok::<_, StreamError>(batch.snapshot.clone().zip(batch.changes()));
            drop(self.followers.update(moved));
            self.ready = Some(Pulled::of(batch));
        }
        Ok(self.ready.is_some())
    }
}

impl Stream {
    pub(crate) fn new(inner: InnerStream) -> Self {
        let followed = Followed { stream: inner, followers: Followers::default(), ready: None };
        Stream { inner: Mutex::new(Some(followed)) }
    }

    /// Does something with the stream, which nobody waits in.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Followed) -> Result<T, StreamError> + Send,
    ) -> PyResult<T> {
        let done = detached(py, || self.inner.lock().as_mut().map(work));
        done.ok_or_else(|| closed(py, "the stream is closed"))?.map_err(|error| error.raise(py))
    }
}

/// Keys of vertices as a column.
fn ids(array: ArrayRef) -> Column {
    let field = Arc::new(Field::new("id", array.data_type().clone(), false));
    Column { array, field }
}

#[pymethods]
impl Stream {
    /// The next batch as (after, version, time, edges, deleted, changed vertices, snapshot); `None` if none came.
    fn next<'py>(
        &self,
        py: Python<'py>,
        timeout_seconds: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let patience = Patience::of(timeout_seconds);
        loop {
            let (pulled, is_gathering, pause) = self.with(py, |followed| {
                followed.pull()?;
                let stream = &followed.stream;
                Ok((followed.ready.take(), stream.is_gathering(), stream.pause()))
            })?;
            if let Some(pulled) = pulled {
                return pulled.into_python(py).map(Some);
            }
            py.check_signals()?;
            // A batch that has begun is waited for.
            let slice = if is_gathering { Patience::of(None).slice() } else { patience.slice() };
            if patience.is_over() && !is_gathering {
                return Ok(None);
            }
            detached(py, || pause.wait(Some(slice)));
        }
    }

    /// Waits for a batch to be ready, without giving it out; tells whether one is, and if not, whether one has begun.
    fn pull(&self, py: Python<'_>, timeout_seconds: f64) -> PyResult<(bool, bool)> {
        let patience = Patience::of(Some(timeout_seconds));
        loop {
            let (is_ready, is_gathering, pause) = self.with(py, |followed| {
                Ok((followed.pull()?, followed.stream.is_gathering(), followed.stream.pause()))
            })?;
            if is_ready || patience.is_over() {
                return Ok((is_ready, is_gathering));
            }
            detached(py, || pause.wait(Some(patience.slice())));
        }
    }

    /// The batch that is ready.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let pulled = self.with(py, |followed| Ok(followed.ready.take()))?;
        pulled.map(|pulled| pulled.into_python(py)).transpose()
    }

    fn acknowledge(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |followed| match followed.ready {
            // Pulling it has acknowledged what was given out before.
            Some(_) => Ok(()),
            None => followed.stream.acknowledge(),
        })
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
        let position = |followed: &Followed| match &followed.ready {
            Some(pulled) => pulled.after,
            None => followed.stream.position(),
        };
        detached(py, || self.inner.lock().as_ref().map(position))
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
