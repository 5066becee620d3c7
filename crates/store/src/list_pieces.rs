//! Neighbor lists on their way to a segment: made range by range of vertices in parallel, written in order by one
//! thread while the next ranges are made.
//!
//! ```text
//!  ranges of vertices ─► pieces, several at a time ─► in order ─► writing thread ─► segment
//!  selected lists, with      words, rows with               places become file offsets,
//!  bulk additions merged in  places within the piece        synced as it goes
//! ```
//!
//! Invariant: rows of all pieces of a table ascend by vertex; places count from the start of the piece, which is
//! written 8-byte aligned.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use evergraph_segment::{SectionId, SegmentError, SegmentWriter};
use evergraph_types::{EdgeTypeId, Property, VertexId};
use rayon::prelude::*;

use crate::additions::{Additions, SortBuffers, SortKey};
use crate::adjacency::{CHUNK_MAX, ChunkRef, as_bytes};
use crate::compression::{Coding, RunBuffer};
use crate::entry::Entry;
use crate::merge::{push_run, runs_of};
use crate::options::ListFormat;
use crate::paged_array::PagedArray;
use crate::rows::{CHUNKED, COLUMNS, COMPRESSED, ChunkRow, ListSections, Row, WideRow, encode_rows};
use crate::version::Version;

/// Selected lists in one piece, at most.
const LISTS_PER_PIECE: usize = 1 << 12;
/// About so many words in one piece, at most, if it has more than one list.
const WORDS_PER_PIECE: usize = 1 << 16;
/// About so many words of a property that is a string.
const STRING_WORDS: usize = 6;
/// Pieces made at a time, for each thread.
const PIECES_PER_THREAD: usize = 4;
/// Pieces that may wait to be written: tens of megabytes.
pub(crate) const PIECES_WAITING: usize = 128;
/// As many where memory is short.
pub(crate) const FEW_PIECES_WAITING: usize = 8;
/// Written bytes are brought to disk whenever there are so many, so that little is left to wait for at the end.
const SYNC_BYTES: u64 = 16 << 20;

/// A list to write: the entry of the version, `None` for one that is gone.
pub(crate) type Selected = (VertexId, Option<Entry>);

/// How the additions of a bulk load change a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    pub(crate) entries: u64,
    pub(crate) loops: u64,
}

impl Growth {
    pub(crate) fn add(&mut self, other: Growth) {
        self.entries += other.entries;
        self.loops += other.loops;
    }
}

/// Some lists as they will lie in a segment, or in a cluster.
pub(crate) struct Piece {
    pub(crate) words: Vec<u32>,
    pub(crate) index: Vec<WideRow>,
    pub(crate) chunks: Vec<ChunkRow>,
    growth: Growth,
    /// How runs are written.
    coding: Coding,
    /// Of the edge type.
    properties: Vec<Property>,
    /// Whether some of these were dropped: their columns are left out.
    has_dropped: bool,
}

enum Message {
    Begin(ListSections),
    Piece(Piece),
    End(ListSections),
}

/// Where tables hand over their lists.
pub(crate) struct ListSink<'a> {
    version: &'a Version,
    messages: SyncSender<Message>,
    goes_on: &'a (dyn Fn() -> bool + Sync),
}

/// Runs `produce`, which writes tables to the sink, while another thread brings them to the segment, all of them as long as
/// it `goes_on`; gives what it gives, and how many list entries that were.
pub(crate) fn write_in_background<T>(
    writer: &mut SegmentWriter,
    version: &Version,
    pieces_waiting: usize,
    goes_on: &(dyn Fn() -> bool + Sync),
    produce: impl FnOnce(&ListSink<'_>) -> T,
) -> Result<(T, u64), SegmentError> {
    std::thread::scope(|scope| {
        let (messages, received) = sync_channel(pieces_waiting);
        let writing = scope.spawn(move || write_messages(writer, &received));
        let produced = produce(&ListSink { version, messages, goes_on });
        let written = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map(|entries| (produced, entries))
    })
}

impl ListSink<'_> {
    /// Writes the selected lists of `table`, which ascend, with `additions` merged in; a list that these add to is
    /// written whole, selected or not.
    pub(crate) fn write<K: SortKey>(
        &self,
        sections: ListSections,
        table: &PagedArray<Entry>,
        selected: &[Selected],
        additions: Option<&Additions<K>>,
    ) -> Growth {
        if selected.is_empty() && additions.is_none() {
            return Growth::default();
        }
        self.begin(sections);
        let growth = self.write_part(sections, table, selected, additions);
        self.end(sections);
        growth
    }

    /// Begins the lists of a table, which [`ListSink::write_part`] writes part by part, ascending.
    pub(crate) fn begin(&self, sections: ListSections) {
        // If the writer has failed, it tells so itself.
        let _ = self.messages.send(Message::Begin(sections));
    }

    /// Ends the lists of a table.
    pub(crate) fn end(&self, sections: ListSections) {
        let _ = self.messages.send(Message::End(sections));
    }

    /// Writes some of the lists of a table that was begun: those selected, and all that `additions` add to.
    pub(crate) fn write_part<K: SortKey>(
        &self,
        sections: ListSections,
        table: &PagedArray<Entry>,
        selected: &[Selected],
        additions: Option<&Additions<K>>,
    ) -> Growth {
        let work = match additions {
            Some(additions) => ranges_of(additions, selected),
            None => parts_of(self.version, sections.lists.owner, selected)
                .map(|selected| (selected, None))
                .collect(),
        };
        let mut growth = Growth::default();
        for batch in work.chunks(PIECES_PER_THREAD * rayon::current_num_threads()) {
            if !(self.goes_on)() {
                return growth;
            }
            let pieces: Vec<Piece> = batch
                .par_iter()
                .map_init(SortBuffers::default, |buffers, (selected, range)| match (additions, range) {
                    (Some(additions), Some(range)) => {
                        let empty = Piece::empty(self.version, sections.lists.owner);
                        self.merged_piece(empty, table, selected, additions, *range, buffers)
                    }
                    _ => Piece::of(self.version, sections.lists.owner, selected),
                })
                .collect();
            for piece in pieces {
                growth.add(piece.growth);
                if self.messages.send(Message::Piece(piece)).is_err() {
                    // The writer has failed, and tells so itself.
                    return growth;
                }
            }
        }
        growth
    }

    /// The lists of one range of vertices, old ones merged with additions.
    fn merged_piece<K: SortKey>(
        &self,
        mut piece: Piece,
        table: &PagedArray<Entry>,
        selected: &[Selected],
        additions: &Additions<K>,
        range: usize,
        buffers: &mut SortBuffers<K>,
    ) -> Piece {
        let first = additions.vertices(range).start;
        let keys = additions.sorted(range, buffers);
        piece.words.reserve(keys.len());
        let vertex_of = |key: K| first + additions.ends_of(key).0;
        let mut lists = selected.iter().copied().peekable();
        let (mut runs, mut old) = (Vec::new(), Vec::new());
        for keys in keys.chunk_by(|left, right| vertex_of(*left) == vertex_of(*right)) {
            let vertex = vertex_of(keys[0]);
            while let Some(before) = lists.next_if(|list| list.0 < vertex) {
                piece.push(self.version, before, &mut runs);
            }
            lists.next_if(|list| list.0 == vertex);
            old.clear();
            self.version.neighbors_of(table.get(vertex)).for_each_slice(|slice| old.extend_from_slice(slice));
            let neighbors = keys.iter().map(|&key| additions.ends_of(key).1);
            piece.push_union(vertex, &old, neighbors);
        }
        lists.for_each(|list| piece.push(self.version, list, &mut runs));
        piece
    }
}

/// How many neighbors are in a list.
fn degree_of(version: &Version, list: &Selected) -> usize {
    list.1.map_or(0, |entry| version.degree_of(entry) as usize)
}

/// About how many words a neighbor of an edge type takes, with its properties.
fn words_per_neighbor(version: &Version, edge_type: EdgeTypeId) -> usize {
    let kind = version.schema().edge_types.get(usize::from(edge_type));
    let words = |property: &Property| property.kind.width().map_or(STRING_WORDS, |width| width.div_ceil(4));
    1 + kind.map_or(0, |kind| kind.properties().map(|(_, property)| words(property)).sum::<usize>())
}

/// The lists of an edge type in parts of a piece each.
fn parts_of<'s>(
    version: &Version,
    edge_type: EdgeTypeId,
    selected: &'s [Selected],
) -> impl Iterator<Item = &'s [Selected]> {
    let words_per_neighbor = words_per_neighbor(version, edge_type);
    let mut rest = selected;
    std::iter::from_fn(move || {
        let mut words = 0;
        let fits = |list: &&Selected| {
            words += words_per_neighbor * degree_of(version, list);
            words <= WORDS_PER_PIECE
        };
        let len = rest.iter().take(LISTS_PER_PIECE).take_while(fits).count().max(1).min(rest.len());
        let (part, others) = rest.split_at(len);
        rest = others;
        (!part.is_empty()).then_some(part)
    })
}

/// The ranges of the additions, each with the selected lists in it.
fn ranges_of<'s, K: SortKey>(
    additions: &Additions<K>,
    selected: &'s [Selected],
) -> Vec<(&'s [Selected], Option<usize>)> {
    let mut rest = selected;
    let ranges = (0..additions.num_ranges()).map(|range| {
        let end = additions.vertices(range).end;
        let (inside, after) = rest.split_at(rest.partition_point(|list| list.0 < end));
        rest = after;
        (inside, Some(range))
    });
    // Of a part of the vertices, most ranges have nothing.
    ranges
        .filter(|(selected, range)| !selected.is_empty() || range.is_some_and(|range| additions.has(range)))
        .collect()
}

impl Piece {
    /// Lists of an edge type as they are in a version.
    pub(crate) fn of(version: &Version, edge_type: EdgeTypeId, selected: &[Selected]) -> Self {
        let mut piece = Piece::empty(version, edge_type);
        if piece.coding == Coding::Plain {
            let neighbors: usize = selected.iter().map(|list| degree_of(version, list)).sum();
            piece.words.reserve(words_per_neighbor(version, edge_type) * neighbors);
        }
        let mut runs = Vec::new();
        selected.iter().for_each(|list| piece.push(version, *list, &mut runs));
        piece
    }

    /// A piece for lists of an edge type.
    fn empty(version: &Version, edge_type: EdgeTypeId) -> Self {
        let kind = version.schema().edge_types.get(usize::from(edge_type));
        let coding = match (version.format(), kind) {
            (ListFormat::Compact, Some(kind)) => Coding::Compressed { ascending: !kind.options.multi },
            _ => Coding::Plain,
        };
        let properties = kind.map(|kind| kind.options.properties.clone()).unwrap_or_default();
        Piece {
            words: Vec::new(),
            index: Vec::new(),
            chunks: Vec::new(),
            growth: Growth::default(),
            coding,
            has_dropped: properties.iter().any(Property::is_dropped),
            properties,
        }
    }

    /// The byte where the next run begins.
    fn position(&self) -> u64 {
        4 * self.words.len() as u64
    }

    fn pad8(&mut self) {
        if !self.words.len().is_multiple_of(2) {
            self.words.push(0);
        }
    }

    /// Appends a list as it is, or that it is gone. `runs` is room to work in.
    fn push(&mut self, version: &Version, (vertex, entry): Selected, runs: &mut Vec<ChunkRef>) {
        runs.clear();
        runs_of(entry.unwrap_or(Entry::EMPTY), runs);
        let count = runs.iter().map(|run| run.len).sum();
        if !runs.iter().any(|run| run.has_columns()) {
            if self.coding == Coding::Plain && !runs.iter().any(|run| run.is_compressed()) {
                self.index.push(WideRow { vertex, count, word: self.position() });
                runs.iter().for_each(|run| self.words.extend_from_slice(version.run_words(*run)));
                return;
            }
            let mut neighbors = Vec::with_capacity(count as usize);
            for run in runs.iter() {
                neighbors.extend_from_slice(version.run_neighbors(*run, &mut RunBuffer::new()));
            }
            return self.push_list(vertex, &neighbors);
        }
        let first_chunk = self.chunks.len() as u64;
        for run in runs.iter() {
            self.pad8();
            let offset = self.position();
            let tags = self.push_run(version, *run);
            self.chunks.push(ChunkRow { offset: offset | tags, len: run.len, first: run.first });
        }
        self.push_row(vertex, count, first_chunk);
    }

    /// Appends the row of a list of which the chunks from `first_chunk` on are the runs.
    fn push_row(&mut self, vertex: VertexId, count: u32, first_chunk: u64) {
        let word = match self.chunks[first_chunk as usize..] {
            [run] => {
                self.chunks.pop();
                run.offset
            }
            _ => first_chunk << 2 | CHUNKED,
        };
        self.index.push(WideRow { vertex, count, word });
    }

    /// Appends a list without columns in the coding of the piece.
    fn push_list(&mut self, vertex: VertexId, neighbors: &[VertexId]) {
        let (count, position) = (neighbors.len() as u32, self.position());
        if self.coding == Coding::Plain || count < 2 {
            self.index.push(WideRow { vertex, count, word: position });
            return self.words.extend_from_slice(neighbors);
        }
        let first_chunk = self.chunks.len() as u64;
        let pieces = neighbors.len().div_ceil(CHUNK_MAX);
        for piece in 0..pieces {
            let bounds = neighbors.len() * piece / pieces..neighbors.len() * (piece + 1) / pieces;
            let (offset, run) = (self.position(), &neighbors[bounds]);
            let tag = if push_run(run, self.coding, &mut self.words) { COMPRESSED } else { 0 };
            self.chunks.push(ChunkRow { offset: offset | tag, len: run.len() as u32, first: run[0] });
        }
        self.push_row(vertex, count, first_chunk);
    }

    /// Appends a run in the format of the piece, without the columns of dropped properties; gives the tags of its place.
    fn push_run(&mut self, version: &Version, run: ChunkRef) -> u64 {
        let compact = self.coding != Coding::Plain;
        let area = version.run_columns(run);
        if area.is_some_and(|area| area.is_compact() == compact) && !self.has_dropped {
            self.words.extend_from_slice(version.run_words(run));
            return COLUMNS | if run.is_compressed() { COMPRESSED } else { 0 };
        }
        let mut buffer = RunBuffer::new();
        let neighbors = version.run_neighbors(run, &mut buffer);
        let Some(area) = area else {
            return if push_run(neighbors, self.coding, &mut self.words) { COMPRESSED } else { 0 };
        };
        let (mut words, mut bytes) = (Vec::new(), Vec::new());
        let tag = if push_run(neighbors, self.coding, &mut words) { COMPRESSED } else { 0 };
        let has_columns = area.rewritten(&words, &self.properties, compact, &mut bytes);
        self.words.extend(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)));
        tag | if has_columns { COLUMNS } else { 0 }
    }

    /// Appends the union of two lists without columns: `old` ascends strictly, `new` ascends and may repeat.
    fn push_union(&mut self, vertex: VertexId, old: &[VertexId], new: impl Iterator<Item = VertexId>) {
        let word = self.position();
        let start = self.words.len();
        let mut next_old = 0;
        for neighbor in new {
            while next_old < old.len() && old[next_old] < neighbor {
                self.words.push(old[next_old]);
                next_old += 1;
            }
            let known = next_old < old.len() && old[next_old] == neighbor;
            let repeated = self.words.len() > start && self.words[self.words.len() - 1] == neighbor;
            if !known && !repeated {
                self.words.push(neighbor);
                self.growth.entries += 1;
                self.growth.loops += u64::from(neighbor == vertex);
            }
        }
        self.words.extend_from_slice(&old[next_old..]);
        if self.coding != Coding::Plain {
            let list = self.words.split_off(start);
            return self.push_list(vertex, &list);
        }
        self.index.push(WideRow { vertex, count: (self.words.len() - start) as u32, word });
    }
}

/// Writes what comes; gives the list entries in it.
fn write_messages(writer: &mut SegmentWriter, received: &Receiver<Message>) -> Result<u64, SegmentError> {
    let mut entries = 0;
    let (mut index, mut chunks): (Vec<WideRow>, Vec<ChunkRow>) = Default::default();
    let mut synced = writer.position();
    for message in received {
        match message {
            Message::Begin(sections) => drop(writer.begin(sections.lists)),
            Message::Piece(mut piece) => {
                writer.pad_to(8);
                let (base, first_chunk) = (writer.position(), chunks.len() as u64);
                for row in &mut piece.index {
                    entries += u64::from(row.count);
                    row.word += if row.word & CHUNKED != 0 { first_chunk << 2 } else { base };
                }
                piece.chunks.iter_mut().for_each(|chunk| chunk.offset += base);
                writer.write(as_bytes(&piece.words))?;
                index.append(&mut piece.index);
                chunks.append(&mut piece.chunks);
            }
            Message::End(sections) => {
                write_rows(writer, sections.index, &index)?;
                write_rows(writer, sections.chunks, &chunks)?;
                index.clear();
                chunks.clear();
            }
        }
        if writer.position() - synced > SYNC_BYTES {
            writer.sync()?;
            synced = writer.position();
        }
    }
    Ok(entries)
}

/// Writes a section of rows, if there are any.
pub(crate) fn write_rows<R: Row>(
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
