//! Breadth-first search against its verifier, on every shape of graph.

use crate::common::{any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::bfs::verify;
use evergraph_analytics::{AlgorithmError, Bfs, BfsOptions, Control, UNREACHED, bfs};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView, sources: &[VertexId], options: &BfsOptions) -> Bfs {
    let result = on_one_and_two_threads(|| bfs(view, sources, options, &Control::new()).expect("a result"));
    verify(view, sources, options, &result, &Control::new()).expect("a right result");
    result
}

proptest! {
    #[test]
    fn agrees_with_a_queue(
        graph in any_graph(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        reverse in any::<bool>(),
        depth_limit in prop::option::of(0u32..4),
    ) {
        let view = graph.view();
        let existing: Vec<VertexId> = (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
        let sources: Vec<VertexId> =
            picks.iter().filter(|_| !existing.is_empty()).map(|pick| *pick.get(&existing)).collect();
        let result = checked(&view, &sources, &BfsOptions { reverse, depth_limit });
        if !graph.multi {
            for vertex in 0..view.id_bound() {
                prop_assert_eq!(result.parents[vertex as usize], smallest_parent(&view, &result, vertex, reverse));
            }
        }
    }
}

fn smallest_parent(view: &FlatView, result: &Bfs, vertex: VertexId, reverse: bool) -> VertexId {
    let nearer = match result.distances[vertex as usize] {
        UNREACHED => return VertexId::MAX,
        0 => return vertex,
        distance => distance - 1,
    };
    let list = if reverse { view.out_neighbors(vertex) } else { view.in_neighbors(vertex) };
    list.iter().filter(|&neighbor| result.distances[neighbor as usize] == nearer).min().expect("a parent")
}

#[test]
fn degenerate_graphs_from_every_vertex_at_once() {
    for (name, graph) in degenerate_graphs() {
        let view = graph.view();
        let sources: Vec<VertexId> = (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect();
        let result = checked(&view, &sources, &BfsOptions::default());
        assert_eq!(result.reached, view.num_vertices(), "{name}");
        for &source in sources.first().iter().copied() {
            checked(&view, &[source], &BfsOptions::default());
        }
    }
}

#[test]
fn hubs_are_pushed_and_pulled_in_pieces() {
    for chunk_len in [usize::MAX, 512] {
        for symmetric in [false, true] {
            let view = star(300_000, symmetric, chunk_len);
            for reverse in [false, true] {
                for source in [0, 1, 299_999, 300_000] {
                    checked(&view, &[source], &BfsOptions { reverse, depth_limit: None });
                }
            }
            // A frontier of leaves that comes late in the hub's list, so that its first piece finds no parent.
            checked(&view, &(280_000..300_000).collect::<Vec<_>>(), &BfsOptions::default());
        }
    }
}

#[test]
fn a_source_that_is_not_there_is_named() {
    let view = FlatView::from_edges(3, &[(0, 1)], false);
    let result = bfs(&view, &[0, 3], &BfsOptions::default(), &Control::new());
    assert_eq!(result, Err(AlgorithmError::SourceNotFound { vertex: 3 }));
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(4, &[(0, 1), (1, 2), (0, 3), (3, 2)], false);
    let options = BfsOptions::default();
    let right = bfs(&view, &[0], &options, &Control::new()).expect("a result");
    let wrong: [fn(&mut Bfs); 6] = [
        |result| result.distances[2] = 1,
        |result| result.parents[2] = 0,
        |result| result.parents[0] = 1,
        |result| result.parents[1] = VertexId::MAX,
        |result| result.reached = 3,
        |result| result.depth = 3,
    ];
    for (case, spoil) in wrong.iter().enumerate() {
        let mut result = right.clone();
        spoil(&mut result);
        assert!(verify(&view, &[0], &options, &result, &Control::new()).is_err(), "case {case}");
    }
}
