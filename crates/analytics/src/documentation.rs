//! The reference of all algorithms as Markdown, made from the registry, so that it says what the code does.
//!
//! Invariant: the page depends on the registry alone; a test compares it to docs/algorithms.md.

use std::fmt::Write;

use crate::incremental::incremental_algorithms;
use crate::registry::{Algorithm, Kind, algorithms};

const HEAD: &str = "\
# Algorithms

Every algorithm runs on any view and can be stopped. `evergraph run NAME DATABASE` runs one from the command line,
`evergraph::algorithms` has them in Rust; `--verify` checks the result with a slow and simple second method. Names, arguments,
defaults and results are those of NetworkX where it has the algorithm. V are vertices, E edges. Some follow a graph as it
changes: `evergraph::algorithms::incremental` has them in Rust, and they cost what a change affects.

This page is made from the code: `EVERGRAPH_WRITE_DOCS=1 cargo test -p evergraph-analytics --test documentation`.

| name | finds | work |
|---|---|---|
";

/// The reference page.
pub fn documentation() -> String {
    let mut page = HEAD.to_owned();
    for algorithm in algorithms() {
        let Algorithm { name, summary, complexity, .. } = algorithm;
        let _ = writeln!(page, "| [{name}](#{name}) | {} | {} |", cell(summary), cell(complexity));
    }
    for algorithm in algorithms() {
        section(&mut page, algorithm);
    }
    page
}

/// One algorithm. Writing to a string does not fail.
fn section(page: &mut String, algorithm: &Algorithm) {
    let Algorithm { name, summary, complexity, source, .. } = algorithm;
    let _ = write!(page, "\n## {name}\n\n{summary}.\n\nWork: {complexity}. Method: {source}.\n");
    if incremental_algorithms().contains(name) {
        page.push_str("Follows a graph as it changes, too.\n");
    }
    if !algorithm.arguments.is_empty() {
        page.push_str("\n| argument | takes | default | means |\n|---|---|---|---|\n");
    }
    for argument in algorithm.arguments {
        let default = argument.default.map_or("required", |default| default);
        let (name, kind, meaning) = (argument.name, takes(argument.kind), cell(argument.summary));
        let _ = writeln!(page, "| `{name}` | {kind} | {} | {meaning} |", cell(default));
    }
    page.push_str("\n| result | means |\n|---|---|\n");
    for field in algorithm.results {
        let _ = writeln!(page, "| `{}` | {} |", field.name, cell(field.summary));
    }
}

fn takes(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "yes or no",
        Kind::Count => "a whole number",
        Kind::Float => "a number",
        Kind::Text => "a name",
        Kind::Vertices => "a vertex or several",
        Kind::Weights => "a number for each vertex",
    }
}

/// Text that does not end its cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
