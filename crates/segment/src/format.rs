//! The bytes of a segment. All numbers are little-endian; offsets count from the start of the file.
//!
//! ```text
//!        0  ┌──────────────────────────────┐ ─┐ block 0
//!           │ header, 128 bytes            │  │
//!      128  ├──────────────────────────────┤  │ Everything up to T is cut into blocks of 1 MiB, the last
//!           │ section                      │  │ one shorter. Padding belongs to the block it lies in.
//!           │ zeros to a multiple of 64    │ ─┘
//!           │ section                      │ ─┐ block 1
//!           │ …                            │  │
//!           │ zeros to a multiple of 64    │ ─┘
//!        T  ├──────────────────────────────┤ ─┐
//!           │ section table, 24 bytes each │  │ covered by the footer's checksum of the tables
//!           │ block table, 8 bytes each    │  │
//!  end - 64 ├──────────────────────────────┤ ─┘
//!           │ footer, 64 bytes             │    covered by its own checksum
//!      end  └──────────────────────────────┘
//!
//!  header                                     footer
//!    0   8  magic "EVGRSEG\0"                   0   8  T, where the tables start: a multiple of 64
//!    8   4  format version, 3                   8   8  number of sections
//!   12   4  zero                               16   8  number of blocks: T / 1 MiB, rounded up
//!   16  16  store id                           24   8  2^63 - 1 - the least event time
//!                                              32   8  the greatest event time + 2^63
//!   32   8  segment number                     40   8  checksum of both tables
//!   40   8  lower: holds versions after this   48   8  checksum of footer bytes 0 to 47
//!   48   8  upper: up to and with this         56   8  magic "EVGREND\0"
//!   56   8  since: merged up to this
//!   64   8  2^63 - 1, signed                   section table entry, ascending by id
//!   72   8  -2^63, signed                        0   2  kind
//!   80  40  zero                                 2   2  owner
//!  120   8  checksum of header bytes 0 to 119    4   4  part
//!                                                8   8  offset: a multiple of 64
//!  block table entry: the checksum of a block   16   8  length in bytes
//! ```
//!
//! Checksums are XXH3 with 64 bits. Invariant: every byte is covered by at least one, and the lengths in the footer
//! add up to the length of the file, so a file cut off, extended or changed anywhere is told from a whole one. Every
//! later format keeps the magic, the version and the header's checksum where they are.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use evergraph_disk::{Corruption, checksum};
use evergraph_types::Sequence;

use crate::SegmentError;

/// The format this release writes and the latest it reads. What is in sections is not said here, but a program that knows
/// less of it must not read it: format 1 had no columns of edges in few bits, and compressed runs had at most 256 neighbors until format 3.
pub const FORMAT_VERSION: u32 = 3;
/// How many bytes share a checksum: the unit in which damage is found.
pub const BLOCK_BYTES: usize = 1 << 20;
/// Every section starts at a multiple of this, in the file and in memory.
pub const SECTION_ALIGNMENT: usize = 64;

pub(crate) const HEADER_BYTES: usize = 128;
pub(crate) const FOOTER_BYTES: usize = 64;
const SECTION_ENTRY_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 8;
const MAGIC: [u8; 8] = *b"EVGRSEG\0";
const END_MAGIC: [u8; 8] = *b"EVGREND\0";
/// The part of the header and of the footer that their own checksum covers.
const HEADER_COVERED: usize = HEADER_BYTES - CHECKSUM_BYTES;
const FOOTER_COVERED: usize = FOOTER_BYTES - CHECKSUM_BYTES - END_MAGIC.len();

/// Names a section. The three numbers mean what the store wants them to mean; sections are ordered by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionId {
    /// What the section holds: neighbor lists, keys, a column.
    pub kind: u16,
    /// Whose it is: an edge type, a property.
    pub owner: u16,
    /// Which part of it: a direction, a range.
    pub part: u32,
}

impl fmt::Display for SectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.kind, self.owner, self.part)
    }
}

/// What a segment says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// The store it belongs to.
    pub store_id: [u8; 16],
    /// Its number within the store.
    pub segment: u64,
    /// It holds the versions after this one …
    pub lower: Sequence,
    /// … up to and with this one.
    pub upper: Sequence,
    /// Versions before this one cannot be told apart: their changes have been merged.
    pub since: Sequence,
}

/// Where a section lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) id: SectionId,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// Where everything lies, as the footer and the tables say. Checked: all of it is within the file.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Ascending by id.
    pub(crate) sections: Vec<Section>,
    /// How many bytes the blocks cover: where the tables start.
    pub(crate) data_bytes: usize,
    /// The least and the greatest time of an event.
    pub(crate) times: Option<(i64, i64)>,
    /// The footer's, which covers that of the tables, and these those of all blocks.
    pub(crate) checksum: u64,
    /// Where the block table lies.
    block_table: Range<usize>,
}

/// The header of a segment.
pub(crate) fn encode_header(info: &SegmentInfo) -> [u8; HEADER_BYTES] {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    bytes.extend(MAGIC);
    bytes.extend(FORMAT_VERSION.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(info.store_id);
    for number in [info.segment, info.lower, info.upper, info.since] {
        bytes.extend(number.to_le_bytes());
    }
    // Where older programs look for times, which are not known before the end: none.
    bytes.extend(i64::MAX.to_le_bytes());
    bytes.extend(i64::MIN.to_le_bytes());
    bytes.resize(HEADER_COVERED, 0);
    bytes.extend(checksum(&bytes).to_le_bytes());
    let mut header = [0; HEADER_BYTES];
    header.copy_from_slice(&bytes);
    header
}

/// The times of events as the footer has them: how far the least lies below the greatest number there is, and the greatest above
/// the least. Both are 0 where there is none, as they are in segments from before they were noted.
fn encode_times(times: Option<(i64, i64)>) -> [u64; 2] {
    times.map_or([0; 2], |(least, greatest)| [i64::MAX.abs_diff(least), i64::MIN.abs_diff(greatest)])
}

fn decode_times(below: u64, above: u64) -> Option<(i64, i64)> {
    let (least, greatest) = (i64::MAX.wrapping_sub_unsigned(below), i64::MIN.wrapping_add_unsigned(above));
    (least <= greatest).then_some((least, greatest))
}

/// Everything behind the data: both tables and the footer. The sections ascend by id.
pub(crate) fn encode_tables(
    data_bytes: u64,
    sections: &[Section],
    checksums: &[u64],
    times: Option<(i64, i64)>,
) -> Vec<u8> {
    let table_bytes = sections.len() * SECTION_ENTRY_BYTES + checksums.len() * CHECKSUM_BYTES;
    let mut bytes = Vec::with_capacity(table_bytes + FOOTER_BYTES);
    for Section { id, offset, length } in sections {
        bytes.extend(id.kind.to_le_bytes());
        bytes.extend(id.owner.to_le_bytes());
        bytes.extend(id.part.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
        bytes.extend(length.to_le_bytes());
    }
    bytes.extend(checksums.iter().flat_map(|sum| sum.to_le_bytes()));
    let tables_checksum = checksum(&bytes);
    let [below, above] = encode_times(times);
    let counts = [data_bytes, sections.len() as u64, checksums.len() as u64];
    for number in counts.into_iter().chain([below, above, tables_checksum]) {
        bytes.extend(number.to_le_bytes());
    }
    let footer_checksum = checksum(&bytes[table_bytes..]);
    bytes.extend(footer_checksum.to_le_bytes());
    bytes.extend(END_MAGIC);
    bytes
}

/// Reads and checks the header.
pub(crate) fn read_header(
    path: &Path,
    file: &[u8],
    store_id: &[u8; 16],
) -> Result<SegmentInfo, SegmentError> {
    let damaged = |what: &str| Err(Corruption::new(path, 0, what).into());
    let Some(header) = file.first_chunk::<HEADER_BYTES>() else {
        return damaged(&format!("{} bytes are too few for a segment; it was cut off", file.len()));
    };
    let mut fields = Fields(header);
    if fields.take() != MAGIC {
        return damaged("this is not how a segment starts");
    }
    if checksum(&header[..HEADER_COVERED]) != Fields(&header[HEADER_COVERED..]).u64() {
        return damaged("the checksum of the segment header does not match");
    }
    let version = u32::from_le_bytes(fields.take());
    if version > FORMAT_VERSION {
        let path = path.to_owned();
        return Err(SegmentError::NewerFormat { path, found: version, supported: FORMAT_VERSION });
    }
    if version == 0 {
        return damaged("the segment header gives format 0, which never was");
    }
    fields.take::<4>();
    let info = SegmentInfo {
        store_id: fields.take(),
        segment: fields.u64(),
        lower: fields.u64(),
        upper: fields.u64(),
        since: fields.u64(),
    };
    if info.store_id != *store_id {
        return Err(SegmentError::WrongStore { path: path.to_owned() });
    }
    Ok(info)
}

/// Reads and checks the footer and the tables.
pub(crate) fn read_layout(path: &Path, file: &[u8]) -> Result<Layout, Corruption> {
    let footer_offset = file.len().saturating_sub(FOOTER_BYTES);
    let damaged = |offset: usize, what: &str| Corruption::new(path, offset as u64, what);
    let in_footer = |what: &str| damaged(footer_offset, what);
    let (body, footer) = file
        .split_last_chunk::<FOOTER_BYTES>()
        .ok_or_else(|| in_footer("the segment has no footer; it was cut off"))?;
    if footer[FOOTER_BYTES - END_MAGIC.len()..] != END_MAGIC {
        return Err(in_footer("the segment does not end in a footer; it was cut off or extended"));
    }
    let footer_checksum = checksum(&footer[..FOOTER_COVERED]);
    if footer_checksum != Fields(&footer[FOOTER_COVERED..]).u64() {
        return Err(in_footer("the checksum of the segment footer does not match"));
    }
    let mut fields = Fields(footer);
    let (data_bytes, sections, blocks) = (fields.u64(), fields.u64(), fields.u64());
    let times = decode_times(fields.u64(), fields.u64());
    let tables_checksum = fields.u64();
    let (data_bytes, block_table) =
        place_tables(data_bytes, sections, blocks, body.len()).ok_or_else(|| {
            in_footer("the lengths in the segment footer do not add up; it was cut off or extended")
        })?;
    let tables = &body[data_bytes..];
    if checksum(tables) != tables_checksum {
        return Err(damaged(data_bytes, "the checksum of the segment's tables does not match"));
    }
    let sections = read_sections(&body[data_bytes..block_table.start], data_bytes as u64)
        .ok_or_else(|| damaged(data_bytes, "the section table contradicts itself"))?;
    Ok(Layout { sections, data_bytes, times, checksum: footer_checksum, block_table })
}

/// Where the data ends and the block table lies, if these numbers fit a file with `body_bytes` before the footer.
fn place_tables(
    data_bytes: u64,
    sections: u64,
    blocks: u64,
    body_bytes: usize,
) -> Option<(usize, Range<usize>)> {
    let data_bytes = usize::try_from(data_bytes).ok()?;
    let section_bytes = usize::try_from(sections).ok()?.checked_mul(SECTION_ENTRY_BYTES)?;
    let block_bytes = usize::try_from(blocks).ok()?.checked_mul(CHECKSUM_BYTES)?;
    let block_table = data_bytes.checked_add(section_bytes)?;
    let end = block_table.checked_add(block_bytes)?;
    let fits = end == body_bytes
        && data_bytes >= HEADER_BYTES
        && data_bytes.is_multiple_of(SECTION_ALIGNMENT)
        && data_bytes.div_ceil(BLOCK_BYTES) as u64 == blocks;
    fits.then_some((data_bytes, block_table..end))
}

/// The section table, if it ascends and every section lies between the header and `data_bytes`.
fn read_sections(table: &[u8], data_bytes: u64) -> Option<Vec<Section>> {
    let (entries, _) = table.as_chunks::<SECTION_ENTRY_BYTES>();
    let sections: Vec<Section> = entries
        .iter()
        .map(|entry| {
            let mut fields = Fields(entry);
            let id = SectionId {
                kind: u16::from_le_bytes(fields.take()),
                owner: u16::from_le_bytes(fields.take()),
                part: u32::from_le_bytes(fields.take()),
            };
            Section { id, offset: fields.u64(), length: fields.u64() }
        })
        .collect();
    let lies_within = |section: &Section| {
        section.offset >= HEADER_BYTES as u64
            && section.offset.is_multiple_of(SECTION_ALIGNMENT as u64)
            && section.offset.checked_add(section.length).is_some_and(|end| end <= data_bytes)
    };
    let ascends = sections.is_sorted_by(|left, right| left.id < right.id);
    (ascends && sections.iter().all(lies_within)).then_some(sections)
}

impl Layout {
    /// The number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.block_table.len() / CHECKSUM_BYTES
    }

    /// Compares a block with its checksum. `file` is the file this layout was read from.
    pub(crate) fn check_block(&self, path: &Path, file: &[u8], block: usize) -> Result<(), Corruption> {
        let start = block * BLOCK_BYTES;
        let bytes = &file[start..self.data_bytes.min(start + BLOCK_BYTES)];
        let (checksums, _) = file[self.block_table.clone()].as_chunks();
        if checksum(bytes) == u64::from_le_bytes(checksums[block]) {
            return Ok(());
        }
        let what = format!("the checksum of the {} bytes from there does not match", bytes.len());
        Err(Corruption::new(path, start as u64, what))
    }
}

/// Takes fields off the front of bytes whose length was checked before.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        let (front, rest) = self.0.split_at(N);
        field.copy_from_slice(front);
        self.0 = rest;
        field
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}
