//! What a version holds, written as the sections of a new segment.
//!
//! Rows are written of every vertex whose cell is dirty or that one of the merged segments has a row of, always with
//! the value the version has; that is what makes merging and archiving the same. That there is none is only written where an
//! older segment, which stays, has one: what comes and goes leaves nothing for good.
//!
//! Invariant: after the new segment, neither the heap nor a merged segment is needed to know any cell of the version.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use evergraph_disk::Disk;
use evergraph_segment::{SectionId, Segment, SegmentError, SegmentInfo, SegmentWriter};
use evergraph_types::{Direction, EdgeTypeId, PropertyId, Sequence, VertexId};

use crate::commits::batch::EndIds;
use crate::files::list_parts::Selected;
use crate::files::list_pieces::{Growth, ListSink, ListsWritten, write_in_background, write_rows};
use crate::files::recycled_rows::write_recycled;
use crate::files::rows::{
    ListSections, Row, VERTICES_SECTION, VertexRow, WideRow, column_section, decode_rows, keys_section,
    text_section,
};
use crate::keys::recycler::Recycled;
use crate::lists::bits::set_bits;
use crate::lists::entry::Entry;
use crate::lists::paged_array::{Cell, LEAF_CELLS, PagedArray};
use crate::loads::additions::{Additions, Side, SortKey, fit_32_bits};
use crate::loads::spill::Spilled;
use crate::loads::spill_merge::SpillMerge;
use crate::upkeep::watch::Watch;
use crate::versions::version::{Adjacency, EdgeTables, Version};
use crate::write_sets::codec::encode_keys;

const DIRECTIONS: [Direction; 2] = [Direction::Out, Direction::In];

/// Keys in one section: what is decoded at once when the store is opened.
const KEYS_PER_PART: u32 = 1 << 18;

/// What goes into a segment.
#[derive(Clone, Copy)]
pub(crate) struct Contents<'a> {
    /// Whose dirty cells.
    pub(crate) version: &'a Version,
    /// Segments that the new one replaces.
    pub(crate) merged: &'a [Arc<Segment>],
    /// It holds the versions after the first one, up to the second.
    pub(crate) versions: (Sequence, Sequence),
    /// Older ones, which stay: what is gone is remembered where they hold it.
    pub(crate) kept: &'a [Arc<Segment>],
    /// The keys of the ids from this one on.
    pub(crate) first_key: VertexId,
    /// Which ids have no keys, and which have got others.
    pub(crate) recycled: &'a Recycled,
    /// Edges to add.
    pub(crate) bulk: Option<&'a Bulk>,
    /// What lists on their way are to fit.
    pub(crate) memory_limit: Option<u64>,
    /// Once it says no, the lists to come are left out: nobody will want the segment.
    pub(crate) watch: &'a Watch<'a>,
}

/// A segment that was written.
pub(crate) struct Written {
    /// Its length.
    pub(crate) bytes: u64,
    /// List entries in it.
    pub(crate) entries: u64,
    /// Those that a bulk load added.
    pub(crate) growth: BulkGrowth,
}

/// Writes a segment of the store with this id.
pub(crate) fn write_segment(
    disk: &dyn Disk,
    store_id: [u8; 16],
    path: &Path,
    number: u64,
    contents: Contents<'_>,
) -> Result<Written, SegmentError> {
    let Contents { version, versions, .. } = contents;
    // It holds what they come to, and nothing of how they came to it.
    let since = versions.1;
    let info = SegmentInfo { store_id, segment: number, lower: versions.0, upper: versions.1, since };
    let mut writer = SegmentWriter::create(disk, path, &info)?;
    write_keys(&mut writer, contents)?;
    let rows =
        contents.rows(&version.vertices, VERTICES_SECTION, |vertex, label| VertexRow { vertex, label });
    write_rows(&mut writer, VERTICES_SECTION, &rows)?;
    for property in 0..version.columns.len() as PropertyId {
        write_column(&mut writer, property, contents)?;
    }
    let (growth, ListsWritten { entries, times }) =
        write_in_background(&mut writer, version, contents.memory_limit, contents.watch, |sink| {
            let mut growth = BulkGrowth::default();
            for edge_type in 0..version.edges.len() as EdgeTypeId {
                match contents.bulk.filter(|bulk| bulk.lists.edge_type == edge_type) {
                    Some(bulk) => growth = contents.write_bulk(sink, bulk)?,
                    None => DIRECTIONS.into_iter().for_each(|direction| {
                        contents.write_table::<u32>(sink, edge_type, direction, None);
                    }),
                }
            }
            Ok::<_, SegmentError>(growth)
        })?;
    writer.set_times(times);
    Ok(Written { growth: growth?, entries, bytes: writer.finish()? })
}

/// Edges of a bulk load that are in no list yet.
#[derive(Debug)]
pub(crate) struct Bulk {
    pub(crate) lists: BulkLists,
    pub(crate) rows: BulkRows,
}

/// The lists that grow by them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkLists {
    pub(crate) edge_type: EdgeTypeId,
    pub(crate) symmetric: bool,
    /// Whether there are in lists.
    pub(crate) reverse: bool,
}

/// Where they are.
#[derive(Debug)]
pub(crate) enum BulkRows {
    /// In memory: of a simple type, without properties.
    Ends(Vec<EndIds>),
    /// In files, of any type.
    Spilled(Spilled),
}

/// How a bulk load changes the lists of each direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BulkGrowth {
    pub(crate) out: Growth,
    pub(crate) reverse: Growth,
}

impl BulkLists {
    /// From which ends of the edges the lists of a direction grow; `None` if there are none of their own.
    pub(crate) fn side(self, direction: Direction) -> Option<Side> {
        match (direction, self.symmetric) {
            (Direction::Out, false) => Some(Side::Source),
            (Direction::Out, true) => Some(Side::Both),
            (Direction::In, false) => Some(Side::Destination).filter(|_| self.reverse),
            (Direction::In, true) => None,
        }
    }

    fn fit_32_bits(self, ends: &[EndIds], id_bound: VertexId) -> bool {
        let sides = DIRECTIONS.into_iter().filter_map(|direction| self.side(direction));
        sides.into_iter().all(|side| fit_32_bits(ends, side, id_bound))
    }
}

impl BulkGrowth {
    /// The counts of the tables after the load.
    pub(crate) fn add_to(&self, tables: &mut EdgeTables) {
        for (lists, growth) in [(&mut tables.out, self.out), (&mut tables.reverse, self.reverse)] {
            lists.entries += growth.entries;
            lists.loops += growth.loops;
        }
    }

    fn of(&mut self, direction: Direction) -> &mut Growth {
        match direction {
            Direction::Out => &mut self.out,
            Direction::In => &mut self.reverse,
        }
    }
}

impl Contents<'_> {
    /// Writes the lists of the bulk's edge type, its edges merged in.
    fn write_bulk(&self, sink: &ListSink<'_>, bulk: &Bulk) -> Result<BulkGrowth, SegmentError> {
        match &bulk.rows {
            BulkRows::Ends(ends) if bulk.lists.fit_32_bits(ends, self.version.id_bound) => {
                Ok(self.write_ends::<u32>(sink, bulk, ends))
            }
            BulkRows::Ends(ends) => Ok(self.write_ends::<u64>(sink, bulk, ends)),
            BulkRows::Spilled(spilled) => self.write_spilled(sink, bulk, spilled),
        }
    }

    fn write_ends<K: SortKey>(&self, sink: &ListSink<'_>, bulk: &Bulk, ends: &[EndIds]) -> BulkGrowth {
        let mut growth = BulkGrowth::default();
        let mut spare: Option<Additions<K>> = None;
        for direction in DIRECTIONS {
            let split = |side| Additions::split(ends, side, self.version.id_bound, spare.take());
            let additions = bulk.lists.side(direction).map(split);
            *growth.of(direction) =
                self.write_table(sink, bulk.lists.edge_type, direction, additions.as_ref());
            spare = additions;
            self.watch.advance(ends.iter().map(|part| part.src.len() as u64).sum());
        }
        growth
    }

    /// As [`Contents::write_bulk`], as many rows at a time as memory has room for.
    fn write_spilled(
        &self,
        sink: &ListSink<'_>,
        bulk: &Bulk,
        spilled: &Spilled,
    ) -> Result<BulkGrowth, SegmentError> {
        let mut growth = BulkGrowth::default();
        for direction in DIRECTIONS {
            if bulk.lists.side(direction).is_none() {
                self.write_table::<u32>(sink, bulk.lists.edge_type, direction, None);
                continue;
            }
            let sections = ListSections::of(bulk.lists.edge_type, direction);
            let before = self.adjacency(bulk.lists.edge_type, direction);
            let selected = self.lists(&before.table, sections);
            let bytes = spilled.bytes_at_a_time();
            let merge = SpillMerge::new(self.version, sink, sections, before, &selected, bytes);
            *growth.of(direction) = merge.merge(spilled, direction, self.watch)?;
        }
        Ok(growth)
    }

    fn write_table<K: SortKey>(
        &self,
        sink: &ListSink<'_>,
        edge_type: EdgeTypeId,
        direction: Direction,
        additions: Option<&Additions<K>>,
    ) -> Growth {
        let sections = ListSections::of(edge_type, direction);
        let table = self.adjacency(edge_type, direction).table;
        sink.write(sections, &table, &self.lists(&table, sections), additions)
    }

    /// One row for each selected cell of a table.
    fn rows<T: Cell, R: Row>(
        &self,
        table: &PagedArray<T>,
        section: SectionId,
        row: impl Fn(VertexId, Option<T>) -> R,
    ) -> Vec<R> {
        let mut rows = Vec::new();
        self.for_each::<T, R>(table, section, &mut |vertex, value| rows.push(row(vertex, value)));
        rows
    }

    /// The lists of an edge type in one direction.
    fn adjacency(&self, edge_type: EdgeTypeId, direction: Direction) -> Adjacency {
        let tables = &self.version.edges[usize::from(edge_type)];
        match direction {
            Direction::Out => tables.out,
            Direction::In => tables.reverse,
        }
    }

    /// The selected lists of a table.
    fn lists(&self, table: &PagedArray<Entry>, sections: ListSections) -> Vec<Selected> {
        let mut selected = Vec::new();
        self.for_each::<Entry, WideRow>(table, sections.index, &mut |vertex, entry| {
            selected.push((vertex, entry))
        });
        selected
    }

    /// Calls `visit` with each selected cell of a table, ascending. `R` are the rows of its section.
    fn for_each<T: Cell, R: Row>(
        &self,
        table: &PagedArray<T>,
        section: SectionId,
        visit: &mut dyn FnMut(VertexId, Option<T>),
    ) {
        let merged = self.merged_vertices::<R>(section);
        let mut older = OlderRows::<R>::of(self.kept, section);
        table.for_each_leaf(&mut |base, leaf| {
            let page = merged.get((base / LEAF_CELLS) as usize).copied().unwrap_or(0);
            let mut selected = leaf.dirty | page;
            for cell in set_bits(selected & !leaf.occupied) {
                if !older.hold(base + cell) {
                    selected &= !(1 << cell);
                }
            }
            set_bits(selected).for_each(|cell| visit(base + cell, leaf.get(base + cell)));
        });
    }

    /// The vertices that the merged segments have rows of, as a bitmap.
    fn merged_vertices<R: Row>(&self, section: SectionId) -> Vec<u64> {
        let mut bitmap = Vec::new();
        for segment in self.merged {
            let rows: Vec<R> = segment.section(section).and_then(decode_rows).unwrap_or_default();
            for row in &rows {
                let word = (row.vertex() / LEAF_CELLS) as usize;
                if bitmap.len() <= word {
                    bitmap.resize(word + 1, 0u64);
                }
                bitmap[word] |= 1 << (row.vertex() % LEAF_CELLS);
            }
        }
        bitmap
    }
}

/// What older segments hold, looked up in the order of vertices.
struct OlderRows<'a, R> {
    /// The rows of each that are not passed yet, newest first.
    sections: Vec<&'a [u8]>,
    rows: PhantomData<R>,
}

impl<'a, R: Row> OlderRows<'a, R> {
    /// Of segments, oldest first.
    fn of(segments: &'a [Arc<Segment>], section: SectionId) -> Self {
        let sections = segments.iter().rev().filter_map(|segment| segment.section(section)).collect();
        OlderRows { sections, rows: PhantomData }
    }

    /// Whether they hold something of a vertex, which comes after those asked for before.
    fn hold(&mut self, vertex: VertexId) -> bool {
        let row = |rows: &[u8], at: usize| {
            rows.get(at * R::BYTES..).and_then(|rows| rows.get(..R::BYTES)).map(R::decode)
        };
        for rows in &mut self.sections {
            // The next one asked for is near.
            let mut step = 1;
            while row(rows, step).is_some_and(|row| row.vertex() <= vertex) {
                *rows = &rows[step * R::BYTES..];
                step *= 2;
            }
            while step > 0 {
                if row(rows, step).is_some_and(|row| row.vertex() <= vertex) {
                    *rows = &rows[step * R::BYTES..];
                }
                step /= 2;
            }
            // The newest that says anything of it is right.
            if let Some(found) = row(rows, 0).filter(|row| row.vertex() == vertex) {
                return found.is_present();
            }
        }
        false
    }
}

fn write_keys(writer: &mut SegmentWriter, contents: Contents<'_>) -> Result<(), SegmentError> {
    let Contents { version, recycled, first_key, merged, .. } = contents;
    if version.dictionary.is_dense() {
        return Ok(());
    }
    // What has no key now may be getting one while this is written.
    let mut free = recycled.free[recycled.free.partition_point(|id| *id < first_key)..].iter().peekable();
    let mut has_key = |id| free.next_if_eq(&&id).is_none();
    let mut first = first_key;
    let mut part = 0;
    while first < version.id_bound {
        let end = version.id_bound.min(first.saturating_add(KEYS_PER_PART));
        let mut bytes = first.to_le_bytes().to_vec();
        encode_keys(Some(&version.dictionary.keys_where(first..end, &mut has_key)), &mut bytes);
        writer.begin(keys_section(part));
        writer.write(&bytes)?;
        (first, part) = (end, part + 1);
    }
    write_recycled(writer, &version.dictionary, recycled, first_key, merged)
}

fn write_column(
    writer: &mut SegmentWriter,
    property: PropertyId,
    contents: Contents<'_>,
) -> Result<(), SegmentError> {
    let version = contents.version;
    let section = column_section(property);
    let row = |vertex, cell: Option<u64>| WideRow {
        vertex,
        count: u32::from(cell.is_some()),
        word: cell.unwrap_or(0),
    };
    let mut rows = contents.rows(&version.columns[usize::from(property)], section, row);
    if version.schema.vertex_properties[usize::from(property)].kind.width().is_none() {
        writer.begin(text_section(property));
        for row in rows.iter_mut().filter(|row| row.count > 0) {
            writer.pad_to(4);
            let offset = writer.position();
            let text = version.text(row.word);
            writer.write(&(text.len() as u32).to_le_bytes())?;
            writer.write(text)?;
            row.word = offset;
        }
    }
    write_rows(writer, section, &rows)
}
