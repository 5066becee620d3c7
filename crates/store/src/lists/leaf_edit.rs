//! One leaf of a vertex table after changes to lists of it: which lists are written by themselves, and when all that
//! are short are packed into one block.
//!
//! ```text
//!  leaf ─► pack:   [list of 0][list of 1][list of 5]…   one block, in the order of vertices, as in a CSR
//!       └► loose:  lists in blocks of their own, written by small commits since the pack was
//!       └► others: chunked lists, lists with properties, lists in segments
//! ```
//!
//! A large batch touches most lists of a leaf: packing them anew copies each once, in order, with one allocation for
//! all, and a scan finds neighboring lists side by side. A small commit writes only the lists it changes. When what
//! is loose or dead outgrows a part of the pack, the leaf is packed again, so that a change costs the copying of a
//! few times its list, and little memory is lost to holes.
//!
//! Invariants: a packed entry points into the pack of its own leaf; a pack is replaced as a whole; `multi`
//! lists, which grow in place, are never packed, nor are those of a graph that is written to where it lies.
#![allow(unsafe_code)]

use std::hint::select_unpredictable;
use std::mem::MaybeUninit;
use std::ops::Range;

use evergraph_types::VertexId;

use crate::lists::adjacency::{CHUNK_MAX, ChunkRef};
use crate::lists::compression::{Coding, RunBuffer, SLACK_BYTES};
use crate::lists::entry::Entry;
use crate::lists::growth::append;
use crate::lists::heap::{Block, Changes};
use crate::lists::merge::{
    Delta, Policy, Scratch, entry_of, even_runs, merge_into, merge_list, merge_plain, push_run, write_run,
};
use crate::lists::paged_array::Leaf;
use crate::system::prefetch::prefetch;
use crate::write_sets::ops::EdgeOps;

/// Writing a list by itself costs about as much as copying so many neighbors.
const LIST_COST: usize = 128;

/// How many neighbors of a leaf in memory are where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// In lists that are packed or may be.
    short: u32,
    /// Of these, in blocks of their own.
    loose: u32,
}

impl Room {
    /// What nobody has counted.
    pub(crate) const UNKNOWN: Room = Room { short: u32::MAX, loose: 0 };
    const NONE: Room = Room { short: 0, loose: 0 };

    fn of(leaf: &Leaf<Entry>) -> Self {
        if leaf.room != Room::UNKNOWN {
            return leaf.room;
        }
        let mut room = Room::NONE;
        leaf.cells.iter().for_each(|entry| room.add(*entry));
        room
    }

    fn of_list(entry: Entry) -> Self {
        let mut room = Room::NONE;
        room.add(entry);
        room
    }

    #[inline]
    fn add(&mut self, entry: Entry) {
        let len = entry.packable() as u32;
        self.short += len;
        self.loose += len * u32::from(entry.is_apart());
    }

    /// The room after one list was replaced by another.
    fn replace(&mut self, old: Entry, new: Entry) {
        let (old, new) = (Room::of_list(old), Room::of_list(new));
        self.short = self.short + new.short - old.short;
        self.loose = self.loose + new.loose - old.loose;
    }

    /// Whether so much is loose, or dead in a pack of so many neighbors, that the leaf is packed again.
    fn is_scattered(self, pack_len: u32) -> bool {
        let dead = pack_len.saturating_sub(self.short - self.loose);
        self.loose > self.short / 2 || dead > self.short / 4 + LIST_COST as u32
    }
}

/// Changes the lists of a leaf; `deltas` are all changes to them, sorted.
pub(crate) fn edit_leaf<D: Delta>(
    leaf: &mut Leaf<Entry>,
    base: VertexId,
    deltas: &[D],
    policy: Policy<'_>,
    changes: &mut Changes,
) {
    ask_for_rows(deltas, policy.ops);
    let mut scratch = std::mem::take(&mut changes.scratch);
    let is_packed = !policy.multi && policy.ops.columns.is_empty() && changes.owned_after.is_none();
    if !is_packed {
        for group in lists_of(deltas) {
            leaf.get(group[0].vertex()).into_iter().for_each(Entry::prefetch);
        }
        for group in lists_of(deltas) {
            edit_list(leaf, group, policy, &mut scratch, changes);
        }
        release_pack(leaf, changes);
    } else {
        let mut room = Room::of(leaf);
        if touches_most(leaf, deltas, room) {
            room = pack(leaf, base, deltas, policy, room, &mut scratch, changes);
        } else {
            for group in lists_of(deltas) {
                let (old, new) = edit_list(leaf, group, policy, &mut scratch, changes);
                room.replace(old, new);
            }
            if room.is_scattered(leaf.pack_len) {
                room = pack::<D>(leaf, base, &[], policy, room, &mut scratch, changes);
            } else if room.short == room.loose {
                release_pack(leaf, changes);
            }
        }
        leaf.room = room;
    }
    changes.scratch = scratch;
}

/// Asks the processor for the properties that changes give: in the order of lists their rows lie anywhere in a batch.
fn ask_for_rows<D: Delta>(deltas: &[D], ops: &EdgeOps) {
    for column in &ops.columns {
        let cells = column.values.cells();
        deltas.iter().for_each(|delta| prefetch(cells.place(delta.row()), 1));
    }
}

/// The changes of each list.
pub(crate) fn lists_of<D: Delta>(deltas: &[D]) -> impl Iterator<Item = &[D]> {
    deltas.chunk_by(|left, right| left.vertex() == right.vertex())
}

/// The run of a list that may lie in a pack: short, and without properties. An empty one, if the list is.
#[inline]
fn short_run(entry: Entry) -> Option<ChunkRef> {
    if entry.has_directory() {
        return None;
    }
    let run = entry.run();
    (run.len as usize <= CHUNK_MAX && !run.has_columns()).then_some(run)
}

/// Whether packing all short lists costs about as much as writing those that change.
fn touches_most<D: Delta>(leaf: &Leaf<Entry>, deltas: &[D], room: Room) -> bool {
    let touched = lists_of(deltas)
        .map(|group| leaf.get(group[0].vertex()).unwrap_or(Entry::EMPTY))
        .filter_map(short_run)
        .map(|run| run.len as usize + LIST_COST);
    let cost = touched.sum::<usize>();
    cost > 0 && room.short as usize <= 2 * cost
}

/// Changes one list; tells what it was and has become.
fn edit_list<D: Delta>(
    leaf: &mut Leaf<Entry>,
    group: &[D],
    policy: Policy<'_>,
    scratch: &mut Scratch,
    changes: &mut Changes,
) -> (Entry, Entry) {
    let vertex = group[0].vertex();
    let old = leaf.get(vertex).unwrap_or(Entry::EMPTY);
    let before = degree_of(old);
    let loops = group.iter().any(|delta| delta.neighbor() == vertex);
    let old_loops = if loops { count_loops(old, vertex) } else { 0 };
    let new = match append(old, group, policy, scratch, changes) {
        Some(grown) => grown,
        None => merge_list(old, group, policy, scratch, changes),
    };
    let after = degree_of(new);
    changes.entries += i64::from(after) - i64::from(before);
    changes.loops += if loops { count_loops(new, vertex) - old_loops } else { 0 };
    note_newcomer(old, group, changes);
    note_emptied(vertex, before as usize, after as usize, changes);
    leaf.set(vertex, (!new.is_empty()).then_some(new));
    (old, new)
}

/// The length of a list of the draft or the version it started from. Of an old one to be asked before the new one is made, which
/// may be written to its directory.
pub(crate) fn degree_of(entry: Entry) -> u32 {
    // SAFETY: both are alive.
    unsafe { entry.degree() }
}

/// Notes the vertex as new if its list had no edges and is given one.
pub(crate) fn note_newcomer<D: Delta>(old: Entry, group: &[D], changes: &mut Changes) {
    if old.is_empty() && group.iter().any(|delta| !delta.is_delete()) {
        changes.newcomers.push(group[0].vertex());
    }
}

/// Notes the vertex if its list has no edges any more.
pub(crate) fn note_emptied(vertex: VertexId, before: usize, after: usize, changes: &mut Changes) {
    if before > 0 && after == 0 {
        changes.emptied.push(vertex);
    }
}

pub(crate) fn count_loops(entry: Entry, vertex: VertexId) -> i64 {
    // SAFETY: the list belongs to the draft or to the version it started from, both alive. In a chunked merge some
    // blocks of `entry` may be retired by now, but retired blocks live as long as that version.
    unsafe { entry.neighbors() }.iter().filter(|&neighbor| neighbor == vertex).count() as i64
}

/// A pack while it is written.
struct PackDraft<'a> {
    words: &'a mut [MaybeUninit<u32>],
    /// So many are written.
    len: usize,
    /// So many neighbors these are.
    neighbors: usize,
    coding: Coding,
}

impl PackDraft<'_> {
    /// Where the next list begins, whether there will be one or not.
    fn place(&self) -> *const u8 {
        self.words.as_ptr().wrapping_add(self.len).cast()
    }

    fn end(&self) -> *const u8 {
        self.words.as_ptr_range().end.cast()
    }

    /// The words written from this one on.
    fn written_from(&self, start: usize) -> &[u32] {
        // SAFETY: they are.
        unsafe { self.words[start..self.len].assume_init_ref() }
    }

    fn push(&mut self, words: &[u32]) {
        self.words[self.len..self.len + words.len()].write_copy_of_slice(words);
        self.len += words.len();
    }

    /// Appends a short list, and gives its entry; `buffer` is room to work in.
    fn push_list(&mut self, list: &[VertexId], buffer: &mut Vec<u32>) -> Entry {
        buffer.clear();
        let compressed = self.coding != Coding::Plain && push_run(list, self.coding, buffer);
        let place = self.place();
        self.push(if compressed { buffer } else { list });
        self.note_list(place, list.len(), compressed)
    }

    /// The entry of a list that was written to this place.
    fn note_list(&mut self, place: *const u8, len: usize, compressed: bool) -> Entry {
        self.neighbors += len;
        Entry::packed(place, len, compressed, self.end())
    }
}

/// Writes all short lists of the leaf to a new pack, changes made, and tells what room they take then. Lists in segments stay there
/// unless they change.
fn pack<D: Delta>(
    leaf: &mut Leaf<Entry>,
    base: VertexId,
    deltas: &[D],
    policy: Policy<'_>,
    mut room: Room,
    scratch: &mut Scratch,
    changes: &mut Changes,
) -> Room {
    let coding = policy.coding();
    // Lists that are in no room yet, but in a segment.
    let added = lists_of(deltas).map(|group| leaf.cells[(group[0].vertex() - base) as usize]);
    let added = added.filter(|old| old.packable() == 0).filter_map(short_run).map(|run| run.len as usize);
    let most = room.short as usize + deltas.len() + added.sum::<usize>();
    let block = (coding == Coding::Plain && most > 0).then(|| changes.allocate(size_of::<u32>() * most));
    let mut buffer = std::mem::take(&mut scratch.pack);
    let words = match block {
        // SAFETY: the new block has room for so many words, and nobody else reaches it.
        Some(block) => unsafe { std::slice::from_raw_parts_mut(block.pointer().cast(), most) },
        None => {
            buffer.reserve(most);
            &mut buffer.spare_capacity_mut()[..most]
        }
    };
    let mut draft = PackDraft { words, len: 0, neighbors: 0, coding };
    room = Room::NONE;
    // The cells whose lists go to the pack, as bits.
    let mut packed = 0;
    let mut next = 0;
    for group in lists_of(deltas) {
        let slot = (group[0].vertex() - base) as usize;
        packed |= pack_unchanged(leaf, next..slot, &mut draft, scratch, changes);
        next = slot + 1;
        let old = leaf.cells[slot];
        if short_run(old).is_none() {
            let (_, new) = edit_list(leaf, group, policy, scratch, changes);
            room.add(new);
            continue;
        }
        let new = pack_changed(old, group, &mut draft, scratch, changes);
        leaf.set(base + slot as u32, (!new.is_empty()).then_some(new));
        packed |= u64::from(!new.is_empty() && !new.has_directory()) << slot;
    }
    packed |= pack_unchanged(leaf, next..leaf.cells.len(), &mut draft, scratch, changes);
    leaf.pack.take().into_iter().for_each(|pack| changes.retire(pack));
    room.short += draft.neighbors as u32;
    leaf.pack_len = draft.neighbors as u32;
    leaf.pack = settle(leaf, packed, draft, block, changes);
    scratch.pack = buffer;
    room
}

/// The block of a pack that was written to this block, or to none: that one, if it is not much too large, else one of its size, to
/// which the entries of the packed cells are moved.
fn settle(
    leaf: &mut Leaf<Entry>,
    packed: u64,
    draft: PackDraft<'_>,
    block: Option<Block>,
    changes: &mut Changes,
) -> Option<Block> {
    let PackDraft { words, len, coding, .. } = draft;
    if block.is_some() && words.len() - len <= len / 8 {
        // They may be read ahead of.
        words[len..].fill(MaybeUninit::new(0));
        return block;
    }
    let fitting = (len > 0).then(|| {
        let slack = if coding == Coding::Plain { 0 } else { SLACK_BYTES };
        let fitting = changes.allocate(size_of::<u32>() * len + slack);
        // SAFETY: the new block has room for the words.
        unsafe { fitting.pointer().cast::<MaybeUninit<u32>>().copy_from_nonoverlapping(words.as_ptr(), len) };
        let by = (fitting.pointer() as u64).wrapping_sub(words.as_ptr() as u64);
        let end = fitting.pointer().wrapping_add(size_of::<u32>() * len);
        for (slot, entry) in leaf.cells.iter_mut().enumerate() {
            *entry = select_unpredictable(packed >> slot & 1 == 1, entry.moved(by, end), *entry);
        }
        fitting
    });
    block.into_iter().for_each(|block| changes.give_back(block));
    fitting
}

/// Appends a short list to the pack with its changes made, and gives its entry; a list that is short no more is written in chunks and
/// not appended.
fn pack_changed<D: Delta>(
    old: Entry,
    group: &[D],
    draft: &mut PackDraft<'_>,
    scratch: &mut Scratch,
    changes: &mut Changes,
) -> Entry {
    let vertex = group[0].vertex();
    let mut buffer = RunBuffer::new();
    let before = list_of(old, &mut buffer);
    let Scratch { neighbors, words: run, .. } = scratch;
    let (start, place) = (draft.len, draft.place());
    // What is not compressed is merged where it will lie.
    let is_plain = draft.coding == Coding::Plain;
    let after = if is_plain {
        draft.len += merge_plain(before, group, &mut changes.found, &mut draft.words[start..]);
        draft.written_from(start)
    } else {
        merge_into(before, group, &mut changes.found, neighbors);
        &**neighbors
    };
    changes.entries += after.len() as i64 - before.len() as i64;
    let loops = |list: &[VertexId]| list.iter().filter(|&&neighbor| neighbor == vertex).count() as i64;
    if group.iter().any(|delta| delta.neighbor() == vertex) {
        changes.loops += loops(after) - loops(before);
    }
    note_newcomer(old, group, changes);
    note_emptied(vertex, before.len(), after.len(), changes);
    retire_list(old, changes);
    match after.len() {
        0 => Entry::EMPTY,
        len @ 1..=CHUNK_MAX if is_plain => draft.note_list(place, len, false),
        1..=CHUNK_MAX => draft.push_list(neighbors, run),
        _ => {
            let runs =
                even_runs(after, draft.coding).map(|part| write_run(part, draft.coding, run, None, changes));
            let runs: Vec<ChunkRef> = runs.collect();
            draft.len = start;
            entry_of(&runs, old, changes)
        }
    }
}

/// Some lists of a leaf.
pub(crate) struct Stretch<'a> {
    /// Their cells, as bits, the first that was looked at the lowest.
    pub(crate) cells: u64,
    /// All their neighbors, if they lie end to end, so that they can be copied as one.
    pub(crate) neighbors: Option<&'a [VertexId]>,
}

/// The lists of these cells of which `look` tells a length, and whether so many neighbors lie where the entry points to; 0 is for a list that
/// is not meant.
///
/// # Safety
/// What `look` says is so, and the version that the lists belong to stays alive for `'a`.
#[inline]
pub(crate) unsafe fn stretch_of<'a>(
    cells: &[Entry],
    look: impl Fn(usize, Entry) -> (usize, bool),
) -> Stretch<'a> {
    let (mut from, mut to, mut bytes, mut is_whole, mut found) = (u64::MAX, 0, 0, true, 0);
    // Which lists there are is as good as random, so nothing branches on it.
    for (slot, entry) in cells.iter().enumerate() {
        let (len, lies_there) = look(slot, *entry);
        let (place, len) = (entry.pointer() as u64, (size_of::<VertexId>() * len) as u64);
        let is_meant = len > 0;
        from = from.min(select_unpredictable(is_meant, place, u64::MAX));
        to = to.max(select_unpredictable(is_meant, place + len, 0));
        bytes += len;
        is_whole &= !is_meant | lies_there;
        found |= u64::from(is_meant) << slot;
    }
    let is_stretch = found != 0 && is_whole && to - from == bytes;
    let neighbors = is_stretch.then(|| {
        // SAFETY: by contract; lists do not overlap, so that they fill what lies between.
        unsafe { std::slice::from_raw_parts(from as *const VertexId, bytes as usize / size_of::<VertexId>()) }
    });
    Stretch { cells: found, neighbors }
}

/// Appends the short lists in these cells to the pack as they are; tells in which cells they are, as bits. Mostly the lists lie side by
/// side in the pack before and are copied as one.
fn pack_unchanged(
    leaf: &mut Leaf<Entry>,
    slots: Range<usize>,
    draft: &mut PackDraft<'_>,
    scratch: &mut Scratch,
    changes: &mut Changes,
) -> u64 {
    if slots.is_empty() {
        return 0;
    }
    let first = slots.start;
    let cells = &mut leaf.cells[slots];
    let is_plain = draft.coding == Coding::Plain;
    let look = |_, entry: Entry| (entry.packable(), is_plain & entry.is_packed_plain());
    // SAFETY: lists that are packed and plain have so many neighbors there, and the version being edited is alive.
    let Stretch { cells: packed, neighbors } = unsafe { stretch_of(cells, look) };
    if let Some(neighbors) = neighbors {
        let by = (draft.place() as u64).wrapping_sub(neighbors.as_ptr() as u64);
        draft.push(neighbors);
        draft.neighbors += neighbors.len();
        let end = draft.end();
        for (slot, entry) in cells.iter_mut().enumerate() {
            *entry = select_unpredictable(packed >> slot & 1 == 1, entry.moved(by, end), *entry);
        }
        return packed << first;
    }
    for (_, entry) in cells.iter_mut().enumerate().filter(|(slot, _)| packed >> slot & 1 == 1) {
        let run = entry.run();
        let new = if run.is_compressed() && draft.coding != Coding::Plain {
            let place = draft.place();
            // SAFETY: the version being edited is alive.
            draft.push(unsafe { run.words() });
            draft.note_list(place, run.len as usize, true)
        } else {
            draft.push_list(list_of(*entry, &mut RunBuffer::new()), &mut scratch.words)
        };
        retire_list(*entry, changes);
        *entry = new;
    }
    packed << first
}

/// The neighbors of a short list, decoded into the buffer if they are compressed.
fn list_of(entry: Entry, buffer: &mut RunBuffer) -> &[VertexId] {
    if entry.is_empty() {
        return &[];
    }
    // SAFETY: the version being edited is alive, and so are its packs and blocks, retired or not, as long as its draft
    // is edited; the slice is used within one edit.
    unsafe { entry.run().read(buffer) }
}

/// Retires the block of a short list that has one of its own.
fn retire_list(entry: Entry, changes: &mut Changes) {
    let block = (!entry.is_empty()).then(|| entry.run().block()).flatten();
    block.into_iter().for_each(|block| changes.retire(block));
}

/// Retires the pack of a leaf if no list lies in it any more.
pub(crate) fn release_pack(leaf: &mut Leaf<Entry>, changes: &mut Changes) {
    let is_packed = |entry: &Entry| !entry.has_directory() && entry.run().is_packed();
    if let Some(pack) = leaf.pack
        && !leaf.cells.iter().any(is_packed)
    {
        changes.retire(pack);
        (leaf.pack, leaf.pack_len) = (None, 0);
    }
}

/// Whether two entries of living versions hold the same list: packs and clusters move lists that do not change.
pub(crate) fn is_same_list(left: Entry, right: Entry) -> bool {
    let may_move = |run: &ChunkRef| !run.has_columns();
    let moved = |entry: Entry| (!entry.has_directory()).then(|| entry.run()).filter(may_move);
    let is_moved = || moved(left).zip(moved(right)).is_some_and(|(left, right)| left.len == right.len);
    let is_equal = || {
        let (mut left_buffer, mut right_buffer) = (RunBuffer::new(), RunBuffer::new());
        list_of(left, &mut left_buffer) == list_of(right, &mut right_buffer)
    };
    left == right || is_moved() && is_equal()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::lists::adjacency::AHEAD;
    use crate::lists::merge::{PlainDelta, RowDelta, for_each_block};
    use crate::lists::paged_array::{LEAF_CELLS, PagedArray};
    use crate::lists::sort::{Ends, sorted_deltas};
    use crate::write_sets::ops::EdgeOps;

    type Lists = BTreeMap<VertexId, Vec<VertexId>>;

    /// Edges put or deleted by one commit: few or many, on few vertices or many.
    fn commit() -> impl Strategy<Value = Vec<(VertexId, VertexId, bool)>> {
        // The last but one puts edges that are there; the last makes runs of `multi` lists that are longer than a word can tell.
        let shape = prop_oneof![
            4 => Just((1u32, 5usize, 900u32)), 4 => Just((3, 600, 900)), 4 => Just((130, 40, 900)),
            4 => Just((130, 3000, 900)), 4 => Just((130, 3000, 30)), 1 => Just((1, 20_000, 900))];
        (shape, prop_oneof![Just(0.0), Just(0.4)]).prop_flat_map(|((vertices, rows, neighbors), deleted)| {
            let row = (0..vertices, 0..neighbors, prop::bool::weighted(deleted));
            prop::collection::vec(row, rows / 2..=rows)
        })
    }

    fn edit(
        table: PagedArray<Entry>,
        ops: &EdgeOps,
        multi: bool,
        compact: bool,
        changes: &mut Changes,
    ) -> PagedArray<Entry> {
        fn with<D: Delta>(
            table: PagedArray<Entry>,
            policy: Policy<'_>,
            changes: &mut Changes,
        ) -> PagedArray<Entry> {
            let ends = Ends { from: &policy.ops.src, to: &policy.ops.dst, symmetric: false };
            let deltas =
                sorted_deltas(ends, |vertex, neighbor, row| D::new(policy.ops, vertex, neighbor, row));
            let edit = |base, leaf: &mut _, deltas: &[D], changes: &mut _| {
                edit_leaf(leaf, base, deltas, policy, changes)
            };
            table.edit(&deltas, &Delta::vertex, &edit, changes)
        }
        let policy = Policy { multi, compact, properties: &[], ops };
        match (ops.is_plain(), multi) {
            (true, false) => with::<PlainDelta<false>>(table, policy, changes),
            (true, true) => with::<PlainDelta<true>>(table, policy, changes),
            (false, false) => with::<RowDelta<false>>(table, policy, changes),
            (false, true) => with::<RowDelta<true>>(table, policy, changes),
        }
    }

    fn apply(lists: &mut Lists, ops: &EdgeOps, multi: bool) {
        for (row, (&vertex, &neighbor)) in ops.src.iter().zip(&ops.dst).enumerate() {
            let list = lists.entry(vertex).or_default();
            if ops.is_delete(row) || !multi {
                list.retain(|&other| other != neighbor);
            }
            if !ops.is_delete(row) {
                list.push(neighbor);
            }
            if !multi {
                list.sort_unstable();
            }
        }
        lists.retain(|_, list| !list.is_empty());
    }

    fn lists_in(table: &PagedArray<Entry>) -> Lists {
        let mut found = Lists::new();
        table.for_each_leaf(&mut |base, leaf| {
            for vertex in base..base + LEAF_CELLS {
                // SAFETY: nothing is freed before the end of the test.
                let list = leaf.get(vertex).map(|entry| unsafe { entry.neighbors() }.to_vec());
                list.into_iter().for_each(|list| drop(found.insert(vertex, list)));
            }
            if leaf.room != Room::UNKNOWN {
                assert_eq!(leaf.room, Room::of(&Leaf { room: Room::UNKNOWN, ..leaf.clone() }));
            }
            // What is not compressed takes about as much room as it has neighbors.
            if let Some(pack) = leaf.pack {
                // SAFETY: as above.
                let words = unsafe { pack.payload_bytes() } / 4;
                let most = leaf.pack_len as usize * 9 / 8;
                assert!(words <= most + SLACK_BYTES / 4 + 1, "{words} words for {} neighbors", leaf.pack_len);
            }
            // A list in the pack, and what can be read after it, ends in the pack.
            let packed = leaf.cells.iter().filter(|entry| !entry.has_directory() && entry.run().is_packed());
            for run in packed.map(|entry| entry.run()) {
                let pack = leaf.pack.unwrap();
                // SAFETY: as above.
                let words = unsafe { pack.payload_bytes() } / 4;
                let start = (run.pointer() as usize - pack.pointer() as usize) / 4;
                let len = if run.is_compressed() { 0 } else { run.len as usize };
                assert!(start + len + if run.has_more() { AHEAD } else { 0 } <= words);
            }
        });
        found
    }

    /// Also after it was appended to, which names a list of a segment as one run.
    #[test]
    fn a_delete_writes_one_part_of_a_long_list() {
        let mut list: Vec<VertexId> = (0..100_000).collect();
        let memory = list.clone();
        let run = ChunkRef::mapped(memory.as_ptr() as u64, false, memory.len() as u32, 0);
        let mut changes = Changes::new(1);
        let set = |_, leaf: &mut Leaf<Entry>, _: &[VertexId], changes: &mut Changes| {
            leaf.set(0, Some(entry_of(&[run], Entry::EMPTY, changes)));
        };
        let mut table = PagedArray::default().edit(&[0], &|vertex| *vertex, &set, &mut changes);
        for (neighbor, delete) in [(7, false), (500, true)] {
            let mut ops = EdgeOps::default();
            ops.push(0, neighbor, delete, &[], |_| evergraph_types::PropertyType::Bool);
            let before = changes.allocated_bytes;
            table = edit(table, &ops, true, false, &mut changes);
            let written = changes.allocated_bytes - before;
            assert!(written < size_of_val(&*memory) / 4, "{written} bytes for one edge");
        }
        list.push(7);
        list.retain(|&neighbor| neighbor != 500);
        assert_eq!(lists_in(&table), Lists::from([(0, list)]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// Lists are those of a naive model, in every version, and no block is lost or freed twice. Now and then a
        /// commit is made of an older version, or made and given up, or writes its lists in the other format.
        #[test]
        fn every_version_keeps_its_lists(
            multi: bool, format in 0u8..3, commits in prop::collection::vec((commit(), 0u8..6), 1..14))
        {
            let mut changes = Changes::new(1);
            let mut history = vec![(PagedArray::<Entry>::default(), Lists::new())];
            let mut newest = 0;
            let mut branches = Vec::new();
            for (number, (rows, turn)) in commits.into_iter().enumerate() {
                let compact = format == 0 || format == 1 && number % 3 != 2;
                let mut ops = EdgeOps::default();
                for (vertex, neighbor, delete) in rows {
                    ops.push(vertex, neighbor, delete, &[], |_| evergraph_types::PropertyType::Bool);
                }
                let is_branch = turn == 0;
                let base = if is_branch { newest / 2 } else { newest };
                let (table, mut lists) = history[base].clone();
                let mut own = changes.fork();
                let edited = edit(table, &ops, multi, compact, &mut own);
                apply(&mut lists, &ops, multi);
                prop_assert_eq!(&lists_in(&edited), &lists);
                if is_branch {
                    // What a draft that is given up has retired is still in use.
                    branches.push((edited, lists));
                    continue;
                }
                changes.join(own);
                history.push((edited, lists));
                newest = history.len() - 1;
            }
            for (table, lists) in history.iter().chain(&branches) {
                prop_assert_eq!(&lists_in(table), lists);
            }
            if branches.is_empty() {
                let mut blocks = std::mem::take(&mut changes.retired);
                let (table, _) = &history[newest];
                table.for_each_page(&mut |page| blocks.push(page));
                table.for_each_leaf(&mut |_, leaf| {
                    leaf.cells.iter().for_each(|entry| for_each_block(*entry, &mut |block| blocks.push(block)));
                    blocks.extend(leaf.pack);
                });
                // SAFETY: nothing reads the lists from here on; retired and reachable blocks are disjoint.
                let freed: usize = blocks.into_iter().map(|block| unsafe { block.free() }).sum();
                prop_assert_eq!(freed, changes.allocated_bytes);
            }
        }
    }
}
