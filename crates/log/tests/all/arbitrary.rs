//! No bytes whatever make the log panic or hang, nor hand out a record that was not written.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::sync::Arc;

use crate::common::{Entry, STORE, append, append_in_parts, directory, entry_after, next_entry, open, scan};
use evergraph_disk::{Disk, SimDisk};
use evergraph_log::LogReader;
use proptest::prelude::*;

/// Reads the files in every way; gives what was handed out.
fn read_all(disk: &SimDisk) -> Vec<Entry> {
    let scanned = scan(disk, 0);
    let mut reader = LogReader::new(Arc::new(disk.clone()), directory(), STORE, 1);
    let mut entries = Vec::new();
    while let Ok(Some(entry)) = next_entry(&mut reader, 1000) {
        entries.push(entry);
    }
    let opened = open(disk, 0, 1000);
    assert_eq!(opened.is_ok(), scanned.is_ok());
    if let (Ok((log, _, opened)), Ok((_, scanned))) = (opened, scanned) {
        drop(log);
        assert_eq!(opened, scanned);
        assert_eq!(scan(disk, 0).unwrap().1, opened, "opening mended the log");
        entries.extend(opened);
    }
    entries
}

/// What overwrites a part of a good log: noise, zeros or another part of it.
#[derive(Clone, Debug)]
enum Overwrite {
    Noise(Vec<u8>),
    Copy { from: prop::sample::Index, length: usize },
    Insert(Vec<u8>),
}

fn overwrite() -> impl Strategy<Value = Overwrite> {
    let bytes = prop::collection::vec(prop_oneof![any::<u8>(), Just(0)], 1..200);
    prop_oneof![
        bytes.clone().prop_map(Overwrite::Noise),
        (any::<prop::sample::Index>(), 1..300usize)
            .prop_map(|(from, length)| Overwrite::Copy { from, length }),
        bytes.prop_map(Overwrite::Insert),
    ]
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_no_log(files in prop::collection::btree_map(0..6u64, prop::collection::vec(any::<u8>(), 0..500), 0..4)) {
        let disk = SimDisk::new(0);
        disk.create_dir_all(directory()).unwrap();
        for (first, bytes) in files {
            disk.put(&directory().join(format!("{first:016x}.log")), &bytes).unwrap();
        }
        prop_assert_eq!(read_all(&disk), []);
    }

    #[test]
    fn a_log_written_over_gives_no_wrong_record(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), overwrite()), 1..4)
    ) {
        let disk = SimDisk::new(0);
        let (mut log, _, _) = open(&disk, 0, 400).unwrap();
        let mut entries = Vec::new();
        for number in 0..6 {
            let in_parts = number % 3 == 1;
            let entry = entry_after(log.last_sequence(), if in_parts { 1 } else { 2 }, number * 30);
            match in_parts {
                true => append_in_parts(&mut log, &entry, number).unwrap(),
                false => append(&mut log, &entry).unwrap(),
            }
            entries.push(entry);
        }
        log.close().unwrap();
        for (file, at, overwrite) in changes {
            let path = directory().join(file.get(&disk.list(directory()).unwrap()));
            let mut bytes = disk.read(&path).unwrap();
            let at = at.index(bytes.len());
            let (from, length) = match &overwrite {
                Overwrite::Copy { from, length } => (from.index(bytes.len()), *length),
                Overwrite::Noise(_) | Overwrite::Insert(_) => (0, 0),
            };
            let new = match overwrite {
                Overwrite::Noise(bytes) | Overwrite::Insert(bytes) if length == 0 => bytes,
                _ => bytes[from..bytes.len().min(from + length)].to_vec(),
            };
            let end = bytes.len().min(at + new.len());
            bytes.splice(at..end, new);
            disk.put(&path, &bytes).unwrap();
        }
        for found in read_all(&disk) {
            prop_assert!(entries.contains(&found), "{:?}", found);
        }
    }
}
