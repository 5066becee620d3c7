//! Core numbers against their definition, on every shape of graph.

use crate::common::{Graph, any_graph, degenerate_graphs, on_one_and_two_threads, star};
use evergraph_analytics::core_number::verify;
use evergraph_analytics::{
    Arguments, Check, Control, CoreNumbers, Rows, Value, VertexColumn, algorithm, core_number,
};
use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_view::{FlatView, GraphView};
use proptest::prelude::*;

fn checked(view: &FlatView) -> CoreNumbers {
    let result = on_one_and_two_threads(|| core_number(view, &Control::new()).expect("a result"));
    verify(view, &result, &Control::new()).expect("a right result");
    result
}

/// For each k, what is left when vertices of lower degree are removed until there is none.
fn naive(graph: &Graph) -> Vec<u32> {
    let edges: Vec<_> = graph.out_edges().into_iter().filter(|(src, dst)| src != dst).collect();
    let mut numbers = vec![0; graph.exists.len()];
    let mut left = graph.exists.clone();
    for k in 1.. {
        loop {
            let mut degrees = vec![0; left.len()];
            for &(src, dst) in edges.iter().filter(|&&(src, dst)| left[src as usize] && left[dst as usize]) {
                degrees[src as usize] += 1;
                // An edge of a symmetric graph is there in both directions.
                degrees[dst as usize] += u32::from(!graph.symmetric);
            }
            let low = |vertex: &usize| left[*vertex] && degrees[*vertex] < k;
            let Some(vertex) = (0..left.len()).find(low) else { break };
            left[vertex] = false;
        }
        if !left.contains(&true) {
            return numbers;
        }
        numbers.iter_mut().zip(&left).filter(|(_, left)| **left).for_each(|(number, _)| *number = k);
    }
    numbers
}

proptest! {
    #[test]
    fn agrees_with_the_definition(graph in any_graph()) {
        let result = checked(&graph.view());
        prop_assert_eq!(&result.numbers, &naive(&graph));
        for k in 0..3 {
            let view = graph.view();
            let core = result.k_core(&view, k);
            prop_assert!(core.iter().all(|&vertex| view.has_vertex(vertex)));
            prop_assert!(core.len() as u64 <= view.num_vertices() && (k > 0 || core.len() as u64 == view.num_vertices()));
        }
    }
}

#[test]
fn degenerate_graphs_have_the_cores_expected() {
    for (name, graph) in degenerate_graphs() {
        let largest = match name {
            "complete" => 64,
            "parallel edges" => 3,
            "path" => 1,
            _ => 0,
        };
        assert_eq!(checked(&graph.view()).largest, largest, "{name}");
    }
    assert_eq!(checked(&star(200_000, true, 512)).largest, 2);
}

#[test]
fn a_large_graph_in_many_rounds() {
    let model = Model::Kronecker(Kronecker::graph500(12, 16));
    let edges = Generator::new(model, 5).expect("a generator").collect_pairs().expect("edges");
    assert!(checked(&Graph::new(1 << 12, &edges, true).view()).largest > 50);
    checked(&Graph { multi: true, chunk_len: 64, ..Graph::new(1 << 12, &edges, false) }.view());
}

#[test]
fn k_core_lists_the_vertices_of_the_core() {
    let view = FlatView::from_edges(5, &[(0, 1), (1, 2), (2, 0), (2, 3)], true);
    let run = |arguments: Arguments| {
        let k_core = algorithm("k_core").expect("k_core");
        let outcome = k_core.run(&view, &arguments, Check::Verify, &Control::new()).expect("a result");
        assert_eq!(outcome.rows, Rows::Listed);
        outcome.columns[0].1.clone()
    };
    assert_eq!(run(Arguments::new()), VertexColumn::Vertices(vec![0, 1, 2]));
    assert_eq!(run(Arguments::new().with("k", Value::Count(1))), VertexColumn::Vertices(vec![0, 1, 2, 3]));
    assert_eq!(run(Arguments::new().with("k", Value::Count(3))), VertexColumn::Vertices(vec![]));
}

#[test]
fn the_verifier_finds_wrong_results() {
    let view = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], true);
    let right = checked(&view);
    let wrong: [fn(&mut CoreNumbers); 3] =
        [|result| result.numbers[3] = 2, |result| result.numbers[0] = 1, |result| result.largest = 3];
    for (case, spoil) in wrong.iter().enumerate() {
        let mut result = right.clone();
        spoil(&mut result);
        assert!(verify(&view, &result, &Control::new()).is_err(), "case {case}");
    }
}
