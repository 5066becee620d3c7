//! The shape of tables, and tables that many tasks make.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::common::{declare_types, rows};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_schema::{DataType, TimeUnit};
use evergraph_disk::SimDisk;
use evergraph_store::{Options, Store};
use evergraph_types::{
    Column, Direction, EdgeBatch, EdgeTypeOptions, KeyColumn, KeyKind, PropertyType, TextValues, Value,
};
use evergraph_view::{GraphView, RecordBatch, Snapshot};

fn snapshot(store: &Store) -> Snapshot {
    Snapshot::new(store.version().unwrap())
}

fn shape(table: &RecordBatch) -> Vec<(String, DataType, bool)> {
    let fields = table.schema();
    let shape = fields.fields().iter();
    shape.map(|field| (field.name().clone(), field.data_type().clone(), field.is_nullable())).collect()
}

fn column(name: &str, kind: DataType, nullable: bool) -> (String, DataType, bool) {
    (name.to_owned(), kind, nullable)
}

#[test]
fn an_empty_store_has_empty_tables() {
    let empty = snapshot(&Store::in_memory(Options::default()));
    assert_eq!(shape(&empty.vertex_table()), [column("id", DataType::Int64, false)]);
    let ends = [column("src", DataType::Int64, false), column("dst", DataType::Int64, false)];
    assert_eq!(shape(&empty.edge_table()), ends);
    assert_eq!((empty.vertex_table().num_rows(), empty.edge_table().num_rows()), (0, 0));
    assert_eq!(empty.to_csr(Direction::In).indptr, [0]);
    assert!(!empty.is_symmetric());
    assert_eq!(empty.flat().num_vertices(), 0);
}

#[test]
fn columns_have_the_types_of_their_properties() {
    let store = Store::in_memory(Options { keys: Some(KeyKind::Text), ..Options::default() });
    declare_types(&store);
    store.put_vertex("a", None, &[("age", 1.into()), ("id", "x".into()), ("type", true.into())]).unwrap();
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let text = || DataType::Utf8;
    let vertices = || vec![column("id", text(), false), column("age", DataType::Int64, true)];
    let mut without_types = vertices();
    without_types.extend([column("vertex.id", text(), true), column("type", DataType::Boolean, true)]);
    assert_eq!(shape(&snapshot(&store).vertex_table()), without_types);
    store.create_vertex_type("Person", &[]).unwrap();
    let mut with_types = vertices();
    with_types.insert(1, column("type", text(), true));
    with_types.extend([column("vertex.id", text(), true), column("vertex.type", DataType::Boolean, true)]);
    assert_eq!(shape(&snapshot(&store).vertex_table()), with_types);
    let edges = [
        column("src", text(), false),
        column("dst", text(), false),
        column("type", text(), false),
        column("pays.amount", DataType::Float64, true),
        column("at", time.clone(), true),
        column("owes.amount", text(), true),
        column("owes.type", DataType::Int64, true),
        column("since", DataType::Int64, true),
        column("close", DataType::Boolean, true),
        column("meets.src", text(), true),
    ];
    assert_eq!(shape(&snapshot(&store).edge_table()), edges);
    let pays = snapshot(&store).with_edge_types(&["pays"]).unwrap().edge_table();
    let expected = [column("amount", DataType::Float64, true), column("at", time, true)];
    assert_eq!(shape(&pays)[2..], expected);
}

#[test]
fn qualified_names_are_unique() {
    let store = Store::in_memory(Options::default());
    let declare = |name: &str, properties: &[(&str, PropertyType)]| {
        let property =
            |&(name, kind): &(&str, PropertyType)| evergraph_types::Property { name: name.to_owned(), kind };
        let properties = properties.iter().map(property).collect();
        store.create_edge_type(name, EdgeTypeOptions { properties, ..EdgeTypeOptions::default() }).unwrap();
    };
    declare("a", &[("b.c", PropertyType::Int64), ("a.src", PropertyType::Bool), ("src", PropertyType::Bool)]);
    declare("a.b", &[("c", PropertyType::Int64), ("b.c", PropertyType::Bool), ("a.b.c", PropertyType::Bool)]);
    declare("c", &[("c", PropertyType::Bool)]);
    let table = snapshot(&store).edge_table();
    let mut names: Vec<String> = shape(&table).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names.len(), 3 + 7);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 3 + 7);
}

/// `count` edges among `vertices` vertices, half of them from a few hubs, with properties.
fn many_edges(count: u64, vertices: u64) -> EdgeBatch {
    let mix = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let hub_or_any = |i: u64| if i.is_multiple_of(2) { mix(i) % 3 } else { mix(i) % vertices } as i64 - 5;
    let src = (0..count).map(hub_or_any).collect();
    let dst = (0..count).map(|i| (mix(i + count) % vertices) as i64 - 5).collect();
    let mut notes = TextValues::default();
    (0..count).for_each(|i| notes.push(&"n".repeat((i % 4) as usize)));
    let weights: Vec<f64> = (0..count).map(|i| i as f64).collect();
    let validity = Some((0..count).map(|i| i % 5 != 0).collect());
    let columns = vec![
        ("weight".to_owned(), Column::from(weights).with_validity(validity)),
        ("note".to_owned(), Column::from(notes)),
    ];
    EdgeBatch { src: KeyColumn::Int(src), dst: KeyColumn::Int(dst), columns }
}

/// What the edges of a batch are in a store: each for itself in a multi type, else the last put.
fn expected(batch: &EdgeBatch, multi: bool) -> Vec<(i64, i64, Value, Value)> {
    let (src, dst) = (batch.src.as_numbers().unwrap(), batch.dst.as_numbers().unwrap());
    let row = |row: usize| (src[row], dst[row], batch.columns[0].1.get(row), batch.columns[1].1.get(row));
    let mut edges: Vec<_> = (0..batch.len()).map(row).collect();
    if !multi {
        let last: BTreeMap<(i64, i64), usize> =
            edges.iter().enumerate().map(|(row, edge)| ((edge.0, edge.1), row)).collect();
        edges = last.into_values().map(|row| edges[row].clone()).collect();
    }
    edges
}

fn actual(table: &RecordBatch) -> Vec<(i64, i64, Value, Value)> {
    let (src, dst) =
        (table.column(0).as_primitive::<Int64Type>(), table.column(1).as_primitive::<Int64Type>());
    let weight = table.column_by_name("weight").unwrap().as_primitive::<Float64Type>();
    let note = table.column_by_name("note").unwrap().as_string::<i32>();
    let weight = |row| if weight.is_null(row) { Value::Null } else { Value::Float(weight.value(row)) };
    let row = |row| (src.value(row), dst.value(row), weight(row), Value::Text(note.value(row).to_owned()));
    (0..table.num_rows()).map(row).collect()
}

#[test]
fn large_tables_hold_every_edge_with_its_properties() {
    for multi in [false, true] {
        let store =
            Store::open_on(Arc::new(SimDisk::new(0)), Path::new("net.eg"), Options::default()).unwrap();
        let options = EdgeTypeOptions { multi, ..EdgeTypeOptions::default() };
        store.create_edge_type("edge", options).unwrap();
        let batch = many_edges(60_000, 20_000);
        store.add_edges("edge", vec![batch.clone()]).unwrap();
        let snapshot = snapshot(&store);
        let table = snapshot.edge_table();
        let key = |edge: &(i64, i64, Value, Value)| (edge.0, edge.1, edge.2.to_string(), edge.3.to_string());
        let (mut found, mut wanted) = (actual(&table), expected(&batch, multi));
        let sources: Vec<_> = found.iter().map(|edge| snapshot.vertex_id(edge.0)).collect();
        assert!(sources.is_sorted());
        found.sort_by_key(key);
        // A put without a value leaves the one that an earlier put of the edge gave.
        let blank = |edges: &mut Vec<(i64, i64, Value, Value)>| {
            edges.iter_mut().for_each(|edge| edge.2 = Value::Null)
        };
        if !multi {
            blank(&mut found);
            blank(&mut wanted);
        }
        wanted.sort_by_key(key);
        assert!(found == wanted);
        check_hub(&snapshot, &table);
        store.compact().unwrap();
        let compacted = Snapshot::new(store.version().unwrap());
        assert!(compacted.edge_table() == table);
        check_hub(&compacted, &table);
    }
}

/// Point queries on a long list give what the table gives.
fn check_hub(snapshot: &Snapshot, table: &RecordBatch) {
    let hub = rows(table).into_iter().filter(|row| row["src"] == Value::Int(-5));
    let hub: Vec<_> = hub.collect();
    assert!(hub.len() > 2_000, "{} edges", hub.len());
    assert_eq!(rows(&snapshot.edges_of(-5, Direction::Out, None).unwrap()), hub);
    let mut by_neighbor: BTreeMap<i64, Vec<Vec<(String, Value)>>> = BTreeMap::new();
    for row in &hub {
        let Value::Int(dst) = row["dst"] else { panic!("a key") };
        let names = ["weight", "note"].into_iter();
        let properties = names.filter_map(|name| Some((name.to_owned(), row.get(name)?.clone())));
        by_neighbor.entry(dst).or_default().push(properties.collect());
    }
    for (dst, expected) in by_neighbor {
        let between = snapshot.edges_between(-5, dst, None).into_iter();
        assert_eq!(between.map(|edge| edge.properties).collect::<Vec<_>>(), expected);
    }
    assert!(snapshot.edges_between(-5, 1 << 40, None).is_empty());
}

#[test]
fn an_edge_between_two_hubs_is_found() {
    let store = Store::in_memory(Options::default());
    let src = (0..700 * 700).map(|edge| edge / 700).collect();
    let dst = (0..700 * 700).map(|edge| edge % 700).collect();
    let all = EdgeBatch { src: KeyColumn::Int(src), dst: KeyColumn::Int(dst), columns: Vec::new() };
    store.add_edges("edge", vec![all]).unwrap();
    let snapshot = snapshot(&store);
    assert!((0..700).all(|dst| snapshot.edges_between(3, dst, None).len() == 1));
    assert!(snapshot.edges_between(3, 700, None).is_empty());
}

#[test]
fn whole_graph_arrays_agree_for_many_vertices() {
    let store = Store::in_memory(Options::default());
    let plain = |batch: EdgeBatch| EdgeBatch { columns: Vec::new(), ..batch };
    store.add_edges("edge", vec![plain(many_edges(50_000, 30_000))]).unwrap();
    store.add_edges("other", vec![plain(many_edges(9_000, 30_000))]).unwrap();
    (0..2_000).for_each(|vertex| {
        store.delete_vertex(vertex * 3).unwrap();
    });
    let snapshot = snapshot(&store);
    let ids = snapshot.vertex_ids();
    for direction in [Direction::Out, Direction::In] {
        let csr = snapshot.to_csr(direction);
        let mut edges: Vec<(i64, i64)> = Vec::new();
        for row in 0..csr.len() {
            let neighbors = &csr.indices[csr.indptr[row] as usize..csr.indptr[row + 1] as usize];
            let key = |row: usize| match snapshot.key(ids[row]) {
                evergraph_types::Key::Int(number) => number,
                other => panic!("{other} is no number"),
            };
            let pair = |&neighbor: &u32| match direction {
                Direction::Out => (key(row), key(neighbor as usize)),
                Direction::In => (key(neighbor as usize), key(row)),
            };
            edges.extend(neighbors.iter().map(pair));
        }
        let table = snapshot.edge_table();
        let (src, dst) =
            (table.column(0).as_primitive::<Int64Type>(), table.column(1).as_primitive::<Int64Type>());
        let mut expected: Vec<(i64, i64)> =
            src.values().iter().copied().zip(dst.values().iter().copied()).collect();
        edges.sort_unstable();
        expected.sort_unstable();
        assert!(edges == expected);
    }
}

#[test]
fn an_unknown_edge_type_cannot_be_selected() {
    let store = Store::in_memory(Options::default());
    store.put_edge(1, 2, "edge", &[]).unwrap();
    let snapshot = snapshot(&store);
    let error = snapshot.with_edge_types(&["edge", "egde"]).unwrap_err();
    assert!(error.to_string().contains("\"egde\""), "{error}");
    let none = snapshot.with_edge_types(&[]).unwrap();
    assert_eq!((none.num_edges(), none.num_vertices(), none.edge_types().len()), (0, 2, 0));
    assert_eq!(none.with_edge_types(&["edge"]).unwrap().num_edges(), 1);
    assert_eq!(snapshot.neighbors(1, Direction::Out, Some("egde")), Some(vec![]));
}
