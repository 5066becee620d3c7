//! Guides to the lists and texts of segments, made from the rows that lead to them.

use std::sync::Arc;

use evergraph_segment::{SectionId, Segment};
use evergraph_types::{Direction, Schema, VertexId};

use crate::files::rows::{CHUNKED, ChunkRow, ListSections, OFFSET_TAGS, Row, WideRow, column_section};
use crate::system::prefetch::LINE;
use crate::versions::guide::{GROUP, Guide, Guides};

/// Of fewer rows there is no guide: the entries of so many vertices stay near by themselves.
const ROWS_MIN: usize = 1 << 16;

/// The guides of a store with these segments, `before` being those of the ones it had.
pub(crate) fn guides_of(schema: &Schema, segments: &[Arc<Segment>], before: &Guides) -> Guides {
    let known = |guide: Option<&Option<Guide>>| guide.cloned().flatten();
    let lists = (0..).zip(&schema.edge_types).map(|(edge_type, _)| {
        [Direction::Out, Direction::In].map(|direction| {
            let of_type = before.lists.get(usize::from(edge_type));
            let known = known(of_type.map(|guides| &guides[direction as usize]));
            let sections = ListSections::of(edge_type, direction);
            guide(segments, sections.index, known, |segment, row| first_run(segment, sections.chunks, row))
        })
    });
    let texts = (0..).zip(&schema.vertex_properties).map(|(property, declared)| {
        let known = known(before.texts.get(usize::from(property)));
        let has_texts = declared.kind.width().is_none();
        has_texts.then(|| guide(segments, column_section(property), known, |_, row| Some(row.word)))?
    });
    Guides { lists: lists.collect(), texts: texts.collect() }
}

/// The guide to the segment with the most rows in a section, the newest of these: the one that is known, if it leads there. `place` is
/// the offset of what a row leads to.
fn guide(
    segments: &[Arc<Segment>],
    section: SectionId,
    known: Option<Guide>,
    place: impl Fn(&Segment, &WideRow) -> Option<u64>,
) -> Option<Guide> {
    let rows_of = |segment: &Arc<Segment>| segment.section(section).map_or(0, <[u8]>::len);
    let segment = segments.iter().max_by_key(|segment| rows_of(segment))?;
    known.filter(|guide| guide.leads_to(segment)).or_else(|| {
        let rows = segment.section(section)?.chunks_exact(WideRow::BYTES).map(WideRow::decode);
        let groups = (rows.clone().next_back()?.vertex / GROUP) as usize + 1;
        // Of fewer vertices than groups there is little to tell.
        let rows = (rows.len() >= groups.max(ROWS_MIN)).then(|| rows.filter(Row::is_present))?;
        let lines = lines(groups, rows.map(|row| Some((row.vertex, place(segment, &row)?))));
        Some(Guide::new(segment, &lines?))
    })
}

/// Where a list begins.
fn first_run(segment: &Segment, chunks: SectionId, row: &WideRow) -> Option<u64> {
    if row.word & CHUNKED == 0 {
        return Some(row.word & !OFFSET_TAGS);
    }
    let start = usize::try_from(row.word >> 2).ok()?.checked_mul(ChunkRow::BYTES)?;
    let chunk = segment.section(chunks)?.get(start..)?.get(..ChunkRow::BYTES)?;
    Some(ChunkRow::decode(chunk).offset & !OFFSET_TAGS)
}

/// The line in which each of so many groups of vertices begins, as far as there are any, and the end of the last one.
fn lines(groups: usize, places: impl Iterator<Item = Option<(VertexId, u64)>>) -> Option<Vec<u32>> {
    let mut lines = Vec::with_capacity(groups + 1);
    let mut line = 0;
    for place in places {
        let (vertex, offset) = place?;
        line = u32::try_from(offset / LINE as u64).ok()?;
        lines.resize(lines.len().max((vertex / GROUP) as usize + 1), line);
    }
    lines.push(line.saturating_add(1));
    Some(lines)
}
