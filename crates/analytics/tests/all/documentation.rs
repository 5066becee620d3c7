//! docs/algorithms.md is what the registry says. With `EVERGRAPH_WRITE_DOCS` set it is written instead of compared.

use std::fs;
use std::path::PathBuf;

use evergraph_analytics::{algorithms, documentation};

#[test]
fn the_page_is_up_to_date() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms.md");
    let page = documentation();
    if std::env::var_os("EVERGRAPH_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("the page is written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "write {} anew: set EVERGRAPH_WRITE_DOCS=1 and run this test", path.display());
}

#[test]
fn every_algorithm_has_a_section_with_its_arguments_and_results() {
    let page = documentation();
    for algorithm in algorithms() {
        let start = page.find(&format!("\n## {}\n", algorithm.name)).expect(algorithm.name);
        let section = page[start + 1..].split("\n## ").next().unwrap_or_default();
        let names = algorithm.arguments.iter().map(|argument| argument.name);
        for name in names.chain(algorithm.results.iter().map(|field| field.name)) {
            assert!(section.contains(&format!("| `{name}` |")), "{name} is not in {section}");
        }
        assert!(section.contains(algorithm.source) && section.contains(algorithm.complexity));
    }
}
