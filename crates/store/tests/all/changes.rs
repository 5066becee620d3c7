//! Following a store: what its log tells makes a copy that equals it; readers go at their own pace, keep what they
//! need, and a named one goes on after what it acknowledged, whatever happened.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::{
    Action, Case, Replica, Runner, actions, batch, case, for_all, number_batch, open, options,
};
use evergraph_disk::{CrashPlan, SimDisk};
use evergraph_store::{ChangeOptions, ChangeReader, ChangesError, Durability, Options, Store};
use evergraph_types::{EdgeTypeOptions, Key};

fn from(after: u64) -> ChangeOptions {
    ChangeOptions { after: Some(after), name: None }
}

fn named(name: &str) -> ChangeOptions {
    ChangeOptions { after: Some(0), name: Some(name.to_owned()) }
}

/// Applies what there is to read; gives the last commit.
fn follow(reader: &mut ChangeReader, replica: &mut Replica) -> u64 {
    let version = reader.version();
    while let Some(commit) = reader.next().expect("readable") {
        assert_eq!(commit.sequence, reader.position());
        assert!(commit.time_micros <= version.time_micros());
        replica.apply(&commit, &version);
    }
    reader.position()
}

/// Follows a random run, reading now and then; the store is closed, dropped and opened again on the way.
fn run(case: Case, actions: &[Action]) {
    let disk = SimDisk::new(0);
    let mut runner = Runner::resume(case, disk, Default::default()).expect("a new store");
    let mut replica = Replica::new(Options { keys: Some(case.keys), ..options() });
    let mut reader = Some(runner.store.changes(named("copy")).expect("a reader"));
    let all = std::iter::once(Action::Declare).chain(actions.iter().cloned()).chain([Action::Reopen]);
    for (step, action) in all.enumerate() {
        if matches!(action, Action::Reopen) && case.on_disk {
            reader = None;
        }
        runner.run(&action);
        let reader = reader.get_or_insert_with(|| runner.store.changes(named("copy")).expect("it is known"));
        if step % 3 == 0 || matches!(action, Action::Reopen) {
            let newest = follow(reader, &mut replica);
            assert_eq!(newest, runner.store.version().expect("open").sequence());
            assert_eq!(replica.dump(), runner.model.dump(), "after {action:?}");
            reader.acknowledge(newest).expect("written");
        }
    }
    runner.finish();
}

fn holds(cases: u32, longest: usize) {
    for_all(cases, &(case(), actions(longest)), |(case, actions)| run(case, &actions));
}

#[test]
fn a_copy_made_from_the_log_equals_the_store() {
    holds(24, 20);
}

#[test]
#[ignore = "long"]
fn soak_a_copy_made_from_the_log_equals_the_store() {
    holds(1000, 50);
}

fn put(store: &Store, count: i64) {
    for edge in 0..count {
        store.put_edge(edge % 50, edge % 47, "edge", &[]).expect("committed");
    }
}

#[test]
fn readers_go_at_their_own_pace_and_keep_what_they_need() {
    let disk = SimDisk::new(0);
    let small_files = Options { log_limit_bytes: 2000, ..options() };
    let store = open(&disk, small_files);
    let mut slow = store.changes(from(0)).expect("a reader");
    let mut fast = store.changes(ChangeOptions::default()).expect("a reader");
    let mut fast_seen = 0;
    for round in 1..=10 {
        put(&store, 20);
        store.checkpoint().expect("archived");
        while let Some(commit) = fast.next().expect("readable") {
            fast_seen += 1;
            assert_eq!(commit.sequence, fast_seen);
        }
        assert_eq!(fast_seen, 20 * round);
    }
    let held = store.stats().log_bytes;
    let read: Vec<u64> =
        std::iter::from_fn(|| slow.next().expect("readable")).map(|commit| commit.sequence).collect();
    assert_eq!(read, (1..=200).collect::<Vec<_>>());
    drop((slow, fast));
    put(&store, 1);
    store.checkpoint().expect("archived");
    assert!(store.stats().log_bytes < held / 10, "the log goes once nobody reads it");
    let error = store.changes(from(3)).expect_err("trimmed");
    assert!(matches!(error, ChangesError::Trimmed { asked: 4, first: 202 }), "{error}");
    let error = store.changes(from(300)).expect_err("not there yet");
    assert!(matches!(error, ChangesError::Ahead { asked: 300, newest: 201 }), "{error}");
}

#[test]
fn a_store_in_memory_keeps_a_log_only_for_its_readers() {
    let store = Store::in_memory(options());
    put(&store, 10);
    assert_eq!(store.stats().log_bytes, 0);
    let mut reader = store.changes(ChangeOptions::default()).expect("a reader");
    assert!(matches!(store.changes(from(9)), Err(ChangesError::Trimmed { asked: 10, first: 11 })));
    store.add_edges("edge", vec![number_batch((0..400_000).map(|row| (row % 1000, row)))]).expect("added");
    let commit = reader.next().expect("readable").expect("there");
    assert_eq!((commit.sequence, commit.writes.edges[0].1.len()), (11, 400_000));
    put(&store, 1);
    assert!(store.stats().log_bytes < 1 << 20, "what was read is gone");
    drop(reader);
    assert_eq!(store.stats().log_bytes, 0);
}

#[test]
fn waiting_ends_with_a_commit_the_time_or_the_store() {
    let store = Store::in_memory(options());
    let mut reader = store.changes(ChangeOptions::default()).expect("a reader");
    let begun = Instant::now();
    assert!(!reader.wait(Some(Duration::from_millis(20))));
    assert!(begun.elapsed() >= Duration::from_millis(20));
    let read = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while reader.wait(None) {
                while let Ok(Some(_)) = reader.next() {
                    read.fetch_add(1, Ordering::Relaxed);
                }
            }
            assert!(matches!(reader.next(), Err(ChangesError::Closed(_))));
        });
        put(&store, 1000);
        while read.load(Ordering::Relaxed) < 1000 {
            assert!(begun.elapsed() < Duration::from_secs(60), "all is read");
            std::thread::yield_now();
        }
        store.close().expect("closed");
    });
    assert_eq!(read.into_inner(), 1000);
}

#[test]
fn a_reader_that_waits_can_be_called() {
    let store = Store::in_memory(options());
    let reader = store.changes(ChangeOptions::default()).expect("a reader");
    let (reader, called) = (&reader, &AtomicU64::new(0));
    std::thread::scope(|scope| {
        for call in 1..=1000 {
            let is_called = move || called.load(Ordering::SeqCst) == call;
            let waiting = scope.spawn(move || reader.wait_or(None, is_called));
            called.store(call, Ordering::SeqCst);
            store.call_readers();
            assert!(!waiting.join().expect("no panic"), "there is no commit");
        }
    });
}

#[test]
fn only_what_is_synced_is_read() {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { durability: Durability::Interval, ..options() });
    let mut reader = store.changes(ChangeOptions::default()).expect("a reader");
    put(&store, 3);
    assert!(reader.next().expect("readable").is_none());
    store.checkpoint().expect("archived");
    assert_eq!(reader.next().expect("readable").expect("there").sequence, 1);
}

#[test]
fn names_are_checked_and_used_once_at_a_time() {
    let disk = SimDisk::new(0);
    let store = open(&disk, options());
    for name in ["", ".", "a/b", "ä", &"x".repeat(101)] {
        assert!(matches!(store.changes(named(name)), Err(ChangesError::BadName { .. })), "{name}");
    }
    let reader = store.changes(named("a")).expect("a reader");
    assert!(matches!(store.changes(named("a")), Err(ChangesError::InUse { .. })));
    assert!(matches!(store.drop_cursor("a"), Err(ChangesError::InUse { .. })));
    drop(reader);
    assert_eq!(store.cursors(), [("a".to_owned(), 0)]);
    assert!(store.drop_cursor("a").expect("dropped"));
    assert!(!store.drop_cursor("a").expect("gone"));
    store.close().expect("closed");
    let store = open(&disk, Options { read_only: true, ..options() });
    assert!(matches!(store.changes(named("a")), Err(ChangesError::ReadOnly)));
    assert!(store.cursors().is_empty());
    assert!(store.changes(from(0)).expect("a reader").next().expect("readable").is_none());
}

#[test]
fn a_damaged_cursor_is_named() {
    let disk = SimDisk::new(0);
    let store = open(&disk, options());
    put(&store, 3);
    drop(store.changes(named("a")).expect("a reader"));
    store.close().expect("closed");
    let path = crate::common::directory().join("cursors/a.cursor");
    for byte in 0..48 {
        disk.flip_bit(&path, byte, 3).expect("flipped");
        let error = crate::common::open_error(&disk, options());
        assert!(error.to_string().contains("a.cursor"), "{error}");
        disk.flip_bit(&path, byte, 3).expect("flipped back");
    }
    open(&disk, options());
}

/// Power is lost at every operation while a reader acknowledges now and then: it goes on after the last commit it
/// acknowledged, or the one it was acknowledging, and gets every durable commit from there on.
#[test]
fn after_a_crash_a_named_reader_goes_on_after_what_it_acknowledged() {
    for durability in [Durability::Sync, Durability::Interval, Durability::None] {
        let disk = SimDisk::new(0);
        let settings = Options { durability, bulk_edges: 5, log_limit_bytes: 1500, ..options() };
        let store = open(&disk, settings.clone());
        let mut reader = store.changes(named("copy")).expect("a reader");
        // Operations of the disk so far, commits made, commits acknowledged.
        let mut moments = vec![(disk.operations(), 0, 0)];
        for round in 0..12 {
            put(&store, 3);
            store.add_edges("edge", vec![number_batch((0..8).map(|row| (round, row)))]).expect("added");
            if round % 4 == 1 {
                store.checkpoint().expect("archived");
            }
            if round % 5 == 4 {
                store.delete_vertex(3).expect("deleted");
            }
            while reader.next().expect("readable").is_some() {}
            let newest = store.version().expect("open").sequence();
            moments.push((disk.operations(), newest, reader.acknowledged()));
            reader.acknowledge(reader.position()).expect("written");
            moments.push((disk.operations(), newest, reader.acknowledged()));
        }
        let whole: Vec<_> = moments.clone();
        let mut replay = disk.replay();
        while replay.operations() < moments[0].0 && replay.advance() {}
        loop {
            let operations = replay.operations();
            for plan in [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced, CrashPlan::Random(operations)] {
                let crashed = replay.crash(plan);
                let store = open(&crashed, settings.clone());
                let newest = store.version().expect("open").sequence();
                let done = whole.iter().rfind(|moment| moment.0 <= operations).expect("one");
                let next = whole.iter().find(|moment| moment.0 > operations).unwrap_or(done);
                let mut reader = store.changes(named("copy")).expect("it is known");
                let place = reader.acknowledged();
                assert!(
                    place >= done.2.min(newest) && place <= next.2,
                    "{place} of {done:?} at {operations}"
                );
                let mut read = place;
                while let Some(commit) = reader.next().expect("readable") {
                    read += 1;
                    assert_eq!(commit.sequence, read);
                }
                assert_eq!(read, newest, "{durability} {plan:?} at {operations}");
            }
            if !replay.advance() {
                break;
            }
        }
    }
}

/// Vertices are deleted by some threads while others put edges blindly at them: the log names every edge that went.
#[test]
fn the_log_names_the_edges_of_deleted_vertices_under_concurrency() {
    let store = Store::in_memory(options());
    let symmetric = EdgeTypeOptions { symmetric: true, ..EdgeTypeOptions::default() };
    store.create_edge_type("both", symmetric).expect("created");
    let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
    let mut reader = store.changes(ChangeOptions::default()).expect("a reader");
    let mut replica = Replica::new(options());
    store.create_edge_type("many", multi).expect("created");
    std::thread::scope(|scope| {
        for thread in 0..4i64 {
            let store = store.clone();
            scope.spawn(move || {
                for round in 0..120 {
                    let (a, b) = ((round * 7 + thread) % 9, (round * 5 + 2 * thread) % 9);
                    if (round + thread) % 6 == 0 {
                        store.delete_vertex(a).expect("deleted");
                    } else {
                        let kind = ["both", "many", "plain"][(round % 3) as usize];
                        store.put_edge(a, b, kind, &[("n", round.into())]).expect("put");
                    }
                }
            });
        }
    });
    replica.declare_like(&store.version().expect("open"));
    follow(&mut reader, &mut replica);
    assert_eq!(replica.dump(), crate::common::dump(&store.version().expect("open")));
}

#[test]
fn text_keys_come_back() {
    let store = Store::in_memory(options());
    let mut reader = store.changes(ChangeOptions::default()).expect("a reader");
    let key = |name: &str| Key::from(name);
    store.add_edges("knows", vec![batch([(key("a"), key("b")), (key("b"), key("c"))])]).expect("added");
    let commit = reader.next().expect("readable").expect("there");
    let version = reader.version();
    let ops = &commit.writes.edges[0].1;
    let keys: Vec<Key> = ops.src.iter().chain(&ops.dst).map(|&id| version.key(id)).collect();
    assert_eq!(keys, [key("a"), key("b"), key("b"), key("c")]);
}
