//! Edges of a hub: what a commit of one writes, in bytes that the store grows by while the version before is held, and that its
//! list is what was put and not deleted.

use crate::common::{number_batch, open, options};
use evergraph_disk::SimDisk;
use evergraph_proof::Random;
use evergraph_store::{ListFormat, Options, Store, Version};
use evergraph_types::{Direction, KeyKind};
use std::collections::BTreeSet;

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
            // A chunk and a directory of 16 bytes for each chunk, beside some pages. Chunks that are not compressed have up to 547
            // neighbors here, others 256.
            let most_expected = if format == ListFormat::Compact { 40_000 } else { 26_000 };
            assert!(most < most_expected, "{format}, compacted {compact}: {most} bytes of {list}");
            let bytes_per_entry = list as f64 / NEIGHBORS as f64;
            let limit = if format == ListFormat::Compact { 0.6 } else { 4.1 };
            assert!(bytes_per_entry < limit, "{format}, compacted {compact}: {bytes_per_entry}");
        }
    }
}

/// One edge or thousands are put or deleted, near each other or all over the list, in memory, or over what is archived now and then.
#[test]
fn the_list_of_a_hub_is_what_was_put_and_not_deleted() {
    for (seed, format) in [(1, ListFormat::Fast), (2, ListFormat::Compact)] {
        for archives in [false, true] {
            let options = || Options { keys: Some(KeyKind::Dense), format: Some(format), ..options() };
            let disk = SimDisk::new(1);
            let store = if archives { open(&disk, options()) } else { Store::in_memory(options()) };
            let mut random = Random::new(seed);
            let mut model: BTreeSet<u32> = (0..150_000).map(|edge| 2 * edge + 1).collect();
            let batch = |edges: &[u32]| number_batch(edges.iter().map(|edge| (0, i64::from(*edge))));
            let first: Vec<u32> = model.iter().copied().collect();
            store.add_edges("edge", vec![batch(&first)]).expect("a batch");
            for turn in 0..40 {
                let count = [1u32, 1, 30, 4000][random.below(4) as usize];
                let (from, width) = (1 + random.below(290_000) as u32, [2 * count, 10_000, 290_000]);
                let width = width[random.below(3) as usize];
                let edges: Vec<u32> =
                    (0..count).map(|_| from + random.below(u64::from(width)) as u32).collect();
                if turn == 30 {
                    // What is left of a chunk is longer than other lists in one piece are.
                    let middle = *model.iter().nth(model.len() / 2).expect("many");
                    let kept: BTreeSet<u32> = model.range(middle..middle + 700).copied().collect();
                    let gone: Vec<u32> = (&model - &kept).into_iter().collect();
                    store.delete_edges("edge", vec![batch(&gone)]).expect("a batch");
                    model = kept;
                }
                if random.below(2) == 0 {
                    store.add_edges("edge", vec![batch(&edges)]).expect("a batch");
                    model.extend(&edges);
                } else {
                    store.delete_edges("edge", vec![batch(&edges)]).expect("a batch");
                    model = &model - &edges.iter().copied().collect();
                }
                if archives && turn % 9 == 8 {
                    store.compact().expect("a good disk");
                }
                let version = store.version().expect("open");
                let what = format!("{format}, archives {archives}, turn {turn}");
                assert!(version.neighbors(0, Direction::Out, 0).iter().eq(model.iter().copied()), "{what}");
                for edge in edges.iter().take(30).flat_map(|edge| edge - 1..=edge + 1) {
                    assert_eq!(version.has_edge(0, 0, edge), model.contains(&edge), "{what}: {edge}");
                }
            }
        }
    }
}
