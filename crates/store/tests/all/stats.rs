//! What a store tells of the room it takes is what there is, whatever it is taken by.

use std::path::Path;

use crate::common::{number_batch, open, options};
use evergraph_disk::SimDisk;
use evergraph_store::{At, ChangeOptions, CommitError, Layout, Options, Retain, Stats, Store};
use evergraph_types::{EdgeBatch, KeyKind, Value};

/// The lengths of all files in a directory and below.
fn bytes_below(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry"));
    let bytes = |entry: std::fs::DirEntry| match entry.metadata().expect("a file") {
        metadata if metadata.is_dir() => bytes_below(&entry.path()),
        metadata => metadata.len(),
    };
    entries.map(bytes).sum()
}

/// Compares what is told with what there is, beside segments that have no name any more.
fn assert_told(store: &Store, what: &str) -> Stats {
    let stats = store.stats();
    let parts: u64 = stats.disk.parts().iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(parts, stats.disk_bytes, "{what}");
    let there = store.path().map_or(0, bytes_below);
    assert_eq!(stats.disk_bytes - stats.disk.removed_bytes, there, "{what}: {stats:?}");
    let parts: u64 = stats.memory.parts().iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(parts, stats.memory.total_bytes(), "{what}");
    stats
}

fn add(store: &Store, first: i64) {
    let edges = (0..5000).map(|row| (row % 97, first + row));
    store.add_edges("knows", vec![number_batch(edges)]).expect("room");
}

#[test]
fn every_file_of_a_store_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options { retain: Some(Retain::Everything), ..options() };
    let store = Store::open(directory.path().join("net.eg"), options).expect("a new store");
    assert_told(&store, "new");
    store.put_edge(1, 2, "knows", &[]).expect("room");
    let one = assert_told(&store, "one edge");
    assert!(one.disk.log_room_bytes > 100_000, "{one:?}");
    for round in 0..3 {
        add(&store, 5000 * round);
        store.checkpoint().expect("room");
        assert_told(&store, "an archive");
    }
    store.compact().expect("room");
    let compacted = assert_told(&store, "compacted");
    assert!(compacted.disk.segment_bytes > 0 && compacted.disk.history_bytes > 0, "{compacted:?}");
    let reader = store
        .changes(ChangeOptions { name: Some("reader".to_owned()), ..ChangeOptions::default() })
        .expect("open");
    assert_told(&store, "a reader with a name");
    drop(reader);
    store.close().expect("a good disk");
}

/// A file that is removed while it is mapped holds its room.
#[test]
fn segments_that_a_held_version_reaches_are_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path().join("net.eg"), options()).expect("a new store");
    add(&store, 0);
    store.checkpoint().expect("room");
    let held = store.version().expect("open");
    let before = assert_told(&store, "archived");
    assert_eq!((before.disk.removed_bytes, before.memory.older_segment_bytes), (0, 0));
    add(&store, 5000);
    store.compact().expect("room");
    let pinned = assert_told(&store, "merged");
    assert_eq!(pinned.disk.removed_bytes, before.disk.segment_bytes);
    assert_eq!(pinned.memory.older_segment_bytes, before.memory.segment_bytes);
    drop(held);
    let after = assert_told(&store, "let go of");
    assert_eq!((after.disk.removed_bytes, after.memory.older_segment_bytes), (0, 0));
}

/// On disk and in memory, where their segments take memory, too.
#[test]
fn versions_of_the_past_are_told() {
    let directory = tempfile::tempdir().expect("a directory");
    // A log so short has each archive begin from a base of its own.
    let options = Options { retain: Some(Retain::Everything), log_limit_bytes: 20_000, ..options() };
    let path = directory.path().join("net.eg");
    for store in [Store::open(path, options.clone()).expect("a new store"), Store::in_memory(options)] {
        add(&store, 0);
        store.checkpoint().expect("room");
        (1..6).for_each(|round| add(&store, 5000 * round));
        store.compact().expect("room");
        let before = assert_told(&store, "compacted").memory;
        assert_eq!(before.history_bytes, 0);
        let past = store.version_at(At::Commit(4)).expect("it is kept");
        let told = assert_told(&store, "a version of the past").memory;
        // The lists of both directions of the commits that only the log holds.
        assert!(told.history_bytes > 3 * 5000 * 2 * 4, "{told:?}");
        assert!(told.older_segment_bytes > 5000 * 2 * 4, "{told:?}");
        assert_eq!(told.fragment_bytes, before.fragment_bytes);
        store.close().expect("a good disk");
        assert!(store.stats().memory.history_bytes > 0, "somebody holds it");
        drop(past);
        assert_eq!(store.stats().memory.history_bytes, 0);
    }
}

#[test]
fn the_log_of_a_store_in_memory_that_is_followed_is_told() {
    let store = Store::in_memory(options());
    let reader = store.changes(ChangeOptions::default()).expect("open");
    add(&store, 0);
    let told = assert_told(&store, "followed");
    assert!(told.memory.log_bytes >= told.log_bytes && told.log_bytes > 5000 * 8, "{told:?}");
    assert_eq!(told.disk_bytes, 0);
    drop(reader);
}

/// Keys, vertices, their properties and the index of lists are needed as lists are.
#[test]
fn a_compacted_store_wastes_nothing() {
    let store = open(&SimDisk::new(0), options());
    let text = |row: i64| Value::Text(format!("the vertex with the number {row}"));
    store
        .transact(0, |tx| -> Result<(), CommitError> {
            for row in 0..2000 {
                let keys = [row, row + 1].map(|row| format!("key {row}"));
                tx.put_edge(keys[0].as_str(), keys[1].as_str(), "knows", &[("since", row.into())])?;
                tx.put_vertex(keys[0].as_str(), None, &[("name", text(row)), ("row", row.into())])?;
            }
            Ok(())
        })
        .expect("room");
    let layout = || store.version().expect("open").layout();
    let wastes = |layout: &Layout| layout.space_amplification().expect("a segment") - 1.0;
    store.compact().expect("room");
    let full = layout();
    assert!((0.0..0.03).contains(&wastes(&full)), "{full:?}");
    assert!(full.levels[1].other_bytes > full.levels[1].live_bytes, "{full:?}");

    // What is replaced is needed no more, what stays is.
    for row in 0..1000 {
        store.put_vertex(&*format!("key {row}"), None, &[("name", text(-row))]).expect("room");
    }
    let replaced = layout();
    assert!(wastes(&replaced) > 0.1, "{replaced:?}");
    store.checkpoint().expect("room");

    let all = |store: &Store| {
        let version = store.version().expect("open");
        let keys = |rows: std::ops::Range<u32>| version.keys(rows);
        EdgeBatch { src: keys(0..2000), dst: keys(1..2001), columns: Vec::new() }
    };
    store.delete_edges("knows", vec![all(&store)]).expect("room");
    store.compact().expect("room");
    let empty = layout();
    assert!((0.0..0.03).contains(&wastes(&empty)), "{empty:?}");
    assert_eq!((empty.bytes_per_entry(), empty.fragments_per_list()), (None, None));
    assert_eq!(Store::in_memory(options()).version().expect("open").layout().space_amplification(), None);
}

/// The bounds of the module that archives: on all that is written, on segments, and on fragments of lists.
#[test]
fn merging_stays_within_its_bounds() {
    const VERTICES: i64 = 20_000;
    const EDGES_LEAST: i64 = 500;
    let store = open(&SimDisk::new(0), Options { keys: Some(KeyKind::Dense), ..options() });
    let mut state = 7u64;
    let mut random = |bound: i64| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (state >> 33) as i64 % bound
    };
    let (mut largest, mut least) = (0, u64::MAX);
    for archives in 1..=150 {
        let count = EDGES_LEAST << random(5);
        let edges: Vec<(i64, i64)> = (0..count).map(|_| (random(VERTICES), random(VERTICES))).collect();
        let batch = number_batch(edges);
        match random(4) {
            0 => store.delete_edges("knows", vec![batch]).map(drop),
            _ => store.add_edges("knows", vec![batch]).map(drop),
        }
        .expect("room");
        let before = store.stats().archived_bytes;
        store.checkpoint().expect("room");
        let stats = store.stats();
        least = least.min(stats.archived_bytes - before);
        largest = largest.max(stats.segment_bytes);
        let ratio = largest as f64 / least as f64;
        let bound = stats.archived_bytes as f64 * (3.5 + ratio.ln() / 1.5f64.ln())
            + archives as f64 * largest as f64 / 128.0;
        assert!(stats.written_bytes as f64 <= bound, "{stats:?}, {bound}");
        assert!(stats.segments as f64 <= (2.0 + ratio.log2()).min(8.0), "{stats:?}");
        let layout = store.version().expect("open").layout();
        assert!(layout.tables.iter().all(|table| table.most_fragments == 1), "{layout:?}");
    }
    let times = store.stats().write_amplification().expect("archives");
    assert!(times > 1.5, "only {times}: nothing was merged");
}
