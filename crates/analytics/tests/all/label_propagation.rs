//! Label propagation against counting with a map, on every shape of graph.

use crate::common::{Graph, any_graph, complete, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::label_propagation::verify;
use evergraph_analytics::{Control, Labels, label_propagation};
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView, max_iter: u32) -> Labels {
    let result =
        on_one_and_two_threads(|| label_propagation(view, max_iter, &Control::new()).expect("a result"));
    verify(view, max_iter, &result, &Control::new()).expect("a right result");
    result
}

proptest! {
    #[test]
    fn agrees_with_counting(graph in any_graph(), max_iter in 0u32..12) {
        checked(&graph.view(), max_iter);
    }
}

#[test]
fn degenerate_graphs_have_the_communities_expected() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.view();
        let result = checked(&view, 3);
        match name {
            "complete" | "parallel edges" => {}
            "path" => assert!(result.communities < view.num_vertices()),
            _ => assert!(result.communities == view.num_vertices() && result.converged, "{name}"),
        }
    }
    assert!(checked(&star(100_000, true, 512), 3).communities <= 2);
}

#[test]
fn cliques_joined_by_an_edge_are_communities() {
    let mut edges: Vec<_> = (0..4)
        .flat_map(|part| complete(60).into_iter().map(move |(a, b)| (part * 60 + a, part * 60 + b)))
        .collect();
    edges.extend((0..3).map(|part| (part * 60 + 59, part * 60 + 60)));
    let result = checked(&Graph::new(240, &edges, true).view(), 20);
    assert!(result.converged);
    assert_eq!(result.labels, (0..240).map(|vertex| vertex / 60 * 60).collect::<Vec<_>>());
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(5, &[(0, 1), (1, 2), (2, 0), (3, 4)], true);
    let right = checked(&view, 10);
    let wrong: [fn(&mut Labels); 4] = [
        |result| result.labels[0] = 1,
        |result| result.communities = 1,
        |result| result.iterations -= 1,
        |result| result.converged = !result.converged,
    ];
    for (case, spoil) in wrong.iter().enumerate() {
        let mut result = right.clone();
        spoil(&mut result);
        assert!(verify(&view, 10, &result, &Control::new()).is_err(), "case {case}");
    }
}
