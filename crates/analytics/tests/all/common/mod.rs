//! Random graphs in every shape that a view can have, and the pools to run on.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::fmt::Debug;
use std::sync::OnceLock;

use evergraph_types::VertexId;
use evergraph_view::{FlatTable, FlatView};
use proptest::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

pub type Edge = (VertexId, VertexId);

/// A graph as a test describes it.
#[derive(Clone, Debug)]
pub struct Graph {
    pub exists: Vec<bool>,
    pub edges: Vec<Edge>,
    pub symmetric: bool,
    /// Keep parallel edges and the order of arrival; otherwise lists ascend strictly.
    pub multi: bool,
    /// Lists of more neighbors are chunked.
    pub chunk_len: usize,
}

impl Graph {
    pub fn new(vertices: usize, edges: &[Edge], symmetric: bool) -> Self {
        let exists = vec![true; vertices];
        Graph { exists, edges: edges.to_vec(), symmetric, multi: false, chunk_len: usize::MAX }
    }

    /// The edges of the view: ends exist, in the order of arrival or sorted without repeats.
    pub fn out_edges(&self) -> Vec<Edge> {
        self.numbered_edges().into_iter().map(|(src, dst, _)| (src, dst)).collect()
    }

    /// The edges of the view, each with its position in `edges`; of repeats the first.
    fn numbered_edges(&self) -> Vec<(VertexId, VertexId, usize)> {
        let exists = |vertex: VertexId| self.exists[vertex as usize];
        let numbered = self.edges.iter().enumerate().map(|(position, &(src, dst))| (src, dst, position));
        let mut edges: Vec<_> = numbered.filter(|&(src, dst, _)| exists(src) && exists(dst)).collect();
        if self.symmetric {
            let mirrored = edges.iter().filter(|(src, dst, _)| src != dst);
            let mirrored: Vec<_> = mirrored.map(|&(src, dst, position)| (dst, src, position)).collect();
            edges.extend(mirrored);
        }
        if !self.multi {
            edges.sort_unstable();
            edges.dedup_by_key(|&mut (src, dst, _)| (src, dst));
        }
        edges
    }

    /// The out-edges with the weights of the edges they come of.
    pub fn weighted_edges(&self, weights: &[f64]) -> Vec<(VertexId, VertexId, f64)> {
        let edges = self.numbered_edges().into_iter();
        edges.map(|(src, dst, position)| (src, dst, weights[position % weights.len()])).collect()
    }

    /// The view with a property `weight`: that of edge `i` is `weights[i % weights.len()]`.
    pub fn weighted_view(&self, weights: &[f64]) -> FlatView {
        let edges = self.weighted_edges(weights);
        let laid_out = |mut edges: Vec<(VertexId, VertexId, f64)>| -> Vec<f64> {
            if self.multi {
                edges.sort_by_key(|&(src, ..)| src);
            } else {
                edges.sort_by_key(|&(src, dst, _)| (src, dst));
            }
            edges.into_iter().map(|(.., weight)| weight).collect()
        };
        let reverse = edges.iter().map(|&(src, dst, weight)| (dst, src, weight)).collect();
        let reverse = (!self.symmetric).then(|| laid_out(reverse));
        self.view().with_weights("weight", laid_out(edges), reverse)
    }

    pub fn view(&self) -> FlatView {
        let edges = self.out_edges();
        let reverse: Vec<Edge> = edges.iter().map(|&(src, dst)| (dst, src)).collect();
        let reverse = (!self.symmetric).then(|| self.table(reverse));
        FlatView::new(self.table(edges), reverse, Some(self.exists.clone().into()), !self.multi)
    }

    fn table(&self, mut edges: Vec<Edge>) -> FlatTable {
        if self.multi {
            edges.sort_by_key(|&(src, _)| src);
        } else {
            edges.sort_unstable();
        }
        let start = |vertex: usize| edges.partition_point(|&(src, _)| (src as usize) < vertex) as u64;
        let offsets: Vec<u64> = (0..=self.exists.len()).map(start).collect();
        let neighbors = edges.iter().map(|&(_, dst)| dst).collect();
        FlatTable::from_csr_chunked(&offsets, neighbors, self.chunk_len)
    }
}

/// Random graphs: directed and symmetric, simple and multi, with self loops, isolated and missing vertices, sparse
/// ones of many components and dense ones, flat and chunked lists; from no vertex on.
pub fn any_graph() -> impl Strategy<Value = Graph> {
    let shape = (0usize..60, any::<bool>(), any::<bool>(), prop_oneof![Just(usize::MAX), 1usize..4]);
    shape.prop_flat_map(|(vertices, symmetric, multi, chunk_len)| {
        let ends = 0..vertices.max(1) as VertexId;
        let most = if vertices == 0 { 0 } else { 200 };
        let exists = prop_oneof![
            Just(vec![true; vertices]),
            prop::collection::vec(prop::bool::weighted(0.8), vertices),
        ];
        let edges = prop_oneof![
            prop::collection::vec((ends.clone(), ends.clone()), 0..=vertices.min(most)),
            prop::collection::vec((ends.clone(), ends), 0..=most),
        ];
        (exists, edges).prop_map(move |(exists, edges)| Graph { exists, edges, symmetric, multi, chunk_len })
    })
}

/// Degenerate graphs by name.
pub fn degenerate_graphs() -> Vec<(&'static str, Graph)> {
    let mut missing = Graph::new(3, &[(0, 1)], false);
    missing.exists = vec![false; 3];
    let mut parallel = Graph::new(2, &[(0, 1), (0, 1), (1, 0)], false);
    parallel.multi = true;
    vec![
        ("empty", Graph::new(0, &[], false)),
        ("empty symmetric", Graph::new(0, &[], true)),
        ("one vertex", Graph::new(1, &[], false)),
        ("self loop", Graph::new(1, &[(0, 0)], false)),
        ("self loop symmetric", Graph::new(1, &[(0, 0)], true)),
        ("isolated vertices", Graph::new(70, &[], true)),
        ("no vertex exists", missing),
        ("parallel edges", parallel),
        ("path", Graph::new(130, &(0..129).map(|v| (v, v + 1)).collect::<Vec<_>>(), false)),
        ("complete", Graph::new(65, &complete(65), true)),
    ]
}

pub fn complete(vertices: VertexId) -> Vec<Edge> {
    (0..vertices).flat_map(|src| (0..src).map(move |dst| (src, dst))).collect()
}

/// A hub with so many edges that its list is split over threads: vertex 0, `leaves` leaves pointing to it and one edge
/// between leaves.
pub fn star(leaves: VertexId, symmetric: bool, chunk_len: usize) -> FlatView {
    let mut edges: Vec<Edge> = (1..=leaves).map(|leaf| (leaf, 0)).collect();
    edges.push((leaves - 1, leaves));
    Graph { chunk_len, ..Graph::new(leaves as usize + 1, &edges, symmetric) }.view()
}

/// The result of `run`, which must be the same on one thread and on two.
pub fn on_one_and_two_threads<R: PartialEq + Debug + Send>(run: impl Fn() -> R + Sync) -> R {
    static POOLS: OnceLock<[ThreadPool; 2]> = OnceLock::new();
    let build = |threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let [one, two] = POOLS.get_or_init(|| [build(1), build(2)]);
    let result = one.install(&run);
    assert_eq!(result, two.install(&run), "one thread and two");
    result
}
