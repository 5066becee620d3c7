//! Input that does not fit: each kind has its typed error, nothing of it is applied, and what follows is.

use std::sync::Arc;

use crate::common::{batch, dump, number_batch, open, options, with_columns};
use evergraph_disk::SimDisk;
use evergraph_store::{CommitError, Options, Store, Version, WriteError};
use evergraph_types::{
    Cells, Column, EdgeBatch, EdgeTypeOptions, Key, KeyColumn, KeyKind, MAX_TEXT_BYTES, MAX_VERTICES,
    Property, PropertyType, ScalarType, SchemaError, TextValues, Value,
};

/// A store on a disk with vertices 0 to 4, of this kind.
fn store(keys: KeyKind, bulk_edges: usize) -> (Store, SimDisk) {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { keys: Some(keys), bulk_edges, ..options() });
    let key = |number: i64| match keys {
        KeyKind::Text => Key::Text(format!("v{number}")),
        _ => Key::Int(number),
    };
    for number in 0..4 {
        let weight = [("weight", Value::Float(1.0)), ("note", "x".into())];
        store.put_edge(&key(number), &key(number + 1), "knows", &weight).expect("it fits");
    }
    (store, disk)
}

/// Checks that nothing came of a request, and that the store takes the next one and opens again.
fn unchanged((store, disk): (Store, SimDisk), before: &Arc<Version>, what: &str) {
    let after = store.version().expect("open");
    assert_eq!((after.sequence(), after.id_bound()), (before.sequence(), before.id_bound()), "{what}");
    assert_eq!(after.schema(), before.schema(), "{what}");
    assert_eq!(dump(&after), dump(before), "{what}");
    let key = before.key(0);
    store.put_edge(&key, &key, "knows", &[]).unwrap_or_else(|error| panic!("{what}: {error}"));
    let expected = dump(&store.version().expect("open"));
    store.close().expect("a good disk");
    assert_eq!(dump(&open(&disk, options()).version().expect("open")), expected, "{what}");
}

fn schema_error<T: std::fmt::Debug>(outcome: Result<T, CommitError>) -> SchemaError {
    match outcome {
        Err(CommitError::Schema(error)) => error,
        outcome => panic!("{outcome:?}"),
    }
}

/// A write to a store of these keys, the error it must give, and a word of its message.
type Refusal = (&'static str, KeyKind, fn(&Store) -> Result<(), CommitError>, fn(&SchemaError) -> bool);

fn long_name() -> String {
    "n".repeat(256)
}

const REFUSALS: [Refusal; 18] = [
    (
        "text",
        KeyKind::Int64,
        |store| store.put_vertex("text", None, &[]).map(drop),
        |error| matches!(error, SchemaError::KeyKind { expected: KeyKind::Int64, .. }),
    ),
    (
        "7",
        KeyKind::Text,
        |store| store.put_edge("v0", 7, "knows", &[]).map(drop),
        |error| matches!(error, SchemaError::KeyKind { expected: KeyKind::Text, .. }),
    ),
    (
        "-1",
        KeyKind::Dense,
        |store| store.put_edge(1, -1, "knows", &[]).map(drop),
        |error| matches!(error, SchemaError::DenseRange { .. }),
    ),
    (
        "4294967294",
        KeyKind::Dense,
        |store| store.put_vertex(MAX_VERTICES as i64, None, &[]).map(drop),
        |error| matches!(error, SchemaError::DenseRange { max, .. } if *max == MAX_VERTICES - 1),
    ),
    (
        "weight",
        KeyKind::Int64,
        |store| store.put_edge(0, 1, "knows", &[("weight", "heavy".into())]).map(drop),
        |error| matches!(error, SchemaError::PropertyType { expected: PropertyType::Float64, .. }),
    ),
    (
        "note",
        KeyKind::Int64,
        |store| store.put_edge(9, 10, "knows", &[("fresh", 1.into()), ("note", 5.into())]).map(drop),
        |error| matches!(error, SchemaError::PropertyType { expected: PropertyType::String, .. }),
    ),
    (
        "9007199254740993",
        KeyKind::Int64,
        |store| store.put_edge(0, 1, "knows", &[("weight", Value::Int((1 << 53) + 1))]).map(drop),
        |error| matches!(error, SchemaError::PropertyType { .. }),
    ),
    (
        "likes",
        KeyKind::Int64,
        |store| store.delete_edge(0, 1, "likes").map(drop),
        |error| matches!(error, SchemaError::UnknownEdgeType { known, .. } if known == &["knows"]),
    ),
    (
        "likes",
        KeyKind::Int64,
        |store| store.delete_edges("likes", vec![number_batch([(0, 1)])]).map(drop),
        |error| matches!(error, SchemaError::UnknownEdgeType { .. }),
    ),
    (
        "name",
        KeyKind::Int64,
        |store| store.put_edge(0, 1, "", &[]).map(drop),
        |error| matches!(error, SchemaError::BadName { .. }),
    ),
    (
        "name",
        KeyKind::Int64,
        |store| store.put_edge(0, 1, "a\u{0}b", &[]).map(drop),
        |error| matches!(error, SchemaError::BadName { .. }),
    ),
    (
        "name",
        KeyKind::Int64,
        |store| store.put_vertex(0, Some(&long_name()), &[]).map(drop),
        |error| matches!(error, SchemaError::BadName { .. }),
    ),
    (
        "name",
        KeyKind::Int64,
        |store| store.put_vertex(8, None, &[("ok", 1.into()), (&long_name(), 1.into())]).map(drop),
        |error| matches!(error, SchemaError::BadName { .. }),
    ),
    (
        "name",
        KeyKind::Int64,
        |store| store.put_edge(8, 9, "knows", &[("\n", 1.into())]).map(drop),
        |error| matches!(error, SchemaError::BadName { .. }),
    ),
    (
        "knows",
        KeyKind::Int64,
        |store| {
            store.create_edge_type("knows", EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() })
        },
        |error| matches!(error, SchemaError::TypeExists { .. }),
    ),
    (
        "twice",
        KeyKind::Int64,
        |store| {
            let property = |kind| Property { name: "twice".to_owned(), kind };
            let properties = vec![property(PropertyType::Bool), property(PropertyType::Int64)];
            store.create_edge_type("new", EdgeTypeOptions { properties, ..EdgeTypeOptions::default() })
        },
        |error| matches!(error, SchemaError::Twice { .. }),
    ),
    (
        "properties",
        KeyKind::Int64,
        |store| {
            let property = |number| Property { name: format!("p{number}"), kind: PropertyType::Bool };
            let properties = (0..40_000).map(property).collect();
            store.create_edge_type("wide", EdgeTypeOptions { properties, ..EdgeTypeOptions::default() })
        },
        |error| matches!(error, SchemaError::Limit { .. }),
    ),
    (
        "age",
        KeyKind::Int64,
        |store| {
            store.create_vertex_type("Person", &[("age", PropertyType::Int64), ("age", PropertyType::String)])
        },
        |error| matches!(error, SchemaError::PropertyExists { .. }),
    ),
];

#[test]
fn every_write_that_does_not_fit_is_refused_whole() {
    for (word, keys, write, is_right) in REFUSALS {
        let stored = store(keys, usize::MAX);
        let before = stored.0.version().expect("open");
        let error = schema_error(write(&stored.0));
        assert!(is_right(&error), "{word}: {error:?}");
        assert!(error.to_string().contains(word), "{word}: {error}");
        unchanged(stored, &before, word);
    }
}

/// A batch that does not fit, for a store of these keys, and the error it must give.
type BadBatch = (&'static str, KeyKind, fn() -> Vec<EdgeBatch>, fn(&SchemaError) -> bool);

fn column(values: Vec<f64>) -> Column {
    Column::from(values)
}

fn one_row(columns: Vec<(&str, Column)>) -> Vec<EdgeBatch> {
    let columns = columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect();
    vec![number_batch([(90, 91)]), EdgeBatch { columns, ..number_batch([(92, 93)]) }]
}

const BAD_BATCHES: [BadBatch; 13] = [
    (
        "dst",
        KeyKind::Int64,
        || {
            let dst = KeyColumn::Int(vec![1, 2]);
            vec![number_batch([(90, 91)]), EdgeBatch { dst, ..number_batch([(92, 93)]) }]
        },
        |error| matches!(error, SchemaError::ColumnLength { expected: 1, found: 2, .. }),
    ),
    (
        "weight",
        KeyKind::Int64,
        || one_row(vec![("weight", column(vec![1.0, 2.0]))]),
        |error| matches!(error, SchemaError::ColumnLength { expected: 1, found: 2, .. }),
    ),
    (
        "weight",
        KeyKind::Int64,
        || one_row(vec![("weight", column(Vec::new()))]),
        |error| matches!(error, SchemaError::ColumnLength { expected: 1, found: 0, .. }),
    ),
    (
        "weight",
        KeyKind::Int64,
        || one_row(vec![("weight", column(vec![1.0]).with_validity(Some(vec![true; 2])))]),
        |error| matches!(error, SchemaError::ColumnLength { expected: 1, found: 2, .. }),
    ),
    (
        "note",
        KeyKind::Int64,
        || one_row(vec![("fresh", column(vec![1.0])), ("note", column(vec![1.0]))]),
        |error| matches!(error, SchemaError::PropertyType { expected: PropertyType::String, .. }),
    ),
    (
        "weight",
        KeyKind::Int64,
        || {
            let text = [("weight", PropertyType::String)];
            vec![with_columns(number_batch([(90, 91), (92, 93)]), &text, |_, row| {
                format!("{row}").as_str().into()
            })]
        },
        |error| matches!(error, SchemaError::PropertyType { expected: PropertyType::Float64, .. }),
    ),
    (
        "name",
        KeyKind::Int64,
        || one_row(vec![("\u{7}", column(vec![1.0]))]),
        |error| matches!(error, SchemaError::BadName { .. }),
    ),
    (
        "twice",
        KeyKind::Int64,
        || one_row(vec![("twice", column(vec![1.0])), ("twice", column(vec![2.0]))]),
        |error| matches!(error, SchemaError::Twice { .. }),
    ),
    (
        "is not of the kind",
        KeyKind::Text,
        || vec![number_batch([(1, 2)])],
        |error| matches!(error, SchemaError::KeyKind { .. }),
    ),
    (
        "is not of the kind",
        KeyKind::Int64,
        || {
            let texts = batch([("a".into(), "b".into())]);
            vec![number_batch([(90, 91)]), texts]
        },
        |error| matches!(error, SchemaError::KeyKind { .. }),
    ),
    (
        "is not of the kind",
        KeyKind::Text,
        || {
            let mut texts = TextValues::default();
            texts.push("w");
            vec![EdgeBatch { src: KeyColumn::Text(texts), ..number_batch([(1, 2)]) }]
        },
        |error| matches!(error, SchemaError::KeyKind { .. }),
    ),
    (
        "-5",
        KeyKind::Dense,
        || vec![number_batch([(90, 91), (92, -5)])],
        |error| matches!(error, SchemaError::DenseRange { .. }),
    ),
    (
        "4294967294",
        KeyKind::Dense,
        || vec![number_batch([(MAX_VERTICES as i64, 91)])],
        |error| matches!(error, SchemaError::DenseRange { .. }),
    ),
];

#[test]
fn every_batch_that_does_not_fit_is_refused_whole() {
    for (word, keys, batch, is_right) in BAD_BATCHES {
        for bulk_edges in [1, usize::MAX] {
            let stored = store(keys, bulk_edges);
            let before = stored.0.version().expect("open");
            let error = schema_error(stored.0.add_edges("knows", batch()));
            assert!(is_right(&error), "{word}: {error:?}");
            assert!(error.to_string().contains(word), "{word}: {error}");
            unchanged(stored, &before, word);
        }
    }
}

#[test]
fn a_batch_that_does_not_fit_leaves_an_empty_store_empty() {
    for bulk_edges in [1, usize::MAX] {
        for batch in [
            vec![number_batch([(1, 2)]), batch([("a".into(), "b".into())])],
            one_row(vec![("weight", column(Vec::new()))]),
        ] {
            let disk = SimDisk::new(0);
            let store = open(&disk, Options { bulk_edges, ..options() });
            schema_error(store.add_edges("knows", batch));
            let version = store.version().expect("open");
            assert_eq!((version.sequence(), version.schema().key_kind, version.id_bound()), (0, None, 0));
            assert!(version.schema().edge_types.is_empty());
            store.put_edge("a", "b", "knows", &[]).expect("the kind of keys is still open");
            store.close().expect("a good disk");
            assert_eq!(open(&disk, options()).stats().num_edges, 1);
        }
    }
}

/// A write that is refused within a transaction leaves the transaction as it was.
#[test]
fn a_transaction_goes_on_after_a_write_that_does_not_fit() {
    let stored = store(KeyKind::Int64, usize::MAX);
    let before = stored.0.version().expect("open");
    let mut transaction = stored.0.begin().expect("open");
    let refused = |outcome: Result<(), WriteError>| assert!(matches!(outcome, Err(WriteError::Schema(_))));
    refused(transaction.put_edge(70, 71, "fresh", &[("a", 1.into()), ("", 1.into())]));
    refused(transaction.put_edge(70, "b", "fresh", &[]));
    refused(transaction.put_edge(70, 71, "knows", &[("new", 1.into()), ("weight", true.into())]));
    refused(transaction.put_vertex(72, Some("Person"), &[("age", 1.into()), ("a\nb", 1.into())]));
    refused(transaction.put_vertex("c", Some("Person"), &[]));
    refused(transaction.create_edge_type("\t", EdgeTypeOptions::default()));
    refused(transaction.delete_edge(0, 1, "fresh").map(drop));
    assert!(!transaction.has_vertex(70) && !transaction.has_vertex(72));
    assert_eq!(transaction.commit().expect("nothing to commit"), before.sequence());
    unchanged(stored, &before, "refused writes only");
}

#[test]
fn the_last_dense_id_can_be_used() {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { keys: Some(KeyKind::Dense), ..options() });
    let last = MAX_VERTICES as i64 - 1;
    store.put_edge(0, last, "knows", &[("weight", 0.5.into())]).expect("it fits");
    let check = |store: &Store| {
        let version = store.version().expect("open");
        let id = version.vertex_id(last.into()).expect("a vertex");
        assert_eq!((version.num_vertices(), version.id_bound()), (2, id + 1));
        assert!(version.has_edge(0, 0, id));
        assert_eq!(version.vertex_ids(), [0, id]);
        assert_eq!(version.neighbors(0, evergraph_types::Direction::In, id).to_vec(), [0]);
    };
    check(&store);
    store.checkpoint().expect("a good disk");
    check(&store);
    store.put_vertex(last, Some("Person"), &[("age", 1.into())]).expect("it fits");
    store.close().expect("a good disk");
    check(&open(&disk, options()));
}

/// A store in which nothing is deleted that is not there.
#[test]
fn deleting_what_is_not_there_changes_nothing() {
    let stored = store(KeyKind::Int64, usize::MAX);
    let before = stored.0.version().expect("open");
    let store = &stored.0;
    assert!(!store.delete_vertex(77).expect("no error"));
    assert!(!store.delete_vertex("another kind").expect("no error"));
    assert!(!store.delete_edge(0, 2, "knows").expect("no error"));
    assert!(!store.delete_edge("a", "b", "knows").expect("no error"));
    assert_eq!(store.delete_edges("knows", vec![number_batch([(50, 51), (0, 60)])]).expect("none").edges, 0);
    assert_eq!(store.delete_edges("knows", Vec::new()).expect("none").edges, 0);
    unchanged(stored, &before, "deleting nothing");
    let empty = Store::in_memory(options());
    empty.create_edge_type("knows", EdgeTypeOptions::default()).expect("new");
    let sequence = empty.version().expect("open").sequence();
    assert_eq!(empty.delete_edges("knows", vec![number_batch([(1, 2)])]).expect("none").edges, 0);
    let version = empty.version().expect("open");
    assert_eq!(
        (version.sequence(), version.schema().key_kind),
        (sequence, None),
        "the kind of keys is still open"
    );
}

#[test]
fn a_batch_of_no_rows_makes_its_type() {
    for bulk_edges in [0, usize::MAX] {
        for keys in [None, Some(KeyKind::Text)] {
            let disk = SimDisk::new(0);
            let store = open(&disk, Options { bulk_edges, keys, ..options() });
            let empty =
                with_columns(number_batch([]), &[("weight", PropertyType::Float64)], |_, _| Value::Null);
            let summary = store.add_edges("knows", vec![empty.clone()]).expect("it fits");
            assert_eq!((summary.edges, summary.vertices, summary.sequence), (0, 0, 1));
            let summary = store.add_edges("knows", vec![empty]).expect("it fits");
            assert_eq!((summary.edges, summary.vertices), (0, 0));
            store.close().expect("a good disk");
            let version = open(&disk, options()).version().expect("open");
            let (_, kind) = version.schema().edge_type("knows").expect("a type");
            assert_eq!(kind.options.properties[0].kind, PropertyType::Float64);
        }
    }
}

#[test]
fn a_limit_of_types_is_kept() {
    let store = Store::in_memory(options());
    let mut transaction = store.begin().expect("open");
    let most = 1 << 15;
    // One transaction that declares them by properties of one type, which is quick.
    let property = |number: usize| (format!("p{number}"), PropertyType::Bool);
    let named: Vec<_> = (0..most).map(property).collect();
    let properties: Vec<_> = named.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    transaction.create_vertex_type("Wide", &properties).expect("as many as there may be");
    transaction.commit().expect("it fits");
    let error = schema_error(store.put_vertex(1, None, &[("one more", true.into())]));
    assert!(matches!(error, SchemaError::Limit { max, .. } if max == most as u64), "{error}");
    store.put_vertex(1, None, &[("p32767", true.into())]).expect("the last one");
}

/// Cells made by hand may be no value of their type. In the log or a segment they would be taken for damage.
#[test]
fn what_no_value_has_is_refused() {
    let mut torn = TextValues::default();
    ["good", ""].into_iter().for_each(|text| torn.push(text));
    torn.push_bytes(b"\xffbad");
    let keys = || KeyColumn::Text(["v0", "v1", "v2"].into_iter().collect());
    let edges = |dst, columns| vec![EdgeBatch { src: keys(), dst, columns }];
    let column = |kind, cells| vec![("odd".to_owned(), Column::of_cells(kind, cells).expect("the width"))];
    let texts = || Cells::Variable(torn.clone());
    let floats = PropertyType::list(ScalarType::Float64);
    let null_bool = || {
        let column = Column::of_cells(PropertyType::Bool, Cells::One(vec![0, 1, 2])).expect("the width");
        vec![("odd".to_owned(), column.with_validity(Some(vec![true, true, false])))]
    };
    for (what, word, edges) in [
        ("a key", "key in row 2", edges(KeyColumn::Text(torn.clone()), Vec::new())),
        ("a string", "no string", edges(keys(), column(PropertyType::String, texts()))),
        ("a list", "no list<float64>", edges(keys(), column(floats, texts()))),
        ("a bool", "no bool", edges(keys(), column(PropertyType::Bool, Cells::One(vec![0, 1, 2])))),
        ("a bool that is null", "no bool", edges(keys(), null_bool())),
    ] {
        let stored = store(KeyKind::Text, usize::MAX);
        let before = stored.0.version().expect("open");
        let error = schema_error(stored.0.add_edges("knows", edges).map(drop));
        assert!(matches!(error, SchemaError::NoValue { .. }), "{what}: {error}");
        assert!(error.to_string().contains(word), "{what}: {error}");
        unchanged(stored, &before, what);
    }
    // Of a null nobody reads the string, and bytes are bytes.
    let (store, disk) = store(KeyKind::Text, usize::MAX);
    let odd = |kind, validity| {
        let column = Column::of_cells(kind, texts()).expect("the width").with_validity(validity);
        vec![(kind.name().to_owned(), column)]
    };
    let validity = Some(vec![true, true, false]);
    store.add_edges("knows", edges(keys(), odd(PropertyType::String, validity))).expect("a null");
    store.add_edges("knows", edges(keys(), odd(PropertyType::Bytes, None))).expect("bytes");
    let expected = dump(&store.version().expect("open"));
    drop(store);
    let store = open(&disk, options());
    assert_eq!(dump(&store.version().expect("open")), expected, "from the log");
    store.compact().expect("a good disk");
    drop(store);
    assert_eq!(dump(&open(&disk, options()).version().expect("open")), expected, "from a segment");
}

#[test]
fn a_string_has_a_longest_length() {
    let (longest, longer) = ("x".repeat(MAX_TEXT_BYTES), "x".repeat(MAX_TEXT_BYTES + 1));
    let stored = store(KeyKind::Text, usize::MAX);
    let before = stored.0.version().expect("open");
    let store = &stored.0;
    let text_batch = |text: &str| {
        let edges = batch([("v0".into(), "v1".into()), ("v0".into(), "v2".into())]);
        let value = |_, row| if row == 1 { Value::from(text) } else { Value::Null };
        vec![with_columns(edges, &[("note", PropertyType::String)], value)]
    };
    let key_batch = |key: &str| vec![batch([("v0".into(), "v1".into()), ("v0".into(), key.into())])];
    for (word, outcome) in [
        ("the vertex key", store.put_vertex(longer.as_str(), None, &[]).map(drop)),
        ("\"name\" of vertex", store.put_vertex("v0", None, &[("name", longer.as_str().into())]).map(drop)),
        (
            "\"note\" of knows",
            store.put_edge("v0", "v1", "knows", &[("note", longer.as_str().into())]).map(drop),
        ),
        ("\"note\" in row 1", store.add_edges("knows", text_batch(&longer)).map(drop)),
        ("key in row 1", store.add_edges("knows", key_batch(&longer)).map(drop)),
    ] {
        let error = schema_error(outcome);
        assert!(matches!(error, SchemaError::TextLength { max: MAX_TEXT_BYTES, .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    unchanged(stored, &before, "strings that are too long");

    let (store, disk) = self::store(KeyKind::Text, usize::MAX);
    store
        .put_vertex(longest.as_str(), None, &[("name", longest.as_str().into())])
        .expect("as long as it may be");
    store.add_edges("knows", text_batch(&longest)).expect("as long as it may be");
    store.put_edge("v0", longest.as_str(), "knows", &[("note", longest.as_str().into())]).expect("it fits");
    let expected = dump(&store.version().expect("open"));
    drop(store);
    let store = open(&disk, options());
    assert_eq!(dump(&store.version().expect("open")), expected);
    store.compact().expect("a good disk");
    assert_eq!(dump(&store.version().expect("open")), expected);
    drop(store);
    assert_eq!(dump(&open(&disk, options()).version().expect("open")), expected);
}

/// Edges whose properties take much room lie in runs of their own.
#[test]
fn a_hub_of_fat_edges_is_read_as_it_was_written() {
    for multi in [false, true] {
        let disk = SimDisk::new(0);
        let store = open(&disk, options());
        store.create_edge_type("knows", EdgeTypeOptions { multi, ..Default::default() }).expect("new");
        let fat = |_: usize, row: usize| Value::Text(row.to_string().repeat(3000));
        let edges = number_batch((0..1100).map(|row| (0, row)));
        let batch = with_columns(edges, &[("note", PropertyType::String)], fat);
        store.add_edges("knows", vec![batch]).expect("it fits");
        for dst in [5, 700, 2000] {
            store
                .put_edge(0, dst, "knows", &[("note", "slim".into()), ("weight", 0.5.into())])
                .expect("it fits");
        }
        store.delete_edge(0, 6, "knows").expect("it fits");
        let check = |store: &Store| {
            let found = dump(&store.version().expect("open"));
            let list = &found.out["knows"][&Key::Int(0)];
            assert_eq!(list.len(), if multi { 1102 } else { 1100 });
            for (key, properties) in list {
                let slim = properties.get("note") == Some(&"slim".into());
                let Key::Int(number) = key else { panic!("{key}") };
                assert!(slim || properties.get("note") == Some(&fat(0, *number as usize)));
                assert_eq!(slim, properties.get("weight").is_some());
            }
        };
        check(&store);
        store.checkpoint().expect("a good disk");
        check(&store);
        drop(store);
        check(&open(&disk, options()));
    }
}

#[test]
fn an_edge_type_has_so_many_properties() {
    let store = Store::in_memory(options());
    let properties =
        (0..4_000).map(|number| Property { name: format!("p{number}"), kind: PropertyType::Bool });
    let options = EdgeTypeOptions { properties: properties.collect(), ..EdgeTypeOptions::default() };
    store.create_edge_type("wide", options).expect("as many as there may be");
    let error = schema_error(store.put_edge(0, 1, "wide", &[("one more", true.into())]));
    assert!(matches!(error, SchemaError::Limit { max: 4_000, .. }), "{error}");
    store.put_edge(0, 1, "wide", &[("p3999", true.into()), ("p0", false.into())]).expect("it fits");
    let found = dump(&store.version().expect("open"));
    assert_eq!(found.out["wide"][&Key::Int(0)][0].1.iter().count(), 2);
}
