//! Times what a snapshot does with a whole graph: flattening, tables, CSR, unions, next to a plain copy of as much memory.
//!
//! ```text
//! cargo run --release -p evergraph-view --example whole_graph -- [scale]
//! ```
//!
//! A Kronecker graph of 2^scale vertices with 16 edges per vertex, once without properties and once with a number, a
//! string and a time on each edge. Times are the best of three, in milliseconds.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use evergraph_generate::{Generator, Kronecker, Model};
use evergraph_store::{Options, Store};
use evergraph_types::{Column, Direction, EdgeBatch, EdgeTypeOptions, KeyColumn, KeyKind, TextValues};
use evergraph_view::{GraphView, Snapshot};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scale = std::env::args().nth(1).map_or(Ok(16), |scale| scale.parse())?;
    let edges = Generator::new(Model::Kronecker(Kronecker::graph500(scale, 16)), 1)?.collect_pairs()?;
    for (name, keys) in [("int64", KeyKind::Int64), ("text", KeyKind::Text), ("dense", KeyKind::Dense)] {
        let store = Store::in_memory(Options { keys: Some(keys), ..Options::default() });
        let time = best(1, || store.add_edges("plain", vec![batch(&edges, keys, false)]));
        println!("{name:6} keys: {} vertices, loaded in {time:.0} ms", store.version()?.num_vertices());
        report(&store, "plain")?;
        if keys == KeyKind::Int64 {
            store.create_edge_type("event", EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() })?;
            let time = best(1, || store.add_edges("event", vec![batch(&edges, keys, true)]));
            println!("{name:6} keys, three properties, loaded in {time:.0} ms");
            report(&store, "event")?;
            println!("both edge types");
            measure(|| Snapshot::new(store.version().expect("open")));
        }
    }
    Ok(())
}

fn report(store: &Store, edge_type: &str) -> Result<(), Box<dyn std::error::Error>> {
    let version = store.version()?;
    let taken = || Snapshot::new(version.clone()).with_edge_types(&[edge_type]);
    taken()?;
    measure(|| taken().expect("the type was just found"));
    Ok(())
}

/// Times everything on fresh snapshots, so that nothing is cached.
fn measure(snapshot: impl Fn() -> Snapshot) {
    let table = snapshot().edge_table();
    let bytes = table.get_array_memory_size();
    let source = vec![1u8; bytes];
    let copy = best(3, || source.clone());
    drop(source);
    println!("  {:32} {copy:9.1} ms", format!("copy {} MB", bytes >> 20));
    type Step<'a> = (&'a str, &'a dyn Fn(&Snapshot));
    let steps: [Step<'_>; 5] = [
        ("flat", &|view| drop(black_box(view.flat()))),
        ("edge_table", &|view| drop(black_box(view.edge_table()))),
        ("vertex_table", &|view| drop(black_box(view.vertex_table()))),
        ("to_csr, flat included", &|view| drop(black_box(view.to_csr(Direction::Out)))),
        ("num_edges", &|view| assert!(black_box(view.num_edges()) > 0)),
    ];
    for (name, step) in steps {
        println!("  {name:32} {:9.1} ms", best(3, || step(&snapshot())));
    }
    println!("  {} rows", table.num_rows());
}

fn best<T>(times: usize, run: impl Fn() -> T) -> f64 {
    let once = || {
        let started = Instant::now();
        drop(black_box(run()));
        started.elapsed().as_secs_f64() * 1e3
    };
    (0..times).map(|_| once()).fold(f64::INFINITY, f64::min)
}

fn batch(edges: &[(u32, u32)], keys: KeyKind, properties: bool) -> EdgeBatch {
    let column = |end: &dyn Fn(&(u32, u32)) -> u32| match keys {
        KeyKind::Text => {
            let mut texts = TextValues::default();
            edges.iter().for_each(|edge| texts.push(&format!("vertex-{}", end(edge))));
            KeyColumn::Text(texts)
        }
        _ => KeyColumn::Int(edges.iter().map(|edge| i64::from(end(edge))).collect()),
    };
    let rows = 0..edges.len();
    let mut notes = TextValues::default();
    rows.clone().for_each(|row| notes.push(["a", "bc", "", "def"][row % 4]));
    let columns = vec![
        ("amount".to_owned(), Column::from(rows.clone().map(|row| row as f64).collect::<Vec<f64>>())),
        ("note".to_owned(), Column::from(notes)),
        ("at".to_owned(), Column::timestamps(rows.map(|row| row as i64).collect())),
    ];
    let columns = if properties { columns } else { Vec::new() };
    EdgeBatch { src: column(&|edge| edge.0), dst: column(&|edge| edge.1), columns }
}
