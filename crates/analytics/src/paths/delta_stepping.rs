//! The loop of delta-stepping (Meyer and Sanders, Journal of Algorithms 49, 2003, section 2), light and heavy edges alike as
//! in the GAP Benchmark Suite (arXiv 1508.03619).
//!
//! ```text
//!  distance  0      delta    2 delta    3 delta
//!            |--------|---------|----------|        a relaxed edge puts its end into this bucket or a later one;
//!             settled   current    waiting          an end whose distance has fallen since is stale there
//! ```
//!
//! Vertices wait in [`Buckets`]. The edges of all in the nearest one are relaxed in parallel, until it stays empty; what a
//! thread has put into the current bucket itself it relaxes at once while that is little, which saves most rounds (bucket
//! fusion; Zhang et al., "Optimizing Ordered Graph Algorithms with GraphIt", CGO 2020, section 3.3). Their lists lie
//! anywhere, so a block of vertices is looked at first and the lists of those that are not stale are asked for. A copy waits
//! with the distance it was put in for, so that one whose vertex has come nearer within the same bucket is stale too.
//!
//! Invariant: distances only fall, and at the end `d[v] = min(d[u] + length(u, v))`. That has one solution.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use evergraph_types::VertexId;

use crate::engine::buckets::{Buckets, OwnBuckets};
use crate::engine::lengths::LengthLists;
use crate::engine::parallel::{ITEMS_PER_TASK, blocks, map, try_map};
use crate::engine::prefetch::prefetch_place;
use crate::engine::ranges::{HUB_DEGREE, HUB_PIECE};
use crate::{AlgorithmError, Control};

/// The fewest vertices of a frontier that are worth a task.
const VERTICES_PER_TASK: usize = 64;

/// Tasks for each thread, so that threads end at about the same time.
const TASKS_PER_THREAD: usize = 8;

/// A task goes on with what its thread has put into the current bucket if that is fewer vertices.
const FUSED: usize = 1000;

/// Vertices whose lists are asked for together.
const BLOCK: usize = 32;

/// Ends of edges whose distances are asked for together, while those before them are looked at.
const ENDS: usize = 16;

/// The distances from `sources` in buckets of `width`, infinite beyond `cutoff`; `None` if some are beyond the numbers of
/// the lists. `vertices` is how many there are, for progress.
pub(crate) fn delta_stepping<L: LengthLists>(
    lists: &L,
    sources: &[VertexId],
    width: f64,
    cutoff: f64,
    vertices: u64,
    control: &Control,
) -> Result<Option<Vec<f64>>, AlgorithmError> {
    let places: Vec<L::Place> = (0..lists.id_bound()).map(|_| L::unreached()).collect();
    let (is_beyond, buckets) = (AtomicBool::new(false), Buckets::new());
    let lowered = |source: &&VertexId| L::lower(&places[**source as usize], L::ZERO);
    buckets.with(|own| sources.iter().filter(lowered).for_each(|&source| own.push(0, (source, L::ZERO))));
    let mut search = Search { lists, places, buckets, buckets_per_unit: 1.0 / width, cutoff, is_beyond };
    let (mut frontier, mut relaxed) = (Vec::new(), 0);
    while search.buckets.pop(&mut frontier).is_some() {
        search.relax_all(&frontier, control)?;
        if search.is_beyond.load(Relaxed) {
            return Ok(None);
        }
        relaxed += frontier.len() as u64;
        control.progress(relaxed.min(vertices), vertices);
    }
    let mut distances = vec![0.0; search.places.len()];
    let pieces = distances.chunks_mut(ITEMS_PER_TASK).zip(search.places.chunks(ITEMS_PER_TASK));
    map(pieces, |(distances, places)| {
        distances.iter_mut().zip(places).for_each(|(distance, place)| *distance = L::finish(place));
    });
    Ok(Some(distances))
}

/// A vertex and the distance it was put into a bucket with, once, by whoever lowered it to that. A copy is stale where the
/// distance has fallen since, within its bucket too: so a list is relaxed once with each distance, and few with two.
type Reached<L> = (VertexId, <L as LengthLists>::Length);

struct Search<'a, L: LengthLists> {
    lists: &'a L,
    places: Vec<L::Place>,
    buckets: Buckets<Reached<L>>,
    buckets_per_unit: f64,
    cutoff: f64,
    is_beyond: AtomicBool,
}

impl<L: LengthLists> Search<'_, L> {
    #[inline]
    fn distance(&self, vertex: VertexId) -> L::Length {
        L::load(&self.places[vertex as usize])
    }

    #[inline]
    fn bucket(&self, distance: L::Length) -> u64 {
        (L::to_f64(distance) * self.buckets_per_unit) as u64
    }

    /// Whether the distance of a vertex is still this.
    #[inline]
    fn is_current(&self, (vertex, distance): Reached<L>) -> bool {
        self.distance(vertex) == distance
    }

    /// Relaxes the edges of those in a frontier that are not stale.
    fn relax_all(&self, frontier: &[Reached<L>], control: &Control) -> Result<(), AlgorithmError> {
        if frontier.len() < VERTICES_PER_TASK {
            return self.relax_task(frontier, control);
        }
        let tasks = TASKS_PER_THREAD * rayon::current_num_threads();
        let tasks = frontier.chunks(frontier.len().div_ceil(tasks).max(VERTICES_PER_TASK));
        try_map(control, tasks, |task| self.relax_task(task, control)).map(drop)
    }

    fn relax_task(&self, task: &[Reached<L>], control: &Control) -> Result<(), AlgorithmError> {
        let mut hubs = Vec::new();
        self.buckets.with(|own| {
            self.relax_lists(task, own, &mut hubs, control)?;
            while let Some(few) = own.take_few(FUSED) {
                self.relax_lists(&few, own, &mut hubs, control)?;
            }
            Ok::<(), AlgorithmError>(())
        })?;
        hubs.into_iter().filter(|&hub| self.is_current(hub)).for_each(|hub| self.relax_hub(hub));
        Ok(())
    }

    /// Relaxes the edges of those that are not stale, and names the hubs among them instead.
    fn relax_lists(
        &self,
        vertices: &[Reached<L>],
        own: &mut OwnBuckets<Reached<L>>,
        hubs: &mut Vec<Reached<L>>,
        control: &Control,
    ) -> Result<(), AlgorithmError> {
        let mut current = [(0, L::ZERO); BLOCK];
        for block in vertices.chunks(BLOCK) {
            control.check()?;
            let mut len = 0;
            for &reached in block {
                // Whether one is stale is as good as random, so nothing branches on it.
                current[len] = reached;
                len += usize::from(self.is_current(reached));
            }
            current[..len].iter().for_each(|&(vertex, _)| self.lists.prefetch(vertex));
            for (position, &reached) in current[..len].iter().enumerate() {
                current[..len].get(position + 1).into_iter().for_each(|&(next, _)| self.ask(next, 0));
                match self.lists.degree(reached.0) {
                    degree if degree < HUB_DEGREE => self.relax(reached, 0..degree, own),
                    _ => hubs.push(reached),
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn relax(&self, reached: Reached<L>, part: Range<usize>, own: &mut OwnBuckets<Reached<L>>) {
        let (vertex, near) = reached;
        for start in part.clone().step_by(ENDS) {
            self.ask(vertex, start + ENDS);
            for (neighbor, length) in self.lists.edges(vertex, start..part.end.min(start + ENDS)) {
                let Some(far) = L::sum(near, length) else {
                    self.is_beyond.store(true, Relaxed);
                    continue;
                };
                let place = &self.places[neighbor as usize];
                if far < L::load(place) && L::to_f64(far) <= self.cutoff && L::lower(place, far) {
                    own.push(self.bucket(far), (neighbor, far));
                }
            }
        }
    }

    /// Asks for the distances of the first ends of a list from one on.
    #[inline]
    fn ask(&self, vertex: VertexId, from: usize) {
        let until = self.lists.degree(vertex).min(from + ENDS);
        self.lists.ends(vertex, from.min(until)..until).for_each(|end| prefetch_place(&self.places, end));
    }

    /// The list of a hub in pieces, in parallel.
    #[cold]
    fn relax_hub(&self, hub: Reached<L>) {
        let degree = self.lists.degree(hub.0);
        map(blocks(degree, HUB_PIECE), |piece| self.buckets.with(|own| self.relax(hub, piece, own)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, AtomicUsize};

    use super::*;
    use crate::engine::lengths::WholeTable;

    /// Lists that count how often the edges of one are relaxed.
    struct Counted {
        lists: Vec<Vec<(VertexId, u32)>>,
        relaxed: Vec<AtomicUsize>,
    }

    impl LengthLists for Counted {
        type Length = u32;
        type Place = AtomicU32;

        const ZERO: u32 = 0;

        fn id_bound(&self) -> VertexId {
            self.lists.len() as VertexId
        }

        fn degree(&self, vertex: VertexId) -> usize {
            self.lists[vertex as usize].len()
        }

        fn prefetch(&self, _vertex: VertexId) {}

        fn edges(&self, vertex: VertexId, part: Range<usize>) -> impl Iterator<Item = (VertexId, u32)> {
            self.relaxed[vertex as usize].fetch_add(1, Relaxed);
            self.lists[vertex as usize][part].iter().copied()
        }

        fn ends(&self, vertex: VertexId, part: Range<usize>) -> impl Iterator<Item = VertexId> {
            self.lists[vertex as usize][part].iter().map(|&(end, _)| end)
        }

        fn unreached() -> AtomicU32 {
            WholeTable::unreached()
        }

        fn load(place: &AtomicU32) -> u32 {
            WholeTable::load(place)
        }

        fn lower(place: &AtomicU32, distance: u32) -> bool {
            WholeTable::lower(place, distance)
        }

        fn sum(near: u32, length: u32) -> Option<u32> {
            WholeTable::sum(near, length)
        }

        fn to_f64(distance: u32) -> f64 {
            WholeTable::to_f64(distance)
        }

        fn finish(place: &AtomicU32) -> f64 {
            WholeTable::finish(place)
        }
    }

    #[test]
    fn a_list_is_relaxed_once_however_often_its_vertex_comes_nearer_within_a_bucket() {
        // Vertex 4 is put in with 9, 8 and 7 before it is worked on.
        let lists = vec![
            vec![(1, 4), (2, 5), (3, 6)],
            vec![(4, 5)],
            vec![(4, 3)],
            vec![(4, 1)],
            vec![(5, 1)],
            Vec::new(),
        ];
        let relaxed = (0..lists.len()).map(|_| AtomicUsize::new(0)).collect();
        let counted = Counted { lists, relaxed };
        let found = delta_stepping(&counted, &[0, 0], 100.0, f64::MAX, 6, &Control::new());
        assert_eq!(found.unwrap(), Some(vec![0.0, 4.0, 5.0, 6.0, 7.0, 8.0]));
        let relaxed: Vec<usize> = counted.relaxed.iter().map(|times| times.load(Relaxed)).collect();
        assert_eq!(relaxed, [1, 1, 1, 1, 1, 0], "the last one has no edges");
    }
}
