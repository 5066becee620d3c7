//! Breadth-first searches from up to 64 sources at once, one bit each.
//!
//! Method: MS-BFS (Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper, Neumann, Vo, "The More the Merrier: Efficient
//! Multi-Source Graph Traversal", PVLDB 8(4), 2014, section 3): searches that meet at a vertex in the same level look at
//! its list once.
//!
//! ```text
//!  seen[v]      which searches have reached v
//!  frontier[v]  which reached it in the last level        next[w] |= frontier[v] & !seen[w]
//! ```
//!
//! Invariant: `frontier` and `next` are 0 but for the vertices listed.

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::{AlgorithmError, Control};

/// How many searches there can be.
pub(crate) const SEARCHES: usize = u64::BITS as usize;

/// Vertices expanded between two looks at [`Control`].
const VERTICES_PER_CHECK: usize = 1 << 10;

/// The searches of one thread; memory is kept from one batch of sources to the next.
pub(crate) struct MultiBfs {
    seen: Vec<u64>,
    frontier: Vec<u64>,
    next: Vec<u64>,
}

impl MultiBfs {
    pub(crate) fn new(flat: &FlatView) -> Self {
        let zeros = || vec![0; flat.id_bound() as usize];
        MultiBfs { seen: zeros(), frontier: zeros(), next: zeros() }
    }

    /// Searches from `sources`, at most [`SEARCHES`], and not beyond `depth_limit`; `visit` gets the level, a vertex, and the searches that reach it
    /// there, from level 1 on.
    pub(crate) fn run(
        &mut self,
        flat: &FlatView,
        direction: Direction,
        (sources, depth_limit): (&[VertexId], u32),
        control: &Control,
        mut visit: impl FnMut(u32, VertexId, u64),
    ) -> Result<(), AlgorithmError> {
        self.seen.fill(0);
        for (search, &source) in sources.iter().take(SEARCHES).enumerate() {
            self.seen[source as usize] |= 1 << search;
            self.frontier[source as usize] |= 1 << search;
        }
        let mut listed = sources.to_vec();
        listed.sort_unstable();
        listed.dedup();
        for level in 1..=depth_limit {
            let mut reached = Vec::new();
            for (position, &vertex) in listed.iter().enumerate() {
                if position.is_multiple_of(VERTICES_PER_CHECK) && control.check().is_err() {
                    return self.abandon();
                }
                self.expand(flat, direction, vertex, &mut reached);
            }
            listed.iter().for_each(|&vertex| self.frontier[vertex as usize] = 0);
            for &vertex in &reached {
                let new = std::mem::take(&mut self.next[vertex as usize]);
                self.seen[vertex as usize] |= new;
                self.frontier[vertex as usize] = new;
                visit(level, vertex, new);
            }
            listed = reached;
            if listed.is_empty() {
                break;
            }
        }
        listed.iter().for_each(|&vertex| self.frontier[vertex as usize] = 0);
        Ok(())
    }

    #[inline]
    fn expand(
        &mut self,
        flat: &FlatView,
        direction: Direction,
        vertex: VertexId,
        reached: &mut Vec<VertexId>,
    ) {
        let searches = self.frontier[vertex as usize];
        flat.neighbors(direction, vertex).for_each_slice(|slice| {
            for &neighbor in slice {
                let new = searches & !self.seen[neighbor as usize];
                if new != 0 {
                    let next = &mut self.next[neighbor as usize];
                    if *next == 0 {
                        reached.push(neighbor);
                    }
                    *next |= new;
                }
            }
        });
    }

    /// Leaves the memory fit for other sources.
    fn abandon(&mut self) -> Result<(), AlgorithmError> {
        self.frontier.fill(0);
        self.next.fill(0);
        Err(AlgorithmError::Cancelled)
    }
}
