//! Evergraph: one store for graphs that never stop changing. It takes durable transactional updates, and from the same
//! data serves point queries and whole-graph analytics, each on a consistent version.
//!
//! ```
//! use evergraph::algorithms::{Control, PageRankOptions, pagerank};
//! use evergraph::{Database, Options};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("net.eg");
//! let db = Database::open(&path, Options::default())?;
//!
//! let mut tx = db.begin()?;
//! tx.put_vertex("alice", Some("Person"), &[("age", 30.into())])?;
//! tx.put_edge("alice", "bob", "pays", &[("amount", 10.0.into())])?;
//! tx.put_edge("carol", "bob", "pays", &[("amount", 2.5.into())])?;
//! tx.commit()?;
//!
//! let snapshot = db.snapshot()?; // never changes, and never waits for writers
//! db.put_edge("bob", "carol", "pays", &[])?;
//! assert!(!snapshot.has_edge("bob", "carol", Some("pays")));
//!
//! let ranks = pagerank(&snapshot, &PageRankOptions::default(), &Control::new())?;
//! let bob = snapshot.vertex_id("bob").ok_or("no bob")?;
//! assert!(ranks.scores.iter().all(|score| *score <= ranks.scores[bob as usize]));
//!
//! db.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | see |
//! |---|---|
//! | open, close, maintain | [`Database`], [`Store`], [`Options`], [`check`] |
//! | write | [`Transaction`], [`Store::put_edge`], [`Store::add_edges`], [`Database::load`] |
//! | read | [`Snapshot`], [`Transaction`] |
//! | follow | [`Store::changes`], [`ChangeReader`] |
//! | write files | [`export`], [`Snapshot::edge_table`] |
//! | keep a part by name, and be told of changes in it | [`Database::views`], [`View`], [`View::on_update`] |
//! | compute | [`algorithms`], on any [`GraphView`] |
//! | follow | [`Database::window`], [`Database::follow`] with [`algorithms::incremental`], [`Store::changes`] |

mod database;
mod export;
mod loading;
mod loading_course;
mod loading_parts;
#[cfg(doctest)]
mod own_algorithms;

/// Graph algorithms, each a function of a [`GraphView`]; see [`evergraph_analytics`].
///
/// ```
/// use evergraph::algorithms::{Control, connected_components};
/// use evergraph::{Database, Options};
///
/// let db = Database::in_memory(Options::default());
/// db.put_edge(1, 2, "edge", &[])?;
/// db.put_edge(3, 4, "edge", &[])?;
/// let components = connected_components(&db.snapshot()?, &Control::new())?;
/// assert_eq!(components.count, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod algorithms {
    pub use evergraph_analytics::*;
}

/// Random graphs from a seed; see [`evergraph_generate`].
///
/// ```
/// use evergraph::generate::{Generator, Kronecker, Model};
///
/// let generator = Generator::new(Model::Kronecker(Kronecker::graph500(10, 16)), 1)?;
/// assert_eq!(generator.collect_pairs()?.len(), 16 << 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod generate {
    pub use evergraph_generate::*;
}

/// Text files of edges: what may be said about them, and what goes wrong; see [`evergraph_load`]. [`Database::load`]
/// reads one into a store, [`export`] writes one.
///
/// ```
/// use evergraph::LoadRequest;
/// use evergraph::load::{Format, LoadOptions, OnError};
///
/// let options = LoadOptions { format: Some(Format::Csv), on_error: OnError::Skip, ..LoadOptions::default() };
/// let request = LoadRequest { edge_type: "pays".to_owned(), options, ..LoadRequest::default() };
/// # assert_eq!(request.edge_type, "pays");
/// ```
pub mod load {
    pub use evergraph_load::*;
}

pub use database::Database;
pub use evergraph_disk::{Access, Corruption, Disk, DiskError};
pub use evergraph_load::{ExportError, LoadError};
pub use evergraph_store::{
    Allocator, At, BackupError, BatchSummary, BulkLoad, ChangeOptions, ChangeReader, ChangesError,
    CheckReport, Closed, Commit, CommitError, Contested, Diff, DiskUse, Durability, EdgeDiff, EdgeOps,
    EdgeRows, EdgeTypeStats, GiveBack, HistoryError, Isolation, Layout as StoreLayout, Level, ListFormat,
    MemoryUse, OpColumn, OpenError, Options, PendingCommit, Problem, ReadGuard, Retain, Retained, Run,
    RunColumn, Savepoint, SchemaPart, Stats, Store, TableLayout, Transaction, TransactionOptions, Version,
    VertexPut, Watched, WriteError, WriteSet, check, conflict_backoff, in_callers_pool, require_threads,
    use_allocator,
};
pub use evergraph_stream::{
    Advance, Batch, Duplicates, Followed, Follower, Order, Pause, Span, Stream, StreamError, StreamOptions,
    Units, Window, WindowError, WindowOptions, WindowStats, WindowStep,
};
pub use evergraph_types::{
    Alteration, Cells, Column, Direction, EdgeBatch, EdgeData, EdgeType, EdgeTypeId, EdgeTypeOptions, Key,
    KeyColumn, KeyKind, KeyRef, Property, PropertyId, PropertyOwner, PropertyType, ScalarType, Schema,
    SchemaError, Sequence, TextValues, Value, VertexData, VertexId, VertexTypeId, days_from_civil, shown,
};
pub use evergraph_view::{
    Csr, DiffError, Difference, FlatView, GraphView, ListedEdges, Neighbors, NoRoom, RecordBatch, Snapshot,
    room_for_ids,
};
pub use evergraph_views::{
    DeadLetter, Definition, EdgeMode, EdgeSelection, EvaluateError, Event, EventError, EventKind,
    EventReader, Handler, HandlerError, HandlerOptions, HandlerState, HandlerStatus, Part, Predicate,
    PredicateError, Scratch, Subject, Subscription, Transition, VertexSelection, View, ViewError,
    ViewRequest, ViewStatistics, Views,
};
pub use export::export;
pub use loading::{DatabaseLoadError, LoadReport, LoadRequest};
