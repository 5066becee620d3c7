//! The bytes of the log, and nothing else: how headers are laid out and checked. All numbers are little-endian.
//!
//! A log is a directory of files, each named by the first sequence number it may hold, `%016x.log`. A file is a
//! header and then records without gaps; headers and records begin at multiples of 8.
//!
//! ```text
//!  file header, 64 bytes                         record header, 64 bytes
//!   0  8  magic "EVGRLOG\0"                       0  4  magic "EVRC"
//!   8  4  format version, 2                       4  4  kind: 1 commits, 2 mark, 3 part, 4 end
//!  12  4  zero                                    8  8  payload bytes
//!  16 16  store id                               16  8  first sequence
//!  32  8  first sequence, as in the name         24  8  last sequence
//!  40 16  zero                                   32  8  commit time, microseconds since 1970 UTC, signed
//!  56  8  checksum of bytes 0..56                40  8  synced bytes: how much of this file was known to be
//!                                                       on stable storage when the record was written
//!                                                48  8  checksum of the payload
//!                                                56  8  checksum of: store id, first sequence of the file,
//!                                                       offset of the record, bytes 0..56
//!  record: header, payload, zeros up to a multiple of 8
//!  after the last record: nothing, or zeros, which are room for the next ones
//! ```
//!
//! Invariants:
//! - The record checksum takes in where the record lies, so bytes of another file or offset never pass for it.
//! - `synced bytes` tells damage from a crash. A record that cannot be read at offset X was lost by a crash unless
//!   a later record of the file says that more than X bytes were synced, or a newer file exists: a file is synced
//!   before the next one is created. In these cases it is damage.
//! - A *mark* has no payload and no commits; its sequences are both the last committed one. It is written after a
//!   sync that covered several records, and on closing, only to say how much was synced.
//! - A commit that is too large for one record comes in *parts*, records of that commit alone, and an *end*, its last one. They
//!   follow each other in one file, with nothing between them but marks; without its end a commit is none. In version 1 there
//!   are none, so no file of that version is gone on with.
//! - Magic, version and checksum of the file header stay where they are in every later version.

use evergraph_disk::{Checksum, checksum};
use evergraph_types::Sequence;

/// The version of the log format this program writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 2;

pub(crate) const FILE_HEADER_BYTES: usize = 64;
pub(crate) const RECORD_HEADER_BYTES: usize = 64;
/// What every header and record begins at a multiple of.
pub(crate) const ALIGNMENT: usize = 8;

const FILE_MAGIC: [u8; 8] = *b"EVGRLOG\0";
const RECORD_MAGIC: [u8; 4] = *b"EVRC";
/// What the checksum at the end of either header covers.
const CHECKED_BYTES: usize = 56;

/// Which file of which store; part of every record's checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    pub(crate) store_id: [u8; 16],
    pub(crate) first_sequence: Sequence,
}

/// Why a file header was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileHeaderFault {
    /// Not the bytes that were written, or never written in full.
    Damaged(&'static str),
    /// Written by a newer program, in this version.
    Newer(u32),
}

impl FileIdentity {
    pub(crate) fn encode(&self) -> [u8; FILE_HEADER_BYTES] {
        let mut header = [0; FILE_HEADER_BYTES];
        header[0..8].copy_from_slice(&FILE_MAGIC);
        header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[16..32].copy_from_slice(&self.store_id);
        header[32..40].copy_from_slice(&self.first_sequence.to_le_bytes());
        let sum = checksum(&header[..CHECKED_BYTES]);
        header[CHECKED_BYTES..].copy_from_slice(&sum.to_le_bytes());
        header
    }

    /// Reads the header at the start of a file; gives the version of the format, too.
    pub(crate) fn decode(file: &[u8]) -> Result<(Self, u32), FileHeaderFault> {
        let header: &[u8; FILE_HEADER_BYTES] =
            file.first_chunk().ok_or(FileHeaderFault::Damaged("the file is shorter than its header"))?;
        if header[0..8] != FILE_MAGIC {
            return Err(FileHeaderFault::Damaged("the file does not begin as a log file does"));
        }
        if u64_at(header, CHECKED_BYTES) != checksum(&header[..CHECKED_BYTES]) {
            return Err(FileHeaderFault::Damaged("the checksum of the file header does not match"));
        }
        let version = u32_at(header, 8);
        if version > FORMAT_VERSION {
            return Err(FileHeaderFault::Newer(version));
        }
        let mut store_id = [0; 16];
        store_id.copy_from_slice(&header[16..32]);
        Ok((FileIdentity { store_id, first_sequence: u64_at(header, 32) }, version))
    }
}

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// A group of commits.
    Commits,
    /// Nothing but the word that so many bytes were synced.
    Mark,
    /// A part of a commit, but not the last.
    Part,
    /// The last part of a commit.
    End,
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) kind: RecordKind,
    pub(crate) payload_bytes: u64,
    pub(crate) first_sequence: Sequence,
    pub(crate) last_sequence: Sequence,
    pub(crate) time_micros: i64,
    pub(crate) synced_bytes: u64,
    pub(crate) payload_checksum: u64,
}

impl RecordHeader {
    pub(crate) fn encode(&self, file: &FileIdentity, offset: u64) -> [u8; RECORD_HEADER_BYTES] {
        let kind: u32 = match self.kind {
            RecordKind::Commits => 1,
            RecordKind::Mark => 2,
            RecordKind::Part => 3,
            RecordKind::End => 4,
        };
        let mut header = [0; RECORD_HEADER_BYTES];
        header[0..4].copy_from_slice(&RECORD_MAGIC);
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[8..16].copy_from_slice(&self.payload_bytes.to_le_bytes());
        header[16..24].copy_from_slice(&self.first_sequence.to_le_bytes());
        header[24..32].copy_from_slice(&self.last_sequence.to_le_bytes());
        header[32..40].copy_from_slice(&self.time_micros.to_le_bytes());
        header[40..48].copy_from_slice(&self.synced_bytes.to_le_bytes());
        header[48..56].copy_from_slice(&self.payload_checksum.to_le_bytes());
        let sum = record_checksum(&header, file, offset);
        header[CHECKED_BYTES..].copy_from_slice(&sum.to_le_bytes());
        header
    }

    /// Reads the header at the start of `bytes`, which lie at `offset` of the file.
    pub(crate) fn decode(bytes: &[u8], file: &FileIdentity, offset: u64) -> Result<Self, &'static str> {
        let header: &[u8; RECORD_HEADER_BYTES] = bytes.first_chunk().ok_or("the record header is cut off")?;
        if header[0..4] != RECORD_MAGIC {
            return Err("no record begins here");
        }
        if u64_at(header, CHECKED_BYTES) != record_checksum(header, file, offset) {
            return Err("the checksum of the record header does not match");
        }
        let kind = match u32_at(header, 4) {
            1 => RecordKind::Commits,
            2 => RecordKind::Mark,
            3 => RecordKind::Part,
            4 => RecordKind::End,
            _ => return Err("the record is of an unknown kind"),
        };
        Ok(RecordHeader {
            kind,
            payload_bytes: u64_at(header, 8),
            first_sequence: u64_at(header, 16),
            last_sequence: u64_at(header, 24),
            time_micros: u64_at(header, 32).cast_signed(),
            synced_bytes: u64_at(header, 40),
            payload_checksum: u64_at(header, 48),
        })
    }
}

fn record_checksum(header: &[u8; RECORD_HEADER_BYTES], file: &FileIdentity, offset: u64) -> u64 {
    let mut sum = Checksum::new();
    sum.update(&file.store_id);
    sum.update(&file.first_sequence.to_le_bytes());
    sum.update(&offset.to_le_bytes());
    sum.update(&header[..CHECKED_BYTES]);
    sum.finish()
}

fn u32_at(header: &[u8; 64], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&header[at..at + 4]);
    u32::from_le_bytes(bytes)
}

fn u64_at(header: &[u8; 64], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&header[at..at + 8]);
    u64::from_le_bytes(bytes)
}
