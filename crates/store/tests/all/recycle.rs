//! Ids of keys that came and went are given to other keys, and nobody takes one for the other: versions that are held, transactions
//! and streams that began before, readers at the same time, and what is found after opening again.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{Action, Case, Replica, Runner, Write, actions, batch, dump, for_all, open, options};
use evergraph_disk::{CrashPlan, Disk, Fault, SimDisk};
use evergraph_proof::{Random, tally};
use evergraph_store::{
    At, ChangeOptions, ChangeReader, ChangesError, CommitError, Contested, Durability, HistoryError,
    Isolation, ListFormat, Options, Retain, Store, TransactionOptions, Version, check_on,
};
use evergraph_types::{Direction, Key, KeyKind, Progress, Value};
use proptest::prelude::*;

const KINDS: [KeyKind; 2] = [KeyKind::Int64, KeyKind::Text];

fn key(kind: KeyKind, number: i64) -> Key {
    match kind {
        KeyKind::Text => Key::Text(format!("session {number}")),
        _ => Key::Int(number * 1_000_003),
    }
}

fn options_for(kind: KeyKind) -> Options {
    Options { keys: Some(kind), ..options() }
}

/// A store in memory, and one on a disk.
fn stores(kind: KeyKind) -> [(Store, Option<SimDisk>); 2] {
    let disk = SimDisk::new(0);
    [(Store::in_memory(options_for(kind)), None), (open(&disk, options_for(kind)), Some(disk))]
}

fn add(store: &Store, kind: KeyKind, numbers: std::ops::Range<i64>) {
    let edges = numbers.clone().map(|number| (key(kind, number), key(kind, numbers.end - 1)));
    store.add_edges("knows", vec![batch(edges)]).expect("it fits");
}

fn delete(store: &Store, kind: KeyKind, numbers: std::ops::Range<i64>) {
    let delete = |tx: &mut evergraph_store::Transaction| {
        for number in numbers.clone() {
            assert!(tx.delete_vertex(&key(kind, number))?);
        }
        Ok::<_, CommitError>(())
    };
    store.transact(0, delete).expect("nothing is in its way");
}

/// Of 20 keys 10 are gone; a pass has begun that waits for who holds this.
fn begin_pass(store: &Store, kind: KeyKind) -> Arc<Version> {
    add(store, kind, 0..20);
    delete(store, kind, 0..10);
    let held = store.version().expect("open");
    store.compact().expect("a good disk");
    held
}

fn id_of(store: &Store, key: &Key) -> Option<u32> {
    store.version().expect("open").vertex_id(key.as_ref())
}

/// Sessions that come and go, with an archive after each thousand.
fn churn(kind: KeyKind, store: Store, disk: Option<&SimDisk>, in_a_batch: bool) {
    let mut store = Some(store);
    let mut early_bytes = 0;
    for round in 0..100 {
        let open_store = store.as_ref().expect("open");
        let numbers = round * 1000..round * 1000 + 1000;
        if in_a_batch {
            add(open_store, kind, numbers.clone());
        } else {
            let put = |tx: &mut evergraph_store::Transaction| {
                numbers.clone().try_for_each(|number| tx.put_vertex(&key(kind, number), None, &[]))?;
                Ok::<_, CommitError>(())
            };
            open_store.transact(0, put).expect("nothing is in its way");
        }
        delete(open_store, kind, numbers.start..numbers.end - 1);
        open_store.delete_vertex(&key(kind, numbers.end - 1)).expect("nothing is in its way");
        open_store.checkpoint().expect("a good disk");
        let stats = open_store.stats();
        let bound = open_store.version().expect("open").id_bound();
        assert!(bound <= 4000, "{bound} ids after {round} rounds, {kind:?}");
        if round == 10 {
            early_bytes = stats.dictionary_bytes;
        }
        assert!(round < 10 || stats.dictionary_bytes <= early_bytes + early_bytes / 4, "{stats:?}");
        if let Some(disk) = disk.filter(|_| round % 33 == 32) {
            drop(store.take());
            let again = open(disk, options_for(kind));
            let version = again.version().expect("open");
            assert!(version.id_bound() <= 4000 && version.num_vertices() == 0);
            assert_eq!(version.vertex_id(key(kind, numbers.start).as_ref()), None);
            store = Some(again);
        }
    }
    if let Some(disk) = disk {
        drop(store);
        let report = check_on(crate::common::on(disk), crate::common::directory()).expect("a store");
        assert!(report.is_healthy(), "{report:?}");
    }
}

#[test]
fn keys_that_come_and_go_take_no_more_ids_and_memory_than_there_are_at_a_time() {
    for kind in KINDS {
        for in_a_batch in [true, false] {
            for (store, disk) in stores(kind) {
                churn(kind, store, disk.as_ref(), in_a_batch);
            }
        }
    }
}

/// An archive that failed may not have said which ids have no keys: the log names none of them under others before one has.
#[test]
fn ids_are_given_out_only_once_the_disk_knows_that_they_have_no_keys() {
    for kind in KINDS {
        for failing in 0.. {
            let disk = SimDisk::new(failing);
            let store = open(&disk, options_for(kind));
            add(&store, kind, 0..20);
            store.checkpoint().expect("a good disk");
            let (before, as_it_was) = {
                let version = store.version().expect("open");
                (version.sequence(), dump(&version))
            };
            delete(&store, kind, 0..10);
            disk.fail_at(failing, Fault::Enospc);
            let is_archived = store.compact().is_ok();
            // Of the keys that it shows, some may not be found any more.
            match store.version_at(At::Commit(before)) {
                Ok(version) => assert_eq!(dump(&version), as_it_was),
                Err(error) => assert!(matches!(error, HistoryError::NotRetained { .. }), "{error}"),
            }
            if store.stats().failure.is_none() {
                add(&store, kind, 100..108);
                // Of these the segments say other ids.
                add(&store, kind, 4..8);
            }
            let expected = dump(&store.version().expect("open"));
            drop(store);
            let store = open(&disk.crash(CrashPlan::KeepUnsynced), options_for(kind));
            assert_eq!(dump(&store.version().expect("open")), expected, "{failing}");
            if is_archived {
                assert!(failing > 5, "an archive has more operations than {failing}");
                break;
            }
        }
    }
}

/// Small segments are merged with each other while the large one, which says other keys of the same ids, stays.
#[test]
fn keys_that_got_ids_of_others_are_found_after_their_segments_were_merged() {
    for kind in KINDS {
        let disk = SimDisk::new(0);
        let mut store = open(&disk, options_for(kind));
        (0..4).for_each(|part| add(&store, kind, part * 1000..part * 1000 + 1000));
        delete(&store, kind, 0..400);
        (0..2).for_each(|_| store.compact().expect("a good disk"));
        let bound = store.version().expect("open").id_bound();
        let mut counts = Vec::new();
        for round in 0..12 {
            add(&store, kind, 10_000 + round * 20..10_020 + round * 20);
            store.checkpoint().expect("a good disk");
            counts.push(disk.list(&crate::common::directory().join("segments")).expect("a folder").len());
            let expected = dump(&store.version().expect("open"));
            drop(store);
            store = open(&disk, options_for(kind));
            assert_eq!(dump(&store.version().expect("open")), expected, "round {round}");
        }
        assert_eq!(store.version().expect("open").id_bound(), bound);
        assert!(
            counts.windows(2).any(|pair| pair[1] <= pair[0]) && counts.iter().all(|&count| count > 1),
            "{counts:?}"
        );
    }
}

/// In memory it is done amid the commits, on a disk by the archives that come of a long log.
#[test]
fn ids_come_back_though_commits_never_pause() {
    for kind in KINDS {
        let disk = SimDisk::new(0);
        let with = || Options { background: true, log_limit_bytes: 1 << 16, ..options_for(kind) };
        for store in [Store::in_memory(with()), open(&disk, with())] {
            let deadline = Instant::now() + Duration::from_secs(60);
            let bound = || i64::from(store.version().expect("open").id_bound());
            let mut number = 1;
            while number < bound() + 1000 {
                store.put_vertex(&key(kind, number), None, &[]).expect("it fits");
                assert!(store.delete_vertex(&key(kind, number)).expect("nothing is in its way"));
                number += 1;
                assert!(Instant::now() < deadline, "{} ids of {number} keys", bound());
            }
        }
    }
}

#[test]
fn a_version_that_is_held_finds_and_tells_its_keys_and_holds_their_ids() {
    for kind in KINDS {
        for (store, _) in stores(kind) {
            add(&store, kind, 0..10);
            let held = store.version().expect("open");
            let ids: Vec<u32> =
                (0..10).filter_map(|number| held.vertex_id(key(kind, number).as_ref())).collect();
            delete(&store, kind, 0..10);
            let tells = || {
                for (number, &id) in (0..).zip(&ids) {
                    assert_eq!(held.vertex_id(key(kind, number).as_ref()), Some(id));
                    assert_eq!(held.key(id), key(kind, number));
                }
                assert_eq!(held.neighbors(0, Direction::In, ids[9]).len(), 10);
            };
            for round in 1..4 {
                store.compact().expect("a good disk");
                tells();
                add(&store, kind, round * 10..round * 10 + 10);
                tells();
            }
            assert!(store.version().expect("open").id_bound() >= 40, "none is given out");
            drop(held);
            delete(&store, kind, 10..40);
            store.compact().expect("a good disk");
            store.compact().expect("a good disk");
            let bound = store.version().expect("open").id_bound();
            add(&store, kind, 100..140);
            assert_eq!(store.version().expect("open").id_bound(), bound);
        }
    }
}

#[test]
fn a_transaction_from_before_a_pass_conflicts_where_it_knows_a_vertex_that_is_gone() {
    for kind in KINDS {
        for (store, _) in stores(kind) {
            add(&store, kind, 0..5);
            delete(&store, kind, 0..3);
            store.compact().expect("a good disk");
            // Gone, but with their ids, as those that go later are.
            add(&store, kind, 10..13);
            delete(&store, kind, 10..13);
            let mut tx = store.begin().expect("open");
            tx.put_edge(&key(kind, 10), &key(kind, 3), "knows", &[]).expect("it fits");
            let mut other = store.begin().expect("open");
            other.put_vertex(&key(kind, 4), None, &[("seen", Value::Int(1))]).expect("it fits");
            // The first compaction is what the pass begins with where somebody holds an older dictionary.
            let version = store.version().expect("open");
            for _ in 0..2 {
                store.compact().expect("a good disk");
            }
            drop(version);
            assert!(tx.has_edge(&key(kind, 10), &key(kind, 3), "knows"));
            let begun_after = {
                let mut tx = store.begin().expect("open");
                tx.put_edge(&key(kind, 11), &key(kind, 3), "knows", &[]).expect("it fits");
                tx
            };
            let committed = tx.commit();
            let id = id_of(&store, &key(kind, 10));
            match committed {
                Ok(_) => assert!(id.is_some(), "found by its key"),
                Err(CommitError::Conflict { what: Contested::Vertex { key: named }, .. }) => {
                    assert_eq!((named, id), (key(kind, 10), None));
                }
                Err(error) => panic!("{error}"),
            }
            other.commit().expect("what it knows is there");
            begun_after.commit().expect("a new key");
            assert!(id_of(&store, &key(kind, 11)).is_some());
        }
    }
}

/// As above, with nobody else in the way, so that keys are let go of while the transaction is open.
#[test]
fn a_key_that_is_let_go_of_under_a_transaction_is_the_same_to_it_and_no_other_gets_its_writes() {
    for kind in KINDS {
        for (store, _) in stores(kind) {
            let held = begin_pass(&store, kind);
            let mut tx = store.begin().expect("open");
            tx.put_edge(&key(kind, 1), &key(kind, 15), "knows", &[]).expect("it fits");
            let pending = {
                let mut tx = store.begin().expect("open");
                tx.put_vertex(&key(kind, 2), None, &[("seen", Value::Int(1))]).expect("it fits");
                tx
            };
            drop(held);
            store.compact().expect("a good disk");
            tx.put_edge(&key(kind, 16), &key(kind, 1), "knows", &[]).expect("it fits");
            assert!(tx.has_edge(&key(kind, 1), &key(kind, 15), "knows"));
            let sources = tx.neighbors(&key(kind, 1), "knows", Direction::In);
            assert_eq!(sources, Some(vec![key(kind, 16)]));
            add(&store, kind, 100..130);
            for outcome in [tx.commit(), pending.submit().and_then(|pending| pending.wait())] {
                let Err(CommitError::Conflict { what: Contested::Vertex { key: named }, .. }) = outcome
                else {
                    panic!("{outcome:?}");
                };
                assert!([key(kind, 1), key(kind, 2)].contains(&named), "{named}");
            }
            assert_eq!(id_of(&store, &key(kind, 1)), None);
            store.put_edge(&key(kind, 1), &key(kind, 15), "knows", &[]).expect("a new key");
            let version = store.version().expect("open");
            assert_eq!(version.num_vertices(), 10 + 30 + 1);
            assert_eq!(version.num_edges(0), 10 + 30 + 1);
        }
    }
}

/// It is handed in behind one whose keys are new, and both come to their turn once the key is gone.
#[test]
fn what_is_handed_in_is_not_written_to_who_has_got_the_id_meanwhile() {
    for kind in KINDS {
        for (store, _) in stores(kind) {
            let held = begin_pass(&store, kind);
            let put = |numbers: std::ops::Range<i64>| {
                let mut tx = store.begin().expect("open");
                numbers.for_each(|number| tx.put_vertex(&key(kind, number), None, &[]).expect("it fits"));
                tx
            };
            let (new, old) = (put(100..110), put(0..10));
            drop(held);
            let handed_in = [new, old].map(|tx| tx.submit().expect("open"));
            (0..2).for_each(|_| store.compact().expect("a good disk"));
            let [new, old] = handed_in.map(|pending| pending.wait());
            new.expect("new keys");
            assert!(matches!(old, Err(CommitError::Conflict { .. })), "{old:?}");
            let version = store.version().expect("open");
            let there = |numbers: std::ops::Range<i64>| {
                numbers.filter(|&number| version.vertex_id(key(kind, number).as_ref()).is_some()).count()
            };
            assert_eq!((there(100..110), there(0..10), version.num_vertices()), (10, 0, 20));
        }
    }
}

#[test]
fn a_serializable_read_of_an_absent_key_conflicts_with_who_puts_it_under_another_id() {
    for kind in KINDS {
        for (store, _) in stores(kind) {
            let held = begin_pass(&store, kind);
            let serializable = TransactionOptions { isolation: Isolation::Serializable, timeout: None };
            let reads = |number| {
                let mut tx = store.begin_with(serializable).expect("open");
                assert!(!tx.has_vertex(&key(kind, number)));
                tx.put_vertex(&key(kind, 19), None, &[("seen", Value::Int(1))]).expect("it fits");
                tx
            };
            let (put, alone) = (reads(1), reads(2));
            drop(held);
            store.compact().expect("a good disk");
            store.put_vertex(&key(kind, 1), None, &[]).expect("it fits");
            let outcome = put.commit();
            assert!(matches!(outcome, Err(CommitError::Conflict { .. })), "{outcome:?}");
            alone.commit().expect("the key is absent still");
        }
    }
}

fn read_all(reader: &mut ChangeReader, replica: &mut Replica) {
    while let Some(commit) = reader.next().expect("readable") {
        replica.apply(&commit, &reader.version());
    }
}

#[test]
fn a_cursor_behind_a_pass_gets_the_old_keys_and_a_new_one_is_refused() {
    for kind in KINDS {
        for (mut store, disk) in stores(kind) {
            add(&store, kind, 0..3);
            let after = store.version().expect("open").sequence();
            let named = || ChangeOptions { after: Some(after), name: Some("copy".to_owned()) };
            let mut replica = Replica::new(options_for(kind));
            replica.declare_like(&store.version().expect("open"));
            let mut own = store.changes(ChangeOptions { after: Some(after), name: None }).expect("a reader");
            let mut reader = store.changes(named()).expect("a reader");
            add(&store, kind, 10..20);
            delete(&store, kind, 10..20);
            store.compact().expect("a good disk");
            store.compact().expect("a good disk");
            add(&store, kind, 30..40);
            if let Some(disk) = &disk {
                drop((reader, own));
                drop(store);
                store = open(disk, options_for(kind));
                reader = store.changes(named()).expect("a reader");
                own = store.changes(ChangeOptions { after: Some(after), name: None }).expect("not let go of");
                store.compact().expect("a good disk");
                add(&store, kind, 50..55);
            }
            let mut other = Replica::new(options_for(kind));
            other.declare_like(&store.version().expect("open"));
            read_all(&mut reader, &mut replica);
            read_all(&mut own, &mut other);
            assert_eq!(replica.dump(), other.dump());
            reader.acknowledge(reader.position()).expect("given out");
            let bound = store.version().expect("open").id_bound();
            for _ in 0..2 {
                store.compact().expect("a good disk");
            }
            add(&store, kind, 60..68);
            assert_eq!(store.version().expect("open").id_bound(), bound, "all have passed");
            let refused = store.changes(ChangeOptions { after: Some(after), name: None });
            assert!(matches!(refused, Err(ChangesError::Trimmed { .. })), "{refused:?}");
            let refused = store.version_at(At::Commit(after));
            assert!(matches!(refused, Err(HistoryError::NotRetained { .. })), "{refused:?}");
            let first = store.retained().first;
            store.changes(ChangeOptions { after: Some(first), name: None }).expect("as far back as it says");
            read_all(&mut reader, &mut replica);
            read_all(&mut own, &mut other);
            assert_eq!(replica.dump(), other.dump());
        }
    }
}

#[test]
fn a_named_cursor_that_nobody_reads_by_holds_the_keys_of_what_is_to_come() {
    for kind in KINDS {
        let disk = SimDisk::new(0);
        let store = open(&disk, options_for(kind));
        add(&store, kind, 0..20);
        let named = || ChangeOptions { after: None, name: Some("copy".to_owned()) };
        drop(store.changes(named()).expect("a reader"));
        delete(&store, kind, 0..10);
        (0..2).for_each(|_| store.compact().expect("a good disk"));
        add(&store, kind, 100..110);
        let mut reader = store.changes(named()).expect("a reader");
        let deleted = reader.next().expect("readable").expect("a commit").writes.vertex_deletes;
        let keys: Vec<Key> = deleted.iter().map(|&id| reader.version().key(id)).collect();
        assert_eq!(keys, (0..10).map(|number| key(kind, number)).collect::<Vec<_>>());
    }
}

/// Only by deletes of a batch does a commit name keys that had no vertices.
#[test]
fn a_reader_is_told_the_keys_of_edges_that_were_not_there_to_be_deleted() {
    for kind in KINDS {
        for (store, _) in stores(kind) {
            add(&store, kind, 0..20);
            delete(&store, kind, 0..10);
            let mut reader = store.changes(ChangeOptions::default()).expect("a reader");
            let absent = (0..9).map(|number| (key(kind, number), key(kind, number + 1)));
            store.delete_edges("knows", vec![batch(absent.clone())]).expect("it fits");
            (0..2).for_each(|_| store.compact().expect("a good disk"));
            add(&store, kind, 100..110);
            let writes = reader.next().expect("readable").expect("a commit").writes;
            let ops = &writes.edges[0].1;
            let told = ops.src.iter().zip(&ops.dst).map(|(&src, &dst)| {
                let version = reader.version();
                (version.key(src), version.key(dst))
            });
            assert_eq!(told.collect::<Vec<_>>(), absent.collect::<Vec<_>>());
        }
    }
}

/// Handlers need the versions from their place on, and have the log read and dealt with as others do.
#[test]
fn ids_come_back_beside_a_reader_that_keeps_versions() {
    for kind in KINDS {
        for (store, disk) in stores(kind) {
            let mut reader = store.version_changes(None).expect("a reader");
            for round in 0..20 {
                let numbers = round * 100..round * 100 + 100;
                add(&store, kind, numbers.clone());
                delete(&store, kind, numbers);
                while reader.next().expect("readable").is_some() {}
                reader.acknowledge(reader.position()).expect("given out");
                store.compact().expect("a good disk");
                let version = store.version().expect("open");
                assert!(version.id_bound() <= 400, "{} ids after {round} rounds", version.id_bound());
                let before = dump(&version);
                drop(version);
                store.put_edge(&key(kind, -1), &key(kind, -2), "knows", &[]).expect("it fits");
                if disk.is_some() {
                    let place = store.version_at(At::Commit(reader.acknowledged())).expect("kept");
                    assert_eq!(dump(&place), before);
                }
            }
        }
    }
}

/// An archive that failed has not said which keys it let go of, and the log only that they are new again.
#[test]
fn versions_that_are_kept_for_a_reader_are_there_after_an_archive_that_failed() {
    for kind in KINDS {
        let mut come_again = 0;
        for failing in 0.. {
            let disk = SimDisk::new(failing);
            let store = open(&disk, options_for(kind));
            add(&store, kind, 0..20);
            let mut reader = store.version_changes(None).expect("a reader");
            store.checkpoint().expect("a good disk");
            delete(&store, kind, 0..10);
            while reader.next().expect("readable").is_some() {}
            reader.acknowledge(reader.position()).expect("given out");
            let (place, as_it_was) = (reader.acknowledged(), dump(&store.version().expect("open")));
            disk.fail_at(failing, Fault::Enospc);
            let is_archived = store.compact().is_ok();
            if store.stats().failure.is_none() {
                let bound = store.version().expect("open").id_bound();
                add(&store, kind, 4..8);
                come_again += u32::from(store.version().expect("open").id_bound() > bound);
            }
            let disk = disk.crash(CrashPlan::KeepUnsynced);
            drop((reader, store));
            let store = open(&disk, options_for(kind));
            let kept = store.version_at(At::Commit(place)).expect("kept");
            assert_eq!(dump(&kept), as_it_was, "{failing}");
            if is_archived {
                break;
            }
        }
        assert!(come_again > 0);
    }
}

/// Puts and deletes among few keys beside a reader that keeps versions: from its place on each is what it was, after opening again and
/// power losses, too. Tells how often one from before that was let go of.
fn keep_versions(seed: u64, kind: KeyKind) -> u64 {
    let mut random = Random::new(seed);
    let mut disk = SimDisk::new(seed);
    let mut store = open(&disk, options_for(kind));
    add(&store, kind, 0..2);
    let mut reader = store.version_changes(None).expect("a reader");
    let mut states = BTreeMap::new();
    let mut let_go = 0;
    for _ in 0..120 {
        let mut number = || random.below(30) as i64;
        let (src, dst) = (key(kind, number()), key(kind, number()));
        match number() {
            0..10 => drop(store.put_edge(&src, &dst, "knows", &[]).expect("it fits")),
            10..16 => drop(store.delete_vertex(&src).expect("nothing is in its way")),
            16..19 => store.compact().expect("a good disk"),
            19..21 => store.checkpoint().expect("a good disk"),
            21..23 => {
                let plan =
                    if random.below(2) == 0 { CrashPlan::LoseUnsynced } else { CrashPlan::KeepUnsynced };
                disk = disk.crash(plan);
                drop((reader, store));
                store = open(&disk, options_for(kind));
                reader = store.version_changes(None).expect("it is known");
            }
            23..26 => {
                for _ in 0..random.below(8) {
                    reader.next().expect("readable");
                }
                reader.acknowledge(reader.position()).expect("given out");
            }
            _ => {
                let place = reader.acknowledged();
                for (&sequence, state) in states.iter().rev().step_by(1 + random.below(3) as usize) {
                    match store.version_at(At::Commit(sequence)) {
                        Ok(version) => assert_eq!(dump(&version), *state, "seed {seed}, version {sequence}"),
                        Err(error) => {
                            assert!(matches!(error, HistoryError::NotRetained { .. }), "{error}");
                            assert!(sequence < place, "seed {seed}: version {sequence} from {place} on");
                            let_go += 1;
                        }
                    }
                }
            }
        }
        let version = store.version().expect("open");
        states.insert(version.sequence(), dump(&version));
    }
    let_go
}

#[test]
fn versions_that_are_kept_for_a_reader_are_what_they_were_whatever_ids_come_back() {
    let let_go: u64 = (0..32).map(|seed| keep_versions(seed, KINDS[seed as usize % 2])).sum();
    assert!(let_go > 0);
}

#[test]
fn keys_stay_where_history_is_kept() {
    for kind in KINDS {
        let disk = SimDisk::new(0);
        let store = open(&disk, Options { retain: Some(Retain::Everything), ..options_for(kind) });
        let mut states = Vec::new();
        for round in 0..4 {
            add(&store, kind, round * 20..round * 20 + 20);
            states.push(store.version().expect("open").sequence());
            delete(&store, kind, round * 20..round * 20 + 15);
            (0..2).for_each(|_| store.compact().expect("a good disk"));
        }
        for (round, &sequence) in (0..).zip(&states) {
            let version = store.version_at(At::Commit(sequence)).expect("retained");
            assert_eq!(version.num_vertices(), 20 + 5 * round);
            for number in round as i64 * 20..round as i64 * 20 + 20 {
                let id = version.vertex_id(key(kind, number).as_ref()).expect("it was there");
                assert_eq!(version.key(id), key(kind, number));
            }
        }
    }
}

/// Commits and compacts whenever it is asked, and lets go of a version once the load has begun.
struct Compacts<'a>(&'a Store, KeyKind, Mutex<Option<Arc<Version>>>);

impl Progress for Compacts<'_> {
    fn update(&self, done: u64, _total: Option<u64>) -> ControlFlow<()> {
        let Compacts(store, kind, held) = self;
        held.lock().expect("nobody panics").take_if(|_| done > 0);
        // From here on the newest version knows the ids that the load's keys have.
        store.put_vertex(&key(*kind, -1), None, &[]).expect("it fits");
        store.compact().expect("memory");
        ControlFlow::Continue(())
    }
}

/// Its keys have ids before there are vertices.
#[test]
fn keys_of_a_load_under_way_stay() {
    for kind in KINDS {
        let store = Store::in_memory(Options { bulk_edges: 1000, ..options_for(kind) });
        add(&store, kind, 0..500);
        // A pass begins, and waits for who holds this, so that it goes on amid the load.
        let held = Mutex::new(Some(store.version().expect("open")));
        delete(&store, kind, 0..500);
        store.compact().expect("memory");
        let edges = (0..200_000).map(|row| (key(kind, 1000 + row % 5000), key(kind, 1000 + row / 10 % 5000)));
        let progress = Compacts(&store, kind, held);
        let watched = store.watched(&progress);
        watched.add_edges("knows", vec![batch(edges)]).expect("it fits");
        let version = store.version().expect("open");
        assert_eq!(version.num_vertices(), 5001);
        for number in 1000..6000 {
            let id = version.vertex_id(key(kind, number).as_ref()).expect("it was loaded");
            assert_eq!(version.key(id), key(kind, number));
        }
    }
}

/// Puts and deletes among few keys, with readers that come behind and are compared whenever they are there.
fn follow(seed: u64, kind: KeyKind, on_disk: bool) {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(seed);
    let new_store =
        || if on_disk { open(&disk, options_for(kind)) } else { Store::in_memory(options_for(kind)) };
    let mut store = new_store();
    add(&store, kind, 0..2);
    let named = || ChangeOptions { after: Some(0), name: Some("copy".to_owned()) };
    let begin = |store: &Store| store.changes(named()).expect("a reader");
    let mut reader = (!on_disk).then(|| store.changes(ChangeOptions::default()).expect("a reader"));
    let mut replica = Replica::new(options_for(kind));
    if !on_disk {
        replica.declare_like(&store.version().expect("open"));
        replica.apply_all(&store.version().expect("open"));
    }
    let mut reader = reader.take().unwrap_or_else(|| begin(&store));
    for _ in 0..120 {
        let mut number = || random.below(40) as i64;
        let (src, dst) = (key(kind, number()), key(kind, number()));
        match number() {
            0..12 => drop(store.put_edge(&src, &dst, "knows", &[]).expect("it fits")),
            12..16 => {
                let edges = [(src.clone(), dst.clone()), (dst, key(kind, number()))];
                store.add_edges("knows", vec![batch(edges)]).expect("it fits");
            }
            16..18 => {
                let edges = vec![batch([(src, dst)])];
                store.delete_edges("knows", edges).expect("it fits");
            }
            18..28 => drop(store.delete_vertex(&src).expect("nothing is in its way")),
            28..32 => store.compact().expect("a good disk"),
            32..34 => store.checkpoint().expect("a good disk"),
            34..36 if on_disk => {
                drop(reader);
                drop(store);
                store = new_store();
                reader = begin(&store);
                replica = Replica::new(options_for(kind));
                replica.declare_like(&store.version().expect("open"));
                let acknowledged = reader.acknowledged();
                assert!(acknowledged <= reader.position());
                // What it had read is told by a copy of the store as it was at its place.
                continue_at(&store, &mut reader, &mut replica);
            }
            _ => {
                read_all(&mut reader, &mut replica);
                reader.acknowledge(reader.position()).expect("given out");
                assert_eq!(replica.dump(), dump(&store.version().expect("open")), "seed {seed}");
            }
        }
    }
}

/// Goes on with a reader whose replica is gone.
fn continue_at(store: &Store, reader: &mut ChangeReader, replica: &mut Replica) {
    while reader.next().expect("readable").is_some() {}
    reader.acknowledge(reader.position()).expect("given out");
    replica.apply_all(&store.version().expect("open"));
}

#[test]
fn a_store_made_of_what_a_reader_is_told_is_the_same() {
    for seed in 0..24 {
        follow(seed, KINDS[seed as usize % 2], seed % 4 < 2);
    }
}

/// Actions in which keys come and go, with versions that are kept and archives that let go of keys.
fn coming_and_going(longest: usize) -> impl Strategy<Value = Vec<Action>> {
    let delete = (0..14u16).prop_map(|key| Write::DeleteVertex { key });
    let put = (0..14u16, 0..14u16, 0..6usize).prop_map(|(src, dst, edge_type)| Write::PutEdge {
        src,
        dst,
        edge_type,
        given: Vec::new(),
    });
    let step = prop_oneof![
        4 => actions(4),
        4 => prop::collection::vec(delete, 1..8).prop_map(|writes| vec![Action::Commit(writes)]),
        4 => prop::collection::vec(put, 1..4).prop_map(|writes| vec![Action::Commit(writes)]),
        3 => Just(vec![Action::Compact]),
        1 => Just(vec![Action::Checkpoint]),
        1 => Just(vec![Action::Reopen]),
        2 => Just(vec![Action::Keep]),
        2 => Just(vec![Action::Release]),
    ];
    prop::collection::vec(step, 1..longest).prop_map(|steps| steps.into_iter().flatten().collect())
}

fn holds(cases: u32, longest: usize) {
    let keys = prop_oneof![Just(KeyKind::Int64), Just(KeyKind::Text)];
    let bulk = prop_oneof![Just(6), Just(usize::MAX)];
    let case = (keys, bulk, prop::bool::weighted(0.8)).prop_map(|(keys, bulk_edges, on_disk)| Case {
        keys,
        bulk_edges,
        memory_limit: None,
        keeps_history: false,
        on_disk,
        durability: Durability::Sync,
        format: ListFormat::Fast,
    });
    for_all(cases, &(case, coming_and_going(longest)), |(case, actions)| {
        let mut runner = Runner::new(case);
        actions.iter().for_each(|action| runner.run(action));
        runner.run(&Action::Compact);
        if case.on_disk {
            runner.run(&Action::Reopen);
        }
        runner.finish();
    });
}

#[test]
fn a_store_whose_keys_come_and_go_is_what_its_model_is() {
    holds(96, 30);
}

#[test]
#[ignore = "long"]
fn soak_a_store_whose_keys_come_and_go_is_what_its_model_is() {
    holds(4000, 60);
    tally("runs against the model", 4000);
}

/// Threads that put, delete and read while keys are let go of and ids given out: each key is found under the id that tells it, and
/// what one thread alone puts is what it finds.
#[test]
fn who_reads_and_commits_while_passes_go_on_finds_the_right_keys() {
    for kind in KINDS {
        for (store, _) in stores(kind) {
            let (is_over, archives, keys) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
            let deadline = Instant::now() + Duration::from_secs(60);
            let bound = || u64::from(store.version().expect("open").id_bound());
            std::thread::scope(|scope| {
                let (store, archives, keys, bound) = (&store, &archives, &keys, &bound);
                // Archives of a small store are quick: ids come back once nobody has been reading for as long as two of them take.
                let is_enough = move || {
                    let have_come_back = bound() < keys.load(Ordering::Relaxed) / 2;
                    (have_come_back && archives.load(Ordering::Relaxed) >= 25) || Instant::now() > deadline
                };
                let spawn = |thread| scope.spawn(move || come_and_go(store, kind, thread, keys, is_enough));
                let writers: Vec<_> = (0..3).map(spawn).collect();
                for _ in 0..2 {
                    scope.spawn(|| {
                        while !is_over.load(Ordering::Relaxed) {
                            let version = store.version().expect("open");
                            for id in version.vertex_ids() {
                                let key = version.key(id);
                                assert_eq!(version.vertex_id(key.as_ref()), Some(id), "{key}");
                                let neighbors = version.neighbors(0, Direction::Out, id);
                                neighbors.iter().for_each(|neighbor| assert!(version.has_vertex(neighbor)));
                            }
                            drop(version.keys(0..version.id_bound()));
                        }
                    });
                }
                let archiver = scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        store.compact().expect("a good disk");
                        archives.fetch_add(1, Ordering::Relaxed);
                    }
                });
                let done: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
                is_over.store(true, Ordering::Relaxed);
                assert!(archiver.join().is_ok() && done.iter().all(Result::is_ok));
            });
            let (bound, keys) = (bound(), keys.into_inner());
            assert!(bound < keys / 2, "{bound} ids of {keys} keys");
        }
    }
}

/// Keys of this thread alone, some of which are there at a time; counts them.
fn come_and_go(store: &Store, kind: KeyKind, thread: i64, keys: &AtomicU64, is_enough: impl Fn() -> bool) {
    let own = |round: i64, at: i64| key(kind, thread * 1_000_000 + round * 10 + at);
    for round in 0.. {
        if is_enough() {
            return;
        }
        keys.fetch_add(6, Ordering::Relaxed);
        for at in 0..5 {
            let value = Value::Int(round * 10 + at);
            store
                .put_edge(&own(round, at), &own(round, at + 1), "knows", &[("round", value)])
                .expect("blind");
        }
        let version = store.version().expect("open");
        for at in 0..5 {
            let ends = [at, at + 1].map(|at| version.vertex_id(own(round, at).as_ref()).expect("just put"));
            let mut found = Vec::new();
            version.for_each_edge(0, Direction::Out, ends[0], &[0], &mut |neighbor, values| {
                found.push((neighbor, values[0].clone()));
            });
            assert_eq!(found, [(ends[1], Value::Int(round * 10 + at))]);
        }
        drop(version);
        for at in 0..6 {
            assert!(store.delete_vertex(&own(round, at)).expect("its own"), "round {round}");
            assert_eq!(store.version().expect("open").vertex_id(own(round, at).as_ref()), None);
        }
    }
}
