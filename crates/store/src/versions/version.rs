//! A version: one immutable root over everything a reader can ask for. Publishing a commit swaps the pointer to it.
//!
//! Invariant: nothing reachable from a version changes or goes away while the version is alive; what the dictionary
//! holds at or above `id_bound` is not part of it.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use evergraph_types::{
    Direction, EdgeTypeId, PropertyId, PropertyType, Schema, Sequence, Value, VertexId, VertexTypeId,
};
use hashbrown::HashSet;

use crate::keys::dictionary::{Dictionary, KeyHold};
use crate::lists::adjacency::ChunkRef;
use crate::lists::bits::set_bits;
use crate::lists::compression::RunBuffer;
use crate::lists::entry::Entry;
use crate::lists::fragment::ColumnArea;
use crate::lists::heap::Block;
use crate::lists::merge::for_each_block;
use crate::lists::neighbors::Neighbors;
use crate::lists::paged_array::{LEAF_CELLS, PagedArray};
use crate::options::ListFormat;
use crate::versions::cluster::Cluster;
use crate::versions::flat_table::FlatTable;
use crate::versions::guide::Mapped;
use crate::versions::reclaim::{Held, Reclaimer, drop_quietly};
use crate::versions::turned::{TurnedLists, for_each_out_list};
use crate::write_sets::catalog::Catalog;
use crate::write_sets::ops::EdgeOps;

/// The lists of one edge type in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Adjacency {
    pub(crate) table: PagedArray<Entry>,
    /// By range of vertices, what their lists were brought together in: see [`cluster`](super::cluster).
    pub(crate) clusters: PagedArray<u64>,
    /// List entries in all.
    pub(crate) entries: u64,
    /// Of these, from a vertex to itself.
    pub(crate) loops: u64,
}

/// The lists of one edge type.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EdgeTables {
    pub(crate) out: Adjacency,
    /// Unused for symmetric types, whose lists of both directions are the same, and for types without in lists.
    pub(crate) reverse: Adjacency,
}

impl EdgeTables {
    pub(crate) fn side(&self, direction: Direction) -> &Adjacency {
        if direction == Direction::Out { &self.out } else { &self.reverse }
    }

    pub(crate) fn side_mut(&mut self, direction: Direction) -> &mut Adjacency {
        if direction == Direction::Out { &mut self.out } else { &mut self.reverse }
    }
}

/// The state of the graph after a commit.
#[derive(Debug)]
pub struct Version {
    /// The store that it is a version of: a number that no other one has which this process has opened.
    pub(crate) origin: u64,
    pub(crate) sequence: Sequence,
    pub(crate) time_micros: i64,
    pub(crate) schema: Arc<Schema>,
    pub(crate) id_bound: VertexId,
    pub(crate) vertices: PagedArray<VertexTypeId>,
    pub(crate) num_vertices: u64,
    pub(crate) columns: Vec<PagedArray<u64>>,
    pub(crate) edges: Vec<EdgeTables>,
    pub(crate) dictionary: Arc<Dictionary>,
    /// Named items beside the graph.
    pub(crate) catalog: Arc<Catalog>,
    /// How lists are written.
    pub(crate) format: ListFormat,
    /// The mapped files that entries may point into.
    pub(crate) segments: Arc<Mapped>,
    pub(crate) reclaimer: Arc<Reclaimer>,
    pub(crate) turned: TurnedLists,
    /// Whether what it held is freed without it.
    pub(crate) has_retired: bool,
}

/// A cell that is zero, if it holds a value. Apart, for it takes another line of memory to tell, which would be waited for in any case
/// where it is not.
#[cold]
#[inline(never)]
fn zero_cell(column: &PagedArray<u64>, vertex: VertexId) -> Option<u64> {
    column.get(vertex)
}

/// The address of a string cell: bit 0 set = in a segment; the pointer leads to its length (u32) and bytes.
pub(crate) const TEXT_MAPPED: u64 = 1;

/// The bytes of a string cell.
///
/// # Safety
/// `cell` is a string cell of a version that stays alive for `'a`.
pub(crate) unsafe fn text_of_cell<'a>(cell: u64) -> &'a [u8] {
    let pointer = (cell & !TEXT_MAPPED) as *const u8;
    // SAFETY: a string cell leads to its length and that many bytes, 4-byte aligned.
    unsafe {
        let len = pointer.cast::<u32>().read() as usize;
        std::slice::from_raw_parts(pointer.add(4), len)
    }
}

impl Version {
    /// The state before the first commit of another store.
    pub(crate) fn empty(schema: Schema, dictionary: Dictionary) -> Self {
        static ORIGINS: AtomicU64 = AtomicU64::new(0);
        Version {
            origin: ORIGINS.fetch_add(1, Ordering::Relaxed),
            sequence: 0,
            time_micros: 0,
            schema: Arc::new(schema),
            id_bound: 0,
            vertices: PagedArray::default(),
            num_vertices: 0,
            columns: Vec::new(),
            edges: Vec::new(),
            dictionary: Arc::new(dictionary),
            catalog: Arc::default(),
            format: ListFormat::Fast,
            segments: Arc::default(),
            reclaimer: Arc::default(),
            turned: TurnedLists::default(),
            has_retired: false,
        }
    }

    /// The number of the commit this is the state after.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// When that commit was made, in microseconds since 1970-01-01 UTC.
    pub fn time_micros(&self) -> i64 {
        self.time_micros
    }

    /// How neighbor lists are written.
    pub fn format(&self) -> ListFormat {
        self.format
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// One past the largest vertex id.
    pub fn id_bound(&self) -> VertexId {
        self.id_bound
    }

    /// The number of vertices.
    pub fn num_vertices(&self) -> u64 {
        self.num_vertices
    }

    /// The number of edges of a type; edges of a symmetric type count once.
    pub fn num_edges(&self, edge_type: EdgeTypeId) -> u64 {
        let Some(tables) = self.edges.get(usize::from(edge_type)) else { return 0 };
        let out = tables.out;
        if self.is_symmetric(edge_type) { (out.entries + out.loops) / 2 } else { out.entries }
    }

    /// The number of list entries of all types, in both directions.
    pub(crate) fn list_entries(&self) -> u64 {
        self.edges.iter().map(|tables| tables.out.entries + tables.reverse.entries).sum()
    }

    /// The number of list entries of a type in out direction.
    pub fn num_entries(&self, edge_type: EdgeTypeId) -> u64 {
        self.edges.get(usize::from(edge_type)).map_or(0, |tables| tables.out.entries)
    }

    fn is_symmetric(&self, edge_type: EdgeTypeId) -> bool {
        self.schema.edge_types.get(usize::from(edge_type)).is_some_and(|kind| kind.options.symmetric)
    }

    /// The id of a vertex that exists.
    pub fn vertex_id(&self, key: evergraph_types::KeyRef<'_>) -> Option<VertexId> {
        self.dictionary.lookup(key).filter(|&id| self.has_vertex(id))
    }

    /// The id that a key has: of a vertex, or of none that has edges. For whoever looks for edges next, and so need
    /// not ask whether the vertex exists.
    pub fn id_with_edges(&self, key: evergraph_types::KeyRef<'_>) -> Option<VertexId> {
        self.dictionary.lookup(key).filter(|&id| id < self.id_bound)
    }

    /// Keeps all ids that have keys now from being given to other keys, for whoever keeps ids and not the version.
    pub fn hold_keys(&self) -> KeyHold {
        KeyHold::of(&self.dictionary)
    }

    /// The key of an id below [`Version::id_bound`], also where the vertex is gone.
    #[inline]
    pub fn key(&self, vertex: VertexId) -> evergraph_types::Key {
        self.dictionary.key(vertex)
    }

    /// The keys of a range of ids below [`Version::id_bound`].
    pub fn keys(&self, range: std::ops::Range<VertexId>) -> evergraph_types::KeyColumn {
        self.dictionary.keys(range.start..range.end.min(self.id_bound))
    }

    /// Whether the vertex exists.
    pub fn has_vertex(&self, vertex: VertexId) -> bool {
        vertex < self.id_bound && self.vertices.get(vertex).is_some()
    }

    /// The type of a vertex, 0 for none; `None` if there is no such vertex.
    pub fn vertex_type(&self, vertex: VertexId) -> Option<VertexTypeId> {
        self.vertices.get(vertex)
    }

    /// The ids of all vertices, ascending.
    pub fn vertex_ids(&self) -> Vec<VertexId> {
        let mut ids = Vec::with_capacity(self.num_vertices as usize);
        self.vertices.for_each_leaf(&mut |base, leaf| {
            ids.extend((base..=base + (LEAF_CELLS - 1)).filter(|&id| leaf.get(id).is_some()));
        });
        ids
    }

    /// A property of a vertex; null if it has none.
    pub fn vertex_property(&self, vertex: VertexId, property: PropertyId) -> Value {
        self.segments.ask_for_text(property, vertex);
        let cell = self.vertex_cell(vertex, property);
        cell.map_or(Value::Null, |(kind, cell)| self.value_of_cell(kind, cell))
    }

    /// The bits of a property of fixed width of a vertex, as [`Value::of_bits`] takes them; `None` if it is null.
    #[inline]
    pub fn vertex_bits(&self, vertex: VertexId, property: PropertyId) -> Option<u64> {
        let (kind, cell) = self.vertex_cell(vertex, property)?;
        kind.width().map(|_| cell)
    }

    /// The bytes of a property of variable width of a vertex, as [`Value::of_bytes`] takes them; `None` if it is null.
    #[inline]
    pub fn vertex_bytes(&self, vertex: VertexId, property: PropertyId) -> Option<&[u8]> {
        self.segments.ask_for_text(property, vertex);
        let (kind, cell) = self.vertex_cell(vertex, property)?;
        kind.width().is_none().then(|| self.text(cell))
    }

    /// The text of a vertex's property that is a string; `None` if it is null, or the property one of another type.
    #[inline]
    pub fn vertex_text(&self, vertex: VertexId, property: PropertyId) -> Option<&str> {
        self.segments.ask_for_text(property, vertex);
        let (kind, cell) = self.vertex_cell(vertex, property)?;
        // SAFETY: strings are written from text, and those of a file are looked at before they are read (`Rows::check`).
        (kind == PropertyType::String).then(|| unsafe { std::str::from_utf8_unchecked(self.text(cell)) })
    }

    #[inline]
    fn vertex_cell(&self, vertex: VertexId, property: PropertyId) -> Option<(PropertyType, u64)> {
        let kind = self.schema.vertex_properties.get(usize::from(property))?.kind;
        let column = self.columns.get(usize::from(property))?;
        let cell = column.cell(vertex)?;
        Some((kind, if cell == 0 { zero_cell(column, vertex)? } else { cell }))
    }

    /// The value of a cell of one of this version's vertex columns.
    pub(crate) fn value_of_cell(&self, kind: PropertyType, cell: u64) -> Value {
        match kind.width() {
            None => Value::of_bytes(kind, self.text(cell)).unwrap_or(Value::Null),
            Some(_) => Value::of_bits(kind, cell),
        }
    }

    pub(crate) fn adjacency(&self, edge_type: EdgeTypeId, direction: Direction) -> Option<&Adjacency> {
        let side = self.side_of(edge_type, direction);
        Some(self.edges.get(usize::from(edge_type))?.side(side))
    }

    /// The side that lists of a direction are kept on.
    #[inline]
    fn side_of(&self, edge_type: EdgeTypeId, direction: Direction) -> Direction {
        match direction {
            Direction::In if self.is_symmetric(edge_type) => Direction::Out,
            direction => direction,
        }
    }

    /// Asks the processor for what a commit reads of an edge's end: whether it exists, and where its list is.
    pub(crate) fn prefetch_end(&self, edge_type: EdgeTypeId, direction: Direction, vertex: VertexId) {
        let Some(adjacency) = self.adjacency(edge_type, direction) else { return };
        self.vertices.prefetch_leaves(&[vertex], &|vertex| *vertex);
        adjacency.table.prefetch_leaves(&[vertex], &|vertex| *vertex);
    }

    /// Asks the processor for what a change of some properties of a vertex reads: whether it exists, and where the cells are.
    pub(crate) fn prefetch_cells(&self, vertex: VertexId, properties: impl Iterator<Item = PropertyId>) {
        self.vertices.prefetch_leaves(&[vertex], &|vertex| *vertex);
        for column in properties.filter_map(|property| self.columns.get(usize::from(property))) {
            column.prefetch_leaves(&[vertex], &|vertex| *vertex);
        }
    }

    /// Asks the processor for a list before its entry is there, where a segment tells about where it is.
    #[inline]
    pub(crate) fn ask_for_list(&self, edge_type: EdgeTypeId, direction: Direction, vertex: VertexId) {
        self.segments.ask_for_list(edge_type, self.side_of(edge_type, direction), vertex);
    }

    pub(crate) fn entry(&self, edge_type: EdgeTypeId, direction: Direction, vertex: VertexId) -> Entry {
        let adjacency = self.adjacency(edge_type, direction);
        adjacency.and_then(|adjacency| adjacency.table.cell(vertex)).unwrap_or(Entry::EMPTY)
    }

    /// The neighbors of a vertex over edges of one type.
    pub fn neighbors(&self, edge_type: EdgeTypeId, direction: Direction, vertex: VertexId) -> Neighbors<'_> {
        if !self.keeps_lists(edge_type, direction) {
            return self.turned_neighbors(edge_type, vertex);
        }
        self.ask_for_list(edge_type, direction, vertex);
        // SAFETY: an entry of this version, read while `self` is borrowed.
        unsafe { self.entry(edge_type, direction, vertex).neighbors() }
    }

    /// The number of a vertex's neighbors over edges of one type, parallel edges included. Reads no list.
    pub fn degree(&self, edge_type: EdgeTypeId, direction: Direction, vertex: VertexId) -> usize {
        if !self.keeps_lists(edge_type, direction) {
            return self.turned_neighbors(edge_type, vertex).len();
        }
        self.degree_of(self.entry(edge_type, direction, vertex)) as usize
    }

    /// Calls `visit` with each edge of a vertex: the neighbor and the values of `properties`, in list order.
    pub fn for_each_edge(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        vertex: VertexId,
        properties: &[PropertyId],
        visit: &mut dyn FnMut(VertexId, &[Value]),
    ) {
        let mut values = vec![Value::Null; properties.len()];
        self.for_each_run(edge_type, direction, vertex, |run| {
            for (row, &neighbor) in run.neighbors().iter().enumerate() {
                for (value, &property) in values.iter_mut().zip(properties) {
                    *value = run.value(property, row);
                }
                visit(neighbor, &values);
            }
        });
    }

    /// Deletes of every edge of a type that begins or ends at one of the vertices.
    pub(crate) fn deletes_of(&self, edge_type: EdgeTypeId, vertices: &[VertexId]) -> EdgeOps {
        let mut ops = EdgeOps::default();
        let keeps_in_lists = self.keeps_lists(edge_type, Direction::In);
        for &vertex in vertices {
            let out = self.neighbors(edge_type, Direction::Out, vertex);
            out.iter().for_each(|neighbor| ops.push_delete(vertex, neighbor));
            if keeps_in_lists && !self.is_symmetric(edge_type) {
                let sources = self.neighbors(edge_type, Direction::In, vertex);
                sources.iter().for_each(|neighbor| ops.push_delete(neighbor, vertex));
            }
        }
        if keeps_in_lists || vertices.is_empty() {
            return ops;
        }
        // Not the turned lists: a draft changes, and has none.
        let wanted: HashSet<VertexId> = vertices.iter().copied().collect();
        for_each_out_list(self, edge_type, &mut |source, neighbors| {
            let found = neighbors.iter().filter(|neighbor| wanted.contains(neighbor));
            found.for_each(|neighbor| ops.push_delete(source, neighbor));
        });
        ops
    }

    /// Whether there is an edge of this type from `src` to `dst`.
    pub fn has_edge(&self, edge_type: EdgeTypeId, src: VertexId, dst: VertexId) -> bool {
        let neighbors = self.neighbors(edge_type, Direction::Out, src);
        let options = self.schema.edge_types.get(usize::from(edge_type)).map(|kind| &kind.options);
        if options.is_some_and(|options| options.multi) {
            if !self.keeps_lists(edge_type, Direction::In) {
                return neighbors.iter().any(|neighbor| neighbor == dst);
            }
            // Lists in order of arrival cannot be searched; the shorter one of the two ends is scanned.
            let sources = self.neighbors(edge_type, Direction::In, dst);
            if sources.len() < neighbors.len() {
                return sources.iter().any(|source| source == src);
            }
            return neighbors.iter().any(|neighbor| neighbor == dst);
        }
        neighbors.contains_sorted(dst)
    }

    /// The lists of one edge type and direction, laid out for whole-graph work. The table keeps this version alive.
    pub fn flatten(self: &Arc<Self>, edge_type: EdgeTypeId, direction: Direction) -> FlatTable {
        if !self.keeps_lists(edge_type, direction)
            && let Some(turned) = self.flatten_turned(edge_type)
        {
            return turned;
        }
        let table =
            self.adjacency(edge_type, direction).map_or_else(PagedArray::default, |lists| lists.table);
        // SAFETY: the table is of this version, which the flat table keeps alive.
        let flat = unsafe { FlatTable::new(&table, self.id_bound as usize, self.clone()) };
        flat.with_segments(&self.segments)
    }

    /// Which ids below `id_bound` are vertices; `None` if all are.
    pub fn gaps(&self) -> Option<Arc<[bool]>> {
        if self.num_vertices == u64::from(self.id_bound) {
            return None;
        }
        // Filled in where it will stay: a vector would be copied.
        let mut exists: Arc<[bool]> = std::iter::repeat_n(false, self.id_bound as usize).collect();
        let cells = Arc::get_mut(&mut exists).unwrap_or_default();
        self.vertices.for_each_leaf(&mut |base, leaf| {
            let page = cells.iter_mut().skip(base as usize).take(LEAF_CELLS as usize);
            page.enumerate().for_each(|(slot, cell)| *cell = leaf.occupied >> slot & 1 == 1);
        });
        Some(exists)
    }

    /// The bytes of a string cell of this version.
    #[inline]
    pub(crate) fn text(&self, cell: u64) -> &[u8] {
        // SAFETY: a cell of this version's string column, read while `self` is borrowed.
        unsafe { text_of_cell(cell) }
    }

    /// The bytes of a run of a list of this version, columns and their room included.
    pub(crate) fn run_bytes(&self, run: ChunkRef) -> usize {
        // SAFETY: a run of this version, read while `self` is borrowed.
        unsafe { run.bytes() }
    }

    /// A run of a list of this version as words, columns included, which have no room.
    pub(crate) fn run_words(&self, run: ChunkRef) -> &[u32] {
        // SAFETY: a run of this version, read while `self` is borrowed.
        unsafe { run.words() }
    }

    /// The neighbors of a run of a list of this version, decoded into the buffer if they are compressed.
    pub(crate) fn run_neighbors<'b>(&'b self, run: ChunkRef, buffer: &'b mut RunBuffer) -> &'b [VertexId] {
        // SAFETY: a run of this version, read while `self` is borrowed.
        unsafe { run.read(buffer) }
    }

    /// The columns of a run of a list of this version.
    pub(crate) fn run_columns(&self, run: ChunkRef) -> Option<ColumnArea<'_>> {
        // SAFETY: a run of this version, read while `self` is borrowed.
        unsafe { run.columns() }
    }

    /// Bytes of a heap block that this version reaches.
    pub(crate) fn footprint(&self, block: Block) -> usize {
        // SAFETY: a block of this version, which is borrowed.
        unsafe { block.footprint() }
    }

    /// The length of a list of this version.
    pub(crate) fn degree_of(&self, entry: Entry) -> u32 {
        // SAFETY: an entry of this version, which is borrowed.
        unsafe { entry.degree() }
    }

    /// The neighbors of a list of this version.
    pub(crate) fn neighbors_of(&self, entry: Option<Entry>) -> Neighbors<'_> {
        // SAFETY: an entry of this version, read while `self` is borrowed.
        unsafe { entry.unwrap_or(Entry::EMPTY).neighbors() }
    }

    /// About how many bytes an archive of what is dirty writes.
    pub(crate) fn dirty_bytes(&self) -> u64 {
        let mut bytes = 0;
        for adjacency in self.edges.iter().flat_map(|tables| [&tables.out, &tables.reverse]) {
            adjacency.table.for_each_leaf(&mut |base, leaf| {
                for cell in set_bits(leaf.dirty & leaf.occupied) {
                    let entry = leaf.get(base + cell).unwrap_or(Entry::EMPTY);
                    bytes += 16 + 4 * u64::from(self.degree_of(entry));
                }
            });
        }
        bytes
    }

    /// Has everything the version reaches freed once nobody holds it. No other version is made from it any more.
    pub(crate) fn release(self: Arc<Self>) {
        let mut blocks = Vec::new();
        self.for_each_block(&mut |block| blocks.push(block));
        self.retire(blocks);
    }

    /// Has blocks that the next version does not reach freed once nobody holds this one, or an older one that does.
    pub(crate) fn retire(self: Arc<Self>, blocks: Vec<Block>) {
        let (sequence, reclaimer, held) = (self.sequence, self.reclaimer.clone(), Arc::downgrade(&self));
        drop_quietly(self);
        reclaimer.retire(Held::Counted(held), sequence, blocks, None);
    }

    /// Every heap block this version reaches.
    pub(crate) fn for_each_block(&self, visit: &mut dyn FnMut(Block)) {
        self.vertices.for_each_page(visit);
        for (column, property) in self.columns.iter().zip(&self.schema.vertex_properties) {
            for_each_column_block(column, property.kind, visit);
        }
        for adjacency in self.edges.iter().flat_map(|tables| [&tables.out, &tables.reverse]) {
            adjacency.for_each_block(visit);
        }
    }

    /// The pages that `older` does not share, and every heap block that is reached from these.
    pub(crate) fn for_each_block_since(&self, older: &Version, visit: &mut dyn FnMut(Block)) {
        self.vertices.for_each_page_since(&older.vertices, &mut |page, _| visit(page));
        let columns = self.columns.iter().zip(&self.schema.vertex_properties);
        for (number, (column, property)) in columns.enumerate() {
            let before = older.columns.get(number).copied().unwrap_or_default();
            for_each_column_block_since(column, &before, property.kind, visit);
        }
        for (number, tables) in self.edges.iter().enumerate() {
            let before = older.edges.get(number).copied().unwrap_or_default();
            tables.out.for_each_block_since(&before.out, visit);
            tables.reverse.for_each_block_since(&before.reverse, visit);
        }
    }
}

impl Adjacency {
    /// Every heap block of the table and its lists.
    pub(crate) fn for_each_block(&self, visit: &mut dyn FnMut(Block)) {
        self.for_each_block_since(&Adjacency::default(), visit);
    }

    /// The pages that `older` does not share, and every heap block of the lists in these.
    pub(crate) fn for_each_block_since(&self, older: &Adjacency, visit: &mut dyn FnMut(Block)) {
        self.table.for_each_page_since(&older.table, &mut |page, leaf| {
            if let Some(leaf) = leaf {
                leaf.cells.iter().for_each(|entry| for_each_block(*entry, visit));
                leaf.pack.into_iter().for_each(&mut *visit);
            }
            visit(page);
        });
        self.clusters.for_each_page_since(&older.clusters, &mut |page, leaf| {
            let cells = leaf.into_iter().flat_map(|leaf| leaf.cells).filter(|cell| *cell != 0);
            cells.flat_map(|cell| Cluster::of(cell).blocks()).for_each(&mut *visit);
            visit(page);
        });
    }

    /// Whether there is nothing in any list, nor a cluster.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0 && self.clusters.is_empty()
    }
}

/// Every heap block of a column of vertex properties.
pub(crate) fn for_each_column_block(
    column: &PagedArray<u64>,
    kind: PropertyType,
    visit: &mut dyn FnMut(Block),
) {
    for_each_column_block_since(column, &PagedArray::default(), kind, visit);
}

/// The pages of a column that `older` does not share, and every heap block of the values in these.
fn for_each_column_block_since(
    column: &PagedArray<u64>,
    older: &PagedArray<u64>,
    kind: PropertyType,
    visit: &mut dyn FnMut(Block),
) {
    column.for_each_page_since(older, &mut |page, leaf| {
        if let Some(leaf) = leaf.filter(|_| kind.width().is_none()) {
            let cells = (0..LEAF_CELLS).filter_map(|slot| leaf.get(slot));
            cells.filter_map(block_of_text).for_each(&mut *visit);
        }
        visit(page);
    });
}

/// The heap block of a string cell, unless the string lies in a segment.
pub(crate) fn block_of_text(cell: u64) -> Option<Block> {
    // SAFETY: a string cell that is not mapped holds a heap block's address.
    (cell & TEXT_MAPPED == 0).then(|| unsafe { Block::from_pointer(cell as *const u8) })
}

impl Drop for Version {
    fn drop(&mut self) {
        if !self.has_retired {
            self.reclaimer.version_died();
        }
    }
}
