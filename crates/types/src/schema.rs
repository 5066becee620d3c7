//! The schema: key kind, edge types with their properties, vertex types, vertex properties.
//!
//! Invariant: ids are positions and are never reused; a name maps to one id. What was dropped stays in its place with an
//! empty name, which nothing else has, so that no id ever means something else than before: not to a reader of an older
//! version, not in a segment, not in the log.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{KeyKind, PropertyType, shown, shown_names};

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

impl Property {
    /// Whether it was dropped.
    pub fn is_dropped(&self) -> bool {
        self.name.is_empty()
    }
}

/// How edges of a type behave; the arguments of `create_edge_type`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeTypeOptions {
    /// Every insert is an edge of its own; otherwise there is one edge per source and destination (put = upsert).
    pub multi: bool,
    /// An edge holds in both directions and is kept in the list of both ends.
    pub symmetric: bool,
    /// Whether lists in the in direction are kept, which takes as much memory as those in out direction. Without them,
    /// what needs them makes them from the out lists, once for each version that is asked; deleting a vertex reads all
    /// out lists. Symmetric types need no others.
    pub reverse: bool,
    /// The property that is the time of an event.
    pub time: Option<String>,
    /// The properties of an edge, in order.
    pub properties: Vec<Property>,
}

impl Default for EdgeTypeOptions {
    fn default() -> Self {
        EdgeTypeOptions { multi: false, symmetric: false, reverse: true, time: None, properties: Vec::new() }
    }
}

impl EdgeTypeOptions {
    /// Whether edges of a type like this behave as `wanted`, properties aside: a `time` that is not named may be any.
    pub fn behaves_like(&self, wanted: &EdgeTypeOptions) -> bool {
        let same_time = wanted.time.is_none() || wanted.time == self.time;
        self.has_lists_like(wanted) && same_time
    }

    /// Whether lists of a type like this are kept as those of `other`.
    pub fn has_lists_like(&self, other: &EdgeTypeOptions) -> bool {
        (self.multi, self.symmetric, self.reverse) == (other.multi, other.symmetric, other.reverse)
    }

    /// The error that a type like this exists by the name of one that is `wanted`.
    pub fn exists(&self, name: &str, wanted: &EdgeTypeOptions) -> SchemaError {
        let told = |options: &EdgeTypeOptions| {
            let time = options.time.as_ref().map_or_else(|| "none".to_owned(), |time| format!("{time:?}"));
            let flags = [options.multi, options.symmetric, options.reverse].map(|flag| flag.to_string());
            flags.into_iter().chain([time])
        };
        let differing =
            ["multi", "symmetric", "reverse", "time"].into_iter().zip(told(self).zip(told(wanted)));
        let (found, wanted): (Vec<String>, Vec<String>) = differing
            .filter(|(_, (found, wanted))| found != wanted)
            .map(|(option, (found, wanted))| (format!("{option}={found}"), format!("{option}={wanted}")))
            .unzip();
        SchemaError::TypeExists { name: name.to_owned(), found: found.join(", "), wanted: wanted.join(", ") }
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
        self.properties().find(|(_, property)| property.name == name)
    }

    /// The properties that were not dropped, with their ids.
    pub fn properties(&self) -> impl Iterator<Item = (PropertyId, &Property)> + Clone {
        live_properties(&self.options.properties)
    }

    /// Whether it was dropped.
    pub fn is_dropped(&self) -> bool {
        self.name.is_empty()
    }
}

/// Everything the store knows about the shape of its data. It lies on lines of memory of its own: those who read it are not to wait
/// for those who count references to it.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[repr(align(64))]
pub struct Schema {
    /// The kind of vertex keys; `None` until the first vertex is written.
    pub key_kind: Option<KeyKind>,
    /// Edge types by id.
    pub edge_types: Vec<EdgeType>,
    /// Names of vertex types; type id `i` is at position `i - 1`.
    pub vertex_types: Vec<String>,
    /// Properties of vertices, shared by all vertex types.
    pub vertex_properties: Vec<Property>,
    /// How often something was dropped or renamed.
    pub alterations: u64,
}

/// Something to change about a schema, other than a new type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alteration {
    /// Adds a property, null everywhere.
    AddProperty {
        /// Whose.
        owner: PropertyOwner,
        /// Its name.
        name: String,
        /// Its type.
        kind: PropertyType,
    },
    /// Drops a property with all its values.
    DropProperty {
        /// Whose.
        owner: PropertyOwner,
        /// Its name.
        name: String,
    },
    /// Gives a property another name.
    RenameProperty {
        /// Whose.
        owner: PropertyOwner,
        /// Its name.
        name: String,
        /// Its name from then on.
        new_name: String,
    },
    /// Drops an edge type with all its edges.
    DropEdgeType {
        /// Its name.
        name: String,
    },
    /// Gives an edge type another name.
    RenameEdgeType {
        /// Its name.
        name: String,
        /// Its name from then on.
        new_name: String,
    },
    /// Drops a vertex type. Its vertices stay, without a type.
    DropVertexType {
        /// Its name.
        name: String,
    },
    /// Gives a vertex type another name.
    RenameVertexType {
        /// Its name.
        name: String,
        /// Its name from then on.
        new_name: String,
    },
}

/// Whose property it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyOwner {
    /// Vertices of all types.
    Vertices,
    /// Edges of the type of this name.
    EdgeType(String),
}

impl std::fmt::Display for PropertyOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PropertyOwner::Vertices => "vertex",
            PropertyOwner::EdgeType(name) => name,
        })
    }
}

/// A request that does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A vertex key of another kind than the store's.
    #[error(
        "vertex key {} is not of the kind this store holds ({expected}); use {expected} keys throughout",
        shown(key)
    )]
    KeyKind {
        /// The key as written.
        key: String,
        /// The kind the store holds.
        expected: KeyKind,
    },
    /// Keys of another kind than the store's were asked for.
    #[error(
        "keys=\"{wanted}\" is asked for, but the keys of this store are of kind {found}; leave keys out, or use another store"
    )]
    KeysOption {
        /// The kind asked for.
        wanted: KeyKind,
        /// The kind the store holds, or was opened for.
        found: KeyKind,
    },
    /// A key that cannot be used as a dense id.
    #[error("vertex key {} is not a dense id: it must be from 0 to {max}", shown(key))]
    DenseRange {
        /// The key as written.
        key: String,
        /// The largest id allowed.
        max: u64,
    },
    /// No such edge type.
    #[error(
        "no edge type {0}; the store has {1}. create_edge_type({0}) makes one",
        quoted(name),
        listed(known, name)
    )]
    UnknownEdgeType {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A load whose edge type was renamed or dropped after some of its parts.
    #[error(
        "edge type {name:?}, which earlier parts of the load went to, was renamed or dropped meanwhile; resume the load by the name it \
         has now, or begin anew"
    )]
    EdgeTypeGone {
        /// The name it had.
        name: String,
    },
    /// No such vertex type.
    #[error("no vertex type {}; the store has {}", quoted(name), listed(known, name))]
    UnknownVertexType {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A type or property of the new name exists.
    #[error("there is already {what} {name:?}; choose another name")]
    NameTaken {
        /// Of what kind.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The property that is the time of the events of an edge type.
    #[error(
        "property {name:?} is the time of edges of type {owner:?}, which cannot do without; drop the type instead"
    )]
    TimeProperty {
        /// The edge type.
        owner: String,
        /// The property.
        name: String,
    },
    /// An edge type of this name exists with other options.
    #[error("edge type {name:?} exists already with {found}, and {wanted} was asked for")]
    TypeExists {
        /// The name.
        name: String,
        /// Its options, those that differ.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// A property that an edge type was to be made with, but that one of this name exists without.
    #[error("edge type {owner:?} exists already, without property {name:?}: add the property to it")]
    PropertyMissing {
        /// The edge type.
        owner: String,
        /// The property.
        name: String,
    },
    /// The first value of a property is a list of items that have no type in common.
    #[error("{found} is to give property {name:?} of {owner} its type, but its items have none in common")]
    MixedList {
        /// The edge type or `"vertex"`.
        owner: String,
        /// The property.
        name: String,
        /// The list.
        found: String,
    },
    /// A property of this name exists with another type.
    #[error("property {name:?} of {owner} is {found} already, and {wanted} was asked for")]
    PropertyExists {
        /// The edge type or `"vertex"`.
        owner: String,
        /// The property.
        name: String,
        /// Its type.
        found: PropertyType,
        /// The type asked for.
        wanted: PropertyType,
    },
    /// A property that can be no time of events.
    #[error(
        "property {name:?} of {owner} is {found}, which can be no time of an edge: a timestamp, a date or a number can"
    )]
    TimeType {
        /// The edge type.
        owner: String,
        /// The property.
        name: String,
        /// Its type.
        found: PropertyType,
    },
    /// No such property.
    #[error("{owner} has no property {}; it has {}", quoted(name), listed(known, name))]
    UnknownProperty {
        /// The edge type or `"vertex"`.
        owner: String,
        /// The property asked for.
        name: String,
        /// The properties there are.
        known: Vec<String>,
    },
    /// A value of another type than the property's.
    #[error("property {name:?} of {owner}{} is {expected}, but {found} was given", in_row(*row))]
    PropertyType {
        /// The edge type or `"vertex"`.
        owner: String,
        /// The property.
        name: String,
        /// The row, in a batch.
        row: Option<usize>,
        /// Its type.
        expected: PropertyType,
        /// What was given.
        found: String,
    },
    /// A new property whose first value does not tell its type.
    #[error(
        "{owner} has no property {name:?}, and {found} does not tell its type: declare it with add_property"
    )]
    Untyped {
        /// The edge type or `"vertex"`.
        owner: String,
        /// The property.
        name: String,
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
    #[error("{} is not a usable name: 1 to 255 characters, no control characters", quoted(name))]
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
    /// A value of variable width that is too long.
    #[error("{name} takes {found} bytes, {max} are allowed; keep what is long in files and their names here")]
    TextLength {
        /// The property or key, and its row in a batch.
        name: String,
        /// How long it is.
        found: usize,
        /// How long it may be.
        max: usize,
    },
    /// A cell that no value of its type has.
    #[error(
        "{name} is no {expected}: its bytes are not UTF-8, cut off or otherwise none; make it anew from a value"
    )]
    NoValue {
        /// The property or key, and its row in a batch.
        name: String,
        /// The type of the property, or of keys.
        expected: &'static str,
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

fn quoted(name: &str) -> String {
    shown(format_args!("{name:?}"))
}

/// The names there are, and which of them may have been meant.
fn listed(known: &[String], meant: &str) -> String {
    let listed = shown_names(known);
    match nearest(known, meant) {
        Some(name) => format!("{listed}, and {} may be meant", quoted(name)),
        None => listed,
    }
}

/// The name that is least other than `meant`, if it takes no more than a third of its characters to make it that.
fn nearest<'n>(known: &'n [String], meant: &str) -> Option<&'n String> {
    const COMPARED_CHARS: usize = 64;
    let meant: Vec<char> = meant.chars().take(COMPARED_CHARS).collect();
    let all = known.iter().map(|name| (distance(&meant, name.chars().take(COMPARED_CHARS)), name));
    all.filter(|(distance, _)| 3 * distance <= meant.len().max(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many characters are to be put in, taken out or replaced to make the one of the other (Levenshtein 1966).
fn distance(from: &[char], to: impl Iterator<Item = char>) -> usize {
    let mut row: Vec<usize> = (0..=from.len()).collect();
    for letter in to {
        let mut diagonal = row[0];
        row[0] += 1;
        for at in 0..from.len() {
            let replaced = diagonal + usize::from(from[at] != letter);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[from.len()]
}

fn in_row(row: Option<usize>) -> String {
    row.map_or_else(String::new, |row| format!(" in row {row}"))
}

impl SchemaError {
    /// Refuses a kind of keys that is asked for where they are of another one, if either is known.
    ///
    /// # Errors
    /// [`SchemaError::KeysOption`].
    pub fn unless_keys_are(wanted: Option<KeyKind>, found: Option<KeyKind>) -> Result<(), SchemaError> {
        match (wanted, found) {
            (Some(wanted), Some(found)) if wanted != found => Err(SchemaError::KeysOption { wanted, found }),
            _ => Ok(()),
        }
    }
}

impl Schema {
    /// The edge type of this name.
    pub fn edge_type(&self, name: &str) -> Option<(EdgeTypeId, &EdgeType)> {
        self.live_edge_types().find(|(_, kind)| kind.name == name)
    }

    /// The edge types that were not dropped, with their ids.
    pub fn live_edge_types(&self) -> impl Iterator<Item = (EdgeTypeId, &EdgeType)> + Clone {
        (0..).zip(&self.edge_types).filter(|(_, kind)| !kind.is_dropped())
    }

    /// The names of the vertex types that were not dropped, with their ids.
    pub fn live_vertex_types(&self) -> impl Iterator<Item = (VertexTypeId, &str)> + Clone {
        (1..).zip(self.vertex_types.iter().map(String::as_str)).filter(|(_, name)| !name.is_empty())
    }

    /// The vertex properties that were not dropped, with their ids.
    pub fn live_vertex_properties(&self) -> impl Iterator<Item = (PropertyId, &Property)> + Clone {
        live_properties(&self.vertex_properties)
    }

    /// The edge type of this name, or the error that says which there are.
    pub fn require_edge_type(&self, name: &str) -> Result<(EdgeTypeId, &EdgeType), SchemaError> {
        self.edge_type(name).ok_or_else(|| SchemaError::UnknownEdgeType {
            name: name.to_owned(),
            known: self.live_edge_types().map(|(_, kind)| kind.name.clone()).collect(),
        })
    }

    /// The vertex property of this name.
    pub fn vertex_property(&self, name: &str) -> Option<(PropertyId, &Property)> {
        self.live_vertex_properties().find(|(_, property)| property.name == name)
    }

    /// The id of the vertex type of this name.
    pub fn vertex_type(&self, name: &str) -> Option<VertexTypeId> {
        self.live_vertex_types().find(|(_, kind)| *kind == name).map(|(id, _)| id)
    }

    /// The name of a vertex type; `None` for 0, a vertex without a type, and for a type that was dropped.
    pub fn vertex_type_name(&self, id: VertexTypeId) -> Option<&str> {
        let name = self.vertex_types.get(usize::from(id).checked_sub(1)?)?;
        Some(name.as_str()).filter(|name| !name.is_empty())
    }
}

fn live_properties(properties: &[Property]) -> impl Iterator<Item = (PropertyId, &Property)> + Clone {
    (0..).zip(properties).filter(|(_, property)| !property.is_dropped())
}
