//! Times every algorithm against the yardstick on one graph, in turns, so that whatever else the machine does meets both.
//!
//! ```text
//! cargo run --release -p evergraph-analytics --example kernels -- [scale] [kronecker|uniform] [part of a name]
//! ```
//!
//! A graph of 2^scale vertices with 16 edges per vertex; only kernels whose name contains the part. Every list flat as in a segment, or in chunks of 512 as in memory. Times are
//! the best of several turns, in milliseconds; BFS is the mean over sources of the best for each. What the triangle
//! counts give is compared as well.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use evergraph_analytics::{
    BfsOptions, Control, PageRankOptions, bfs, connected_components, pagerank, triangle_count,
};
use evergraph_generate::{ErdosRenyi, Generator, Kronecker, Model};
use evergraph_types::VertexId;
use evergraph_view::{FlatTable, FlatView};
use evergraph_yardstick::{self as yardstick, Graph};

const SOURCES: usize = 16;
const ITERATIONS: u32 = 10;
const CHUNK_LEN: usize = 512;

/// The same graph three times.
struct Graphs {
    yardstick: Graph,
    flat: FlatView,
    chunked: FlatView,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let scale = arguments.next().map_or(Ok(16), |scale| scale.parse())?;
    let model = match arguments.next().as_deref() {
        None | Some("kronecker") => Model::Kronecker(Kronecker::graph500(scale, 16)),
        Some("uniform") => Model::ErdosRenyi(ErdosRenyi { vertices: 1 << scale, edges: 16 << scale }),
        Some(other) => return Err(format!("{other} is neither kronecker nor uniform").into()),
    };
    let only = arguments.next().unwrap_or_default();
    let graphs = build(model)?;
    println!("{} edges", graphs.yardstick.num_edges());
    println!("{:24} {:>10} {:>10} {:>7} {:>10} {:>7}", "", "yardstick", "flat", "ratio", "chunked", "ratio");
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        for (name, measure) in KERNELS.iter().filter(|(name, _)| name.contains(&only)) {
            let [yardstick, flat, chunked] = pool.install(|| measure(&graphs));
            let (ratio, chunked_ratio) = (flat / yardstick, chunked / yardstick);
            println!(
                "{name:20} {threads}T  {yardstick:10.2} {flat:10.2} {ratio:7.3} {chunked:10.2} {chunked_ratio:7.3}"
            );
        }
    }
    Ok(())
}

fn build(model: Model) -> Result<Graphs, Box<dyn std::error::Error>> {
    let generator = Generator::new(model, 1)?;
    let yardstick = Graph::undirected(&generator.collect_pairs()?)?;
    let (offsets, neighbors) = (yardstick.out().offsets(), yardstick.out().all_neighbors());
    let flat = FlatTable::from_csr(offsets, neighbors.to_vec());
    let chunked = FlatTable::from_csr_chunked(offsets, neighbors.to_vec(), CHUNK_LEN);
    Ok(Graphs {
        flat: FlatView::new(flat, None, None, true),
        chunked: FlatView::new(chunked, None, None, true),
        yardstick,
    })
}

type Kernel = (&'static str, fn(&Graphs) -> [f64; 3]);

const KERNELS: [Kernel; 5] = [
    ("bfs", measure_bfs),
    ("pagerank, f32", |graphs| measure_pagerank(graphs, 1e-11, 7)),
    ("pagerank, f64", |graphs| measure_pagerank(graphs, 0.0, 7)),
    ("components", measure_components),
    ("triangles", measure_triangles),
];

fn measure_bfs(graphs: &Graphs) -> [f64; 3] {
    let spread =
        (0..).map(|i: VertexId| i.wrapping_mul(2_654_435_761) % graphs.yardstick.num_vertices() as VertexId);
    let sources = spread.filter(|&vertex| graphs.yardstick.out().degree(vertex) > 0).take(SOURCES);
    let mut sums = [0.0; 3];
    for source in sources {
        let ours =
            |view: &FlatView| drop(black_box(bfs(view, &[source], &BfsOptions::default(), &Control::new())));
        let best = take_turns(5, graphs, |graph| drop(black_box(yardstick::bfs(graph, source))), ours);
        sums.iter_mut().zip(best).for_each(|(sum, best)| *sum += best / SOURCES as f64);
    }
    sums
}

/// Per iteration, in the precision that this tolerance leads to; the yardstick as GAPBS has it, in single precision.
fn measure_pagerank(graphs: &Graphs, tol: f64, turns: usize) -> [f64; 3] {
    let options = PageRankOptions { max_iter: ITERATIONS, tol, ..PageRankOptions::default() };
    let theirs = yardstick::PageRankOptions::iterations(ITERATIONS as usize);
    let best = take_turns(
        turns,
        graphs,
        |graph| drop(black_box(yardstick::pagerank::<f32>(graph, theirs))),
        |view| drop(black_box(pagerank(view, &options, &Control::new()))),
    );
    best.map(|time| time / f64::from(ITERATIONS))
}

fn measure_components(graphs: &Graphs) -> [f64; 3] {
    take_turns(
        15,
        graphs,
        |graph| drop(black_box(yardstick::components(graph))),
        |view| drop(black_box(connected_components(view, &Control::new()))),
    )
}

fn measure_triangles(graphs: &Graphs) -> [f64; 3] {
    let expected = yardstick::triangles(&graphs.yardstick);
    take_turns(
        1,
        graphs,
        |graph| assert_eq!(yardstick::triangles(graph), expected),
        |view| assert_eq!(triangle_count(view, &Control::new()), Ok(expected)),
    )
}

/// The best time of each in milliseconds.
fn take_turns(turns: usize, graphs: &Graphs, theirs: impl Fn(&Graph), ours: impl Fn(&FlatView)) -> [f64; 3] {
    let mut best = [f64::INFINITY; 3];
    for _ in 0..turns {
        let times =
            [time(|| theirs(&graphs.yardstick)), time(|| ours(&graphs.flat)), time(|| ours(&graphs.chunked))];
        best.iter_mut().zip(times).for_each(|(best, time)| *best = best.min(time));
    }
    best
}

fn time(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64() * 1e3
}
