//! Loading fits a file to the store it goes to, and changes nothing if it cannot.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::ops::ControlFlow;
use std::path::PathBuf;

use evergraph::load::{ColumnRef, LoadOptions, NoProgress, OnError, Progress, PropertySpec};
use evergraph::{
    CommitError, Database, DatabaseLoadError, Direction, EdgeTypeOptions, GraphView, Key, KeyKind, LoadError,
    LoadReport, LoadRequest, Options, Property, PropertyType, SchemaError, Value,
};

struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Files { directory: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn request(edge_type: &str) -> LoadRequest {
    LoadRequest { edge_type: edge_type.to_owned(), ..LoadRequest::default() }
}

fn load(db: &Database, path: &PathBuf, edge_type: &str) -> Result<LoadReport, DatabaseLoadError> {
    db.load(path, &request(edge_type), &NoProgress)
}

fn with_properties(edge_type: &str, properties: &[(&str, PropertyType)]) -> Database {
    let db = Database::in_memory(Options::default());
    let property = |&(name, kind): &(&str, PropertyType)| Property { name: name.to_owned(), kind };
    let properties = properties.iter().map(property).collect();
    db.create_edge_type(edge_type, EdgeTypeOptions { properties, ..EdgeTypeOptions::default() }).unwrap();
    db
}

#[test]
fn numbers_are_strings_where_the_store_has_string_keys() {
    let files = Files::new();
    let db = Database::in_memory(Options::default());
    load(&db, &files.write("names.txt", "alice bob\n"), "edge").unwrap();
    load(&db, &files.write("numbers.txt", "1 2\n2 alice\n"), "edge").unwrap();
    load(&db, &files.write("only numbers.txt", "1 3\n"), "edge").unwrap();
    let neighbors = db.snapshot().unwrap().neighbors("1", Direction::Out, None);
    assert_eq!(neighbors, Some(vec![Key::from("2"), Key::from("3")]));
}

#[test]
fn a_word_among_number_keys_is_an_error_with_its_line() {
    let files = Files::new();
    let db = Database::in_memory(Options::default());
    load(&db, &files.write("numbers.txt", "1 2\n"), "edge").unwrap();
    let error = load(&db, &files.write("names.txt", "3 4\n3 bob\n"), "edge").unwrap_err();
    assert!(matches!(error, DatabaseLoadError::Read(LoadError::Line { line: 2, .. })), "{error}");
    assert_eq!(db.snapshot().unwrap().num_vertices(), 2);
}

#[test]
fn keys_said_to_be_of_another_kind_are_refused() {
    let files = Files::new();
    let db = Database::in_memory(Options::default());
    let path = files.write("numbers.txt", "1 2\n");
    load(&db, &path, "edge").unwrap();
    let with = |db: &Database, keys| {
        let options = LoadOptions { keys: Some(keys), ..LoadOptions::default() };
        let loaded = db.load(&path, &LoadRequest { options, ..LoadRequest::default() }, &NoProgress);
        loaded.map(|report| report.rows).map_err(|error| error.to_string())
    };
    assert_eq!(with(&db, KeyKind::Int64), Ok(1));
    for (wanted, name) in [(KeyKind::Text, "string"), (KeyKind::Dense, "dense")] {
        let message = with(&db, wanted).unwrap_err();
        assert!(message.starts_with(&format!("keys=\"{name}\" is asked for")), "{message}");
        assert!(message.contains("of kind int64"), "{message}");
    }
    let opened_for_dense = Database::in_memory(Options { keys: Some(KeyKind::Dense), ..Options::default() });
    assert!(with(&opened_for_dense, KeyKind::Int64).unwrap_err().contains("of kind dense"));
    assert_eq!(with(&opened_for_dense, KeyKind::Dense), Ok(1));
}

#[test]
fn a_store_is_not_opened_for_another_kind_of_keys() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("net.eg");
    let open = |keys, read_only| Database::open(&path, Options { keys, read_only, ..Options::default() });
    // The kind is in the log only.
    let db = open(None, false).unwrap();
    db.put_edge(1, 2, "edge", &[]).unwrap();
    drop(db);
    for read_only in [false, true] {
        let message = open(Some(KeyKind::Dense), read_only).unwrap_err().to_string();
        assert!(message.contains("keys=\"dense\"") && message.contains("of kind int64"), "{message}");
        assert!(open(Some(KeyKind::Int64), read_only).is_ok());
    }
}

#[test]
fn the_time_of_a_new_type_is_among_what_is_loaded() {
    let files = Files::new();
    let path = files.write("events.csv", "src,dst,at\n1,2,5\n");
    let load = |resume: bool, time: &str| {
        let db = Database::in_memory(Options::default());
        let create = EdgeTypeOptions { time: Some(time.to_owned()), ..EdgeTypeOptions::default() };
        let request = LoadRequest { create: Some(create), resume, ..LoadRequest::default() };
        let loaded = db.load(&path, &request, &NoProgress);
        (loaded.map(|report| report.rows).map_err(|error| error.to_string()), db)
    };
    for resume in [false, true] {
        let (refused, db) = load(resume, "nope");
        let message = refused.unwrap_err();
        assert!(
            message.contains("time: no property \"nope\" is loaded") && message.contains("[\"at\"]"),
            "{message}"
        );
        assert!(db.snapshot().unwrap().schema().edge_types.is_empty());
        assert_eq!(load(resume, "at").0, Ok(1));
    }
}

#[test]
fn properties_are_read_as_the_types_they_have() {
    let files = Files::new();
    let kinds =
        [("zip", PropertyType::String), ("amount", PropertyType::Float64), ("at", PropertyType::Timestamp)];
    let db = with_properties("pays", &kinds);
    let path = files.write("pays.csv", "src,dst,zip,amount,at,note\n1,2,01234,10,5,7\n");
    load(&db, &path, "pays").unwrap();
    let edges = db.snapshot().unwrap().edges_between(1, 2, None);
    let expected = [
        ("zip", Value::from("01234")),
        ("amount", Value::Float(10.0)),
        ("at", Value::Timestamp(5)),
        ("note", Value::Int(7)),
    ];
    assert_eq!(edges[0].properties, expected.map(|(name, value)| (name.to_owned(), value)));
}

#[test]
fn chosen_properties_are_read_as_the_types_they_have() {
    let files = Files::new();
    let db = with_properties("pays", &[("code", PropertyType::String)]);
    let spec = PropertySpec { column: ColumnRef::Index(2), name: "code".to_owned(), kind: None };
    let options = LoadOptions { properties: Some(vec![spec]), ..LoadOptions::default() };
    let request = LoadRequest { edge_type: "pays".to_owned(), options, ..LoadRequest::default() };
    db.load(files.write("pays.txt", "1 2 007\n"), &request, &NoProgress).unwrap();
    assert_eq!(db.snapshot().unwrap().edges_between(1, 2, None)[0].properties[0].1, Value::from("007"));
}

#[test]
fn a_value_that_does_not_fit_is_an_error_with_its_line() {
    let files = Files::new();
    let db = with_properties("pays", &[("amount", PropertyType::Float64)]);
    let path = files.write("pays.csv", "src,dst,amount\n1,2,3.5\n2,3,much\n");
    let error = load(&db, &path, "pays").unwrap_err();
    assert!(matches!(error, DatabaseLoadError::Read(LoadError::Line { line: 3, .. })), "{error}");
    assert_eq!(db.snapshot().unwrap().num_vertices(), 0);
    let options = LoadOptions { on_error: OnError::Skip, ..LoadOptions::default() };
    let request = LoadRequest { edge_type: "pays".to_owned(), options, ..LoadRequest::default() };
    let report = db.load(&path, &request, &NoProgress).unwrap();
    assert_eq!((report.rows, report.edges, report.rejects.count), (1, 1, 1));
    assert_eq!(report.rejects.kept[0].line, 3);
}

#[test]
fn loading_again_adds_to_multi_types_only() {
    let files = Files::new();
    let path = files.write("edges.txt", "1 2\n1 2\n2 3\n");
    let db = Database::in_memory(Options::default());
    let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
    db.create_edge_type("event", multi).unwrap();
    let counts = |edge_type| {
        let report = load(&db, &path, edge_type).unwrap();
        (report.rows, report.edges, report.vertices)
    };
    assert_eq!([counts("edge"), counts("edge")], [(3, 2, 3), (3, 0, 0)]);
    assert_eq!([counts("event"), counts("event")], [(3, 3, 0), (3, 3, 0)]);
    assert_eq!(db.snapshot().unwrap().num_edges(), 2 + 6);
}

#[test]
fn an_edge_type_is_made_as_the_request_says() {
    let files = Files::new();
    let path = files.write("edges.csv", "src,dst,zip\n1,2,01\n1,2,02\n");
    let db = Database::in_memory(Options::default());
    let properties = vec![Property { name: "zip".to_owned(), kind: PropertyType::String }];
    let multi = EdgeTypeOptions { multi: true, properties, ..EdgeTypeOptions::default() };
    let create = |create| LoadRequest { create: Some(create), ..LoadRequest::default() };
    for _ in 0..2 {
        assert_eq!(db.load(&path, &create(multi.clone()), &NoProgress).unwrap().edges, 2);
    }
    let edges = db.snapshot().unwrap().edges_between(1, 2, None);
    assert_eq!((edges.len(), &edges[1].properties[0].1), (4, &Value::from("02")));
    let error = db.load(&path, &create(EdgeTypeOptions::default()), &NoProgress).unwrap_err();
    assert!(matches!(error, DatabaseLoadError::Commit(CommitError::Schema(SchemaError::TypeExists { .. }))));
}

#[test]
fn an_edge_type_is_not_made_for_a_load_that_fails() {
    let files = Files::new();
    let name = "x".repeat(300);
    let path = files.write("edges.csv", &format!("src,dst,{name}\n1,2,3\n"));
    let db = Database::in_memory(Options::default());
    let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
    for create in [None, Some(multi)] {
        let request = LoadRequest { create, ..LoadRequest::default() };
        let error = db.load(&path, &request, &NoProgress).unwrap_err();
        assert!(matches!(error, DatabaseLoadError::Commit(CommitError::Schema(SchemaError::BadName { .. }))));
        assert_eq!(db.snapshot().unwrap().version(), 0);
        assert!(db.snapshot().unwrap().edge_types().is_empty());
    }
}

struct StopAtOnce;

impl Progress for StopAtOnce {
    fn update(&self, _: u64, _: Option<u64>) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

#[test]
fn a_cancelled_load_leaves_nothing() {
    let files = Files::new();
    let db = Database::in_memory(Options::default());
    let error = db.load(files.write("a.txt", "1 2\n"), &request("edge"), &StopAtOnce).unwrap_err();
    assert!(matches!(error, DatabaseLoadError::Read(LoadError::Cancelled { .. })));
    assert_eq!(db.snapshot().unwrap().version(), 0);
}

#[test]
fn stores_that_cannot_be_written_refuse_before_reading() {
    let files = Files::new();
    let path = files.write("a.txt", "1 2\n");
    let home = files.directory.path().join("a.eg");
    let db = Database::open(&home, Options::default()).unwrap();
    db.close().unwrap();
    let error = load(&db, &path, "edge").unwrap_err();
    assert!(matches!(error, DatabaseLoadError::Commit(CommitError::Closed(_))));
    let db = Database::open(&home, Options { read_only: true, ..Options::default() }).unwrap();
    let error = load(&db, &path, "edge").unwrap_err();
    assert!(matches!(error, DatabaseLoadError::Commit(CommitError::ReadOnly)));
}
