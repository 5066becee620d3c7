//! Shortest paths that follow a graph: the tree below both breadth-first search and weighted distances.
//!
//! Method: Ramalingam and Reps ("An Incremental Algorithm for a Generalization of the Shortest-Path Problem", Journal of
//! Algorithms 21, 1996, section 3), for many changes at once. Every reached vertex keeps the neighbor that its path comes
//! from. Only where the edge from that neighbor goes is anything lost:
//!
//! ```text
//!  1. lost      nearest first: a vertex whose edge from its parent went looks for another neighbor that is nearer and
//!               gives the same distance; if there is none it is cut off, and its children are lost next
//!  2. regained  every vertex cut off takes the best that its neighbors offer, and every inserted edge is tried
//!  3. spread    nearest first, what came nearer offers its own neighbors more
//! ```
//!
//! Complexity: O(a log a), with `a` the edges of vertices whose distance or parent changes, and of the changes.
//!
//! Invariant: between updates `distance[v]` is the least `distance[u] + length(u, v)` over in-neighbors, and parents form
//! a tree in which it is attained. In step 1 a neighbor that is nearer is settled already, which is why one that is only
//! as near (over an edge of length 0) is not asked: it might hang below the asker.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::ControlFlow;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatTable, GraphView};

use crate::engine::parallel::map;
use crate::engine::prefetch::prefetch_place;
use crate::incremental::Changes;
use crate::incremental::changes::Edge;
use crate::{AlgorithmError, NO_VERTEX};

/// Changed edges that one task looks at.
const PIECE: usize = 1 << 12;

/// Vertices that came nearer are asked for so many ahead: their entries, then the starts of their lists, then the distances of
/// the neighbors that these begin with.
const ENTRIES_AHEAD: usize = 12;
const LISTS_AHEAD: usize = 8;
const DISTANCES_AHEAD: usize = 4;

/// How much of a list is asked for.
const LIST_BYTES: usize = 128;

/// The edges of a view with lengths.
pub(super) trait Lengths {
    /// How far a vertex is. The largest value stands for a vertex that is not reached.
    type Distance: Copy + Ord + Send + Sync;
    /// How long an edge is.
    type Length: Copy;

    /// No edge is shorter.
    const SHORTEST: Self::Length;

    /// Calls `visit` with each neighbor of a vertex and the length of the edge, until it breaks.
    fn for_each(
        &mut self,
        direction: Direction,
        vertex: VertexId,
        visit: impl FnMut(VertexId, Self::Length) -> ControlFlow<()>,
    ) -> Result<(), AlgorithmError>;

    /// The least length of an edge in `direction` from `near` to `far`; `None` if there is none.
    fn length(
        &mut self,
        direction: Direction,
        near: VertexId,
        far: VertexId,
    ) -> Result<Option<Self::Length>, AlgorithmError>;

    /// One edge farther than a distance that is not the largest.
    fn add(distance: Self::Distance, length: Self::Length) -> Self::Distance;
}

/// Distances from the nearest source, and the tree of paths.
#[derive(Clone, Debug)]
pub(super) struct PathTree<D> {
    pub(super) distances: Vec<D>,
    /// The neighbor that the path comes from; a source's is itself.
    pub(super) parents: Vec<VertexId>,
    pub(super) sources: Vec<VertexId>,
    direction: Direction,
    zero: D,
    unreached: D,
    /// What is farther is not reached.
    limit: D,
    /// Vertices that have come nearer, or that may have lost their path.
    queue: BinaryHeap<Reverse<(D, VertexId)>>,
    cut_off: Vec<VertexId>,
    /// Those that came nearer and are as near as each other.
    level: Vec<VertexId>,
}

impl<D: Copy + Ord + Send + Sync> PathTree<D> {
    /// Nothing reached.
    pub(super) fn new(sources: &[VertexId], direction: Direction, [zero, limit, unreached]: [D; 3]) -> Self {
        PathTree {
            distances: Vec::new(),
            parents: Vec::new(),
            sources: sources.to_vec(),
            direction,
            zero,
            unreached,
            limit,
            queue: BinaryHeap::new(),
            cut_off: Vec::new(),
            level: Vec::new(),
        }
    }

    /// Follows the changes that led to the view whose edges are `lengths`.
    pub(super) fn update<L: Lengths<Distance = D>>(
        &mut self,
        view: &dyn GraphView,
        lengths: &mut L,
        changes: &Changes,
    ) -> Result<(), AlgorithmError> {
        self.place_sources(view);
        let is_lost = |near, far| self.parents[far as usize] == near && near != far;
        let lost = self.select([&changes.deleted, &changes.rewritten], view, is_lost);
        self.queue.extend(lost.into_iter().map(|(_, far)| Reverse((self.distances[far as usize], far))));
        self.cut(lengths)?;
        self.regain(lengths)?;
        // What comes nearer only later offers all its neighbors then.
        let may_help = |near, far| {
            let [near, far] = [near, far].map(|vertex| self.distances[vertex as usize]);
            near != self.unreached && L::add(near, L::SHORTEST) < far
        };
        for (near, far) in self.select([&changes.inserted, &changes.rewritten], view, may_help) {
            if let Some(length) = lengths.length(self.direction, near, far)? {
                self.offer::<L>(near, far, length);
            }
        }
        self.spread(lengths, view.flat().table(self.direction))
    }

    /// The entries of changed edges, from the nearer end on, for which `wanted` is true: few as a rule.
    fn select(
        &self,
        edges: [&[Edge]; 2],
        view: &dyn GraphView,
        wanted: impl Fn(VertexId, VertexId) -> bool + Sync,
    ) -> Vec<Edge> {
        let of_piece = |piece| {
            let oriented =
                |(src, dst)| if self.direction == Direction::Out { (src, dst) } else { (dst, src) };
            Changes::entries(piece, view).map(oriented).filter(|&(near, far)| wanted(near, far))
        };
        let mut selected = Vec::new();
        for edges in edges {
            match edges.len() <= PIECE {
                true => selected.extend(of_piece(edges)),
                false => {
                    let pieces = map(edges.chunks(PIECE), |piece| of_piece(piece).collect::<Vec<_>>());
                    selected.extend(pieces.into_iter().flatten());
                }
            }
        }
        selected
    }

    /// Makes room for new vertices. A source that is there begins its tree, one that is gone has none: with it
    /// went its edges, so that its children are among the lost.
    fn place_sources(&mut self, view: &dyn GraphView) {
        let bound = (view.id_bound() as usize).max(self.distances.len());
        self.distances.resize(bound, self.unreached);
        self.parents.resize(bound, NO_VERTEX);
        for &source in &self.sources {
            let Some(distance) = self.distances.get_mut(source as usize) else { continue };
            if !view.has_vertex(source) {
                (*distance, self.parents[source as usize]) = (self.unreached, NO_VERTEX);
            } else if *distance != self.zero || self.parents[source as usize] != source {
                (*distance, self.parents[source as usize]) = (self.zero, source);
                self.queue.push(Reverse((self.zero, source)));
            }
        }
    }

    /// Step 1. What has come nearer meanwhile stays in the queue for step 3.
    fn cut<L: Lengths<Distance = D>>(&mut self, lengths: &mut L) -> Result<(), AlgorithmError> {
        let mut nearer = Vec::new();
        while let Some(Reverse((distance, vertex))) = self.queue.pop() {
            if self.distances[vertex as usize] != distance || distance == self.unreached {
                continue;
            }
            if self.parents[vertex as usize] == vertex {
                nearer.push(Reverse((distance, vertex)));
                continue;
            }
            if let Some((found, parent)) = self.another_parent(lengths, vertex, distance)? {
                self.parents[vertex as usize] = parent;
                if found < distance {
                    self.distances[vertex as usize] = found;
                    nearer.push(Reverse((found, vertex)));
                }
                continue;
            }
            self.distances[vertex as usize] = self.unreached;
            self.parents[vertex as usize] = NO_VERTEX;
            self.cut_off.push(vertex);
            let (distances, parents, queue) = (&self.distances, &self.parents, &mut self.queue);
            lengths.for_each(self.direction, vertex, |child, _| {
                if parents[child as usize] == vertex {
                    queue.push(Reverse((distances[child as usize], child)));
                }
                ControlFlow::Continue(())
            })?;
        }
        self.queue.extend(nearer);
        Ok(())
    }

    /// A neighbor that is nearer and offers `distance` or less.
    fn another_parent<L: Lengths<Distance = D>>(
        &self,
        lengths: &mut L,
        vertex: VertexId,
        distance: D,
    ) -> Result<Option<(D, VertexId)>, AlgorithmError> {
        let mut found = None;
        lengths.for_each(self.direction.reverse(), vertex, |neighbor, length| {
            let near = self.distances[neighbor as usize];
            if near < distance && L::add(near, length) <= distance {
                found = Some((L::add(near, length), neighbor));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// Step 2, for the vertices cut off. A neighbor that was itself regained offers what may not be its best yet, but
    /// is a path.
    fn regain<L: Lengths<Distance = D>>(&mut self, lengths: &mut L) -> Result<(), AlgorithmError> {
        let mut cut_off = std::mem::take(&mut self.cut_off);
        for vertex in cut_off.drain(..) {
            let (mut best, mut parent) = (self.distances[vertex as usize], NO_VERTEX);
            lengths.for_each(self.direction.reverse(), vertex, |neighbor, length| {
                let near = self.distances[neighbor as usize];
                if near != self.unreached && L::add(near, length) < best {
                    (best, parent) = (L::add(near, length), neighbor);
                }
                ControlFlow::Continue(())
            })?;
            if parent != NO_VERTEX && best <= self.limit {
                self.distances[vertex as usize] = best;
                self.parents[vertex as usize] = parent;
                self.queue.push(Reverse((best, vertex)));
            }
        }
        self.cut_off = cut_off;
        Ok(())
    }

    #[inline]
    fn offer<L: Lengths<Distance = D>>(&mut self, near: VertexId, far: VertexId, length: L::Length) {
        let distance = self.distances[near as usize];
        if distance == self.unreached {
            return;
        }
        let offered = L::add(distance, length);
        if offered < self.distances[far as usize] && offered <= self.limit {
            self.distances[far as usize] = offered;
            self.parents[far as usize] = near;
            self.queue.push(Reverse((offered, far)));
        }
    }

    /// Step 3, over lists that lie anywhere in memory.
    fn spread<L: Lengths<Distance = D>>(
        &mut self,
        lengths: &mut L,
        lists: &FlatTable,
    ) -> Result<(), AlgorithmError> {
        let mut level = std::mem::take(&mut self.level);
        while let Some(&Reverse((distance, _))) = self.queue.peek() {
            level.clear();
            while let Some(next) = self.queue.peek_mut().filter(|next| next.0.0 == distance) {
                level.push(PeekMut::pop(next).0.1);
            }
            for (place, &vertex) in level.iter().enumerate() {
                self.prefetch(lists, &level[place..]);
                if self.distances[vertex as usize] == distance {
                    lengths.for_each(self.direction, vertex, |neighbor, length| {
                        self.offer::<L>(vertex, neighbor, length);
                        ControlFlow::Continue(())
                    })?;
                }
            }
        }
        self.level = level;
        Ok(())
    }

    /// Asks for what the vertices to come need.
    fn prefetch(&self, lists: &FlatTable, vertices: &[VertexId]) {
        let later = |by: usize| vertices.get(by).copied().unwrap_or(NO_VERTEX);
        lists.prefetch_entry(later(ENTRIES_AHEAD));
        lists.prefetch_list(later(LISTS_AHEAD), LIST_BYTES);
        if let Some(&vertex) = vertices.get(DISTANCES_AHEAD) {
            let hints = lists.neighbors(vertex).head_hints();
            hints.into_iter().for_each(|hint| prefetch_place(&self.distances, hint));
        }
    }
}
