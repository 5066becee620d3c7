//! Writing segments for tests, and a disk with one file on it.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::{Path, PathBuf};

use evergraph_disk::{Disk, SimDisk};
use evergraph_segment::{SectionId, Segment, SegmentError, SegmentInfo, SegmentWriter};

pub(crate) const STORE: [u8; 16] = *b"the store's name";

pub(crate) fn info() -> SegmentInfo {
    SegmentInfo { store_id: STORE, segment: 7, lower: 10, upper: 25, since: 11 }
}

pub(crate) fn id(number: u32) -> SectionId {
    SectionId { kind: (number % 3) as u16, owner: (number % 7) as u16, part: number }
}

pub(crate) fn path() -> PathBuf {
    PathBuf::from("0007.seg")
}

/// Bytes that differ from block to block.
pub(crate) fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        bytes.extend_from_slice(&(state ^ (state >> 29)).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub(crate) fn write(disk: &dyn Disk, path: &Path, sections: &[Vec<u8>]) -> Result<u64, SegmentError> {
    let mut writer = SegmentWriter::create(disk, path, &info())?;
    for (number, section) in sections.iter().enumerate() {
        writer.begin(id(number as u32));
        writer.write(section)?;
    }
    writer.finish()
}

/// The bytes of a segment with these sections.
pub(crate) fn image(sections: &[Vec<u8>]) -> Vec<u8> {
    let disk = SimDisk::new(0);
    write(&disk, &path(), sections).unwrap();
    disk.read(&path()).unwrap()
}

/// Opens these bytes as a segment.
pub(crate) fn open(bytes: &[u8]) -> Result<Segment, SegmentError> {
    let disk = SimDisk::new(0);
    disk.put(&path(), bytes).unwrap();
    Segment::open(&disk, &path(), &STORE)
}

/// Where these bytes are said to be damaged.
pub(crate) fn damage(bytes: &[u8]) -> Vec<u64> {
    let disk = SimDisk::new(0);
    disk.put(&path(), bytes).unwrap();
    let damage = Segment::find_damage(&disk, &path(), &STORE).unwrap();
    damage.iter().map(|corruption| corruption.offset).collect()
}
