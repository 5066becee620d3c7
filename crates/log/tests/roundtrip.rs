//! Whatever is appended comes back, through reopening, rotation, trimming and a reader that follows.

mod common;

use std::sync::Arc;

use common::{Entry, STORE, append, directory, entry_after, open, scan};
use evergraph_disk::{Disk, OsDisk, SimDisk};
use evergraph_log::{Log, LogError, LogOptions, LogReader, Record};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Append { commits: u64, payload_bytes: usize },
    Sync,
    Reopen { close: bool },
    Trim { percent: u64 },
    Follow,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..5u64, 0..400usize).prop_map(|(commits, payload_bytes)| Step::Append { commits, payload_bytes }),
        3 => Just(Step::Sync),
        1 => any::<bool>().prop_map(|close| Step::Reopen { close }),
        1 => (0..=100u64).prop_map(|percent| Step::Trim { percent }),
        2 => Just(Step::Follow),
    ]
}

fn last(entries: &[Entry]) -> u64 {
    entries.last().map_or(0, |entry| entry.last)
}

proptest! {
    #[test]
    fn the_log_gives_back_what_it_took(
        steps in prop::collection::vec(step(), 0..60), file_bytes in prop::sample::select(vec![1u64, 500, 3000, 1 << 20])
    ) {
        let disk = SimDisk::new(0);
        let (mut log, _, none) = open(&disk, 0, file_bytes).unwrap();
        prop_assert!(none.is_empty());
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let mut reader = LogReader::new(shared.clone(), directory(), STORE, 1);
        let (mut entries, mut synced, mut followed, mut trimmed) = (Vec::<Entry>::new(), 0, 0, 0);
        for step in steps {
            match step {
                Step::Append { commits, payload_bytes } => {
                    let entry = entry_after(last(&entries), commits, payload_bytes);
                    append(&mut log, &entry).unwrap();
                    entries.push(entry);
                    prop_assert!(log.append_bytes_since_sync() > 0);
                }
                Step::Sync => {
                    log.sync().unwrap();
                    synced = last(&entries);
                    prop_assert_eq!(log.append_bytes_since_sync(), 0);
                }
                Step::Reopen { close } => {
                    if close {
                        log.close().unwrap();
                    } else {
                        drop(log);
                    }
                    let (reopened, recovery, found) = open(&disk, trimmed, file_bytes).unwrap();
                    log = reopened;
                    let expected: Vec<Entry> = entries.iter().filter(|entry| entry.last > trimmed).cloned().collect();
                    prop_assert_eq!(found, expected);
                    prop_assert_eq!(&recovery.torn, &None);
                    prop_assert_eq!(recovery.last_sequence, last(&entries));
                    synced = last(&entries);
                }
                Step::Trim { percent } => {
                    trimmed = trimmed.max(last(&entries) * percent / 100);
                    log.trim(trimmed).unwrap();
                    prop_assert!(log.first_sequence() <= trimmed + 1);
                }
                Step::Follow => loop {
                    match reader.next(synced) {
                        Ok(Some(record)) => {
                            prop_assert_eq!(&Entry::from(record), &entries[followed]);
                            followed += 1;
                        }
                        Ok(None) => {
                            prop_assert!(reader.next_sequence() > synced);
                            break;
                        }
                        Err(LogError::Trimmed { asked, first }) => {
                            prop_assert!(asked <= trimmed);
                            prop_assert!(first.is_none_or(|first| first > asked));
                            followed = entries.iter().take_while(|entry| entry.last <= trimmed).count();
                            let from = entries.get(followed).map_or(trimmed + 1, |entry| entry.first.max(trimmed + 1));
                            reader = LogReader::new(shared.clone(), directory(), STORE, from);
                            if from > synced {
                                break;
                            }
                        }
                        Err(error) => prop_assert!(false, "{}", error),
                    }
                },
            }
            prop_assert_eq!(log.last_sequence(), last(&entries));
            let files = disk.list(directory()).unwrap();
            let lengths = files.iter().map(|name| disk.len(&directory().join(name)).unwrap().unwrap());
            prop_assert_eq!(log.bytes(), lengths.sum::<u64>());
        }
        let (_, found) = scan(&disk, trimmed).unwrap();
        prop_assert_eq!(found, entries.into_iter().filter(|entry| entry.last > trimmed).collect::<Vec<_>>());
    }
}

#[test]
fn it_works_on_the_real_disk() {
    let home = tempfile::tempdir().unwrap();
    let log_directory = home.path().join("log");
    let mut count = 0;
    for round in 0..3 {
        let options = LogOptions { file_bytes: 10_000 };
        let mut visited = 0;
        let mut visit = |record: Record<'_>| {
            visited += 1;
            if record.payload == [record.first_sequence as u8; 1000] { Ok(()) } else { Err("other bytes") }
        };
        let (mut log, _) =
            Log::open(Arc::new(OsDisk), &log_directory, STORE, 0, options, &mut visit).unwrap();
        assert_eq!(visited, count);
        for _ in 0..20 {
            count += 1;
            log.append(count, count, 0, &[&[count as u8; 1000]]).unwrap();
            log.sync().unwrap();
        }
        if round == 1 {
            log.close().unwrap();
        }
    }
    let mut reader = LogReader::new(Arc::new(OsDisk), &log_directory, STORE, 7);
    for expected in 7..=count {
        assert_eq!(reader.next(count).unwrap().unwrap().first_sequence, expected);
    }
    assert!(reader.next(count).unwrap().is_none());
}

#[test]
fn commits_out_of_order_are_refused_and_change_nothing() {
    let disk = SimDisk::new(0);
    let (mut log, _, _) = open(&disk, 0, 1000).unwrap();
    append(&mut log, &entry_after(0, 3, 10)).unwrap();
    for (first, last) in [(3, 4), (5, 5), (4, 3), (4, u64::MAX)] {
        let error = log.append(first, last, 0, &[]).unwrap_err();
        assert!(matches!(error, LogError::OutOfOrder { expected: 4, .. }), "{error}");
    }
    append(&mut log, &entry_after(3, 1, 10)).unwrap();
    drop(log);
    assert_eq!(scan(&disk, 0).unwrap().1.len(), 2);
}

#[test]
fn the_visitor_can_stop_recovery() {
    let disk = SimDisk::new(0);
    let (mut log, _, _) = open(&disk, 0, 1000).unwrap();
    append(&mut log, &entry_after(0, 3, 10)).unwrap();
    drop(log);
    let stopped = Log::scan(&disk, directory(), STORE, 0, &mut |_| Err("stop"));
    assert_eq!(stopped.unwrap_err().to_string(), "stop");
}
