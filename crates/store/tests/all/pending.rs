//! Commits that are handed in and waited for later: they come in their order, many with one sync, and none is lost sight of.

use crate::common::{directory, on, open, options};
use evergraph_disk::{CrashPlan, Fault, SimDisk};
use evergraph_store::{CommitError, Durability, Options, PendingCommit, Store};
use evergraph_types::Value;

fn synced() -> Options {
    Options { durability: Durability::Sync, ..options() }
}

/// Hands in an edge with a property.
fn hand_in(store: &Store, src: i64, dst: i64, weight: i64) -> PendingCommit {
    let mut transaction = store.begin().expect("open");
    transaction.put_edge(src, dst, "knows", &[("weight", weight.into())]).expect("it fits");
    transaction.submit().expect("open")
}

fn edges(store: &Store) -> u64 {
    store.version().expect("open").num_edges(0)
}

fn weight(store: &Store, src: i64, dst: i64) -> Option<Value> {
    let edges = store.begin().expect("open").edges(src, dst, "knows");
    edges.into_iter().flatten().find(|(name, _)| name == "weight").map(|(_, value)| value)
}

#[test]
fn what_is_handed_in_is_committed_together_in_its_order() {
    let disk = SimDisk::new(0);
    let store = open(&disk, synced());
    store.put_edge(0, 0, "knows", &[("weight", 0.into())]).expect("it fits");
    let before = disk.operations();
    let pending: Vec<PendingCommit> = (1..=20).map(|dst| hand_in(&store, 0, dst, dst)).collect();
    assert_eq!((edges(&store), disk.operations()), (1, before), "nobody has waited");
    assert!(pending.iter().all(|commit| !commit.is_done()));
    let mut sequences = Vec::new();
    for commit in pending {
        sequences.push(commit.wait().expect("a good disk"));
        assert_eq!(edges(&store), 21, "all of them with the first");
    }
    assert_eq!(sequences, (2..=21).collect::<Vec<_>>());
    assert!(disk.operations() - before <= 4, "one record and its sync, not {}", disk.operations() - before);
    let crashed = open(&disk.crash(CrashPlan::LoseUnsynced), synced());
    assert_eq!(edges(&crashed), 21);
}

#[test]
fn of_two_that_put_one_edge_the_later_conflicts() {
    let store = Store::in_memory(options());
    store.put_edge(1, 2, "knows", &[("weight", 0.into())]).expect("it fits");
    let (first, second) = (hand_in(&store, 1, 2, 1), hand_in(&store, 1, 2, 2));
    // Whoever is waited for first.
    assert!(matches!(second.wait(), Err(CommitError::Conflict { sequence: 2, .. })));
    assert!(first.is_done());
    assert_eq!(first.wait().expect("it came first"), 2);
    assert_eq!(weight(&store, 1, 2), Some(1.into()));
    let third = hand_in(&store, 1, 2, 3);
    store.put_edge(5, 6, "knows", &[]).expect("it takes along what waits");
    assert!(third.is_done());
    assert_eq!((third.wait().expect("nothing came between"), weight(&store, 1, 2)), (3, Some(3.into())));
}

/// Who lets go of one, closes the store or hands in very many commits them.
#[test]
fn nothing_that_was_handed_in_is_forgotten() {
    let disk = SimDisk::new(0);
    let store = open(&disk, synced());
    drop(hand_in(&store, 1, 2, 1));
    assert_eq!(edges(&store), 1);
    let pending: Vec<PendingCommit> = (0..3_000).map(|dst| hand_in(&store, 2, dst, dst)).collect();
    assert!(edges(&store) > 2_000, "what waits is bounded: {}", edges(&store));
    store.close().expect("a good disk");
    assert!(pending.iter().all(PendingCommit::is_done));
    for commit in pending {
        commit.wait().expect("it was committed before the store was closed");
    }
    let store = Store::open_on(on(&disk), directory(), synced()).expect("it is there");
    assert_eq!(edges(&store), 3_001);
}

#[test]
fn what_cannot_be_committed_is_told_by_whoever_asks() {
    let disk = SimDisk::new(0);
    let store = open(&disk, synced());
    store.put_edge(1, 2, "knows", &[("weight", 0.into())]).expect("it fits");
    disk.fail_at(0, Fault::Eio);
    let pending: Vec<PendingCommit> = (0..3).map(|dst| hand_in(&store, 3, dst, 0)).collect();
    for commit in pending {
        assert!(matches!(commit.wait(), Err(CommitError::Durability { .. })));
    }
    assert_eq!(edges(&store), 1);
    let late = store.begin().expect("open");
    let mut open_still = store.begin().expect("open");
    open_still.put_edge(8, 9, "knows", &[]).expect("it fits");
    assert_eq!(late.submit().expect("nothing to commit").wait().expect("nothing to commit"), 1);
    store.close().expect("closed all the same");
    assert!(matches!(open_still.submit(), Err(CommitError::Closed(_))));
}

/// Threads that hand in some, now and then wait for the oldest, and put others at once.
#[test]
fn threads_hand_in_and_wait_as_they_like() {
    for durability in [Durability::None, Durability::Sync] {
        let disk = SimDisk::new(0);
        let store = open(&disk, Options { durability, ..options() });
        store.put_edge(-1, -1, "knows", &[("weight", 0.into())]).expect("it fits");
        std::thread::scope(|scope| {
            for thread in 0..4i64 {
                let store = store.clone();
                scope.spawn(move || {
                    let mut pending = std::collections::VecDeque::new();
                    for turn in 0..300 {
                        match (turn * 7 + thread) % 5 {
                            0 => drop(store.put_edge(thread, turn, "knows", &[]).expect("nobody else does")),
                            _ => pending.push_back((turn, hand_in(&store, thread, turn, turn))),
                        }
                        if pending.len() as i64 > turn % 17 {
                            let (turn, commit): (i64, PendingCommit) = pending.pop_front().expect("some");
                            commit.wait().expect("nobody else does");
                            assert_eq!(
                                weight(&store, thread, turn),
                                Some(turn.into()),
                                "it is seen once waited for"
                            );
                        }
                    }
                });
            }
        });
        assert_eq!(edges(&store), 1_201);
        store.close().expect("a good disk");
        assert_eq!(edges(&open(&disk, options())), 1_201);
    }
}

/// While one group is synced the next is accepted. If the disk fails there, whatever a thread was told is committed survives, in the order of commits
/// without a gap, and all others are told that it failed, those that came after as well.
#[test]
fn a_disk_that_fails_below_several_threads_takes_nothing_that_was_acknowledged() {
    for failing in 1..40 {
        let disk = SimDisk::new(failing);
        let store = open(&disk, synced());
        store.put_edge(-1, -1, "knows", &[("weight", 0.into())]).expect("a good disk");
        disk.fail_at(failing, Fault::Eio);
        let acknowledged: Vec<_> = std::thread::scope(|scope| {
            let threads = [0i64, 1].map(|thread| {
                let store = store.clone();
                scope.spawn(move || {
                    let mut acknowledged = Vec::new();
                    for round in 0..40 {
                        let pending =
                            (8 * round..8 * round + 8).map(|dst| (dst, hand_in(&store, thread, dst, dst)));
                        for (dst, commit) in pending.collect::<Vec<_>>() {
                            match commit.wait() {
                                Ok(sequence) => acknowledged.push((sequence, thread, dst)),
                                Err(CommitError::Durability { .. }) => {}
                                Err(error) => panic!("{error}"),
                            }
                        }
                    }
                    acknowledged
                })
            });
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        assert!(acknowledged.len() < 640, "the disk failed at operation {failing}");
        assert!(store.stats().failure.is_some());
        assert!(matches!(hand_in(&store, 5, 5, 5).wait(), Err(CommitError::Durability { .. })));
        assert_eq!(edges(&store), 1 + acknowledged.len() as u64, "what failed is not seen");
        store.close().expect("closed all the same");
        for plan in [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced, CrashPlan::Random(failing)] {
            let found = open(&disk.crash(plan), synced());
            let newest = acknowledged.iter().map(|(sequence, ..)| *sequence).max().unwrap_or(1);
            assert!(found.version().expect("open").sequence() >= newest, "{plan:?} at operation {failing}");
            for &(_, src, dst) in &acknowledged {
                assert_eq!(weight(&found, src, dst), Some(dst.into()), "{plan:?} at operation {failing}");
            }
        }
    }
}
