//! A naive graph that takes the same transactions as a store, and tables as rows.
#![allow(dead_code, reason = "no test file uses all of it")]
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)] // A failure to set up is a failed test.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use evergraph_store::{Options, Store, Transaction};
use evergraph_types::{Direction, EdgeTypeOptions, Key, KeyKind, Property, PropertyType, Value, VertexData};
use proptest::prelude::*;

pub type Row = BTreeMap<String, Value>;
pub type Properties = Vec<(&'static str, Value)>;

type TestType = (&'static str, bool, bool, &'static [(&'static str, PropertyType)]);

/// The edge types of the test graph: name, multi, symmetric, properties. `amount` has two types, `type` and `src` are
/// names of other columns.
pub const EDGE_TYPES: [TestType; 5] = [
    ("link", false, false, &[]),
    ("pays", true, false, &[("amount", PropertyType::Float64), ("at", PropertyType::Timestamp)]),
    ("owes", false, false, &[("amount", PropertyType::String), ("type", PropertyType::Int64)]),
    ("knows", false, true, &[("since", PropertyType::Int64), ("close", PropertyType::Bool)]),
    ("meets", true, true, &[("at", PropertyType::Timestamp), ("src", PropertyType::String)]),
];

/// One step of a transaction; vertices are small numbers.
#[derive(Clone, Debug)]
pub enum Step {
    PutVertex { vertex: u8, labelled: bool, age: Option<i64>, name: Option<String> },
    DeleteVertex { vertex: u8 },
    PutEdge { src: u8, dst: u8, edge_type: usize, values: [Option<u8>; 2] },
    DeleteEdge { src: u8, dst: u8, edge_type: usize },
}

pub fn any_step() -> impl Strategy<Value = Step> {
    let vertex = || 0u8..12;
    let edge_type = || 0..EDGE_TYPES.len();
    let name = prop::option::of("[a-zé]{0,3}");
    prop_oneof![
        2 => (vertex(), any::<bool>(), prop::option::of(-3i64..3), name)
            .prop_map(|(vertex, labelled, age, name)| Step::PutVertex { vertex, labelled, age, name }),
        1 => vertex().prop_map(|vertex| Step::DeleteVertex { vertex }),
        12 => (vertex(), vertex(), edge_type(), any::<[Option<u8>; 2]>())
            .prop_map(|(src, dst, edge_type, values)| Step::PutEdge { src, dst, edge_type, values }),
        2 => (vertex(), vertex(), edge_type())
            .prop_map(|(src, dst, edge_type)| Step::DeleteEdge { src, dst, edge_type }),
    ]
}

/// The key of a small number, by kind.
pub fn key_of(kind: KeyKind, vertex: u8) -> Key {
    match kind {
        KeyKind::Dense => Key::Int(i64::from(vertex) * 3),
        KeyKind::Int64 => Key::Int(i64::from(vertex) * -1_000_000_007),
        KeyKind::Text => Key::Text("vé".repeat(usize::from(vertex % 3)) + &vertex.to_string()),
    }
}

fn value_of(kind: PropertyType, seed: u8) -> Value {
    match kind {
        PropertyType::Bool => Value::Bool(seed.is_multiple_of(2)),
        PropertyType::Int64 => Value::Int(i64::from(seed) << 40),
        PropertyType::Float64 => Value::Float(f64::from(seed) / 3.0),
        PropertyType::String => Value::Text("ä".repeat(usize::from(seed % 4))),
        PropertyType::Timestamp => Value::Timestamp(-i64::from(seed)),
        PropertyType::Float32 => Value::Float(f64::from(seed) / 4.0),
        PropertyType::Date => Value::Date(-i32::from(seed)),
        PropertyType::Bytes => Value::Bytes(vec![seed; usize::from(seed % 3)]),
        kind if kind.is_number() => Value::Int(i64::from(seed / 2)),
        _ => Value::List((0..seed % 4).map(|item| Value::Int(item.into())).chain([Value::Null]).collect()),
    }
}

#[derive(Clone, Debug)]
pub struct Edge {
    pub src: Key,
    pub dst: Key,
    pub edge_type: usize,
    pub properties: BTreeMap<String, Value>,
}

/// The naive graph: edges in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub vertices: BTreeMap<Key, (Option<String>, BTreeMap<String, Value>)>,
    pub edges: Vec<Edge>,
}

impl Edge {
    fn is(&self, src: &Key, dst: &Key, edge_type: usize) -> bool {
        let same = (&self.src, &self.dst) == (src, dst);
        let mirrored = EDGE_TYPES[edge_type].2 && (&self.dst, &self.src) == (src, dst);
        self.edge_type == edge_type && (same || mirrored)
    }
}

impl Model {
    fn run(&mut self, kind: KeyKind, step: &Step) {
        match step {
            Step::PutVertex { vertex, labelled, age, name } => {
                let (label, properties) = self.vertices.entry(key_of(kind, *vertex)).or_default();
                if *labelled {
                    *label = Some("Person".to_owned());
                }
                properties.extend(age.map(|age| ("age".to_owned(), Value::Int(age))));
                properties.extend(name.clone().map(|name| ("name".to_owned(), Value::Text(name))));
            }
            Step::DeleteVertex { vertex } => {
                let key = key_of(kind, *vertex);
                self.vertices.remove(&key);
                self.edges.retain(|edge| edge.src != key && edge.dst != key);
            }
            Step::PutEdge { src, dst, edge_type, values } => {
                let (src, dst) = (key_of(kind, *src), key_of(kind, *dst));
                self.vertices.entry(src.clone()).or_default();
                self.vertices.entry(dst.clone()).or_default();
                let given = edge_properties(*edge_type, values);
                let given = given.into_iter().map(|(name, value)| (name.to_owned(), value));
                let multi = EDGE_TYPES[*edge_type].1;
                let before = self.edges.iter_mut().find(|edge| !multi && edge.is(&src, &dst, *edge_type));
                match before {
                    Some(edge) => edge.properties.extend(given),
                    None => {
                        let properties = given.collect();
                        self.edges.push(Edge { src, dst, edge_type: *edge_type, properties });
                    }
                }
            }
            Step::DeleteEdge { src, dst, edge_type } => {
                let (src, dst) = (key_of(kind, *src), key_of(kind, *dst));
                self.edges.retain(|edge| !edge.is(&src, &dst, *edge_type));
            }
        }
    }

    /// The edges of a vertex in one direction, of one type, in order of arrival: each with its neighbor.
    pub fn edges_of(&self, key: &Key, direction: Direction, edge_type: usize) -> Vec<(Key, &Edge)> {
        let of_type = self.edges.iter().filter(|edge| edge.edge_type == edge_type);
        let ends = of_type.filter_map(|edge| {
            let (near, far) = match direction {
                Direction::Out => (&edge.src, &edge.dst),
                Direction::In => (&edge.dst, &edge.src),
            };
            let symmetric = EDGE_TYPES[edge_type].2;
            match (near == key, symmetric && far == key) {
                (true, _) => Some((far.clone(), edge)),
                (false, true) => Some((near.clone(), edge)),
                (false, false) => None,
            }
        });
        ends.collect()
    }
}

fn edge_properties(edge_type: usize, values: &[Option<u8>; 2]) -> Properties {
    let declared = EDGE_TYPES[edge_type].3.iter().zip(values);
    declared.filter_map(|(&(name, kind), seed)| Some((name, value_of(kind, (*seed)?)))).collect()
}

pub fn new_store(kind: KeyKind) -> Store {
    let store = Store::in_memory(Options { keys: Some(kind), ..Options::default() });
    declare_types(&store);
    store
}

pub fn declare_types(store: &Store) {
    for (name, multi, symmetric, properties) in EDGE_TYPES {
        let declare =
            |(name, kind): &(&str, PropertyType)| Property { name: (*name).to_owned(), kind: *kind };
        let properties = properties.iter().map(declare).collect();
        store
            .create_edge_type(
                name,
                EdgeTypeOptions { multi, symmetric, properties, ..EdgeTypeOptions::default() },
            )
            .unwrap();
    }
}

/// Runs each list of steps as a transaction, on the store and on the model.
pub fn run_both(store: &Store, model: &mut Model, kind: KeyKind, steps: &[Step]) {
    let mut transaction = store.begin().unwrap();
    for step in steps {
        run_step(&mut transaction, kind, step);
        model.run(kind, step);
    }
    transaction.commit().unwrap();
}

fn run_step(transaction: &mut Transaction, kind: KeyKind, step: &Step) {
    match step {
        Step::PutVertex { vertex, labelled, age, name } => {
            let mut properties: Properties = Vec::new();
            properties.extend(age.map(|age| ("age", Value::Int(age))));
            properties.extend(name.clone().map(|name| ("name", Value::Text(name))));
            let label = labelled.then_some("Person");
            transaction.put_vertex(&key_of(kind, *vertex), label, &properties).unwrap();
        }
        Step::DeleteVertex { vertex } => {
            transaction.delete_vertex(&key_of(kind, *vertex)).unwrap();
        }
        Step::PutEdge { src, dst, edge_type, values } => {
            let (src, dst) = (key_of(kind, *src), key_of(kind, *dst));
            let properties = edge_properties(*edge_type, values);
            transaction.put_edge(&src, &dst, EDGE_TYPES[*edge_type].0, &properties).unwrap();
        }
        Step::DeleteEdge { src, dst, edge_type } => {
            let (src, dst) = (key_of(kind, *src), key_of(kind, *dst));
            transaction.delete_edge(&src, &dst, EDGE_TYPES[*edge_type].0).unwrap();
        }
    }
}

/// What a view shows of a vertex of the model.
pub fn vertex_data(model: &Model, key: &Key) -> Option<VertexData> {
    let (label, properties) = model.vertices.get(key)?;
    Some(VertexData { vertex_type: label.clone(), properties: properties.clone().into_iter().collect() })
}

/// A table as rows without their nulls.
pub fn rows(table: &RecordBatch) -> Vec<Row> {
    let schema = table.schema();
    let row = |row: usize| {
        let cells = schema.fields().iter().zip(table.columns());
        let cells = cells.filter(|(_, array)| !array.is_null(row));
        cells.map(|(field, array)| (field.name().clone(), cell(array, row))).collect()
    };
    (0..table.num_rows()).map(row).collect()
}

fn cell(array: &dyn Array, row: usize) -> Value {
    match array.data_type() {
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::Timestamp(..) => {
            Value::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        other => panic!("a column of type {other}"),
    }
}

/// A key as a table shows it.
pub fn key_cell(key: &Key) -> Value {
    match key {
        Key::Int(number) => Value::Int(*number),
        Key::Text(text) => Value::Text(text.clone()),
    }
}

/// A key that a table shows.
pub fn cell_key(value: &Value) -> Key {
    match value {
        Value::Int(number) => Key::Int(*number),
        Value::Text(text) => Key::Text(text.clone()),
        other => panic!("{other} is no key"),
    }
}
