//! Times the kernels on a Kronecker graph: `cargo run --release -p evergraph-analytics --example kernels -- 20`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::{Duration, Instant};

use evergraph_analytics::{BfsOptions, Control, PageRankOptions, bfs, connected_components, pagerank};
use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatTable, FlatView, GraphView};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scale = arguments.next().map_or(16, |scale| scale.parse().unwrap());
    let only = arguments.next().unwrap_or_default();
    let (offsets, neighbors) = kronecker(scale);
    let flat = FlatView::new(FlatTable::from_csr(&offsets, neighbors.clone()), None, None, true);
    let chunked = FlatView::new(FlatTable::from_csr_chunked(&offsets, neighbors, 512), None, None, true);
    println!("{} edges", flat.num_edges());
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for (shape, view) in [("flat", &flat), ("chunked", &chunked)] {
            for (name, kernel) in KERNELS {
                if name.contains(&only) {
                    let times = pool.install(|| kernel(view));
                    println!("{name:22} {shape:8} {threads} threads  {times:?}");
                }
            }
        }
    }
}

type Kernel = fn(&FlatView) -> Vec<Duration>;
const KERNELS: [(&str, Kernel); 3] =
    [("bfs", time_bfs), ("pagerank/iteration", time_pagerank), ("components", time_components)];

fn sorted(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort();
    vec![times[0], times[times.len() / 2]]
}

fn time_bfs(view: &FlatView) -> Vec<Duration> {
    let sources = (0..).map(|i: u32| i.wrapping_mul(2_654_435_761) % view.id_bound());
    let sources = sources.filter(|&v| view.degree(Direction::Out, v) > 0).take(32);
    let times: Vec<_> = sources
        .map(|source| {
            time(|| {
                bfs(view, &[source], &BfsOptions::default(), &Control::new()).unwrap();
            })
        })
        .collect();
    let mean = times.iter().sum::<Duration>() / 32;
    let mut times = sorted(times);
    times.push(mean);
    times
}

fn time_pagerank(view: &FlatView) -> Vec<Duration> {
    let options = PageRankOptions {
        max_iter: 10,
        tol: std::env::var("TOL").map_or(1e-11, |t| t.parse().unwrap()),
        ..Default::default()
    };
    sorted(
        (0..5)
            .map(|_| {
                time(|| {
                    pagerank(view, &options, &Control::new()).unwrap();
                }) / 10
            })
            .collect(),
    )
}

fn time_components(view: &FlatView) -> Vec<Duration> {
    sorted(
        (0..5)
            .map(|_| {
                time(|| {
                    connected_components(view, &Control::new()).unwrap();
                })
            })
            .collect(),
    )
}

fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

/// The Graph500 graph as a CSR: symmetric, sorted, without repeats and self loops.
fn kronecker(scale: u32) -> (Vec<u64>, Vec<VertexId>) {
    let generator = Generator::new(Model::Kronecker(Kronecker::graph500(scale, 16)), 1).unwrap();
    let vertices = 1usize << scale;
    let edges = generator.collect_pairs().unwrap();
    let mut next = vec![0usize; vertices + 1];
    for &(src, dst) in &edges {
        next[src as usize + 1] += 1;
        next[dst as usize + 1] += 1;
    }
    for vertex in 0..vertices {
        next[vertex + 1] += next[vertex];
    }
    let starts = next.clone();
    let mut lists = vec![0; edges.len() * 2];
    for (src, dst) in edges.iter().flat_map(|&(src, dst)| [(src, dst), (dst, src)]) {
        lists[next[src as usize]] = dst;
        next[src as usize] += 1;
    }
    let (mut offsets, mut neighbors) = (vec![0], Vec::with_capacity(lists.len()));
    for vertex in 0..vertices {
        let list = &mut lists[starts[vertex]..starts[vertex + 1]];
        list.sort_unstable();
        let first = neighbors.len();
        for &neighbor in list.iter() {
            if neighbor as usize != vertex
                && (neighbors.len() == first || neighbors.last() != Some(&neighbor))
            {
                neighbors.push(neighbor);
            }
        }
        offsets.push(neighbors.len() as u64);
    }
    (offsets, neighbors)
}
