//! What all commands have in common: help, exit codes, and readers that go away.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::shell::Shell;

const COMMANDS: [&str; 10] =
    ["load", "info", "run", "export", "check", "compact", "backup", "generate", "bench", "demo"];

#[test]
fn every_command_explains_itself() {
    let shell = Shell::new();
    for command in COMMANDS {
        let done = shell.run(&[command, "--help"]);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{command}");
        assert!(done.stdout.contains("Example") && done.stdout.contains("--json"), "{command}");
    }
    let pagerank = shell.run(&["run", "pagerank", "--help"]).stdout;
    assert!(pagerank.contains("--alpha <X>") && pagerank.contains("[default: 0.85]"), "{pagerank}");
    assert!(!shell.run(&["--help"]).stdout.contains("demo-writer"));
    assert!(!shell.refused(&["--json"], 2).contains("demo-writer"));
    for command in ["stream", "events", "load", "export", "compact", "backup"] {
        let help = shell.run(&[command, "--help"]).stdout;
        let (_, words) = help.split_once("Examples:").unwrap();
        // A line that is not the last of its paragraph and has room for words of the next one was broken twice.
        let lines: Vec<&str> = words.lines().filter(|line| !line.starts_with(' ')).collect();
        for pair in lines.windows(2).filter(|pair| !pair[0].is_empty() && !pair[1].is_empty()) {
            assert!(pair[0].len() > 80, "{command}: {pair:?}");
        }
    }
    assert_eq!(shell.run(&["--version"]).stdout, format!("evergraph {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_has_its_own_exit_code() {
    let shell = Shell::new();
    let wrong: [&[&str]; 5] = [
        &[],
        &["lod"],
        &["load", "net.eg"],
        &["info"],
        &["load", "net.eg", "a.txt", "--properties", "x:money"],
    ];
    for arguments in wrong {
        assert!(shell.refused(arguments, 2).contains("Usage") || arguments.len() == 5, "{arguments:?}");
    }
}

#[test]
fn the_library_function_gives_the_same_exit_codes() {
    let run = |arguments: &[&str]| evergraph_cli::run(arguments.iter().map(Into::into).collect());
    assert_eq!(run(&["evergraph", "--version"]), 0);
    assert_eq!(run(&["evergraph", "info", "no such store"]), 1);
    assert_eq!(run(&["evergraph", "info"]), 2);
}

#[test]
fn a_reader_may_go_away() {
    let shell = Shell::new();
    let mut command = shell.command(&["generate", "kronecker", "--scale", "16"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    assert!(line.contains(' '), "{line:?}");
}

#[test]
fn no_more_threads_are_made_than_can_be_of_use() {
    let shell = Shell::new().store("net.eg", "src,dst\n1,2\n");
    for threads in ["0", "257", "4000", "many"] {
        let message = shell.refused(&["run", "triangle_count", "net.eg", "--threads", threads], 2);
        assert!(message.contains("--threads <N>"), "{message}");
        assert!(threads == "many" || message.contains("1..=256"), "{message}");
    }
    assert!(shell.run(&["info", "--help"]).stdout.contains("1 to 256"));
}

#[test]
fn threads_can_be_chosen() {
    let shell = Shell::new().store("net.eg", "src,dst\n1,2\n");
    let report = shell.json(&["run", "triangle_count", "net.eg", "--json", "--threads", "1"]);
    assert_eq!(report["values"]["triangles"], 0);
}
