//! Maximal independent sets are independent, maximal and those of the greedy loop, on every shape of graph.

use crate::common::{Graph, any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::maximal_independent_set::verify;
use evergraph_analytics::{AlgorithmError, Control, maximal_independent_set};
use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView, seed: u64) -> Vec<VertexId> {
    checked_with(view, &[], seed).expect("a result")
}

fn checked_with(view: &FlatView, nodes: &[VertexId], seed: u64) -> Result<Vec<VertexId>, AlgorithmError> {
    let result = on_one_and_two_threads(|| maximal_independent_set(view, nodes, seed, &Control::new()));
    result.inspect(|set| verify(view, nodes, seed, set, &Control::new()).expect("a right result"))
}

proptest! {
    #[test]
    fn no_two_are_neighbors_and_none_can_be_added(graph in any_graph(), seed in any::<u64>()) {
        let set = checked(&graph.view(), seed);
        let edges: Vec<_> = graph.out_edges().into_iter().filter(|(src, dst)| src != dst).collect();
        let is_in = |vertex: VertexId| set.binary_search(&vertex).is_ok();
        prop_assert!(edges.iter().all(|&(src, dst)| !is_in(src) || !is_in(dst)));
        for vertex in (0..graph.exists.len() as VertexId).filter(|&vertex| graph.exists[vertex as usize]) {
            let blocked = edges.iter().any(|&(src, dst)| (src == vertex && is_in(dst)) || (dst == vertex && is_in(src)));
            prop_assert_eq!(is_in(vertex), !blocked);
        }
    }
}

#[test]
fn degenerate_graphs_have_the_sets_expected() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.view();
        let size = checked(&view, 3).len() as u64;
        match name {
            "complete" | "parallel edges" => assert_eq!(size, 1, "{name}"),
            "path" => assert!((44..=65).contains(&size), "{size}"),
            _ => assert_eq!(size, view.num_vertices(), "{name}"),
        }
    }
    checked(&star(20_000, false, 512), 1);
}

#[test]
fn seeds_give_different_sets_of_a_large_graph() {
    let model = Model::Kronecker(Kronecker::graph500(12, 8));
    let edges = Generator::new(model, 5).expect("a generator").collect_pairs().expect("edges");
    let view = Graph::new(1 << 12, &edges, true).view();
    assert_ne!(checked(&view, 1), checked(&view, 2));
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 3)], true);
    let right = checked(&view, 1);
    assert!(verify(&view, &[], 1, &right[1..], &Control::new()).is_err());
    let all: Vec<VertexId> = (0..view.id_bound()).collect();
    assert!(verify(&view, &[], 1, &all, &Control::new()).is_err());
    let others: Vec<VertexId> = all.iter().copied().filter(|vertex| !right.contains(vertex)).collect();
    assert!(verify(&view, &others[..1], 1, &right, &Control::new()).is_err());
}

#[test]
fn the_set_has_the_vertices_asked_for() {
    let model = Model::Kronecker(Kronecker::graph500(8, 4));
    let edges = Generator::new(model, 5).expect("a generator").collect_pairs().expect("edges");
    let path = Graph::new(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (2, 2)], false).view();
    for seed in 0..4 {
        for symmetric in [false, true] {
            let view = Graph::new(1 << 8, &edges, symmetric).view();
            let other = (0..1 << 8).filter(|vertex| !checked(&view, seed).contains(vertex)).nth(3);
            let other = other.expect("one that is out");
            assert!(checked_with(&view, &[other], seed).expect("a result").contains(&other));
        }
        assert_eq!(checked_with(&path, &[4, 2, 2], seed), Ok(vec![0, 2, 4]));
    }
    assert_eq!(checked_with(&path, &[0, 3, 2], 1), Err(AlgorithmError::NotIndependent { node: 3, other: 2 }));
    assert_eq!(checked_with(&path, &[9], 1), Err(AlgorithmError::SourceNotFound { vertex: 9 }));
}
