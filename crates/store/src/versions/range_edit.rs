//! Changes to much of a range of vertices: its lists are written anew, all of them, end to end, and that is its cluster.
//!
//! ```text
//!  changes ─► ranges ─► few changes ──────────────────────────────────────► leaf by leaf (`leaf_edit.rs`)
//!                   └─► many ─► parts, in parallel ─► block of each part ─► cluster ─► entries point into it
//!                               lists and changes     [list][list][list]…
//! ```
//!
//! A batch with a change for each [`ENTRIES_PER_CHANGE`] entries of a range touches nearly all leaves of it, the packs and many of the
//! runs in which would be written anyway. End to end they take one allocation for a million bytes, and whoever scans them right after the
//! batch reads memory from one end to the other.
//!
//! Lists of a `simple` type that are neither compressed nor have properties are written so. Those that lie in a segment stay there unless they
//! change.
//!
//! Invariant: what an old cluster of the range holds is written to the new one, or is not reached any more.
#![allow(unsafe_code)]

use std::hint::select_unpredictable;
use std::mem::MaybeUninit;

use evergraph_types::VertexId;

use crate::lists::adjacency::{AHEAD, ChunkRef};
use crate::lists::bits::set_bits;
use crate::lists::entry::Entry;
use crate::lists::heap::{Block, Changes};
use crate::lists::leaf_edit::{
    Room, Stretch, count_loops, degree_of, lists_of, note_emptied, note_newcomer, release_pack, stretch_of,
};
use crate::lists::merge::{Delta, Policy, entry_of, for_each_block, merge_plain};
use crate::lists::paged_array::{LEAF_CELLS, Leaf, cells_of};
use crate::system::parallel::parallel_map;
use crate::system::pool::in_pool;
use crate::versions::cluster::{Cluster, HEAD_BYTES, leaf_bases, range_of};
use crate::versions::version::Adjacency;

/// A range with fewer changes is not worth it.
const CHANGES_MIN: usize = if cfg!(debug_assertions) { 1 << 6 } else { 1 << 10 };
/// Nor is one with more entries to write for each change: to edit a leaf by itself takes about as long for one as to copy so many.
const ENTRIES_PER_CHANGE: usize = 512;
/// About so many entries are written by one thread, to one block.
const ENTRIES_PER_PART: usize = if cfg!(debug_assertions) { 1 << 10 } else { 1 << 18 };

/// A leaf is asked for when the one so many vertices before it is looked at.
const AHEAD_BY: VertexId = 8 * LEAF_CELLS;

/// Makes these changes, which are sorted, where they are many for their range; gives the others, unless that is all. Where it does not
/// `go_on`, lists stay as they were.
pub(crate) fn edit_ranges<D: Delta>(
    lists: &mut Adjacency,
    deltas: &[D],
    policy: Policy<'_>,
    changes: &mut Changes,
    goes_on: impl Fn() -> bool + Sync,
) -> Option<Vec<D>> {
    let is_plain = !policy.multi && !policy.compact && policy.properties.is_empty();
    if !is_plain || changes.owned_after.is_some() || deltas.len() < CHANGES_MIN {
        return None;
    }
    let groups = || deltas.chunk_by(|left, right| range_of(left.vertex()) == range_of(right.vertex()));
    if groups().all(|group| group.len() < CHANGES_MIN) {
        return None;
    }
    let (before, forked) = (*lists, &*changes);
    // What is read of a range to cut it into parts is near when they are written.
    let edit = |group| {
        let parts = if goes_on() { parts_of(&before, group) } else { None };
        parts.map(|parts| parallel_map(&parts, |part| part.write(&before, forked.fork(), &goes_on)))
    };
    let ranges = in_pool(|| parallel_map(groups(), edit));
    let rest = groups().zip(&ranges).filter(|(_, parts)| parts.is_none());
    let rest: Vec<D> = rest.flat_map(|(group, _)| group).copied().collect();
    let mut done: Vec<Written> = ranges.into_iter().flatten().flatten().collect();
    if done.is_empty() {
        return None;
    }
    (changes.entries, changes.loops) = (0, 0);
    done.iter_mut().for_each(|part| changes.join(std::mem::take(&mut part.changes)));
    lists.entries = lists.entries.saturating_add_signed(changes.entries);
    lists.loops = lists.loops.saturating_add_signed(changes.loops);
    let leaves: Vec<(VertexId, Block)> = done.iter().flat_map(|part| &part.leaves).copied().collect();
    lists.table = lists.table.with_leaves(&leaves, changes);
    let clusters = done.chunk_by(|left, right| left.range == right.range).map(|parts| {
        let blocks: Vec<(Block, u64)> = parts.iter().filter_map(|part| part.block).collect();
        (parts[0].range, Cluster::link(&blocks))
    });
    lists.set_clusters(&clusters.collect::<Vec<_>>(), changes);
    Some(rest)
}

/// Some leaves of a range, one after the other, with their changes.
struct Part<'a, D> {
    /// The first vertices of the leaves.
    bases: Vec<VertexId>,
    deltas: &'a [D],
    /// So many entries it has at the most when the changes are made.
    most: usize,
}

/// What became of a part.
struct Written {
    range: u32,
    /// The block, and how many entries are in it, unless there are none.
    block: Option<(Block, u64)>,
    /// The leaves by their first vertices, ascending.
    leaves: Vec<(VertexId, Block)>,
    changes: Changes,
}

/// The parts of the range of these changes; `None` if it is not to be written anew.
fn parts_of<'a, D: Delta>(lists: &Adjacency, deltas: &'a [D]) -> Option<Vec<Part<'a, D>>> {
    if deltas.len() < CHANGES_MIN {
        return None;
    }
    let (mut parts, mut entries) = (Vec::new(), 0);
    let mut part = Part { bases: Vec::new(), deltas: &[], most: 0 };
    let (mut from, mut to) = (0, 0);
    for base in leaf_bases(range_of(deltas[0].vertex())) {
        lists.table.prefetch_leaves(&[base.saturating_add(AHEAD_BY)], &|base| *base);
        let (own, _) = split_leaf(&deltas[to..], base);
        let in_leaf = entries_to_write(lists.table.leaf(base), own)?;
        let most = in_leaf + own.len();
        entries += in_leaf;
        to += own.len();
        part.bases.extend((most > 0).then_some(base));
        part.most += most;
        part.deltas = &deltas[from..to];
        if part.most >= ENTRIES_PER_PART {
            parts.push(std::mem::replace(&mut part, Part { bases: Vec::new(), deltas: &[], most: 0 }));
            from = to;
        }
    }
    parts.extend((part.most > 0).then_some(part));
    (entries <= ENTRIES_PER_CHANGE * deltas.len()).then_some(parts)
}

/// The changes of the leaf that begins with this vertex, and those behind it.
fn split_leaf<D: Delta>(deltas: &[D], base: VertexId) -> (&[D], &[D]) {
    // A leaf has few of the many of its range: they are found sooner one by one than by a search.
    deltas.split_at(deltas.iter().take_while(|delta| delta.vertex() - base < LEAF_CELLS).count())
}

/// The cells whose lists lie in no segment, as bits; all of them are written anew, and the changes.
fn on_heap(leaf: &Leaf<Entry>) -> u64 {
    leaf.occupied & leaf.dirty
}

/// How many entries there are in these; `None` if one of them is not to be written so.
fn entries_to_write<D: Delta>(leaf: Option<&Leaf<Entry>>, deltas: &[D]) -> Option<usize> {
    let Some(leaf) = leaf else { return Some(0) };
    let written = on_heap(leaf) | cells_of(deltas, D::vertex);
    let (mut entries, mut by_directory, mut has_others) = (0, 0, false);
    // What a cell holds is as good as random, so nothing branches on it.
    for (slot, entry) in leaf.cells.iter().enumerate() {
        let is_written = written >> slot & 1 == 1;
        let is_flat = is_written & !entry.has_directory();
        entries += select_unpredictable(is_flat, entry.words(), 0);
        has_others |= is_flat & !entry.is_plain();
        by_directory |= u64::from(is_written & !is_flat) << slot;
    }
    for slot in set_bits(by_directory) {
        // SAFETY: the version being edited is alive.
        for run in unsafe { leaf.cells[slot as usize].directory() } {
            entries += run.len as usize;
            has_others |= !run.has_parts();
        }
    }
    (!has_others).then_some(entries)
}

impl<D: Delta> Part<'_, D> {
    fn write(&self, lists: &Adjacency, mut changes: Changes, goes_on: &impl Fn() -> bool) -> Written {
        let range = range_of(self.bases[0]);
        if !goes_on() {
            return Written { range, block: None, leaves: Vec::new(), changes };
        }
        let block = changes.allocate(bytes_of(self.most));
        // SAFETY: the new block has room for so many words, and nobody else reaches it.
        let mut draft = ListsDraft { room: unsafe { words_of(block, self.most) }, len: 0 };
        let (mut pages, mut leaves) = (Vec::new(), Vec::new());
        let mut rest = self.deltas;
        for &base in &self.bases {
            let (own, behind) = split_leaf(rest, base);
            let changed = cells_of(own, D::vertex);
            // SAFETY: the draft outlives this.
            let (page, leaf) = unsafe { lists.table.own_leaf(base, changed, &mut changes) };
            draft.push_leaf(leaf, changed, own, &mut changes);
            pages.push((base, page));
            leaves.push(leaf);
            rest = behind;
        }
        let len = draft.len;
        let block = if len == 0 {
            changes.give_back(block);
            None
        } else {
            let block = fitting(block, len, self.most, leaves, &mut changes);
            // SAFETY: it has room for so many and those that may be read ahead of them.
            let words = unsafe { words_of(block, len + AHEAD) };
            words[len..].fill(MaybeUninit::new(0));
            Some((block, len as u64))
        };
        Written { range, block, leaves: pages, changes }
    }
}

/// The bytes of a block with so many neighbors.
fn bytes_of(neighbors: usize) -> usize {
    HEAD_BYTES + size_of::<VertexId>() * (neighbors + AHEAD)
}

/// The room for lists in a block.
///
/// # Safety
/// The block is alive and has room for the head and so many words, and nobody else reaches it.
unsafe fn words_of<'a>(block: Block, words: usize) -> &'a mut [MaybeUninit<VertexId>] {
    // SAFETY: by contract.
    unsafe { std::slice::from_raw_parts_mut(block.pointer().add(HEAD_BYTES).cast(), words) }
}

/// The block with so many neighbors written, or, if there is room for many more, another one, to which the lists are moved.
fn fitting(
    block: Block,
    len: usize,
    most: usize,
    leaves: Vec<&mut Leaf<Entry>>,
    changes: &mut Changes,
) -> Block {
    if most - len <= len / 8 {
        return block;
    }
    let fitting = changes.allocate(bytes_of(len));
    // SAFETY: both have room for so many, and nobody else reaches them.
    unsafe { words_of(fitting, len).copy_from_slice(words_of(block, len)) };
    let by = (fitting.pointer() as u64).wrapping_sub(block.pointer() as u64);
    for leaf in leaves {
        for slot in set_bits(on_heap(leaf)) {
            let cell = &mut leaf.cells[slot as usize];
            // SAFETY: it was just made.
            let run = unsafe { cell.only_run() };
            let moved = run.map(|run| ChunkRef { address: run.address.wrapping_add(by), ..run });
            for_each_block(*cell, &mut |directory| changes.give_back(directory));
            *cell = entry_of(moved.as_slice(), Entry::EMPTY, changes);
        }
    }
    changes.give_back(block);
    fitting
}

/// Lists while they are written end to end, [`AHEAD`] more words than there is room for behind them.
struct ListsDraft<'a> {
    room: &'a mut [MaybeUninit<VertexId>],
    /// So many neighbors are written.
    len: usize,
}

impl ListsDraft<'_> {
    /// Appends the lists of a leaf that are to be written, changes made, and points to them; those in the cells `changed` are changed.
    fn push_leaf<D: Delta>(
        &mut self,
        leaf: &mut Leaf<Entry>,
        changed: u64,
        deltas: &[D],
        changes: &mut Changes,
    ) {
        let unchanged = on_heap(leaf);
        let owners = leaf.cells.iter().enumerate();
        let owners = owners.fold(0, |owners, (slot, cell)| owners | u64::from(cell.owns_blocks()) << slot);
        for slot in set_bits(owners & (unchanged | changed)) {
            for_each_block(leaf.cells[slot as usize], &mut |block| changes.retire(block));
        }
        let mut next = 0;
        for group in lists_of(deltas) {
            let slot = (group[0].vertex() % LEAF_CELLS) as usize;
            self.push_unchanged(&mut leaf.cells[next..slot], unchanged >> next, changes);
            let list = self.push_changed(leaf.cells[slot], group, changes);
            leaf.set(group[0].vertex(), (!list.is_empty()).then_some(list));
            next = slot + 1;
        }
        self.push_unchanged(&mut leaf.cells[next..], unchanged.unbounded_shr(next as u32), changes);
        leaf.room = Room::UNKNOWN;
        release_pack(leaf, changes);
    }

    /// Appends those lists of these cells that are to be `written`, as they are. Mostly they lie end to end and are copied as one.
    fn push_unchanged(&mut self, cells: &mut [Entry], written: u64, changes: &mut Changes) {
        if cells.is_empty() {
            return;
        }
        let look = |slot: usize, entry: Entry| {
            (select_unpredictable(written >> slot & 1 == 1, entry.words(), 0), !entry.has_directory())
        };
        // SAFETY: plain lists without a directory have so many neighbors there, and the version being edited is alive.
        let Stretch { cells: found, neighbors } = unsafe { stretch_of(cells, look) };
        if let Some(neighbors) = neighbors {
            let by = (self.place() as u64).wrapping_sub(neighbors.as_ptr() as u64);
            self.append(neighbors);
            for (slot, cell) in cells.iter_mut().enumerate() {
                *cell = select_unpredictable(found >> slot & 1 == 1, cell.copied(by), *cell);
            }
            return;
        }
        for slot in set_bits(found) {
            cells[slot as usize] = self.push(cells[slot as usize], changes);
        }
    }

    /// Appends a list as it is.
    fn push(&mut self, list: Entry, changes: &mut Changes) -> Entry {
        let (mut single, start) = (None, self.len);
        // SAFETY: the version being edited is alive.
        for run in unsafe { list.runs(&mut single) } {
            // SAFETY: as above, and none is compressed.
            self.append(unsafe { run.neighbors() });
        }
        self.written_from(start, changes)
    }

    /// Appends a list with its changes made.
    fn push_changed<D: Delta>(&mut self, old: Entry, group: &[D], changes: &mut Changes) -> Entry {
        let (vertex, start) = (group[0].vertex(), self.len);
        let (mut single, mut rest) = (None, group);
        // SAFETY: the version being edited is alive.
        let runs = unsafe { old.runs(&mut single) };
        for (position, run) in runs.iter().enumerate() {
            let own = runs
                .get(position + 1)
                .map_or(rest.len(), |next| rest.partition_point(|delta| delta.neighbor() < next.first));
            // SAFETY: as above, and none is compressed.
            let list = unsafe { run.neighbors() };
            self.len += merge_plain(list, &rest[..own], &mut changes.found, &mut self.room[self.len..]);
            rest = &rest[own..];
        }
        self.len += merge_plain(&[], rest, &mut changes.found, &mut self.room[self.len..]);
        let (before, after) = (degree_of(old) as usize, self.len - start);
        if group.iter().any(|delta| delta.neighbor() == vertex) {
            // SAFETY: these were written.
            let list = unsafe { self.room[start..self.len].assume_init_ref() };
            changes.loops += i64::from(list.binary_search(&vertex).is_ok()) - count_loops(old, vertex);
        }
        changes.entries += after as i64 - before as i64;
        note_newcomer(old, group, changes);
        note_emptied(vertex, before, after, changes);
        self.written_from(start, changes)
    }

    fn append(&mut self, neighbors: &[VertexId]) {
        self.room[self.len..self.len + neighbors.len()].write_copy_of_slice(neighbors);
        self.len += neighbors.len();
    }

    /// Where the next list begins, whether there will be one or not.
    fn place(&self) -> *const VertexId {
        self.room.as_ptr().wrapping_add(self.len).cast()
    }

    /// The list that was written from this place on.
    fn written_from(&self, start: usize, changes: &mut Changes) -> Entry {
        // SAFETY: these were written.
        let list = unsafe { self.room[start..self.len].assume_init_ref() };
        let run = list.first().map(|first| {
            ChunkRef::mapped(list.as_ptr() as u64, false, list.len() as u32, *first).with_more(true)
        });
        entry_of(run.as_slice(), Entry::EMPTY, changes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::ops::Range;
    use std::sync::Arc;

    use evergraph_types::{Direction, EdgeBatch, EdgeTypeOptions, Key, KeyColumn, KeyKind};
    use proptest::prelude::*;

    use super::*;
    use crate::options::{Durability, Options};
    use crate::store::Store;
    use crate::versions::diff::{EdgeDiff, EdgeRows};
    use crate::versions::version::Version;

    const VERTICES: i64 = 300;

    /// What a commit does.
    #[derive(Clone, Debug)]
    enum Act {
        /// Puts edges, or deletes them.
        Edges(Vec<(i64, i64)>, bool),
        DeleteVertex(i64),
        Checkpoint,
        Compact,
        /// Keeps the newest version.
        Hold,
    }

    fn act() -> impl Strategy<Value = Act> {
        // The first vertices are hubs.
        let edge = || (prop_oneof![0..3i64, 0..VERTICES], 0..VERTICES);
        let edges = prop_oneof![
            2 => prop::collection::vec(edge(), 1..20),
            3 => prop::collection::vec(edge(), 80..800),
        ];
        prop_oneof![
            8 => (edges, prop::bool::weighted(0.3)).prop_map(|(edges, deletes)| Act::Edges(edges, deletes)),
            1 => (0..VERTICES).prop_map(Act::DeleteVertex),
            1 => Just(Act::Checkpoint),
            1 => Just(Act::Compact),
            1 => Just(Act::Hold),
        ]
    }

    type Lists = BTreeMap<VertexId, BTreeSet<VertexId>>;

    fn lists_in(version: &Version, direction: Direction) -> Lists {
        let mut lists = Lists::new();
        for vertex in version.vertex_ids() {
            let mut list = Vec::new();
            version.for_each_edge(0, direction, vertex, &[], &mut |neighbor, _| list.push(neighbor));
            assert!(list.is_sorted_by(|left, right| left < right), "{list:?}");
            if !list.is_empty() {
                lists.insert(vertex, list.into_iter().collect());
            }
        }
        lists
    }

    /// The same edges from their other ends.
    fn turned(lists: &Lists) -> Lists {
        let mut turned = Lists::new();
        for (src, dst) in lists.iter().flat_map(|(src, list)| list.iter().map(move |dst| (*src, *dst))) {
            turned.entry(dst).or_default().insert(src);
        }
        turned
    }

    /// Makes the change in the store and in the lists.
    fn make(store: &Store, lists: &mut Lists, act: &Act) {
        match act {
            Act::Edges(edges, deletes) => {
                let ends = |end: fn(&(i64, i64)) -> i64| KeyColumn::Int(edges.iter().map(end).collect());
                let batch =
                    EdgeBatch { src: ends(|edge| edge.0), dst: ends(|edge| edge.1), columns: Vec::new() };
                if *deletes {
                    store.delete_edges("knows", vec![batch]).expect("it fits");
                } else {
                    store.add_edges("knows", vec![batch]).expect("it fits");
                }
                for &(src, dst) in edges {
                    let list = lists.entry(src as VertexId).or_default();
                    if *deletes {
                        list.remove(&(dst as VertexId))
                    } else {
                        list.insert(dst as VertexId)
                    };
                }
            }
            Act::DeleteVertex(vertex) => {
                store.delete_vertex(Key::Int(*vertex).as_ref()).expect("it fits");
                lists.remove(&(*vertex as VertexId));
                lists.values_mut().for_each(|list| {
                    list.remove(&(*vertex as VertexId));
                });
            }
            Act::Checkpoint => store.checkpoint().expect("there is room"),
            Act::Compact => store.compact().expect("there is room"),
            Act::Hold => {}
        }
        lists.retain(|_, list| !list.is_empty());
    }

    /// The edges that the others lack.
    fn beyond(lists: &Lists, others: &Lists) -> Vec<(VertexId, VertexId)> {
        let edges = lists.iter().flat_map(|(src, list)| list.iter().map(move |dst| (*src, *dst)));
        edges.filter(|(src, dst)| !others.get(src).is_some_and(|list| list.contains(dst))).collect()
    }

    /// The bytes of the blocks that a version reaches.
    fn reached(version: &Version) -> usize {
        let mut bytes = 0;
        version.for_each_block(&mut |block| bytes += version.footprint(block));
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Commits of all sizes leave what a set of edges would have, in every version that is held, and tell what changed since; no block is
        /// lost or freed twice, in memory and beside archives.
        #[test]
        fn ranges_written_anew_say_what_they_said(
            on_disk: bool,
            acts in prop::collection::vec(act(), 1..14),
        ) {
            let directory = tempfile::tempdir().expect("a directory");
            let options = Options {
                background: false,
                keys: Some(KeyKind::Dense),
                durability: Durability::None,
                ..Options::default()
            };
            let store = match on_disk {
                true => Store::open(directory.path().join("net.eg"), options.clone()).expect("a new store"),
                false => Store::in_memory(options.clone()),
            };
            store.create_edge_type("knows", EdgeTypeOptions::default()).expect("new");
            let mut lists = Lists::new();
            let mut held: Vec<(Arc<Version>, Lists)> = Vec::new();
            for act in &acts {
                make(&store, &mut lists, act);
                let version = store.inner().current.load_full();
                if matches!(act, Act::Hold) {
                    held.push((version.clone(), lists.clone()));
                }
                prop_assert_eq!(&lists_in(&version, Direction::Out), &lists);
                prop_assert_eq!(lists_in(&version, Direction::In), turned(&lists));
                let loops = lists.iter().filter(|(vertex, list)| list.contains(*vertex)).count() as u64;
                for tables in [version.edges[0].out, version.edges[0].reverse] {
                    let edges = lists.values().map(BTreeSet::len).sum::<usize>() as u64;
                    prop_assert_eq!((tables.entries, tables.loops), (edges, loops));
                }
            }
            let newest = store.inner().current.load_full();
            for (version, before) in &held {
                prop_assert_eq!(&lists_in(version, Direction::Out), before);
                let edges = version.diff(&newest).edges;
                let told = |rows: fn(&EdgeDiff) -> &EdgeRows| {
                    let rows = edges.iter().map(rows);
                    rows.flat_map(|rows| rows.src.iter().copied().zip(rows.dst.iter().copied())).collect()
                };
                let told: [Vec<_>; 2] = [told(|edges| &edges.added), told(|edges| &edges.removed)];
                prop_assert_eq!(told, [beyond(&lists, before), beyond(before, &lists)]);
            }
            drop(newest);
            drop(held);
            make(&store, &mut lists, &Act::Edges(vec![(0, 1)], false));
            let inner = store.inner();
            let version = inner.current.load_full();
            prop_assert_eq!(reached(&version), inner.reclaimer.live_bytes() - inner.reclaimer.retired_bytes());
            drop(version);
            if on_disk {
                store.checkpoint().expect("there is room");
                let version = inner.current.load_full();
                prop_assert_eq!(version.edges[0].out.cluster_bytes(), 0, "clusters go when lists are archived");
                drop(version);
                store.close().expect("closed");
                let store = Store::open(directory.path().join("net.eg"), options).expect("it is whole");
                let version = store.inner().current.load_full();
                prop_assert_eq!(lists_in(&version, Direction::Out), lists);
            }
        }
    }

    /// A list with a directory goes where its block is cut to size.
    #[test]
    fn a_hub_moves_with_its_block() {
        let store =
            Store::in_memory(Options { background: false, keys: Some(KeyKind::Dense), ..Options::default() });
        store.create_edge_type("knows", EdgeTypeOptions::default()).expect("new");
        let mut lists = Lists::new();
        let hub = |to: Range<i64>| to.map(|to| (3, to)).collect::<Vec<_>>();
        let others = (0..50).flat_map(|src| (0..30).map(move |row| (src, row * src % 70)));
        for act in [
            Act::Edges(hub(0..20_000).into_iter().chain(others).collect(), false),
            Act::Edges(hub(5_000..11_000), true),
            Act::Edges(vec![(3, 5_005), (4, 1)], false),
        ] {
            make(&store, &mut lists, &act);
            let inner = store.inner();
            let version = inner.current.load_full();
            assert!(lists_in(&version, Direction::Out) == lists);
            assert_eq!(reached(&version), inner.reclaimer.live_bytes() - inner.reclaimer.retired_bytes());
        }
    }

    /// A large batch leaves each range in the order of vertices.
    #[test]
    fn after_a_batch_lists_lie_end_to_end() {
        let store =
            Store::in_memory(Options { background: false, keys: Some(KeyKind::Dense), ..Options::default() });
        let options = EdgeTypeOptions { symmetric: true, ..EdgeTypeOptions::default() };
        store.create_edge_type("knows", options).expect("new");
        let mut lists = Lists::new();
        for round in 1..5 {
            let edges =
                (0..20_000).map(|row| (row * row % 1009 * round % 40_000, row * 7 % 40_000)).collect();
            make(&store, &mut lists, &Act::Edges(edges, false));
        }
        let layout = store.version().expect("open").layout();
        let parts = layout.entries() / ENTRIES_PER_PART as u64 + 3;
        assert!(layout.tables[0].places <= parts, "{} places", layout.tables[0].places);
    }
}
