//! A segment's rows put into the tables of a draft, the same way when a store is opened and when an archive repoints
//! the vertex tables.
//!
//! Invariant: a cell is replaced only by a row of the same content, or, on opening, of newer content.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use evergraph_disk::Corruption;
use evergraph_segment::{SectionId, Segment};
use evergraph_types::Direction;
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
    WideRow, column_section, decode_rows,
};
use crate::version::{TEXT_MAPPED, Version, block_of_text};

/// Points the draft's tables to the segment. With `archived`, the version the segment was written from, only cells
/// that have not changed since; tells whether that was all of them.
pub(crate) fn install(
    segment: &Segment,
    draft: &mut Draft,
    archived: Option<&Version>,
) -> Result<bool, Corruption> {
    let reader = Reader { segment, settled: AtomicBool::new(true) };
    let rows: Vec<VertexRow> = reader.rows(VERTICES_SECTION)?;
    let vertices = archived.map(|version| version.vertices);
    let set = |row: &VertexRow, _: Option<u16>, _: &mut Changes| row.label;
    draft.version.vertices = reader.put(draft.version.vertices, vertices, &rows, &set, &mut draft.changes);

    let schema = draft.version.schema.clone();
    for (property, declared) in schema.live_vertex_properties() {
        let rows: Vec<WideRow> = reader.rows(column_section(property))?;
        let text = declared.kind.width().is_none();
        rows.iter().filter(|row| text && row.count > 0).try_for_each(|row| reader.check_text(row))?;
        let set = |row: &WideRow, old: Option<u64>, changes: &mut Changes| {
            if text {
                old.and_then(block_of_text).into_iter().for_each(|block| changes.retire(block));
            }
            let cell = || if text { (reader.area().start + row.word) | TEXT_MAPPED } else { row.word };
            (row.count > 0).then(cell)
        };
        let column = archived.and_then(|version| version.columns.get(usize::from(property)).copied());
        let target = &mut draft.version.columns[usize::from(property)];
        *target = reader.put(*target, column, &rows, &set, &mut draft.changes);
    }
    for (edge_type, _) in schema.live_edge_types() {
        let before = archived.and_then(|version| version.edges.get(usize::from(edge_type)).copied());
        let tables = &mut draft.version.edges[usize::from(edge_type)];
        let out = before.map(|tables| tables.out.table);
        let sections = ListSections::of(edge_type, Direction::Out);
        tables.out.table = reader.put_lists(tables.out.table, out, sections, &mut draft.changes)?;
        let reverse = before.map(|tables| tables.reverse.table);
        let sections = ListSections::of(edge_type, Direction::In);
        tables.reverse.table =
            reader.put_lists(tables.reverse.table, reverse, sections, &mut draft.changes)?;
    }
    Ok(reader.settled.into_inner())
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

    fn run(self, chunk: &ChunkRow) -> ChunkRef {
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

struct Reader<'a> {
    segment: &'a Segment,
    settled: AtomicBool,
}

impl Reader<'_> {
    /// The rows of a section, none if it is absent.
    fn rows<R: Row>(&self, section: SectionId) -> Result<Vec<R>, Corruption> {
        let bytes = self.segment.section(section).unwrap_or_default();
        let rows: Vec<R> =
            decode_rows(bytes).ok_or_else(|| self.damage(section, "it is no whole number of rows"))?;
        let ascends =
            rows.par_windows(2).with_min_len(1 << 14).all(|pair| pair[0].vertex() < pair[1].vertex());
        if ascends { Ok(rows) } else { Err(self.damage(section, "its rows do not ascend")) }
    }

    fn damage(&self, section: SectionId, what: &str) -> Corruption {
        let offset = self.segment.section_offset(section).unwrap_or(0);
        Corruption::new(self.path(), offset, format!("section {section} is not as it was written: {what}"))
    }

    fn path(&self) -> &Path {
        self.segment.path()
    }

    /// Where the offsets of its rows lead.
    fn area(&self) -> Area {
        let data = self.segment.data();
        Area { start: data.as_ptr() as u64, bytes: data.len() as u64 }
    }

    fn lies_within(&self, offset: u64, bytes: u64) -> bool {
        self.area().holds(offset, bytes)
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

    /// Sets the cells of the rows, `set` giving the new value from a row and the old value.
    fn put<T: Archived, R: Row>(
        &self,
        table: PagedArray<T>,
        archived: Option<PagedArray<T>>,
        rows: &[R],
        set: &(impl Fn(&R, Option<T>, &mut Changes) -> Option<T> + Sync),
        changes: &mut Changes,
    ) -> PagedArray<T> {
        table.edit(
            rows,
            &|row| row.vertex(),
            &|_, leaf, rows, changes| {
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
                        self.settled.store(false, Ordering::Relaxed);
                    }
                }
                T::settle(leaf, changes);
            },
            changes,
        )
    }

    fn put_lists(
        &self,
        table: PagedArray<Entry>,
        archived: Option<PagedArray<Entry>>,
        sections: ListSections,
        changes: &mut Changes,
    ) -> Result<PagedArray<Entry>, Corruption> {
        let index: Vec<WideRow> = self.rows(sections.index)?;
        let chunks: Vec<ChunkRow> = decode_rows(self.segment.section(sections.chunks).unwrap_or_default())
            .ok_or_else(|| self.damage(sections.chunks, "it is no whole number of rows"))?;
        index.par_iter().with_min_len(1 << 14).try_for_each(|row| self.check_list(row, &chunks, sections))?;
        let set = |row: &WideRow, old: Option<Entry>, changes: &mut Changes| {
            old.into_iter().for_each(|old| for_each_block(old, &mut |block| changes.retire(block)));
            (row.count > 0).then(|| self.area().entry(row, &chunks, changes))
        };
        Ok(self.put(table, archived, &index, &set, changes))
    }

    /// Whether every run of the list lies in the file and together they are as long as the list.
    fn check_list(
        &self,
        row: &WideRow,
        chunks: &[ChunkRow],
        sections: ListSections,
    ) -> Result<(), Corruption> {
        let damage =
            || self.damage(sections.index, &format!("the list of vertex {} is not there", row.vertex));
        if row.count == 0 {
            return Ok(());
        }
        if row.word & CHUNKED == 0 {
            let whole = self.is_run(row.word, row.count);
            return if whole { Ok(()) } else { Err(damage()) };
        }
        let runs = chunks_of(row, chunks).ok_or_else(damage)?;
        let total: u64 = runs.iter().map(|run| u64::from(run.len)).sum();
        let whole = runs.iter().all(|run| run.len > 0 && self.is_run(run.offset, run.len));
        if whole && total == u64::from(row.count) { Ok(()) } else { Err(damage()) }
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
