//! Loads larger than memory where the log holds every commit: the graph is that of any other load, and so are the past before
//! and after it, differences and what readers are told; on the way the log has it in parts, which nobody sees.

use std::path::PathBuf;
use std::sync::Arc;

use crate::common::{
    Dump, HookedDisk, Replica, directory, dump, number_batch, on, open, options, with_columns,
};
use evergraph_disk::{CrashPlan, Disk, SimDisk};
use evergraph_log::{Log, Record, Wanted};
use evergraph_store::{
    At, ChangeOptions, ChangeReader, Options, Retain, Store, Version, check_on, edge_type_item,
};
use evergraph_types::{Direction, EdgeBatch, EdgeTypeOptions, KeyKind, PropertyType, Sequence, Value};
use parking_lot::Mutex;

/// The rows of a load.
const ROWS: i64 = 8_000;
/// A sixteenth of what their keys take.
const LIMIT: u64 = 8_000;

fn settings(memory_limit_bytes: Option<u64>) -> Options {
    Options { bulk_edges: 1000, memory_limit_bytes, retain: Some(Retain::Everything), ..options() }
}

fn from(after: Sequence) -> ChangeOptions {
    ChangeOptions { after: Some(after), name: None }
}

/// Parts of a load: few vertices, repeats, loops; the second half has a column more.
fn parts(round: i64, columns: bool) -> Vec<EdgeBatch> {
    let end = |row: i64, factor: i64| ((row + 1) * factor % 10_007 + round * 31) % 400;
    let pairs: Vec<(i64, i64)> = (0..ROWS).map(|row| (end(row, 7_919), end(row, 5_471))).collect();
    let part = |(number, pairs): (usize, &[(i64, i64)])| {
        let columns: &[_] = match (columns, number) {
            (false, _) => &[],
            (true, 0..4) => &[("weight", PropertyType::Int64)],
            (true, _) => &[("weight", PropertyType::Int64), ("note", PropertyType::String)],
        };
        with_columns(number_batch(pairs.iter().copied()), columns, |column, row| match column {
            0 if row % 11 == 0 => Value::Null,
            0 => Value::Int(row as i64 + round),
            _ => format!("note {}", row % 9).as_str().into(),
        })
    };
    pairs.chunks(ROWS as usize / 8).enumerate().map(part).collect()
}

/// Loads so many rows as one commit.
fn load(store: &Store, round: i64, columns: bool) -> Sequence {
    let mut load = store.bulk_load("knows", None);
    parts(round, columns).into_iter().for_each(|part| load.add(vec![part]).expect("it fits"));
    load.commit(&[("round", format!("{round}").as_bytes())]).expect("it fits").sequence
}

/// What happens to a store, and what was seen after each step.
fn steps(store: &mut Store, reopen: impl Fn() -> Store, kind: &EdgeTypeOptions, columns: bool) -> Vec<Dump> {
    let mut seen = Vec::new();
    for step in 0..9 {
        match step {
            0 => store.create_edge_type("knows", kind.clone()).expect("new"),
            1 => drop(store.put_edge(1, 1_000_000, "knows", &[]).expect("put")),
            2 => drop(load(store, 1, columns)),
            3 => drop(store.delete_vertex(5).expect("deleted")),
            4 => drop(store.put_edge(2, 3, "likes", &[("n", 1.into())]).expect("put")),
            5 => drop(load(store, 2, columns)),
            6 => drop(load(store, 3, columns)),
            7 => {
                store.put_edge(9, 2_000_000, "knows", &[]).expect("put");
                store.checkpoint().expect("archived");
            }
            _ => {
                store.close().expect("closed");
                *store = reopen();
            }
        }
        let version = store.version().expect("open");
        if version.sequence() > seen.len() as u64 {
            seen.push(dump(&version));
        }
    }
    seen
}

/// The number of rows in a difference: added, removed, changed.
fn counts(old: &Version, new: &Version) -> Vec<(u16, [usize; 3])> {
    let diff = old.diff(new);
    let rows = diff
        .edges
        .iter()
        .map(|edges| (edges.edge_type, [edges.added.len(), edges.removed.len(), edges.changed_to.len()]));
    rows.collect()
}

/// The past, differences and readers are those of any other load, for each of these types: whether it is `multi`, symmetric and
/// has columns.
fn is_like_any_other(types: &[(bool, bool, bool)]) {
    for &(multi, symmetric, columns) in types {
        let kind = EdgeTypeOptions { multi, symmetric, ..EdgeTypeOptions::default() };
        let what = format!("multi {multi}, symmetric {symmetric}, columns {columns}");
        let stores = [None, Some(LIMIT)].map(|limit| {
            let disk = SimDisk::new(0);
            let mut store = open(&disk, settings(limit));
            let seen = steps(&mut store, || open(&disk, settings(limit)), &kind, columns);
            (disk, store, seen)
        });
        let [(_, unlimited, expected), (disk, limited, seen)] = &stores;
        assert!(seen == expected && seen.len() == 8, "{what}");
        assert_eq!(limited.version().expect("open").item(&edge_type_item(0, "round")), Some(&b"3"[..]));
        // In some order, so that pasts go on and begin anew.
        let mut versions: Vec<Option<Arc<Version>>> = vec![None; seen.len() + 1];
        for sequence in [3, 2, 4, 7, 6, 5, 8, 3, 1] {
            let version = limited.version_at(At::Commit(sequence)).expect("retained");
            assert_eq!(version.sequence(), sequence);
            assert!(dump(&version) == seen[sequence as usize - 1], "{what}: version {sequence}");
            versions[sequence as usize] = Some(version);
        }
        for [old, new] in [[2, 3], [3, 5], [5, 6], [2, 8], [6, 3]] {
            let at = |store: &Store, sequence: usize| {
                store.version_at(At::Commit(sequence as u64)).expect("retained")
            };
            let expected = counts(&at(unlimited, old), &at(unlimited, new));
            assert_eq!(counts(&at(limited, old), &at(limited, new)), expected, "{what}: {old} to {new}");
        }
        follows(limited, &seen[7], &what);
        limited.close().expect("closed");
        let report = check_on(on(disk), directory()).expect("a store");
        assert!(report.is_healthy(), "{what}: {report:?}");
    }
}

#[test]
fn the_past_of_a_simple_type_is_that_of_any_other_load() {
    is_like_any_other(&[(false, false, false), (false, true, true)]);
}

#[test]
fn the_past_of_a_multi_type_is_that_of_any_other_load() {
    is_like_any_other(&[(true, false, false), (true, false, true), (true, true, true)]);
}

/// Readers get each load as one commit, with everything in it.
fn follows(store: &Store, expected: &Dump, what: &str) {
    let mut reader = store.changes(from(0)).expect("a reader");
    let mut replica = Replica::new(options());
    let version = reader.version();
    let mut rows = Vec::new();
    while let Some(commit) = reader.next().expect("readable") {
        assert_eq!(commit.sequence, reader.position());
        rows.push(commit.writes.edges.iter().map(|(_, ops)| ops.len()).collect::<Vec<_>>());
        replica.apply(&commit, &version);
    }
    let load = vec![ROWS as usize];
    assert_eq!((&rows[2], &rows[5], &rows[6], rows.len()), (&load, &load, &load, 8), "{what}");
    assert!(replica.dump() == *expected, "{what}");
}

fn log_files(disk: &SimDisk) -> Vec<PathBuf> {
    let log = directory().join("log");
    disk.list(&log).expect("a log").into_iter().map(|name| log.join(name)).collect()
}

/// Commit, length and whether it goes on, of each record of the log.
fn records(disk: &SimDisk) -> Vec<(Sequence, usize, bool)> {
    let header = disk.read(&log_files(disk)[0]).expect("a file");
    let store_id = header[16..32].try_into().expect("16 bytes");
    let mut found = Vec::new();
    let mut visit = |record: Record<'_>| {
        found.push((record.first_sequence, record.payload.len(), record.goes_on));
        Ok::<(), std::convert::Infallible>(())
    };
    Log::scan(disk, &directory().join("log"), store_id, Wanted::after(0), &mut visit).expect("readable");
    found
}

#[test]
fn the_log_holds_a_load_in_parts_of_bounded_size() {
    for limit in [None, Some(LIMIT), Some(1000 * LIMIT)] {
        let disk = SimDisk::new(0);
        let store = open(&disk, settings(limit));
        let sequence = load(&store, 1, false);
        let of_load: Vec<_> = records(&disk).into_iter().filter(|record| record.0 == sequence).collect();
        assert!(of_load.iter().map(|record| record.1).sum::<usize>() > 8 * ROWS as usize);
        if limit == Some(LIMIT) {
            assert!(of_load.len() > 100, "{of_load:?}");
            assert!(of_load.iter().all(|record| record.1 < LIMIT as usize / 2), "{of_load:?}");
            assert_eq!((of_load[0].2, of_load[of_load.len() - 1].2), (true, false));
        } else {
            assert_eq!(of_load.len(), 1, "memory holds it");
        }
    }
}

/// A store with a load, on a disk on which something happens when a file with this extension is synced after it has begun.
fn hooked(extension: &'static str, run: impl FnOnce(&SimDisk, &mut ChangeReader) + Send + 'static) -> Dump {
    let disk = SimDisk::new(0);
    let hooked = HookedDisk::over(on(&disk));
    let store = Store::open_on(hooked.clone(), directory(), settings(Some(LIMIT))).expect("a good disk");
    store.put_edge(1, 2, "knows", &[]).expect("put");
    let mut reader = store.changes(from(1)).expect("a reader");
    let ran = Arc::new(Mutex::new(false));
    let (tell, reader_disk) = (ran.clone(), disk.clone());
    hooked.when_syncing(extension, move || {
        run(&reader_disk, &mut reader);
        *tell.lock() = true;
    });
    assert_eq!(load(&store, 1, true), 2);
    assert!(*ran.lock(), "a file was synced");
    let mut reader = store.changes(from(1)).expect("a reader");
    let commit = reader.next().expect("readable").expect("there");
    assert_eq!(commit.writes.edges[0].1.len(), ROWS as usize);
    dump(&store.version().expect("open"))
}

#[test]
fn before_its_end_is_in_the_log_nobody_sees_a_load() {
    hooked("segment", |disk, reader| {
        assert!(reader.next().expect("readable").is_none());
        let log = &log_files(disk)[0];
        let held = disk.len(log).expect("a file").expect("it is there");
        assert!(held > 8 * ROWS as u64, "all parts are in the log");
        for plan in [CrashPlan::KeepUnsynced, CrashPlan::LoseUnsynced] {
            let crashed = disk.crash(plan);
            let found = open(&crashed, settings(None));
            assert_eq!(found.stats().sequence, 1, "{plan:?}");
            assert!(crashed.len(log).expect("a file") < Some(1000), "parts of no commit are cut off");
            // What comes next is the second commit, and the only one.
            found.put_edge(3, 4, "knows", &[]).expect("put");
            assert_eq!(
                found
                    .changes(from(1))
                    .expect("a reader")
                    .next()
                    .expect("readable")
                    .map(|commit| commit.sequence),
                Some(2)
            );
            found.close().expect("closed");
            let found = open(&crashed, settings(None));
            assert_eq!((found.stats().sequence, found.stats().num_edges), (2, 2));
        }
    });
}

#[test]
fn from_its_end_on_a_load_is_recovered_from_the_log_before_the_manifest_names_its_segment() {
    let recovered = Arc::new(Mutex::new(None));
    let tell = recovered.clone();
    let loaded = hooked("log", move |disk, reader| {
        assert!(reader.next().expect("readable").is_none(), "it is not synced");
        let crashed = disk.crash(CrashPlan::KeepUnsynced);
        let found = open(&crashed, settings(None));
        assert_eq!((found.stats().sequence, found.stats().segments), (2, 0));
        assert_eq!(found.version_at(At::Commit(1)).expect("retained").num_edges(0), 1);
        let past = found.version_at(At::Commit(2)).expect("the newest");
        *tell.lock() = Some((dump(&past), disk.crash(CrashPlan::LoseUnsynced)));
    });
    let (found, lost) = recovered.lock().take().expect("it ran");
    assert!(found == loaded);
    assert_eq!(open(&lost, settings(None)).stats().sequence, 1, "what was not synced may be lost");
}

/// Without history, for as long as somebody follows the store.
#[test]
fn a_load_is_in_the_log_while_somebody_follows() {
    let disk = SimDisk::new(0);
    let store = open(&disk, Options { retain: None, ..settings(Some(LIMIT)) });
    store.put_edge(1, 2, "knows", &[]).expect("put");
    let mut reader = store.changes(ChangeOptions::default()).expect("a reader");
    let first = load(&store, 1, false);
    let commit = reader.next().expect("readable").expect("there");
    assert_eq!((commit.sequence, commit.writes.edges[0].1.len()), (first, ROWS as usize));
    assert!(reader.next().expect("readable").is_none());
    store.put_edge(2, 3, "knows", &[]).expect("put");
    assert_eq!(reader.next().expect("readable").map(|commit| commit.sequence), Some(first + 1));
    drop(reader);
    load(&store, 2, false);
    assert!(store.stats().log_bytes < 1000, "nobody reads it any more");
    let seen = dump(&store.version().expect("open"));
    drop(store);
    assert!(dump(&open(&disk, options()).version().expect("open")) == seen);
}

/// History that has passed its limit goes with loads, as it does with archives.
#[test]
fn loads_let_go_of_what_has_passed_the_limit() {
    let disk = SimDisk::new(0);
    let limited =
        Options { retain: Some(Retain::Commits(2)), log_limit_bytes: 4000, ..settings(Some(LIMIT)) };
    let store = open(&disk, limited);
    let mut bytes = Vec::new();
    for round in 0..12 {
        load(&store, round % 3, false);
        let retained = store.retained();
        let promised = retained.last.saturating_sub(2);
        assert!(retained.first <= promised, "{retained:?}");
        let version = store.version_at(At::Commit(promised)).expect("promised");
        assert_eq!(version.sequence(), promised);
        bytes.push(store.stats().log_bytes);
    }
    assert!(store.retained().first >= 8, "{:?}", store.retained());
    assert!(bytes[11] <= bytes[4], "{bytes:?}");
    assert!(check_on(on(&disk), directory()).is_err(), "it is open");
    store.close().expect("closed");
    assert!(check_on(on(&disk), directory()).expect("a store").is_healthy());
}

/// The lists of the first edge type, in both directions.
fn lists(version: &Version) -> Vec<Vec<u32>> {
    let both = [Direction::Out, Direction::In].into_iter();
    both.flat_map(|direction| version.vertex_ids().into_iter().map(move |vertex| (direction, vertex)))
        .map(|(direction, vertex)| version.neighbors(0, direction, vertex).to_vec())
        .collect()
}

/// More changes than a past takes at a time: on the way there are versions that hold a load in part. Those before it, which are
/// held meanwhile, stay as they are.
#[test]
fn a_load_of_many_changes_is_replayed_some_at_a_time() {
    let pairs = |from: i64, count: i64| {
        let row = move |row: i64| (from + row).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) as u64;
        number_batch((0..count).map(|at| ((row(at) >> 40 & 0x3FF) as i64, (row(at) >> 20 & 0x3FF) as i64)))
    };
    for multi in [false, true] {
        let disk = SimDisk::new(0);
        let store = open(&disk, Options { keys: Some(KeyKind::Dense), ..settings(Some(1 << 20)) });
        let kind = EdgeTypeOptions { multi, ..EdgeTypeOptions::default() };
        store.create_edge_type("knows", kind).expect("new");
        store.add_edges("knows", vec![pairs(0, 5000)]).expect("it fits");
        let before = store.version().expect("open");
        let mut load = store.bulk_load("knows", None);
        (0..10).for_each(|part| load.add(vec![pairs(5000 + 60_000 * part, 60_000)]).expect("it fits"));
        assert_eq!(load.commit(&[]).expect("it fits").sequence, 3);
        let after = store.version().expect("open");
        assert!(records(&disk).iter().filter(|record| record.0 == 3).count() > 50);
        store.put_edge(1, 2, "knows", &[]).expect("put");
        store.checkpoint().expect("archived");
        let past = |sequence| store.version_at(At::Commit(sequence)).expect("retained");
        let (old, new) = (past(2), past(3));
        assert_eq!((new.num_edges(0), new.num_vertices()), (after.num_edges(0), after.num_vertices()));
        assert!(lists(&new) == lists(&after), "multi {multi}");
        assert!(lists(&old) == lists(&before), "multi {multi}");
    }
}
