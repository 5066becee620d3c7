//! Memory is given back: all of it when the store and its snapshots are gone, what was overwritten at once, and
//! behind a snapshot that is kept, all but what it shows.
#![allow(unsafe_code)]

#[path = "all/common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicIsize, Ordering};

use common::{
    Action, Case, HookedDisk, Runner, actions, case, directory, dump, number_batch, on, open, options,
};
use evergraph_disk::{Disk, Fault, SimDisk};
use evergraph_store::{CommitError, Options, Retain, Store};
use evergraph_types::{Column, EdgeBatch, EdgeTypeOptions, KeyColumn, KeyKind, PropertyType, Value};
use parking_lot::Mutex;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// The system's allocator, counting.
struct Counting;

static LIVE_BYTES: AtomicIsize = AtomicIsize::new(0);
/// The most that was live.
static PEAK_BYTES: AtomicIsize = AtomicIsize::new(0);

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size() as isize;
        let live = LIVE_BYTES.fetch_add(size, Ordering::Relaxed) + size;
        PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Held by every test from its first line to its last, since the count is one for all.
static COUNTING: Mutex<()> = Mutex::new(());

/// How many bytes stay allocated after `run` is done, beyond what the first runs of it leave in caches.
fn bytes_left(mut run: impl FnMut()) -> isize {
    run();
    run();
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    run();
    LIVE_BYTES.load(Ordering::Relaxed) - before
}

/// Bytes of small things that come and go on other threads.
const NOISE: isize = 2000;

fn random_workload(number: usize) -> (Case, Vec<Action>) {
    let mut random = TestRunner::deterministic();
    let strategy = (case(), actions(30));
    let workloads = (0..=number).map(|_| strategy.new_tree(&mut random).expect("a workload").current());
    workloads.last().expect("one at least")
}

#[test]
fn everything_is_freed_with_the_store_and_its_snapshots() {
    let _counting = COUNTING.lock();
    for number in 0..12 {
        let (case, actions) = random_workload(number);
        let left = bytes_left(|| {
            let mut runner = Runner::new(case);
            actions.iter().for_each(|action| runner.try_run(action).expect("a good disk"));
            runner.finish();
        });
        assert!(left.abs() < NOISE, "{left} bytes are left of {case:?} {actions:?}");
    }
}

fn loaded(disk: &SimDisk) -> Store {
    let store = open(disk, Options { bulk_edges: 1000, ..options() });
    for part in 0..4 {
        let edges = (0..1500).map(|row| (row % 40, part * 1000 + row));
        store.add_edges("knows", vec![number_batch(edges)]).expect("a good disk");
    }
    for src in 0..5 {
        store.put_edge(src, 5, "likes", &[("much", 1.5.into())]).expect("a good disk");
    }
    store
}

#[test]
fn what_an_open_that_fails_had_built_is_freed() {
    let _counting = COUNTING.lock();
    let disk = SimDisk::new(0);
    loaded(&disk).close().expect("a good disk");
    let log = directory().join("log");
    let name = disk.list(&log).expect("a log").pop().expect("a file");
    disk.flip_bit(&log.join(name), 200, 0).expect("a file");
    let left =
        bytes_left(|| drop(Store::open_on(common::on(&disk), directory(), options()).expect_err("damage")));
    assert!(left.abs() < NOISE, "{left} bytes are left");
}

#[test]
fn what_a_bulk_load_that_fails_had_built_is_freed() {
    let _counting = COUNTING.lock();
    let left = bytes_left(|| {
        let disk = SimDisk::new(0);
        let store = loaded(&disk);
        disk.fail_at(4, Fault::Enospc);
        let edges = (0..3000).map(|row| (row % 7, 90_000 + row));
        store.add_edges("likes", vec![number_batch(edges)]).expect_err("a full disk");
    });
    assert!(left.abs() < NOISE, "{left} bytes are left");
}

/// Of a load that ends well, and of one that fails.
#[test]
fn what_commits_beside_a_load_replace_is_freed() {
    let _counting = COUNTING.lock();
    for fails in [false, true] {
        let left = bytes_left(|| {
            let sim = SimDisk::new(0);
            loaded(&sim).close().expect("a good disk");
            let disk = HookedDisk::over(on(&sim));
            let options = Options { bulk_edges: 1000, ..options() };
            let store = Store::open_on(disk.clone(), directory(), options).expect("it is there");
            let put = |store: &Store, row: i64| -> Result<(), CommitError> {
                store.put_edge(row % 40, 70_000 + row, "knows", &[])?;
                store.put_edge(row % 5, row, "likes", &[("much", 0.5.into())])?;
                store.put_vertex(row, None, &[("name", format!("of {row}").as_str().into())])?;
                store.delete_edge(row % 40, row, "knows").map(drop)
            };
            (0..100).try_for_each(|row| put(&store, row)).expect("a good disk");
            let other = store.clone();
            disk.when_creating("segment", move || {
                (50..150).try_for_each(|row| put(&other, row)).expect("a good disk");
                if fails {
                    sim.fail_at(2, Fault::Enospc);
                }
            });
            let edges = (0..3000).map(|row| (row % 47, 90_000 + row));
            let loaded = store.add_edges("knows", vec![number_batch(edges)]);
            assert_eq!(loaded.is_err(), fails);
        });
        assert!(left.abs() < NOISE, "{left} bytes are left");
    }
}

/// In memory, where others commit at any time.
#[test]
fn what_threads_commit_beside_loads_in_memory_is_freed() {
    let _counting = COUNTING.lock();
    let left = bytes_left(|| {
        let store = Store::in_memory(Options { bulk_edges: 1000, ..options() });
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                for row in 0..500 {
                    store.put_edge(row % 40, 70_000 + row, "knows", &[]).expect("it fits");
                    store.put_edge(row % 5, row, "likes", &[("much", 0.5.into())]).expect("it fits");
                    store.delete_edge(row % 40, 90_000 + row, "knows").expect("it fits");
                }
            });
            while !other.is_finished() {
                let edges = (0..3000).map(|row| (row % 47, 90_000 + row));
                store.add_edges("knows", vec![number_batch(edges)]).expect("it fits");
            }
        });
    });
    assert!(left.abs() < NOISE, "{left} bytes are left");
}

/// It is applied while it is recorded.
#[test]
fn what_a_batch_that_fails_had_built_is_freed() {
    let _counting = COUNTING.lock();
    let left = bytes_left(|| {
        let disk = SimDisk::new(0);
        let store = loaded(&disk);
        let before = store.stats().memory;
        disk.fail_at(0, Fault::Enospc);
        let edges = (0..300).map(|row| (row % 7, row));
        store.add_edges("likes", vec![number_batch(edges)]).expect_err("a full disk");
        assert_eq!(store.stats().memory.fragment_bytes, before.fragment_bytes);
    });
    assert!(left.abs() < NOISE, "{left} bytes are left");
}

/// Puts the same edges and vertices again with other values.
fn overwrite(store: &Store, round: i64) {
    for row in 0..60 {
        let name = format!("name {}", (round + row) % 10);
        store
            .put_vertex(row, None, &[("name", Value::Text(name)), ("round", round.into())])
            .expect("it fits");
        store.put_edge(row % 3, row, "knows", &[("round", round.into())]).expect("it fits");
    }
    store.add_edges("plain", vec![number_batch((0..700).map(|row| (0, row)))]).expect("it fits");
    store.delete_edges("plain", vec![number_batch((0..700).map(|row| (0, row)))]).expect("it fits");
}

#[test]
fn overwritten_values_are_freed_at_once() {
    let _counting = COUNTING.lock();
    for store in [Store::in_memory(options()), open(&SimDisk::new(0), options())] {
        // Some of what is freed waits for the next commit.
        let in_use = || {
            let stats = store.stats();
            assert!(stats.memory.spare_bytes <= 1 << 20);
            stats.memory_bytes - stats.memory.spare_bytes
        };
        overwrite(&store, 0);
        let before = in_use();
        for round in 1..20 {
            overwrite(&store, round * 10);
            assert_eq!(in_use(), before);
        }
        // A snapshot that was kept for a while changes nothing in the end.
        let kept = store.version().expect("open");
        overwrite(&store, 200);
        assert!(in_use() > before);
        drop(kept);
        assert_eq!(in_use(), before);
    }
}

#[test]
fn a_store_takes_no_more_than_a_fresh_one_with_the_same_content() {
    let _counting = COUNTING.lock();
    let (used, fresh) = (Store::in_memory(options()), Store::in_memory(options()));
    (0..30).for_each(|round| overwrite(&used, round));
    used.delete_vertex(5).expect("it fits");
    used.put_vertex(5, None, &[]).expect("it fits");
    overwrite(&used, 7);
    overwrite(&fresh, 7);
    let strip = |store: &Store| dump(&store.version().expect("open"));
    assert_eq!(strip(&used), strip(&fresh));
    let (used, fresh) = (used.stats().memory_bytes, fresh.stats().memory_bytes);
    assert!(used <= fresh + fresh / 4, "{used} bytes, {fresh} in a fresh store");
}

#[test]
fn memory_is_told_as_it_is() {
    let _counting = COUNTING.lock();
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    let store = Store::in_memory(Options { keys: Some(KeyKind::Dense), ..options() });
    let edges = (0..200_000i64).map(|row| (row * 7919 % 10_007, row * 104_729 % 10_007));
    store.add_edges("knows", vec![number_batch(edges)]).expect("it fits");
    let taken = LIVE_BYTES.load(Ordering::Relaxed) - before;
    let told = store.stats().memory_bytes as isize;
    assert!((taken - told).abs() < taken / 20, "{taken} bytes are taken, {told} are told");
}

/// Blocks that wait for a held version, and the lists of them, which are as long as a commit is large.
#[test]
fn what_held_versions_keep_is_told_as_it_is() {
    let _counting = COUNTING.lock();
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    let store = Store::in_memory(Options { keys: Some(KeyKind::Dense), ..options() });
    let hold = |round: i64| {
        let edges = (0..1000).map(|row| scattered(1000 * round + row, 50_000));
        store.add_edges("knows", vec![number_batch(edges.map(|src| (src, src / 2)))]).expect("it fits");
        store.version().expect("open")
    };
    let held: Vec<_> = (0..60).map(hold).collect();
    let taken = LIVE_BYTES.load(Ordering::Relaxed) - before;
    let told = store.stats().memory.heap_bytes() as isize;
    assert!((taken - told).abs() < taken / 100, "{taken} bytes are taken, {told} are told");
    drop(held);
    let memory = store.stats().memory;
    assert!(memory.retired_bytes < 1 << 16, "{memory:?}");
}

/// What one kept version of a small graph keeps: blocks that were born after it are freed by the next commit.
const BEHIND_ONE_BYTES: u64 = 1 << 17;

#[test]
fn behind_a_kept_snapshot_memory_does_not_grow_without_bound() {
    let _counting = COUNTING.lock();
    let store = Store::in_memory(options());
    overwrite(&store, 0);
    let model = dump(&store.version().expect("open"));
    let kept = store.version().expect("open");
    let mut most = 0;
    for round in 1..400 {
        overwrite(&store, round);
        most = most.max(store.stats().memory_bytes);
    }
    assert_eq!(dump(&kept), model);
    assert!(most < BEHIND_ONE_BYTES, "{most} bytes behind one snapshot");
    drop(kept);
    let left = store.stats().memory_bytes;
    assert!(left < 1 << 16, "{left} bytes are left");
}

/// What a load under a memory limit may take beyond it: pieces of lists on their way to the disk, and what is kept for
/// each vertex.
const BEYOND_LIMIT: isize = 24 << 20;

/// The most bytes that were live while a graph of a few vertices was loaded in 60 pieces of so many rows.
fn peak_of_load(options: Options, multi: bool, rows: i64, column: Option<&Column>) -> isize {
    const PIECES: i64 = 60;
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path().join("net.eg"), options).expect("a new store");
    let kind = EdgeTypeOptions { multi, symmetric: true, ..EdgeTypeOptions::default() };
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    PEAK_BYTES.store(before, Ordering::Relaxed);
    let mut load = store.bulk_load("knows", Some(kind));
    for piece in 0..PIECES {
        let row = |row: i64| (piece * rows + row).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) as u64;
        let ends =
            |shift: u32| KeyColumn::Int((0..rows).map(|at| (row(at) >> shift & 0xFFF) as i64).collect());
        let columns = column.map(|column| ("weight".to_owned(), column.clone()));
        let batch = EdgeBatch { src: ends(40), dst: ends(20), columns: columns.into_iter().collect() };
        load.add(vec![batch]).expect("room");
    }
    let summary = load.commit(&[]).expect("room");
    assert!(summary.edges as i64 > PIECES * rows / 3, "{summary:?}");
    PEAK_BYTES.load(Ordering::Relaxed) - before
}

/// Compares the peaks with a limit and without one, with history and without.
fn stays_near_the_limit(multi: bool, rows: i64, column: Option<&Column>) {
    let limit = 8 << 20;
    for retain in [None, Some(Retain::Everything)] {
        let peak = |memory_limit_bytes| {
            peak_of_load(Options { memory_limit_bytes, retain, ..options() }, multi, rows, column)
        };
        let (bounded, unbounded) = (peak(Some(limit)), peak(None));
        let what = format!("{bounded} and {unbounded} bytes, {retain:?}, multi {multi}, {rows} rows");
        assert!(bounded < limit as isize + BEYOND_LIMIT, "{what}");
        assert!(unbounded > limit as isize + BEYOND_LIMIT, "{what}");
    }
}

#[test]
fn a_load_larger_than_the_limit_stays_near_it() {
    let _counting = COUNTING.lock();
    let rows = 50_000;
    for multi in [false, true] {
        let weights = Column::from((0..rows).collect::<Vec<i64>>());
        [None, Some(&weights)].into_iter().for_each(|column| stays_near_the_limit(multi, rows, column));
    }
}

#[test]
fn a_load_of_few_edges_with_much_in_each_stays_near_the_limit() {
    let _counting = COUNTING.lock();
    let rows = 1000;
    let mut notes = Column::new(PropertyType::String);
    for row in 0..rows {
        notes.push(Value::Text(format!("{row:01000}"))).expect("a text");
    }
    [false, true].into_iter().for_each(|multi| stays_near_the_limit(multi, rows, Some(&notes)));
}

/// The most bytes that were live while this ran, beyond those before.
fn peak_of(run: impl FnOnce()) -> isize {
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    PEAK_BYTES.store(before, Ordering::Relaxed);
    run();
    PEAK_BYTES.load(Ordering::Relaxed) - before
}

/// A part of a load that has to stay near the limit: what it is, and how many bytes it took at the most.
type Peak = (String, isize);

fn assert_near_limit(peaks: &[Peak]) {
    let near = |(_, peak): &Peak| *peak < LIMIT + BEYOND_LIMIT;
    assert!(peaks.iter().all(near), "{peaks:?}");
}

const LIMIT: isize = 8 << 20;

fn kind(multi: bool) -> EdgeTypeOptions {
    EdgeTypeOptions { multi, reverse: false, ..EdgeTypeOptions::default() }
}

/// A store with a memory limit and so many vertices, so that nothing more is to be kept for each.
fn with_vertices(directory: &Path, vertices: i64, retain: Option<Retain>) -> Store {
    let memory_limit_bytes = Some(LIMIT as u64);
    let options = Options { memory_limit_bytes, retain, keys: Some(KeyKind::Dense), ..options() };
    let store = Store::open(directory.join("net.eg"), options).expect("a new store");
    store.create_edge_type("next", kind(false)).expect("a new type");
    load(&store, "next", vertices, None, |row| (row, (row + 1) % vertices));
    store
}

/// Loads so many edges, `ends` giving those of each, with a column that every piece of the load has.
fn load(
    store: &Store,
    edge_type: &str,
    edges: i64,
    column: Option<(&str, &Column)>,
    ends: impl Fn(i64) -> (i64, i64),
) {
    let mut load = store.bulk_load(edge_type, None);
    let rows = column.map_or(10_000, |column| column.1.len() as i64);
    for first in (0..edges).step_by(rows as usize) {
        let (src, dst) = (first..first + rows).map(&ends).unzip();
        let columns = column.map(|(name, values)| (name.to_owned(), values.clone())).into_iter().collect();
        let batch = EdgeBatch { src: KeyColumn::Int(src), dst: KeyColumn::Int(dst), columns };
        load.add(vec![batch]).expect("room");
    }
    assert!(load.commit(&[]).expect("room").edges > 0);
}

/// Texts of 1000 bytes.
fn notes() -> Column {
    let mut notes = Column::new(PropertyType::String);
    (0..500).for_each(|row| notes.push(Value::Text(format!("{row:01000}"))).expect("a text"));
    notes
}

/// A number below `count` for each row, in no order, and all of them.
fn scattered(row: i64, count: i64) -> i64 {
    row * 7_368_787 % count
}

/// The list of one vertex is loaded, loaded into, and brought to a new segment.
#[test]
fn a_list_longer_than_the_limit_is_loaded_near_it() {
    let _counting = COUNTING.lock();
    const SPOKES: i64 = 150_000;
    let (weights, notes) = (Column::from((0..10_000).collect::<Vec<i64>>()), notes());
    let columns =
        [(1_600_000, None), (600_000, Some(("weight", &weights))), (50_000, Some(("note", &notes)))];
    for (multi, retain) in [(false, None), (true, Some(Retain::Everything))] {
        let directory = tempfile::tempdir().expect("a directory");
        let store = with_vertices(directory.path(), SPOKES, retain);
        let mut peaks = Vec::new();
        for (edges, column) in columns {
            let edge_type = format!("{:?} multi {multi}", column.map(|column| column.0));
            store.create_edge_type(&edge_type, kind(multi)).expect("a new type");
            for (odd, edges) in [(0, edges), (1, edges / 2)] {
                let star = |row: i64| (0, 2 * scattered(row, SPOKES / 2) + odd);
                let peak = peak_of(|| load(&store, &edge_type, edges, column, star));
                peaks.push((edge_type.clone(), peak));
            }
        }
        peaks.push((format!("all, multi {multi}"), peak_of(|| store.compact().expect("room"))));
        assert_near_limit(&peaks);
    }
}

/// Rows that are a small part of the lists they are added to.
#[test]
fn a_load_into_lists_larger_than_the_limit_stays_near_it() {
    let _counting = COUNTING.lock();
    const VERTICES: i64 = 4096;
    let directory = tempfile::tempdir().expect("a directory");
    let store = with_vertices(directory.path(), VERTICES, None);
    let notes = notes();
    let mut peaks = Vec::new();
    for multi in [false, true] {
        let edge_type = format!("multi {multi}");
        store.create_edge_type(&edge_type, kind(multi)).expect("a new type");
        let ends = |row: i64| (scattered(row, VERTICES - 1), scattered(row, VERTICES));
        load(&store, &edge_type, 80_000, Some(("note", &notes)), ends);
        let more = |row: i64| (scattered(row, VERTICES - 3), scattered(row, VERTICES - 5));
        peaks.push((edge_type.clone(), peak_of(|| load(&store, &edge_type, 200_000, None, more))));
    }
    assert_near_limit(&peaks);
}

/// At whatever operation, or look at what was written, the disk fails.
#[test]
fn what_a_load_into_one_list_that_fails_had_built_is_freed() {
    let _counting = COUNTING.lock();
    let weights = Column::from((0..400).collect::<Vec<i64>>());
    let attempt = |multi, fail: &dyn Fn(&SimDisk)| {
        let disk = SimDisk::new(0);
        let store = open(&disk, Options { memory_limit_bytes: Some(60_000), ..options() });
        store.create_edge_type("star", kind(multi)).expect("a new type");
        let star = |rows: std::ops::Range<i64>| {
            let mut load = store.bulk_load("star", None);
            for first in rows.step_by(400) {
                let mut batch = number_batch((first..first + 400).map(|row| (0, scattered(row, 20_011))));
                batch.columns.push(("weight".to_owned(), weights.clone()));
                load.add(vec![batch])?;
            }
            load.commit(&[]).map(drop)
        };
        star(0..4_000).expect("a good disk");
        let memory = store.stats().memory.fragment_bytes;
        fail(&disk);
        let failed = star(2_000..12_000).is_err();
        assert!(!failed || store.stats().memory.fragment_bytes == memory);
        failed
    };
    for multi in [false, true] {
        let mut failed = [0, 0];
        for place in (0..120).step_by(7) {
            let fails: [&dyn Fn(&SimDisk); 2] =
                [&|disk| disk.fail_at(place, Fault::Enospc), &|disk| disk.fail_look_at(place)];
            for (fail, failed) in fails.into_iter().zip(&mut failed) {
                let left = bytes_left(|| *failed += usize::from(attempt(multi, fail)));
                assert!(left.abs() < NOISE, "{left} bytes are left at {place}, multi {multi}");
            }
        }
        assert!(failed.iter().all(|failed| *failed > 10), "{failed:?}");
    }
}
