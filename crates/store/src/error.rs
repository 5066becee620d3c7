//! What can go wrong, one enum per operation, split by what the caller can do about it.

use std::fmt;
use std::path::PathBuf;

use evergraph_disk::{Corruption, DiskError};
use evergraph_log::LogError;
use evergraph_segment::SegmentError;
use evergraph_types::{Key, PropertyOwner, SchemaError, Sequence, TimeText, shown};
use thiserror::Error;

/// Opening a store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process (or another handle in this one) has it open.
    #[error("{0}")]
    Locked(DiskError),
    /// The path is empty, which would stand for the directory the program is in.
    #[error("the path of a store is empty: name a directory")]
    NoPath,
    /// The directory holds something else.
    #[error(
        "{} is no Evergraph store: it holds other files and no MANIFEST; name another directory, or a new one",
        path.display()
    )]
    NotAStore {
        /// The directory.
        path: PathBuf,
    },
    /// The path is that of a file.
    #[error("{} is no Evergraph store: it is a file, and a store is a directory", path.display())]
    NotADirectory {
        /// The file.
        path: PathBuf,
    },
    /// It was to be read, but it is not there.
    #[error("there is no store at {}; opening it to write makes one", path.display())]
    NotFound {
        /// The directory.
        path: PathBuf,
    },
    /// A newer program wrote it.
    #[error("{} has format version {found}, this program reads up to {supported}; use a newer Evergraph", path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version known here.
        supported: u32,
    },
    /// Bytes on disk are not those that were written.
    #[error(transparent)]
    Corrupt(#[from] Corruption),
    /// The options do not fit the store.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The disk refused.
    #[error(transparent)]
    Disk(DiskError),
}

/// A write inside a transaction.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// It does not fit the schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The transaction's time is over.
    #[error(
        "the transaction has run longer than its timeout; nothing of it was committed, begin another one"
    )]
    TimedOut,
    /// The savepoint was released or undone, or is of another transaction.
    #[error(
        "the savepoint is not there any more: it was released, or one before it was released or rolled back to; or it is of another transaction"
    )]
    NoSavepoint,
    /// The store was closed, or belongs to another process.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// Committing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Another transaction changed the same thing first. Run this one again from the start.
    #[error("commit {sequence} changed {what} after this transaction began; run the transaction again")]
    Conflict {
        /// What it changed that this transaction wrote to, or has read.
        what: Contested,
        /// The commit that came first.
        sequence: Sequence,
    },
    /// The writes do not fit the schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The transaction's time was over before it committed.
    #[error(
        "the transaction has run longer than its timeout; nothing of it was committed, begin another one"
    )]
    TimedOut,
    /// A savepoint was released or undone, or is of another transaction.
    #[error(
        "the savepoint is not there any more: it was released, or one before it was released or rolled back to; or it is of another transaction"
    )]
    NoSavepoint,
    /// The write could not be made durable. The store takes no more commits until it is opened again.
    #[error(
        "the store takes no more commits because one could not be made durable: {reason}; close it and open it again"
    )]
    Durability {
        /// The first failure.
        reason: String,
    },
    /// Nothing could be archived. Nothing is lost: the log and the older segments hold everything.
    #[error("archiving failed, the store goes on as before: {reason}")]
    Archive {
        /// What the disk said.
        reason: String,
    },
    /// A file that only a load has could not be written or read back. Nothing of the load is in the store.
    #[error("nothing was loaded, the store goes on as before: {reason}")]
    NotLoaded {
        /// What the disk said.
        reason: String,
    },
    /// Whoever watched it told it to stop. Nothing of it was committed.
    #[error("it was cancelled before it was committed; nothing of it is in the store")]
    Cancelled,
    /// The store was opened to be read only.
    #[error("the store is open read-only; open it without read_only to write")]
    ReadOnly,
    /// The store was closed, or belongs to another process.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// What another transaction has changed first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Contested {
    /// A vertex: it was put, or deleted.
    Vertex {
        /// Its key.
        key: Key,
    },
    /// An edge, of a `multi` type all edges, from one vertex to another.
    Edge {
        /// Where it leaves; of a *symmetric* type it may be either end.
        src: Key,
        /// Where it leads.
        dst: Key,
        /// The name of its type.
        edge_type: String,
    },
    /// Edges of a vertex, or a batch of more than are remembered one by one.
    Edges {
        /// The vertex; `None` of a batch.
        key: Option<Key>,
        /// The name of their type.
        edge_type: String,
    },
    /// The schema.
    Schema {
        /// What is new, dropped, or has another name since the transaction began.
        parts: Vec<SchemaPart>,
    },
    /// An item of the catalog.
    Item {
        /// Its name.
        name: String,
    },
}

/// A part of the schema, by the name it had before it was dropped or renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaPart {
    /// What kind of keys vertices have: the first key decides.
    Keys,
    /// An edge type.
    EdgeType {
        /// Its name.
        name: String,
    },
    /// A vertex type.
    VertexType {
        /// Its name.
        name: String,
    },
    /// A property.
    Property {
        /// Whose.
        owner: PropertyOwner,
        /// Its name.
        name: String,
    },
}

impl fmt::Display for Contested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contested::Vertex { key } => write!(f, "vertex {}", shown(key)),
            Contested::Edge { src, dst, edge_type } => {
                write!(f, "edge {} -> {} of type {edge_type:?}", shown(src), shown(dst))
            }
            Contested::Edges { key: Some(key), edge_type } => {
                write!(f, "edges of type {edge_type:?} of vertex {}", shown(key))
            }
            Contested::Edges { key: None, edge_type } => write!(f, "many edges of type {edge_type:?}"),
            Contested::Schema { parts } => {
                f.write_str("the schema")?;
                for (position, part) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if position == 0 { ", namely " } else { " and " })?;
                }
                f.write_str(if parts.is_empty() { "" } else { "," })
            }
            Contested::Item { name } => write!(f, "catalog item {name:?}"),
        }
    }
}

impl SchemaPart {
    /// The name of the type or property.
    pub fn name(&self) -> Option<&str> {
        match self {
            SchemaPart::Keys => None,
            SchemaPart::EdgeType { name }
            | SchemaPart::VertexType { name }
            | SchemaPart::Property { name, .. } => Some(name),
        }
    }
}

impl fmt::Display for SchemaPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaPart::Keys => f.write_str("the kind of keys"),
            SchemaPart::EdgeType { name } => write!(f, "edge type {name:?}"),
            SchemaPart::VertexType { name } => write!(f, "vertex type {name:?}"),
            SchemaPart::Property { owner: PropertyOwner::Vertices, name } => {
                write!(f, "vertex property {name:?}")
            }
            SchemaPart::Property { owner: PropertyOwner::EdgeType(edge_type), name } => {
                write!(f, "property {name:?} of edge type {edge_type:?}")
            }
        }
    }
}

impl From<WriteError> for CommitError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Schema(error) => CommitError::Schema(error),
            WriteError::TimedOut => CommitError::TimedOut,
            WriteError::NoSavepoint => CommitError::NoSavepoint,
            WriteError::Closed(closed) => CommitError::Closed(closed),
        }
    }
}

/// Taking a backup.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackupError {
    /// There is a store already.
    #[error("there is a store at {} already; name a directory that is empty or absent", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// The directory lies in the one of the store itself, and would go with it.
    #[error("{} lies in the store {}; name a directory outside it", path.display(), store.display())]
    Inside {
        /// The directory.
        path: PathBuf,
        /// The directory of the store.
        store: PathBuf,
    },
    /// The directory cannot take a store.
    #[error(transparent)]
    Target(#[from] OpenError),
    /// It could not be written.
    #[error("the backup was not finished, remove its directory: {reason}")]
    Failed {
        /// What the disk said.
        reason: String,
    },
    /// Whoever watched it told it to stop. What is in the directory is no store; another backup may be written there.
    #[error("the backup was cancelled; its directory holds no store and may be removed or used again")]
    Cancelled,
    /// The store was closed, or belongs to another process.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// Following a store's commits.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChangesError {
    /// The commits asked for are no longer kept.
    #[error(
        "commit {asked} is no longer in the log, which begins with commit {first}; begin anew from a snapshot, and open the store with a longer retain= for slow readers"
    )]
    Trimmed {
        /// The commit asked for.
        asked: Sequence,
        /// The first one there is.
        first: Sequence,
    },
    /// A commit that was not made yet, or not given out yet.
    #[error("version {asked} is ahead: the newest is {newest}")]
    Ahead {
        /// The commit asked for.
        asked: Sequence,
        /// The newest one that could be asked for.
        newest: Sequence,
    },
    /// The name of a cursor cannot be that of a file.
    #[error(
        "{name:?} is no name for a cursor: 1 to 100 letters, digits, '-', '_' or '.', not beginning with '.'"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// Another reader has the cursor.
    #[error("the cursor {name:?} is in use; close the other reader, or take another name")]
    InUse {
        /// Its name.
        name: String,
    },
    /// The store was opened to be read only, and a cursor with a name would be written.
    #[error("the store is open read-only: open it without read_only, or follow it without a name")]
    ReadOnly,
    /// The store was closed, or belongs to another process.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// The log is damaged.
    #[error(transparent)]
    Corrupt(#[from] Corruption),
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The log cannot be read for another reason.
    #[error("the log cannot be followed: {reason}")]
    Log {
        /// Why.
        reason: String,
    },
}

/// Asking for a version of the past.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// It is not kept, or not there yet.
    #[error(
        "{problem}: there are the versions {first} (of {}) to {last}{advice}",
        TimeText(*first_time_micros)
    )]
    NotRetained {
        /// What was asked for, and whether that is gone or still to come.
        problem: String,
        /// What to do about it; may be empty.
        advice: &'static str,
        /// The oldest version there is.
        first: Sequence,
        /// When its commit was made, in microseconds since 1970-01-01 UTC.
        first_time_micros: i64,
        /// The newest version.
        last: Sequence,
    },
    /// What history is made from cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store was closed, or belongs to another process.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// Something was asked of a store that is of no more use here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Closed {
    /// It was closed.
    #[error("the store is closed")]
    Ended,
    /// This process was forked from the one that opened it, which goes on to use it.
    #[error(
        "the store was opened by the process that this one was forked from, and is that one's alone: open the store in the child, or start processes with 'spawn'"
    )]
    Forked,
}

impl From<LogError> for OpenError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Disk(error) => error.into(),
            LogError::Corruption(corruption) => OpenError::Corrupt(corruption),
            LogError::NewerFormat { path, found, supported } => {
                OpenError::NewerFormat { path, found, supported }
            }
            LogError::OtherStore { path } => {
                OpenError::Corrupt(Corruption::new(&path, 0, "the file belongs to another store"))
            }
            LogError::Trimmed { directory, asked, .. } => {
                let what = format!("commit {asked} is kept, but no file of the log holds it");
                OpenError::Corrupt(Corruption::new(&directory, 0, what))
            }
            other => OpenError::Corrupt(Corruption::new(std::path::Path::new("log"), 0, other.to_string())),
        }
    }
}

impl From<SegmentError> for OpenError {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Disk(error) => error.into(),
            SegmentError::Corrupt(corruption) => OpenError::Corrupt(corruption),
            SegmentError::NewerFormat { path, found, supported } => {
                OpenError::NewerFormat { path, found, supported }
            }
            SegmentError::WrongStore { path } => {
                OpenError::Corrupt(Corruption::new(&path, 0, "the file belongs to another store"))
            }
            other => {
                OpenError::Corrupt(Corruption::new(std::path::Path::new("segments"), 0, other.to_string()))
            }
        }
    }
}

impl From<DiskError> for OpenError {
    fn from(error: DiskError) -> Self {
        match error {
            DiskError::Locked { .. } => OpenError::Locked(error),
            other => OpenError::Disk(other),
        }
    }
}

impl CommitError {
    /// What was to be committed could not be written.
    pub(crate) fn durability(error: impl std::fmt::Display) -> Self {
        CommitError::Durability { reason: error.to_string() }
    }

    /// What was to be loaded could not be written to where nothing of the store is.
    pub(crate) fn not_loaded(error: impl std::fmt::Display) -> Self {
        CommitError::NotLoaded { reason: error.to_string() }
    }
}
