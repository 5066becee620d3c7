//! Connected components against a search, on every shape of graph.

use crate::common::{any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::connected_components::verify;
use evergraph_analytics::{Components, Control, connected_components};
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView) -> Components {
    let result = on_one_and_two_threads(|| connected_components(view, &Control::new()).expect("a result"));
    verify(view, &result, &Control::new()).expect("a right result");
    result
}

proptest! {
    #[test]
    fn agrees_with_a_search(graph in any_graph()) {
        let view = graph.view();
        let result = checked(&view);
        let sizes = result.sizes();
        prop_assert_eq!(sizes.len() as u64, result.count);
        prop_assert_eq!(sizes.iter().map(|&(_, size)| size).sum::<u64>(), view.num_vertices());
        prop_assert!(sizes.is_sorted_by_key(|&(label, size)| (std::cmp::Reverse(size), label)));
    }
}

#[test]
fn degenerate_graphs_have_the_components_they_look_like() {
    let expected = [0, 0, 1, 1, 1, 70, 0, 1, 1, 1];
    for ((name, graph), count) in degenerate_graphs().into_iter().zip(expected) {
        assert_eq!(checked(&graph.view()).count, count, "{name}");
    }
}

#[test]
fn a_directed_path_against_the_order_of_ids_is_one_component() {
    let edges: Vec<_> = (0..20_000).map(|vertex| (vertex + 1, vertex)).collect();
    assert_eq!(checked(&FlatView::from_edges(20_001, &edges, false)).count, 1);
}

#[test]
fn hubs_outside_the_largest_component_are_linked_in_pieces() {
    // A path longer than the star makes the star's component the one whose lists are walked to the end.
    for chunk_len in [usize::MAX, 512] {
        let leaves: Vec<_> = (1..=200_000).map(|leaf| (0, leaf)).collect();
        let path: Vec<_> = (200_001..450_000).map(|vertex| (vertex, vertex + 1)).collect();
        let edges = [leaves, path].concat();
        let graph = crate::common::Graph { chunk_len, ..crate::common::Graph::new(450_001, &edges, false) };
        assert_eq!(checked(&graph.view()).sizes(), [(200_001, 250_000), (0, 200_001)]);
        assert_eq!(checked(&star(200_000, true, chunk_len)).count, 1);
    }
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(4, &[(0, 1), (2, 3)], false);
    let right = checked(&view);
    let joined = Components { labels: vec![0, 0, 0, 0], count: 1 };
    let split = Components { labels: vec![0, 1, 2, 2], count: 3 };
    let named = Components { labels: vec![1, 1, 2, 2], count: 2 };
    let counted = Components { count: 3, ..right };
    for wrong in [joined, split, named, counted] {
        assert!(verify(&view, &wrong, &Control::new()).is_err(), "{wrong:?}");
    }
}
