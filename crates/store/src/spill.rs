//! Rows of a bulk load that do not fit memory: sorted runs in a file of the store's directory, read back by ranges of
//! vertices.
//!
//! ```text
//!  rows in ids, some at a time ─► sorted by vertex ─► run: blocks of rows ─► file        index of each block: vertices, place
//!                                                                             │
//!  vertices a..b ─► blocks of all runs that have some of them, in the order of runs ◄┘ ─► rows of a..b
//! ```
//!
//! The ranges are chosen when all runs are there, from the index, so that the rows of each have about equally many bytes
//! whatever vertices they are at. That is an external merge sort with one merge (Knuth, TAOCP 3, 5.4): a row is written
//! once and read once.
//!
//! Invariants: rows of a vertex come back in the order they were given; the file is named by nothing, goes when the load
//! ends, and with the next open if it does not end.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use evergraph_disk::{AppendFile, Corruption, Disk, DiskError};
use evergraph_segment::SegmentError;
use evergraph_types::{Direction, PropertyId, PropertyType, VertexId};
use rayon::prelude::*;

use crate::additions::Side;
use crate::batch::EndIds;
use crate::codec::{Input, encode_ops};
use crate::home::{Home, segment_directory};
use crate::ops::{EdgeOps, OpColumn};
use crate::staged::bytes_of_column;

/// How the names of files end that only a running load knows.
pub(crate) const SPILL_SUFFIX: &str = ".spill";
/// Rows of a block, the least that is read …
const ROWS_PER_BLOCK: usize = 1 << 12;
/// … and about the most bytes that it has.
const BLOCK_BYTES: usize = 1 << 16;
/// What both ends of a row take.
const ENDS_BYTES: usize = 8;

/// A file for a load under way.
#[derive(Debug)]
pub(crate) struct SpillFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Box<dyn AppendFile>,
}

impl SpillFile {
    /// A new file in the directory of the store's segments.
    pub(crate) fn create(home: &Home) -> Result<Self, DiskError> {
        let name = format!("{:016x}{SPILL_SUFFIX}", home.next_spill());
        let path = segment_directory(&home.directory).join(name);
        Ok(SpillFile { file: home.disk.create(&path)?, disk: home.disk.clone(), path })
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
        if let Err(error) = self.disk.remove(&self.path) {
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
}

/// Blocks in the order of vertices.
type Run = Vec<Block>;

#[derive(Clone, Debug)]
struct Block {
    first: VertexId,
    last: VertexId,
    place: Range<u64>,
}

impl Spilled {
    /// No rows yet. About `bytes_at_a_time` will be read at once.
    pub(crate) fn new(home: &Home, bytes_at_a_time: u64) -> Result<Self, DiskError> {
        let file = SpillFile::create(home)?;
        Ok(Spilled { file, out: Vec::new(), reverse: Vec::new(), bytes_at_a_time })
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
        let mut order = rows.order();
        order.par_sort_unstable();
        let rows_per_block = rows_per_block(columns);
        let mut run = Vec::with_capacity(order.len().div_ceil(rows_per_block));
        // Some blocks are made side by side, and written before the next ones.
        for batch in order.chunks(rows_per_block * rayon::current_num_threads()) {
            let blocks: Vec<(&[u64], Vec<u8>)> = batch
                .par_chunks(rows_per_block)
                .map(|order| {
                    let mut bytes = Vec::new();
                    encode_ops(&rows.pick(order, columns), &mut bytes);
                    (order, bytes)
                })
                .collect();
            for (order, bytes) in blocks {
                let place = self.file.append(&bytes)?;
                let [first, last] = [order[0], order[order.len() - 1]].map(|key| (key >> 32) as VertexId);
                run.push(Block { first, last, place });
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

    /// Ranges of vertices up to `bound` whose rows have about equally many bytes; all vertices are in one.
    pub(crate) fn ranges(&self, direction: Direction, bound: VertexId) -> Vec<Range<VertexId>> {
        let blocks = self.runs(direction).iter().flatten();
        let mut starts: Vec<(VertexId, u64)> =
            blocks.map(|block| (block.first, block.place.end - block.place.start)).collect();
        starts.sort_unstable();
        let (mut cuts, mut bytes) = (vec![0], 0);
        for (first, more) in starts {
            if bytes > 0 && bytes + more > self.bytes_at_a_time {
                cuts.push(first);
                bytes = 0;
            }
            bytes += more;
        }
        cuts.push(bound);
        cuts.dedup();
        cuts.windows(2).map(|cut| cut[0]..cut[1]).collect()
    }

    /// The rows of these vertices: sources are the vertices, destinations their neighbors.
    /// `property_type` tells the types of their properties.
    pub(crate) fn read(
        &self,
        direction: Direction,
        vertices: &Range<VertexId>,
        property_type: impl Fn(PropertyId) -> PropertyType,
    ) -> Result<EdgeOps, SegmentError> {
        let mut all = EdgeOps::default();
        for run in self.runs(direction) {
            let start = run.partition_point(|block| block.last < vertices.start);
            let end = run.partition_point(|block| block.first < vertices.end);
            let Some(blocks) = run.get(start..end).filter(|blocks| !blocks.is_empty()) else { continue };
            let place = blocks[0].place.start..blocks[blocks.len() - 1].place.end;
            for ops in self.file.read(place, |input| input.edge_ops())? {
                // Blocks at either end hold vertices of the ranges beside.
                let from = ops.src.partition_point(|&vertex| vertex < vertices.start);
                let to = ops.src.partition_point(|&vertex| vertex < vertices.end);
                all.extend(rows_of(ops, from..to), &property_type);
            }
        }
        Ok(all)
    }
}

/// How many rows with these columns are written as one block.
fn rows_per_block(columns: &[OpColumn]) -> usize {
    let rows = columns.first().map_or(0, |column| column.values.len());
    let bytes: usize = columns.iter().map(|column| bytes_of_column(&column.values)).sum();
    (BLOCK_BYTES / (ENDS_BYTES + bytes / rows.max(1))).clamp(1, ROWS_PER_BLOCK)
}

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

    /// Vertex and number of each row as seen from the side, the number doubled and one more if the row is turned around.
    fn order(&self) -> Vec<u64> {
        let total: usize = self.ends.iter().map(|part| part.src.len()).sum();
        let mut order = Vec::with_capacity(if self.side == Side::Both { 2 * total } else { total });
        for (part, start) in self.ends.iter().zip(&self.starts) {
            for (row, (&src, &dst)) in (*start..).zip(part.src.iter().zip(&part.dst)) {
                let key = |vertex, turned| u64::from(vertex) << 32 | (row as u64) << 1 | turned;
                if self.side != Side::Destination {
                    order.push(key(src, 0));
                }
                if self.side == Side::Destination || self.side == Side::Both && src != dst {
                    order.push(key(dst, 1));
                }
            }
        }
        order
    }

    /// These rows.
    fn pick(&self, order: &[u64], columns: &[OpColumn]) -> EdgeOps {
        let mut ops = EdgeOps::default();
        let number = |key: &u64| (*key as u32 >> 1) as usize;
        for key in order {
            let part = self.starts.partition_point(|&start| start <= number(key)) - 1;
            let (ends, row) = (&self.ends[part], number(key) - self.starts[part]);
            ops.src.push((key >> 32) as VertexId);
            ops.dst.push(if key & 1 == 0 { ends.dst[row] } else { ends.src[row] });
        }
        ops.columns = columns.iter().map(|column| column.pick(order.iter().map(number))).collect();
        ops
    }
}

impl OpColumn {
    /// These rows of the column.
    fn pick(&self, rows: impl Iterator<Item = usize> + Clone) -> OpColumn {
        OpColumn {
            property: self.property,
            values: self.values.pick(rows.clone()),
            given: self.given.as_ref().map(|given| rows.map(|row| given[row]).collect()),
        }
    }
}

/// Some rows of operations.
fn rows_of(mut ops: EdgeOps, rows: Range<usize>) -> EdgeOps {
    if rows == (0..ops.len()) {
        return ops;
    }
    ops.src = ops.src[rows.clone()].to_vec();
    ops.dst = ops.dst[rows.clone()].to_vec();
    ops.columns = ops.columns.iter().map(|column| column.pick(rows.clone())).collect();
    ops
}
