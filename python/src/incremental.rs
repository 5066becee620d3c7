//! Incremental algorithms as Python holds them, and how they are brought along.
//!
//! ```text
//!  Window, Stream ──► Followers ──► [Incremental, weak] ──┐     a move, a batch: every algorithm, with the changes
//!  Incremental ───────────────────────────────────────────┴─► algorithm and snapshot, behind a lock
//!     └─────► Follower, of one that follows a database on its own
//! ```
//!
//! Invariant: an algorithm's state is that of its snapshot; after an error it has none, and says so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use evergraph::algorithms::incremental::{self, Changes};
use evergraph::algorithms::{AlgorithmError, Control, Outcome, algorithm};
use evergraph::{Follower, Snapshot as View, StreamError, WindowError};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::algorithm::{VertexTable, arguments_of, scalar_to_python};
use crate::error::{InView, Raise, closed};
use crate::gate::{detached, enter, enter_interruptibly};
use crate::snapshot::Snapshot;
use crate::table::Table;

/// An algorithm with the graph that its result is of.
struct State {
    /// The error of the update that failed, after one.
    algorithm: Result<Box<dyn incremental::Incremental>, AlgorithmError>,
    view: View,
}

impl State {
    fn update(&mut self, after: View, changes: &Changes) -> Result<(), Failure> {
        let algorithm =
            self.algorithm.as_mut().map_err(|why| Failure::Broken(why.clone(), self.view.clone()))?;
        self.view = after;
        if let Err(error) = algorithm.update(&self.view, changes) {
            self.algorithm = Err(error.clone());
            return Err(Failure::Algorithm(error, self.view.clone()));
        }
        Ok(())
    }

    fn algorithm(&mut self) -> Result<(&mut dyn incremental::Incremental, &View), Failure> {
        match &mut self.algorithm {
            Ok(algorithm) => Ok((&mut **algorithm, &self.view)),
            Err(why) => Err(Failure::Broken(why.clone(), self.view.clone())),
        }
    }
}

/// Why an algorithm does not follow.
pub(crate) enum Failure {
    Window(WindowError),
    Stream(StreamError),
    /// The stream was closed.
    Closed,
    Algorithm(AlgorithmError, View),
    /// An update failed before, for this reason.
    Broken(AlgorithmError, View),
}

impl From<WindowError> for Failure {
    fn from(error: WindowError) -> Self {
        Failure::Window(error)
    }
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        Failure::Stream(error)
    }
}

impl Raise for Failure {
    fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Window(error) => error.raise(py),
            Failure::Stream(error) => error.raise(py),
            Failure::Closed => closed(py, "the stream is closed"),
            Failure::Algorithm(error, view) => InView { error, view: &view }.raise(py),
            Failure::Broken(error, view) => {
                let why = InView { error, view: &view }.raise(py).into_value(py);
                PyValueError::new_err(format!(
                    "an update of this algorithm has failed, so make it anew: {why}"
                ))
            }
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An algorithm that follows a graph.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct Incremental {
    state: Arc<Mutex<State>>,
    /// Where the changes come from; windows and streams bring them.
    follower: Option<Mutex<Follower>>,
}

impl Incremental {
    pub(crate) fn new(
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
            started.map_err(|error| Failure::Algorithm(error, view.clone()))
        };
        let algorithm = Ok(enter_interruptibly(arguments.py(), None, start)?);
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
        let mut follower = enter(arguments.py(), || database.follow(edge_type))?;
        if incremental::takes_repeats(name) {
            follower.take_repeats();
        }
        Self::new(follower.snapshot().clone(), Some(follower), name, arguments)
    }
}

#[pymethods]
impl Incremental {
    /// Goes on to the newest state of the database; of a window or a stream there is nothing to do.
    fn update(&self, py: Python<'_>) -> PyResult<()> {
        let Some(follower) = &self.follower else { return Ok(()) };
        enter(py, || {
            let followed = lock(follower).advance()?;
            lock(&self.state).update(followed.after, &followed.changes)
        })
    }

    #[getter]
    fn snapshot(&self, py: Python<'_>) -> Snapshot {
        Snapshot::new(detached(py, || lock(&self.state).view.clone()))
    }

    /// The table of vertex values, if there are any, and the other values by name.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<(Option<VertexTable>, Bound<'py, PyDict>)> {
        let (table, values) = enter(py, || {
            let mut state = lock(&self.state);
            let (algorithm, view) = state.algorithm()?;
            let Outcome { rows, columns, values } = algorithm.outcome();
            let table = (!columns.is_empty()).then(|| VertexTable::new(view, rows, columns));
            Ok::<_, Failure>((table, values))
        })?;
        let named = PyDict::new(py);
        for (name, value) in values {
            named.set_item(name, scalar_to_python(py, value)?)?;
        }
        Ok((table, named))
    }

    /// The vertices of the largest values.
    fn top(&self, py: Python<'_>, count: usize) -> PyResult<Table> {
        let listed = enter(py, || {
            let mut state = lock(&self.state);
            let (algorithm, view) = state.algorithm()?;
            let outcome = algorithm.top(view, count);
            Ok::<_, Failure>(outcome.map(|outcome| VertexTable::new(view, outcome.rows, outcome.columns)))
        })?;
        let listed =
            listed.ok_or_else(|| PyTypeError::new_err("this algorithm gives vertices no numbers"))?;
        Ok(listed.table())
    }
}

/// The algorithms that follow something which brings them along.
#[derive(Default)]
pub(crate) struct Followers {
    states: Vec<Weak<Mutex<State>>>,
    /// The version that they were told last.
    told: Option<u64>,
}

impl Followers {
    /// Notes where another may begin.
    pub(crate) fn begin(&mut self, here: &View) {
        self.told = Some(here.version());
    }

    /// Takes in one that began at a version, unless others have been brought further meanwhile: it has missed what they
    /// were told.
    pub(crate) fn join(&mut self, begun: u64, incremental: &Incremental) -> bool {
        let has_missed_nothing = self.told == Some(begun);
        if has_missed_nothing {
            self.states.push(Arc::downgrade(&incremental.state));
        }
        has_missed_nothing
    }

    /// Brings every algorithm to where the changes lead, which are made if there is anyone; the first error is told when all
    /// have been.
    pub(crate) fn update<E: Into<Failure>>(
        &mut self,
        moved: impl FnOnce() -> Result<Option<(View, Changes)>, E>,
    ) -> Result<(), Failure> {
        self.states.retain(|state| state.strong_count() > 0);
        self.told = None;
        if self.states.is_empty() {
            return Ok(());
        }
        let Some((after, changes)) = moved().map_err(Into::into)? else { return Ok(()) };
        self.told = Some(after.version());
        let update = |state: &Weak<Mutex<State>>| match state.upgrade() {
            Some(state) => lock(&state).update(after.clone(), &changes),
            None => Ok(()),
        };
        // One that failed before has told so already.
        let outcomes: Vec<Result<(), Failure>> = self.states.iter().map(update).collect();
        let failed = outcomes.into_iter().filter_map(Result::err);
        failed.filter(|failure| !matches!(failure, Failure::Broken(..))).map(Err).next().unwrap_or(Ok(()))
    }

    /// Whether anyone follows.
    pub(crate) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }
}

/// An algorithm that follows what leads it: `here` says from where and lets it [begin](Followers::begin), `join` lets it
/// [in](Followers::join).
pub(crate) fn follow(
    name: &str,
    arguments: &Bound<'_, PyDict>,
    here: impl Fn() -> Result<View, Failure> + Sync,
    join: impl Fn(u64, &Incremental) -> bool + Sync,
) -> PyResult<Incremental> {
    loop {
        let current = enter(arguments.py(), &here)?;
        let begun = current.version();
        let incremental = Incremental::new(current, None, name, arguments)?;
        if detached(arguments.py(), || join(begun, &incremental)) {
            return Ok(incremental);
        }
    }
}
