//! Views that show symmetric and directed edge types together, where algorithms do without directions: each stored edge
//! counts once at either end, as in an undirected multigraph.

use std::collections::BTreeSet;

use crate::common::{Edge, on_one_and_two_threads};
use evergraph_analytics::clustering::clustering_of;
use evergraph_analytics::incremental::{Changes, IncrementalBfs, IncrementalCores, IncrementalDegrees};
use evergraph_analytics::{
    BfsOptions, ColorOrder, Control, LocalClusterOptions, LouvainOptions, NibbleOptions, Weight, bfs,
    core_number, degree_statistics, greedy_color, label_propagation, leiden, local_cluster, louvain,
    maximal_independent_set, nibble,
};
use evergraph_store::{Options, Store};
use evergraph_types::{EdgeTypeOptions, Property, PropertyType, Value, VertexId};
use evergraph_view::{FlatView, GraphView, Snapshot};
use proptest::prelude::*;

/// A graph of both sorts of edges, each edge once. Vertex ids are keys.
#[derive(Clone, Debug)]
struct Mixed {
    vertices: VertexId,
    symmetric: Vec<Edge>,
    directed: Vec<Edge>,
}

impl Mixed {
    fn store(&self) -> Store {
        let store = Store::in_memory(Options::default());
        for (name, symmetric) in [("symmetric", true), ("directed", false), ("unused", false)] {
            let weight = Property { name: "weight".to_owned(), kind: PropertyType::Float64 };
            // Only one of them has weights.
            let properties = if symmetric { vec![weight] } else { Vec::new() };
            let options = EdgeTypeOptions { symmetric, properties, ..EdgeTypeOptions::default() };
            store.create_edge_type(name, options).expect("a type");
        }
        for key in 0..self.vertices {
            store.put_vertex(i64::from(key), None, &[]).expect("a vertex");
        }
        self.symmetric.iter().for_each(|&edge| put(&store, edge, "symmetric"));
        self.directed.iter().for_each(|&edge| put(&store, edge, "directed"));
        store
    }

    fn view(&self) -> Snapshot {
        snapshot(&self.store())
    }

    /// All edges, without regard to their direction.
    fn edges(&self) -> Vec<Edge> {
        [&self.symmetric[..], &self.directed].concat()
    }

    /// The same as one symmetric type.
    fn undirected(&self) -> FlatView {
        FlatView::from_edges(self.vertices, &self.edges(), true)
    }
}

fn put(store: &Store, (src, dst): Edge, edge_type: &str) {
    let values: &[(&str, Value)] = if edge_type == "symmetric" { &[("weight", 2.0.into())] } else { &[] };
    store.put_edge(i64::from(src), i64::from(dst), edge_type, values).expect("an edge");
}

fn snapshot(store: &Store) -> Snapshot {
    Snapshot::new(store.version().expect("a version"))
}

fn any_mixed() -> impl Strategy<Value = Mixed> {
    (1u32..20).prop_flat_map(|vertices| {
        let edges = || prop::collection::vec((0..vertices, 0..vertices), 0..40);
        (edges(), edges()).prop_map(move |(symmetric, directed)| {
            let symmetric: BTreeSet<Edge> =
                symmetric.into_iter().map(|(src, dst)| (src.min(dst), src.max(dst))).collect();
            let directed: BTreeSet<Edge> = directed.into_iter().collect();
            Mixed {
                vertices,
                symmetric: symmetric.into_iter().collect(),
                directed: directed.into_iter().collect(),
            }
        })
    })
}

/// The modularity of its definition, edge by edge; symmetric edges weigh so much, directed ones 1.
fn modularity(graph: &Mixed, weight: f64, labels: &[VertexId]) -> f64 {
    let weighted = graph.symmetric.iter().map(|&edge| (edge, weight));
    let edges: Vec<(Edge, f64)> = weighted.chain(graph.directed.iter().map(|&edge| (edge, 1.0))).collect();
    let total: f64 = edges.iter().map(|(_, weight)| 2.0 * weight).sum();
    let mut degrees = vec![0.0; labels.len()];
    let mut inside = 0.0;
    for ((src, dst), weight) in edges {
        let [src, dst] = [src, dst].map(|vertex| labels[vertex as usize]);
        degrees[src as usize] += weight;
        degrees[dst as usize] += weight;
        inside += if src == dst { 2.0 * weight } else { 0.0 };
    }
    let squares: f64 = degrees.iter().map(|degree| (degree / total).powi(2)).sum();
    if total == 0.0 { 0.0 } else { inside / total - squares }
}

/// The edges that leave a set, of the ends on the side that has fewer.
fn conductance(graph: &Mixed, members: &[VertexId]) -> f64 {
    let edges = graph.edges();
    let inside = |vertex: &VertexId| members.contains(vertex);
    let cut = edges.iter().filter(|(src, dst)| inside(src) != inside(dst)).count();
    let volume = edges.iter().flat_map(|(src, dst)| [src, dst]).filter(|end| inside(end)).count();
    match volume.min(2 * edges.len() - volume) {
        0 => f64::INFINITY,
        smaller => cut as f64 / smaller as f64,
    }
}

proptest! {
    #[test]
    fn degrees_count_each_edge_once_at_each_end(graph in any_mixed()) {
        let mut degrees = vec![0; graph.vertices as usize];
        for (src, dst) in graph.edges() {
            degrees[src as usize] += 1;
            degrees[dst as usize] += 1;
        }
        // A loop of a symmetric type is one entry.
        graph.symmetric.iter().filter(|(src, dst)| src == dst).for_each(|(vertex, _)| degrees[*vertex as usize] -= 1);
        let view = graph.view();
        let found = on_one_and_two_threads(|| degree_statistics(&view, &Control::new()).expect("degrees"));
        evergraph_analytics::degree_statistics::verify(&view, &found, &Control::new()).expect("right degrees");
        prop_assert_eq!(found.degrees, degrees);
        prop_assert_eq!(found.self_loops as usize, graph.edges().iter().filter(|(src, dst)| src == dst).count());
    }

    #[test]
    fn cores_labels_and_colors_are_those_of_the_undirected_graph(graph in any_mixed()) {
        let (view, undirected, control) = (graph.view(), graph.undirected(), Control::new());
        let cores = core_number(&view, &control).expect("cores");
        evergraph_analytics::core_number::verify(&view, &cores, &Control::new()).expect("right cores");
        prop_assert_eq!(cores, core_number(&undirected, &control).expect("cores"));
        for order in [ColorOrder::LargestFirst, ColorOrder::SmallestLast] {
            let colors = greedy_color(&view, order, &control).expect("colors");
            evergraph_analytics::greedy_color::verify(&view, order, &colors, &control).expect("right colors");
            prop_assert_eq!(colors, greedy_color(&undirected, order, &control).expect("colors"));
        }
        let labels = label_propagation(&view, 5, &control).expect("labels");
        evergraph_analytics::label_propagation::verify(&view, 5, &labels, &Control::new()).expect("right labels");
        if graph.directed.iter().all(|(src, dst)| src != dst) {
            // A loop of a directed type counts twice there.
            prop_assert_eq!(labels, label_propagation(&undirected, 5, &control).expect("labels"));
        }
    }

    #[test]
    fn communities_have_the_modularity_of_the_undirected_graph(graph in any_mixed()) {
        let view = graph.view();
        for (weight, heavy) in [(Weight::One, 1.0), (Weight::Property("weight".to_owned()), 2.0)] {
            let options = LouvainOptions { weight, ..LouvainOptions::default() };
            let found = [
                louvain(&view, &options, &Control::new()).expect("communities"),
                leiden(&view, &options, &Control::new()).expect("communities"),
            ];
            for found in found {
                evergraph_analytics::louvain::verify(&view, &options, &found, &Control::new()).expect("right communities");
                let wanted = modularity(&graph, heavy, &found.labels);
                prop_assert!((found.modularity - wanted).abs() < 1e-9, "{} {wanted}", found.modularity);
            }
        }
    }

    #[test]
    fn a_local_cluster_has_the_conductance_of_the_undirected_graph(graph in any_mixed(), seed in any::<VertexId>()) {
        let (view, seed) = (graph.view(), seed % graph.vertices);
        let options = LocalClusterOptions { epsilon: 1e-4, ..LocalClusterOptions::default() };
        let found = local_cluster(&view, seed, &options, &Control::new()).expect("a cluster");
        evergraph_analytics::local_cluster::verify(&view, seed, &options, &found, &Control::new()).expect("a right cluster");
        prop_assert_eq!(found.conductance, conductance(&graph, found.members()));
        let options = NibbleOptions { steps: 6, epsilon: 1e-3 };
        let found = nibble(&view, seed, &options, &Control::new()).expect("a cluster");
        evergraph_analytics::nibble::verify(&view, seed, &options, &found, &Control::new()).expect("a right cluster");
        prop_assert_eq!(found.conductance, conductance(&graph, found.members()));
    }

    #[test]
    fn some_vertices_have_what_they_have_among_all(graph in any_mixed(), node in any::<VertexId>()) {
        let (view, control) = (graph.view(), Control::new());
        let nodes = [node % graph.vertices];
        let found = clustering_of(&view, &nodes, &control).expect("coefficients");
        evergraph_analytics::clustering::verify_of(&view, &nodes, &found, &control).expect("right coefficients");
        let set = maximal_independent_set(&view, &nodes, 1, &control).expect("a set");
        evergraph_analytics::maximal_independent_set::verify(&view, &nodes, 1, &set, &control).expect("a right set");
    }

    #[test]
    fn what_follows_a_mixed_view_stays_right(graph in any_mixed(), more in any_mixed(), gone in 0usize..10) {
        let (store, control) = (graph.store(), Control::new());
        let before = snapshot(&store);
        let options = BfsOptions::default();
        let mut degrees = IncrementalDegrees::new(&before, &control).expect("degrees");
        let mut cores = IncrementalCores::new(&before, &control).expect("cores");
        let mut hops = IncrementalBfs::new(&before, &[0], &options, &control).expect("hops");
        let mut written: Vec<Edge> = Vec::new();
        for &edge in graph.symmetric.iter().take(gone) {
            store.delete_edge(i64::from(edge.0), i64::from(edge.1), "symmetric").expect("a deletion");
            written.push(edge);
        }
        for (edges, edge_type) in [(&more.symmetric, "symmetric"), (&more.directed, "directed")] {
            for &(src, dst) in edges.iter().filter(|(src, dst)| *src.max(dst) < graph.vertices) {
                put(&store, (dst, src), edge_type);
                written.push((dst, src));
            }
        }
        let after = snapshot(&store);
        let changes = Changes::between(&before, &after, written, []);
        degrees.update(&after, &changes).expect("degrees");
        cores.update(&after, &changes).expect("cores");
        hops.update(&after, &changes).expect("hops");
        prop_assert_eq!(degrees.result(), degree_statistics(&after, &control).expect("degrees"));
        prop_assert_eq!(cores.result(), core_number(&after, &control).expect("cores"));
        prop_assert_eq!(hops.result().distances, bfs(&after, &[0], &options, &control).expect("hops").distances);
    }
}

#[test]
fn an_empty_type_changes_nothing() {
    let cycle: Vec<Edge> = (0..5).map(|vertex| (vertex, (vertex + 1) % 5)).collect();
    let graph = Mixed { vertices: 5, symmetric: cycle, directed: Vec::new() };
    let (view, control) = (graph.view(), Control::new());
    let alone = view.with_edge_types(&["symmetric"]).expect("the type");
    assert!(view.is_mixed() && !alone.is_mixed() && alone.is_symmetric());
    for view in [&view, &alone] {
        assert_eq!(core_number(view, &control).expect("cores").largest, 2);
        assert_eq!(degree_statistics(view, &control).expect("degrees").mean, 2.0);
        let options = LocalClusterOptions::default();
        assert_eq!(local_cluster(view, 0, &options, &control).expect("a cluster").conductance, 0.5);
    }
}
