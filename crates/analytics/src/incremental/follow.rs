//! Incremental algorithms by name, all driven the same way.
//!
//! Invariant: an algorithm goes by the name of its batch twin, takes the same arguments, and its outcome has the same
//! columns and values.

use evergraph_types::VertexId;
use evergraph_view::GraphView;

use super::{
    Changes, IncrementalBfs, IncrementalComponents, IncrementalCores, IncrementalDegrees,
    IncrementalPageRank, IncrementalSssp, IncrementalTriangles, TopK,
};
use crate::registry::invalid;
use crate::structure::triangle_count::outcome;
use crate::{
    AlgorithmError, Arguments, BfsOptions, Control, Outcome, PageRankOptions, SsspOptions, VertexColumn,
    algorithm,
};

/// A result that follows a graph.
pub trait Incremental: Send {
    /// Follows the changes to the view after them. After an error the state is of no use any more.
    fn update(&mut self, view: &dyn GraphView, changes: &Changes) -> Result<(), AlgorithmError>;

    /// The result, as that of the batch twin.
    fn outcome(&self) -> Outcome;

    /// The vertices of the largest values in the first column of the result, the largest first, ties by id, as a list;
    /// `None` if these are no numbers. `view` is that of the last update.
    fn top(&mut self, view: &dyn GraphView, count: usize) -> Option<Outcome> {
        let outcome = self.outcome();
        let (name, values) = outcome.columns.into_iter().next()?;
        let (VertexColumn::Counts(_) | VertexColumn::Floats(_)) = &values else { return None };
        let score = |vertex: VertexId| {
            let value = match &values {
                VertexColumn::Counts(counts) => counts.get(vertex as usize).map(|&count| f64::from(count)),
                VertexColumn::Floats(numbers) => numbers.get(vertex as usize).copied(),
                VertexColumn::Vertices(_) => None,
            };
            value
                .filter(|value| *value != f64::from(u32::MAX) && value.is_finite() && view.has_vertex(vertex))
        };
        let largest = TopK::new(count, view.id_bound(), score).result();
        Some(listed(name, largest, matches!(values, VertexColumn::Counts(_))))
    }
}

/// Vertices and their values.
fn listed(name: &'static str, largest: Vec<(VertexId, f64)>, is_count: bool) -> Outcome {
    let (vertices, values): (Vec<VertexId>, Vec<f64>) = largest.into_iter().unzip();
    let values = if is_count {
        VertexColumn::Counts(values.into_iter().map(|value| value as u32).collect())
    } else {
        VertexColumn::Floats(values)
    };
    Outcome::listed(vec![("vertex", VertexColumn::Vertices(vertices)), (name, values)], Vec::new())
}

/// The names of the algorithms that have an incremental twin.
pub fn incremental_algorithms() -> &'static [&'static str] {
    &["bfs", "sssp", "connected_components", "pagerank", "degree_statistics", "triangle_count", "core_number"]
}

/// Whether it makes no difference to the algorithm of this name if edges that were there are among those inserted, as long
/// as nothing is deleted. Then nothing needs to be looked up.
pub fn takes_repeats(name: &str) -> bool {
    matches!(name, "bfs" | "connected_components")
}

/// Runs the algorithm of this name on a view, to follow it from there. Arguments are those of the batch twin.
///
/// # Errors
/// [`AlgorithmError::InvalidArgument`] if no incremental algorithm has this name, and those of the algorithm.
///
/// ```
/// use evergraph_analytics::incremental::{Changes, incremental};
/// use evergraph_analytics::{Arguments, Control, Scalar};
/// use evergraph_view::FlatView;
///
/// let before = FlatView::from_edges(3, &[(0, 1)], false);
/// let after = FlatView::from_edges(3, &[(0, 1), (1, 2)], false);
/// let mut components = incremental("connected_components", &before, &Arguments::new(), &Control::new())?;
/// components.update(&after, &Changes::between(&before, &after, [(1, 2)], []))?;
/// assert_eq!(components.outcome().values[0], ("components", Scalar::Count(1)));
/// # Ok::<(), evergraph_analytics::AlgorithmError>(())
/// ```
pub fn incremental(
    name: &str,
    view: &dyn GraphView,
    arguments: &Arguments,
    control: &Control,
) -> Result<Box<dyn Incremental>, AlgorithmError> {
    let twin = algorithm(name).filter(|_| incremental_algorithms().contains(&name));
    twin.map_or(Ok(()), |twin| twin.require(arguments))?;
    let sources = arguments.vertices("source");
    Ok(match name {
        "bfs" => Box::new(IncrementalBfs::new(view, sources, &BfsOptions::of(arguments), control)?),
        "sssp" => Box::new(IncrementalSssp::new(view, sources, &SsspOptions::of(arguments))?),
        "connected_components" => Box::new(IncrementalComponents::new(view, control)?),
        "pagerank" => Box::new(IncrementalPageRank::new(view, &PageRankOptions::of(arguments), control)?),
        "degree_statistics" => Box::new(IncrementalDegrees::new(view, control)?),
        "triangle_count" => Box::new(IncrementalTriangles::new(view, control)?),
        "core_number" => Box::new(IncrementalCores::new(view, control)?),
        _ => {
            let known = incremental_algorithms().join(", ");
            return Err(invalid("name", format!("{name:?} does not follow a graph; these do: {known}")));
        }
    })
}

/// An algorithm's own methods, as those of the trait.
macro_rules! follows {
    ($($algorithm:ty => |$state:ident| $outcome:expr $(, |$following:ident, $count:ident| $top:expr)?;)*) => {$(
        impl Incremental for $algorithm {
            fn update(&mut self, view: &dyn GraphView, changes: &Changes) -> Result<(), AlgorithmError> {
                <$algorithm>::update(self, view, changes)
            }

            fn outcome(&self) -> Outcome {
                let $state = self;
                $outcome
            }

            $(fn top(&mut self, _: &dyn GraphView, $count: usize) -> Option<Outcome> {
                let $following = self;
                Some($top)
            })?
        }
    )*};
}

follows! {
    IncrementalBfs => |state| state.result().into();
    IncrementalSssp => |state| state.result().into();
    IncrementalComponents => |state| state.result().into();
    IncrementalPageRank => |state| state.result().into();
    IncrementalDegrees => |state| state.result().into(), |state, count| top_degrees(state, count);
    IncrementalTriangles => |state| outcome(state.count());
    IncrementalCores => |state| state.result().into();
}

fn top_degrees(state: &mut IncrementalDegrees, count: usize) -> Outcome {
    let largest = state.top(count).into_iter();
    listed("degree", largest.map(|(vertex, degree)| (vertex, f64::from(degree))).collect(), true)
}
