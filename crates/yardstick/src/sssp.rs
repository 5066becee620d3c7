//! Shortest paths by delta-stepping: vertices wait in bins of distance, each thread with bins of its own, and the nearest
//! bin that is not empty is the next frontier. Meyer, Sanders: "Delta-stepping: a parallelizable shortest path algorithm",
//! J. Algorithms 49, 2003; light and heavy edges alike and small bins finished by the thread that filled them, as in
//! GAPBS (Zhang, Brahmakshatriya, et al.: "Optimizing Ordered Graph Algorithms with GraphIt", CGO 2020).
//!
//! ```text
//!  thread 0   bins  3: v9       4: v1 v7  ─┐
//!  thread 1   bins  3: v2 v5    6: v8     ─┴─►  frontier: v9 v2 v5     the distance of v is below 4 delta, or v is stale
//! ```
//!
//! Invariant: distances only fall.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::WeightedCsr;

/// The distance of a vertex that no path leads to.
pub const INFINITE: u32 = u32::MAX;

/// Vertices of a frontier that a thread takes at a time.
const BLOCK: usize = 64;
/// A thread goes on with its own vertices of the current bin if they are fewer.
const SMALL_BIN: usize = 1000;

type Bins = Vec<Vec<u32>>;

/// The distance of every vertex from `source`; bins are `delta` wide. Distances must stay below [`INFINITE`].
/// Panics if there is no vertex `source`, or if `delta` is 0.
pub fn sssp(graph: &WeightedCsr, source: u32, delta: u32) -> Vec<u32> {
    let distances: Vec<AtomicU32> = (0..graph.num_vertices()).map(|_| AtomicU32::new(INFINITE)).collect();
    distances[source as usize].store(0, Relaxed);
    let search = Search { graph, distances, delta };
    let threads: Vec<Mutex<Bins>> = (0..rayon::current_num_threads()).map(|_| Mutex::default()).collect();
    let (mut frontier, mut bin) = (vec![source], 0);
    loop {
        let taken = AtomicUsize::new(0);
        rayon::broadcast(|context| {
            let mut bins = threads[context.index()].lock().unwrap_or_else(PoisonError::into_inner);
            search.relax_frontier(&frontier, &taken, bin, &mut bins);
        });
        let mut bins: Vec<_> =
            threads.iter().map(|bins| bins.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        let next = |bins: &Bins| (bin..bins.len()).find(|&bin| !bins[bin].is_empty());
        let Some(nearest) = bins.iter().filter_map(|bins| next(bins)).min() else { break };
        bin = nearest;
        frontier.clear();
        for own in bins.iter_mut().filter_map(|bins| bins.get_mut(bin)) {
            frontier.append(own);
        }
    }
    search.distances.into_iter().map(AtomicU32::into_inner).collect()
}

struct Search<'a> {
    graph: &'a WeightedCsr,
    distances: Vec<AtomicU32>,
    delta: u32,
}

impl Search<'_> {
    /// What one thread does of a round.
    fn relax_frontier(&self, frontier: &[u32], taken: &AtomicUsize, bin: usize, bins: &mut Bins) {
        loop {
            let start = taken.fetch_add(BLOCK, Relaxed);
            let Some(rest) = frontier.get(start..) else { break };
            if rest.is_empty() {
                break;
            }
            for &vertex in &rest[..rest.len().min(BLOCK)] {
                if u64::from(self.distance(vertex)) >= u64::from(self.delta) * bin as u64 {
                    self.relax(vertex, bins);
                }
            }
        }
        while bins.get(bin).is_some_and(|own| !own.is_empty() && own.len() < SMALL_BIN) {
            let own = std::mem::take(&mut bins[bin]);
            own.iter().for_each(|&vertex| self.relax(vertex, bins));
        }
    }

    #[inline]
    fn distance(&self, vertex: u32) -> u32 {
        self.distances[vertex as usize].load(Relaxed)
    }

    #[inline]
    fn relax(&self, vertex: u32, bins: &mut Bins) {
        let near = self.distance(vertex);
        for &(neighbor, weight) in self.graph.edges(vertex) {
            let (far, place) = (near + weight, &self.distances[neighbor as usize]);
            let mut old = place.load(Relaxed);
            while far < old {
                match place.compare_exchange_weak(old, far, Relaxed, Relaxed) {
                    Ok(_) => {
                        let bin = (far / self.delta) as usize;
                        if bin >= bins.len() {
                            bins.resize_with(bin + 1, Vec::new);
                        }
                        bins[bin].push(neighbor);
                        break;
                    }
                    Err(current) => old = current,
                }
            }
        }
    }
}

/// The distance of every vertex from `source`, by Dijkstra's algorithm.
pub fn sssp_by_dijkstra(graph: &WeightedCsr, source: u32) -> Vec<u32> {
    let mut distances = vec![INFINITE; graph.num_vertices()];
    distances[source as usize] = 0;
    let mut queue = BinaryHeap::from([Reverse((0, source))]);
    while let Some(Reverse((near, vertex))) = queue.pop() {
        if near > distances[vertex as usize] {
            continue;
        }
        for &(neighbor, weight) in graph.edges(vertex) {
            if near + weight < distances[neighbor as usize] {
                distances[neighbor as usize] = near + weight;
                queue.push(Reverse((near + weight, neighbor)));
            }
        }
    }
    distances
}
