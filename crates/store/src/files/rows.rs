//! What the sections of a segment hold. docs/format.md draws them.
//!
//! ```text
//!  LISTS    (edge type, direction)  neighbor lists, each 4-byte aligned; runs with columns 8-byte aligned
//!  INDEX    (edge type, direction)  vertex: u32 | degree: u32 | place: u64      ascending by vertex
//!  CHUNKS   (edge type, direction)  offset: u64 | length: u32 | first: u32      the runs of lists with several
//!  KEYS     (part)                  first id: u32 | keys as in the log
//!  VERTICES                         vertex: u32 | type: u16 | present: u16      ascending
//!  COLUMN   (property)              vertex: u32 | present: u32 | bits: u64      ascending
//!  TEXT     (property)              length: u32 | bytes, each 4-byte aligned
//!  FREE                             first id: u32 | count: u32                  ascending: ids without keys
//!  REBOUND                          count: u32 | ids, ascending | keys as in the log
//!
//!  place: bit 0 set = position in CHUNKS << 2; else the file offset of the one run, tagged like that of a chunk
//!  offset of a chunk: bit 1 set = with columns, bit 63 set = compressed
//!  bits of a string: the file offset of its length
//! ```
//!
//! Of an id in FREE of the newest segment, no other section counts; of one in REBOUND, the newest one that names it, before KEYS.
//! Neither is there in a store that has never let go of a key.
//!
//! Invariant: a row without a value (degree 0, not present) says that what an older segment holds is gone. None is written where
//! no older one holds anything.

use evergraph_segment::SectionId;
use evergraph_types::{Direction, EdgeTypeId, PropertyId, VertexId};

const LISTS: u16 = 1;
const INDEX: u16 = 2;
const KEYS: u16 = 3;
const VERTICES: u16 = 4;
const COLUMN: u16 = 5;
const TEXT: u16 = 6;
const CHUNKS: u16 = 7;
const FREE: u16 = 8;
const REBOUND: u16 = 9;

/// Bit 0 of a place: it is a position in the chunks.
pub(crate) const CHUNKED: u64 = 1;
/// Bit 1 of a place or a chunk's offset: columns follow the neighbors.
pub(crate) const COLUMNS: u64 = 2;
/// Bit 63 of a place or a chunk's offset: the neighbors are compressed.
pub(crate) const COMPRESSED: u64 = 1 << 63;
/// What is no part of an offset.
pub(crate) const OFFSET_TAGS: u64 = COLUMNS | COMPRESSED;

/// The ids of the three sections of one edge type and direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListSections {
    pub(crate) lists: SectionId,
    pub(crate) index: SectionId,
    pub(crate) chunks: SectionId,
}

impl ListSections {
    pub(crate) fn of(edge_type: EdgeTypeId, direction: Direction) -> Self {
        let part = match direction {
            Direction::Out => 0,
            Direction::In => 1,
        };
        let section = |kind| SectionId { kind, owner: edge_type, part };
        ListSections { lists: section(LISTS), index: section(INDEX), chunks: section(CHUNKS) }
    }
}

/// The section of a run of keys.
pub(crate) fn keys_section(part: u32) -> SectionId {
    SectionId { kind: KEYS, owner: 0, part }
}

/// The section of ids that have no keys.
pub(crate) const FREE_SECTION: SectionId = SectionId { kind: FREE, owner: 0, part: 0 };

/// The section of ids that have other keys than an older segment says.
pub(crate) const REBOUND_SECTION: SectionId = SectionId { kind: REBOUND, owner: 0, part: 0 };

/// Whether a section holds keys, or tells of them.
pub(crate) fn is_keys(section: SectionId) -> bool {
    [KEYS, FREE, REBOUND].contains(&section.kind)
}

/// The section of vertex types.
pub(crate) const VERTICES_SECTION: SectionId = SectionId { kind: VERTICES, owner: 0, part: 0 };

/// The section of a vertex property.
pub(crate) fn column_section(property: PropertyId) -> SectionId {
    SectionId { kind: COLUMN, owner: property, part: 0 }
}

/// The section of the strings of a vertex property.
pub(crate) fn text_section(property: PropertyId) -> SectionId {
    SectionId { kind: TEXT, owner: property, part: 0 }
}

/// A row of fixed width, little endian.
pub(crate) trait Row: Copy + Send + Sync {
    const BYTES: usize;
    fn vertex(&self) -> VertexId;
    /// Whether it has a value.
    fn is_present(&self) -> bool;
    fn encode(&self, out: &mut Vec<u8>);
    fn decode(bytes: &[u8]) -> Self;
}

/// The rows of a section; `None` if it is not a whole number of them.
pub(crate) fn decode_rows<R: Row>(bytes: &[u8]) -> Option<Vec<R>> {
    bytes.len().is_multiple_of(R::BYTES).then(|| bytes.chunks_exact(R::BYTES).map(R::decode).collect())
}

/// The bytes of rows.
pub(crate) fn encode_rows<R: Row>(rows: &[R]) -> Vec<u8> {
    let mut out = Vec::with_capacity(R::BYTES * rows.len());
    rows.iter().for_each(|row| row.encode(&mut out));
    out
}

/// Two 32-bit words and a 64-bit one: a row of INDEX, of COLUMN, or a vertex with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WideRow {
    pub(crate) vertex: VertexId,
    /// The degree; 1 or 0 for a column, whether there is a value.
    pub(crate) count: u32,
    /// The place, or the bits of the value.
    pub(crate) word: u64,
}

impl Row for WideRow {
    const BYTES: usize = 16;

    fn vertex(&self) -> VertexId {
        self.vertex
    }

    fn is_present(&self) -> bool {
        self.count > 0
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.vertex.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.word.to_le_bytes());
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Self {
        WideRow { vertex: read_u32(bytes, 0), count: read_u32(bytes, 4), word: read_u64(bytes, 8) }
    }
}

/// A vertex and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VertexRow {
    pub(crate) vertex: VertexId,
    pub(crate) label: Option<u16>,
}

impl Row for VertexRow {
    const BYTES: usize = 8;

    fn vertex(&self) -> VertexId {
        self.vertex
    }

    fn is_present(&self) -> bool {
        self.label.is_some()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let present = u32::from(self.label.is_some()) << 16;
        out.extend_from_slice(&self.vertex.to_le_bytes());
        out.extend_from_slice(&(present | u32::from(self.label.unwrap_or(0))).to_le_bytes());
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Self {
        let word = read_u32(bytes, 4);
        VertexRow { vertex: read_u32(bytes, 0), label: (word >> 16 != 0).then_some(word as u16) }
    }
}

/// A run of a list: bit 1 of the offset says whether columns follow the neighbors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkRow {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) first: VertexId,
}

impl Row for ChunkRow {
    const BYTES: usize = 16;

    fn vertex(&self) -> VertexId {
        self.first
    }

    fn is_present(&self) -> bool {
        self.len > 0
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&self.first.to_le_bytes());
    }

    #[inline]
    fn decode(bytes: &[u8]) -> Self {
        ChunkRow { offset: read_u64(bytes, 0), len: read_u32(bytes, 8), first: read_u32(bytes, 12) }
    }
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from(read_u32(bytes, at)) | u64::from(read_u32(bytes, at + 4)) << 32
}
