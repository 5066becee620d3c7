//! A small store with something of everything, closed, made once; each run of a target gets a copy of its disk.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use evergraph_disk::{CrashPlan, Disk, SimDisk};
use evergraph_log::{Log, Record, Wanted};
use evergraph_store::{ChangeOptions, Options, Store};
use evergraph_types::{EdgeTypeOptions, Value};

static SAMPLE: LazyLock<SimDisk> = LazyLock::new(|| {
    let disk = SimDisk::new(0);
    // Making it fails only where the store is broken, which other tests tell better.
    make(&disk).unwrap_or_else(|error| panic!("the sample cannot be made: {error}"));
    disk
});

/// A store without a commit, and the payloads of the log of one that went on from there.
static YOUNG: LazyLock<(SimDisk, [u8; 16], Vec<Vec<u8>>)> = LazyLock::new(|| {
    let disk = SimDisk::new(0);
    let options = || Options { log_limit_bytes: 1 << 20, ..options() };
    let made = Store::open_on(Arc::new(disk.clone()), directory(), options())
        .map_err(Into::into)
        .and_then(|store| Ok((disk.crash(CrashPlan::KeepUnsynced), fill(&store, false)?)));
    let (empty, ()) = made.unwrap_or_else(|error: Box<dyn std::error::Error>| panic!("no sample: {error}"));
    (empty, store_id(&disk), payloads(&disk))
});

/// A copy of the disk of a store without a commit.
pub(crate) fn empty_disk() -> SimDisk {
    YOUNG.0.crash(CrashPlan::KeepUnsynced)
}

/// Its id.
pub(crate) fn empty_store_id() -> [u8; 16] {
    YOUNG.1
}

/// What the log of the store held after the first commits.
pub(crate) fn first_payloads() -> &'static [Vec<u8>] {
    &YOUNG.2
}

fn payloads(disk: &SimDisk) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut visit = |record: Record<'_>| {
        found.push(record.payload.to_vec());
        Ok::<(), Infallible>(())
    };
    let scanned = Log::scan(disk, &log_directory(), store_id(disk), Wanted::after(0), &mut visit);
    assert!(scanned.is_ok(), "the log of the sample is in order");
    found
}

pub(crate) fn log_directory() -> PathBuf {
    directory().join("log")
}

/// The id of the store on a disk: the header of each file of the log has it.
fn store_id(disk: &SimDisk) -> [u8; 16] {
    let names = disk.list(&log_directory()).unwrap_or_default();
    let header = names.first().and_then(|name| disk.read(&log_directory().join(name)).ok());
    header.and_then(|bytes| bytes.get(16..32)?.try_into().ok()).unwrap_or_default()
}

/// Where the store lies.
pub(crate) fn directory() -> &'static Path {
    Path::new("/net.eg")
}

/// A copy of the sample's disk.
pub(crate) fn disk() -> SimDisk {
    SAMPLE.crash(CrashPlan::KeepUnsynced)
}

pub(crate) fn options() -> Options {
    Options { background: false, bulk_edges: 50, log_limit_bytes: 4 * 1500, ..Options::default() }
}

/// Files of the sample whose path contains this, the newest first.
pub(crate) fn files(part: &str) -> Vec<PathBuf> {
    let parts = ["", "segments", "log", "cursors"].map(|part| directory().join(part));
    let of = |part: &PathBuf| {
        let names = SAMPLE.list(part).unwrap_or_default().into_iter();
        names.map(|name| part.join(name)).collect::<Vec<_>>()
    };
    let is_meant = |path: &PathBuf| path.components().any(|component| component.as_os_str() == part);
    let mut found: Vec<PathBuf> = parts.iter().flat_map(of).filter(is_meant).collect();
    found.reverse();
    found
}

pub(crate) fn read(path: &Path) -> Vec<u8> {
    SAMPLE.read(path).unwrap_or_default()
}

fn make(disk: &SimDisk) -> Result<(), Box<dyn std::error::Error>> {
    fill(&Store::open_on(Arc::new(disk.clone()), directory(), options())?, true)
}

/// Keys that are let go of, so that later ones get their ids.
fn come_and_go(store: &Store) -> Result<(), Box<dyn std::error::Error>> {
    for key in 100..106i64 {
        store.put_edge(key, key + 1, "knows", &[])?;
    }
    for key in 100..104i64 {
        store.delete_vertex(key)?;
    }
    // The second one writes what the first one let go of.
    store.compact()?;
    store.compact()?;
    Ok(())
}

/// Commits of every kind; then the store is closed.
fn fill(store: &Store, archives: bool) -> Result<(), Box<dyn std::error::Error>> {
    store.create_edge_type("pays", EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() })?;
    if archives {
        come_and_go(store)?;
    }
    let mut reader =
        store.changes(ChangeOptions { name: Some("reader".to_owned()), ..Default::default() })?;
    for round in 0..4i64 {
        let mut transaction = store.begin()?;
        for row in 0..12 {
            let given =
                [("amount", Value::Float(row as f64)), ("why", "rent".into()), ("ok", (row > 3).into())];
            transaction.put_edge(row % 5, row + round, "pays", &given)?;
            transaction.put_edge(row, row + 1, "knows", &[])?;
        }
        transaction.put_vertex(round, Some("Person"), &[("name", "Ann".into()), ("age", round.into())])?;
        transaction.commit()?;
        store.delete_vertex(round + 7)?;
        if archives && round < 2 {
            store.checkpoint()?;
        }
        while let Some(commit) = reader.next()? {
            reader.acknowledge(commit.sequence)?;
        }
    }
    drop(reader);
    Ok(store.close()?)
}
