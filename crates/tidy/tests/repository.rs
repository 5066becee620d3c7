//! Every rule of this crate, applied to the whole repository. A failure lists `file:line: what, what to do`.

use std::fs;

use evergraph_tidy::{
    Finding, Kind, Source, arrows, length, links, modules, report, repository_root, sources, text, tokens,
};

fn all_sources() -> Vec<Source> {
    let found = sources(&repository_root()).expect("the repository can be read");
    assert!(found.len() > 20, "only {} files found: the walk is broken", found.len());
    found
}

fn rust_sources() -> Vec<Source> {
    all_sources().into_iter().filter(|source| source.kind == Kind::Rust).collect()
}

#[track_caller]
fn assert_tidy(findings: impl IntoIterator<Item = Finding>) {
    let findings: Vec<Finding> = findings.into_iter().collect();
    if let Some(report) = report(&findings) {
        panic!("{report}");
    }
}

#[test]
fn dependencies_follow_the_data_path() {
    let arrows = arrows::of_workspace(&repository_root()).expect("cargo metadata runs");
    assert_tidy(arrows::check(&arrows));
}

#[test]
fn text_is_clean() {
    assert_tidy(all_sources().iter().flat_map(text::check));
}

#[test]
fn files_open_with_documentation_and_faces_hold_nothing_else() {
    assert_tidy(rust_sources().iter().flat_map(modules::check));
}

#[test]
fn nothing_is_unfinished_and_unsafe_code_is_fenced() {
    let sources = rust_sources();
    assert_tidy(sources.iter().flat_map(tokens::check).chain(tokens::check_table(&sources)));
}

#[test]
fn functions_are_short() {
    let baseline =
        fs::read_to_string(repository_root().join(length::BASELINE)).expect("the baseline is there");
    assert_tidy(length::check(&rust_sources(), &baseline));
}

#[test]
fn links_lead_somewhere() {
    let root = repository_root();
    assert_tidy(all_sources().iter().flat_map(|source| links::check(source, &root)));
}
