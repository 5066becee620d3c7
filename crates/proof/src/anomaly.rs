//! What may be wrong with a history, by the names of the literature: Adya, *Weak Consistency* (1999); Cerone and
//! Gotsman, *Analysing Snapshot Isolation* (2018).

use std::fmt;

/// What transactions are promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Strong snapshot isolation: each reads all that was committed before it began, and nothing later; of two that
    /// change one exclusive list at the same time one commits.
    Snapshot,
    /// Strict serializability: as if one ran after the other, in an order that time agrees with.
    Serializable,
}

/// A kind of anomaly, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An item was read that nobody appended.
    Garbage,
    /// An item was read twice in one list.
    Duplicate,
    /// Two reads disagree on the order of items.
    Disorder,
    /// A committed append is not there for one who began later, nor for anyone else.
    Lost,
    /// G1a: a read of what a transaction that was refused appended.
    AbortedRead,
    /// G1b: a read of the middle of a transaction.
    IntermediateRead,
    /// A transaction does not see its own appends at the end, or sees one list in two states.
    Internal,
    /// G0: a cycle of writes.
    WriteCycle,
    /// G1c: a cycle of writes and of reads of them.
    CircularFlow,
    /// G-single: a cycle with one read of what was changed after; read skew and lost updates.
    ReadSkew,
    /// G-nonadjacent: a cycle with several such reads, none next to another; long forks.
    LongFork,
    /// G2: a cycle with such reads side by side: write skew and phantoms.
    WriteSkew,
}

impl Kind {
    /// Whether a level lets it happen.
    pub fn is_allowed(self, level: Level) -> bool {
        level == Level::Snapshot && self == Kind::WriteSkew
    }
}

/// An anomaly of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Its kind.
    pub kind: Kind,
    /// The transactions in it, by their places in the history, in the order of the cycle if it is one.
    pub transactions: Vec<usize>,
    /// What happened.
    pub story: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.story)
    }
}
