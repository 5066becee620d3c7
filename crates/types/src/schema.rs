//! The schema: key kind, edge types with their properties, vertex types, vertex properties.
//!
//! Invariant: ids are positions and are never reused; a name maps to one id.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{KeyKind, PropertyType};

/// The position of an edge type in [`Schema::edge_types`].
pub type EdgeTypeId = u16;
/// The position of a vertex type in [`Schema::vertex_types`], plus one; 0 is a vertex without a type.
pub type VertexTypeId = u16;
/// The position of a property in its list.
pub type PropertyId = u16;

/// A named, typed property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: PropertyType,
}

/// How edges of a type behave; the arguments of `create_edge_type`.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EdgeTypeOptions {
    /// Every insert is an edge of its own; otherwise there is one edge per source and destination (put = upsert).
    pub multi: bool,
    /// An edge holds in both directions and is kept in the list of both ends.
    pub symmetric: bool,
    /// The property that is the time of an event.
    pub time: Option<String>,
    /// The properties of an edge, in order.
    pub properties: Vec<Property>,
}

impl EdgeTypeOptions {
    /// Whether edges of a type like this behave as `wanted`, properties aside: a `time` that is not named may be any.
    pub fn behaves_like(&self, wanted: &EdgeTypeOptions) -> bool {
        let same_time = wanted.time.is_none() || wanted.time == self.time;
        (self.multi, self.symmetric) == (wanted.multi, wanted.symmetric) && same_time
    }
}

/// An edge type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeType {
    /// Its name.
    pub name: String,
    /// How its edges behave.
    pub options: EdgeTypeOptions,
}

impl EdgeType {
    /// The property of this name.
    pub fn property(&self, name: &str) -> Option<(PropertyId, &Property)> {
        find(&self.options.properties, name)
    }
}

/// Everything the store knows about the shape of its data.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Schema {
    /// The kind of vertex keys; `None` until the first vertex is written.
    pub key_kind: Option<KeyKind>,
    /// Edge types by id.
    pub edge_types: Vec<EdgeType>,
    /// Names of vertex types; type id `i` is at position `i - 1`.
    pub vertex_types: Vec<String>,
    /// Properties of vertices, shared by all vertex types.
    pub vertex_properties: Vec<Property>,
}

/// A request that does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A vertex key of another kind than the store's.
    #[error(
        "vertex key {key} is not of the kind this store holds ({expected}); use {expected} keys throughout"
    )]
    KeyKind {
        /// The key as written.
        key: String,
        /// The kind the store holds.
        expected: KeyKind,
    },
    /// A key that cannot be used as a dense id.
    #[error("vertex key {key} is not a dense id: it must be from 0 to {max}")]
    DenseRange {
        /// The key as written.
        key: String,
        /// The largest id allowed.
        max: u64,
    },
    /// No such edge type.
    #[error("no edge type {name:?}; the store has {known:?}. create_edge_type({name:?}) makes one")]
    UnknownEdgeType {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// An edge or vertex type of this name exists with other options.
    #[error("type {name:?} exists already with other options")]
    TypeExists {
        /// The name.
        name: String,
    },
    /// No such property.
    #[error("{owner} has no property {name:?}; it has {known:?}")]
    UnknownProperty {
        /// The edge type or `"vertex"`.
        owner: String,
        /// The property asked for.
        name: String,
        /// The properties there are.
        known: Vec<String>,
    },
    /// A value of another type than the property's.
    #[error("property {name:?} of {owner} is {expected}, but {found} was given")]
    PropertyType {
        /// The edge type or `"vertex"`.
        owner: String,
        /// The property.
        name: String,
        /// Its type.
        expected: PropertyType,
        /// What was given.
        found: String,
    },
    /// Columns of different lengths in one batch.
    #[error("column {name:?} has {found} rows, but {expected} were expected")]
    ColumnLength {
        /// The column.
        name: String,
        /// The rows of the first column.
        expected: usize,
        /// Its own rows.
        found: usize,
    },
    /// A name that is empty, too long or holds control characters.
    #[error("{name:?} is not a usable name: 1 to 255 characters, no control characters")]
    BadName {
        /// The name.
        name: String,
    },
    /// A property named twice in one place.
    #[error("property {name:?} is named twice; name each once")]
    Twice {
        /// The property.
        name: String,
    },
    /// A string that is too long.
    #[error(
        "{name} is a string of {found} bytes, {max} are allowed; keep long texts in files and their names here"
    )]
    TextLength {
        /// The property or key, and its row in a batch.
        name: String,
        /// How long it is.
        found: usize,
        /// How long it may be.
        max: usize,
    },
    /// A limit of the format would be passed.
    #[error("too many {what}: at most {max}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How many are allowed.
        max: u64,
    },
}

impl Schema {
    /// The edge type of this name.
    pub fn edge_type(&self, name: &str) -> Option<(EdgeTypeId, &EdgeType)> {
        let position = self.edge_types.iter().position(|kind| kind.name == name)?;
        Some((position as EdgeTypeId, &self.edge_types[position]))
    }

    /// The edge type of this name, or the error that says which there are.
    pub fn require_edge_type(&self, name: &str) -> Result<(EdgeTypeId, &EdgeType), SchemaError> {
        self.edge_type(name).ok_or_else(|| SchemaError::UnknownEdgeType {
            name: name.to_owned(),
            known: self.edge_types.iter().map(|kind| kind.name.clone()).collect(),
        })
    }

    /// The vertex property of this name.
    pub fn vertex_property(&self, name: &str) -> Option<(PropertyId, &Property)> {
        find(&self.vertex_properties, name)
    }

    /// The id of the vertex type of this name.
    pub fn vertex_type(&self, name: &str) -> Option<VertexTypeId> {
        let position = self.vertex_types.iter().position(|kind| kind == name)?;
        Some(position as VertexTypeId + 1)
    }

    /// The name of a vertex type; `None` for 0, a vertex without a type.
    pub fn vertex_type_name(&self, id: VertexTypeId) -> Option<&str> {
        self.vertex_types.get(usize::from(id).checked_sub(1)?).map(String::as_str)
    }
}

fn find<'a>(properties: &'a [Property], name: &str) -> Option<(PropertyId, &'a Property)> {
    let position = properties.iter().position(|property| property.name == name)?;
    Some((position as PropertyId, &properties[position]))
}
