//! A single edge at a hub: what a commit writes, in bytes that the store grows by while the version before is held.

use crate::common::{number_batch, open, options};
use evergraph_disk::SimDisk;
use evergraph_store::{ListFormat, Options, Store, Version};
use evergraph_types::{Direction, KeyKind};

const NEIGHBORS: i64 = 300_000;

/// Bytes of the hub's list as it was loaded, and the most that a commit of one edge wrote.
fn written(store: &Store, compact: bool) -> (u64, u64) {
    let batch = number_batch((1..=NEIGHBORS).map(|neighbor| (0, 3 * neighbor)));
    store.add_edges("edge", vec![batch]).expect("a batch");
    if compact {
        store.compact().expect("a good disk");
    }
    let mut most = 0;
    for neighbor in [1, 2, NEIGHBORS + 1, 3 * NEIGHBORS - 1, 3 * NEIGHBORS + 7] {
        let version = store.version().expect("open");
        let before = store.stats().memory_bytes;
        store.put_edge(0, neighbor, "edge", &[]).expect("an edge");
        most = most.max(store.stats().memory_bytes - before);
        let now = store.version().expect("open");
        assert!(now.has_edge(0, 0, neighbor as u32) && !version.has_edge(0, 0, neighbor as u32));
        let before = store.stats().memory_bytes;
        assert!(store.delete_edge(0, neighbor, "edge").expect("an edge"));
        most = most.max(store.stats().memory_bytes - before);
        let len = |version: &Version| version.neighbors(0, Direction::Out, 0).len();
        assert_eq!((len(&now), len(&store.version().expect("open"))), (len(&version) + 1, len(&version)));
    }
    let layout = store.version().expect("open").layout();
    (layout.tables[0].list_bytes, most)
}

#[test]
fn a_commit_of_an_edge_copies_a_chunk_and_its_directory_but_not_the_list() {
    for format in [ListFormat::Fast, ListFormat::Compact] {
        for compact in [false, true] {
            let options = || Options { keys: Some(KeyKind::Dense), format: Some(format), ..options() };
            let disk = SimDisk::new(1);
            let store = if compact { open(&disk, options()) } else { Store::in_memory(options()) };
            let (list, most) = written(&store, compact);
            // A chunk and a directory of 16 bytes for each 256 neighbors, beside some pages.
            assert!(most < 40_000, "{format}, compacted {compact}: {most} bytes of {list}");
            let bytes_per_entry = list as f64 / NEIGHBORS as f64;
            let limit = if format == ListFormat::Compact { 0.6 } else { 4.1 };
            assert!(bytes_per_entry < limit, "{format}, compacted {compact}: {bytes_per_entry}");
        }
    }
}
