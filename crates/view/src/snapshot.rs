//! A snapshot: one version of the graph, seen through all or some of its edge types, asked by key.
//!
//! ```text
//!  Snapshot ──► Selection (version, edge types) ──► point queries: straight from the version's lists
//!     │                                         └─► tables and batches: column by column, in parallel
//!     └───────► flat view, made on first use ─────► algorithms, CSR
//! ```
//!
//! Invariant: a snapshot never changes; clones share the flat view.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, RecordBatch};
use evergraph_store::Version;
use evergraph_types::{
    Direction, EdgeBatch, EdgeData, EdgeTypeId, Key, KeyColumn, KeyRef, Schema, SchemaError, Sequence, Value,
    VertexData, VertexId,
};

use crate::arrays::key_array;
use crate::edge_layout::EdgeLayout;
use crate::edge_rows::{edge_ranges, edge_rows};
use crate::key_table::KeyTable;
use crate::selection::Selection;
use crate::weighted_lists::SelectedWeights;
use crate::{Confinement, Csr, FlatView, GraphView, WeightError, WeightedLists, tables};

/// A view of one version of the graph. Taking and cloning one is a copy of a pointer; what it sees never changes, and
/// is kept in memory while it lives.
///
/// Of the edge types it sees all, or those chosen by [`Snapshot::with_edge_types`]. Methods that take an
/// `edge_type: Option<&str>` ask for the edges of one of these, or of all with `None`; a type that is not among
/// them has no edges. An edge of a symmetric type holds in both directions; seen together with a directed type, it
/// is in the lists of both ends and counts as one edge all the same.
///
/// A self-loop of a symmetric type is one entry of its vertex's list, where NetworkX counts two for the degree.
///
/// ```
/// use evergraph_store::{Options, Store};
/// use evergraph_types::Direction;
/// use evergraph_view::{GraphView, Snapshot};
///
/// let store = Store::in_memory(Options::default());
/// store.put_edge("alice", "bob", "pays", &[("amount", 10.0.into())])?;
/// let snapshot = Snapshot::new(store.version()?);
/// store.put_edge("alice", "carol", "pays", &[])?; // the snapshot does not see it
/// assert_eq!(snapshot.neighbors("alice", Direction::Out, None), Some(vec!["bob".into()]));
/// assert_eq!(snapshot.edges_between("alice", "bob", None)[0].properties[0].1, 10.0.into());
/// assert_eq!((snapshot.num_vertices(), snapshot.num_edges()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

struct Inner {
    selection: Selection,
    flat: OnceLock<Arc<FlatView>>,
    /// Of a snapshot that sees symmetric and directed types.
    one_way: OnceLock<Snapshot>,
}

impl Snapshot {
    pub(crate) fn selection(&self) -> &Selection {
        &self.inner.selection
    }

    /// The version it is of, with all its edge types and all of each.
    pub fn whole(&self) -> &Arc<Version> {
        &self.inner.selection.version
    }

    /// The keys of some vertices, in their order.
    pub fn keys_of(&self, ids: &[VertexId]) -> ArrayRef {
        key_array(tables::keys_of(self.whole(), ids.iter().copied()))
    }

    /// A snapshot of a version, with all edge types.
    pub fn new(version: Arc<Version>) -> Self {
        let edge_types = version.schema().live_edge_types().map(|(id, _)| id).collect();
        Self::select(version, edge_types, None)
    }

    fn select(version: Arc<Version>, edge_types: Vec<EdgeTypeId>, confinement: Option<Confinement>) -> Self {
        let selection = Selection { version, edge_types, confinement };
        Snapshot { inner: Arc::new(Inner { selection, flat: OnceLock::new(), one_way: OnceLock::new() }) }
    }

    /// The same version with these edge types only, in the order of the schema. Vertices stay, with or without edges.
    ///
    /// # Errors
    /// [`SchemaError::UnknownEdgeType`] if the version has no such type, selected here or not.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_view::{GraphView, Snapshot};
    /// let store = Store::in_memory(Options::default());
    /// store.put_edge(1, 2, "knows", &[])?;
    /// store.put_edge(1, 2, "pays", &[])?;
    /// let all = Snapshot::new(store.version()?);
    /// assert_eq!((all.num_edges(), all.with_edge_types(&["pays"])?.num_edges()), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_edge_types(&self, names: &[&str]) -> Result<Self, SchemaError> {
        let ids = names.iter().map(|name| self.schema().require_edge_type(name).map(|(id, _)| id));
        Ok(self.of_edge_types(ids.collect::<Result<Vec<_>, _>>()?))
    }

    /// The same version with these edge types only, as far as it has them: by id, which stays when a type is renamed.
    pub fn with_edge_type_ids(&self, ids: &[EdgeTypeId]) -> Self {
        let live = self.schema().live_edge_types().map(|(id, _)| id);
        self.of_edge_types(live.filter(|id| ids.contains(id)).collect())
    }

    fn of_edge_types(&self, mut edge_types: Vec<EdgeTypeId>) -> Self {
        edge_types.sort_unstable();
        edge_types.dedup();
        if edge_types == self.inner.selection.edge_types {
            return self.clone();
        }
        let confinement = self.inner.selection.confinement.as_ref().map(Confinement::uncounted);
        Self::select(self.store_version().clone(), edge_types, confinement)
    }

    /// The directed types, where there are symmetric ones beside them.
    fn one_way_part(&self) -> Option<&Self> {
        let kinds = || self.inner.selection.edge_types();
        let is_mixed = kinds().any(|(_, kind)| kind.options.symmetric) && !self.is_symmetric();
        let directed = || kinds().filter(|(_, kind)| !kind.options.symmetric).map(|(id, _)| id).collect();
        is_mixed.then(|| self.inner.one_way.get_or_init(|| self.of_edge_types(directed())))
    }

    /// The same version and edge types, confined to a part: everything that is asked of the snapshot, by key, by table or
    /// by an algorithm, knows these vertices and edges only. Confining twice leaves what is in both parts.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_view::{Confinement, GraphView, Snapshot, VertexBits};
    /// let store = Store::in_memory(Options::default());
    /// store.put_edge(1, 2, "knows", &[])?;
    /// store.put_edge(2, 3, "knows", &[])?;
    /// let all = Snapshot::new(store.version()?);
    /// let ids = [1, 2].map(|key| all.vertex_id(key));
    /// let part = all.confined(Confinement::new(Arc::new(VertexBits::new(ids.into_iter().flatten())), None));
    /// assert_eq!((part.num_vertices(), part.num_edges(), part.vertex_id(3)), (2, 1, None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn confined(&self, part: Confinement) -> Self {
        let selection = &self.inner.selection;
        let part = match &selection.confinement {
            None => part,
            Some(confinement) => confinement.and(&part),
        };
        Self::select(selection.version.clone(), selection.edge_types.clone(), Some(part))
    }

    /// The part it is confined to; `None` if it shows all.
    pub fn confinement(&self) -> Option<&Confinement> {
        self.inner.selection.confinement.as_ref()
    }

    /// The version of the store that it is of.
    pub fn store_version(&self) -> &Arc<Version> {
        &self.inner.selection.version
    }

    /// The number of the commit it shows the state after.
    pub fn version(&self) -> Sequence {
        self.store_version().sequence()
    }

    /// When that commit was made, in microseconds since 1970-01-01 UTC.
    pub fn time_micros(&self) -> i64 {
        self.store_version().time_micros()
    }

    /// The schema, all edge types included.
    pub fn schema(&self) -> &Schema {
        self.store_version().schema()
    }

    /// The names of the selected edge types.
    pub fn edge_types(&self) -> Vec<&str> {
        self.inner.selection.edge_types().map(|(_, kind)| kind.name.as_str()).collect()
    }

    /// The id of a vertex.
    pub fn vertex_id<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<VertexId> {
        self.store_version().vertex_id(key.into()).filter(|&id| self.has_vertex(id))
    }

    /// The key of an id.
    ///
    /// # Panics
    /// If the id is not below [`GraphView::id_bound`].
    pub fn key(&self, id: VertexId) -> Key {
        assert!(id < self.id_bound(), "id {id} is not below {}", self.id_bound());
        self.store_version().key(id)
    }

    /// The keys of a range of ids, gaps included; ids from [`GraphView::id_bound`] on are left out.
    pub fn keys(&self, range: Range<VertexId>) -> KeyColumn {
        self.store_version().keys(range)
    }

    /// The keys of some ids as an array of `Int64` or strings: the first column of a table of results by id.
    ///
    /// # Panics
    /// If an id is not below [`GraphView::id_bound`].
    pub fn key_array(&self, ids: &[VertexId]) -> ArrayRef {
        KeyTable::new(self.store_version()).array(&ids.chunks(1 << 14).collect::<Vec<_>>())
    }

    /// The ids of all vertices, ascending.
    pub fn vertex_ids(&self) -> Vec<VertexId> {
        self.inner.selection.vertex_ids()
    }

    /// The type and properties of a vertex; `None` if there is none.
    pub fn vertex<'k>(&self, key: impl Into<KeyRef<'k>>) -> Option<VertexData> {
        let id = self.vertex_id(key)?;
        let vertex_type = self.schema().vertex_type_name(self.store_version().vertex_type(id)?);
        let values = self.schema().live_vertex_properties().map(|(property, declared)| {
            (declared.name.clone(), self.store_version().vertex_property(id, property))
        });
        let properties = values.filter(|(_, value)| *value != Value::Null).collect();
        Some(VertexData { vertex_type: vertex_type.map(str::to_owned), properties })
    }

    /// The edges from `src` to `dst`: none, one, or more if there are several types or parallel edges.
    pub fn edges_between<'s, 'd>(
        &self,
        src: impl Into<KeyRef<'s>>,
        dst: impl Into<KeyRef<'d>>,
        edge_type: Option<&str>,
    ) -> Vec<EdgeData> {
        let (Some(src), Some(dst)) = (self.vertex_id(src), self.vertex_id(dst)) else { return Vec::new() };
        let mut found = Vec::new();
        for id in self.inner.selection.named(edge_type) {
            let kind = &self.schema().edge_types[usize::from(id)];
            self.inner.selection.for_each_edge_between(id, src, dst, |run, row| {
                let values = kind
                    .properties()
                    .map(|(property, declared)| (declared.name.clone(), run.value(property, row)));
                let properties = values.filter(|(_, value)| *value != Value::Null).collect();
                found.push(EdgeData { edge_type: kind.name.clone(), properties });
            });
        }
        found
    }

    /// Whether there is an edge from `src` to `dst`.
    pub fn has_edge<'s, 'd>(
        &self,
        src: impl Into<KeyRef<'s>>,
        dst: impl Into<KeyRef<'d>>,
        edge_type: Option<&str>,
    ) -> bool {
        let selection = &self.inner.selection;
        let ids = (selection.id_with_edges(src.into()), selection.id_with_edges(dst.into()));
        let (Some(src), Some(dst)) = ids else { return false };
        selection.named(edge_type).any(|id| selection.has_edge(id, src, dst))
    }

    /// The keys of the neighbors of a vertex, type by type in the order of their lists; a neighbor comes once for each
    /// edge. `None` if there is no such vertex.
    pub fn neighbors<'k>(
        &self,
        key: impl Into<KeyRef<'k>>,
        direction: Direction,
        edge_type: Option<&str>,
    ) -> Option<Vec<Key>> {
        let vertex = self.vertex_id(key)?;
        let mut keys = Vec::new();
        for id in self.inner.selection.named(edge_type) {
            let _ = self.inner.selection.for_each_slice(id, direction, vertex, &mut |slice| {
                keys.extend(slice.iter().map(|&neighbor| self.store_version().key(neighbor)));
                ControlFlow::Continue(())
            });
        }
        Some(keys)
    }

    /// The number of edges of a vertex, which is that of its neighbors. `None` if there is no such vertex.
    pub fn degree_of<'k>(
        &self,
        key: impl Into<KeyRef<'k>>,
        direction: Direction,
        edge_type: Option<&str>,
    ) -> Option<usize> {
        let vertex = self.vertex_id(key)?;
        let selection = &self.inner.selection;
        Some(selection.degree_over(&selection.named(edge_type).collect::<Vec<_>>(), direction, vertex))
    }

    /// The edges of a vertex as a table with the columns of [`Snapshot::edge_table`]. `None` if there is no such vertex.
    pub fn edges_of<'k>(
        &self,
        key: impl Into<KeyRef<'k>>,
        direction: Direction,
        edge_type: Option<&str>,
    ) -> Option<RecordBatch> {
        let vertex = self.vertex_id(key)?;
        let edge_types: Vec<_> = self.inner.selection.named(edge_type).collect();
        Some(tables::edges_of(&self.inner.selection, &edge_types, direction, vertex))
    }

    /// All vertices as a table, in the order of ids: `id` (`Int64` or `Utf8` by the kind of keys), `type` (`Utf8`, null
    /// for a vertex without one; only if the schema has vertex types) and a column for each vertex property. A
    /// property called like one of the first two is `vertex.<name>`.
    pub fn vertex_table(&self) -> RecordBatch {
        tables::vertex_table(&self.inner.selection)
    }

    /// All edges of the selected types as a table: `src`, `dst`, `type` (only if more than one type is selected) and a
    /// column for each property, null where an edge has none. Types that have a property of one name and type share its
    /// column; where two types disagree, or the name is `src`, `dst` or `type`, the column is `<edge type>.<name>`.
    ///
    /// Rows are in the order of types, then source ids, then the neighbor list. An edge of a symmetric type is one
    /// row, whose source is the end that came to the store first. Strings are `LargeUtf8` from 2 GiB on.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_view::Snapshot;
    /// let store = Store::in_memory(Options::default());
    /// store.put_edge("alice", "bob", "pays", &[("amount", 10.0.into())])?;
    /// store.put_edge("bob", "carol", "knows", &[])?;
    /// let table = Snapshot::new(store.version()?).edge_table();
    /// let names: Vec<_> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    /// assert_eq!(names, ["src", "dst", "type", "amount"]);
    /// assert_eq!(table.num_rows(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn edge_table(&self) -> RecordBatch {
        tables::edge_table(&self.inner.selection)
    }

    /// The rows of [`Snapshot::edge_table`] as batches of some thousands of vertices each, made one at a time: for
    /// writing them elsewhere.
    pub fn edge_batches(&self) -> impl Iterator<Item = EdgeBatch> + '_ {
        let selection = &self.inner.selection;
        let (layout, keys) = (EdgeLayout::new(selection), KeyTable::new(&selection.version));
        edge_ranges(selection).into_iter().map(move |(edge_type, range)| {
            tables::edge_batch(selection, &layout, &keys, edge_rows(selection, &layout, edge_type, range))
        })
    }

    /// The edges as compressed sparse rows.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_types::Direction;
    /// # use evergraph_view::Snapshot;
    /// let store = Store::in_memory(Options::default());
    /// store.put_edge(10, 20, "edge", &[])?;
    /// store.put_edge(10, 30, "edge", &[])?;
    /// let csr = Snapshot::new(store.version()?).to_csr(Direction::Out);
    /// assert_eq!((csr.indptr, csr.indices), (vec![0, 2, 2, 2], vec![1, 2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_csr(&self, direction: Direction) -> Csr {
        Csr::new(&self.flat(), &self.vertex_ids(), direction)
    }
}

impl GraphView for Snapshot {
    fn id_bound(&self) -> VertexId {
        self.store_version().id_bound()
    }

    fn num_vertices(&self) -> u64 {
        self.inner.selection.num_vertices()
    }

    fn num_edges(&self) -> u64 {
        self.inner.selection.num_edges()
    }

    fn is_symmetric(&self) -> bool {
        self.inner.selection.is_symmetric()
    }

    fn is_mixed(&self) -> bool {
        self.one_way_part().is_some()
    }

    fn one_way(&self) -> Option<Arc<dyn GraphView>> {
        if self.is_symmetric() {
            return None;
        }
        Some(Arc::new(self.one_way_part().unwrap_or(self).clone()))
    }

    fn has_vertex(&self, vertex: VertexId) -> bool {
        self.inner.selection.has_vertex(vertex)
    }

    fn degree(&self, direction: Direction, vertex: VertexId) -> usize {
        self.inner.selection.degree(direction, vertex)
    }

    fn for_each_slice(
        &self,
        direction: Direction,
        vertex: VertexId,
        visit: &mut dyn FnMut(&[VertexId]) -> ControlFlow<()>,
    ) {
        let selection = &self.inner.selection;
        let mut edge_types = selection.edge_types.iter();
        let _ = edge_types
            .try_for_each(|&edge_type| selection.for_each_slice(edge_type, direction, vertex, visit));
    }

    fn weighted_lists(&self, property: &str) -> Result<Box<dyn WeightedLists + '_>, WeightError> {
        Ok(Box::new(SelectedWeights::new(&self.inner.selection, property)?))
    }

    fn time_property(&self) -> Option<String> {
        let mut times = self.inner.selection.edge_types().filter_map(|(_, kind)| kind.options.time.clone());
        let first = times.next()?;
        times.all(|time| time == first).then_some(first)
    }

    fn flat(&self) -> Arc<FlatView> {
        if let Some(flat) = self.inner.flat.get() {
            return flat.clone();
        }
        // Not inside `get_or_init`: a worker that waits for parallel tasks may run one that wants the flat view too.
        let flat = self.inner.selection.flatten().with_one_way(self.one_way_part().cloned());
        let flat = Arc::new(flat);
        self.inner.flat.get_or_init(|| flat).clone()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("version", &self.version())
            .field("num_vertices", &self.num_vertices())
            .field("num_edges", &self.num_edges())
            .field("edge_types", &self.edge_types())
            .finish()
    }
}
