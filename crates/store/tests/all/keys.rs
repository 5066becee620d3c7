//! Batches of edges between vertices with keys of any kind, against sets of pairs: keys that lie together or far apart, known
//! and new, given once and often.

use std::collections::BTreeSet;

use evergraph_store::{Options, Store};
use evergraph_types::{Direction, EdgeBatch, Key, KeyColumn, KeyKind};

/// The key of vertex `number`: texts, numbers far apart, or numbers side by side.
fn key(kind: KeyKind, spread: bool, number: u64) -> Key {
    let far = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match kind {
        KeyKind::Text => Key::Text(format!("{:x}", if spread { far } else { number })),
        _ => Key::Int(if spread { far as i64 } else { number as i64 }),
    }
}

fn part(kind: KeyKind, spread: bool, pairs: &[(u64, u64)]) -> EdgeBatch {
    let column = |end: fn(&(u64, u64)) -> u64| {
        let keys = pairs.iter().map(|pair| key(kind, spread, end(pair)));
        KeyColumn::from_keys(keys).expect("of one kind")
    };
    EdgeBatch { src: column(|pair| pair.0), dst: column(|pair| pair.1), columns: Vec::new() }
}

/// Pairs that look random, many of their ends more than once.
fn pairs(seed: u64, count: usize, vertices: u64) -> Vec<(u64, u64)> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 20) % vertices
    };
    (0..count).map(|_| (next(), next())).collect()
}

fn adds_and_deletes(kind: KeyKind, spread: bool) {
    let store = Store::in_memory(Options { keys: Some(kind), ..Options::default() });
    let mut edges = BTreeSet::new();
    let mut vertices = BTreeSet::new();
    for (round, (count, bound)) in
        [(100, 50), (20_000, 3_000), (1, 4_000), (30_000, 40_000), (900, 60_000)].into_iter().enumerate()
    {
        let added = pairs(round as u64, count, bound);
        let ends: BTreeSet<u64> = added.iter().flat_map(|&(src, dst)| [src, dst]).collect();
        let parts = added.chunks(count / 2 + 1).map(|pairs| part(kind, spread, pairs)).collect();
        let summary = store.add_edges("knows", parts).expect("it fits");
        assert_eq!(summary.vertices, ends.difference(&vertices).count() as u64);
        assert_eq!(
            summary.edges,
            added.iter().collect::<BTreeSet<_>>().difference(&edges.iter().collect()).count() as u64
        );
        vertices.extend(ends);
        edges.extend(added.iter().copied());
        // Some that are there, and some between vertices that are not.
        let mut gone: Vec<_> = added.into_iter().step_by(7).collect();
        gone.extend(pairs(round as u64 + 100, 50, 1 << 40));
        let summary = store.delete_edges("knows", vec![part(kind, spread, &gone)]).expect("it fits");
        assert_eq!(summary.edges, gone.iter().filter(|pair| edges.remove(pair)).count() as u64);
        assert_eq!(summary.vertices, 0);
    }
    let version = store.version().expect("open");
    assert_eq!(version.num_vertices(), vertices.len() as u64);
    let id = |number| version.vertex_id(key(kind, spread, number).as_ref());
    let mut found = 0;
    for &vertex in &vertices {
        let own = id(vertex).expect("a vertex");
        assert_eq!(version.key(own), key(kind, spread, vertex));
        found += version.neighbors(0, Direction::Out, own).len();
    }
    assert_eq!(found, edges.len());
    for &(src, dst) in &edges {
        assert!(version.has_edge(0, id(src).expect("a vertex"), id(dst).expect("a vertex")));
    }
    assert_eq!(id(1 << 50), None);
}

#[test]
fn numbers_side_by_side() {
    adds_and_deletes(KeyKind::Int64, false);
}

#[test]
fn numbers_far_apart() {
    adds_and_deletes(KeyKind::Int64, true);
}

#[test]
fn texts() {
    adds_and_deletes(KeyKind::Text, true);
}
