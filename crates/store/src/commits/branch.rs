//! What commits leave for a load that goes on beside them.
//!
//! ```text
//!  version 7 ─► the load: ids, segment, tables ................ ─► catches up ─► published as 10
//!     │                                                               ▲
//!     └─► commit 8 ─► commit 9 ─► published, and in the journal ──────┘
//! ```
//!
//! The load and the commits are made of one version and share what neither changes. When the load is done, what was committed
//! meanwhile is applied to what it made, as recovery would, and that is published: so the commits count as those that came
//! later where both changed the same edge or vertex. A serializable transaction that did not see what the load brings, and would have,
//! cannot come later, and is refused.
//!
//! The schema of the load is the newest one when it begins, with what it brings, and the next commit's is made of that: so all
//! schemas follow each other in the order in which they are applied.
//!
//! Invariants: a block that was there when the load began is not freed before it ends, whatever commits retire; keys
//! and types that the load brought are in the log with the first commit that may name them ([`Resolver::note_logged`]).
//!
//! [`Resolver::note_logged`]: crate::commits::resolve::Resolver::note_logged

use evergraph_types::{EdgeTypeId, Sequence};

use crate::lists::heap::Block;
use crate::transactions::reads::Reads;
use crate::versions::reclaim::take_born_by;
use crate::versions::version::Version;
use crate::write_sets::codec::encode;
use crate::write_sets::ops::WriteSet;

/// Commits wait for a load when they are so many bytes, as they are logged, ahead of it.
const JOURNAL_BYTES: u64 = 64 << 20;

/// A load under way, as the committer knows it.
#[derive(Debug)]
pub(crate) struct Branch {
    /// The version it began with.
    base: Sequence,
    /// The type of its edges.
    edge_type: EdgeTypeId,
    /// What was committed since and the load has not caught up with.
    journal: Vec<WriteSet>,
    /// What that takes in a log.
    journal_bytes: u64,
    /// Blocks of the version it began with that commits have replaced. What the load makes may reach them.
    withheld: Vec<Block>,
}

impl Branch {
    /// A load of edges of a type that begins with version `base`.
    pub(crate) fn new(base: Sequence, edge_type: EdgeTypeId) -> Self {
        Branch { base, edge_type, journal: Vec::new(), journal_bytes: 0, withheld: Vec::new() }
    }

    /// Whether what a transaction has read may be other than it was once the load, which counts as earlier, is there.
    pub(crate) fn changes(&self, reads: &Reads) -> bool {
        !reads.absent_keys.is_empty()
            || reads.edges.iter().any(|(edge_type, ..)| *edge_type == self.edge_type)
            || reads.lists.iter().any(|(edge_type, _)| *edge_type == self.edge_type)
    }

    /// The type of its edges.
    pub(crate) fn edge_type(&self) -> EdgeTypeId {
        self.edge_type
    }

    /// Notes what is about to be committed.
    pub(crate) fn note_commit(&mut self, writes: &WriteSet) {
        self.journal_bytes += encode([writes].into_iter()).len() as u64;
        self.journal.push(writes.clone());
    }

    /// Keeps back those of the blocks that a commit has retired which the load may still reach.
    pub(crate) fn withhold(&mut self, retired: &mut Vec<Block>) {
        self.withheld.extend(take_born_by(self.base, retired));
    }

    /// Whether commits are to wait.
    pub(crate) fn is_full(&self) -> bool {
        self.journal_bytes > JOURNAL_BYTES
    }

    /// What was committed since this was last asked for, and how many bytes that takes in a log.
    pub(crate) fn take_journal(&mut self) -> (Vec<WriteSet>, u64) {
        (std::mem::take(&mut self.journal), std::mem::take(&mut self.journal_bytes))
    }

    /// The blocks that commits have made beside the load and `newest` reaches, which was made of `base` by them.
    pub(crate) fn born_since(&self, base: &Version, newest: &Version) -> Vec<Block> {
        let mut blocks = Vec::new();
        newest.for_each_block_since(base, &mut |block| blocks.push(block));
        take_born_by(self.base, &mut blocks);
        blocks
    }

    /// The blocks that were kept back, for a load that was given up.
    pub(crate) fn into_withheld(self) -> Vec<Block> {
        self.withheld
    }
}
