//! How the lists of a version lie: in memory or in which segment, in how many pieces and places, in how many bytes.
//!
//! ```text
//!  memory      │ what commits since the last archive have written; all of it, in a store without files
//!  segment 9   │ what the newest archive has written
//!  segment 4   │ …
//! ```
//!
//! Invariant: each entry is counted in the one level its run lies in, and each row of an index, of vertices and of their properties
//! in the segment that has the newest one; what a segment holds and nobody needs any more is the difference between its bytes and
//! those counted.

use evergraph_segment::SectionId;
use evergraph_types::{Direction, Sequence, VertexId};

use crate::files::rows::{
    ChunkRow, ListSections, Row, VERTICES_SECTION, VertexRow, WideRow, column_section, decode_rows, is_keys,
};
use crate::lists::entry::Entry;
use crate::lists::merge::runs_of;
use crate::lists::paged_array::{Cell, LEAF_CELLS, PagedArray};
use crate::versions::version::{TEXT_MAPPED, Version};

/// How the lists of a version lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// Youngest first: memory, then the segments.
    pub levels: Vec<Level>,
    /// By edge type and direction, for those with lists.
    pub tables: Vec<TableLayout>,
}

/// Where lists lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Level {
    /// The number of the segment; `None` for memory.
    pub segment: Option<u64>,
    /// What it takes in all: the file, or what all lists in memory take, with the dead parts of clusters.
    pub bytes: u64,
    /// Pieces of lists in it.
    pub fragments: u64,
    /// List entries in it.
    pub entries: u64,
    /// What these take.
    pub live_bytes: u64,
    /// What else of it is needed: keys, the index of its lists, vertices, their properties, and the frame of the file.
    pub other_bytes: u64,
    /// The least and the greatest vertex with a list that reaches into it.
    pub vertices: Option<(VertexId, VertexId)>,
    /// It was written to bring the segments below from the first version to the second; `None` for memory.
    pub versions: Option<(Sequence, Sequence)>,
    /// The least and the greatest time of the events in it, in the unit of their property; `None` where there are none, and for
    /// memory.
    pub times: Option<(i64, i64)>,
}

/// How the lists of one edge type in one direction lie.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableLayout {
    /// The edge type.
    pub edge_type: String,
    /// The direction.
    pub direction: Direction,
    /// Lists that are not empty.
    pub lists: u64,
    /// Their entries.
    pub entries: u64,
    /// Pieces that lie in different places: a list is read from so many. Chunks of a list that follow each other count once.
    pub fragments: u64,
    /// The most pieces of one list.
    pub most_fragments: u64,
    /// Places that a pass over all lists in the order of vertices reads from: a list that begins where the one before it
    /// ends adds none.
    pub places: u64,
    /// What the entries take, properties included.
    pub list_bytes: u64,
    /// What the vertex table takes.
    pub table_bytes: u64,
}

impl Layout {
    /// List entries in all.
    pub fn entries(&self) -> u64 {
        self.tables.iter().map(|table| table.entries).sum()
    }

    /// Pieces for each list, on average; 1 at best. `None` without lists.
    pub fn fragments_per_list(&self) -> Option<f64> {
        let (fragments, lists) =
            self.tables.iter().fold((0, 0), |sum, table| (sum.0 + table.fragments, sum.1 + table.lists));
        ratio(fragments, lists)
    }

    /// What all levels take for each byte of them that is needed: 1 at best. `None` where there is nothing.
    pub fn space_amplification(&self) -> Option<f64> {
        let needed = |level: &Level| level.live_bytes + level.other_bytes;
        let (bytes, needed) =
            self.levels.iter().fold((0, 0), |sum, level| (sum.0 + level.bytes, sum.1 + needed(level)));
        ratio(bytes, needed)
    }

    /// What lists and vertex tables take for each list entry. `None` without entries.
    pub fn bytes_per_entry(&self) -> Option<f64> {
        let bytes: u64 = self.tables.iter().map(|table| table.list_bytes + table.table_bytes).sum();
        ratio(bytes, self.entries())
    }
}

fn ratio(of: u64, by: u64) -> Option<f64> {
    (by > 0).then(|| of as f64 / by as f64)
}

/// A pass over the lists of a table.
struct Pass<'a> {
    layout: &'a mut TableLayout,
    levels: &'a mut [Level],
    /// What lists outside of segments and clusters take.
    heap_bytes: &'a mut u64,
    /// Where the run before ends.
    end: u64,
}

impl Version {
    /// How the lists lie. Looks at every list.
    pub fn layout(&self) -> Layout {
        let segments = self.segments.iter().rev().map(|segment| Level {
            segment: Some(segment.info().segment),
            bytes: segment.bytes(),
            versions: Some((segment.info().lower, segment.info().upper)),
            times: segment.times(),
            ..Level::default()
        });
        let mut levels: Vec<Level> = std::iter::once(Level::default()).chain(segments).collect();
        let mut tables = Vec::new();
        let (mut heap_bytes, mut clustered_bytes) = (0, 0);
        for (edge_type, kind) in self.schema().live_edge_types() {
            for direction in [Direction::Out, Direction::In] {
                let Some(lists) = self.edges.get(usize::from(edge_type)) else { continue };
                let lists = match direction {
                    Direction::Out => &lists.out,
                    Direction::In => &lists.reverse,
                };
                let table = &lists.table;
                let mut layout = TableLayout {
                    edge_type: kind.name.clone(),
                    direction,
                    lists: 0,
                    entries: 0,
                    fragments: 0,
                    most_fragments: 0,
                    places: 0,
                    list_bytes: 0,
                    table_bytes: table.page_bytes() as u64,
                };
                let mut pass =
                    Pass { layout: &mut layout, levels: &mut levels, heap_bytes: &mut heap_bytes, end: 0 };
                table.for_each_leaf(&mut |base, leaf| {
                    for vertex in base..=base + (LEAF_CELLS - 1) {
                        leaf.get(vertex).into_iter().for_each(|entry| self.add(vertex, entry, &mut pass));
                    }
                });
                clustered_bytes += lists.cluster_bytes();
                let index = ListSections::of(edge_type, direction).index;
                self.add_rows::<Entry, WideRow>(table, index, &mut levels);
                if layout.lists > 0 {
                    tables.push(layout);
                }
            }
        }
        levels[0].bytes = heap_bytes + clustered_bytes;
        self.add_vertices(&mut levels);
        for level in &mut levels {
            // The last string of a segment is not padded.
            level.other_bytes = level.other_bytes.min(level.bytes - level.live_bytes);
        }
        Layout { levels, tables }
    }

    /// Adds what segments have of vertices and their properties, with keys, which are never forgotten, and the frame of the file.
    fn add_vertices(&self, levels: &mut [Level]) {
        for (level, segment) in levels[1..].iter_mut().zip(self.segments.iter().rev()) {
            let rows = segment.sections().filter(|(section, ..)| !is_keys(*section));
            level.other_bytes += segment.bytes() - rows.map(|(_, _, bytes)| bytes).sum::<u64>();
        }
        self.add_rows::<_, VertexRow>(&self.vertices, VERTICES_SECTION, levels);
        for (number, (column, property)) in
            (0..).zip(self.columns.iter().zip(&self.schema().vertex_properties))
        {
            self.add_rows::<_, WideRow>(column, column_section(number), levels);
            if property.kind.width().is_none() {
                column.for_each_leaf(&mut |_, leaf| {
                    let texts = (0..LEAF_CELLS).filter_map(|slot| leaf.get(slot));
                    for cell in texts.filter(|cell| cell & TEXT_MAPPED != 0) {
                        let level = self.level_at((cell & !TEXT_MAPPED) as usize);
                        levels[level].other_bytes += (4 + self.text(cell).len() as u64).next_multiple_of(4);
                    }
                });
            }
        }
    }

    /// Adds the rows of a section that say what a table says: the newest one of each cell that has a value and has not changed since.
    fn add_rows<T: Cell, R: Row>(&self, table: &PagedArray<T>, section: SectionId, levels: &mut [Level]) {
        let mut done = vec![u64::MAX; self.id_bound.div_ceil(LEAF_CELLS) as usize];
        table.for_each_leaf(&mut |base, leaf| {
            let page = done.get_mut((base / LEAF_CELLS) as usize);
            page.into_iter().for_each(|page| *page = leaf.dirty | !leaf.occupied);
        });
        for (level, segment) in levels[1..].iter_mut().zip(self.segments.iter().rev()) {
            let rows: Vec<R> = segment.section(section).and_then(decode_rows).unwrap_or_default();
            for row in rows {
                let Some(page) = done.get_mut((row.vertex() / LEAF_CELLS) as usize) else { continue };
                let bit = 1 << (row.vertex() % LEAF_CELLS);
                level.other_bytes += if *page & bit == 0 { R::BYTES as u64 } else { 0 };
                *page |= bit;
            }
        }
    }

    fn add(&self, vertex: VertexId, entry: Entry, pass: &mut Pass<'_>) {
        let Pass { layout, levels, heap_bytes, end } = pass;
        let mut runs = Vec::new();
        runs_of(entry, &mut runs);
        let mut fragments = 0;
        for (position, run) in runs.iter().enumerate() {
            let bytes = self.run_bytes(*run) as u64;
            let start = run.pointer() as u64;
            // Runs of a segment or a cluster are padded to a multiple of 8 at most.
            let is_apart = !(*end..*end + 8).contains(&start);
            layout.places += u64::from(is_apart);
            fragments += u64::from(is_apart || position == 0);
            *end = start + bytes;
            layout.list_bytes += bytes;
            **heap_bytes += if run.is_mapped() { 0 } else { bytes };
            let level = &mut levels[if run.is_mapped() { self.level_at(run.pointer() as usize) } else { 0 }];
            // Its row among the runs of lists with several.
            level.other_bytes += if run.is_mapped() && runs.len() > 1 { ChunkRow::BYTES as u64 } else { 0 };
            level.fragments += 1;
            level.entries += u64::from(run.len);
            layout.entries += u64::from(run.len);
            level.live_bytes += bytes;
            let (least, greatest) = level.vertices.unwrap_or((vertex, vertex));
            level.vertices = Some((least.min(vertex), greatest.max(vertex)));
        }
        layout.lists += 1;
        layout.fragments += fragments;
        layout.most_fragments = layout.most_fragments.max(fragments);
    }

    /// The position of the level that an address in a segment or a cluster lies in; clusters are in memory.
    fn level_at(&self, address: usize) -> usize {
        let holds = |data: &[u8]| data.as_ptr_range().contains(&(address as *const u8));
        let found = self.segments.iter().rev().position(|segment| holds(segment.data()));
        found.map_or(0, |position| position + 1)
    }
}
