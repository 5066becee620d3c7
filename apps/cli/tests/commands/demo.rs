//! `evergraph demo`: the whole story, for machines and for people.

use crate::shell::Shell;

#[test]
fn everything_is_as_promised() {
    let shell = Shell::new();
    let report = shell.json(&["demo", "--json", "--keep", "stage"]);
    assert_eq!(report["as_promised"], true, "{report}");
    for fact in [
        &report["votes"]["triangles"],
        &report["votes"]["largest_component"],
        &report["messages"]["messages"],
    ] {
        assert_eq!(fact["found"], fact["published"], "{report}");
    }
    assert_eq!(report["kill"]["lost"], 0);
    assert!(report["kill"]["acknowledged"].as_u64().unwrap() > 0, "{report}");
    // What is suggested next works on what was kept.
    let info = shell.json(&["info", "stage/votes.eg", "--json"]);
    assert_eq!(info["edges"], 103_689);
    assert!(shell.refused(&["demo", "--keep", "stage"], 1).contains("stage"));
}
