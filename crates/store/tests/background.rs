//! What the store does by itself: syncing by the clock, archiving when the log or memory has grown, and letting go of
//! everything when it is dropped.

mod common;

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use common::{HookedDisk, directory, dump, number_batch, on, open, options};
use evergraph_disk::{CrashPlan, Fault, SimDisk};
use evergraph_store::{CommitError, Durability, Options, Store};

/// Waits until something holds that another thread brings about.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "waiting for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn after_a_loss_of_power(disk: &SimDisk) -> Store {
    open(&disk.crash(CrashPlan::LoseUnsynced), options())
}

#[test]
fn with_interval_a_commit_is_durable_soon() {
    let disk = SimDisk::new(0);
    let interval = Duration::from_millis(5);
    let options = Options { durability: Durability::Interval, interval, background: true, ..options() };
    let store = open(&disk, options);
    for turn in 0..3 {
        let sequence = store.put_edge(turn, turn + 1, "knows", &[]).expect("it fits");
        wait_until("the clock", || {
            after_a_loss_of_power(&disk).version().expect("open").sequence() >= sequence
        });
    }
}

/// The thread that syncs by the clock is held up by the disk: commits are not, and later they are synced too.
#[test]
fn with_interval_commits_go_on_while_the_disk_syncs() {
    for fails in [false, true] {
        let disk = SimDisk::new(0);
        let hooked = HookedDisk::over(on(&disk));
        let interval = Duration::from_millis(1);
        let options = Options { durability: Durability::Interval, interval, background: true, ..options() };
        let store = Store::open_on(hooked.clone(), directory(), options).expect("new");
        store.put_edge(0, 1, "knows", &[]).expect("it fits");
        let (begun, has_begun) = channel();
        let (release, is_released) = channel::<()>();
        hooked.when_syncing("log", move || {
            begun.send(()).expect("it is waited for");
            is_released.recv().expect("it is sent");
        });
        store.put_edge(1, 2, "knows", &[]).expect("it fits");
        has_begun.recv().expect("it syncs by the clock");
        for turn in 2..50 {
            store.put_edge(turn, turn + 1, "knows", &[]).expect("nobody waits for the disk");
        }
        let last = store.version().expect("open").sequence();
        if fails {
            disk.fail_at(0, Fault::Eio);
        }
        release.send(()).expect("it waits");
        if fails {
            wait_until("the failure", || store.stats().failure.is_some());
            assert!(matches!(store.put_edge(0, 2, "knows", &[]), Err(CommitError::Durability { .. })));
            continue;
        }
        wait_until("the clock", || after_a_loss_of_power(&disk).version().expect("open").sequence() == last);
    }
}

#[test]
fn with_none_nothing_is_synced_before_closing() {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { durability: Durability::None, background: true, ..options() });
    store.put_edge(0, 1, "knows", &[]).expect("it fits");
    assert_eq!(after_a_loss_of_power(&disk).version().expect("open").sequence(), 0);
    store.close().expect("a good disk");
    assert_eq!(after_a_loss_of_power(&disk).version().expect("open").sequence(), 1);
}

#[test]
fn a_long_log_is_archived() {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { background: true, log_limit_bytes: 20_000, ..options() });
    for turn in 0..400 {
        store.put_edge(turn % 20, turn, "knows", &[("turn", turn.into())]).expect("it fits");
    }
    wait_until("an archive", || store.stats().segments > 0 && store.stats().log_bytes <= 30_000);
    let before = dump(&store.version().expect("open"));
    assert_eq!(dump(&after_a_loss_of_power(&disk).version().expect("open")), before);
}

#[test]
fn memory_beyond_the_limit_is_archived() {
    let disk = SimDisk::new(0);
    let limit = 2 << 20;
    let options = Options { background: true, memory_limit_bytes: Some(limit), ..options() };
    let store = open(&disk, options);
    for part in 0..30 {
        let edges = (0..2000).map(|row| (row % 50, part * 2000 + row));
        store.add_edges("knows", vec![number_batch(edges)]).expect("it fits");
    }
    wait_until("an archive", || store.stats().segments > 0);
    wait_until("memory to be given back", || store.stats().memory_bytes < limit);
    assert_eq!(store.stats().num_edges, 60_000);
}

/// Whatever the store's own thread is doing, the store can be opened again once its last handle is gone.
#[test]
fn a_store_that_was_dropped_can_be_opened_again_at_once() {
    let disk = SimDisk::new(0);
    for turn in 0..150i64 {
        let options = Options { background: true, log_limit_bytes: 1, ..options() };
        let store = Store::open_on(on(&disk), directory(), options).expect("nobody else has it open");
        assert_eq!(store.stats().num_edges, turn as u64);
        let transaction = store.begin().expect("open");
        let edges = [(turn, turn + 1)];
        store.add_edges("knows", vec![number_batch(edges)]).expect("it fits");
        drop(store);
        // An open transaction is a handle as well.
        assert!(Store::open_on(on(&disk), directory(), common::options()).is_err());
        transaction.rollback();
    }
}
