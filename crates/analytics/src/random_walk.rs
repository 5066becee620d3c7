//! Random walks from given vertices: at each step along a random edge out.
//!
//! Method: each walk has its own stream of random numbers, so that walks run in parallel and are the same whatever the
//! threads (Perozzi, Al-Rfou, Skiena, "DeepWalk", KDD 2014, section 4.2, takes such walks as sentences). Complexity:
//! O(1) per step on flat lists, O(chunks) on chunked ones.
//!
//! Invariant: consecutive vertices of a walk have an edge between them; a walk is shorter than asked for only if it ends at
//! a vertex without edges out.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatView, GraphView};
use rayon::prelude::*;

use crate::control::{ensure, in_pool, require_sources};
use crate::random::Random;
use crate::registry::{
    Algorithm, Argument, Arguments, Check, Field, Kind, Outcome, SEED, Scalar, VertexColumn, invalid,
};
use crate::{AlgorithmError, Control, VerifyError};

/// Walks between two looks at [`Control`].
const WALKS_PER_TASK: usize = 16;

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
    walk_all(
        view,
        sources,
        (walks, seed),
        control,
        |_| Ok(view.flat()),
        |flat, source, random| walk(flat, source, length, random),
    )
}

/// So many walks from each source, each with random numbers of its own, over what `prepare` gives.
pub(crate) fn walk_all<T: Sync + Send>(
    view: &dyn GraphView,
    sources: &[VertexId],
    (walks, seed): (u32, u64),
    control: &Control,
    prepare: impl FnOnce(&Control) -> Result<T, AlgorithmError> + Send,
    walk: impl Fn(&T, VertexId, &mut Random) -> Vec<VertexId> + Sync + Send,
) -> Result<Vec<Vec<VertexId>>, AlgorithmError> {
    require_sources(view, sources)?;
    let count = sources.len().checked_mul(walks as usize).filter(|&count| u32::try_from(count).is_ok());
    let count =
        count.ok_or_else(|| invalid("walks", "there are more than 2^32 - 1 walks in all".to_owned()))?;
    control.check()?;
    control.progress(0, count as u64);
    let done = AtomicU64::new(0);
    let found = in_pool(|| {
        let prepared = prepare(control)?;
        let numbers = (0..count).into_par_iter().with_min_len(WALKS_PER_TASK);
        let found = numbers.map(|number| {
            control.check()?;
            let mut random = Random::new(seed, number as u64);
            let found = walk(&prepared, sources[number / walks as usize], &mut random);
            control.progress(done.fetch_add(1, Relaxed) + 1, count as u64);
            Ok(found)
        });
        found.collect::<Result<Vec<_>, AlgorithmError>>()
    })?;
    control.progress(count as u64, count as u64);
    Ok(found)
}

fn walk(flat: &FlatView, source: VertexId, length: u32, random: &mut Random) -> Vec<VertexId> {
    let mut walk = vec![source];
    let mut vertex = source;
    for _ in 0..length {
        let list = flat.out_neighbors(vertex);
        if list.is_empty() {
            break;
        }
        let Some(next) = list.get(random.below(list.len() as u64) as usize) else { break };
        walk.push(next);
        vertex = next;
    }
    walk
}

/// Checks every step of every walk against the lists: O(sum of the degrees met).
pub fn verify(
    view: &dyn GraphView,
    sources: &[VertexId],
    options: &WalkOptions,
    result: &[Vec<VertexId>],
) -> Result<(), VerifyError> {
    let is_end = |vertex| view.degree(Direction::Out, vertex) == 0;
    verify_walks(view, sources, (options.walks, options.length), result, is_end)
}

pub(crate) fn verify_walks(
    view: &dyn GraphView,
    sources: &[VertexId],
    (walks, length): (u32, u32),
    result: &[Vec<VertexId>],
    is_end: impl Fn(VertexId) -> bool,
) -> Result<(), VerifyError> {
    ensure(result.len() == sources.len() * walks as usize, || format!("{} walks", result.len()))?;
    for (number, walk) in result.iter().enumerate() {
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
        verify(view, sources, &options, &result)?;
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
