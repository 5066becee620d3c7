//! Orders and cycles, degrees, diameters: what a graph looks like as a whole.

use crate::common::{Edge, Graph, any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::topological_sort::verify_cycle;
use evergraph_analytics::{
    AlgorithmError, Control, DegreeStatistics, Diameter, TopologicalOrder, degree_statistics, diameter,
    find_cycle, topological_sort,
};
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

/// The order, or the cycle that there is instead.
fn check_order(view: &FlatView) -> Result<TopologicalOrder, Vec<u32>> {
    let cycle = on_one_and_two_threads(|| find_cycle(view, None, &Control::new()).expect("a result"));
    verify_cycle(view, None, cycle.as_deref(), &Control::new()).expect("a right result");
    let order = on_one_and_two_threads(|| topological_sort(view, &Control::new()));
    match (order, cycle) {
        (Ok(order), None) => {
            evergraph_analytics::topological_sort::verify(view, &order, &Control::new())
                .expect("a right result");
            Ok(order)
        }
        (Err(AlgorithmError::Cyclic { vertex }), Some(cycle)) => {
            assert_eq!(vertex, cycle[0]);
            Err(cycle)
        }
        other => panic!("{other:?}"),
    }
}

fn check_degrees(view: &FlatView) -> DegreeStatistics {
    let result = on_one_and_two_threads(|| degree_statistics(view, &Control::new()).expect("a result"));
    evergraph_analytics::degree_statistics::verify(view, &result, &Control::new()).expect("a right result");
    result
}

fn check_diameter(view: &FlatView, sweeps: u32) -> Diameter {
    let result = on_one_and_two_threads(|| diameter(view, sweeps, &Control::new()).expect("a result"));
    evergraph_analytics::diameter::verify(view, &result, &Control::new()).expect("a right result");
    result
}

proptest! {
    #[test]
    fn agree_with_their_verifiers(graph in any_graph(), sweeps in 0u32..6) {
        let view = graph.view();
        let _ = check_order(&view);
        // With every edge turned from the smaller id to the larger, there is an order.
        let forward: Vec<Edge> =
            graph.edges.iter().filter(|(a, b)| a != b).map(|&(a, b)| (a.min(b), a.max(b))).collect();
        let acyclic = Graph { edges: forward, symmetric: false, ..graph.clone() };
        prop_assert_eq!(check_order(&acyclic.view()).expect("an order").vertices.len() as u64, view.num_vertices());
        check_degrees(&view);
        check_diameter(&view, sweeps);
    }
}

#[test]
fn degenerate_graphs_have_what_is_expected() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.view();
        let cyclic = ["self loop", "self loop symmetric", "parallel edges", "complete"].contains(&name);
        assert_eq!(check_order(&view).is_err(), cyclic, "{name}");
        let found = check_degrees(&view);
        assert_eq!(found.self_loops > 0, name.starts_with("self loop"), "{name}");
        let longest = match name {
            "path" => 129,
            "complete" | "parallel edges" => 1,
            _ => 0,
        };
        assert_eq!(check_diameter(&view, 4).lower_bound, longest, "{name}");
    }
    assert_eq!(check_diameter(&star(1000, true, 512), 4).lower_bound, 2);
    // It ends when sweeps would begin again.
    for symmetric in [false, true] {
        let ring = FlatView::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], symmetric);
        assert_eq!(check_diameter(&ring, u32::MAX).lower_bound, if symmetric { 2 } else { 4 });
    }
}

#[test]
fn a_long_path_is_an_order_and_a_long_ring_a_cycle() {
    let mut edges: Vec<Edge> = (0..50_000).map(|vertex| (vertex, vertex + 1)).collect();
    assert_eq!(
        check_order(&FlatView::from_edges(50_001, &edges, false)).map(|order| order.generations[50_000]),
        Ok(50_000)
    );
    edges.push((50_000, 7));
    let cycle = check_order(&FlatView::from_edges(50_001, &edges, false)).expect_err("a cycle");
    assert_eq!((cycle[0], cycle.len()), (7, 50_000 - 6));
}

#[test]
fn the_verifiers_find_wrong_results() {
    let view = FlatView::from_edges(4, &[(0, 1), (1, 2), (0, 2)], false);
    let right = check_order(&view).expect("an order");
    let wrong: [fn(&mut TopologicalOrder); 4] = [
        |order| order.vertices.swap(0, 1),
        |order| order.generations[3] = 1,
        |order| _ = order.vertices.pop(),
        |order| order.vertices[1] = order.vertices[0],
    ];
    for (case, spoil) in wrong.iter().enumerate() {
        let mut order = right.clone();
        spoil(&mut order);
        assert!(
            evergraph_analytics::topological_sort::verify(&view, &order, &Control::new()).is_err(),
            "case {case}"
        );
    }
    let ring = FlatView::from_edges(3, &[(0, 1), (1, 2), (2, 0)], false);
    assert!(verify_cycle(&ring, None, None, &Control::new()).is_err());
    for cycle in [&[0, 2][..], &[0, 1], &[], &[0, 1, 2, 0, 1, 2]] {
        assert!(verify_cycle(&ring, None, Some(cycle), &Control::new()).is_err(), "{cycle:?}");
    }
    let mut degrees = check_degrees(&view);
    degrees.median += 1;
    assert!(evergraph_analytics::degree_statistics::verify(&view, &degrees, &Control::new()).is_err());
    let far = Diameter { lower_bound: 2, ends: Some((0, 2)) };
    assert!(evergraph_analytics::diameter::verify(&view, &far, &Control::new()).is_err());
    assert!(
        evergraph_analytics::diameter::verify(&view, &Diameter { ends: None, ..far }, &Control::new())
            .is_err()
    );
}

#[test]
fn a_cycle_is_looked_for_where_the_sources_lead() {
    let view = FlatView::from_edges(6, &[(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 3), (5, 0)], false);
    let cycle = |sources: &[u32]| {
        let found =
            on_one_and_two_threads(|| find_cycle(&view, Some(sources), &Control::new()).expect("a result"));
        verify_cycle(&view, Some(sources), found.as_deref(), &Control::new()).expect("a right result");
        found
    };
    assert_eq!(cycle(&[2]), Some(vec![3, 4]));
    assert_eq!(cycle(&[3]), Some(vec![3, 4]));
    assert!(cycle(&[5]).is_some() && cycle(&[2, 0]).is_some());
    let path = FlatView::from_edges(4, &[(0, 1), (1, 0), (1, 2), (2, 3)], false);
    assert_eq!(cycle(&[]), None);
    assert_eq!(find_cycle(&path, Some(&[2, 3]), &Control::new()), Ok(None));
    assert_eq!(
        find_cycle(&path, Some(&[9]), &Control::new()),
        Err(AlgorithmError::SourceNotFound { vertex: 9 })
    );
    assert!(verify_cycle(&path, Some(&[2]), Some(&[0, 1]), &Control::new()).is_err());
    assert!(verify_cycle(&path, Some(&[0]), None, &Control::new()).is_err());
}
