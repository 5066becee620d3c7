//! A segment's rows put into the tables of a draft, some at a time, the same way when a store is opened and when an archive
//! repoints the vertex tables.
//!
//! Invariants: a cell is replaced only by a row of the same content, or, on opening, of newer content; rows are checked
//! before any of them is put; of a segment that is read from outside also what those lean on who read its lists later, but for
//! the neighbors themselves, which would mean to read every list: [`check`](crate::reports::check()) does.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use evergraph_disk::Corruption;
use evergraph_segment::{SectionId, Segment};
use evergraph_types::{Direction, EdgeTypeId, Property, PropertyId, PropertyType, Schema, VertexId};
use rayon::prelude::*;

use crate::files::rows::{
    CHUNKED, COLUMNS, COMPRESSED, ChunkRow, ListSections, OFFSET_TAGS, Row, VERTICES_SECTION, VertexRow,
    WideRow, column_section,
};
use crate::lists::adjacency::{AHEAD, ChunkRef};
use crate::lists::compression::{SLACK_BYTES, compressed_bytes};
use crate::lists::entry::Entry;
use crate::lists::fragment::ColumnArea;
use crate::lists::heap::Changes;
use crate::lists::leaf_edit::{is_same_list, release_pack};
use crate::lists::merge::{entry_of, for_each_block, runs_of};
use crate::lists::paged_array::{Cell, Leaf, PagedArray};
use crate::versions::cluster::range_of;
use crate::versions::draft::Draft;
use crate::versions::version::{TEXT_MAPPED, Version, block_of_text};

/// So many rows are taken at once where nobody waits for them.
const ROWS: usize = 1 << 20;

/// Points the draft's tables to the segment; to one from outside with the bound of the ids that there are.
pub(crate) fn install(
    segment: &Segment,
    draft: &mut Draft,
    bound: Option<VertexId>,
) -> Result<(), Corruption> {
    let schema = draft.version.schema.clone();
    for rows in rows_of(segment, &schema, ROWS) {
        let rows = rows?;
        bound.map_or(Ok(()), |bound| rows.check(&schema, bound))?;
        rows.put(draft, None);
    }
    Ok(())
}

/// The rows of a segment, table by table, so many at a time.
pub(crate) fn rows_of<'a>(
    segment: &'a Segment,
    schema: &'a Schema,
    at_once: usize,
) -> impl Iterator<Item = Result<Rows<'a>, Corruption>> {
    let columns = schema
        .live_vertex_properties()
        .map(|(property, declared)| Table::Column { property, is_text: declared.kind.width().is_none() });
    let lists = schema.live_edge_types().flat_map(|(edge_type, _)| {
        [Direction::Out, Direction::In].map(|direction| Table::Lists { edge_type, direction })
    });
    let tables = [Table::Vertices].into_iter().chain(columns).chain(lists);
    tables.flat_map(move |table| {
        let reader = Reader { segment, section: table.section() };
        let rows = reader.bytes().len().div_ceil(table.row_bytes());
        (0..rows).step_by(at_once).map(move |from| reader.read(table, from, at_once))
    })
}

/// A table that a segment has rows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    Vertices,
    Column { property: PropertyId, is_text: bool },
    Lists { edge_type: EdgeTypeId, direction: Direction },
}

impl Table {
    fn section(self) -> SectionId {
        match self {
            Table::Vertices => VERTICES_SECTION,
            Table::Column { property, .. } => column_section(property),
            Table::Lists { edge_type, direction } => ListSections::of(edge_type, direction).index,
        }
    }

    fn row_bytes(self) -> usize {
        if self == Table::Vertices { VertexRow::BYTES } else { WideRow::BYTES }
    }
}

/// Some rows of a table.
pub(crate) struct Rows<'a> {
    reader: Reader<'a>,
    content: Content,
}

enum Content {
    Vertices(Vec<VertexRow>),
    Column { property: PropertyId, is_text: bool, rows: Vec<WideRow> },
    Lists { edge_type: EdgeTypeId, direction: Direction, rows: Vec<WideRow>, chunks: Vec<ChunkRow> },
}

impl Rows<'_> {
    /// Whether all are of vertices below the bound, and texts and the columns of edges are whole.
    fn check(&self, schema: &Schema, bound: VertexId) -> Result<(), Corruption> {
        let reader = &self.reader;
        let last = match &self.content {
            Content::Vertices(rows) => rows.last().map(Row::vertex),
            // A deletion of edges that are not there leaves empty lists of vertices that are not there either.
            Content::Column { rows, .. } | Content::Lists { rows, .. } => {
                rows.iter().rfind(|row| row.count > 0).map(Row::vertex)
            }
        };
        if last.is_some_and(|last| last >= bound) {
            return Err(reader.damage("it has a row of a vertex that does not exist"));
        }
        match &self.content {
            Content::Column { property, rows, .. }
                if schema.vertex_properties[usize::from(*property)].kind == PropertyType::String =>
            {
                let values = rows.par_iter().with_min_len(1 << 12).filter(|row| row.count > 0);
                let is_text =
                    |row: &WideRow| reader.text(row).is_some_and(|text| std::str::from_utf8(text).is_ok());
                values.find_any(|row| !is_text(row)).map_or(Ok(()), |row| Err(reader.no_text(row)))
            }
            Content::Lists { edge_type, rows, chunks, .. } => {
                let properties = &schema.edge_types[usize::from(*edge_type)].options.properties;
                let is_whole = |row: &WideRow| reader.has_columns(row, chunks, properties);
                let torn = rows.par_iter().with_min_len(1 << 12).find_any(|row| !is_whole(row));
                torn.map_or(Ok(()), |row| Err(reader.no_list(row)))
            }
            Content::Vertices(_) | Content::Column { .. } => Ok(()),
        }
    }

    /// Sets the cells of the rows, where the draft still has their table. With `archived`, the version the segment was
    /// written from, only cells that have not changed since; tells whether that was all of them.
    pub(crate) fn put(&self, draft: &mut Draft, archived: Option<&Version>) -> bool {
        let Draft { version, changes, .. } = draft;
        let schema = &version.schema;
        let area = Area::of(self.reader.segment);
        match &self.content {
            Content::Vertices(rows) => {
                let archived = archived.map(|version| version.vertices);
                let set = |row: &VertexRow, _: Option<u16>, _: &mut Changes| row.label;
                put(&mut version.vertices, archived, rows, &set, changes)
            }
            Content::Column { property, is_text, rows } => {
                if schema.live_vertex_properties().all(|(live, _)| live != *property) {
                    return true;
                }
                let set = |row: &WideRow, old: Option<u64>, changes: &mut Changes| {
                    if *is_text {
                        old.and_then(block_of_text).into_iter().for_each(|block| changes.retire(block));
                    }
                    let cell = || if *is_text { (area.start + row.word) | TEXT_MAPPED } else { row.word };
                    (row.count > 0).then(cell)
                };
                let property = usize::from(*property);
                let archived = archived.and_then(|version| version.columns.get(property).copied());
                put(&mut version.columns[property], archived, rows, &set, changes)
            }
            Content::Lists { edge_type, direction, rows, chunks } => {
                if schema.live_edge_types().all(|(live, _)| live != *edge_type) {
                    return true;
                }
                let set = |row: &WideRow, old: Option<Entry>, changes: &mut Changes| {
                    old.into_iter().for_each(|old| for_each_block(old, &mut |block| changes.retire(block)));
                    (row.count > 0).then(|| area.entry(row, chunks, changes))
                };
                let edge_type = usize::from(*edge_type);
                let archived = archived.and_then(|version| version.edges.get(edge_type));
                let archived = archived.map(|tables| tables.side(*direction).table);
                let lists = version.edges[edge_type].side_mut(*direction);
                let settled = put(&mut lists.table, archived, rows, &set, changes);
                let of_range = rows.chunk_by(|left, right| range_of(left.vertex) == range_of(right.vertex));
                lists.release_clusters(of_range.map(|rows| range_of(rows[0].vertex)), changes);
                settled
            }
        }
    }
}

/// Sets the cells of the rows, `set` giving the new value from a row and the old value.
fn put<T: Archived, R: Row>(
    table: &mut PagedArray<T>,
    archived: Option<PagedArray<T>>,
    rows: &[R],
    set: &(impl Fn(&R, Option<T>, &mut Changes) -> Option<T> + Sync),
    changes: &mut Changes,
) -> bool {
    let settled = AtomicBool::new(true);
    let apply = |_, leaf: &mut Leaf<T>, rows: &[R], changes: &mut Changes| {
        for row in rows {
            let vertex = row.vertex();
            let old = leaf.get(vertex);
            let is_same = |archived: PagedArray<T>| match (old, archived.get(vertex)) {
                (Some(old), Some(archived)) => old.is_same(archived),
                (old, archived) => old.is_none() && archived.is_none(),
            };
            if archived.is_none_or(is_same) {
                leaf.set_clean(vertex, set(row, old, changes));
            } else if old.is_some_and(Archived::reaches_segments) {
                settled.store(false, Ordering::Relaxed);
            }
        }
        T::settle(leaf, changes);
    };
    *table = table.edit(rows, &|row| row.vertex(), &apply, changes);
    settled.into_inner()
}

/// A cell that a segment has rows for.
trait Archived: Cell + PartialEq {
    /// Whether a cell holds what it held when it was archived.
    fn is_same(self, archived: Self) -> bool {
        self == archived
    }

    /// Whether a cell that was changed since may reach into a segment all the same.
    fn reaches_segments(self) -> bool {
        false
    }

    /// Brings a leaf in order after its cells were set.
    fn settle(_leaf: &mut Leaf<Self>, _changes: &mut Changes) {}
}

impl Archived for u16 {}
impl Archived for u64 {}

impl Archived for Entry {
    fn is_same(self, archived: Self) -> bool {
        is_same_list(self, archived)
    }

    fn reaches_segments(self) -> bool {
        let mut runs = Vec::new();
        runs_of(self, &mut runs);
        runs.iter().any(|run| run.is_mapped())
    }

    fn settle(leaf: &mut Leaf<Self>, changes: &mut Changes) {
        release_pack(leaf, changes);
    }
}

/// Where runs lie that rows tell the offsets of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    /// The address of offset 0.
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

impl Area {
    /// Nothing.
    pub(crate) const EMPTY: Area = Area { start: 0, bytes: 0 };

    /// A file.
    fn of(segment: &Segment) -> Self {
        let data = segment.data();
        Area { start: data.as_ptr() as u64, bytes: data.len() as u64 }
    }

    /// The entry of the list that a row tells of, which lies here.
    pub(crate) fn entry(self, row: &WideRow, chunks: &[ChunkRow], changes: &mut Changes) -> Entry {
        match chunks_of(row, chunks) {
            Some(chunks) => {
                let runs: Vec<ChunkRef> = chunks.iter().map(|chunk| self.run(chunk)).collect();
                entry_of(&runs, Entry::EMPTY, changes)
            }
            None => {
                let run = self.run(&ChunkRow { offset: row.word, len: row.count, first: 0 });
                entry_of(&[run], Entry::EMPTY, changes)
            }
        }
    }

    /// The run that a row tells of, which lies here.
    pub(crate) fn run(self, chunk: &ChunkRow) -> ChunkRef {
        let address = self.start + (chunk.offset & !OFFSET_TAGS);
        let run = ChunkRef::mapped(address, chunk.offset & COLUMNS != 0, chunk.len, chunk.first);
        let words = u64::from(chunk.len) + AHEAD as u64;
        let is_compressed = chunk.offset & COMPRESSED != 0;
        let has_more = !is_compressed && self.holds(chunk.offset & !OFFSET_TAGS, 4 * words);
        run.compressed(is_compressed).with_more(has_more)
    }

    fn holds(self, offset: u64, bytes: u64) -> bool {
        offset.checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }
}

/// The runs of a list that has several; `None` if it has one or does not add up.
fn chunks_of<'c>(row: &WideRow, chunks: &'c [ChunkRow]) -> Option<&'c [ChunkRow]> {
    if row.word & CHUNKED == 0 || row.count == 0 {
        return None;
    }
    let chunks = chunks.get((row.word >> 2) as usize..)?;
    let mut left = row.count;
    let runs = chunks.iter().take_while(|chunk| {
        let more = left > 0;
        left = left.saturating_sub(chunk.len);
        more
    });
    Some(&chunks[..runs.count()])
}

/// Whether something holds of every run of a list, told by its tagged offset and its length.
fn all_runs(row: &WideRow, chunks: &[ChunkRow], holds: impl Fn(u64, u32) -> bool) -> bool {
    match chunks_of(row, chunks) {
        Some(runs) => runs.iter().all(|run| holds(run.offset, run.len)),
        None => row.count == 0 || holds(row.word, row.count),
    }
}

/// Reads the rows of one section.
#[derive(Clone, Copy)]
struct Reader<'a> {
    segment: &'a Segment,
    section: SectionId,
}

impl<'a> Reader<'a> {
    /// The bytes of the section, none if it is absent.
    fn bytes(&self) -> &'a [u8] {
        self.segment.section(self.section).unwrap_or_default()
    }

    /// So many rows from one on, as far as there are, checked.
    fn read(&self, table: Table, from: usize, at_most: usize) -> Result<Rows<'a>, Corruption> {
        let content = match table {
            Table::Vertices => Content::Vertices(self.rows(from, at_most)?),
            Table::Column { property, is_text } => {
                let rows: Vec<WideRow> = self.rows(from, at_most)?;
                rows.iter()
                    .filter(|row| is_text && row.count > 0)
                    .try_for_each(|row| self.check_text(row))?;
                Content::Column { property, is_text, rows }
            }
            Table::Lists { edge_type, direction } => {
                let mut rows: Vec<WideRow> = self.rows(from, at_most)?;
                let all = self.segment.section(ListSections::of(edge_type, direction).chunks);
                let chunks = self.own_chunks(&mut rows, all.unwrap_or_default())?;
                rows.par_iter().with_min_len(1 << 14).try_for_each(|row| self.check_list(row, &chunks))?;
                Content::Lists { edge_type, direction, rows, chunks }
            }
        };
        Ok(Rows { reader: *self, content })
    }

    fn rows<R: Row>(&self, from: usize, at_most: usize) -> Result<Vec<R>, Corruption> {
        let bytes = self.bytes();
        if !bytes.len().is_multiple_of(R::BYTES) {
            return Err(self.damage("it is no whole number of rows"));
        }
        let before = from.checked_sub(1).map(|last| R::decode(&bytes[last * R::BYTES..]).vertex());
        let rows = bytes[from * R::BYTES..].chunks_exact(R::BYTES).take(at_most);
        let rows: Vec<R> = rows.map(R::decode).collect();
        let ascends =
            rows.par_windows(2).with_min_len(1 << 14).all(|pair| pair[0].vertex() < pair[1].vertex());
        let goes_on = rows.first().is_none_or(|first| before.is_none_or(|before| before < first.vertex()));
        if ascends && goes_on { Ok(rows) } else { Err(self.damage("its rows do not ascend")) }
    }

    /// The runs of the lists that have several, out of all `chunks`, one list after the other, each as long together as its
    /// list; the places in the rows are changed to those among these.
    fn own_chunks(&self, rows: &mut [WideRow], chunks: &[u8]) -> Result<Vec<ChunkRow>, Corruption> {
        let mut own: Vec<ChunkRow> = Vec::new();
        // No two lists share one.
        let most = chunks.len() / ChunkRow::BYTES;
        for row in rows.iter_mut().filter(|row| row.word & CHUNKED != 0 && row.count > 0) {
            let place = own.len() as u64;
            let from = usize::try_from(row.word >> 2).ok().and_then(|at| at.checked_mul(ChunkRow::BYTES));
            let chunks = from.and_then(|from| chunks.get(from..)).unwrap_or_default();
            let mut chunks = chunks.chunks_exact(ChunkRow::BYTES).map(ChunkRow::decode);
            let mut left = row.count;
            while left > 0 {
                let next = chunks.next().filter(|chunk| (1..=left).contains(&chunk.len) && own.len() < most);
                let chunk = next.ok_or_else(|| self.no_list(row))?;
                left -= chunk.len;
                own.push(chunk);
            }
            row.word = place << 2 | row.word & 3;
        }
        Ok(own)
    }

    fn damage(&self, what: &str) -> Corruption {
        let offset = self.segment.section_offset(self.section).unwrap_or(0);
        let section = self.section;
        Corruption::new(self.path(), offset, format!("section {section} is not as it was written: {what}"))
    }

    fn no_list(&self, row: &WideRow) -> Corruption {
        self.damage(&format!("the list of vertex {} is not there", row.vertex))
    }

    fn path(&self) -> &'a Path {
        self.segment.path()
    }

    fn lies_within(&self, offset: u64, bytes: u64) -> bool {
        Area::of(self.segment).holds(offset, bytes)
    }

    /// The bytes of a cell of variable width, if they are there.
    fn text(&self, row: &WideRow) -> Option<&'a [u8]> {
        let bytes = self.segment.data().get(usize::try_from(row.word).ok()?..)?;
        let (len, rest) = bytes.split_first_chunk()?;
        rest.get(..u32::from_le_bytes(*len) as usize)
    }

    fn check_text(&self, row: &WideRow) -> Result<(), Corruption> {
        let is_whole = row.word.is_multiple_of(4) && self.text(row).is_some();
        if is_whole { Ok(()) } else { Err(self.no_text(row)) }
    }

    fn no_text(&self, row: &WideRow) -> Corruption {
        Corruption::new(self.path(), row.word, format!("there is no string of vertex {}", row.vertex))
    }

    /// Whether every run of the list lies in the file.
    fn check_list(&self, row: &WideRow, chunks: &[ChunkRow]) -> Result<(), Corruption> {
        let is_whole = all_runs(row, chunks, |word, len| self.is_run(word, len));
        if is_whole { Ok(()) } else { Err(self.no_list(row)) }
    }

    /// Whether every run of the list, all of them in the file, has whole columns of these properties, if it has any.
    fn has_columns(&self, row: &WideRow, chunks: &[ChunkRow], properties: &[Property]) -> bool {
        let is_whole =
            |word, len| self.columns(word, len).is_some_and(|columns| columns.is_whole(properties));
        all_runs(row, chunks, |word, len| word & COLUMNS == 0 || is_whole(word, len))
    }

    /// Whether a run of this length, with its columns, lies at the offset.
    fn is_run(&self, word: u64, len: u32) -> bool {
        let offset = word & !OFFSET_TAGS;
        if word & COLUMNS != 0 {
            return offset.is_multiple_of(8) && self.columns(word, len).is_some();
        }
        let neighbors = self.neighbor_bytes(word, len);
        offset.is_multiple_of(4) && neighbors.is_some_and(|bytes| self.lies_within(offset, bytes))
    }

    /// What the neighbors of a run take, if they can be there.
    fn neighbor_bytes(&self, word: u64, len: u32) -> Option<u64> {
        match word & COMPRESSED != 0 {
            true => self.compressed_bytes(word & !OFFSET_TAGS, len),
            false => Some(4 * u64::from(len)),
        }
    }

    /// The columns behind the neighbors of a run, if they lie in the file.
    fn columns(&self, word: u64, len: u32) -> Option<ColumnArea<'a>> {
        let offset = word & !OFFSET_TAGS;
        let run = self.segment.data().get(usize::try_from(offset).ok()?..)?;
        let start = usize::try_from(self.neighbor_bytes(word, len)?.next_multiple_of(8)).ok()?;
        let total = u32::from_le_bytes(*run.get(start..)?.first_chunk()?) as usize;
        let area = run.get(start..total)?;
        (area.len() >= 8).then(|| ColumnArea::of(area, len as usize))
    }

    /// The bytes of the compressed run of this length at the offset, if there is one, with room to read beyond it.
    fn compressed_bytes(&self, offset: u64, len: u32) -> Option<u64> {
        let data = self.segment.data().get(usize::try_from(offset).ok()?..)?;
        let bytes = compressed_bytes(data, len as usize)?;
        (bytes + SLACK_BYTES <= data.len()).then_some(bytes as u64)
    }
}
