//! A vertex and an edge as a transaction or a view shows them.

use crate::Value;

/// What is known of a vertex besides its key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VertexData {
    /// Its type, if it has one.
    pub vertex_type: Option<String>,
    /// Its properties that are not null.
    pub properties: Vec<(String, Value)>,
}

/// What is known of an edge besides its ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeData {
    /// Its type.
    pub edge_type: String,
    /// Its properties that are not null.
    pub properties: Vec<(String, Value)>,
}
