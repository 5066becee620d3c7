//! Loads large enough for every part of the bulk path: several ranges of vertices, several sections of keys, hubs, and
//! loads into what earlier ones left, against sorted pairs.

use std::collections::BTreeSet;

use crate::common::{directory, number_batch, on, open, options, with_columns};
use evergraph_disk::{Disk, SimDisk};
use evergraph_store::{Options, Store, check_on};
use evergraph_types::{Direction, EdgeTypeOptions, KeyKind, PropertyType, Value};

/// Pairs that look random: a few hubs, many repeats, some loops.
fn pairs(seed: u64, count: usize, vertices: u64) -> Vec<(i64, i64)> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 20
    };
    let mut end = move || {
        let number = next();
        (if number.is_multiple_of(5) { number % 7 } else { number % vertices }) as i64
    };
    (0..count).map(|_| (end(), end())).collect()
}

/// Compares lists of both directions, by key.
fn compare(store: &Store, edge_type: &str, expected: &BTreeSet<(i64, i64)>) {
    let version = store.version().expect("open");
    let (id, kind) = version.schema().edge_type(edge_type).expect("a type");
    let symmetric = kind.options.symmetric;
    for direction in [Direction::Out, Direction::In] {
        let mut found = BTreeSet::new();
        let flat = version.flatten(id, direction);
        for vertex in version.vertex_ids() {
            let near = number(version.key(vertex));
            let neighbors = version.neighbors(id, direction, vertex);
            assert_eq!(flat.neighbors(vertex).to_vec(), neighbors.to_vec());
            for neighbor in neighbors.iter() {
                let far = number(version.key(neighbor));
                let edge = if direction == Direction::Out { (near, far) } else { (far, near) };
                assert!(found.insert(edge), "{edge:?} is there once");
            }
        }
        let both = expected.iter().map(|&(src, dst)| (dst, src)).filter(|_| symmetric);
        assert!(found == expected.iter().copied().chain(both).collect(), "{edge_type} {direction:?}");
    }
    let count = |&&(src, dst): &&(i64, i64)| !symmetric || src <= dst || !expected.contains(&(dst, src));
    assert_eq!(version.num_edges(id), expected.iter().filter(count).count() as u64);
}

fn number(key: evergraph_types::Key) -> i64 {
    match key {
        evergraph_types::Key::Int(number) => number,
        other => panic!("{other}"),
    }
}

fn loads(keys: KeyKind, symmetric: bool, count: usize, vertices: u64) {
    let disk = SimDisk::new(0);
    let options = || Options { keys: Some(keys), bulk_edges: 10_000, ..options() };
    let mut store = open(&disk, options());
    store.create_edge_type("knows", EdgeTypeOptions { symmetric, ..Default::default() }).expect("new");
    let mut expected = BTreeSet::new();
    for round in 0..3 {
        let new = pairs(round, count, vertices);
        expected.extend(&new);
        let parts = new.chunks(count / 3 + 1).map(|part| number_batch(part.iter().copied())).collect();
        let before = store.stats().num_edges;
        let summary = store.add_edges("knows", parts).expect("it fits");
        assert_eq!(store.stats().num_edges, before + summary.edges);
        compare(&store, "knows", &expected);
        match round {
            0 => {
                // Some in memory, over what is in the segment.
                for (src, dst) in [(1, 2), (5_000_000, 3), (3, 3)] {
                    store.put_edge(src, dst, "knows", &[]).expect("it fits");
                    expected.insert((src, dst));
                }
                let gone: Vec<(i64, i64)> = new.iter().copied().step_by(97).collect();
                store.delete_edges("knows", vec![number_batch(gone.iter().copied())]).expect("it fits");
                for (src, dst) in gone {
                    expected.remove(&(src, dst));
                    if symmetric {
                        expected.remove(&(dst, src));
                    }
                }
            }
            1 => {
                drop(store);
                store = open(&disk, options());
            }
            _ => store.compact().expect("a good disk"),
        }
        compare(&store, "knows", &expected);
    }
    store.close().expect("a good disk");
    let report = check_on(on(&disk), crate::common::directory()).expect("a store");
    assert!(report.is_healthy(), "{report:?}");
    compare(&open(&disk, options()), "knows", &expected);
}

#[test]
fn loads_of_directed_edges_add_up() {
    loads(KeyKind::Int64, false, 150_000, 60_000);
}

#[test]
fn loads_of_symmetric_edges_add_up() {
    loads(KeyKind::Dense, true, 100_000, 9_000);
}

/// A load under a limit reads and writes rows range by range of vertices, and gives the same graph as one in memory,
/// whatever the type: neighbors, their order, and properties.
#[test]
fn a_load_larger_than_memory_gives_the_same_graph() {
    let count = 60_000;
    for (multi, symmetric, columns) in [
        (false, false, 0),
        (false, true, 0),
        (false, true, 1),
        (true, false, 0),
        (true, false, 1),
        (true, true, 1),
    ] {
        let mut dumps = Vec::new();
        for memory_limit_bytes in [None, Some(200_000)] {
            let disk = SimDisk::new(0);
            let options = || Options { bulk_edges: 1000, memory_limit_bytes, ..options() };
            let store = open(&disk, options());
            let kind = EdgeTypeOptions { multi, symmetric, ..Default::default() };
            store.create_edge_type("knows", kind).expect("new");
            for round in 0..2 {
                let mut load = store.bulk_load("knows", None);
                for part in pairs(round, count, 3_000).chunks(7_000) {
                    let batch = number_batch(part.iter().copied());
                    let value = |_, row: usize| Value::Int((row % 1000) as i64 * 3);
                    load.add(vec![with_columns(batch, &[("weight", PropertyType::Int64)][..columns], value)])
                        .expect("it fits");
                }
                let files = disk.list(&directory().join("segments")).expect("there");
                let spilled = files.iter().any(|name| name.ends_with(".spill"));
                assert_eq!(spilled, memory_limit_bytes.is_some(), "{files:?}");
                assert!(load.commit(&[("round", b"done")]).expect("it fits").edges > 0);
                let files = disk.list(&directory().join("segments")).expect("there");
                assert!(files.iter().all(|name| name.ends_with(".segment")), "{files:?}");
            }
            drop(store);
            let version = open(&disk, options()).version().expect("open");
            assert_eq!(version.item("edge_type/0/round"), Some(&b"done"[..]));
            let mut lists = Vec::new();
            for direction in [Direction::Out, Direction::In] {
                for vertex in version.vertex_ids() {
                    let mut edges = Vec::new();
                    version.for_each_edge(
                        0,
                        direction,
                        vertex,
                        &[0][..columns],
                        &mut |neighbor, properties| {
                            edges.push((version.key(neighbor), format!("{properties:?}")));
                        },
                    );
                    edges.sort_by_key(|edge| if multi { 0 } else { number(edge.0.clone()) });
                    lists.push((number(version.key(vertex)), edges));
                }
            }
            lists.sort_by_key(|list| list.0);
            dumps.push((version.num_vertices(), version.num_edges(0), lists));
        }
        assert!(dumps[0] == dumps[1], "multi {multi}, symmetric {symmetric}, {columns} columns");
    }
}

#[test]
fn more_keys_than_fit_one_section_are_found_again() {
    let disk = SimDisk::new(0);
    let vertices = 300_000i64;
    let store = open(&disk, Options { bulk_edges: 1, ..options() });
    let key = |row: i64| row * 7_919 - 1_000_000;
    store
        .add_edges("knows", vec![number_batch((1..vertices).map(|row| (key(row - 1), key(row))))])
        .expect("it fits");
    drop(store);
    let version = open(&disk, options()).version().expect("open");
    assert_eq!((version.num_vertices(), version.num_edges(0)), (vertices as u64, vertices as u64 - 1));
    for row in (1..vertices).step_by(101).chain([1, vertices - 1, 262_143, 262_144, 262_145]) {
        let [src, dst] = [row - 1, row].map(|row| version.vertex_id(key(row).into()).expect("a vertex"));
        assert_eq!(version.neighbors(0, Direction::Out, src).to_vec(), [dst]);
        assert_eq!(version.key(dst), key(row).into());
    }
    assert_eq!(version.vertex_id(5.into()), None);
}
