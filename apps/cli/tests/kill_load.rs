//! A load that is killed leaves all of its file or nothing, whatever it was doing, and can be run again.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::path::Path;
use std::process::{Command, Stdio};

use evergraph::{Database, GraphView, OpenError, Options};
use evergraph_proof::tally;

/// Enough to go past the log, straight to a segment.
const EDGES: u64 = 1 << 20;

#[test]
fn a_few_kills_leave_all_or_nothing() {
    kill_loads(6);
}

/// A load in parts, killed again and again, goes on each time until all of the file is there once.
#[test]
fn a_load_that_is_killed_is_resumed() {
    let stage = tempfile::tempdir().unwrap();
    let (file, store) = (stage.path().join("graph.csv"), stage.path().join("net.eg"));
    let size = ["--vertices", "100000", "--edges", &(4 * EDGES).to_string()];
    assert!(
        evergraph(&["generate", "erdos-renyi"])
            .args(size)
            .arg("--out")
            .arg(&file)
            .status()
            .unwrap()
            .success()
    );
    let resume = ["load", "--multi", "--resume", "--part=1", "--memory-limit=16"];
    let newest_segment = || {
        let files = std::fs::read_dir(store.join("segments")).into_iter().flatten();
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        names.filter(|name| name.ends_with(".segment")).max()
    };
    let mut parts = Vec::new();
    let is_some_of_it = |edges: &u64| (1..4 * EDGES).contains(edges);
    loop {
        let before = newest_segment();
        let kills = parts.len() < 3 || !parts.iter().any(is_some_of_it);
        let mut loading = evergraph(&resume).arg(&store).arg(&file).spawn().unwrap();
        // The first ones are killed once they have begun a segment, perhaps before it is committed, and later each time.
        while kills && newest_segment() == before && loading.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        if kills {
            std::thread::sleep(std::time::Duration::from_millis(100 * parts.len() as u64));
            loading.kill().unwrap();
        }
        let status = loading.wait().unwrap();
        parts.push(edges(&store));
        if status.success() {
            break;
        }
    }
    assert!(parts.len() > 2 && parts.is_sorted(), "{parts:?}");
    assert!(parts.iter().any(is_some_of_it), "{parts:?}");
    assert_eq!(parts.last(), Some(&(4 * EDGES)));
}

#[test]
#[ignore = "takes minutes: make soak"]
fn soak_kills_of_a_load_leave_all_or_nothing() {
    kill_loads(60);
    tally("kills of a load", 60);
}

/// Kills a load at evenly spread times.
fn kill_loads(kills: u32) {
    let stage = tempfile::tempdir().unwrap();
    let (file, store) = (stage.path().join("graph.csv"), stage.path().join("net.eg"));
    let size = ["--vertices", "100000", "--edges", &EDGES.to_string()];
    let generated =
        evergraph(&["generate", "erdos-renyi"]).args(size).arg("--out").arg(&file).status().unwrap();
    assert!(generated.success());
    let start = std::time::Instant::now();
    load(&store, &file);
    let duration = start.elapsed() * 5 / 4;
    assert_eq!(edges(&store), EDGES);
    for kill in 1..=kills {
        std::fs::remove_dir_all(&store).unwrap();
        let mut loading = evergraph(&["load", "--multi"]).arg(&store).arg(&file).spawn().unwrap();
        std::thread::sleep(duration * kill / kills);
        loading.kill().unwrap();
        loading.wait().unwrap();
        match edges(&store) {
            0 => {
                load(&store, &file);
                assert_eq!(edges(&store), EDGES, "the load after kill {kill}");
            }
            EDGES => {}
            part => panic!("kill {kill} left {part} of {EDGES} edges"),
        }
    }
}

fn load(store: &Path, file: &Path) {
    assert!(evergraph(&["load", "--multi"]).arg(store).arg(file).status().unwrap().success());
}

/// The edges in a store; none if it was killed before it was one.
fn edges(store: &Path) -> u64 {
    match Database::open(store, Options { read_only: true, ..Options::default() }) {
        Ok(database) => database.snapshot().unwrap().num_edges(),
        Err(OpenError::NotFound { .. }) => {
            // The next load is to find a directory that it can use.
            std::fs::create_dir_all(store).unwrap();
            0
        }
        Err(error) => panic!("the store does not open: {error}"),
    }
}

fn evergraph(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
