//! The rivals of the store in its own trade: nodes and links with properties, written and read one at a time.
//!
//! Each keeps a link under the key (source, kind, destination). They are compiled only where a benchmark asks for them
//! (feature `all`), since they bring C and C++ along.

#[cfg(any(feature = "lmdb", feature = "rocksdb"))]
mod cells;
mod link_store;
mod links;
#[cfg(feature = "lmdb")]
mod lmdb;
mod rivals;
#[cfg(feature = "rocksdb")]
mod rocks;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use link_store::{Fault, Link, LinkSession, LinkStore, Node};
pub use links::{LinkRef, Links, Payload};
pub use rivals::rivals;
