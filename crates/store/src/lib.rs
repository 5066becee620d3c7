//! The store: everything between a transaction and the version its readers see.

mod commits;
mod error;
mod files;
mod history;
mod keys;
mod lists;
mod loads;
mod options;
mod reports;
mod store;
mod system;
mod transactions;
mod upkeep;
mod versions;
mod write_sets;

pub use commits::commit::BatchSummary;
pub use error::{
    BackupError, ChangesError, Closed, CommitError, Contested, HistoryError, OpenError, SchemaPart,
    WriteError,
};
pub use history::changes::{ChangeOptions, ChangeReader, Commit, Waiter};
pub use history::cursors::HANDLER_ITEMS;
pub use history::past::{At, Retained};
pub use history::retain::Retain;
pub use keys::dictionary::KeyHold;
pub use keys::recycler::VIEW_ITEMS;
pub use lists::fragment::RunColumn;
pub use lists::neighbors::{Head, Hinted, Neighbors};
pub use loads::staged::BulkLoad;
pub use options::{Durability, ListFormat, Options};
pub use reports::check::{CheckReport, Problem, check, check_on};
pub use reports::disk_use::DiskUse;
pub use reports::layout::{Layout, Level, TableLayout};
pub use reports::memory_use::MemoryUse;
pub use reports::stats::{EdgeTypeStats, Stats};
pub use store::{ReadGuard, Store, conflict_backoff};
pub use system::allocator::{Allocator, GiveBack, use_allocator};
pub use system::parallel::{by_reference, parallel_map};
pub use system::pool::{in_callers_pool, require_threads};
pub use system::prefetch::prefetch;
pub use transactions::pending::PendingCommit;
pub use transactions::transaction::{Isolation, Savepoint, Transaction, TransactionOptions};
pub use upkeep::watch::Watched;
pub use versions::derived::{DerivedEdit, DerivedGraph};
pub use versions::diff::{Diff, EdgeDiff, EdgeRows};
pub use versions::expiry::Oldest;
pub use versions::flat_table::{FlatTable, ListPass, Reads};
pub use versions::scan::Run;
pub use versions::version::Version;
pub use write_sets::catalog::{ItemChange, MAX_ITEM_BYTES, edge_type_item};
pub use write_sets::ops::{EdgeOps, OpColumn, Rebound, VertexPut, WriteSet};
