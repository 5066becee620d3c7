//! `evergraph compact`: what it gains, and that a store is left as it was where it cannot.

use evergraph::{Database, Options};

use crate::shell::{Shell, data};

/// A store most of whose edges were deleted again; gives how many are left.
fn scattered(shell: &Shell) -> u64 {
    let database = Database::open(shell.path("net.eg"), Options::default()).unwrap();
    for turn in 0..4i64 {
        let mut tx = database.begin().unwrap();
        for vertex in 0..2_000i64 {
            tx.put_edge(vertex, vertex + turn + 1, "knows", &[]).unwrap();
        }
        tx.commit().unwrap();
        database.checkpoint().unwrap();
    }
    let mut tx = database.begin().unwrap();
    for vertex in 0..2_000i64 {
        for turn in 0..3i64 {
            assert!(tx.delete_edge(vertex, vertex + turn + 1, "knows").unwrap());
        }
    }
    tx.commit().unwrap();
    database.close().unwrap();
    2_000
}

#[test]
fn a_compact_store_is_smaller_and_the_same() {
    let shell = Shell::new();
    let edges = scattered(&shell);
    let before = shell.run(&["export", "net.eg", "-"]).stdout;
    let report = shell.json(&["compact", "net.eg", "--json"]);
    let number = |field: &str| report[field].as_u64().unwrap();
    assert_eq!((number("segments_after"), number("version")), (1, 5), "{report}");
    assert!(number("bytes_after") < number("bytes_before") * 3 / 4, "{report}");
    let info = shell.json(&["info", "net.eg", "--json"]);
    assert_eq!((&info["segments"], &info["edges"], &info["version"]), (&1.into(), &edges.into(), &5.into()));
    assert_eq!(shell.run(&["export", "net.eg", "-"]).stdout, before);
    assert_eq!(shell.run(&["check", "net.eg"]).code, 0);
    let words = shell.run(&["compact", "net.eg"]);
    assert_eq!((words.code, words.stderr.as_str()), (0, ""));
    assert!(words.stdout.contains("in 1 segment now; version 5, "), "{words:?}");
}

#[test]
fn what_is_no_store_is_left_as_it_is() {
    let shell = Shell::new().file("notes/cat.txt", "meow");
    let message = shell.refused(&["compact", "net.eg"], 1);
    assert!(message.contains("there is no store at net.eg; evergraph load makes one"), "{message}");
    assert!(!shell.path("net.eg").exists());
    assert!(shell.refused(&["compact", "notes"], 1).contains("is no Evergraph store"));
    std::fs::create_dir(shell.path("empty")).unwrap();
    assert!(shell.refused(&["compact", "empty"], 1).contains("there is no store at empty"));
    assert_eq!(std::fs::read_dir(shell.path("empty")).unwrap().count(), 0);
    shell.refused(&["compact"], 2);
}

#[test]
fn a_store_that_is_open_elsewhere_is_compacted_there() {
    let shell = Shell::new().store("net.eg", "src,dst\n1,2\n");
    let writer = format!("net.eg is open in process {} (", std::process::id());
    for (read_only, holder) in [(false, &*writer), (true, "net.eg is open in a process that reads it")] {
        let options = Options { read_only, ..Options::default() };
        let database = Database::open(shell.path("net.eg"), options).unwrap();
        let message = shell.refused(&["compact", "net.eg"], 1);
        assert!(message.contains(holder) && message.contains("call db.compact() if it writes"), "{message}");
        database.close().unwrap();
    }
    assert_eq!(shell.run(&["compact", "net.eg"]).code, 0);
}

#[test]
fn a_disk_that_refuses_leaves_all_as_it_was() {
    let shell = Shell::new();
    assert_eq!(shell.run(&["load", "net.eg", &data("wiki-Vote.txt.gz")]).code, 0);
    let more: String = (0..2_000).map(|row| format!("{row}\t{}\n", row + 1)).collect();
    std::fs::write(shell.path("more.txt"), more).unwrap();
    assert_eq!(shell.run(&["load", "net.eg", "more.txt"]).code, 0);
    let before = shell.json(&["info", "net.eg", "--json"]);
    let done = shell.with_small_files(&["compact", "net.eg"]);
    assert_eq!((done.code, done.stdout.as_str()), (1, ""), "{done:?}");
    assert!(done.stderr.contains("archiving failed"), "{done:?}");
    let after = shell.json(&["info", "net.eg", "--json"]);
    assert_eq!((&before["edges"], &before["version"]), (&after["edges"], &after["version"]));
    assert_eq!(shell.run(&["check", "net.eg"]).code, 0);
    assert_eq!(shell.run(&["compact", "net.eg"]).code, 0);
}
