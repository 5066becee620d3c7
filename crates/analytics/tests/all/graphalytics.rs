//! The validation graphs of LDBC Graphalytics (tests/data/graphalytics), with the outputs it expects.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::common::{Edge, Graph};
use evergraph_analytics::{
    BfsOptions, Control, PageRankOptions, SsspOptions, UNREACHED, bfs, connected_components,
    label_propagation, local_clustering_coefficient, pagerank, sssp,
};
use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};

fn read(file: &str) -> Vec<Vec<String>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/graphalytics").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn id(word: &str) -> VertexId {
    word.parse().expect("a vertex id")
}

/// Ids are used as they are, so that 0 and gaps are vertices that do not exist.
fn build(vertices: &BTreeSet<VertexId>, edges: &[Edge], symmetric: bool) -> FlatView {
    let bound = vertices.last().map_or(0, |&last| last as usize + 1);
    let exists = (0..bound as VertexId).map(|vertex| vertices.contains(&vertex)).collect();
    Graph { exists, ..Graph::new(bound, edges, symmetric) }.view()
}

/// A line per vertex: its id and the ids its edges lead to.
fn adjacency(file: &str, symmetric: bool) -> FlatView {
    let lines = read(file);
    let vertices = lines.iter().flatten().map(|word| id(word)).collect();
    let edges: Vec<Edge> =
        lines.iter().flat_map(|line| line[1..].iter().map(|dst| (id(&line[0]), id(dst)))).collect();
    build(&vertices, &edges, symmetric)
}

/// A file of vertices and one of edges.
fn example(name: &str, symmetric: bool) -> FlatView {
    let vertices = read(&format!("example/{name}.v")).iter().map(|line| id(&line[0])).collect();
    let edges: Vec<Edge> =
        read(&format!("example/{name}.e")).iter().map(|line| (id(&line[0]), id(&line[1]))).collect();
    build(&vertices, &edges, symmetric)
}

fn expected(file: &str) -> BTreeMap<VertexId, String> {
    read(file).into_iter().map(|line| (id(&line[0]), line[1].clone())).collect()
}

/// As [`example`], each edge with its weight.
fn weighted(vertices: &str, edges: &str, symmetric: bool) -> FlatView {
    let exists: BTreeSet<VertexId> = read(vertices).iter().map(|line| id(&line[0])).collect();
    let bound = exists.last().map_or(0, |&last| last + 1);
    let exists = (0..bound).map(|vertex| exists.contains(&vertex)).collect();
    let lines = read(edges);
    let ends: Vec<Edge> = lines.iter().map(|line| (id(&line[0]), id(&line[1]))).collect();
    let weights: Vec<f64> = lines.iter().map(|line| line[2].parse().expect("a weight")).collect();
    Graph { exists, ..Graph::new(bound as usize, &ends, symmetric) }.weighted_view(&weights)
}

fn check_sssp(view: &FlatView, source: VertexId, file: &str) {
    let result = sssp(view, &[source], &SsspOptions::default(), &Control::new()).expect("a result");
    let expected = expected(file);
    assert_eq!(expected.len() as u64, view.num_vertices());
    for (vertex, distance) in expected {
        let found = result.distances[vertex as usize];
        let wanted = distance.to_lowercase().replace("infinity", "inf").parse::<f64>().expect("a distance");
        // Graphalytics' own rule: a ten-thousandth of the expected distance.
        assert!(
            found == wanted || (found - wanted).abs() <= 1e-4 * wanted,
            "vertex {vertex} of {file}: {found}"
        );
    }
}

fn check_labels(view: &FlatView, iterations: u32, file: &str) {
    let result = label_propagation(view, iterations, &Control::new()).expect("a result");
    let expected = expected(file);
    assert_eq!(expected.len() as u64, view.num_vertices());
    for (vertex, label) in expected {
        assert_eq!(result.labels[vertex as usize], id(&label), "vertex {vertex} of {file}");
    }
}

fn check_coefficients(view: &FlatView, file: &str) {
    let result = local_clustering_coefficient(view, &Control::new()).expect("a result");
    let expected = expected(file);
    assert_eq!(expected.len() as u64, view.num_vertices());
    for (vertex, wanted) in expected {
        let (found, wanted) =
            (result.coefficients[vertex as usize], wanted.parse::<f64>().expect("a number"));
        // Graphalytics' own rule: a ten-thousandth of the expected coefficient.
        assert!((found - wanted).abs() <= 1e-4 * wanted, "vertex {vertex} of {file}: {found}, not {wanted}");
    }
}

fn check_bfs(view: &FlatView, source: VertexId, file: &str) {
    let result = bfs(view, &[source], &BfsOptions::default(), &Control::new()).expect("a result");
    let expected = expected(file);
    assert_eq!(expected.len() as u64, view.num_vertices());
    for (vertex, distance) in expected {
        let found = result.distances[vertex as usize];
        let wanted =
            if distance == i64::MAX.to_string() { UNREACHED } else { distance.parse().expect("a distance") };
        assert_eq!(found, wanted, "vertex {vertex} of {file}");
    }
}

fn check_pagerank(view: &FlatView, iterations: u32, file: &str) {
    let options = PageRankOptions { max_iter: iterations, tol: 0.0, ..PageRankOptions::default() };
    let result = pagerank(view, &options, &Control::new()).expect("a result");
    assert_eq!(result.iterations, iterations);
    let expected = expected(file);
    assert_eq!(expected.len() as u64, view.num_vertices());
    for (vertex, score) in expected {
        let (found, wanted) = (result.scores[vertex as usize], score.parse::<f64>().expect("a score"));
        // Graphalytics' own rule: a ten-thousandth of the expected score.
        assert!((found - wanted).abs() <= 1e-4 * wanted, "vertex {vertex} of {file}: {found}, not {wanted}");
    }
}

fn check_components(view: &FlatView, file: &str) {
    let result = connected_components(view, &Control::new()).expect("a result");
    let expected = expected(file);
    assert_eq!(expected.len() as u64, view.num_vertices());
    // Graphalytics asks for the same partition, whatever its parts are called.
    let pairs: BTreeSet<_> =
        expected.iter().map(|(&vertex, label)| (label.clone(), result.labels[vertex as usize])).collect();
    let labels: BTreeSet<_> = expected.values().collect();
    assert_eq!((pairs.len(), pairs.len() as u64), (labels.len(), result.count), "{file}: {pairs:?}");
}

#[test]
fn bfs_gives_the_distances_expected() {
    check_bfs(&adjacency("bfs/dir-input", false), 1, "bfs/dir-output");
    check_bfs(&adjacency("bfs/undir-input", true), 1, "bfs/undir-output");
    check_bfs(&example("example-directed", false), 1, "example/example-directed-BFS");
    check_bfs(&example("example-undirected", true), 2, "example/example-undirected-BFS");
}

#[test]
fn sssp_gives_the_distances_expected() {
    check_sssp(&weighted("sssp/dir-input.v", "sssp/dir-input.e", false), 1, "sssp/dir-output");
    check_sssp(&weighted("sssp/undir-input.v", "sssp/undir-input.e", true), 1, "sssp/undir-output");
    let directed = weighted("example/example-directed.v", "example/example-directed.e", false);
    check_sssp(&directed, 1, "example/example-directed-SSSP");
    let undirected = weighted("example/example-undirected.v", "example/example-undirected.e", true);
    check_sssp(&undirected, 2, "example/example-undirected-SSSP");
}

#[test]
fn labels_are_the_ones_expected() {
    check_labels(&adjacency("cdlp/dir-input", false), 5, "cdlp/dir-output");
    check_labels(&adjacency("cdlp/undir-input", true), 5, "cdlp/undir-output");
    check_labels(&example("example-directed", false), 2, "example/example-directed-CDLP");
    check_labels(&example("example-undirected", true), 2, "example/example-undirected-CDLP");
}

#[test]
fn clustering_coefficients_are_the_ones_expected() {
    check_coefficients(&adjacency("lcc/dir-input", false), "lcc/dir-output");
    check_coefficients(&adjacency("lcc/undir-input", true), "lcc/undir-output");
    check_coefficients(&example("example-directed", false), "example/example-directed-LCC");
    check_coefficients(&example("example-undirected", true), "example/example-undirected-LCC");
}

#[test]
fn pagerank_gives_the_scores_expected() {
    check_pagerank(&adjacency("pr/dir-input", false), 14, "pr/dir-output");
    check_pagerank(&adjacency("pr/undir-input", true), 26, "pr/undir-output");
    check_pagerank(&example("example-directed", false), 2, "example/example-directed-PR");
    check_pagerank(&example("example-undirected", true), 2, "example/example-undirected-PR");
}

#[test]
fn components_are_the_ones_expected() {
    check_components(&adjacency("wcc/dir-input", false), "wcc/dir-output");
    check_components(&adjacency("wcc/undir-input", true), "wcc/undir-output");
    check_components(&example("example-directed", false), "example/example-directed-WCC");
    check_components(&example("example-undirected", true), "example/example-undirected-WCC");
}
