//! A real graph all the way: file, store, snapshot, algorithms, table, file; and again after the store was reopened.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use evergraph::algorithms::{
    BfsOptions, Control, PageRankOptions, bfs, connected_components, pagerank, triangle_count,
};
use evergraph::load::{Format, NoProgress, WriteOptions};
use evergraph::{Database, Direction, EdgeTypeOptions, GraphView, LoadRequest, Options, Snapshot, export};

const VERTICES: u64 = 7_115;
const EDGES: u64 = 103_689;
const TRIANGLES: u64 = 608_389;
const LARGEST_COMPONENT: usize = 7_066;

fn wiki_vote() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/wiki-Vote.txt.gz")
}

fn load(db: &Database) {
    let report = db.load(wiki_vote(), &LoadRequest::default(), &NoProgress).unwrap();
    assert_eq!((report.edges, report.rows, report.vertices), (EDGES, EDGES, VERTICES));
    assert_eq!((report.lines, report.rejects.count), (EDGES + 3, 0));
    assert_eq!(report.sequence, db.snapshot().unwrap().version());
    assert_eq!(report.format, Format::EdgeList);
}

fn largest_component(snapshot: &Snapshot) -> usize {
    let components = connected_components(snapshot, &Control::new()).unwrap();
    let mut sizes: HashMap<u32, usize> = HashMap::new();
    snapshot
        .vertex_ids()
        .iter()
        .for_each(|&id| *sizes.entry(components.labels[id as usize]).or_default() += 1);
    sizes.into_values().max().unwrap()
}

/// The published facts, and some that a few lines of Python found in the file.
fn check(snapshot: &Snapshot) {
    assert_eq!((snapshot.num_vertices(), snapshot.num_edges()), (VERTICES, EDGES));
    assert_eq!(triangle_count(snapshot, &Control::new()).unwrap(), TRIANGLES);
    assert_eq!(largest_component(snapshot), LARGEST_COMPONENT);
    assert_eq!(snapshot.degree_of(30, Direction::Out, None), Some(5));
    assert_eq!(snapshot.degree_of(2565, Direction::Out, None), Some(893));
    assert!(snapshot.has_edge(30, 1412, Some("edge")) && !snapshot.has_edge(1412, 30, None));
    let ranks = pagerank(snapshot, &PageRankOptions::default(), &Control::new()).unwrap();
    let best = snapshot
        .vertex_ids()
        .into_iter()
        .max_by(|left, right| ranks.scores[*left as usize].total_cmp(&ranks.scores[*right as usize]));
    assert_eq!(snapshot.key(best.unwrap()), 4037.into());
    let reached = bfs(snapshot, &[snapshot.vertex_id(30).unwrap()], &BfsOptions::default(), &Control::new());
    assert_eq!(reached.unwrap().reached, 2_316);
    let table = snapshot.edge_table();
    assert_eq!((table.num_rows() as u64, table.num_columns()), (EDGES, 2));
    assert_eq!(snapshot.vertex_table().num_rows() as u64, VERTICES);
    assert_eq!(snapshot.to_csr(Direction::In).indices.len() as u64, EDGES);
}

#[test]
fn the_published_facts_hold_in_memory() {
    let db = Database::in_memory(Options::default());
    load(&db);
    check(&db.snapshot().unwrap());
}

#[test]
fn they_hold_after_closing_compacting_and_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wiki.eg");
    let db = Database::open(&path, Options::default()).unwrap();
    load(&db);
    let before = db.snapshot().unwrap();
    db.close().unwrap();
    check(&before);
    let db = Database::open(&path, Options::default()).unwrap();
    check(&db.snapshot().unwrap());
    assert_eq!(db.snapshot().unwrap().edge_table(), before.edge_table());
    db.compact().unwrap();
    check(&db.snapshot().unwrap());
    db.close().unwrap();
    let db = Database::open(&path, Options { read_only: true, ..Options::default() }).unwrap();
    check(&db.snapshot().unwrap());
    assert_eq!(db.snapshot().unwrap().edge_table(), before.edge_table());
}

#[test]
fn a_symmetric_type_holds_the_undirected_graph() {
    let db = Database::in_memory(Options::default());
    let options = EdgeTypeOptions { symmetric: true, ..EdgeTypeOptions::default() };
    db.create_edge_type("edge", options).unwrap();
    let report = db.load(wiki_vote(), &LoadRequest::default(), &NoProgress).unwrap();
    let snapshot = db.snapshot().unwrap();
    // 2,927 pairs voted for each other, and those are one edge each.
    assert_eq!((report.edges, report.rows), (EDGES - 2_927, EDGES));
    assert_eq!(snapshot.num_edges(), report.edges);
    assert!(snapshot.is_symmetric());
    assert_eq!(snapshot.edge_table().num_rows() as u64, report.edges);
    assert_eq!(snapshot.to_csr(Direction::Out), snapshot.to_csr(Direction::In));
    assert_eq!(triangle_count(&snapshot, &Control::new()).unwrap(), TRIANGLES);
    assert_eq!(largest_component(&snapshot), LARGEST_COMPONENT);
}

#[test]
fn what_is_exported_loads_to_the_same_graph() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wiki.txt");
    let db = Database::in_memory(Options::default());
    load(&db);
    let mut text = Vec::new();
    let options = WriteOptions { format: Format::EdgeList, ..WriteOptions::default() };
    assert_eq!(export(&db.snapshot().unwrap(), &mut text, &options).unwrap(), EDGES);
    std::fs::write(&path, text).unwrap();
    let again = Database::in_memory(Options::default());
    again.load(&path, &LoadRequest::default(), &NoProgress).unwrap();
    check(&again.snapshot().unwrap());
}
