//! Betweenness centrality: the share of shortest paths that lead through a vertex.
//!
//! Method: Brandes' accumulation (Brandes, "A Faster Algorithm for Betweenness Centrality", J. Mathematical Sociology 25,
//! 2001, section 4), from all vertices or from a sample of them (Brandes, Pich, "Centrality Estimation in Large Networks",
//! 2007). For each source a breadth-first search gives the levels; then each level pulls from the one beside it:
//!
//! ```text
//!  down   paths[v]  = sum of paths[u]                    over edges u -> v from the level before
//!  up     depend[u] = paths[u] * sum of (1 + depend[v]) / paths[v]    over edges u -> v to the level after
//! ```
//!
//! What a level hands on lies in one array that is 0 for all other vertices, so that a pull adds up its list without a
//! look at levels. Complexity: O(sources * (V + E)); parallel edges count once, as in NetworkX. Paths that
//! are shortest by weight are for `weighted_betweenness.rs`.
//!
//! Invariant: sums are taken in order of lists and of sources, so the result does not depend on threads.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatTable, FlatView, GraphView};

use crate::engine::control::{ensure, require_sources};
use crate::engine::gather::sum_over;
use crate::engine::parallel::{blocks, in_pool, map, try_map};
use crate::engine::random::sample;
use crate::engine::simple::simple;
use crate::engine::weights::Weight;
use crate::ranking::weighted_betweenness::{accumulate as accumulate_by_weight, accumulate_slowly};
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, OPTIONAL_WEIGHT, Outcome, SEED, Scalar, VertexColumn,
    invalid,
};
use crate::{AlgorithmError, BfsOptions, Control, UNREACHED, bfs};

/// Levels of fewer vertices than this are pulled on the calling thread.
const SEQUENTIAL_VERTICES: usize = 1 << 9;

/// Vertices of a level that are visited by one task.
const VERTICES_PER_TASK: usize = 1 << 8;

/// How many vertices of a level ahead table entries and lists are asked for, and how much of a list.
const ENTRIES_AHEAD: usize = 24;
const LISTS_AHEAD: usize = 8;
const LIST_BYTES: usize = 256;

/// Graphs with fewer vertices and entries than this are searched from several sources at once.
const SMALL_GRAPH: u64 = 1 << 18;

/// How many sources at once.
const SOURCES_AT_ONCE: usize = 32;

/// Which shortest paths count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sources {
    /// Those from every vertex: the exact betweenness.
    #[default]
    All,
    /// Those from so many vertices, drawn with a seed: an estimate.
    Sample {
        /// How many: at least one, and no more than there are.
        k: u64,
        /// Where random numbers begin.
        seed: u64,
    },
    /// Those from these vertices, taken as a sample; none of none.
    Given(Vec<VertexId>),
}

/// The arguments of [`betweenness_centrality`]; names and defaults are those of NetworkX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BetweennessOptions {
    /// Where paths begin.
    pub sources: Sources,
    /// Divide by the number of pairs of other vertices.
    pub normalized: bool,
    /// Count the ends of a path too.
    pub endpoints: bool,
    /// What an edge weighs, above 0: paths are shortest by weight. 1 by default.
    pub weight: Weight,
}

impl Default for BetweennessOptions {
    fn default() -> Self {
        BetweennessOptions { sources: Sources::All, normalized: true, endpoints: false, weight: Weight::One }
    }
}

/// The betweenness of each vertex id; 0 where there is no vertex. A single sampled source itself has no estimate and
/// is not a number, as in NetworkX.
///
/// ```
/// use evergraph_analytics::{BetweennessOptions, Control, betweenness_centrality};
/// use evergraph_view::FlatView;
///
/// let path = FlatView::from_edges(3, &[(0, 1), (1, 2)], true);
/// let scores = betweenness_centrality(&path, &BetweennessOptions::default(), &Control::new())?;
/// assert_eq!(scores, [0.0, 1.0, 0.0]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn betweenness_centrality(
    view: &dyn GraphView,
    options: &BetweennessOptions,
    control: &Control,
) -> Result<Vec<f64>, AlgorithmError> {
    match &options.sources {
        Sources::Given(sources) => require_sources(view, sources)?,
        Sources::Sample { k, .. } if !(1..=view.num_vertices()).contains(k) => {
            let why = format!("{k} is not from 1 to the number of vertices, {}", view.num_vertices());
            return Err(invalid("k", why));
        }
        Sources::Sample { .. } | Sources::All => {}
    }
    if options.weight.lists(view)?.is_some() {
        return in_pool(|| by_weight(view, options, control));
    }
    in_pool(|| {
        let flat = simple(view.flat(), control)?.end_to_end(|| control.check())?;
        let sources = chosen(view, &options.sources);
        let mut scores = vec![0.0; flat.id_bound() as usize];
        let at_once =
            if flat.num_vertices() + flat.num_entries() < SMALL_GRAPH { SOURCES_AT_ONCE } else { 1 };
        control.check()?;
        control.progress(0, sources.len() as u64);
        for (batch, sources_of_batch) in sources.chunks(at_once).enumerate() {
            for part in try_map(control, sources_of_batch, |&source| Search::run(&flat, source, control))? {
                part.add_to(&mut scores, options.endpoints);
            }
            control.progress((batch * at_once + sources_of_batch.len()) as u64, sources.len() as u64);
        }
        rescale(view, options, &sources, &mut scores);
        Ok(scores)
    })
}

fn by_weight(
    view: &dyn GraphView,
    options: &BetweennessOptions,
    control: &Control,
) -> Result<Vec<f64>, AlgorithmError> {
    let sources = chosen(view, &options.sources);
    let mut scores = vec![0.0; view.id_bound() as usize];
    accumulate_by_weight(view, &options.weight, (&sources, options.endpoints), &mut scores, control)?;
    rescale(view, options, &sources, &mut scores);
    Ok(scores)
}

/// The sources, ascending, each once.
fn chosen(view: &dyn GraphView, sources: &Sources) -> Vec<VertexId> {
    let existing = || (0..view.id_bound()).filter(|&vertex| view.has_vertex(vertex)).collect::<Vec<_>>();
    match sources {
        Sources::All => existing(),
        Sources::Sample { k, seed } => {
            let existing = existing();
            sample(existing.len() as u64, *k, *seed)
                .into_iter()
                .map(|index| existing[index as usize])
                .collect()
        }
        Sources::Given(vertices) => {
            let mut vertices = vertices.clone();
            vertices.sort_unstable();
            vertices.dedup();
            vertices
        }
    }
}

/// One source: its levels and what depends on each vertex.
struct Search {
    source: VertexId,
    /// The vertices that are reached, level by level; level `l` is `levels[starts[l]..starts[l + 1]]`.
    levels: Vec<VertexId>,
    starts: Vec<usize>,
    dependencies: Vec<AtomicU64>,
}

impl Search {
    fn run(flat: &FlatView, source: VertexId, control: &Control) -> Result<Self, AlgorithmError> {
        let found = bfs(flat, &[source], &BfsOptions::default(), &control.of_part())?;
        control.check()?;
        let (levels, starts) = by_level(&found.distances, found.depth);
        let zeros = || -> Vec<AtomicU64> {
            vec![0; flat.id_bound() as usize].into_iter().map(AtomicU64::new).collect()
        };
        let (paths, handed_on) = (zeros(), zeros());
        let search = Search { source, levels, starts, dependencies: zeros() };
        set(&paths, source, 1.0);
        for level in 1..=found.depth as usize {
            control.check()?;
            search.for_each(level - 1, |vertex, _| set(&handed_on, vertex, get(&paths, vertex)));
            search.for_each(level, |vertex, later| {
                set(&paths, vertex, pull(flat.table(Direction::In), vertex, later, &handed_on));
            });
            search.for_each(level - 1, |vertex, _| set(&handed_on, vertex, 0.0));
        }
        for level in (0..found.depth as usize).rev() {
            control.check()?;
            search.for_each(level + 1, |vertex, _| {
                let dependency = get(&search.dependencies, vertex);
                set(&handed_on, vertex, (1.0 + dependency) / get(&paths, vertex));
            });
            search.for_each(level, |vertex, later| {
                let sum = pull(flat.table(Direction::Out), vertex, later, &handed_on);
                set(&search.dependencies, vertex, get(&paths, vertex) * sum);
            });
            search.for_each(level + 1, |vertex, _| set(&handed_on, vertex, 0.0));
        }
        Ok(search)
    }

    /// Calls `visit` with each vertex of a level and those that come after it.
    fn for_each(&self, level: usize, visit: impl Fn(VertexId, &[VertexId]) + Sync) {
        let vertices = &self.levels[self.starts[level]..self.starts[level + 1]];
        let visit = |place: usize| visit(vertices[place], &vertices[place + 1..]);
        if vertices.len() < SEQUENTIAL_VERTICES {
            (0..vertices.len()).for_each(visit);
        } else {
            map(blocks(vertices.len(), VERTICES_PER_TASK), |block| block.for_each(visit));
        }
    }

    fn add_to(&self, scores: &mut [f64], endpoints: bool) {
        let end = if endpoints { 1.0 } else { 0.0 };
        for &vertex in self.levels.iter().filter(|&&vertex| vertex != self.source) {
            scores[vertex as usize] += get(&self.dependencies, vertex) + end;
        }
        scores[self.source as usize] += end * (self.levels.len() - 1) as f64;
    }
}

/// The reached vertices by distance, and where each level begins.
fn by_level(distances: &[u32], depth: u32) -> (Vec<VertexId>, Vec<usize>) {
    let mut starts = vec![0; depth as usize + 2];
    let reached = || (0..).zip(distances).filter(|(_, distance)| **distance != UNREACHED);
    reached().for_each(|(_, &distance)| starts[distance as usize + 1] += 1);
    for level in 0..=depth as usize {
        starts[level + 1] += starts[level];
    }
    let mut next = starts.clone();
    let mut levels = vec![0; starts[depth as usize + 1]];
    for (vertex, &distance) in reached() {
        levels[next[distance as usize]] = vertex;
        next[distance as usize] += 1;
    }
    (levels, starts)
}

#[inline]
fn get(values: &[AtomicU64], vertex: VertexId) -> f64 {
    f64::from_bits(values[vertex as usize].load(Relaxed))
}

#[inline]
fn set(values: &[AtomicU64], vertex: VertexId, value: f64) {
    values[vertex as usize].store(value.to_bits(), Relaxed);
}

/// The sum of the values of a vertex's neighbors. Asks for the lists of vertices that come `later`.
fn pull(table: &FlatTable, vertex: VertexId, later: &[VertexId], values: &[AtomicU64]) -> f64 {
    later.get(ENTRIES_AHEAD).into_iter().for_each(|&vertex| table.prefetch_entry(vertex));
    later.get(LISTS_AHEAD).into_iter().for_each(|&vertex| table.prefetch_list(vertex, LIST_BYTES));
    sum_over(table.neighbors(vertex), values, |value| f64::from_bits(value.load(Relaxed)))
}

/// Scales as NetworkX does: by pairs of vertices, and up from the sample to all.
fn rescale(view: &dyn GraphView, options: &BetweennessOptions, sources: &[VertexId], scores: &mut [f64]) {
    let vertices = view.num_vertices() as f64;
    let others = if options.endpoints { vertices } else { vertices - 1.0 };
    if others < 2.0 {
        return;
    }
    let sampled = options.sources != Sources::All;
    let scale = |count: f64| match (options.normalized, view.is_symmetric()) {
        (true, _) => 1.0 / (count * (others - 1.0)),
        (false, symmetric) => others / (count * if symmetric { 2.0 } else { 1.0 }),
    };
    let count = if sampled { sources.len() as f64 } else { others };
    let usual = if count > 0.0 { scale(count) } else { 0.0 };
    let mut scales = vec![usual; scores.len()];
    if sampled && !options.endpoints {
        // A source is no inner vertex of its own paths, so it has one source less.
        let of_source = if count > 1.0 { scale(count - 1.0) } else { f64::NAN };
        sources.iter().for_each(|&source| scales[source as usize] = of_source);
    }
    scores.iter_mut().zip(scales).for_each(|(score, scale)| *score *= scale);
}

/// Checks scores against Brandes' algorithm as it was published, with a queue and lists of predecessors, from the same
/// sources: O(sources * (V + E)). Sums may differ by rounding.
pub fn verify(
    view: &dyn GraphView,
    options: &BetweennessOptions,
    result: &[f64],
    control: &Control,
) -> Result<(), AlgorithmError> {
    let sources = chosen(view, &options.sources);
    let mut expected = vec![0.0; view.id_bound() as usize];
    if options.weight.lists(view)?.is_some() {
        let ends = (&sources[..], options.endpoints);
        accumulate_slowly(view, &options.weight, ends, &mut expected, control)?;
    } else {
        let lists: Vec<Vec<VertexId>> =
            (0..view.id_bound()).map(|vertex| distinct_neighbors(view, vertex)).collect();
        for &source in &sources {
            control.check()?;
            accumulate(&lists, source, options.endpoints, &mut expected);
        }
    }
    rescale(view, options, &sources, &mut expected);
    ensure(result.len() == expected.len(), || format!("{} scores", result.len()))?;
    for (vertex, (&found, &wanted)) in result.iter().zip(&expected).enumerate() {
        control.check()?;
        let agrees =
            (found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0) || (found.is_nan() && wanted.is_nan());
        ensure(agrees, || format!("vertex {vertex} has {found}, {wanted} expected"))?;
    }
    Ok(())
}

fn distinct_neighbors(view: &dyn GraphView, vertex: VertexId) -> Vec<VertexId> {
    let mut list = Vec::new();
    view.for_each_slice(Direction::Out, vertex, &mut |slice| {
        list.extend_from_slice(slice);
        ControlFlow::Continue(())
    });
    list.sort_unstable();
    list.dedup();
    list
}

fn accumulate(lists: &[Vec<VertexId>], source: VertexId, endpoints: bool, scores: &mut [f64]) {
    let mut distances = vec![UNREACHED; lists.len()];
    let mut paths = vec![0.0; lists.len()];
    let mut before: Vec<Vec<VertexId>> = vec![Vec::new(); lists.len()];
    (distances[source as usize], paths[source as usize]) = (0, 1.0);
    let (mut queue, mut visited) = (VecDeque::from([source]), Vec::new());
    while let Some(vertex) = queue.pop_front() {
        visited.push(vertex);
        for &neighbor in &lists[vertex as usize] {
            let near = distances[vertex as usize];
            if distances[neighbor as usize] == UNREACHED {
                distances[neighbor as usize] = near + 1;
                queue.push_back(neighbor);
            }
            if distances[neighbor as usize] == near + 1 {
                paths[neighbor as usize] += paths[vertex as usize];
                before[neighbor as usize].push(vertex);
            }
        }
    }
    let mut dependencies = vec![0.0; lists.len()];
    for &vertex in visited.iter().rev() {
        for &earlier in &before[vertex as usize] {
            dependencies[earlier as usize] +=
                paths[earlier as usize] / paths[vertex as usize] * (1.0 + dependencies[vertex as usize]);
        }
        if vertex != source {
            scores[vertex as usize] += dependencies[vertex as usize] + f64::from(u8::from(endpoints));
        } else if endpoints {
            scores[vertex as usize] += (visited.len() - 1) as f64;
        }
    }
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "betweenness_centrality",
    summary: "The share of shortest paths that lead through a vertex",
    complexity: "O(V (V + E)), or O(k (V + E)) from k sources",
    source: "Brandes: A Faster Algorithm for Betweenness Centrality, J. Mathematical Sociology 25, 2001, section 4; as \
             networkx.betweenness_centrality",
    arguments: &[
        Argument::optional(
            "k",
            Kind::Count,
            "all",
            "count the shortest paths from so many vertices drawn at random",
        ),
        Argument::optional(
            "sources",
            Kind::Vertices,
            "all",
            "count those from these vertices, and not from k",
        ),
        Argument::optional(
            "normalized",
            Kind::Flag,
            "true",
            "divide by the number of pairs of other vertices",
        ),
        Argument::optional("endpoints", Kind::Flag, "false", "count the ends of a path too"),
        OPTIONAL_WEIGHT,
        SEED,
    ],
    results: &[
        Field { name: "betweenness", summary: "the share of the shortest paths, or their number" },
        Field { name: "sources", summary: "how many vertices the paths begin at" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let seed = arguments.seed(SEED.name).unwrap_or_default();
    let sources = match (arguments.optional_vertices("sources"), arguments.seed("k")) {
        (None, None) => Sources::All,
        (None, Some(k)) => Sources::Sample { k, seed },
        (Some(sources), _) => Sources::Given(sources.to_vec()),
    };
    let options = BetweennessOptions {
        sources,
        normalized: arguments.flag("normalized").unwrap_or(true),
        endpoints: arguments.flag("endpoints").unwrap_or_default(),
        weight: arguments.optional_weight(),
    };
    let result = betweenness_centrality(view, &options, control)?;
    if check == Check::Verify {
        verify(view, &options, &result, control)?;
    }
    let count = chosen(view, &options.sources).len() as u64;
    Ok(Outcome::by_vertex(
        vec![("betweenness", VertexColumn::Floats(result))],
        vec![("sources", Scalar::Count(count))],
    ))
}
