//! A store whose directory was moved while it was open, and another one in its place: neither does anything to the other.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{dump, options};
use evergraph_store::{ChangeOptions, ChangesError, CommitError, Durability, Options, Retain, Store};

/// Every file below a directory with what it holds, but for the one that names who has it locked.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.ends_with("LOCK") {
            found.insert(path.clone(), fs::read(&path).expect("readable"));
        }
    }
    found
}

fn named(name: &str) -> ChangeOptions {
    ChangeOptions { after: Some(0), name: Some(name.to_owned()) }
}

/// As many commits as are taken, and why no more.
fn put_until_refused(store: &Store) -> (u64, CommitError) {
    for number in 0.. {
        if let Err(error) = store.put_edge(number, number + 1, "edge", &[]) {
            return (number as u64, error);
        }
        assert!(number < 10_000, "the log needs another file");
    }
    unreachable!("there is no last number")
}

#[test]
fn a_store_that_was_moved_does_nothing_to_the_one_in_its_place() {
    for (durability, retain) in [(Durability::Sync, Retain::Nothing), (Durability::None, Retain::Everything)]
    {
        let parent = tempfile::tempdir().expect("a directory");
        let (path, new_path) = (parent.path().join("net.eg"), parent.path().join("moved.eg"));
        let settings = Options { durability, retain: Some(retain), log_limit_bytes: 20_000, ..options() };
        let moved = Store::open(&path, settings.clone()).expect("a new store");
        moved.put_edge(1, 2, "edge", &[]).expect("committed");
        drop(moved.changes(named("a")).expect("a reader"));
        let mut reader = moved.changes(named("b")).expect("a reader");
        moved.put_edge(2, 3, "edge", &[]).expect("committed");
        moved.checkpoint().expect("archived");
        assert!(reader.next().expect("readable").is_some());
        fs::rename(&path, &new_path).expect("moved");
        let other = Store::open(&path, settings.clone()).expect("a new store");
        other.put_edge(7, 8, "edge", &[]).expect("committed");
        for name in ["a", "b", "c"] {
            drop(other.changes(named(name)).expect("a reader"));
        }
        other.checkpoint().expect("archived");
        let before = files(&path);

        moved.put_edge(3, 4, "edge", &[]).expect("the file of the log that there is goes on");
        let error = moved.checkpoint().expect_err("no archive").to_string();
        assert!(error.contains("moved or removed"), "{error}");
        assert!(matches!(moved.drop_cursor("a"), Err(ChangesError::Disk(_))));
        assert!(matches!(moved.changes(named("c")), Err(ChangesError::Disk(_))));
        assert!(matches!(reader.acknowledge(1), Err(ChangesError::Disk(_))));
        moved.backup(parent.path().join("copy.eg")).expect("that lies elsewhere");
        let (commits, error) = put_until_refused(&moved);
        assert!(matches!(&error, CommitError::Durability { reason } if reason.contains("moved")), "{error}");
        let expected = dump(&moved.version().expect("open"));
        drop(reader);
        moved.close().expect("closed");
        assert_eq!(files(&path), before, "{durability}");
        other.put_edge(8, 9, "edge", &[]).expect("committed");
        other.close().expect("closed");

        let moved = Store::open(&new_path, settings.clone()).expect("all is there");
        let version = moved.version().expect("open");
        assert_eq!(version.sequence(), 3 + commits, "{durability}");
        assert_eq!(dump(&version), expected);
        assert_eq!(moved.cursors(), [("a".to_owned(), 0), ("b".to_owned(), 0)]);
        assert_eq!(Store::open(&path, settings).expect("all is there").stats().num_edges, 2);
    }
}
