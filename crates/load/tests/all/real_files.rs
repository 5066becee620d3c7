//! The real graphs in `tests/data` of the repository, with their published numbers.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use evergraph_load::{ColumnRef, LoadOptions, NoProgress, ParsedEdges, PropertySpec, read_edges};
use evergraph_types::{KeyKind, KeyRef, Value};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

fn edges(parsed: &ParsedEdges) -> HashSet<(KeyRef<'_>, KeyRef<'_>)> {
    parsed
        .parts
        .iter()
        .flat_map(|part| (0..part.len()).map(|row| (part.src.get(row), part.dst.get(row))))
        .collect()
}

fn vertices(parsed: &ParsedEdges) -> usize {
    edges(parsed).into_iter().flat_map(|(src, dst)| [src, dst]).collect::<HashSet<_>>().len()
}

#[test]
fn wiki_vote() {
    let parsed = read_edges(&data("wiki-Vote.txt.gz"), &LoadOptions::default(), &NoProgress).unwrap();
    assert_eq!((parsed.edges(), parsed.lines, parsed.keys), (103_689, 103_692, KeyKind::Int64));
    assert_eq!((edges(&parsed).len(), vertices(&parsed)), (103_689, 7_115));
}

#[test]
fn college_messages() {
    let time = PropertySpec { column: ColumnRef::Index(2), name: "time".to_owned(), kind: None };
    let options = LoadOptions { properties: Some(vec![time]), ..LoadOptions::default() };
    let parsed = read_edges(&data("CollegeMsg.txt.gz"), &options, &NoProgress).unwrap();
    assert_eq!((parsed.edges(), parsed.lines), (59_835, 59_835));
    assert_eq!((edges(&parsed).len(), vertices(&parsed)), (20_296, 1_899));
    let first = &parsed.parts[0].columns[0];
    assert_eq!((first.0.as_str(), first.1.get(0)), ("time", Value::Int(1_082_040_961)));
}
