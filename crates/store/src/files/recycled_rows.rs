//! What a segment says of ids that keys were let go of: which have no key, and which have got another one. docs/format.md draws it.
//!
//! Invariant: what is read is what was written, and anything else is damage.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use evergraph_disk::Corruption;
use evergraph_segment::{SectionId, Segment, SegmentError, SegmentWriter};
use evergraph_types::{Key, KeyColumn, VertexId};

use crate::commits::resolve::check_keys;
use crate::files::manifest::Manifest;
use crate::files::rows::{FREE_SECTION, REBOUND_SECTION};
use crate::keys::dictionary::Dictionary;
use crate::keys::recycler::Recycled;
use crate::write_sets::codec::{Input, encode_keys};

/// What segments say together.
#[derive(Debug, Default)]
pub(crate) struct KeysAnew {
    /// The ids that have no keys, ascending.
    pub(crate) free: Vec<VertexId>,
    /// Those that have others than the keys sections say.
    pub(crate) rebound: BTreeMap<VertexId, Key>,
}

impl KeysAnew {
    /// What the segments of a manifest say; the newest is right.
    pub(crate) fn of(manifest: &Manifest, segments: &[Arc<Segment>]) -> Result<Self, Corruption> {
        let mut anew = KeysAnew::default();
        let Some(newest) = segments.last().filter(|_| manifest.last_pass > 0) else { return Ok(anew) };
        let bytes = newest.section(FREE_SECTION);
        let free = bytes.and_then(|bytes| decode_free(bytes, manifest.id_bound));
        anew.free = free.ok_or_else(|| damage(newest, FREE_SECTION))?;
        for segment in segments {
            let Some(bytes) = segment.section(REBOUND_SECTION) else { continue };
            let rebound = decode_rebound(bytes, manifest).ok_or_else(|| damage(segment, REBOUND_SECTION))?;
            anew.rebound.extend(rebound);
        }
        anew.rebound.retain(|id, _| anew.free.binary_search(id).is_err());
        Ok(anew)
    }

    /// The ids from `first` on, ascending, whose keys are not those that a keys section says.
    fn from(&self, first: VertexId) -> impl Iterator<Item = VertexId> {
        let mut free = self.free[self.free.partition_point(|id| *id < first)..].iter().copied().peekable();
        let mut rebound = self.rebound.range(first..).map(|(id, _)| *id).peekable();
        std::iter::from_fn(move || match (free.peek(), rebound.peek()) {
            (Some(left), Some(right)) if left < right => free.next(),
            (Some(_), None) => free.next(),
            _ => rebound.next(),
        })
    }

    /// Calls `visit` with the runs of rows, of keys of ids from `first` on, that are right.
    pub(crate) fn for_each_run(&self, first: VertexId, rows: usize, visit: &mut dyn FnMut(Range<usize>)) {
        let mut start = 0;
        for id in self.from(first) {
            let row = (id - first) as usize;
            if row >= rows {
                break;
            }
            if start < row {
                visit(start..row);
            }
            start = row + 1;
        }
        if start < rows {
            visit(start..rows);
        }
    }
}

fn damage(segment: &Segment, section: SectionId) -> Corruption {
    let offset = segment.section_offset(section).unwrap_or(0);
    Corruption::new(segment.path(), offset, "what it says of ids without keys makes no sense")
}

/// Writes the sections of a segment whose keys begin with `first_key`, and which replaces those that are merged.
pub(crate) fn write_recycled(
    writer: &mut SegmentWriter,
    dictionary: &Dictionary,
    recycled: &Recycled,
    first_key: VertexId,
    merged: &[Arc<Segment>],
) -> Result<(), SegmentError> {
    if recycled.last_pass == 0 {
        return Ok(());
    }
    writer.begin(FREE_SECTION);
    writer.write(&encode_free(&recycled.free))?;
    let before =
        merged.iter().filter_map(|segment| decode_ids(&mut Input(segment.section(REBOUND_SECTION)?)));
    let mut rebound: Vec<VertexId> = before.flatten().chain(recycled.rebound.iter().copied()).collect();
    rebound.retain(|id| *id < first_key && recycled.free.binary_search(id).is_err());
    rebound.sort_unstable();
    rebound.dedup();
    if !rebound.is_empty() {
        let keys = dictionary.keys(rebound.iter().copied());
        writer.begin(REBOUND_SECTION);
        writer.write(&encode_rebound(&rebound, &keys))?;
    }
    Ok(())
}

/// Runs of ids: the first, and how many.
fn encode_free(ids: &[VertexId]) -> Vec<u8> {
    let runs = ids.chunk_by(|left, right| left + 1 == *right);
    let words = runs.flat_map(|run| [run[0], run.len() as u32]);
    words.flat_map(u32::to_le_bytes).collect()
}

fn decode_free(bytes: &[u8], bound: VertexId) -> Option<Vec<VertexId>> {
    let (runs, rest) = bytes.as_chunks::<8>();
    let (mut ids, mut next) = (Vec::new(), 0);
    for run in runs {
        let run = u64::from_le_bytes(*run);
        let (first, count) = (run as u32, (run >> 32) as u32);
        let end = first.checked_add(count)?;
        if count == 0 || first < next || end > bound {
            return None;
        }
        ids.extend(first..end);
        // Two runs side by side would be one.
        next = end.checked_add(1)?;
    }
    rest.is_empty().then_some(ids)
}

fn encode_rebound(ids: &[VertexId], keys: &KeyColumn) -> Vec<u8> {
    let mut bytes = (ids.len() as u32).to_le_bytes().to_vec();
    bytes.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    encode_keys(Some(keys), &mut bytes);
    bytes
}

fn decode_ids(input: &mut Input<'_>) -> Option<Vec<VertexId>> {
    let count = input.u32()? as usize;
    let (ids, _) = input.take(count.checked_mul(4)?)?.as_chunks::<4>();
    Some(ids.iter().map(|id| u32::from_le_bytes(*id)).collect())
}

fn decode_rebound(bytes: &[u8], manifest: &Manifest) -> Option<Vec<(VertexId, Key)>> {
    let mut input = Input(bytes);
    let ids = decode_ids(&mut input)?;
    let keys = input.keys()??;
    let kind = manifest.schema.key_kind?;
    let are_sane = ids.is_sorted_by(|left, right| left < right)
        && ids.last().is_none_or(|last| *last < manifest.id_bound)
        && ids.len() == keys.len()
        && input.0.is_empty()
        && check_keys(&manifest.schema, kind, &keys).is_ok();
    are_sane.then(|| (0..).zip(ids).map(|(row, id)| (id, keys.get(row).to_key())).collect())
}

#[cfg(test)]
mod tests {
    use evergraph_types::KeyKind;
    use proptest::prelude::*;

    use super::*;

    fn manifest(id_bound: VertexId) -> Manifest {
        let mut manifest = Manifest::new([7; 16]);
        manifest.schema.key_kind = Some(KeyKind::Int64);
        Manifest { id_bound, ..manifest }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(ids in prop::collection::btree_set(0u32..90, 0..60)) {
            let ids: Vec<VertexId> = ids.into_iter().collect();
            let bytes = encode_free(&ids);
            prop_assert_eq!(decode_free(&bytes, 90), Some(ids.clone()));
            let least = ids.last().map_or(0, |last| last + 1);
            prop_assert_eq!(decode_free(&bytes, least), Some(ids.clone()));
            prop_assert_eq!(least > 0, decode_free(&bytes, least.saturating_sub(1)).is_none());

            let keys = KeyColumn::Int(ids.iter().map(|id| i64::from(*id) * 3).collect());
            let rebound = encode_rebound(&ids, &keys);
            let pairs = ids.iter().map(|id| (*id, Key::Int(i64::from(*id) * 3))).collect();
            prop_assert_eq!(decode_rebound(&rebound, &manifest(90)), Some(pairs));
            for len in 0..rebound.len() {
                prop_assert_eq!(decode_rebound(&rebound[..len], &manifest(90)), None);
            }
            let anew = KeysAnew {
                free: ids.iter().copied().filter(|id| id % 2 == 0).collect(),
                rebound: ids.iter().filter(|id| *id % 2 == 1).map(|id| (*id, Key::Int(0))).collect(),
            };
            let (mut right, first) = (Vec::new(), 20);
            anew.for_each_run(first, 50, &mut |rows| right.extend(rows.map(|row| first + row as u32)));
            let expected: Vec<VertexId> = (first..first + 50).filter(|id| !ids.contains(id)).collect();
            prop_assert_eq!(right, expected);
        }

        #[test]
        fn damage_is_told_without_panicking(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some(ids) = decode_free(&bytes, 1000) {
                prop_assert_eq!(encode_free(&ids), bytes.clone());
            }
            if let Some(pairs) = decode_rebound(&bytes, &manifest(1000)) {
                prop_assert!(pairs.iter().all(|(id, _)| *id < 1000));
            }
        }
    }
}
