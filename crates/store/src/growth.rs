//! `multi` lists without properties: edges appended in place, behind what any version sees.
//!
//! ```text
//!  block:  [neighbor × visible][appended since ...][room][mark: u32]
//!           └ a version's entry says how many it sees ┘   └ how many there are in all
//! ```
//!
//! GraphOne's degree versioning (FAST 2019, section 5.3): an old version holds the old length, so that what it sees stays
//! as it was. A list that has no room left moves to a larger block while it is short; a long one goes on in
//! another run, an eighth as long as the list, so that it has few runs and little unused room.
//!
//! Invariant: only a draft whose list ends at the mark may append behind it. A draft that was given up, or one of an
//! older version, finds the mark elsewhere and copies.
#![allow(unsafe_code)]

use evergraph_types::VertexId;

use crate::adjacency::{ChunkRef, Entry};
use crate::compression::RunBuffer;
use crate::heap::{Block, Changes};
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
    if old.is_chunked() {
        return Some(append_to_runs(old, deltas, changes));
    }
    let run = (old.degree > 0).then(|| old.run());
    let (run, rest) = match run {
        Some(run) => extend(run, deltas),
        None => (ChunkRef::growing(std::ptr::null(), 0, 0), deltas),
    };
    if rest.is_empty() {
        return Some(Entry::flat(run));
    }
    let mut buffer = RunBuffer::new();
    // SAFETY: the version being edited is alive.
    let list = if run.len == 0 { &[][..] } else { unsafe { run.read(&mut buffer) } };
    if !run.has_columns() && list.len() + rest.len() <= FLAT_MAX {
        let grown = new_run(list, rest, (list.len() + rest.len()) / 4, changes);
        if run.len > 0 && run.is_block() {
            // SAFETY: the run is a heap block.
            changes.retire(unsafe { Block::from_pointer(run.pointer()) });
        }
        return Some(Entry::flat(grown));
    }
    let next = new_run(&[], rest, (list.len() + rest.len()) / 8, changes);
    let Some(&first) = list.first() else { return Some(Entry::flat(next)) };
    Some(entry_of(&[ChunkRef { first, ..run }, next], changes))
}

fn append_to_runs<D: Delta>(old: Entry, deltas: &[D], changes: &mut Changes) -> Entry {
    // SAFETY: the version being edited is alive; the directory of a chunked list is a heap block.
    let (mut runs, directory) = unsafe { (old.directory().to_vec(), Block::from_pointer(old.pointer())) };
    let mut rest = deltas;
    if let Some(last) = runs.last_mut() {
        (*last, rest) = extend(*last, deltas);
    }
    if !rest.is_empty() {
        runs.push(new_run(&[], rest, (old.degree as usize + rest.len()) / 8, changes));
    }
    changes.retire(directory);
    entry_of(&runs, changes)
}

/// The run with as many changes appended as there is room for, and the others.
fn extend<D: Delta>(run: ChunkRef, deltas: &[D]) -> (ChunkRef, &[D]) {
    if !run.grows() {
        return (run, deltas);
    }
    let words = run.pointer().cast_mut().cast::<VertexId>();
    // SAFETY: a growing run is a live heap block, whose last word is the mark; drafts are edited one at a time, and a
    // list by one task. Nobody reads behind the mark, which is where every version's list ends or later.
    unsafe {
        let capacity = Block::from_pointer(run.pointer()).payload_bytes() / size_of::<VertexId>() - 1;
        let mark = words.add(capacity);
        if mark.read() != run.len {
            return (run, deltas);
        }
        let (taken, rest) = deltas.split_at(deltas.len().min(capacity - run.len as usize));
        for (place, delta) in (run.len as usize..).zip(taken) {
            words.add(place).write(delta.neighbor());
        }
        let len = run.len + taken.len() as u32;
        mark.write(len);
        (ChunkRef { len, ..run }, rest)
    }
}

/// A run of the list and the changes, with room for at least `room` more.
pub(crate) fn new_run<D: Delta>(
    list: &[VertexId],
    deltas: &[D],
    room: usize,
    changes: &mut Changes,
) -> ChunkRef {
    let len = list.len() + deltas.len();
    let block = changes.allocate((len + room + 1) * size_of::<VertexId>());
    let words = block.pointer().cast::<VertexId>();
    // SAFETY: the new block has room for the neighbors and, at its end, for the mark.
    unsafe {
        words.copy_from_nonoverlapping(list.as_ptr(), list.len());
        for (place, delta) in (list.len()..).zip(deltas) {
            words.add(place).write(delta.neighbor());
        }
        words.add(block.payload_bytes() / size_of::<VertexId>() - 1).write(len as u32);
    }
    let first = list.first().copied().or(deltas.first().map(Delta::neighbor)).unwrap_or(0);
    ChunkRef::growing(block.pointer(), len, first)
}
