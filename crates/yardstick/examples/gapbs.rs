//! The yardstick beside the published GAPBS figures: a Kronecker graph, built and run on 1 and on 2 threads.
//!
//! `cargo run --release -p evergraph-yardstick --example gapbs -- [--scale N] [--threads 1,2] [--trials N]
//! [--kernels build,bfs,pr,cc,tc] [--edges FILE]`
//!
//! `--edges` names a text edge list that is parsed instead of generating; it is written first if there is no such
//! file, so that GAPBS can be run on the same edges.

#![allow(clippy::print_stdout)] // A benchmark's output is its product.

use std::error::Error;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use evergraph_generate::{Format, Generator, Kronecker, Model, write};
use evergraph_yardstick::{
    Graph, GraphError, PageRankOptions, bfs, components, count_edges_present, pagerank, pagerank_jacobi,
    parse_edge_list, sum_of_neighbors, triangles,
};

/// Seconds on one and two threads of GAPBS at scale 20 on a 2.5 GHz Xeon under KVM, as far as published.
const PUBLISHED: [(&str, [Option<f64>; 2]); 5] = [
    ("build", [Some(4.3), None]),
    ("bfs", [Some(0.042), Some(0.021)]),
    ("pr f32, iteration", [Some(0.112), Some(0.054)]),
    ("cc", [Some(0.095), Some(0.051)]),
    ("tc", [Some(23.0), None]),
];

struct Arguments {
    scale: u32,
    threads: Vec<usize>,
    trials: usize,
    kernels: Option<Vec<String>>,
    edges: Option<PathBuf>,
}

impl Arguments {
    fn parse() -> Result<Self, Box<dyn Error>> {
        let mut arguments =
            Arguments { scale: 20, threads: vec![1, 2], trials: 9, kernels: None, edges: None };
        let mut words = std::env::args().skip(1);
        while let Some(option) = words.next() {
            let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
            match option.as_str() {
                "--scale" => arguments.scale = value.parse()?,
                "--threads" => {
                    arguments.threads = value.split(',').map(str::parse).collect::<Result<_, _>>()?
                }
                "--trials" => arguments.trials = value.parse()?,
                "--kernels" => arguments.kernels = Some(value.split(',').map(str::to_owned).collect()),
                "--edges" => arguments.edges = Some(value.into()),
                _ => return Err(format!("no option {option}").into()),
            }
        }
        Ok(arguments)
    }

    fn wants(&self, kernel: &str) -> bool {
        self.kernels.as_ref().is_none_or(|kernels| kernels.iter().any(|wanted| wanted == kernel))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    let pairs = pairs(&arguments)?;
    println!("threads  what                      median s      best s   published s");
    for &threads in &arguments.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        pool.install(|| measure(&arguments, &pairs, threads))?;
    }
    Ok(())
}

fn pairs(arguments: &Arguments) -> Result<Vec<(u32, u32)>, Box<dyn Error>> {
    let generator = Generator::new(Model::Kronecker(Kronecker::graph500(arguments.scale, 16)), 1)?;
    let Some(path) = &arguments.edges else {
        return Ok(generator.collect_pairs()?);
    };
    if !path.exists() {
        write(&generator, Format::EdgeList, &mut File::create(path)?, &|_| ControlFlow::Continue(()))?;
    }
    Ok(parse_edge_list(path)?)
}

fn measure(arguments: &Arguments, pairs: &[(u32, u32)], threads: usize) -> Result<(), GraphError> {
    let trials = arguments.trials;
    let report = |what: &str, seconds: &[f64]| {
        let published = PUBLISHED.iter().find(|(name, _)| *name == what && arguments.scale == 20);
        let published = published.and_then(|(_, seconds)| *seconds.get(threads - 1)?);
        let published = published.map_or("-".to_owned(), |seconds| format!("{seconds:.4}"));
        let (median, best) = (seconds[seconds.len() / 2], seconds[0]);
        println!("{threads:>7}  {what:<22} {median:>11.5} {best:>11.5} {published:>13}");
    };
    if let (Some(path), true) = (&arguments.edges, arguments.wants("parse")) {
        report("parse", &time(trials.min(5), |_| parse_edge_list(path).map(|pairs| pairs.len())));
    }
    if arguments.wants("build") {
        report("build", &time(trials.min(5), |_| Graph::undirected(pairs)));
    }
    let graph = Graph::undirected(pairs)?;
    if arguments.wants("scan") {
        report("scan", &time(trials, |_| sum_of_neighbors(graph.out())));
        let lookups = &pairs[..pairs.len().min(1 << 20)];
        report("look-ups, 2^20", &time(trials, |_| count_edges_present(&graph, lookups)));
    }
    if arguments.wants("bfs") {
        let sources = sources(&graph, 8 * trials);
        report("bfs", &time(sources.len(), |trial| bfs(&graph, sources[trial])));
    }
    let iterations = 8;
    let options = PageRankOptions::iterations(iterations);
    let per_iteration =
        |seconds: Vec<f64>| seconds.iter().map(|s| s / iterations as f64).collect::<Vec<f64>>();
    if arguments.wants("pr") {
        report("pr f32, iteration", &per_iteration(time(trials, |_| pagerank::<f32>(&graph, options))));
        report("pr f64, iteration", &per_iteration(time(trials, |_| pagerank::<f64>(&graph, options))));
    }
    if arguments.wants("jacobi") {
        report(
            "jacobi f32, iteration",
            &per_iteration(time(trials, |_| pagerank_jacobi::<f32>(&graph, options))),
        );
        report(
            "jacobi f64, iteration",
            &per_iteration(time(trials, |_| pagerank_jacobi::<f64>(&graph, options))),
        );
    }
    if arguments.wants("cc") {
        report("cc", &time(4 * trials, |_| components(&graph)));
    }
    if arguments.wants("tc") {
        report("tc", &time(trials.min(3), |_| triangles(&graph)));
    }
    Ok(())
}

/// Vertices with edges, spread over the graph.
fn sources(graph: &Graph, count: usize) -> Vec<u32> {
    let step = 0x9E37_79B9_u64;
    let candidates = (1u64..).map(|i| (i * step % graph.num_vertices() as u64) as u32);
    candidates.filter(|&vertex| graph.out().degree(vertex) > 0).take(count).collect()
}

/// The seconds of each trial, ascending.
fn time<T>(trials: usize, mut work: impl FnMut(usize) -> T) -> Vec<f64> {
    let mut once = |trial| {
        let start = Instant::now();
        let result = std::hint::black_box(work(trial));
        let seconds = start.elapsed().as_secs_f64();
        drop(result);
        seconds
    };
    let mut seconds: Vec<f64> = (0..trials).map(&mut once).collect();
    seconds.sort_by(f64::total_cmp);
    seconds
}
