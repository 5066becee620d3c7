//! Temporal reachability: when the first news from a source can be at every vertex, over edges that are there at one time.
//!
//! Method: one pass over the edges in order of time (Wu, Cheng, Huang, Ke, Lu, Xu, "Path Problems in Temporal Graphs",
//! PVLDB 7(9), 2014, section 4.1: earliest arrival), edges sorted in parallel. Edges of the same time follow each other
//! within that time, unless paths are strict.
//!
//! ```text
//!  time   1: a-b   3: b-c   3: c-d   2: d-e        from a:  b at 1, c at 3, d at 3 (not if strict), e never:
//!                                                           the edge d-e was there before the news
//! ```
//!
//! Edges without a time are not there. Times are compared exactly: where one is a whole number that a double has to round,
//! edges carry what was rounded off as well. Complexity: O(E log E).
//!
//! Invariant: a vertex's arrival is the time of the edge from its parent, and not before the arrival there.

use evergraph_types::{Direction, VertexId};
use evergraph_view::{GraphView, WeightedList};

use crate::engine::control::{ensure, require_sources};
use crate::engine::parallel::in_pool;
use crate::engine::sort::sorted;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, Scalar, VertexColumn, invalid,
    unfit_property,
};
use crate::{AlgorithmError, Control, NO_VERTEX, Ranges};

/// Edges passed over between two looks at [`Control`].
const EDGES_PER_CHECK: usize = 1 << 16;

/// The arguments of [`temporal_reachability`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemporalOptions {
    /// The property of edges that is their time; that of the edge types if absent.
    pub time: Option<String>,
    /// Edges before this time are not there.
    pub start: Option<f64>,
    /// Edges after this time are not there.
    pub end: Option<f64>,
    /// Each edge of a path is later than the one before, not at the same time.
    pub strict: bool,
}

/// What [`temporal_reachability`] found, by vertex id.
#[derive(Clone, Debug, PartialEq)]
pub struct TemporalReachability {
    /// The earliest time at which a path from a source can be there, as the nearest double; of a source the start, or the
    /// earliest time of any edge; infinite where there is no path.
    pub arrivals: Vec<f64>,
    /// The vertex before on such a path; a source's is itself; [`NO_VERTEX`] where there is no path.
    pub parents: Vec<VertexId>,
    /// How many vertices were reached, sources included.
    pub reached: u64,
}

/// The earliest arrivals from `sources` over edges in order of time.
///
/// ```
/// use evergraph_analytics::{Control, TemporalOptions, temporal_reachability};
/// use evergraph_view::FlatView;
///
/// let edges = [(0, 1, 5.0), (1, 2, 7.0), (1, 3, 4.0)];
/// let view = FlatView::from_weighted_edges(4, &edges, false);
/// let options = TemporalOptions { time: Some("weight".to_owned()), ..TemporalOptions::default() };
/// let found = temporal_reachability(&view, &[0], &options, &Control::new())?;
/// assert_eq!(found.arrivals, [4.0, 5.0, 7.0, f64::INFINITY]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn temporal_reachability(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &TemporalOptions,
    control: &Control,
) -> Result<TemporalReachability, AlgorithmError> {
    require_sources(view, sources)?;
    for (name, limit) in [("start", options.start), ("end", options.end)] {
        if limit.is_some_and(f64::is_nan) {
            return Err(invalid(name, "it is a time, a number".to_owned()));
        }
    }
    in_pool(|| match edges_in_order::<()>(view, options, control)? {
        Some(edges) => search(view, sources, options, &edges, control),
        None => {
            let edges = edges_in_order::<i16>(view, options, control)?.unwrap_or_default();
            search(view, sources, options, &edges, control)
        }
    })
}

fn search<R: Remainder>(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &TemporalOptions,
    edges: &[TimedEdge<R>],
    control: &Control,
) -> Result<TemporalReachability, AlgorithmError> {
    let mut search = Search::new(view.id_bound(), sources);
    let (mut passed, mut next_check) = (0, EDGES_PER_CHECK);
    control.progress(0, edges.len().max(1) as u64);
    for group in edges.chunk_by(|left, right| left.moment() == right.moment()) {
        search.pass(group, options.strict);
        passed += group.len();
        if passed >= next_check {
            next_check = passed + EDGES_PER_CHECK;
            control.check()?;
            control.progress(passed as u64, edges.len() as u64);
        }
    }
    let earliest = edges.first().map_or(0.0, |edge| edge.time);
    Ok(search.finish(sources, options.start.filter(|start| start.is_finite()).unwrap_or(earliest)))
}

/// What the times of edges have above the doubles that they were rounded to.
trait Remainder: Copy + Default + Ord + Send + Sync {
    /// `None` if it cannot be kept.
    fn of(remainder: i16) -> Option<Self>;
}

/// Nothing: all times are doubles.
impl Remainder for () {
    fn of(remainder: i16) -> Option<Self> {
        (remainder == 0).then_some(())
    }
}

impl Remainder for i16 {
    fn of(remainder: i16) -> Option<Self> {
        Some(remainder)
    }
}

/// An edge that is there at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TimedEdge<R> {
    time: f64,
    remainder: R,
    src: VertexId,
    dst: VertexId,
}

impl<R: Remainder> TimedEdge<R> {
    /// When it is there; moments are in the order of the exact times.
    fn moment(&self) -> (f64, R) {
        (self.time, self.remainder)
    }
}

/// The edges between start and end, by time, then by their ends; `None` if the remainders of their times cannot be kept.
fn edges_in_order<R: Remainder>(
    view: &dyn GraphView,
    options: &TemporalOptions,
    control: &Control,
) -> Result<Option<Vec<TimedEdge<R>>>, AlgorithmError> {
    let property = match &options.time {
        Some(property) => property.clone(),
        None => view.time_property().ok_or_else(|| {
            invalid("time", "the edge types do not say which property is their time; name it".to_owned())
        })?,
    };
    let lists = view.weighted_lists(&property).map_err(|error| unfit_property("time", &error))?;
    let start = (options.start.unwrap_or(f64::NEG_INFINITY), 0);
    let end = (options.end.unwrap_or(f64::INFINITY), 0);
    control.check()?;
    let pieces = Ranges::by_edges(&view.flat(), Direction::Out).map(control, |range| {
        let (mut list, mut edges) = (WeightedList::exact(f64::NAN), Vec::new());
        for src in range {
            list.clear();
            lists.append(Direction::Out, src, &mut list);
            let there = list.iter().zip(&list.remainders).filter(|&((_, time), &remainder)| {
                time.is_finite() && start <= (time, remainder) && (time, remainder) <= end
            });
            for ((dst, time), &remainder) in there {
                edges.push(TimedEdge { time, remainder: R::of(remainder)?, src, dst });
            }
        }
        Some(edges)
    })?;
    let Some(pieces) = pieces.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    let order = |left: &TimedEdge<R>, right: &TimedEdge<R>| {
        let times = left.time.total_cmp(&right.time).then(left.remainder.cmp(&right.remainder));
        times.then((left.src, left.dst).cmp(&(right.src, right.dst)))
    };
    sorted(pieces.concat(), order, control).map(Some)
}

struct Search {
    arrivals: Vec<f64>,
    parents: Vec<VertexId>,
    /// Vertices that the group at hand has reached, and whose edges in it are still to be followed.
    stack: Vec<VertexId>,
    reached: Vec<(VertexId, VertexId)>,
}

impl Search {
    fn new(bound: VertexId, sources: &[VertexId]) -> Self {
        let (mut arrivals, mut parents) =
            (vec![f64::INFINITY; bound as usize], vec![NO_VERTEX; bound as usize]);
        for &source in sources {
            (arrivals[source as usize], parents[source as usize]) = (f64::NEG_INFINITY, source);
        }
        Search { arrivals, parents, stack: Vec::new(), reached: Vec::new() }
    }

    fn is_reached(&self, vertex: VertexId) -> bool {
        self.parents[vertex as usize] != NO_VERTEX
    }

    /// Passes over the edges of one time, which are in the order of their sources.
    fn pass<R: Remainder>(&mut self, group: &[TimedEdge<R>], strict: bool) {
        for edge in group {
            if self.is_reached(edge.src) && !self.is_reached(edge.dst) {
                self.reached.push((edge.dst, edge.src));
            }
        }
        while !self.reached.is_empty() {
            let mut reached = std::mem::take(&mut self.reached);
            for (vertex, parent) in reached.drain(..) {
                if !self.is_reached(vertex) {
                    self.parents[vertex as usize] = parent;
                    self.arrivals[vertex as usize] = group[0].time;
                    self.stack.push(vertex);
                }
            }
            self.reached = reached;
            if strict || group.len() == 1 {
                self.stack.clear();
            }
            while let Some(src) = self.stack.pop() {
                let first = group.partition_point(|edge| edge.src < src);
                for edge in group[first..].iter().take_while(|edge| edge.src == src) {
                    if !self.is_reached(edge.dst) {
                        self.reached.push((edge.dst, src));
                    }
                }
            }
        }
    }

    fn finish(mut self, sources: &[VertexId], start: f64) -> TemporalReachability {
        sources.iter().for_each(|&source| self.arrivals[source as usize] = start);
        let reached = self.parents.iter().filter(|&&parent| parent != NO_VERTEX).count() as u64;
        TemporalReachability { arrivals: self.arrivals, parents: self.parents, reached }
    }
}

/// Checks a result against passing over all edges until no arrival changes, in any order: O(V E) at worst.
pub fn verify(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &TemporalOptions,
    result: &TemporalReachability,
    control: &Control,
) -> Result<(), AlgorithmError> {
    let edges = edges_in_order::<i16>(view, options, &control.of_part())?.unwrap_or_default();
    let (never, always) = ((f64::INFINITY, 0), (f64::NEG_INFINITY, 0));
    let mut arrivals = vec![never; view.id_bound() as usize];
    sources.iter().for_each(|&source| arrivals[source as usize] = always);
    let can_leave = |arrival, time| if options.strict { arrival < time } else { arrival <= time };
    let mut changed = true;
    while std::mem::take(&mut changed) {
        control.check()?;
        for edge in edges.iter().rev() {
            let place = (edge.src as usize, edge.dst as usize);
            if can_leave(arrivals[place.0], edge.moment()) && edge.moment() < arrivals[place.1] {
                arrivals[place.1] = edge.moment();
                changed = true;
            }
        }
    }
    ensure(result.arrivals.len() == arrivals.len(), || format!("{} arrivals", result.arrivals.len()))?;
    ensure(result.parents.len() == arrivals.len(), || format!("{} parents", result.parents.len()))?;
    // Whether an edge from the parent arrives when its vertex is reached.
    let mut is_given = vec![false; arrivals.len()];
    for edge in edges.iter().filter(|edge| result.parents[edge.dst as usize] == edge.src) {
        control.check()?;
        let arrives = edge.moment() == arrivals[edge.dst as usize];
        is_given[edge.dst as usize] |= arrives && can_leave(arrivals[edge.src as usize], edge.moment());
    }
    let mut reached = 0;
    for (vertex, (&found, &(wanted, _))) in (0..).zip(result.arrivals.iter().zip(&arrivals)) {
        control.check()?;
        let parent = result.parents[vertex as usize];
        reached += u64::from(wanted < f64::INFINITY);
        let holds = match wanted {
            f64::INFINITY => parent == NO_VERTEX && found == wanted,
            f64::NEG_INFINITY => parent == vertex && found.is_finite(),
            _ => found == wanted && is_given[vertex as usize],
        };
        ensure(holds, || format!("vertex {vertex} is reached at {found} from {parent}, {wanted} expected"))?;
    }
    ensure(result.reached == reached, || format!("{} reached, {reached} expected", result.reached))
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "temporal_reachability",
    summary: "The earliest time at which a path over edges in order of time can be at every vertex",
    complexity: "O(E log E)",
    source: "Wu, Cheng, Huang, Ke, Lu, Xu: Path Problems in Temporal Graphs, PVLDB 7(9), 2014, section 4.1",
    arguments: &[
        Argument::required("source", Kind::Vertices, "the vertices to start from"),
        Argument::optional(
            "time",
            Kind::Text,
            "that of the edge types",
            "the property of edges that is their time; a timestamp counts in microseconds since 1970, and a date as its \
             midnight",
        ),
        Argument::optional("start", Kind::Float, "none", "edges before this time are not there"),
        Argument::optional("end", Kind::Float, "none", "edges after this time are not there"),
        Argument::optional("strict", Kind::Flag, "false", "each edge is later than the one before"),
    ],
    results: &[
        Field {
            name: "arrival",
            summary: "the earliest time there, as the nearest double; of a source the start, or the earliest time of an \
                      edge; infinite if not reached",
        },
        Field { name: "parent", summary: "the vertex before; a source's is itself; null if not reached" },
        Field { name: "reached", summary: "vertices reached, sources included" },
    ],
    run,
};

fn run(
    view: &dyn GraphView,
    arguments: &Arguments,
    check: Check,
    control: &Control,
) -> Result<Outcome, AlgorithmError> {
    let sources = arguments.vertices("source");
    let options = TemporalOptions {
        time: arguments.text("time").map(str::to_owned),
        start: arguments.float("start"),
        end: arguments.float("end"),
        strict: arguments.flag("strict").unwrap_or_default(),
    };
    let result = temporal_reachability(view, sources, &options, control)?;
    if check == Check::Verify {
        verify(view, sources, &options, &result, control)?;
    }
    Ok(Outcome::by_vertex(
        vec![
            ("arrival", VertexColumn::Floats(result.arrivals)),
            ("parent", VertexColumn::Vertices(result.parents)),
        ],
        vec![("reached", Scalar::Count(result.reached))],
    ))
}
