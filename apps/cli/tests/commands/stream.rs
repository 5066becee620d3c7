//! `evergraph stream`: commits as lines, from a version on, by name, and those that are still to come.

use std::time::Duration;

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
