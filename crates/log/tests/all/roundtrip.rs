//! Whatever is appended comes back, through reopening, rotation, trimming and a reader that follows.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{
    Entry, ROOM_BYTES, STEP_BYTES, STORE, append, append_in_parts, append_parts, directory, entry_after,
    next_entry, open, scan,
};
use evergraph_disk::{Disk, OsDisk, SimDisk};
use evergraph_log::{Log, LogError, LogOptions, LogReader, LogSync, Record, Wanted};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Append {
        commits: u64,
        payload_bytes: usize,
    },
    /// One commit in parts and an end.
    AppendInParts {
        parts: usize,
        payload_bytes: usize,
    },
    /// Parts without an end, and the log opened again.
    GiveUp {
        parts: usize,
        close: bool,
    },
    Sync,
    /// Begins a sync that ends later.
    BeginSync,
    EndSync,
    Reopen {
        close: bool,
    },
    Trim {
        percent: u64,
    },
    Follow,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..5u64, 0..400usize).prop_map(|(commits, payload_bytes)| Step::Append { commits, payload_bytes }),
        2 => (1..4usize, 0..400usize)
            .prop_map(|(parts, payload_bytes)| Step::AppendInParts { parts, payload_bytes }),
        1 => (1..4usize, any::<bool>()).prop_map(|(parts, close)| Step::GiveUp { parts, close }),
        3 => Just(Step::Sync),
        2 => Just(Step::BeginSync),
        2 => Just(Step::EndSync),
        1 => any::<bool>().prop_map(|close| Step::Reopen { close }),
        1 => (0..=100u64).prop_map(|percent| Step::Trim { percent }),
        2 => Just(Step::Follow),
    ]
}

fn last(entries: &[Entry]) -> u64 {
    entries.last().map_or(0, |entry| entry.last)
}

/// A log, a reader that follows it, and what both should hold.
struct Run {
    disk: SimDisk,
    file_bytes: u64,
    log: Log,
    reader: LogReader,
    entries: Vec<Entry>,
    /// The last commit that is synced.
    synced: u64,
    /// A sync that has begun.
    begun: Option<LogSync>,
    /// How many entries the reader has seen.
    followed: usize,
    /// The commit up to which the log may have been trimmed.
    trimmed: u64,
}

impl Run {
    fn new(file_bytes: u64) -> Self {
        let disk = SimDisk::new(0);
        let (log, _, none) = open(&disk, 0, file_bytes).unwrap();
        assert!(none.is_empty());
        let reader = LogReader::new(Arc::new(disk.clone()), directory(), STORE, 1);
        Run {
            disk,
            file_bytes,
            log,
            reader,
            entries: Vec::new(),
            synced: 0,
            begun: None,
            followed: 0,
            trimmed: 0,
        }
    }

    fn step(mut self, step: Step) -> Self {
        match step {
            Step::Append { commits, payload_bytes } => {
                let entry = entry_after(last(&self.entries), commits, payload_bytes);
                append(&mut self.log, &entry).unwrap();
                self.entries.push(entry);
                assert!(self.log.begin_sync().is_some());
            }
            Step::AppendInParts { parts, payload_bytes } => {
                let entry = entry_after(last(&self.entries), 1, payload_bytes);
                append_in_parts(&mut self.log, &entry, parts).unwrap();
                self.entries.push(entry);
            }
            Step::GiveUp { parts, close } => {
                let entry = entry_after(last(&self.entries), 1, 100);
                append_parts(&mut self.log, &entry, parts).unwrap();
                let error = append(&mut self.log, &entry).unwrap_err();
                assert!(
                    matches!(error, LogError::Unfinished { sequence } if sequence == entry.first),
                    "{error}"
                );
                self.log.trim(self.trimmed).unwrap();
                self.follow();
                return self.reopen(close, true);
            }
            Step::Sync => {
                self.log.sync().unwrap();
                self.synced = last(&self.entries);
                assert!(self.log.begin_sync().is_none());
            }
            Step::BeginSync => self.begun = self.log.begin_sync(),
            Step::EndSync => {
                if let Some(sync) = self.begun.take() {
                    let through = self.log.end_sync(sync.run()).unwrap();
                    self.synced = self.synced.max(through);
                }
            }
            Step::Reopen { close } => return self.reopen(close, false),
            Step::Trim { percent } => {
                self.trimmed = self.trimmed.max(last(&self.entries) * percent / 100);
                self.log.trim(self.trimmed).unwrap();
                assert!(self.log.first_sequence() <= self.trimmed + 1);
            }
            Step::Follow => self.follow(),
        }
        self
    }

    fn reopen(mut self, close: bool, is_given_up: bool) -> Self {
        let kept = self.kept();
        self.begun = None;
        if close {
            self.log.close().unwrap();
        } else {
            drop(self.log);
        }
        let (log, recovery, found) = open(&self.disk, self.trimmed, self.file_bytes).unwrap();
        assert_eq!(found, kept);
        assert_eq!(recovery.torn.is_some(), is_given_up, "{recovery:?}");
        assert_eq!(recovery.last_sequence, last(&self.entries));
        self.synced = last(&self.entries);
        Run { log, ..self }
    }

    /// Reads what is synced, from where it may still be read.
    fn follow(&mut self) {
        loop {
            match next_entry(&mut self.reader, self.synced) {
                Ok(Some(entry)) => {
                    assert_eq!(entry, self.entries[self.followed]);
                    self.followed += 1;
                }
                Ok(None) => {
                    assert!(self.reader.next_sequence() > self.synced);
                    return;
                }
                Err(LogError::Trimmed { asked, first, .. }) => {
                    assert!(asked <= self.trimmed);
                    assert!(first.is_none_or(|first| first > asked));
                    self.followed =
                        self.entries.iter().take_while(|entry| entry.last <= self.trimmed).count();
                    let next = self.entries.get(self.followed);
                    let from = next.map_or(self.trimmed + 1, |entry| entry.first.max(self.trimmed + 1));
                    self.reader = LogReader::new(Arc::new(self.disk.clone()), directory(), STORE, from);
                    if from > self.synced {
                        return;
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The entries that no trim may have taken.
    fn kept(&self) -> Vec<Entry> {
        self.entries.iter().filter(|entry| entry.last > self.trimmed).cloned().collect()
    }

    fn check_sizes(&self) {
        assert_eq!(self.log.last_sequence(), last(&self.entries));
        let files = self.disk.list(directory()).unwrap();
        let lengths = files.iter().map(|name| self.disk.len(&directory().join(name)).unwrap().unwrap());
        let room_bytes = lengths.sum::<u64>() - self.log.bytes();
        assert!(room_bytes <= ROOM_BYTES, "only the newest file has room: {room_bytes}");
    }
}

proptest! {
    #[test]
    fn the_log_gives_back_what_it_took(
        steps in prop::collection::vec(step(), 0..60), file_bytes in prop::sample::select(vec![1u64, 500, 3000, 1 << 20])
    ) {
        let mut run = Run::new(file_bytes);
        for step in steps {
            run = run.step(step);
            run.check_sizes();
        }
        let (_, found) = scan(&run.disk, run.trimmed).unwrap();
        prop_assert_eq!(found, run.kept());
    }
}

#[test]
fn it_works_on_the_real_disk() {
    let home = tempfile::tempdir().unwrap();
    let log_directory = home.path().join("log");
    let mut count = 0;
    for round in 0..3 {
        let options = LogOptions { file_bytes: 10_000, ..LogOptions::default() };
        let mut visited = 0;
        let mut visit = |record: Record<'_>| {
            visited += 1;
            if record.payload == [record.first_sequence as u8; 1000] { Ok(()) } else { Err("other bytes") }
        };
        let (mut log, _) =
            Log::open(Arc::new(OsDisk), &log_directory, STORE, Wanted::after(0), options, &mut visit)
                .unwrap();
        assert_eq!(visited, count);
        for _ in 0..20 {
            count += 1;
            log.append(count, count, 0, &[count as u8; 1000]).unwrap();
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

/// A file has room ahead once a small record came, at most as much as was asked for, and none once it is closed or another
/// follows.
#[test]
fn room_is_made_ahead_and_given_back() {
    let disk = SimDisk::new(0);
    let newest_bytes = || {
        let name = disk.list(directory()).unwrap().pop().unwrap();
        disk.len(&directory().join(name)).unwrap().unwrap()
    };
    let (mut log, _, _) = open(&disk, 0, 1 << 20).unwrap();
    append(&mut log, &entry_after(0, 1, ROOM_BYTES as usize)).unwrap();
    assert_eq!(newest_bytes(), log.bytes(), "for large records room is not made");
    append(&mut log, &entry_after(1, 1, 100)).unwrap();
    assert!(newest_bytes() > log.bytes());
    let mut lengths = BTreeSet::new();
    for sequence in 2..51 {
        log.sync().unwrap();
        assert!((log.bytes()..=log.bytes() + ROOM_BYTES).contains(&newest_bytes()));
        lengths.insert(newest_bytes());
        append(&mut log, &entry_after(sequence, 1, 100)).unwrap();
    }
    assert!(lengths.len() < 10, "most records find room: {lengths:?}");
    log.sync().unwrap();
    let before = disk.operations();
    append(&mut log, &entry_after(51, 1, 0)).unwrap();
    log.sync().unwrap();
    assert_eq!(disk.operations() - before, 2, "one write and one sync");
    let bytes = log.bytes();
    drop(log);
    assert!(newest_bytes() > bytes);
    let (log, recovery, _) = open(&disk, 0, 1 << 20).unwrap();
    assert_eq!((newest_bytes(), recovery.torn), (bytes, None), "opening takes room for no torn record");
    log.close().unwrap();
    // Full: the next record begins another.
    let (mut log, _, _) = open(&disk, 0, 1000).unwrap();
    append(&mut log, &entry_after(52, 1, 0)).unwrap();
    log.sync().unwrap();
    assert!(newest_bytes() > ROOM_BYTES);
    log.close().unwrap();
    let lengths = disk.list(directory()).unwrap().into_iter();
    let lengths = lengths.map(|name| disk.len(&directory().join(name)).unwrap().unwrap());
    // Each with the mark of its closing, the second with its header.
    assert_eq!(lengths.collect::<Vec<_>>(), [bytes + 64, 64 + 64 + 64]);
}

/// As much as asked for while whoever makes it is in time, eight times as much where appends come first again and again.
#[test]
fn room_made_beside_appends_grows_while_these_come_first() {
    const BESIDE_BYTES: u64 = 16 << 10;
    let disk = SimDisk::new(0);
    let options = LogOptions {
        file_bytes: 64 << 20,
        room_bytes: ROOM_BYTES,
        step_bytes: STEP_BYTES,
        beside_bytes: BESIDE_BYTES,
    };
    let mut ignore = |_: Record<'_>| Ok::<(), std::convert::Infallible>(());
    let opened =
        Log::open(Arc::new(disk.clone()), directory(), STORE, Wanted::after(0), options, &mut ignore);
    let (mut log, _) = opened.unwrap();
    let append_one = |log: &mut Log| append(log, &entry_after(log.last_sequence(), 1, 100)).unwrap();
    let room_after = |log: &mut Log, appended_bytes: u64| {
        let begin = log.bytes();
        while log.bytes() < begin + appended_bytes {
            append_one(log);
        }
        log.begin_room().unwrap().run();
        log.room_bytes()
    };
    // A new file has none, however soon somebody makes it.
    assert_eq!(room_after(&mut log, 1), BESIDE_BYTES);
    for _ in 0..20 {
        assert_eq!(room_after(&mut log, BESIDE_BYTES / 2), BESIDE_BYTES, "it is made in time");
    }
    let mut kept = BESIDE_BYTES;
    for expected in [2, 4, 8, 8, 8].map(|times| times * BESIDE_BYTES) {
        assert!(!log.is_short_of_room());
        kept = room_after(&mut log, 2 * kept);
        assert_eq!(kept, expected);
    }
}

/// Whoever has followed the log to its end has seen room there, and finds whatever comes into it or goes beyond.
#[test]
fn a_reader_that_saw_room_reads_what_takes_its_place() {
    let disk = SimDisk::new(0);
    let options = LogOptions { room_bytes: 100_000, step_bytes: 30_000, ..LogOptions::default() };
    let mut ignore = |_: Record<'_>| Ok::<(), std::convert::Infallible>(());
    let opened =
        Log::open(Arc::new(disk.clone()), directory(), STORE, Wanted::after(0), options, &mut ignore);
    let (mut log, _) = opened.unwrap();
    let mut reader = LogReader::new(Arc::new(disk.clone()), directory(), STORE, 1);
    for (payloads, bytes) in [(1, 10), (1, 20_000), (300, 200), (3, 0), (1, 700_000), (2, 9_000)] {
        let entries: Vec<Entry> = (1..=payloads)
            .map(|number| {
                let entry = entry_after(log.last_sequence(), number % 3 + 1, bytes);
                append(&mut log, &entry).unwrap();
                entry
            })
            .collect();
        log.sync().unwrap();
        for entry in &entries {
            assert_eq!(next_entry(&mut reader, log.last_sequence()).unwrap().as_ref(), Some(entry));
        }
        assert!(next_entry(&mut reader, log.last_sequence()).unwrap().is_none());
    }
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
    let stopped = Log::scan(&disk, directory(), STORE, Wanted::after(0), &mut |_| Err("stop"));
    assert_eq!(stopped.unwrap_err().to_string(), "stop");
}
