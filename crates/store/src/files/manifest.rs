//! The manifest: the one small file that says what makes up a store. Replacing it is the commit of an archive.
//!
//! ```text
//!  0   magic "EVGMANI\0"
//!  8   format version: u32 | length of the content: u32
//!  16  content: JSON
//!  16 + length: the items of the catalog, nothing if there is none
//!  at the end: checksum of all before it: u64
//! ```
//!
//! Invariant: every segment it names is on disk, whole and synced, before it is written; files it does not name are
//! left over from an archive that did not finish. So it is with the bases it names, and what it says was in the log was there,
//! durably: whatever of that is missing is damage.

use std::path::Path;
use std::sync::Arc;

use evergraph_disk::{Corruption, Disk, checksum, write_atomically};
use evergraph_log::Wanted;
use evergraph_segment::Segment;
use evergraph_types::{Schema, Sequence, VertexId};
use serde::{Deserialize, Serialize};

use crate::error::OpenError;
use crate::history::retain::Retain;
use crate::options::ListFormat;
use crate::versions::version::{Adjacency, EdgeTables};
use crate::write_sets::catalog::Catalog;

/// The name of the file.
pub(crate) const MANIFEST: &str = "MANIFEST";
/// The newest format of stores that this program reads. It writes the oldest one that says all there is: a store that has let go
/// of keys is not to be opened by a program that does not know of that.
pub(crate) const FORMAT_VERSION: u32 = 2;
/// The format of those that have not.
const FORMAT_WITHOUT_PASSES: u32 = 1;
const MAGIC: &[u8; 8] = b"EVGMANI\0";
const HEADER_BYTES: usize = 16;

/// What makes up a store, but for the log behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// In every file of the store, so that files of different stores are not mixed up.
    pub(crate) store_id: [u8; 16],
    /// The commit the segments are the state after; the log goes on behind it.
    pub(crate) sequence: Sequence,
    pub(crate) time_micros: i64,
    pub(crate) next_segment: u64,
    /// Oldest first: what a newer one says of a vertex replaces what an older one says.
    pub(crate) segments: Vec<SegmentEntry>,
    pub(crate) schema: Schema,
    pub(crate) id_bound: VertexId,
    pub(crate) num_vertices: u64,
    /// How much history is kept.
    #[serde(default)]
    pub(crate) retain: Retain,
    /// How lists are written.
    #[serde(default)]
    pub(crate) format: ListFormat,
    /// The commits of its bases, oldest first; `None` in a manifest from before they were named.
    #[serde(default)]
    pub(crate) bases: Option<Vec<Sequence>>,
    /// Commits up to this one were in the log, or archived, durably: later ones may have been, too.
    #[serde(default)]
    pub(crate) logged: Sequence,
    /// The commit from which on ids that have lost their keys had no vertices; 0 if none has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) last_pass: Sequence,
    /// By edge type.
    pub(crate) counts: Vec<EdgeCounts>,
    /// Behind the JSON, in the form they have in the log.
    #[serde(skip)]
    pub(crate) catalog: Arc<Catalog>,
}

fn is_zero(sequence: &Sequence) -> bool {
    *sequence == 0
}

/// A segment of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentEntry {
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    /// The ids whose keys it holds: `first_key..end_key`.
    pub(crate) first_key: VertexId,
    pub(crate) end_key: VertexId,
    /// How it was written, its columns of edges too; `None` of segments of format version 1.
    #[serde(default)]
    pub(crate) format: Option<ListFormat>,
    /// List entries it was written with; 0, and not counted, of one from before they were.
    #[serde(default)]
    pub(crate) entries: u64,
    /// Of its content; `None` of one from before it was noted.
    #[serde(default)]
    pub(crate) checksum: Option<u64>,
}

impl SegmentEntry {
    /// What tells that this file is another one than the manifest names, whole as it may be.
    pub(crate) fn mismatch(&self, segment: &Segment) -> Option<Corruption> {
        let is_same = segment.info().segment == self.number
            && segment.bytes() == self.bytes
            && self.checksum.is_none_or(|checksum| checksum == segment.checksum());
        let what = "it is whole, but another segment than the store wrote in this place";
        (!is_same).then(|| Corruption::new(segment.path(), 0, what))
    }
}

/// How many list entries an edge type has in each direction, and how many of them lead from a vertex to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct EdgeCounts {
    pub(crate) out: (u64, u64),
    pub(crate) reverse: (u64, u64),
}

impl From<&EdgeTables> for EdgeCounts {
    fn from(tables: &EdgeTables) -> Self {
        let of = |lists: &Adjacency| (lists.entries, lists.loops);
        EdgeCounts { out: of(&tables.out), reverse: of(&tables.reverse) }
    }
}

impl Manifest {
    /// The manifest of a new store.
    pub(crate) fn new(store_id: [u8; 16]) -> Self {
        Manifest {
            store_id,
            sequence: 0,
            time_micros: 0,
            next_segment: 1,
            segments: Vec::new(),
            schema: Schema::default(),
            id_bound: 0,
            num_vertices: 0,
            retain: Retain::Nothing,
            format: ListFormat::Fast,
            bases: Some(Vec::new()),
            logged: 0,
            last_pass: 0,
            counts: Vec::new(),
            catalog: Arc::default(),
        }
    }

    /// Puts the manifest in the place of the one before; durable when this returns.
    pub(crate) fn write(&self, disk: &dyn Disk, directory: &Path) -> Result<(), evergraph_disk::DiskError> {
        write_atomically(disk, directory, MANIFEST, &self.encode())
    }

    /// What opening the store needs of the log.
    pub(crate) fn wanted(&self) -> Wanted {
        let oldest_base = self.bases.as_ref().and_then(|bases| bases.first());
        Wanted {
            after: self.sequence,
            needed_after: oldest_base.copied().unwrap_or(self.sequence),
            needed_through: self.sequence.max(self.logged),
        }
    }

    /// Notes, durably, that all commits up to `sequence` are in the log, which from then on cannot end before without being
    /// missed. Nothing is lost if that fails, but then less is noticed.
    pub(crate) fn note_logged(&mut self, disk: &dyn Disk, directory: &Path, sequence: Sequence) {
        if sequence <= self.sequence.max(self.logged) {
            return;
        }
        let before = std::mem::replace(&mut self.logged, sequence);
        if let Err(error) = self.write(disk, directory) {
            self.logged = before;
            tracing::warn!(%error, "how far the log goes could not be noted in the manifest");
        }
    }

    /// Reads the manifest of the store in `directory`.
    pub(crate) fn read(disk: &dyn Disk, directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join(MANIFEST);
        let bytes = disk.read(&path)?;
        Self::decode(&path, &bytes)
    }

    /// Reads an older manifest of a store.
    pub(crate) fn read_file(disk: &dyn Disk, path: &Path, store_id: &[u8; 16]) -> Result<Self, OpenError> {
        let manifest = Self::decode(path, &disk.read(path)?)?;
        if manifest.store_id == *store_id {
            Ok(manifest)
        } else {
            Err(Corruption::new(path, 0, "the file belongs to another store").into())
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        // A struct of numbers, strings and lists always has a JSON form.
        let content = serde_json::to_vec(self).unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + content.len() + 8);
        bytes.extend_from_slice(MAGIC);
        let format = if self.last_pass > 0 { FORMAT_VERSION } else { FORMAT_WITHOUT_PASSES };
        bytes.extend_from_slice(&format.to_le_bytes());
        bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&content);
        bytes.extend_from_slice(&self.catalog.encode());
        bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
        bytes
    }

    fn decode(path: &Path, bytes: &[u8]) -> Result<Self, OpenError> {
        let damaged = |offset: usize, what: &str| Corruption::new(path, offset as u64, what);
        let (Some(header), true) = (bytes.first_chunk::<HEADER_BYTES>(), bytes.starts_with(MAGIC)) else {
            return Err(damaged(0, "it does not begin as a manifest does").into());
        };
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let Some((body, sum)) = bytes.split_last_chunk::<8>() else {
            return Err(damaged(bytes.len(), "it is cut off").into());
        };
        if checksum(body) != u64::from_le_bytes(*sum) {
            return Err(damaged(0, "the checksum does not match").into());
        }
        if word(8) > FORMAT_VERSION {
            return Err(OpenError::NewerFormat {
                path: path.to_owned(),
                found: word(8),
                supported: FORMAT_VERSION,
            });
        }
        let content = body.get(HEADER_BYTES..).and_then(|rest| rest.split_at_checked(word(12) as usize));
        let Some((content, items)) = content else {
            return Err(damaged(12, "the length does not match").into());
        };
        let manifest: Manifest = serde_json::from_slice(content)
            .map_err(|error| damaged(HEADER_BYTES, &format!("the content is no manifest: {error}")))?;
        let bases = manifest.bases.iter().flatten().chain([&manifest.sequence]);
        if !bases.is_sorted_by(|older, newer| older < newer) {
            return Err(damaged(HEADER_BYTES, "its bases are not older than it, or not in order").into());
        }
        let catalog = Catalog::decode(items)
            .ok_or_else(|| damaged(HEADER_BYTES + content.len(), "the catalog makes no sense"))?;
        Ok(Manifest { catalog: Arc::new(catalog), ..manifest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_is_noticed() {
        let mut manifest = Manifest::new([7; 16]);
        let items = vec![("a".into(), Some([1, 2].as_slice().into())), ("b".into(), Some([].into()))];
        Arc::make_mut(&mut manifest.catalog).apply(items);
        let bytes = manifest.encode();
        let path = Path::new("MANIFEST");
        assert_eq!(Manifest::decode(path, &bytes).ok(), Some(manifest));
        for at in 0..bytes.len() {
            let mut near = bytes.clone();
            near[at] ^= 1;
            assert!(matches!(Manifest::decode(path, &near), Err(OpenError::Corrupt(_))), "byte {at}");
            assert!(
                matches!(Manifest::decode(path, &bytes[..at]), Err(OpenError::Corrupt(_))),
                "cut at {at}"
            );
        }
    }

    #[test]
    fn a_newer_format_is_named() {
        let mut bytes = Manifest::new([7; 16]).encode();
        bytes.truncate(bytes.len() - 8);
        bytes[8] = 9;
        bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
        let error = Manifest::decode(Path::new("MANIFEST"), &bytes);
        assert!(matches!(error, Err(OpenError::NewerFormat { found: 9, .. })));
    }
}
