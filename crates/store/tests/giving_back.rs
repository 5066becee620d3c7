//! Memory that commits have freed is given back when they pause, also where nothing is archived or brought together; until then
//! a store is not settled. A process of its own: what gives back is one for all stores.

#[path = "all/common/mod.rs"]
mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{number_batch, open, options};
use evergraph_disk::SimDisk;
use evergraph_store::{Allocator, GiveBack, Options, Store, use_allocator};

static CALLS: AtomicUsize = AtomicUsize::new(0);

fn settle(store: &Store) {
    let start = Instant::now();
    while !store.stats().settled {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", store.stats());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_commits_have_freed_is_given_back_when_they_pause() {
    let give_back = |to| {
        CALLS.fetch_add(usize::from(to == GiveBack::ToSystem), Ordering::Relaxed);
    };
    use_allocator(Allocator { give_back, bytes: || Some(12_345) });
    let options = Options { background: true, ..options() };
    for store in [open(&SimDisk::new(0), options.clone()), Store::in_memory(options)] {
        let add = |first: i64, count: i64| {
            let edges = (first..first + count).map(|row| (row % 1000, row));
            store.add_edges("knows", vec![number_batch(edges)]).expect("room");
        };
        // What the store before this one held goes back with it.
        settle(&store);
        add(0, 10);
        assert!(store.stats().settled, "so little is not worth it");
        assert_eq!(store.stats().allocator_bytes, Some(12_345));
        let before = CALLS.load(Ordering::Relaxed);
        add(10, 100_000);
        // Who asks, asks while it is not settled: those who look give nothing back.
        assert!(!store.stats().settled);
        assert_eq!(CALLS.load(Ordering::Relaxed), before);
        settle(&store);
        // The thread of the store, each thread of its pool, the last of these again, and whoever found it settled.
        let calls = CALLS.load(Ordering::Relaxed) - before;
        assert!(calls > 3, "{calls}");
        assert_eq!(store.stats().segments, 0, "there was nothing to archive");
        let reading = store.read().expect("open");
        add(100_010, 100_000);
        // Who reads does not say when it is done: the thread asks again.
        let before = CALLS.load(Ordering::Relaxed);
        while CALLS.load(Ordering::Relaxed) < before + 12 {
            assert!(!store.stats().settled);
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(reading.num_vertices(), 100_010);
        drop(reading);
        settle(&store);
        let held = store.version().expect("open");
        add(200_010, 100_000);
        store.compact().expect("room");
        settle(&store);
        let before = CALLS.load(Ordering::Relaxed);
        drop(held);
        settle(&store);
        let calls = CALLS.load(Ordering::Relaxed) - before;
        assert!(calls > 3, "what only it had held is free: {calls}");
    }
}
