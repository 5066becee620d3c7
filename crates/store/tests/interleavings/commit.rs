//! Requests that are numbers, in the place of the committer's.

use evergraph_store::BatchSummary as Summary;

pub(crate) type BatchSummary = Summary;

pub(crate) const INTERRUPTED: &str = "a commit was interrupted";

/// What a caller wants committed; it is only told apart.
#[derive(Debug)]
pub(crate) enum Request {
    Writes(u64),
    Batch(u64),
}

impl Request {
    pub(crate) fn of(number: u64) -> Self {
        if number.is_multiple_of(2) { Request::Writes(number) } else { Request::Batch(number) }
    }

    pub(crate) fn number(&self) -> u64 {
        match self {
            Request::Writes(number) | Request::Batch(number) => *number,
        }
    }
}
