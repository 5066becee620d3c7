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
    /// How many syncs it was told of.
    pub(crate) syncs: u64,
}

/// A sync that has run: the group it was for.
#[derive(Debug)]
pub(crate) struct Synced(pub(crate) u64);

impl Committer {
    pub(crate) fn end_sync(&mut self, synced: Synced) {
        assert!(self.syncs < synced.0 && synced.0 <= self.groups, "the log is told of syncs in their order");
        self.syncs = synced.0;
    }
}

/// Why no more are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Failed(String),
}
