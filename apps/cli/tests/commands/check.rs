//! `evergraph check`.

use crate::shell::{Shell, data};

#[test]
fn a_sound_store_is_called_sound() {
    let shell = Shell::new();
    shell.json(&["load", "votes.eg", &data("wiki-Vote.txt.gz"), "--json"]);
    let report = shell.json(&["check", "votes.eg", "--json"]);
    assert_eq!((&report["healthy"], &report["problems"]), (&true.into(), &serde_json::json!([])));
    assert_eq!((&report["vertices"], &report["edges"]), (&7_115.into(), &103_689.into()));
    let done = shell.run(&["check", "votes.eg"]);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert!(
        done.stdout.starts_with("votes.eg is sound: version 1, 7,115 vertices, 103,689 edges"),
        "{done:?}"
    );
}

#[test]
fn damage_is_told_with_its_place() {
    let shell = Shell::new();
    shell.json(&["load", "votes.eg", &data("wiki-Vote.txt.gz"), "--json"]);
    let largest = largest_file(&shell.path("votes.eg"));
    let mut bytes = std::fs::read(&largest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&largest, bytes).unwrap();
    let done = shell.run(&["check", "votes.eg", "--json"]);
    assert_eq!(done.code, 1, "{done:?}");
    let name = largest.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(
        done.stdout.contains("\"healthy\":false") && done.stdout.contains(&name),
        "{name} is not in {done:?}"
    );
    let words = shell.run(&["check", "votes.eg"]);
    assert!(
        words.stdout.contains(&format!("{name}, byte ")) && words.stdout.contains("votes.eg is damaged"),
        "{words:?}"
    );
}

#[test]
fn what_is_no_store_is_refused() {
    let shell = Shell::new();
    assert!(shell.refused(&["check", "votes.eg"], 1).contains("votes.eg"));
}

fn largest_file(directory: &std::path::Path) -> std::path::PathBuf {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    files.into_iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap()
}
