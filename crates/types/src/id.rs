//! Dense vertex ids, commit sequence numbers and the two directions of an edge.

/// A vertex as the store knows it: a dense number, handed out in order and never seen by users unless they asked
/// for `dense` keys. 32 bits while they fit (docs/decisions/0001-architecture.md says how 2^40 is reached).
pub type VertexId = u32;

/// The most vertices one store can hold with 32-bit ids; one more is refused before anything is written.
pub const MAX_VERTICES: u64 = u32::MAX as u64 - 1;

/// The number of a commit. Version `n` of the graph is the state after commit `n`; version 0 is empty.
pub type Sequence = u64;

/// Which end of an edge a neighbour list hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// From the source: the list holds destinations.
    Out,
    /// From the destination: the list holds sources.
    In,
}

impl Direction {
    /// The other direction.
    pub fn reverse(self) -> Self {
        match self {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
        }
    }
}
