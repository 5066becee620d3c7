//! Snapshots after random transactions show what a naive graph shows, through all edge types and through some.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::common::{
    EDGE_TYPES, Edge, Model, Row, any_step, cell_key, declare_types, key_cell, key_of, new_store, rows,
    run_both, vertex_data,
};
use evergraph_disk::SimDisk;
use evergraph_store::{Options, Store};
use evergraph_types::{Direction, EdgeData, EdgeTypeId, Key, KeyKind, PropertyType, Value, VertexId};
use evergraph_view::{
    Confinement, EdgeRule, GraphView, Run, Snapshot, VertexBits, WeightError, WeightedList,
};
use proptest::prelude::*;

const DIRECTIONS: [Direction; 2] = [Direction::Out, Direction::In];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn a_snapshot_shows_what_was_committed_when_it_was_taken(
        kind in prop::sample::select(vec![KeyKind::Dense, KeyKind::Int64, KeyKind::Text]),
        transactions in prop::collection::vec(prop::collection::vec(any_step(), 0..25), 0..6),
        selected in prop::collection::vec(any::<bool>(), EDGE_TYPES.len()),
    ) {
        let store = new_store(kind);
        let mut model = Model::default();
        let mut taken = vec![(Snapshot::new(store.version().unwrap()), model.clone())];
        for steps in &transactions {
            run_both(&store, &mut model, kind, steps);
            taken.push((Snapshot::new(store.version().unwrap()), model.clone()));
        }
        let some: Vec<usize> = (0..EDGE_TYPES.len()).filter(|&id| selected[id]).collect();
        let names: Vec<&str> = some.iter().map(|&id| EDGE_TYPES[id].0).collect();
        for (snapshot, model) in &taken {
            check(snapshot, model, kind, &[0, 1, 2, 3, 4]);
            check(&snapshot.with_edge_types(&names).unwrap(), model, kind, &some);
        }
        for (id, (name, ..)) in EDGE_TYPES.iter().enumerate() {
            check(&taken[taken.len() - 1].0.with_edge_types(&[name]).unwrap(), &model, kind, &[id]);
        }
    }
}

/// Keeps edges whose amount, a number, is at least this much, and all others.
#[derive(Debug)]
struct AtLeast(f64);

impl EdgeRule for AtLeast {
    fn retain(&self, edge_type: EdgeTypeId, _: Direction, _: VertexId, run: Run<'_>, rows: &mut Vec<usize>) {
        let amount = |row: usize| if edge_type == 1 { run.value(0, row) } else { Value::Null };
        rows.retain(|&row| !matches!(amount(row), Value::Float(amount) if amount < self.0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn a_confined_snapshot_shows_what_a_naive_graph_of_that_part_shows(
        kind in prop::sample::select(vec![KeyKind::Dense, KeyKind::Int64, KeyKind::Text]),
        steps in prop::collection::vec(any_step(), 0..120),
        members in prop::collection::vec(any::<bool>(), 12),
        others in prop::collection::vec(prop::bool::weighted(0.8), 12),
        rule in prop::option::of(0f64..80.0),
        selected in prop::collection::vec(any::<bool>(), EDGE_TYPES.len()),
    ) {
        let (store, mut model) = (new_store(kind), Model::default());
        run_both(&store, &mut model, kind, &steps);
        let whole = Snapshot::new(store.version().unwrap());
        let part = |members: &[bool], rule| {
            let keys = (0..12u8).filter(|&vertex| members[usize::from(vertex)]);
            let ids = keys.filter_map(|vertex| whole.vertex_id(&key_of(kind, vertex)));
            Confinement::new(Arc::new(VertexBits::new(ids)), rule)
        };
        let some: Vec<usize> = (0..EDGE_TYPES.len()).filter(|&id| selected[id]).collect();
        let names: Vec<&str> = some.iter().map(|&id| EDGE_TYPES[id].0).collect();
        let shrink = |model: &mut Model, members: &[bool], rule: Option<f64>| {
            let is_member = |key: &Key| (0..12).any(|vertex| members[usize::from(vertex)] && key_of(kind, vertex) == *key);
            model.vertices.retain(|key, _| is_member(key));
            let amount = |edge: &Edge| match edge.properties.get("amount") {
                Some(Value::Float(amount)) => *amount,
                _ => f64::INFINITY,
            };
            model.edges.retain(|edge| is_member(&edge.src) && is_member(&edge.dst));
            model.edges.retain(|edge| rule.is_none_or(|least| amount(edge) >= least));
        };
        let rule_of = rule.map(|least| Arc::new(AtLeast(least)) as Arc<dyn EdgeRule>);
        let confined = whole.confined(part(&members, rule_of));
        shrink(&mut model, &members, rule);
        check(&confined, &model, kind, &[0, 1, 2, 3, 4]);
        check(&confined.with_edge_types(&names).unwrap(), &model, kind, &some);
        check(&confined.with_edge_types(&["pays"]).unwrap(), &model, kind, &[1]);
        let twice = confined.confined(part(&others, None));
        shrink(&mut model, &others, None);
        check(&twice, &model, kind, &[0, 1, 2, 3, 4]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn it_shows_the_same_from_segments(
        kind in prop::sample::select(vec![KeyKind::Dense, KeyKind::Int64, KeyKind::Text]),
        rounds in prop::collection::vec((prop::collection::vec(any_step(), 0..25), 0..4), 1..6),
    ) {
        let disk = SimDisk::new(0);
        let open = || {
            let options = Options { keys: Some(kind), background: false, ..Options::default() };
            Store::open_on(Arc::new(disk.clone()), Path::new("net.eg"), options).unwrap()
        };
        let mut store = open();
        declare_types(&store);
        let mut model = Model::default();
        for (steps, what) in &rounds {
            run_both(&store, &mut model, kind, steps);
            match what {
                0 => store.checkpoint().unwrap(),
                1 => store.compact().unwrap(),
                2 => {
                    store.close().unwrap();
                    store = open();
                }
                _ => {}
            }
            check(&Snapshot::new(store.version().unwrap()), &model, kind, &[0, 1, 2, 3, 4]);
        }
    }
}

fn check(snapshot: &Snapshot, model: &Model, kind: KeyKind, selected: &[usize]) {
    check_vertices(snapshot, model);
    for vertex in 0..12 {
        check_vertex(snapshot, model, &key_of(kind, vertex), selected);
        for dst in 0..12 {
            check_edge(snapshot, model, &key_of(kind, vertex), &key_of(kind, dst), selected);
        }
    }
    check_edge_table(snapshot, model, selected);
    check_view(snapshot, model, selected);
    check_csr(snapshot);
    for property in ["amount", "since", "type", "nothing"] {
        check_weights(snapshot, model, selected, property);
    }
}

fn check_weights(snapshot: &Snapshot, model: &Model, selected: &[usize], property: &str) {
    let kinds =
        |id: &usize| EDGE_TYPES[*id].3.iter().filter(|(name, _)| *name == property).map(|(_, kind)| *kind);
    let is_number = |kind: PropertyType| kind.is_number();
    let lists = match snapshot.weighted_lists(property) {
        Ok(lists) => lists,
        Err(WeightError::NotANumber { .. }) => {
            return assert!(selected.iter().flat_map(kinds).any(|kind| !is_number(kind)));
        }
        Err(error) => {
            assert!(matches!(error, WeightError::UnknownProperty { .. }), "{error}");
            return assert!(!selected.is_empty() && selected.iter().flat_map(kinds).next().is_none());
        }
    };
    let mut list = WeightedList::default();
    for direction in DIRECTIONS {
        for id in snapshot.vertex_ids() {
            let key = snapshot.key(id);
            let edges = selected.iter().flat_map(|&id| expected_edges(snapshot, model, &key, direction, id));
            let expected = edges.map(|(neighbor, edge)| {
                let weight = match edge.properties.get(property) {
                    Some(Value::Int(number)) => *number as f64,
                    Some(Value::Float(number)) => *number,
                    _ => 1.0,
                };
                (snapshot.vertex_id(&neighbor).unwrap(), weight)
            });
            list.clear();
            lists.append(direction, id, &mut list);
            assert_eq!(list.iter().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }
}

fn check_vertices(snapshot: &Snapshot, model: &Model) {
    let ids = snapshot.vertex_ids();
    assert!(ids.is_sorted_by(|left, right| left < right));
    let mut keys: Vec<Key> = ids.iter().map(|&id| snapshot.key(id)).collect();
    assert_eq!(snapshot.num_vertices(), keys.len() as u64);
    let shown = rows(&snapshot.vertex_table());
    assert_eq!(shown.iter().map(|row| cell_key(&row["id"])).collect::<Vec<_>>(), keys);
    for (row, key) in shown.iter().zip(&keys) {
        let (label, properties) = &model.vertices[key];
        let mut expected: Row = properties.clone();
        expected.insert("id".to_owned(), key_cell(key));
        expected.extend(label.clone().map(|label| ("type".to_owned(), Value::Text(label))));
        assert_eq!(row, &expected);
    }
    keys.sort();
    assert_eq!(keys, model.vertices.keys().cloned().collect::<Vec<_>>());
}

/// The neighbors of a vertex as a list of one edge type holds them: ascending by id, or in order of arrival.
fn expected_edges<'a>(
    snapshot: &Snapshot,
    model: &'a Model,
    key: &Key,
    direction: Direction,
    edge_type: usize,
) -> Vec<(Key, &'a Edge)> {
    let mut edges = model.edges_of(key, direction, edge_type);
    if !EDGE_TYPES[edge_type].1 {
        edges.sort_by_key(|(neighbor, _)| snapshot.vertex_id(neighbor));
    }
    edges
}

fn check_vertex(snapshot: &Snapshot, model: &Model, key: &Key, selected: &[usize]) {
    let sorted = |data: Option<evergraph_types::VertexData>| {
        data.map(|data| (data.vertex_type, data.properties.into_iter().collect::<BTreeMap<_, _>>()))
    };
    assert_eq!(sorted(snapshot.vertex(key)), sorted(vertex_data(model, key)));
    let exists = model.vertices.contains_key(key);
    assert_eq!(snapshot.vertex_id(key).is_some(), exists);
    for direction in DIRECTIONS {
        let mut all = Vec::new();
        for (id, (name, ..)) in EDGE_TYPES.iter().enumerate() {
            let edges = if selected.contains(&id) {
                expected_edges(snapshot, model, key, direction, id)
            } else {
                Vec::new()
            };
            let neighbors: Vec<Key> = edges.iter().map(|(neighbor, _)| neighbor.clone()).collect();
            assert_eq!(snapshot.degree_of(key, direction, Some(name)), exists.then_some(neighbors.len()));
            assert_eq!(snapshot.neighbors(key, direction, Some(name)), exists.then_some(neighbors));
            all.extend(edges);
        }
        let neighbors: Vec<Key> = all.iter().map(|(neighbor, _)| neighbor.clone()).collect();
        assert_eq!(snapshot.degree_of(key, direction, None), exists.then_some(neighbors.len()));
        assert_eq!(snapshot.neighbors(key, direction, None), exists.then_some(neighbors));
        let rows_of = snapshot.edges_of(key, direction, None).map(|table| rows(&table));
        let expected = all.iter().map(|(neighbor, edge)| match direction {
            Direction::Out => edge_row(key, neighbor, edge, selected),
            Direction::In => edge_row(neighbor, key, edge, selected),
        });
        assert_eq!(rows_of, exists.then(|| expected.collect()));
    }
}

/// The row of an edge, its columns named by the rules.
fn edge_row(src: &Key, dst: &Key, edge: &Edge, selected: &[usize]) -> Row {
    let owner = EDGE_TYPES[edge.edge_type].0;
    let mut row: Row = [("src".to_owned(), key_cell(src)), ("dst".to_owned(), key_cell(dst))].into();
    if selected.len() > 1 {
        row.insert("type".to_owned(), Value::Text(owner.to_owned()));
    }
    for (name, value) in &edge.properties {
        let taken = match name.as_str() {
            "src" => true,
            "type" => selected.len() > 1,
            "amount" => selected.contains(&1) && selected.contains(&2),
            _ => false,
        };
        let name = if taken { format!("{owner}.{name}") } else { name.clone() };
        row.insert(name, value.clone());
    }
    row
}

fn check_edge(snapshot: &Snapshot, model: &Model, src: &Key, dst: &Key, selected: &[usize]) {
    let mut all = Vec::new();
    for (id, (name, _, _, declared)) in EDGE_TYPES.iter().enumerate() {
        let edges = model.edges_of(src, Direction::Out, id).into_iter();
        let edges = edges.filter(|(neighbor, _)| neighbor == dst && selected.contains(&id));
        let expected: Vec<EdgeData> = edges
            .map(|(_, edge)| EdgeData {
                edge_type: (*name).to_owned(),
                properties: declared
                    .iter()
                    .filter_map(|(name, _)| Some(((*name).to_owned(), edge.properties.get(*name)?.clone())))
                    .collect(),
            })
            .collect();
        assert_eq!(snapshot.has_edge(src, dst, Some(name)), !expected.is_empty());
        assert_eq!(snapshot.edges_between(src, dst, Some(name)), expected);
        all.extend(expected);
    }
    assert_eq!(snapshot.has_edge(src, dst, None), !all.is_empty());
    assert_eq!(snapshot.edges_between(src, dst, None), all);
}

fn check_edge_table(snapshot: &Snapshot, model: &Model, selected: &[usize]) {
    let mut expected = Vec::new();
    for &edge_type in selected {
        for id in snapshot.vertex_ids() {
            let key = snapshot.key(id);
            let edges = expected_edges(snapshot, model, &key, Direction::Out, edge_type);
            let edges = edges
                .into_iter()
                .filter(|(neighbor, _)| !EDGE_TYPES[edge_type].2 || snapshot.vertex_id(neighbor) >= Some(id));
            expected.extend(edges.map(|(neighbor, edge)| edge_row(&key, &neighbor, edge, selected)));
        }
    }
    assert_eq!(rows(&snapshot.edge_table()), expected);
    assert_eq!(snapshot.num_edges(), expected.len() as u64);
    let batches = snapshot.edge_batches().flat_map(|batch| {
        let row = |row: usize| {
            let ends = [("src", batch.src.get(row)), ("dst", batch.dst.get(row))];
            let ends = ends.map(|(name, key)| (name.to_owned(), key_cell(&key.to_key())));
            let columns = batch.columns.iter().map(|(name, column)| (name.clone(), column.get(row)));
            ends.into_iter().chain(columns).filter(|(_, value)| *value != Value::Null).collect::<Row>()
        };
        (0..batch.len()).map(row).collect::<Vec<_>>()
    });
    assert_eq!(batches.collect::<Vec<_>>(), expected);
}

fn check_view(snapshot: &Snapshot, model: &Model, selected: &[usize]) {
    let flat = snapshot.flat();
    let symmetric = !selected.is_empty() && selected.iter().all(|&id| EDGE_TYPES[id].2);
    assert_eq!((snapshot.is_symmetric(), flat.is_symmetric()), (symmetric, symmetric));
    let of_types = model.edges.iter().filter(|edge| selected.contains(&edge.edge_type));
    assert_eq!((snapshot.num_edges(), flat.num_edges()), (of_types.clone().count() as u64, flat.num_edges()));
    assert_eq!(flat.num_edges(), snapshot.num_edges());
    assert_eq!(flat.num_vertices(), snapshot.num_vertices());
    assert_eq!(flat.id_bound(), snapshot.id_bound());
    let end_to_end = flat.end_to_end(|| Ok::<(), std::convert::Infallible>(())).expect("nothing to fail");
    let mut all_ascend = true;
    for direction in DIRECTIONS {
        let mut entries = 0;
        for id in 0..snapshot.id_bound() + 2 {
            assert_eq!(flat.has_vertex(id), snapshot.has_vertex(id));
            let (point, whole) = (list(snapshot, direction, id), list(&*flat, direction, id));
            assert_eq!(point.len(), snapshot.degree(direction, id));
            assert_eq!(whole.len(), flat.degree(direction, id));
            let mut expected = point.clone();
            if selected.len() != 1 {
                expected.sort_unstable();
            }
            assert_eq!(whole, expected);
            assert_eq!(list(&end_to_end, direction, id), whole);
            all_ascend &= whole.is_sorted_by(|left, right| left < right);
            entries += whole.len() as u64;
            if snapshot.has_vertex(id) {
                let keys: Vec<Key> = point.iter().map(|&neighbor| snapshot.key(neighbor)).collect();
                assert_eq!(snapshot.neighbors(&snapshot.key(id), direction, None), Some(keys));
            }
        }
        assert_eq!(entries, flat.num_entries());
    }
    if flat.is_sorted() {
        assert!(all_ascend);
    } else {
        // Lists of a multi type are taken for unsorted without a look.
        assert!(!all_ascend || matches!(selected, [id] if EDGE_TYPES[*id].1));
    }
}

fn list(view: &dyn GraphView, direction: Direction, vertex: VertexId) -> Vec<VertexId> {
    let mut list = Vec::new();
    view.for_each_slice(direction, vertex, &mut |slice| {
        list.extend_from_slice(slice);
        ControlFlow::Continue(())
    });
    list
}

fn check_csr(snapshot: &Snapshot) {
    let ids = snapshot.vertex_ids();
    for direction in DIRECTIONS {
        let csr = snapshot.to_csr(direction);
        assert_eq!(csr.len(), ids.len());
        for (row, &id) in ids.iter().enumerate() {
            let bounds = csr.indptr[row] as usize..csr.indptr[row + 1] as usize;
            let neighbors: Vec<VertexId> = csr.indices[bounds].iter().map(|&row| ids[row as usize]).collect();
            assert_eq!(neighbors, list(&*snapshot.flat(), direction, id));
        }
        assert_eq!((csr.indptr[0], csr.indptr[ids.len()]), (0, csr.indices.len() as i64));
    }
}
