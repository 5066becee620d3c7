//! A load that is interrupted anywhere and resumed ends with the graph of one that was not, and one in bounded memory with
//! that of one in memory.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use evergraph::load::{LoadOptions, NoProgress, Progress};
use evergraph::{
    Alteration, CommitError, Database, DatabaseLoadError, Direction, EdgeTypeOptions, GraphView, Key,
    KeyKind, LoadError, LoadReport, LoadRequest, Options, SchemaError, Store,
};
use evergraph_disk::{CrashPlan, SimDisk};

const LINES: usize = 600;

/// A file of edges with properties, some of them of a type that the first lines do not show.
fn text(lines: std::ops::Range<usize>) -> String {
    let mut text = String::new();
    for line in lines {
        let amount = if line > LINES / 2 { format!("{line}.5") } else { line.to_string() };
        writeln!(text, "{},\"v {}\",{amount}", line % 37, line % 11).unwrap();
    }
    text
}

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    match name.ends_with(".gz") {
        false => std::fs::write(&path, text).unwrap(),
        true => {
            let file = std::fs::File::create(&path).unwrap();
            let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
            packed.write_all(text.as_bytes()).unwrap();
            packed.finish().unwrap();
        }
    }
    path
}

/// Small blocks, so that the file has many windows, and a commit about every thousand bytes.
fn request(resume: bool) -> LoadRequest {
    let options = LoadOptions { block_bytes: 40, threads: Some(2), ..LoadOptions::default() };
    let create = Some(EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() });
    LoadRequest { options, create, resume, part_bytes: Some(1000), ..LoadRequest::default() }
}

/// Breaks at this call.
struct StopAt(usize, AtomicUsize);

impl Progress for StopAt {
    fn update(&self, _: u64, _: Option<u64>) -> ControlFlow<()> {
        let calls = self.1.fetch_add(1, Ordering::Relaxed);
        if calls == self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Every edge with its properties, by source, in the order of the lists.
fn edges(db: &Database) -> Vec<String> {
    let snapshot = db.snapshot().unwrap();
    let mut keys: Vec<Key> = (0..snapshot.id_bound()).map(|id| snapshot.whole().key(id)).collect();
    keys.sort_by_key(ToString::to_string);
    let mut found = Vec::new();
    for key in &keys {
        let neighbors = snapshot.neighbors(key, Direction::Out, None).unwrap();
        found.extend(neighbors.iter().map(|neighbor| format!("{key} -> {neighbor}")));
        for neighbor in &keys {
            let between = snapshot.edges_between(key, neighbor, None);
            found.extend(between.iter().map(|edge| format!("{key} -> {neighbor}: {:?}", edge.properties)));
        }
    }
    assert_eq!(found.len() as u64, 2 * snapshot.num_edges());
    found
}

fn load(db: &Database, path: &Path, resume: bool) -> Result<LoadReport, DatabaseLoadError> {
    db.load(path, &request(resume), &NoProgress)
}

#[test]
fn a_load_is_resumed_from_wherever_it_was_interrupted() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["edges.csv", "edges.csv.gz"] {
        let path = write(directory.path(), name, &format!("from,to,amount\n{}", text(0..LINES)));
        let whole = Database::in_memory(Options::default());
        assert_eq!(load(&whole, &path, false).unwrap().rows, LINES as u64);
        let expected = edges(&whole);
        let (mut interrupted, mut resumed) = (0, 0);
        for stop in (0..).step_by(7) {
            let home = directory.path().join(format!("{name}-{stop}.eg"));
            let open = || Database::open(&home, Options::default()).unwrap();
            let db = open();
            match db.load(&path, &request(true), &StopAt(stop, AtomicUsize::new(0))) {
                Err(
                    DatabaseLoadError::Read(LoadError::Cancelled { .. })
                    | DatabaseLoadError::Commit(CommitError::Cancelled),
                ) => interrupted += 1,
                outcome => {
                    outcome.unwrap();
                    break;
                }
            }
            let before = db.snapshot().unwrap().num_edges();
            db.close().unwrap();
            let db = open();
            let report = load(&db, &path, true).unwrap();
            assert_eq!((report.edges + before, report.lines), (LINES as u64, LINES as u64 + 1));
            resumed += usize::from(report.resumed_lines > 0);
            assert_eq!(edges(&db), expected, "{name}, stopped at {stop}");
            assert_eq!(load(&db, &path, true).unwrap().rows, 0);
        }
        assert!(interrupted > 5 && resumed > 2, "{interrupted} and {resumed}");
    }
}

#[test]
fn what_is_appended_is_loaded_and_what_is_changed_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["edges.csv", "edges.csv.gz"] {
        let db = Database::in_memory(Options::default());
        let header = "from,to,amount\n";
        let path = write(directory.path(), name, &format!("{header}{}", text(0..400)));
        assert_eq!(load(&db, &path, true).unwrap().rows, 400);
        write(directory.path(), name, &format!("{header}{}", text(0..450)));
        let report = load(&db, &path, true).unwrap();
        assert_eq!((report.rows, report.resumed_lines, report.lines), (50, 401, 451));
        for changed in [text(1..460), text(0..460).replacen("3,", "4,", 1), text(0..300), text(0..450) + "1"]
        {
            write(directory.path(), name, &format!("{header}{changed}"));
            let outcome = load(&db, &path, true);
            match changed.ends_with('1') {
                // The last line was whole, and so is the one begun behind it: it is no edge.
                true => assert!(matches!(outcome, Err(DatabaseLoadError::Read(LoadError::Line { .. })))),
                false => {
                    let changed = matches!(outcome, Err(DatabaseLoadError::Read(LoadError::Changed { .. })));
                    assert!(changed, "{name}: {outcome:?}");
                }
            }
            assert_eq!(db.snapshot().unwrap().num_edges(), 450);
        }
    }
}

#[test]
fn a_last_line_without_an_end_is_not_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::in_memory(Options::default());
    let path = write(directory.path(), "edges.txt", "1 2\n3 4");
    let request = LoadRequest { resume: true, ..LoadRequest::default() };
    assert_eq!(db.load(&path, &request, &NoProgress).unwrap().edges, 2);
    assert_eq!(db.load(&path, &request, &NoProgress).unwrap().edges, 0);
    write(directory.path(), "edges.txt", "1 2\n3 45\n");
    let error = db.load(&path, &request, &NoProgress).unwrap_err();
    assert!(matches!(error, DatabaseLoadError::Read(LoadError::Unended { offset: 7, .. })), "{error}");
}

#[test]
fn a_load_in_bounded_memory_gives_the_same_graph() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "edges.csv", &format!("from,to,amount\n{}", text(0..LINES)));
    let mut found = Vec::new();
    for memory_limit_bytes in [None, Some(4000)] {
        let home = directory.path().join(format!("{memory_limit_bytes:?}.eg"));
        let options = Options { memory_limit_bytes, bulk_edges: 100, ..Options::default() };
        let db = Database::open(home, options).unwrap();
        let report = load(&db, &path, false).unwrap();
        assert_eq!((report.rows, report.edges, report.sequence), (LINES as u64, LINES as u64, 1));
        found.push(edges(&db));
    }
    assert!(found[0].len() >= LINES);
    let other = found[0].iter().zip(&found[1]).find(|(left, right)| left != right);
    assert_eq!((other, found[0].len()), (None, found[1].len()));
}

/// The number of edges of a type.
fn edges_of(db: &Database, edge_type: &str) -> u64 {
    let stats = db.stats();
    stats.edge_types.iter().find(|found| found.name == edge_type).map_or(0, |found| found.edges)
}

#[test]
fn the_place_belongs_to_the_edge_type_whatever_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "edges.txt", "1 2\n2 3\n");
    let home = directory.path().join("net.eg");
    let open = || Database::open(&home, Options::default()).unwrap();
    let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
    let load = |db: &Database, edge_type: &str| {
        let (edge_type, create) = (edge_type.to_owned(), Some(multi.clone()));
        let request = LoadRequest { edge_type, create, resume: true, ..LoadRequest::default() };
        db.load(&path, &request, &NoProgress).unwrap().edges
    };
    let drop_type = |db: &Database, name: &str| {
        db.alter(&Alteration::DropEdgeType { name: name.to_owned() }).unwrap();
    };
    let mut db = open();
    assert_eq!((load(&db, "sent"), load(&db, "sent")), (2, 0));
    let (name, new_name) = ("sent".to_owned(), "paid".to_owned());
    db.alter(&Alteration::RenameEdgeType { name, new_name }).unwrap();
    assert_eq!((load(&db, "paid"), edges_of(&db, "paid")), (0, 2), "it has them under another name");
    assert_eq!((load(&db, "sent"), edges_of(&db, "sent")), (2, 2), "it is another one of an old name");
    drop_type(&db, "paid");
    drop_type(&db, "sent");
    assert!(db.version().unwrap().items("edge_type/").is_empty(), "places go with their types");
    db.close().unwrap();
    db = open();
    assert!(db.version().unwrap().items("edge_type/").is_empty());
    assert_eq!(
        (load(&db, "paid"), load(&db, "paid"), edges_of(&db, "paid")),
        (2, 0, 2),
        "none of it was there"
    );
    drop_type(&db, "paid");
    db.create_edge_type("paid", multi.clone()).unwrap();
    assert_eq!((load(&db, "paid"), edges_of(&db, "paid")), (2, 2), "made again it is another one");
}

/// Waits a little for another thread wherever two parts of a load are committed and it is not done.
struct WaitForOther<'a> {
    db: &'a Database,
    is_done: &'a AtomicBool,
}

impl Progress for WaitForOther<'_> {
    fn update(&self, _: u64, _: Option<u64>) -> ControlFlow<()> {
        if self.db.version().unwrap().sequence() > 1 && !self.is_done.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn a_load_whose_edge_type_is_renamed_between_parts_goes_to_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "edges.csv", &format!("from,to,amount\n{}", text(0..LINES)));
    let whole = Database::in_memory(Options::default());
    load(&whole, &path, false).unwrap();
    let (name, new_name) = ("sent".to_owned(), "paid".to_owned());
    let rename = Alteration::RenameEdgeType { name: name.clone(), new_name };
    let request = |edge_type: &str| LoadRequest { edge_type: edge_type.to_owned(), ..request(true) };
    for (alteration, memory_limit_bytes) in
        [(rename.clone(), None), (rename, Some(4000)), (Alteration::DropEdgeType { name }, None)]
    {
        let is_renamed = matches!(alteration, Alteration::RenameEdgeType { .. });
        let home = directory.path().join(format!("{is_renamed} {memory_limit_bytes:?}.eg"));
        let db = Database::open(home, Options { memory_limit_bytes, ..Options::default() }).unwrap();
        let is_done = AtomicBool::new(false);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                while db.version().unwrap().sequence() < 2 {
                    std::thread::yield_now();
                }
                db.alter(&alteration).unwrap();
                is_done.store(true, Ordering::Relaxed);
            });
            let progress = WaitForOther { db: &db, is_done: &is_done };
            db.load(&path, &request("sent"), &progress).unwrap_err()
        });
        let is_gone =
            matches!(error, DatabaseLoadError::Commit(CommitError::Schema(SchemaError::EdgeTypeGone { .. })));
        assert!(is_gone, "{error}");
        let (loaded, total) = (edges_of(&db, "paid"), db.snapshot().unwrap().num_edges());
        assert!(loaded == total && (loaded > 0) == is_renamed, "{loaded} of {total}");
        if is_renamed {
            let report = db.load(&path, &request("paid"), &NoProgress).unwrap();
            assert_eq!(report.edges + loaded, LINES as u64);
            assert_eq!(edges(&db), edges(&whole));
        }
    }
}

#[test]
fn another_file_of_the_same_name_is_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::in_memory(Options::default());
    let request = LoadRequest { resume: true, ..LoadRequest::default() };
    for (place, text) in [("one", "1 2\n2 3\n"), ("other", "7 8\n8 9\n9 10\n")] {
        std::fs::create_dir(directory.path().join(place)).unwrap();
        let path = write(&directory.path().join(place), "edges.txt", text);
        match db.load(&path, &request, &NoProgress) {
            Err(error) => assert!(error.to_string().contains("from a file of this name"), "{error}"),
            Ok(report) => assert_eq!((place, report.edges), ("one", 2)),
        }
    }
    assert_eq!(db.snapshot().unwrap().num_edges(), 2);
}

/// The plain loss of power, the luckiest one, and one by chance.
fn plans(operation: u64) -> [CrashPlan; 3] {
    [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced, CrashPlan::Random(operation)]
}

/// What a load that lost power left, resumed. Gives how many lines were there.
fn resume_after_crash(db: &Database, path: &Path, expected: &[String], what: &str) -> u64 {
    let before = db.snapshot().unwrap().num_edges();
    let report = load(db, path, true).unwrap_or_else(|error| panic!("{what}: {error}"));
    // Behind the header.
    assert_eq!(report.resumed_lines.saturating_sub(1), before, "{what}: edges and place come together");
    assert_eq!(report.edges + before, LINES as u64, "{what}");
    assert_eq!(edges(db), expected, "{what}");
    before
}

/// In the log, in segments of memory's making, and in segments that files were merged to.
#[test]
fn a_load_that_lost_power_anywhere_is_resumed_from_a_part() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "edges.csv", &format!("from,to,amount\n{}", text(0..LINES)));
    let whole = Database::in_memory(Options::default());
    assert_eq!(load(&whole, &path, false).unwrap().rows, LINES as u64);
    let expected = edges(&whole);
    // Segments take many operations a part, so that each seventh of them will do.
    for (bulk_edges, memory_limit_bytes, step) in [(usize::MAX, None, 1), (20, None, 7), (20, Some(4000), 7)]
    {
        let options = || Options { bulk_edges, memory_limit_bytes, background: false, ..Options::default() };
        let open = |disk: &SimDisk| {
            let store = Store::open_on(Arc::new(disk.clone()), Path::new("/net.eg"), options());
            Database::from(store.unwrap_or_else(|error| panic!("{error}")))
        };
        let disk = SimDisk::new(0);
        let db = open(&disk);
        let begun = disk.operations();
        assert_eq!(load(&db, &path, true).unwrap().rows, LINES as u64);
        assert_eq!(edges(&db), expected);
        drop(db);
        let (mut replay, mut seen, mut places) = (disk.replay(), HashSet::new(), BTreeSet::new());
        loop {
            let operation = replay.operations();
            let is_looked_at = operation >= begun && operation.is_multiple_of(step);
            for plan in plans(operation).into_iter().filter(|_| is_looked_at) {
                let crashed = replay.crash(plan);
                if seen.insert(crashed.digest()) {
                    let what =
                        format!("{bulk_edges}, {memory_limit_bytes:?}, operation {operation}, {plan:?}");
                    places.insert(resume_after_crash(&open(&crashed), &path, &expected, &what));
                }
            }
            if !replay.advance() {
                break;
            }
        }
        assert!(seen.len() > 15 && places.len() > 5, "{} disks, {places:?}", seen.len());
    }
}

#[test]
fn what_comes_before_damage_is_loaded_if_types_are_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "edges.txt", &format!("{}3 x\n", "1 2\n".repeat(1000)));
    for keys in [None, Some(KeyKind::Int64)] {
        let db = Database::in_memory(Options::default());
        let mut request = request(true);
        request.options = LoadOptions { keys, ..request.options };
        let outcome = db.load(&path, &request, &NoProgress);
        match keys {
            // The key that is no number makes all of them text.
            None => assert_eq!(outcome.unwrap().rows, 1001),
            Some(_) => {
                assert!(matches!(outcome, Err(DatabaseLoadError::Read(LoadError::Line { line: 1001, .. }))));
                assert!(db.snapshot().unwrap().num_edges() >= 750, "{:?}", db.stats());
            }
        }
    }
    write(directory.path(), "edges.txt", &format!("{}3\n", "1 2\n".repeat(1000)));
    let db = Database::in_memory(Options::default());
    let outcome = db.load(&path, &request(true), &NoProgress);
    assert!(matches!(outcome, Err(DatabaseLoadError::Read(LoadError::Line { line: 1001, .. }))));
    assert_eq!(db.snapshot().unwrap().num_edges(), 0);
}
