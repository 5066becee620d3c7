//! Which versions open transactions began with: what the committer must remember of recent changes depends on it.
//!
//! Invariant: a transaction is counted before it reads its begin version, so no change that it must be compared with
//! is forgotten meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;

use evergraph_types::Sequence;

use crate::system::sync::{Mutex, lock};
use crate::versions::version::Version;

/// The begin versions of all open transactions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers {
    begins: Arc<Mutex<BTreeMap<Sequence, usize>>>,
}

/// Keeps a transaction counted.
#[derive(Debug)]
pub(crate) struct PinnedWriter {
    writers: Writers,
    begin: Sequence,
}

impl Writers {
    /// Counts a transaction that begins with the version `current` tells.
    pub(crate) fn begin(&self, current: impl FnOnce() -> Arc<Version>) -> (Arc<Version>, PinnedWriter) {
        let mut begins = lock(&self.begins);
        let version = current();
        let begin = version.sequence;
        *begins.entry(begin).or_default() += 1;
        (version, PinnedWriter { writers: self.clone(), begin })
    }

    /// The oldest begin version of an open transaction.
    pub(crate) fn oldest(&self) -> Option<Sequence> {
        lock(&self.begins).first_key_value().map(|(begin, _)| *begin)
    }
}

impl Drop for PinnedWriter {
    fn drop(&mut self) {
        let mut begins = lock(&self.writers.begins);
        if let Some(count) = begins.get_mut(&self.begin) {
            *count -= 1;
            if *count == 0 {
                begins.remove(&self.begin);
            }
        }
    }
}
