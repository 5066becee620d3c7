//! After a failed write a file takes no more; faults come when and how they were ordered.

use std::path::Path;

use evergraph_disk::{CrashPlan, Disk, DiskError, Fault, OsDisk, SimDisk};

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_named_and_poisons_the_file() {
    let mut file = OsDisk.open_append(Path::new("/dev/full")).unwrap();
    let error = file.append(b"bytes").unwrap_err();
    assert!(matches!(error, DiskError::Full { .. }), "{error}");
    let error = file.append(b"bytes").unwrap_err();
    assert!(matches!(error, DiskError::Poisoned { .. }), "{error}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(matches!(file.sync(), Err(DiskError::Poisoned { .. })));
}

#[test]
fn a_failed_sync_is_never_tried_again() {
    let disk = SimDisk::new(0);
    let mut file = disk.create(Path::new("/file")).unwrap();
    file.append(b"bytes").unwrap();
    disk.fail_at(0, Fault::Eio);
    assert!(matches!(file.sync(), Err(DiskError::Io { .. })));
    let operations = disk.operations();
    assert!(matches!(file.sync(), Err(DiskError::Poisoned { .. })));
    assert!(matches!(file.append(b"more"), Err(DiskError::Poisoned { .. })));
    assert_eq!(disk.operations(), operations, "the disk is not touched again");
}

#[test]
fn a_sync_beside_appends_that_fails_poisons_the_file_for_both() {
    let disk = SimDisk::new(0);
    let mut file = disk.create(Path::new("/file")).unwrap();
    let shared = file.shared();
    file.append(b"bytes").unwrap();
    disk.fail_at(0, Fault::Eio);
    assert!(matches!(shared.sync(), Err(DiskError::Io { .. })));
    assert!(matches!(file.append(b"more"), Err(DiskError::Poisoned { .. })));
    assert!(matches!(file.sync(), Err(DiskError::Poisoned { .. })));
    assert!(matches!(shared.sync(), Err(DiskError::Poisoned { .. })));
}

#[test]
fn a_sync_beside_appends_covers_them_though_the_file_is_let_go() {
    let disk = SimDisk::new(0);
    let mut file = disk.create(Path::new("/file")).unwrap();
    let shared = file.shared();
    file.append(b"bytes").unwrap();
    drop(file);
    shared.sync().unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    let crashed = disk.crash(CrashPlan::LoseUnsynced);
    assert_eq!(crashed.read(Path::new("/file")).unwrap(), b"bytes");
}

#[test]
fn room_that_cannot_be_made_is_no_failure() {
    let path = Path::new("/file");
    for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite] {
        let disk = SimDisk::new(5);
        let mut file = disk.create(path).unwrap();
        file.append(b"one").unwrap();
        disk.fail_at(0, fault);
        file.make_room(100);
        assert!(disk.len(path).unwrap().unwrap() < 100);
        // Asked for once more, it is made behind the hole.
        file.append(b"two").unwrap();
        file.make_room(200);
        file.sync().unwrap();
        assert_eq!(disk.read(path).unwrap(), [&b"onetwo"[..], &[0; 194]].concat());
        file.cut_room().unwrap();
        assert_eq!(disk.read(path).unwrap(), b"onetwo");
    }
    let disk = SimDisk::new(5);
    let mut file = disk.create(path).unwrap();
    disk.fail_at(0, Fault::Eio);
    file.append(b"bytes").unwrap_err();
    let operations = disk.operations();
    file.make_room(100);
    assert_eq!(disk.operations(), operations, "a poisoned file is left alone");
}

#[test]
fn a_fault_hits_the_operation_it_was_ordered_for() {
    let disk = SimDisk::new(0);
    disk.fail_at(3, Fault::Enospc);
    let mut file = disk.create(Path::new("/file")).unwrap();
    file.append(b"one").unwrap();
    file.sync().unwrap();
    assert!(matches!(file.append(b"two"), Err(DiskError::Full { .. })));
    assert_eq!(disk.read(Path::new("/file")).unwrap(), b"one");
    disk.fail_at(0, Fault::Eio);
    assert!(disk.remove(Path::new("/file")).is_err());
    assert_eq!(disk.list(Path::new("/")).unwrap(), ["file"]);
    disk.remove(Path::new("/file")).unwrap();
}

#[test]
fn a_short_write_leaves_a_part() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let mut file = disk.create(Path::new("/file")).unwrap();
        disk.fail_at(0, Fault::ShortWrite);
        assert!(matches!(file.append(b"0123456789"), Err(DiskError::Full { .. })));
        let written = disk.read(Path::new("/file")).unwrap();
        assert!(b"0123456789".starts_with(&written) && written.len() < 10);
        lengths.insert(written.len());
    }
    assert!(lengths.len() > 5, "{lengths:?}");
}
