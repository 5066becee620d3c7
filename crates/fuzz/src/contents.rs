//! Segments with the right checksums around any content: as a program with a bug would write them.

use std::sync::{Arc, LazyLock};

use evergraph_disk::{CrashPlan, Disk, SimDisk, checksum};
use evergraph_store::{ListFormat, Options, Store, check_on};
use evergraph_types::{EdgeTypeOptions, Value};

use crate::files::open;
use crate::sample::{directory, options};

/// Where the sections of a segment begin, and what its end takes.
const HEADER_BYTES: usize = 128;
const FOOTER_BYTES: usize = 64;
const BLOCK_BYTES: usize = 1 << 20;

/// Stores of one segment, in each format of lists.
static ARCHIVED: LazyLock<[SimDisk; 2]> = LazyLock::new(|| {
    [ListFormat::Fast, ListFormat::Compact].map(|format| {
        let disk = SimDisk::new(0);
        archive(&disk, format).unwrap_or_else(|error| panic!("the sample cannot be made: {error}"));
        disk
    })
});

/// Lists of one run and of several, with columns of each width and without, and every kind of vertex property.
fn archive(disk: &SimDisk, format: ListFormat) -> Result<(), Box<dyn std::error::Error>> {
    let options = Options { format: Some(format), log_limit_bytes: 1 << 20, ..options() };
    let store = Store::open_on(Arc::new(disk.clone()), directory(), options)?;
    store.create_edge_type("pays", EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() })?;
    let mut transaction = store.begin()?;
    for row in 0..300i64 {
        transaction.put_edge(row % 3, row * 7 % 100, "knows", &[])?;
        let why = if row % 5 == 0 { Value::Null } else { ["rent", "food"][row as usize % 2].into() };
        let given = [("amount", Value::Float(row as f64)), ("why", why), ("ok", (row % 3 == 0).into())];
        transaction.put_edge(row % 4, row % 11, "pays", &given)?;
        transaction.put_edge(1, row, "follows", &[("since", (1_000 + row).into())])?;
    }
    for id in 0..20i64 {
        let tags = Value::List(vec!["a".into(), Value::Null]);
        let given =
            [("name", "Ann".into()), ("age", id.into()), ("tags", tags), ("raw", Value::Bytes(vec![1, 2]))];
        transaction.put_vertex(id, Some("Person"), &given)?;
    }
    transaction.commit()?;
    store.checkpoint()?;
    Ok(store.close()?)
}

/// The segment of a store, and where it lies.
fn segment(disk: &SimDisk) -> Option<(std::path::PathBuf, Vec<u8>)> {
    let segments = directory().join("segments");
    let path = segments.join(disk.list(&segments).ok()?.first()?);
    let bytes = disk.read(&path).ok()?;
    Some((path, bytes))
}

/// Where the data of a segment end, and where its section table does.
fn ends(bytes: &[u8]) -> Option<(usize, usize)> {
    let footer = bytes.get(bytes.len().checked_sub(FOOTER_BYTES)?..)?;
    let word = |at: usize| footer.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let (data, sections) = (word(0)? as usize, word(8)? as usize);
    Some((data, data + 24 * sections))
}

/// The sections and the section tables, each behind the number of its store.
pub(crate) fn segments() -> Vec<Vec<u8>> {
    let content = |(number, disk): (u8, &SimDisk)| {
        let (_, bytes) = segment(disk)?;
        let (_, end) = ends(&bytes)?;
        Some([&[number], bytes.get(HEADER_BYTES..end)?].concat())
    };
    (0..).zip(&*ARCHIVED).filter_map(content).collect()
}

/// A segment with these bytes in the place of its sections and their table, as far as they go, and checksums that match.
fn with_content(mut bytes: Vec<u8>, content: &[u8]) -> Option<Vec<u8>> {
    let (data, end) = ends(&bytes)?;
    let room = bytes.get_mut(HEADER_BYTES..end)?;
    let taken = content.len().min(room.len());
    room[..taken].copy_from_slice(&content[..taken]);
    let sums: Vec<u8> =
        bytes[..data].chunks(BLOCK_BYTES).flat_map(|block| checksum(block).to_le_bytes()).collect();
    bytes[end..end + sums.len()].copy_from_slice(&sums);
    let footer = bytes.len() - FOOTER_BYTES;
    let tables = checksum(&bytes[data..footer]);
    bytes[footer + 40..footer + 48].copy_from_slice(&tables.to_le_bytes());
    let own = checksum(&bytes[footer..footer + 48]);
    bytes[footer + 48..footer + 56].copy_from_slice(&own.to_le_bytes());
    Some(bytes)
}

/// What a manifest knows a segment by.
fn checksum_of(segment: &[u8]) -> Option<u64> {
    let at = segment.len().checked_sub(FOOTER_BYTES)? + 48;
    segment.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

/// A manifest that names the segment of this checksum in the place of another one.
fn naming(manifest: &[u8], before: u64, after: u64) -> Option<Vec<u8>> {
    let length = u32::from_le_bytes(manifest.get(12..16)?.try_into().ok()?) as usize;
    let content = std::str::from_utf8(manifest.get(16..16 + length)?).ok()?;
    let content = content.replace(&format!("\"checksum\":{before}"), &format!("\"checksum\":{after}"));
    let items = manifest.get(16 + length..manifest.len().checked_sub(8)?)?;
    let head = [&manifest[..12], &(content.len() as u32).to_le_bytes()].concat();
    let bytes = [&head, content.as_bytes(), items].concat();
    Some([&bytes[..], &checksum(&bytes).to_le_bytes()].concat())
}

/// Puts a segment in the place of the one of a store, and has the manifest name it.
fn replace_segment(disk: &SimDisk, content: &[u8]) -> Option<()> {
    let (path, before) = segment(disk)?;
    let after = with_content(before.clone(), content)?;
    let manifest = directory().join("MANIFEST");
    let naming = naming(&disk.read(&manifest).ok()?, checksum_of(&before)?, checksum_of(&after)?)?;
    disk.put(&path, &after).ok()?;
    disk.put(&manifest, &naming).ok()
}

/// A segment whose checksums are right, whatever it holds. The first byte chooses the store. What opens is read to its end, what
/// a check finds nothing wrong with opens, and has all that is counted.
pub fn fuzz_segment_content(data: &[u8]) {
    let Some((&number, content)) = data.split_first() else { return };
    let disk = ARCHIVED[usize::from(number) % ARCHIVED.len()].crash(CrashPlan::KeepUnsynced);
    assert!(replace_segment(&disk, content).is_some());
    let report = check_on(Arc::new(disk.clone()), directory());
    let opened = open(&disk, Options { read_only: true, ..options() });
    if let Ok(report) = report
        && report.is_healthy()
    {
        assert_eq!(opened.map(|(_, vertices, _)| vertices), Ok(report.num_vertices));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_of_a_segment_makes_it_anew() {
        for (number, content) in segments().iter().enumerate() {
            let (_, bytes) = segment(&ARCHIVED[number]).expect("a segment");
            assert_eq!(with_content(bytes.clone(), &content[1..]), Some(bytes));
        }
        assert_eq!(segments().len(), ARCHIVED.len());
    }

    /// Or else nothing of the content would ever be looked at.
    #[test]
    fn a_segment_made_anew_is_the_one_that_the_manifest_names() {
        let disk = ARCHIVED[0].crash(CrashPlan::KeepUnsynced);
        let mut content = segments()[0][1..].to_vec();
        let is_rent = |at: &usize| content[*at..].starts_with(b"rent");
        let places: Vec<usize> = (0..content.len()).filter(is_rent).collect();
        assert!(!places.is_empty());
        places.into_iter().for_each(|at| content[at] = b'R');
        replace_segment(&disk, &content).expect("room");
        let report = check_on(Arc::new(disk), directory()).expect("it can be read");
        assert!(report.is_healthy(), "{report:?}");
    }
}
