//! A part of a graph: which vertices, and which edges between them, a confined snapshot shows.
//!
//! ```text
//!  an edge is shown  ⇔  both its ends are members  and  every rule keeps it        (no rule: the part is induced)
//! ```
//!
//! Invariant: no vertex is a member that the version does not have.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use evergraph_store::{Run, Version};
use evergraph_types::{Direction, EdgeTypeId, VertexId};

/// Says which edges between the members of a part belong to it.
pub trait EdgeRule: Send + Sync + Debug {
    /// Drops, of these rows of a run of the list of `vertex`, those whose edges do not belong. Rows stay in order. The
    /// answer for an edge does not depend on the end whose list it is found in.
    fn retain(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        vertex: VertexId,
        run: Run<'_>,
        rows: &mut Vec<usize>,
    );
}

/// A set of vertices as one bit for each id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VertexBits {
    words: Vec<u64>,
    count: u64,
}

impl VertexBits {
    /// The set of these ids.
    pub fn new(ids: impl IntoIterator<Item = VertexId>) -> Self {
        let mut bits = VertexBits::default();
        for id in ids {
            let word = id as usize / 64;
            if word >= bits.words.len() {
                bits.words.resize((word + 1).max(2 * bits.words.len()), 0);
            }
            bits.count += u64::from(bits.words[word] >> (id % 64) & 1 == 0);
            bits.words[word] |= 1 << (id % 64);
        }
        bits
    }

    /// Whether the id is in the set.
    #[inline]
    pub fn contains(&self, id: VertexId) -> bool {
        self.words.get(id as usize / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    /// How many ids it holds.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The ids in a range, ascending.
    pub fn range(&self, range: Range<VertexId>) -> impl Iterator<Item = VertexId> + '_ {
        let first = range.start / 64;
        let words = self.words.iter().zip(0..).skip(first as usize);
        let words = words.take_while(move |&(_, word): &(&u64, u32)| word * 64 < range.end);
        let ids = words.flat_map(|(&bits, word)| Ones(bits).map(move |bit| word * 64 + bit));
        ids.skip_while(move |&id| id < range.start).take_while(move |&id| id < range.end)
    }

    /// All ids, ascending.
    pub fn iter(&self) -> impl Iterator<Item = VertexId> + '_ {
        self.range(0..VertexId::MAX)
    }

    fn intersection(&self, other: &VertexBits) -> VertexBits {
        let words: Vec<u64> = self.words.iter().zip(&other.words).map(|(left, right)| left & right).collect();
        let count = words.iter().map(|word| u64::from(word.count_ones())).sum();
        VertexBits { words, count }
    }
}

/// The positions of the ones of a word.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let bit = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (bit < 64).then_some(bit)
    }
}

/// A part of a version.
#[derive(Clone, Debug)]
pub struct Confinement {
    vertices: Arc<VertexBits>,
    rules: Vec<Arc<dyn EdgeRule>>,
    /// Of the selection that holds it; counted when first asked for.
    pub(crate) num_edges: OnceLock<u64>,
}

impl Confinement {
    /// These vertices, which the version has, and the edges between them: all, or those that the rule keeps.
    pub fn new(vertices: Arc<VertexBits>, rule: Option<Arc<dyn EdgeRule>>) -> Self {
        Confinement { vertices, rules: rule.into_iter().collect(), num_edges: OnceLock::new() }
    }

    /// What both have.
    pub(crate) fn and(&self, other: &Confinement) -> Self {
        let vertices = Arc::new(self.vertices.intersection(&other.vertices));
        let rules = self.rules.iter().chain(&other.rules).cloned().collect();
        Confinement { vertices, rules, num_edges: OnceLock::new() }
    }

    /// The same part, for a selection of other edge types.
    pub(crate) fn uncounted(&self) -> Self {
        Confinement { num_edges: OnceLock::new(), ..self.clone() }
    }

    /// The vertices.
    pub fn vertices(&self) -> &Arc<VertexBits> {
        &self.vertices
    }

    /// Calls `visit` with each run of a vertex's list and those rows of it that are shown.
    pub(crate) fn for_each_run(
        &self,
        version: &Version,
        edge_type: EdgeTypeId,
        direction: Direction,
        vertex: VertexId,
        mut visit: impl FnMut(Run<'_>, &[usize]),
    ) {
        if !self.vertices.contains(vertex) {
            return;
        }
        let mut rows = Vec::new();
        version.for_each_run(edge_type, direction, vertex, |run| {
            let neighbors = run.neighbors();
            rows.clear();
            rows.extend((0..neighbors.len()).filter(|&row| self.vertices.contains(neighbors[row])));
            self.rules.iter().for_each(|rule| rule.retain(edge_type, direction, vertex, run, &mut rows));
            visit(run, &rows);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_a_set() {
        let ids = [0, 1, 63, 64, 65, 200, 1000, 64];
        let bits = VertexBits::new(ids);
        let expected = [0, 1, 63, 64, 65, 200, 1000];
        assert_eq!(bits.len(), 7);
        assert_eq!(bits.iter().collect::<Vec<_>>(), expected);
        assert_eq!(bits.range(1..65).collect::<Vec<_>>(), [1, 63, 64]);
        assert_eq!(bits.range(65..65).count(), 0);
        assert!((0..2000).all(|id| bits.contains(id) == expected.contains(&id)));
        let both = bits.intersection(&VertexBits::new([1, 64, 2, 5000]));
        assert_eq!((both.iter().collect::<Vec<_>>(), both.len()), (vec![1, 64], 2));
    }
}
