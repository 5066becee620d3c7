//! Long work that is told to stop, wherever that is: nothing of it is there, no file is left, the store goes on, and the same
//! work does what it would have done. Told too late, it is done.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{directory, dump, number_batch, on, open, options, with_columns};
use evergraph_disk::{CrashPlan, Disk, Fault, SimDisk};
use evergraph_store::{BackupError, CommitError, Options, Store, check_on};
use evergraph_types::{EdgeBatch, EdgeTypeOptions, Progress, PropertyType, Value};

/// Says stop when it is asked for the time after so many, and never again.
struct StopAfter {
    asked: AtomicUsize,
    after: usize,
}

impl StopAfter {
    fn new(after: usize) -> Self {
        StopAfter { asked: AtomicUsize::new(0), after }
    }

    fn was_asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Progress for StopAfter {
    fn update(&self, done: u64, total: Option<u64>) -> ControlFlow<()> {
        assert!(total.is_none_or(|total| done <= total), "{done} of {total:?}");
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if asked == self.after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Many edges of some vertices, with or without a property.
fn edges(seed: i64, has_properties: bool) -> Vec<EdgeBatch> {
    let ends = (0..6_000i64).map(|row| ((row * 7 + seed) % 700, (row * row + seed) % 1_900));
    let columns = [("weight", PropertyType::Int64)];
    let value = |_, row: usize| Value::Int(row as i64 % 100);
    let batch = number_batch(ends);
    vec![with_columns(batch, if has_properties { &columns } else { &[] }, value)]
}

/// Files that hold lists, and those of loads.
fn files(disk: &SimDisk) -> Vec<String> {
    disk.list(&directory().join("segments")).unwrap_or_default()
}

/// Runs work again and again, stopped later and later, until it comes to its end; tells how often it was stopped.
fn stop_everywhere(
    (store, disk): (&Store, Option<&SimDisk>),
    work: impl Fn(&Store, &StopAfter) -> Result<(), CommitError>,
) -> usize {
    let (mut after, mut stopped) = (0, 0);
    loop {
        let before = (dump(&store.version().expect("open")), disk.map(files));
        let progress = StopAfter::new(after);
        match work(store, &progress) {
            Ok(()) => {
                assert!(progress.was_asked() <= after + 1, "it was told to stop and has not heard");
                return stopped;
            }
            Err(CommitError::Cancelled) => stopped += 1,
            Err(error) => panic!("stopped after {after}: {error}"),
        }
        let now = (dump(&store.version().expect("open")), disk.map(files));
        assert!(now.0 == before.0, "stopped after {after}: something of it is there");
        assert_eq!(now.1, before.1, "stopped after {after}");
        store.put_edge(5_000 + after as i64, 3, "other", &[]).expect("the store goes on");
        // In debug builds rows come in lots of two thousand: the first phases are short, and the last ones are alike.
        after += 1 + after / 3;
    }
}

#[test]
fn a_batch_that_is_stopped_leaves_nothing() {
    for (is_on_disk, memory_limit_bytes) in [(false, None), (true, None), (true, Some(100_000))] {
        for (multi, has_properties) in [(false, false), (false, true), (true, false), (true, true)] {
            let disk = SimDisk::new(0);
            let options = || Options { bulk_edges: 1_000, memory_limit_bytes, ..options() };
            let store = if is_on_disk { open(&disk, options()) } else { Store::in_memory(options()) };
            let kind = EdgeTypeOptions { multi, ..EdgeTypeOptions::default() };
            store.create_edge_type("knows", kind).expect("new");
            let on_disk = is_on_disk.then_some(&disk);
            for seed in 0..2 {
                let stopped = stop_everywhere((&store, on_disk), |store, progress| {
                    let mut load = store.bulk_load("knows", None);
                    load.add(edges(seed, has_properties))?;
                    load.commit_watched(&[("place", b"here")], progress).map(|_| ())
                });
                assert!(stopped > 4, "{stopped} times");
            }
            let expected = Store::in_memory(options());
            expected.create_edge_type("knows", EdgeTypeOptions { multi, ..Default::default() }).expect("new");
            for seed in 0..2 {
                expected.add_edges("knows", edges(seed, has_properties)).expect("it fits");
            }
            let edges_of = |store: &Store| store.stats().edge_types[0].edges;
            assert_eq!(edges_of(&store), edges_of(&expected));
            let stopped = stop_everywhere((&store, on_disk), |store, progress| {
                store.watched(progress).delete_edges("knows", edges(0, false)).map(|_| ())
            });
            assert!(stopped > 2, "{stopped} times");
            store.close().expect("a good disk");
            if is_on_disk {
                let report = check_on(on(&disk), directory()).expect("a store");
                assert!(report.is_healthy(), "{report:?}");
                let store = open(&disk, options());
                assert!(store.version().expect("open").item("edge_type/0/place").is_some());
            }
        }
    }
}

#[test]
fn an_archive_that_is_stopped_changes_nothing() {
    for is_on_disk in [false, true] {
        let disk = SimDisk::new(0);
        let store = if is_on_disk { open(&disk, options()) } else { Store::in_memory(options()) };
        let on_disk = is_on_disk.then_some(&disk);
        for seed in 0..3 {
            store.add_edges("knows", edges(seed, true)).expect("it fits");
            let compacts = seed == 1;
            stop_everywhere((&store, on_disk), |store, progress| match compacts {
                true => store.watched(progress).compact(),
                false => store.watched(progress).checkpoint(),
            });
        }
        store.close().expect("a good disk");
        if is_on_disk {
            let report = check_on(on(&disk), directory()).expect("a store");
            assert!(report.is_healthy(), "{report:?}");
        }
    }
}

#[test]
fn a_backup_that_is_stopped_is_no_store_and_may_be_begun_again() {
    for is_on_disk in [false, true] {
        let disk = SimDisk::new(0);
        let store = if is_on_disk { open(&disk, options()) } else { Store::in_memory(options()) };
        store.add_edges("knows", edges(0, true)).expect("it fits");
        // A store in memory is saved to a disk of the system.
        let home = tempfile::tempdir().expect("a directory");
        let target =
            if is_on_disk { directory().with_file_name("copy.eg") } else { home.path().join("copy") };
        let open_copy = || match is_on_disk {
            true => Store::open_on(on(&disk), &target, Options { read_only: true, ..options() }),
            false => Store::open(&target, Options { read_only: true, ..options() }),
        };
        let (mut after, mut stopped) = (0, 0);
        loop {
            let progress = StopAfter::new(after);
            match store.watched(&progress).backup(&target) {
                Ok(_) => break,
                Err(BackupError::Cancelled) => stopped += 1,
                Err(error) => panic!("stopped after {after}: {error}"),
            }
            open_copy().expect_err("it is no store");
            if is_on_disk {
                assert_eq!(disk.list(&target.join("segments")).expect("a directory"), Vec::<String>::new());
            }
            after += 1;
        }
        assert!(stopped > 2, "{stopped} times");
        let copy = open_copy().expect("a store");
        assert!(dump(&copy.version().expect("open")) == dump(&store.version().expect("open")));
    }
}

#[test]
fn what_goes_through_the_log_is_stopped_before_it_begins_or_not_at_all() {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { bulk_edges: 1_000, memory_limit_bytes: Some(100_000), ..options() });
    let reader = store.changes(Default::default()).expect("open");
    let (early, late) = (StopAfter::new(0), StopAfter::new(2));
    let outcome = store.watched(&early).add_edges("knows", edges(0, false));
    assert!(matches!(outcome, Err(CommitError::Cancelled)));
    assert_eq!(store.version().expect("open").sequence(), 0);
    let summary = store.watched(&late).add_edges("knows", edges(0, false)).expect("it fits");
    assert_eq!((summary.sequence, store.stats().num_edges), (1, summary.edges));
    assert_eq!(late.was_asked(), 2, "nobody is asked in vain");
    drop(reader);
}

/// A load of keys that nobody knows, which is given up once they have ids.
fn give_up(store: &Store) {
    let fresh = number_batch((0..6_000i64).map(|row| (10_000 + row, 20_000 + row)));
    let outcome = store.watched(&StopAfter::new(4)).add_edges("knows", vec![fresh]);
    assert!(matches!(outcome, Err(CommitError::Cancelled)), "{outcome:?}");
}

/// Its keys are in the log with the next commit that is, whatever is committed without the log before.
#[test]
fn keys_of_a_load_that_was_given_up_come_with_the_next_commit_in_the_log() {
    for after in [3, 10_500] {
        let disk = SimDisk::new(0);
        let options = || Options { bulk_edges: 1_000, ..options() };
        let store = open(&disk, options());
        let known = |times: i64| number_batch((0..1_500i64).map(move |row| (row % 50, row * times % after)));
        store.add_edges("knows", vec![known(3)]).expect("it fits");
        give_up(&store);
        store.add_edges("knows", vec![known(7)]).expect("it fits");
        store.put_edge(777_777, 1, "knows", &[]).expect("it fits");
        let before = dump(&store.version().expect("open"));
        store.close().expect("a good disk");
        assert!(check_on(on(&disk), directory()).is_ok_and(|report| report.is_healthy()));
        assert!(dump(&open(&disk, options()).version().expect("open")) == before);
    }
}

/// The load after it is in the log in parts, since somebody follows it by then, and power is lost when its end is.
#[test]
fn keys_of_a_load_that_was_given_up_come_with_the_first_part_of_the_next_one() {
    let mut met = 0;
    for nth in (0..).step_by(3) {
        let disk = SimDisk::new(0);
        let options = || Options { bulk_edges: 1_000, memory_limit_bytes: Some(100_000), ..options() };
        let store = open(&disk, options());
        store.put_edge(1, 2, "knows", &[]).expect("it fits");
        give_up(&store);
        let reader = store.changes(Default::default()).expect("open");
        disk.fail_at(nth, Fault::Eio);
        let before = disk.operations();
        let next = number_batch((0..6_000i64).map(|row| (50_000 + row, 60_000 + row)));
        let outcome = store.add_edges("knows", vec![next]);
        if disk.operations() <= before + nth {
            outcome.expect("nothing failed");
            break;
        }
        met += 1;
        drop((reader, store));
        let crashed = disk.crash(CrashPlan::KeepUnsynced);
        let opened = Store::open_on(on(&crashed), directory(), options());
        opened.unwrap_or_else(|error| panic!("a fault at operation {nth} ({outcome:?}): {error}"));
    }
    assert!(met > 10, "{met} operations");
}
