//! Leiden: communities as Louvain's, all of which hang together.
//!
//! Method: Louvain with a refinement between moves and aggregation (Traag, Waltman, van Eck, "From Louvain to Leiden:
//! guaranteeing well-connected communities", Scientific Reports 9, 2019, algorithm A.2).
//!
//! ```text
//!  sweeps of moves ──► communities ──► refined: each community anew from single vertices, joining only what is well
//!        ▲                             connected to the rest of it      (communities in parallel)
//!        │                                     │
//!        └── as vertices, beginning in the communities they came from ◄──┘
//! ```
//!
//! Where the paper joins at random by gain, this joins where the gain is largest; vertices are taken in an order drawn by
//! the seed. At the end a community that is still in several parts is taken apart, which loses no modularity.
//! Directions of edges do not matter. Weights are from 0. Complexity: O(E) per sweep.
//!
//! Invariant: every community is connected; the result depends on the seed and not on threads.

use std::ops::ControlFlow;

use evergraph_types::{Direction, VertexId};
use evergraph_view::GraphView;
use rayon::prelude::*;

use crate::communities::louvain::{COMMUNITY_RESULTS, Communities, LOUVAIN_ARGUMENTS, LouvainOptions, check};
use crate::communities::modularity::{Level, Links, name_by_smallest, number, verify_communities};
use crate::engine::control::ensure;
use crate::engine::parallel::{in_pool, try_map};
use crate::engine::per_thread::PerThread;
use crate::engine::random::hash;
use crate::registry::{Algorithm, Arguments, Check, Outcome};
use crate::{AlgorithmError, Control, NO_VERTEX};

/// Vertices refined between two looks at [`Control`].
const VERTICES_PER_CHECK: usize = 1 << 10;

/// Connected communities of large modularity.
///
/// ```
/// use evergraph_analytics::{Control, LouvainOptions, leiden};
/// use evergraph_view::FlatView;
///
/// let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
/// let view = FlatView::from_edges(6, &edges, true);
/// let found = leiden(&view, &LouvainOptions::default(), &Control::new())?;
/// assert_eq!((found.labels, found.count), (vec![0, 0, 0, 3, 3, 3], 2));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn leiden(
    view: &dyn GraphView,
    options: &LouvainOptions,
    control: &Control,
) -> Result<Communities, AlgorithmError> {
    check(options)?;
    in_pool(|| {
        let flat = view.flat();
        let base = Level::new(view, &flat, &options.weight, control)?;
        let mut aggregated: Option<Level> = None;
        // The vertex of the current level that each vertex is in, and the community of each of those.
        let mut places: Vec<VertexId> = (0..flat.id_bound()).collect();
        let mut communities = base.singles();
        let mut modularity = base.modularity(&communities, options.resolution);
        let mut levels = 0;
        control.progress(0, 1);
        while options.max_level.is_none_or(|most| levels < most) {
            let graph = aggregated.as_ref().unwrap_or(&base);
            let begin = communities.clone();
            let (moved, reached) = graph.sweep_until_stable(begin, options, u64::from(levels), control)?;
            if reached - modularity <= options.threshold {
                break;
            }
            let refined = refine(graph, &moved, options, u64::from(levels), control)?;
            let names = number(&refined);
            places.iter_mut().for_each(|place| *place = names[refined[*place as usize] as usize]);
            communities = carried_over(&moved, &refined, &names);
            aggregated = Some(graph.aggregate(&refined, &names));
            (modularity, levels) = (reached, levels + 1);
            control.progress(u64::from(levels), u64::from(levels) + 1);
        }
        let labels: Vec<VertexId> = places.iter().map(|&place| communities[place as usize]).collect();
        let (labels, count) = name_by_smallest(&flat, &connected_parts(view, &labels, control)?);
        let modularity = base.modularity(&named(&labels), options.resolution);
        Ok(Communities { labels, count, modularity, levels })
    })
}

/// Labels by vertex, a name for those that have none.
fn named(labels: &[VertexId]) -> Vec<VertexId> {
    let own = |(vertex, &label): (VertexId, &VertexId)| if label == NO_VERTEX { vertex } else { label };
    (0..).zip(labels).map(own).collect()
}

/// The communities of the vertices that refined communities become: each named by one of those vertices.
fn carried_over(moved: &[VertexId], refined: &[VertexId], names: &[VertexId]) -> Vec<VertexId> {
    let count = names.iter().filter(|&&name| name != NO_VERTEX).count();
    let mut first = vec![NO_VERTEX; moved.len()];
    let mut communities = vec![NO_VERTEX; count];
    for (&community, &part) in moved.iter().zip(refined) {
        let name = names[part as usize];
        let first = &mut first[community as usize];
        if *first == NO_VERTEX {
            *first = name;
        }
        communities[name as usize] = *first;
    }
    communities
}

/// Takes every community apart and joins its vertices anew, where they are well connected.
fn refine(
    graph: &Level,
    communities: &[VertexId],
    options: &LouvainOptions,
    level: u64,
    control: &Control,
) -> Result<Vec<VertexId>, AlgorithmError> {
    let order = |vertex: VertexId| {
        (communities[vertex as usize], hash(!options.seed ^ level << 32, u64::from(vertex)), vertex)
    };
    let mut members = graph.singles();
    members.par_sort_unstable_by_key(|&vertex| order(vertex));
    let groups: Vec<&[VertexId]> =
        members.chunk_by(|&one, &other| communities[one as usize] == communities[other as usize]).collect();
    let scratch = PerThread::new(|| Parts::new(graph.len()));
    let pieces = try_map(control, &groups, |group| {
        scratch.with(|parts| parts.refine(graph, group, options.resolution, control))
    })?;
    let mut refined = graph.singles();
    for (vertex, part) in groups.iter().zip(pieces).flat_map(|(group, parts)| group.iter().zip(parts)) {
        refined[*vertex as usize] = part;
    }
    Ok(refined)
}

/// The parts of one community; memory of one thread, clear between two communities.
struct Parts {
    /// The part of each member; none for other vertices.
    labels: Vec<VertexId>,
    degrees: Vec<f64>,
    /// The weight from a part to the rest of its community.
    cuts: Vec<f64>,
    sizes: Vec<u32>,
    links: Links,
}

impl Parts {
    fn new(len: usize) -> Self {
        Parts {
            labels: vec![NO_VERTEX; len],
            degrees: vec![0.0; len],
            cuts: vec![0.0; len],
            sizes: vec![0; len],
            links: Links::new(len),
        }
    }

    /// The part of each vertex of the group.
    fn refine(
        &mut self,
        graph: &Level,
        group: &[VertexId],
        resolution: f64,
        control: &Control,
    ) -> Result<Vec<VertexId>, AlgorithmError> {
        for &vertex in group {
            self.labels[vertex as usize] = vertex;
            self.degrees[vertex as usize] = graph.degrees[vertex as usize];
            self.sizes[vertex as usize] = 1;
        }
        for &vertex in group {
            let inside = graph.edges(vertex).filter(|&(other, _)| self.labels[other as usize] != NO_VERTEX);
            self.cuts[vertex as usize] = inside.map(|(_, weight)| weight).sum();
        }
        let total: f64 = group.iter().map(|&vertex| graph.degrees[vertex as usize]).sum();
        let mut flow = Ok(());
        for (at, &vertex) in group.iter().enumerate() {
            if at.is_multiple_of(VERTICES_PER_CHECK) {
                flow = control.check();
            }
            if flow.is_err() {
                break;
            }
            self.join(graph, vertex, resolution, total);
        }
        let parts = group.iter().map(|&vertex| self.labels[vertex as usize]).collect();
        group.iter().for_each(|&vertex| self.labels[vertex as usize] = NO_VERTEX);
        flow.map(|()| parts)
    }

    /// Joins a vertex that is alone to the part where it gains most, if both are well connected.
    fn join(&mut self, graph: &Level, vertex: VertexId, resolution: f64, total: f64) {
        let own = vertex as usize;
        let chance = resolution / graph.total;
        let is_well_connected = |part: usize, this: &Self| {
            this.cuts[part] >= chance * this.degrees[part] * (total - this.degrees[part])
        };
        if self.labels[own] != vertex || self.sizes[own] != 1 || !is_well_connected(own, self) {
            return;
        }
        for (other, weight) in graph.edges(vertex) {
            let part = self.labels[other as usize];
            if part != NO_VERTEX {
                self.links.add(part, weight);
            }
        }
        let (mut best, mut most, mut linked) = (vertex, 0.0, 0.0);
        let mut links = std::mem::take(&mut self.links);
        links.drain(|part, weight| {
            let gain = weight - chance * self.degrees[own] * self.degrees[part as usize];
            let is_better = gain > most || (gain == most && best != vertex && part < best);
            if weight > 0.0 && is_better && is_well_connected(part as usize, self) {
                (best, most, linked) = (part, gain, weight);
            }
        });
        self.links = links;
        if best != vertex {
            let part = best as usize;
            self.labels[own] = best;
            self.degrees[part] += self.degrees[own];
            self.cuts[part] += self.cuts[own] - 2.0 * linked;
            self.sizes[part] += 1;
        }
    }
}

/// Labels by vertex such that each is that of a connected part of a community; a part is named by its smallest vertex.
fn connected_parts(
    view: &dyn GraphView,
    labels: &[VertexId],
    control: &Control,
) -> Result<Vec<VertexId>, AlgorithmError> {
    let mut parents: Vec<VertexId> = (0..labels.len() as VertexId).collect();
    for vertex in 0..labels.len() as VertexId {
        if (vertex as usize).is_multiple_of(VERTICES_PER_CHECK) {
            control.check()?;
        }
        view.for_each_slice(Direction::Out, vertex, &mut |slice| {
            for &neighbor in slice {
                if labels[neighbor as usize] == labels[vertex as usize] {
                    let (one, other) = (root(&mut parents, vertex), root(&mut parents, neighbor));
                    parents[one.max(other) as usize] = one.min(other);
                }
            }
            ControlFlow::Continue(())
        });
    }
    Ok((0..labels.len() as VertexId).map(|vertex| root(&mut parents, vertex)).collect())
}

fn root(parents: &mut [VertexId], mut vertex: VertexId) -> VertexId {
    while parents[vertex as usize] != vertex {
        parents[vertex as usize] = parents[parents[vertex as usize] as usize];
        vertex = parents[vertex as usize];
    }
    vertex
}

/// Checks what is checked of Louvain's communities, and that each is connected, by a search in it: O(V + E).
pub fn verify(
    view: &dyn GraphView,
    options: &LouvainOptions,
    result: &Communities,
    control: &Control,
) -> Result<(), AlgorithmError> {
    verify_communities(view, options, result, control)?;
    let mut is_reached = vec![false; result.labels.len()];
    for start in (0..view.id_bound()).filter(|&vertex| result.labels[vertex as usize] == vertex) {
        control.check()?;
        let mut stack = vec![start];
        is_reached[start as usize] = true;
        while let Some(vertex) = stack.pop() {
            for direction in [Direction::Out, Direction::In] {
                view.for_each_slice(direction, vertex, &mut |slice| {
                    for &neighbor in slice.iter().filter(|&&it| result.labels[it as usize] == start) {
                        if !std::mem::replace(&mut is_reached[neighbor as usize], true) {
                            stack.push(neighbor);
                        }
                    }
                    ControlFlow::Continue(())
                });
            }
        }
    }
    let lost = (0..view.id_bound()).find(|&vertex| view.has_vertex(vertex) && !is_reached[vertex as usize]);
    ensure(lost.is_none(), || format!("the community of vertex {lost:?} is not connected"))
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "leiden",
    summary: "Connected communities with many more edges inside than chance would put there",
    complexity: "O(E) per sweep",
    source: "Traag, Waltman, van Eck: From Louvain to Leiden, Scientific Reports 9, 2019, algorithm A.2",
    arguments: LOUVAIN_ARGUMENTS,
    results: COMMUNITY_RESULTS,
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let options = LouvainOptions::from_arguments(arguments);
    let result = leiden(view, &options, control)?;
    if check == Check::Verify {
        verify(view, &options, &result, control)?;
    }
    Ok(result.into_outcome())
}
