//! Commits go on while a large load does: they are neither lost nor wait, the load is in the store whole or not at all, and
//! both are there in the end as if the load had come first.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use crate::common::{
    Action, Case, Dump, HookedDisk, Model, Runner, States, Write, actions, compare_difference, directory,
    dump, for_all, number_batch, on, options, with_columns,
};
use evergraph_disk::{CrashPlan, Disk, Fault, MemoryDisk, SimDisk};
use evergraph_store::{
    ChangeOptions, CommitError, Durability, Isolation, ListFormat, Options, Store, Transaction,
    TransactionOptions, Version, check_on,
};
use evergraph_types::{
    Alteration, Direction, EdgeBatch, EdgeTypeOptions, Key, KeyKind, PropertyOwner, PropertyType, Value,
};
use parking_lot::Mutex;
use proptest::prelude::*;

const CASE: Case = Case {
    keys: KeyKind::Text,
    bulk_edges: 600,
    memory_limit: None,
    keeps_history: false,
    on_disk: true,
    durability: Durability::Sync,
    format: ListFormat::Fast,
};

/// What there is, so that every type and property is known, whatever comes first afterwards.
fn known() -> Vec<Action> {
    let all = (0..11).map(|property| (property, Some(1))).collect();
    let vertex = Action::One(Write::PutVertex { key: 1, label: Some(0), given: all });
    let edges =
        |edge_type| Action::Add { edge_type, edges: vec![(1, 2), (2, 3)], columns: u16::MAX, parts: 1 };
    [Action::Declare, vertex].into_iter().chain((0..6).map(edges)).collect()
}

/// Actions that do not wait for the load, and do the same whether it has come or not: what a transaction deletes and does not
/// find, it does not delete.
fn alongside(longest: usize) -> impl Strategy<Value = Vec<Action>> {
    let blind = |action| match action {
        Action::One(Write::DeleteEdge { src, dst, edge_type }) => {
            Some(Action::Delete { edge_type, edges: vec![(src, dst)] })
        }
        Action::Commit(mut writes) => {
            writes.retain(|write| !matches!(write, Write::DeleteEdge { .. }));
            Some(Action::Commit(writes))
        }
        Action::Hub { .. } | Action::Thin { .. } | Action::Checkpoint | Action::Compact | Action::Reopen => {
            None
        }
        action => Some(action),
    };
    actions(longest).prop_map(move |actions| actions.into_iter().filter_map(blind).collect())
}

fn load() -> impl Strategy<Value = Action> {
    let hub = (0..6usize, 0..2u16, 620..1300u16, any::<u16>(), any::<bool>());
    hub.prop_map(|(edge_type, hub, count, columns, reverse)| Action::Hub {
        edge_type,
        hub,
        spokes: 0..count,
        columns,
        reverse,
    })
}

/// What is true once a commit was acknowledged.
struct Moment {
    /// The number of operations of the disk so far.
    operations: u64,
    version: Arc<Version>,
    dump: Dump,
}

impl Moment {
    fn of(runner: &Runner) -> Self {
        let version = runner.store.version().expect("open");
        Moment { operations: runner.disk.operations(), dump: dump(&version), version }
    }
}

/// A store that a load is about to come to, with actions alongside, after some others; and where is noted what each of these led
/// to, and what there is before.
fn start(case: Case, before: &[Action], alongside: &[Action]) -> (Runner, Arc<Mutex<Vec<Moment>>>) {
    let sim = SimDisk::new(3);
    let disk = HookedDisk::over(on(&sim));
    let store = Store::open_on(disk.clone(), directory(), Runner::options(case)).expect("a new store");
    let mut runner = Runner::of(case, sim, store, Model::default());
    known().iter().chain(before).for_each(|action| runner.run(action));
    let moments = Arc::new(Mutex::new(vec![Moment::of(&runner)]));
    let mut other = Runner::of(case, runner.disk.clone(), runner.store.clone(), runner.model.clone());
    let (actions, seen) = (alongside.to_vec(), moments.clone());
    disk.when_creating("segment", move || {
        for action in actions {
            other.run(&action);
            seen.lock().push(Moment::of(&other));
        }
    });
    (runner, moments)
}

/// A load with actions alongside, after some others; gives the store, and what was there on the way, the load last.
fn run(case: Case, before: &[Action], load: &Action, alongside: &[Action]) -> (Runner, Vec<Moment>) {
    let (mut runner, moments) = start(case, before, alongside);
    runner.try_run(load).expect("a good disk");
    let mut moments = std::mem::take(&mut *moments.lock());
    moments.push(Moment::of(&runner));

    // As if the load had come first.
    let mut twin = Runner::resume(Case { on_disk: false, ..case }, SimDisk::new(0), Model::default())
        .expect("in memory");
    known().iter().chain(before).chain([load]).chain(alongside).for_each(|action| twin.run(action));
    runner.model = twin.model.clone();
    runner.compare(load);
    (runner, moments)
}

/// Compares all there is, on the way and in the end, with what it should be.
fn check(case: Case, before: &[Action], load: &Action, alongside: &[Action]) {
    let (mut runner, moments) = run(case, before, load, alongside);
    let newest = &moments[moments.len() - 1];
    for moment in &moments {
        if moment.version.sequence() != newest.version.sequence() {
            compare_difference(&moment.version, &newest.version, &moment.dump, &newest.dump);
            compare_difference(&newest.version, &moment.version, &newest.dump, &moment.dump);
        }
    }
    runner.run(&Action::Reopen);
    runner.run(&Action::Checkpoint);
    runner.run(&Action::One(Write::PutEdge { src: 90, dst: 1, edge_type: 1, given: Vec::new() }));
    runner.run(&Action::Compact);
    let disk = runner.disk.clone();
    runner.finish();
    let report = check_on(on(&disk), directory()).expect("it can be read");
    assert!(report.is_healthy(), "{report:?}");
    moments.iter().for_each(|moment| assert_eq!(dump(&moment.version), moment.dump));
}

fn holds(cases: u32, longest: usize) {
    let keys = prop_oneof![Just(KeyKind::Int64), Just(KeyKind::Text), Just(KeyKind::Dense)];
    let format = prop_oneof![Just(ListFormat::Fast), Just(ListFormat::Compact)];
    let limit = prop::option::weighted(0.4, Just(40_000));
    let strategy = (keys, format, limit, alongside(longest / 2), load(), alongside(longest));
    for_all(cases, &strategy, |(keys, format, memory_limit, mut before, load, alongside)| {
        // What the load brings to the schema is seen with the first commit alongside.
        before.retain(|action| !matches!(action, Action::DropType { .. } | Action::DropProperty { .. }));
        let vertex = |key| Action::One(Write::PutVertex { key, label: None, given: Vec::new() });
        before.extend((0..14).map(vertex));
        check(Case { keys, format, memory_limit, ..CASE }, &before, &load, &alongside);
    });
}

#[test]
fn commits_alongside_count_as_those_after_the_load() {
    holds(24, 16);
}

#[test]
#[ignore = "long"]
fn soak_commits_alongside_count_as_those_after_the_load() {
    holds(500, 40);
}

fn put_edge(src: u16, dst: u16, edge_type: usize) -> Action {
    Action::One(Write::PutEdge { src, dst, edge_type, given: vec![(0, Some(dst as i8))] })
}

/// Of edges that the load has and of others, of its type and of another, with new vertices and deletes.
fn some_alongside() -> Vec<Action> {
    vec![
        put_edge(0, 95, 0),
        Action::One(Write::DeleteEdge { src: 0, dst: 96, edge_type: 0 }),
        Action::One(Write::DeleteVertex { key: 97 }),
        put_edge(5, 6, 1),
        Action::Add { edge_type: 1, edges: vec![(0, 1), (7, 7), (0, 1)], columns: 1, parts: 1 },
        Action::One(Write::PutVertex { key: 98, label: Some(1), given: vec![(1, Some(4))] }),
    ]
}

fn hub(columns: u16) -> Action {
    Action::Hub { edge_type: 0, hub: 0, spokes: 90..720, columns, reverse: false }
}

#[test]
fn a_crash_leaves_every_commit_alongside_and_the_load_whole_or_not_at_all() {
    for (memory_limit, columns) in [(None, 0), (None, 1), (Some(40_000), 0)] {
        let case = Case { memory_limit, ..CASE };
        let before = [put_edge(0, 96, 0), put_edge(97, 0, 0)];
        let (runner, moments) = run(case, &before, &hub(columns), &some_alongside());
        let disk = runner.disk.clone();
        drop(runner);
        let (mut states, mut replay) = (States::default(), disk.replay());
        let (first, last) = (&moments[0], &moments[moments.len() - 1]);
        while replay.advance() {
            let operations = replay.operations();
            if operations < first.operations {
                continue;
            }
            let promised =
                moments.iter().rev().find(|moment| moment.operations <= operations).unwrap_or(first);
            let bounds = (promised.version.sequence(), last.version.sequence());
            let random = (0..4).map(|seed| CrashPlan::Random(operations << 8 | seed));
            for plan in [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced].into_iter().chain(random) {
                let what = format!("operation {operations}, {plan:?}, {case:?}");
                let crashed = replay.crash(plan);
                states.visit(&crashed, Runner::options(case), bounds, &what, |store, version| {
                    let found = moments.iter().find(|moment| moment.version.sequence() == version.sequence());
                    let found = found.unwrap_or_else(|| panic!("{what}: {}", version.sequence()));
                    assert!(dump(version) == found.dump, "{what}");
                    store.put_edge("one more", "", "plain", &[]).expect("it goes on");
                });
            }
        }
        assert!(states.count() > 40, "{}", states.count());
    }
}

const LOADED: i64 = 200;

/// How many of the edges of the load below there are.
fn loaded(version: &Version) -> i64 {
    let id = |key: i64| version.vertex_id(key.into());
    let is_there = |row: &i64| {
        let ends = id(*row).zip(id(row + 1));
        ends.is_some_and(|(src, dst)| version.has_edge(0, src, dst))
    };
    (0..LOADED).filter(is_there).count() as i64
}

/// Loads with commits alongside, one operation of the disk failing; tells, if it came to that, whether the store takes no
/// more commits.
fn fail(nth: u64, fault: Fault) -> Option<bool> {
    let what = format!("operation {nth}, {fault:?}");
    let sim = SimDisk::new(nth);
    let disk = HookedDisk::over(on(&sim));
    let options = || Options { bulk_edges: 100, durability: Durability::Sync, ..options() };
    let store = Store::open_on(disk.clone(), directory(), options()).expect("a new store");
    store.put_edge(5000, 5001, "plain", &[]).expect("a good disk");
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let (keys, other) = (acknowledged.clone(), store.clone());
    disk.when_creating("segment", move || {
        let puts = (1000..1004).filter(|&key| other.put_edge(key, 0, "plain", &[]).is_ok());
        keys.lock().extend(puts);
    });
    let before = sim.operations();
    sim.fail_at(nth, fault);
    let batch = number_batch((0..LOADED).map(|row| (row, row + 1)));
    let outcome = store.add_edges("plain", vec![batch]);
    let is_loaded = outcome.is_ok();
    if sim.operations() <= before + nth {
        assert!(is_loaded, "{what}");
        return None;
    }
    disk.forget();
    let acknowledged = std::mem::take(&mut *acknowledged.lock());
    let has_all = |version: &Version| {
        let ids = acknowledged.iter().chain([&5000]).map(|&key: &i64| version.vertex_id(key.into()));
        ids.into_iter().all(|id| id.is_some_and(|id| version.neighbors(0, Direction::Out, id).len() == 1))
    };
    let version = store.version().expect("open");
    assert!(has_all(&version), "{what}");
    assert_eq!(loaded(&version), if is_loaded { LOADED } else { 0 }, "{what}");
    let is_refused = matches!(outcome, Err(CommitError::Durability { .. }));
    match outcome {
        Ok(_) | Err(CommitError::Durability { .. } | CommitError::NotLoaded { .. }) => {}
        Err(error) => panic!("{what}: {error}"),
    }
    if !is_loaded {
        let is_taken = store.put_edge(1, 1, "plain", &[]).is_ok();
        assert!(is_taken != is_refused, "{what}: it goes on unless it was told that it does not");
    }
    drop((version, store));
    for disk in [sim.crash(CrashPlan::LoseUnsynced), sim.crash(CrashPlan::Random(nth)), sim] {
        let store = Store::open_on(on(&disk), directory(), options())
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let version = store.version().expect("open");
        assert!(has_all(&version), "{what}");
        let found = loaded(&version);
        assert!(found == LOADED || found == 0 && !is_loaded, "{what}: {found} edges");
        store.put_edge(1, 1, "plain", &[]).expect("it goes on");
    }
    Some(is_refused)
}

#[test]
fn a_load_that_fails_leaves_every_commit_alongside() {
    for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite] {
        let refused: Vec<bool> = (0..).map_while(|nth| fail(nth, fault)).collect();
        let ends = refused.iter().filter(|&&is_refused| is_refused).count();
        assert!(refused.len() > 20 && ends > 3 && ends < refused.len() - 3, "{refused:?}");
    }
}

#[test]
fn whoever_begins_to_follow_during_a_load_follows_what_comes_after_it() {
    let disk = HookedDisk::over(on(&SimDisk::new(0)));
    let options = Options { bulk_edges: 100, ..options() };
    let store = Store::open_on(disk.clone(), directory(), options).expect("a new store");
    store.put_edge(1, 2, "plain", &[]).expect("it fits");
    let follower = Arc::new(Mutex::new(None));
    let (place, other) = (follower.clone(), store.clone());
    disk.when_creating("segment", move || {
        other.put_edge(2, 3, "plain", &[]).expect("it fits");
        *place.lock() =
            Some(std::thread::spawn(move || other.changes(ChangeOptions::default()).expect("a reader")));
    });
    let batch = number_batch((0..LOADED).map(|row| (row, row + 1)));
    let summary = store.add_edges("plain", vec![batch]).expect("it fits");
    let mut reader = follower.lock().take().expect("it was begun").join().expect("no panic");
    assert_eq!((summary.sequence, reader.position()), (3, 3));
    store.put_edge(7, 7, "plain", &[]).expect("it fits");
    store.checkpoint().expect("a good disk");
    let commit = reader.next().expect("a good disk").expect("a commit");
    assert_eq!((commit.sequence, commit.writes.edges[0].1.len()), (4, 1));
}

/// A serializable transaction that read what a load under way may change cannot count as later than the load: it is refused. Others go on.
#[test]
fn what_has_not_seen_a_load_is_no_later_than_it() {
    let disk = HookedDisk::over(on(&SimDisk::new(0)));
    let options = Options { bulk_edges: 100, ..options() };
    let store = Store::open_on(disk.clone(), directory(), options).expect("a new store");
    for edge_type in ["plain", "other"] {
        store.put_edge(1, 9_000, edge_type, &[("weight", 0.into())]).expect("it fits");
    }
    let run = |store: &Store, isolation, read: &dyn Fn(&Transaction)| {
        let options = TransactionOptions { isolation, ..TransactionOptions::default() };
        let mut transaction = store.begin_with(options).expect("open");
        read(&transaction);
        transaction.put_edge(1, 9_001, "other", &[("weight", 2.into())]).expect("it fits");
        transaction.commit()
    };
    let other = store.clone();
    disk.when_creating("segment", move || {
        let commit = |isolation, read: &dyn Fn(&Transaction)| run(&other, isolation, read);
        let reads: [&dyn Fn(&Transaction); 3] = [
            &|transaction| assert!(transaction.has_edge(1, 9_000, "plain")),
            &|transaction| assert!(transaction.neighbors(1, "plain", Direction::Out).is_some()),
            &|transaction| assert!(!transaction.has_vertex(123_456)),
        ];
        for read in reads {
            let refused = commit(Isolation::Serializable, read);
            assert!(matches!(refused, Err(CommitError::Conflict { .. })), "{refused:?}");
            commit(Isolation::Snapshot, read).expect("nothing that it writes was changed");
        }
        commit(Isolation::Serializable, &|transaction| {
            assert!(transaction.has_edge(1, 9_000, "other"));
        })
        .expect("the load has nothing to do with it");
    });
    let batch = number_batch((0..LOADED).map(|row| (row, row + 1)));
    store.add_edges("plain", vec![batch]).expect("it fits");
    run(&store, Isolation::Serializable, &|transaction| assert!(transaction.has_edge(1, 2, "plain")))
        .expect("it has seen the load");
}

/// A store that takes loads piece by piece, and whoever is to come between the pieces of the next one.
fn in_pieces(between: impl FnOnce(&Store) + Send + 'static) -> (SimDisk, Store) {
    let sim = SimDisk::new(0);
    let disk = HookedDisk::over(on(&sim));
    let store = Store::open_on(disk.clone(), directory(), limited()).expect("a new store");
    store.put_edge(-1, -2, "plain", &[]).expect("it fits");
    let other = store.clone();
    disk.when_creating("spill", move || between(&other));
    (sim, store)
}

fn limited() -> Options {
    Options { memory_limit_bytes: Some(40_000), durability: Durability::Sync, ..options() }
}

#[test]
fn commits_between_the_pieces_of_a_load_may_name_its_keys() {
    let (sim, store) = in_pieces(|store| {
        // Of what has ids by now, of what gets them later, and of what is in no load.
        for (src, dst) in [(1, 2_999), (2_998, 5_001), (-1, 5_000), (0, 1)] {
            store.put_edge(src, dst, "plain", &[]).expect("it fits");
        }
    });
    let rows = || (0..3_000).map(|row| (row, row + 1));
    let summary = store.add_edges("plain", vec![number_batch(rows())]).expect("it fits");
    assert_eq!(summary.edges, 3_000);
    let expected: BTreeSet<(i64, i64)> =
        rows().chain([(-1, -2), (1, 2_999), (2_998, 5_001), (-1, 5_000)]).collect();
    let compare = |store: &Store| {
        let version = store.version().expect("open");
        let of = |src| list(&version, 0, src).into_iter().map(move |dst| (src, dst));
        assert!((-1..3_000).flat_map(of).eq(expected.iter().copied()));
        assert_eq!(version.num_edges(0), expected.len() as u64);
    };
    compare(&store);
    store.put_edge(9_000, 1, "plain", &[]).expect("it fits");
    store.delete_edge(9_000, 1, "plain").expect("it is there");
    let crashed = sim.crash(CrashPlan::LoseUnsynced);
    drop(store);
    for disk in [crashed, sim] {
        assert!(check_on(on(&disk), directory()).is_ok_and(|report| report.is_healthy()));
        compare(&Store::open_on(on(&disk), directory(), limited()).expect("it is there"));
    }
}

/// Rows of two shapes, some pieces of each.
fn of_two_shapes() -> Vec<EdgeBatch> {
    let part = |rows: Range<i64>, column| {
        let batch = number_batch(rows.map(|row| (row, row + 1)));
        with_columns(batch, &[(column, PropertyType::Int64)], |_, row| Value::Int(row as i64))
    };
    vec![part(0..1500, "weight"), part(1500..3000, "height")]
}

/// Whatever is done to the schema between the pieces of a load counts as later.
#[test]
fn the_schema_may_change_between_the_pieces_of_a_load() {
    let alter = |store: &Store, alteration| store.alter(&alteration).expect("it is there");
    let owner = || PropertyOwner::EdgeType("plain".to_owned());
    let name = |name: &str| name.to_owned();
    let drop_type = move |store: &Store| alter(store, Alteration::DropEdgeType { name: name("plain") });
    let drop_weight = move |store: &Store| {
        alter(store, Alteration::DropProperty { owner: owner(), name: name("weight") });
    };
    let put = |store: &Store, properties: &[(&str, Value)]| {
        store.put_edge(5, 70_000, "plain", properties).expect("it fits");
    };
    let changes: Vec<Box<Change>> = vec![
        Box::new(move |store| put(store, &[("depth", 5.into())])),
        Box::new(move |store| put(store, &[("height", 5.into())])),
        Box::new(drop_type),
        Box::new(move |store| {
            drop_type(store);
            put(store, &[("weight", "heavy".into())]);
        }),
        Box::new(move |store| {
            let new_name = name("fancy");
            alter(store, Alteration::RenameEdgeType { name: name("plain"), new_name });
            put(store, &[]);
        }),
        Box::new(drop_weight),
        Box::new(move |store| {
            drop_weight(store);
            put(store, &[("weight", "heavy".into())]);
        }),
    ];
    for change in changes {
        is_later(Arc::new(move |store| {
            // The first commit shows what the load brings to the schema.
            store.put_edge(6, 70_000, "plain", &[]).expect("it fits");
            change(store);
        }));
    }
}

/// What others do to a store.
type Change = dyn Fn(&Store) + Send + Sync;

fn is_later(change: Arc<Change>) {
    let twin = Store::in_memory(options());
    twin.put_edge(-1, -2, "plain", &[]).expect("it fits");
    twin.add_edges("plain", of_two_shapes()).expect("it fits");
    change(&twin);
    let (sim, store) = in_pieces(move |store| change(store));
    let summary = store.add_edges("plain", of_two_shapes()).expect("it fits");
    assert_eq!((summary.edges, summary.vertices), (3000, 3001));
    let compare = |store: &Store| {
        assert_eq!(dump(&store.version().expect("open")), dump(&twin.version().expect("open")));
    };
    compare(&store);
    let crashed = sim.crash(CrashPlan::LoseUnsynced);
    drop(store);
    compare(&Store::open_on(on(&crashed), directory(), limited()).expect("it is there"));
    let store = Store::open_on(on(&sim), directory(), limited()).expect("it is there");
    store.compact().expect("a good disk");
    compare(&store);
    drop(store);
    assert!(check_on(on(&sim), directory()).is_ok_and(|report| report.is_healthy()));
}

/// A transaction that brings a type beside a load that brings one is refused, and finds that when it tries again.
#[test]
fn a_type_may_be_made_beside_a_load_that_brings_one() {
    let disk = HookedDisk::over(on(&SimDisk::new(0)));
    let options = Options { bulk_edges: 100, ..options() };
    let store = Store::open_on(disk.clone(), directory(), options).expect("a new store");
    let other = store.clone();
    disk.when_creating("segment", move || {
        let mut transaction = other.begin().expect("open");
        transaction.put_edge(1, 2, "another", &[]).expect("it fits");
        let refused = transaction.commit().expect_err("there is a type it does not know of");
        assert!(matches!(refused, CommitError::Conflict { sequence: 1, .. }), "{refused}");
        let retried = other
            .transact(0, |transaction| Ok::<_, CommitError>(transaction.put_edge(1, 2, "another", &[])?));
        retried.expect("it knows the type now");
    });
    let rows = (0..LOADED).map(|row| (row, row + 1));
    store.add_edges("plain", vec![number_batch(rows)]).expect("it fits");
    let version = store.version().expect("open");
    let schema = version.schema();
    let names: Vec<&str> = schema.live_edge_types().map(|(_, kind)| kind.name.as_str()).collect();
    assert_eq!((names, version.num_edges(1), version.sequence()), (vec!["plain", "another"], 1, 3));
}

/// Loads bring types and properties, and so do others, who commit at any time.
#[test]
fn loads_and_commits_bring_types_and_properties_side_by_side() {
    let options = || Options { bulk_edges: 1_000, ..Options::default() };
    bring_types(&Store::in_memory(options()));
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let store = Store::open_on(disk.clone(), directory(), options()).expect("a new store");
    let before = bring_types(&store);
    drop(store);
    let store = Store::open_on(disk.clone(), directory(), options()).expect("it is there");
    assert_eq!(dump(&store.version().expect("open")), before);
    drop(store);
    assert!(check_on(disk, directory()).is_ok_and(|report| report.is_healthy()));
}

fn bring_types(store: &Store) -> Dump {
    let rows = || (0..3_000).map(|row| (row, row + 1));
    let (loads, is_over) = (12, AtomicBool::new(false));
    let written = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let goes_on = |_: &i64| !is_over.load(Ordering::Relaxed);
            let write = |round: i64| {
                let (name, property) = (format!("other {}", round % 20), format!("property {round}"));
                store.put_edge(round, -1, &name, &[(&property, round.into())]).expect("it fits");
                store.put_vertex(round, None, &[(&property, round.into())]).expect("it fits");
            };
            (0..200).take_while(goes_on).map(write).count() as i64
        });
        for load in 0..loads {
            let column = [(&*format!("number {load}"), PropertyType::Int64)];
            let batch = with_columns(number_batch(rows()), &column, |_, row| Value::Int(row as i64));
            let summary = store.add_edges(&format!("load {}", load / 2), vec![batch]).expect("it fits");
            assert_eq!(summary.edges, if load % 2 == 0 { 3_000 } else { 0 });
        }
        is_over.store(true, Ordering::Relaxed);
        other.join().expect("all is written")
    });
    let before = dump(&store.version().expect("open"));
    for (load, (src, dst)) in (0..loads).flat_map(|load| rows().map(move |row| (load, row))) {
        let (neighbor, properties) = &before.out[&format!("load {}", load / 2)][&Key::Int(src)][0];
        assert_eq!(
            (neighbor, properties.get(&format!("number {load}"))),
            (&Key::Int(dst), Some(&Value::Int(src)))
        );
    }
    for round in 0..written {
        let property = format!("property {round}");
        assert_eq!(before.vertices[&Key::Int(round)].properties.get(&property), Some(&Value::Int(round)));
    }
    before
}

/// The edges of a vertex, as a sorted list.
fn list(version: &Version, edge_type: u16, key: i64) -> Vec<i64> {
    let Some(id) = version.vertex_id(key.into()) else { return Vec::new() };
    let neighbors = version.neighbors(edge_type, Direction::Out, id);
    let mut keys: Vec<i64> = neighbors.iter().map(|id| number(version.key(id))).collect();
    keys.sort_unstable();
    keys
}

fn number(key: Key) -> i64 {
    match key {
        Key::Int(number) => number,
        Key::Text(text) => panic!("{text}"),
    }
}

/// Rows of a load: one vertex with many edges, and one edge each from vertices that others write to as well.
fn rows_of(round: i64) -> Vec<(i64, i64)> {
    (0..MANY).flat_map(|row| [(-1 - round, row), (row % SHARED, 1_000_000 + round * MANY + row)]).collect()
}

/// Neighbors that loads bring are below this, and those that others bring above.
const LOADED_BELOW: i64 = 100_000_000;
const MANY: i64 = 6_000;
const SHARED: i64 = 300;
const ROUNDS: i64 = 5;

/// Puts and deletes edges of both types until it is over; gives those that are left.
fn write_edges(store: &Store, writer: i64, is_over: &AtomicBool, done: &AtomicI64) -> Vec<(i64, i64)> {
    let mut written = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let edge = (number % SHARED, LOADED_BELOW + 2 * number + writer);
        for name in ["simple", "multi"] {
            store.put_edge(edge.0, edge.1, name, &[]).expect("it fits");
        }
        written.push(edge);
        if number % 3 == 0 {
            let gone = written.swap_remove(number as usize / 2 % written.len());
            for name in ["simple", "multi"] {
                assert!(store.delete_edge(gone.0, gone.1, name).expect("it fits"));
            }
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    written
}

/// Looks again and again whether loads are there whole or not at all.
fn read_loads(store: &Store, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let version = store.version().expect("open");
        for round in 0..ROUNDS {
            let found = list(&version, 0, -1 - round).len() as i64;
            assert!(found == 0 || found == MANY, "{found} edges of a load");
            let is_loaded = |dst: &&i64| (MANY..LOADED_BELOW).contains(*dst);
            let found = list(&version, 0, round).iter().filter(is_loaded).count();
            assert!(found.is_multiple_of((MANY / SHARED) as usize), "{found} edges of loads");
        }
    }
}

/// Threads write to lists that loads write to, while others read, and move the lists.
#[test]
fn many_threads_commit_and_read_while_loads_come() {
    let options = || Options { bulk_edges: 10_000, ..Options::default() };
    load_beside_threads(&Store::in_memory(options()));
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let store = Store::open_on(disk.clone(), directory(), options()).expect("a new store");
    let expected = load_beside_threads(&store);
    drop(store);
    let report = check_on(disk.clone(), directory()).expect("it can be read");
    assert!(report.is_healthy(), "{report:?}");
    compare_lists(&Store::open_on(disk, directory(), options()).expect("it is there"), &expected);
}

/// Sorted lists, of either type.
type Lists = BTreeMap<i64, Vec<i64>>;

fn compare_lists(store: &Store, expected: &Lists) {
    let version = store.version().expect("open");
    for edge_type in [0, 1] {
        for (src, expected) in expected {
            assert!(list(&version, edge_type, *src) == *expected, "{src}, type {edge_type}");
        }
        let count = expected.values().map(|list| list.len() as u64).sum::<u64>();
        assert_eq!(version.num_edges(edge_type), count);
    }
}

/// Gives what there is in the end.
fn load_beside_threads(store: &Store) -> Lists {
    for (name, multi) in [("simple", false), ("multi", true)] {
        let kind = EdgeTypeOptions { multi, ..EdgeTypeOptions::default() };
        store.create_edge_type(name, kind).expect("it is new");
    }
    let (is_over, done) = (AtomicBool::new(false), AtomicI64::new(0));
    let mut beside = 0;
    let written: Vec<Vec<(i64, i64)>> = std::thread::scope(|scope| {
        let (is_over, done) = (&is_over, &done);
        let writers = [0, 1].map(|writer| scope.spawn(move || write_edges(store, writer, is_over, done)));
        let reader = scope.spawn(|| read_loads(store, is_over));
        let mover = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.compact().expect("a good disk");
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        for round in 0..ROUNDS {
            for name in ["simple", "multi"] {
                let before = done.load(Ordering::Relaxed);
                let summary = store.add_edges(name, vec![number_batch(rows_of(round))]).expect("it fits");
                beside += done.load(Ordering::Relaxed) - before;
                assert_eq!(summary.edges, 2 * MANY as u64);
                while done.load(Ordering::Relaxed) == before {
                    std::thread::yield_now();
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
        reader.join().expect("what is read is whole");
        mover.join().expect("nothing stops it");
        writers.into_iter().map(|writer| writer.join().expect("all is written")).collect()
    });
    assert!(beside > 2 * ROUNDS, "{beside} commits beside loads");
    let mut expected = Lists::new();
    for (src, dst) in written.into_iter().flatten().chain((0..ROUNDS).flat_map(rows_of)) {
        expected.entry(src).or_default().push(dst);
    }
    expected.values_mut().for_each(|list| list.sort_unstable());
    compare_lists(store, &expected);
    expected
}
