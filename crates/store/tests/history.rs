//! Versions of the past equal what was seen when they were new, and differences between any two equal the set
//! differences of all they hold: whatever was archived, merged, reopened or lost to a crash in between.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use common::{
    Action, Case, Dump, History, Model, Props, Runner, States, Write, actions, case, directory, dump,
    number_batch, on, open, options,
};
use evergraph_disk::{CrashPlan, Disk, SimDisk};
use evergraph_store::{
    At, ChangeOptions, ChangesError, Diff, EdgeRows, HistoryError, Options, Retain, Store, Version, check_on,
};
use evergraph_types::{Column, Key, KeyKind, Property, Schema, Sequence, Value};
use proptest::test_runner::{Config, TestRunner};

/// What was seen after each commit, and when it was made.
type Seen = BTreeMap<Sequence, (i64, Dump)>;

fn all(case: Case) -> Options {
    Options { retain: Some(Retain::Everything), ..Runner::options(case) }
}

fn runner(case: Case) -> Runner {
    let disk = SimDisk::new(0);
    let store = if case.on_disk { open(&disk, all(case)) } else { Store::in_memory(all(case)) };
    let mut runner = Runner::of(case, disk, store, Model::default());
    runner.run(&Action::Declare);
    runner
}

fn run(case: Case, actions: &[Action]) {
    let mut runner = runner(case);
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
            compare(&older, &version, shown, expected);
            compare(&version, &older, expected, shown);
        }
        before = Some((asked, version));
    }
}

fn newest(store: &Store) -> (Sequence, std::sync::Arc<Version>) {
    let version = store.version().expect("open");
    (version.sequence(), version)
}

/// The edges of one type as a multiset; of a symmetric type each once.
fn edges_of(dump: &Dump, version: &Version, name: &str) -> BTreeMap<(Key, Key), Vec<String>> {
    let symmetric = version.schema().edge_type(name).is_some_and(|(_, kind)| kind.options.symmetric);
    let mut edges: BTreeMap<(Key, Key), Vec<String>> = BTreeMap::new();
    for (src, list) in dump.out.get(name).into_iter().flatten() {
        for (dst, properties) in list {
            if !symmetric || src <= dst {
                edges.entry((src.clone(), dst.clone())).or_default().push(format!("{properties:?}"));
            }
        }
    }
    edges.values_mut().for_each(|parallel| parallel.sort());
    edges
}

fn told(
    rows: &EdgeRows,
    newer: &Version,
    names: &[String],
    symmetric: bool,
) -> BTreeMap<(Key, Key), Vec<String>> {
    let mut edges: BTreeMap<(Key, Key), Vec<String>> = BTreeMap::new();
    for row in 0..rows.len() {
        let value = |column: &Column| column.get(row);
        let values = names.iter().cloned().zip(rows.columns.iter().map(value));
        let properties: Props = values.filter(|(_, value)| *value != Value::Null).collect();
        let (src, dst) = (newer.key(rows.src[row]), newer.key(rows.dst[row]));
        let ends = if symmetric && dst < src { (dst, src) } else { (src, dst) };
        edges.entry(ends).or_default().push(format!("{properties:?}"));
    }
    edges.values_mut().for_each(|parallel| parallel.sort());
    edges
}

/// What is left of a multiset without another one.
fn without(
    from: &BTreeMap<(Key, Key), Vec<String>>,
    taken: &BTreeMap<(Key, Key), Vec<String>>,
) -> BTreeMap<(Key, Key), Vec<String>> {
    let mut left = BTreeMap::new();
    for (ends, parallel) in from {
        let mut rest = parallel.clone();
        for gone in taken.get(ends).into_iter().flatten() {
            if let Some(at) = rest.iter().position(|edge| edge == gone) {
                rest.remove(at);
            }
        }
        if !rest.is_empty() {
            left.insert(ends.clone(), rest);
        }
    }
    left
}

/// Whether nothing was dropped or renamed between two versions. Where something was, a difference tells what commits
/// changed in edges and vertices, and the two schemas tell the rest.
fn is_extended(older: &Schema, newer: &Schema) -> bool {
    let named =
        |left: &[Property], right: &[Property]| left.iter().zip(right).all(|(left, right)| left == right);
    named(&older.vertex_properties, &newer.vertex_properties)
        && older.vertex_types.iter().zip(&newer.vertex_types).all(|(left, right)| left == right)
        && older.edge_types.iter().zip(&newer.edge_types).all(|(left, right)| {
            left.name == right.name && named(&left.options.properties, &right.options.properties)
        })
}

fn compare(old: &Version, new: &Version, old_dump: &Dump, new_dump: &Dump) {
    let (older, newer) = if old.sequence() < new.sequence() { (old, new) } else { (new, old) };
    if !is_extended(older.schema(), newer.schema()) {
        return;
    }
    let diff: Diff = old.diff(new);
    assert_eq!((diff.before, diff.after), (old.sequence(), new.sequence()));
    let keys = |ids: &[u32]| ids.iter().map(|&id| newer.key(id)).collect::<BTreeSet<_>>();
    let only = |here: &Dump, there: &Dump| -> BTreeSet<Key> {
        here.vertices.keys().filter(|key| !there.vertices.contains_key(key)).cloned().collect()
    };
    assert_eq!(keys(&diff.added_vertices), only(new_dump, old_dump));
    assert_eq!(keys(&diff.removed_vertices), only(old_dump, new_dump));
    let differs = |(key, vertex): &(&Key, &common::VertexModel)| {
        old_dump.vertices.get(key).is_some_and(|before| before != *vertex)
    };
    let changed: BTreeSet<Key> =
        new_dump.vertices.iter().filter(differs).map(|(key, _)| key.clone()).collect();
    assert_eq!(keys(&diff.changed_vertices), changed);
    for (id, kind) in newer.schema().edge_types.iter().enumerate() {
        let (before, after) = (edges_of(old_dump, newer, &kind.name), edges_of(new_dump, newer, &kind.name));
        let (come, gone) = (without(&after, &before), without(&before, &after));
        let names: Vec<String> =
            kind.options.properties.iter().map(|property| property.name.clone()).collect();
        let Some(edges) = diff.edges.iter().find(|edges| usize::from(edges.edge_type) == id) else {
            assert_eq!((come, gone), Default::default(), "edges of {}", kind.name);
            continue;
        };
        let told = |rows| told(rows, newer, &names, kind.options.symmetric);
        let both = |left: BTreeMap<(Key, Key), Vec<String>>, right: BTreeMap<(Key, Key), Vec<String>>| {
            assert!(right.keys().all(|ends| !left.contains_key(ends)));
            left.into_iter().chain(right).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(both(told(&edges.added), told(&edges.changed_to)), come, "edges of {}", kind.name);
        assert_eq!(both(told(&edges.removed), told(&edges.changed_from)), gone, "edges of {}", kind.name);
        assert_eq!(
            (
                edges.changed_from.src == edges.changed_to.src,
                edges.changed_from.is_empty() || !kind.options.multi
            ),
            (true, true)
        );
    }
}

fn holds(cases: u32, longest: usize) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&(case(), actions(longest)), |(case, actions)| {
        run(case, &actions);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn every_version_of_a_random_history_is_as_it_was() {
    holds(16, 20);
}

#[test]
#[ignore = "long"]
fn soak_every_version_of_a_random_history_is_as_it_was() {
    holds(1500, 50);
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
        let then = store.version().expect("open").time_micros() - 250_000;
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
    on_disk: true,
    durability: evergraph_store::Durability::Sync,
    format: evergraph_store::ListFormat::Compact,
};

#[test]
fn after_a_crash_the_past_is_as_it_was() {
    let case = CRASHING;
    let put = |src, dst| Action::One(Write::PutEdge { src, dst, edge_type: 0, given: vec![(0, Some(1))] });
    let many = |from: u16| Action::Add {
        edge_type: 1,
        edges: (0..25).map(|row| (from + row % 7, from + row % 5)).collect(),
        columns: 1,
        parts: 1,
    };
    let work = [
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
    ];
    let mut runner = runner(case);
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
    let mut again = self::runner(case);
    let history = History::record(&mut again, &work);
    let disk = again.disk.clone();
    again.finish();
    let mut states = States::default();
    history.crash_everywhere(
        &disk,
        case,
        1,
        |at| {
            (0..5)
                .map(|seed| CrashPlan::Random(at << 3 | seed))
                .chain([CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced])
                .collect()
        },
        &mut states,
        |found, what| {
            let newest = found.store.version().expect("open").sequence();
            for (sequence, (_, expected)) in seen.range(..=newest).step_by(3) {
                let version = found.store.version_at(At::Commit(*sequence));
                let version = version.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(dump(&version), *expected, "{what}: version {sequence}");
            }
        },
    );
    assert!(states.count() > 45, "{}", states.count());
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
    let begun = std::time::Instant::now();
    let diff = before.diff(&after);
    let took = begun.elapsed();
    assert_eq!(
        (diff.edges[0].added.len(), diff.edges[0].removed.len(), diff.added_vertices.len()),
        (50, 0, 1)
    );
    let begun = std::time::Instant::now();
    let scanned: u64 = after
        .vertex_ids()
        .iter()
        .map(|&id| after.neighbors(0, evergraph_types::Direction::Out, id).len() as u64)
        .sum();
    assert!(scanned > 190_000 && took < 20 * begun.elapsed() + Duration::from_millis(50), "{took:?}");
}
