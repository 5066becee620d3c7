//! `evergraph backup`: what the copy has, and that none is left, and nothing written over, where there cannot be one.

use std::fs;
use std::time::Duration;

use evergraph::{Database, Options};

use crate::shell::{Shell, data};

const EDGES: &str = "src,dst,amount\na,b,1\nb,c,2\nc,a,3\n";

#[test]
fn a_backup_is_a_store_with_the_same_graph() {
    let shell = Shell::new().store("net.eg", EDGES);
    let report = shell.json(&["backup", "net.eg", "copies/copy.eg", "--json"]);
    assert_eq!(
        (&report["version"], &report["vertices"], &report["edges"]),
        (&1.into(), &3.into(), &3.into())
    );
    let (bytes, files) = (report["bytes"].as_u64().unwrap(), report["files"].as_u64().unwrap());
    let segments = fs::read_dir(shell.path("copies/copy.eg/segments")).unwrap();
    let in_segments: u64 = segments.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(in_segments > 0 && bytes > in_segments && files >= 2, "{report}");
    assert_eq!(shell.run(&["check", "copies/copy.eg"]).code, 0);
    let edges = |store: &str| shell.run(&["export", store, "-"]).stdout;
    assert_eq!(edges("copies/copy.eg"), edges("net.eg"));
    // It is one's own: what goes to the one is not in the other.
    assert_eq!(shell.run(&["load", "copies/copy.eg", "edges.csv", "--edge-type", "more"]).code, 0);
    assert_eq!(shell.json(&["info", "net.eg", "--json"])["edges"], 3);
    let words = shell.run(&["backup", "net.eg", "second.eg"]);
    assert_eq!((words.code, words.stderr.as_str()), (0, ""));
    assert!(words.stdout.starts_with("second.eg: version 1 of net.eg, 3 vertices, 3 edges; "), "{words:?}");
}

#[test]
fn what_is_there_already_is_not_written_over() {
    let shell = Shell::new().store("net.eg", EDGES).store("other.eg", EDGES).file("notes/cat.txt", "meow");
    for store in ["net.eg", "other.eg", "./net.eg"] {
        let message = shell.refused(&["backup", "net.eg", store], 1);
        assert!(message.contains("there is a store at") && message.contains("empty or absent"), "{message}");
    }
    for other in ["notes", "notes/cat.txt"] {
        assert!(shell.refused(&["backup", "net.eg", other], 1).contains("is no Evergraph store"), "{other}");
    }
    assert_eq!(fs::read_dir(shell.path("notes")).unwrap().count(), 1);
    fs::create_dir(shell.path("empty")).unwrap();
    assert_eq!(shell.run(&["backup", "net.eg", "empty"]).code, 0);
}

#[test]
fn a_backup_does_not_lie_in_the_store_itself() {
    let shell = Shell::new().store("net.eg", EDGES);
    let before = fs::read_dir(shell.path("net.eg")).unwrap().count();
    let message = shell.refused(&["backup", "net.eg", "net.eg/copy.eg"], 2);
    assert!(message.contains("lies in the store") && message.contains("outside it"), "{message}");
    assert_eq!(fs::read_dir(shell.path("net.eg")).unwrap().count(), before);
}

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let shell = Shell::new();
    let message = shell.refused(&["backup", "net.eg", "copy.eg"], 1);
    assert!(message.contains("there is no store at net.eg"), "{message}");
    assert!(!shell.path("net.eg").exists() && !shell.path("copy.eg").exists());
    shell.refused(&["backup", "net.eg"], 2);
}

#[test]
fn a_store_is_copied_beside_its_readers_and_not_beside_a_writer() {
    let shell = Shell::new().store("net.eg", EDGES);
    let reader =
        Database::open(shell.path("net.eg"), Options { read_only: true, ..Options::default() }).unwrap();
    assert_eq!(shell.run(&["backup", "net.eg", "first.eg"]).code, 0);
    reader.close().unwrap();
    let writer = Database::open(shell.path("net.eg"), Options::default()).unwrap();
    let message = shell.refused(&["backup", "net.eg", "second.eg"], 1);
    let holder = format!("net.eg is open in process {} (", std::process::id());
    assert!(message.contains(&holder) && message.contains("db.backup(path)"), "{message}");
    assert!(!shell.path("second.eg").exists());
    writer.backup(shell.path("second.eg")).unwrap();
    assert_eq!(shell.run(&["check", "second.eg"]).code, 0);
}

#[test]
fn a_disk_that_refuses_leaves_no_copy() {
    let shell = Shell::new();
    assert_eq!(shell.run(&["load", "net.eg", &data("wiki-Vote.txt.gz")]).code, 0);
    let done = shell.with_small_files(&["backup", "net.eg", "copy.eg"]);
    assert_eq!((done.code, done.stdout.as_str()), (1, ""), "{done:?}");
    assert!(done.stderr.contains("the backup was not finished: "), "{done:?}");
    assert!(!shell.path("copy.eg").exists());
    assert_eq!(shell.run(&["backup", "net.eg", "copy.eg"]).code, 0);
}

#[test]
fn a_backup_that_is_stopped_leaves_no_copy() {
    let shell = Shell::new();
    let edges = ["generate", "erdos-renyi", "--vertices", "100000", "--edges", "1000000"];
    assert_eq!(shell.run(&[&edges[..], &["--out", "edges.csv"]].concat()).code, 0);
    assert_eq!(shell.run(&["load", "net.eg", "edges.csv"]).code, 0);
    let mut stopped = 0;
    for turn in 0..5 {
        let name = format!("{turn}.eg");
        // From the time on that it writes, it hears.
        let done = shell.stop(&["backup", "net.eg", &name], &format!("{name}/segments"), Duration::ZERO);
        if done.code == 0 {
            assert_eq!(shell.run(&["check", &name]).code, 0);
            continue;
        }
        stopped += 1;
        assert_eq!(done.code, 143, "{done:?}");
        assert!(done.stderr.contains(&format!("stopped: there is no backup in {name}")), "{done:?}");
        assert!(!shell.path(&name).exists());
        assert_eq!(shell.run(&["backup", "net.eg", &name]).code, 0);
    }
    assert!(stopped > 0);
}
