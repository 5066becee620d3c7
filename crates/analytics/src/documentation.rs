//! The reference of all algorithms as Markdown, made from the registry, so that it says what the code does.
//!
//! Invariant: the page depends on the registry alone; a test compares it to docs/algorithms.md.

use std::fmt::Write;

use crate::incremental::incremental_algorithms;
use crate::registry::{Algorithm, Kind, algorithms};

const HEAD: &str = "\
# Algorithms

Every algorithm runs on any view and can be stopped. `evergraph run NAME DATABASE` runs one from the command line,
`evergraph::algorithms` has them in Rust; `--verify` checks the result with a slow and simple second method. Names, arguments,
defaults and results are those of NetworkX where it has the algorithm, but for [these](#where-networkx-differs). V are vertices, E
edges. Some follow a graph as it changes: `evergraph::algorithms::incremental` has them in Rust, and they cost what a change
affects. What is not here can be [written](#algorithms-of-your-own).

This page is made from the code: `EVERGRAPH_WRITE_DOCS=1 cargo test -p evergraph-analytics --test all documentation`.

| name | finds | work |
|---|---|---|
";

/// What users of NetworkX have to know.
const DIFFERENCES: &str = "
## Where NetworkX differs

Of all: results are tables that are mappings, sequences or sets too, complete and not generators. Iterations that reach
`max_iter` are no error; `converged` is false then. Random numbers begin at seed 0 unless told otherwise. A `weight` is the name
of a property, not a function; one that no edge has is an error, but for the default `weight`. Directed graphs and self-loops
are taken by every algorithm; where NetworkX refuses them, the directions, or the loops, do not matter. Parallel edges count each
where weights add up (PageRank, Katz, cores), and once in paths, triangles and colors.

| here | in NetworkX | what is different |
|---|---|---|
| `bfs` | `single_source_shortest_path_length` | several sources: hops from the nearest; `depth_limit` for `cutoff` |
| `multi_source_bfs` | `all_pairs_shortest_path_length` | from some sources |
| `k_hop` | `single_source_shortest_path_length` | `k` for `cutoff` |
| `sssp` | `single_source_dijkstra_path_length`, `multi_source_dijkstra_path_length` | one function for both |
| `bellman_ford` | `single_source_bellman_ford_path_length` | several sources |
| `shortest_path` | `shortest_path` | a source and a target are needed; no `method` |
| `diameter` | `approximation.diameter` | the two ends as well; pairs without a path do not count; directed graphs by their directions |
| `connected_components` | `connected_components`, `weakly_connected_components` | from vertex to component; `groups()` are the sets |
| `find_cycle` | `find_cycle` | the vertices, not the edges; an empty list if there is none; no `orientation`; an edge of a symmetric type is a cycle of two |
| `katz_centrality` | `katz_centrality` | of a `beta` by vertex, 0 for those left out |
| `betweenness_centrality` | `betweenness_centrality`, `betweenness_centrality_subset` | `sources` may be named; weights of 0 are refused |
| `closeness_centrality` | `closeness_centrality` | several `u` |
| `degree_statistics` | `degree` | with mean, median and more |
| `triangle_count` | `triangles` | of the whole graph, not by vertex |
| `clustering` | `clustering`, `average_clustering` | one function for both |
| `k_core` | `k_core` | the vertices, not the subgraph |
| `label_propagation` | none | the rules of LDBC Graphalytics: all at once, ties to the first |
| `louvain`, `leiden` | `louvain_communities`, `leiden_communities` | from vertex to community; `groups()` are the sets; directions do not matter |
| `local_cluster`, `nibble` | none | |
| `greedy_color` | `greedy_color` | three of its strategies; no `interchange`; equal degrees are told apart by the order of vertices |
| `minimum_spanning_edges` | `minimum_spanning_edges` | with weights; no `algorithm`, `keys`, `data`, `ignore_nan` |
| `common_neighbors` | `common_neighbors` | numbers for pairs; with two vertices the set, as there |
| `jaccard_coefficient` and the others of pairs | the same | without pairs, at most ten million |
";

/// Of what is asked of pairs, which Python has as NetworkX does.
const PAIRS: &str = "
On the command line these are `--u` and `--v`. In Python it is one argument, `ebunch`: the pairs `(u, v)`, such as a list of tuples.
";

/// How to write what is not here; the crate `evergraph` runs the code.
const OWN: &str = include_str!("own_algorithms.md");

/// The reference page.
pub fn documentation() -> String {
    let mut page = HEAD.to_owned();
    for algorithm in algorithms() {
        let Algorithm { name, summary, complexity, .. } = algorithm;
        let _ = writeln!(page, "| [{name}](#{name}) | {} | {} |", cell(summary), cell(complexity));
    }
    for algorithm in algorithms() {
        section(&mut page, algorithm);
    }
    // Lines that only compilers need are hidden, as in the documentation of Rust.
    let own = OWN.lines().filter(|line| !line.starts_with("# ")).map(|line| line.to_owned() + "\n");
    page + DIFFERENCES + &own.collect::<String>()
}

/// One algorithm. Writing to a string does not fail.
fn section(page: &mut String, algorithm: &Algorithm) {
    let Algorithm { name, summary, complexity, source, .. } = algorithm;
    let _ = write!(page, "\n## {name}\n\n{summary}.\n\nWork: {complexity}. Method: {source}.\n");
    if incremental_algorithms().contains(name) {
        page.push_str("Follows a graph as it changes, too.\n");
    }
    if !algorithm.arguments.is_empty() {
        page.push_str("\n| argument | takes | default | means |\n|---|---|---|---|\n");
    }
    for argument in algorithm.arguments {
        let default = argument.default.map_or("required", |default| default);
        let (name, kind, meaning) = (argument.name, takes(argument.kind), cell(argument.summary));
        let _ = writeln!(page, "| `{name}` | {kind} | {} | {meaning} |", cell(default));
    }
    let arguments = algorithm.arguments;
    if arguments.len() == 2 && arguments.iter().all(|argument| argument.kind == Kind::Vertices) {
        page.push_str(PAIRS);
    }
    page.push_str("\n| result | means |\n|---|---|\n");
    for field in algorithm.results {
        let _ = writeln!(page, "| `{}` | {} |", field.name, cell(field.summary));
    }
}

fn takes(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "yes or no",
        Kind::Count => "a whole number",
        Kind::Float => "a number",
        Kind::Text => "a name",
        Kind::Vertex => "a vertex",
        Kind::Vertices => "a vertex or several",
        Kind::Weights => "a number for each vertex",
        Kind::FloatOrWeights => "a number, or one for each vertex",
    }
}

/// Text that does not end its cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
