//! What can go wrong with views, by what the caller can do about it.

use evergraph_store::{ChangesError, Closed, CommitError, HistoryError};
use evergraph_types::{PropertyType, shown_names};
use thiserror::Error;

/// A predicate that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PredicateError {
    /// It does not parse.
    #[error("the predicate does not parse at byte {at}: {what}")]
    Syntax {
        /// The byte of the text, from 0.
        at: usize,
        /// What was found and what was expected.
        what: String,
    },
    /// Conditions are nested too deeply.
    #[error("the predicate is nested more than {max} deep at byte {at}; write it flatter")]
    TooDeep {
        /// The byte of the text, from 0.
        at: usize,
        /// How deep it may be.
        max: usize,
    },
    /// It names a property that is not there.
    #[error(
        "{owner} have no property {name:?} (byte {at} of the predicate); they have {}, and {always}",
        shown_names(known)
    )]
    UnknownProperty {
        /// The byte of the text, from 0.
        at: usize,
        /// `"vertices"` or `"edges"`.
        owner: &'static str,
        /// The name.
        name: String,
        /// The properties there are.
        known: Vec<String>,
        /// The names that are always there.
        always: &'static str,
    },
    /// It compares what cannot be compared.
    #[error("the predicate compares {left} with {right} at byte {at}: {hint}")]
    Types {
        /// The byte of the text, from 0.
        at: usize,
        /// The left side.
        left: String,
        /// The right side.
        right: String,
        /// What would do.
        hint: String,
    },
    /// One property has two types, depending on the edge type.
    #[error(
        "property {name:?} (byte {at} of the predicate) is {first} for edges of type {first_type:?}, but {second} for {second_type:?}; rename one"
    )]
    Ambiguous {
        /// The byte of the text, from 0.
        at: usize,
        /// The property.
        name: String,
        /// One edge type.
        first_type: String,
        /// Its type there.
        first: PropertyType,
        /// Another edge type.
        second_type: String,
        /// Its type there.
        second: PropertyType,
    },
}

/// A view cannot be evaluated on a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// Its predicate does not fit the schema of the snapshot.
    #[error(transparent)]
    Predicate(#[from] PredicateError),
    /// The snapshot is of another store than the view: ids mean something else there.
    #[error(
        "the snapshot is of another database than the view, of a window, or of one before and after it was opened again; take it from the database of the view"
    )]
    OtherStore,
    /// Parts of different versions cannot be combined.
    #[error(
        "a part of version {left} and one of version {right} cannot be combined; evaluate both on one snapshot"
    )]
    OtherVersion {
        /// The version of one.
        left: u64,
        /// The version of the other.
        right: u64,
    },
    /// Edge-wise operations are nested too deeply.
    #[error("edge-wise set operations are nested more than {max} deep; combine fewer parts at once")]
    TooDeep {
        /// How deep they may be.
        max: usize,
    },
}

/// Views cannot be made, changed or found.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// There is no such view.
    #[error("there is no view {name:?}; there are {}", shown_names(known))]
    NotFound {
        /// The name.
        name: String,
        /// Some of those there are.
        known: Vec<String>,
    },
    /// There is one of this name already.
    #[error("there is a view {name:?} already; drop it, or take another name")]
    Exists {
        /// The name.
        name: String,
    },
    /// The name cannot be one.
    #[error("{name:?} is not a usable name of a view: 1 to 200 characters, no '/' and no control characters")]
    BadName {
        /// The name.
        name: String,
    },
    /// A view needs vertices or edges.
    #[error("a view is made of vertices, edges, or a predicate of either; none was given")]
    Empty,
    /// Members and a predicate for the same thing.
    #[error(
        "vertices, or edges, are given both as members and by a predicate; make two views and unite them"
    )]
    Mixed,
    /// Members are fixed anyway.
    #[error("only a view by a predicate of vertices can be frozen; members stay the same by themselves")]
    NothingToFreeze,
    /// A member that the store does not have.
    #[error("{what} is not in version {version}; a view is made of what is there")]
    NoSuchMember {
        /// The vertex or edge.
        what: String,
        /// The version it was looked for in.
        version: u64,
    },
    /// It has handlers at work.
    #[error("view {name:?} has handlers at work; stop them before it is renamed")]
    Watched {
        /// The name.
        name: String,
    },
    /// The definition that is stored cannot be read.
    #[error("the definition of view {name:?} cannot be read: {what}; a later release may have written it")]
    Unreadable {
        /// The view.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// Its predicate cannot be used, or it cannot be evaluated.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// It could not be stored.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The store is closed.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl From<PredicateError> for ViewError {
    fn from(error: PredicateError) -> Self {
        ViewError::Evaluate(error.into())
    }
}

/// A handler cannot be put to work, or its events cannot be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EventError {
    /// The view has a handler of this name at work.
    #[error("view {view:?} has a handler {name:?} at work already; stop it, or take another name")]
    InUse {
        /// The view.
        view: String,
        /// The name.
        name: String,
    },
    /// The name cannot be one.
    #[error(
        "{name:?} is not a usable name of a handler: 1 to 40 characters, no '/' and no control characters"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// It would be told of nothing.
    #[error("a handler is told of at least one kind of events, and of at least one at a time")]
    Nothing,
    /// The version the handler had come to is no longer there.
    #[error(
        "the handler had come to version {version}, which is no longer kept; `retain` keeps versions, and another name starts now"
    )]
    NotRetained {
        /// The version.
        version: u64,
    },
    /// What the catalog keeps of the handler cannot be read.
    #[error(
        "{what} of the handler {name:?} of view {view:?} cannot be read; a later release may have written it, and forgetting the handler removes it"
    )]
    Unreadable {
        /// The view.
        view: String,
        /// The name.
        name: String,
        /// Its place, or one of its dead letters.
        what: &'static str,
    },
    /// The version the handler had come to cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The view cannot be used.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The log cannot be read.
    #[error(transparent)]
    Changes(#[from] ChangesError),
    /// A place could not be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// There is no thread for it.
    #[error("no thread could be started for the handler: {reason}")]
    Thread {
        /// What the system says.
        reason: String,
    },
    /// The store is closed, or belongs to another process.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl From<EvaluateError> for EventError {
    fn from(error: EvaluateError) -> Self {
        EventError::View(error.into())
    }
}
