//! `evergraph generate`.

use std::time::Duration;

use crate::shell::Shell;

#[test]
fn the_same_seed_gives_the_same_graph() {
    let shell = Shell::new();
    let graph = |seed| shell.run(&["generate", "kronecker", "--scale", "6", "--seed", seed]).stdout;
    assert_eq!(graph("1").lines().count(), 16 << 6);
    assert_eq!(graph("1"), graph("1"));
    assert_ne!(graph("1"), graph("2"));
}

#[test]
fn the_name_of_the_file_says_how_it_is_written() {
    let shell = Shell::new();
    let random = ["generate", "erdos-renyi", "--vertices", "100", "--edges", "1000", "--json", "--out"];
    for (file, edges) in [("a.txt", 1000), ("a.csv", 1000), ("a.csv.gz", 1000), ("a.txt.zst", 1000)] {
        let report = shell.json(&[&random[..], &[file]].concat());
        assert_eq!((&report["edges"], &report["vertices"]), (&edges.into(), &100.into()));
        let loaded = shell.json(&["load", &format!("{file}.eg"), file, "--multi", "--json"]);
        assert_eq!(loaded["edges"], edges, "{file}");
    }
    shell.json(&[&random[..], &["a.bin"]].concat());
    assert_eq!(shell.path("a.bin").metadata().unwrap().len(), 8 * 1000);
}

#[test]
fn quadrants_are_your_own() {
    let shell = Shell::new();
    let corner =
        ["generate", "rmat", "--scale", "4", "--a", "1", "--b", "0", "--c", "0", "--edges-per-vertex", "1"];
    assert_eq!(shell.run(&corner).stdout, "0 0\n".repeat(16));
    let message = shell.refused(&["generate", "rmat", "--a", "0.9", "--b", "0.9"], 2);
    assert!(message.contains("add up to at most 1"), "{message}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let shell = Shell::new().file("a.txt", "precious");
    assert!(shell.refused(&["generate", "kronecker", "--scale", "41"], 2).contains("0 to 40"));
    assert!(shell.refused(&["generate", "erdos-renyi", "--scale", "64"], 2).contains("use fewer"));
    assert!(
        shell.refused(&["generate", "erdos-renyi", "--scale", "4", "--vertices", "9"], 2).contains("--scale")
    );
    assert!(shell.refused(&["generate", "kronecker", "--json"], 2).contains("--out"));
    assert!(shell.refused(&["generate", "kronecker", "--out", "a.txt"], 1).contains("--force"));
    assert!(
        shell
            .refused(&["generate", "kronecker", "--out", "no/such/place.txt"], 1)
            .contains("no/such/place.txt")
    );
}

#[test]
fn what_is_stopped_leaves_no_file() {
    let shell = Shell::new().file("old.csv", "precious");
    let generate = ["generate", "erdos-renyi", "--edges", "50000000", "--force", "--out", "old.csv"];
    let done = shell.stop(&generate, "old.csv.partial", Duration::from_millis(50));
    assert_eq!(done.code, 143, "{done:?}");
    assert!(done.stderr.contains("stopped: old.csv was not written"), "{done:?}");
    assert!(!shell.path("old.csv.partial").exists());
    assert_eq!(std::fs::read_to_string(shell.path("old.csv")).unwrap(), "precious");
}
