//! Commits in parts: seen whole or not at all, in one file, with nothing else between the parts.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::sync::Arc;

use crate::common::{
    Entry, STORE, append, append_in_parts, append_parts, directory, entry_after, next_entry, open, scan,
};
use evergraph_disk::{CrashPlan, Disk, SimDisk};
use evergraph_log::{Log, LogError, LogReader};

/// A log of two commits, the second in three parts and an end, and then, if so wanted, parts of a third.
fn log_in_parts(file_bytes: u64, begins_another: bool) -> (SimDisk, Log, [Entry; 2]) {
    let disk = SimDisk::new(0);
    let (mut log, _, _) = open(&disk, 0, file_bytes).unwrap();
    let entries = [entry_after(0, 1, 30), entry_after(1, 1, 400)];
    append(&mut log, &entries[0]).unwrap();
    append_in_parts(&mut log, &entries[1], 3).unwrap();
    log.sync().unwrap();
    if begins_another {
        append_parts(&mut log, &entry_after(2, 1, 200), 2).unwrap();
    }
    (disk, log, entries)
}

fn names(disk: &SimDisk) -> Vec<String> {
    disk.list(directory()).unwrap()
}

#[test]
fn parts_without_an_end_are_no_commit_and_are_cut_off() {
    for syncs in [false, true] {
        let (disk, mut log, entries) = log_in_parts(1 << 20, true);
        let path = directory().join(&names(&disk)[0]);
        if syncs {
            log.sync().unwrap();
        }
        drop(log);
        let (recovery, found) = scan(&disk, 0).unwrap();
        assert_eq!((recovery.last_sequence, &found[..]), (2, &entries[..]));
        let torn = recovery.torn.unwrap();
        assert_eq!(torn.offset + torn.bytes, disk.len(&path).unwrap().unwrap());
        let (mut log, _, found) = open(&disk, 0, 1 << 20).unwrap();
        assert_eq!(found, entries);
        assert_eq!(disk.len(&path).unwrap(), Some(torn.offset));
        let next = entry_after(2, 1, 10);
        append(&mut log, &next).unwrap();
        log.sync().unwrap();
        let (recovery, found) = scan(&disk.crash(CrashPlan::LoseUnsynced), 0).unwrap();
        assert_eq!((recovery.torn, found), (None, [&entries[..], &[next]].concat()));
    }
}

#[test]
fn a_file_with_nothing_but_such_parts_goes() {
    let disk = SimDisk::new(0);
    let (mut log, _, _) = open(&disk, 6, 100).unwrap();
    append_parts(&mut log, &entry_after(6, 1, 500), 4).unwrap();
    drop(log);
    assert_eq!(names(&disk).len(), 1);
    let (mut log, recovery, found) = open(&disk, 6, 100).unwrap();
    assert_eq!((recovery.last_sequence, found.len(), names(&disk).len()), (6, 0, 0));
    append_in_parts(&mut log, &entry_after(6, 1, 500), 4).unwrap();
    drop(log);
    assert_eq!(scan(&disk, 6).unwrap().1, [entry_after(6, 1, 500)]);
}

#[test]
fn nothing_else_is_appended_before_the_end() {
    let (disk, mut log, entries) = log_in_parts(1 << 20, true);
    let refused = [log.append(3, 3, 0, &[]), log.append(3, 4, 0, &[])];
    assert!(refused.iter().all(|outcome| matches!(outcome, Err(LogError::Unfinished { sequence: 3 }))));
    let refused = [log.append_part(4, 0, &[]), log.append_end(2, 0, &[])];
    assert!(refused.iter().all(|outcome| matches!(outcome, Err(LogError::OutOfOrder { expected: 3, .. }))));
    assert_eq!((log.last_sequence(), log.next_sequence()), (2, 3));
    let third = entry_after(2, 1, 200);
    log.append_end(3, third.time_micros, &third.payload[third.payload.len() / 3 * 2..]).unwrap();
    append(&mut log, &entry_after(3, 2, 5)).unwrap();
    let [first, second] = entries;
    assert_eq!(scan(&disk, 0).unwrap().1, [first, second, third, entry_after(3, 2, 5)]);
}

#[test]
fn all_parts_are_in_one_file_and_one_that_is_full_then_is_followed_by_another() {
    let (disk, mut log, entries) = log_in_parts(120, false);
    assert_eq!(names(&disk), [1, 2, 3].map(|first| format!("{first:016x}.log")));
    // What only history needs is not read.
    let full = directory().join(&names(&disk)[1]);
    disk.flip_bit(&full, 100, 0).unwrap();
    assert_eq!(scan(&disk, 2).unwrap().1, []);
    assert!(matches!(scan(&disk, 1), Err(LogError::Corruption(found)) if found.path == full));
    disk.flip_bit(&full, 100, 0).unwrap();
    let third = entry_after(2, 1, 5);
    append(&mut log, &third).unwrap();
    assert_eq!(names(&disk).len(), 3);
    let [first, second] = entries;
    assert_eq!(scan(&disk, 0).unwrap().1, [first, second, third]);
}

#[test]
fn no_trim_takes_parts_before_their_end() {
    let (disk, mut log, _) = log_in_parts(1 << 20, true);
    log.trim(2).unwrap();
    assert_eq!((log.first_sequence(), names(&disk).len()), (1, 1));
    let third = entry_after(2, 1, 200);
    log.append_end(3, third.time_micros, &third.payload[third.payload.len() / 3 * 2..]).unwrap();
    log.trim(2).unwrap();
    assert_eq!(scan(&disk, 2).unwrap().1, [third]);
    log.trim(3).unwrap();
    assert_eq!((log.first_sequence(), names(&disk).len()), (4, 0));
}

#[test]
fn a_reader_is_given_parts_only_with_their_commit() {
    let (disk, mut log, entries) = log_in_parts(1 << 20, true);
    let mut reader = LogReader::new(Arc::new(disk), directory(), STORE, 1);
    assert_eq!(next_entry(&mut reader, 1).unwrap().as_ref(), Some(&entries[0]));
    assert!(reader.next(1).unwrap().is_none());
    for part in 0..4 {
        assert_eq!(reader.next_sequence(), 2, "until the end was read");
        let record = reader.next(2).unwrap().unwrap();
        assert_eq!((record.first_sequence, record.last_sequence, record.goes_on), (2, 2, part < 3));
        assert_eq!(record.payload, &entries[1].payload[part * 100..(part + 1) * 100]);
    }
    assert!(reader.next(2).unwrap().is_none());
    let third = entry_after(2, 1, 200);
    log.append_end(3, third.time_micros, &third.payload[third.payload.len() / 3 * 2..]).unwrap();
    assert_eq!(next_entry(&mut reader, 3).unwrap(), Some(third));
}

/// Only damage makes such a log: the end of a commit is gone, and what comes next is there.
#[test]
fn parts_without_an_end_before_another_file_are_damage() {
    let (disk, log, entries) = log_in_parts(120, false);
    drop(log);
    let path = directory().join(&names(&disk)[1]);
    let bytes = disk.read(&path).unwrap();
    // A header, three parts.
    let parts_end = 64 + 3 * (64 + 104);
    disk.put(&path, &bytes[..parts_end]).unwrap();
    let error = scan(&disk, 0).unwrap_err();
    assert!(matches!(&error, LogError::Corruption(found) if found.path == path), "{error}");
    let mut reader = LogReader::new(Arc::new(disk), directory(), STORE, 1);
    assert_eq!(next_entry(&mut reader, 2).unwrap().as_ref(), Some(&entries[0]));
    let outcome = (0..4).try_for_each(|_| reader.next(2).map(|record| assert!(record.unwrap().goes_on)));
    assert!(matches!(outcome, Err(LogError::Corruption(_))));
}

/// Gives a file of the log the version of the format before.
fn age(disk: &SimDisk, name: &str) {
    let path = directory().join(name);
    let mut bytes = disk.read(&path).unwrap();
    bytes[8] = 1;
    let sum = evergraph_disk::checksum(&bytes[..56]);
    bytes[56..64].copy_from_slice(&sum.to_le_bytes());
    disk.put(&path, &bytes).unwrap();
}

#[test]
fn a_file_of_the_format_without_parts_is_read_and_not_gone_on_with() {
    for commits in [0, 1, 3] {
        let disk = SimDisk::new(0);
        let (mut log, _, _) = open(&disk, 0, 1 << 20).unwrap();
        let mut entries: Vec<Entry> = (0..commits.max(1)).map(|last| entry_after(last, 1, 50)).collect();
        entries.iter().for_each(|entry| append(&mut log, entry).unwrap());
        log.close().unwrap();
        let name = names(&disk).remove(0);
        if commits == 0 {
            // As a crash right after the header leaves it.
            let bytes = disk.read(&directory().join(&name)).unwrap();
            disk.put(&directory().join(&name), &bytes[..64]).unwrap();
            entries.clear();
        }
        age(&disk, &name);
        let before = disk.read(&directory().join(&name)).unwrap();
        let (mut log, recovery, found) = open(&disk, 0, 1 << 20).unwrap();
        assert_eq!((recovery.torn, &found), (None, &entries));
        let next = entry_after(commits, 1, 70);
        append_in_parts(&mut log, &next, 2).unwrap();
        log.sync().unwrap();
        entries.push(next);
        for plan in [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced] {
            assert_eq!(scan(&disk.crash(plan), 0).unwrap().1, entries);
        }
        let files = names(&disk);
        assert_eq!(files.last(), Some(&format!("{:016x}.log", commits + 1)));
        let is_as_it_was = disk.read(&directory().join(&name)).is_ok_and(|now| now == before);
        assert_eq!(is_as_it_was, commits > 0);
    }
}
