//! Communities by modularity: the graph whose vertices are communities, and moves of vertices between them. What Louvain
//! and Leiden have in common.
//!
//! ```text
//!   Q = sum over communities c of  inside(c) / 2m - resolution * (degree(c) / 2m)^2
//!   inside(c): twice the weight of edges inside;  degree(c): the weight of all ends of edges in c;  2m: of all ends
//! ```
//!
//! Moves are chosen in parallel, in batches of vertices drawn by a seed, from the state before the batch (Lu,
//! Halappanavar, Kalyanaraman, "Parallel heuristics for scalable community detection", Parallel Computing 47, 2015,
//! section 5).
//!
//! Invariant: sums are taken in a fixed order, so nothing depends on threads. A community is named by a number below the
//! number of vertices.

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::communities::louvain::{Communities, LouvainOptions};
use crate::engine::control::ensure;
use crate::engine::parallel::{map, of_vertices, try_map};
use crate::engine::per_thread::PerThread;
use crate::engine::random::hash;
use crate::engine::weights::{Sign, Weight, WeightedTable, weighted_lists_in};
use crate::{AlgorithmError, Control, NO_VERTEX};

/// Batches that a sweep is cut into.
const BATCHES: u64 = 8;

/// The most sweeps of one level.
const SWEEPS: u32 = 50;

/// Powers of 2 up to this, and down to its negative, are numbers of full precision.
const MOST_EXPONENT: i32 = 1000;

/// Vertices whose moves one task chooses.
const VERTICES_PER_TASK: usize = 1 << 9;

/// A symmetric weighted graph. An edge inside a vertex is kept apart, with both its ends.
pub(crate) struct Level {
    offsets: Vec<usize>,
    neighbors: Vec<VertexId>,
    weights: Vec<f64>,
    inside: Vec<f64>,
    pub(crate) degrees: Vec<f64>,
    /// 2m.
    pub(crate) total: f64,
}

impl Level {
    pub(crate) fn new(
        view: &dyn GraphView,
        flat: &FlatView,
        weight: &Weight,
        control: &Control,
    ) -> Result<Self, AlgorithmError> {
        let table = |view: &dyn GraphView, flat: &FlatView, weight: &Weight, way| {
            WeightedTable::new(view, flat, weight, way, Sign::NotNegative, control)
        };
        let out = table(view, flat, weight, Direction::Out)?;
        let reverse = match view.one_way() {
            Some(part) => Some(table(&*part, &part.flat(), &weight.of_part(&*part), Direction::In)?),
            None => None,
        };
        let scale = scale(out.weights().iter().copied());
        let mut level = Level::empty();
        for vertex in 0..flat.id_bound() {
            // Any loop is in an out-list once, and has two ends.
            let loops = out.edges(vertex).filter(|&(neighbor, _)| neighbor == vertex);
            let inside = loops.map(|(_, weight)| 2.0 * scale * weight).sum();
            let edges = out.edges(vertex).chain(reverse.iter().flat_map(|table| table.edges(vertex)));
            for (neighbor, weight) in edges.filter(|&(neighbor, _)| neighbor != vertex) {
                level.neighbors.push(neighbor);
                level.weights.push(scale * weight);
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

    /// Every vertex a community of its own.
    pub(crate) fn singles(&self) -> Vec<VertexId> {
        (0..self.len() as VertexId).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.inside.len()
    }

    pub(crate) fn edges(&self, vertex: VertexId) -> impl Iterator<Item = (VertexId, f64)> + '_ {
        let list = self.offsets[vertex as usize]..self.offsets[vertex as usize + 1];
        self.neighbors[list.clone()].iter().copied().zip(self.weights[list].iter().copied())
    }

    /// The modularity of communities by vertex.
    pub(crate) fn modularity(&self, communities: &[VertexId], resolution: f64) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        let inside = of_vertices(self.len() as VertexId, |vertex| {
            let same = |(neighbor, _): &(VertexId, f64)| {
                communities[*neighbor as usize] == communities[vertex as usize]
            };
            self.inside[vertex as usize]
                + self.edges(vertex).filter(same).map(|(_, weight)| weight).sum::<f64>()
        });
        let inside: f64 = inside.iter().sum();
        let squares = degrees_of(communities, &self.degrees)
            .iter()
            .map(|degree| (degree / self.total).powi(2))
            .sum::<f64>();
        inside / self.total - resolution * squares
    }

    /// Sweeps of moves from these communities on until one gains too little; the best communities met and their modularity.
    pub(crate) fn sweep_until_stable(
        &self,
        mut communities: Vec<VertexId>,
        options: &LouvainOptions,
        level: u64,
        control: &Control,
    ) -> Result<(Vec<VertexId>, f64), AlgorithmError> {
        let mut degrees = degrees_of(&communities, &self.degrees);
        let mut best = (communities.clone(), self.modularity(&communities, options.resolution));
        let scratch = PerThread::new(|| Links::new(self.len()));
        let batch_of = |vertex: VertexId| hash(options.seed ^ level << 32, u64::from(vertex)) % BATCHES;
        let mut batches = vec![Vec::new(); BATCHES as usize];
        (0..self.len() as VertexId).for_each(|vertex| batches[batch_of(vertex) as usize].push(vertex));
        for _ in 0..SWEEPS {
            let mut moves = 0;
            for batch in &batches {
                let chosen = try_map(control, batch.chunks(VERTICES_PER_TASK), |vertices| {
                    let choose = |&vertex: &VertexId| -> Option<(VertexId, VertexId)> {
                        let choice = scratch.with(|links| {
                            links.choose(self, &communities, &degrees, options.resolution, vertex)
                        });
                        (choice != communities[vertex as usize]).then_some((vertex, choice))
                    };
                    Ok(vertices.iter().filter_map(choose).collect::<Vec<_>>())
                });
                for (vertex, choice) in chosen?.concat() {
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
    pub(crate) fn aggregate(&self, moved: &[VertexId], names: &[VertexId]) -> Level {
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
        for (inside, merged) in map(&groups, merge) {
            level.neighbors.extend(merged.iter().map(|&(other, _)| other));
            level.weights.extend(merged.iter().map(|&(_, weight)| weight));
            level.finish_vertex(inside);
        }
        level.finish()
    }
}

/// What to multiply weights by, so that neither their sum nor its square is beyond all numbers: a power of 2, which
/// takes nothing from their precision, and which modularity does not depend on.
fn scale(weights: impl Iterator<Item = f64>) -> f64 {
    let largest = weights.fold(0.0, f64::max);
    let exponent = if largest > 0.0 { largest.log2().floor() as i32 } else { 0 };
    2f64.powi(-exponent.clamp(-MOST_EXPONENT, MOST_EXPONENT))
}

/// The sum of the degrees in each community.
fn degrees_of(communities: &[VertexId], degrees: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; degrees.len()];
    communities.iter().zip(degrees).for_each(|(&community, degree)| sums[community as usize] += degree);
    sums
}

/// The weights from one vertex to the communities around it.
#[derive(Default)]
pub(crate) struct Links {
    weights: Vec<f64>,
    touched: Vec<VertexId>,
}

impl Links {
    pub(crate) fn new(len: usize) -> Self {
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
        self.drain(|_, _| ());
        best
    }

    /// Hands over every community with its weight, and forgets them.
    pub(crate) fn drain(&mut self, mut visit: impl FnMut(VertexId, f64)) {
        for community in self.touched.drain(..) {
            visit(community, std::mem::replace(&mut self.weights[community as usize], -1.0));
        }
    }

    pub(crate) fn add(&mut self, community: VertexId, weight: f64) {
        let sum = &mut self.weights[community as usize];
        if *sum < 0.0 {
            *sum = 0.0;
            self.touched.push(community);
        }
        *sum += weight;
    }
}

/// Numbers from 0 for the communities in use, by community.
pub(crate) fn number(communities: &[VertexId]) -> Vec<VertexId> {
    let mut names = vec![NO_VERTEX; communities.len()];
    communities.iter().for_each(|&community| names[community as usize] = 0);
    let used = names.iter_mut().filter(|name| **name == 0);
    used.zip(0..).for_each(|(name, number)| *name = number);
    names
}

/// Labels by the smallest member, and how many there are; vertices that do not exist have none.
pub(crate) fn name_by_smallest(flat: &FlatView, labels: &[VertexId]) -> (Vec<VertexId>, u64) {
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
pub(crate) fn verify_communities(
    view: &dyn GraphView,
    options: &LouvainOptions,
    result: &Communities,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let bound = view.id_bound();
    ensure(result.labels.len() == bound as usize, || format!("{} labels", result.labels.len()))?;
    let mut count = 0;
    for (vertex, &label) in (0..bound).zip(&result.labels) {
        control.check()?;
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
) -> Result<f64, AlgorithmError> {
    let lists = |view, weight: &Weight, direction| weighted_lists_in(view, weight, direction);
    let out = lists(view, &options.weight, Direction::Out)?;
    let reverse = match view.one_way() {
        Some(part) => lists(&*part, &options.weight.of_part(&*part), Direction::In)?,
        None => Vec::new(),
    };
    let scale = scale(out.iter().flatten().map(|(_, weight)| *weight));
    let mut degrees = vec![0.0; labels.len()];
    let (mut inside, mut total) = (0.0, 0.0);
    for vertex in (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)) {
        let label = labels[vertex as usize];
        let reverse = reverse.get(vertex as usize).into_iter().flatten();
        // An edge is met at both its ends, a loop only on its way out.
        for &(other, weight) in out[vertex as usize].iter().chain(reverse.filter(|edge| edge.0 != vertex)) {
            let ends = if other == vertex { 2.0 } else { 1.0 };
            let weight = ends * scale * weight;
            total += weight;
            inside += if labels[other as usize] == label { weight } else { 0.0 };
            degrees[label as usize] += weight;
        }
    }
    let squares: f64 = degrees.iter().map(|degree| (degree / total).powi(2)).sum();
    Ok(if total == 0.0 { 0.0 } else { inside / total - options.resolution * squares })
}
