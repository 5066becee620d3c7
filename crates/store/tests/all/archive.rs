//! Archiving while commits go on: what changed meanwhile stays what it is, in memory, in the next segments and after
//! opening again; and many archives leave few segments.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{
    Action, Case, HookedDisk, Model, Runner, Write, actions, case, directory, dump, for_all, number_batch,
    on, options, with_columns,
};
use evergraph_disk::{OsDisk, SimDisk};
use evergraph_proof::tally;
use evergraph_store::{Durability, ListFormat, Options, Store};
use evergraph_types::{Direction, EdgeTypeOptions, KeyKind, PropertyType, Value};
use parking_lot::Mutex;
use proptest::prelude::*;

/// What archives and what would wait for one cannot happen within one.
fn can_happen_meanwhile(action: &Action) -> bool {
    !matches!(action, Action::Checkpoint | Action::Compact | Action::Reopen)
}

/// Each round: actions, then an archive in the middle of which other actions take place.
fn archive_amid(case: Case, rounds: &[(Vec<Action>, Vec<Action>, bool)]) {
    // A bulk load would wait for the archive.
    let case = Case { bulk_edges: usize::MAX, memory_limit: None, on_disk: true, ..case };
    let disk = SimDisk::new(0);
    let hooked = HookedDisk::over(on(&disk));
    let store = Store::open_on(hooked.clone(), directory(), Runner::options(case)).expect("a good disk");
    let runner = Runner::of(case, disk, store.clone(), Model::default());
    let runner = Arc::new(Mutex::new(runner));
    runner.lock().run(&Action::Declare);
    for (before, meanwhile, compact) in rounds {
        let run = move |runner: &Mutex<Runner>, actions: &[Action]| {
            let mut runner = runner.lock();
            actions
                .iter()
                .filter(|action| can_happen_meanwhile(action))
                .for_each(|action| runner.run(action));
        };
        run(&runner, before);
        let (shared, meanwhile) = (runner.clone(), meanwhile.clone());
        hooked.when_creating("segment", move || run(&shared, &meanwhile));
        let archived = if *compact { store.compact() } else { store.checkpoint() };
        archived.expect("a good disk");
        hooked.forget();
        runner.lock().compare(&"an archive amid commits");
    }
    drop(store);
    let mut runner = Arc::into_inner(runner).expect("the hooks are gone").into_inner();
    runner.run(&Action::Checkpoint);
    runner.run(&Action::Compact);
    runner.run(&Action::Reopen);
    runner.finish();
}

fn holds(cases: u32, longest: usize) {
    let round = (actions(longest), actions(longest), any::<bool>());
    let strategy = (case(), prop::collection::vec(round, 1..5));
    for_all(cases, &strategy, |(case, rounds)| archive_amid(case, &rounds));
}

#[test]
fn what_commits_change_during_an_archive_stays() {
    holds(32, 8);
}

#[test]
#[ignore = "long"]
fn soak_what_commits_change_during_an_archive_stays() {
    holds(2000, 12);
    tally("runs against the model", 2000);
}

const CASE: Case = Case {
    keys: KeyKind::Text,
    bulk_edges: usize::MAX,
    memory_limit: None,
    keeps_history: false,
    on_disk: true,
    durability: Durability::Sync,
    format: ListFormat::Compact,
};

fn edges(edge_type: usize, range: std::ops::Range<u16>) -> Action {
    Action::Hub { edge_type, hub: 0, spokes: range, columns: 3, reverse: false }
}

/// The parts of a hub's list that a commit leaves alone lie in segments that an archive merges away meanwhile.
#[test]
fn a_hub_that_changes_during_an_archive_keeps_all_its_parts() {
    for edge_type in [0, 1] {
        let one = |key| {
            Action::Commit(vec![Write::PutEdge { src: 0, dst: key, edge_type, given: vec![(1, Some(3))] }])
        };
        let rounds = [
            (vec![edges(edge_type, 100..1900)], vec![one(3)], false),
            (vec![one(4)], vec![one(5), one(150)], true),
            (vec![one(6)], vec![one(7), Action::Release], true),
            (vec![one(8)], Vec::new(), false),
            (vec![one(9)], vec![one(10), Action::One(Write::DeleteVertex { key: 0 })], true),
            (vec![edges(edge_type, 1200..1300)], Vec::new(), true),
        ];
        archive_amid(CASE, &rounds);
    }
}

/// As above where memory that is no longer mapped cannot be read.
#[test]
fn a_merged_segment_stays_mapped_as_long_as_a_list_reaches_into_it() {
    let place = tempfile::tempdir().expect("a directory");
    let hooked = HookedDisk::over(Arc::new(OsDisk));
    let store = Store::open_on(hooked.clone(), &place.path().join("net.eg"), options()).expect("new");
    let columns = [("weight", PropertyType::Int64)];
    let edges =
        with_columns(number_batch((1..2000).map(|row| (0, row))), &columns, |_, row| Value::Int(row as i64));
    store.add_edges("knows", vec![edges]).expect("it fits");
    store.checkpoint().expect("a good disk");
    for round in 0..3 {
        store.put_edge(0, 3000 + round, "knows", &[]).expect("it fits");
        let handle = store.clone();
        hooked.when_creating("segment", move || {
            handle.put_edge(0, 4000 + round, "knows", &[]).expect("it fits");
        });
        store.compact().expect("a good disk");
        let version = store.version().expect("open");
        let mut sum = 0;
        version.for_each_edge(0, Direction::Out, 0, &[0], &mut |_, values| match values {
            [Value::Int(weight)] => sum += weight,
            _ => sum += 1,
        });
        assert_eq!(sum, (0..1999).sum::<i64>() + 2 * (round + 1));
    }
    // Nothing but the newest segment is needed any more.
    store.put_edge(0, 1, "knows", &[]).expect("it fits");
    store.compact().expect("a good disk");
    assert_eq!(store.stats().segments, 1);
}

/// Edges from each vertex of a ring to the next one and, from those in `far`, to the one after that.
fn assert_ring(store: &Store, vertices: u32, far: &BTreeSet<u32>) {
    let version = store.version().expect("open");
    for vertex in 0..vertices {
        let next = |step: u32| (vertex + step) % vertices;
        let mut out = vec![next(1)];
        out.extend(far.contains(&vertex).then(|| next(2)));
        out.sort_unstable();
        assert_eq!(version.neighbors(0, Direction::Out, vertex).to_vec(), out, "from {vertex}");
        let mut into = vec![next(vertices - 1)];
        into.extend(Some(next(vertices - 2)).filter(|from| far.contains(from)));
        into.sort_unstable();
        assert_eq!(version.neighbors(0, Direction::In, vertex).to_vec(), into, "to {vertex}");
    }
}

/// An archive points the tables to its segment some rows at a time. Commits go on in between, and what they change stays;
/// readers find the list of each vertex in whatever version they get.
#[test]
fn lists_are_whole_while_the_tables_are_pointed_to_a_segment() {
    const VERTICES: u32 = 40_000;
    let place = tempfile::tempdir().expect("a directory");
    let open = || {
        let options = Options { durability: Durability::None, keys: Some(KeyKind::Dense), ..options() };
        Store::open_on(Arc::new(OsDisk), &place.path().join("net.eg"), options).expect("a good disk")
    };
    let store = open();
    let key = |vertex: u32| i64::from(vertex % VERTICES);
    store
        .add_edges("knows", vec![number_batch((0..VERTICES).map(|v| (key(v), key(v + 1))))])
        .expect("it fits");
    let mut far = BTreeSet::new();
    let mut random = 1u32;
    for round in 0..6 {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let from = (random >> 8) % VERTICES;
                    if far.insert(from) {
                        store.put_edge(key(from), key(from + 2), "knows", &[]).expect("it fits");
                    } else {
                        far.remove(&from);
                        store.delete_edge(key(from), key(from + 2), "knows").expect("it is there");
                    }
                }
            });
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    let version = store.version().expect("open");
                    for from in 0..VERTICES {
                        let next = version.has_edge(0, from, (from + 1) % VERTICES);
                        assert!(next, "from {from}");
                    }
                }
            });
            let archived = if round % 2 == 0 { store.checkpoint() } else { store.compact() };
            is_done.store(true, Ordering::Relaxed);
            archived.expect("a good disk");
        });
        assert_ring(&store, VERTICES, &far);
    }
    drop(store);
    assert_ring(&open(), VERTICES, &far);
}

#[test]
fn many_small_archives_leave_few_segments() {
    let mut runner = Runner::new(CASE);
    runner.run(&edges(0, 100..900));
    for round in 0..40u16 {
        let key = round % 10;
        runner.run(&Action::Commit(vec![
            Write::PutVertex { key, label: Some(0), given: vec![(1, Some(round as i8)), (0, Some(1))] },
            Write::PutEdge { src: key, dst: 100 + round, edge_type: 1, given: vec![(1, Some(round as i8))] },
            Write::DeleteVertex { key: (round * 7) % 10 },
        ]));
        runner.run(&Action::Checkpoint);
        assert!(runner.store.stats().segments <= 8);
        if round % 9 == 0 {
            runner.run(&Action::Reopen);
        }
    }
    let before = runner.store.stats();
    runner.run(&Action::Compact);
    let after = runner.store.stats();
    assert_eq!(after.segments, 1);
    assert!(after.segment_bytes <= before.segment_bytes && after.log_bytes < 200, "{after:?}");
    runner.run(&Action::Reopen);
    runner.finish();
}

/// What is gone takes no room in a compacted store.
#[test]
fn a_compacted_store_does_not_remember_what_was_deleted() {
    let mut runner = Runner::new(CASE);
    runner.run(&Action::One(Write::PutVertex { key: 1, label: None, given: Vec::new() }));
    runner.run(&Action::Compact);
    let empty = runner.store.stats().segment_bytes;
    runner.run(&edges(0, 100..700));
    runner.run(&edges(1, 100..700));
    runner.run(&Action::Checkpoint);
    let full = runner.store.stats().segment_bytes;
    let delete = (100..700).chain([0]).map(|key| Write::DeleteVertex { key }).collect();
    runner.run(&Action::Commit(delete));
    runner.run(&Action::Checkpoint);
    runner.run(&Action::Compact);
    let left = runner.store.stats().segment_bytes;
    // The keys stay, since ids are not used again.
    assert!(left < empty + 601 * 20 && left < full / 4, "{empty}, {full}, {left}");
    runner.run(&Action::Reopen);
    runner.finish();
}

/// The versions and the times of the events of a segment: the first and the last.
type Held = (Option<(u64, u64)>, Option<(i64, i64)>);

/// Versions and times of the levels of the newest version, youngest first.
fn held(store: &Store) -> Vec<Held> {
    let layout = store.version().expect("open").layout();
    layout.levels.iter().skip(1).map(|level| (level.versions, level.times)).collect()
}

/// Events from vertices of their own, at these times; gives their commit.
fn add_events(store: &Store, from: i64, times: std::ops::Range<i64>) -> u64 {
    let start = times.start;
    let edges = number_batch(times.clone().map(|time| (from + time % 7, from + 50 + time % 5)));
    let at = |_, row: usize| Value::Timestamp(start + row as i64);
    let batch = with_columns(edges, &[("at", PropertyType::Timestamp)], at);
    store.add_edges("event", vec![batch]).expect("it fits").sequence
}

#[test]
fn segments_tell_the_versions_and_the_times_they_hold() {
    for (format, bulk_edges) in [(ListFormat::Fast, usize::MAX), (ListFormat::Compact, 400)] {
        let disk = SimDisk::new(0);
        let open = || crate::common::open(&disk, Options { format: Some(format), bulk_edges, ..options() });
        let store = open();
        let create =
            EdgeTypeOptions { multi: true, time: Some("at".to_owned()), ..EdgeTypeOptions::default() };
        store.create_edge_type("event", create).expect("new");
        let first = add_events(&store, 100, -300..7700);
        store.checkpoint().expect("a good disk");
        assert_eq!(held(&store), [(Some((0, first)), Some((-300, 7699)))]);
        store.put_edge(1, 2, "plain", &[]).expect("it fits");
        let second = add_events(&store, 200, 20..30);
        store.checkpoint().expect("a good disk");
        let oldest = (Some((0, first)), Some((-300, 7699)));
        assert_eq!(held(&store), [(Some((first, second)), Some((20, 29))), oldest]);
        // So large that the one before is merged with it, and the oldest is not.
        let third = add_events(&store, 300, 600..800);
        store.checkpoint().expect("a good disk");
        let found = held(&store);
        assert_eq!(found, [(Some((first, third)), Some((20, 799))), oldest]);
        drop(store);
        let store = open();
        assert_eq!(held(&store), found, "opened again");
        store.compact().expect("a good disk");
        assert_eq!(held(&store), [(Some((0, third)), Some((-300, 7699)))]);
    }
}

#[test]
fn a_segment_without_events_has_no_times() {
    let store = crate::common::open(&SimDisk::new(0), options());
    store.put_edge(1, 2, "plain", &[("at", Value::Timestamp(5))]).expect("it fits");
    store.checkpoint().expect("a good disk");
    assert_eq!(held(&store), [(Some((0, 1)), None)]);
}

/// A store whose directory was moved writes nothing to another one in its place, when it is closed either.
#[cfg(unix)]
#[test]
fn a_store_that_was_moved_leaves_the_one_in_its_place_alone() {
    let parent = tempfile::tempdir().expect("a directory");
    let path = parent.path().join("net.eg");
    let moved = Store::open(&path, options()).expect("a new store");
    moved.put_edge(1, 2, "plain", &[]).expect("it fits");
    std::fs::rename(&path, parent.path().join("moved.eg")).expect("it may be");
    let other = Store::open(&path, options()).expect("a new store");
    other.put_edge("alice", "bob", "likes", &[]).expect("it fits");
    other.close().expect("a good disk");
    moved.checkpoint().expect_err("it is not in its place");
    moved.close().expect("a good disk");
    let other = Store::open(&path, options()).expect("it is as it was");
    assert!(other.version().expect("open").vertex_id("alice".into()).is_some());
    let moved = Store::open(parent.path().join("moved.eg"), options()).expect("so is this one");
    assert_eq!(moved.stats().num_edges, 1);
}

/// Segments that were merged are let go of, though something is committed beside each archive.
#[test]
fn what_is_committed_beside_archives_keeps_no_merged_segment() {
    let sim = SimDisk::new(0);
    let disk = HookedDisk::over(on(&sim));
    let store = Store::open_on(disk.clone(), directory(), options()).expect("a new store");
    store.put_vertex(1, None, &[("n", Value::Int(0))]).expect("it fits");
    let batch = number_batch((0..30_000i64).map(|row| (row % 500, row % 491)));
    store.add_edges("plain", vec![batch]).expect("it fits");
    for round in 0..12 {
        store.put_vertex(1, None, &[("n", Value::Int(round))]).expect("it fits");
        let other = store.clone();
        disk.when_creating("segment", move || {
            other.put_vertex(1, None, &[("n", Value::Int(1_000 + round))]).expect("it fits");
        });
        store.compact().expect("a good disk");
    }
    assert!(store.stats().segments <= 2, "{} segments", store.stats().segments);
}

/// Lists that are gone, and in no segment any more, are no reason to write everything again with each archive.
#[test]
fn lists_that_are_gone_are_not_archived_for_ever() {
    let store = crate::common::open(&SimDisk::new(0), options());
    let gone = || number_batch((0..60_000i64).map(|row| (1_000_000 + row, 2_000_000 + row)));
    let batch = number_batch((0..30_000i64).map(|row| (row % 1_000, row / 1_000)));
    store.add_edges("plain", vec![batch]).expect("it fits");
    store.add_edges("plain", vec![gone()]).expect("it fits");
    store.compact().expect("a good disk");
    store.delete_edges("plain", vec![gone()]).expect("they are there");
    store.compact().expect("a good disk");
    let before = store.stats();
    for turn in 0..6i64 {
        store.put_edge(5, 7_000_000 + turn, "plain", &[]).expect("it fits");
        store.checkpoint().expect("a good disk");
    }
    // What tells a newer segment that they are gone is written with each that stands for itself.
    let written = store.stats().written_bytes - before.written_bytes;
    assert!(
        written < 3 * before.segment_bytes / 2,
        "{written} bytes for six edges, after {}",
        before.segment_bytes
    );
}

/// Vertices that come and go, between two archives or across one, leave nothing in segments: how many there ever were makes
/// no difference.
#[test]
fn what_came_and_went_takes_no_space() {
    let disk = SimDisk::new(0);
    let options = Options { keys: Some(KeyKind::Dense), ..options() };
    let store = Store::open_on(on(&disk), directory(), options.clone()).expect("a new store");
    let base = number_batch((0..800_000).map(|row| (row % 5_000, row * 7 % 5_003)));
    let pairs = number_batch((0..16).map(|pair| (20_000 + 2 * pair, 20_001 + 2 * pair)));
    store.add_edges("knows", vec![pairs]).expect("it fits");
    store.add_edges("knows", vec![base]).expect("it fits");
    store.compact().expect("a good disk");
    let mut sizes = Vec::new();
    for round in 0..16i64 {
        let ids = 10_000 + 500 * round..10_500 + 500 * round;
        let edges = number_batch(ids.clone().map(|id| (id, id + 1)).chain(ids.clone().map(|id| (id, 3))));
        store.add_edges("knows", vec![edges]).expect("it fits");
        let mut transaction = store.begin().expect("open");
        for id in ids.clone() {
            transaction.put_vertex(id, Some("Guest"), &[("age", id.into())]).expect("it fits");
        }
        transaction.commit().expect("it fits");
        if round % 3 == 2 {
            store.checkpoint().expect("a good disk");
        }
        let mut transaction = store.begin().expect("open");
        for id in ids.start..=ids.end {
            transaction.delete_vertex(id).expect("it fits");
        }
        // Of what the first segment has, something goes and something comes back.
        transaction.delete_vertex(20_000 + 2 * round).expect("it fits");
        transaction.put_edge(20_000 + 2 * (round / 2), 20_002, "knows", &[]).expect("it fits");
        transaction.commit().expect("it fits");
        store.checkpoint().expect("a good disk");
        sizes.push(store.stats().segment_bytes);
    }
    assert!(store.stats().segments > 1, "the first segment is not written again each time");
    assert!(sizes[15] < sizes[2] + 10_000, "{sizes:?}");
    let expected = dump(&store.version().expect("open"));
    drop(store);
    let store = Store::open_on(on(&disk), directory(), options).expect("a good disk");
    assert_eq!(dump(&store.version().expect("open")), expected);
}
