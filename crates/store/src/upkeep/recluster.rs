//! Lists of a store without files brought together again, in the order of vertices, after commits have scattered them.
//!
//! ```text
//!  range of vertices ─► cluster:    [list of 0][list of 1][list of 2]…   one block, as in a CSR
//!                    └► elsewhere:  what was changed since, in packs and blocks of its own
//! ```
//!
//! A range is written when more than a part of it lies elsewhere or is dead in its cluster. Each byte that commits write is so
//! copied a bounded number of times, and no more than a part of a cluster is lost to lists that have moved out. A range is
//! copied while commits go on, and published by itself: a commit waits for the vertex table of one range at the most, and old and
//! new lists of one range alone are there at once. Older versions keep the clusters they reach. Where
//! everything is written, each processor takes a range, and what was said of one holds of so many.
//!
//! ```text
//!  version held: [run][run][run] ─ copied ─► cluster: [run run run]
//!  newest:       [run][NEW][run] ─ repointed ───────► [run]   [run], NEW where it lies
//! ```
//!
//! Of a list that has changed meanwhile the runs that are left are found in the copy by where they lay. Where the copy does not tell
//! them apart, since it is compressed or has properties, the range is copied again while no commit is made.
//!
//! Invariant: what lists say stays the same. Those of clusters are in [`cluster`](crate::versions::cluster).
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use evergraph_types::{Direction, EdgeTypeId, VertexId};
use rayon::prelude::*;

use crate::error::CommitError;
use crate::files::install::Area;
use crate::files::list_parts::Selected;
use crate::files::list_pieces::Piece;
use crate::files::rows::{CHUNKED, ChunkRow, OFFSET_TAGS, WideRow};
use crate::lists::adjacency::ChunkRef;
use crate::lists::compression::SLACK_BYTES;
use crate::lists::entry::Entry;
use crate::lists::heap::{Block, Changes};
use crate::lists::leaf_edit::{Room, release_pack};
use crate::lists::merge::{entry_of, for_each_block};
use crate::lists::paged_array::{LEAF_CELLS, Leaf};
use crate::store::Inner;
use crate::system::pool::in_pool;
use crate::upkeep::watch::Watch;
use crate::versions::cluster::{CLUSTER_VERTICES, Cluster, HEAD_BYTES, leaf_bases, range_of};
use crate::versions::draft::Draft;
use crate::versions::version::{Adjacency, Version};

/// Which ranges are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gather {
    /// All.
    Everything,
    /// Those of which more than one part in so many lies elsewhere or is dead.
    Scattered(u64),
}

impl Gather {
    /// How many ranges are written at once: whoever asks for everything waits for it, and what goes on beside other work
    /// leaves the processors to that.
    fn at_once(self) -> usize {
        match self {
            Gather::Everything => in_pool(rayon::current_num_threads),
            Gather::Scattered(_) => 1,
        }
    }
}

/// What is written while nothing else goes on: a range is written again for each eighth of it that changes, at most.
pub(crate) const AT_REST: Gather = Gather::Scattered(8);

/// What is written while commits go on: for each half.
pub(crate) const UNDER_LOAD: Gather = Gather::Scattered(2);

/// The lists of an edge type in one direction.
type Place = (EdgeTypeId, Direction);

/// How far one who goes through all ranges has come.
#[derive(Debug)]
pub(crate) struct Pass {
    wanted: Gather,
    edge_type: EdgeTypeId,
    direction: Direction,
    /// The next range.
    from: u32,
    /// What commits had written when it began …
    written_before: u64,
    /// … and what it has written itself.
    own_bytes: u64,
}

impl Pass {
    pub(crate) fn new(inner: &Inner, wanted: Gather) -> Self {
        let written_before = inner.reclaimer.written_bytes();
        Pass { wanted, edge_type: 0, direction: Direction::Out, from: 0, written_before, own_bytes: 0 }
    }

    /// Goes on, and writes what is to be written, as long as `goes_on`, and waits for its turn as long as `watch` says; tells whether
    /// it has come to its end.
    pub(crate) fn go_on(
        &mut self,
        inner: &Inner,
        watch: &Watch<'_>,
        goes_on: impl Fn() -> bool,
    ) -> Result<bool, CommitError> {
        let _one_at_a_time = watch.lock(&inner.gathering)?;
        inner.usable()?;
        while usize::from(self.edge_type) < inner.current.load().edges.len() {
            let place = (self.edge_type, self.direction);
            // No version is held from one lot to the next, so that what is replaced is freed.
            let next = next_ranges(&inner.current.load(), place, self.from, self.wanted);
            let Some(last) = next.last() else {
                self.next_place();
                continue;
            };
            if !goes_on() {
                return Ok(false);
            }
            self.own_bytes += Copied::of(inner.current.load_full(), place, &next).publish(inner, watch)?;
            self.from = last + 1;
        }
        inner.gathered_bytes.store(self.written_before + self.own_bytes, Ordering::Relaxed);
        Ok(true)
    }

    fn next_place(&mut self) {
        self.from = 0;
        (self.edge_type, self.direction) = match self.direction {
            Direction::Out => (self.edge_type, Direction::In),
            Direction::In => (self.edge_type + 1, Direction::Out),
        };
    }
}

/// The next ranges from one on, which are to be written at once.
fn next_ranges(version: &Version, place: Place, from: u32, wanted: Gather) -> Vec<u32> {
    let Some(lists) = lists_of(version, place).filter(|lists| !lists.is_empty()) else { return Vec::new() };
    let is_wanted = |range: &u32| {
        let spread = Spread::of(lists, *range);
        match wanted {
            Gather::Everything => spread.entries + spread.clustered > 0,
            Gather::Scattered(parts) => spread.is_scattered(parts),
        }
    };
    let ranges = from..version.id_bound.div_ceil(CLUSTER_VERTICES);
    ranges.filter(is_wanted).take(wanted.at_once()).collect()
}

fn lists_of(version: &Version, (edge_type, direction): Place) -> Option<&Adjacency> {
    Some(version.edges.get(usize::from(edge_type))?.side(direction))
}

/// The lists of some ranges in new clusters, as they were in a version.
struct Copied {
    version: Arc<Version>,
    place: Place,
    ranges: Vec<Gathered>,
    changes: Changes,
}

impl Copied {
    fn of(version: Arc<Version>, place: Place, ranges: &[u32]) -> Self {
        let mut changes = Changes { stamp: None, ..Changes::new(version.sequence) };
        let lists = lists_of(&version, place).copied().unwrap_or_default();
        let gather = |range: &u32| {
            let mut own = changes.fork();
            (Gathered::of(&version, place.0, &lists, *range, &mut own), own)
        };
        let done: Vec<(Gathered, Changes)> = match ranges {
            // Not in the pool: what that has to do is commits' and others'.
            [range] => vec![gather(range)],
            _ => in_pool(|| ranges.par_iter().map(gather).collect()),
        };
        let mut gathered = Vec::with_capacity(done.len());
        for (range, own) in done {
            gathered.push(range);
            changes.join(own);
        }
        Copied { version, place, ranges: gathered, changes }
    }

    /// Points the newest version to the copies, and publishes that; gives the bytes that took.
    fn publish(mut self, inner: &Inner, watch: &Watch<'_>) -> Result<u64, CommitError> {
        // A load would not know of what becomes of the lists it began with.
        let waiting = inner.committer_without_load(watch);
        let usable = waiting.and_then(|committer| Ok(inner.usable().map(|()| committer)?));
        let committer = usable.inspect_err(|_| {
            self.ranges.iter_mut().for_each(|range| range.give_up(&mut self.changes));
        })?;
        let current = inner.current.load_full();
        let before = lists_of(&self.version, self.place).copied().unwrap_or_default();
        let lists = lists_of(&current, self.place).copied().unwrap_or_default();
        let mut draft =
            Draft::new(&current, current.dictionary.clone(), current.sequence, current.time_micros);
        draft.changes.stamp = None;
        for range in &mut self.ranges {
            if !range.follow(&before, &lists) {
                range.give_up(&mut self.changes);
                *range = Gathered::of(&current, self.place.0, &lists, range.number, &mut draft.changes);
            }
        }
        draft.changes.join(self.changes);
        if let Some(tables) = draft.version.edges.get_mut(usize::from(self.place.0)) {
            *tables.side_mut(self.place.1) = point_to(lists, &self.ranges, &mut draft.changes);
        }
        let written = draft.changes.allocated_bytes as u64;
        let (version, changes) = draft.finish();
        drop(current);
        inner.publish(version, changes);
        // Whoever waits to commit comes before the next ranges.
        committer.unlock_fair();
        Ok(written)
    }
}

/// The lists with those of the ranges, which ascend, where they were gathered.
fn point_to(lists: Adjacency, ranges: &[Gathered], changes: &mut Changes) -> Adjacency {
    let leaves: Vec<VertexId> = ranges.iter().flat_map(|range| range.leaves.iter().copied()).collect();
    let edit = |base: VertexId, leaf: &mut Leaf<Entry>, _: &[VertexId], changes: &mut Changes| {
        let position = ranges.partition_point(|range| range.number < range_of(base));
        ranges[position].point_to(base, leaf, changes);
        release_pack(leaf, changes);
    };
    let table = lists.table.edit(&leaves, &|base| *base, &edit, changes);
    let mut pointed = Adjacency { table, ..lists };
    let clusters: Vec<_> = ranges.iter().map(|range| (range.number, range.linked())).collect();
    pointed.set_clusters(&clusters, changes);
    pointed
}

/// The lists of a range in their new cluster.
struct Gathered {
    number: u32,
    /// The leaves with lists, by their first vertices.
    leaves: Vec<VertexId>,
    piece: Piece,
    /// `None` if there are no lists.
    cluster: Option<Block>,
    /// The lists that have changed since they were copied, ascending: the runs they have now, those in the copy where that is.
    changed: Vec<(VertexId, Vec<ChunkRef>)>,
}

impl Gathered {
    fn of(
        version: &Version,
        edge_type: EdgeTypeId,
        lists: &Adjacency,
        number: u32,
        changes: &mut Changes,
    ) -> Self {
        let (mut leaves, mut selected): (Vec<VertexId>, Vec<Selected>) = Default::default();
        for (base, leaf) in leaves_of(lists, number) {
            let before = selected.len();
            let lists =
                (base..=base + (LEAF_CELLS - 1)).filter_map(|vertex| Some((vertex, leaf.get(vertex)?)));
            selected.extend(lists.map(|(vertex, entry)| (vertex, Some(entry))));
            leaves.extend((selected.len() > before).then_some(base));
        }
        let piece = Piece::of(version, edge_type, &selected);
        let cluster = (!selected.is_empty()).then(|| write_cluster(&piece, changes));
        Gathered { number, leaves, piece, cluster, changed: Vec::new() }
    }

    /// The block as a cluster.
    fn linked(&self) -> Option<Cluster> {
        let entries = self.piece.index.iter().map(|row| u64::from(row.count)).sum();
        Cluster::link(self.cluster.map(|block| (block, entries)).as_slice())
    }

    /// Frees a cluster that was never published.
    fn give_up(&mut self, changes: &mut Changes) {
        if let Some(cluster) = self.cluster.take() {
            // SAFETY: nobody but the copy reaches it.
            changes.allocated_bytes -= unsafe { cluster.free() };
        }
    }

    /// Notes which lists have changed since they were copied; tells whether all that is left of those is found in the copy.
    fn follow(&mut self, before: &Adjacency, now: &Adjacency) -> bool {
        if before.clusters.get(self.number) != now.clusters.get(self.number) {
            // A commit has written the range anew.
            return false;
        }
        let area = self.area();
        for row in &self.piece.index {
            let [old, new] = [before, now].map(|lists| lists.table.cell(row.vertex).unwrap_or(Entry::EMPTY));
            if old == new {
                continue;
            }
            let (mut old_single, mut single) = (None, None);
            // SAFETY: both versions are held.
            let (old, new) = unsafe { (old.runs(&mut old_single), new.runs(&mut single)) };
            let copies = Copies::of(row, old, area);
            let runs: Vec<ChunkRef> = new
                .iter()
                .map(|run| copies.as_ref().and_then(|copies| copies.find(*run)).unwrap_or(*run))
                .collect();
            let stays = |(run, found): (&ChunkRef, &ChunkRef)| run == found && run.is_mapped();
            if new.iter().zip(&runs).any(stays) {
                // It lies in the old cluster, which goes.
                return false;
            }
            self.changed.push((row.vertex, runs));
        }
        true
    }

    fn area(&self) -> Area {
        self.cluster.map_or(Area::EMPTY, |cluster| Area {
            start: cluster.pointer() as u64 + HEAD_BYTES as u64,
            bytes: 4 * self.piece.words.len() as u64,
        })
    }

    /// Lets the entries of a leaf point into the cluster.
    fn point_to(&self, base: VertexId, leaf: &mut Leaf<Entry>, changes: &mut Changes) {
        let area = self.area();
        let first = self.piece.index.partition_point(|row| row.vertex < base);
        leaf.room = Room::UNKNOWN;
        for row in self.piece.index[first..].iter().take_while(|row| row.vertex - base < LEAF_CELLS) {
            let cell = &mut leaf.cells[(row.vertex % LEAF_CELLS) as usize];
            match self.changed.binary_search_by_key(&row.vertex, |list| list.0) {
                Ok(position) => *cell = repointed(*cell, &self.changed[position].1, changes),
                Err(_) => {
                    for_each_block(*cell, &mut |block| changes.retire(block));
                    *cell = area.entry(row, &self.piece.chunks, changes);
                }
            }
        }
    }
}

/// The entry of a list over these runs instead of its own, one for each; blocks of those that differ go.
fn repointed(entry: Entry, runs: &[ChunkRef], changes: &mut Changes) -> Entry {
    let mut single = None;
    // SAFETY: the version being edited is alive.
    let old = unsafe { entry.runs(&mut single) };
    if old == runs {
        return entry;
    }
    let moved = old.iter().zip(runs).filter(|(old, new)| old != new);
    moved.filter_map(|(old, _)| old.block()).for_each(|block| changes.retire(block));
    entry_of(runs, entry, changes)
}

/// Where the runs of a list were copied to, one after the other.
struct Copies {
    /// Address and length of each, in bytes, and the offset of its copy in the area; ascending.
    runs: Vec<(u64, u64, u64)>,
    area: Area,
}

impl Copies {
    /// `None` if the copy is not word by word what the runs were.
    fn of(row: &WideRow, runs: &[ChunkRef], area: Area) -> Option<Self> {
        let is_plain = row.word & (CHUNKED | OFFSET_TAGS) == 0 && runs.iter().all(|run| run.has_parts());
        let mut copy = row.word;
        let mut places = |run: &ChunkRef| {
            let bytes = 4 * u64::from(run.len);
            copy += bytes;
            (run.pointer() as u64, bytes, copy - bytes)
        };
        let mut runs: Vec<_> = is_plain.then(|| runs.iter().map(&mut places).collect())?;
        runs.sort_unstable();
        Some(Copies { runs, area })
    }

    /// The copy of a run that is one of those copied, or a part of one.
    fn find(&self, run: ChunkRef) -> Option<ChunkRef> {
        let (start, bytes) = (run.pointer() as u64, 4 * u64::from(run.len));
        let (old, old_bytes, copy) = *self.runs[..self.runs.partition_point(|old| old.0 <= start)].last()?;
        let is_in = run.has_parts() && run.forgotten() == 0 && start + bytes <= old + old_bytes;
        is_in.then(|| {
            let offset = copy + (start - old);
            self.area.run(&ChunkRow { offset, len: run.len, first: run.first })
        })
    }
}

/// A new cluster of these lists.
fn write_cluster(piece: &Piece, changes: &mut Changes) -> Block {
    let block = changes.allocate_to_stay(HEAD_BYTES + size_of_val(&*piece.words) + SLACK_BYTES);
    // SAFETY: the new block has room for the head and the words.
    unsafe {
        let words = block.pointer().add(HEAD_BYTES).cast::<u32>();
        words.copy_from_nonoverlapping(piece.words.as_ptr(), piece.words.len());
    }
    block
}

/// The leaves of a range of vertices.
fn leaves_of(lists: &Adjacency, range: u32) -> impl Iterator<Item = (VertexId, &Leaf<Entry>)> {
    leaf_bases(range).filter_map(|base| Some((base, lists.table.leaf(base)?)))
}

/// Where the entries of a range of vertices lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spread {
    entries: u64,
    /// Of these, outside of the cluster.
    elsewhere: u64,
    /// How many the cluster was written with.
    clustered: u64,
}

impl Spread {
    fn of(lists: &Adjacency, range: u32) -> Self {
        let mut spread = Spread::default();
        for (_, leaf) in leaves_of(lists, range) {
            leaf.cells.iter().for_each(|entry| spread.add(*entry));
        }
        spread.clustered = lists.clusters.get(range).map_or(0, |cell| Cluster::of(cell).entries());
        spread
    }

    fn add(&mut self, entry: Entry) {
        let mut single = None;
        // SAFETY: the version that the entry is of is alive.
        for run in unsafe { entry.runs(&mut single) } {
            self.entries += u64::from(run.len);
            self.elsewhere += if run.is_mapped() { 0 } else { u64::from(run.len) };
        }
    }

    /// Whether more than one part in so many lies elsewhere or is dead in the cluster.
    fn is_scattered(self, parts: u64) -> bool {
        let dead = self.clustered.saturating_sub(self.entries - self.elsewhere);
        self.elsewhere + dead > self.entries / parts
    }
}

#[cfg(test)]
mod tests {
    use evergraph_types::{EdgeTypeOptions, Key, KeyKind, Value};
    use proptest::prelude::*;

    use super::*;
    use crate::options::{ListFormat, Options};
    use crate::store::Store;

    const VERTICES: i64 = 60;

    /// What a commit does: an edge put or deleted many times around a place, or a vertex deleted.
    #[derive(Clone, Copy, Debug)]
    enum Act {
        Put(i64, i64, i64),
        Delete(i64, i64),
        DeleteVertex(i64),
    }

    fn act() -> impl Strategy<Value = Act> {
        // The first vertices are hubs, with lists in many runs.
        let src = prop_oneof![0..3i64, 0..VERTICES];
        prop_oneof![
            8 => (src.clone(), 0..3000i64, prop_oneof![Just(1), Just(700)]).prop_map(|(src, dst, count)| Act::Put(src, dst, count)),
            4 => (src.clone(), 0..3000i64).prop_map(|(src, dst)| Act::Delete(src, dst)),
            1 => src.prop_map(Act::DeleteVertex),
        ]
    }

    /// None, or some.
    fn acts(most: usize) -> impl Strategy<Value = Vec<Act>> {
        prop_oneof![1 => Just(Vec::new()), 2 => prop::collection::vec(act(), 1..most)]
    }

    fn make(store: &Store, kind: &str, act: Act) {
        let mut tx = store.begin().expect("open");
        let stars: &[(&str, Value)] = if kind == "rates" { &[("stars", Value::Int(7))] } else { &[] };
        match act {
            Act::Put(src, dst, count) => {
                (dst..dst + count).for_each(|dst| tx.put_edge(src, dst, kind, stars).expect("it fits"));
            }
            Act::Delete(src, dst) => {
                (dst..dst + 40).for_each(|dst| drop(tx.delete_edge(src, dst, kind)));
            }
            Act::DeleteVertex(vertex) => drop(tx.delete_vertex(vertex)),
        }
        tx.commit().expect("memory");
    }

    type Lists = Vec<(VertexId, Vec<(VertexId, Value)>)>;

    fn lists_in(version: &Version) -> [Lists; 2] {
        [Direction::Out, Direction::In].map(|direction| {
            let list = |vertex| {
                let mut list = Vec::new();
                version.for_each_edge(0, direction, vertex, &[0], &mut |neighbor, values| {
                    list.push((neighbor, values[0].clone()));
                });
                (vertex, list)
            };
            version.vertex_ids().into_iter().map(list).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Lists that change while they are copied say what they said, in every version, and no block is lost or freed twice.
        #[test]
        fn commits_beside_a_copy_stay(
            kind in prop::sample::select(vec!["knows", "pays", "rates"]),
            compact: bool,
            turns in prop::collection::vec((acts(6), acts(4), any::<[bool; 2]>()), 1..6),
        ) {
            let format = if compact { ListFormat::Compact } else { ListFormat::Fast };
            let options = Options { background: false, format: Some(format), keys: Some(KeyKind::Dense), ..Options::default() };
            let store = Store::in_memory(options);
            let multi = kind == "pays";
            store.create_edge_type(kind, EdgeTypeOptions { multi, ..EdgeTypeOptions::default() }).expect("new");
            let inner = store.inner();
            let mut kept = Vec::new();
            for (before, beside, [is_kept, is_overtaken]) in turns {
                before.into_iter().for_each(|act| make(&store, kind, act));
                for direction in [Direction::Out, Direction::In] {
                    let copied = || Copied::of(inner.current.load_full(), (0, direction), &[0]);
                    let other = is_overtaken.then(copied);
                    let copied = copied();
                    beside.iter().for_each(|act| make(&store, kind, *act));
                    let lists = lists_in(&inner.current.load());
                    if let Some(other) = other {
                        other.publish(inner, &Watch::nobody()).expect("open");
                    }
                    copied.publish(inner, &Watch::nobody()).expect("open");
                    prop_assert_eq!(&lists_in(&inner.current.load()), &lists);
                    // What only older versions reach is freed, and overwritten, unless one is held.
                    kept.extend(is_kept.then(|| (inner.current.load_full(), lists)));
                }
            }
            for (version, lists) in &kept {
                prop_assert_eq!(&lists_in(version), lists);
            }
            let lists = lists_in(&inner.current.load());
            drop(kept);
            prop_assert_eq!(&lists_in(&inner.current.load()), &lists);
            store.put_vertex(Key::Int(0).as_ref(), None, &[]).expect("memory");
            let mut reached = 0;
            let version = inner.current.load();
            version.for_each_block(&mut |block| reached += version.footprint(block));
            prop_assert_eq!(reached, inner.reclaimer.live_bytes() - inner.reclaimer.retired_bytes());
        }
    }

    /// What stays of a hub is found in the copy, so that little of it is left where it was.
    #[test]
    fn a_hub_that_changes_while_it_is_copied_moves_all_the_same() {
        for is_flat in [true, false] {
            let options = Options { background: false, keys: Some(KeyKind::Dense), ..Options::default() };
            let store = Store::in_memory(options);
            make(&store, "knows", Act::Put(0, 1, 20_000));
            store.compact().expect("memory");
            if !is_flat {
                make(&store, "knows", Act::Put(0, 9_000, 1));
                make(&store, "knows", Act::Put(0, 30_000, 1));
            }
            let inner = store.inner();
            let copied = Copied::of(inner.current.load_full(), (0, Direction::Out), &[0]);
            make(&store, "knows", Act::Delete(0, 10_000));
            let lists = lists_in(&inner.current.load());
            let before = inner.reclaimer.written_bytes();
            copied.publish(inner, &Watch::nobody()).expect("open");
            let written = inner.reclaimer.written_bytes() - before;
            let version = inner.current.load();
            assert_eq!(lists_in(&version), lists);
            let spread = Spread::of(&version.edges[0].out, 0);
            assert!(spread.entries >= 19_960 && spread.elsewhere < 1024, "{spread:?}");
            // The copy and a directory, not the list a second time.
            assert!(written < 4 * 20_000 + 8192, "{written} bytes");
        }
    }
}
