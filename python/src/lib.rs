//! `evergraph._native`: the Python module, a thin layer over the crates.
//!
//! ```text
//!  module ─► database, transaction, snapshot, algorithm      one class each, called by evergraph/*.py
//!               │         │           │          │
//!               └─ gate: without the interpreter, errors to exceptions, Ctrl-C ─┘
//!  in:  key, value, schema, column ◄─ arrow ◄─ capsule       out: key, value, table ─► capsule
//! ```

mod algorithm;
mod allocator;
mod arrow;
mod capsule;
mod column;
mod command;
mod database;
mod error;
mod events;
mod frontier;
mod gate;
mod history;
mod incremental;
mod key;
mod load;
mod module;
mod progress;
mod schema;
mod snapshot;
mod span;
mod stats;
mod table;
mod times;
mod transaction;
mod value;
mod view;
mod window;
