//! Neighbor lists on their way to a segment: made range by range of vertices in parallel, written in order by one
//! thread while the next ranges are made.
//!
//! ```text
//!  ranges of vertices ─► pieces, several at a time ─► in order ─► writing thread ─► segment
//!  selected lists, with      words, rows with               places become file offsets,
//!  bulk additions merged in  places within the piece        synced as it goes
//!
//!  a list of several pieces:  [row 7: 900] [row 7: 900] [row 7: 200]  ─► one row 7: 2000, at the place of the first
//! ```
//!
//! Invariants: rows of all pieces of a table ascend by vertex; places count from the start of the piece, which is
//! written 8-byte aligned. A piece with a row of the same vertex as the last one has no other row, and goes on with its list:
//! a flat list right behind what there is of it, which is 4-byte aligned, another one with further chunks.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use evergraph_disk::DiskError;
use evergraph_segment::{SectionId, SegmentError, SegmentWriter};
use evergraph_types::{EdgeTypeId, Property, PropertyId, Value, VertexId};
use rayon::prelude::*;

use crate::files::list_parts::{ListRuns, Part, Selected, Sizes};
use crate::files::rows::{CHUNKED, COLUMNS, COMPRESSED, ChunkRow, ListSections, Row, WideRow, encode_rows};
use crate::lists::adjacency::{ChunkRef, as_bytes};
use crate::lists::compression::{Coding, RunBuffer};
use crate::lists::entry::Entry;
use crate::lists::fragment::RunColumn;
use crate::lists::merge::{even_runs, push_run, runs_of};
use crate::lists::paged_array::PagedArray;
use crate::loads::additions::{Additions, SortBuffers, SortKey};
use crate::options::ListFormat;
use crate::upkeep::watch::Watch;
use crate::versions::list_limit::LIST_MAX;
use crate::versions::version::Version;

/// About so many words in one piece, at most, if it has more than one run.
const WORDS_PER_PIECE: usize = 1 << 16;
/// Pieces made at a time, for each thread.
const PIECES_PER_THREAD: usize = 4;
/// Pieces that may wait to be written: tens of megabytes …
const PIECES_WAITING: usize = 128;
/// … and as many at least where memory is short.
const FEW_PIECES_WAITING: usize = 8;
/// The part of a memory limit that a piece may take, and the one that those may which wait.
const PIECES_PER_LIMIT: u64 = 32;
const WAITING_PER_LIMIT: u64 = 4;
/// Written bytes are brought to disk whenever there are so many, so that little is left to wait for at the end.
const SYNC_BYTES: u64 = 16 << 20;

/// How much memory pieces may take on their way.
#[derive(Clone, Copy, Debug)]
struct Room {
    words_per_piece: usize,
    /// Pieces of that size that may wait, and as many may be made at a time.
    pieces: usize,
}

impl Room {
    /// Under a limit on memory.
    fn under(limit: Option<u64>) -> Self {
        let limit = limit.unwrap_or(u64::MAX);
        let piece_bytes = (limit / PIECES_PER_LIMIT).clamp(1, (size_of::<u32>() * WORDS_PER_PIECE) as u64);
        let pieces = usize::try_from(limit / WAITING_PER_LIMIT / piece_bytes).unwrap_or(usize::MAX);
        Room {
            words_per_piece: piece_bytes as usize / size_of::<u32>(),
            pieces: pieces.clamp(FEW_PIECES_WAITING, PIECES_WAITING),
        }
    }
}

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
    /// The property whose values `times` takes in.
    time: Option<PropertyId>,
    times: Times,
}

/// The least and the greatest time of an event.
#[derive(Clone, Copy, Debug, Default)]
struct Times(Option<(i64, i64)>);

impl Times {
    fn take(&mut self, (least, greatest): (i64, i64)) {
        let (from, to) = self.0.unwrap_or((least, greatest));
        self.0 = Some((from.min(least), to.max(greatest)));
    }

    /// Takes in the times in a column.
    fn take_column(&mut self, column: &RunColumn<'_>, rows: usize) {
        for row in 0..rows {
            let time = match column.value(row) {
                Value::Timestamp(time) | Value::Int(time) => time,
                Value::Date(days) => i64::from(days),
                _ => continue,
            };
            self.take((time, time));
        }
    }
}

/// What was written of lists.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ListsWritten {
    pub(crate) entries: u64,
    /// The least and the greatest time of an event.
    pub(crate) times: Option<(i64, i64)>,
}

enum Message {
    Begin(ListSections),
    /// A place among the pieces that wait is taken by one that is larger than others.
    Taken,
    Piece(Piece),
    End(ListSections),
}

/// Where tables hand over their lists.
pub(crate) struct ListSink<'a> {
    version: &'a Version,
    room: Room,
    messages: SyncSender<Message>,
    watch: &'a Watch<'a>,
}

/// Runs `produce`, which writes tables to the sink, while another thread brings them to the segment, all of them as long as
/// it goes on, in pieces that fit a limit on memory; gives what it gives, and what was written.
pub(crate) fn write_in_background<T>(
    writer: &mut SegmentWriter,
    version: &Version,
    memory_limit: Option<u64>,
    watch: &Watch<'_>,
    produce: impl FnOnce(&ListSink<'_>) -> T,
) -> Result<(T, ListsWritten), SegmentError> {
    let path = writer.path().to_owned();
    std::thread::scope(|scope| {
        let room = Room::under(memory_limit);
        let (messages, received) = sync_channel(room.pieces);
        let writing = std::thread::Builder::new()
            .spawn_scoped(scope, move || write_messages(writer, &received))
            .map_err(|source| DiskError::Io { operation: "start a thread that writes", path, source })?;
        let produced = produce(&ListSink { version, room, messages, watch });
        let written = writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map(|lists| (produced, lists))
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
        let edge_type = sections.lists.owner;
        match additions {
            Some(additions) => {
                let ranges = ranges_of(additions, selected).into_iter();
                self.write_pieces(ranges, |(selected, range), buffers| {
                    let empty = Piece::for_segment(self.version, edge_type);
                    self.merged_piece(empty, table, selected, additions, *range, buffers)
                })
            }
            None => {
                let parts = Sizes::of(self.version, edge_type).parts(selected, self.room.words_per_piece);
                self.write_pieces(parts, |part, ()| match part {
                    Part::Lists(selected) => Piece::for_segment(self.version, edge_type).with_lists(
                        self.version,
                        edge_type,
                        selected,
                    ),
                    Part::Runs(runs) => Piece::of_runs(self.version, edge_type, runs),
                })
            }
        }
    }

    /// Writes some runs of a list of a table that was begun, behind those that were written of it before.
    pub(crate) fn write_runs(
        &self,
        sections: ListSections,
        vertex: VertexId,
        runs: &[ChunkRef],
        has_columns: bool,
    ) {
        let edge_type = sections.lists.owner;
        let sizes = Sizes::of(self.version, edge_type);
        let parts = sizes.parts_of_list(vertex, runs, has_columns, self.room.words_per_piece);
        self.write_pieces(parts, |runs, ()| Piece::of_runs(self.version, edge_type, runs));
    }

    /// Makes a piece of each part, some at a time, and hands them over.
    fn write_pieces<P: Send + Sync, B: Default>(
        &self,
        mut parts: impl Iterator<Item = P>,
        make: impl Fn(&P, &mut B) -> Piece + Sync,
    ) -> Growth {
        let at_a_time = self.room.pieces.min(PIECES_PER_THREAD * rayon::current_num_threads());
        let mut growth = Growth::default();
        while self.watch.goes_on() {
            let batch: Vec<P> = parts.by_ref().take(at_a_time).collect();
            if batch.is_empty() {
                break;
            }
            let make = |buffers: &mut B, part: &P| make(part, buffers);
            let pieces: Vec<Piece> = batch.par_iter().map_init(B::default, make).collect();
            for piece in pieces {
                growth.add(piece.growth);
                let taken = piece.words.len().saturating_sub(1) / self.room.words_per_piece.max(1);
                let places = (0..taken.min(self.room.pieces)).map(|_| Message::Taken);
                let mut messages = places.chain([Message::Piece(piece)]);
                if !messages.all(|message| self.messages.send(message).is_ok()) {
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

/// The ranges of the additions, each with the selected lists in it.
fn ranges_of<'s, K: SortKey>(
    additions: &Additions<K>,
    selected: &'s [Selected],
) -> Vec<(&'s [Selected], usize)> {
    let mut rest = selected;
    let ranges = (0..additions.num_ranges()).map(|range| {
        let end = additions.vertices(range).end;
        let (inside, after) = rest.split_at(rest.partition_point(|list| list.0 < end));
        rest = after;
        (inside, range)
    });
    // Of a part of the vertices, most ranges have nothing.
    ranges.filter(|(selected, range)| !selected.is_empty() || additions.has(*range)).collect()
}

impl Piece {
    /// Lists of an edge type as they are in a version.
    pub(crate) fn of(version: &Version, edge_type: EdgeTypeId, selected: &[Selected]) -> Self {
        Piece::empty(version, edge_type).with_lists(version, edge_type, selected)
    }

    fn with_lists(mut self, version: &Version, edge_type: EdgeTypeId, selected: &[Selected]) -> Self {
        if self.coding == Coding::Plain {
            let sizes = Sizes::of(version, edge_type);
            self.words.reserve(selected.iter().map(|list| sizes.of_list(list.1)).sum());
        }
        let mut runs = Vec::new();
        selected.iter().for_each(|list| self.push(version, *list, &mut runs));
        self
    }

    /// Some runs of a list of which there are more in other pieces.
    fn of_runs(version: &Version, edge_type: EdgeTypeId, part: &ListRuns) -> Self {
        let mut piece = Piece::for_segment(version, edge_type);
        piece.push_runs(version, part.vertex, &part.runs, part.has_columns, false);
        piece
    }

    /// A piece for lists of an edge type in a segment, which tells the times of the events in it.
    fn for_segment(version: &Version, edge_type: EdgeTypeId) -> Self {
        let kind = version.schema().edge_types.get(usize::from(edge_type));
        let time = kind.and_then(|kind| kind.property(kind.options.time.as_ref()?));
        Piece { time: time.map(|(property, _)| property), ..Piece::empty(version, edge_type) }
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
            time: None,
            times: Times::default(),
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
        let has_columns = runs.iter().any(|run| run.has_columns());
        self.push_runs(version, vertex, runs, has_columns, true);
    }

    /// Appends runs of a list, which are all of it or a part; `has_columns` if any run of it has.
    fn push_runs(
        &mut self,
        version: &Version,
        vertex: VertexId,
        runs: &[ChunkRef],
        has_columns: bool,
        is_whole: bool,
    ) {
        let count = runs.iter().map(|run| run.len).sum();
        if !has_columns && self.coding == Coding::Plain {
            self.index.push(WideRow { vertex, count, word: self.position() });
            for run in runs {
                self.words.extend_from_slice(version.run_neighbors(*run, &mut RunBuffer::new()));
            }
            return;
        }
        if !has_columns {
            let mut neighbors = Vec::with_capacity(count as usize);
            for run in runs {
                neighbors.extend_from_slice(version.run_neighbors(*run, &mut RunBuffer::new()));
            }
            return self.push_list(vertex, &neighbors, is_whole);
        }
        let first_chunk = self.chunks.len() as u64;
        for run in runs {
            self.pad8();
            let offset = self.position();
            let tags = self.push_run(version, *run);
            self.chunks.push(ChunkRow { offset: offset | tags, len: run.len, first: run.first });
        }
        self.push_row(vertex, count, first_chunk, is_whole);
    }

    /// Appends the row of a list of which the chunks from `first_chunk` on are the runs, or some of them.
    fn push_row(&mut self, vertex: VertexId, count: u32, first_chunk: u64, is_whole: bool) {
        let word = match self.chunks[first_chunk as usize..] {
            [] => self.position(),
            [run] if is_whole => {
                self.chunks.pop();
                run.offset
            }
            _ => first_chunk << 2 | CHUNKED,
        };
        self.index.push(WideRow { vertex, count, word });
    }

    /// Appends a list without columns, or a part of one, in the coding of the piece.
    fn push_list(&mut self, vertex: VertexId, neighbors: &[VertexId], is_whole: bool) {
        let (count, position) = (neighbors.len() as u32, self.position());
        if self.coding == Coding::Plain {
            self.index.push(WideRow { vertex, count, word: position });
            return self.words.extend_from_slice(neighbors);
        }
        let first_chunk = self.chunks.len() as u64;
        for run in even_runs(neighbors, self.coding) {
            let offset = self.position();
            let tag = if push_run(run, self.coding, &mut self.words) { COMPRESSED } else { 0 };
            self.chunks.push(ChunkRow { offset: offset | tag, len: run.len() as u32, first: run[0] });
        }
        self.push_row(vertex, count, first_chunk, is_whole);
    }

    /// Appends a run in the format of the piece, without the columns of dropped properties; gives the tags of its place.
    fn push_run(&mut self, version: &Version, run: ChunkRef) -> u64 {
        let compact = self.coding != Coding::Plain;
        let area = version.run_columns(run);
        if let Some(column) = self.time.and_then(|time| area.as_ref()?.column(time)) {
            self.times.take_column(&column, run.len as usize);
        }
        if area.is_some_and(|area| area.is_compact() == compact) && !run.grows() && !self.has_dropped {
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
            return self.push_list(vertex, &list, true);
        }
        self.index.push(WideRow { vertex, count: (self.words.len() - start) as u32, word });
    }
}

/// Writes what comes; gives what that was.
fn write_messages(
    writer: &mut SegmentWriter,
    received: &Receiver<Message>,
) -> Result<ListsWritten, SegmentError> {
    let (mut entries, mut times) = (0, Times::default());
    let (mut index, mut chunks): (Vec<WideRow>, Vec<ChunkRow>) = Default::default();
    let mut synced = writer.position();
    for message in received {
        match message {
            Message::Begin(sections) => drop(writer.begin(sections.lists)),
            Message::Taken => {}
            Message::Piece(mut piece) => {
                let goes_on =
                    index.last().zip(piece.index.first()).filter(|(last, row)| last.vertex == row.vertex);
                let is_flat = goes_on.is_some_and(|(_, row)| row.word & CHUNKED == 0);
                let goes_on = goes_on.is_some();
                if !is_flat {
                    writer.pad_to(8);
                }
                let (base, first_chunk) = (writer.position(), chunks.len() as u64);
                for row in &mut piece.index {
                    entries += u64::from(row.count);
                    row.word += if row.word & CHUNKED != 0 { first_chunk << 2 } else { base };
                }
                piece.chunks.iter_mut().for_each(|chunk| chunk.offset += base);
                piece.times.0.into_iter().for_each(|bounds| times.take(bounds));
                writer.write(as_bytes(&piece.words))?;
                if let Some(last) = index.last_mut().filter(|_| goes_on) {
                    let more: u64 = piece.index.drain(..).map(|row| u64::from(row.count)).sum();
                    let count = u32::try_from(u64::from(last.count) + more);
                    last.count = count.map_err(|_| too_long(writer.path()))?;
                }
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
    Ok(ListsWritten { entries, times: times.0 })
}

/// A list that grows by a load piece by piece is counted when it is written.
fn too_long(path: &Path) -> DiskError {
    let source = io::Error::other(format!("a list would have more than {LIST_MAX} entries"));
    DiskError::Io { operation: "write", path: path.to_owned(), source }
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
