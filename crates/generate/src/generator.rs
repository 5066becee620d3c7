//! A model with a seed: the edges, block by block.
//!
//! Invariant: block `i` is a function of (model, seed, i) alone; all blocks but the last hold
//! [`EDGES_PER_BLOCK`] edges.

use std::ops::ControlFlow;

use rayon::prelude::*;

use crate::permutation::Permutation;
use crate::pipeline::in_order;
use crate::random::Random;
use crate::{ErdosRenyi, Kronecker, Model, ModelError};

/// A source and a destination.
pub type Edge = (u64, u64);

/// How many edges a block holds. Part of what a seed means: changing it changes every graph.
pub const EDGES_PER_BLOCK: u64 = 1 << 16;

/// The random number stream that the permutation of labels is drawn from; blocks use the streams from 0.
const PERMUTATION_STREAM: u64 = u64::MAX;

/// A source of edges.
///
/// ```
/// use evergraph_generate::{Generator, Kronecker, Model};
///
/// let generator = Generator::new(Model::Kronecker(Kronecker::graph500(10, 16)), 1)?;
/// assert_eq!(generator.num_edges(), 16 * 1024);
/// assert!(generator.block(0).iter().all(|&(src, dst)| src < 1024 && dst < 1024));
/// # Ok::<(), evergraph_generate::ModelError>(())
/// ```
pub struct Generator {
    model: Model,
    seed: u64,
    permutation: Option<Permutation>,
}

impl Generator {
    /// A generator of this model's edges under this seed.
    pub fn new(model: Model, seed: u64) -> Result<Self, ModelError> {
        model.validate()?;
        let permutation = match model {
            Model::Kronecker(Kronecker { scale, shuffle: true, .. }) => {
                Some(Permutation::new(scale, &mut Random::new(seed, PERMUTATION_STREAM)))
            }
            _ => None,
        };
        Ok(Generator { model, seed, permutation })
    }

    /// The number of vertices; isolated ones count. Edges join numbers below it.
    pub fn num_vertices(&self) -> u64 {
        self.model.num_vertices()
    }

    /// The number of edges over all blocks; self loops and repeats count.
    pub fn num_edges(&self) -> u64 {
        self.model.num_edges()
    }

    /// The number of blocks.
    pub fn num_blocks(&self) -> u64 {
        self.num_edges().div_ceil(EDGES_PER_BLOCK)
    }

    /// The edges of one block; none past the last block.
    pub fn block(&self, index: u64) -> Vec<Edge> {
        let start = index.saturating_mul(EDGES_PER_BLOCK).min(self.num_edges());
        let count = (self.num_edges() - start).min(EDGES_PER_BLOCK) as usize;
        let mut random = Random::new(self.seed, index);
        match &self.model {
            Model::Kronecker(model) => self.kronecker_block(model, count, &mut random),
            Model::ErdosRenyi(ErdosRenyi { vertices, .. }) => {
                (0..count).map(|_| (random.below(*vertices), random.below(*vertices))).collect()
            }
        }
    }

    fn kronecker_block(&self, model: &Kronecker, count: usize, random: &mut Random) -> Vec<Edge> {
        let quadrants = Quadrants::new(model);
        let draw = |random: &mut Random| quadrants.descend(model.scale, random);
        match &self.permutation {
            None => (0..count).map(|_| draw(random)).collect(),
            Some(labels) => {
                let relabel = |(src, dst): Edge| (labels.apply(src), labels.apply(dst));
                (0..count).map(|_| relabel(draw(random))).collect()
            }
        }
    }

    /// Hands every block to `visit`, in order, on the calling thread, while the thread pool draws the next ones.
    /// `Break` from `visit` ends it.
    pub fn for_each_block<B>(&self, mut visit: impl FnMut(Vec<Edge>) -> ControlFlow<B>) -> ControlFlow<B> {
        let visited = in_order(
            self.num_blocks(),
            |index| self.block(index),
            |block| match visit(block) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(value) => Err(value),
            },
        );
        match visited {
            Ok(()) => ControlFlow::Continue(()),
            Err(value) => ControlFlow::Break(value),
        }
    }

    /// All edges as 32-bit pairs in memory, for graphs known to be small enough; 8 bytes per edge.
    pub fn collect_pairs(&self) -> Result<Vec<(u32, u32)>, ModelError> {
        self.require_32_bits()?;
        let blocks = (0..self.num_blocks()).into_par_iter();
        let narrow = |(src, dst): Edge| (src as u32, dst as u32);
        Ok(blocks.flat_map_iter(|index| self.block(index).into_iter().map(narrow)).collect())
    }

    /// Refuses graphs whose vertices do not fit 32 bits.
    pub(crate) fn require_32_bits(&self) -> Result<(), ModelError> {
        match self.num_vertices() {
            vertices if vertices > 1 << 32 => Err(ModelError::TooWide { vertices }),
            _ => Ok(()),
        }
    }

    /// Makes `item` from every block on the thread pool and hands the items to `take` in order.
    pub(crate) fn map_blocks<T: Send, E>(
        &self,
        item: impl Fn(&[Edge]) -> T + Sync,
        take: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        in_order(self.num_blocks(), |index| item(&self.block(index)), take)
    }
}

/// The quadrant probabilities as thresholds for 32 random bits, kept in 64 so that a probability of 1 fits.
struct Quadrants {
    a: u64,
    ab: u64,
    abc: u64,
}

impl Quadrants {
    fn new(model: &Kronecker) -> Self {
        let threshold = |probability: f64| (probability * (1u64 << 32) as f64).round() as u64;
        Quadrants {
            a: threshold(model.a),
            ab: threshold(model.a + model.b),
            abc: threshold(model.a + model.b + model.c),
        }
    }

    /// One edge: 32 random bits choose the quadrant of a level. Branches here would be mispredicted by design, so the
    /// bits come from comparisons: below the middle sets the row; each threshold passed turns the column over.
    #[inline]
    fn descend(&self, levels: u32, random: &mut Random) -> Edge {
        let (mut src, mut dst) = (0u64, 0u64);
        let mut level = |point: u64| {
            let (past_a, past_ab, past_abc) =
                (u64::from(point >= self.a), u64::from(point >= self.ab), u64::from(point >= self.abc));
            src = src << 1 | past_ab;
            dst = dst << 1 | (past_a ^ past_ab ^ past_abc);
        };
        for _ in 0..levels / 2 {
            let points = random.next();
            level(points >> 32);
            level(points & u64::from(u32::MAX));
        }
        if levels % 2 == 1 {
            level(random.next() >> 32);
        }
        (src, dst)
    }
}
