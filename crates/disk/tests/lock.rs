//! The lock keeps a second writer out, names the first, and dies with it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use evergraph_disk::{Disk, DiskError, LockMode, OsDisk, SimDisk};

const PATH_VARIABLE: &str = "EVERGRAPH_TEST_LOCK_PATH";

fn holder(result: Result<evergraph_disk::DiskLock, DiskError>) -> String {
    match result {
        Err(DiskError::Locked { holder, .. }) => holder,
        other => panic!("not locked: {other:?}"),
    }
}

#[test]
fn writers_exclude_each_other_and_readers() {
    let home = tempfile::tempdir().unwrap();
    let disks: [(Box<dyn Disk>, &Path); 2] =
        [(Box::new(OsDisk), home.path()), (Box::new(SimDisk::new(0)), Path::new("/"))];
    for (disk, directory) in disks {
        let path = directory.join("lock");
        let writer = disk.lock(&path, LockMode::Exclusive).unwrap();
        let this_process = std::process::id().to_string();
        assert!(holder(disk.lock(&path, LockMode::Exclusive)).contains(&this_process));
        assert!(holder(disk.lock(&path, LockMode::Shared)).contains(&this_process));
        drop(writer);
        let reader = disk.lock(&path, LockMode::Shared).unwrap();
        let other_reader = disk.lock(&path, LockMode::Shared).unwrap();
        holder(disk.lock(&path, LockMode::Exclusive));
        drop(reader);
        holder(disk.lock(&path, LockMode::Exclusive));
        drop(other_reader);
        disk.lock(&path, LockMode::Exclusive).unwrap();
    }
}

#[test]
fn the_message_says_who_and_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("lock");
    let _writer = OsDisk.lock(&path, LockMode::Exclusive).unwrap();
    let message = OsDisk.lock(&path, LockMode::Exclusive).unwrap_err().to_string();
    assert!(
        message.contains("is locked by process") && message.contains("close the store there"),
        "{message}"
    );
}

/// Not a test by itself: the process that the next test starts and kills.
#[test]
fn hold_the_lock_until_killed() {
    let Ok(path) = std::env::var(PATH_VARIABLE) else { return };
    let _lock = OsDisk.lock(Path::new(&path), LockMode::Exclusive).unwrap();
    use std::io::Write;
    writeln!(std::io::stdout(), "\nlocked").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn a_killed_process_leaves_no_lock() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("lock");
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_the_lock_until_killed", "--nocapture"])
        .env(PATH_VARIABLE, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "locked"));
    let named = holder(OsDisk.lock(&path, LockMode::Exclusive));
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(named.starts_with(&format!("process {}", other.id())), "{named}");
    // Its number is in the file still, and it is not the one that keeps a writer out.
    let reader = OsDisk.lock(&path, LockMode::Shared).unwrap();
    let named = holder(OsDisk.lock(&path, LockMode::Exclusive));
    assert!(named.contains("a process that reads it"), "{named}");
    drop(reader);
    OsDisk.lock(&path, LockMode::Exclusive).unwrap();
}
