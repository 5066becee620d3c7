//! Resident memory is near what is told: that of a small store by its own count, and that of a load by its limit. The memory of a process
//! is looked at from outside, or in this one, whose allocator is that of the program.
#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use evergraph::{Database, EdgeBatch, KeyColumn, KeyKind, Options};
use mimalloc::MiMalloc;
use parking_lot::Mutex;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Held by every test from its first line to its last, since the memory of the process is one for all.
static MEASURING: Mutex<()> = Mutex::new(());

/// Bytes of memory of a process that no file backs, as one of its files in `/proc` tells them; none once it has ended.
fn bytes_of(process: &str, file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/proc").join(process).join(file)).ok()?;
    let kibibytes = text.lines().find_map(|line| line.strip_prefix(name))?.trim().strip_suffix("kB")?;
    Some(1024 * kibibytes.trim().parse::<u64>().ok()?)
}

fn own_bytes() -> u64 {
    bytes_of("self", "smaps_rollup", "Anonymous:").expect("the system tells")
}

fn settle(database: &Database) {
    let start = Instant::now();
    while !database.stats().settled {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", database.stats());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A number below `count` for each row, in no order.
fn scattered(row: i64, count: i64) -> i64 {
    (row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) >> 20).rem_euclid(count)
}

/// What a store takes beside what it tells: threads, and pages of the allocator that are not full.
const BESIDE_BYTES: u64 = 5 << 19;

/// How many pages are not full depends on which thread came first to what, so the best of so many stores counts.
const STORES: usize = 3;

/// By how much it may be wrong what the allocator tells that it has: threads, and blocks of the system's own allocator.
const UNTOLD_BYTES: u64 = 1 << 19;

/// Bytes of memory that a store filled in batches of so many edges tells of, that the allocator tells it has taken for it, and that
/// the process has.
#[derive(Debug)]
struct Found {
    told: u64,
    allocated: u64,
    taken: u64,
}

fn measured(directory: &Path, rows: i64) -> Found {
    const VERTICES: i64 = 50_000;
    (evergraph_cli::ALLOCATOR.give_back)(evergraph::GiveBack::ToSystem);
    let allocated = || (evergraph_cli::ALLOCATOR.bytes)().expect("the system tells");
    let before = (allocated(), own_bytes());
    let options = Options { keys: Some(KeyKind::Dense), ..Options::default() };
    let database = Database::open(directory, options).expect("a new store");
    let batches = if rows == 1 { 10_000 } else { 300 };
    for first in (0..batches * rows).step_by(rows as usize) {
        let end = |turn: i64| (first..first + rows).map(|row| scattered(row + turn, VERTICES)).collect();
        let [src, dst] = [0, 7_777_777].map(|turn| KeyColumn::Int(end(turn)));
        let batch = EdgeBatch { src, dst, columns: Vec::new() };
        database.add_edges("knows", vec![batch]).expect("it fits");
    }
    settle(&database);
    let stats = database.stats();
    Found {
        told: stats.memory.heap_bytes(),
        allocated: stats.allocator_bytes.expect("as above").saturating_sub(before.0),
        taken: own_bytes().saturating_sub(before.1),
    }
}

#[test]
fn a_small_store_takes_little_beside_what_it_tells() {
    let _measuring = MEASURING.lock();
    evergraph::use_allocator(evergraph_cli::ALLOCATOR);
    evergraph_cli::prepare_allocator();
    for rows in [1, 1000] {
        let mut found = Vec::new();
        let takes_little = (0..STORES).any(|_| {
            let directory = tempfile::tempdir().expect("a directory");
            let store = measured(directory.path(), rows);
            assert!(store.taken.abs_diff(store.allocated) < store.taken / 10 + UNTOLD_BYTES, "{store:?}");
            let takes_little = store.taken < store.told + store.told / 10 + BESIDE_BYTES;
            found.push(store);
            takes_little
        });
        assert!(takes_little, "batches of {rows}: {found:?}");
    }
}

/// The most memory that a load took which no file backs.
fn peak_of_load(directory: &Path, limit_megabytes: &str) -> u64 {
    let (database, file) = (directory.join(limit_megabytes), directory.join("edges.txt"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
    command.arg("load").arg(database).arg(file).args(["--memory-limit", limit_megabytes]);
    let mut load = command.stdout(Stdio::null()).spawn().expect("the program starts");
    let process = load.id().to_string();
    let mut peak = 0;
    while load.try_wait().expect("it is ours").is_none() {
        peak = peak.max(bytes_of(&process, "status", "RssAnon:").unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(load.wait().expect("it is ours").success());
    peak
}

#[test]
fn a_load_with_a_limit_takes_little_beside_it() {
    const VERTICES: i64 = 200_000;
    let _measuring = MEASURING.lock();
    let directory = tempfile::tempdir().expect("a directory");
    let mut text = String::new();
    for row in 0..1_500_000 {
        let (src, dst) = (scattered(row, VERTICES), scattered(row + 7_777_777, VERTICES));
        writeln!(text, "{src} {dst}").expect("memory");
    }
    std::fs::write(directory.path().join("edges.txt"), text).expect("room");
    for (limit, most_bytes) in [("8", 60 << 20), ("64", 64 << 20)] {
        let peak = peak_of_load(directory.path(), limit);
        assert!((1 << 20..most_bytes).contains(&peak), "{peak} bytes with a limit of {limit} MB");
    }
}
