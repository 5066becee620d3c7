//! What the simulated disk may and may not lose with the power.

use std::collections::BTreeMap;
use std::path::Path;

use evergraph_disk::{CrashPlan, Disk, Fault, SimDisk, write_atomically};
use proptest::prelude::*;

fn plans() -> impl Iterator<Item = CrashPlan> {
    [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced].into_iter().chain((0..40).map(CrashPlan::Random))
}

#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    MakeRoom(usize),
    Sync,
    FailedSync,
    SyncDirectory,
}

proptest! {
    #[test]
    fn synced_bytes_survive_and_the_rest_may_not(
        steps in prop::collection::vec(prop_oneof![
            6 => (1..1500usize).prop_map(Step::Append), 2 => (1..4000usize).prop_map(Step::MakeRoom), 2 => Just(Step::Sync), 1 => Just(Step::FailedSync), 1 => Just(Step::SyncDirectory)
        ], 1..12)
    ) {
        let disk = SimDisk::new(1);
        let path = Path::new("/file");
        let mut file = disk.create(path).unwrap();
        let mut written: Vec<u8> = Vec::new();
        // Which bytes a sync covered; one that failed loses sight of the bytes for good.
        let mut safe: Vec<Option<bool>> = Vec::new();
        let mut named = false;
        for step in steps {
            match step {
                Step::Append(length) => {
                    let (from, to) = (file.len() as usize, file.len() as usize + length);
                    let bytes: Vec<u8> = (from..to).map(|position| (position % 251) as u8 + 1).collect();
                    file.append(&bytes).unwrap();
                    written.resize(written.len().max(to), 0);
                    written[from..to].copy_from_slice(&bytes);
                    safe.resize(written.len(), None);
                    safe[from..to].fill(None);
                }
                Step::MakeRoom(more) => {
                    file.make_room(file.len() + more as u64);
                    written.resize(file.room_end() as usize, 0);
                    safe.resize(written.len(), None);
                }
                Step::Sync => {
                    file.sync().unwrap();
                    safe.iter_mut().for_each(|byte| *byte = byte.or(Some(true)));
                }
                Step::FailedSync => {
                    disk.fail_at(0, Fault::Eio);
                    file.sync().unwrap_err();
                    safe.iter_mut().for_each(|byte| *byte = byte.or(Some(false)));
                    file = disk.open_append(path).unwrap();
                }
                Step::SyncDirectory => {
                    disk.sync_dir(Path::new("/")).unwrap();
                    named = true;
                }
            }
            prop_assert_eq!(&disk.read(path).unwrap(), &written);
            for plan in plans() {
                let crashed = disk.crash(plan);
                let Some(length) = crashed.len(path).unwrap() else {
                    prop_assert!(!named, "a synced name survives");
                    continue;
                };
                prop_assert!(length <= written.len() as u64);
                let bytes = crashed.read(path).unwrap();
                for (position, _) in safe.iter().enumerate().filter(|(_, safe)| **safe == Some(true)) {
                    prop_assert_eq!(bytes.get(position), Some(&written[position]), "at {} under {:?}", position, plan);
                }
                if plan == CrashPlan::KeepUnsynced {
                    prop_assert_eq!(&bytes, &written);
                }
            }
        }
    }
}

#[test]
fn a_file_replaced_atomically_is_old_or_new() {
    let disk = SimDisk::new(0);
    let directory = Path::new("/store");
    disk.create_dir_all(directory).unwrap();
    let contents = [vec![1u8; 3000], vec![2u8; 10], vec![3u8; 700]];
    let mut done_after = Vec::new();
    for bytes in &contents {
        write_atomically(&disk, directory, "current", bytes).unwrap();
        done_after.push(disk.operations());
    }
    let mut replay = disk.replay();
    loop {
        let done = done_after.iter().filter(|operations| **operations <= replay.operations()).count();
        for plan in plans() {
            let crashed = replay.crash(plan);
            let path = directory.join("current");
            match crashed.len(&path).unwrap() {
                None => assert_eq!(done, 0),
                Some(_) => {
                    let bytes = crashed.read(&path).unwrap();
                    let found = contents.iter().position(|content| *content == bytes).expect("whole");
                    assert!(found + 1 == done || found == done, "{found} after {done}");
                }
            }
            if crashed.list(directory).is_ok() {
                write_atomically(&crashed, directory, "current", b"after").unwrap();
                assert_eq!(crashed.crash(CrashPlan::LoseUnsynced).read(&path).unwrap(), b"after");
            }
        }
        if !replay.advance() {
            break;
        }
    }
}

#[test]
fn every_kind_of_loss_happens() {
    let disk = SimDisk::new(0);
    let path = Path::new("/file");
    let mut file = disk.create(path).unwrap();
    file.append(&[1; 100]).unwrap();
    file.sync().unwrap();
    file.append(&[2; 3000]).unwrap();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..400 {
        let crashed = disk.crash(CrashPlan::Random(seed));
        let Ok(bytes) = crashed.read(path) else {
            *seen.entry("no name").or_default() += 1;
            continue;
        };
        assert_eq!(bytes, disk.crash(CrashPlan::Random(seed)).read(path).unwrap(), "the seed decides");
        let tail = &bytes[100..];
        let kind = match tail.iter().position(|byte| *byte != 2) {
            None if tail.is_empty() => "tail lost",
            None if tail.len() == 3000 => "all there",
            None => "cut off",
            Some(hole) if tail[hole..].ends_with(&[2]) => "hole",
            Some(_) => "end overwritten",
        };
        *seen.entry(kind).or_default() += 1;
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert!(seen.values().all(|count| *count >= 5), "{seen:?}");
}

#[test]
fn only_a_rewrite_saves_what_a_failed_sync_dropped() {
    let path = Path::new("/file");
    let lost_after = |rewrite: bool| {
        let disk = SimDisk::new(0);
        let mut file = disk.create(path).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        file.append(b"abc").unwrap();
        disk.fail_at(0, Fault::Eio);
        file.sync().unwrap_err();
        if rewrite {
            disk.rewrite(path, 0).unwrap();
        }
        let mut file = disk.open_append(path).unwrap();
        file.append(b"def").unwrap();
        file.sync().unwrap();
        disk.crash(CrashPlan::LoseUnsynced).read(path).unwrap() != b"abcdef"
    };
    assert!(lost_after(false));
    assert!(!lost_after(true));
}

#[test]
fn a_recorded_run_gives_the_state_after_every_operation() {
    let disk = SimDisk::new(0);
    let path = Path::new("/file");
    let mut file = disk.create(path).unwrap();
    for byte in 0..10u8 {
        file.append(&[byte; 10]).unwrap();
    }
    assert_eq!(disk.operations(), 11);
    for operations in 1..=11u64 {
        let state = disk.state_at(operations, CrashPlan::KeepUnsynced);
        assert_eq!(state.len(path).unwrap(), Some(10 * (operations - 1)));
        assert_eq!(state.operations(), 0, "a new disk");
    }
    assert_eq!(disk.state_at(0, CrashPlan::KeepUnsynced).len(path).unwrap(), None);
}

#[test]
fn damage_by_hardware_flips_one_bit() {
    let disk = SimDisk::new(0);
    let path = Path::new("/file");
    disk.put(path, &[0; 8]).unwrap();
    disk.flip_bit(path, 5, 3).unwrap();
    assert_eq!(disk.crash(CrashPlan::LoseUnsynced).read(path).unwrap(), [0, 0, 0, 0, 0, 8, 0, 0]);
}
