//! A graph of its own with the vertices of a store: edges of one type, in memory, which their owner puts in and takes out.
//!
//! ```text
//!  store ──► dictionary ─┐
//!  edit ──► draft ───────┴──► version ──► version ──► ...     each one a graph that readers may keep
//! ```
//!
//! Ids and keys are those of the store, so that nothing is translated and no key is kept twice. There is one owner, so that
//! nothing conflicts, and nothing is logged: who owns it can make it again. Sliding windows are kept in one.
//!
//! Pages of the vertex tables, runs of lists and their directories that no reader has seen are written to where they lie,
//! so that a graph which nobody looks at between two edits is not copied page by page.
//!
//! Invariants: it has the vertices that have an edge in it; the store's dictionary knows them all.

use std::sync::Arc;

use evergraph_types::{EdgeType, EdgeTypeId, Property, Schema, Sequence, VertexId};

use crate::keys::dictionary::Dictionary;
use crate::versions::draft::Draft;
use crate::versions::expiry::Oldest;
use crate::versions::version::Version;
use crate::write_sets::ops::{EdgeOps, WriteSet};

/// The edge type of every derived graph.
const TYPE: EdgeTypeId = 0;

/// What an edit does, in this order.
#[derive(Clone, Debug)]
pub struct DerivedEdit {
    /// Sources and destinations of edges that are deleted, all copies of them.
    pub deleted: [Vec<VertexId>; 2],
    /// Sources and destinations of edges of a `multi` type of which one copy each leaves. For every vertex these must be
    /// its oldest edges.
    pub expired: [Vec<VertexId>; 2],
    /// What is oldest.
    pub oldest: Oldest,
    /// Edges put, and more that are deleted, in order; with ids of the store's vertices.
    pub ops: EdgeOps,
}

impl Default for DerivedEdit {
    fn default() -> Self {
        DerivedEdit {
            deleted: Default::default(),
            expired: Default::default(),
            oldest: Oldest::First,
            ops: EdgeOps::default(),
        }
    }
}

/// A graph in memory with the vertices of a store.
///
/// ```
/// # use evergraph_store::{DerivedEdit, DerivedGraph, EdgeOps, Options, Store};
/// let store = Store::in_memory(Options::default());
/// store.put_edge("alice", "bob", "pays", &[])?;
/// let source = store.version()?;
/// let mut graph = DerivedGraph::new(&source, source.schema().edge_types[0].clone());
/// let (alice, bob) = (0, 1);
/// let ops = EdgeOps { src: vec![bob], dst: vec![alice], ..EdgeOps::default() };
/// graph.edit(&source, DerivedEdit { ops, ..DerivedEdit::default() });
/// assert!(graph.version().has_edge(0, bob, alice));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DerivedGraph {
    current: Arc<Version>,
    /// The newest version that a reader may have.
    shown: Sequence,
}

impl DerivedGraph {
    /// An empty graph with edges of this type.
    pub fn new(source: &Version, edge_type: EdgeType) -> Self {
        let current = Arc::new(Version::empty(Schema::default(), Dictionary::dense()));
        let mut graph = DerivedGraph { shown: current.sequence, current };
        graph.set_schema(source, edge_type);
        graph
    }

    /// The graph after the last edit.
    pub fn version(&self) -> &Arc<Version> {
        &self.current
    }

    /// Has edges have these properties from now on, which begin with those they had.
    pub fn set_properties(&mut self, source: &Version, properties: Vec<Property>) {
        let Some(mut edge_type) = self.current.schema().edge_types.first().cloned() else { return };
        edge_type.options.properties = properties;
        self.set_schema(source, edge_type);
    }

    fn set_schema(&mut self, source: &Version, edge_type: EdgeType) {
        let schema = Schema { edge_types: vec![edge_type], ..Schema::default() };
        self.publish(source, |draft| draft.set_schema(schema));
    }

    /// Makes the next version. Tells which of the puts found the edge where they were to put it, in no order: each put that
    /// did, of an edge of a `simple` type.
    pub fn edit(&mut self, source: &Version, edit: DerivedEdit) -> Vec<(VertexId, VertexId)> {
        let DerivedEdit { deleted: [src, dst], expired, oldest, ops } = edit;
        let deletes = EdgeOps { deletes: Some(vec![true; src.len()]), src, dst, columns: Vec::new() };
        let is_symmetric = self.current.schema().edge_types.iter().any(|kind| kind.options.symmetric);
        self.publish(source, |draft| {
            apply_ops(draft, deletes);
            draft.expire(TYPE, &expired, oldest);
            draft.changes.found = Some(Vec::new());
            apply_ops(draft, ops);
            let mut found = draft.changes.found.take().unwrap_or_default();
            // Both ends of a symmetric edge tell of it.
            found.retain(|(src, dst)| !is_symmetric || src <= dst);
            draft.delete_isolated(TYPE);
            found
        })
    }

    fn publish<T>(&mut self, source: &Version, edit: impl FnOnce(&mut Draft) -> T) -> T {
        if Arc::get_mut(&mut self.current).is_none() {
            self.shown = self.current.sequence;
        }
        let base = self.current.clone();
        let mut draft = Draft::new(&base, source.dictionary.clone(), base.sequence + 1, source.time_micros);
        // Births are known by their low halves only.
        let are_births_known = u32::try_from(draft.version.sequence).is_ok();
        draft.changes.owned_after = are_births_known.then_some(self.shown as u32);
        let told = edit(&mut draft);
        if draft.version.schema.key_kind != source.schema.key_kind {
            Arc::make_mut(&mut draft.version.schema).key_kind = source.schema.key_kind;
        }
        let (version, changes) = draft.finish();
        base.reclaimer.allocated(changes.allocated_bytes);
        self.current = Arc::new(version);
        base.retire(changes.retired);
        told
    }

    /// Bytes in memory, those of versions that somebody keeps included. Keys are the store's.
    pub fn memory_bytes(&self) -> u64 {
        self.current.reclaimer.live_bytes() as u64
    }
}

fn apply_ops(draft: &mut Draft, ops: EdgeOps) {
    if !ops.is_empty() {
        draft.apply(WriteSet { edges: vec![(TYPE, ops)], ..WriteSet::default() });
        draft.flush();
    }
}

impl Drop for DerivedGraph {
    fn drop(&mut self) {
        // From here on only readers keep the version alive.
        let empty = Arc::new(Version::empty(Schema::default(), Dictionary::dense()));
        std::mem::replace(&mut self.current, empty).release();
    }
}
