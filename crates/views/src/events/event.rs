//! One thing that changed in a view, as handlers see it.

use evergraph_types::{Key, Sequence, Value};

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A vertex that came into the view or left it.
    Vertex,
    /// An edge of the view that was put or deleted.
    Edge,
    /// A property of a vertex or an edge of the view.
    Property,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [EventKind; 3] = [EventKind::Vertex, EventKind::Edge, EventKind::Property];

    /// The name users write: `vertex`, `edge`, `property`.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Vertex => "vertex",
            EventKind::Edge => "edge",
            EventKind::Property => "property",
        }
    }

    /// The kind of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The vertex or edge an event is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A vertex.
    Vertex(Key),
    /// An edge: source, destination, edge type.
    Edge(Key, Key, String),
}

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Transition {
    /// It is in the view now, and was not before.
    Added,
    /// It was in the view, and is no longer.
    Removed,
    /// A property has another value; null where there is none.
    Changed {
        /// The property.
        property: String,
        /// Its value before the commit.
        old: Value,
        /// Its value after the commit.
        new: Value,
    },
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The commit that made it.
    pub version: Sequence,
    /// When that was, in microseconds since 1970-01-01 UTC.
    pub time_micros: i64,
    /// Its place among the events of this view and commit, from 0.
    pub index: u32,
    /// What it is about.
    pub kind: EventKind,
    /// The vertex or edge.
    pub subject: Subject,
    /// What became of it.
    pub transition: Transition,
}
