//! Named views (Concerto, ICDE 2013, sections 3 and 4): subgraphs that are kept by name in the store, by explicit members
//! or by a predicate, with set algebra over them. A view evaluated on a snapshot is an ordinary
//! [`Snapshot`](evergraph_view::Snapshot), on which every algorithm and every query runs confined.
//!
//! ```text
//!  catalog item ─► Definition ─► bind to the schema ─► evaluate over the columns ─► Part ─► | & - expand ─► Snapshot
//!  "view/NAME"     members or                          of one version              vertices,              confined
//!                  predicates                                                      edge rule
//! ```

mod algebra;
mod bind;
mod definition;
mod error;
mod evaluate;
mod events;
mod parse;
mod part;
mod predicate;
mod registry;
mod scratch;
mod token;

pub use algebra::EdgeMode;
pub use definition::{Definition, EdgeSelection, VertexSelection, ViewRequest};
pub use error::{EvaluateError, EventError, PredicateError, ViewError};
pub use events::{
    DeadLetter, Event, EventKind, EventReader, Handler, HandlerError, HandlerOptions, HandlerState,
    HandlerStatus, Subject, Subscription, Transition,
};
pub use part::Part;
pub use predicate::Predicate;
pub use registry::{View, ViewStatistics, Views};
pub use scratch::Scratch;
