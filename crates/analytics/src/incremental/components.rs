//! Connected components that follow a graph, through insertions and deletions.
//!
//! Method: a spanning forest (as in Chen, Lachish, Helmer, Böhlen, "Dynamic Spanning Trees for Connectivity Queries on
//! Fully-dynamic Undirected Graphs", VLDB 2022, section 3, without their depth bound), and beside it a union-find over
//! *cells*, so that an insertion costs two look-ups and no walk in a tree.
//!
//! ```text
//!  vertex ── label ──► cell ──► cell of its component       union: one cell under the other, never a vertex
//!     └── parent ──► ... ──► root of its tree               the forest: an edge of the graph at each step
//! ```
//!
//! An inserted edge between two components joins their cells and hangs the smaller tree below the other. A deleted edge
//! that is not in the forest costs nothing. One that is cuts its tree; both sides are searched in turns for an edge that
//! leads out of their tree, which is hooked in; a side that ends first without one is a component of its own and moves
//! to a new cell. Complexity: O(1) amortized an insertion, but for hanging trees, O(V log V) in all; O(d) a
//! deletion outside the forest or where a neighbor has another way, with `d` the depth of the tree; else the edges of the
//! smaller side times `d`.
//!
//! Invariants: two vertices have the same cell at the end of their labels if and only if they are connected, and then
//! the same root; `sizes` holds for such cells.

use std::ops::ControlFlow;

use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use hashbrown::HashMap;

use super::Changes;
use super::changes::{EDGES_AT_A_TIME, Edge};
use crate::engine::incident::directions;
use crate::engine::parallel::map;
use crate::{AlgorithmError, Components, Control, NO_VERTEX};

/// Cells beyond those of one for each vertex that are let pass before all are numbered anew.
const SPARE_CELLS: usize = 1 << 10;

/// Connected components that follow a graph, weak ones on a directed view.
///
/// ```
/// use evergraph_analytics::incremental::{Changes, IncrementalComponents};
/// use evergraph_analytics::Control;
/// use evergraph_view::FlatView;
///
/// let before = FlatView::from_edges(4, &[(0, 1), (1, 2), (2, 0)], false);
/// let mut components = IncrementalComponents::new(&before, &Control::new())?;
/// let after = FlatView::from_edges(4, &[(2, 0), (2, 3)], false);
/// components.update(&after, &Changes::between(&before, &after, [(0, 1), (1, 2), (2, 3)], []))?;
/// assert!(components.connected(0, 3) && !components.connected(0, 1));
/// assert_eq!(components.result().labels, [0, 1, 0, 0]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct IncrementalComponents {
    /// A cell of each vertex's component; [`NO_VERTEX`] where there is no vertex.
    labels: Vec<u32>,
    /// The cell that each cell was joined to; itself if to none.
    cells: Vec<u32>,
    /// Vertices of the component, for cells that are joined to none.
    sizes: Vec<u32>,
    /// The forest; a root's parent is itself.
    parents: Vec<VertexId>,
    count: u64,
    searches: [Search; 2],
}

/// A walk through the tree of one side of a cut.
#[derive(Clone, Debug, Default)]
struct Search {
    root: VertexId,
    /// Reached; those before `next` with all their edges.
    found: Vec<VertexId>,
    is_found: Vec<bool>,
    next: usize,
    /// Entries of lists that were looked at.
    cost: usize,
}

impl IncrementalComponents {
    /// Searches a view, to follow it from there: one pass over its edges.
    ///
    /// # Errors
    /// [`AlgorithmError::Cancelled`].
    pub fn new(view: &dyn GraphView, control: &Control) -> Result<Self, AlgorithmError> {
        let flat = view.flat();
        let mut state = Self::default();
        state.grow(flat.id_bound());
        let mut queue = Vec::new();
        for start in (0..flat.id_bound()).filter(|&vertex| flat.has_vertex(vertex)) {
            if state.labels[start as usize] != NO_VERTEX {
                continue;
            }
            control.check()?;
            state.appear(start);
            let cell = state.labels[start as usize];
            queue.clear();
            queue.push(start);
            let mut next = 0;
            while let Some(&vertex) = queue.get(next) {
                next += 1;
                for &direction in directions(&*flat) {
                    flat.neighbors(direction, vertex).for_each_slice(|slice| {
                        for &neighbor in slice {
                            if state.labels[neighbor as usize] == NO_VERTEX {
                                state.labels[neighbor as usize] = cell;
                                state.parents[neighbor as usize] = vertex;
                                queue.push(neighbor);
                            }
                        }
                    });
                }
            }
            state.sizes[cell as usize] = queue.len() as u32;
        }
        Ok(state)
    }

    /// Follows the changes to the view after them.
    ///
    /// # Errors
    /// None at present.
    pub fn update(&mut self, view: &dyn GraphView, changes: &Changes) -> Result<(), AlgorithmError> {
        self.grow(view.id_bound());
        changes.appeared.iter().for_each(|&vertex| self.appear(vertex));
        // Most edges are within a component, which all threads can find out before any joins two.
        let apart = map(changes.inserted.chunks(EDGES_AT_A_TIME), |edges| {
            edges.iter().copied().filter(|&edge| self.is_apart(edge)).collect::<Vec<Edge>>()
        });
        apart.concat().into_iter().for_each(|(src, dst)| self.insert(src, dst));
        // All that go are cut before any is repaired: no way may lead over an edge that is gone.
        let cuts: Vec<_> = changes.deleted.iter().copied().filter(|&(src, dst)| self.cut(src, dst)).collect();
        if !cuts.is_empty() {
            let flat = view.flat();
            let mut rests = HashMap::new();
            cuts.into_iter().for_each(|(src, dst)| self.repair(&flat, src, dst, &mut rests));
        }
        for &vertex in &changes.vanished {
            self.labels[vertex as usize] = NO_VERTEX;
            self.parents[vertex as usize] = NO_VERTEX;
            self.count -= 1;
        }
        if self.cells.len() > 2 * self.labels.len() + SPARE_CELLS {
            self.number_cells_anew();
        }
        Ok(())
    }

    /// How many components there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there is a way from one vertex to another, whatever the directions. `false` for a vertex that is not there.
    pub fn connected(&mut self, left: VertexId, right: VertexId) -> bool {
        let exists =
            |vertex: VertexId| self.labels.get(vertex as usize).is_some_and(|&cell| cell != NO_VERTEX);
        exists(left) && exists(right) && self.cell(left) == self.cell(right)
    }

    /// How many vertices the component of a vertex has; 0 for a vertex that is not there.
    pub fn size_of(&mut self, vertex: VertexId) -> u64 {
        match self.labels.get(vertex as usize) {
            None | Some(&NO_VERTEX) => 0,
            Some(_) => {
                let cell = self.cell(vertex);
                u64::from(self.sizes[cell as usize])
            }
        }
    }

    /// The result as that of [`connected_components`](crate::connected_components()): O(V).
    pub fn result(&self) -> Components {
        let mut smallest = vec![NO_VERTEX; self.cells.len()];
        let mut labels = self.labels.clone();
        for (vertex, label) in (0..).zip(&mut labels).filter(|(_, label)| **label != NO_VERTEX) {
            let cell = self.end(*label);
            let first = &mut smallest[cell as usize];
            *first = vertex.min(*first);
            *label = *first;
        }
        Components { labels, count: self.count }
    }

    fn grow(&mut self, bound: VertexId) {
        let bound = (bound as usize).max(self.labels.len());
        self.labels.resize(bound, NO_VERTEX);
        self.parents.resize(bound, NO_VERTEX);
        self.searches.iter_mut().for_each(|search| search.is_found.resize(bound, false));
    }

    /// Makes a vertex a component of its own.
    fn appear(&mut self, vertex: VertexId) {
        self.labels[vertex as usize] = self.new_cell(1);
        self.parents[vertex as usize] = vertex;
        self.count += 1;
    }

    fn new_cell(&mut self, size: u32) -> u32 {
        let cell = self.cells.len() as u32;
        self.cells.push(cell);
        self.sizes.push(size);
        cell
    }

    /// The cell that a cell was joined to in the end.
    #[inline]
    fn end(&self, mut cell: u32) -> u32 {
        while self.cells[cell as usize] != cell {
            cell = self.cells[cell as usize];
        }
        cell
    }

    /// The cell of a vertex that exists. Leaves a short way for the next time.
    #[inline]
    fn cell(&mut self, vertex: VertexId) -> u32 {
        let mut cell = self.labels[vertex as usize];
        let above = self.cells[cell as usize];
        if above != cell {
            while self.cells[cell as usize] != cell {
                let next = self.cells[cell as usize];
                self.cells[cell as usize] = self.cells[next as usize];
                cell = next;
            }
            self.labels[vertex as usize] = cell;
        }
        cell
    }

    /// Whether the ends of an edge are in two components.
    #[inline]
    fn is_apart(&self, (src, dst): Edge) -> bool {
        let [left, right] = [src, dst].map(|vertex| self.labels[vertex as usize]);
        left != right && self.end(left) != self.end(right)
    }

    fn insert(&mut self, src: VertexId, dst: VertexId) {
        let (left, right) = (self.cell(src), self.cell(dst));
        if left != right {
            self.join(src, left, dst, right);
        }
    }

    fn join(&mut self, src: VertexId, src_cell: u32, dst: VertexId, dst_cell: u32) {
        let src_is_smaller = self.sizes[src_cell as usize] < self.sizes[dst_cell as usize];
        let [(few, few_cell), (many, many_cell)] = if src_is_smaller {
            [(src, src_cell), (dst, dst_cell)]
        } else {
            [(dst, dst_cell), (src, src_cell)]
        };
        self.cells[few_cell as usize] = many_cell;
        self.sizes[many_cell as usize] += self.sizes[few_cell as usize];
        self.hang(few, many);
        self.count -= 1;
    }

    /// Hangs the tree of `vertex` below a vertex of another tree.
    fn hang(&mut self, vertex: VertexId, below: VertexId) {
        let (mut vertex, mut below) = (vertex, below);
        loop {
            let above = std::mem::replace(&mut self.parents[vertex as usize], below);
            if above == vertex {
                return;
            }
            (below, vertex) = (vertex, above);
        }
    }

    fn root(&self, mut vertex: VertexId) -> VertexId {
        while self.parents[vertex as usize] != vertex {
            vertex = self.parents[vertex as usize];
        }
        vertex
    }

    /// Cuts the forest where it has the edge, and tells whether it has.
    fn cut(&mut self, src: VertexId, dst: VertexId) -> bool {
        for (above, below) in [(src, dst), (dst, src)] {
            if above != below && self.parents[below as usize] == above {
                self.parents[below as usize] = below;
                return true;
            }
        }
        false
    }

    /// Finds out whether the two ends of a cut are still connected. `rests` has for each cell made by an earlier repair a
    /// vertex of what it was split off from.
    fn repair(
        &mut self,
        flat: &FlatView,
        left: VertexId,
        right: VertexId,
        rests: &mut HashMap<u32, VertexId>,
    ) {
        let (left, right) = self.ends_left(left, right, rests);
        let mut searches = std::mem::take(&mut self.searches);
        loop {
            let roots = [self.root(left), self.root(right)];
            if roots[0] == roots[1] {
                break;
            }
            for ((search, start), root) in searches.iter_mut().zip([left, right]).zip(roots) {
                search.start(start, root);
            }
            let ended = loop {
                let [one, other] = &searches;
                let side = usize::from(other.cost_of_next(flat) < one.cost_of_next(flat));
                match self.step(flat, &mut searches[side]) {
                    Step::Inside => {}
                    Step::Out(from, to) => {
                        self.hang(from, to);
                        break None;
                    }
                    Step::End => break Some(side),
                }
            };
            if let Some(side) = ended {
                let cell = self.split_off(&searches[side].found);
                rests.insert(cell, if side == 0 { right } else { left });
                break;
            }
        }
        searches.iter_mut().for_each(Search::clear);
        self.searches = searches;
    }

    /// What a cut is to be repaired between, where the repair of another has moved one of its ends to a component of its
    /// own: the cuts of a tree hold its pieces together like the edges of a tree, and where a piece leaves, those that
    /// hung on it hang on the rest.
    fn ends_left(
        &mut self,
        mut left: VertexId,
        mut right: VertexId,
        rests: &HashMap<u32, VertexId>,
    ) -> (VertexId, VertexId) {
        loop {
            let (left_cell, right_cell) = (self.cell(left), self.cell(right));
            if left_cell == right_cell {
                return (left, right);
            }
            // Cells are numbered in the order of repairs: the later one is not what the other was split off from.
            let moved = if left_cell > right_cell { &mut left } else { &mut right };
            match rests.get(&left_cell.max(right_cell)) {
                Some(&rest) => *moved = rest,
                None => return (left, left),
            }
        }
    }

    /// Looks at the edges of the next vertex of a search.
    fn step(&self, flat: &FlatView, search: &mut Search) -> Step {
        let Some(&vertex) = search.found.get(search.next) else { return Step::End };
        search.cost = search.cost_of_next(flat);
        search.next += 1;
        for &direction in directions(flat) {
            let flow = flat.neighbors(direction, vertex).try_for_each(|neighbor| {
                if !search.is_found[neighbor as usize] {
                    if self.root(neighbor) != search.root {
                        return ControlFlow::Break(neighbor);
                    }
                    search.is_found[neighbor as usize] = true;
                    search.found.push(neighbor);
                }
                ControlFlow::Continue(())
            });
            if let ControlFlow::Break(neighbor) = flow {
                return Step::Out(vertex, neighbor);
            }
        }
        Step::Inside
    }

    /// Makes the vertices of a tree, which have been one component with others, one of their own.
    fn split_off(&mut self, vertices: &[VertexId]) -> u32 {
        let size = vertices.len() as u32;
        if let Some(&first) = vertices.first() {
            let rest = self.cell(first);
            self.sizes[rest as usize] -= size;
        }
        let cell = self.new_cell(size);
        vertices.iter().for_each(|&vertex| self.labels[vertex as usize] = cell);
        self.count += 1;
        cell
    }

    /// Forgets the cells that no vertex leads to.
    fn number_cells_anew(&mut self) {
        let mut numbers = vec![NO_VERTEX; self.cells.len()];
        let old_sizes = std::mem::take(&mut self.sizes);
        let mut labels = std::mem::take(&mut self.labels);
        for label in labels.iter_mut().filter(|label| **label != NO_VERTEX) {
            let cell = self.end(*label) as usize;
            if numbers[cell] == NO_VERTEX {
                numbers[cell] = self.sizes.len() as u32;
                self.sizes.push(old_sizes[cell]);
            }
            *label = numbers[cell];
        }
        self.labels = labels;
        self.cells = (0..self.sizes.len() as u32).collect();
    }
}

/// What a step of a search met.
enum Step {
    /// Only vertices of its own tree.
    Inside,
    /// An edge to another tree.
    Out(VertexId, VertexId),
    /// Nothing more: the tree is a component.
    End,
}

impl Search {
    fn start(&mut self, start: VertexId, root: VertexId) {
        self.clear();
        self.root = root;
        self.found.push(start);
        self.is_found[start as usize] = true;
    }

    fn clear(&mut self) {
        self.found.drain(..).for_each(|vertex| self.is_found[vertex as usize] = false);
        (self.next, self.cost) = (0, 0);
    }

    /// The cost once the next vertex is looked at.
    fn cost_of_next(&self, flat: &FlatView) -> usize {
        self.found.get(self.next).map_or(0, |&vertex| {
            let degrees = directions(flat).iter().map(|&direction| flat.table(direction).degree(vertex));
            self.cost + 1 + degrees.sum::<usize>()
        })
    }
}
