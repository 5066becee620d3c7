//! Shortest paths between two vertices against their verifier, on every shape of graph.

use crate::common::{any_graph, degenerate_graphs};
use evergraph_analytics::shortest_path::verify;
use evergraph_analytics::{AlgorithmError, Control, ShortestPath, Weight, shortest_path};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView, source: VertexId, target: VertexId, weight: &Weight) -> Option<ShortestPath> {
    let result = shortest_path(view, source, target, weight, &Control::new()).expect("a result");
    verify(view, source, target, weight, result.as_ref(), &Control::new()).expect("a right result");
    result
}

proptest! {
    #[test]
    fn agrees_with_a_search_from_one_end(
        graph in any_graph(),
        weights in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..10.0], 1..50),
        picks in any::<[prop::sample::Index; 2]>(),
    ) {
        let view = graph.weighted_view(&weights);
        let existing: Vec<VertexId> = (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
        if !existing.is_empty() {
            let [source, target] = picks.map(|pick| *pick.get(&existing));
            let hops = checked(&view, source, target, &Weight::One);
            let path = checked(&view, source, target, &Weight::Usual);
            prop_assert_eq!(hops.is_some(), path.is_some());
        }
    }
}

#[test]
fn degenerate_graphs_from_first_to_last() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.weighted_view(&[2.5]);
        let existing: Vec<VertexId> =
            (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
        let (Some(&first), Some(&last)) = (existing.first(), existing.last()) else { continue };
        let path = checked(&view, first, last, &Weight::Usual);
        let there_is =
            ["one vertex", "self loop", "self loop symmetric", "parallel edges", "path", "complete"];
        assert_eq!(path.is_some(), there_is.contains(&name), "{name}");
    }
}

#[test]
fn ends_that_are_not_there_and_weights_below_zero_are_named() {
    let view = FlatView::from_weighted_edges(3, &[(0, 1, -1.0), (1, 2, 1.0)], false);
    let run = |source, target| shortest_path(&view, source, target, &Weight::Usual, &Control::new());
    assert_eq!(run(0, 3), Err(AlgorithmError::SourceNotFound { vertex: 3 }));
    assert_eq!(run(4, 0), Err(AlgorithmError::SourceNotFound { vertex: 4 }));
    assert_eq!(run(0, 2), Err(AlgorithmError::NegativeWeight { src: 0, dst: 1 }));
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_weighted_edges(5, &[(0, 1, 1.0), (1, 2, 1.0), (0, 2, 3.0)], false);
    let wrong = [
        Some(ShortestPath { vertices: vec![0, 2], length: 3.0 }),
        Some(ShortestPath { vertices: vec![0, 2], length: 2.0 }),
        Some(ShortestPath { vertices: vec![0, 1, 2], length: 3.0 }),
        Some(ShortestPath { vertices: vec![0, 3, 2], length: 2.0 }),
        Some(ShortestPath { vertices: vec![0, 1], length: 2.0 }),
        Some(ShortestPath { vertices: vec![], length: 2.0 }),
        None,
    ];
    for result in wrong {
        assert!(verify(&view, 0, 2, &Weight::Usual, result.as_ref(), &Control::new()).is_err(), "{result:?}");
    }
    let path = ShortestPath { vertices: vec![0, 4], length: f64::INFINITY };
    assert!(verify(&view, 0, 4, &Weight::Usual, Some(&path), &Control::new()).is_err());
}
