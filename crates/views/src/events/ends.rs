//! The edges that a view was given, as far as they are there, and whose ends bring them into the view.
//!
//! Invariant: `present` are those of the given edges that the state has; `counts` says of how many of them a vertex is an
//! end, and has none that is the end of none. A loop has its vertex as an end twice.

use std::collections::BTreeMap;

use evergraph_types::{EdgeTypeId, Schema, VertexId};
use hashbrown::HashMap;
use roaring::RoaringTreemap;

use super::state::State;

/// Edges by type, as `pair` of the definition writes them.
pub(crate) type Pairs = BTreeMap<EdgeTypeId, RoaringTreemap>;

/// Of which given edges each vertex is an end.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    present: Pairs,
    counts: HashMap<VertexId, u32>,
}

/// The two ends of a pair.
fn ends(pair: u64) -> [VertexId; 2] {
    [(pair >> 32) as VertexId, pair as VertexId]
}

impl Ends {
    /// Those of the edges given that a state has.
    pub(crate) fn of(given: &Pairs, state: &State) -> Self {
        let mut found = Ends::default();
        for (&edge_type, pairs) in given {
            for pair in pairs {
                let [src, dst] = ends(pair);
                if state.has_edge(edge_type, src, dst) {
                    found.note(edge_type, pair, true);
                }
            }
        }
        found
    }

    /// Whether a vertex is an end of an edge that is there.
    pub(crate) fn contains(&self, vertex: VertexId) -> bool {
        self.counts.contains_key(&vertex)
    }

    /// All such vertices.
    pub(crate) fn vertices(&self) -> impl Iterator<Item = VertexId> + '_ {
        self.counts.keys().copied()
    }

    /// Notes whether a given edge is there; gives the vertices that are an end of one from now on, or no longer.
    pub(crate) fn note(&mut self, edge_type: EdgeTypeId, pair: u64, is_there: bool) -> Vec<VertexId> {
        let present = self.present.entry(edge_type).or_default();
        let is_new = if is_there { present.insert(pair) } else { present.remove(pair) };
        let mut turned = Vec::new();
        for end in ends(pair).into_iter().filter(|_| is_new) {
            let count = self.counts.entry(end).or_default();
            let before = *count;
            *count = if is_there { before + 1 } else { before.saturating_sub(1) };
            let after = *count;
            if after == 0 {
                self.counts.remove(&end);
            }
            if before == 0 || after == 0 {
                turned.push(end);
            }
        }
        turned
    }

    /// Forgets the edges of types that a schema no longer has.
    pub(crate) fn fit(&mut self, schema: &Schema) {
        let is_there = |id: EdgeTypeId| {
            schema.edge_types.get(usize::from(id)).is_some_and(|edge_type| !edge_type.is_dropped())
        };
        let gone: Vec<EdgeTypeId> = self.present.keys().copied().filter(|id| !is_there(*id)).collect();
        for edge_type in gone {
            let pairs = self.present.get(&edge_type).cloned().unwrap_or_default();
            for pair in &pairs {
                self.note(edge_type, pair, false);
            }
            self.present.remove(&edge_type);
        }
    }
}
