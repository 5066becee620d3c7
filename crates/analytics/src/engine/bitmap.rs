//! A set of vertex ids as one bit each: the dense form of a [`VertexSubset`](crate::VertexSubset).
//!
//! Invariant: bits at and past `bound` are clear, so that counting needs no mask.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evergraph_types::VertexId;

use crate::engine::parallel::map;

/// Vertices per word.
pub(crate) const WORD_BITS: usize = 64;

/// How many words are worth a task of their own.
const WORDS_PER_TASK: usize = 1 << 12;

/// Of which something is asked that takes longer.
const WORDS_ASKED: usize = 1 << 5;

/// One bit per vertex id below a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    bound: VertexId,
}

impl Bitmap {
    /// No id below `bound`.
    pub fn empty(bound: VertexId) -> Self {
        Bitmap { words: vec![0; (bound as usize).div_ceil(WORD_BITS)], bound }
    }

    /// These ids.
    ///
    /// # Panics
    /// If an id is not below `bound`.
    pub fn from_ids(bound: VertexId, ids: &[VertexId]) -> Self {
        let words: Vec<AtomicU64> = Self::empty(bound).words.into_iter().map(AtomicU64::new).collect();
        map(ids.chunks(WORDS_PER_TASK), |ids| {
            for &id in ids {
                assert!(id < bound, "vertex {id} is not below {bound}");
                words[id as usize / WORD_BITS].fetch_or(1 << (id as usize % WORD_BITS), Relaxed);
            }
        });
        Bitmap { words: words.into_iter().map(AtomicU64::into_inner).collect(), bound }
    }

    /// The ids for which `holds`, asked in parallel.
    pub fn from_predicate(bound: VertexId, holds: impl Fn(VertexId) -> bool + Sync) -> Self {
        let mut bitmap = Self::empty(bound);
        map(bitmap.words.chunks_mut(WORDS_ASKED).enumerate(), |(task, words)| {
            for (index, word) in words.iter_mut().enumerate() {
                let first = ((task * WORDS_ASKED + index) * WORD_BITS) as VertexId;
                let last = bound.min(first.saturating_add(WORD_BITS as VertexId));
                for id in first..last {
                    *word |= u64::from(holds(id)) << (id - first);
                }
            }
        });
        bitmap
    }

    /// One past the largest id there can be.
    pub fn bound(&self) -> VertexId {
        self.bound
    }

    /// Whether the id is in the set.
    ///
    /// # Panics
    /// If it is not below the bound rounded up to a whole word.
    #[inline]
    pub fn contains(&self, id: VertexId) -> bool {
        self.words[id as usize / WORD_BITS] >> (id as usize % WORD_BITS) & 1 != 0
    }

    /// Puts an id into the set.
    ///
    /// # Panics
    /// If it is not below the bound rounded up to a whole word; it must be below the bound.
    #[inline]
    pub(crate) fn insert(&mut self, id: VertexId) {
        debug_assert!(id < self.bound, "vertex {id} is not below {}", self.bound);
        self.words[id as usize / WORD_BITS] |= 1 << (id as usize % WORD_BITS);
    }

    /// How many ids are in the set.
    pub fn count(&self) -> usize {
        let counts = map(self.words.chunks(WORDS_PER_TASK), |words| {
            words.iter().map(|word| word.count_ones() as usize).sum::<usize>()
        });
        counts.iter().sum()
    }

    /// The ids in ascending order.
    pub fn to_ids(&self) -> Vec<VertexId> {
        let pieces = map(self.words.chunks(WORDS_PER_TASK).enumerate(), |(block, words)| {
            let mut ids = Vec::with_capacity(words.iter().map(|word| word.count_ones() as usize).sum());
            for (index, &word) in words.iter().enumerate() {
                let first = ((block * WORDS_PER_TASK + index) * WORD_BITS) as VertexId;
                ids.extend(bits(word).map(|bit| first + bit));
            }
            ids
        });
        pieces.concat()
    }

    /// The words: bit `b` of word `w` is id `64 w + b`. Bits past the bound must stay clear.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

/// The positions of the bits that are set, ascending.
#[inline]
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        (word != 0).then(|| {
            word &= word - 1;
            bit
        })
    })
}
