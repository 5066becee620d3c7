//! Set algebra and expansion against sets of keys and edges, and views as the store keeps them.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use evergraph_disk::{CrashPlan, SimDisk};
use evergraph_store::{CommitError, Options, Store};
use evergraph_types::{Direction, EdgeTypeOptions, Key, Value};
use evergraph_view::{GraphView, Snapshot};
use evergraph_views::{EdgeMode, EvaluateError, Part, View, ViewError, ViewRequest, Views};
use proptest::prelude::*;

const KEYS: i64 = 10;

type Edges = BTreeSet<(i64, i64, i64)>;

/// A part as plain sets.
#[derive(Clone, Debug, PartialEq)]
struct Sets {
    vertices: BTreeSet<i64>,
    edges: Edges,
    induced: bool,
}

fn sets(part: &Part) -> Sets {
    let shown = part.snapshot();
    let keys = (0..KEYS).filter(|key| shown.vertex_id(*key).is_some());
    let pairs = (0..KEYS).flat_map(|src| (0..KEYS).map(move |dst| (src, dst)));
    let numbers = pairs.flat_map(|(src, dst)| {
        let edges = shown.edges_between(src, dst, Some("pays"));
        edges.into_iter().map(move |edge| match edge.properties[0].1 {
            Value::Int(number) => (src, dst, number),
            _ => unreachable!(),
        })
    });
    let found = Sets { vertices: keys.collect(), edges: numbers.collect(), induced: part.is_induced() };
    assert_eq!(shown.num_vertices(), found.vertices.len() as u64);
    assert_eq!(shown.num_edges(), found.edges.len() as u64);
    assert_eq!(shown.flat().num_edges(), found.edges.len() as u64);
    found
}

fn graph(edges: &[(i64, i64)]) -> (Store, Edges) {
    let store = Store::in_memory(Options::default());
    let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
    store.create_edge_type("pays", multi).unwrap();
    for key in 0..KEYS {
        store.put_vertex(key, None, &[("number", key.into())]).unwrap();
    }
    for (number, (src, dst)) in (0..).zip(edges) {
        store.put_edge(*src, *dst, "pays", &[("number", Value::Int(number))]).unwrap();
    }
    let all = (0..).zip(edges).map(|(number, (src, dst))| (*src, *dst, number));
    (store, all.collect())
}

fn between(all: &Edges, vertices: &BTreeSet<i64>) -> Edges {
    all.iter().copied().filter(|(src, dst, _)| vertices.contains(src) && vertices.contains(dst)).collect()
}

/// How a part is made.
#[derive(Clone, Debug)]
enum Made {
    Vertices(BTreeSet<i64>),
    /// Of the edges at these positions.
    Edges(Vec<usize>),
    /// Vertices by a predicate.
    Below(i64),
    /// Edges by a predicate, all ends.
    EdgesBelow(i64),
    /// Both predicates.
    Both(i64, i64),
}

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![
        prop::collection::btree_set(0..KEYS, 1..9).prop_map(Made::Vertices),
        prop::collection::vec(0usize..30, 1..5).prop_map(Made::Edges),
        (0..KEYS).prop_map(Made::Below),
        (0i64..25).prop_map(Made::EdgesBelow),
        (0..KEYS, 0i64..25).prop_map(|(vertex, edge)| Made::Both(vertex, edge)),
    ]
}

fn make(views: &Views, name: &str, made: &Made, all: &Edges, pairs: &[(i64, i64)]) -> (View, Sets) {
    let mut request = ViewRequest::default();
    let mut expected = Sets { vertices: BTreeSet::new(), edges: Edges::new(), induced: true };
    let below = |all: &Edges, most: i64| all.iter().copied().filter(|edge| edge.2 < most).collect::<Edges>();
    let ends = |edges: &Edges| edges.iter().flat_map(|edge| [edge.0, edge.1]).collect::<BTreeSet<i64>>();
    match made {
        Made::Vertices(keys) => {
            request.vertices = keys.iter().map(|key| Key::Int(*key)).collect();
            expected.vertices = keys.clone();
            expected.edges = between(all, keys);
        }
        Made::Edges(positions) => {
            let chosen: BTreeSet<_> = positions.iter().map(|at| pairs[at % pairs.len()]).collect();
            let typed = |pair: &(i64, i64)| (Key::Int(pair.0), Key::Int(pair.1), Some("pays".to_owned()));
            request.edges = chosen.iter().map(typed).collect();
            expected.edges = all.iter().copied().filter(|edge| chosen.contains(&(edge.0, edge.1))).collect();
            expected.vertices = ends(&expected.edges);
            expected.induced = false;
        }
        Made::Below(key) => {
            request.vertices_where = Some(format!("number < {key}"));
            expected.vertices = (0..*key).collect();
            expected.edges = between(all, &expected.vertices);
        }
        Made::EdgesBelow(most) => {
            request.edges_where = Some(format!("number < {most}"));
            expected.edges = below(all, *most);
            expected.vertices = ends(&expected.edges);
            expected.induced = false;
        }
        Made::Both(key, most) => {
            request.vertices_where = Some(format!("number < {key}"));
            request.edges_where = Some(format!("number < {most}"));
            expected.vertices = (0..*key).collect();
            expected.edges = between(&below(all, *most), &expected.vertices);
            expected.induced = false;
        }
    }
    (views.create(name, &request).unwrap(), expected)
}

fn combine(left: &Sets, right: &Sets, operation: usize, mode: EdgeMode, all: &Edges) -> Sets {
    let vertices: BTreeSet<i64> = match operation {
        0 => &left.vertices | &right.vertices,
        1 => &left.vertices & &right.vertices,
        _ => &left.vertices - &right.vertices,
    };
    let induced = match mode {
        EdgeMode::Inherit => left.induced && right.induced,
        EdgeMode::Induced => true,
        EdgeMode::EdgeWise => false,
    };
    let edges = match operation {
        _ if induced => all.clone(),
        0 => &left.edges | &right.edges,
        1 => &left.edges & &right.edges,
        _ => &left.edges - &right.edges,
    };
    Sets { edges: between(&edges, &vertices), vertices, induced }
}

fn naive_hops(start: &BTreeSet<i64>, hops: usize, all: &Edges, directions: &[Direction]) -> BTreeSet<i64> {
    let mut reached = start.clone();
    for _ in 0..hops {
        let out = all.iter().filter(|edge| reached.contains(&edge.0)).map(|edge| edge.1);
        let back = all.iter().filter(|edge| reached.contains(&edge.1)).map(|edge| edge.0);
        let out = directions.contains(&Direction::Out).then_some(out).into_iter().flatten();
        let back = directions.contains(&Direction::In).then_some(back).into_iter().flatten();
        let next: Vec<i64> = out.chain(back).collect();
        reached.extend(next);
    }
    reached
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]
    #[test]
    fn operations_are_those_of_sets(
        pairs in prop::collection::vec((0..KEYS, 0..KEYS), 1..30),
        first in made(), second in made(), third in made(),
        operations in prop::array::uniform2(0usize..3),
        modes in prop::array::uniform2(prop::sample::select(vec![EdgeMode::Inherit, EdgeMode::Induced, EdgeMode::EdgeWise])),
        hops in 0usize..4, both in any::<bool>(),
    ) {
        let (store, all) = graph(&pairs);
        let views = Views::new(store.clone());
        let snapshot = Snapshot::new(store.version().unwrap());
        let made = [("a", &first), ("b", &second), ("c", &third)]
            .map(|(name, made)| make(&views, name, made, &all, &pairs));
        let parts = made.each_ref().map(|(view, _)| view.at(&snapshot).unwrap());
        for ((view, expected), part) in made.iter().zip(&parts) {
            prop_assert_eq!(&sets(part), expected);
            prop_assert_eq!(&sets(&view.at(&snapshot).unwrap()), expected, "as it was kept");
            let statistics = view.statistics(&snapshot).unwrap();
            prop_assert_eq!(statistics.num_vertices, expected.vertices.len() as u64);
            prop_assert_eq!(statistics.edges, vec![("pays".to_owned(), expected.edges.len() as u64)]);
        }
        let apply = |left: &Part, right: &Part, at: usize| match operations[at] {
            0 => left.union(right, modes[at]),
            1 => left.intersection(right, modes[at]),
            _ => left.difference(right, modes[at]),
        }.unwrap();
        let pair = apply(&parts[0], &parts[1], 0);
        let expected = combine(&made[0].1, &made[1].1, operations[0], modes[0], &all);
        prop_assert_eq!(&sets(&pair), &expected);
        let triple = apply(&pair, &parts[2], 1);
        prop_assert_eq!(sets(&triple), combine(&expected, &made[2].1, operations[1], modes[1], &all));
        let directions = if both { vec![Direction::Out, Direction::In] } else { vec![Direction::Out] };
        let reached = naive_hops(&expected.vertices, hops, &all, &directions);
        prop_assert_eq!(sets(&pair.expand(hops, &directions)).vertices, reached);
    }
}

fn by(text: &str) -> ViewRequest {
    ViewRequest { vertices_where: Some(text.to_owned()), ..ViewRequest::default() }
}

fn count(view: &View) -> u64 {
    view.latest().unwrap().snapshot().num_vertices()
}

#[test]
fn a_predicate_follows_the_data_and_a_frozen_view_does_not() {
    let (store, _) = graph(&[(1, 2)]);
    let views = Views::new(store.clone());
    let live = views.create("live", &by("number >= 5")).unwrap();
    let frozen = views.create("frozen", &ViewRequest { frozen: true, ..by("number >= 5") }).unwrap();
    assert_eq!((count(&live), count(&frozen)), (5, 5));
    let before = Snapshot::new(store.version().unwrap());
    store.put_vertex(0, None, &[("number", 100.into())]).unwrap();
    store.put_vertex(9, None, &[("number", 0.into())]).unwrap();
    store.put_vertex(8, None, &[("number", Value::Null)]).unwrap();
    assert_eq!((count(&live), count(&frozen)), (4, 5));
    assert_eq!(live.at(&before).unwrap().snapshot().num_vertices(), 5, "on a snapshot it is as it was");
    store.delete_vertex(7).unwrap();
    assert_eq!((count(&live), count(&frozen)), (3, 4), "what is deleted is in no view");
    let text = frozen.definition().unwrap().describe(before.schema());
    assert_eq!(text, "5 vertices, frozen from number >= 5");
}

/// A view of vertices one by one knows them by ids, which no other keys get as long as it is there.
#[test]
fn a_member_that_is_gone_is_not_taken_for_another_vertex() {
    let (store, _) = graph(&[]);
    let views = Views::new(store.clone());
    let come_and_go = |gone: std::ops::Range<i64>, new: std::ops::Range<i64>| {
        gone.for_each(|key| assert!(store.delete_vertex(key).unwrap()));
        (0..2).for_each(|_| store.compact().unwrap());
        let bound = store.version().unwrap().id_bound();
        new.for_each(|key| _ = store.put_vertex(key, None, &[]).unwrap());
        store.version().unwrap().id_bound() - bound
    };
    let chosen = ViewRequest { vertices: (0..4).map(Key::Int).collect(), ..ViewRequest::default() };
    let view = views.create("chosen", &chosen).unwrap();
    assert_eq!(come_and_go(2..6, 100..104), 4);
    assert_eq!(count(&view), 2);
    store.put_vertex(2, None, &[]).unwrap();
    assert_eq!(count(&view), 3);
    view.drop_view().unwrap();
    assert_eq!(come_and_go(0..2, 200..204), 0, "nobody names them any more");
}

#[test]
fn views_are_listed_dropped_and_renamed() {
    let (store, _) = graph(&[]);
    let views = Views::new(store.clone());
    let mut view = views.create("b", &by("number < 3")).unwrap();
    views.create("a", &by("number < 3 or number > 8")).unwrap();
    assert!(matches!(views.create("a", &by("number < 1")), Err(ViewError::Exists { .. })));
    assert!(matches!(view.rename("a"), Err(ViewError::Exists { .. })));
    view.scratch().set("impact", 1, 5.into());
    view.rename("c").unwrap();
    assert_eq!(view.scratch().column("impact"), [(1, Value::Int(5))]);
    assert_eq!(views.names().unwrap(), ["a", "c"]);
    assert_eq!((count(&view), count(&views.get("c").unwrap())), (3, 3));
    let Err(ViewError::NotFound { known, .. }) = views.get("b") else { panic!("it was renamed") };
    assert_eq!(known, ["a", "c"]);
    let same = views.get("c").unwrap();
    view.drop_view().unwrap();
    assert!(matches!(same.latest(), Err(ViewError::NotFound { .. })));
    assert!(matches!(same.drop_view(), Err(ViewError::NotFound { .. })));
    assert_eq!(views.names().unwrap(), ["a"]);
    let again = views.create("c", &by("number = 1")).unwrap();
    assert_eq!(count(&again), 1, "nothing of the view before it is left");
    assert_eq!(again.scratch().properties(), Vec::<String>::new());
    assert_eq!(count(&same), 1);
}

#[test]
fn what_no_view_can_be_made_of_is_refused() {
    let (store, _) = graph(&[(1, 2)]);
    let views = Views::new(store);
    let vertices = |keys: &[i64]| keys.iter().map(|key| Key::Int(*key)).collect::<Vec<_>>();
    let refused = |request: &ViewRequest| views.create("v", request).unwrap_err();
    assert!(matches!(refused(&ViewRequest::default()), ViewError::Empty));
    let mixed = ViewRequest { vertices: vertices(&[1]), ..by("number = 1") };
    assert!(matches!(refused(&mixed), ViewError::Mixed));
    let frozen = ViewRequest { vertices: vertices(&[1]), frozen: true, ..ViewRequest::default() };
    assert!(matches!(refused(&frozen), ViewError::NothingToFreeze));
    let unknown = ViewRequest { vertices: vertices(&[1, 77]), ..ViewRequest::default() };
    assert!(refused(&unknown).to_string().starts_with("vertex 77 is not in version"));
    let edge = |kind: Option<&str>| (Key::Int(2), Key::Int(1), kind.map(str::to_owned));
    let absent = ViewRequest { edges: vec![edge(Some("pays"))], ..ViewRequest::default() };
    assert!(refused(&absent).to_string().starts_with("edge 2 -> 1 of type \"pays\" is not in version"));
    assert!(matches!(refused(&by("nothing = 1")), ViewError::Evaluate(_)));
    for name in ["", "a/b", "a\nb", &"x".repeat(201)] {
        assert!(matches!(views.create(name, &by("number = 1")), Err(ViewError::BadName { .. })));
    }
    assert_eq!(views.names().unwrap(), Vec::<String>::new());
}

#[test]
fn parts_of_different_versions_are_not_combined() {
    let (store, _) = graph(&[(1, 2)]);
    let view = Views::new(store.clone()).create("v", &by("number = 1")).unwrap();
    let before = view.latest().unwrap();
    store.put_edge(3, 4, "pays", &[]).unwrap();
    let error = before.union(&view.latest().unwrap(), EdgeMode::Inherit);
    assert!(matches!(error, Err(EvaluateError::OtherVersion { .. })));
    let mut nested = before.clone();
    let deep = (0..100).try_for_each(|_| {
        nested = nested.union(&before, EdgeMode::EdgeWise)?;
        Ok(())
    });
    assert!(matches!(deep, Err(EvaluateError::TooDeep { .. })));
}

#[test]
fn definitions_survive_a_crash_at_every_operation() {
    let disk = SimDisk::new(3);
    let open = |disk: &SimDisk| {
        let options = Options { background: false, ..Options::default() };
        Store::open_on(Arc::new(disk.clone()), Path::new("net.eg"), options)
    };
    let store = open(&disk).unwrap();
    for (src, dst) in [(1, 2), (2, 3), (3, 1)] {
        store.put_edge(src, dst, "road", &[]).unwrap();
    }
    let views = Views::new(store.clone());
    let mut made = Vec::new();
    for round in 0..9i64 {
        let request = match round % 3 {
            0 => by(&format!("id < {round}")),
            1 => ViewRequest { vertices: vec![Key::Int(1), Key::Int(3)], ..ViewRequest::default() },
            _ => ViewRequest { edges: vec![(Key::Int(2), Key::Int(3), None)], ..ViewRequest::default() },
        };
        let name = format!("view {round}");
        let view = views.create(&name, &request).unwrap();
        made.push((disk.operations(), name, view.definition().unwrap()));
        if round % 4 == 3 {
            store.checkpoint().unwrap();
        }
    }
    drop((views, store));
    for at in made[0].0..=disk.operations() {
        let image = disk.state_at(at, CrashPlan::Random(at));
        let views = Views::new(open(&image).unwrap());
        let there = views.names().unwrap();
        let promised = made.iter().filter(|(done, ..)| *done <= at).count();
        assert!(there.len() >= promised, "{} of {promised} at {at}", there.len());
        for (_, name, definition) in &made[..there.len()] {
            assert_eq!(views.get(name).unwrap().definition().unwrap(), *definition);
        }
    }
}

#[test]
fn a_definition_that_cannot_be_read_is_named() {
    let (store, _) = graph(&[]);
    let views = Views::new(store.clone());
    let view = views.create("v", &by("number = 1")).unwrap();
    let good = store.version().unwrap().item("view/v").unwrap().to_vec();
    for at in 0..good.len() {
        for bytes in [good[..at].to_vec(), [&good[..at], &[good[at] ^ 0x80], &good[at + 1..]].concat()] {
            store.transact(1, |tx| Ok::<_, CommitError>(tx.put_item("view/v", &bytes)?)).unwrap();
            let found = view.latest();
            assert!(
                matches!(found, Err(ViewError::Unreadable { .. } | ViewError::Evaluate(_))),
                "{at}: {found:?}"
            );
        }
    }
}
