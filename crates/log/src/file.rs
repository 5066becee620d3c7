//! Walking through the records of one log file held in memory, and telling a crash from damage within it.
//!
//! Invariant: a record is given out only if its header, its payload and its padding are all as they were written.

use std::path::Path;

use evergraph_disk::{Corruption, checksum};
use evergraph_types::Sequence;

use crate::LogError;
use crate::format::{
    ALIGNMENT, FILE_HEADER_BYTES, FORMAT_VERSION, FileHeaderFault, FileIdentity, RECORD_HEADER_BYTES,
    RecordHeader, RecordKind,
};

/// A group of commits as it was logged, or a part of one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The sequence number of the first commit of the group.
    pub first_sequence: Sequence,
    /// The sequence number of the last commit of the group.
    pub last_sequence: Sequence,
    /// When the group was committed, in microseconds since 1970-01-01 UTC.
    pub time_micros: i64,
    /// What the group wrote.
    pub payload: &'a [u8],
    /// Whether the records after this one go on with the same commit. They are there, up to its end.
    pub goes_on: bool,
}

impl<'a> Record<'a> {
    pub(crate) fn new(header: &RecordHeader, payload: &'a [u8]) -> Self {
        Record {
            first_sequence: header.first_sequence,
            last_sequence: header.last_sequence,
            time_micros: header.time_micros,
            payload,
            goes_on: header.kind == RecordKind::Part,
        }
    }
}

/// A record found whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parsed<'a> {
    pub(crate) header: RecordHeader,
    pub(crate) payload: &'a [u8],
    /// Where the next record begins.
    pub(crate) end: usize,
}

/// Bytes that are no whole record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) what: &'static str,
}

/// The bytes of one log file, or a part of them. Offsets are counted from the start of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileBytes<'a> {
    pub(crate) bytes: &'a [u8],
    /// The offset of the first of them; 0 for a whole file.
    pub(crate) start: usize,
    pub(crate) identity: FileIdentity,
}

impl<'a> FileBytes<'a> {
    /// Checks the header and gives the version of the format; `Ok(Err(_))` if a crash may have left it so.
    pub(crate) fn check_header(&self, path: &Path) -> Result<Result<u32, Fault>, LogError> {
        let (found, version) = match FileIdentity::decode(self.bytes) {
            Ok(found) => found,
            Err(FileHeaderFault::Damaged(what)) => return Ok(Err(Fault { offset: 0, what })),
            Err(FileHeaderFault::Newer(found)) => {
                return Err(LogError::NewerFormat {
                    path: path.to_owned(),
                    found,
                    supported: FORMAT_VERSION,
                });
            }
        };
        if found.store_id != self.identity.store_id {
            return Err(LogError::OtherStore { path: path.to_owned() });
        }
        if found.first_sequence != self.identity.first_sequence {
            let what = format!(
                "the header belongs to the file of sequence {}, the name to that of {}",
                found.first_sequence, self.identity.first_sequence
            );
            return Err(Corruption::new(path, 0, what).into());
        }
        Ok(Ok(version))
    }

    /// The record at `offset`; `None` at the end of the file, or of these bytes, and where only zeros follow.
    pub(crate) fn record_at(&self, offset: usize) -> Result<Option<Parsed<'a>>, Fault> {
        let fault = |what| Fault { offset, what };
        let position = offset.saturating_sub(self.start);
        let rest = self.bytes.get(position..).unwrap_or_default();
        let header = match RecordHeader::decode(rest, &self.identity, offset as u64) {
            Err(_) if is_zeros(rest) => return Ok(None),
            header => header.map_err(fault)?,
        };
        let body = &rest[RECORD_HEADER_BYTES..];
        let length = usize::try_from(header.payload_bytes).map_err(|_| fault("the record is cut off"))?;
        let payload = body.get(..length).ok_or(fault("the record is cut off"))?;
        let padding =
            body.get(length..length.next_multiple_of(ALIGNMENT)).ok_or(fault("the record is cut off"))?;
        if checksum(payload) != header.payload_checksum {
            return Err(fault("the checksum of the payload does not match"));
        }
        if padding.iter().any(|byte| *byte != 0) {
            return Err(fault("the padding of the record is not zero"));
        }
        if header.last_sequence < header.first_sequence {
            return Err(fault("the record ends before it begins"));
        }
        let is_of_one_commit = matches!(header.kind, RecordKind::Part | RecordKind::End);
        if is_of_one_commit && header.last_sequence != header.first_sequence {
            return Err(fault("the record is a part of several commits"));
        }
        let end = offset + RECORD_HEADER_BYTES + length + padding.len();
        Ok(Some(Parsed { header, payload, end }))
    }

    /// Whether a later record says that what lies at the fault had been synced; then it is damage. Reads headers
    /// only, so its cost grows with the length of the file, whatever the bytes are.
    pub(crate) fn was_synced(&self, fault: Fault) -> bool {
        let first = (fault.offset + ALIGNMENT).max(FILE_HEADER_BYTES);
        (first..self.bytes.len()).step_by(ALIGNMENT).any(|offset| {
            let header = RecordHeader::decode(&self.bytes[offset..], &self.identity, offset as u64);
            header.is_ok_and(|header| header.synced_bytes > fault.offset as u64)
        })
    }
}

/// Whether nothing but zeros is in there, if anything.
fn is_zeros(bytes: &[u8]) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|chunk| *chunk == ZEROS[..chunk.len()])
}
