//! `evergraph info`.

use evergraph::{Database, Options};

use crate::shell::Shell;

const PEOPLE: &str = "src,dst,since\nann,bea,2019\nbea,cat,2021\n";

#[test]
fn a_store_is_described() {
    let shell = Shell::new().store("net.eg", PEOPLE);
    let info = shell.json(&["info", "net.eg", "--json"]);
    assert_eq!((&info["vertices"], &info["edges"], &info["version"]), (&3.into(), &2.into(), &1.into()));
    assert_eq!(info["keys"], "string");
    let expected = serde_json::json!([{
        "name": "edge", "edges": 2, "multi": false, "symmetric": false, "time": null,
        "properties": [{"name": "since", "type": "int64"}],
    }]);
    assert_eq!(info["edge_types"], expected);
    assert!(info["disk_bytes"].as_u64().unwrap() > 0, "{info}");
}

#[test]
fn people_get_the_same_in_words() {
    let done = Shell::new().store("net.eg", PEOPLE).run(&["info", "net.eg"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    for expected in
        ["vertices           3", "keys               string", "edge           2  simple  since: int64"]
    {
        assert!(done.stdout.contains(expected), "{expected:?} is not in {}", done.stdout);
    }
}

#[test]
fn a_store_that_is_not_there_is_not_created() {
    let shell = Shell::new();
    let message = shell.refused(&["info", "net.eg"], 1);
    assert!(message.contains("no store at net.eg") && message.contains("evergraph load"), "{message}");
    assert!(!shell.path("net.eg").exists());
}

/// Keys and the index of lists are needed as lists are; where there are no edges, nothing is told for each of them.
#[test]
fn what_is_needed_is_no_waste() {
    let rows: String =
        (0..2000).map(|row| format!("person number {row},person number {}\n", row + 1)).collect();
    let shell = Shell::new().store("net.eg", &format!("src,dst\n{rows}"));
    Database::open(shell.path("net.eg"), Options::default()).unwrap().compact().unwrap();
    let layout = |shell: &Shell| shell.json(&["info", "net.eg", "--layout", "--json"])["layout"].clone();
    let full = layout(&shell);
    let amplification = full["space_amplification"].as_f64().unwrap();
    assert!((1.0..1.05).contains(&amplification), "{full}");
    assert!(full["levels"][1]["other_bytes"].as_u64() > full["levels"][1]["live_bytes"].as_u64(), "{full}");

    let shell = Shell::new();
    Database::open(shell.path("net.eg"), Options::default()).unwrap().close().unwrap();
    let empty = shell.run(&["info", "net.eg", "--layout", "--svg", "net.svg"]);
    assert_eq!((empty.code, empty.stderr.as_str()), (0, ""));
    let svg = std::fs::read_to_string(shell.path("net.svg")).unwrap();
    assert!(svg.contains("no edges") && svg.contains("– bytes per entry"), "{svg}");
    assert!(layout(&shell)["bytes_per_entry"].is_null());
}
