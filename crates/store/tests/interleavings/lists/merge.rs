//! What stands in for the applier's buffers: all that it has applied.

use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) groups: u64,
    pub(crate) requests: BTreeSet<u64>,
}
