//! `evergraph views`, and algorithms confined to one.

use std::time::Duration;

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
    assert!(message.contains("there are none"), "{message}");
    let wrong: [&[&str]; 4] = [
        &["--where", "id = 3"],
        &["--create", "a"],
        &["--create", "", "--where", "id = 3"],
        &["--create", "a", "--vertices", "1", "--where", "id = 3"],
    ];
    for arguments in wrong {
        shell.refused(&[&["views", "net.eg"], arguments].concat(), 2);
    }
    let message = shell.refused(&["views", "none.eg", "--create", "a", "--where", "id = 3"], 1);
    assert!(message.contains("no store at none.eg"), "{message}");
    assert!(!shell.path("none.eg").exists());
}

#[test]
fn events_of_a_view_are_told() {
    let shell = Shell::new().store("net.eg", ROADS);
    shell.run(&["views", "net.eg", "--create", "low", "--where", "id <= 3"]);
    let shell =
        shell.file("more.csv", "src,dst,length\n2,1,3\n5,6,8\n").file("again.csv", "src,dst,length\n2,1,4\n");
    shell.run(&["load", "net.eg", "more.csv"]);
    shell.run(&["load", "net.eg", "again.csv"]);
    let all = shell.run(&["events", "net.eg", "low"]).stdout;
    let lines: Vec<(&str, &str)> = all.lines().map(|line| line.split_once('\t').unwrap()).collect();
    let told: Vec<&str> = lines.iter().map(|line| line.1).collect();
    assert_eq!(told, ["edge\tadded\t2\t1\tedge", "property\tchanged\t2\t1\tedge\tlength\t3\t4"], "{all}");
    let later = shell.run(&["events", "net.eg", "low", "--from", lines[0].0, "--json"]).stdout;
    let event: serde_json::Value = serde_json::from_str(later.trim()).unwrap();
    let version: u64 = lines[1].0.parse().unwrap();
    let expected = serde_json::json!({"version": version, "kind": "property", "change": "changed",
        "edge": [2, 1, "edge"], "property": "length", "old": 3, "new": 4});
    assert_eq!(event, expected);
    assert_eq!(shell.run(&["events", "net.eg", "low", "--kind", "vertex"]).stdout, "");
    assert_eq!(
        shell.run(&["events", "net.eg", "low", "--kind", "property", "--property", "toll"]).stdout,
        ""
    );
    let message = shell.refused(&["events", "net.eg", "high"], 1);
    assert!(message.contains("there is no view \"high\""), "{message}");
    shell.refused(&["events", "net.eg", "low", "--kind", "color"], 2);
}

#[test]
fn whoever_follows_a_view_is_told_what_others_commit() {
    let shell = Shell::new().store("net.eg", ROADS).file("more.csv", "src,dst,length\n2,1,3\n");
    shell.run(&["views", "net.eg", "--create", "low", "--where", "id <= 3"]);
    let text = std::thread::scope(|scope| {
        let follower =
            scope.spawn(|| shell.run(&["events", "net.eg", "low", "--follow", "--timeout", "3"]).stdout);
        // The store is open for a moment only.
        while shell.run(&["load", "net.eg", "more.csv"]).code != 0 {
            std::thread::sleep(Duration::from_millis(100));
        }
        follower.join().unwrap()
    });
    assert_eq!(text.lines().filter(|line| line.ends_with("edge\tadded\t2\t1\tedge")).count(), 1, "{text}");
}

#[test]
fn one_vertex_is_no_several() {
    let shell = Shell::new().store("net.eg", ROADS);
    shell.run(&["views", "net.eg", "--create", "one", "--vertices", "1"]);
    let text = shell.run(&["views", "net.eg", "--create", "low", "--where", "id = 2", "--frozen"]).stdout;
    assert!(text.contains("  1 vertex\n") || text.ends_with("  1 vertex"), "{text}");
    assert!(text.contains("1 vertex, frozen from id = 2"), "{text}");
}

#[test]
fn strings_in_events_are_strings() {
    let shell = Shell::new().store("net.eg", "src,dst,note\na,b,one\n");
    shell.run(&["views", "net.eg", "--create", "all", "--where", "id >= 'a'"]);
    let shell = shell.file("more.csv", "src,dst,note\na,b,two\n");
    shell.run(&["load", "net.eg", "more.csv"]);
    let line = shell.run(&["events", "net.eg", "all", "--json"]).stdout;
    let event: serde_json::Value = serde_json::from_str(line.trim()).unwrap();
    assert_eq!(event["edge"], serde_json::json!(["a", "b", "edge"]));
    assert_eq!((&event["old"], &event["new"]), (&"one".into(), &"two".into()));
    let text = shell.run(&["events", "net.eg", "all"]).stdout;
    assert!(text.ends_with("changed\t\"a\"\t\"b\"\tedge\tnote\t\"one\"\t\"two\"\n"), "{text}");
}
