//! The flat view: both directions of a graph as flat tables, which algorithms scan at CSR speed.
//!
//! Invariant: both tables have `id_bound` entries; a vertex that does not exist has no edges.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use evergraph_store::{FlatTable, Neighbors};
use evergraph_types::{Direction, VertexId};
use rayon::prelude::*;

use crate::{GraphView, Snapshot, WeightError, WeightedList, WeightedLists};

/// A graph flattened for whole-graph algorithms (Aspen's flat snapshot, PLDI 2019, section 5.1).
#[derive(Clone, Debug)]
pub struct FlatView {
    out: FlatTable,
    reverse: Option<FlatTable>,
    /// The edges that hold in one direction only, where others hold in both.
    one_way: Option<Snapshot>,
    exists: Option<Arc<[bool]>>,
    counts: Counts,
    sorted: bool,
    weights: Option<Arc<FlatWeights>>,
    derived: Arc<Mutex<Vec<(String, Derived)>>>,
}

/// What an algorithm has made of a view.
type Derived = Arc<dyn Any + Send + Sync>;

/// The weights of a graph outside a store, beside the lists of its tables.
#[derive(Debug)]
struct FlatWeights {
    property: String,
    out: WeightTable,
    reverse: Option<WeightTable>,
}

/// The weights of the list of vertex `v` are `values[offsets[v]..offsets[v + 1]]`.
#[derive(Debug)]
struct WeightTable {
    offsets: Vec<usize>,
    values: Vec<f64>,
}

impl WeightTable {
    fn new(table: &FlatTable, values: Vec<f64>) -> Self {
        let ends = (0..table.len() as VertexId).scan(0, |end, vertex| {
            *end += table.degree(vertex);
            Some(*end)
        });
        let offsets: Vec<usize> = std::iter::once(0).chain(ends).collect();
        assert_eq!(offsets[table.len()], values.len(), "a weight for each entry of the lists");
        WeightTable { offsets, values }
    }
}

/// How much there is in a view.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) num_vertices: u64,
    pub(crate) num_edges: u64,
    pub(crate) num_entries: u64,
}

impl FlatView {
    /// A view over flat tables. `reverse` is absent for a symmetric graph, `exists` where every id is a vertex;
    /// `sorted` says that every list ascends strictly. Counts what is there, list by list.
    pub fn new(
        out: FlatTable,
        reverse: Option<FlatTable>,
        exists: Option<Arc<[bool]>>,
        sorted: bool,
    ) -> Self {
        let num_vertices = match &exists {
            Some(exists) => exists.iter().filter(|&&exists| exists).count() as u64,
            None => out.len() as u64,
        };
        let (num_entries, loops) = (0..out.len() as VertexId)
            .into_par_iter()
            .with_min_len(1 << 12)
            .map(|vertex| (out.degree(vertex) as u64, count_loops(&out, vertex, reverse.is_some())))
            .reduce(|| (0, 0), |left, right| (left.0 + right.0, left.1 + right.1));
        let num_edges = if reverse.is_some() { num_entries } else { (num_entries + loops) / 2 };
        FlatView::with_counts(out, reverse, exists, sorted, Counts { num_vertices, num_edges, num_entries })
    }

    /// As [`FlatView::new`], for whoever has counted: no list is looked at.
    pub(crate) fn with_counts(
        out: FlatTable,
        reverse: Option<FlatTable>,
        exists: Option<Arc<[bool]>>,
        sorted: bool,
        counts: Counts,
    ) -> Self {
        let derived = Arc::default();
        FlatView { out, reverse, one_way: None, exists, counts, sorted, weights: None, derived }
    }

    /// The same view of a graph that has edges of both sorts, with the part of those that hold in one direction only.
    pub(crate) fn with_one_way(self, one_way: Option<Snapshot>) -> Self {
        FlatView { one_way, ..self }
    }

    /// A directed graph from edges, for tests and for graphs that live outside a store. Lists keep the order of
    /// the edges; `sorted` is found out.
    ///
    /// # Panics
    /// If an endpoint is not below `vertices`.
    pub fn from_edges(vertices: VertexId, edges: &[(VertexId, VertexId)], symmetric: bool) -> Self {
        let mirrored = edges.iter().map(|&(src, dst)| (dst, src));
        if symmetric {
            let both: Vec<_> =
                edges.iter().copied().chain(mirrored.filter(|&(src, dst)| src != dst)).collect();
            let (out, sorted) = group(vertices, &both);
            FlatView::new(out, None, None, sorted)
        } else {
            let (out, out_sorted) = group(vertices, edges);
            let (reverse, reverse_sorted) = group(vertices, &mirrored.collect::<Vec<_>>());
            FlatView::new(out, Some(reverse), None, out_sorted && reverse_sorted)
        }
    }

    /// The same graph with weights of edges under the name of a property: list by list in out direction, and in the other
    /// for a directed graph.
    ///
    /// # Panics
    /// If there is not one weight for each entry.
    pub fn with_weights(mut self, property: &str, out: Vec<f64>, reverse: Option<Vec<f64>>) -> Self {
        assert_eq!(reverse.is_some(), self.reverse.is_some(), "weights for both tables of a directed graph");
        let reverse =
            self.reverse.as_ref().zip(reverse).map(|(table, values)| WeightTable::new(table, values));
        let out = WeightTable::new(&self.out, out);
        self.weights = Some(Arc::new(FlatWeights { property: property.to_owned(), out, reverse }));
        // What was made of the view without them is not true of the one with them.
        self.derived = Arc::default();
        self
    }

    /// As [`FlatView::from_edges`], with a number for each edge as the property `weight`.
    ///
    /// # Panics
    /// If an endpoint is not below `vertices`.
    pub fn from_weighted_edges(
        vertices: VertexId,
        edges: &[(VertexId, VertexId, f64)],
        symmetric: bool,
    ) -> Self {
        let ends: Vec<_> = edges.iter().map(|&(src, dst, _)| (src, dst)).collect();
        let mirrored = edges.iter().map(|&(src, dst, weight)| (dst, src, weight));
        // Lists keep the order of the edges, and so does a stable sort.
        let laid_out = |mut edges: Vec<(VertexId, VertexId, f64)>| -> Vec<f64> {
            edges.sort_by_key(|&(src, ..)| src);
            edges.into_iter().map(|(.., weight)| weight).collect()
        };
        let (out, reverse) = if symmetric {
            let mirrored = mirrored.filter(|(src, dst, _)| src != dst);
            (laid_out(edges.iter().copied().chain(mirrored).collect()), None)
        } else {
            (laid_out(edges.to_vec()), Some(laid_out(mirrored.collect())))
        };
        Self::from_edges(vertices, &ends, symmetric).with_weights("weight", out, reverse)
    }

    /// The table of one direction.
    #[inline]
    pub fn table(&self, direction: Direction) -> &FlatTable {
        match (direction, &self.reverse) {
            (Direction::In, Some(reverse)) => reverse,
            _ => &self.out,
        }
    }

    /// The same view over lists of which those are copied that lie apart, for whoever passes over it several times
    /// ([`FlatTable::end_to_end`]).
    ///
    /// # Errors
    /// What `check` gives, which is called now and then.
    pub fn end_to_end<E: Send>(&self, check: impl Fn() -> Result<(), E> + Sync) -> Result<FlatView, E> {
        let reverse = self.reverse.as_ref().map(|reverse| reverse.end_to_end(&check)).transpose()?;
        Ok(FlatView { out: self.out.end_to_end(&check)?, reverse, ..self.clone() })
    }

    /// The neighbors of `vertex` in one direction.
    #[inline]
    pub fn neighbors(&self, direction: Direction, vertex: VertexId) -> Neighbors<'_> {
        self.table(direction).neighbors(vertex)
    }

    /// The neighbors that edges from `vertex` lead to.
    #[inline]
    pub fn out_neighbors(&self, vertex: VertexId) -> Neighbors<'_> {
        self.out.neighbors(vertex)
    }

    /// The neighbors whose edges lead to `vertex`.
    #[inline]
    pub fn in_neighbors(&self, vertex: VertexId) -> Neighbors<'_> {
        self.table(Direction::In).neighbors(vertex)
    }

    /// The number of list entries in out direction: twice the edges of a symmetric graph, less its self-loops.
    pub fn num_entries(&self) -> u64 {
        self.counts.num_entries
    }

    /// What algorithms make of the view and can use again, such as its weights laid out: the thing of this name, made by
    /// the first who asks and kept as long as the view. All who use a name must mean the same type by it.
    ///
    /// # Errors
    /// Those of `make`; nothing is kept then.
    pub fn derived<T: Any + Send + Sync, E>(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let find = || {
            let known = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
            let found = known.iter().find(|(other, _)| other == name).map(|(_, found)| found.clone());
            found.and_then(|found| found.downcast::<T>().ok())
        };
        if let Some(found) = find() {
            return Ok(found);
        }
        // Without the lock: a worker that waits for parallel tasks may run one that wants the same.
        let made = Arc::new(make()?);
        let mut known = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(other, _)| other != name);
        known.push((name.to_owned(), made.clone()));
        Ok(made)
    }

    /// Whether every list ascends strictly: no parallel edges, and fit for merging and searching.
    pub fn is_sorted(&self) -> bool {
        self.sorted
    }
}

impl GraphView for FlatView {
    fn id_bound(&self) -> VertexId {
        self.out.len() as VertexId
    }

    fn num_vertices(&self) -> u64 {
        self.counts.num_vertices
    }

    fn num_edges(&self) -> u64 {
        self.counts.num_edges
    }

    fn is_symmetric(&self) -> bool {
        self.reverse.is_none()
    }

    fn is_mixed(&self) -> bool {
        self.one_way.is_some()
    }

    fn one_way(&self) -> Option<Arc<dyn GraphView>> {
        self.reverse.as_ref()?;
        Some(match &self.one_way {
            Some(part) => Arc::new(part.clone()),
            None => Arc::new(self.clone()),
        })
    }

    fn has_vertex(&self, vertex: VertexId) -> bool {
        (vertex as usize) < self.out.len()
            && self.exists.as_ref().is_none_or(|exists| exists[vertex as usize])
    }

    fn degree(&self, direction: Direction, vertex: VertexId) -> usize {
        if (vertex as usize) < self.out.len() { self.table(direction).degree(vertex) } else { 0 }
    }

    fn for_each_slice(
        &self,
        direction: Direction,
        vertex: VertexId,
        visit: &mut dyn FnMut(&[VertexId]) -> ControlFlow<()>,
    ) {
        if (vertex as usize) < self.out.len() {
            let mut flow = ControlFlow::Continue(());
            self.neighbors(direction, vertex).for_each_slice(|slice| {
                if flow.is_continue() {
                    flow = visit(slice);
                }
            });
        }
    }

    fn weighted_lists(&self, property: &str) -> Result<Box<dyn WeightedLists + '_>, WeightError> {
        let name = self.weights.as_ref().map_or("no number", |weights| &weights.property);
        if name != property || self.weights.is_none() {
            let (property, known) = (property.to_owned(), name.to_owned());
            return Err(WeightError::UnknownProperty { property, known });
        }
        Ok(Box::new(self))
    }

    fn flat(&self) -> Arc<FlatView> {
        Arc::new(self.clone())
    }
}

/// Of a view that has weights.
impl WeightedLists for &FlatView {
    fn append(&self, direction: Direction, vertex: VertexId, into: &mut WeightedList) {
        let Some(weights) = self.weights.as_ref().filter(|_| (vertex as usize) < self.out.len()) else {
            return;
        };
        let table = match (direction, &weights.reverse) {
            (Direction::In, Some(reverse)) => reverse,
            _ => &weights.out,
        };
        let values = &table.values[table.offsets[vertex as usize]..table.offsets[vertex as usize + 1]];
        into.weights.extend_from_slice(values);
        into.fill_remainders();
        self.neighbors(direction, vertex).for_each_slice(|slice| into.neighbors.extend_from_slice(slice));
    }
}

fn count_loops(table: &FlatTable, vertex: VertexId, directed: bool) -> u64 {
    // Only a symmetric graph needs its loops counted: they have one entry where other edges have two.
    if directed {
        0
    } else {
        table.neighbors(vertex).iter().filter(|&neighbor| neighbor == vertex).count() as u64
    }
}

fn group(vertices: VertexId, edges: &[(VertexId, VertexId)]) -> (FlatTable, bool) {
    let mut offsets = vec![0u64; vertices as usize + 1];
    for &(src, _) in edges {
        offsets[src as usize + 1] += 1;
    }
    for vertex in 0..vertices as usize {
        offsets[vertex + 1] += offsets[vertex];
    }
    let mut next = offsets.clone();
    let mut neighbors = vec![0; edges.len()];
    for &(src, dst) in edges {
        assert!(dst < vertices, "edge endpoint {dst} is not below {vertices}");
        neighbors[next[src as usize] as usize] = dst;
        next[src as usize] += 1;
    }
    let sorted = offsets
        .windows(2)
        .all(|list| neighbors[list[0] as usize..list[1] as usize].windows(2).all(|pair| pair[0] < pair[1]));
    (FlatTable::from_csr(&offsets, neighbors), sorted)
}
