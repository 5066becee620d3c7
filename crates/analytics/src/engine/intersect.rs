//! Counting what two lists have in common, with the processor's own bit count and 16 ranks at a time where it can.
//!
//! ```text
//!  marks    a bit for each rank: those in the list of u         exact, in the second-level cache
//!  sieve    1024 bits, rank modulo 1024: its singles            in two registers; sorts out nearly all ranks of the
//!                                                               list of v, 16 at a time, and marks decide on the rest
//! ```
//!
//! Invariant: every way gives the same count; which one runs is decided by what the processor says it can do.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_loadu_si512, _mm512_mask_test_epi32_mask, _mm512_maskz_loadu_epi32,
    _mm512_permutex2var_epi32, _mm512_set1_epi32, _mm512_sllv_epi32, _mm512_srli_epi32,
};
use std::ops::Range;

use evergraph_types::VertexId;

use crate::engine::bitmap::bits;
use crate::engine::oriented::{BLOCK_BITS, Block, Oriented};

/// Words of the sieve.
const SIEVE: usize = 32;

/// Of so many singles at most there is a sieve: it lets through one rank in eight then.
const SIEVED: usize = SIEVE * BLOCK_BITS as usize / 8;

/// The list of one vertex, to look ranks up in. All clear between vertices.
pub(crate) struct Marks {
    words: Vec<u32>,
    sieve: [u32; SIEVE],
}

impl Marks {
    /// For ranks below `len`.
    pub(crate) fn new(len: VertexId) -> Self {
        Marks { words: vec![0; len.div_ceil(BLOCK_BITS) as usize], sieve: [0; SIEVE] }
    }

    #[inline(always)]
    fn is_marked(&self, rank: VertexId) -> u64 {
        u64::from(self.words[(rank / BLOCK_BITS) as usize] >> (rank % BLOCK_BITS) & 1)
    }

    #[inline(always)]
    fn count(&self, ranks: &[VertexId]) -> u64 {
        ranks.iter().map(|&rank| self.is_marked(rank)).sum()
    }

    /// The same by the sieve.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn count_sieved(&self, ranks: &[VertexId]) -> u64 {
        // SAFETY: the sieve has 32 words.
        let (low, high): (__m512i, __m512i) = unsafe {
            (
                _mm512_loadu_si512(self.sieve.as_ptr().cast()),
                _mm512_loadu_si512(self.sieve[16..].as_ptr().cast()),
            )
        };
        let mut count = 0;
        for some in ranks.chunks(16) {
            let all = u16::MAX >> (16 - some.len());
            // SAFETY: as many are read as there are.
            let rank = unsafe { _mm512_maskz_loadu_epi32(all, some.as_ptr().cast()) };
            let word = _mm512_permutex2var_epi32(low, _mm512_srli_epi32::<5>(rank), high);
            let bit = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(rank, _mm512_set1_epi32(31)));
            let maybe = _mm512_mask_test_epi32_mask(all, word, bit);
            count += bits(u64::from(maybe)).map(|place| self.is_marked(some[place as usize])).sum::<u64>();
        }
        count
    }
}

/// The triangles whose vertex of highest rank is in `ranks`.
pub(crate) fn count_triangles(graph: &Oriented, ranks: Range<VertexId>, marks: &mut Marks) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi1") {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the three features.
            return unsafe { count_with_avx512(graph, ranks, marks) };
        }
        // SAFETY: the processor has both features.
        return unsafe { count_with_popcnt(graph, ranks, marks) };
    }
    count(graph, ranks, marks, Marks::count)
}

/// The baseline of x86-64 counts bits in a dozen steps; with the instruction the whole count takes 0.6 of the time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt,bmi1")]
fn count_with_popcnt(graph: &Oriented, ranks: Range<VertexId>, marks: &mut Marks) -> u64 {
    count(graph, ranks, marks, Marks::count)
}

/// Where lists are short, the sieve takes 0.7 of the time of looking every rank up.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt,bmi1")]
fn count_with_avx512(graph: &Oriented, ranks: Range<VertexId>, marks: &mut Marks) -> u64 {
    count(graph, ranks, marks, |marks, ranks| marks.count_sieved(ranks))
}

#[inline(always)]
fn count(
    graph: &Oriented,
    ranks: Range<VertexId>,
    marks: &mut Marks,
    count_sieved: impl Fn(&Marks, &[VertexId]) -> u64,
) -> u64 {
    let mut triangles = 0;
    for rank in ranks {
        let (blocks, singles) = graph.parts(rank);
        for (position, block) in blocks.clone().enumerate() {
            for bit in bits(u64::from(block.bits)) {
                let row = graph.hub_row(block.word * BLOCK_BITS + bit);
                triangles += common(row, blocks.clone().take(position + 1));
            }
        }
        // The lowest neighbor of all has none below it.
        let first = usize::from(blocks.len() == 0);
        if singles.len() <= first {
            continue;
        }
        graph.list(rank).for_each(|block| marks.words[block.word as usize] |= block.bits);
        let sieved = singles.len() <= SIEVED;
        if sieved {
            singles.iter().for_each(|single| {
                marks.sieve[(single / BLOCK_BITS) as usize % SIEVE] |= 1 << (single % BLOCK_BITS);
            });
        }
        for (position, &single) in singles.iter().enumerate().skip(first) {
            graph.prefetch_ahead(rank, position);
            let (blocks, singles) = graph.parts(single);
            triangles += common(&marks.words, blocks);
            triangles += if sieved { count_sieved(marks, singles) } else { marks.count(singles) };
        }
        graph.list(rank).for_each(|block| marks.words[block.word as usize] = 0);
        marks.sieve = [0; SIEVE];
    }
    triangles
}

#[inline(always)]
fn common(row: &[u32], blocks: impl Iterator<Item = Block>) -> u64 {
    blocks.map(|block| u64::from((row[block.word as usize] & block.bits).count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use evergraph_generate::{ErdosRenyi, Generator, Kronecker, Model};
    use evergraph_view::FlatView;

    use super::*;
    use crate::Control;

    #[test]
    fn each_way_finds_as_many() {
        let even = Model::ErdosRenyi(ErdosRenyi { vertices: 1 << 9, edges: 40 << 9 });
        for (scale, model) in [(9, even), (12, Model::Kronecker(Kronecker::graph500(12, 16)))] {
            let generator = Generator::new(model, 3).expect("a generator");
            let edges = generator.collect_pairs().expect("edges");
            let view = FlatView::from_edges(1 << scale, &edges, true);
            let graph = Oriented::with_hub_rows(&view, &Control::new()).expect("an oriented graph");
            let mut marks = Marks::new(graph.len());
            let plain = count(&graph, 0..graph.len(), &mut marks, Marks::count);
            assert!(plain > 1000, "{plain}");
            assert_eq!(count_triangles(&graph, 0..graph.len(), &mut marks), plain);
            assert!(marks.words.iter().chain(&marks.sieve).all(|&word| word == 0));
        }
    }
}
