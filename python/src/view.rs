//! A view as Python holds it: a name, or what set operations and expansion make of other views, evaluated when asked.
//!
//! Invariant: steps are applied from left to right, so that long chains need no deep recursion; only an operand on the
//! right side that is a chain itself nests, at most [`MAX_DEPTH`] deep.

use std::sync::Arc;

use evergraph::{
    Database, Direction, EdgeMode, GraphView, Part, Snapshot as WholeSnapshot, View as Inner, ViewError,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use roaring::RoaringBitmap;

use crate::events::{PythonHandler, Subscription, handler_options, letters_to_python};
use crate::gate::enter;
use crate::key::{key_of, key_to_python};
use crate::snapshot::Snapshot;
use crate::value::{value_error, value_of, value_to_python};

/// How deep views may be nested as right operands.
const MAX_DEPTH: usize = 50;

/// A view, named or made of others.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct View {
    database: Database,
    first: First,
    steps: Vec<Arc<Step>>,
    depth: usize,
}

#[derive(Clone)]
enum First {
    Named(Arc<parking_lot::Mutex<Inner>>),
    /// Vertices by key; those that are not there are left out.
    Keys(Arc<Vec<evergraph::Key>>),
}

enum Step {
    Combine { operation: Operation, mode: EdgeMode, right: (First, Vec<Arc<Step>>) },
    Expand { hops: usize, directions: &'static [Direction] },
}

#[derive(Clone, Copy)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

fn evaluate(first: &First, steps: &[Arc<Step>], whole: &WholeSnapshot) -> Result<Part, ViewError> {
    let mut part = match first {
        First::Named(view) => {
            let view = view.lock().clone();
            view.at(whole)?
        }
        First::Keys(keys) => {
            let ids = keys.iter().filter_map(|key| whole.vertex_id(key));
            Part::induced(whole, ids.collect::<RoaringBitmap>())
        }
    };
    for step in steps {
        part = match &**step {
            Step::Expand { hops, directions } => part.expand(*hops, directions),
            Step::Combine { operation, mode, right: (first, steps) } => {
                let right = evaluate(first, steps, whole)?;
                match operation {
                    Operation::Union => part.union(&right, *mode)?,
                    Operation::Intersection => part.intersection(&right, *mode)?,
                    Operation::Difference => part.difference(&right, *mode)?,
                }
            }
        };
    }
    Ok(part)
}

impl View {
    pub(crate) fn new(database: &Database, view: Inner) -> Self {
        let first = First::Named(Arc::new(parking_lot::Mutex::new(view)));
        View { database: database.clone(), first, steps: Vec::new(), depth: 0 }
    }

    fn with(&self, step: Step, depth: usize) -> Self {
        let mut steps = self.steps.clone();
        steps.push(Arc::new(step));
        View { database: self.database.clone(), first: self.first.clone(), steps, depth }
    }

    fn named(&self) -> PyResult<Inner> {
        match &self.first {
            First::Named(view) if self.steps.is_empty() => Ok(view.lock().clone()),
            _ => Err(PyValueError::new_err(
                "this view is made of others and has no name; create_view makes named ones",
            )),
        }
    }

    fn whole(&self, snapshot: Option<&Snapshot>) -> Result<WholeSnapshot, ViewError> {
        match snapshot {
            Some(snapshot) => Ok(snapshot.inner.clone()),
            None => Ok(self.database.snapshot()?),
        }
    }
}

#[pymethods]
impl View {
    /// The name; none of one that is made of others.
    #[getter]
    fn name(&self) -> Option<String> {
        self.named().ok().map(|view| view.name().to_owned())
    }

    /// What it is made of, in words.
    fn definition(&self, py: Python<'_>) -> PyResult<String> {
        let view = self.named()?;
        enter(py, || {
            let snapshot = self.database.snapshot()?;
            Ok::<_, ViewError>(view.definition()?.describe(snapshot.schema()))
        })
    }

    /// The view on a snapshot, or on the newest version.
    fn at(&self, py: Python<'_>, snapshot: Option<&Snapshot>) -> PyResult<Snapshot> {
        let evaluated = enter(py, || {
            let part = evaluate(&self.first, &self.steps, &self.whole(snapshot)?)?;
            Ok::<_, ViewError>(part.snapshot())
        });
        evaluated.map(Snapshot::new)
    }

    /// `induced` is true, false, or none to inherit from the operands.
    fn combine(&self, operation: &str, other: &View, induced: Option<bool>) -> PyResult<View> {
        let operation = match operation {
            "union" => Operation::Union,
            "intersection" => Operation::Intersection,
            _ => Operation::Difference,
        };
        let mode = match induced {
            None => EdgeMode::Inherit,
            Some(true) => EdgeMode::Induced,
            Some(false) => EdgeMode::EdgeWise,
        };
        let depth = self.depth.max(other.depth + 1);
        if depth > MAX_DEPTH {
            return Err(PyValueError::new_err(
                "views are nested too deeply; combine them from left to right",
            ));
        }
        let right = (other.first.clone(), other.steps.clone());
        Ok(self.with(Step::Combine { operation, mode, right }, depth))
    }

    /// An ad-hoc view of these vertices, to be combined with this one.
    fn of_keys(&self, keys: Vec<Bound<'_, PyAny>>) -> PyResult<View> {
        let keys = keys.iter().map(|key| Ok(key_of(key)?.to_key())).collect::<PyResult<Vec<_>>>()?;
        let first = First::Keys(Arc::new(keys));
        Ok(View { database: self.database.clone(), first, steps: Vec::new(), depth: 0 })
    }

    fn expand(&self, hops: usize, direction: &str) -> PyResult<View> {
        let directions: &'static [Direction] = match direction {
            "out" => &[Direction::Out],
            "in" => &[Direction::In],
            "both" => &[Direction::Out, Direction::In],
            other => {
                let message = format!("direction: {other:?} is none of \"out\", \"in\", \"both\"");
                return Err(PyValueError::new_err(message));
            }
        };
        Ok(self.with(Step::Expand { hops, directions }, self.depth))
    }

    /// The version, vertices, edges by type and reads of this process, as keyword arguments.
    fn statistics<'py>(&self, py: Python<'py>, snapshot: Option<&Snapshot>) -> PyResult<Bound<'py, PyDict>> {
        let view = self.named()?;
        let found = enter(py, || view.statistics(&self.whole(snapshot)?))?;
        let dict = PyDict::new(py);
        dict.set_item("version", found.version)?;
        dict.set_item("num_vertices", found.num_vertices)?;
        dict.set_item("num_edges", found.edges.iter().map(|(_, edges)| edges).sum::<u64>())?;
        let edges = PyDict::new(py);
        found.edges.into_iter().try_for_each(|(name, count)| edges.set_item(name, count))?;
        dict.set_item("edges", edges)?;
        dict.set_item("reads", found.reads)?;
        Ok(dict)
    }

    fn drop(&self, py: Python<'_>) -> PyResult<()> {
        let view = self.named()?;
        enter(py, || view.drop_view())
    }

    fn rename(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let mut view = self.named()?;
        enter(py, || view.rename(name).map(|()| view)).map(|renamed| {
            if let First::Named(view) = &self.first {
                *view.lock() = renamed;
            }
        })
    }

    /// `failure` is how often a call is tried again, and the pause before the first try in seconds.
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn on_update(
        &self,
        py: Python<'_>,
        handler: Py<PyAny>,
        name: String,
        kinds: Vec<String>,
        properties: Vec<String>,
        exactly_once: bool,
        batch_size: Option<usize>,
        failure: (u32, f64),
    ) -> PyResult<Subscription> {
        let view = self.named()?;
        let options =
            handler_options(name, &kinds, properties, exactly_once, batch_size.unwrap_or(64), failure)?;
        let handler = PythonHandler::new(handler, batch_size.is_some());
        enter(py, || view.on_update(options, handler)).map(|inner| Subscription { inner })
    }

    /// (event, error, tries)
    fn dead_letters<'py>(
        &self,
        py: Python<'py>,
        handler: &str,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, String, u32)>> {
        let view = self.named()?;
        let letters = enter(py, || view.dead_letters(handler))?;
        letters_to_python(py, &letters)
    }

    fn forget_handler(&self, py: Python<'_>, handler: &str) -> PyResult<bool> {
        let view = self.named()?;
        enter(py, || view.forget_handler(handler))
    }

    fn discard_dead_letters(&self, py: Python<'_>, handler: &str) -> PyResult<usize> {
        let view = self.named()?;
        enter(py, || view.discard_dead_letters(handler, &view.dead_letters(handler)?))
    }

    fn scratch_set(&self, property: &str, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (view, py) = (self.named()?, value.py());
        let fault = |error| value_error(&error, "vertex", property, None, py).unwrap_or(error);
        let value = value_of(value).map_err(fault)?;
        let vertex = self.at(key.py(), None)?.require(key)?;
        view.scratch().set(property, vertex, value);
        Ok(())
    }

    /// The vertices that have a scratch property, with its values.
    fn scratch<'py>(&self, py: Python<'py>, property: &str) -> PyResult<Bound<'py, PyDict>> {
        let column = self.named()?.scratch().column(property);
        let snapshot = self.at(py, None)?;
        let dict = PyDict::new(py);
        for (vertex, value) in column.into_iter().filter(|(vertex, _)| snapshot.inner.has_vertex(*vertex)) {
            dict.set_item(key_to_python(py, snapshot.inner.key(vertex)), value_to_python(py, value)?)?;
        }
        Ok(dict)
    }

    fn scratch_names(&self) -> PyResult<Vec<String>> {
        Ok(self.named()?.scratch().properties())
    }

    fn scratch_clear(&self, property: &str) -> PyResult<()> {
        self.named()?.scratch().clear(property);
        Ok(())
    }
}
