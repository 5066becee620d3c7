//! The files of a store with other bytes in them: opened, checked, read whole.

use std::convert::Infallible;
use std::sync::Arc;

use evergraph_disk::{Disk, SimDisk, checksum};
use evergraph_log::{Log, LogOptions, Record, Wanted};
use evergraph_store::{ChangeOptions, OpenError, Options, Store, check_on};
use evergraph_types::Direction;

use crate::sample::{
    directory, disk, empty_disk, empty_store_id, files, first_payloads, log_directory, options, read,
};

/// The files of the sample in this directory, or of this name.
pub(crate) fn seeds(part: &str) -> Vec<Vec<u8>> {
    files(part).iter().map(|path| read(path)).collect()
}

/// The files of the sample in this directory, each behind its number.
pub(crate) fn numbered(part: &str) -> Vec<Vec<u8>> {
    (0..).zip(seeds(part)).map(|(number, bytes)| [vec![number], bytes].concat()).collect()
}

/// The contents of the manifest, without what surrounds them.
pub(crate) fn manifest_contents() -> Vec<Vec<u8>> {
    let content = |bytes: Vec<u8>| bytes[8..bytes.len().saturating_sub(8)].to_vec();
    seeds("MANIFEST").into_iter().filter(|bytes| bytes.len() > 16).map(content).collect()
}

/// Payloads of log records, each behind the number of records before it.
pub(crate) fn payloads() -> Vec<Vec<u8>> {
    let numbered = first_payloads().iter().enumerate();
    numbered.map(|(number, payload)| [&[number as u8][..], payload].concat()).collect()
}

/// Opens, checks and reads what is on a disk. Whoever only reads must find what whoever writes finds.
fn open_all_ways(disk: &SimDisk) {
    let report = check_on(Arc::new(disk.clone()), directory());
    let reading = open(disk, Options { read_only: true, ..options() });
    let writing = open(disk, options());
    match (&reading, &writing) {
        (Ok(one), Ok(other)) => assert_eq!(one, other, "readers and writers find the same"),
        (Err(one), Err(other)) => assert_eq!(one, other, "readers and writers find the same"),
        (one, other) => panic!("a reader finds {one:?}, a writer {other:?}"),
    }
    if let (Ok(report), Err(error)) = (report, writing) {
        assert!(!report.is_healthy(), "check finds nothing, but {error}");
    }
}

/// How many commits, vertices and entries there are, or the error.
pub(crate) fn open(disk: &SimDisk, options: Options) -> Result<(u64, u64, u64), String> {
    match Store::open_on(Arc::new(disk.clone()), directory(), options) {
        Ok(store) => Ok(read_all(&store)),
        Err(error @ (OpenError::Corrupt(_) | OpenError::NewerFormat { .. } | OpenError::Schema(_))) => {
            Err(error.to_string())
        }
        Err(error) => panic!("bytes lead to {error:?}"),
    }
}

fn read_all(store: &Store) -> (u64, u64, u64) {
    let Ok(version) = store.version() else { return (0, 0, 0) };
    let schema = version.schema();
    let mut entries = 0;
    for vertex in version.vertex_ids() {
        version.key(vertex);
        version.vertex_type(vertex);
        schema
            .live_vertex_properties()
            .for_each(|(property, _)| drop(version.vertex_property(vertex, property)));
        for (edge_type, kind) in schema.live_edge_types() {
            let properties: Vec<_> = kind.properties().map(|(property, _)| property).collect();
            for direction in [Direction::Out, Direction::In] {
                version.for_each_edge(edge_type, direction, vertex, &properties, &mut |_, _| entries += 1);
            }
        }
    }
    (version.sequence(), version.num_vertices(), entries)
}

/// Puts bytes in the place of the first file of a part.
fn with_file(part: &str, data: &[u8]) -> SimDisk {
    let disk = disk();
    if let Some(path) = files(part).first() {
        let put = disk.put(path, data);
        assert!(put.is_ok(), "{put:?}");
    }
    disk
}

/// Opens the sample with bytes in the place of any file of a part. The first byte chooses which.
fn open_with_any_file(part: &str, data: &[u8]) {
    let Some((&number, data)) = data.split_first() else { return };
    let (disk, files) = (disk(), files(part));
    let put = disk.put(&files[usize::from(number) % files.len()], data);
    assert!(put.is_ok(), "{put:?}");
    open_all_ways(&disk);
}

/// A file of the log.
pub fn fuzz_log(data: &[u8]) {
    open_with_any_file("log", data);
}

/// A segment.
pub fn fuzz_segment(data: &[u8]) {
    open_with_any_file("segments", data);
}

/// The manifest.
pub fn fuzz_manifest(data: &[u8]) {
    open_all_ways(&with_file("MANIFEST", data));
}

/// The manifest, with the right magic number and checksum around any bytes: as a program with a bug would write it.
pub fn fuzz_manifest_content(data: &[u8]) {
    let magic = files("MANIFEST").first().map(|path| read(path)).unwrap_or_default();
    let mut bytes = magic.get(..8).unwrap_or_default().to_vec();
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
    let disk = with_file("MANIFEST", &bytes);
    let store = Store::open_on(Arc::new(disk), directory(), Options { read_only: true, ..options() });
    if let Ok(store) = store {
        read_all(&store);
    }
}

/// The position of a reader of changes.
pub fn fuzz_cursor(data: &[u8]) {
    let disk = with_file("cursors", data);
    if let Ok(store) = Store::open_on(Arc::new(disk), directory(), options()) {
        let reader = store.changes(ChangeOptions { name: Some("reader".to_owned()), ..Default::default() });
        if let Ok(mut reader) = reader {
            while let Ok(Some(commit)) = reader.next() {
                let _ = reader.acknowledge(commit.sequence);
            }
        }
    }
}

/// The payload of a log record, with the right checksums around any bytes: as a program with a bug would write it. The
/// first byte chooses how many records in order come before it.
pub fn fuzz_commits(data: &[u8]) {
    let Some((&before, payload)) = data.split_first() else { return };
    let all = first_payloads();
    let before = &all[..usize::from(before) % all.len()];
    let disk = empty_disk();
    let written = write_log(&disk, before.iter().map(|bytes| &bytes[..]).chain([payload]));
    assert!(written.is_ok(), "{written:?}");
    if let Ok(found) = open(&disk, Options { read_only: true, ..options() }) {
        assert_eq!(open(&disk, options()), Ok(found), "readers and writers find the same");
    }
}

/// A new log with a record of one commit for each payload.
fn write_log<'a>(disk: &SimDisk, payloads: impl Iterator<Item = &'a [u8]>) -> Result<(), String> {
    let handle: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut ignore = |_: Record<'_>| Ok::<(), Infallible>(());
    let options =
        LogOptions { file_bytes: 1 << 20, room_bytes: 1000, step_bytes: 700, ..LogOptions::default() };
    let opened =
        Log::open(handle, &log_directory(), empty_store_id(), Wanted::after(0), options, &mut ignore);
    let (mut log, _) = opened.map_err(|error| error.to_string())?;
    for payload in payloads {
        let next = log.next_sequence();
        log.append(next, next, 1, payload).map_err(|error| error.to_string())?;
    }
    log.close().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target that refused its seeds would try nothing behind the first check.
    #[test]
    fn good_input_is_read_to_its_end() {
        let all = first_payloads();
        assert!(all.len() > 8, "{} records", all.len());
        for count in 0..=all.len() {
            let disk = empty_disk();
            write_log(&disk, all[..count].iter().map(|bytes| &bytes[..])).expect("a good disk");
            let found = open(&disk, Options { read_only: true, ..options() }).expect("a store in order");
            assert_eq!(found.0, count as u64);
        }
        assert!(open(&disk(), options()).expect("a store in order").2 > 50);
    }
}
