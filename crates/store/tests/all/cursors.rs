//! Cursors come and go while others archive, drop them and lose power: one who reads by a name has its file, and what the log
//! is to give it after a crash.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{HookedDisk, Pause, directory, number_batch, on, open, options};
use evergraph_disk::{CrashPlan, Disk, Fault, SimDisk};
use evergraph_store::{ChangeOptions, ChangeReader, ChangesError, Durability, Options, Store};
use parking_lot::Mutex;

fn named(name: &str) -> ChangeOptions {
    ChangeOptions { after: Some(0), name: Some(name.to_owned()) }
}

fn put(store: &Store, count: i64) {
    for edge in 0..count {
        store.put_edge(edge, edge + 1, "edge", &[]).expect("committed");
    }
}

/// The commits that a reader gives.
fn read(reader: &mut ChangeReader) -> Vec<u64> {
    std::iter::from_fn(|| reader.next().expect("readable")).map(|commit| commit.sequence).collect()
}

type Begin = fn(&Store) -> Result<ChangeReader, ChangesError>;

/// The archive looked who reads the log before the reader came: what was not synced by then is, before the manifest no longer
/// needs it.
#[test]
fn who_begins_to_read_during_an_archive_goes_on_after_a_loss_of_power() {
    let begin: [Begin; 2] = [|store| store.changes(named("copy")), |store| store.version_changes(Some(0))];
    for durability in [Durability::Interval, Durability::None] {
        for begin in begin {
            let disk = SimDisk::new(0);
            let hooked = HookedDisk::over(on(&disk));
            let settings = Options { durability, ..options() };
            let store = Store::open_on(hooked.clone(), directory(), settings.clone()).expect("a good disk");
            put(&store, 5);
            let reader = Arc::new(Mutex::new(None));
            let (handle, place) = (store.clone(), reader.clone());
            hooked.when_creating("segment", move || *place.lock() = Some(begin(&handle).expect("a reader")));
            store.checkpoint().expect("archived");
            assert!(reader.lock().is_some(), "it came in the middle");
            for plan in (0..20).map(CrashPlan::Random).chain([CrashPlan::LoseUnsynced]) {
                let store = open(&disk.crash(plan), settings.clone());
                let mut reader = begin(&store).expect("the log is there");
                assert_eq!(read(&mut reader), [1, 2, 3, 4, 5], "{durability} {plan:?}");
            }
        }
    }
}

/// A cursor that is dropped while another reader begins by the same name: that one is as good as any.
#[test]
fn who_begins_while_the_name_is_dropped_has_a_file() {
    let disk = SimDisk::new(0);
    let hooked = HookedDisk::over(on(&disk));
    let store = Store::open_on(hooked.clone(), directory(), options()).expect("a good disk");
    put(&store, 3);
    drop(store.changes(named("a")).expect("a reader"));
    let (pause, hook) = Pause::new();
    hooked.when_removing("cursor", hook);
    let reader = std::thread::scope(|scope| {
        let dropping = scope.spawn(|| store.drop_cursor("a"));
        pause.begun("its file is removed");
        let beginning = scope.spawn(|| store.changes(named("a")));
        std::thread::sleep(Duration::from_millis(100));
        pause.end();
        assert!(dropping.join().expect("no panic").expect("dropped"));
        beginning.join().expect("no panic").expect("a reader")
    });
    let crashed = open(&disk.crash(CrashPlan::LoseUnsynced), options());
    assert_eq!(crashed.cursors(), [("a".to_owned(), 0)]);
    drop(reader);
    assert_eq!(store.cursors(), crashed.cursors());
}

#[test]
fn readers_that_begin_and_drops_of_their_names_leave_no_reader_without_a_file() {
    let disk = SimDisk::new(0);
    let store = open(&disk, options());
    put(&store, 3);
    let path = directory().join("cursors/a.cursor");
    std::thread::scope(|scope| {
        let dropping = || {
            for _ in 0..2000 {
                match store.drop_cursor("a") {
                    Ok(_) | Err(ChangesError::InUse { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        };
        let dropper = scope.spawn(dropping);
        while !dropper.is_finished() {
            let reader = store.changes(named("a")).expect("nobody else reads");
            assert!(disk.len(&path).expect("a good disk").is_some(), "who reads by a name has its file");
            drop(reader);
        }
    });
    let held = store.cursors();
    assert_eq!(held.len(), usize::from(disk.len(&path).expect("a good disk").is_some()));
    drop(store);
    assert_eq!(open(&disk, options()).cursors(), held);
}

/// Whatever of it fails, it can be dropped again, and is gone then for good.
#[test]
fn a_cursor_that_could_not_be_dropped_is_there_to_be_dropped_again() {
    for failing in 0..2 {
        let disk = SimDisk::new(0);
        let store = open(&disk, options());
        put(&store, 3);
        let mut reader = store.changes(named("a")).expect("a reader");
        assert_eq!(read(&mut reader), [1, 2, 3]);
        reader.acknowledge(2).expect("written");
        drop(reader);
        disk.fail_at(failing, Fault::Eio);
        assert!(matches!(store.drop_cursor("a"), Err(ChangesError::Disk(_))));
        assert_eq!(store.cursors(), [("a".to_owned(), 2)]);
        assert!(store.drop_cursor("a").expect("dropped"));
        assert!(store.cursors().is_empty());
        let crashed = open(&disk.crash(CrashPlan::LoseUnsynced), options());
        assert!(crashed.cursors().is_empty());
    }
}

/// A reader whose file cannot be written leaves nothing, and what comes after it is as if it had not been.
#[test]
fn a_cursor_whose_file_cannot_be_written_is_none() {
    for failing in 0.. {
        let disk = SimDisk::new(0);
        let store = open(&disk, options());
        store.add_edges("edge", vec![number_batch([(1, 2)])]).expect("added");
        disk.fail_at(failing, Fault::Enospc);
        match store.changes(named("a")) {
            Ok(reader) => {
                drop(reader);
                assert!(failing > 4, "a cursor has more operations than {failing}");
                break;
            }
            Err(error) => assert!(matches!(error, ChangesError::Disk(_)), "{error}"),
        }
        assert!(store.cursors().is_empty());
        let mut reader = store.changes(named("a")).expect("a good disk");
        assert_eq!(read(&mut reader), [1]);
        let crashed = open(&disk.crash(CrashPlan::LoseUnsynced), options());
        assert_eq!(crashed.cursors(), [("a".to_owned(), 0)]);
    }
}
