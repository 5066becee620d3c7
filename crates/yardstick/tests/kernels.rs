//! Every kernel against its slow verifier, on generated, tiny and odd graphs, on one thread and on four.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::BTreeSet;

use evergraph_generate::{ErdosRenyi, Generator, Kronecker, Model};
use evergraph_yardstick::*;
use proptest::prelude::*;

fn generated() -> Vec<Vec<(u32, u32)>> {
    let models = [
        Model::Kronecker(Kronecker::graph500(12, 16)),
        Model::Kronecker(Kronecker::graph500(13, 2)),
        Model::Kronecker(Kronecker::rmat(11, 40, [0.6, 0.15, 0.15])),
        Model::ErdosRenyi(ErdosRenyi { vertices: 3000, edges: 2500 }),
        Model::ErdosRenyi(ErdosRenyi { vertices: 700, edges: 60_000 }),
    ];
    models.iter().map(|&model| Generator::new(model, 11).unwrap().collect_pairs().unwrap()).collect()
}

fn tiny() -> Vec<Vec<(u32, u32)>> {
    let path = (0..300).map(|v| (v, v + 1)).collect();
    let star = (1..2000).map(|v| (0, v)).collect();
    let clique = (0..60).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
    vec![vec![], vec![(0, 0)], vec![(0, 1)], vec![(5, 5), (3, 5), (5, 3), (3, 5)], path, star, clique]
}

fn on_threads(counts: &[usize], check: impl Fn() + Sync) {
    for &count in counts {
        rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap().install(&check);
    }
}

fn lists(csr: &Csr) -> Vec<Vec<u32>> {
    (0..csr.num_vertices() as u32).map(|vertex| csr.neighbors(vertex).to_vec()).collect()
}

fn naive_lists(count: usize, pairs: impl Iterator<Item = (u32, u32)>) -> Vec<Vec<u32>> {
    let mut sets = vec![BTreeSet::new(); count];
    for (src, dst) in pairs.filter(|(src, dst)| src != dst) {
        sets[src as usize].insert(dst);
    }
    sets.into_iter().map(|set| set.into_iter().collect()).collect()
}

fn check_build(pairs: &[(u32, u32)]) {
    let count = pairs.iter().map(|&(src, dst)| src.max(dst) as usize + 1).max().unwrap_or(0);
    let reversed = || pairs.iter().map(|&(src, dst)| (dst, src));
    let directed = Graph::directed(pairs).unwrap();
    assert_eq!(lists(directed.out()), naive_lists(count, pairs.iter().copied()));
    assert_eq!(lists(directed.incoming()), naive_lists(count, reversed()));
    let undirected = Graph::undirected(pairs).unwrap();
    assert_eq!(lists(undirected.out()), naive_lists(count, pairs.iter().copied().chain(reversed())));
    assert_eq!(undirected.incoming(), undirected.out());
    assert_eq!(undirected.num_edges() * 2, undirected.out().num_neighbors());
}

fn check_kernels(graph: &Graph) {
    let vertices = graph.num_vertices() as u32;
    for source in (0..vertices).step_by((vertices as usize / 5).max(1)) {
        assert!(is_bfs_tree(graph, source, &bfs(graph, source)), "source {source}");
    }
    assert_eq!(components(graph), components_by_union_find(graph));
    if !graph.is_directed() {
        assert_eq!(triangles(graph), triangles_by_sets(graph));
    }
    let expected: u64 = lists(graph.out()).iter().flatten().map(|&neighbor| u64::from(neighbor)).sum();
    assert_eq!(sum_of_neighbors(graph.out()), expected);
    if vertices > 0 {
        check_pagerank(graph);
        check_paths(graph);
    }
}

fn check_paths(graph: &Graph) {
    let vertices = graph.num_vertices() as u32;
    let weighted = WeightedCsr::new(graph.out(), |src, dst| (src ^ dst.wrapping_mul(31)) % 256);
    let sources: Vec<u32> = (0..vertices).step_by((vertices as usize / 3).max(1)).collect();
    for (&source, delta) in sources.iter().zip([1, 16, 1000].into_iter().cycle()) {
        assert_eq!(sssp(&weighted, source, delta), sssp_by_dijkstra(&weighted, source), "source {source}");
    }
    let (found, expected) = (betweenness(graph, &sources), betweenness_by_queue(graph, &sources));
    for (vertex, (&found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((f64::from(found) - expected).abs() <= 1e-3 * expected.max(1.0), "vertex {vertex}");
    }
}

fn check_pagerank(graph: &Graph) {
    let options = PageRankOptions { tolerance: 1e-9, max_iterations: 200, ..PageRankOptions::default() };
    let (in_place, jacobi) = (pagerank::<f64>(graph, options), pagerank_jacobi::<f64>(graph, options));
    for result in [&in_place, &jacobi] {
        assert!(result.change < 1e-9 && result.iterations < 200);
        assert!(pagerank_residual(graph, &result.scores, 0.85) < 1e-8);
    }
    let rough = pagerank::<f32>(graph, PageRankOptions { max_iterations: 200, ..PageRankOptions::default() });
    let distance: f64 = rough.scores.iter().zip(&jacobi.scores).map(|(&a, b)| (f64::from(a) - b).abs()).sum();
    assert!(distance < 1e-3, "{distance}");
    let fixed = pagerank_jacobi::<f64>(graph, PageRankOptions::iterations(3));
    assert_eq!(fixed.iterations, 3);
}

#[test]
fn graphs_hold_every_edge_once_in_order() {
    for pairs in generated().into_iter().chain(tiny()) {
        on_threads(&[1, 4], || check_build(&pairs));
    }
}

#[test]
fn kernels_agree_with_their_verifiers() {
    for pairs in generated().into_iter().chain(tiny()) {
        on_threads(&[1, 4], || {
            check_kernels(&Graph::undirected(&pairs).unwrap());
            check_kernels(&Graph::directed(&pairs).unwrap());
        });
    }
}

#[test]
fn known_answers() {
    // Two triangles that share the edge 1-2, a path of two beside them, and vertex 6 alone.
    let graph = Graph::undirected(&[(0, 1), (1, 2), (2, 0), (1, 3), (2, 3), (4, 5), (6, 6)]).unwrap();
    assert_eq!(triangles(&graph), 2);
    assert_eq!(components(&graph), [0, 0, 0, 0, 4, 4, 6]);
    assert_eq!(bfs(&graph, 5), [UNREACHED, UNREACHED, UNREACHED, UNREACHED, 5, 5, UNREACHED]);
    assert_eq!(count_edges_present(&graph, &[(0, 1), (1, 0), (0, 3), (4, 5), (6, 6)]), 3);
    assert_eq!((graph.num_edges(), graph.out().size_bytes()), (6, 8 * 8 + 12 * 4));
    // On a ring of equals all scores are the same.
    let ring: Vec<(u32, u32)> = (0..10).map(|v| (v, (v + 1) % 10)).collect();
    let scores = pagerank::<f64>(&Graph::directed(&ring).unwrap(), PageRankOptions::iterations(50)).scores;
    assert!(scores.iter().all(|score| (score - 0.1).abs() < 1e-12));
}

#[test]
fn verifiers_reject_wrong_answers() {
    let graph = Graph::undirected(&[(0, 1), (1, 2), (2, 3), (0, 3), (4, 5)]).unwrap();
    let right = bfs(&graph, 0);
    assert!(is_bfs_tree(&graph, 0, &right));
    for (vertex, wrong) in [(0, 1), (1, UNREACHED), (2, 0), (3, 2), (4, 5), (1, 77)] {
        let mut parents = right.clone();
        parents[vertex] = wrong;
        assert!(!is_bfs_tree(&graph, 0, &parents), "parent {wrong} of {vertex}");
    }
    assert!(!is_bfs_tree(&graph, 0, &right[..3]));
    assert!(pagerank_residual(&graph, &[0.5, 0.1, 0.1, 0.1, 0.1, 0.1], 0.85) > 0.1);
}

#[test]
fn vertices_past_the_limit_are_refused() {
    let refused = Graph::undirected(&[(1, 2), (MAX_VERTICES, 0)]);
    assert_eq!(refused, Err(GraphError::VertexRange { vertex: MAX_VERTICES }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn small_random_graphs(pairs in prop::collection::vec((0u32..40, 0u32..40), 0..250)) {
        check_build(&pairs);
        check_kernels(&Graph::undirected(&pairs).unwrap());
        check_kernels(&Graph::directed(&pairs).unwrap());
    }
}
