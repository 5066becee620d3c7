//! A history: transactions of many processes that appended to lists and read them.
//!
//! Lists say more than registers: a list that was read tells in which order everything before was written, so that
//! the dependencies between transactions follow from what they saw alone (Kingsbury and Alvaro, *Elle*, VLDB 2020).
//!
//! Invariant, the caller's: no item is appended twice.

/// A list that transactions append to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum List {
    /// Appends never conflict: two transactions at the same time may both append.
    Shared(u32),
    /// An append is a change of the whole list: of two at the same time one is refused.
    Exclusive(u32),
}

/// What a transaction did, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// It put an item at the end of a list.
    Append {
        /// The list.
        list: List,
        /// The item.
        item: u64,
    },
    /// It read a list.
    Read {
        /// The list.
        list: List,
        /// What was in it, own appends included.
        items: Vec<u64>,
    },
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was told that it is committed.
    Committed,
    /// It was refused, or it rolled back. What it read still counts.
    Aborted,
    /// It was told nothing: it counts as committed if anyone saw what it wrote.
    Unknown,
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Who ran it, one after the other.
    pub process: u32,
    /// When it was about to begin, by a clock that all processes share.
    pub began: u64,
    /// When its end was known, by the same clock.
    pub ended: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What it did.
    pub ops: Vec<Op>,
}
