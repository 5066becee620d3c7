//! What stands in for the committer's.

use evergraph_store::BatchSummary as Summary;

pub(crate) type BatchSummary = Summary;

/// What a caller wants committed: a number.
pub(crate) type Request = u64;

pub(crate) const INTERRUPTED: &str = "a commit was interrupted";

/// What only the committer touches.
#[derive(Debug, Default)]
pub(crate) struct Committer {
    /// How many groups it has accepted.
    pub(crate) groups: u64,
    pub(crate) refusal: Option<Refusal>,
}

/// Why no more are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Failed(String),
}
