//! `evergraph window`: what of a store's log is in which window.

use crate::shell::Shell;
use serde_json::Value;

const EDGES: &str = "src,dst\n1,2\n1,2\n2,3\n3,4\n4,5\n";

/// The windows that are shown, one a line.
fn windows(shell: &Shell, arguments: &[&str]) -> Vec<Value> {
    let done = shell.run(&[&["window", "net.eg", "--json"], arguments].concat());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
    done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn store() -> Shell {
    let shell = Shell::new().file("edges.csv", EDGES);
    assert_eq!(shell.run(&["load", "net.eg", "edges.csv", "--multi"]).code, 0);
    shell
}

#[test]
fn the_last_edges_and_every_step_to_them() {
    let shell = store();
    let last = windows(&shell, &["--edges", "3"]);
    assert_eq!((last.len(), &last[0]["edges"], &last[0]["vertices"]), (1, &3.into(), &4.into()));
    let steps = windows(&shell, &["--edges", "2", "--every", "2"]);
    let shown: Vec<_> = steps.iter().map(|step| (step["end"].as_i64(), step["edges"].as_u64())).collect();
    assert_eq!(shown, [(Some(2), Some(2)), (Some(4), Some(2))]);
    // All came with one commit.
    let by_clock = windows(&shell, &["--edges", "2", "--every", "10ms"]);
    assert_eq!((by_clock.len(), &by_clock[0]["end"], &by_clock[0]["edges"]), (1, &5.into(), &2.into()));
    let counted = windows(&shell, &["--edges", "5", "--duplicates", "count"]);
    assert_eq!(counted[0]["edges"], 4);
    let week = windows(&shell, &["--last", "1 w"]);
    assert_eq!(week[0]["edges"], 5);
    let table = shell.run(&["window", "net.eg", "--last", "1h"]).stdout;
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.starts_with("              end    vertices       edges"), "{table}");
}

#[test]
fn what_makes_no_window_is_said() {
    let shell = store();
    for (arguments, said) in [
        (&["--edges", "0"][..], "edges is 0"),
        (&["--last=-5s"][..], "last is -5000000"),
        (&["--edges", "2", "--every", "0"][..], "every is 0"),
        (&["--edges", "2", "--every", "0.5"][..], "whole edges"),
        (&["--edges", "2", "--every", "0s"][..], "every is 0"),
        (&["--edges", "2", "--lateness", "1s"][..], "lateness"),
        (&["--last", "soon"][..], "is none of us, ms, s"),
        (&["--last", "1e308d"][..], "longer than any time"),
        (&[][..], "<--last <TIME>|--edges <N>>"),
        (&["--last", "5s", "--edges", "2"][..], "cannot be used with"),
    ] {
        let message = shell.refused(&[&["window", "net.eg"], arguments].concat(), 2);
        assert!(message.contains(said), "{message}");
    }
    let message = shell.refused(&["window", "net.eg", "--last", "5s", "--order", "event"], 1);
    assert!(message.contains("no time property"), "{message}");
    let message = shell.refused(&["window", "net.eg", "--edges", "5", "--edge-type", "pays"], 1);
    assert!(message.contains("pays"), "{message}");
}
