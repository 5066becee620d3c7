//! What the tests of the log share: a naive model of it, and ways to read a log back into the model.

#![allow(dead_code, reason = "no test file uses all of it")]

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use evergraph_disk::{Disk, SimDisk};
use evergraph_log::{Log, LogError, LogOptions, Record, Recovery, ReplayError};

pub(crate) const STORE: [u8; 16] = *b"the store's name";

pub(crate) fn directory() -> &'static Path {
    Path::new("/store/log")
}

/// A record as the model keeps it.
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

/// A record of `commits` commits after `last`, with a payload that is told from all others.
pub(crate) fn entry_after(last: u64, commits: u64, payload_bytes: usize) -> Entry {
    let payload = (0..payload_bytes).map(|position| (last as usize * 31 + position * 7 + 1) as u8).collect();
    Entry { first: last + 1, last: last + commits, time_micros: -5 + last as i64, payload }
}

pub(crate) fn append(log: &mut Log, entry: &Entry) -> Result<(), LogError> {
    let (head, tail) = entry.payload.split_at(entry.payload.len() / 3);
    log.append(entry.first, entry.last, entry.time_micros, &[head, &[], tail])
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
    let mut entries = Vec::new();
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut visit = |record: Record<'_>| {
        entries.push(Entry::from(record));
        Ok(())
    };
    let opened = Log::open(disk, directory(), STORE, after, LogOptions { file_bytes }, &mut visit);
    let (log, recovery) = unwrapped(opened)?;
    Ok((log, recovery, entries))
}

pub(crate) fn scan(disk: &dyn Disk, after: u64) -> Result<(Recovery, Vec<Entry>), LogError> {
    let mut entries = Vec::new();
    let mut visit = |record: Record<'_>| {
        entries.push(Entry::from(record));
        Ok(())
    };
    let recovery = unwrapped(Log::scan(disk, directory(), STORE, after, &mut visit))?;
    Ok((recovery, entries))
}
