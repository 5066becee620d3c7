//! What can go wrong with a window, and with a stream.

use evergraph_store::{ChangesError, Closed, HistoryError};
use evergraph_types::{PropertyType, SchemaError};
use thiserror::Error;

/// Why there is no window, or why it does not advance.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WindowError {
    /// A length or a step that is not above 0.
    #[error("{argument} is {value}, and a window needs one above 0")]
    NotPositive {
        /// `last`, `every` or `lateness`.
        argument: &'static str,
        /// What was given.
        value: i64,
    },
    /// An argument that does not go with the others.
    #[error("{argument}: {why}")]
    Invalid {
        /// The argument as users know it.
        argument: &'static str,
        /// What is wrong with it, and what is allowed.
        why: String,
    },
    /// The edge type has no property that is the time of an event.
    #[error(
        "edge type {edge_type:?} has no time property; create it with time=, or slide over the order of ingest"
    )]
    NoTime {
        /// Its name.
        edge_type: String,
    },
    /// The time of the edges is of a type along which no window slides.
    #[error(
        "the time of edges of type {edge_type:?}, {property:?}, is {found}, and a window slides along a timestamp, a date or whole numbers; slide over the order of ingest, or declare the time as one of these"
    )]
    TimeType {
        /// The edge type.
        edge_type: String,
        /// Its time.
        property: String,
        /// The type of that.
        found: PropertyType,
    },
    /// The store has no edge type of this name, or one that no window can follow.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The edge type was dropped or renamed since the window was opened.
    #[error("edge type {edge_type:?} was dropped or renamed; open the window anew")]
    TypeChanged {
        /// The name it had.
        edge_type: String,
    },
    /// A property of the edge type was dropped or renamed since the window was opened.
    #[error("property {property:?} of edge type {edge_type:?} was dropped or renamed; open the window anew")]
    PropertyChanged {
        /// The edge type.
        edge_type: String,
        /// The property.
        property: String,
    },
    /// The log cannot be followed.
    #[error(transparent)]
    Changes(#[from] ChangesError),
    /// The store was closed.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// Why there is no stream, or no further batch.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A batch of no edges.
    #[error("batch_size is 0, and a batch needs room for one edge at least")]
    BatchSize,
    /// An algorithm cannot follow a stream without states.
    #[error("algorithms need the state after each batch: open the stream with stateful=True")]
    Stateless,
    /// There is no such edge type.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// All edge types it was to give were dropped since it began.
    #[error("edge types {names:?} were dropped; nothing more can come of them")]
    TypesDropped {
        /// The names they had.
        names: Vec<String>,
    },
    /// The log cannot be followed.
    #[error(transparent)]
    Changes(#[from] ChangesError),
    /// The state at the end of a batch cannot be made.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The store was closed.
    #[error(transparent)]
    Closed(#[from] Closed),
}
