//! `multi` lists without properties: edges appended in place, behind what any version sees, and forgotten in front.
//!
//! ```text
//!  block:  [mark: u32][forgotten][neighbor × visible][appended since ...][room]
//!           │                     └ a version's entry says from where and how many it sees
//!           └ where the last neighbor of all ends
//! ```
//!
//! GraphOne's degree versioning (FAST 2019, section 5.3): an old version holds the old length, so that what it sees stays
//! as it was. A list that has no room left moves to a larger block while it is short; a long one goes on in
//! another run, an eighth as long as the list, so that it has few runs and little unused room. A list forgets its oldest
//! neighbors by beginning behind them, and moves when they are most of its block.
//!
//! Invariant: only a draft whose list ends at the mark may append behind it. A draft that was given up, or one of an
//! older version, finds the mark elsewhere and copies. Of two that are made of one version at a time, one always copies.
#![allow(unsafe_code)]

use evergraph_types::VertexId;

use crate::adjacency::ChunkRef;
use crate::compression::RunBuffer;
use crate::entry::Entry;
use crate::heap::Changes;
use crate::merge::{Delta, Policy, entry_of};

/// Lists up to this length lie in one run.
const FLAT_MAX: usize = 2048;

/// The list with `deltas` appended; `None` where they are no plain additions to a plain `multi` list.
pub(crate) fn append<D: Delta>(
    old: Entry,
    deltas: &[D],
    policy: Policy<'_>,
    changes: &mut Changes,
) -> Option<Entry> {
    if !D::PLAIN || !policy.multi {
        return None;
    }
    if old.is_empty() {
        return Some(entry_of(&[new_run(&[], deltas, changes)], old, changes));
    }
    // SAFETY: the version being edited is alive.
    let Some(run) = (unsafe { old.only_run() }) else {
        return Some(append_to_runs(old, deltas, changes));
    };
    let (run, rest) = extend(run, deltas, changes);
    if rest.is_empty() {
        return Some(entry_of(&[run], old, changes));
    }
    let len = run.len as usize + rest.len();
    if !run.has_columns() && len <= FLAT_MAX {
        let mut buffer = RunBuffer::new();
        // SAFETY: the version being edited is alive.
        let grown = new_run(unsafe { run.read(&mut buffer) }, rest, changes);
        run.block().into_iter().for_each(|block| changes.retire(block));
        return Some(entry_of(&[grown], old, changes));
    }
    Some(entry_of(&[run, next_run(rest, len, changes)], old, changes))
}

fn append_to_runs<D: Delta>(old: Entry, deltas: &[D], changes: &mut Changes) -> Entry {
    // SAFETY: the version being edited is alive.
    let mut runs = unsafe { old.directory() }.to_vec();
    let before: usize = runs.iter().map(|run| run.len as usize).sum();
    let mut rest = deltas;
    if let Some(last) = runs.last_mut() {
        (*last, rest) = extend(*last, deltas, changes);
    }
    if !rest.is_empty() {
        runs.push(next_run(rest, before + deltas.len(), changes));
    }
    entry_of(&runs, old, changes)
}

/// The run with as many changes appended as there is room for, and the others.
fn extend<'d, D: Delta>(run: ChunkRef, deltas: &'d [D], changes: &Changes) -> (ChunkRef, &'d [D]) {
    let may_grow = run.grows() && !changes.has_siblings;
    let Some(block) = run.block().filter(|_| may_grow) else { return (run, deltas) };
    let words = block.pointer().cast::<u32>();
    // SAFETY: a run with room lies in a live heap block, whose first word is the mark; of the drafts of a version one at a time
    // comes here, and a list is edited by one task. Nobody reads behind the mark, which is where every version's list ends or later.
    unsafe {
        let end = run.forgotten() + run.len;
        if words.read() != end {
            return (run, deltas);
        }
        let room = block.payload_bytes() / size_of::<u32>() - 1 - end as usize;
        let (taken, rest) = deltas.split_at(deltas.len().min(room));
        for (place, delta) in (1 + end as usize..).zip(taken) {
            words.add(place).write(delta.neighbor());
        }
        words.write(end + taken.len() as u32);
        (ChunkRef { len: run.len + taken.len() as u32, ..run }, rest)
    }
}

/// A run of a list and changes to it, with room for more.
pub(crate) fn new_run<D: Delta>(list: &[VertexId], deltas: &[D], changes: &mut Changes) -> ChunkRef {
    let len = list.len() + deltas.len();
    run_with_room(list, deltas, if len <= FLAT_MAX { len / 4 } else { len / 8 }, changes)
}

/// The next run of a list that will then have `len` neighbors.
fn next_run<D: Delta>(deltas: &[D], len: usize, changes: &mut Changes) -> ChunkRef {
    run_with_room(&[], deltas, len / 8, changes)
}

/// A run of the list and the changes, with room for at least `room` more.
fn run_with_room<D: Delta>(list: &[VertexId], deltas: &[D], room: usize, changes: &mut Changes) -> ChunkRef {
    let len = list.len() + deltas.len();
    let block = changes.allocate((1 + len + room) * size_of::<u32>());
    let words = block.pointer().cast::<u32>();
    // SAFETY: the new block has room for the mark and the neighbors.
    unsafe {
        words.write(len as u32);
        words.add(1).copy_from_nonoverlapping(list.as_ptr(), list.len());
        for (place, delta) in (1 + list.len()..).zip(deltas) {
            words.add(place).write(delta.neighbor());
        }
    }
    ChunkRef::growing(block, len)
}
