//! Handlers of views in Python: events as tuples, calls from the handler's own thread.
//!
//! Invariant: a transaction that was lent to a handler is taken back before the call counts, so that what the handler
//! kept of it is closed.

use evergraph::{
    DeadLetter, Event, EventKind, Handler, HandlerError, HandlerOptions, HandlerState, HandlerStatus,
    Subject, Subscription as Inner, Transaction as InnerTransaction, Transition,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::gate::{Patience, detached, duration};
use crate::key::key_to_python;
use crate::transaction::Transaction;
use crate::value::{time_to_python, value_to_python};

/// An event as the arguments of `evergraph.Event`.
fn event_to_python<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyAny>> {
    let none = || py.None().into_bound(py);
    let (vertex, edge) = match &event.subject {
        Subject::Vertex(key) => (key_to_python(py, key.clone()), none()),
        Subject::Edge(src, dst, kind) => {
            let (src, dst) = (key_to_python(py, src.clone()), key_to_python(py, dst.clone()));
            (none(), (src, dst, kind).into_pyobject(py)?.into_any())
        }
    };
    let (change, property, old, new) = match &event.transition {
        Transition::Added => ("added", none(), none(), none()),
        Transition::Removed => ("removed", none(), none(), none()),
        Transition::Changed { property, old, new } => (
            "changed",
            property.into_pyobject(py)?.into_any(),
            value_to_python(py, old.clone())?,
            value_to_python(py, new.clone())?,
        ),
    };
    let place = (event.version, event.index, time_to_python(py, event.time_micros)?);
    let arguments = PyTuple::new(
        py,
        [
            place.0.into_pyobject(py)?.into_any(),
            place.1.into_pyobject(py)?.into_any(),
            place.2,
            event.kind.name().into_pyobject(py)?.into_any(),
            change.into_pyobject(py)?.into_any(),
            vertex,
            edge,
            property,
            old,
            new,
        ],
    )?;
    py.import("evergraph._events")?.getattr("Event")?.call1(arguments)
}

/// A callable as a handler.
pub(crate) struct PythonHandler {
    callable: Py<PyAny>,
    /// Whether it takes a list of events instead of one.
    batches: bool,
}

impl PythonHandler {
    pub(crate) fn new(callable: Py<PyAny>, batches: bool) -> Self {
        PythonHandler { callable, batches }
    }

    fn call(&self, py: Python<'_>, events: &[Event], transaction: Option<&Py<PyAny>>) -> PyResult<()> {
        let events = events.iter().map(|event| event_to_python(py, event)).collect::<PyResult<Vec<_>>>()?;
        let call = |argument: Bound<'_, PyAny>| match transaction {
            Some(transaction) => self.callable.call1(py, (argument, transaction)).map(drop),
            None => self.callable.call1(py, (argument,)).map(drop),
        };
        if self.batches {
            return call(PyList::new(py, events)?.into_any());
        }
        events.into_iter().try_for_each(call)
    }

    /// Lends the transaction to Python for the length of a call.
    fn call_with(
        &self,
        py: Python<'_>,
        events: &[Event],
        transaction: &mut InnerTransaction,
    ) -> PyResult<()> {
        let spare = transaction.another().map_err(|error| PyValueError::new_err(error.to_string()))?;
        let lent = Py::new(py, Transaction::lent(std::mem::replace(transaction, spare)))?;
        let shown =
            py.import("evergraph._transaction")?.getattr("Transaction")?.call1((lent.clone_ref(py),))?;
        let done = self.call(py, events, Some(&shown.unbind()));
        *transaction = lent.get().take(py)?;
        done
    }
}

impl Handler for PythonHandler {
    fn handle(
        &mut self,
        events: &[Event],
        transaction: Option<&mut InnerTransaction>,
    ) -> Result<(), HandlerError> {
        let called = Python::try_attach(|py| {
            let done = match transaction {
                Some(transaction) => self.call_with(py, events, transaction),
                None => self.call(py, events, None),
            };
            done.map_err(|error| HandlerError::new(error.to_string()))
        });
        called.unwrap_or_else(|| Err(HandlerError::new("Python has ended")))
    }
}

/// Options from what Python gives.
pub(crate) fn handler_options(
    name: String,
    kinds: &[String],
    properties: Vec<String>,
    exactly_once: bool,
    batch_size: usize,
    (retries, backoff_seconds): (u32, f64),
) -> PyResult<HandlerOptions> {
    let kind = |name: &String| {
        EventKind::from_name(name).ok_or_else(|| {
            PyValueError::new_err(format!("kinds: {name:?} is none of \"vertex\", \"edge\", \"property\""))
        })
    };
    let backoff = duration(backoff_seconds);
    let kinds = kinds.iter().map(kind).collect::<PyResult<_>>()?;
    let options = HandlerOptions::new(name);
    Ok(HandlerOptions { kinds, properties, exactly_once, batch_size, retries, backoff, ..options })
}

/// A handler at work.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Subscription {
    pub(crate) inner: Inner,
}

#[pymethods]
impl Subscription {
    /// How it fares, as keyword arguments of `HandlerStatus`.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        status_to_python(py, &self.inner.status())
    }

    fn stop(&self, py: Python<'_>) {
        detached(py, || self.inner.stop());
    }

    fn wait(&self, py: Python<'_>, version: u64, timeout_seconds: f64) -> PyResult<bool> {
        let patience = Patience::of(Some(timeout_seconds));
        loop {
            let has_dealt = detached(py, || self.inner.wait(version, patience.slice()));
            py.check_signals()?;
            if has_dealt || self.inner.is_over() || patience.is_over() {
                return Ok(has_dealt);
            }
        }
    }
}

pub(crate) fn status_to_python<'py>(py: Python<'py>, status: &HandlerStatus) -> PyResult<Bound<'py, PyDict>> {
    let (state, error) = match &status.state {
        HandlerState::Live => ("live", None),
        HandlerState::Behind => ("behind", None),
        HandlerState::Stopped => ("stopped", None),
        HandlerState::Dropped => ("dropped", None),
        HandlerState::Failed(error) => ("failed", Some(error)),
    };
    let dict = PyDict::new(py);
    dict.set_item("view", &status.view)?;
    dict.set_item("name", &status.name)?;
    dict.set_item("state", state)?;
    dict.set_item("error", error)?;
    dict.set_item("version", status.version)?;
    dict.set_item("handled", status.handled)?;
    dict.set_item("failures", status.failures)?;
    dict.set_item("dead", status.dead)?;
    dict.set_item("waiting", status.waiting)?;
    Ok(dict)
}

/// Dead letters as (event, error, tries).
pub(crate) fn letters_to_python<'py>(
    py: Python<'py>,
    letters: &[DeadLetter],
) -> PyResult<Vec<(Bound<'py, PyAny>, String, u32)>> {
    let letter =
        |letter: &DeadLetter| Ok((event_to_python(py, &letter.event)?, letter.error.clone(), letter.tries));
    letters.iter().map(letter).collect()
}
