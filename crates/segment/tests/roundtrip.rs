//! What goes into a segment comes out of it, however it was cut into writes.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{id, image, info, noise, open, path};
use evergraph_disk::{Disk, OsDisk, SimDisk};
use evergraph_segment::{BLOCK_BYTES, SECTION_ALIGNMENT, SectionId, Segment, SegmentError, SegmentWriter};
use proptest::prelude::*;

/// One call of the writer.
#[derive(Clone, Debug)]
enum Call {
    Begin,
    Write(usize),
    Pad(usize),
}

fn call() -> impl Strategy<Value = Call> {
    let length = prop_oneof![
        6 => 0..200usize,
        2 => 0..70_000usize,
        1 => BLOCK_BYTES - 300..BLOCK_BYTES + 300,
        1 => 2 * BLOCK_BYTES - 100..2 * BLOCK_BYTES + 100,
    ];
    prop_oneof![
        2 => Just(Call::Begin),
        6 => length.prop_map(Call::Write),
        2 => prop_oneof![Just(0), Just(1), Just(8), Just(24), Just(4096), Just(BLOCK_BYTES)].prop_map(Call::Pad),
    ]
}

/// Makes the calls and keeps what each section must hold; the ids descend, so that the table has to be sorted.
fn play(writer: &mut SegmentWriter, calls: &[Call]) -> BTreeMap<SectionId, (u64, Vec<u8>)> {
    let mut expected: BTreeMap<SectionId, (u64, Vec<u8>)> = BTreeMap::new();
    let mut current = None;
    for (number, call) in calls.iter().enumerate() {
        let before = writer.position();
        match call {
            Call::Begin => {
                let section = id((calls.len() - number) as u32);
                let offset = writer.begin(section);
                assert!(offset >= before && offset.is_multiple_of(SECTION_ALIGNMENT as u64));
                expected.insert(section, (offset, Vec::new()));
                current = Some(section);
            }
            Call::Write(length) => {
                let bytes = noise(*length, number as u64);
                writer.write(&bytes).unwrap();
                assert_eq!(writer.position(), before + *length as u64);
                if let Some(section) = current {
                    expected.get_mut(&section).unwrap().1.extend(bytes);
                }
            }
            Call::Pad(alignment) => {
                writer.pad_to(*alignment);
                assert!(*alignment == 0 || writer.position().is_multiple_of(*alignment as u64));
                if let Some((_, bytes)) = current.and_then(|section| expected.get_mut(&section)) {
                    bytes.resize(bytes.len() + (writer.position() - before) as usize, 0);
                }
            }
        }
    }
    expected
}

fn same(segment: &Segment, expected: &BTreeMap<SectionId, (u64, Vec<u8>)>) -> Result<(), TestCaseError> {
    prop_assert_eq!(segment.info(), &info());
    let listed: Vec<_> = segment.sections().collect();
    let wanted: Vec<_> =
        expected.iter().map(|(id, (offset, bytes))| (*id, *offset, bytes.len() as u64)).collect();
    prop_assert_eq!(listed, wanted);
    for (id, (offset, bytes)) in expected {
        let section = segment.section(*id).unwrap();
        prop_assert!(section == bytes, "section {} differs", id);
        prop_assert_eq!(section.as_ptr().align_offset(SECTION_ALIGNMENT), 0);
        prop_assert_eq!(segment.section_offset(*id), Some(*offset));
        prop_assert_eq!(&segment.data()[*offset as usize..][..bytes.len()], section);
    }
    prop_assert!(segment.section(id(u32::MAX)).is_none());
    prop_assert!(segment.verify().is_ok());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sections_come_back_as_written(calls in prop::collection::vec(call(), 0..24)) {
        let disk = SimDisk::new(0);
        let mut writer = SegmentWriter::create(&disk, &path(), &info()).unwrap();
        let expected = play(&mut writer, &calls);
        let bytes = writer.finish().unwrap();
        prop_assert_eq!(disk.len(&path()).unwrap(), Some(bytes));
        let segment = Segment::open(&disk, &path(), &common::STORE).unwrap();
        prop_assert_eq!(segment.bytes(), bytes);
        same(&segment, &expected)?;
    }
}

#[test]
fn a_file_of_the_operating_system_is_mapped_and_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("0001.seg");
    let mut writer = SegmentWriter::create(&OsDisk, &path, &info()).unwrap();
    let calls = [Call::Begin, Call::Write(3 * BLOCK_BYTES + 5), Call::Begin, Call::Write(9), Call::Begin];
    let expected = play(&mut writer, &calls);
    writer.finish().unwrap();
    let segment = Segment::open(&OsDisk, &path, &common::STORE).unwrap();
    assert_eq!(segment.path(), path);
    same(&segment, &expected).unwrap();
}

#[test]
fn times_come_back_as_noted() {
    for times in [None, Some((0, 0)), Some((-5, 7)), Some((i64::MIN, i64::MAX)), Some((i64::MAX, i64::MAX))] {
        let disk = SimDisk::new(0);
        let mut writer = SegmentWriter::create(&disk, &path(), &info()).unwrap();
        writer.set_times(times);
        writer.finish().unwrap();
        assert_eq!(Segment::open(&disk, &path(), &common::STORE).unwrap().times(), times);
    }
}

#[test]
fn a_file_that_exists_is_not_overwritten() {
    let disk = SimDisk::new(0);
    disk.put(&path(), b"kept").unwrap();
    assert!(matches!(SegmentWriter::create(&disk, &path(), &info()), Err(SegmentError::Disk(_))));
    assert_eq!(disk.read(&path()).unwrap(), b"kept");
}

#[test]
fn one_id_for_two_sections_is_refused() {
    let disk = SimDisk::new(0);
    let mut writer = SegmentWriter::create(&disk, &path(), &info()).unwrap();
    for number in [4, 2, 4] {
        writer.begin(id(number));
    }
    let error = writer.finish().unwrap_err();
    assert!(matches!(&error, SegmentError::DuplicateSection { id: twice, .. } if *twice == id(4)), "{error}");
    assert!(Segment::open(&disk, &path(), &common::STORE).is_err());
}

#[test]
fn the_bytes_on_disk_never_change() {
    // If this fails, the format has changed: raise its version and keep reading the old one.
    let bytes = image(&[b"neighbors".to_vec(), vec![], noise(100, 3)]);
    assert_eq!((bytes.len(), evergraph_disk::checksum(&bytes)), (464, 0x3895_9ceb_8ea0_458c));
}

#[test]
fn segments_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Segment>();
    assert_eq!(open(&image(&[])).unwrap().path(), Path::new("0007.seg"));
}
