//! Power lost at every operation of a workload, and again at every operation of the recovery from it: what was
//! synced is there, nothing is torn, and the log goes on.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use crate::common::{Entry, append, append_in_parts, append_parts, entry_after, open, scan};
use evergraph_disk::{CrashPlan, Fault, SimDisk};
use evergraph_log::{LogError, LogSync, LogTrim};

/// A recorded run.
struct Workload {
    disk: SimDisk,
    entries: Vec<Entry>,
    /// From which operation on which commit is durable.
    acknowledged: Vec<(u64, u64)>,
    /// From which operation on the commits up to which one may be trimmed.
    trimmed: Vec<(u64, u64)>,
}

fn reached(steps: &[(u64, u64)], operations: u64) -> u64 {
    steps.iter().take_while(|(from, _)| *from <= operations).last().map_or(0, |(_, sequence)| *sequence)
}

/// Appends groups of commits, some of them one commit in parts, syncing after every `interval`-th, through several files,
/// reopenings and trims. Syncs and trims may be beside appends: then one begins, and runs after the next group was appended.
fn workload(interval: usize, file_bytes: u64, beside: bool) -> Workload {
    let disk = SimDisk::new(0);
    let mut run =
        Workload { disk: disk.clone(), entries: Vec::new(), acknowledged: Vec::new(), trimmed: Vec::new() };
    let (mut log, _, _) = open(&disk, 0, file_bytes).unwrap();
    let (mut begun, mut trimming): (Option<LogSync>, Option<LogTrim>) = (None, None);
    for number in 0..24usize {
        let entry = entry_after(log.last_sequence(), 1 + number as u64 % 3, (number * 197) % 1400);
        match number % 6 {
            3 => append_in_parts(&mut log, &entry, number % 4).unwrap(),
            _ => append(&mut log, &entry).unwrap(),
        }
        run.entries.push(entry);
        if let Some(sync) = begun.take() {
            let synced = sync.run();
            let operations = disk.operations();
            run.acknowledged.push((operations, log.end_sync(synced).unwrap()));
        }
        if let Some(trim) = trimming.take() {
            assert!(log.end_trim(trim.run()).is_none());
        }
        if number % interval == interval - 1 {
            if beside {
                begun = log.begin_sync();
            } else {
                log.sync().unwrap();
                run.acknowledged.push((disk.operations(), log.last_sequence()));
            }
        }
        if number % 7 == 6 {
            let through = reached(&run.trimmed, disk.operations()).max(log.last_sequence() / 2);
            run.trimmed.push((disk.operations(), through));
            if beside {
                trimming = log.begin_trim(through).unwrap();
            } else {
                log.trim(through).unwrap();
            }
        }
        if number == 17 {
            // Whole files that were never synced go too.
            run.trimmed.push((disk.operations(), log.last_sequence()));
            log.trim(log.last_sequence()).unwrap();
        }
        if number == 11 {
            (begun, trimming) = (None, None);
            // Given up.
            let given_up = entry_after(log.last_sequence(), 1, 900);
            append_parts(&mut log, &given_up, 3).unwrap();
            if interval == 3 {
                log.close().unwrap();
            }
            let after = reached(&run.trimmed, disk.operations());
            log = open(&disk, after, file_bytes).unwrap().0;
            run.acknowledged.push((disk.operations(), log.last_sequence()));
        }
    }
    run
}

impl Workload {
    /// What must and may be found after a crash at this operation: commits after the trimmed ones, at least the
    /// acknowledged, in whole records.
    fn check(&self, operations: u64, found: &[Entry], what: &str) {
        let after = reached(&self.trimmed, operations);
        let needed: Vec<&Entry> = self.entries.iter().filter(|entry| entry.last > after).collect();
        assert!(
            found.len() <= needed.len() && found.iter().eq(needed[..found.len()].iter().copied()),
            "{what}"
        );
        let acknowledged = reached(&self.acknowledged, operations);
        assert!(
            found.last().map_or(after, |entry| entry.last) >= acknowledged,
            "{what}: a synced commit is lost"
        );
    }
}

fn plans(seeds: u64) -> impl Iterator<Item = CrashPlan> {
    [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced].into_iter().chain((0..seeds).map(CrashPlan::Random))
}

#[test]
fn power_lost_at_every_operation_loses_nothing_synced() {
    for (interval, file_bytes, beside) in [
        (1, 3000, false),
        (3, 3000, false),
        (5, 1 << 20, false),
        (24, 2000, false),
        (2, 1, false),
        (1, 3000, true),
        (3, 1 << 20, true),
        (2, 1, true),
    ] {
        let run = workload(interval, file_bytes, beside);
        let mut replay = run.disk.replay();
        loop {
            let operations = replay.operations();
            for plan in plans(24) {
                let what = format!("interval {interval}, beside {beside}, operation {operations}, {plan:?}");
                let crashed = replay.crash(plan);
                let after = reached(&run.trimmed, operations);
                let (mut log, _, found) =
                    open(&crashed, after, file_bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
                run.check(operations, &found, &what);
                // What was handed out by opening is durable, and so is what is synced after it.
                let next = entry_after(log.last_sequence(), 1, 100);
                append_in_parts(&mut log, &next, operations as usize % 3).unwrap();
                log.sync().unwrap();
                let (_, again) = scan(&crashed.crash(CrashPlan::LoseUnsynced), after).unwrap();
                assert_eq!(again, [&found[..], &[next]].concat(), "{what}");
            }
            if !replay.advance() {
                break;
            }
        }
    }
}

#[test]
fn power_lost_again_during_recovery_loses_nothing_synced() {
    for (interval, file_bytes) in [(1, 3000), (4, 3000)] {
        let run = workload(interval, file_bytes, false);
        let mut replay = run.disk.replay();
        loop {
            let operations = replay.operations();
            let after = reached(&run.trimmed, operations);
            for plan in plans(4) {
                let crashed = replay.crash(plan);
                drop(open(&crashed, after, file_bytes).unwrap());
                let mut recovering = crashed.replay();
                loop {
                    for plan_again in plans(3) {
                        let what = format!("operation {operations}, {plan:?}, then {plan_again:?}");
                        let (_, _, found) = open(&recovering.crash(plan_again), after, file_bytes)
                            .unwrap_or_else(|error| panic!("{what}: {error}"));
                        run.check(operations, &found, &what);
                    }
                    if !recovering.advance() {
                        break;
                    }
                }
            }
            if !replay.advance() {
                break;
            }
        }
    }
}

/// The system reports a failed sync, keeps the bytes readable but marks them clean; the process opens the log
/// again without the power having been lost, and only then it is.
#[test]
fn what_is_read_back_after_a_failed_sync_is_put_on_disk_again() {
    for records in 1..4 {
        let disk = SimDisk::new(0);
        let (mut log, _, _) = open(&disk, 0, 1 << 20).unwrap();
        for _ in 0..records {
            let entry = entry_after(log.last_sequence(), 1, 700);
            append(&mut log, &entry).unwrap();
        }
        disk.fail_at(0, Fault::Eio);
        log.sync().unwrap_err();
        drop(log);
        let (mut log, _, found) = open(&disk, 0, 1 << 20).unwrap();
        let next = entry_after(log.last_sequence(), 1, 10);
        append(&mut log, &next).unwrap();
        log.sync().unwrap();
        for plan in plans(20) {
            let (_, again) = scan(&disk.crash(plan), 0).unwrap();
            assert_eq!(again, [&found[..], std::slice::from_ref(&next)].concat());
        }
    }
}

/// Every operation fails once, in every way: the log refuses to go on, and opening it again finds what was synced.
#[test]
fn a_failure_at_every_operation_poisons_the_log_and_loses_nothing_synced() {
    let (interval, file_bytes) = (2, 1500);
    for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite] {
        let mut unharmed = 0;
        for failing in 1.. {
            let disk = SimDisk::new(failing);
            let (mut log, _, _) = open(&disk, 0, file_bytes).unwrap();
            let failing_operation = disk.operations() + failing;
            disk.fail_at(failing, fault);
            let (mut entries, mut synced) = (Vec::new(), 0);
            let mut failed = false;
            for number in 0..12usize {
                let in_parts = number % 3 == 1;
                let entry = entry_after(log.last_sequence(), if in_parts { 1 } else { 2 }, number * 80);
                let mut result = match in_parts {
                    true => append_in_parts(&mut log, &entry, 2),
                    false => append(&mut log, &entry),
                };
                entries.push(entry);
                if result.is_ok() && number % interval == 1 {
                    result = log.sync();
                    synced = if result.is_ok() { log.last_sequence() } else { synced };
                }
                if let Err(error) = result {
                    assert!(matches!(error, LogError::Disk(_)), "{error}");
                    failed = true;
                    break;
                }
            }
            if disk.operations() <= failing_operation {
                assert!(failing > 20, "the workload has many operations");
                break;
            }
            if !failed {
                // Room ahead could not be made: nobody misses it.
                unharmed += 1;
                assert_eq!(open(&disk, 0, file_bytes).unwrap().2, entries);
                continue;
            }
            let operations = disk.operations();
            let next = entry_after(log.last_sequence(), 1, 1);
            for error in
                [append(&mut log, &next).unwrap_err(), log.sync().unwrap_err(), log.trim(1).unwrap_err()]
            {
                assert!(matches!(error, LogError::Poisoned { .. }), "{error}");
            }
            drop(log);
            assert_eq!(disk.operations(), operations, "a poisoned log leaves the disk alone");
            for crashed in std::iter::once(disk.clone()).chain(plans(10).map(|plan| disk.crash(plan))) {
                let (_, _, found) = open(&crashed, 0, file_bytes).unwrap();
                assert!(entries.starts_with(&found));
                assert!(found.last().map_or(0, |entry| entry.last) >= synced);
            }
        }
        assert!(unharmed > 0, "room was made");
    }
}
