//! A derived graph against a queue: edges that leave oldest first, short lists and lists of many runs, with and without
//! properties, while some are deleted; versions that were kept stay, and nothing is left in memory in the end.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use evergraph_store::{DerivedEdit, DerivedGraph, EdgeOps, Oldest, OpColumn, Options, Store, Version};
use evergraph_types::{
    Column, Direction, EdgeType, EdgeTypeOptions, Property, PropertyType, Value, VertexId,
};
use proptest::prelude::*;

type Pair = (VertexId, VertexId);

const VERTICES: VertexId = 6;

#[derive(Clone, Debug)]
struct Turn {
    /// So many edges leave, of a hundred.
    leaving: usize,
    deleted: Option<Pair>,
    put: Vec<Pair>,
    keep: bool,
}

/// A store's version with so many vertices, and a graph without edges over them.
fn empty_graph(vertices: VertexId, options: EdgeTypeOptions) -> (Arc<Version>, DerivedGraph) {
    let store = Store::in_memory(Options::default());
    (0..i64::from(vertices)).for_each(|key| _ = store.put_vertex(key, None, &[]).expect("put"));
    let source = store.version().expect("open");
    let graph = DerivedGraph::new(&source, EdgeType { name: "e".to_owned(), options });
    (source, graph)
}

fn any_turn() -> impl Strategy<Value = Turn> {
    let pair = || (0..VERTICES, 0..VERTICES);
    let few = prop::collection::vec(pair(), 0..12);
    // Most of them at one vertex, so that its lists are longer than one run.
    let many = prop::collection::vec((0..2u32, 0..VERTICES), 0..6000);
    (0usize..=100, prop::option::weighted(0.3, pair()), prop_oneof![few, many], any::<bool>())
        .prop_map(|(leaving, deleted, put, keep)| Turn { leaving, deleted, put, keep })
}

/// The lists in both directions, each edge with its number.
fn lists(
    edges: impl Iterator<Item = (Pair, i64)>,
    symmetric: bool,
) -> [BTreeMap<VertexId, Vec<(VertexId, i64)>>; 2] {
    let mut lists = [BTreeMap::new(), BTreeMap::new()];
    for ((src, dst), number) in edges {
        lists[0].entry(src).or_insert_with(Vec::new).push((dst, number));
        let back = usize::from(!symmetric);
        if !symmetric || src != dst {
            lists[back].entry(dst).or_insert_with(Vec::new).push((src, number));
        }
    }
    lists
}

fn found(version: &Version, symmetric: bool, timed: bool) -> [BTreeMap<VertexId, Vec<(VertexId, i64)>>; 2] {
    [Direction::Out, Direction::In].map(|direction| {
        let mut lists = BTreeMap::new();
        for vertex in (0..VERTICES).filter(|_| !symmetric || direction == Direction::Out) {
            let mut list = Vec::new();
            version.for_each_edge(0, direction, vertex, &[0], &mut |neighbor, values| {
                list.push((neighbor, if timed { values[0].time().unwrap_or(-1) } else { 0 }));
            });
            assert_eq!(version.neighbors(0, direction, vertex).len(), list.len());
            assert_eq!(version.degree(0, direction, vertex), list.len());
            if !list.is_empty() {
                lists.insert(vertex, list);
            }
        }
        lists
    })
}

fn edit_of(turn: &Turn, timed: bool, queue: &mut VecDeque<(Pair, i64)>, number: &mut i64) -> DerivedEdit {
    let ends = |pairs: &[Pair]| {
        [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()]
    };
    queue.retain(|(pair, _)| Some(*pair) != turn.deleted);
    let leaving: Vec<_> = queue.drain(..queue.len() * turn.leaving / 100).collect();
    let last = leaving.last().map_or(-1, |(_, number)| *number);
    let pairs: Vec<Pair> = leaving.iter().map(|(pair, _)| *pair).collect();
    let mut times = Column::new(PropertyType::Timestamp);
    for &pair in &turn.put {
        *number += 1;
        times.push(Value::Timestamp(*number)).expect("a time");
        queue.push_back((pair, if timed { *number } else { 0 }));
    }
    let columns = vec![OpColumn { property: 0, values: times, given: None }];
    let [src, dst] = ends(&turn.put);
    DerivedEdit {
        deleted: ends(turn.deleted.as_slice()),
        expired: ends(&pairs),
        oldest: if timed { Oldest::Until(0, last) } else { Oldest::First },
        ops: EdgeOps { src, dst, deletes: None, columns: if timed { columns } else { Vec::new() } },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_oldest_edges_leave_and_every_version_stays_as_it_was(
        symmetric in any::<bool>(),
        timed in any::<bool>(),
        turns in prop::collection::vec(any_turn(), 1..12),
    ) {
        let time = Property { name: "time".to_owned(), kind: PropertyType::Timestamp };
        let options = EdgeTypeOptions {
            multi: true, symmetric, properties: vec![time], ..EdgeTypeOptions::default()
        };
        let (source, mut graph) = empty_graph(VERTICES, options);
        let (mut queue, mut number, mut kept) = (VecDeque::new(), 0, Vec::<(Arc<Version>, _)>::new());
        let everything = Turn { leaving: 100, deleted: None, put: Vec::new(), keep: false };
        for turn in turns.iter().chain([&everything]) {
            // Symmetric edges are named with the smaller end first, as windows do.
            let turned = |pair: Pair| if symmetric { (pair.0.min(pair.1), pair.0.max(pair.1)) } else { pair };
            let mut turn = turn.clone();
            turn.put.iter_mut().for_each(|pair| *pair = turned(*pair));
            turn.deleted = turn.deleted.map(turned);
            graph.edit(&source, edit_of(&turn, timed, &mut queue, &mut number));
            let expected = lists(queue.iter().copied(), symmetric);
            let version = graph.version();
            let ends: std::collections::BTreeSet<VertexId> =
                expected.iter().flat_map(BTreeMap::keys).copied().collect();
            prop_assert_eq!(version.num_vertices(), ends.len() as u64);
            prop_assert_eq!(version.num_edges(0), queue.len() as u64);
            prop_assert_eq!(&found(version, symmetric, timed), &expected);
            if turn.keep {
                kept.push((version.clone(), expected));
            }
        }
        for (version, expected) in &kept {
            prop_assert_eq!(&found(version, symmetric, timed), expected);
        }
        drop(kept);
        // What was retired is freed with the next edit.
        graph.edit(&source, DerivedEdit::default());
        graph.edit(&source, DerivedEdit::default());
        prop_assert!(graph.memory_bytes() < 16_384, "{} bytes of nothing", graph.memory_bytes());
    }
}

/// Edges of a *simple* type with a number each, or none.
type Edges = BTreeMap<Pair, Option<i64>>;

/// The edit of these rows, made to the edges too; and which puts find theirs there.
fn simple_edit(
    rows: &[(Pair, Option<i64>, bool)],
    numbered: bool,
    edges: &mut Edges,
) -> (DerivedEdit, Vec<Pair>) {
    let mut found = Vec::new();
    let mut numbers = Column::new(PropertyType::Int64);
    let mut ops = EdgeOps { deletes: Some(Vec::new()), ..EdgeOps::default() };
    for &(pair, number, is_delete) in rows {
        let number = number.filter(|_| numbered && !is_delete);
        ops.src.push(pair.0);
        ops.dst.push(pair.1);
        ops.deletes.iter_mut().for_each(|deletes| deletes.push(is_delete));
        numbers.push(number.map_or(Value::Null, Value::Int)).expect("a number");
        let was_there = if is_delete { edges.remove(&pair) } else { edges.insert(pair, number) };
        found.extend(was_there.filter(|_| !is_delete).map(|_| pair));
    }
    if numbered {
        ops.columns = vec![OpColumn { property: 0, values: numbers, given: None }];
    }
    found.sort_unstable();
    (DerivedEdit { ops, ..DerivedEdit::default() }, found)
}

/// The edges of the lists of each direction; those of a symmetric type from the smaller end.
fn simple_lists(version: &Version, symmetric: bool) -> [Edges; 2] {
    [Direction::Out, Direction::In].map(|direction| {
        let mut edges = Edges::new();
        for vertex in 0..version.id_bound() {
            version.for_each_edge(0, direction, vertex, &[0], &mut |neighbor, values| {
                let pair = if direction == Direction::Out { (vertex, neighbor) } else { (neighbor, vertex) };
                let number = if let Value::Int(number) = values[0] { Some(number) } else { None };
                if !symmetric || pair.0 <= pair.1 {
                    edges.insert(pair, number);
                }
            });
        }
        edges
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Lists that are written again where they lie, because nobody has seen them, are as those that are copied; what was seen
    /// stays.
    #[test]
    fn versions_of_simple_lists_stay_as_they_were(
        numbered in any::<bool>(),
        symmetric in any::<bool>(),
        turns in prop::collection::vec((prop_oneof![Just(1usize), Just(20), Just(900)], any::<u64>(), any::<bool>()), 1..24),
    ) {
        let number = Property { name: "number".to_owned(), kind: PropertyType::Int64 };
        let options = EdgeTypeOptions { properties: vec![number], symmetric, ..EdgeTypeOptions::default() };
        let (source, mut graph) = empty_graph(700, options);
        let (mut edges, mut kept) = (Edges::new(), Vec::new());
        for (rows, seed, keep) in turns {
            let mut state = seed;
            let mut next = |bound: u64| {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
                (state >> 33) % bound
            };
            // Many of a few sources, so that lists get long, and some deleted.
            let rows: Vec<_> = (0..rows)
                .map(|_| ((next(3) as u32, next(700) as u32), Some(next(5) as i64), next(3) == 0))
                .map(|(pair, number, is_delete)| {
                    let turned = symmetric && pair.0 > pair.1;
                    (if turned { (pair.1, pair.0) } else { pair }, number, is_delete)
                })
                .collect();
            let (edit, expected) = simple_edit(&rows, numbered, &mut edges);
            let mut found = graph.edit(&source, edit);
            found.sort_unstable();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(graph.version().num_edges(0), edges.len() as u64);
            prop_assert_eq!(&simple_lists(graph.version(), symmetric)[0], &edges);
            if keep {
                kept.push((graph.version().clone(), edges.clone()));
            }
        }
        for (version, edges) in &kept {
            let [out, reverse] = simple_lists(version, symmetric);
            prop_assert_eq!(&out, edges);
            prop_assert_eq!(&reverse, edges);
        }
        drop(kept);
        let everything: Vec<_> = edges.keys().map(|&pair| (pair, None, true)).collect();
        graph.edit(&source, simple_edit(&everything, false, &mut edges).0);
        graph.edit(&source, DerivedEdit::default());
        graph.edit(&source, DerivedEdit::default());
        prop_assert!(graph.memory_bytes() < 65_536, "{} bytes of nothing", graph.memory_bytes());
    }
}
