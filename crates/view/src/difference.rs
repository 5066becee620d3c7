//! What changed from one snapshot to another, as tables.
//!
//! ```text
//!  Version::diff ─► rows by edge type ─► added, removed, changed from, changed to: src | dst | type | properties
//!               └─► ids of vertices  ─► their keys
//! ```
//!
//! Names are those of the newer snapshot; a type that was dropped in between has those of the older one. All four tables
//! have the same columns.
//!
//! Invariant: an edge type that one of the snapshots has and leaves out is left out.

use arrow_array::{ArrayRef, RecordBatch};
use evergraph_store::{EdgeDiff, EdgeRows};
use evergraph_types::{EdgeType, EdgeTypeId, PropertyId};
use thiserror::Error;

use crate::Snapshot;
use crate::listed_edges::{ListedEdges, listed_table};

/// What one snapshot has and another has not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// Edges only the second has.
    pub added: RecordBatch,
    /// Edges only the first has.
    pub removed: RecordBatch,
    /// Edges of both whose properties differ, as the first has them.
    pub changed_from: RecordBatch,
    /// The same edges, row by row, as the second has them.
    pub changed_to: RecordBatch,
    /// Keys of the vertices only the second has.
    pub added_vertices: ArrayRef,
    /// Keys of the vertices only the first has.
    pub removed_vertices: ArrayRef,
    /// Keys of the vertices of both whose type or properties differ.
    pub changed_vertices: ArrayRef,
}

/// Why two snapshots are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DiffError {
    /// They are of different databases.
    #[error(
        "the snapshots are of two databases, or of one before and after it was opened again; take both from one"
    )]
    OtherStore,
    /// One shows a part of the graph only.
    #[error(
        "a snapshot is confined to a view; compare whole snapshots, or have a handler of the view told of changes"
    )]
    Confined,
}

impl Snapshot {
    /// What changed from this snapshot to another one of the same store, which may be older, in time that grows with the
    /// change and not with the graph.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_view::Snapshot;
    /// let store = Store::in_memory(Options::default());
    /// store.put_edge(1, 2, "edge", &[])?;
    /// let before = Snapshot::new(store.version()?);
    /// store.put_edge(2, 3, "edge", &[])?;
    /// let change = before.diff(&Snapshot::new(store.version()?))?;
    /// assert_eq!((change.added.num_rows(), change.added_vertices.len()), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DiffError::OtherStore`], [`DiffError::Confined`].
    pub fn diff(&self, other: &Snapshot) -> Result<Difference, DiffError> {
        if !self.whole().is_of_same_store(other.whole()) {
            return Err(DiffError::OtherStore);
        }
        if self.confinement().is_some() || other.confinement().is_some() {
            return Err(DiffError::Confined);
        }
        let (older, newer) = if self.version() <= other.version() { (self, other) } else { (other, self) };
        let types = compared_types(older, newer);
        let is_compared = |id: EdgeTypeId| types.iter().any(|(compared, _)| *compared == id);
        let diff = self.whole().diff_of(other.whole(), &is_compared);
        let table = |part: fn(&EdgeDiff) -> &EdgeRows| {
            let parts = diff.edges.iter().map(|edges| listed(edges.edge_type, part(edges)));
            listed_table(&types, newer.whole(), &parts.collect::<Vec<_>>().iter().collect::<Vec<_>>(), false)
        };
        Ok(Difference {
            added: table(|edges| &edges.added),
            removed: table(|edges| &edges.removed),
            changed_from: table(|edges| &edges.changed_from),
            changed_to: table(|edges| &edges.changed_to),
            added_vertices: newer.keys_of(&diff.added_vertices),
            removed_vertices: newer.keys_of(&diff.removed_vertices),
            changed_vertices: newer.keys_of(&diff.changed_vertices),
        })
    }
}

/// The edge types of either snapshot that neither leaves out, under their last names.
fn compared_types<'a>(older: &'a Snapshot, newer: &'a Snapshot) -> Vec<(EdgeTypeId, &'a EdgeType)> {
    let live = |snapshot: &'a Snapshot, id: EdgeTypeId| {
        snapshot.schema().edge_types.get(usize::from(id)).filter(|kind| !kind.is_dropped())
    };
    let shows = |snapshot: &'a Snapshot, id: EdgeTypeId| {
        live(snapshot, id).is_none() || snapshot.selection().edge_types.contains(&id)
    };
    let ids = (0..newer.schema().edge_types.len()).filter_map(|id| EdgeTypeId::try_from(id).ok());
    let shown = ids.filter(|&id| shows(older, id) && shows(newer, id));
    shown.filter_map(|id| Some((id, live(newer, id).or_else(|| live(older, id))?))).collect()
}

fn listed(edge_type: EdgeTypeId, rows: &EdgeRows) -> ListedEdges {
    let columns = (0..).zip(rows.columns.iter().cloned());
    ListedEdges {
        edge_type,
        src: rows.src.clone(),
        dst: rows.dst.clone(),
        columns: columns.map(|(property, column)| (property as PropertyId, column)).collect(),
        ..ListedEdges::default()
    }
}
