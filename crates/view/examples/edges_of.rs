//! Times the table of the edges of one vertex, for vertices of few and of many edges.
//!
//! ```text
//! cargo run --release -p evergraph-view --example edges_of
//! ```
//!
//! Edges have a number and a string; once their type is the only one, once there is a second. Times are the median of
//! seven turns, in microseconds per table.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use evergraph_store::{Options, Store};
use evergraph_types::{Column, Direction, EdgeBatch, KeyColumn, TextValues};
use evergraph_view::Snapshot;

const DEGREES: [i64; 6] = [1, 10, 100, 1_000, 10_000, 100_000];
const TURNS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::in_memory(Options::default());
    store.add_edges("pays", vec![batch()])?;
    for types in [1, 2] {
        if types == 2 {
            store.put_edge(-1, -2, "knows", &[])?;
        }
        let snapshot = Snapshot::new(store.version()?);
        for degree in DEGREES {
            let calls = 2_000 / degree.ilog10().max(1).pow(3);
            let mut times: Vec<f64> = (0..TURNS).map(|_| micros(&snapshot, degree, calls)).collect();
            times.sort_by(f64::total_cmp);
            println!("{types} edge types, degree {degree:6}: {:9.1} us", times[TURNS / 2]);
        }
    }
    Ok(())
}

fn micros(snapshot: &Snapshot, vertex: i64, calls: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(snapshot.edges_of(vertex, Direction::Out, None));
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
}

/// A vertex of each degree, whose key is its degree.
fn batch() -> EdgeBatch {
    let src: Vec<i64> = DEGREES.iter().flat_map(|&degree| (0..degree).map(move |_| degree)).collect();
    let dst: Vec<i64> = DEGREES.iter().flat_map(|&degree| 1_000_000..1_000_000 + degree).collect();
    let mut texts = TextValues::default();
    dst.iter().for_each(|key| texts.push(&key.to_string()));
    let numbers: Vec<f64> = dst.iter().map(|&key| key as f64).collect();
    let columns =
        vec![("amount".to_owned(), Column::from(numbers)), ("note".to_owned(), Column::from(texts))];
    EdgeBatch { src: KeyColumn::Int(src), dst: KeyColumn::Int(dst), columns }
}
