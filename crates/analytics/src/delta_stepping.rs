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
//! anywhere, so a block of vertices is looked at first and the lists of those that are not stale are asked for.
//!
//! Invariant: distances only fall, and at the end `d[v] = min(d[u] + length(u, v))`. That has one solution.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use evergraph_types::VertexId;
use rayon::prelude::*;

use crate::buckets::{Buckets, OwnBuckets};
use crate::lengths::LengthLists;
use crate::ranges::HUB_DEGREE;
use crate::{AlgorithmError, Control};

/// The fewest vertices of a frontier that are worth a task.
const VERTICES_PER_TASK: usize = 64;

/// Tasks for each thread, so that threads end at about the same time.
const TASKS_PER_THREAD: usize = 8;

/// Entries of a hub's list that one task relaxes.
const HUB_PIECE: usize = 1 << 14;

/// A task goes on with what its thread has put into the current bucket if that is fewer vertices.
const FUSED: usize = 1000;

/// Vertices whose lists are asked for together.
const BLOCK: usize = 32;

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
    let places: Vec<L::Place> = (0..lists.id_bound()).into_par_iter().map(|_| L::unreached()).collect();
    for &source in sources {
        L::lower(&places[source as usize], L::ZERO);
    }
    let (is_beyond, buckets) = (AtomicBool::new(false), Buckets::new());
    buckets.with(|own| sources.iter().for_each(|&source| own.push(0, source)));
    let mut search = Search { lists, places, buckets, buckets_per_unit: 1.0 / width, cutoff, is_beyond };
    let (mut frontier, mut relaxed) = (Vec::new(), 0);
    while let Some(bucket) = search.buckets.pop(&mut frontier) {
        search.relax_all(bucket, &frontier, control)?;
        if search.is_beyond.load(Relaxed) {
            return Ok(None);
        }
        relaxed += frontier.len() as u64;
        control.progress(relaxed.min(vertices), vertices);
    }
    Ok(Some(search.places.into_par_iter().map(L::finish).collect()))
}

struct Search<'a, L: LengthLists> {
    lists: &'a L,
    places: Vec<L::Place>,
    buckets: Buckets,
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

    /// Whether a vertex is still in the bucket.
    #[inline]
    fn is_in(&self, bucket: u64, vertex: VertexId) -> bool {
        self.bucket(self.distance(vertex)) == bucket
    }

    /// Relaxes the edges of those in a frontier that are still in its bucket.
    fn relax_all(&self, bucket: u64, frontier: &[VertexId], control: &Control) -> Result<(), AlgorithmError> {
        if frontier.len() < VERTICES_PER_TASK {
            return self.relax_task(bucket, frontier, control);
        }
        let tasks = TASKS_PER_THREAD * rayon::current_num_threads();
        let tasks = frontier.par_chunks(frontier.len().div_ceil(tasks).max(VERTICES_PER_TASK));
        tasks.try_for_each(|task| self.relax_task(bucket, task, control))
    }

    fn relax_task(&self, bucket: u64, task: &[VertexId], control: &Control) -> Result<(), AlgorithmError> {
        let mut hubs = Vec::new();
        self.buckets.with(|own| {
            self.relax_lists(bucket, task, own, &mut hubs, control)?;
            while let Some(few) = own.take_few(FUSED) {
                self.relax_lists(bucket, &few, own, &mut hubs, control)?;
            }
            Ok::<(), AlgorithmError>(())
        })?;
        hubs.into_iter().for_each(|hub| self.relax_hub(hub));
        Ok(())
    }

    /// Relaxes the edges of those that are still in the bucket, and names the hubs among them instead.
    fn relax_lists(
        &self,
        bucket: u64,
        vertices: &[VertexId],
        own: &mut OwnBuckets,
        hubs: &mut Vec<VertexId>,
        control: &Control,
    ) -> Result<(), AlgorithmError> {
        let mut current = [0; BLOCK];
        for block in vertices.chunks(BLOCK) {
            control.check()?;
            let mut len = 0;
            for &vertex in block {
                // Whether one is stale is as good as random, so nothing branches on it.
                current[len] = vertex;
                len += usize::from(self.is_in(bucket, vertex));
            }
            current[..len].iter().for_each(|&vertex| self.lists.prefetch(vertex));
            for &vertex in &current[..len] {
                match self.lists.degree(vertex) {
                    degree if degree < HUB_DEGREE => self.relax(vertex, 0..degree, own),
                    _ => hubs.push(vertex),
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn relax(&self, vertex: VertexId, part: Range<usize>, own: &mut OwnBuckets) {
        let near = self.distance(vertex);
        for (neighbor, length) in self.lists.edges(vertex, part) {
            let Some(far) = L::sum(near, length) else {
                self.is_beyond.store(true, Relaxed);
                continue;
            };
            let place = &self.places[neighbor as usize];
            if far < L::load(place) && L::to_f64(far) <= self.cutoff && L::lower(place, far) {
                own.push(self.bucket(far), neighbor);
            }
        }
    }

    /// The list of a hub in pieces, in parallel.
    #[cold]
    fn relax_hub(&self, hub: VertexId) {
        let degree = self.lists.degree(hub);
        (0..degree).into_par_iter().step_by(HUB_PIECE).for_each(|start| {
            let piece = start..degree.min(start + HUB_PIECE);
            self.buckets.with(|own| self.relax(hub, piece, own));
        });
    }
}
