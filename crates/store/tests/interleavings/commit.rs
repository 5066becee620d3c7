//! What stands in for the committer's.

use evergraph_store::BatchSummary as Summary;

pub(crate) type BatchSummary = Summary;

/// What a caller wants committed: a number.
pub(crate) type Request = u64;

pub(crate) const INTERRUPTED: &str = "a commit was interrupted";
