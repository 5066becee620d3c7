//! `edge_map`: apply a function to the edges out of a set of vertices; the vertices where it changed something are the
//! next set (Shun and Blelloch, "Ligra", PPoPP 2013, section 4; direction choice after Beamer et al., SC 2012).
//!
//! ```text
//!  push   for u in frontier:              pull   for v in all vertices, if cond(v):
//!           for v in out(u):                       for u in in(v), while cond(v):
//!             if push(u, v):                         if u in frontier and pull(u, v):
//!               next += v                              next += v
//! ```
//!
//! Push costs the edges of the frontier, but threads meet at `v`. Pull costs at most all edges, usually far fewer
//! because it stops early, and `v` belongs to one thread. The choice follows the size of the frontier with its edges.
//!
//! Invariant: if the function's outcome does not depend on the order of edges, the next set depends on neither the
//! number of threads nor the way chosen, and the way chosen depends on the graph and the frontier alone.

use std::ops::{ControlFlow, Range};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatTable, FlatView, GraphView, Neighbors, Reads};

use crate::engine::bitmap::{WORD_BITS, bits};
use crate::engine::fetch::FetchAhead;
use crate::engine::parallel::{blocks, map, try_map};
use crate::engine::ranges::{HUB_DEGREE, split_list};
use crate::{AlgorithmError, Bitmap, Control, NO_VERTEX, VertexSubset};

/// What to do with an edge from the frontier.
pub trait EdgeFunction: Sync {
    /// One success is enough: pull leaves a vertex at its first. Otherwise it goes on while `cond` holds.
    const FIRST_ONLY: bool = false;

    /// Whether a pull should (still) look for edges to `dst`. A push does not ask: it looks at `dst` anyway, and where
    /// that is far away in memory, looking at one place rather than two is what decides its speed.
    fn cond(&self, dst: VertexId) -> bool;

    /// Visits an edge when `dst` belongs to this thread. `true` puts `dst` into the next set.
    fn pull(&self, src: VertexId, dst: VertexId) -> bool;

    /// Visits an edge, wanted or not, when other threads may visit edges to `dst` at the same time. `true` puts `dst`
    /// into the next set, and must be given at most once per `dst` and call of [`edge_map`].
    fn push(&self, src: VertexId, dst: VertexId) -> bool;

    /// Asks the processor for what a push to `dst` is going to look at. Pushes that write, and so cannot overlap, need not wait
    /// for one place of memory after the other then.
    fn prefetch(&self, _dst: VertexId) {}
}

/// The way along the edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// By the size of the frontier.
    #[default]
    Auto,
    /// From the frontier out.
    Push,
    /// From every vertex back to the frontier.
    Pull,
}

/// Pull if the frontier and its edges make up more than this fraction of all (Ligra, section 4).
pub(crate) const PULL_FRACTION: u64 = 20;

/// Fewer edges than this are pushed on the calling thread.
const SEQUENTIAL_EDGES: u64 = 1 << 12;

/// Vertices whose edges are pushed, or counted, by one task.
const PUSHES_PER_TASK: usize = 1 << 5;
const DEGREES_PER_TASK: usize = 1 << 12;

/// Words of the next bitmap filled by one task of a pull.
const WORDS_PER_TASK: usize = 16;

/// A frontier whose lists are not in memory is asked for by so many at a time.
const IDS_PER_FETCH: usize = 1 << 7;

/// How many vertices ahead of its own a pull asks for what the table says of them.
const PAGES_AHEAD: VertexId = 2 * WORD_BITS as VertexId;

/// How many lists ahead of its own a push asks for, and for how much of each.
const PUSHES_AHEAD: usize = 8;
const PUSH_BYTES: usize = 256;

/// How many edges of a list ahead of its own a push asks for what lies at their ends.
const ENDS_AHEAD: usize = 16;

/// Applies `function` to the edges that leave `frontier` in `direction`; gives the vertices for which it was `true`.
pub fn edge_map<F: EdgeFunction>(
    view: &FlatView,
    direction: Direction,
    way: Way,
    frontier: &VertexSubset,
    function: &F,
    control: &Control,
) -> Result<VertexSubset, AlgorithmError> {
    let table = view.table(direction);
    let pulls = match way {
        Way::Push => false,
        Way::Pull => true,
        Way::Auto => is_heavy(view, table, frontier),
    };
    if pulls {
        pull(view.table(direction.reverse()), &frontier.bitmap(), function, control)
    } else {
        let next = push(table, &frontier.ids(), function, control)?;
        Ok(VertexSubset::from_distinct(view.id_bound(), next))
    }
}

fn is_heavy(view: &FlatView, table: &FlatTable, frontier: &VertexSubset) -> bool {
    // A frontier of many vertices is heavy whatever their degrees: counting them would cost as much as it could save.
    let count = frontier.len() as u64;
    count > view.num_vertices() / PULL_FRACTION
        || count + total_degree(table, &frontier.ids()) > view.num_entries() / PULL_FRACTION
}

fn total_degree(table: &FlatTable, ids: &[VertexId]) -> u64 {
    let degrees = |ids: &[VertexId]| ids.iter().map(|&vertex| table.degree(vertex) as u64).sum::<u64>();
    map(ids.chunks(DEGREES_PER_TASK), degrees).iter().sum()
}

fn push<F: EdgeFunction>(
    table: &FlatTable,
    ids: &[VertexId],
    function: &F,
    control: &Control,
) -> Result<Vec<VertexId>, AlgorithmError> {
    let visit = |next: &mut Vec<VertexId>, src: VertexId, slice: &[VertexId]| {
        slice.iter().take(ENDS_AHEAD).for_each(|&dst| function.prefetch(dst));
        for (place, &dst) in slice.iter().enumerate() {
            slice.get(place + ENDS_AHEAD).into_iter().for_each(|&later| function.prefetch(later));
            if function.push(src, dst) {
                next.push(dst);
            }
        }
    };
    let visit_list = |mut next: Vec<VertexId>, &src: &VertexId| {
        control.check()?;
        let list = table.neighbors(src);
        if list.len() < HUB_DEGREE {
            list.for_each_slice(|slice| visit(&mut next, src, slice));
        } else {
            let parts = map(split_list(list), |part| {
                let mut next = Vec::new();
                part.for_each_slice(|slice| visit(&mut next, src, slice));
                next
            });
            parts.into_iter().for_each(|part| next.extend(part));
        }
        Ok(next)
    };
    if ids.len() as u64 <= SEQUENTIAL_EDGES && total_degree(table, ids) <= SEQUENTIAL_EDGES {
        return ids.iter().try_fold(Vec::new(), visit_list);
    }
    if let Some(ahead) = FetchAhead::new(table, ids.len().div_ceil(IDS_PER_FETCH), Reads::Some) {
        let chunk = |piece: usize| ids.iter().copied().skip(piece * IDS_PER_FETCH).take(IDS_PER_FETCH);
        let pieces = try_map(control, ids.chunks(IDS_PER_FETCH).enumerate(), |(piece, ids)| {
            ahead.at(piece, chunk, |_| true);
            ids.iter().try_fold(Vec::new(), visit_list)
        });
        return Ok(pieces?.concat());
    }
    let visit_ahead = |next, place: usize| {
        let later = |by: usize| ids.get(place + by).copied().unwrap_or(NO_VERTEX);
        table.prefetch_entry(later(2 * PUSHES_AHEAD));
        table.prefetch_list(later(PUSHES_AHEAD), PUSH_BYTES);
        visit_list(next, &ids[place])
    };
    let pieces = try_map(control, blocks(ids.len(), PUSHES_PER_TASK), |mut places| {
        places.try_fold(Vec::new(), visit_ahead)
    });
    Ok(pieces?.concat())
}

fn pull<F: EdgeFunction>(
    table: &FlatTable,
    frontier: &Bitmap,
    function: &F,
    control: &Control,
) -> Result<VertexSubset, AlgorithmError> {
    let bound = frontier.bound();
    let mut next = Bitmap::empty(bound);
    let per_task = WORDS_PER_TASK * WORD_BITS;
    let ahead = FetchAhead::new(table, (bound as usize).div_ceil(per_task), Reads::Some);
    let vertices =
        |task: usize| (task * per_task) as VertexId..bound.min(((task + 1) * per_task) as VertexId);
    let tasks = next.words_mut().chunks_mut(WORDS_PER_TASK).enumerate();
    let counts = try_map(control, tasks, |(task, words)| {
        if let Some(ahead) = &ahead {
            ahead.at(task, vertices, |dst| function.cond(dst));
        }
        Ok(pull_pages(table, frontier, function, vertices(task), words))
    });
    let count = counts?.iter().sum();
    Ok(VertexSubset::from_counted(next, count))
}

/// Some pages of vertices, each a word of the bitmap; tells how many vertices are in the next set. Which of a page want edges is found
/// out while the page before is worked on, so that the heads of their lists are on their way from memory before they are needed: that is
/// what a pull spends its time on.
fn pull_pages<F: EdgeFunction>(
    table: &FlatTable,
    frontier: &Bitmap,
    function: &F,
    vertices: Range<VertexId>,
    words: &mut [u64],
) -> usize {
    let page = |first: VertexId| first..vertices.end.min(first.saturating_add(WORD_BITS as VertexId));
    let mut wanted = Wanted::of(table, function, page(vertices.start));
    wanted.ids(wanted.vertices).for_each(|vertex| table.prefetch_list(vertex, 1));
    let mut count = 0;
    for word in words {
        let next = Wanted::of(table, function, page(wanted.page.end));
        // Their directories have come.
        wanted.ids(wanted.in_runs).for_each(|vertex| table.prefetch_run(vertex));
        let mut ahead = next.ids(next.vertices);
        for vertex in wanted.ids(wanted.vertices) {
            ahead.next().into_iter().for_each(|later| table.prefetch_list(later, 1));
            let found = u64::from(pull_into(table, frontier, function, vertex));
            *word |= found << (vertex - wanted.page.start);
        }
        ahead.for_each(|later| table.prefetch_list(later, 1));
        count += word.count_ones() as usize;
        wanted = next;
    }
    count
}

/// The vertices of a page that want edges, as bits.
struct Wanted {
    page: Range<VertexId>,
    vertices: u64,
    /// Those of them whose lists lie in runs.
    in_runs: u64,
}

impl Wanted {
    #[inline]
    fn of<F: EdgeFunction>(table: &FlatTable, function: &F, page: Range<VertexId>) -> Self {
        table.prefetch_page(page.start.saturating_add(PAGES_AHEAD));
        let (mut vertices, mut in_runs) = (0, 0);
        for (place, vertex) in page.clone().enumerate() {
            let wants = function.cond(vertex) & table.has_neighbors(vertex);
            vertices |= u64::from(wants) << place;
            in_runs |= u64::from(wants & table.is_in_runs(vertex)) << place;
        }
        Wanted { page, vertices, in_runs }
    }

    /// The vertices of these bits.
    fn ids(&self, set: u64) -> impl Iterator<Item = VertexId> + use<> {
        let first = self.page.start;
        bits(set).map(move |bit| first + bit)
    }
}

#[inline]
fn pull_into<F: EdgeFunction>(table: &FlatTable, frontier: &Bitmap, function: &F, dst: VertexId) -> bool {
    let list = table.neighbors(dst);
    if list.len() >= HUB_DEGREE {
        return pull_into_hub(list, frontier, function, dst);
    }
    let mut changed = false;
    let _ = list.try_for_each(|src| pull_edge(frontier, function, src, dst, &mut changed));
    changed
}

/// Breaks when `dst` needs no more edges.
#[inline]
fn pull_edge<F: EdgeFunction>(
    frontier: &Bitmap,
    function: &F,
    src: VertexId,
    dst: VertexId,
    changed: &mut bool,
) -> ControlFlow<()> {
    if frontier.contains(src) {
        let success = function.pull(src, dst);
        *changed |= success;
        if (success && F::FIRST_ONLY) || !function.cond(dst) {
            return ControlFlow::Break(());
        }
    }
    ControlFlow::Continue(())
}

/// The first piece as any list, for most hubs need no more; the others in parallel, where edges meet at `dst` as they
/// do in a push.
#[cold]
fn pull_into_hub<F: EdgeFunction>(
    list: Neighbors<'_>,
    frontier: &Bitmap,
    function: &F,
    dst: VertexId,
) -> bool {
    let pieces = split_list(list);
    let (Some((first, rest)), mut changed) = (pieces.split_first(), false) else { return false };
    if first.try_for_each(|src| pull_edge(frontier, function, src, dst, &mut changed)).is_break() {
        return changed;
    }
    let pushed = map(rest, |part| {
        let mut changed = false;
        part.for_each_slice(|slice| {
            let members = slice.iter().copied().filter(|&src| frontier.contains(src));
            changed = members.fold(changed, |changed, src| changed | function.push(src, dst));
        });
        changed
    });
    changed | pushed.contains(&true)
}
