//! Cutting a log off anywhere leaves its whole records; flipping any bit is noticed. Never a wrong record.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::path::PathBuf;
use std::sync::Arc;

use crate::common::{Entry, STORE, append, append_in_parts, directory, entry_after, next_entry, open, scan};
use evergraph_disk::{Disk, SimDisk};
use evergraph_log::{FORMAT_VERSION, LogError, LogReader};

/// How the commits of a log got to disk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Syncs {
    /// After every record.
    Each,
    /// After the last.
    Once,
    /// By closing.
    Close,
    /// The last after opening again, which vouches for all it found.
    Reopened,
}

const CASES: [(Syncs, u64); 5] = [
    (Syncs::Each, 1 << 20),
    (Syncs::Once, 1 << 20),
    (Syncs::Close, 1 << 20),
    (Syncs::Reopened, 1 << 20),
    (Syncs::Each, 100),
];

/// A small log and what is in it; `file_bytes` decides into how many files.
fn small_log(syncs: Syncs, file_bytes: u64) -> (SimDisk, Vec<Entry>) {
    let disk = SimDisk::new(0);
    let (mut log, _, _) = open(&disk, 0, file_bytes).unwrap();
    let mut entries = Vec::new();
    for (commits, payload_bytes) in [(1, 0), (3, 21), (1, 64), (2, 5)] {
        if syncs == Syncs::Reopened && entries.len() == 3 {
            drop(log);
            log = open(&disk, 0, file_bytes).unwrap().0;
        }
        let entry = entry_after(log.last_sequence(), commits, payload_bytes);
        // The third comes in parts.
        match entries.len() {
            2 => append_in_parts(&mut log, &entry, 2).unwrap(),
            _ => append(&mut log, &entry).unwrap(),
        }
        entries.push(entry);
        if syncs == Syncs::Each {
            log.sync().unwrap();
        }
    }
    match syncs {
        Syncs::Close => log.close().unwrap(),
        _ => log.sync().unwrap(),
    }
    (disk, entries)
}

fn files(disk: &SimDisk) -> Vec<PathBuf> {
    disk.list(directory()).unwrap().into_iter().map(|name| directory().join(name)).collect()
}

fn copy_of(disk: &SimDisk) -> SimDisk {
    disk.crash(evergraph_disk::CrashPlan::KeepUnsynced)
}

/// Where the last record of a file ends and room, if there is any, begins. The payloads of the tests end in no zero.
fn records_end(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| (last + 1).next_multiple_of(8))
}

/// Opens for writing, goes on, and checks that the result is what was there and the new record.
fn goes_on(disk: &SimDisk, expected: &[Entry]) {
    let (mut log, _, found) = open(disk, 0, 1 << 20).unwrap();
    assert_eq!(found, expected);
    let next = entry_after(log.last_sequence(), 2, 40);
    append(&mut log, &next).unwrap();
    log.sync().unwrap();
    drop(log);
    let (recovery, found) = scan(disk, 0).unwrap();
    assert_eq!((recovery.torn, found), (None, [expected, &[next]].concat()));
}

/// Follows the log and checks that it gives right records up to an error.
fn follows(disk: &SimDisk, entries: &[Entry]) {
    let mut reader = LogReader::new(Arc::new(disk.clone()), directory(), STORE, 1);
    for entry in entries {
        match next_entry(&mut reader, u64::MAX) {
            Ok(found) => assert_eq!(found.as_ref(), Some(entry)),
            Err(_) => return,
        }
    }
}

#[test]
fn every_cut_leaves_the_whole_records() {
    for (syncs, file_bytes) in CASES {
        let (disk, entries) = small_log(syncs, file_bytes);
        let newest = files(&disk).pop().unwrap();
        let bytes = disk.read(&newest).unwrap();
        let mut counts = Vec::new();
        for length in 0..=bytes.len() {
            let cut = copy_of(&disk);
            cut.put(&newest, &bytes[..length]).unwrap();
            let (recovery, found) = scan(&cut, 0).unwrap();
            assert!(entries.starts_with(&found), "cut at {length}");
            assert_eq!(recovery.last_sequence, found.last().map_or(0, |entry| entry.last));
            assert_eq!(cut.read(&newest).unwrap(), &bytes[..length], "scanning changes nothing");
            goes_on(&cut, &found);
            counts.push(found.len());
        }
        assert!(counts.is_sorted() && counts.last() == Some(&entries.len()));
    }
}

#[test]
fn after_a_torn_tail_is_cut_off_the_log_goes_on_in_a_new_file() {
    let (disk, entries) = small_log(Syncs::Each, 1 << 20);
    let path = files(&disk).remove(0);
    let bytes = disk.read(&path).unwrap();
    disk.put(&path, &bytes[..records_end(&bytes) - 8]).unwrap();
    goes_on(&disk, &entries[..3]);
    assert_eq!(files(&disk), [path, directory().join("0000000000000006.log")]);
}

#[test]
fn a_cut_in_an_older_file_is_damage() {
    let (disk, _) = small_log(Syncs::Each, 100);
    let oldest = files(&disk).remove(0);
    let bytes = disk.read(&oldest).unwrap();
    for length in 0..bytes.len() {
        let cut = copy_of(&disk);
        cut.put(&oldest, &bytes[..length]).unwrap();
        match scan(&cut, 0) {
            // A cut between two records shows only in the file that ought to go on from there.
            Err(LogError::Corruption(corruption)) => assert!(corruption.path == oldest || length >= 64),
            other => panic!("cut at {length}: {other:?}"),
        }
        open(&cut, 0, 200).unwrap_err();
        assert_eq!(cut.read(&oldest).unwrap(), &bytes[..length], "damage is left as it is");
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    for (syncs, file_bytes) in CASES {
        let (disk, entries) = small_log(syncs, file_bytes);
        for path in files(&disk) {
            let bytes = disk.read(&path).unwrap();
            let (length, room) = (bytes.len() as u64, records_end(&bytes) as u64);
            for (offset, bit) in (0..length).flat_map(|offset| (0..8).map(move |bit| (offset, bit))) {
                let flipped = copy_of(&disk);
                flipped.flip_bit(&path, offset, bit).unwrap();
                follows(&flipped, &entries);
                match scan(&flipped, 0) {
                    Err(LogError::Corruption(corruption)) => {
                        assert!(corruption.path == path && corruption.offset <= offset);
                        open(&flipped, 0, 1 << 20).unwrap_err();
                    }
                    Ok((recovery, found)) => {
                        assert!(recovery.torn.is_some(), "bit {bit} of byte {offset} passed unnoticed");
                        // Nothing after the last record says that it was synced, unless there is a mark.
                        let marked = matches!(syncs, Syncs::Once | Syncs::Close);
                        let spared = entries.len() - usize::from(!marked && offset < room);
                        assert_eq!(found, &entries[..spared], "bit {bit} of byte {offset}");
                        goes_on(&flipped, &found);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }
}

/// As a crash may leave them whose system had not recorded yet that room was cut off.
#[test]
fn zeros_behind_the_records_of_any_file_are_none() {
    for (syncs, file_bytes) in CASES {
        let (disk, entries) = small_log(syncs, file_bytes);
        for path in files(&disk) {
            let bytes = disk.read(&path).unwrap();
            disk.put(&path, &[&bytes[..], &[0; 10_000]].concat()).unwrap();
        }
        let (recovery, found) = scan(&disk, 0).unwrap();
        assert_eq!((recovery.torn, &found), (None, &entries));
        let mut reader = LogReader::new(Arc::new(disk.clone()), directory(), STORE, 1);
        let through = recovery.last_sequence;
        for entry in &entries {
            assert_eq!(next_entry(&mut reader, through).unwrap().as_ref(), Some(entry));
        }
        assert!(next_entry(&mut reader, through).unwrap().is_none());
        goes_on(&disk, &entries);
        for path in files(&disk) {
            // Zeros in the place of a record are no room where something comes after it.
            let lost = copy_of(&disk);
            let bytes = disk.read(&path).unwrap();
            lost.put(&path, &[&bytes[..64], &[0; 64], &bytes[128..]].concat()).unwrap();
            let is_last = bytes[128..].iter().all(|byte| *byte == 0) && files(&disk).last() == Some(&path);
            let outcome = scan(&lost, 0);
            assert!(
                is_last || outcome.is_err() || outcome.is_ok_and(|(recovery, _)| recovery.torn.is_some())
            );
        }
    }
}

#[test]
fn a_missing_file_is_damage() {
    let (disk, entries) = small_log(Syncs::Each, 100);
    assert!(files(&disk).len() >= 3);
    for path in files(&disk).split_last().unwrap().1 {
        let lacking = copy_of(&disk);
        lacking.remove(path).unwrap();
        assert!(matches!(scan(&lacking, 0), Err(LogError::Corruption(_))), "{path:?}");
    }
    let (_, found) = scan(&disk, 4).unwrap();
    assert_eq!(found, &entries[2..], "what is no longer needed may be missing");
}

#[test]
fn stale_bytes_of_another_place_are_no_records() {
    let (disk, entries) = small_log(Syncs::Each, 1 << 20);
    let path = files(&disk).remove(0);
    let bytes = disk.read(&path).unwrap();
    // The first record once more at the end, and the file under another name.
    let twice = copy_of(&disk);
    twice.put(&path, &[&bytes[..], &bytes[64..128]].concat()).unwrap();
    let (recovery, found) = scan(&twice, 0).unwrap();
    assert!(recovery.torn.is_some());
    assert_eq!(found, entries);
    let renamed = copy_of(&disk);
    renamed.rename(&path, &directory().join("0000000000000005.log")).unwrap();
    assert!(matches!(scan(&renamed, 9), Err(LogError::Corruption(_))));
}

#[test]
fn other_stores_and_newer_formats_are_told_apart() {
    let (disk, _) = small_log(Syncs::Each, 1 << 20);
    let path = files(&disk).remove(0);
    let mut bytes = disk.read(&path).unwrap();
    let mut with_header = |change: &dyn Fn(&mut [u8])| {
        change(&mut bytes);
        let sum = evergraph_disk::checksum(&bytes[..56]);
        bytes[56..64].copy_from_slice(&sum.to_le_bytes());
        disk.put(&path, &bytes).unwrap();
        scan(&disk, 0).unwrap_err()
    };
    let error = with_header(&|bytes| bytes[16] ^= 1);
    assert!(matches!(error, LogError::OtherStore { .. }), "{error}");
    let error = with_header(&|bytes| bytes[8] = 9);
    assert!(matches!(error, LogError::NewerFormat { found: 9, supported: FORMAT_VERSION, .. }), "{error}");
    assert!(error.to_string().contains("format 9"), "{error}");
}
