//! What the store does by itself: syncing by the clock, archiving when the log or memory has grown, and letting go of
//! everything when it is dropped.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::common::{HookedDisk, Pause, directory, dump, number_batch, on, open, options};
use evergraph_disk::{CrashPlan, Disk, Fault, SimDisk};
use evergraph_store::{CommitError, Durability, Options, Store, check_on};
use evergraph_types::{Direction, EdgeBatch, KeyKind};

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
        let (pause, hook) = Pause::new();
        hooked.when_syncing("log", hook);
        store.put_edge(1, 2, "knows", &[]).expect("it fits");
        pause.begun("it syncs by the clock");
        for turn in 2..50 {
            store.put_edge(turn, turn + 1, "knows", &[]).expect("nobody waits for the disk");
        }
        let last = store.version().expect("open").sequence();
        if fails {
            disk.fail_at(0, Fault::Eio);
        }
        pause.end();
        if fails {
            wait_until("the failure", || store.stats().failure.is_some());
            assert!(matches!(store.put_edge(0, 2, "knows", &[]), Err(CommitError::Durability { .. })));
            continue;
        }
        wait_until("the clock", || after_a_loss_of_power(&disk).version().expect("open").sequence() == last);
    }
}

#[test]
fn with_none_a_commit_is_not_synced_before_closing() {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { durability: Durability::None, background: true, ..options() });
    store.put_edge(0, 1, "knows", &[]).expect("it fits");
    assert_eq!(after_a_loss_of_power(&disk).version().expect("open").sequence(), 0);
    store.close().expect("a good disk");
    assert_eq!(after_a_loss_of_power(&disk).version().expect("open").sequence(), 1);
}

/// So that the commit that fills a file of it has little to wait for.
#[test]
fn with_none_the_log_is_synced_as_it_grows() {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { durability: Durability::None, background: true, ..options() });
    let text = "x".repeat(1 << 20);
    for turn in 0..4 {
        store.put_edge(turn, turn + 1, "knows", &[("text", text.as_str().into())]).expect("it fits");
    }
    wait_until("the sync", || after_a_loss_of_power(&disk).version().expect("open").sequence() >= 3);
}

/// More of it than commits make for themselves, so that these find it made.
#[test]
fn room_in_the_log_is_made_beside_commits_that_are_not_synced() {
    for (durability, background) in
        [(Durability::None, true), (Durability::Interval, true), (Durability::None, false)]
    {
        let disk = SimDisk::new(0);
        let store = open(&disk, Options { durability, background, ..options() });
        let put = |turns: Range<i64>| {
            for turn in turns {
                store.put_edge(turn, turn + 1, "knows", &[]).expect("it fits");
            }
        };
        put(0..1);
        let room_bytes = || store.stats().disk.log_room_bytes;
        if background {
            wait_until("the room", || room_bytes() > 200 << 10);
            let before = room_bytes();
            put(1..100);
            assert!(room_bytes() < before, "they are written into it");
        } else {
            assert!(room_bytes() <= 64 << 10);
        }
    }
}

/// What small commits leave of lists lies here and there among what they have freed.
#[test]
fn what_commits_have_written_many_times_over_is_archived_when_they_pause() {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { background: true, ..options() });
    let add = |rounds: Range<i64>| {
        for round in rounds {
            let edges = (0..4000).map(|row| (5 * row, 7 * row + round % 20));
            store.add_edges("knows", vec![number_batch(edges)]).expect("it fits");
        }
    };
    add(0..1);
    wait_until("rest", || store.stats().settled);
    assert_eq!(store.stats().segments, 0, "it was written once");
    add(1..120);
    let (before, content) = (store.stats().memory, dump(&store.version().expect("open")));
    wait_until("the archive", || store.stats().segments == 1 && store.stats().settled);
    let after = store.stats().memory;
    assert!(after.fragment_bytes < before.fragment_bytes / 10, "{after:?} where it was {before:?}");
    assert_eq!(dump(&store.version().expect("open")), content);
    let written = store.stats().written_bytes;
    // What is archived is as it is to be.
    store.put_edge(0, 5, "knows", &[]).expect("it fits");
    wait_until("rest", || store.stats().settled);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(store.stats().written_bytes, written);
}

/// More than a short log takes before it is archived.
fn put_400(store: &Store, factor: i64) {
    for turn in 0..400 {
        let put = store.put_edge(turn % 20, turn, "knows", &[("turn", (factor * turn).into())]);
        put.expect("it fits");
    }
}

#[test]
fn a_long_log_is_archived() {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { background: true, log_limit_bytes: 20_000, ..options() });
    put_400(&store, 1);
    wait_until("an archive", || store.stats().segments > 0 && store.stats().log_bytes <= 30_000);
    let before = dump(&store.version().expect("open"));
    assert_eq!(dump(&after_a_loss_of_power(&disk).version().expect("open")), before);
}

/// Removing the log's files holds up nobody, and what is committed meanwhile is there after a loss of power.
#[test]
fn commits_go_on_while_what_is_archived_of_the_log_is_removed() {
    for fails in [false, true] {
        let disk = SimDisk::new(0);
        let hooked = HookedDisk::over(on(&disk));
        let options = Options { background: true, log_limit_bytes: 20_000, ..options() };
        let store = Store::open_on(hooked.clone(), directory(), options).expect("new");
        let (archive, hook) = Pause::new();
        hooked.when_creating("segment", hook);
        put_400(&store, 1);
        archive.begun("it is archived");
        // Not in what is archived: the file it is in stays.
        store.put_edge(0, 1, "knows", &[]).expect("it fits");
        let (removal, hook) = Pause::new();
        hooked.when_removing("log", hook);
        archive.end();
        removal.begun("its files are removed");
        // Nobody waits for the disk.
        put_400(&store, -1);
        let version = store.version().expect("open");
        let after = after_a_loss_of_power(&disk);
        assert_eq!(dump(&after.version().expect("open")), dump(&version));
        if fails {
            disk.fail_at(0, Fault::Eio);
        }
        removal.end();
        settle(&store);
        // Nothing is lost with a file that nobody needs and that is still there.
        assert!(store.stats().failure.is_none());
        store.put_edge(0, 1000, "knows", &[]).expect("it fits");
        let newest = dump(&store.version().expect("open"));
        assert_eq!(dump(&after_a_loss_of_power(&disk).version().expect("open")), newest);
    }
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

/// Syncing by the clock goes on while the disk takes its time over an archive.
#[test]
fn with_interval_a_commit_is_durable_soon_during_an_archive() {
    let disk = SimDisk::new(0);
    let hooked = HookedDisk::over(on(&disk));
    let interval = Duration::from_millis(5);
    let options = Options {
        durability: Durability::Interval,
        interval,
        background: true,
        log_limit_bytes: 10_000,
        ..options()
    };
    let store = Store::open_on(hooked.clone(), directory(), options).expect("new");
    let (pause, hook) = Pause::new();
    hooked.when_creating("segment", hook);
    put_400(&store, 1);
    pause.begun("it archives");
    let sequence = store.put_edge(0, 1000, "knows", &[]).expect("it fits");
    wait_until("the clock", || after_a_loss_of_power(&disk).version().expect("open").sequence() >= sequence);
    pause.end();
    wait_until("the archive", || store.stats().segments > 0);
}

/// Edges from each of the sources to each of the destinations.
fn grid(sources: Range<i64>, destinations: Range<i64>) -> EdgeBatch {
    number_batch(sources.flat_map(|src| destinations.clone().map(move |dst| (src, dst))))
}

fn settle(store: &Store) {
    wait_until("the background", || store.stats().settled);
}

/// A store on this disk in which loads of many edges are segments, and nothing but space is a reason to archive.
fn store_of_loads(disk: &SimDisk) -> Store {
    open(disk, Options { background: true, bulk_edges: 100_000, keys: Some(KeyKind::Dense), ..options() })
}

fn segments_on(disk: &SimDisk) -> Vec<String> {
    disk.list(&directory().join("segments")).expect("a store")
}

/// Twelve hundred destinations of each of a thousand sources, of which each load writes the list anew.
fn add_in_four_loads(store: &Store) {
    for load in 0..4 {
        let destinations = 2000 + 300 * load..2000 + 300 * (load + 1);
        store.add_edges("knows", vec![grid(0..1000, destinations)]).expect("it fits");
    }
}

/// That the store, and what is on disk of it, holds so many destinations of each of a thousand sources, and nothing else.
fn assert_grid(store: &Store, disk: &SimDisk, destinations: u32) {
    let reopened = after_a_loss_of_power(disk);
    for version in [store.version().expect("open"), reopened.version().expect("open")] {
        let (id, _) = version.schema().edge_type("knows").expect("a type");
        assert_eq!(version.num_edges(id), 1000 * u64::from(destinations));
        for src in 0..1000 {
            let found = version.neighbors(id, Direction::Out, src).to_vec();
            assert!(found.into_iter().eq(2000..2000 + destinations), "of {src}");
        }
    }
    let copy = on(&disk.crash(CrashPlan::LoseUnsynced));
    assert!(check_on(copy, directory()).expect("a store").problems.is_empty());
}

/// What loads have replaced is given back once they pause, and so is what was deleted.
#[test]
fn dead_lists_in_segments_are_merged_away() {
    let disk = SimDisk::new(0);
    let store = store_of_loads(&disk);
    add_in_four_loads(&store);
    settle(&store);
    let loaded = store.stats();
    assert_eq!(loaded.segments, 1);
    // A source and a destination have each other in their lists.
    let lists_bytes = 2 * 4 * loaded.num_edges;
    assert!(loaded.segment_bytes < lists_bytes * 5 / 4, "{loaded:?}");
    assert_grid(&store, &disk, 1200);

    store.delete_edges("knows", vec![grid(0..1000, 2060..3200)]).expect("they are there");
    settle(&store);
    let deleted = store.stats();
    assert!(deleted.segment_bytes < loaded.segment_bytes / 8, "{deleted:?}");
    assert!(deleted.memory_bytes < loaded.memory_bytes + (1 << 20), "{deleted:?}");
    assert_eq!(segments_on(&disk).len(), 1);
    assert_grid(&store, &disk, 60);
}

/// What commits have copied to memory is archived at rest, unless they brought so little that a merge would cost more.
#[test]
fn lists_that_were_copied_are_archived_at_rest() {
    let disk = SimDisk::new(0);
    let store = store_of_loads(&disk);
    add_in_four_loads(&store);
    settle(&store);
    let (loaded, segments) = (store.stats().memory_bytes, segments_on(&disk));
    for destination in [2100, 2300, 2500, 2700, 2900, 3100] {
        let edges = || vec![grid(0..1000, destination..destination + 1)];
        store.delete_edges("knows", edges()).expect("they are there");
        store.add_edges("knows", edges()).expect("it fits");
    }
    settle(&store);
    assert!(store.stats().memory_bytes > loaded + (4 << 20), "{} {loaded}", store.stats().memory_bytes);
    assert_eq!(segments_on(&disk), segments);
    store.add_edges("knows", vec![grid(0..1000, 3200..3290)]).expect("it fits");
    settle(&store);
    assert!(store.stats().memory_bytes < loaded + (1 << 20));
    assert_ne!(segments_on(&disk), segments);
    assert_grid(&store, &disk, 1290);
}

/// Whoever closes the store does not wait for a merge, of which nothing is left.
#[test]
fn a_merge_is_given_up_when_the_store_is_closed() {
    let disk = SimDisk::new(0);
    let hooked = HookedDisk::over(on(&disk));
    let options = || Options { bulk_edges: 100_000, keys: Some(KeyKind::Dense), ..options() };
    let store = open(&disk, options());
    add_in_four_loads(&store);
    store.close().expect("a good disk");
    let segments = segments_on(&disk);
    let store = Store::open_on(hooked.clone(), directory(), options()).expect("a store");
    let (pause, hook) = Pause::new();
    hooked.when_creating("segment", hook);
    std::thread::scope(|scope| {
        let merge = scope.spawn(|| store.compact());
        pause.begun("it merges");
        let close = scope.spawn(|| store.close());
        wait_until("the close to begin", || store.version().is_err());
        pause.end();
        assert!(matches!(merge.join().expect("no panic"), Err(CommitError::Closed(_))));
        assert!(close.join().expect("no panic").is_ok());
    });
    assert_eq!(segments_on(&disk), segments);
    drop(store);
    assert_grid(&open(&disk, options()), &disk, 1200);
}

/// A merge needs room before it gives any: where there is little, commits are to have it.
#[test]
fn on_a_disk_that_is_nearly_full_nothing_is_merged() {
    let disk = SimDisk::new(0);
    disk.set_free_bytes(15 << 20);
    let store = store_of_loads(&disk);
    add_in_four_loads(&store);
    settle(&store);
    assert_eq!(store.stats().segments, 4);
    disk.set_free_bytes(50 << 20);
    store.put_edge(0, 2000, "knows", &[]).expect("it is there already");
    settle(&store);
    assert_eq!(store.stats().segments, 1);
    assert_grid(&store, &disk, 1200);
}

/// A segment of vertices alone has no lists to tell from what is dead in it.
#[test]
fn segments_in_which_nothing_is_dead_stay() {
    let disk = SimDisk::new(0);
    let store = store_of_loads(&disk);
    let mut transaction = store.begin().expect("open");
    for vertex in 0..400_000i64 {
        transaction.put_vertex(vertex, None, &[("size", vertex.into())]).expect("it fits");
    }
    transaction.commit().expect("it fits");
    store.checkpoint().expect("a good disk");
    assert!(store.stats().segment_bytes > 5 << 20);
    let vertices = segments_on(&disk);
    store.add_edges("knows", vec![grid(0..10, 2000..2010)]).expect("it fits");
    settle(&store);
    assert_eq!(segments_on(&disk), vertices);
    // Sources that no load before had.
    for load in 0..3 {
        let sources = 10_000 * (load + 1)..10_000 * (load + 1) + 600;
        let destinations = 100_000 * (load + 1)..100_000 * (load + 1) + 1000;
        store.add_edges("knows", vec![grid(sources, destinations)]).expect("it fits");
    }
    settle(&store);
    assert_eq!(segments_on(&disk).len(), 4);
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
        assert!(Store::open_on(on(&disk), directory(), crate::common::options()).is_err());
        transaction.rollback();
    }
}
