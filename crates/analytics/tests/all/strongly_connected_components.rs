//! Strongly connected components against who reaches whom, on every shape of graph.

use crate::common::{Graph, any_graph, on_one_and_two_threads, star};
use evergraph_analytics::strongly_connected_components::verify;
use evergraph_analytics::{Components, Control, NO_VERTEX, strongly_connected_components};
use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView) -> Components {
    let result =
        on_one_and_two_threads(|| strongly_connected_components(view, &Control::new()).expect("a result"));
    verify(view, &result, &Control::new()).expect("a right result");
    result
}

/// Labels from the closure of the edges, by Warshall's three loops.
fn naive(graph: &Graph) -> Vec<VertexId> {
    let size = graph.exists.len();
    let mut reaches = vec![vec![false; size]; size];
    (0..size).for_each(|vertex| reaches[vertex][vertex] = true);
    graph.out_edges().iter().for_each(|&(src, dst)| reaches[src as usize][dst as usize] = true);
    for via in 0..size {
        let onward = reaches[via].clone();
        for row in reaches.iter_mut().filter(|row| row[via]) {
            row.iter_mut().zip(&onward).for_each(|(reach, &further)| *reach |= further);
        }
    }
    let first = |vertex: usize| (0..size).find(|&other| reaches[vertex][other] && reaches[other][vertex]);
    let label = |vertex: usize| {
        if graph.exists[vertex] { first(vertex).map(|first| first as VertexId) } else { None }
    };
    (0..size).map(|vertex| label(vertex).unwrap_or(NO_VERTEX)).collect()
}

proptest! {
    #[test]
    fn agrees_with_the_closure(graph in any_graph()) {
        prop_assert_eq!(checked(&graph.view()).labels, naive(&graph));
    }
}

#[test]
fn degenerate_graphs() {
    for (name, graph) in degenerate_graphs_with_cycles() {
        assert_eq!(checked(&graph.view()).labels, naive(&graph), "{name}");
    }
    checked(&star(200_000, false, 512));
}

fn degenerate_graphs_with_cycles() -> Vec<(&'static str, Graph)> {
    let ring: Vec<_> = (0..50).map(|vertex| (vertex, (vertex + 1) % 50)).collect();
    let rings: Vec<_> = (0..60).map(|vertex| (vertex, vertex / 3 * 3 + (vertex + 1) % 3)).collect();
    let mut graphs = crate::common::degenerate_graphs();
    graphs.push(("ring", Graph::new(50, &ring, false)));
    graphs.push(("rings", Graph::new(60, &rings, false)));
    graphs
}

#[test]
fn random_graphs_with_a_giant_component_and_without() {
    for (scale, edges_per_vertex) in [(12, 16), (13, 1), (12, 2)] {
        let model = Model::Kronecker(Kronecker::graph500(scale, edges_per_vertex));
        let edges = Generator::new(model, 5).expect("a generator").collect_pairs().expect("edges");
        checked(&Graph::new(1 << scale, &edges, false).view());
    }
    // A long path and a long ring do not overflow a stack.
    let path: Vec<_> = (0..200_000).map(|vertex| (vertex, vertex + 1)).collect();
    assert_eq!(checked(&Graph::new(200_001, &path, false).view()).count, 200_001);
    let ring: Vec<_> = (0..100_000).map(|vertex| (vertex, (vertex + 1) % 100_000)).collect();
    assert_eq!(checked(&Graph::new(100_000, &ring, false).view()).count, 1);
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(4, &[(0, 1), (1, 0), (1, 2), (2, 3)], false);
    let right = checked(&view);
    assert_eq!(view.num_vertices(), 4);
    let wrong: [fn(&mut Components); 4] = [
        |result| result.labels[2] = 0,
        |result| result.labels[1] = 1,
        |result| result.labels[3] = 2,
        |result| result.count = 4,
    ];
    for (case, spoil) in wrong.iter().enumerate() {
        let mut result = right.clone();
        spoil(&mut result);
        assert!(verify(&view, &result, &Control::new()).is_err(), "case {case}");
    }
}
