//! `evergraph bench`, on a graph small enough for a test: all measurements are there, and both sides agree.

use crate::shell::Shell;

#[test]
fn both_sides_are_measured_and_agree() {
    let shell = Shell::new();
    let size = ["--scale", "10", "--edges-per-vertex", "8", "--repeats", "1", "--dir", "."];
    for keys in ["dense", "int64"] {
        let report = shell.json(&[&["bench", "--json", "--keys", keys][..], &size].concat());
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 17, "{report}");
        for row in rows {
            assert!(row["ours"].as_f64().unwrap() > 0.0, "{row}");
            assert_ne!(row["agreement"]["holds"], false, "{row}");
        }
        assert!(report["edges"].as_u64().unwrap() > 6_000, "{report}");
    }
    // The graph is kept for the next run, stores are not.
    let left: Vec<_> = std::fs::read_dir(shell.path("")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["kronecker-10-8-1.txt"]);
}

#[test]
fn people_get_a_table() {
    let shell = Shell::new();
    let done =
        shell.run(&["bench", "--scale", "8", "--only", "bfs,triangles", "--repeats", "1", "--dir", "."]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert!(lines[0].starts_with("Kronecker graph, scale 8, 16 edges per vertex; "), "{lines:?}");
    assert!(lines[4].starts_with("bfs, 8 sources"), "{lines:?}");
    assert!(lines[5].starts_with("triangles, symmetrized") && lines[5].ends_with(" triangles"), "{lines:?}");
}

#[test]
fn analytics_agree_in_every_state_of_the_store() {
    let shell = Shell::new();
    let size = ["--scale", "9", "--edges-per-vertex", "8", "--repeats", "1", "--dir", "."];
    let report = shell.json(&[&["bench", "analytics", "--json"][..], &size].concat());
    let rows = report["rows"].as_array().unwrap();
    for name in ["bfs", "pagerank, 10 iterations", "components", "sssp", "betweenness", "triangles"] {
        assert_eq!(rows.iter().filter(|row| row["name"] == name).count(), 2, "{report}");
    }
    for row in rows {
        assert!(row["ours"].as_f64().unwrap() > 0.0, "{row}");
        assert_ne!(row["agreement"]["holds"], false, "{row}");
    }
    assert!(rows.iter().any(|row| row["name"] == "sssp, 1% changed"), "{report}");
}

/// A program in place of Python that announces one library, and says of each run something else and that it took half a second.
#[cfg(unix)]
const LIBRARY: &str = r#"#!/bin/sh
echo '{"library": "library", "kernel": "bfs", "threads": 1}'
while read word && [ "$word" = run ]; do
    echo "a library's banner"
    echo 0.5
done
"#;

#[test]
#[cfg(unix)]
fn other_libraries_take_turns_with_ours() {
    use std::os::unix::fs::PermissionsExt;
    let shell = Shell::new().file("python", LIBRARY);
    let python = shell.path("python");
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let size = ["--scale", "6", "--repeats", "2", "--only", "bfs", "--graph", "uniform", "--dir", "."];
    let rivals = ["bench", "analytics", "--json", "--rivals", python.to_str().unwrap()];
    let report = shell.json(&[&rivals[..], &size].concat());
    let row = report["rows"].as_array().unwrap().iter().find(|row| row["name"] == "bfs, library 1T");
    assert_eq!(row.unwrap()["theirs"], 0.5, "{report}");
    assert_eq!(row.unwrap()["holds"], true, "{report}");
}

#[test]
#[cfg(unix)]
fn a_small_graph_is_measured_beside_one_that_is_too_large_for_networkx() {
    use std::os::unix::fs::PermissionsExt;
    let shell = Shell::new().file("python", LIBRARY);
    let python = shell.path("python");
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let size =
        ["--scale", "15", "--edges-per-vertex", "1", "--repeats", "1", "--only", "bfs", "--graph", "uniform"];
    let rivals = ["bench", "analytics", "--dir", ".", "--rivals", python.to_str().unwrap()];
    let lines = shell.run(&[&rivals[..], &size].concat()).stdout;
    assert!(lines.contains("bfs, library 1T  ") && lines.contains("bfs, library 1T, scale 12"), "{lines}");
    assert_eq!(lines.matches("bfs, 1% changed").count(), 1, "{lines}");
    let none = shell.run(&[&["bench", "analytics", "--dir", ".", "--no-rivals"][..], &size].concat()).stdout;
    assert!(none.contains("bfs, 1% changed") && !none.contains("library"), "{none}");
}

#[test]
fn ingest_is_measured_by_batch_size_and_ends_with_the_same_graph() {
    let shell = Shell::new();
    let report = shell.json(&["bench", "ingest", "--json", "--scale", "10", "--dir", "."]);
    let rows = report["rows"].as_array().unwrap();
    // Simple and multi, both kinds of keys, four sizes of batches; each in order, and with a log; and batches and PageRank together.
    assert_eq!(rows.len(), 22, "{report}");
    for row in rows {
        assert!(row["ours"].as_f64().unwrap() > 0.0, "{row}");
        assert_ne!(row["agreement"]["holds"], false, "{row}");
    }
}

#[test]
fn memory_and_churn_are_measured_in_each_list_format() {
    let shell = Shell::new();
    let memory = shell.json(&["bench", "memory", "--json", "--scale", "9", "--dir", "."]);
    let bytes = |name: &str| {
        let row = memory.as_array().unwrap().iter().find(|row| row["name"] == name);
        row.and_then(|row| row["ours"].as_f64()).unwrap_or_else(|| panic!("{name} is not in {memory}"))
    };
    assert!(bytes("compact, web") < bytes("fast, web"), "{memory}");
    for format in ["fast", "compact"] {
        let churn = shell.json(&[
            "bench", "churn", "--json", "--scale", "9", "--rounds", "3", "--format", format, "--dir", ".",
        ]);
        for row in churn.as_array().unwrap() {
            assert!(row["ours"].as_f64().unwrap() > 0.0, "{row}");
            assert_ne!(row["agreement"]["holds"], false, "{row}");
        }
    }
}

#[test]
fn the_same_work_is_measured_with_more_and_more_threads() {
    let shell = Shell::new();
    let size = ["--scale", "9", "--edges-per-vertex", "8", "--threads", "3", "--repeats", "1", "--dir", "."];
    let report = shell.json(&[&["bench", "scaling", "--json"][..], &size].concat());
    assert_eq!(report["threads"], serde_json::json!([1, 2, 3]));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 16, "{report}");
    for row in rows {
        let seconds = row["seconds"].as_array().unwrap();
        assert_eq!(seconds.len(), 3, "{row}");
        assert!(seconds.iter().all(|seconds| seconds.as_f64().unwrap() > 0.0), "{row}");
    }
}

#[test]
fn what_follows_a_stream_agrees_with_what_is_made_anew() {
    let shell = Shell::new();
    for (arguments, rows) in [
        (&["stream", "--scale", "9", "--edges-per-vertex", "8", "--batch", "500"][..], 16),
        (&["window", "--edges", "3000", "--repeats", "1"][..], 12),
    ] {
        let report = shell.json(&[&["bench"][..], arguments, &["--json"]].concat());
        let found = report.as_array().unwrap();
        assert_eq!(found.len(), rows, "{report}");
        for row in found {
            assert!(row["ours"].as_f64().unwrap() > 0.0, "{row}");
            assert_ne!(row["agreement"]["holds"], false, "{row}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_graph_larger_than_memory_gives_the_same_results() {
    let shell = Shell::new();
    for format in ["fast", "compact"] {
        let size = ["--scale", "10", "--edges-per-vertex", "8", "--format", format, "--dir", "."];
        let arguments =
            [&["bench", "outofcore", "--json", "--access", "default,sequential"][..], &size].concat();
        let report = shell.json(&arguments);
        let rows = report.as_array().unwrap();
        assert_eq!(rows.len(), 12, "{report}");
        for row in rows {
            assert_ne!(row["agreement"]["holds"], false, "{row}");
        }
        assert_eq!(rows.iter().filter(|row| row["agreement"]["holds"] == true).count(), 4, "{report}");
    }
    assert_eq!(std::fs::read_dir(shell.path("")).unwrap().count(), 0);
}
