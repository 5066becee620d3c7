//! `evergraph load`.

use std::time::Duration;

use evergraph::{Database, Options};

use crate::shell::{Shell, data};

const PAYMENTS: &str = "payer,payee,amount\nalice,bob,10.5\nbob,carol,2\nalice,bob,1\n";

#[test]
fn a_snap_edge_list_is_loaded() {
    let shell = Shell::new();
    let report = shell.json(&["load", "votes.eg", &data("wiki-Vote.txt.gz"), "--json"]);
    assert_eq!(report["edges"], 103_689);
    assert_eq!(report["vertices"], 7_115);
    assert_eq!((&report["rejected"], &report["version"]), (&0.into(), &1.into()));
    assert_eq!(report["files"][0]["lines"], 103_692);
}

#[test]
fn people_get_a_line_for_each_file() {
    let shell = Shell::new().file("a.txt", "1 2\n2 3\n").file("b.txt", "2 3\n3 4\n");
    let done = shell.run(&["load", "net.eg", "a.txt", "b.txt"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert!(lines[0].starts_with("a.txt: 2 edges and 3 vertices new, 2 lines; version 1, "), "{lines:?}");
    assert!(lines[1].starts_with("b.txt: 1 edge and 1 vertex new, 2 lines; version 2, "), "{lines:?}");
}

#[test]
fn columns_and_types_can_be_named() {
    let shell = Shell::new().file("pay.csv", PAYMENTS);
    let load = ["load", "bank.eg", "pay.csv", "--edge-type", "pays", "--src", "payer", "--dst", "payee"];
    shell.json(&[&load[..], &["--properties", "sum=amount:float64", "--multi", "--json"]].concat());
    let info = shell.json(&["info", "bank.eg", "--json"]);
    let kind = &info["edge_types"][0];
    assert_eq!((&kind["name"], &kind["edges"], &kind["multi"]), (&"pays".into(), &3.into(), &true.into()));
    assert_eq!(kind["properties"], serde_json::json!([{"name": "sum", "type": "float64"}]));
    // The type is like that already.
    shell.json(&[&load[..], &["--properties", "sum=amount", "--multi", "--json"]].concat());
    let message = shell.refused(&[&load[..], &["--symmetric"]].concat(), 1);
    let expected =
        "\"pays\" exists already with multi=true, symmetric=false, and multi=false, symmetric=true was";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_bad_line_stops_the_load_and_leaves_the_store_as_it_was() {
    let shell = Shell::new().file("good.txt", "1 2\n").file("bad.txt", "3 4\n5 six\n");
    shell.json(&["load", "net.eg", "good.txt", "--json"]);
    let message = shell.refused(&["load", "net.eg", "bad.txt", "--multi", "--edge-type", "new"], 1);
    assert!(message.contains("bad.txt:2:3: "), "{message}");
    assert!(message.contains("--on-error skip"), "{message}");
    let info = shell.json(&["info", "net.eg", "--json"]);
    assert_eq!((&info["edges"], &info["version"]), (&1.into(), &1.into()));
    assert_eq!(info["edge_types"].as_array().unwrap().len(), 1);
}

#[test]
fn bad_lines_can_be_skipped_and_are_reported() {
    let shell = Shell::new().file("bad.csv", "src,dst\n1,2\n3\n4,5\nx,y\n");
    let skip = ["load", "net.eg", "bad.csv", "--keys", "int64", "--on-error", "skip"];
    let done = shell.run(&skip);
    assert_eq!(done.code, 0);
    assert!(done.stdout.contains("2 edges") && done.stdout.contains("2 lines left out"), "{done:?}");
    assert!(done.stderr.contains("bad.csv:3:") && done.stderr.contains("bad.csv:5:"), "{done:?}");
    let report = shell.json(&[&skip[..], &["--json"]].concat());
    assert_eq!(report["rejected"], 2);
    assert_eq!(report["files"][0]["rejects"][1]["line"], 5);
}

#[test]
fn what_is_no_edge_file_is_refused() {
    let shell = Shell::new().file("empty.txt", "").file("one.csv", "src,dst\n1,2\n");
    assert!(shell.refused(&["load", "net.eg", "empty.txt"], 1).contains("empty.txt: there is no edge"));
    let message = shell.refused(&["load", "net.eg", "one.csv", "--src", "from"], 1);
    assert!(message.contains("no column \"from\"") && message.contains("dst"), "{message}");
    assert!(shell.refused(&["load", "other.eg", "missing.txt"], 1).contains("missing.txt"));
    assert!(!shell.path("other.eg").exists(), "a mistyped name made a store");
}

#[test]
fn options_that_do_not_fit_are_named() {
    let shell = Shell::new().file("a.csv", "src,dst,at\n1,2,5\n");
    let refused = |more: &[&str]| shell.refused(&[&["load", "net.eg", "a.csv"], more].concat(), 1);
    let message = refused(&["--time", "nope"]);
    assert!(
        message.contains("a.csv: --time: no property \"nope\"") && message.contains("[\"at\"]"),
        "{message}"
    );
    let message = refused(&["--src", "at", "--dst", "at"]);
    assert!(message.contains("a.csv: --dst: column \"at\" is that of the source keys already"), "{message}");
    shell.json(&["load", "net.eg", "a.csv", "--json"]);
    for keys in ["dense", "string"] {
        let message = refused(&["--keys", keys]);
        assert!(message.contains(&format!("--keys \"{keys}\" is asked for")), "{message}");
        assert!(message.contains("of kind int64"), "{message}");
    }
    shell.json(&["load", "net.eg", "a.csv", "--keys", "int64", "--json"]);
}

#[test]
fn a_value_that_is_too_long_is_a_bad_line() {
    let long = "x".repeat((1 << 20) + 1);
    let shell = Shell::new().file("long.csv", &format!("src,dst,note\n1,2,x\n3,4,{long}\n"));
    let message = shell.refused(&["load", "net.eg", "long.csv"], 1);
    assert!(message.contains("long.csv:3:5: ") && message.contains("1048577 bytes"), "{message}");
    let report = shell.json(&["load", "net.eg", "long.csv", "--on-error", "skip", "--json"]);
    assert_eq!((&report["edges"], &report["rejected"]), (&1.into(), &1.into()));
}

#[test]
fn what_is_no_store_is_refused() {
    let shell = Shell::new().file("one.txt", "1 2\n");
    std::fs::create_dir(shell.path("folder")).unwrap();
    std::fs::write(shell.path("folder/letter.txt"), "dear").unwrap();
    let message = shell.refused(&["load", "folder", "one.txt"], 1);
    assert!(message.contains("no Evergraph store"), "{message}");
    assert!(shell.refused(&["load", "one.txt", "one.txt"], 1).contains("one.txt"));
}

#[test]
fn a_store_that_is_open_elsewhere_is_refused() {
    let shell = Shell::new().file("one.txt", "1 2\n");
    let store = Database::open(shell.path("net.eg"), Options::default()).unwrap();
    let message = shell.refused(&["load", "net.eg", "one.txt"], 1);
    assert!(message.contains(&std::process::id().to_string()), "{message}");
    drop(store);
    shell.json(&["load", "net.eg", "one.txt", "--json"]);
}

#[test]
fn a_store_that_nothing_was_loaded_into_is_not_left() {
    let shell =
        Shell::new().file("empty.csv", "").file("bad.csv", "src,dst\n1\n").file("good.csv", "src,dst\n1,2\n");
    std::fs::create_dir(shell.path("folder.csv")).unwrap();
    for file in ["empty.csv", "bad.csv", "folder.csv"] {
        shell.refused(&["load", "new.eg", file], 1);
        let names = std::fs::read_dir(shell.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        assert!(!names.iter().any(|name| name.starts_with("new.eg")), "{file}: {names:?}");
    }
    // What was loaded stays, and so does what was there.
    assert_eq!(shell.run(&["load", "new.eg", "good.csv", "bad.csv"]).code, 1);
    assert_eq!(shell.json(&["info", "new.eg", "--json"])["edges"], 1);
    drop(Database::open(shell.path("old.eg"), Options::default()).unwrap());
    shell.refused(&["load", "old.eg", "bad.csv"], 1);
    assert_eq!(shell.json(&["info", "old.eg", "--json"])["edges"], 0);
}

#[test]
fn a_load_that_is_stopped_leaves_all_or_nothing() {
    let shell = Shell::new();
    let edges = ["generate", "erdos-renyi", "--vertices", "100000", "--edges", "1000000"];
    assert_eq!(shell.run(&[&edges[..], &["--out", "edges.csv"]].concat()).code, 0);
    let mut stopped = 0;
    for turn in 0..10 {
        let name = format!("{turn}.eg");
        let load = ["load", &name, "edges.csv", "edges.csv"];
        // From the time on that there is a store, it hears nearly at once.
        let done = shell.stop(&load, &format!("{name}/segments"), Duration::from_millis(5 + 40 * turn));
        let told = done.stdout.lines().count();
        if done.code == 0 {
            assert_eq!(told, 2);
            continue;
        }
        stopped += 1;
        assert_eq!(done.code, 143, "{done:?}");
        assert!(done.stderr.contains(&format!("stopped: nothing of edges.csv is in {name}")), "{done:?}");
        assert_eq!(shell.path(&name).exists(), told > 0);
        if told > 0 {
            assert_eq!(shell.json(&["info", &name, "--json"])["version"], told);
        }
    }
    assert!(stopped > 0);
}
