//! What the tests of the log share: a naive model of it, and ways to read a log back into the model.

#![allow(dead_code, reason = "no test file uses all of it")]

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use evergraph_disk::{Disk, SimDisk};
use evergraph_log::{Log, LogError, LogOptions, LogReader, Record, Recovery, ReplayError, Wanted};

pub(crate) const STORE: [u8; 16] = *b"the store's name";

/// Room for two or three records, so that many end where it does.
pub(crate) const ROOM_BYTES: u64 = 1500;
pub(crate) const STEP_BYTES: u64 = 1100;

pub(crate) fn directory() -> &'static Path {
    Path::new("/store/log")
}

/// A record as the model keeps it, or all records of a commit in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) time_micros: i64,
    pub(crate) payload: Vec<u8>,
}

impl From<Record<'_>> for Entry {
    fn from(record: Record<'_>) -> Self {
        Entry {
            first: record.first_sequence,
            last: record.last_sequence,
            time_micros: record.time_micros,
            payload: record.payload.to_vec(),
        }
    }
}

/// Entries made of records as they come.
#[derive(Debug, Default)]
struct Gathered {
    entries: Vec<Entry>,
    goes_on: bool,
}

impl Gathered {
    fn take(&mut self, record: Record<'_>) {
        let entry = Entry::from(record);
        match self.entries.last_mut().filter(|_| self.goes_on) {
            Some(begun) => {
                assert_eq!((begun.first, begun.last), (entry.first, entry.last));
                assert_eq!(begun.time_micros, entry.time_micros);
                begun.payload.extend(entry.payload);
            }
            None => self.entries.push(entry),
        }
        self.goes_on = record.goes_on;
    }

    fn finish(self) -> Vec<Entry> {
        assert!(!self.goes_on, "a commit is handed out whole");
        self.entries
    }
}

/// The next entry that a reader gives.
pub(crate) fn next_entry(reader: &mut LogReader, through: u64) -> Result<Option<Entry>, LogError> {
    let mut gathered = Gathered::default();
    while let Some(record) = reader.next(through)? {
        gathered.take(record);
        if !gathered.goes_on {
            break;
        }
    }
    Ok(gathered.finish().pop())
}

/// A record of `commits` commits after `last`, with a payload that is told from all others.
pub(crate) fn entry_after(last: u64, commits: u64, payload_bytes: usize) -> Entry {
    let payload = (0..payload_bytes).map(|position| (last as usize * 31 + position * 7 + 1) as u8).collect();
    Entry { first: last + 1, last: last + commits, time_micros: -5 + last as i64, payload }
}

pub(crate) fn append(log: &mut Log, entry: &Entry) -> Result<(), LogError> {
    log.append(entry.first, entry.last, entry.time_micros, &entry.payload)
}

/// Appends the entry, which is one commit, in so many parts and an end.
pub(crate) fn append_in_parts(log: &mut Log, entry: &Entry, parts: usize) -> Result<(), LogError> {
    append_parts(log, entry, parts)?;
    log.append_end(entry.last, entry.time_micros, &entry.payload[parts_of(entry, parts).len()..])
}

/// All of that but the end.
pub(crate) fn append_parts(log: &mut Log, entry: &Entry, parts: usize) -> Result<(), LogError> {
    let payload = parts_of(entry, parts);
    let bytes = payload.len().checked_div(parts).unwrap_or(0);
    (0..parts).try_for_each(|part| {
        log.append_part(entry.last, entry.time_micros, &payload[part * bytes..(part + 1) * bytes])
    })
}

/// What of the payload is in parts of one length, the rest being in the end.
fn parts_of(entry: &Entry, parts: usize) -> &[u8] {
    &entry.payload[..entry.payload.len() / (parts + 1) * parts]
}

fn unwrapped<T>(result: Result<T, ReplayError<Infallible>>) -> Result<T, LogError> {
    result.map_err(|error| match error {
        ReplayError::Log(error) => error,
        ReplayError::Visit(never) => match never {},
    })
}

pub(crate) fn open(
    disk: &SimDisk,
    after: u64,
    file_bytes: u64,
) -> Result<(Log, Recovery, Vec<Entry>), LogError> {
    let mut entries = Gathered::default();
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut visit = |record: Record<'_>| {
        entries.take(record);
        Ok(())
    };
    let opened = Log::open(
        disk,
        directory(),
        STORE,
        Wanted::after(after),
        LogOptions { file_bytes, room_bytes: ROOM_BYTES, step_bytes: STEP_BYTES, ..LogOptions::default() },
        &mut visit,
    );
    let (log, recovery) = unwrapped(opened)?;
    Ok((log, recovery, entries.finish()))
}

pub(crate) fn scan(disk: &dyn Disk, after: u64) -> Result<(Recovery, Vec<Entry>), LogError> {
    let mut entries = Gathered::default();
    let mut visit = |record: Record<'_>| {
        entries.take(record);
        Ok(())
    };
    let recovery = unwrapped(Log::scan(disk, directory(), STORE, Wanted::after(after), &mut visit))?;
    Ok((recovery, entries.finish()))
}
