//! Plain edges in bulk: from ends in any order to sorted changes, range by range of vertices.
//!
//! ```text
//!  rows ─► cells: part by part, split by range of vertices ─► range: its cells together, radix sorted
//!          sequential writes to a few hundred places          fits the second-level cache
//! ```
//!
//! A key is `(vertex - first of its range) << id_bits | neighbor`: sorting keys sorts the lists. GraphOne's edge
//! sharding (FAST 2019, section 5.2) with the sort that its non-atomic archiving leaves open.
//!
//! A part that ascends by vertex is cut where it is, and the keys of a range that are in order stay so: one pass each tells,
//! which ends at the first that is not.
//!
//! Keys take 32 bits where both parts fit, which halves the memory that a large load touches.
//!
//! Invariant: parts and ranges are worked on by one task at a time, so nothing that is written is shared.

use std::ops::Range;

use evergraph_types::VertexId;
use rayon::prelude::*;

use crate::commits::batch::EndIds;

/// At which end of an edge the other is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Destination,
    Both,
}

/// About this many keys make a range: 512 KiB.
const KEYS_PER_RANGE: usize = 1 << 16;
/// More ranges than this would outrun the translation buffer while rows are split.
const MAX_RANGES: usize = 1 << 11;
/// Keys are sorted by this many bits at a time, so that the counters of all passes fit the first-level cache.
const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 1 << DIGIT_BITS;

/// A vertex within its range and a neighbor, in one word.
pub(crate) trait SortKey: Copy + Default + Send + Sync {
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

impl SortKey for u32 {
    #[inline]
    fn of(bits: u64) -> Self {
        bits as u32
    }
    #[inline]
    fn bits(self) -> u64 {
        self.into()
    }
}

impl SortKey for u64 {
    #[inline]
    fn of(bits: u64) -> Self {
        bits
    }
    #[inline]
    fn bits(self) -> u64 {
        self
    }
}

/// How many bits of a key are the neighbor, and how many the vertex within its range.
fn key_bits(ends: &[EndIds], side: Side, id_bound: VertexId) -> (u32, u32) {
    let sides = if side == Side::Both { 2 } else { 1 };
    let keys = sides * ends.iter().map(|part| part.src.len()).sum::<usize>();
    let id_bits = u32::BITS - id_bound.saturating_sub(1).leading_zeros();
    let ranges = (keys / KEYS_PER_RANGE).clamp(1, MAX_RANGES).next_power_of_two();
    (id_bits, id_bits.saturating_sub(ranges.ilog2()))
}

/// Whether keys fit 32 bits.
pub(crate) fn fit_32_bits(ends: &[EndIds], side: Side, id_bound: VertexId) -> bool {
    let (id_bits, range_bits) = key_bits(ends, side, id_bound);
    id_bits + range_bits <= u32::BITS
}

/// The edges of a batch as seen from one side.
#[derive(Debug)]
pub(crate) struct Additions<K> {
    id_bits: u32,
    range_bits: u32,
    id_bound: VertexId,
    cells: Vec<Cells<K>>,
}

/// The keys of one part: those of range `r` are `keys[starts[r]..starts[r + 1]]`.
#[derive(Debug)]
struct Cells<K> {
    keys: Vec<K>,
    starts: Vec<u32>,
}

/// Room for the keys of one range, twice, kept from range to range.
#[derive(Debug, Default)]
pub(crate) struct SortBuffers<K> {
    sorted: Vec<K>,
    other: Vec<K>,
}

impl<K: SortKey> Additions<K> {
    /// Splits the edges by range. Every id is below `id_bound`. Works in the memory of `spare`, if there is any: a
    /// large load spends much of its time on pages it touches first.
    pub(crate) fn split(ends: &[EndIds], side: Side, id_bound: VertexId, spare: Option<Self>) -> Self {
        let (id_bits, range_bits) = key_bits(ends, side, id_bound);
        let mut additions = Additions { id_bits, range_bits, id_bound, cells: Vec::new() };
        let mut keys: Vec<Vec<K>> =
            spare.into_iter().flat_map(|spare| spare.cells).map(|cells| cells.keys).collect();
        keys.resize_with(ends.len(), Vec::new);
        let parts = ends.par_iter().zip(keys);
        additions.cells = parts.map(|(part, keys)| additions.split_part(part, side, keys)).collect();
        additions
    }

    fn key(&self, from: VertexId, to: VertexId) -> K {
        let within = (1 << self.range_bits) - 1;
        K::of(u64::from(from & within) << self.id_bits | u64::from(to))
    }

    fn split_part(&self, part: &EndIds, side: Side, mut keys: Vec<K>) -> Cells<K> {
        let (from, to) =
            if side == Side::Destination { (&part.dst, &part.src) } else { (&part.src, &part.dst) };
        if side != Side::Both && from.is_sorted() {
            let start =
                |range| from.partition_point(|&from| ((from >> self.range_bits) as usize) < range) as u32;
            keys.clear();
            keys.extend(from.iter().zip(to).map(|(&from, &to)| self.key(from, to)));
            return Cells { keys, starts: (0..=self.num_ranges()).map(start).collect() };
        }
        let each = |visit: &mut dyn FnMut(&[VertexId], &[VertexId])| {
            if side != Side::Destination {
                visit(&part.src, &part.dst);
            }
            if side != Side::Source {
                visit(&part.dst, &part.src);
            }
        };
        let mut starts = vec![0u32; self.num_ranges() + 1];
        each(&mut |from, _| {
            from.iter().for_each(|&from| starts[(from >> self.range_bits) as usize + 1] += 1)
        });
        (1..starts.len()).for_each(|range| starts[range] += starts[range - 1]);
        let mut ends = starts.clone();
        keys.resize(starts[self.num_ranges()] as usize, K::default());
        each(&mut |from, to| {
            for (&from, &to) in from.iter().zip(to) {
                let end = &mut ends[(from >> self.range_bits) as usize];
                keys[*end as usize] = self.key(from, to);
                *end += 1;
            }
        });
        Cells { keys, starts }
    }

    /// The number of ranges.
    pub(crate) fn num_ranges(&self) -> usize {
        (self.id_bound as usize).div_ceil(1 << self.range_bits)
    }

    /// The vertices of a range.
    pub(crate) fn vertices(&self, range: usize) -> Range<VertexId> {
        let first = range << self.range_bits;
        first as VertexId..(first + (1 << self.range_bits)).min(self.id_bound as usize) as VertexId
    }

    /// Whether a range has any key.
    pub(crate) fn has(&self, range: usize) -> bool {
        self.cells.iter().any(|cells| cells.starts[range] < cells.starts[range + 1])
    }

    /// The keys of a range in order, repeats included.
    pub(crate) fn sorted<'b>(&self, range: usize, buffers: &'b mut SortBuffers<K>) -> &'b [K] {
        let cells = self.cells.iter().map(|cells| {
            let bounds = cells.starts[range] as usize..cells.starts[range + 1] as usize;
            &cells.keys[bounds]
        });
        if cells.clone().flatten().is_sorted_by_key(|key| key.bits()) {
            buffers.sorted.clear();
            cells.for_each(|keys| buffers.sorted.extend_from_slice(keys));
        } else {
            radix_sort(cells, self.id_bits + self.range_bits, buffers);
        }
        &buffers.sorted
    }

    /// The vertex, counted from the first of its range, and the neighbor of a key.
    #[inline]
    pub(crate) fn ends_of(&self, key: K) -> (VertexId, VertexId) {
        let key = key.bits();
        ((key >> self.id_bits) as VertexId, (key & ((1 << self.id_bits) - 1)) as VertexId)
    }
}

/// Sorts the keys of all cells, of `bits` bits, from the lowest digit to the highest.
fn radix_sort<'a, K: SortKey + 'a>(
    cells: impl Iterator<Item = &'a [K]> + Clone,
    bits: u32,
    buffers: &mut SortBuffers<K>,
) {
    let passes = bits.div_ceil(DIGIT_BITS).max(1);
    let digit = |key: K, pass: u32| (key.bits() >> (pass * DIGIT_BITS)) as usize % DIGITS;
    let mut places = vec![[0u32; DIGITS]; passes as usize];
    for &key in cells.clone().flatten() {
        for (pass, counts) in (0..).zip(&mut places) {
            counts[digit(key, pass)] += 1;
        }
    }
    let total = places[0].iter().sum::<u32>() as usize;
    for counts in &mut places {
        let mut next = 0;
        counts.iter_mut().for_each(|count| next += std::mem::replace(count, next));
    }
    buffers.sorted.resize(total, K::default());
    buffers.other.resize(total, K::default());
    for (pass, places) in (0..).zip(&mut places) {
        let SortBuffers { sorted, other } = buffers;
        let mut put = |key: K| {
            let place = &mut places[digit(key, pass)];
            other[*place as usize] = key;
            *place += 1;
        };
        if pass == 0 {
            cells.clone().flatten().for_each(|&key| put(key));
        } else {
            sorted.iter().for_each(|&key| put(key));
        }
        std::mem::swap(sorted, other);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all_of<K: SortKey>(additions: &Additions<K>) -> Vec<(VertexId, VertexId)> {
        let mut buffers = SortBuffers { sorted: Vec::new(), other: Vec::new() };
        let mut found = Vec::new();
        for range in 0..additions.num_ranges() {
            let first = additions.vertices(range).start;
            let keys = additions.sorted(range, &mut buffers);
            found.extend(keys.iter().map(|&key| additions.ends_of(key)).map(|(v, n)| (v + first, n)));
        }
        found
    }

    proptest! {
        #[test]
        fn ranges_together_hold_every_edge_in_order(
            mut rows in prop::collection::vec((0u32..5000, 0u32..5000), 0..400), parts in 1usize..5, order in 0..4)
        {
            match order {
                1 => rows.sort_unstable_by_key(|row| row.0),
                2 => rows.sort_unstable(),
                3 => rows.sort_unstable_by_key(|row| (row.1, row.0)),
                _ => {}
            }
            let ends: Vec<EndIds> = rows
                .chunks(rows.len().div_ceil(parts).max(1))
                .map(|rows| rows.iter().copied().unzip())
                .map(|(src, dst)| EndIds { src, dst })
                .collect();
            for side in [Side::Source, Side::Destination, Side::Both] {
                let mut expected: Vec<(u32, u32)> = Vec::new();
                for &(src, dst) in &rows {
                    match side {
                        Side::Source => expected.push((src, dst)),
                        Side::Destination => expected.push((dst, src)),
                        Side::Both => expected.extend([(src, dst), (dst, src)]),
                    }
                }
                expected.sort_unstable();
                prop_assert!(fit_32_bits(&ends, side, 5000));
                prop_assert_eq!(all_of(&Additions::<u32>::split(&ends, side, 5000, None)), expected.clone());
                let spare = Additions::<u64>::split(&ends, Side::Both, 5000, None);
                prop_assert_eq!(all_of(&Additions::split(&ends, side, 5000, Some(spare))), expected);
            }
        }
    }
}
