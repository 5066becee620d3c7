//! Times every algorithm of the registry on one graph, on one thread and on two.
//!
//! ```text
//! cargo run --release -p evergraph-analytics --example library -- [scale] [kronecker|uniform] [part of a name]
//! ```
//!
//! A graph of 2^scale vertices with 16 edges per vertex and weights from 1 to 255; arguments by default, searches from the
//! vertex of largest degree, betweenness from 4 vertices, closeness of 64. Times are the best of three, in milliseconds.
//! Algorithms that need a graph of another kind are left out.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use evergraph_analytics::{Algorithm, Arguments, Check, Control, Kind, Value, algorithms};
use evergraph_generate::{ErdosRenyi, Generator, Kronecker, Model};
use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatTable, FlatView, GraphView};
use evergraph_yardstick::Graph;

const TURNS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let scale = arguments.next().map_or(Ok(16), |scale| scale.parse())?;
    let model = match arguments.next().as_deref() {
        None | Some("kronecker") => Model::Kronecker(Kronecker::graph500(scale, 16)),
        Some("uniform") => Model::ErdosRenyi(ErdosRenyi { vertices: 1 << scale, edges: 16 << scale }),
        Some(other) => return Err(format!("{other} is neither kronecker nor uniform").into()),
    };
    let only = arguments.next().unwrap_or_default();
    let view = build(model)?;
    println!("{} vertices, {} edges", view.num_vertices(), view.num_edges());
    println!("{:32} {:>10} {:>10} {:>8}", "", "1T", "2T", "speedup");
    let pools = [1, 2].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
    let [one, two] = pools;
    let (one, two) = (one?, two?);
    for algorithm in algorithms().iter().filter(|algorithm| algorithm.name.contains(&only)) {
        let given = given(algorithm, &view);
        let Some(alone) = one.install(|| best(algorithm, &view, &given)) else { continue };
        let both = two.install(|| best(algorithm, &view, &given)).unwrap_or(f64::NAN);
        println!("{:32} {alone:10.2} {both:10.2} {:8.2}", algorithm.name, alone / both);
    }
    Ok(())
}

fn build(model: Model) -> Result<FlatView, Box<dyn std::error::Error>> {
    let graph = Graph::undirected(&Generator::new(model, 1)?.collect_pairs()?)?;
    let (offsets, neighbors) = (graph.out().offsets(), graph.out().all_neighbors());
    let sources = (0..).zip(offsets.windows(2));
    let weights = sources.flat_map(|(src, list)| {
        neighbors[list[0] as usize..list[1] as usize].iter().map(move |&dst| weight(src, dst))
    });
    let weights = weights.collect();
    let table = FlatTable::from_csr(offsets, neighbors.to_vec());
    Ok(FlatView::new(table, None, None, true).with_weights("weight", weights, None))
}

/// The same in both directions, and without a pattern.
fn weight(src: VertexId, dst: VertexId) -> f64 {
    let mixed = (u64::from(src.min(dst)) << 32 | u64::from(src.max(dst))).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    f64::from((mixed >> 40) as u32 % 255 + 1)
}

/// What the algorithm needs, and what keeps it within a time.
fn given(algorithm: &Algorithm, view: &FlatView) -> Arguments {
    let by_degree = |vertex: &VertexId| view.degree(Direction::Out, *vertex);
    let hub = (0..view.id_bound()).max_by_key(by_degree).unwrap_or(0);
    let some = |count| Value::Vertices((0..view.id_bound()).step_by(97).take(count).collect());
    let required = algorithm.arguments.iter().filter(|argument| argument.default.is_none());
    let needed = required.fold(Arguments::new(), |arguments, argument| {
        let vertex = if argument.name == "target" { hub / 2 } else { hub };
        let one = argument.kind == Kind::Vertex;
        arguments.with(argument.name, if one { Value::Vertex(vertex) } else { Value::Vertices(vec![vertex]) })
    });
    match algorithm.name {
        "betweenness_centrality" => needed.with("sources", some(4)),
        "closeness_centrality" => needed.with("u", some(64)),
        "multi_source_bfs" => needed.with("sources", some(64)),
        "node2vec_walks" => needed.with("source", some(256)),
        "katz_centrality" => needed.with("alpha", Value::Float(1e-4)),
        "temporal_reachability" => needed.with("time", Value::Text("weight".to_owned())),
        _ => needed,
    }
}

/// The best time in milliseconds; `None` if the algorithm has no result for this graph.
fn best(algorithm: &Algorithm, view: &FlatView, arguments: &Arguments) -> Option<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..TURNS {
        let start = Instant::now();
        algorithm.run(view, arguments, Check::Skip, &Control::new()).ok()?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Some(best)
}
