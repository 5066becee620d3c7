//! Events: handlers that are told what changes in a view, off the way of commits (Concerto, section 4).
//!
//! ```text
//!  log ─► router: one thread ─► State: old and new ─► Index: whom it concerns ─► a queue for each handler ─► its thread
//!              │                                                                     │ full, or starting late
//!              │                                                                     ▼
//!              └── writes cursors ◄── positions ◄──────────────────── a follower of its own, from its place in the log
//! ```
//!
//! The log is the queue: what a handler has not dealt with stays there, and memory holds a bounded part of it.

mod change;
mod cursor;
mod ends;
mod event;
mod follower;
mod handler;
mod index;
mod letters;
mod reader;
mod router;
mod sets;
mod state;
mod subscription;

pub use event::{Event, EventKind, Subject, Transition};
pub use handler::{Handler, HandlerError, HandlerOptions};
pub use letters::DeadLetter;
pub use reader::EventReader;
pub(crate) use router::{Events, items_of_handlers};
pub use subscription::{HandlerState, HandlerStatus, Subscription};
