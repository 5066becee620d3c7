//! The algorithms, each as both sides run it, and how their results are compared: once, outside the times.

use clap::ValueEnum;
use evergraph::algorithms::{
    self, BetweennessOptions, BfsOptions, Control, PageRankOptions, Sources, SsspOptions, Weight,
    betweenness_centrality,
};
use evergraph::{GraphView, VertexId};
use evergraph_yardstick as yardstick;

use super::graphs::{Task, Views};
use crate::error::CommandError;

/// Small enough never to end the iterations early, large enough for single precision.
const TOLERANCE: f64 = 1e-11;
pub(super) const ITERATIONS: u32 = 10;
/// Iterations after which both sides are at the fixed point.
const ITERATIONS_TO_END: u32 = 80;
/// How far the sums of scores may be apart, and a betweenness in single precision from one in double.
const DIFFERENCE: f64 = 1e-3;
/// The bucket width that GAPBS takes for these graphs.
const DELTA: u32 = 2;

/// An algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kernel {
    /// Breadth-first search from 4 sources
    Bfs,
    /// 10 iterations
    Pagerank,
    /// Connected components
    Components,
    /// Shortest paths from 4 sources, lengths 1 to 255
    Sssp,
    /// From 4 sources
    Betweenness,
    /// Triangle count
    Triangles,
}

impl Kernel {
    /// As the table has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kernel::Bfs => "bfs",
            Kernel::Pagerank => "pagerank",
            Kernel::Components => "components",
            Kernel::Sssp => "sssp",
            Kernel::Betweenness => "betweenness",
            Kernel::Triangles => "triangles",
        }
    }

    /// How often it is run for each repeat: short ones more often.
    pub(super) fn turns(self) -> usize {
        match self {
            Kernel::Bfs | Kernel::Components => 5,
            Kernel::Pagerank | Kernel::Betweenness => 3,
            Kernel::Sssp | Kernel::Triangles => 1,
        }
    }

    /// Runs ours, as it is timed.
    pub(super) fn ours(self, views: &Views, task: &Task) -> Result<(), CommandError> {
        match self {
            Kernel::Bfs => drop(reached(views, task)?),
            Kernel::Pagerank => drop(pagerank(views, ITERATIONS, TOLERANCE)?),
            Kernel::Components => drop(algorithms::connected_components(&views.plain, &Control::new())?),
            Kernel::Sssp => {
                task.sources.iter().try_for_each(|&source| distances(views, source).map(drop))?;
            }
            Kernel::Betweenness => drop(betweenness(views, task)?),
            Kernel::Triangles => drop(algorithms::triangle_count(&views.plain, &Control::new())?),
        }
        Ok(())
    }

    /// Runs the yardstick's, as it is timed.
    pub(super) fn theirs(self, task: &Task) {
        match self {
            Kernel::Bfs => {
                task.sources.iter().for_each(|&source| drop(yardstick::bfs(&task.graph, source)));
            }
            Kernel::Pagerank => {
                let options = yardstick::PageRankOptions::iterations(ITERATIONS as usize);
                drop(yardstick::pagerank::<f32>(&task.graph, options));
            }
            Kernel::Components => drop(yardstick::components(&task.graph)),
            Kernel::Sssp => {
                task.sources.iter().for_each(|&source| drop(yardstick::sssp(&task.lengths, source, DELTA)))
            }
            Kernel::Betweenness => drop(yardstick::betweenness(&task.graph, &task.sources)),
            Kernel::Triangles => {
                yardstick::triangles(&task.graph);
            }
        }
    }

    /// Whether both sides find the same, and what.
    pub(super) fn compare(self, views: &Views, task: &Task) -> Result<(bool, String), CommandError> {
        let vertices = || (0..views.plain.id_bound()).filter(|&vertex| views.plain.has_vertex(vertex));
        match self {
            Kernel::Bfs => {
                let theirs = task.sources.iter().map(|&source| {
                    let parents = yardstick::bfs(&task.graph, source);
                    parents.iter().filter(|&&parent| parent != yardstick::UNREACHED).count() as u64
                });
                let (ours, theirs) = (reached(views, task)?, theirs.sum::<u64>());
                Ok((ours == theirs, format!("{ours} reached")))
            }
            Kernel::Pagerank => {
                let ours = pagerank(views, ITERATIONS_TO_END, 0.0)?;
                let options = yardstick::PageRankOptions::iterations(ITERATIONS_TO_END as usize);
                let theirs = yardstick::pagerank::<f64>(&task.graph, options).scores;
                // Vertices without edges have a share there and are none here: what is compared is brought to sum 1.
                let total: f64 = vertices().map(|vertex| theirs[vertex as usize]).sum();
                let apart =
                    |vertex: VertexId| (ours[vertex as usize] - theirs[vertex as usize] / total).abs();
                let apart: f64 = vertices().map(apart).sum();
                Ok((apart <= DIFFERENCE, format!("scores differ by {apart:.1e} in all")))
            }
            Kernel::Components => {
                let ours = algorithms::connected_components(&views.plain, &Control::new())?;
                let theirs = yardstick::components(&task.graph);
                let same = vertices().all(|vertex| ours.labels[vertex as usize] == theirs[vertex as usize]);
                Ok((same, format!("{} components", ours.count)))
            }
            Kernel::Sssp => {
                let mut same = true;
                for &source in &task.sources {
                    let ours = distances(views, source)?;
                    let theirs = yardstick::sssp(&task.lengths, source, DELTA);
                    same &= ours.iter().zip(&theirs).all(|(&ours, &theirs)| match theirs {
                        yardstick::INFINITE => ours.is_infinite(),
                        distance => ours == f64::from(distance),
                    });
                }
                Ok((same, "distances".to_owned()))
            }
            Kernel::Betweenness => {
                let (ours, theirs) =
                    (betweenness(views, task)?, yardstick::betweenness(&task.graph, &task.sources));
                // Ours is scaled from the sources to all vertices and counts a path once, not from both ends.
                let scale = (views.plain.num_vertices() - 1) as f64 / (2 * task.sources.len()) as f64;
                let same = vertices().filter(|vertex| !task.sources.contains(vertex)).all(|vertex| {
                    let (ours, theirs) = (ours[vertex as usize] / scale, f64::from(theirs[vertex as usize]));
                    (ours - theirs).abs() <= DIFFERENCE * ours.abs().max(1.0)
                });
                Ok((same, format!("{} sources", task.sources.len())))
            }
            Kernel::Triangles => {
                let ours = algorithms::triangle_count(&views.plain, &Control::new())?;
                let theirs = yardstick::triangles(&task.graph);
                Ok((ours == theirs, format!("{ours} triangles")))
            }
        }
    }
}

fn reached(views: &Views, task: &Task) -> Result<u64, CommandError> {
    let (options, control) = (BfsOptions::default(), Control::new());
    let reached = task.sources.iter().map(|&source| {
        Ok::<u64, CommandError>(algorithms::bfs(&views.plain, &[source], &options, &control)?.reached)
    });
    reached.sum()
}

fn pagerank(views: &Views, max_iter: u32, tol: f64) -> Result<Vec<f64>, CommandError> {
    let options = PageRankOptions { max_iter, tol, ..PageRankOptions::default() };
    Ok(algorithms::pagerank(&views.plain, &options, &Control::new())?.scores)
}

fn distances(views: &Views, source: u32) -> Result<Vec<f64>, CommandError> {
    Ok(algorithms::sssp(&views.weighted, &[source], &SsspOptions::default(), &Control::new())?.distances)
}

fn betweenness(views: &Views, task: &Task) -> Result<Vec<f64>, CommandError> {
    let sources = Sources::Given(task.sources.clone());
    let options = BetweennessOptions { sources, normalized: false, endpoints: false, weight: Weight::One };
    Ok(betweenness_centrality(&views.plain, &options, &Control::new())?)
}
