//! Edges of a hub: what a commit of one writes, in bytes that the store grows by while the version before is held, and that its
//! list is what was put and not deleted.

use crate::common::{number_batch, open, options, with_columns};
use evergraph_disk::SimDisk;
use evergraph_proof::Random;
use evergraph_store::{ListFormat, Options, Store, Version};
use evergraph_types::{Direction, EdgeBatch, EdgeTypeOptions, KeyKind, PropertyType, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of the list of a hub with so many neighbors as it was loaded, and the most that a commit of one edge wrote.
fn written(store: &Store, neighbors: i64, compact: bool) -> (u64, u64) {
    let batch = number_batch((1..=neighbors).map(|neighbor| (0, 3 * neighbor)));
    store.add_edges("edge", vec![batch]).expect("a batch");
    if compact {
        store.compact().expect("a good disk");
    }
    let mut most = 0;
    for neighbor in [1, 2, neighbors + 1, 3 * neighbors - 1, 3 * neighbors + 7] {
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
    // A chunk, its directory of 16 bytes for each chunk, and some pages. Chunks have up to 547, 256 and 362 neighbors.
    for (format, neighbors, most_expected, most_per_entry) in [
        (ListFormat::Fast, 300_000, 26_000, 4.1),
        (ListFormat::Compact, 300_000, 40_000, 0.6),
        (ListFormat::Compact, 2_100_000, 105_000, 0.6),
    ] {
        for compact in [false, true] {
            let options = || Options { keys: Some(KeyKind::Dense), format: Some(format), ..options() };
            let disk = SimDisk::new(1);
            let store = if compact { open(&disk, options()) } else { Store::in_memory(options()) };
            let (list, most) = written(&store, neighbors, compact);
            assert!(most < most_expected, "{format}, compacted {compact}: {most} bytes of {list}");
            let bytes_per_entry = list as f64 / neighbors as f64;
            assert!(bytes_per_entry < most_per_entry, "{format}, compacted {compact}: {bytes_per_entry}");
        }
    }
}

/// The edges of a hub in the order of its list, with a number each.
struct Hub {
    store: Store,
    multi: bool,
    has_numbers: bool,
    edges: Vec<(u32, i64)>,
}

impl Hub {
    fn batch(&self, edges: &[(u32, i64)]) -> Vec<EdgeBatch> {
        let batch = number_batch(edges.iter().map(|(neighbor, _)| (0, i64::from(*neighbor))));
        let number = |_, row: usize| Value::Int(edges[row].1);
        vec![if self.has_numbers {
            with_columns(batch, &[("number", PropertyType::Int64)], number)
        } else {
            batch
        }]
    }

    fn put(&mut self, edges: &[(u32, i64)]) {
        self.store.add_edges("edge", self.batch(edges)).expect("a batch");
        self.edges.extend(edges);
        if !self.multi {
            self.edges = BTreeMap::from_iter(self.edges.drain(..)).into_iter().collect();
        }
    }

    fn delete(&mut self, neighbors: &BTreeSet<u32>) {
        let batch = number_batch(neighbors.iter().map(|neighbor| (0, i64::from(*neighbor))));
        self.store.delete_edges("edge", vec![batch]).expect("a batch");
        self.edges.retain(|(neighbor, _)| !neighbors.contains(neighbor));
    }

    fn check(&self, what: &str) {
        let mut found = Vec::new();
        self.store.version().expect("open").for_each_run(0, Direction::Out, 0, |run| {
            let number = |row| match run.value(0, row) {
                Value::Int(number) => number,
                _ => 0,
            };
            found.extend(run.neighbors().iter().enumerate().map(|(row, neighbor)| (*neighbor, number(row))));
        });
        assert!(found == self.edges, "{what}");
    }
}

fn neighbors_in(edges: &[(u32, i64)]) -> BTreeSet<u32> {
    edges.iter().map(|edge| edge.0).collect()
}

/// One edge or thousands are put or deleted, near each other or all over the list, in memory, or over what is archived now and then.
fn is_as_put(
    (multi, has_numbers): (bool, bool),
    format: ListFormat,
    archives: bool,
    (neighbors, turns): (u64, u64),
) {
    let options = || Options { keys: Some(KeyKind::Dense), format: Some(format), ..options() };
    let disk = SimDisk::new(1);
    let store = if archives { open(&disk, options()) } else { Store::in_memory(options()) };
    store.create_edge_type("edge", EdgeTypeOptions { multi, ..Default::default() }).expect("new");
    let mut hub = Hub { store, multi, has_numbers, edges: Vec::new() };
    let mut random = Random::new(1);
    let mut number = 0;
    let mut numbered = |neighbors: &mut dyn Iterator<Item = u32>| -> Vec<(u32, i64)> {
        let mut next = |neighbor| {
            number += i64::from(has_numbers);
            (neighbor, number)
        };
        neighbors.map(&mut next).collect()
    };
    hub.put(&numbered(&mut (0..neighbors as u32).map(|edge| 2 * edge + 1)));
    let span = 2 * neighbors - 10_000;
    for turn in 0..turns {
        let what =
            format!("{format}, multi {multi}, numbers {has_numbers}, archives {archives}, turn {turn}");
        let count = [1, 1, 30, 4000][random.below(4) as usize];
        let (from, width) = (1 + random.below(span), [2 * count, 10_000, span][random.below(3) as usize]);
        let neighbors: Vec<u32> = (0..count).map(|_| (from + random.below(width)) as u32).collect();
        if turn == turns * 3 / 4 {
            // What is left of a chunk is longer than other lists in one piece are.
            let middle = hub.edges.len() / 2;
            let kept = neighbors_in(&hub.edges[middle..middle + 300]);
            hub.delete(&(&neighbors_in(&hub.edges) - &kept));
            hub.check(&what);
        }
        match random.below(3) {
            0 => hub.delete(&neighbors.iter().copied().collect()),
            _ => hub.put(&numbered(&mut neighbors.iter().copied())),
        }
        if archives && turn % 3 == 2 {
            hub.store.compact().expect("a good disk");
        }
        hub.check(&what);
        let version = hub.store.version().expect("open");
        let all = neighbors_in(&hub.edges);
        for edge in neighbors.iter().take(30).flat_map(|edge| edge - 1..=edge + 1) {
            assert_eq!(version.has_edge(0, 0, edge), all.contains(&edge), "{what}: {edge}");
        }
    }
}

#[test]
fn the_list_of_a_hub_is_what_was_put_and_not_deleted() {
    for kind in [(false, false), (false, true), (true, false), (true, true)] {
        is_as_put(kind, ListFormat::Fast, false, (100_000, 24));
        is_as_put(kind, ListFormat::Fast, true, (100_000, 24));
        is_as_put(kind, ListFormat::Compact, true, (100_000, 24));
    }
    // Compressed runs are longer than others only where lists are that long.
    for multi in [false, true] {
        is_as_put((multi, false), ListFormat::Compact, true, (1_500_000, 8));
    }
}
