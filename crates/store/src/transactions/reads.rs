//! What a serializable transaction has read, so that the committer can tell whether any of it changed meanwhile.
//!
//! A transaction whose reads are unchanged when it commits might as well have run at that moment: commits in their
//! order are then a serial order (backward validation; Kung and Robinson, TODS 1981).
//!
//! Invariant: everything a read of the transaction depended on is in here, what was *not* there included.

use std::sync::Arc;

use evergraph_types::{EdgeTypeId, Key, VertexId};
use hashbrown::HashSet;

/// The reads of one transaction.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// Vertices whose existence, type or properties were read.
    pub(crate) vertices: HashSet<VertexId>,
    /// Edges whose existence or properties were read, in the order the type keeps its ends in.
    pub(crate) edges: HashSet<(EdgeTypeId, VertexId, VertexId)>,
    /// Neighbor lists, in either direction.
    pub(crate) lists: HashSet<(EdgeTypeId, VertexId)>,
    /// Keys that no vertex had.
    pub(crate) absent_keys: HashSet<Key>,
    /// The schema as a whole.
    pub(crate) schema: bool,
    /// Edge types that did not exist.
    pub(crate) absent_types: HashSet<String>,
    /// Items of the catalog, there or not.
    pub(crate) items: HashSet<Arc<str>>,
}

impl Reads {
    /// Whether nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.vertices.is_empty()
            && self.edges.is_empty()
            && self.lists.is_empty()
            && self.absent_keys.is_empty()
            && !self.schema
            && self.absent_types.is_empty()
            && self.items.is_empty()
    }
}
