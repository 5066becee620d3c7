//! Random walks from given vertices: at each step along a random edge out.
//!
//! Method: each walk has its own stream of random numbers, so that walks run in parallel and are the same whatever the
//! threads (Perozzi, Al-Rfou, Skiena, "DeepWalk", KDD 2014, section 4.2, takes such walks as sentences). Complexity:
//! O(1) per step on flat lists, O(chunks) on chunked ones.
//!
//! Invariant: consecutive vertices of a walk have an edge between them; a walk is shorter than asked for only if it ends at
//! a vertex without edges out.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};

use crate::engine::control::{ensure, require_sources};
use crate::engine::parallel::{blocks, in_pool, try_map};
use crate::engine::random::Random;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, SEED, Scalar, VertexColumn, invalid,
};
use crate::{AlgorithmError, Control};

/// Walks that are worth a task.
const WALKS_PER_TASK: usize = 16;

/// Steps of a walk between two looks at [`Control`].
const STEPS_PER_CHECK: u32 = 1 << 12;

/// The arguments of [`random_walks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkOptions {
    /// Steps of a walk.
    pub length: u32,
    /// Walks from each source.
    pub walks: u32,
    /// Where random numbers begin.
    pub seed: u64,
}

impl Default for WalkOptions {
    fn default() -> Self {
        WalkOptions { length: 10, walks: 1, seed: 0 }
    }
}

/// Walks from each of `sources` in turn, all walks of one before those of the next. A walk begins with its source.
///
/// ```
/// use evergraph_analytics::{Control, WalkOptions, random_walks};
/// use evergraph_view::FlatView;
///
/// let path = FlatView::from_edges(3, &[(0, 1), (1, 2)], false);
/// let walks = random_walks(&path, &[0, 2], &WalkOptions::default(), &Control::new())?;
/// assert_eq!(walks, [vec![0, 1, 2], vec![2]]);
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn random_walks(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &WalkOptions,
    control: &Control,
) -> Result<Vec<Vec<VertexId>>, AlgorithmError> {
    let WalkOptions { length, walks, seed } = *options;
    let step = |flat: &Arc<FlatView>, (_, vertex): (Option<VertexId>, VertexId), random: &mut Random| {
        let list = flat.out_neighbors(vertex);
        if list.is_empty() { None } else { list.get(random.below(list.len() as u64) as usize) }
    };
    walk_all(view, sources, (walks, length, seed), control, |_| Ok(view.flat()), step)
}

/// So many walks of so many steps from each source, each with random numbers of its own, over what `prepare` gives. `step`
/// takes the vertex before, if there is one, and the one where a walk is, and gives the next.
pub(crate) fn walk_all<T: Sync + Send>(
    view: &dyn GraphView,
    sources: &[VertexId],
    (walks, length, seed): (u32, u32, u64),
    control: &Control,
    prepare: impl FnOnce(&Control) -> Result<T, AlgorithmError> + Send,
    step: impl Fn(&T, (Option<VertexId>, VertexId), &mut Random) -> Option<VertexId> + Sync + Send,
) -> Result<Vec<Vec<VertexId>>, AlgorithmError> {
    require_sources(view, sources)?;
    let count = count_walks(sources.len(), walks, length)?;
    let total = (count as u64 * u64::from(length)).max(1);
    control.check()?;
    control.progress(0, total);
    let done = AtomicU64::new(0);
    let found = in_pool(|| {
        let prepared = prepare(control)?;
        let report = |steps: u32| -> Result<(), AlgorithmError> {
            control.check()?;
            control.progress(done.fetch_add(steps.into(), Relaxed) + u64::from(steps), total);
            Ok(())
        };
        let walk = |number: usize| {
            let mut random = Random::new(seed, number as u64);
            let mut at = (None, sources[number / walks as usize]);
            let (mut walk, mut reported) = (vec![at.1], 0);
            for taken in 0..length {
                if taken - reported == STEPS_PER_CHECK {
                    report(STEPS_PER_CHECK)?;
                    reported = taken;
                }
                let Some(next) = step(&prepared, at, &mut random) else { break };
                walk.push(next);
                at = (Some(at.1), next);
            }
            // A walk that ends early is as much of the work as any.
            report(length - reported)?;
            Ok(walk)
        };
        let tasks = try_map(control, blocks(count, WALKS_PER_TASK), |numbers| {
            numbers.map(walk).collect::<Result<Vec<_>, AlgorithmError>>()
        });
        Ok::<_, AlgorithmError>(tasks?.into_iter().flatten().collect())
    })?;
    control.progress(total, total);
    Ok(found)
}

/// How many walks there are, if their vertices can be counted in 32 bits: what they take is to fit into memory.
fn count_walks(sources: usize, walks: u32, length: u32) -> Result<usize, AlgorithmError> {
    let vertices = sources as u128 * u128::from(walks) * (u128::from(length) + 1);
    if vertices > u128::from(u32::MAX) {
        let why = format!(
            "{walks} walks of {length} steps from each of {sources} sources are {vertices} vertices, more than \
             2^32 - 1; ask for fewer or shorter walks, or for those of some sources at a time"
        );
        return Err(invalid("length", why));
    }
    Ok(sources * walks as usize)
}

/// Checks every step of every walk against the lists: O(sum of the degrees met).
pub fn verify(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &WalkOptions,
    result: &[Vec<VertexId>],
    control: &Control,
) -> Result<(), AlgorithmError> {
    let is_end = |vertex| view.degree(Direction::Out, vertex) == 0;
    verify_walks(view, sources, (options.walks, options.length), result, is_end, control)
}

pub(crate) fn verify_walks(
    view: &dyn GraphView,
    sources: &[VertexId],
    (walks, length): (u32, u32),
    result: &[Vec<VertexId>],
    is_end: impl Fn(VertexId) -> bool,
    control: &Control,
) -> Result<(), AlgorithmError> {
    ensure(result.len() == sources.len() * walks as usize, || format!("{} walks", result.len()))?;
    for (number, walk) in result.iter().enumerate() {
        control.check()?;
        let source = sources[number / walks.max(1) as usize];
        ensure(walk.first() == Some(&source), || format!("walk {number} does not begin at {source}"))?;
        for step in walk.windows(2) {
            let mut found = false;
            view.for_each_slice(Direction::Out, step[0], &mut |slice| {
                found |= slice.contains(&step[1]);
                if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            ensure(found, || format!("walk {number} goes from {} to {} without an edge", step[0], step[1]))?;
        }
        let full = length as usize + 1;
        let stuck = walk.last().is_some_and(|&last| is_end(last));
        ensure(walk.len() == full || (walk.len() < full && stuck), || {
            format!("walk {number} has {} steps", walk.len() - 1)
        })?;
    }
    Ok(())
}

pub(crate) static ALGORITHM: Algorithm = Algorithm {
    name: "random_walks",
    summary: "Walks along random edges out",
    complexity: "O(steps)",
    source: "Perozzi, Al-Rfou, Skiena: DeepWalk, KDD 2014, section 4.2",
    arguments: &[
        Argument::required("source", Kind::Vertices, "the vertices to start from"),
        Argument::optional("length", Kind::Count, "10", "the steps of a walk"),
        Argument::optional("walks", Kind::Count, "1", "walks from each vertex"),
        SEED,
    ],
    results: &[
        Field { name: "vertex", summary: "the vertices of all walks, one walk after the other" },
        Field { name: "walk", summary: "the number of the walk, from 0" },
        Field { name: "step", summary: "the steps before it, from 0" },
        Field { name: "walks", summary: "how many walks there are" },
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
    let default = WalkOptions::default();
    let options = WalkOptions {
        length: arguments.count("length").unwrap_or(default.length),
        walks: arguments.count("walks").unwrap_or(default.walks),
        seed: arguments.seed(SEED.name).unwrap_or(default.seed),
    };
    let result = random_walks(view, sources, &options, control)?;
    if check == Check::Verify {
        verify(view, sources, &options, &result, control)?;
    }
    Ok(outcome(&result))
}

/// The walks as a table of their vertices.
pub(crate) fn outcome(walks: &[Vec<VertexId>]) -> Outcome {
    let numbered = (0..).zip(walks);
    let numbers = numbered.flat_map(|(number, walk)| std::iter::repeat_n(number, walk.len())).collect();
    let steps = walks.iter().flat_map(|walk| 0..walk.len() as u32).collect();
    Outcome::listed(
        vec![
            ("vertex", VertexColumn::Vertices(walks.concat())),
            ("walk", VertexColumn::Counts(numbers)),
            ("step", VertexColumn::Counts(steps)),
        ],
        vec![("walks", Scalar::Count(walks.len() as u64))],
    )
}
