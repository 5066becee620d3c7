//! Edges that leave the lists of a `multi` type one by one, oldest first: what an ordinary delete, which takes all parallel
//! edges at once, cannot do.
//!
//! ```text
//!  list   run [a b c][d e f g][h i]     three leave     run [e f g][h i]
//!              └ in order of arrival                     └ whole runs are dropped, one begins behind what it forgets
//! ```
//!
//! A run of which most is forgotten is written again, and so is one that loses rows from its midst.
//!
//! Invariant: what stays keeps its order.
#![allow(unsafe_code)]

use evergraph_types::{Direction, EdgeTypeId, PropertyId, VertexId, VertexTypeId};

use crate::lists::adjacency::ChunkRef;
use crate::lists::compression::RunBuffer;
use crate::lists::entry::Entry;
use crate::lists::growth::new_run;
use crate::lists::heap::Changes;
use crate::lists::leaf_edit::{lists_of, note_emptied};
use crate::lists::merge::{Delta, PlainDelta, Policy, Scratch, entry_of, runs_of, without_rows};
use crate::lists::paged_array::Leaf;
use crate::lists::sort::{Ends, sorted_deltas};
use crate::options::ListFormat;
use crate::system::pool::in_pool;
use crate::versions::draft::{Draft, edit_lists};
use crate::versions::scan::Run;
use crate::write_sets::ops::EdgeOps;

/// Which edges are the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oldest {
    /// Those that came first.
    First,
    /// Of those with a time up to this one, the first.
    Until(PropertyId, i64),
}

impl Draft {
    /// Takes edges out of lists of a `multi` type. Every list loses as many as it has ends here, the oldest ones, which must
    /// be those named.
    pub(crate) fn expire(&mut self, edge_type: EdgeTypeId, [src, dst]: &[Vec<VertexId>; 2], oldest: Oldest) {
        self.flush();
        if src.is_empty() {
            return;
        }
        let schema = self.version.schema.clone();
        let options = &schema.edge_types[usize::from(edge_type)].options;
        let policy = Policy {
            multi: true,
            compact: self.version.format == ListFormat::Compact,
            properties: &options.properties,
            ops: &EdgeOps::default(),
        };
        in_pool(|| {
            for direction in [Direction::Out, Direction::In] {
                let tables = &mut self.version.edges[usize::from(edge_type)];
                let (from, to, lists) = match direction {
                    Direction::Out => (&**src, &**dst, &mut tables.out),
                    Direction::In if options.symmetric || !options.reverse => continue,
                    Direction::In => (&**dst, &**src, &mut tables.reverse),
                };
                let delta =
                    |vertex: VertexId, neighbor: VertexId, _| PlainDelta::<true>::of(vertex, neighbor);
                let deltas = sorted_deltas(Ends { from, to, symmetric: options.symmetric }, delta);
                *lists = edit_lists(*lists, &deltas, &mut self.changes, |_, leaf, deltas, changes| {
                    expire_leaf(leaf, deltas, policy, oldest, changes);
                });
            }
        });
    }

    /// Deletes the vertices that have lost their last edge of a type to this draft, and have no others.
    pub(crate) fn delete_isolated(&mut self, edge_type: EdgeTypeId) {
        self.flush();
        let mut isolated = std::mem::take(&mut self.changes.emptied);
        isolated.sort_unstable();
        isolated.dedup();
        let has_none = |vertex, direction| self.version.entry(edge_type, direction, vertex).is_empty();
        isolated.retain(|&vertex| has_none(vertex, Direction::Out) && has_none(vertex, Direction::In));
        isolated.retain(|&vertex| self.version.has_vertex(vertex));
        self.version.num_vertices -= isolated.len() as u64;
        let clear = |_, leaf: &mut Leaf<VertexTypeId>, ids: &[VertexId], _: &mut Changes| {
            ids.iter().for_each(|&vertex| leaf.set(vertex, None));
        };
        self.version.vertices =
            self.version.vertices.edit(&isolated, &|&vertex| vertex, &clear, &mut self.changes);
    }
}

fn expire_leaf<D: Delta>(
    leaf: &mut Leaf<Entry>,
    deltas: &[D],
    policy: Policy<'_>,
    oldest: Oldest,
    changes: &mut Changes,
) {
    let mut scratch = std::mem::take(&mut changes.scratch);
    let (mut runs, mut gone, mut left) = (Vec::new(), Vec::new(), Vec::new());
    if oldest != Oldest::First {
        for group in lists_of(deltas) {
            leaf.get(group[0].vertex()).into_iter().for_each(Entry::prefetch);
        }
    }
    for group in lists_of(deltas) {
        let vertex = group[0].vertex();
        let old = leaf.get(vertex).unwrap_or(Entry::EMPTY);
        runs.clear();
        gone.clear();
        left.clear();
        runs_of(old, &mut runs);
        let before: u32 = runs.iter().map(|run| run.len).sum();
        push_oldest(&runs, before.min(group.len() as u32), oldest, &mut gone);
        if group.iter().any(|delta| delta.neighbor() == vertex) {
            changes.loops -= rows_to(old, &gone, vertex);
        }
        push_without(&runs, &gone, policy, &mut scratch, changes, &mut left);
        let new = entry_of(&left, old, changes);
        let after: u32 = left.iter().map(|run| run.len).sum();
        changes.entries += i64::from(after) - i64::from(before);
        note_emptied(vertex, before as usize, after as usize, changes);
        leaf.set(vertex, (!new.is_empty()).then_some(new));
    }
    changes.scratch = scratch;
}

/// Appends the places in a list of `count` edges that leave, ascending.
fn push_oldest(runs: &[ChunkRef], count: u32, oldest: Oldest, gone: &mut Vec<u32>) {
    let Oldest::Until(property, last) = oldest else {
        return gone.extend(0..count);
    };
    let mut start = 0;
    let mut buffer = RunBuffer::new();
    for &chunk in runs {
        if gone.len() == count as usize {
            break;
        }
        // SAFETY: the version being edited is alive.
        let run = unsafe { Run::new(chunk, &mut buffer) };
        if let Some(times) = run.column(property) {
            let is_due = |row: &u32| times.value(*row as usize).time().is_some_and(|time| time <= last);
            let due = (0..chunk.len).filter(is_due).map(|row| start + row);
            gone.extend(due.take(count as usize - gone.len()));
        }
        start += chunk.len;
    }
}

/// How many of these places hold the neighbor.
fn rows_to(list: Entry, places: &[u32], neighbor: VertexId) -> i64 {
    let mut places = places.iter().peekable();
    // SAFETY: the version being edited is alive.
    let neighbors = unsafe { list.neighbors() };
    let mut found = 0;
    for (place, other) in (0..).zip(neighbors.iter()) {
        let Some(&&next) = places.peek() else { break };
        if next == place {
            places.next();
            found += i64::from(other == neighbor);
        }
    }
    found
}

/// Appends the runs of a list without the edges at these places.
fn push_without(
    runs: &[ChunkRef],
    mut gone: &[u32],
    policy: Policy<'_>,
    scratch: &mut Scratch,
    changes: &mut Changes,
    left: &mut Vec<ChunkRef>,
) {
    let mut start = 0;
    for run in runs {
        let end = start + run.len;
        let (here, rest) = gone.split_at(gone.partition_point(|&place| place < end));
        let count = here.len() as u32;
        let are_first = here.last().is_none_or(|&last| last - start < count);
        let kept = if are_first && count < run.len { run.forgetting(count) } else { None };
        if count == 0 {
            left.push(*run);
        } else if let Some(kept) = kept {
            left.push(kept);
        } else if run.has_columns() {
            let is_gone = |row: usize| here.binary_search(&(start + row as u32)).is_ok();
            without_rows(*run, is_gone, policy, scratch, changes, left);
        } else {
            run.block().into_iter().for_each(|block| changes.retire(block));
            // SAFETY: the version being edited is alive, and what it reaches is not freed before.
            let neighbors = unsafe { run.neighbors() };
            // Edges without a time stay, and of the others the first leave.
            if let rest @ [_, ..] = &neighbors[here.len()..] {
                left.push(new_run::<PlainDelta<true>>(rest, &[], changes));
            }
        }
        (gone, start) = (rest, end);
    }
}
