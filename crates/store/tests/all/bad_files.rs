//! Files that are damaged, cut off, missing, too new, of another store or of no store at all: each gives its own
//! error, nothing on disk changes, and with the right bytes back the store opens as it was.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::common::{
    Dump, directory, dump, number_batch, on, open, open_error, options, try_open, with_columns,
};
use evergraph_disk::{CrashPlan, Disk, SimDisk, checksum};
use evergraph_proof::{Random, mutate, tally};
use evergraph_store::{At, ChangeOptions, HistoryError, OpenError, Options, Retain, Store, check_on};
use evergraph_types::{EdgeTypeOptions, KeyKind, PropertyType, Sequence, Value};

/// What a store held after each commit.
type States = Vec<(Sequence, Dump)>;

/// A store with two segments, a log of three files, and something of everything in each.
fn sample() -> (SimDisk, States) {
    let (disk, states) = closed(Options { log_limit_bytes: 4 * 1500, ..options() });
    let parts = |part: &str| files(&disk).iter().filter(|path| is_in(path, part)).count();
    assert_eq!((parts("segments"), parts("log"), files(&disk).len()), (2, 3, 6), "{:?}", files(&disk));
    (disk, states)
}

/// A store that keeps all of its history and has a named reader: some of its segments and of the log only older versions need.
fn sample_with_history() -> (SimDisk, States) {
    let kept = Options { log_limit_bytes: 4 * 600, retain: Some(Retain::Everything), ..options() };
    let (disk, mut states) = closed(kept);
    let store = open(&disk, options());
    store.compact().expect("a good disk");
    store.put_edge(1, 7, "knows", &[]).expect("it fits");
    note(&store, &mut states);
    let named = ChangeOptions { after: Some(3), name: Some("mirror".into()) };
    drop(store.changes(named).expect("a reader"));
    store.close().expect("a good disk");
    let parts = |part: &str| files(&disk).iter().filter(|path| is_in(path, part)).count();
    let counts = ["segments", "log", "history", "cursors"].map(parts);
    assert_eq!(counts, [2, 6, 2, 1], "{:?}", files(&disk));
    (disk, states)
}

/// A store whose segments and log say that ids have no keys, or others than before, and that of such a one.
fn sample_with_ids_given_out_again() -> (SimDisk, States) {
    let disk = SimDisk::new(0);
    let store = open(&disk, options());
    for key in 100..110i64 {
        store.put_edge(key, key + 1, "knows", &[]).expect("it fits");
    }
    let mut states = States::new();
    let mut turn = |keys: std::ops::Range<i64>, archives| {
        keys.clone().for_each(|key| _ = store.delete_vertex(key).expect("deleted"));
        (0..archives).for_each(|_| store.compact().expect("a good disk"));
        states.clear();
        keys.for_each(|key| {
            store.put_edge(key + 100, 110, "knows", &[]).expect("it fits");
            note(&store, &mut states);
        });
    };
    turn(100..106, 2);
    turn(106..109, 2);
    store.checkpoint().expect("a good disk");
    turn(203..206, 2);
    let bound = store.version().expect("open").id_bound();
    assert_eq!(bound, 11, "ids of those that are gone were given out");
    store.close().expect("a good disk");
    (disk, states)
}

/// A store as it was closed.
fn closed(with: Options) -> (SimDisk, States) {
    let disk = SimDisk::new(0);
    let store = open(&disk, with);
    let mut states = States::new();
    note(&store, &mut states);
    store.create_edge_type("pays", EdgeTypeOptions { multi: true, ..Default::default() }).expect("new");
    note(&store, &mut states);
    for part in 0..4i64 {
        let edges = number_batch((0..40).map(|row| (row % 5 + part, row % 9)));
        let columns = [("amount", PropertyType::Float64), ("why", PropertyType::String)];
        let value = |column, row: usize| match column {
            0 => Value::Float(row as f64),
            _ if row.is_multiple_of(4) => Value::Null,
            _ => Value::Text("x".repeat(row)),
        };
        store.add_edges("pays", vec![with_columns(edges, &columns, value)]).expect("it fits");
        note(&store, &mut states);
        store
            .put_vertex(part, Some("Person"), &[("name", "Ann".into()), ("age", (-part).into())])
            .expect("fits");
        note(&store, &mut states);
        store.put_edge(part, part + 1, "knows", &[]).expect("it fits");
        note(&store, &mut states);
        if part < 2 {
            store.checkpoint().expect("a good disk");
        }
    }
    store.close().expect("a good disk");
    (disk, states)
}

fn note(store: &Store, states: &mut States) {
    let version = store.version().expect("open");
    states.push((version.sequence(), dump(&version)));
}

fn newest(states: &States) -> &Dump {
    &states.last().expect("states").1
}

fn files(disk: &SimDisk) -> Vec<PathBuf> {
    let below = ["segments", "log", "history", "cursors"].map(|part| directory().join(part));
    let parts = [directory().to_owned()].into_iter().chain(below);
    let in_part = |part: &PathBuf| -> Vec<PathBuf> {
        disk.list(part).unwrap_or_default().into_iter().map(|name| part.join(name)).collect()
    };
    parts.flat_map(|part| in_part(&part)).collect()
}

fn contents(disk: &SimDisk) -> Vec<(PathBuf, Vec<u8>)> {
    files(disk).into_iter().map(|path| (path.clone(), disk.read(&path).expect("a file"))).collect()
}

fn copy_of(disk: &SimDisk) -> SimDisk {
    disk.crash(CrashPlan::KeepUnsynced)
}

fn is_in(path: &Path, part: &str) -> bool {
    path.components().any(|component| component.as_os_str() == part)
}

/// The path an error names.
fn path_of(error: &OpenError) -> Option<&Path> {
    match error {
        OpenError::Corrupt(corruption) => Some(&corruption.path),
        OpenError::NewerFormat { path, .. }
        | OpenError::NotAStore { path }
        | OpenError::NotADirectory { path }
        | OpenError::NotFound { path } => Some(path),
        _ => None,
    }
}

/// Opens for writing and reading; neither may succeed or change anything.
fn refused(disk: &SimDisk, what: &str) -> OpenError {
    let before = contents(disk);
    let reading = open_error(disk, Options { read_only: true, ..options() });
    let error = open_error(disk, options());
    assert_eq!(error.to_string(), reading.to_string(), "{what}");
    assert!(contents(disk) == before, "{what}: nothing on disk changes");
    let report = check_on(on(disk), directory());
    if let Ok(report) = report {
        assert!(!report.is_healthy(), "{what}: {report:?}");
    }
    assert!(contents(disk) == before, "{what}: a check changes nothing");
    error
}

fn opens_as(disk: &SimDisk, expected: &Dump, what: &str) {
    let store = try_open(disk, options()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(dump(&store.version().expect("open")), *expected, "{what}");
    store.put_edge(1, 2, "knows", &[]).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// Damages a file in one place after the other. The store must be refused, or it shows what it showed before; then each older
/// version, too, is as it was or refused, and a check finds what makes that so. Gives how often it did.
fn damage(places: impl Fn(usize) -> Vec<usize>, change: impl Fn(&mut Vec<u8>, usize), name: &str) -> u64 {
    let samples = [sample_with_history(), sample_with_ids_given_out_again()];
    samples.iter().map(|sample| damage_sample(sample, &places, &change, name)).sum()
}

fn damage_sample(
    (disk, states): &(SimDisk, States),
    places: &impl Fn(usize) -> Vec<usize>,
    change: &impl Fn(&mut Vec<u8>, usize),
    name: &str,
) -> u64 {
    let mut count = 0;
    for (path, bytes) in contents(disk) {
        for place in places(bytes.len()) {
            let what = format!("{name} of {} at {place}", path.display());
            let damaged = copy_of(disk);
            let mut changed = bytes.clone();
            change(&mut changed, place);
            if changed == bytes {
                continue;
            }
            count += 1;
            damaged.put(&path, &changed).expect("a file");
            if shows_no_other_answer(&damaged, states, &path, &what) {
                continue;
            }
            let error = refused(&damaged, &what);
            assert!(matches!(error, OpenError::Corrupt(_)), "{what}: {error}");
            assert!(path_of(&error).is_some_and(|named| is_named(named, &path)), "{what}: {error}");
            damaged.put(&path, &bytes).expect("a file");
            opens_as(&damaged, newest(states), &what);
        }
    }
    count
}

/// A log file cut off where a record ends is whole: what lacks is told by the file behind it.
fn is_named(named: &Path, path: &Path) -> bool {
    named == path || is_in(named, "log") && is_in(path, "log")
}

/// Whether the store, a file of which is damaged or missing, opens; then nothing it shows may be another answer than before.
fn shows_no_other_answer(damaged: &SimDisk, states: &States, path: &Path, what: &str) -> bool {
    let Ok(store) = try_open(&copy_of(damaged), options()) else { return false };
    assert_eq!(dump(&store.version().expect("open")), *newest(states), "{what}: never a wrong answer");
    let mut is_whole = true;
    for (sequence, expected) in states.iter().filter(|state| state.0 >= store.retained().first) {
        match store.version_at(At::Commit(*sequence)) {
            Ok(version) => assert_eq!(dump(&version), *expected, "{what}: version {sequence}"),
            Err(HistoryError::Open(error)) => {
                is_whole = false;
                assert!(path_of(&error).is_some_and(|named| is_named(named, path)), "{what}: {error}");
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
    let report = check_on(on(damaged), directory()).expect("it can be read");
    assert!(is_whole || !report.is_healthy(), "{what}: a check finds it");
    true
}

#[test]
fn a_flipped_bit_is_damage() {
    let places = |bytes: usize| (0..bytes).step_by(1 + bytes / 120).collect();
    damage(places, |bytes, at| bytes[at] ^= 1 << (at % 8), "bit flip");
}

/// Sectors that were lost, or that hold what belongs elsewhere.
#[test]
fn a_wrong_sector_is_damage() {
    let sectors = |bytes: usize| (0..bytes).step_by(512).collect();
    let end = |bytes: &Vec<u8>, at: usize| bytes.len().min(at + 512);
    damage(
        sectors,
        |bytes, at| {
            let end = end(bytes, at);
            bytes[at..end].fill(0);
        },
        "zeros",
    );
    damage(
        sectors,
        |bytes, at| {
            let stale = bytes[..end(bytes, at) - at].to_vec();
            bytes[at..at + stale.len()].copy_from_slice(&stale);
        },
        "a sector of another place",
    );
}

#[test]
fn whatever_a_fuzzer_does_to_a_file_is_damage() {
    fuzzed(40);
}

fn fuzzed(seeds: usize) -> u64 {
    let change = |bytes: &mut Vec<u8>, seed| *bytes = mutate(bytes, &mut Random::new(seed as u64));
    damage(|_| (0..seeds).collect(), change, "mutation")
}

#[test]
#[ignore = "long"]
fn soak_every_byte_damaged_and_every_length() {
    let flips = |bit| damage(|bytes| (0..bytes).collect(), |bytes, at| bytes[at] ^= 1u8 << bit, "bit flip");
    tally("bit flips", (0..8).map(flips).sum());
    let cuts = damage(|bytes| (0..bytes).collect(), |bytes, at| bytes.truncate(at), "cut");
    tally("files cut off", cuts);
    tally("files mutated", fuzzed(1000));
}

#[test]
fn a_file_cut_off_is_damage() {
    let places = |bytes: usize| (0..bytes).step_by(1 + bytes / 40).chain([bytes - 1]).collect();
    damage(places, |bytes, at| bytes.truncate(at), "cut");
}

#[test]
fn a_file_with_more_bytes_is_damage() {
    damage(|_| vec![0, 8, 64, 5000], |bytes, more| bytes.extend(vec![7; more + 1]), "extension");
}

#[test]
fn noise_is_damage() {
    let places = |bytes: usize| (0..bytes).step_by(1 + bytes / 10).collect();
    damage(places, |bytes, at| bytes[at..].iter_mut().for_each(|byte| *byte ^= 0x5a), "noise");
}

/// Overwrites the version, whose checksum lies at `sum` and covers all before it.
fn with_version(bytes: &[u8], version: u32, sum: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    let sum_of = checksum(&bytes[..sum]).to_le_bytes();
    bytes[sum..sum + 8].copy_from_slice(&sum_of);
    bytes
}

#[test]
fn a_newer_format_is_named_with_its_file() {
    for sample in [sample(), sample_with_history(), sample_with_ids_given_out_again()] {
        newer_formats_are_named(sample);
    }
}

/// Whether it is read whenever the store is opened, and not only for older versions.
fn is_always_read(disk: &SimDisk, path: &Path) -> bool {
    let damaged = copy_of(disk);
    damaged.put(path, b"").expect("a file");
    try_open(&damaged, options()).is_err()
}

fn newer_formats_are_named((disk, states): (SimDisk, States)) {
    let read = |(path, _): &(PathBuf, Vec<u8>)| is_always_read(&disk, path);
    for (path, bytes) in contents(&disk).into_iter().filter(read) {
        let sum = match (is_in(&path, "segments"), is_in(&path, "log")) {
            (true, _) => 120,
            (_, true) => 56,
            _ => bytes.len() - 8,
        };
        disk.put(&path, &with_version(&bytes, 9, sum)).expect("a file");
        match refused(&disk, "a newer format") {
            OpenError::NewerFormat { path: named, found: 9, supported } => {
                let newest = match (is_in(&path, "cursors"), is_in(&path, "segments")) {
                    (true, _) => 1,
                    (_, true) => 3,
                    _ => 2,
                };
                assert_eq!((named, supported), (path.clone(), newest));
            }
            error => panic!("{}: {error}", path.display()),
        }
        disk.put(&path, &bytes).expect("a file");
    }
    opens_as(&disk, newest(&states), "all put back");
}

#[test]
fn files_of_another_store_are_told() {
    files_of_another_are_told(sample(), sample());
    files_of_another_are_told(sample_with_history(), sample_with_history());
}

fn files_of_another_are_told((disk, states): (SimDisk, States), (other, _): (SimDisk, States)) {
    let read = |(path, _): &(PathBuf, Vec<u8>)| is_always_read(&disk, path);
    for (path, bytes) in contents(&disk).into_iter().filter(read) {
        let foreign = other.read(&path).expect("the same file there");
        disk.put(&path, &foreign).expect("a file");
        let error = refused(&disk, "another store's file");
        assert!(matches!(error, OpenError::Corrupt(_)), "{}: {error}", path.display());
        assert!(error.to_string().contains("another store"), "{error}");
        disk.put(&path, &bytes).expect("a file");
    }
    opens_as(&disk, newest(&states), "all put back");
}

/// A whole file of the same store in the place of another: as after a mistake with copies.
#[test]
fn files_in_each_others_places_are_told() {
    let (disk, states) = sample_with_history();
    let store = open(&disk, options());
    drop(store.changes(ChangeOptions { after: Some(5), name: Some("copy".into()) }).expect("a reader"));
    store.close().expect("a good disk");
    for part in ["segments", "log", "cursors", "history"] {
        let files: Vec<_> = contents(&disk).into_iter().filter(|(path, _)| is_in(path, part)).collect();
        assert!(files.len() > 1, "{part}: {files:?}");
        for ((path, _), (_, other)) in files.iter().zip(files.iter().cycle().skip(1)) {
            let mixed = copy_of(&disk);
            mixed.put(path, other).expect("a file");
            let what = format!("{} is another file of the store", path.display());
            if shows_no_other_answer(&mixed, &states, path, &what) {
                let report = check_on(on(&mixed), directory()).expect("it can be read");
                assert!(!report.is_healthy(), "{what}");
            }
        }
    }
}

/// As of a store that was copied, and whose copy went its own way: number and store are the same.
#[test]
fn a_segment_of_another_copy_of_the_store_is_told() {
    let disk = SimDisk::new(0);
    let store = open(&disk, options());
    store.put_edge(1, 2, "knows", &[]).expect("it fits");
    store.close().expect("a good disk");
    let copies = [copy_of(&disk), copy_of(&disk)];
    let segments = copies.each_ref().map(|copy| {
        let store = open(copy, options());
        let neighbor = if std::ptr::eq(copy, &copies[0]) { 3 } else { 4 };
        store.put_edge(1, neighbor, "knows", &[]).expect("it fits");
        store.checkpoint().expect("a good disk");
        store.close().expect("a good disk");
        contents(copy).into_iter().find(|(path, _)| is_in(path, "segments")).expect("a segment")
    });
    assert_eq!((&segments[0].0, segments[0].1.len()), (&segments[1].0, segments[1].1.len()));
    copies[0].put(&segments[1].0, &segments[1].1).expect("a file");
    let error = refused(&copies[0], "a segment of the copy");
    assert!(error.to_string().contains("another segment"), "{error}");
    let report = check_on(on(&copies[0]), directory()).expect("it can be read");
    assert!(!report.is_healthy());
}

#[test]
fn missing_files_are_told() {
    for (disk, states) in [sample(), sample_with_history(), sample_with_ids_given_out_again()] {
        // Whoever had a cursor that is gone begins anew.
        for (path, bytes) in contents(&disk).into_iter().filter(|(path, _)| !is_in(path, "cursors")) {
            let lacking = copy_of(&disk);
            lacking.remove(&path).expect("a file");
            let what = format!("{} is missing", path.display());
            if shows_no_other_answer(&lacking, &states, &path, &what) {
                let report = check_on(on(&lacking), directory()).expect("it can be read");
                assert!(!report.is_healthy(), "{what}");
                continue;
            }
            let error = refused(&lacking, &what);
            assert!(matches!(error, OpenError::Corrupt(_)), "{what}: {error}");
            assert!(is_in(&path, "log") || error.to_string().contains("is missing"), "{error}");
            lacking.put(&path, &bytes).expect("a file");
            opens_as(&lacking, newest(&states), "put back");
        }
    }
}

/// Nothing outside of the log says what was in it since the store was opened, but for that nothing is taken back.
#[test]
fn of_a_store_that_was_not_closed_only_the_end_can_be_missed() {
    let (disk, mut states) = sample();
    let store = open(&disk, options());
    let opened = states.len() - 1;
    for key in 0..5 {
        store.put_edge(key, key + 3, "knows", &[]).expect("it fits");
        note(&store, &mut states);
    }
    let killed = copy_of(&disk);
    drop(store);
    let mut seen = BTreeSet::new();
    for (path, bytes) in contents(&killed).into_iter().filter(|(path, _)| is_in(path, "log")) {
        // Behind them is room for more.
        let records = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        for length in (0..records).step_by(40) {
            let damaged = copy_of(&killed);
            damaged.put(&path, &bytes[..length]).expect("a file");
            let Ok(store) = try_open(&damaged, options()) else { continue };
            let found = dump(&store.version().expect("open"));
            let at = states.iter().position(|(_, state)| *state == found).expect("a state there was");
            assert!(at >= opened, "{} cut to {length} bytes", path.display());
            seen.insert(at - opened);
            drop(store);
            // What was found is what it holds from now on.
            opens_as(&damaged, &found, "opened again");
        }
    }
    assert!(seen.iter().eq(&[0, 1, 2, 3, 4]), "all but the last: {seen:?}");
}

#[test]
fn files_that_nobody_names_are_left_out() {
    let (disk, states) = sample();
    let segments = directory().join("segments");
    disk.put(&segments.join("00000000000000ff.segment"), b"left over").expect("a file");
    disk.put(&segments.join("notes.txt"), b"not ours").expect("a file");
    disk.put(&directory().join("MANIFEST.tmp"), b"cut sh").expect("a file");
    drop(open(&disk, Options { read_only: true, ..options() }));
    assert_eq!(disk.list(&segments).expect("a directory").len(), 4, "a reader removes nothing");
    opens_as(&disk, newest(&states), "with files nobody names");
    let names = disk.list(&segments).expect("a directory");
    assert!(names.contains(&"notes.txt".to_owned()) && names.len() == 3, "{names:?}");
}

/// A file system of its own.
fn place() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn error_at(path: &Path, options: Options) -> OpenError {
    match Store::open(path, options) {
        Ok(_) => panic!("{} opened", path.display()),
        Err(error) => error,
    }
}

#[test]
fn a_directory_of_something_else_is_no_store() {
    let place = place();
    std::fs::write(place.path().join("thesis.tex"), "\\begin{document}").expect("a file");
    for read_only in [false, true] {
        let error = error_at(place.path(), Options { read_only, ..options() });
        assert!(matches!(error, OpenError::NotAStore { ref path } if path == place.path()), "{error}");
        assert!(error.to_string().contains("no Evergraph store"), "{error}");
    }
    assert_eq!(std::fs::read_dir(place.path()).expect("a directory").count(), 1, "nothing is added");
}

#[test]
fn a_plain_file_is_no_store() {
    let place = place();
    let file = place.path().join("net.eg");
    std::fs::write(&file, "0 1\n").expect("a file");
    for read_only in [false, true] {
        let error = error_at(&file, Options { read_only, ..options() });
        assert!(matches!(error, OpenError::NotADirectory { ref path } if *path == file), "{error}");
        let below = error_at(&file.join("deeper"), Options { read_only, ..options() });
        assert!(below.to_string().contains("net.eg"), "{below}");
    }
    assert_eq!(std::fs::read(&file).expect("a file"), b"0 1\n");
}

/// Nothing is made where the program happens to be.
#[test]
fn an_empty_path_is_no_store() {
    for read_only in [false, true] {
        let error = error_at(Path::new(""), Options { read_only, ..options() });
        assert!(matches!(error, OpenError::NoPath), "{error}");
    }
    let error = Store::in_memory(options()).backup(Path::new("")).expect_err("there is no such place");
    assert!(error.to_string().contains("name a directory"), "{error}");
    assert!(!Path::new("MANIFEST").exists() && !Path::new("segments").exists());
}

#[test]
fn a_store_to_be_read_must_be_there() {
    let place = place();
    let path = place.path().join("net.eg");
    let error = error_at(&path, Options { read_only: true, ..options() });
    assert!(matches!(error, OpenError::NotFound { path: ref named } if *named == path), "{error}");
    assert!(!path.exists());
    std::fs::create_dir(&path).expect("a directory");
    let error = error_at(&path, Options { read_only: true, ..options() });
    assert!(matches!(error, OpenError::NotFound { .. }), "{error}");
    assert_eq!(std::fs::read_dir(&path).expect("a directory").count(), 0);
    drop(Store::open(&path, options()).expect("an empty directory becomes a store"));
}

#[test]
fn who_has_the_store_open_is_named() {
    let place = place();
    let path = place.path().join("net.eg");
    let writer = Store::open(&path, options()).expect("new");
    writer.put_edge(1, 2, "knows", &[]).expect("it fits");
    for read_only in [false, true] {
        let error = error_at(&path, Options { read_only, ..options() });
        assert!(matches!(error, OpenError::Locked(_)), "{error}");
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    }
    // Handles of one store are one opener, and a snapshot is none.
    let handle = writer.clone();
    let version = writer.version().expect("open");
    drop(writer);
    assert!(matches!(error_at(&path, options()), OpenError::Locked(_)));
    drop(handle);
    let readers =
        [0; 3].map(|_| Store::open(&path, Options { read_only: true, ..options() }).expect("shared"));
    let error = error_at(&path, options());
    assert!(matches!(error, OpenError::Locked(_)), "{error}");
    drop(readers);
    let writer = Store::open(&path, options()).expect("nobody has it");
    assert_eq!(dump(&writer.version().expect("open")), dump(&version));
}

#[test]
fn a_store_keeps_the_kind_of_its_keys() {
    let (disk, states) = sample();
    for keys in [KeyKind::Text, KeyKind::Dense] {
        let error = open_error(&disk, Options { keys: Some(keys), ..options() });
        assert!(matches!(error, OpenError::Schema(_)), "{error}");
    }
    let store = open(&disk, Options { keys: Some(KeyKind::Int64), ..options() });
    assert_eq!(dump(&store.version().expect("open")), *newest(&states));
}
