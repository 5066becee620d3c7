//! `evergraph views`, and algorithms confined to one.

use crate::shell::Shell;

const ROADS: &str = "src,dst,length\n1,2,5\n2,3,7\n3,1,2\n3,4,9\n";

#[test]
fn views_are_made_listed_used_renamed_and_dropped() {
    let shell = Shell::new().store("net.eg", ROADS);
    let view = |arguments: &[&str]| shell.json(&[&["views", "net.eg", "--json"], arguments].concat());
    assert_eq!(view(&[])["views"], serde_json::json!([]));
    view(&["--create", "low", "--where", "id <= 3"]);
    view(&["--create", "two", "--vertices", "1,2"]);
    let all = view(&["--create", "short", "--edges-where", "length < 6"]);
    let expected = serde_json::json!([
        {"name": "low", "definition": "vertices where id <= 3", "vertices": 3, "edges": 3},
        {"name": "short", "definition": "edges where length < 6", "vertices": 3, "edges": 2},
        {"name": "two", "definition": "2 vertices", "vertices": 2, "edges": 1},
    ]);
    assert_eq!(all["views"], expected);
    let text = shell.run(&["views", "net.eg"]).stdout;
    assert!(text.contains("low           3      3  vertices where id <= 3"), "{text}");
    let ranks = shell.json(&["run", "pagerank", "net.eg", "--view", "two", "--json"]);
    assert_eq!(ranks["vertices"], 2);
    view(&["--rename", "two", "pair"]);
    let left = view(&["--drop", "low"])["views"].as_array().unwrap().clone();
    assert_eq!(left.iter().map(|view| view["name"].as_str().unwrap()).collect::<Vec<_>>(), ["pair", "short"]);
}

#[test]
fn what_cannot_be_done_is_said() {
    let shell = Shell::new().store("net.eg", ROADS);
    let message = shell.refused(&["views", "net.eg", "--create", "a", "--where", "idd = 3"], 1);
    assert!(message.contains("no property \"idd\" (byte 0"), "{message}");
    let message = shell.refused(&["views", "net.eg", "--drop", "a"], 1);
    assert!(message.contains("there is no view \"a\""), "{message}");
    let message = shell.refused(&["run", "bfs", "net.eg", "--source", "1", "--view", "a"], 1);
    assert!(message.contains("there is no view \"a\""), "{message}");
    shell.refused(&["views", "net.eg", "--where", "id = 3"], 2);
    let message = shell.refused(&["views", "none.eg", "--create", "a", "--where", "id = 3"], 1);
    assert!(message.contains("no store at none.eg"), "{message}");
    assert!(!shell.path("none.eg").exists());
}
