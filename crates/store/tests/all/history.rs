//! Versions of the past equal what was seen when they were new, and differences between any two equal the set
//! differences of all they hold: whatever was archived, merged, reopened or lost to a crash in between.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::common::{
    Action, Case, Dump, History, HookedDisk, Model, Runner, States, Write, altering_actions, case,
    compare_difference, directory, dump, for_all, number_batch, on, open, options,
};
use evergraph_disk::{CrashPlan, Disk, SimDisk};
use evergraph_store::{
    At, ChangeOptions, ChangesError, EdgeRows, HistoryError, ListFormat, Options, Retain, Store, Version,
    check_on,
};
use evergraph_types::{
    Alteration, Direction, EdgeTypeOptions, KeyKind, Property, PropertyOwner, PropertyType, Sequence, Value,
};
use proptest::prelude::*;
use proptest::test_runner::Config;

/// What was seen after each commit, and when it was made.
type Seen = BTreeMap<Sequence, (i64, Dump)>;

fn runner(case: Case, retain: Retain) -> Runner {
    let disk = SimDisk::new(0);
    let options = Options { retain: Some(retain), ..Runner::options(case) };
    let store = if case.on_disk { open(&disk, options) } else { Store::in_memory(options) };
    let mut runner = Runner::of(case, disk, store, Model::default());
    runner.run(&Action::Declare);
    runner
}

fn run(case: Case, actions: &[Action]) {
    let mut runner = runner(case, Retain::Everything);
    let mut seen = Seen::new();
    for (step, action) in actions.iter().enumerate() {
        runner.run(action);
        let version = runner.store.version().expect("open");
        seen.insert(version.sequence(), (version.time_micros(), runner.model.dump()));
        if step % 6 == 5 {
            check_past(&runner.store, &seen, step);
        }
    }
    check_past(&runner.store, &seen, 1);
    if case.on_disk {
        runner.run(&Action::Reopen);
        check_past(&runner.store, &seen, 0);
        let archived = runner.store.archived_version().expect("it is there");
        assert!(archived.sequence() <= runner.store.version().expect("open").sequence());
        assert_eq!(runner.store.retained().first, 0);
    }
    runner.finish();
}

/// Asks for some versions in some order, and for differences between them.
fn check_past(store: &Store, seen: &Seen, seed: usize) {
    let sequences: Vec<Sequence> = seen.keys().copied().collect();
    let mut before: Option<(Sequence, std::sync::Arc<Version>)> = None;
    for turn in 0..5 {
        let asked = sequences[(seed * 7 + turn * 13 + turn * turn) % sequences.len()];
        let (time, expected) = &seen[&asked];
        let version = store.version_at(At::Commit(asked)).expect("retained");
        assert_eq!(version.sequence(), asked);
        assert_eq!(version.time_micros(), *time, "version {asked}");
        assert_eq!(dump(&version), *expected, "version {asked}");
        let then = store.version_at(At::Time(*time)).expect("retained").sequence();
        assert!(then >= asked && seen.get(&then).is_none_or(|(other, _)| other == time));
        for (other, older) in before.iter().map(|(at, version)| (*at, version.clone())).chain([newest(store)])
        {
            let Some((_, shown)) = seen.get(&other) else { continue };
            compare_difference(&older, &version, shown, expected);
            compare_difference(&version, &older, expected, shown);
        }
        before = Some((asked, version));
    }
}

fn newest(store: &Store) -> (Sequence, std::sync::Arc<Version>) {
    let version = store.version().expect("open");
    (version.sequence(), version)
}

fn holds(cases: u32, longest: usize) {
    for_all(cases, &(case(), altering_actions(longest)), |(case, actions)| run(case, &actions));
}

#[test]
fn every_version_of_a_random_history_is_as_it_was() {
    holds(16, 20);
}

#[test]
#[ignore = "long"]
fn soak_every_version_of_a_random_history_is_as_it_was() {
    holds(500, 50);
}

fn put(store: &Store, from: i64, count: i64) {
    for edge in from..from + count {
        store.put_edge(edge % 50, edge % 47, "edge", &[("n", edge.into())]).expect("committed");
    }
}

/// The files below a directory.
fn files(disk: &SimDisk, part: &str) -> usize {
    disk.list(&directory().join(part)).map_or(0, |names| names.len())
}

#[test]
fn what_has_passed_the_limit_is_dropped() {
    let disk = SimDisk::new(0);
    let limited = Options { retain: Some(Retain::Commits(100)), log_limit_bytes: 4000, ..options() };
    let store = open(&disk, limited.clone());
    let mut slow = store.changes(ChangeOptions { after: Some(0), name: None }).expect("a reader");
    for round in 0..30 {
        put(&store, round * 40, 40);
        store.checkpoint().expect("archived");
        let retained = store.retained();
        assert_eq!(retained.last, 40 * (round as u64 + 1));
        assert!(
            retained.first <= retained.last.saturating_sub(100),
            "at least what was promised: {retained:?}"
        );
        let oldest = store.version_at(At::Commit(retained.last.saturating_sub(100))).expect("promised");
        assert_eq!(oldest.sequence(), retained.last.saturating_sub(100));
    }
    let retained = store.retained();
    assert!(retained.first >= retained.last - 260, "not much more than promised: {retained:?}");
    let counts = ["history", "segments", "log"].map(|part| files(&disk, part));
    assert!(counts[0] <= 5 && counts[1] <= 16 && counts[2] <= 80, "{counts:?}");
    let error = store.version_at(At::Commit(3)).expect_err("dropped");
    assert!(
        matches!(error, HistoryError::NotRetained { first, last: 1200, .. } if first == retained.first),
        "{error}"
    );
    assert!(matches!(store.version_at(At::Commit(1201)), Err(HistoryError::NotRetained { .. })));
    let error = loop {
        match slow.next() {
            Ok(commit) => assert!(commit.is_some(), "the reader is told"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ChangesError::Trimmed { .. }), "{error}");
    store.close().expect("closed");
    assert!(check_on(on(&disk), directory()).expect("readable").is_healthy());
    // The store remembers; a reader of it sees the same.
    let reader = open(&disk, Options { read_only: true, ..options() });
    assert_eq!(reader.retained(), retained);
    assert_eq!(
        reader.version_at(At::Commit(retained.first + 7)).expect("retained").sequence(),
        retained.first + 7
    );
    reader.close().expect("closed");
    let store = open(&disk, Options { retain: Some(Retain::Nothing), ..limited });
    put(&store, 0, 1);
    store.checkpoint().expect("archived");
    assert_eq!((files(&disk, "history"), store.retained().first), (0, 1201));
}

#[test]
fn a_time_limit_keeps_what_was_current_then() {
    let disk = SimDisk::new(0);
    let limited = Options {
        retain: Some(Retain::Time(Duration::from_millis(300))),
        log_limit_bytes: 1000,
        ..options()
    };
    let store = open(&disk, limited);
    let begun = std::time::Instant::now();
    let mut round = 0;
    while begun.elapsed() < Duration::from_millis(900) {
        put(&store, round * 20, 20);
        store.checkpoint().expect("archived");
        // The archive looked at the clock before this.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is right").as_micros();
        let then = now as i64 - 300_000;
        if begun.elapsed() > Duration::from_millis(400) {
            let version = store.version_at(At::Time(then)).expect("promised");
            assert!(version.time_micros() <= then);
        }
        round += 1;
    }
    assert!(store.retained().first > 0, "the rest is gone");
}

const CRASHING: Case = Case {
    keys: KeyKind::Int64,
    bulk_edges: 10,
    memory_limit: None,
    keeps_history: false,
    on_disk: true,
    durability: evergraph_store::Durability::Sync,
    format: evergraph_store::ListFormat::Compact,
};

/// Work with archives in between; `rows` edges are added at a time.
fn work(rows: u16) -> [Action; 17] {
    let put = |src, dst| Action::One(Write::PutEdge { src, dst, edge_type: 0, given: vec![(0, Some(1))] });
    let many = |from: u16| Action::Add {
        edge_type: 1,
        edges: (0..rows).map(|row| (from + row % 7, from + row % 5)).collect(),
        columns: 1,
        parts: 1,
    };
    [
        put(1, 2),
        many(0),
        Action::Checkpoint,
        put(2, 3),
        many(3),
        many(9),
        Action::Checkpoint,
        Action::One(Write::DeleteVertex { key: 3 }),
        many(4),
        Action::Compact,
        put(4, 4),
        many(20),
        Action::Checkpoint,
        put(5, 1),
        Action::Reopen,
        many(2),
        Action::Checkpoint,
    ]
}

/// At every crash, what was promised is retained, and all that is said to be retained is as it was; what is not, is
/// refused. Tells whether some history was dropped.
fn crash_with(retain: Retain, rows: u16, memory_limit: Option<u64>) -> bool {
    let (work, case) = (work(rows), Case { memory_limit, ..CRASHING });
    let mut runner = runner(case, retain);
    let mut seen = Seen::new();
    let mut note = |runner: &Runner| {
        let version = runner.store.version().expect("open");
        seen.insert(version.sequence(), (version.time_micros(), runner.model.dump()));
    };
    note(&runner);
    // The moments are recorded in a run of the same actions, on a disk of its own.
    for action in &work {
        runner.run(action);
        note(&runner);
    }
    let mut again = self::runner(case, retain);
    let history = History::record(&mut again, &work);
    let disk = again.disk.clone();
    again.finish();
    let mut states = States::default();
    let plans = |at: u64| {
        let random = (0..5).map(|seed| CrashPlan::Random(at << 3 | seed));
        random.chain([CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced]).collect()
    };
    let mut has_dropped = false;
    history.crash_everywhere(&disk, case, 1000, plans, &mut states, |found, what| {
        check_retained(&found.store, retain, &seen, what);
        has_dropped |= found.store.retained().first > 0;
    });
    assert!(states.count() > 45, "{}", states.count());
    has_dropped
}

fn check_retained(store: &Store, retain: Retain, seen: &Seen, what: &str) {
    let retained = store.retained();
    let promised = match retain {
        Retain::Everything => 0,
        Retain::Commits(commits) => retained.last.saturating_sub(commits),
        Retain::Time(time) if !time.is_zero() => 0,
        _ => retained.last,
    };
    assert!(retained.first <= promised, "{what}: {retained:?}");
    for (sequence, (time, expected)) in seen.range(retained.first..=retained.last).step_by(3) {
        let version = store.version_at(At::Commit(*sequence));
        let version = version.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(dump(&version), *expected, "{what}: version {sequence}");
        // Times are those of the other run, in which the same commits came earlier.
        assert!(version.time_micros() >= *time);
        let then = store.version_at(At::Time(version.time_micros())).expect("retained");
        assert!(then.sequence() >= *sequence && then.time_micros() == version.time_micros());
    }
    if let Some(before) = retained.first.checked_sub(1) {
        let refused = store.version_at(At::Commit(before));
        assert!(matches!(refused, Err(HistoryError::NotRetained { .. })), "{what}");
    }
}

#[test]
fn after_a_crash_the_past_is_as_it_was() {
    assert!(!crash_with(Retain::Everything, 25, None));
    assert!(!crash_with(Retain::Time(Duration::from_secs(7 * 86_400)), 25, None));
    assert!(crash_with(Retain::Commits(4), 700, None));
    assert!(crash_with(Retain::Time(Duration::ZERO), 700, None));
}

/// Every load is in the log in parts, and makes a segment.
#[test]
fn after_a_crash_the_past_of_loads_larger_than_memory_is_as_it_was() {
    assert!(!crash_with(Retain::Everything, 25, Some(400)));
}

#[test]
fn after_a_crash_the_last_commits_with_loads_larger_than_memory_are_as_they_were() {
    assert!(crash_with(Retain::Commits(4), 700, Some(40_000)));
}

/// A type, its properties and a vertex type that are dropped or renamed between two versions, one by one.
#[test]
fn a_difference_reaches_across_names_that_change() {
    let store = Store::in_memory(options());
    store.put_vertex(1, Some("Person"), &[("age", 30.into())]).expect("put");
    store.put_edge(1, 2, "pays", &[("amount", 1.into()), ("note", "rent".into())]).expect("put");
    store.put_edge(1, 2, "knows", &[("since", 3.into())]).expect("put");
    let before = store.version().expect("open");
    let rename = |name: &str, new_name: &str| (name.to_owned(), new_name.to_owned());
    let (name, new_name) = rename("pays", "owes");
    store.alter(&Alteration::RenameEdgeType { name, new_name }).expect("renamed");
    let (name, new_name) = rename("amount", "sum");
    let owner = PropertyOwner::EdgeType("owes".to_owned());
    store.alter(&Alteration::RenameProperty { owner: owner.clone(), name, new_name }).expect("renamed");
    store.alter(&Alteration::DropProperty { owner, name: "note".to_owned() }).expect("dropped");
    let owner = PropertyOwner::Vertices;
    store.alter(&Alteration::DropProperty { owner, name: "age".to_owned() }).expect("dropped");
    store.alter(&Alteration::DropVertexType { name: "Person".to_owned() }).expect("dropped");
    let renamed = store.version().expect("open");
    assert!(before.diff(&renamed).is_empty() && renamed.diff(&before).is_empty());
    store.put_vertex(1, Some("Firm"), &[]).expect("put");
    store.alter(&Alteration::DropEdgeType { name: "knows".to_owned() }).expect("dropped");
    store.put_edge(1, 2, "owes", &[("sum", 5.into())]).expect("put");
    let diff = before.diff(&store.version().expect("open"));
    assert_eq!(diff.changed_vertices, [0]);
    let [pays, knows] = &diff.edges[..] else { panic!("{diff:?}") };
    let sum = |rows: &EdgeRows| rows.columns[0].get(0);
    assert_eq!((sum(&pays.changed_from), sum(&pays.changed_to)), (Value::Int(1), Value::Int(5)));
    assert_eq!((knows.added.len(), knows.removed.len(), sum(&knows.removed)), (0, 1, Value::Int(3)));
}

#[test]
fn a_store_in_memory_has_a_past_if_asked_for() {
    let store = Store::in_memory(Options { retain: Some(Retain::Commits(50)), ..options() });
    assert_eq!(store.path(), None);
    put(&store, 0, 200);
    store.checkpoint().expect("archived");
    store.add_edges("edge", vec![number_batch((0..3000).map(|row| (row % 100, row)))]).expect("added");
    let version = store.version_at(At::Commit(180)).expect("retained");
    assert_eq!(version.sequence(), 180);
    let kept = version.num_edges(0);
    drop(store);
    assert_eq!(version.num_edges(0), kept, "a version outlives its store");
    let plain = Store::in_memory(options());
    put(&plain, 0, 3);
    assert!(matches!(
        plain.version_at(At::Commit(2)),
        Err(HistoryError::NotRetained { first: 3, last: 3, .. })
    ));
    assert_eq!(plain.version_at(At::Commit(3)).expect("the newest").sequence(), 3);
}

/// A thousand commits apart on a graph that is archived in between, little is looked at.
#[test]
fn a_difference_costs_what_has_changed() {
    let disk = SimDisk::new(0);
    let store = open(&disk, options());
    store
        .add_edges("edge", vec![number_batch((0..200_000).map(|row| (row % 20_000, row * 7 % 20_011)))])
        .expect("added");
    let before = store.version().expect("open");
    for edge in 0..50 {
        store.put_edge(edge, 1_000_000, "edge", &[]).expect("put");
    }
    store.compact().expect("archived");
    let after = store.version().expect("open");
    let took = (0..5).map(|_| {
        let begun = std::time::Instant::now();
        let diff = before.diff(&after);
        assert_eq!(
            (diff.edges[0].added.len(), diff.edges[0].removed.len(), diff.added_vertices.len()),
            (50, 0, 1)
        );
        begun.elapsed()
    });
    let took = took.min().expect("five times");
    let begun = std::time::Instant::now();
    let scanned: u64 =
        after.vertex_ids().iter().map(|&id| after.neighbors(0, Direction::Out, id).len() as u64).sum();
    assert!(scanned > 190_000 && took < 20 * begun.elapsed() + Duration::from_millis(50), "{took:?}");
}

/// Every edge of a version, told once, with its property, and how often there is such a one.
fn edges_of(version: &Version, symmetric: bool) -> BTreeMap<(u32, u32, String), i64> {
    let mut edges = BTreeMap::new();
    for src in version.vertex_ids() {
        version.for_each_run(0, Direction::Out, src, |run| {
            for (row, &dst) in
                run.neighbors().iter().enumerate().filter(|(_, dst)| !symmetric || src <= **dst)
            {
                *edges.entry((src, dst, format!("{:?}", run.value(0, row)))).or_insert(0) += 1;
            }
        });
    }
    edges
}

proptest! {
    #![proptest_config(Config { cases: 24, failure_persistence: None, ..Config::default() })]
    /// Lists of many runs, of which few edges change, are compared edge by edge, whatever the runs have become.
    #[test]
    fn differences_of_long_lists_are_those_of_their_edges(
        [multi, symmetric, properties, compact] in any::<[bool; 4]>(),
        first in prop::collection::vec((0u32..3, 0u32..900), 1..4000),
        commits in prop::collection::vec(
            (prop::collection::vec((0u32..3, 0u32..900, 0u8..4), 1..12), any::<bool>()), 1..12),
    ) {
        let format = if compact { ListFormat::Compact } else { ListFormat::Fast };
        let store = Store::in_memory(Options { format: Some(format), ..options() });
        let amount = Property { name: "amount".to_owned(), kind: PropertyType::Int64 };
        let properties = if properties { vec![amount] } else { Vec::new() };
        let has_amounts = !properties.is_empty();
        let options = EdgeTypeOptions { multi, symmetric, properties, ..EdgeTypeOptions::default() };
        store.create_edge_type("edge", options)?;
        store.add_edges("edge", vec![number_batch(first.iter().map(|&(src, dst)| (src.into(), dst.into())))])?;
        let mut versions = vec![store.version()?];
        for (changes, compacts) in commits {
            let mut transaction = store.begin()?;
            for (src, dst, what) in changes {
                let amount = if what == 3 { Value::Null } else { Value::Int(i64::from(what)) };
                let amount = [("amount", amount)];
                let amount = if has_amounts { &amount[..] } else { &[] };
                match what {
                    0 => drop(transaction.delete_edge(i64::from(src), i64::from(dst), "edge")?),
                    _ => transaction.put_edge(i64::from(src), i64::from(dst), "edge", amount)?,
                }
            }
            transaction.commit()?;
            if compacts {
                store.compact()?;
            }
            versions.push(store.version()?);
        }
        let all: Vec<_> = versions.iter().map(|version| edges_of(version, symmetric)).collect();
        for (old, new) in (0..all.len()).flat_map(|old| (old + 1..all.len()).map(move |new| (old, new))) {
            let diff = versions[old].diff(&versions[new]);
            let mut told = BTreeMap::new();
            for edges in &diff.edges {
                let parts = [(&edges.added, 1), (&edges.changed_to, 1), (&edges.removed, -1), (&edges.changed_from, -1)];
                for (rows, count) in parts {
                    for row in 0..rows.len() {
                        let amount = rows.columns.first().map_or(Value::Null, |column| column.get(row));
                        *told.entry((rows.src[row], rows.dst[row], format!("{amount:?}"))).or_insert(0) += count;
                    }
                }
                prop_assert!(!multi || edges.changed_from.is_empty());
            }
            let mut expected = all[new].clone();
            for (edge, count) in &all[old] {
                *expected.entry(edge.clone()).or_insert(0) -= count;
            }
            expected.retain(|_, count| *count != 0);
            prop_assert_eq!(told, expected);
        }
    }
}

/// What an archive lets go of while a version is made of it is not retained any more; nothing is damaged.
#[test]
fn a_version_that_an_archive_lets_go_of_meanwhile_is_not_retained() {
    let disk = HookedDisk::over(on(&SimDisk::new(0)));
    let options = Options { retain: Some(Retain::Commits(3)), log_limit_bytes: 4_000, ..options() };
    let store = Store::open_on(disk.clone(), directory(), options).expect("a new store");
    let commits = |store: &Store, turns: std::ops::Range<i64>| {
        for turn in turns {
            let batch = number_batch((0..200i64).map(|row| (turn, row)));
            store.add_edges("knows", vec![batch]).expect("it fits");
        }
    };
    commits(&store, 0..10);
    store.compact().expect("a good disk");
    commits(&store, 10..11);
    let asked = store.version().expect("open").sequence();
    commits(&store, 20..21);
    let other = store.clone();
    disk.when_reading("log", move || {
        let archive = move || {
            for turn in [100, 110, 120] {
                commits(&other, turn..turn + 10);
                other.compact().expect("a good disk");
            }
        };
        std::thread::spawn(archive).join().expect("no panic");
    });
    match store.version_at(At::Commit(asked)) {
        Ok(version) => assert_eq!(version.sequence(), asked),
        Err(HistoryError::NotRetained { .. }) => {}
        Err(error) => panic!("{error:?}"),
    }
    assert!(store.retained().first > asked, "{:?}", store.retained());
}
