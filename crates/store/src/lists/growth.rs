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
//! Invariant: only a draft whose list ends at the mark, and which moves it, may append behind it. A draft that was given up, or one
//! of an older version, finds the mark elsewhere and copies; so does one of two that are made of one version at a time.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};

use evergraph_types::VertexId;

use crate::lists::adjacency::ChunkRef;
use crate::lists::compression::RunBuffer;
use crate::lists::entry::Entry;
use crate::lists::heap::Changes;
use crate::lists::merge::{Delta, Policy, entry_of};

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
    let (run, rest) = extend(run, deltas);
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
        (*last, rest) = extend(*last, deltas);
    }
    if !rest.is_empty() {
        runs.push(next_run(rest, before + deltas.len(), changes));
    }
    entry_of(&runs, old, changes)
}

/// The run with as many changes appended as there is room for, and the others.
fn extend<D: Delta>(run: ChunkRef, deltas: &[D]) -> (ChunkRef, &[D]) {
    let Some(block) = run.block().filter(|_| run.grows()) else { return (run, deltas) };
    let words = block.pointer().cast::<u32>();
    let end = run.forgotten() + run.len;
    // SAFETY: a run with room lies in a live heap block, whose first word is the mark.
    let (mark, words_in_all) =
        unsafe { (AtomicU32::from_ptr(words), block.payload_bytes() / size_of::<u32>()) };
    let (taken, rest) = deltas.split_at(deltas.len().min(words_in_all - 1 - end as usize));
    let new_end = end + taken.len() as u32;
    if mark.compare_exchange(end, new_end, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return (run, deltas);
    }
    for (place, delta) in (1 + end as usize..).zip(taken) {
        // SAFETY: the block has room up to the mark, and what lies between its old place and its new one is for whoever has moved
        // it: nobody reads there until the list is published.
        unsafe { words.add(place).write(delta.neighbor()) };
    }
    (ChunkRef { len: run.len + taken.len() as u32, ..run }, rest)
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::lists::merge::PlainDelta;

    /// Two drafts append to a list of the version that both are made of, as nearly at once as can be.
    #[test]
    fn of_two_drafts_of_one_version_one_grows_the_list() {
        const TURNS: usize = 20_000;
        let additions = |neighbors: std::ops::Range<VertexId>| -> Vec<PlainDelta<true>> {
            neighbors.map(|neighbor| PlainDelta::of(0, neighbor)).collect()
        };
        let mut changes = Changes::new(1);
        let list = additions(0..40);
        let runs: Vec<ChunkRef> = (0..TURNS).map(|_| new_run(&[], &list, &mut changes)).collect();
        let arrived = AtomicUsize::new(0);
        let grow = |own: Vec<PlainDelta<true>>| -> Vec<ChunkRef> {
            let turn = |(turn, run): (usize, &ChunkRef)| {
                arrived.fetch_add(1, Ordering::AcqRel);
                while arrived.load(Ordering::Acquire) < 2 * (turn + 1) {
                    std::hint::spin_loop();
                }
                extend(*run, &own).0
            };
            runs.iter().enumerate().map(turn).collect()
        };
        let (left, right) = std::thread::scope(|scope| {
            let other = scope.spawn(|| grow(additions(200..208)));
            (grow(additions(100..104)), other.join().expect("no panic"))
        });
        let neighbors = |run: &ChunkRef| -> Vec<VertexId> {
            let mut buffer = RunBuffer::new();
            // SAFETY: the blocks are freed below.
            unsafe { run.read(&mut buffer) }.to_vec()
        };
        for (left, right) in left.iter().zip(&right) {
            let (grown, added, other) =
                if left.len > 40 { (left, 100..104, right) } else { (right, 200..208, left) };
            assert_eq!(neighbors(grown), (0..40).chain(added).collect::<Vec<_>>());
            assert_eq!(neighbors(other), (0..40).collect::<Vec<_>>());
        }
        for block in runs.iter().filter_map(|run| run.block()) {
            // SAFETY: nothing reads them from here on.
            unsafe { block.free() };
        }
    }
}
