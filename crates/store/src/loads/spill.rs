//! Rows of a bulk load that do not fit memory: sorted runs in a file of the store's directory, read back by ranges of
//! places in the lists that they are for.
//!
//! ```text
//!  rows in ids, some at a time ─► sorted by place ─► run: blocks of rows ─► file        index of each block: places, bytes
//!                                                                            │
//!  places a..b ─► blocks of all runs that have some of them, in the order of runs ◄┘ ─► rows of a..b
//!
//!  place:  vertex: 32 bits │ of `simple` types the neighbor, of `multi` types the number of the run
//! ```
//!
//! The ranges are chosen when all runs are there, from the index, so that the rows of each have about equally many bytes
//! whatever vertices they are at. They hold whole vertices, but where the rows of one are too many: these have ranges of their
//! own. That is an external merge sort with one merge (Knuth, TAOCP 3, 5.4): a row is written once and read once.
//!
//! Invariants: rows of the same place come back in the order they were given, and so do those of a list in order of arrival,
//! range after range; the file is named by nothing, goes when the load ends, and with the next open if it does not end.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use evergraph_disk::{AppendFile, Corruption, Disk, DiskError, Process};
use evergraph_segment::SegmentError;
use evergraph_types::{Direction, PropertyId, PropertyType, VertexId};
use rayon::prelude::*;

use crate::commits::batch::EndIds;
use crate::files::home::{Home, segment_directory};
use crate::loads::additions::Side;
use crate::write_sets::codec::{Input, encode_ops};
use crate::write_sets::ops::{EdgeOps, OpColumn, bytes_per_row};

/// How the names of files end that only a running load knows.
pub(crate) const SPILL_SUFFIX: &str = ".spill";
/// Rows of a block, the least that is read …
const ROWS_PER_BLOCK: usize = 1 << 12;
/// … and about the most bytes that it has.
const BLOCK_BYTES: usize = 1 << 16;
/// Blocks that are read at a time, at least.
const BLOCKS_AT_A_TIME: u64 = 64;

/// Where a row belongs: its vertex in the upper half.
pub(crate) type Place = u64;

/// The vertex of a place.
pub(crate) fn vertex_of(place: Place) -> VertexId {
    (place >> 32) as VertexId
}

/// The first place of a vertex.
pub(crate) fn first_of(vertex: VertexId) -> Place {
    Place::from(vertex) << 32
}

/// A file for a load under way.
#[derive(Debug)]
pub(crate) struct SpillFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Box<dyn AppendFile>,
    process: Process,
}

impl SpillFile {
    /// A new file in the directory of the store's segments.
    pub(crate) fn create(home: &Home) -> Result<Self, DiskError> {
        let name = format!("{:016x}{SPILL_SUFFIX}", home.next_spill());
        let path = segment_directory(&home.directory).join(name);
        Ok(SpillFile {
            file: home.disk.create(&path)?,
            disk: home.disk.clone(),
            path,
            process: Process::here(),
        })
    }

    /// Appends some bytes; gives the place they are at.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<Range<u64>, DiskError> {
        let start = self.file.len();
        self.file.append(bytes)?;
        Ok(start..self.file.len())
    }

    /// What was appended, as `decode` reads it.
    pub(crate) fn read<T>(
        &self,
        place: Range<u64>,
        decode: impl Fn(&mut Input<'_>) -> Option<T>,
    ) -> Result<Vec<T>, SegmentError> {
        let bytes = self.disk.read_at(&self.path, place.start, (place.end - place.start) as usize)?;
        let mut input = Input(&bytes);
        let mut found = Vec::new();
        while !input.0.is_empty() {
            let damage = || Corruption::new(&self.path, place.start, "it does not read as it was written");
            found.push(decode(&mut input).ok_or_else(damage)?);
        }
        Ok(found)
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if !self.process.is_here() {
            // A copy of the one that is written to.
        } else if let Err(error) = self.disk.remove(&self.path) {
            // The next open will.
            tracing::warn!(%error, "the file of a load could not be removed");
        }
    }
}

/// The rows of a load, from either end that lists are kept at.
#[derive(Debug)]
pub(crate) struct Spilled {
    file: SpillFile,
    out: Vec<Run>,
    reverse: Vec<Run>,
    /// About so many bytes are to be read at a time.
    bytes_at_a_time: u64,
    /// Whether rows of a vertex are read in the order they were given, not in that of neighbors.
    in_order_of_arrival: bool,
    /// The rows that were given.
    rows: u64,
}

/// Blocks in the order of places.
type Run = Vec<Block>;

#[derive(Clone, Debug)]
struct Block {
    first: Place,
    last: Place,
    /// Where it is in the file.
    bytes: Range<u64>,
}

impl Block {
    fn len(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }
}

impl Spilled {
    /// No rows yet. About `bytes_at_a_time` will be read at once.
    pub(crate) fn new(
        home: &Home,
        bytes_at_a_time: u64,
        in_order_of_arrival: bool,
    ) -> Result<Self, DiskError> {
        let (file, out, reverse) = (SpillFile::create(home)?, Vec::new(), Vec::new());
        Ok(Spilled { file, out, reverse, bytes_at_a_time, in_order_of_arrival, rows: 0 })
    }

    /// About how many bytes are read at once.
    pub(crate) fn bytes_at_a_time(&self) -> u64 {
        self.bytes_at_a_time
    }

    /// How many rows were given.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Notes that so many rows more are given.
    pub(crate) fn note_rows(&mut self, rows: u64) {
        self.rows += rows;
    }

    /// The place of a row of a run.
    fn place(&self, run: usize, vertex: VertexId, neighbor: VertexId) -> Place {
        first_of(vertex) | if self.in_order_of_arrival { run as Place } else { Place::from(neighbor) }
    }

    /// Writes rows as seen from one side.
    pub(crate) fn add(
        &mut self,
        direction: Direction,
        side: Side,
        ends: &[EndIds],
        columns: &[OpColumn],
    ) -> Result<(), DiskError> {
        let rows = Rows::of(ends, side);
        let number = self.runs(direction).len();
        let mut order = rows.order(|vertex, neighbor| self.place(number, vertex, neighbor));
        order.par_sort_unstable();
        if !self.in_order_of_arrival && columns.iter().all(|column| column.given.is_none()) {
            // What is put again is as the last row says.
            order.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                kept.1 = if is_same { next.1 } else { kept.1 };
                is_same
            });
        }
        let rows_per_block = self.rows_per_block(columns);
        let mut run = Vec::with_capacity(order.len().div_ceil(rows_per_block));
        // Some blocks are made side by side, and written before the next ones.
        for batch in order.chunks(rows_per_block * rayon::current_num_threads()) {
            let blocks: Vec<(&[Placed], Vec<u8>)> = batch
                .par_chunks(rows_per_block)
                .map(|order| {
                    let mut bytes = Vec::new();
                    encode_ops(&rows.pick(order, columns), &mut bytes);
                    (order, bytes)
                })
                .collect();
            for (order, bytes) in blocks {
                let bytes = self.file.append(&bytes)?;
                run.push(Block { first: order[0].0, last: order[order.len() - 1].0, bytes });
            }
        }
        self.runs_mut(direction).push(run);
        Ok(())
    }

    fn runs_mut(&mut self, direction: Direction) -> &mut Vec<Run> {
        match direction {
            Direction::Out => &mut self.out,
            Direction::In => &mut self.reverse,
        }
    }

    fn runs(&self, direction: Direction) -> &[Run] {
        match direction {
            Direction::Out => &self.out,
            Direction::In => &self.reverse,
        }
    }

    /// How many rows with these columns are written as one block.
    fn rows_per_block(&self, columns: &[OpColumn]) -> usize {
        let block_bytes = BLOCK_BYTES.min((self.bytes_at_a_time / BLOCKS_AT_A_TIME) as usize);
        (block_bytes / bytes_per_row(columns)).clamp(1, ROWS_PER_BLOCK)
    }

    /// Ranges of places whose rows have about equally many bytes; all places of vertices up to `bound` are in one. A range that
    /// does not begin and end with a vertex has rows of one.
    pub(crate) fn ranges(&self, direction: Direction, bound: VertexId) -> Vec<Range<Place>> {
        let mut blocks: Vec<&Block> = self.runs(direction).iter().flatten().collect();
        blocks.sort_unstable_by_key(|block| block.first);
        let (mut cuts, mut bytes) = (vec![0], 0);
        for blocks in blocks.chunk_by(|left, right| vertex_of(left.first) == vertex_of(right.first)) {
            let vertex = vertex_of(blocks[0].first);
            let total: u64 = blocks.iter().map(|block| block.len()).sum();
            if bytes > 0 && bytes + total > self.bytes_at_a_time {
                cuts.push(first_of(vertex));
                bytes = 0;
            }
            bytes += total;
            let own = blocks.iter().filter(|block| vertex_of(block.last) == vertex);
            if own.clone().map(|block| block.len()).sum::<u64>() > self.bytes_at_a_time {
                bytes = 0;
                cuts.push(first_of(vertex));
                for block in own {
                    if bytes > 0 && bytes + block.len() > self.bytes_at_a_time {
                        cuts.push(block.first);
                        bytes = 0;
                    }
                    bytes += block.len();
                }
                cuts.push(first_of(vertex + 1));
                bytes = 0;
            }
        }
        cuts.push(first_of(bound));
        cuts.dedup();
        cuts.windows(2).map(|cut| cut[0]..cut[1]).collect()
    }

    /// The rows of these places: sources are the vertices, destinations their neighbors.
    /// `property_type` tells the types of their properties.
    pub(crate) fn read(
        &self,
        direction: Direction,
        places: &Range<Place>,
        property_type: impl Fn(PropertyId) -> PropertyType,
    ) -> Result<EdgeOps, SegmentError> {
        let mut all = EdgeOps::default();
        for (number, run) in self.runs(direction).iter().enumerate() {
            let start = run.partition_point(|block| block.last < places.start);
            let end = run.partition_point(|block| block.first < places.end);
            let Some(blocks) = run.get(start..end).filter(|blocks| !blocks.is_empty()) else { continue };
            let bytes = blocks[0].bytes.start..blocks[blocks.len() - 1].bytes.end;
            for ops in self.file.read(bytes, |input| input.edge_ops())? {
                // Blocks at either end hold rows of the ranges beside.
                let ends = ops.src.iter().zip(&ops.dst);
                let found: Vec<Place> =
                    ends.map(|(&vertex, &neighbor)| self.place(number, vertex, neighbor)).collect();
                let [from, to] =
                    [places.start, places.end].map(|end| found.partition_point(|&place| place < end));
                let inside = if (from, to) == (0, ops.len()) { ops } else { ops.pick(from..to) };
                all.extend(inside, &property_type);
            }
        }
        Ok(all)
    }
}

/// A row by its place, and by its number as [`Rows`] counts, which keeps rows of a place in order.
type Placed = (Place, u32);

/// Rows from one side, each with a number: from source to destination, or the other way, or both.
struct Rows<'a> {
    ends: &'a [EndIds],
    /// The number of the first row of each part.
    starts: Vec<usize>,
    side: Side,
}

impl<'a> Rows<'a> {
    fn of(ends: &'a [EndIds], side: Side) -> Self {
        let starts = ends.iter().scan(0, |next, part| Some(std::mem::replace(next, *next + part.src.len())));
        Rows { starts: starts.collect(), ends, side }
    }

    /// Each row as seen from the side, `place` telling its place from vertex and neighbor, with its number, which is doubled and
    /// one more if the row is turned around.
    fn order(&self, place: impl Fn(VertexId, VertexId) -> Place) -> Vec<Placed> {
        let total: usize = self.ends.iter().map(|part| part.src.len()).sum();
        let mut order = Vec::with_capacity(if self.side == Side::Both { 2 * total } else { total });
        for (part, start) in self.ends.iter().zip(&self.starts) {
            for (row, (&src, &dst)) in (*start..).zip(part.src.iter().zip(&part.dst)) {
                if self.side != Side::Destination {
                    order.push((place(src, dst), (row as u32) << 1));
                }
                if self.side == Side::Destination || self.side == Side::Both && src != dst {
                    order.push((place(dst, src), (row as u32) << 1 | 1));
                }
            }
        }
        order
    }

    /// These rows.
    fn pick(&self, order: &[Placed], columns: &[OpColumn]) -> EdgeOps {
        let mut ops = EdgeOps::default();
        let row_of = |placed: &Placed| (placed.1 >> 1) as usize;
        for placed in order {
            let part = self.starts.partition_point(|&start| start <= row_of(placed)) - 1;
            let (ends, row) = (&self.ends[part], row_of(placed) - self.starts[part]);
            let (src, dst) = (ends.src[row], ends.dst[row]);
            let (vertex, neighbor) = if placed.1 & 1 == 0 { (src, dst) } else { (dst, src) };
            ops.src.push(vertex);
            ops.dst.push(neighbor);
        }
        ops.columns = columns.iter().map(|column| column.pick(order.iter().map(row_of))).collect();
        ops
    }
}
