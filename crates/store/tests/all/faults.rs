//! Every operation of the disk fails once, in every way: a commit that cannot be made durable is refused and so is
//! every one after it, an archive that fails changes nothing, nor does a load whose own files do, readers go on, and opening the
//! store again finds everything that was acknowledged.

use crate::common::{
    Action, Case, Failure, Model, Runner, Write, directory, dump, on, open, options, try_open,
};
use evergraph_disk::{CrashPlan, Disk, Fault, SimDisk};
use evergraph_store::{CommitError, Durability, ListFormat, OpenError, Options, Store};
use evergraph_types::KeyKind;

const CASE: Case = Case {
    keys: KeyKind::Int64,
    bulk_edges: 8,
    memory_limit: None,
    keeps_history: false,
    on_disk: true,
    durability: Durability::Sync,
    format: ListFormat::Fast,
};

fn put_edge(src: u16, dst: u16, edge_type: usize) -> Action {
    Action::One(Write::PutEdge { src, dst, edge_type, given: vec![(0, Some(dst as i8))] })
}

fn workload() -> Vec<Action> {
    let add = |edge_type, count: u16| Action::Add {
        edge_type,
        edges: (0..count).map(|row| (row % 5, row)).collect(),
        columns: 1,
        parts: 1,
    };
    vec![
        Action::Declare,
        put_edge(1, 2, 0),
        Action::Commit(vec![
            Write::PutVertex { key: 3, label: Some(1), given: vec![(1, Some(5))] },
            Write::DeleteVertex { key: 2 },
        ]),
        add(1, 4),
        Action::Checkpoint,
        put_edge(3, 1, 2),
        add(4, 20),
        add(0, 12),
        put_edge(3, 3, 3),
        Action::Compact,
        Action::Reopen,
        Action::One(Write::DeleteVertex { key: 3 }),
        Action::Checkpoint,
        put_edge(3, 4, 0),
    ]
}

/// Checks that the store refuses every write and still shows what it showed.
fn refuses_writes(runner: &mut Runner, what: &str) {
    let operations = runner.disk.operations();
    let before = runner.model.clone();
    assert_eq!(dump(&runner.store.version().expect("open")), before.dump(), "{what}");
    assert!(runner.store.stats().failure.is_some(), "{what}");
    let bulk = Action::Add { edge_type: 4, edges: vec![(1, 2); 20], columns: 0, parts: 1 };
    let vertex = Action::One(Write::PutVertex { key: 1, label: None, given: Vec::new() });
    for action in [put_edge(8, 9, 0), bulk, vertex, Action::Checkpoint, Action::Compact] {
        match runner.try_run(&action) {
            Err(Failure::Commit(CommitError::Durability { .. })) => {}
            outcome => panic!("{what}: {outcome:?}"),
        }
    }
    assert_eq!(runner.disk.operations(), operations, "{what}: the disk is left alone");
    assert_eq!(dump(&runner.store.version().expect("open")), before.dump(), "{what}");
    runner.store.close().unwrap_or_else(|error| panic!("{what}: {error}"));
    runner.store.close().unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// Opens what is on this disk: the state before the failed action or the one after it; goes on from there.
fn opens(disk: SimDisk, states: [&Model; 2], what: &str) {
    let mut runner =
        Runner::resume(CASE, disk, Model::default()).unwrap_or_else(|failure| panic!("{what}: {failure:?}"));
    let found = dump(&runner.store.version().expect("open"));
    let state = states.into_iter().find(|state| state.dump() == found);
    runner.model = state.unwrap_or_else(|| panic!("{what}: {found:?} is neither of {states:?}")).clone();
    runner.run(&put_edge(6, 7, 0));
    runner.run(&Action::Checkpoint);
    runner.run(&Action::Reopen);
}

/// Runs the workload with one fault; tells whether it came to it.
fn fail(case: Case, failing: u64, fault: Fault, not_loaded: &mut u64, what: &str) -> bool {
    let disk = SimDisk::new(failing);
    disk.fail_at(failing, fault);
    let mut runner = match Runner::resume(case, disk.clone(), Model::default()) {
        Ok(runner) => runner,
        Err(failure) => {
            assert!(matches!(failure, Failure::Open(OpenError::Disk(_))), "{what}: {failure:?}");
            opens(disk, [&Model::default(), &Model::default()], what);
            return true;
        }
    };
    let mut met = false;
    for action in workload() {
        let Err(failure) = runner.try_run(&action) else { continue };
        assert!(!met, "{what}: one fault, one failure: {failure:?} at {action:?}");
        met = true;
        let attempted = runner.attempted.clone();
        match failure {
            // Nothing has changed, and all goes on.
            Failure::Commit(CommitError::Archive { .. }) => {
                assert!(matches!(action, Action::Checkpoint | Action::Compact), "{what}: {action:?}");
                runner.compare(&what);
                continue;
            }
            Failure::Commit(CommitError::NotLoaded { .. }) => {
                assert!(matches!(action, Action::Add { .. }), "{what}: {action:?}");
                assert!(runner.store.stats().failure.is_none(), "{what}");
                runner.compare(&what);
                *not_loaded += 1;
                // It does what it would have done.
                runner.run(&action);
                continue;
            }
            Failure::Commit(CommitError::Durability { .. }) => {
                if !matches!(action, Action::Reopen) {
                    refuses_writes(&mut runner, what);
                }
            }
            Failure::Open(OpenError::Disk(_)) => assert!(matches!(action, Action::Reopen), "{what}"),
            failure => panic!("{what}: {failure:?}"),
        }
        let Runner { model, disk, .. } = runner;
        let crashed =
            (0..3).map(CrashPlan::Random).chain([CrashPlan::LoseUnsynced]).map(|plan| disk.crash(plan));
        for crashed in crashed.collect::<Vec<_>>() {
            opens(crashed, [&model, &attempted], what);
        }
        opens(disk, [&model, &attempted], what);
        return true;
    }
    // A fault may also meet what nobody waits for: the removal of files that are no longer needed, trimming.
    let quiet = !met && disk.operations() > failing;
    if quiet && runner.store.stats().failure.is_some() {
        refuses_writes(&mut runner, what);
    }
    let model = runner.model.clone();
    drop(runner);
    opens(disk, [&model, &model], what);
    met || quiet
}

#[test]
fn every_operation_fails_once() {
    let mut operations = Vec::new();
    for (memory_limit, keeps_history) in [(None, false), (Some(0), false), (Some(0), true)] {
        for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite] {
            let (case, mut failing, mut not_loaded) = (Case { memory_limit, keeps_history, ..CASE }, 0, 0);
            let what = |failing| format!("{fault:?} at operation {failing}, {case:?}");
            while fail(case, failing, fault, &mut not_loaded, &what(failing)) {
                failing += 1;
            }
            assert!(failing > 80, "the workload has many operations: {failing}");
            // What is in the log in part ends in no other way than with the store.
            assert_eq!(not_loaded > 0, !keeps_history, "{not_loaded} loads, {case:?}");
            operations.push(failing);
        }
    }
    assert!(operations[3] > operations[0] + 10, "loads are written to files on the way: {operations:?}");
    assert!(operations[6] > operations[3] + 30, "and to the log: {operations:?}");
}

/// Every look at the disk fails once while a store is opened, for writing and for reading: the error names the file,
/// nothing is changed but leftovers, and the next time it opens as it was.
#[test]
fn every_look_fails_once_while_opening() {
    let mut runner = Runner::new(CASE);
    workload().iter().skip(1).for_each(|action| runner.run(action));
    runner.run(&put_edge(1, 9, 0));
    let Runner { disk, model, store, .. } = runner;
    drop(store);
    for read_only in [false, true] {
        let options = || evergraph_store::Options { read_only, ..Runner::options(CASE) };
        let mut failing = 0;
        loop {
            let disk = disk.crash(CrashPlan::KeepUnsynced);
            disk.fail_look_at(failing);
            let before = disk.digest();
            match try_open(&disk, options()) {
                Ok(_) => break,
                Err(OpenError::Disk(error)) => {
                    assert!(error.to_string().contains("net.eg"), "{failing}: {error}");
                    assert!(!read_only || disk.digest() == before, "{failing}: a reader changes nothing");
                }
                Err(error) => panic!("look {failing}: {error}"),
            }
            let store = try_open(&disk, options()).unwrap_or_else(|error| panic!("look {failing}: {error}"));
            assert_eq!(dump(&store.version().expect("open")), model.dump(), "look {failing}");
            failing += 1;
        }
        assert!(failing > 5, "{failing} looks");
    }
}

/// The segments on a disk.
fn segment_files(disk: &SimDisk) -> usize {
    disk.list(&crate::common::directory().join("segments")).expect("a directory").len()
}

/// However often archiving fails, by itself or because a batch cannot be loaded, what it had written goes.
#[test]
fn archives_that_fail_do_not_fill_the_disk() {
    let checkpoint_operations = {
        let mut runner = Runner::new(CASE);
        runner.run(&put_edge(1, 2, 0));
        let before = runner.disk.operations();
        runner.run(&Action::Checkpoint);
        runner.disk.operations() - before
    };
    for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite] {
        for failing in 0..checkpoint_operations {
            let mut runner = Runner::new(CASE);
            let mut failed = 0;
            for round in 0..6 {
                runner.run(&put_edge(1, round, 0));
                runner.disk.fail_at(failing, fault);
                match runner.try_run(&Action::Checkpoint) {
                    Err(Failure::Commit(CommitError::Archive { .. })) => failed += 1,
                    outcome => assert!(outcome.is_ok(), "{outcome:?}"),
                }
                // From here on a manifest that was replaced, but perhaps not durably, names the segment.
                let doubtful = if failing < 8 { 0 } else { failed };
                let files = segment_files(&runner.disk);
                let named = runner.store.stats().segments as usize;
                assert!(files <= named + doubtful, "{files} files, {fault:?} at {failing}, {failed} failed");
                if runner.store.stats().failure.is_some() {
                    break;
                }
            }
        }
    }
}

/// A backup that fails leaves no store and no files of lists, so that it may be begun again in the same place, unless its manifest is
/// there: then it is one. The store that it is of goes on.
#[test]
fn backups_that_fail_may_be_begun_again() {
    for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite] {
        for failing in 0.. {
            let disk = SimDisk::new(failing);
            let store = open(&disk, options());
            for dst in 0..9i64 {
                store.put_edge(1, dst, "knows", &[]).expect("a good disk");
            }
            let (copy, expected) =
                (directory().with_file_name("copy.eg"), dump(&store.version().expect("open")));
            let before = disk.operations();
            disk.fail_at(failing, fault);
            let outcome = store.backup(&copy);
            if disk.operations() <= before + failing {
                assert!(outcome.is_ok() && failing > 5, "a backup has more operations than {failing}");
                break;
            }
            let what = format!("{fault:?} at operation {failing}: {outcome:?}");
            store.put_edge(1, 9, "knows", &[]).unwrap_or_else(|error| panic!("{what}: {error}"));
            if outcome.is_err() && !disk.list(&copy).unwrap_or_default().contains(&"MANIFEST".to_owned()) {
                assert!(disk.list(&copy.join("segments")).unwrap_or_default().is_empty(), "{what}");
                store.backup(&copy).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            let read_only = Options { read_only: true, ..options() };
            let backup = Store::open_on(on(&disk), &copy, read_only);
            let found =
                dump(&backup.unwrap_or_else(|error| panic!("{what}: {error}")).version().expect("open"));
            let now = dump(&store.version().expect("open"));
            assert!(found == expected || found == now, "{what}");
        }
    }
}

/// Once the manifest of an archive is there, what fails is the removal of what nobody needs any more: the store goes on, and the
/// log's files go with the next archive.
#[test]
fn files_of_the_log_that_cannot_be_removed_harm_nobody() {
    for failing in 0.. {
        let disk = SimDisk::new(failing);
        let settings = Options { log_limit_bytes: 2000, ..options() };
        let store = open(&disk, settings.clone());
        for dst in 0..40i64 {
            store.put_edge(1, dst, "knows", &[]).expect("a good disk");
        }
        let log_files = || disk.list(&directory().join("log")).expect("a directory").len();
        assert!(log_files() > 4, "{} files of the log", log_files());
        let before = disk.operations();
        disk.fail_at(failing, Fault::Eio);
        let outcome = store.checkpoint();
        if disk.operations() <= before + failing {
            assert!(outcome.is_ok() && failing > 12, "an archive has more operations than {failing}");
            break;
        }
        let what = format!("operation {failing} failed: {outcome:?}");
        assert!(matches!(outcome, Ok(()) | Err(CommitError::Archive { .. })), "{what}");
        store.put_edge(1, 40, "knows", &[]).unwrap_or_else(|error| panic!("{what}: {error}"));
        let expected = dump(&store.version().expect("open"));
        for crashed in [disk.clone(), disk.crash(CrashPlan::LoseUnsynced), disk.crash(CrashPlan::Random(1))] {
            let options = Options { read_only: true, ..settings.clone() };
            let found =
                dump(&open(&crashed.crash(CrashPlan::KeepUnsynced), options).version().expect("open"));
            assert_eq!(found, expected, "{what}");
        }
        store.checkpoint().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(log_files(), 0, "{what}");
    }
}

/// Files that nobody names, and that an open cannot remove, are removed by the next; nothing takes their names until then.
#[test]
fn leftovers_that_cannot_be_removed_harm_nobody() {
    let disk = SimDisk::new(0);
    let store = open(&disk, options());
    store.put_edge(1, 2, "knows", &[]).expect("a good disk");
    drop(store);
    let in_store = |name: &str| directory().join(name);
    let leftovers = ["segments/0000000000000001.segment", "segments/0000000000000003.spill"];
    leftovers.iter().for_each(|name| disk.put(&in_store(name), b"left over").expect("a good disk"));
    for failing in 0..2 {
        let disk = disk.crash(CrashPlan::KeepUnsynced);
        disk.fail_at(failing, Fault::Eio);
        let store = open(&disk, options());
        for dst in 0..3i64 {
            store.put_edge(1, dst, "knows", &[]).expect("a good disk");
            store.checkpoint().unwrap_or_else(|error| panic!("operation {failing}: {error}"));
        }
        drop(store);
        open(&disk, options());
        assert!(
            leftovers
                .iter()
                .all(|name| disk.read(&in_store(name)).ok().is_none_or(|file| file != b"left over"))
        );
    }
}
