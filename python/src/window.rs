//! Windows as Python holds them, each with the algorithms that it brings along.
//!
//! Invariant: nobody waits for commits with the lock held, and nobody waits for the lock with the interpreter.

use std::sync::Mutex;

use evergraph::{
    Duplicates, Order, Snapshot as View, Span, Units, Window as Inner, WindowOptions, WindowStep,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Raise;
use crate::gate::{Patience, detached, enter, enter_interruptibly};
use crate::incremental::{Failure, Followers, Incremental, follow, lock};
use crate::snapshot::Snapshot;

/// A sliding window, and who follows it.
struct Followed {
    window: Inner,
    followers: Followers,
}

impl Followed {
    /// Where another may begin.
    fn here(&mut self) -> Result<View, Failure> {
        let current = self.window.changes()?.after;
        self.followers.begin(&current);
        Ok(current)
    }

    /// Brings every algorithm to where the window is.
    fn update_followers(&mut self) -> Result<(), Failure> {
        let window = &mut self.window;
        self.followers.update(|| window.changes().map(|moved| Some((moved.after, moved.changes))))?;
        if self.followers.is_empty() {
            window.forget_changes();
        }
        Ok(())
    }
}

/// A sliding window.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Window {
    inner: Mutex<Followed>,
}

/// How much a window holds and how it moves, from Python's arguments. Durations are seconds, or units of a time property
/// that is a number.
#[derive(FromPyObject)]
pub(crate) struct WindowArguments {
    #[pyo3(item)]
    edge_type: Option<String>,
    #[pyo3(item)]
    last: Option<f64>,
    #[pyo3(item)]
    edges: Option<i64>,
    /// Seconds, or units of the time, or edges …
    #[pyo3(item)]
    every: Option<f64>,
    /// … unless it is seconds of the clock for a window of so many edges.
    #[pyo3(item)]
    by_clock: bool,
    #[pyo3(item)]
    duplicates: String,
    #[pyo3(item)]
    order: Option<String>,
    #[pyo3(item)]
    lateness: f64,
    #[pyo3(item)]
    from_version: Option<u64>,
}

impl Window {
    pub(crate) fn open(
        py: Python<'_>,
        database: &evergraph::Database,
        arguments: WindowArguments,
    ) -> PyResult<Self> {
        let version = database.snapshot().map_err(|error| error.raise(py))?;
        let wrong = |argument: &str, given: &str, known: &str| {
            PyValueError::new_err(format!("{argument}: {given:?} is none of {known}"))
        };
        let order = match arguments.order.as_deref() {
            None => None,
            Some("event") => Some(Order::Event),
            Some("ingest") => Some(Order::Ingest),
            Some(other) => return Err(wrong("order", other, "\"event\", \"ingest\"")),
        };
        let units = Units::of(version.schema(), arguments.edge_type.as_deref(), order);
        let in_units = |duration: f64| units.count(duration);
        let span = match (arguments.last, arguments.edges) {
            (Some(last), None) => Span::Time(in_units(last)),
            (None, Some(edges)) => Span::Edges(edges),
            _ => {
                return Err(PyValueError::new_err(
                    "a window is of last=, a duration, or of edges=, a number",
                ));
            }
        };
        let every = arguments.every.map(|every| match span {
            Span::Time(_) => WindowStep::Length(in_units(every)),
            Span::Edges(_) if arguments.by_clock => WindowStep::Clock((every * 1e6).round() as i64),
            Span::Edges(_) => WindowStep::Length(every as i64),
        });
        let duplicates = Duplicates::from_name(&arguments.duplicates)
            .ok_or_else(|| wrong("duplicates", &arguments.duplicates, "\"keep\", \"drop\", \"count\""))?;
        let lateness = in_units(arguments.lateness);
        let (edge_type, after) = (arguments.edge_type, arguments.from_version);
        let options = WindowOptions { edge_type, span, order, every, duplicates, lateness, after };
        let window = enter(py, || database.window(options))?;
        Ok(Window { inner: Mutex::new(Followed { window, followers: Followers::default() }) })
    }
}

#[pymethods]
impl Window {
    fn advance(&self, py: Python<'_>) -> PyResult<()> {
        enter_interruptibly(py, None, |_| {
            let mut followed = lock(&self.inner);
            followed.window.advance()?;
            followed.update_followers()
        })
    }

    /// The next view, or none if the time is up before.
    fn next(&self, py: Python<'_>, timeout_seconds: Option<f64>) -> PyResult<Option<Snapshot>> {
        let patience = Patience::of(timeout_seconds);
        let found = enter_interruptibly(py, None, |control| {
            loop {
                let pause = {
                    let mut followed = lock(&self.inner);
                    if let Some(view) = followed.window.try_next()? {
                        followed.update_followers()?;
                        return Ok::<_, Failure>(Some(view));
                    }
                    followed.window.pause()
                };
                if patience.is_over() || control.check().is_err() {
                    return Ok(None);
                }
                pause.wait(Some(patience.slice()));
            }
        })?;
        Ok(found.map(Snapshot::new))
    }

    fn latest(&self, py: Python<'_>) -> PyResult<Snapshot> {
        enter(py, || lock(&self.inner).window.latest()).map(Snapshot::new)
    }

    #[getter]
    fn end(&self, py: Python<'_>) -> Option<i64> {
        detached(py, || lock(&self.inner).window.end())
    }

    /// Edges that entered and left, events that were late and that had no time.
    #[getter]
    fn stats(&self, py: Python<'_>) -> (u64, u64, u64, u64) {
        let stats = detached(py, || lock(&self.inner).window.stats());
        (stats.entered, stats.left, stats.late, stats.untimed)
    }

    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> u64 {
        detached(py, || lock(&self.inner).window.memory_bytes())
    }

    /// An algorithm that follows the window from where it is.
    fn follow(&self, name: &str, arguments: &Bound<'_, PyDict>) -> PyResult<Incremental> {
        let here = || {
            let mut followed = lock(&self.inner);
            followed.update_followers()?;
            followed.here()
        };
        follow(name, arguments, here, |begun, new| lock(&self.inner).followers.join(begun, new))
    }
}
