//! From edges in any order to a CSR, in two steps that each stay in cache.
//!
//! ```text
//!  edges          partition, by chunk        sort, by bucket             join
//!  chunk 0 ─► │bucket 0│bucket 1│ … │  ─► bucket 0: radix sort by   ─► offsets
//!  chunk 1 ─► │bucket 0│bucket 1│ … │     (src, dst), drop repeats     neighbors
//!     …               └────────┴─────────► bucket 1: …
//! ```
//!
//! A bucket is a range of source vertices, sized so that its edges fit the second-level cache. A key is
//! `(src - first of bucket) << vertex_bits | dst`; sorting keys sorts the lists.
//!
//! Invariant: chunks and buckets are owned by one task at a time, so the parallel steps share nothing that is written.

use std::ops::Range;

use rayon::prelude::*;

use crate::Csr;

/// Where edges come from, in chunks that are emitted independently of each other and the same each time.
pub(crate) trait EdgeSource: Sync {
    /// The number of chunks.
    fn num_chunks(&self) -> usize;
    /// The number of edges over all chunks, or a little more.
    fn num_edges(&self) -> usize;
    /// Hands every edge of a chunk to `sink`.
    fn emit(&self, chunk: usize, sink: impl FnMut(u32, u32));
}

/// Which ends of a pair an edge is kept at.
#[derive(Clone, Copy)]
pub(crate) enum Ends {
    /// In the list of the first and of the second.
    Both,
    /// In the list of the first.
    AsGiven,
    /// In the list of the second.
    Reversed,
}

/// Pairs in memory; self loops are passed over.
pub(crate) struct Pairs<'a> {
    pub(crate) pairs: &'a [(u32, u32)],
    pub(crate) ends: Ends,
}

const PAIRS_PER_CHUNK: usize = 1 << 20;

impl EdgeSource for Pairs<'_> {
    fn num_chunks(&self) -> usize {
        self.pairs.len().div_ceil(PAIRS_PER_CHUNK)
    }

    fn num_edges(&self) -> usize {
        match self.ends {
            Ends::Both => 2 * self.pairs.len(),
            Ends::AsGiven | Ends::Reversed => self.pairs.len(),
        }
    }

    fn emit(&self, chunk: usize, mut sink: impl FnMut(u32, u32)) {
        let end = ((chunk + 1) * PAIRS_PER_CHUNK).min(self.pairs.len());
        let pairs = self.pairs[chunk * PAIRS_PER_CHUNK..end].iter().filter(|(src, dst)| src != dst);
        match self.ends {
            Ends::Both => pairs.for_each(|&(src, dst)| {
                sink(src, dst);
                sink(dst, src);
            }),
            Ends::AsGiven => pairs.for_each(|&(src, dst)| sink(src, dst)),
            Ends::Reversed => pairs.for_each(|&(src, dst)| sink(dst, src)),
        }
    }
}

/// Builds the CSR over `num_vertices` vertices, at most 2^31, that holds every edge of `source` once.
pub(crate) fn build(num_vertices: usize, source: &impl EdgeSource) -> Csr {
    let layout = Layout::new(num_vertices, source.num_edges());
    let parts: Vec<Part> =
        (0..source.num_chunks()).into_par_iter().map(|chunk| layout.partition(source, chunk)).collect();
    let buckets: Vec<Bucket> = (0..layout.num_buckets())
        .into_par_iter()
        .map_init(Scratch::default, |scratch, bucket| layout.sort_bucket(&parts, bucket, scratch))
        .collect();
    drop(parts);
    join(num_vertices, &layout, &buckets)
}

/// How vertices are spread over buckets and packed into keys.
struct Layout {
    num_vertices: usize,
    /// Bits of a vertex number.
    vertex_bits: u32,
    /// Bits of a vertex number within its bucket.
    bucket_bits: u32,
}

/// Edges of one chunk, by bucket: those of bucket `b` are `keys[starts[b]..starts[b + 1]]`.
struct Part {
    keys: Vec<u64>,
    starts: Vec<usize>,
}

/// The finished lists of one bucket.
struct Bucket {
    degrees: Vec<u32>,
    neighbors: Vec<u32>,
}

/// Room for the keys of one bucket, twice, kept from bucket to bucket.
#[derive(Default)]
struct Scratch {
    from: Vec<u64>,
    to: Vec<u64>,
}

/// Keys are sorted by this many bits at a time: the counters of all digits fit the first-level cache.
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 1 << DIGIT_BITS;
/// About this many edges make a bucket: 512 KiB of keys.
const EDGES_PER_BUCKET: usize = 1 << 16;
/// More buckets than this would outrun the translation buffer while chunks are partitioned.
const MAX_BUCKETS: usize = 1 << 11;

impl Layout {
    fn new(num_vertices: usize, num_edges: usize) -> Self {
        let vertex_bits = usize::BITS - num_vertices.saturating_sub(1).leading_zeros();
        let buckets = (num_edges / EDGES_PER_BUCKET).clamp(1, MAX_BUCKETS).next_power_of_two();
        Layout { num_vertices, vertex_bits, bucket_bits: vertex_bits.saturating_sub(buckets.ilog2()) }
    }

    fn num_buckets(&self) -> usize {
        self.num_vertices.div_ceil(1 << self.bucket_bits)
    }

    fn vertices(&self, bucket: usize) -> Range<usize> {
        bucket << self.bucket_bits..((bucket + 1) << self.bucket_bits).min(self.num_vertices)
    }

    fn partition(&self, source: &impl EdgeSource, chunk: usize) -> Part {
        let mut starts = vec![0; self.num_buckets() + 1];
        source.emit(chunk, |src, _| starts[(src >> self.bucket_bits) as usize + 1] += 1);
        (1..starts.len()).for_each(|bucket| starts[bucket] += starts[bucket - 1]);
        let mut ends = starts.clone();
        let mut keys = vec![0; starts[self.num_buckets()]];
        let within = (1u32 << self.bucket_bits) - 1;
        source.emit(chunk, |src, dst| {
            let end = &mut ends[(src >> self.bucket_bits) as usize];
            keys[*end] = u64::from(src & within) << self.vertex_bits | u64::from(dst);
            *end += 1;
        });
        Part { keys, starts }
    }

    fn sort_bucket(&self, parts: &[Part], bucket: usize, scratch: &mut Scratch) -> Bucket {
        let cells = parts.iter().map(|part| &part.keys[part.starts[bucket]..part.starts[bucket + 1]]);
        radix_sort(cells, self.bucket_bits + self.vertex_bits, scratch);
        let mut degrees = vec![0; self.vertices(bucket).len()];
        let mut neighbors = vec![0; scratch.from.len()];
        let low = (1u64 << self.vertex_bits) - 1;
        let (mut count, mut previous) = (0, u64::MAX);
        for &key in &scratch.from {
            // A repeat is written too and overwritten by the next key: cheaper than a branch that guesses wrong.
            neighbors[count] = (key & low) as u32;
            let fresh = key != previous;
            degrees[(key >> self.vertex_bits) as usize] += u32::from(fresh);
            count += usize::from(fresh);
            previous = key;
        }
        neighbors.truncate(count);
        Bucket { degrees, neighbors }
    }
}

/// Sorts the keys of all cells, of `bits` bits, into `scratch.from`, from the lowest digit to the highest.
fn radix_sort<'a>(cells: impl Iterator<Item = &'a [u64]> + Clone, bits: u32, scratch: &mut Scratch) {
    let passes = bits.div_ceil(DIGIT_BITS).max(1) as usize;
    let mut counts = vec![[0usize; DIGITS]; passes];
    let digit = |key: u64, pass: usize| (key >> (pass as u32 * DIGIT_BITS)) as usize % DIGITS;
    let mut total = 0;
    for cell in cells.clone() {
        total += cell.len();
        for &key in cell {
            counts.iter_mut().enumerate().for_each(|(pass, counts)| counts[digit(key, pass)] += 1);
        }
    }
    for counts in &mut counts {
        counts.iter_mut().fold(0, |start, count| start + std::mem::replace(count, start));
    }
    scratch.from.resize(total, 0);
    scratch.to.resize(total, 0);
    for (pass, ends) in counts.iter_mut().enumerate() {
        let Scratch { from, to } = scratch;
        let mut place = |key: u64| {
            let end = &mut ends[digit(key, pass)];
            to[*end] = key;
            *end += 1;
        };
        match pass {
            0 => cells.clone().flatten().for_each(|&key| place(key)),
            _ => from.iter().for_each(|&key| place(key)),
        }
        std::mem::swap(&mut scratch.from, &mut scratch.to);
    }
}

fn join(num_vertices: usize, layout: &Layout, buckets: &[Bucket]) -> Csr {
    let total = buckets.iter().map(|bucket| bucket.neighbors.len()).sum();
    let mut offsets = vec![0; num_vertices + 1];
    let mut neighbors = vec![0; total];
    let mut places = Vec::with_capacity(buckets.len());
    let (mut rest, mut start) = (neighbors.as_mut_slice(), 0);
    for bucket in buckets {
        let (place, after) = rest.split_at_mut(bucket.neighbors.len());
        places.push((start, place));
        start += bucket.neighbors.len() as u64;
        rest = after;
    }
    let starts = offsets[1..].par_chunks_mut(1 << layout.bucket_bits);
    places.into_par_iter().zip(starts).zip(buckets).for_each(|(((mut start, place), offsets), bucket)| {
        place.copy_from_slice(&bucket.neighbors);
        for (offset, &degree) in offsets.iter_mut().zip(&bucket.degrees) {
            start += u64::from(degree);
            *offset = start;
        }
    });
    Csr::from_parts(offsets, neighbors)
}
