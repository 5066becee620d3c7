//! Lists of a store in memory that commits have scattered lie together again, by themselves or when asked for; what they say
//! stays the same, for readers of older versions too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{dump, number_batch, options};
use evergraph_store::{ListFormat, Options, Store, Version};
use evergraph_types::EdgeTypeOptions;

const VERTICES: i64 = 20_000;

/// Waits until something holds that another thread brings about.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "waiting for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Edges between vertices all over the place, a few of which are hubs.
fn edges(round: i64, count: i64) -> impl Iterator<Item = (i64, i64)> {
    (round * count..(round + 1) * count).map(|row| {
        let src = row * 7919 % VERTICES;
        (if row % 5 == 0 { src % 40 } else { src }, row * row % 6007 + row % 13 * 997)
    })
}

/// Small commits of many edges, some of which are taken back.
fn scatter(store: &Store, rounds: std::ops::Range<i64>) {
    for round in rounds {
        for part in 0..8 {
            let batch = number_batch(edges(8 * round + part, 250));
            store.add_edges("knows", vec![batch]).expect("it fits");
        }
        let gone = edges(round, 2000).step_by(7);
        store.delete_edges("knows", vec![number_batch(gone)]).expect("it fits");
    }
}

/// Places that passes over all lists read from.
fn places(store: &Store) -> u64 {
    store.version().expect("open").layout().tables.iter().map(|table| table.places).sum()
}

fn in_memory(format: ListFormat, background: bool) -> Store {
    Store::in_memory(Options { format: Some(format), background, ..options() })
}

#[test]
fn after_small_commits_lists_lie_together_by_themselves() {
    for format in [ListFormat::Fast, ListFormat::Compact] {
        let [busy, left_alone] = [true, false].map(|background| {
            let store = in_memory(format, background);
            scatter(&store, 0..100);
            store
        });
        let scattered = places(&left_alone);
        assert!(scattered > 2000, "{format}: {scattered}");
        wait_until("lists to lie together", || places(&busy) < scattered / 8);
        let [busy, left_alone] = [busy, left_alone].map(|store| store.version().expect("open"));
        assert!(dump(&busy) == dump(&left_alone));
        let [busy, left_alone] = [busy, left_alone].map(|version| version.layout());
        assert_eq!(busy.levels.len(), 1);
        assert!(busy.space_amplification().is_some_and(|times| times < 1.3), "{busy:?}");
        assert_eq!(busy.entries(), left_alone.entries());
    }
}

/// Commits that never pause for long do not keep lists from being brought together.
#[test]
fn commits_without_a_pause_are_no_hindrance() {
    let store = in_memory(ListFormat::Fast, true);
    scatter(&store, 0..100);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0.. {
                store.put_edge(turn % VERTICES, 1, "knows", &[]).expect("it fits");
                std::thread::sleep(Duration::from_millis(5));
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let version = store.version().expect("open");
        let scattered = version.layout().tables.iter().map(|table| table.places).sum::<u64>();
        let start = Instant::now();
        while places(&store) > scattered / 2 && start.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(20));
        }
        done.store(true, Ordering::Relaxed);
        assert!(places(&store) <= scattered / 2);
    });
}

/// What a change leaves in order is not written again: asking twice writes nothing, and a few changes little.
#[test]
fn what_lies_together_is_left_alone() {
    let store = in_memory(ListFormat::Fast, false);
    scatter(&store, 0..60);
    let scattered = places(&store);
    store.checkpoint().expect("memory");
    assert!(places(&store) < scattered / 8, "{} of {scattered}", places(&store));
    let settled = store.version().expect("open");
    store.checkpoint().expect("memory");
    assert!(std::ptr::eq(&*settled, &*store.version().expect("open")), "there was nothing to do");
    store.put_edge(5, 7, "new", &[]).expect("it fits");
    store.put_edge(5, 7, "knows", &[]).expect("it fits");
    let before = places(&store);
    store.checkpoint().expect("memory");
    assert_eq!(places(&store), before, "two edges are not worth it");
    let lists = dump(&store.version().expect("open"));
    store.compact().expect("memory");
    let layout = store.version().expect("open").layout();
    let ranges = (VERTICES as u64).div_ceil(1 << 14) + 1;
    for table in &layout.tables {
        assert!(table.places <= ranges && table.most_fragments == 1, "{table:?}");
    }
    assert!(layout.space_amplification().is_some_and(|times| times < 1.01), "{layout:?}");
    assert!(dump(&store.version().expect("open")) == lists);
}

/// Lists of all kinds, changed and gathered in turns, read right in every version that was kept, and their memory comes back.
#[test]
fn older_versions_keep_what_they_reach() {
    for format in [ListFormat::Fast, ListFormat::Compact] {
        let store = in_memory(format, false);
        let events = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
        store.create_edge_type("pays", events).expect("new");
        let mut kept = Vec::new();
        for round in 0..12 {
            scatter(&store, round..round + 1);
            store.add_edges("pays", vec![number_batch(edges(round, 3000))]).expect("it fits");
            store.put_edge(round, 1, "rates", &[("stars", round.into())]).expect("it fits");
            let version = store.version().expect("open");
            kept.push((dump(&version), version));
            match round % 3 {
                0 => store.compact().expect("memory"),
                1 => store.checkpoint().expect("memory"),
                _ => drop(store.delete_vertex(round * 3).expect("it fits")),
            }
            if round % 4 == 3 {
                kept.drain(..2);
            }
        }
        let is_kept = |(lists, version): &(_, std::sync::Arc<Version>)| dump(version) == *lists;
        assert!(kept.iter().all(is_kept));
        drop(kept);
        let gone = (0..VERTICES).collect::<Vec<_>>();
        for vertices in gone.chunks(1000) {
            let mut transaction = store.begin().expect("open");
            for vertex in vertices {
                transaction.delete_vertex(*vertex).expect("it fits");
            }
            transaction.commit().expect("alone");
        }
        store.checkpoint().expect("memory");
        let layout = store.version().expect("open").layout();
        assert_eq!((layout.entries(), layout.levels[0].bytes), (0, 0), "clusters go with their lists");
        drop(store);
    }
}

/// Lists can be saved to disk that lie together.
#[test]
fn a_backup_holds_what_was_brought_together() {
    let place = tempfile::tempdir().expect("a directory");
    let store = in_memory(ListFormat::Fast, false);
    scatter(&store, 0..5);
    store.compact().expect("memory");
    scatter(&store, 5..6);
    store.backup(place.path().join("net.eg")).expect("a good disk");
    let saved = Store::open(place.path().join("net.eg"), options()).expect("a store");
    assert!(dump(&saved.version().expect("open")) == dump(&store.version().expect("open")));
}

/// A store that closes while its lists are brought together, or asked to be, leaves no thread and breaks no snapshot.
#[test]
fn closing_ends_it() {
    for turn in 0..30 {
        let store = in_memory(ListFormat::Fast, true);
        scatter(&store, 0..12);
        let version = store.version().expect("open");
        let lists = dump(&version);
        std::thread::sleep(Duration::from_millis(turn % 5 * 45));
        let asking = (turn % 3 == 0).then(|| {
            let store = store.clone();
            std::thread::spawn(move || while store.compact().is_ok() {})
        });
        if turn % 2 == 0 {
            store.close().expect("nothing to sync");
            assert!(store.version().is_err() && store.checkpoint().is_err());
        } else if asking.is_some() {
            store.close().expect("nothing to sync");
        }
        drop(store);
        asking.into_iter().for_each(|asking| asking.join().expect("no panic"));
        assert!(dump(&version) == lists);
    }
}
