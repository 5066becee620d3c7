//! What one commit changed, with what was there before: the net effect, thing by thing.

use evergraph_types::{EdgeTypeId, PropertyId, Value, VertexId};

/// What happened to a vertex.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VertexChange {
    pub(crate) vertex: VertexId,
    pub(crate) existed: bool,
    pub(crate) exists: bool,
    /// Whether its type may be another one.
    pub(crate) typed: bool,
    /// Properties whose value differs: old and new. Of a vertex that went, none.
    pub(crate) properties: Vec<(PropertyId, Value, Value)>,
}

/// What happened to one edge.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EdgeChange {
    pub(crate) edge_type: EdgeTypeId,
    pub(crate) src: VertexId,
    pub(crate) dst: VertexId,
    /// The values of all its properties before; `None` if there was no such edge.
    pub(crate) before: Option<Vec<Value>>,
    /// And after.
    pub(crate) after: Option<Vec<Value>>,
}

/// What one commit changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Changes {
    /// Each vertex once, in the order of first touch.
    pub(crate) vertices: Vec<VertexChange>,
    /// In the order they were made.
    pub(crate) edges: Vec<EdgeChange>,
}
