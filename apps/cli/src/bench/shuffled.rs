//! The graph of the ingest benchmark: the edges of a Kronecker graph, each once, in an order that has nothing to do with
//! where they are.
//!
//! Invariant: no edge is there in both directions, none is a loop, and a seed stands for one sequence.

use clap::Args;
use evergraph::generate::{Generator, Kronecker, Model};
use evergraph::{EdgeBatch, KeyColumn, KeyKind};
use rayon::prelude::*;

use super::web::web_links;
use crate::error::CommandError;

const SEED: u64 = 1;

/// The size of the Kronecker graph.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct ShuffledSize {
    /// The graph has 2^N vertices
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=30))]
    pub(super) scale: u32,
    /// The graph is made of so many edges per vertex
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) edges_per_vertex: u64,
}

impl ShuffledSize {
    /// The edges of a graph of this size.
    pub(super) fn edges(self) -> Result<ShuffledEdges, CommandError> {
        ShuffledEdges::new(self.scale, self.edges_per_vertex)
    }
}

/// Undirected edges in the order they are to be added.
pub(super) struct ShuffledEdges {
    pairs: Vec<(u32, u32)>,
}

impl ShuffledEdges {
    /// The edges of the Kronecker graph of this size.
    pub(super) fn new(scale: u32, edges_per_vertex: u64) -> Result<Self, CommandError> {
        let generator = Generator::new(Model::Kronecker(Kronecker::graph500(scale, edges_per_vertex)), SEED)?;
        let mut pairs = generator.collect_pairs()?;
        pairs.retain(|(src, dst)| src != dst);
        // Either end may come first: a bit of the edge decides.
        pairs.par_iter_mut().for_each(|pair| {
            let (low, high) = (pair.0.min(pair.1), pair.0.max(pair.1));
            *pair = if mix(low, high) & 1 == 0 { (low, high) } else { (high, low) };
        });
        Ok(Self::shuffled(pairs))
    }

    /// The links of a web-like graph of this size.
    pub(super) fn of_web(scale: u32, edges_per_vertex: u64) -> Self {
        Self::shuffled(web_links(scale, edges_per_vertex, SEED))
    }

    /// Each pair once, in an order of its own.
    fn shuffled(mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.par_sort_unstable();
        pairs.dedup();
        pairs.par_sort_unstable_by_key(|&(src, dst)| (mix(src, dst), src, dst));
        ShuffledEdges { pairs }
    }

    /// The same edges, ascending.
    pub(super) fn in_order(&self) -> Self {
        let mut pairs = self.pairs.clone();
        pairs.par_sort_unstable();
        ShuffledEdges { pairs }
    }

    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// Some of them as a batch with keys of this kind.
    pub(super) fn batch(&self, range: std::ops::Range<usize>, keys: KeyKind) -> EdgeBatch {
        let column = |end: fn(&(u32, u32)) -> u32| {
            KeyColumn::Int(self.pairs[range.clone()].iter().map(|pair| key(end(pair), keys)).collect())
        };
        EdgeBatch { src: column(|pair| pair.0), dst: column(|pair| pair.1), columns: Vec::new() }
    }
}

/// The key of a vertex: its number, or a number from all over 64 bits.
pub(super) fn key(vertex: u32, keys: KeyKind) -> i64 {
    match keys {
        KeyKind::Dense => i64::from(vertex),
        _ => (u64::from(vertex) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) as i64,
    }
}

fn mix(src: u32, dst: u32) -> u64 {
    mix_bits(u64::from(src) << 32 | u64::from(dst))
}

/// A number that looks random (the finalizer of SplitMix64).
pub(super) fn mix_bits(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_comes_once_and_out_of_order() {
        let edges = ShuffledEdges::new(8, 8).unwrap();
        let mut ordered: Vec<_> =
            edges.pairs().iter().map(|pair| (pair.0.min(pair.1), pair.0.max(pair.1))).collect();
        assert!(!ordered.is_sorted());
        assert!(ordered.iter().all(|(low, high)| low < high));
        ordered.sort_unstable();
        ordered.dedup();
        assert_eq!(ordered.len(), edges.len());
    }
}
