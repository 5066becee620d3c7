//! Algorithms, all through the registry: arguments from Python by their kind, results as columns keyed by vertex.
//!
//! ```text
//!  Outcome by id   distance: [0, null, 1]              ids with a value     0       2
//!                  parent:   [0, null, 0]      ──►     table    vertex    "alice" "carol"
//!                                                               distance    0       1
//!                                                               parent    "alice" "alice"
//! ```
//!
//! A list (a path, the members of a set) is a table of its columns alone, in its own order.
//!
//! Invariant: row `i` of the table is the vertex `ids[i]`, if rows stand for vertices; but for lists, ids ascend.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use evergraph::algorithms::{
    Algorithm, Argument, Arguments, Check, Control, Kind, NO_VERTEX, Outcome, Rows, Scalar, Value,
    VertexColumn, algorithm,
};
use evergraph::{GraphView, Snapshot as View, VertexId, shown};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping, PyString};

use crate::error::InView;
use crate::gate::{detached, enter_interruptibly};
use crate::key::{key_of, type_name, whole_number};
use crate::snapshot::Snapshot;
use crate::table::{Table, take, take_values};

/// What the registry says of an algorithm; `_native.pyi` names the parts.
type Described = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Vec<(&'static str, &'static str, Option<&'static str>, &'static str)>,
    Vec<(&'static str, &'static str)>,
);

/// All algorithms: name, summary, complexity, source, arguments, results.
#[pyfunction]
pub(crate) fn algorithms() -> Vec<Described> {
    let argument = |it: &'static Argument| (it.name, kind_name(it.kind), it.default, it.summary);
    let described = |it: &&'static Algorithm| {
        let results = it.results.iter().map(|field| (field.name, field.summary));
        let arguments = it.arguments.iter().map(argument).collect();
        (it.name, it.summary, it.complexity, it.source, arguments, results.collect())
    };
    evergraph::algorithms::algorithms().iter().map(described).collect()
}

/// What an argument takes, as documentation of Python has it.
fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "bool",
        Kind::Count => "int",
        Kind::Float => "float",
        Kind::Text => "str",
        Kind::Vertex => "key",
        Kind::Vertices => "key, or several",
        Kind::Weights => "dict",
        Kind::FloatOrWeights => "float or dict",
    }
}

/// Runs an algorithm by name: the table of its vertex values, if it has any, and its other values by name.
#[pyfunction]
pub(crate) fn run_algorithm<'py>(
    py: Python<'py>,
    snapshot: &Snapshot,
    name: &str,
    arguments: &Bound<'py, PyDict>,
    verify: &Bound<'py, PyAny>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Option<VertexTable>, Bound<'py, PyDict>)> {
    let algorithm =
        algorithm(name).ok_or_else(|| PyValueError::new_err(format!("there is no algorithm {name:?}")))?;
    let arguments = arguments_of(algorithm, snapshot, arguments)?;
    let check = if flag_of("verify", verify)? { Check::Verify } else { Check::Skip };
    let view = &snapshot.inner;
    let work = |control: &Control| {
        let outcome = algorithm.run(view, &arguments, check, control);
        let Outcome { rows, columns, values } = outcome.map_err(|error| InView { error, view })?;
        let table = if columns.is_empty() { None } else { Some(VertexTable::new(view, rows, columns)) };
        Ok::<_, InView<'_>>((table, values))
    };
    let (table, values) = enter_interruptibly(py, progress, work)?;
    let named = PyDict::new(py);
    for (name, value) in values {
        named.set_item(name, scalar_to_python(py, value)?)?;
    }
    Ok((table, named))
}

pub(crate) fn scalar_to_python(py: Python<'_>, value: Scalar) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Scalar::Flag(flag) => flag.into_bound_py_any(py),
        Scalar::Count(count) => count.into_bound_py_any(py),
        Scalar::Float(number) => number.into_bound_py_any(py),
    }
}

/// The arguments that are given; `None` stands for the default.
pub(crate) fn arguments_of(
    algorithm: &Algorithm,
    snapshot: &Snapshot,
    given: &Bound<'_, PyDict>,
) -> PyResult<Arguments> {
    let mut arguments = Arguments::new();
    for (name, value) in given.iter().filter(|(_, value)| !value.is_none()) {
        let name: String = name.extract()?;
        let known = algorithm.arguments.iter().find(|argument| argument.name == name);
        let argument = known
            .ok_or_else(|| PyTypeError::new_err(format!("{} has no argument {name:?}", algorithm.name)))?;
        let wrong = |wanted: &str| unfit(&name, wanted, &value);
        let value = match argument.kind {
            Kind::Flag => Value::Flag(flag_of(&name, &value)?),
            Kind::Float => Value::Float(float_of(&name, &value)?),
            Kind::Count => match (value.extract(), whole_number(&value)) {
                (Ok(number), _) => Value::Count(number),
                (_, Ok(None)) => return Err(wrong("a whole number")),
                _ => {
                    let bits = if name == "seed" { 64 } else { 32 };
                    let why = format!("argument {name}: {} is not from 0 to 2^{bits} - 1", shown(&value));
                    return Err(PyValueError::new_err(why));
                }
            },
            Kind::Text => Value::Text(text_of(&name, &value)?),
            Kind::Vertex => Value::Vertex(snapshot.require(&value)?),
            Kind::Vertices => Value::Vertices(vertices_of(snapshot, &value)?),
            Kind::FloatOrWeights if value.extract::<f64>().is_ok() => Value::Float(value.extract()?),
            Kind::Weights | Kind::FloatOrWeights => {
                Value::Weights(weights_of(&name, snapshot, &value).transpose().ok_or_else(|| {
                    match argument.kind {
                        Kind::FloatOrWeights => wrong("a number, or a mapping from vertex to number"),
                        _ => wrong("a mapping from vertex to number"),
                    }
                })??)
            }
        };
        arguments = arguments.with(&name, value);
    }
    Ok(arguments)
}

/// The error of an argument that is of a wrong type.
fn unfit(name: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("argument {name} is {wanted}, not {}", type_name(value)))
}

/// An argument that is true or false.
pub(crate) fn flag_of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.extract().map_err(|_| unfit(name, "True or False", value))
}

/// An argument that is a string.
pub(crate) fn text_of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().map_err(|_| unfit(name, "a string", value))
}

/// An argument that is a number.
fn float_of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    value.extract().map_err(|error: PyErr| match error.is_instance_of::<PyOverflowError>(value.py()) {
        true => PyValueError::new_err(format!("argument {name}: {} is too large for a float", shown(value))),
        false => unfit(name, "a number", value),
    })
}

/// One key, or several. A string, or bytes, is no list of its parts.
fn vertices_of(snapshot: &Snapshot, value: &Bound<'_, PyAny>) -> PyResult<Vec<VertexId>> {
    let is_bytes = value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>();
    if value.is_instance_of::<PyString>() || is_bytes {
        return Ok(vec![snapshot.require(value)?]);
    }
    match value.try_iter() {
        Ok(keys) => keys.map(|key| snapshot.require(&key?)).collect(),
        Err(_) => Ok(vec![snapshot.require(value)?]),
    }
}

/// A number for each vertex id, from a mapping by key in which the rest is 0. `None` if it is no mapping.
fn weights_of(name: &str, snapshot: &Snapshot, value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<f64>>> {
    let Ok(mapping) = value.cast::<PyMapping>() else { return Ok(None) };
    let mut weights = vec![0.0; snapshot.inner.id_bound() as usize];
    for item in mapping.items()?.iter() {
        let (key, weight): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let of_key = || format!("{name}[{}]", shown(key.repr().map_or_else(|_| "a key".to_owned(), shown)));
        weights[snapshot.require(&key)? as usize] = match weight.extract() {
            Ok(weight) => weight,
            Err(_) => float_of(&of_key(), &weight)?,
        };
    }
    Ok(Some(weights))
}

/// Values of vertices.
#[pyclass(frozen, module = "evergraph._native")]
pub(crate) struct VertexTable {
    view: View,
    rows: Rows,
    /// The vertex of each row, where rows stand for vertices.
    ids: Vec<VertexId>,
    /// Rows of a list in the order of their vertices, made when a vertex is first asked for.
    index: OnceLock<Vec<usize>>,
    batch: RecordBatch,
}

#[pymethods]
impl VertexTable {
    #[getter]
    pub(crate) fn table(&self) -> Table {
        Table::new(self.batch.clone())
    }

    /// The row of a vertex, the first of a list; `None` if it has none.
    fn row(&self, key: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let Some(id) = self.view.vertex_id(key_of(key)?) else { return Ok(None) };
        if self.rows == Rows::ByVertex {
            return Ok(self.ids.binary_search(&id).ok());
        }
        let index = self.index.get_or_init(|| {
            let mut rows: Vec<usize> = (0..self.ids.len()).collect();
            rows.sort_by_key(|&row| self.ids[row]);
            rows
        });
        let at = index.partition_point(|&row| self.ids[row] < id);
        Ok(index.get(at).copied().filter(|&row| self.ids[row] == id))
    }

    /// The rows, from the first, whose value in a column is another than that of the row before. The column is one of vertices
    /// or whole numbers.
    fn starts(&self, py: Python<'_>, column: usize) -> Vec<usize> {
        fn starts<T: PartialEq>(values: &[T]) -> Vec<usize> {
            (0..values.len()).filter(|&row| row == 0 || values[row] != values[row - 1]).collect()
        }
        py.detach(|| match self.batch.column(column).as_primitive_opt::<Int64Type>() {
            Some(numbers) if column > 0 => starts(numbers.values()),
            _ => starts(&self.ids),
        })
    }

    /// The same vertices with the values of another column.
    fn select(&self, column: usize) -> PyResult<VertexTable> {
        let batch = self.batch.project(&[0, column]);
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let (view, rows, ids) = (self.view.clone(), self.rows, self.ids.clone());
        Ok(VertexTable { view, rows, ids, index: OnceLock::new(), batch })
    }

    /// The rows with the largest values in the second column, which has no nulls: the largest first, ties in order, NaN
    /// last. Of a list the first rows.
    fn top(&self, py: Python<'_>, count: usize) -> Table {
        Table::new(detached(py, || match self.rows {
            Rows::ByVertex => top(&self.batch, count),
            Rows::Listed => self.batch.slice(0, count.min(self.batch.num_rows())),
        }))
    }
}

impl VertexTable {
    /// A row for every vertex of the view that has a value in the first column, neither null nor infinite nor NaN, or for
    /// every item of a list.
    pub(crate) fn new(view: &View, rows: Rows, columns: Vec<(&'static str, VertexColumn)>) -> Self {
        let (view, index) = (view.clone(), OnceLock::new());
        if rows == Rows::Listed {
            let items: Vec<u32> = (0..columns.first().map_or(0, |(_, column)| column.len() as u32)).collect();
            let ids = match columns.first() {
                Some((_, VertexColumn::Vertices(vertices))) => vertices.clone(),
                _ => Vec::new(),
            };
            let fields =
                columns.into_iter().map(|(name, column)| (name, column_array(&view, &items, column)));
            let batch = named_batch(fields.collect());
            return VertexTable { view, rows, ids, index, batch };
        }
        let mut ids = view.vertex_ids();
        match columns.first() {
            Some((_, VertexColumn::Counts(counts))) => ids.retain(|&id| counts[id as usize] != u32::MAX),
            Some((_, VertexColumn::Vertices(vertices))) => {
                ids.retain(|&id| vertices[id as usize] != NO_VERTEX)
            }
            Some((_, VertexColumn::Floats(numbers))) => ids.retain(|&id| numbers[id as usize].is_finite()),
            None => {}
        }
        let mut fields = vec![("vertex", view.key_array(&ids))];
        for (name, column) in columns {
            fields.push((name, column_array(&view, &ids, column)));
        }
        VertexTable { view, rows, ids, index, batch: named_batch(fields) }
    }
}

fn named_batch(fields: Vec<(&'static str, ArrayRef)>) -> RecordBatch {
    let schema = fields
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), array.null_count() > 0));
    let schema = Arc::new(Schema::new(schema.collect::<Vec<_>>()));
    let arrays = fields.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(schema, arrays).expect("columns of one result have the same rows")
}

fn top(batch: &RecordBatch, count: usize) -> RecordBatch {
    let values = batch.column(1);
    let mut rows: Vec<usize> = (0..batch.num_rows()).collect();
    let keep = count.min(rows.len());
    let mut largest_first = |order: &dyn Fn(usize, usize) -> Ordering| {
        let order = |&left: &usize, &right: &usize| order(right, left).then(left.cmp(&right));
        if keep < rows.len() {
            rows.select_nth_unstable_by(keep, order);
            rows.truncate(keep);
        }
        rows.sort_unstable_by(order);
    };
    match values.data_type() {
        DataType::Float64 => {
            let rank = |score: f64| if score.is_nan() { f64::NEG_INFINITY } else { score };
            let scores = values.as_primitive::<Float64Type>().values();
            largest_first(&|left, right| rank(scores[left]).total_cmp(&rank(scores[right])));
        }
        DataType::Int64 => {
            let counts = values.as_primitive::<Int64Type>().values();
            largest_first(&|left, right| counts[left].cmp(&counts[right]));
        }
        DataType::LargeUtf8 => {
            let texts = values.as_string::<i64>();
            largest_first(&|left, right| texts.value(left).cmp(texts.value(right)));
        }
        _ => {
            let texts = values.as_string::<i32>();
            largest_first(&|left, right| texts.value(left).cmp(texts.value(right)));
        }
    }
    take(batch, &rows)
}

/// The values of a column in these rows.
fn column_array(view: &View, ids: &[VertexId], column: VertexColumn) -> ArrayRef {
    match column {
        VertexColumn::Counts(counts) => {
            let known = |id: &VertexId| {
                Some(i64::from(counts[*id as usize])).filter(|&count| count != i64::from(u32::MAX))
            };
            Arc::new(ids.iter().map(known).collect::<Int64Array>())
        }
        VertexColumn::Floats(numbers) if numbers.len() == ids.len() => Arc::new(Float64Array::from(numbers)),
        VertexColumn::Floats(numbers) => {
            Arc::new(Float64Array::from_iter_values(ids.iter().map(|&id| numbers[id as usize])))
        }
        VertexColumn::Vertices(vertices) => {
            let vertices: Vec<VertexId> = ids.iter().map(|&id| vertices[id as usize]).collect();
            nullable_keys(view, &vertices)
        }
    }
}

/// The keys of vertices, null for [`NO_VERTEX`].
fn nullable_keys(view: &View, vertices: &[VertexId]) -> ArrayRef {
    if !vertices.contains(&NO_VERTEX) {
        return view.key_array(vertices);
    }
    let known: Vec<VertexId> = vertices.iter().copied().filter(|&vertex| vertex != NO_VERTEX).collect();
    let mut next = 0..known.len();
    let rows = vertices.iter().map(|&vertex| if vertex == NO_VERTEX { None } else { next.next() });
    take_values(&view.key_array(&known), &rows.collect::<Vec<_>>())
}
