//! Windows and incremental algorithms as Python holds them.
//!
//! ```text
//!  Window ──► evergraph::Window          advance, next: then every algorithm that follows it, with the changes of the move
//!     └─────► [Incremental, weak] ──┐
//!  Incremental ─────────────────────┴─► algorithm and snapshot, behind a lock
//!     └─────► Follower, of one that follows a database on its own
//! ```
//!
//! Invariant: an algorithm's state is that of its snapshot; after an error it has none, and says so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use evergraph::algorithms::incremental::{self, Changes};
use evergraph::algorithms::{AlgorithmError, Control, Outcome, algorithm};
use evergraph::{
    Duplicates, Follower, Order, PropertyType, Snapshot as View, Span, Window as Inner, WindowError,
    WindowOptions,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::algorithm::{VertexTable, arguments_of, scalar_to_python};
use crate::error::{InView, Raise};
use crate::gate::{enter, enter_interruptibly};
use crate::snapshot::Snapshot;

/// How long to wait for commits before looking whether the wait is to end.
const SLICE: Duration = Duration::from_millis(50);

/// What follows a window or a database.
struct State {
    /// None after an error.
    algorithm: Option<Box<dyn incremental::Incremental>>,
    view: View,
}

impl State {
    fn update(&mut self, after: View, changes: &Changes) -> Result<(), Failure> {
        let Some(mut algorithm) = self.algorithm.take() else { return Err(Failure::Broken) };
        self.view = after;
        algorithm.update(&self.view, changes).map_err(|error| Failure::of(error, &self.view))?;
        self.algorithm = Some(algorithm);
        Ok(())
    }
}

/// Why an algorithm does not follow.
enum Failure {
    Window(WindowError),
    Algorithm(AlgorithmError, View),
    /// An update failed before.
    Broken,
}

impl Failure {
    fn of(error: AlgorithmError, view: &View) -> Self {
        Failure::Algorithm(error, view.clone())
    }
}

impl From<WindowError> for Failure {
    fn from(error: WindowError) -> Self {
        Failure::Window(error)
    }
}

impl Raise for Failure {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Window(error) => error.raise(py),
            Failure::Algorithm(error, view) => InView { error, view: &view }.raise(py),
            Failure::Broken => PyValueError::new_err("an update of this algorithm has failed: make it anew"),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An algorithm that follows a graph.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Incremental {
    state: Arc<Mutex<State>>,
    /// Where the changes come from; a window brings them itself.
    follower: Option<Mutex<Follower>>,
}

impl Incremental {
    fn new(
        view: View,
        follower: Option<Follower>,
        name: &str,
        arguments: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let twin = algorithm(name)
            .ok_or_else(|| PyValueError::new_err(format!("there is no algorithm {name:?}")))?;
        let snapshot = Snapshot::new(view.clone());
        let arguments_by_id = arguments_of(twin, &snapshot, arguments)?;
        let start = |control: &Control| {
            let started = incremental::incremental(name, &view, &arguments_by_id, control);
            started.map_err(|error| Failure::of(error, &view))
        };
        let algorithm = Some(enter_interruptibly(arguments.py(), None, start)?);
        let state = Arc::new(Mutex::new(State { algorithm, view }));
        Ok(Incremental { state, follower: follower.map(Mutex::new) })
    }

    /// Follows a database from now on.
    pub(crate) fn of_database(
        database: &evergraph::Database,
        edge_type: Option<&str>,
        name: &str,
        arguments: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let follower = enter(arguments.py(), || database.follow(edge_type))?;
        Self::new(follower.snapshot().clone(), Some(follower), name, arguments)
    }
}

#[pymethods]
impl Incremental {
    /// Goes on to the newest state of the database; of a window there is nothing to do.
    fn update(&self, py: Python<'_>) -> PyResult<()> {
        let Some(follower) = &self.follower else { return Ok(()) };
        enter(py, || {
            let followed = lock(follower).advance()?;
            lock(&self.state).update(followed.after, &followed.changes)
        })
    }

    #[getter]
    fn snapshot(&self) -> Snapshot {
        Snapshot::new(lock(&self.state).view.clone())
    }

    /// The table of vertex values, if there are any, and the other values by name.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<(Option<VertexTable>, Bound<'py, PyDict>)> {
        let (table, values) = enter(py, || {
            let state = lock(&self.state);
            let algorithm = state.algorithm.as_ref().ok_or(Failure::Broken)?;
            let Outcome { rows, columns, values } = algorithm.outcome();
            let table = (!columns.is_empty()).then(|| VertexTable::new(&state.view, rows, columns));
            Ok::<_, Failure>((table, values))
        })?;
        let named = PyDict::new(py);
        for (name, value) in values {
            named.set_item(name, scalar_to_python(py, value)?)?;
        }
        Ok((table, named))
    }
}

/// A sliding window, and who follows it.
struct Followed {
    window: Inner,
    followers: Vec<Weak<Mutex<State>>>,
    /// The version of the window that they were told last.
    told: Option<u64>,
}

impl Followed {
    /// Where the followers are, and where another may begin.
    fn tell(&mut self) -> Result<View, Failure> {
        let current = self.window.changes()?.after;
        self.told = Some(current.version());
        Ok(current)
    }

    /// Brings every algorithm to where the window is; the first error is told when all have been.
    fn update_followers(&mut self) -> Result<(), Failure> {
        self.followers.retain(|follower| follower.strong_count() > 0);
        if self.followers.is_empty() {
            self.window.forget_changes();
            return Ok(());
        }
        let moved = self.window.changes()?;
        self.told = Some(moved.after.version());
        let update = |follower: &Weak<Mutex<State>>| match follower.upgrade() {
            Some(state) => lock(&state).update(moved.after.clone(), &moved.changes),
            None => Ok(()),
        };
        // One that failed before has told so already.
        let outcomes: Vec<Result<(), Failure>> = self.followers.iter().map(update).collect();
        let failed = outcomes.into_iter().filter_map(Result::err);
        failed.filter(|failure| !matches!(failure, Failure::Broken)).map(Err).next().unwrap_or(Ok(()))
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
    #[pyo3(item)]
    every: Option<f64>,
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
        let types = &version.schema().edge_types;
        let named = |name: &String| types.iter().find(|edge_type| edge_type.name == *name);
        let edge_type = match &arguments.edge_type {
            Some(name) => named(name),
            None => types.first().filter(|_| types.len() == 1),
        };
        let wrong = |argument: &str, given: &str, known: &str| {
            PyValueError::new_err(format!("{argument}: {given:?} is none of {known}"))
        };
        let order = match arguments.order.as_deref() {
            None => None,
            Some("event") => Some(Order::Event),
            Some("ingest") => Some(Order::Ingest),
            Some(other) => return Err(wrong("order", other, "\"event\", \"ingest\"")),
        };
        let time = edge_type.and_then(|owner| owner.property(owner.options.time.as_ref()?));
        let is_number = order != Some(Order::Ingest)
            && time.is_some_and(|(_, property)| property.kind != PropertyType::Timestamp);
        let units = if is_number { 1.0 } else { 1e6 };
        let in_units = |duration: f64| (duration * units).round() as i64;
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
            Span::Time(_) => in_units(every),
            Span::Edges(_) => every as i64,
        });
        let duplicates = Duplicates::from_name(&arguments.duplicates)
            .ok_or_else(|| wrong("duplicates", &arguments.duplicates, "\"keep\", \"drop\", \"count\""))?;
        let lateness = in_units(arguments.lateness);
        let (edge_type, after) = (arguments.edge_type, arguments.from_version);
        let options = WindowOptions { edge_type, span, order, every, duplicates, lateness, after };
        let window = enter(py, || database.window(options))?;
        Ok(Window { inner: Mutex::new(Followed { window, followers: Vec::new(), told: None }) })
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
        let mut left = timeout_seconds.map(Duration::from_secs_f64);
        let found = enter_interruptibly(py, None, |control| {
            loop {
                let slice = left.map_or(SLICE, |left| left.min(SLICE));
                let mut followed = lock(&self.inner);
                if let Some(view) = followed.window.next(Some(slice))? {
                    followed.update_followers()?;
                    return Ok::<_, Failure>(Some(view));
                }
                left = left.map(|left| left.saturating_sub(slice));
                if left == Some(Duration::ZERO) || control.check().is_err() {
                    return Ok(None);
                }
            }
        })?;
        Ok(found.map(Snapshot::new))
    }

    fn latest(&self, py: Python<'_>) -> PyResult<Snapshot> {
        enter(py, || lock(&self.inner).window.latest()).map(Snapshot::new)
    }

    #[getter]
    fn end(&self) -> Option<i64> {
        lock(&self.inner).window.end()
    }

    /// Edges that entered and left, events that were late and that had no time.
    #[getter]
    fn stats(&self) -> (u64, u64, u64, u64) {
        let stats = lock(&self.inner).window.stats();
        (stats.entered, stats.left, stats.late, stats.untimed)
    }

    #[getter]
    fn memory_bytes(&self) -> u64 {
        lock(&self.inner).window.memory_bytes()
    }

    /// An algorithm that follows the window from where it is.
    fn follow(&self, name: &str, arguments: &Bound<'_, PyDict>) -> PyResult<Incremental> {
        let py = arguments.py();
        loop {
            let current = enter(py, || {
                let mut followed = lock(&self.inner);
                followed.update_followers()?;
                followed.tell()
            })?;
            let told = current.version();
            let incremental = Incremental::new(current, None, name, arguments)?;
            let mut followed = lock(&self.inner);
            // If others have been brought further meanwhile, it has missed what they were told.
            if followed.told == Some(told) {
                followed.followers.push(Arc::downgrade(&incremental.state));
                return Ok(incremental);
            }
        }
    }
}
