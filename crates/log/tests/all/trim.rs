//! Trimming removes whole files that nobody needs, and keeps all else.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::sync::Arc;

use crate::common::{STORE, append, directory, entry_after, open, scan};
use evergraph_disk::{CrashPlan, Disk, Fault, SimDisk};
use evergraph_log::{Log, LogError, LogReader};

/// Ten commits, two a file.
fn log_of_five_files(disk: &SimDisk) -> Log {
    let (mut log, _, _) = open(disk, 0, 700).unwrap();
    for _ in 0..10 {
        let entry = entry_after(log.last_sequence(), 1, 300);
        append(&mut log, &entry).unwrap();
    }
    log.sync().unwrap();
    assert_eq!(disk.list(directory()).unwrap().len(), 5);
    log
}

#[test]
fn only_files_wholly_covered_go() {
    let disk = SimDisk::new(0);
    let mut log = log_of_five_files(&disk);
    for (through, first) in [(0, 1), (1, 1), (2, 3), (3, 3), (7, 7), (5, 7), (9, 9)] {
        log.trim(through).unwrap();
        assert_eq!(log.first_sequence(), first, "trimmed through {through}");
        let (_, found) = scan(&disk, first - 1).unwrap();
        assert_eq!(found.len() as u64, 11 - first);
    }
}

#[test]
fn a_log_trimmed_to_nothing_goes_on_from_the_next_commit() {
    let disk = SimDisk::new(0);
    let mut log = log_of_five_files(&disk);
    append(&mut log, &entry_after(10, 1, 5)).unwrap();
    log.trim(11).unwrap();
    assert_eq!((log.bytes(), log.first_sequence(), log.last_sequence()), (0, 12, 11));
    log.trim(11).unwrap();
    log.sync().unwrap();
    drop(log);
    let (mut log, recovery, found) = open(&disk, 11, 700).unwrap();
    assert_eq!((recovery.last_sequence, found.len()), (11, 0));
    append(&mut log, &entry_after(11, 1, 5)).unwrap();
    log.sync().unwrap();
    drop(log);
    let crashed = disk.crash(CrashPlan::LoseUnsynced);
    assert_eq!(scan(&crashed, 11).unwrap().1.len(), 1);
    assert!(matches!(scan(&crashed, 10), Err(LogError::Corruption(_))), "commit 11 is missing");
}

#[test]
fn a_log_that_ends_before_the_archive_begins_anew() {
    let disk = SimDisk::new(0);
    let mut log = log_of_five_files(&disk);
    log.sync().unwrap();
    drop(log);
    let (mut log, recovery, found) = open(&disk, 15, 700).unwrap();
    assert_eq!((recovery.last_sequence, found.len(), log.bytes()), (15, 0, 0));
    append(&mut log, &entry_after(15, 1, 5)).unwrap();
    drop(log);
    assert_eq!(scan(&disk, 15).unwrap().1.len(), 1);
}

#[test]
fn files_of_others_are_left_alone() {
    let disk = SimDisk::new(0);
    let mut log = log_of_five_files(&disk);
    for name in
        ["README", "1.log", "000000000000000G.log", "0000000000000002.log.tmp", "00000000000000AB.log"]
    {
        disk.put(&directory().join(name), b"not a log").unwrap();
    }
    log.trim(10).unwrap();
    drop(log);
    assert_eq!(disk.list(directory()).unwrap().len(), 5);
    assert_eq!(scan(&disk, 10).unwrap().0.last_sequence, 10);
}

#[test]
fn a_reader_that_fell_behind_is_told() {
    let disk = SimDisk::new(0);
    let mut log = log_of_five_files(&disk);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut behind = LogReader::new(shared.clone(), directory(), STORE, 1);
    assert_eq!(behind.next(10).unwrap().unwrap().first_sequence, 1);
    log.trim(6).unwrap();
    // The rest of the file it has open can still be read.
    assert_eq!(behind.next(10).unwrap().unwrap().first_sequence, 2);
    assert!(matches!(behind.next(10), Err(LogError::Trimmed { asked: 3, first: Some(7), .. })));
    let mut ahead = LogReader::new(shared, directory(), STORE, 8);
    assert_eq!(ahead.next(10).unwrap().unwrap().first_sequence, 8);
    assert!(ahead.next(8).unwrap().is_none(), "not beyond what is synced");
}

#[test]
fn a_group_is_read_only_when_all_of_it_is_synced() {
    let disk = SimDisk::new(0);
    let (mut log, _, _) = open(&disk, 0, 700).unwrap();
    append(&mut log, &entry_after(0, 5, 10)).unwrap();
    let mut reader = LogReader::new(Arc::new(disk), directory(), STORE, 3);
    assert!(reader.next(4).unwrap().is_none());
    let record = reader.next(5).unwrap().unwrap();
    assert_eq!((record.first_sequence, record.last_sequence), (1, 5));
}

/// A file that cannot be removed is no commit lost: the log goes on, has what it had, and removes the file the next time.
#[test]
fn files_that_cannot_be_removed_are_removed_later() {
    for through in [6, 10] {
        let mut met = 0;
        for failing in 0.. {
            let disk = SimDisk::new(failing);
            let mut log = log_of_five_files(&disk);
            let operations = disk.operations();
            disk.fail_at(failing, Fault::Eio);
            log.trim(through).unwrap();
            if disk.operations() <= operations + failing {
                break;
            }
            met += 1;
            let what = format!("trimmed through {through}, operation {failing} failed");
            assert!(log.first_sequence() <= through + 1, "{what}");
            append(&mut log, &entry_after(10, 1, 300)).unwrap();
            log.sync().unwrap();
            for plan in (0..20).map(CrashPlan::Random).chain([CrashPlan::LoseUnsynced]) {
                let (mut log, _, found) = open(&disk.crash(plan), through, 700).unwrap();
                assert_eq!(found.len() as u64, 11 - through, "{what}, {plan:?}");
                append(&mut log, &entry_after(11, 1, 300)).unwrap();
            }
            log.trim(through).unwrap();
            let first = if through == 10 { log.first_sequence() } else { 7 };
            assert_eq!(log.first_sequence(), first, "{what}");
            log.trim(11).unwrap();
            assert_eq!((log.bytes(), log.first_sequence()), (0, 12), "{what}");
            assert!(disk.list(directory()).unwrap().is_empty(), "{what}");
        }
        assert!(met >= 6, "a file is removed, and that is synced, each");
    }
}

/// Whichever of the files that were to go are still there, as after a loss of power on a disk that removes them in any order.
#[test]
fn any_files_that_should_be_gone_may_be_there() {
    for left in 0..8u32 {
        let disk = SimDisk::new(0);
        let mut log = log_of_five_files(&disk);
        let paths: Vec<_> =
            disk.list(directory()).unwrap().into_iter().map(|name| directory().join(name)).collect();
        let before: Vec<_> = paths.iter().map(|path| disk.read(path).unwrap()).collect();
        log.trim(6).unwrap();
        drop(log);
        for file in (0..3).filter(|file| left >> file & 1 == 1) {
            disk.put(&paths[file], &before[file]).unwrap();
        }
        // What was the newest file may have been cut off, for all of it was to go.
        if left & 4 != 0 {
            disk.truncate(&paths[2], before[2].len() as u64 - 100).unwrap();
        }
        let (mut log, recovery, found) = open(&disk, 6, 700).unwrap();
        assert_eq!((recovery.last_sequence, found.len()), (10, 4), "{left:b}");
        append(&mut log, &entry_after(10, 1, 300)).unwrap();
        log.sync().unwrap();
        let mut reader = LogReader::new(Arc::new(disk.clone()), directory(), STORE, 7);
        for sequence in 7..=11 {
            assert_eq!(reader.next(11).unwrap().unwrap().first_sequence, sequence, "{left:b}");
        }
        log.trim(6).unwrap();
        assert_eq!(log.first_sequence(), 7, "{left:b}");
        assert_eq!(disk.list(directory()).unwrap().len(), 3, "{left:b}");
    }
}
