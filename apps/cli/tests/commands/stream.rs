//! `evergraph stream`: commits as lines, from a version on, by name, and those that are still to come.

use std::time::Duration;

use evergraph::{Database, Options};
use serde_json::Value;

use crate::shell::Shell;

#[test]
fn commits_are_given_from_where_one_wants() {
    let shell = Shell::new().store("net.eg", "src,dst\n1,2\n2,3\n").file("more.csv", "src,dst\n3,1\n");
    shell.run(&["load", "net.eg", "more.csv", "--edge-type", "late"]);
    let all = shell.run(&["stream", "net.eg"]).stdout;
    let lines: Vec<Vec<&str>> = all.lines().map(|line| line.split('\t').collect()).collect();
    assert!(lines.iter().any(|line| line[1..] == ["put", "3", "1", "late"]), "{all}");
    let last = lines.last().unwrap()[0].parse::<u64>().unwrap();
    assert_eq!(shell.run(&["stream", "net.eg", "--from", &last.to_string()]).stdout, "");
    assert!(shell.run(&["stream", "net.eg", "--name", "copy"]).stdout.contains("late"));
    assert_eq!(shell.run(&["stream", "net.eg", "--name", "copy"]).stdout, "");
    let message = shell.refused(&["stream", "net.eg", "--from", &(last + 9).to_string()], 1);
    assert!(message.contains("ahead") || message.contains("newest"), "{message}");
    shell.refused(&["stream", "net.eg", "--timeout", "1"], 2);
    shell.refused(&["stream", "net.eg", "--batch-size", "0"], 2);
    shell.refused(&["stream", "none.eg", "--follow"], 1);
}

#[test]
fn whoever_follows_gets_what_others_commit() {
    let shell = Shell::new().store("net.eg", "src,dst\n1,2\n").file("more.csv", "src,dst\n30,10\n");
    let text = std::thread::scope(|scope| {
        let follower = scope.spawn(|| {
            shell.run(&["stream", "net.eg", "--name", "copy", "--follow", "--timeout", "3"]).stdout
        });
        // The store is open for a moment only.
        while shell.run(&["load", "net.eg", "more.csv", "--edge-type", "late"]).code != 0 {
            std::thread::sleep(Duration::from_millis(100));
        }
        follower.join().unwrap()
    });
    assert!(text.lines().filter(|line| line.ends_with("put\t30\t10\tlate")).count() == 1, "{text}");
}

/// Edges of two types, put, deleted and put again; the last commit deletes and puts the same edge.
fn store_with_changes(shell: &Shell, from: &str, to: &str) {
    let database = Database::open(shell.path("net.eg"), Options::default()).unwrap();
    database.put_edge(from, to, "knows", &[]).unwrap();
    database.put_edge(from, to, "likes", &[]).unwrap();
    database.delete_edge(from, to, "knows").unwrap();
    database.put_edge(from, to, "knows", &[]).unwrap();
    let mut transaction = database.begin().unwrap();
    transaction.delete_edge(from, to, "knows").unwrap();
    transaction.put_edge(from, to, "knows", &[]).unwrap();
    transaction.commit().unwrap();
    database.close().unwrap();
}

#[test]
fn lines_are_in_the_order_of_commits_and_deletes_first_within_one() {
    let shell = Shell::new();
    store_with_changes(&shell, "a", "b");
    for size in ["1", "65536"] {
        let output = shell.run(&["stream", "net.eg", "--json", "--batch-size", size]).stdout;
        let lines: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let told: Vec<_> = lines
            .iter()
            .map(|line| (line["version"].as_u64().unwrap(), line["op"].as_str().unwrap()))
            .collect();
        let expected = [(1, "put"), (2, "put"), (3, "delete"), (4, "put"), (5, "delete"), (5, "put")];
        assert_eq!(told, expected, "{output}");
    }
    let text = shell.run(&["stream", "net.eg"]).stdout;
    let last: Vec<&str> = text.lines().skip(3).collect();
    assert_eq!(last[0], "4\tput\t\"a\"\t\"b\"\tknows", "{text}");
    assert!(last[1].starts_with("5\tdelete") && last[2].starts_with("5\tput"), "{text}");
}

#[test]
fn keys_in_json_are_strings_and_numbers() {
    let shell = Shell::new().store("net.eg", "src,dst\n1,2\n").store("text.eg", "src,dst\na,b c\n");
    let line = shell.json(&["stream", "net.eg", "--json"]);
    assert_eq!((&line["src"], &line["dst"]), (&1.into(), &2.into()));
    let line = shell.json(&["stream", "text.eg", "--json"]);
    assert_eq!((&line["src"], &line["dst"]), (&"a".into(), &"b c".into()));
}
