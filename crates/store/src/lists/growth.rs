//! `multi` lists: edges appended in place, behind what any version sees, and forgotten in front.
//!
//! ```text
//!  block:  [mark: u32][forgotten][neighbor × visible][appended since ...][room]
//!           │                     └ a version's entry says from where and how many it sees
//!           └ where the last neighbor of all ends
//!
//!          [places: u32][mark: u32][neighbor × places] pad to 8 [column area of so many rows]
//!           └ for how many rows there is room, if they have properties
//! ```
//!
//! GraphOne's degree versioning (FAST 2019, section 5.3): an old version holds the old length, so that what it sees stays
//! as it was. A list that has no room left moves to a larger block while it is short; a long one goes on in
//! another run, an eighth as long as the list, so that it has few runs and little unused room. A list forgets its oldest
//! neighbors by beginning behind them, and moves when they are most of its block.
//!
//! Edges with properties are appended where each change of a commit gives the same ones, all of fixed width, and the last run has these
//! and no others, or is full. Other lists are merged (`merge.rs`).
//!
//! Invariant: only a draft whose list ends at the mark, and which moves it, may append behind it. A draft that was given up, or one
//! of an older version, finds the mark elsewhere and copies; so does one of two that are made of one version at a time.
#![allow(unsafe_code)]

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};

use evergraph_types::{Cells, VertexId};

use crate::lists::adjacency::{CHUNK_MAX, ChunkRef};
use crate::lists::compression::{Coding, RunBuffer};
use crate::lists::entry::Entry;
use crate::lists::heap::Changes;
use crate::lists::merge::{Delta, Policy, Scratch, entry_of, run_max};
use crate::lists::plain_columns::{PlainColumn, given_columns, run_bytes, write_cells, write_columns};

/// Lists without properties lie in one run up to this length.
const FLAT_MAX: usize = 2048;

/// What lies before a run with room: the number of places, if it has columns, and the mark.
pub(crate) const fn head_bytes(columns: bool) -> usize {
    if columns { 2 * size_of::<u32>() } else { size_of::<u32>() }
}

/// For how many rows there is room in a run with columns.
///
/// # Safety
/// It grows, begins here, and is alive.
pub(crate) unsafe fn places_of(start: *const u8) -> usize {
    // SAFETY: by contract; its head lies before it, 4-byte aligned.
    unsafe { start.sub(head_bytes(true)).cast::<u32>().read() as usize }
}

/// The list with `deltas` appended; `None` where they are no additions to a `multi` list, or are to be merged with it.
pub(crate) fn append<D: Delta>(
    old: Entry,
    deltas: &[D],
    policy: Policy<'_>,
    scratch: &mut Scratch,
    changes: &mut Changes,
) -> Option<Entry> {
    if !policy.multi || !D::PLAIN && deltas.iter().any(|delta| delta.is_delete()) {
        return None;
    }
    if D::PLAIN || policy.ops.columns.is_empty() {
        return Some(append_plain(old, deltas, changes));
    }
    let mut runs = std::mem::take(&mut scratch.new_runs);
    runs.clear();
    let mut single = None;
    // SAFETY: the version being edited is alive.
    runs.extend_from_slice(unsafe { old.runs(&mut single) });
    let last = runs.pop();
    let is_done = Rows { deltas, policy }.append(last, &mut runs, changes);
    let entry = is_done.then(|| entry_of(&runs, old, changes));
    scratch.new_runs = runs;
    entry
}

/// The list with `deltas` appended, which have no properties.
fn append_plain<D: Delta>(old: Entry, deltas: &[D], changes: &mut Changes) -> Entry {
    if old.is_empty() {
        return entry_of(&[new_run(&[], deltas, changes)], old, changes);
    }
    // SAFETY: the version being edited is alive.
    let Some(run) = (unsafe { old.only_run() }) else { return append_to_runs(old, deltas, changes) };
    let (run, rest) = extend(run, deltas);
    if rest.is_empty() {
        return entry_of(&[run], old, changes);
    }
    let len = run.len as usize + rest.len();
    if !run.has_columns() && len <= FLAT_MAX {
        let mut buffer = RunBuffer::new();
        // SAFETY: the version being edited is alive.
        let grown = new_run(unsafe { run.read(&mut buffer) }, rest, changes);
        run.block().into_iter().for_each(|block| changes.retire(block));
        return entry_of(&[grown], old, changes);
    }
    entry_of(&[run, next_run(rest, len, changes)], old, changes)
}

fn append_to_runs<D: Delta>(old: Entry, deltas: &[D], changes: &mut Changes) -> Entry {
    // SAFETY: the version being edited is alive.
    let mut runs = unsafe { old.directory() }.to_vec();
    let before = len_of(&runs);
    let mut rest = deltas;
    if let Some(last) = runs.last_mut() {
        (*last, rest) = extend(*last, deltas);
    }
    if !rest.is_empty() {
        runs.push(next_run(rest, before + deltas.len(), changes));
    }
    entry_of(&runs, old, changes)
}

fn len_of(runs: &[ChunkRef]) -> usize {
    runs.iter().map(|run| run.len as usize).sum()
}

/// The run with as many changes appended as there is room for, and the others.
fn extend<D: Delta>(run: ChunkRef, deltas: &[D]) -> (ChunkRef, &[D]) {
    let Some(block) = run.block().filter(|_| run.grows() && !run.has_columns()) else { return (run, deltas) };
    // SAFETY: it is alive.
    let places = unsafe { block.payload_bytes() - head_bytes(false) } / size_of::<VertexId>();
    let (taken, rest) = deltas.split_at(take_places(run, places, deltas.len()));
    // SAFETY: these places were taken.
    unsafe { write_neighbors(end_of(run), taken) };
    (ChunkRef { len: run.len + taken.len() as u32, ..run }, rest)
}

/// Takes up to so many of the places behind a run, which are for nobody else then; tells how many.
fn take_places(run: ChunkRef, places: usize, wanted: usize) -> usize {
    let end = run.forgotten() + run.len;
    let taken = wanted.min(places - end as usize);
    // SAFETY: a run with room begins behind its mark, in a live heap block.
    let mark = unsafe { AtomicU32::from_ptr(run.before_forgotten().sub(size_of::<u32>()).cast_mut().cast()) };
    match mark.compare_exchange(end, end + taken as u32, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => taken,
        Err(_) => 0,
    }
}

/// Where the neighbors of a run end.
fn end_of(run: ChunkRef) -> *mut u8 {
    run.pointer().wrapping_add(size_of::<VertexId>() * run.len as usize).cast_mut()
}

/// # Safety
/// So many places from here on are the caller's: nobody reads there until the list is published.
unsafe fn write_neighbors<D: Delta>(at: *mut u8, deltas: &[D]) {
    for (place, delta) in deltas.iter().enumerate() {
        // SAFETY: by contract.
        unsafe { at.cast::<VertexId>().add(place).write(delta.neighbor()) };
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
    let block = changes.allocate(head_bytes(false) + (len + room) * size_of::<VertexId>());
    let run = ChunkRef::growing(block, list.len(), false);
    // SAFETY: the new block has room for the mark and the neighbors.
    unsafe {
        block.pointer().cast::<u32>().write(len as u32);
        run.pointer().cast_mut().cast::<VertexId>().copy_from_nonoverlapping(list.as_ptr(), list.len());
        write_neighbors(end_of(run), deltas);
    }
    ChunkRef { len: len as u32, ..run }
}

/// Edges that are put into a list, with properties.
#[derive(Clone, Copy)]
struct Rows<'a, D> {
    deltas: &'a [D],
    policy: Policy<'a>,
}

impl<'a, D: Delta> Rows<'a, D> {
    /// Appends the last run of a list with the edges to the runs before it; tells whether it did.
    fn append(self, last: Option<ChunkRef>, runs: &mut Vec<ChunkRef>, changes: &mut Changes) -> bool {
        let Some(columns) = given_columns(self.policy) else { return false };
        let mut rest = self;
        // What is left of the list to be written again, with what comes.
        let mut moved = None;
        if let Some(mut last) = last {
            let shape = columns.clone().map(|(column, _)| column);
            // SAFETY: the version being edited is alive.
            let suits = unsafe { last.columns() }.is_some_and(|area| area.has_just(shape));
            if suits && last.grows() {
                (last, rest) = self.extend(last, columns.clone());
            }
            if rest.deltas.is_empty() || last.len as usize >= CHUNK_MAX {
                runs.push(last);
            } else if suits {
                moved = Some(last);
            } else {
                return false;
            }
        }
        let total = len_of(runs) + moved.map_or(0, |run| run.len as usize) + rest.deltas.len();
        let most = run_max(total, Coding::Plain);
        while !rest.deltas.is_empty() {
            let before = moved.map_or(0, |run| run.len as usize);
            let (here, others) = rest.deltas.split_at(rest.deltas.len().min(most - before));
            let len = before + here.len();
            let places = if others.is_empty() { len + (len / 4).max(total / 8) } else { len };
            let here = Rows { deltas: here, ..rest };
            runs.push(here.new_run(moved.take(), places.min(most)..=most, columns.clone(), changes));
            rest.deltas = others;
        }
        true
    }

    /// The run, which has just these columns, with as many edges appended as there is room for, and the others.
    fn extend(
        self,
        run: ChunkRef,
        columns: impl Iterator<Item = (PlainColumn, &'a Cells)>,
    ) -> (ChunkRef, Self) {
        // SAFETY: the run grows, and the version being edited is alive.
        let places = unsafe { places_of(run.before_forgotten()) };
        let (taken, rest) = self.deltas.split_at(take_places(run, places, self.deltas.len()));
        // SAFETY: these places were taken.
        unsafe { write_neighbors(end_of(run), taken) };
        // SAFETY: the version being edited is alive.
        let area = unsafe { run.columns() };
        for (position, (_, cells)) in columns.enumerate() {
            // SAFETY: as above, the places behind the last neighbor were taken.
            if let Some(places) = area.and_then(|area| unsafe { area.cells_from(position, area.rows()) }) {
                write_cells(cells, taken.iter().map(|delta| delta.row()), places);
            }
        }
        (ChunkRef { len: run.len + taken.len() as u32, ..run }, Rows { deltas: rest, ..self })
    }

    /// A run of the edges behind those of a run that has just these columns, and is retired. It has the least of `places` or more, if its
    /// block happens to have room for them.
    fn new_run(
        self,
        old: Option<ChunkRef>,
        places: RangeInclusive<usize>,
        columns: impl Iterator<Item = (PlainColumn, &'a Cells)> + Clone,
        changes: &mut Changes,
    ) -> ChunkRef {
        let (mut places, most) = places.into_inner();
        let shape = columns.clone().map(|(column, _)| column);
        let bytes = |places: usize| head_bytes(true) + run_bytes(places, shape.clone());
        let block = changes.allocate(bytes(places));
        // SAFETY: it is alive.
        while places < most && bytes(places + 1) <= unsafe { block.payload_bytes() } {
            places += 1;
        }
        let mut buffer = RunBuffer::new();
        // SAFETY: the version being edited is alive.
        let list = old.as_ref().map_or(&[][..], |old| unsafe { old.read(&mut buffer) });
        let len = list.len() + self.deltas.len();
        let run = ChunkRef::growing(block, list.len(), true);
        // SAFETY: the new block has room for the head, the neighbors and the columns, and nobody else reaches it.
        let room = unsafe {
            block.pointer().cast::<[u32; 2]>().write([places as u32, len as u32]);
            let start = run.pointer().cast_mut();
            start.cast::<VertexId>().copy_from_nonoverlapping(list.as_ptr(), list.len());
            write_neighbors(end_of(run), self.deltas);
            std::slice::from_raw_parts_mut(start.cast(), run_bytes(places, shape))
        };
        // SAFETY: the version being edited is alive.
        let area = old.and_then(|run| Some(unsafe { run.columns() }?.starting_at(run.forgotten() as usize)));
        write_columns(room, places, columns, |column, cells, places| {
            let (kept, added) = places.split_at_mut(column.width * list.len());
            let old = area.and_then(|area| area.column(column.property));
            old.into_iter().for_each(|old| old.write_cells(0, kept));
            write_cells(cells, self.deltas.iter().map(|delta| delta.row()), added);
        });
        old.and_then(ChunkRef::block).into_iter().for_each(|block| changes.retire(block));
        ChunkRef { len: len as u32, ..run }
    }
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
