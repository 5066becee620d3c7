//! What a version holds, written as the sections of a new segment.
//!
//! Rows are written of every vertex whose cell is dirty or that one of the merged segments has a row of, always with
//! the value the version has; that is what makes merging and archiving the same.
//!
//! Invariant: after the new segment, neither the heap nor a merged segment is needed to know any cell of the version.

use std::path::Path;
use std::sync::Arc;

use evergraph_segment::{SectionId, Segment, SegmentError, SegmentInfo, SegmentWriter};
use evergraph_types::{Direction, EdgeTypeId, PropertyId, PropertyType, VertexId};

use crate::adjacency::Entry;
use crate::codec::encode_keys;
use crate::dictionary::Dictionary;
use crate::home::Home;
use crate::merge::runs_of;
use crate::paged_array::{Cell, LEAF_CELLS, PagedArray};
use crate::rows::{
    CHUNKED, COLUMNS, ChunkRow, ListSections, Row, VERTICES_SECTION, VertexRow, WideRow, column_section,
    decode_rows, encode_rows, keys_section, text_section,
};
use crate::version::Version;

/// Keys in one section: what is decoded at once when the store is opened.
const KEYS_PER_PART: u32 = 1 << 18;

/// What goes into a segment beside what is dirty.
#[derive(Clone, Copy)]
struct Selection<'a> {
    merged: &'a [Arc<Segment>],
    /// Nothing older stays, so that what is gone need not be remembered.
    is_bottom: bool,
}

/// Writes a segment of the store in `home`; gives its length in bytes.
pub(crate) fn write_segment(
    home: &Home,
    path: &Path,
    number: u64,
    version: &Version,
    merged: &[Arc<Segment>],
    is_bottom: bool,
    first_key: VertexId,
) -> Result<u64, SegmentError> {
    let lower = merged.first().map_or(0, |segment| segment.info().lower);
    let info = SegmentInfo {
        store_id: home.store_id,
        segment: number,
        lower,
        upper: version.sequence,
        since: version.sequence,
        min_time: i64::MAX,
        max_time: i64::MIN,
    };
    let mut writer = SegmentWriter::create(&*home.disk, path, &info)?;
    let selection = Selection { merged, is_bottom };
    write_keys(&mut writer, version, first_key)?;
    let rows =
        selection.rows(&version.vertices, VERTICES_SECTION, |vertex, label| VertexRow { vertex, label });
    write_rows(&mut writer, VERTICES_SECTION, &rows)?;
    for property in 0..version.columns.len() as PropertyId {
        write_column(&mut writer, version, property, selection)?;
    }
    for edge_type in 0..version.edges.len() as EdgeTypeId {
        let tables = &version.edges[usize::from(edge_type)];
        for (direction, lists) in [(Direction::Out, &tables.out), (Direction::In, &tables.reverse)] {
            write_lists(
                &mut writer,
                version,
                &lists.table,
                ListSections::of(edge_type, direction),
                selection,
            )?;
        }
    }
    writer.finish()
}

impl Selection<'_> {
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

    /// Calls `visit` with each selected cell of a table, ascending. `R` are the rows of its section.
    fn for_each<T: Cell, R: Row>(
        &self,
        table: &PagedArray<T>,
        section: SectionId,
        visit: &mut dyn FnMut(VertexId, Option<T>),
    ) {
        let merged = self.merged_vertices::<R>(section);
        table.for_each_leaf(&mut |base, leaf| {
            let page = merged.get((base / LEAF_CELLS) as usize).copied().unwrap_or(0);
            let mut selected = leaf.dirty | page;
            if self.is_bottom {
                selected &= leaf.occupied;
            }
            while selected != 0 {
                let vertex = base + selected.trailing_zeros();
                visit(vertex, leaf.get(vertex));
                selected &= selected - 1;
            }
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

fn write_rows<R: Row>(
    writer: &mut SegmentWriter,
    section: SectionId,
    rows: &[R],
) -> Result<(), SegmentError> {
    if rows.is_empty() {
        return Ok(());
    }
    writer.begin(section);
    rows.chunks(1 << 16).try_for_each(|rows| writer.write(&encode_rows(rows)))
}

fn write_keys(
    writer: &mut SegmentWriter,
    version: &Version,
    first_key: VertexId,
) -> Result<(), SegmentError> {
    if matches!(*version.dictionary, Dictionary::Dense) {
        return Ok(());
    }
    let mut first = first_key;
    let mut part = 0;
    while first < version.id_bound {
        let end = version.id_bound.min(first.saturating_add(KEYS_PER_PART));
        let mut bytes = first.to_le_bytes().to_vec();
        encode_keys(Some(&version.dictionary.keys(first..end)), &mut bytes);
        writer.begin(keys_section(part));
        writer.write(&bytes)?;
        (first, part) = (end, part + 1);
    }
    Ok(())
}

fn write_column(
    writer: &mut SegmentWriter,
    version: &Version,
    property: PropertyId,
    selection: Selection<'_>,
) -> Result<(), SegmentError> {
    let section = column_section(property);
    let row = |vertex, cell: Option<u64>| WideRow {
        vertex,
        count: u32::from(cell.is_some()),
        word: cell.unwrap_or(0),
    };
    let mut rows = selection.rows(&version.columns[usize::from(property)], section, row);
    if version.schema.vertex_properties[usize::from(property)].kind == PropertyType::String {
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

fn write_lists(
    writer: &mut SegmentWriter,
    version: &Version,
    table: &PagedArray<Entry>,
    sections: ListSections,
    selection: Selection<'_>,
) -> Result<(), SegmentError> {
    let mut selected = Vec::new();
    selection.for_each::<Entry, WideRow>(table, sections.index, &mut |vertex, entry| {
        selected.push((vertex, entry))
    });
    if selected.is_empty() {
        return Ok(());
    }
    writer.begin(sections.lists);
    let mut index = Vec::with_capacity(selected.len());
    let mut chunks = Vec::new();
    let mut runs = Vec::new();
    for (vertex, entry) in selected {
        let Some(entry) = entry else {
            index.push(WideRow { vertex, count: 0, word: 0 });
            continue;
        };
        runs.clear();
        runs_of(entry, &mut runs);
        let with_columns = runs.iter().any(|run| run.has_columns());
        writer.pad_to(if with_columns { 8 } else { 4 });
        let mut word = writer.position();
        if with_columns && runs.len() > 1 {
            word = (chunks.len() as u64) << 2 | CHUNKED;
        } else if with_columns {
            word |= COLUMNS;
        }
        for run in &runs {
            if with_columns {
                writer.pad_to(8);
                let tag = if run.has_columns() { COLUMNS } else { 0 };
                chunks.push(ChunkRow { offset: writer.position() | tag, len: run.len, first: run.first });
            }
            writer.write(version.run_bytes(*run))?;
        }
        if with_columns && runs.len() == 1 {
            chunks.pop();
        }
        index.push(WideRow { vertex, count: entry.degree, word });
    }
    write_rows(writer, sections.index, &index)?;
    write_rows(writer, sections.chunks, &chunks)
}
