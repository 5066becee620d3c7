//! The same graph on both sides, and how the vertices of one are found on the other.

use evergraph::{GraphView, KeyColumn, Snapshot, VertexId};
use evergraph_yardstick::Graph;

use super::load::Loaded;

/// Both sides.
pub(super) struct Subjects {
    pub(super) loaded: Loaded,
    /// As it was loaded; later commits do not show in it.
    pub(super) snapshot: Snapshot,
    pub(super) yardstick: Graph,
    /// For each id of the snapshot, the number in the file, which is the yardstick's vertex.
    pub(super) numbers: Vec<u32>,
}

impl Subjects {
    /// The two sides of a loaded graph.
    pub(super) fn new(loaded: Loaded, yardstick: Graph) -> Self {
        let snapshot = loaded.snapshot.clone();
        let numbers = match snapshot.keys(0..snapshot.id_bound()) {
            KeyColumn::Int(keys) => keys.into_iter().map(|key| key as u32).collect(),
            // The benchmark's file has numbers only.
            KeyColumn::Text(_) => Vec::new(),
        };
        Subjects { loaded, snapshot, yardstick, numbers }
    }

    /// The id of a yardstick's vertex; none if it has no edges and so is no vertex of the store.
    pub(super) fn id(&self, number: u32) -> Option<VertexId> {
        self.snapshot.vertex_id(i64::from(number))
    }

    /// The yardstick's vertices that are no vertices of the store: they are in no line of the file.
    pub(super) fn num_isolated(&self) -> u64 {
        self.yardstick.num_vertices() as u64 - self.snapshot.num_vertices()
    }

    /// The vertices of the store: id and number.
    pub(super) fn vertices(&self) -> impl Iterator<Item = (VertexId, u32)> + '_ {
        (0..).zip(self.numbers.iter().copied()).filter(|&(id, _)| self.snapshot.has_vertex(id))
    }

    /// Vertices with out-edges, spread over the graph.
    pub(super) fn sources(&self, count: usize) -> Vec<u32> {
        const STEP: u64 = 0x9E37_79B9;
        let vertices = self.yardstick.num_vertices() as u64;
        let candidates = (1..=vertices).map(|index| (index * STEP % vertices) as u32);
        candidates.filter(|&vertex| self.yardstick.out().degree(vertex) > 0).take(count).collect()
    }
}
