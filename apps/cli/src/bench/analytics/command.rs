//! The command: for each graph and algorithm a row against each of the others.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use evergraph::GraphView;
use rayon::prelude::*;
use serde::Serialize;

use super::graphs::{Pairs, Task, Views, generate};
use super::kernels::{ITERATIONS, Kernel};
use super::rivals::{self, Rival};
use crate::bench::command::processor;
use crate::bench::report::{Bar, Row, layout};
use crate::bench::timing::{in_turns, time};
use crate::console::Console;
use crate::error::CommandError;
use crate::progress::Activity;
use crate::units;

/// Against the yardstick: the bar of all algorithms.
const YARDSTICK: Bar = Bar::Ratio(1.1);
/// With some edges changed, against the clean snapshot.
const CHANGED: Bar = Bar::Ratio(1.15);
/// On many segments, against the clean snapshot.
const SEGMENTED: Bar = Bar::Ratio(1.3);
/// Two threads against one.
const THREADS: Bar = Bar::Ratio(1.0 / 1.8);
/// Making a flat view, against a search.
const FLAT: Bar = Bar::Ratio(0.1);

/// The scale of the graph for NetworkX beside larger ones: its slowest takes seconds there.
const SMALL_SCALE: u32 = 12;

/// The size of the graphs, and whom to measure.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AnalyticsArgs {
    /// The graphs have 2^N vertices
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=28))]
    scale: u32,
    /// The graphs have so many edges per vertex
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    edges_per_vertex: u64,
    /// All sides take so many turns; medians are shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,
    /// Only these graphs; commas between
    #[arg(long, value_name = "WHICH", value_enum, value_delimiter = ',')]
    graph: Vec<Shape>,
    /// Only these algorithms; commas between
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    only: Vec<Kernel>,
    /// Measure NetworKit, igraph and NetworkX too, those of them that this Python has [default: the Python that runs this
    /// command]; NetworkX on graphs up to scale 14, and beside larger ones on a graph of scale 12
    #[arg(long, value_name = "PYTHON")]
    rivals: Option<PathBuf>,
    /// Measure no other library
    #[arg(long, conflicts_with = "rivals")]
    no_rivals: bool,
    /// Where stores are made [default: evergraph-bench in the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  evergraph bench analytics                             both graphs; several minutes
  evergraph bench analytics --scale 16 --only bfs,sssp
  evergraph bench analytics --rivals python3            with what `pip install networkit igraph networkx` gives there

All sides take turns on the same graph, and what the yardstick finds is compared. The exit code is 1 if
results differ, and 0 even where a bar is missed.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// Few vertices with most edges
    Kronecker,
    /// Edges between vertices drawn at random
    Uniform,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    processor: String,
    threads: usize,
    scale: u32,
    edges_per_vertex: u64,
    repeats: u16,
    rows: Vec<Row>,
}

/// Runs the command.
pub(crate) fn run(
    args: &AnalyticsArgs,
    program: &[OsString],
    console: &mut Console,
) -> Result<(), CommandError> {
    let python = python(args, program);
    let directory = args.dir.clone().unwrap_or_else(|| std::env::temp_dir().join("evergraph-bench"));
    std::fs::create_dir_all(&directory).map_err(CommandError::file(&directory))?;
    let mut rows = Vec::new();
    for shape in [Shape::Kronecker, Shape::Uniform] {
        if args.graph.is_empty() || args.graph.contains(&shape) {
            let whole = Block { shape, scale: args.scale, python: python.as_deref(), directory: &directory };
            whole.measure(args, console, &mut rows)?;
            if python.is_some() && args.scale > rivals::NETWORKX_SCALE {
                Block { scale: SMALL_SCALE, ..whole }.measure(args, console, &mut rows)?;
            }
        }
    }
    let agrees = rows.iter().all(Row::agrees);
    if console.is_json() {
        console.json(&Report {
            version: env!("CARGO_PKG_VERSION"),
            processor: processor(),
            threads: rayon::current_num_threads(),
            scale: args.scale,
            edges_per_vertex: args.edges_per_vertex,
            repeats: args.repeats,
            rows,
        })?;
    } else {
        let held = rows.iter().filter(|row| row.holds == Some(true)).count() as u64;
        let barred = rows.iter().filter(|row| row.holds.is_some()).count() as u64;
        console.line(format_args!("\n{}.", units::bars(held, barred)))?;
    }
    if agrees { Ok(()) } else { Err(CommandError::Reported) }
}

/// The Python whose libraries are measured: the one that was named, else the one that runs this command, if one does.
fn python(args: &AnalyticsArgs, program: &[OsString]) -> Option<PathBuf> {
    let own = match program {
        [python, flag, ..] if flag == "-m" => Some(PathBuf::from(python)),
        _ => None,
    };
    args.rivals.clone().or(own).filter(|_| !args.no_rivals)
}

/// One graph, and who is measured on it.
#[derive(Clone, Copy)]
struct Block<'a> {
    shape: Shape,
    scale: u32,
    python: Option<&'a Path>,
    directory: &'a Path,
}

impl Block<'_> {
    fn measure(
        self,
        args: &AnalyticsArgs,
        console: &mut Console,
        rows: &mut Vec<Row>,
    ) -> Result<(), CommandError> {
        let Block { shape, scale, python, directory } = self;
        // The graph that was asked for; if not, one that is small enough for NetworkX.
        let whole = scale == args.scale;
        let activity = Activity::new("loading");
        let pairs = generate(shape == Shape::Uniform, scale, args.edges_per_vertex)?;
        let task = Task::new(&pairs)?;
        let views = Views::loaded(directory, &pairs)?;
        let mut head = Some(format!(
            "{}{} graph, {} vertices, {} edges; {}, {}\n\n{}",
            if rows.is_empty() { "" } else { "\n" },
            shape.to_possible_value().map_or_else(String::new, |shape| shape.get_name().to_owned()),
            units::count(views.plain.num_vertices()),
            units::count(task.graph.num_edges()),
            processor(),
            units::counted(rayon::current_num_threads() as u64, "thread", "threads"),
            layout("the other").head(),
        ));
        let mut add = |row: Row| -> Result<(), CommandError> {
            if !console.is_json() {
                if let Some(head) = head.take() {
                    console.line(head)?;
                }
                console.line_now(layout("the other").row(&row.cells()))?;
            }
            rows.push(row);
            Ok(())
        };
        let kernels: Vec<Kernel> = Kernel::value_variants()
            .iter()
            .copied()
            .filter(|kernel| args.only.is_empty() || args.only.contains(kernel))
            .collect();
        let subjects = Subjects { args, directory, pairs: &pairs, task: &task, views: &views };
        if whole {
            for &kernel in &kernels {
                activity.say(format!("measuring {}", kernel.name()));
                add(subjects.against_yardstick(kernel)?)?;
            }
            subjects.against_itself(&kernels, &mut add)?;
        }
        if let Some(python) = python {
            let note = if whole { String::new() } else { format!(", scale {scale}") };
            let visit = |rival: &mut Rival<'_>| add(subjects.against_rival(python, rival, &note)?);
            let libraries = match (whole, scale <= rivals::NETWORKX_SCALE) {
                (true, true) => "networkit,igraph,networkx",
                (true, false) => "networkit,igraph",
                (false, _) => "networkx",
            };
            rivals::for_each((python, libraries), directory, &task, &kernels, visit)?;
        }
        Ok(())
    }
}

/// What a graph's measurements share.
struct Subjects<'a> {
    args: &'a AnalyticsArgs,
    directory: &'a Path,
    pairs: &'a Pairs,
    task: &'a Task,
    views: &'a Views,
}

impl Subjects<'_> {
    fn turns(&self, kernel: Kernel) -> usize {
        usize::from(self.args.repeats) * kernel.turns()
    }

    /// Seconds of ours on some views.
    fn ours(&self, kernel: Kernel, views: &Views) -> Result<f64, CommandError> {
        let (seconds, done) = time(|| kernel.ours(views, self.task));
        done.map(|()| seconds)
    }

    fn against_yardstick(&self, kernel: Kernel) -> Result<Row, CommandError> {
        // The first run lays out what is kept with the snapshot.
        self.ours(kernel, self.views)?;
        let theirs = || Ok(time(|| kernel.theirs(self.task)).0);
        let pair = in_turns(self.turns(kernel), || self.ours(kernel, self.views), theirs)?;
        let (same, what) = kernel.compare(self.views, self.task)?;
        let name = match kernel {
            Kernel::Pagerank => format!("pagerank, {ITERATIONS} iterations"),
            _ => kernel.name().to_owned(),
        };
        Ok(Row::times(&name, pair).bar(YARDSTICK).agreement(same, what))
    }

    /// Other states of the same graph against this one, and two threads against one.
    fn against_itself(
        &self,
        kernels: &[Kernel],
        add: &mut dyn FnMut(Row) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let quick: Vec<Kernel> =
            kernels.iter().copied().filter(|kernel| *kernel != Kernel::Triangles).collect();
        if quick.contains(&Kernel::Bfs) {
            add(self.flat_view()?)?;
        }
        let changed = Views::changed(self.directory, self.pairs)?;
        for &kernel in &quick {
            add(self.state(kernel, "1% changed", &changed, CHANGED)?)?;
        }
        drop(changed);
        let segmented = Views::segmented(self.directory, self.pairs)?;
        let name = units::counted(segmented.segments, "segment", "segments");
        for &kernel in &quick {
            add(self.state(kernel, &name, &segmented, SEGMENTED)?)?;
        }
        drop(segmented);
        if quick.contains(&Kernel::Pagerank) && rayon::current_num_threads() == 2 {
            self.threads()?.into_iter().try_for_each(add)?;
        }
        Ok(())
    }

    fn state(&self, kernel: Kernel, name: &str, views: &Views, bar: Bar) -> Result<Row, CommandError> {
        self.ours(kernel, views)?;
        let turns = self.turns(kernel);
        let pair = in_turns(turns, || self.ours(kernel, views), || self.ours(kernel, self.views))?;
        let (same, what) = kernel.compare(views, self.task)?;
        Ok(Row::times(&format!("{}, {name}", kernel.name()), pair).bar(bar).agreement(same, what))
    }

    /// Making the flat view against one search on it.
    fn flat_view(&self) -> Result<Row, CommandError> {
        let searches = self.task.sources.len().max(1) as f64;
        let name = self.views.plain.edge_types().concat();
        let every = || self.views.plain.with_edge_types(&[]);
        let pair = in_turns(
            self.turns(Kernel::Bfs),
            || -> Result<f64, CommandError> {
                // A selection anew, for a snapshot keeps its flat view.
                let fresh = every()?.with_edge_types(&[&name])?;
                Ok(time(|| fresh.flat()).0)
            },
            || Ok(self.ours(Kernel::Bfs, self.views)? / searches),
        )?;
        Ok(Row::times("flat view, against a bfs", pair).bar(FLAT))
    }

    /// Two threads against one, of PageRank and of what it cannot do without: a read for each edge, anywhere in the
    /// values. Where these reads alone gain no more from the second thread, the machine is the limit and not the algorithm.
    fn threads(&self) -> Result<[Row; 2], CommandError> {
        let single = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let single = single.map_err(|error| CommandError::Usage(error.to_string()))?;
        let turns = self.turns(Kernel::Pagerank);
        let pagerank = || self.ours(Kernel::Pagerank, self.views);
        let pair = in_turns(turns, pagerank, || single.install(pagerank))?;
        let reads = || Ok::<f64, CommandError>(time(|| read_ends(self.task)).0);
        let reads = in_turns(turns, reads, || single.install(reads))?;
        let name = |what| format!("{what}, 2T against 1T");
        Ok([Row::times(&name("pagerank"), pair).bar(THREADS), Row::times(&name("its reads alone"), reads)])
    }

    fn against_rival(&self, python: &Path, rival: &mut Rival<'_>, note: &str) -> Result<Row, CommandError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(rival.threads).build();
        let pool = pool.map_err(|error| CommandError::Usage(error.to_string()))?;
        let kernel = rival.kernel;
        let ours = || pool.install(|| self.ours(kernel, self.views));
        let theirs = || rival.run().map_err(CommandError::file(python));
        let pair = in_turns(usize::from(self.args.repeats), ours, theirs)?;
        let name = format!("{}, {} {}T{note}", kernel.name(), rival.library, rival.threads);
        Ok(Row::times(&name, pair).bar(Bar::Ratio(rival.most())))
    }
}

/// For each edge the value of its end, as often as PageRank reads it, and nothing else: whole numbers, for one sum of floats
/// waits for the one before.
fn read_ends(task: &Task) -> u64 {
    const EDGES_PER_TASK: usize = 1 << 16;
    let values = vec![1_u32; task.graph.num_vertices()];
    let sum = |ends: &[u32]| ends.iter().map(|&end| u64::from(values[end as usize])).sum::<u64>();
    let all = || task.graph.out().all_neighbors().par_chunks(EDGES_PER_TASK).map(sum).sum::<u64>();
    (0..ITERATIONS).map(|_| all()).sum()
}
