//! Triangle counts against search in sorted lists, and against what is known of some graphs.

use crate::common::{Graph, any_graph, complete, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::triangle_count::verify;
use evergraph_analytics::{Control, triangle_count};
use evergraph_generate::{ErdosRenyi, Generator, Kronecker, Model};
use evergraph_view::FlatView;
use proptest::prelude::*;

fn checked(view: &FlatView) -> u64 {
    let result = on_one_and_two_threads(|| triangle_count(view, &Control::new()).expect("a result"));
    verify(view, result, &Control::new()).expect("a right result");
    result
}

proptest! {
    #[test]
    fn agrees_with_search(graph in any_graph()) {
        checked(&graph.view());
    }
}

#[test]
fn degenerate_graphs_have_none_but_the_complete_one() {
    for (name, graph) in degenerate_graphs() {
        let expected = if name == "complete" { 65 * 64 * 63 / 6 } else { 0 };
        assert_eq!(checked(&graph.view()), expected, "{name}");
    }
    assert_eq!(checked(&star(20_000, false, 512)), 1);
}

#[test]
fn parallel_and_opposite_edges_and_loops_count_once() {
    let edges = [(0, 1), (1, 0), (1, 2), (1, 2), (2, 0), (2, 2)];
    let graph = Graph { multi: true, ..Graph::new(3, &edges, false) };
    assert_eq!(checked(&graph.view()), 1);
}

#[test]
fn hubs_and_others_meet_in_one_graph() {
    // Large enough that only some vertices are hubs: cliques far apart, and a graph of skewed degrees.
    let cliques: Vec<_> = (0..300)
        .flat_map(|clique| {
            complete(12).into_iter().map(move |(src, dst)| (clique * 12 + src, clique * 12 + dst))
        })
        .collect();
    assert_eq!(checked(&Graph::new(3600, &cliques, true).view()), 300 * 220);
    for scale in [10, 12] {
        let generator =
            Generator::new(Model::Kronecker(Kronecker::graph500(scale, 16)), 7).expect("a generator");
        let edges = generator.collect_pairs().expect("edges");
        let flat = Graph::new(1 << scale, &edges, true);
        let chunked = Graph { chunk_len: 512, multi: true, ..Graph::new(1 << scale, &edges, false) };
        assert_eq!(checked(&flat.view()), checked(&chunked.view()));
    }
}

#[test]
fn even_degrees() {
    let model = Model::ErdosRenyi(ErdosRenyi { vertices: 1 << 9, edges: 40 << 9 });
    let edges = Generator::new(model, 7).expect("a generator").collect_pairs().expect("edges");
    assert!(checked(&Graph { multi: true, ..Graph::new(1 << 9, &edges, false) }.view()) > 10_000);
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(3, &[(0, 1), (1, 2), (2, 0)], true);
    assert!(
        verify(&view, 1, &Control::new()).is_ok()
            && verify(&view, 0, &Control::new()).is_err()
            && verify(&view, 2, &Control::new()).is_err()
    );
}
