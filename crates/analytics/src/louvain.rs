//! Louvain: communities with many more edges inside than chance would put there.
//!
//! Method: greedy modularity by local moves and aggregation (Blondel, Guillaume, Lambiotte, Lefebvre, "Fast unfolding of
//! communities in large networks", J. Stat. Mech. P10008, 2008, section 2). Moves are chosen in parallel, in batches of
//! vertices drawn by the seed, from the state before the batch (Lu, Halappanavar, Kalyanaraman, "Parallel heuristics for
//! scalable community detection", Parallel Computing 47, 2015, section 5); the best state of a level is kept.
//!
//! ```text
//!  level 0   vertices    ── sweeps of moves ──►  communities          modularity
//!  level 1   communities ── sweeps of moves ──►  fewer communities    Q = sum over communities c of
//!   ...      as vertices, with the edges                               inside(c) / 2m - resolution * (degree(c) / 2m)^2
//!            between and inside them added up                         inside(c): twice the weight of edges inside
//! ```
//!
//! Directions of edges do not matter: an edge of a directed view counts as one between its ends. Weights are from 0.
//! Complexity: O(E) per sweep, few sweeps per level and few levels in practice.
//!
//! Invariant: the labels given out are those of the largest modularity met; sums are taken in a fixed order, so they
//! depend on the seed and not on threads.

use std::ops::ControlFlow;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView, WeightedList};
use rayon::prelude::*;

use crate::control::{ensure, in_pool};
use crate::per_thread::PerThread;
use crate::random::hash;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, SEED, Scalar, VertexColumn, WEIGHT, invalid,
};
use crate::weights::{Sign, Weight, WeightedTable};
use crate::{AlgorithmError, Control, NO_VERTEX, VerifyError};

/// Batches that a sweep is cut into.
const BATCHES: u64 = 8;

/// The most sweeps of one level.
const SWEEPS: u32 = 50;

/// Vertices whose moves one task chooses.
const VERTICES_PER_TASK: usize = 1 << 9;

/// The arguments of [`louvain`]; names and defaults are those of NetworkX.
#[derive(Clone, Debug, PartialEq)]
pub struct LouvainOptions {
    /// What an edge weighs; from 0.
    pub weight: Weight,
    /// Below 1 for larger communities, above for smaller ones.
    pub resolution: f64,
    /// A level, or a sweep, that gains less modularity than this is the last.
    pub threshold: f64,
    /// The most levels; as many as gain something if absent.
    pub max_level: Option<u32>,
    /// Where random numbers begin.
    pub seed: u64,
}

impl Default for LouvainOptions {
    fn default() -> Self {
        LouvainOptions { weight: Weight::Usual, resolution: 1.0, threshold: 1e-7, max_level: None, seed: 0 }
    }
}

/// What [`louvain`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Communities {
    /// The smallest id in the community of each vertex; [`NO_VERTEX`] where there is no vertex.
    pub labels: Vec<VertexId>,
    /// How many communities there are.
    pub count: u64,
    /// Their modularity; 0 without edges.
    pub modularity: f64,
    /// How many levels gained something.
    pub levels: u32,
}

/// Communities of large modularity.
///
/// ```
/// use evergraph_analytics::{Control, LouvainOptions, louvain};
/// use evergraph_view::FlatView;
///
/// let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
/// let view = FlatView::from_edges(6, &edges, true);
/// let found = louvain(&view, &LouvainOptions::default(), &Control::new())?;
/// assert_eq!((found.labels, found.count), (vec![0, 0, 0, 3, 3, 3], 2));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn louvain(
    view: &dyn GraphView,
    options: &LouvainOptions,
    control: &Control,
) -> Result<Communities, AlgorithmError> {
    check(options)?;
    in_pool(|| {
        let flat = view.flat();
        let mut graph = Level::new(view, &flat, &options.weight, control)?;
        let mut labels: Vec<VertexId> = (0..flat.id_bound()).collect();
        let mut modularity = graph.modularity(&labels, options.resolution);
        let mut levels = 0;
        control.progress(0, 1);
        while options.max_level.is_none_or(|most| levels < most) {
            let (moved, reached) = graph.sweep_until_stable(options, u64::from(levels), control)?;
            if reached - modularity <= options.threshold {
                break;
            }
            let names = number(&moved);
            labels.iter_mut().for_each(|label| *label = names[moved[*label as usize] as usize]);
            graph = graph.aggregate(&moved, &names);
            (modularity, levels) = (reached, levels + 1);
            control.progress(u64::from(levels), u64::from(levels) + 1);
        }
        let (labels, count) = name_by_smallest(&flat, &labels);
        Ok(Communities { labels, count, modularity, levels })
    })
}

fn check(options: &LouvainOptions) -> Result<(), AlgorithmError> {
    if !(options.resolution >= 0.0 && options.resolution.is_finite()) {
        return Err(invalid("resolution", format!("{} is not a number from 0", options.resolution)));
    }
    if !(options.threshold >= 0.0 && options.threshold.is_finite()) {
        return Err(invalid("threshold", format!("{} is not a number from 0", options.threshold)));
    }
    Ok(())
}

/// A symmetric weighted graph. An edge inside a vertex is kept apart, with both its ends.
struct Level {
    offsets: Vec<usize>,
    neighbors: Vec<VertexId>,
    weights: Vec<f64>,
    inside: Vec<f64>,
    degrees: Vec<f64>,
    total: f64,
}

impl Level {
    fn new(
        view: &dyn GraphView,
        flat: &FlatView,
        weight: &Weight,
        control: &Control,
    ) -> Result<Self, AlgorithmError> {
        let table = |way| WeightedTable::new(view, flat, weight, way, Sign::NotNegative, control);
        let out = table(Direction::Out)?;
        let reverse = if flat.is_symmetric() { None } else { Some(table(Direction::In)?) };
        let mut level = Level::empty();
        for vertex in 0..flat.id_bound() {
            let edges = out.edges(vertex).chain(reverse.iter().flat_map(|table| table.edges(vertex)));
            // A loop of a symmetric list is one entry with two ends; of a directed view, one in each list.
            let ends = if flat.is_symmetric() { 2.0 } else { 1.0 };
            let mut inside = 0.0;
            for (neighbor, weight) in edges {
                if neighbor == vertex {
                    inside += ends * weight;
                } else {
                    level.neighbors.push(neighbor);
                    level.weights.push(weight);
                }
            }
            level.finish_vertex(inside);
        }
        Ok(level.finish())
    }

    fn empty() -> Self {
        Level {
            offsets: vec![0],
            neighbors: Vec::new(),
            weights: Vec::new(),
            inside: Vec::new(),
            degrees: Vec::new(),
            total: 0.0,
        }
    }

    /// Ends the list of the next vertex.
    fn finish_vertex(&mut self, inside: f64) {
        let start = self.offsets.last().copied().unwrap_or(0);
        self.offsets.push(self.neighbors.len());
        self.inside.push(inside);
        self.degrees.push(inside + self.weights[start..].iter().sum::<f64>());
    }

    fn finish(mut self) -> Self {
        self.total = self.degrees.iter().sum();
        self
    }

    fn len(&self) -> usize {
        self.inside.len()
    }

    fn edges(&self, vertex: VertexId) -> impl Iterator<Item = (VertexId, f64)> + '_ {
        let list = self.offsets[vertex as usize]..self.offsets[vertex as usize + 1];
        self.neighbors[list.clone()].iter().copied().zip(self.weights[list].iter().copied())
    }

    /// The modularity of communities by vertex.
    fn modularity(&self, communities: &[VertexId], resolution: f64) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        let inside =
            (0..self.len() as VertexId).into_par_iter().with_min_len(VERTICES_PER_TASK).map(|vertex| {
                let same = |(neighbor, _): &(VertexId, f64)| {
                    communities[*neighbor as usize] == communities[vertex as usize]
                };
                self.inside[vertex as usize]
                    + self.edges(vertex).filter(same).map(|(_, weight)| weight).sum::<f64>()
            });
        let inside: f64 = inside.collect::<Vec<f64>>().iter().sum();
        let squares = degrees_of(communities, &self.degrees)
            .iter()
            .map(|degree| (degree / self.total).powi(2))
            .sum::<f64>();
        inside / self.total - resolution * squares
    }

    /// Sweeps of moves until one gains too little; the best communities met and their modularity.
    fn sweep_until_stable(
        &self,
        options: &LouvainOptions,
        level: u64,
        control: &Control,
    ) -> Result<(Vec<VertexId>, f64), AlgorithmError> {
        let mut communities: Vec<VertexId> = (0..self.len() as VertexId).collect();
        let mut degrees = self.degrees.clone();
        let mut best = (communities.clone(), self.modularity(&communities, options.resolution));
        let scratch = PerThread::new(|| Links::new(self.len()));
        let batch_of = |vertex: VertexId| hash(options.seed ^ level << 32, u64::from(vertex)) % BATCHES;
        let mut batches = vec![Vec::new(); BATCHES as usize];
        (0..self.len() as VertexId).for_each(|vertex| batches[batch_of(vertex) as usize].push(vertex));
        for _ in 0..SWEEPS {
            let mut moves = 0;
            for batch in &batches {
                let chosen = batch.par_chunks(VERTICES_PER_TASK).map(|vertices| {
                    control.check()?;
                    let choose = |&vertex: &VertexId| -> Option<(VertexId, VertexId)> {
                        let choice = scratch.with(|links| {
                            links.choose(self, &communities, &degrees, options.resolution, vertex)
                        });
                        (choice != communities[vertex as usize]).then_some((vertex, choice))
                    };
                    Ok(vertices.iter().filter_map(choose).collect())
                });
                for (vertex, choice) in chosen.collect::<Result<Vec<Vec<_>>, AlgorithmError>>()?.concat() {
                    let old = std::mem::replace(&mut communities[vertex as usize], choice);
                    degrees[old as usize] -= self.degrees[vertex as usize];
                    degrees[choice as usize] += self.degrees[vertex as usize];
                    moves += 1;
                }
            }
            let reached = self.modularity(&communities, options.resolution);
            let gain = reached - best.1;
            if gain > 0.0 {
                best = (communities.clone(), reached);
            }
            if moves == 0 || gain <= options.threshold {
                break;
            }
            // Adding and subtracting leaves rounding behind.
            degrees = degrees_of(&communities, &self.degrees);
        }
        Ok(best)
    }

    /// The graph whose vertices are the communities, `names[moved[v]]` for vertex v.
    fn aggregate(&self, moved: &[VertexId], names: &[VertexId]) -> Level {
        let name = |vertex: VertexId| names[moved[vertex as usize] as usize];
        let mut members: Vec<VertexId> = (0..self.len() as VertexId).collect();
        members.sort_by_key(|&vertex| name(vertex));
        let groups: Vec<&[VertexId]> = members.chunk_by(|&left, &right| name(left) == name(right)).collect();
        let merge = |group: &&[VertexId]| {
            let own = name(group[0]);
            let mut inside: f64 = group.iter().map(|&vertex| self.inside[vertex as usize]).sum();
            let edges = group.iter().flat_map(|&vertex| self.edges(vertex));
            let mut edges: Vec<(VertexId, f64)> =
                edges.map(|(other, weight)| (name(other), weight)).collect();
            edges.sort_by_key(|&(other, _)| other);
            let mut merged: Vec<(VertexId, f64)> = Vec::new();
            for run in edges.chunk_by(|left, right| left.0 == right.0) {
                let weight = run.iter().map(|(_, weight)| weight).sum();
                if run[0].0 == own { inside += weight } else { merged.push((run[0].0, weight)) }
            }
            (inside, merged)
        };
        let mut level = Level::empty();
        for (inside, merged) in groups.par_iter().map(merge).collect::<Vec<_>>() {
            level.neighbors.extend(merged.iter().map(|&(other, _)| other));
            level.weights.extend(merged.iter().map(|&(_, weight)| weight));
            level.finish_vertex(inside);
        }
        level.finish()
    }
}

/// The sum of the degrees in each community.
fn degrees_of(communities: &[VertexId], degrees: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; degrees.len()];
    communities.iter().zip(degrees).for_each(|(&community, degree)| sums[community as usize] += degree);
    sums
}

/// The weights from one vertex to the communities around it.
struct Links {
    weights: Vec<f64>,
    touched: Vec<VertexId>,
}

impl Links {
    fn new(len: usize) -> Self {
        Links { weights: vec![-1.0; len], touched: Vec::new() }
    }

    /// The community where the vertex adds most to the modularity: its own unless another is better, the smallest of
    /// several.
    fn choose(
        &mut self,
        level: &Level,
        communities: &[VertexId],
        degrees: &[f64],
        resolution: f64,
        vertex: VertexId,
    ) -> VertexId {
        let own = communities[vertex as usize];
        self.add(own, 0.0);
        level.edges(vertex).for_each(|(neighbor, weight)| self.add(communities[neighbor as usize], weight));
        let degree = level.degrees[vertex as usize];
        let others =
            |community: VertexId| degrees[community as usize] - if community == own { degree } else { 0.0 };
        let gain = |links: f64, community| links - resolution * degree * others(community) / level.total;
        let (mut best, mut most) = (own, gain(self.weights[own as usize], own));
        // Two single vertices that choose each other would change places for ever.
        let alone = others(own) <= 1e-12 * level.total;
        for &community in &self.touched {
            let gain = gain(self.weights[community as usize], community);
            let is_single = degrees[community as usize] == level.degrees[community as usize]
                && communities[community as usize] == community;
            let may = community != own && !(alone && is_single && community > own);
            if may && (gain > most + 1e-15 * level.total || (gain == most && best != own && community < best))
            {
                (best, most) = (community, gain);
            }
        }
        self.touched.drain(..).for_each(|community| self.weights[community as usize] = -1.0);
        best
    }

    fn add(&mut self, community: VertexId, weight: f64) {
        let sum = &mut self.weights[community as usize];
        if *sum < 0.0 {
            *sum = 0.0;
            self.touched.push(community);
        }
        *sum += weight;
    }
}

/// Numbers from 0 for the communities in use, by community.
fn number(communities: &[VertexId]) -> Vec<VertexId> {
    let mut names = vec![NO_VERTEX; communities.len()];
    communities.iter().for_each(|&community| names[community as usize] = 0);
    let used = names.iter_mut().filter(|name| **name == 0);
    used.zip(0..).for_each(|(name, number)| *name = number);
    names
}

/// Labels by the smallest member, and how many there are; vertices that do not exist have none.
fn name_by_smallest(flat: &FlatView, labels: &[VertexId]) -> (Vec<VertexId>, u64) {
    let mut smallest = vec![NO_VERTEX; labels.len()];
    let mut count = 0;
    let named = (0..).zip(labels).map(|(vertex, &label)| {
        if !flat.has_vertex(vertex) {
            return NO_VERTEX;
        }
        if smallest[label as usize] == NO_VERTEX {
            smallest[label as usize] = vertex;
            count += 1;
        }
        smallest[label as usize]
    });
    (named.collect(), count)
}

/// Checks that labels are those of smallest members, that the modularity is that of its definition, edge by edge, and
/// that it is not below that of single vertices: O(V + E).
pub fn verify(
    view: &dyn GraphView,
    options: &LouvainOptions,
    result: &Communities,
) -> Result<(), VerifyError> {
    let bound = view.id_bound();
    ensure(result.labels.len() == bound as usize, || format!("{} labels", result.labels.len()))?;
    let mut count = 0;
    for (vertex, &label) in (0..bound).zip(&result.labels) {
        count += u64::from(label == vertex);
        let right = match view.has_vertex(vertex) {
            true => label <= vertex && result.labels.get(label as usize) == Some(&label),
            false => label == NO_VERTEX,
        };
        ensure(right, || format!("vertex {vertex} cannot have label {label}"))?;
    }
    ensure(result.count == count, || format!("{} communities, {count} expected", result.count))?;
    let single: Vec<VertexId> = (0..bound).collect();
    let modularity = |labels: &[VertexId]| modularity_by_edges(view, options, labels);
    let wanted = modularity(&result.labels)?;
    ensure((result.modularity - wanted).abs() <= 1e-9, || {
        format!("modularity {}, {wanted} expected", result.modularity)
    })?;
    let least = modularity(&single)?;
    ensure(wanted >= least - 1e-9, || format!("modularity {wanted}, single vertices have {least}"))
}

fn modularity_by_edges(
    view: &dyn GraphView,
    options: &LouvainOptions,
    labels: &[VertexId],
) -> Result<f64, VerifyError> {
    let lists = options.weight.lists(view).map_err(|error| VerifyError { what: error.to_string() })?;
    let mut list = WeightedList::default();
    let mut degrees = vec![0.0; labels.len()];
    let (mut inside, mut total) = (0.0, 0.0);
    for vertex in (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)) {
        list.clear();
        match &lists {
            Some(lists) => lists.append(Direction::Out, vertex, &mut list),
            None => view.for_each_slice(Direction::Out, vertex, &mut |slice| {
                list.neighbors.extend_from_slice(slice);
                list.weights.resize(list.neighbors.len(), 1.0);
                ControlFlow::Continue(())
            }),
        }
        for (neighbor, weight) in list.iter() {
            // Edges of a symmetric view between two vertices come from both of them; all others here, for both ends.
            let ends = if view.is_symmetric() && neighbor != vertex { 1.0 } else { 2.0 };
            total += ends * weight;
            inside += if labels[vertex as usize] == labels[neighbor as usize] { ends * weight } else { 0.0 };
            degrees[labels[vertex as usize] as usize] += weight;
            if ends == 2.0 {
                degrees[labels[neighbor as usize] as usize] += weight;
            }
        }
    }
    let squares: f64 = degrees.iter().map(|degree| (degree / total).powi(2)).sum();
    Ok(if total == 0.0 { 0.0 } else { inside / total - options.resolution * squares })
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "louvain",
    summary: "Communities with many more edges inside than chance would put there",
    complexity: "O(E) per sweep",
    source: "Blondel, Guillaume, Lambiotte, Lefebvre: Fast unfolding of communities in large networks, J. Stat. Mech. \
             P10008, 2008, section 2; Lu, Halappanavar, Kalyanaraman, Parallel Computing 47, 2015, section 5",
    arguments: &[
        WEIGHT,
        Argument::optional(
            "resolution",
            Kind::Float,
            "1",
            "below 1 for larger communities, above for smaller",
        ),
        Argument::optional(
            "threshold",
            Kind::Float,
            "1e-7",
            "a level that gains less modularity is the last",
        ),
        Argument::optional("max_level", Kind::Count, "none", "the most levels"),
        SEED,
    ],
    results: &[
        Field { name: "community", summary: "the first vertex of its community" },
        Field { name: "communities", summary: "how many there are" },
        Field {
            name: "modularity",
            summary: "how much more is inside than chance would put there, at most 1",
        },
        Field { name: "levels", summary: "how many levels gained something" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let default = LouvainOptions::default();
    let options = LouvainOptions {
        weight: arguments.weight(),
        resolution: arguments.float("resolution").unwrap_or(default.resolution),
        threshold: arguments.float("threshold").unwrap_or(default.threshold),
        max_level: arguments.count("max_level"),
        seed: arguments.seed(SEED.name).unwrap_or(default.seed),
    };
    let result = louvain(view, &options, control)?;
    if check == Check::Verify {
        verify(view, &options, &result)?;
    }
    Ok(Outcome::by_vertex(
        vec![("community", VertexColumn::Vertices(result.labels))],
        vec![
            ("communities", Scalar::Count(result.count)),
            ("modularity", Scalar::Float(result.modularity)),
            ("levels", Scalar::Count(result.levels.into())),
        ],
    ))
}
