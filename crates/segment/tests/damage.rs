//! No damage passes: every flipped bit, every truncation, every extension is found when the file is opened.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};

use common::{STORE, damage, image, noise, open, path};
use evergraph_disk::{Corruption, OsDisk, SimDisk, checksum};
use evergraph_segment::{BLOCK_BYTES, FORMAT_VERSION, Segment, SegmentError};
use proptest::prelude::*;

const HEADER_BYTES: usize = 128;
const FOOTER_BYTES: usize = 64;

/// Padding in front of, between and behind the sections.
fn small() -> Vec<u8> {
    image(&[noise(70, 1), vec![], noise(1, 2)])
}

fn large() -> Vec<u8> {
    image(&[noise(BLOCK_BYTES, 1), noise(2 * BLOCK_BYTES + 77, 2)])
}

/// The offset in the footer where the tables start.
fn tables(bytes: &[u8]) -> usize {
    u64::from_le_bytes(bytes[bytes.len() - FOOTER_BYTES..][..8].try_into().unwrap()) as usize
}

/// Where damage of the byte at `offset` is to be reported.
fn place(bytes: &[u8], offset: usize) -> u64 {
    let footer = bytes.len() - FOOTER_BYTES;
    let place = match offset {
        _ if offset >= footer => footer,
        _ if offset >= tables(bytes) => tables(bytes),
        _ => offset / BLOCK_BYTES * BLOCK_BYTES,
    };
    place as u64
}

fn corruption(bytes: &[u8]) -> Corruption {
    match open(bytes) {
        Err(SegmentError::Corrupt(corruption)) => corruption,
        other => panic!("damage passed: {other:?}"),
    }
}

fn assert_flip_found(bytes: &mut [u8], offset: usize, bit: u8) {
    let place = place(bytes, offset);
    bytes[offset] ^= 1 << bit;
    let found = corruption(bytes);
    assert_eq!((found.path, found.offset), (path(), place), "bit {bit} of byte {offset}: {}", found.what);
    bytes[offset] ^= 1 << bit;
}

/// Computes the header's checksum anew, after a change that is meant to be read.
fn seal_header(bytes: &mut [u8]) {
    let sum = checksum(&bytes[..HEADER_BYTES - 8]);
    bytes[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// Computes the checksums of the tables and of the footer anew.
fn seal_footer(bytes: &mut [u8]) {
    let footer = bytes.len() - FOOTER_BYTES;
    let tables = checksum(&bytes[tables(bytes).min(footer)..footer]);
    bytes[footer + 40..footer + 48].copy_from_slice(&tables.to_le_bytes());
    let sum = checksum(&bytes[footer..footer + 48]);
    bytes[footer + 48..footer + 56].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn every_flipped_bit_of_a_small_segment_is_found() {
    let mut bytes = small();
    for offset in 0..bytes.len() {
        for bit in 0..8 {
            assert_flip_found(&mut bytes, offset, bit);
        }
    }
}

#[test]
fn every_truncation_of_a_small_segment_is_found() {
    let bytes = small();
    for length in 0..bytes.len() {
        corruption(&bytes[..length]);
    }
}

#[test]
fn every_truncation_near_a_boundary_of_a_large_segment_is_found() {
    let bytes = large();
    let boundaries =
        [BLOCK_BYTES, 2 * BLOCK_BYTES, 3 * BLOCK_BYTES, tables(&bytes), bytes.len() - FOOTER_BYTES];
    for boundary in boundaries {
        for length in [boundary - 1, boundary, boundary + 1] {
            corruption(&bytes[..length]);
        }
    }
}

#[test]
fn a_segment_within_a_segment_is_not_taken_for_the_whole() {
    let inner = small();
    let outer = image(std::slice::from_ref(&inner));
    let start = HEADER_BYTES;
    assert_eq!(&outer[start..start + inner.len()], inner);
    corruption(&outer[..start + inner.len()]);
    corruption(&[inner.as_slice(), &inner].concat());
    corruption(&[inner.as_slice(), &[0]].concat());
}

#[test]
fn bytes_of_another_kind_are_no_segment() {
    corruption(&[]);
    corruption(&vec![0; 4096]);
    corruption(&noise(BLOCK_BYTES + 4096, 9));
}

#[test]
fn all_damage_is_listed_in_order() {
    let mut bytes = large();
    assert_eq!(damage(&bytes), []);
    let last = tables(&bytes) - 1;
    for offset in [last, 2 * BLOCK_BYTES + 4, 3] {
        bytes[offset] ^= 16;
    }
    assert_eq!(damage(&bytes), [0, 2 * BLOCK_BYTES as u64, 3 * BLOCK_BYTES as u64]);
    let footer = bytes.len() - FOOTER_BYTES;
    bytes[footer] ^= 1;
    assert_eq!(damage(&bytes), [0, footer as u64]);
    assert_eq!(damage(&bytes[..20]), [0]);
}

#[test]
fn a_segment_of_another_store_is_refused() {
    let disk = SimDisk::new(0);
    disk.put(&path(), &small()).unwrap();
    let error = Segment::open(&disk, &path(), b"another store!!!").unwrap_err();
    assert!(matches!(error, SegmentError::WrongStore { .. }), "{error}");
    assert!(Segment::open(&disk, &path(), &STORE).is_ok());
}

#[test]
fn a_newer_format_is_told_from_damage() {
    let mut bytes = small();
    bytes[8..12].copy_from_slice(&(FORMAT_VERSION + 1).to_le_bytes());
    corruption(&bytes);
    seal_header(&mut bytes);
    let error = open(&bytes).unwrap_err();
    assert!(
        matches!(error, SegmentError::NewerFormat { found, supported, .. } if (found, supported) == (FORMAT_VERSION + 1, FORMAT_VERSION)),
        "{error}"
    );
    bytes[8..12].fill(0);
    seal_header(&mut bytes);
    corruption(&bytes);
}

#[test]
fn tables_that_lie_under_a_right_checksum_are_refused() {
    let bytes = small();
    let (table, footer) = (tables(&bytes), bytes.len() - FOOTER_BYTES);
    // Offset and length of the first section, then its id; where the tables start and how many entries they have.
    let fields = [table + 8, table + 16, footer, footer + 8, footer + 16];
    for field in fields {
        for value in [1, 64, 1 << 20, 1 << 40, u64::MAX - 63, u64::MAX] {
            let mut lying = bytes.clone();
            lying[field..field + 8].copy_from_slice(&u64::to_le_bytes(value));
            if lying != bytes {
                seal_footer(&mut lying);
                // A shorter or longer section within the data cannot be told from the one meant.
                let harmless = field == table + 16 && value <= 64;
                assert_eq!(open(&lying).is_ok(), harmless, "{value} at byte {field}");
            }
        }
    }
    let mut twice = bytes.clone();
    twice.copy_within(table..table + 8, table + 24);
    seal_footer(&mut twice);
    corruption(&twice);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn flipped_bits_of_a_large_segment_are_found(offset in any::<prop::sample::Index>(), bit in 0..8u8) {
        let mut bytes = large();
        let offset = offset.index(bytes.len());
        assert_flip_found(&mut bytes, offset, bit);
    }

    #[test]
    fn overwritten_and_cut_segments_never_open(
        start in any::<prop::sample::Index>(),
        length in 1..5000usize,
        seed in any::<u64>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = image(&[noise(6000, 1), noise(900, 2)]);
        let start = start.index(bytes.len());
        let end = bytes.len().min(start + length);
        if cut {
            bytes.drain(start..end);
        } else {
            let replaced = noise(end - start, seed);
            prop_assume!(bytes[start..end] != replaced);
            bytes[start..end].copy_from_slice(&replaced);
        }
        corruption(&bytes);
    }
}

#[test]
fn verify_finds_damage_that_came_after_opening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("0007.seg");
    common::write(&OsDisk, &path, &[noise(BLOCK_BYTES, 1), noise(500, 2)]).unwrap();
    let segment = Segment::open(&OsDisk, &path, &STORE).unwrap();
    segment.verify().unwrap();
    // A failing disk changes bytes under a mapping; nothing but a test may.
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(BLOCK_BYTES as u64 + 200)).unwrap();
    file.write_all(b"rot").unwrap();
    let error = segment.verify().unwrap_err();
    assert!(matches!(&error, SegmentError::Corrupt(found) if found.offset == BLOCK_BYTES as u64), "{error}");
}
