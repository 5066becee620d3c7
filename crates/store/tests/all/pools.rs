//! Callers that are workers of the thread pool the store itself works in.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use evergraph_store::{Options, Store};
use evergraph_types::{EdgeBatch, KeyColumn};
use rayon::prelude::*;

fn batch(first: i64, rows: i64) -> EdgeBatch {
    let src = (first..first + rows).map(|row| row % 5000).collect();
    let dst = (first..first + rows).collect();
    EdgeBatch { src: KeyColumn::Int(src), dst: KeyColumn::Int(dst), columns: Vec::new() }
}

#[test]
fn workers_of_the_pool_may_commit_and_archive() {
    const BATCHES: i64 = 24;
    const ROWS: i64 = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let options = Options { bulk_edges: ROWS as usize + 1, ..Options::default() };
    let store = Store::open(directory.path().join("net.eg"), options).unwrap();
    (0..BATCHES).into_par_iter().for_each(|turn| {
        let extra = i64::from(turn % 6 == 0);
        store.add_edges("edge", vec![batch(turn * 2 * ROWS, ROWS + extra)]).unwrap();
        store.put_edge(turn, -1, "other", &[]).unwrap();
        if turn % 5 == 0 {
            store.checkpoint().unwrap();
        }
    });
    let version = store.version().unwrap();
    let (edges, _) = version.schema().edge_type("edge").unwrap();
    assert_eq!(version.num_edges(edges), (BATCHES * ROWS + 4) as u64);
}
