//! A segment's rows put into the tables of a draft, some at a time, the same way when a store is opened and when an archive
//! repoints the vertex tables.
//!
//! Invariants: a cell is replaced only by a row of the same content, or, on opening, of newer content; rows are checked
//! before any of them is put.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use evergraph_disk::Corruption;
use evergraph_segment::{SectionId, Segment};
use evergraph_types::{Direction, EdgeTypeId, PropertyId, Schema};
use rayon::prelude::*;

use crate::adjacency::{AHEAD, ChunkRef};
use crate::compression::{SLACK_BYTES, compressed_bytes};
use crate::draft::Draft;
use crate::entry::Entry;
use crate::heap::Changes;
use crate::leaf_edit::{is_same_list, release_pack};
use crate::merge::{entry_of, for_each_block};
use crate::paged_array::{Cell, Leaf, PagedArray};
use crate::rows::{
    CHUNKED, COLUMNS, COMPRESSED, ChunkRow, ListSections, OFFSET_TAGS, Row, VERTICES_SECTION, VertexRow,
    WideRow, column_section,
};
use crate::version::{TEXT_MAPPED, Version, block_of_text};

/// So many rows are taken at once where nobody waits for them.
const ROWS: usize = 1 << 20;

/// Points the draft's tables to the segment.
pub(crate) fn install(segment: &Segment, draft: &mut Draft) -> Result<(), Corruption> {
    let schema = draft.version.schema.clone();
    for rows in rows_of(segment, &schema, ROWS) {
        rows?.put(draft, None);
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
    segment: &'a Segment,
    content: Content,
}

enum Content {
    Vertices(Vec<VertexRow>),
    Column { property: PropertyId, is_text: bool, rows: Vec<WideRow> },
    Lists { edge_type: EdgeTypeId, direction: Direction, rows: Vec<WideRow>, chunks: Vec<ChunkRow> },
}

impl Rows<'_> {
    /// Sets the cells of the rows, where the draft still has their table. With `archived`, the version the segment was
    /// written from, only cells that have not changed since; tells whether that was all of them.
    pub(crate) fn put(&self, draft: &mut Draft, archived: Option<&Version>) -> bool {
        let Draft { version, changes, .. } = draft;
        let schema = &version.schema;
        let area = Area::of(self.segment);
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
                put(&mut version.edges[edge_type].side_mut(*direction).table, archived, rows, &set, changes)
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
            } else {
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

    /// Brings a leaf in order after its cells were set.
    fn settle(_leaf: &mut Leaf<Self>, _changes: &mut Changes) {}
}

impl Archived for u16 {}
impl Archived for u64 {}

impl Archived for Entry {
    fn is_same(self, archived: Self) -> bool {
        is_same_list(self, archived)
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
        Ok(Rows { segment: self.segment, content })
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
        for row in rows.iter_mut().filter(|row| row.word & CHUNKED != 0 && row.count > 0) {
            let place = own.len() as u64;
            let from = usize::try_from(row.word >> 2).ok().and_then(|at| at.checked_mul(ChunkRow::BYTES));
            let chunks = from.and_then(|from| chunks.get(from..)).unwrap_or_default();
            let mut chunks = chunks.chunks_exact(ChunkRow::BYTES).map(ChunkRow::decode);
            let mut left = row.count;
            while left > 0 {
                let next = chunks.next().filter(|chunk| (1..=left).contains(&chunk.len));
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

    fn check_text(&self, row: &WideRow) -> Result<(), Corruption> {
        let data = self.segment.data();
        let len = usize::try_from(row.word).ok().and_then(|at| data.get(at..)?.first_chunk::<4>());
        let whole = len.is_some_and(|len| self.lies_within(row.word + 4, u32::from_le_bytes(*len).into()));
        if whole && row.word.is_multiple_of(4) {
            Ok(())
        } else {
            Err(Corruption::new(
                self.path(),
                row.word,
                format!("there is no string of vertex {}", row.vertex),
            ))
        }
    }

    /// Whether every run of the list lies in the file.
    fn check_list(&self, row: &WideRow, chunks: &[ChunkRow]) -> Result<(), Corruption> {
        let is_whole = match chunks_of(row, chunks) {
            Some(runs) => runs.iter().all(|run| self.is_run(run.offset, run.len)),
            None => row.count == 0 || self.is_run(row.word, row.count),
        };
        if is_whole { Ok(()) } else { Err(self.no_list(row)) }
    }

    /// Whether a run of this length, with its columns, lies at the offset.
    fn is_run(&self, word: u64, len: u32) -> bool {
        let offset = word & !OFFSET_TAGS;
        let neighbors = match word & COMPRESSED != 0 {
            true => self.compressed_bytes(offset, len),
            false => Some(4 * u64::from(len)),
        };
        let Some(neighbors) = neighbors else { return false };
        if word & COLUMNS == 0 {
            return offset.is_multiple_of(4) && self.lies_within(offset, neighbors);
        }
        let area = offset + neighbors.next_multiple_of(8);
        let total =
            usize::try_from(area).ok().and_then(|at| self.segment.data().get(at..)?.first_chunk::<4>());
        offset.is_multiple_of(8)
            && total.is_some_and(|total| {
                let total = u64::from(u32::from_le_bytes(*total));
                total >= area - offset + 8 && self.lies_within(offset, total)
            })
    }

    /// The bytes of the compressed run of this length at the offset, if there is one, with room to read beyond it.
    fn compressed_bytes(&self, offset: u64, len: u32) -> Option<u64> {
        let data = self.segment.data().get(usize::try_from(offset).ok()?..)?;
        let bytes = compressed_bytes(data, len as usize)?;
        (bytes + SLACK_BYTES <= data.len()).then_some(bytes as u64)
    }
}
