//! Values of every type, the odd ones above all, come back bit by bit: from memory, from the log and from segments, of
//! vertices and of edges, put one by one and in batches.

use crate::common::{number_batch, open, options};
use evergraph_disk::SimDisk;
use evergraph_store::{ListFormat, Options, Store};
use evergraph_types::{Column, Direction, EdgeTypeOptions, Property, PropertyType, ScalarType, Value};

/// Odd values of each scalar type, and lists of them: empty, with a null, and of all.
fn odd_values() -> Vec<(PropertyType, Vec<Value>)> {
    let scalars: Vec<(PropertyType, Vec<Value>)> =
        ScalarType::ALL.map(|scalar| (PropertyType::scalar(scalar), odd_scalars(scalar))).to_vec();
    let lists = ScalarType::ALL.map(|scalar| {
        let all = odd_scalars(scalar);
        let with_null = [Value::Null].into_iter().chain(all.clone()).collect();
        let lists = [Vec::new(), vec![Value::Null], all, with_null].map(Value::List);
        (PropertyType::list(scalar), lists.to_vec())
    });
    scalars.into_iter().chain(lists).collect()
}

fn odd_scalars(scalar: ScalarType) -> Vec<Value> {
    let texts = ["", "\0", "\u{10ffff}", "line\nline", "  ", "ß\u{301}", "null", "0"];
    let numbers = [0, 1, -1, i64::MAX, i64::MIN, 1 << 53, u32::MAX as i64];
    let floats = [
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
    ];
    let singles = floats.map(|number| number as f32).into_iter().chain([f32::MAX, f32::MIN_POSITIVE, 1e-45]);
    if let Some((least, greatest)) = scalar.integer_range() {
        let near = [greatest, greatest - 1, greatest / 2].map(Value::unsigned);
        let low = [least, least + 1, 0, 1].map(Value::Int);
        return near.into_iter().chain(low).collect();
    }
    match scalar {
        ScalarType::Bool => vec![Value::Bool(true), Value::Bool(false)],
        ScalarType::Float64 => floats.map(Value::Float).to_vec(),
        ScalarType::Float32 => singles.map(|number| Value::Float(number.into())).collect(),
        ScalarType::String => texts.map(Value::from).to_vec(),
        ScalarType::Bytes => {
            [&b""[..], b"\0", b"\xff\xfe"].map(|bytes| Value::Bytes(bytes.to_vec())).to_vec()
        }
        ScalarType::Date => [0, -1, i32::MAX, i32::MIN].map(Value::Date).to_vec(),
        _ => numbers.map(Value::Timestamp).to_vec(),
    }
}

/// A store whose vertices and edges have a property of each type, named like it.
fn declare(store: &Store) {
    let property = |(kind, _): (PropertyType, Vec<Value>)| Property { name: kind.to_string(), kind };
    let properties: Vec<Property> = odd_values().into_iter().map(property).collect();
    let borrowed: Vec<_> =
        properties.iter().map(|property| (property.name.as_str(), property.kind)).collect();
    store.create_vertex_type("thing", &borrowed).expect("it fits");
    for edge_type in ["single", "batch"] {
        let options = EdgeTypeOptions { properties: properties.clone(), ..EdgeTypeOptions::default() };
        store.create_edge_type(edge_type, options).expect("it fits");
    }
}

/// Told apart where `==` does not.
fn bits(value: &Value) -> (Option<PropertyType>, String) {
    let text = match value {
        Value::Float(number) => format!("{:x}", number.to_bits()),
        Value::List(items) => format!("{:?}", items.iter().map(bits).collect::<Vec<_>>()),
        other => format!("{other:?}"),
    };
    (value.property_type(), text)
}

/// Vertex and edge number `row` have value `row` of each property, null where there are not so many.
fn value(all: &[Value], row: usize) -> Value {
    all.get(row).cloned().unwrap_or(Value::Null)
}

const ROWS: usize = 12;

fn check(store: &Store, edge_type: &str, what: &str) {
    let version = store.version().expect("open");
    let schema = version.schema();
    let (id, kind) = schema.edge_type(edge_type).expect("a type");
    for (name, all) in odd_values() {
        let name = name.name();
        let vertex_property = schema.vertex_property(name).expect("a property").0;
        let edge_property = kind.property(name).expect("a property").0;
        for row in 0..ROWS {
            let expected = bits(&value(&all, row));
            let vertex = version.vertex_id((row as i64).into()).expect("a vertex");
            assert_eq!(
                bits(&version.vertex_property(vertex, vertex_property)),
                expected,
                "{what}: {name} of {row}"
            );
            let property_type = schema.vertex_properties[usize::from(vertex_property)].kind;
            let of_bits = version.vertex_bits(vertex, vertex_property);
            let of_bytes = version.vertex_bytes(vertex, vertex_property);
            let in_place = match (of_bits, of_bytes) {
                (Some(number), None) => Value::of_bits(property_type, number),
                (None, Some(bytes)) => Value::of_bytes(property_type, bytes).expect("a value"),
                (None, None) => Value::Null,
                both => panic!("{what}: {name} of {row} is {both:?}"),
            };
            assert_eq!(bits(&in_place), expected, "{what}: {name} of {row}, where it lies");
            let text = |value: &Value| if let Value::Text(text) = value { Some(text.clone()) } else { None };
            let vertex_text = version.vertex_text(vertex, vertex_property);
            assert_eq!(vertex_text.map(str::to_owned), text(&in_place), "{what}: {name} of {row} as text");
            let (mut at, mut in_run) = (0, None);
            version.for_each_run(id, Direction::Out, vertex, |run| {
                let column = run.column(edge_property);
                in_run = column.and_then(|column| column.text(0)).map(str::to_owned);
                at += run.neighbors().len();
            });
            assert_eq!((at, in_run), (1, text(&in_place)), "{what}: {name} of edge {row} as text");
            for (direction, near) in
                [(Direction::Out, vertex), (Direction::In, version.vertex_id(100.into()).expect("a hub"))]
            {
                let mut found = Vec::new();
                version.for_each_edge(id, direction, near, &[edge_property], &mut |_, values| {
                    found.push(bits(&values[0]));
                });
                let position = if direction == Direction::Out { 0 } else { row };
                assert_eq!(found[position], expected, "{what}: {name} of edge {row}, {direction:?}");
            }
        }
    }
}

fn put_one_by_one(store: &Store) {
    for row in 0..ROWS {
        let all = odd_values();
        let given: Vec<(&str, Value)> =
            all.iter().map(|(kind, values)| (kind.name(), value(values, row))).collect();
        store.put_vertex(row as i64, None, &given).expect("it fits");
        store.put_edge(row as i64, 100, "single", &given).expect("it fits");
    }
}

fn put_batch(store: &Store) {
    let mut batch = number_batch((0..ROWS as i64).map(|row| (row, 100)));
    for (kind, all) in odd_values() {
        let mut column = Column::new(kind);
        (0..ROWS).for_each(|row| column.push(value(&all, row)).expect("of the type"));
        batch.columns.push((kind.to_string(), column));
    }
    store.add_edges("batch", vec![batch]).expect("it fits");
}

#[test]
fn values_come_back_bit_by_bit() {
    for (bulk_edges, format) in [1, usize::MAX]
        .into_iter()
        .flat_map(|edges| [ListFormat::Fast, ListFormat::Compact].map(|format| (edges, format)))
    {
        let disk = SimDisk::new(0);
        let options = || Options { bulk_edges, format: Some(format), ..options() };
        let mut store = open(&disk, options());
        declare(&store);
        put_one_by_one(&store);
        put_batch(&store);
        for what in
            ["in memory", "from the log", "from a segment", "from a segment that was opened", "compacted"]
        {
            check(&store, "single", what);
            check(&store, "batch", what);
            match what {
                "in memory" | "from a segment" => {
                    drop(store);
                    store = open(&disk, options());
                }
                "from the log" => store.checkpoint().expect("a good disk"),
                _ => store.compact().expect("a good disk"),
            }
        }
        // The same once more over what is in segments.
        put_one_by_one(&store);
        put_batch(&store);
        check(&store, "single", "put again");
        check(&store, "batch", "put again");
        drop(store);
        let sizes = [ListFormat::Fast, ListFormat::Compact, ListFormat::Fast].map(|format| {
            let store = open(&disk, Options { format: Some(format), ..options() });
            store.compact().expect("a good disk");
            check(&store, "single", "in a format set later");
            check(&store, "batch", "in a format set later");
            store.stats().memory.segment_bytes
        });
        assert!(sizes[1] < sizes[0] && sizes[0] == sizes[2], "compacting writes as set: {sizes:?}");
    }
}

#[test]
fn keys_come_back_as_they_are() {
    let numbers = [0, -1, i64::MAX, i64::MIN, 1 << 32, -(1 << 32)];
    let texts = ["", "\0", " ", "a\u{301}", "á", "\u{10ffff}", "0"];
    for bulk in [false, true] {
        for with_texts in [false, true] {
            let disk = SimDisk::new(0);
            let options = || Options { bulk_edges: if bulk { 1 } else { usize::MAX }, ..options() };
            let store = open(&disk, options());
            let keys: Vec<evergraph_types::Key> = if with_texts {
                texts.iter().map(|text| (*text).into()).collect()
            } else {
                numbers.iter().map(|number| (*number).into()).collect()
            };
            if bulk {
                let edges = keys.iter().map(|key| (key.clone(), keys[0].clone()));
                store.add_edges("knows", vec![crate::common::batch(edges)]).expect("it fits");
            } else {
                for key in &keys {
                    store.put_vertex(key, None, &[]).expect("it fits");
                }
            }
            store.checkpoint().expect("a good disk");
            let check = |store: &Store| {
                let version = store.version().expect("open");
                assert_eq!(version.num_vertices(), keys.len() as u64);
                for key in &keys {
                    let id = version.vertex_id(key.as_ref()).expect("a vertex");
                    assert_eq!(version.key(id), *key);
                }
            };
            check(&store);
            drop(store);
            check(&open(&disk, options()));
        }
    }
}

/// What says nothing of a type declares none, and what comes later does.
#[test]
fn null_declares_nothing_and_a_list_of_nothing_is_refused() {
    let store = Store::in_memory(Options::default());
    let nothing = || [("age", Value::Null), ("friends", Value::Null)];
    store.put_vertex(1, Some("thing"), &nothing()).expect("it fits");
    store.put_edge(1, 2, "knows", &nothing()).expect("it fits");
    let version = store.version().expect("open");
    assert_eq!(version.schema().live_vertex_properties().count(), 0);
    assert_eq!(version.schema().edge_type("knows").expect("a type").1.properties().count(), 0);
    for list in [Vec::new(), vec![Value::Null]] {
        let list = [("friends", Value::List(list))];
        let refused = [store.put_vertex(1, None, &list), store.put_edge(1, 2, "knows", &list)];
        for (refused, owner) in refused.into_iter().zip(["vertex", "knows"]) {
            let error = refused.expect_err("it tells no type").to_string();
            let expected = format!("{owner} has no property \"friends\", and {} does", list[0].1);
            assert!(error.starts_with(&expected) && error.ends_with("add_property"), "{error}");
        }
    }
    let ages = [("age", Value::from(31)), ("friends", Value::List(vec![Value::from(2)]))];
    store.put_vertex(1, None, &ages).expect("it fits");
    store.put_edge(1, 2, "knows", &ages).expect("it fits");
    // Then they are values like any other.
    store
        .put_vertex(1, None, &[("age", Value::Null), ("friends", Value::List(Vec::new()))])
        .expect("it fits");
    let version = store.version().expect("open");
    let shown: Vec<_> =
        version.schema().live_vertex_properties().map(|(_, property)| property.kind).collect();
    assert_eq!(shown, [PropertyType::Int64, PropertyType::list(ScalarType::Int64)]);
    assert_eq!(version.vertex_property(0, 0), Value::Null);
    assert_eq!(version.vertex_property(0, 1), Value::List(Vec::new()));
}
