//! The base: subsets, edge_map whichever way it goes, vertex_map and vertex_filter, against plain loops.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::common::{Graph, any_graph, on_one_and_two_threads, star};
use evergraph_analytics::{
    Bitmap, Control, EdgeFunction, Ranges, Sign, VertexSubset, Way, Weight, WeightedTable, edge_map,
    vertex_filter, vertex_map, weighted_edge_map_with,
};
use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

/// Counts the edges that arrive at each vertex below a cap; a vertex is in the next set if one arrived.
struct CountArrivals {
    cap: u32,
    arrivals: Vec<AtomicU32>,
}

impl EdgeFunction for CountArrivals {
    fn cond(&self, dst: VertexId) -> bool {
        self.arrivals[dst as usize].load(Relaxed) < self.cap
    }

    fn pull(&self, src: VertexId, dst: VertexId) -> bool {
        self.push(src, dst)
    }

    fn push(&self, _src: VertexId, dst: VertexId) -> bool {
        self.arrivals[dst as usize].fetch_add(1, Relaxed) == 0
    }
}

fn run(
    view: &FlatView,
    frontier: &VertexSubset,
    direction: Direction,
    way: Way,
    cap: u32,
) -> (Vec<VertexId>, Vec<u32>) {
    let arrivals = (0..view.id_bound()).map(|_| AtomicU32::new(0)).collect();
    let function = CountArrivals { cap, arrivals };
    let next = edge_map(view, direction, way, frontier, &function, &Control::new()).expect("a subset");
    assert_eq!(next.len(), next.ids().len());
    let mut ids = next.ids().into_owned();
    ids.sort_unstable();
    (ids, function.arrivals.into_iter().map(AtomicU32::into_inner).collect())
}

proptest! {
    #[test]
    fn every_way_visits_each_edge_from_the_frontier_once(
        graph in any_graph(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        dense in any::<bool>(),
    ) {
        let view = graph.view();
        let bound = view.id_bound();
        let members: Vec<VertexId> =
            picks.iter().filter(|_| bound > 0).map(|pick| pick.index(bound as usize) as VertexId).collect();
        let frontier = match dense {
            true => VertexSubset::from_bitmap(Bitmap::from_ids(bound, &members)),
            false => VertexSubset::from_ids(bound, members.clone()),
        };
        let members: BTreeSet<VertexId> = members.into_iter().collect();
        prop_assert_eq!(frontier.len(), members.len());
        for direction in [Direction::Out, Direction::In] {
            let mut expected = vec![0; bound as usize];
            for (src, dst) in graph.out_edges() {
                let (from, to) = if direction == Direction::Out { (src, dst) } else { (dst, src) };
                expected[to as usize] += u32::from(members.contains(&from));
            }
            let reached: Vec<VertexId> = (0..bound).filter(|&vertex| expected[vertex as usize] > 0).collect();
            for way in [Way::Push, Way::Pull, Way::Auto] {
                let found = on_one_and_two_threads(|| run(&view, &frontier, direction, way, u32::MAX));
                prop_assert_eq!(&found, &(reached.clone(), expected.clone()));
            }
        }
    }

    #[test]
    fn filters_and_maps_see_every_member(bound in 1u32..5000, picks in prop::collection::vec(any::<u32>(), 0..3000)) {
        let members: Vec<VertexId> = picks.iter().map(|pick| pick % bound).collect();
        let distinct: BTreeSet<VertexId> = members.iter().copied().collect();
        let sparse = VertexSubset::from_ids(bound, members.clone());
        let dense = VertexSubset::from_bitmap(Bitmap::from_ids(bound, &members));
        for subset in [sparse, dense] {
            let seen: Vec<AtomicU32> = (0..bound).map(|_| AtomicU32::new(0)).collect();
            vertex_map(&subset, &Control::new(), |vertex| { seen[vertex as usize].fetch_add(1, Relaxed); }).expect("a map");
            let times = |vertex: &VertexId| seen[*vertex as usize].load(Relaxed);
            prop_assert!((0..bound).all(|vertex| times(&vertex) == u32::from(distinct.contains(&vertex))));
            let even = vertex_filter(&subset, &Control::new(), |vertex| vertex % 2 == 0).expect("a subset");
            let even: BTreeSet<VertexId> = even.ids().iter().copied().collect();
            prop_assert!(even.iter().eq(distinct.iter().filter(|&vertex| vertex % 2 == 0)));
            prop_assert_eq!(subset.bitmap().to_ids(), distinct.iter().copied().collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_pull_stops_when_cond_no_longer_holds() {
    let view = FlatView::from_edges(10, &(1..10).map(|leaf| (leaf, 0)).collect::<Vec<_>>(), false);
    let all = VertexSubset::all(&view);
    for (way, visits) in [(Way::Push, 9), (Way::Pull, 3)] {
        let (next, arrivals) = run(&view, &all, Direction::Out, way, 3);
        assert_eq!((next, arrivals[0]), (vec![0], visits), "{way:?}");
    }
}

#[test]
fn hub_lists_are_visited_whole_in_pieces() {
    for chunk_len in [usize::MAX, 512] {
        let view = star(300_000, false, chunk_len);
        let all = VertexSubset::all(&view);
        for direction in [Direction::Out, Direction::In] {
            let push = on_one_and_two_threads(|| run(&view, &all, direction, Way::Push, u32::MAX));
            assert_eq!(push, on_one_and_two_threads(|| run(&view, &all, direction, Way::Pull, u32::MAX)));
            assert_eq!(push.1.iter().map(|&count| u64::from(count)).sum::<u64>(), 300_001);
        }
    }
}

#[test]
fn all_is_what_exists() {
    let mut graph = Graph::new(130, &[], false);
    graph.exists[128] = false;
    let all = VertexSubset::all(&graph.view());
    assert_eq!((all.len(), all.bound()), (129, 130));
    assert!(!all.ids().contains(&128));
    assert!(VertexSubset::empty(5).is_empty());
}

#[test]
fn ranges_cover_all_vertices_once_and_balance_their_edges() {
    let edges: Vec<_> = (0..400_000u32).map(|edge| (edge % 1000, edge % 7)).collect();
    let view = Graph { multi: true, ..Graph::new(150_000, &edges, false) }.view();
    let by_vertices = Ranges::by_vertices(150_000);
    let by_edges = [Ranges::by_edges(&view, Direction::Out), Ranges::by_edges(&view, Direction::In)];
    for ranges in by_edges.iter().chain([&by_vertices]) {
        let pieces = ranges.map(&Control::new(), |range| range).expect("ranges");
        assert!(pieces.iter().flat_map(|range| range.clone()).eq(0..150_000));
        let mut items = vec![0u8; 150_000];
        let lengths = ranges.split_mut(&mut items).iter().map(|piece| piece.len()).collect::<Vec<_>>();
        assert!(lengths.iter().copied().eq(pieces.iter().map(ExactSizeIterator::len)));
    }
    let edges_in =
        |range: std::ops::Range<VertexId>| range.map(|vertex| view.degree(Direction::Out, vertex)).sum();
    let loads: Vec<usize> = by_edges[0].map(&Control::new(), edges_in).expect("loads");
    assert!(loads.len() > 6 && loads.iter().all(|&load| load <= 1 << 16), "{loads:?}");
    assert_eq!(Ranges::by_vertices(0).map(&Control::new(), |range| range), Ok(vec![]));
}

/// What one step along the edges with weights leaves at each vertex: the largest sum of the source's number and the weight.
fn relaxed(view: &FlatView, frontier: &VertexSubset, way: Way, cap: f64) -> (Vec<VertexId>, Vec<f64>) {
    let control = Control::new();
    let lists =
        |direction| WeightedTable::new(view, view, &Weight::Usual, direction, Sign::NotNegative, &control);
    let (along, against) = (lists(Direction::Out).expect("lists"), lists(Direction::In).expect("lists"));
    let most: Vec<AtomicU64> = (0..view.id_bound()).map(|_| AtomicU64::new(0)).collect();
    let update = |src: VertexId, dst: VertexId, weight: f64| {
        let sum = (f64::from(src) + weight).to_bits();
        most[dst as usize].fetch_max(sum, Relaxed) < sum
    };
    let cond = |dst: VertexId| f64::from_bits(most[dst as usize].load(Relaxed)) < cap;
    let next = weighted_edge_map_with(&along, Some(&against), way, frontier, update, cond, &control);
    let mut ids = next.expect("a subset").ids().into_owned();
    ids.sort_unstable();
    (ids, most.into_iter().map(|most| f64::from_bits(most.into_inner())).collect())
}

proptest! {
    #[test]
    fn edges_with_weights_are_visited_whichever_way(
        graph in any_graph(),
        weights in prop::collection::vec(0.0..10.0, 1..50),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let view = graph.weighted_view(&weights);
        let all = VertexSubset::all(&view);
        let picked = picks.iter().filter(|_| !all.is_empty()).map(|pick| all.ids()[pick.index(all.len())]);
        let picked: BTreeSet<VertexId> = picked.collect();
        for members in [VertexSubset::from_ids(view.id_bound(), picked.into_iter().collect()), all] {
            let mut expected = vec![0.0; view.id_bound() as usize];
            let weighted = graph.weighted_edges(&weights).into_iter();
            for (src, dst, weight) in weighted.filter(|edge| members.ids().contains(&edge.0)) {
                expected[dst as usize] = f64::max(expected[dst as usize], f64::from(src) + weight);
            }
            for way in [Way::Push, Way::Pull, Way::Auto] {
                let (next, found) = on_one_and_two_threads(|| relaxed(&view, &members, way, f64::INFINITY));
                prop_assert_eq!(&found, &expected, "{:?}", way);
                prop_assert!(next.iter().all(|&vertex| found[vertex as usize] > 0.0));
                let gained = found.iter().filter(|&&most| most > 0.0).count();
                prop_assert_eq!(next.len(), gained, "{:?}", way);
            }
        }
    }
}

#[test]
fn a_pull_along_weights_stops_when_cond_no_longer_holds_and_splits_hubs() {
    let edges: Vec<_> = (1..10).map(|leaf| (leaf, 0, 0.5)).collect();
    let view = FlatView::from_weighted_edges(10, &edges, false);
    let all = VertexSubset::all(&view);
    assert_eq!(relaxed(&view, &all, Way::Pull, 3.0).1[0], 3.5);
    assert_eq!(relaxed(&view, &all, Way::Push, f64::INFINITY).1[0], 9.5);
    let hub = star(300_000, false, usize::MAX);
    let all = VertexSubset::all(&hub);
    let push = on_one_and_two_threads(|| relaxed(&hub, &all, Way::Push, f64::INFINITY));
    assert_eq!(push, on_one_and_two_threads(|| relaxed(&hub, &all, Way::Pull, f64::INFINITY)));
}
