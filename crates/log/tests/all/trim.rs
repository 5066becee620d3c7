//! Trimming removes whole files that nobody needs, and keeps all else.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::sync::Arc;

use crate::common::{STORE, append, directory, entry_after, open, scan};
use evergraph_disk::{CrashPlan, Disk, SimDisk};
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
