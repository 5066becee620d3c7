//! A disk that fails or loses power while a segment is written leaves an error and nothing that opens.

#![allow(clippy::unwrap_used)]

mod common;

use common::{STORE, noise, path, write};
use evergraph_disk::{CrashPlan, Disk, Fault, SimDisk};
use evergraph_segment::{BLOCK_BYTES, Segment, SegmentError, SegmentWriter};

const FAULTS: [Fault; 3] = [Fault::Eio, Fault::Enospc, Fault::ShortWrite];

fn sections() -> Vec<Vec<u8>> {
    vec![noise(BLOCK_BYTES + 10, 1), noise(3000, 2), noise(BLOCK_BYTES, 3)]
}

#[test]
fn every_failing_operation_is_reported_and_leaves_no_segment() {
    let whole = SimDisk::new(0);
    write(&whole, &path(), &sections()).unwrap();
    for number in 0..whole.operations() {
        for fault in FAULTS {
            let disk = SimDisk::new(number);
            disk.fail_at(number, fault);
            let error = write(&disk, &path(), &sections()).unwrap_err();
            assert!(matches!(error, SegmentError::Disk(_)), "operation {number}: {error}");
            if let Ok(segment) = Segment::open(&disk.crash(CrashPlan::LoseUnsynced), &path(), &STORE) {
                panic!("operation {number} failed by {fault:?}, yet there is {segment:?}");
            }
        }
    }
}

#[test]
fn a_writer_that_failed_refuses_to_go_on() {
    let disk = SimDisk::new(0);
    let mut writer = SegmentWriter::create(&disk, &path(), &common::info()).unwrap();
    writer.begin(common::id(1));
    disk.fail_at(0, FAULTS[0]);
    assert!(writer.write(&noise(2 * BLOCK_BYTES, 1)).is_err());
    assert!(writer.write(&noise(2 * BLOCK_BYTES, 1)).is_err());
    assert!(writer.finish().is_err());
    assert!(Segment::open(&disk, &path(), &STORE).is_err());
}

#[test]
fn a_segment_is_there_whole_or_not_at_all_after_a_crash() {
    let disk = SimDisk::new(0);
    write(&disk, &path(), &sections()).unwrap();
    disk.sync_dir(path().parent().unwrap()).unwrap();
    for operations in 0..=disk.operations() {
        for seed in 0..20 {
            let crashed = disk.state_at(operations, CrashPlan::Random(seed));
            match Segment::open(&crashed, &path(), &STORE) {
                Ok(segment) => assert_eq!(segment.data(), disk.read(&path()).unwrap()),
                Err(SegmentError::Disk(_) | SegmentError::Corrupt(_)) => {
                    assert!(operations < disk.operations())
                }
                Err(error) => panic!("after operation {operations}: {error}"),
            }
        }
    }
}
