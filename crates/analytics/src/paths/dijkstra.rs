//! Dijkstra's algorithm from one vertex after another, with memory that is kept: for methods that need the distances from
//! every vertex (Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959).
//!
//! A distance beyond all numbers is an error, as if it were infinite the vertex would seem not to be reached.
//!
//! Invariant: between two runs all distances are infinite and the queue is empty.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use evergraph_types::VertexId;

use crate::engine::weights::{WeightedTable, sums_too_large};
use crate::{AlgorithmError, Control};

/// Vertices settled between two looks at [`Control`].
const VERTICES_PER_CHECK: usize = 1 << 10;

/// The searches of one thread.
pub(crate) struct Dijkstra {
    distances: Vec<f64>,
    /// The bits of distances, which are from 0 and so in the order of the numbers.
    queue: BinaryHeap<Reverse<(u64, VertexId)>>,
    settled: Vec<VertexId>,
    /// The argument that names the weights.
    argument: &'static str,
}

impl Dijkstra {
    pub(crate) fn new(bound: VertexId, argument: &'static str) -> Self {
        let distances = vec![f64::INFINITY; bound as usize];
        Dijkstra { distances, queue: BinaryHeap::new(), settled: Vec::new(), argument }
    }

    /// Finds the distances from `source` and hands them to `visit`: the vertices that are reached, the nearest first, and
    /// the distances of all.
    pub(crate) fn run<R>(
        &mut self,
        table: &WeightedTable,
        source: VertexId,
        control: &Control,
        visit: impl FnOnce(&[VertexId], &[f64]) -> R,
    ) -> Result<R, AlgorithmError> {
        let found = self.search(table, source, control);
        let result = found.map(|()| visit(&self.settled, &self.distances));
        let waiting = self.queue.drain().map(|Reverse((_, vertex))| vertex);
        waiting
            .chain(self.settled.drain(..))
            .for_each(|vertex| self.distances[vertex as usize] = f64::INFINITY);
        result
    }

    fn search(
        &mut self,
        table: &WeightedTable,
        source: VertexId,
        control: &Control,
    ) -> Result<(), AlgorithmError> {
        self.distances[source as usize] = 0.0;
        self.queue.push(Reverse((0, source)));
        let mut too_far = Vec::new();
        while let Some(Reverse((bits, vertex))) = self.queue.pop() {
            if bits > self.distances[vertex as usize].to_bits() {
                continue;
            }
            if self.settled.len().is_multiple_of(VERTICES_PER_CHECK) {
                control.check()?;
            }
            self.settled.push(vertex);
            for (neighbor, weight) in table.edges(vertex) {
                let far = f64::from_bits(bits) + weight;
                if far < self.distances[neighbor as usize] {
                    self.distances[neighbor as usize] = far;
                    self.queue.push(Reverse((far.to_bits(), neighbor)));
                } else if far.is_infinite() {
                    too_far.push(neighbor);
                }
            }
        }
        // Another path may have led there.
        match too_far.iter().any(|&vertex| self.distances[vertex as usize].is_infinite()) {
            true => Err(sums_too_large(self.argument)),
            false => Ok(()),
        }
    }
}
