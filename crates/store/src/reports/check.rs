//! Checking a store: every checksum, then every invariant of what the bytes say.
//!
//! Invariant: nothing is written, and no damage found keeps the rest from being looked at, as far as that makes sense.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evergraph_disk::{Corruption, Disk, DiskError, LockMode, OsDisk};
use evergraph_log::{Log, Record, ReplayError};
use evergraph_segment::{Segment, SegmentError};
use evergraph_types::{Direction, EdgeTypeId, KeyKind, PropertyId, Sequence, Value, VertexId};
use rayon::prelude::*;

use crate::error::OpenError;
use crate::files::home::{lock_path, log_directory, segment_path};
use crate::files::manifest::{Manifest, SegmentEntry};
use crate::files::open::{Recovery, is_store};
use crate::history::bases::read_bases;
use crate::history::cursors::{cursor_names, read_cursor};
use crate::options::Options;
use crate::system::pool::in_pool;
use crate::versions::version::Version;

/// What a check found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// Everything that is wrong, in the order it was found.
    pub problems: Vec<Problem>,
    /// The number of segments.
    pub segments: u64,
    /// Their bytes.
    pub segment_bytes: u64,
    /// The records of the log behind the segments.
    pub log_records: u64,
    /// Bytes at the end of the log that a crash left unfinished. They hold no commit that was acknowledged as durable;
    /// the next open cuts them off.
    pub torn_bytes: u64,
    /// The newest commit.
    pub sequence: Sequence,
    /// The number of vertices.
    pub num_vertices: u64,
    /// The number of edges.
    pub num_edges: u64,
}

/// Something wrong with a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file, or the directory where it is not one file.
    pub path: PathBuf,
    /// Where in the file, in bytes from its start; `None` where what the files say together is wrong.
    pub offset: Option<u64>,
    /// What.
    pub what: String,
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn is_healthy(&self) -> bool {
        self.problems.is_empty()
    }

    fn damage(&mut self, corruption: Corruption) {
        let Corruption { path, offset, what } = corruption;
        self.problems.push(Problem { path, offset: Some(offset), what });
    }

    /// Takes in an error: damage is a problem of the store, anything else ends the check.
    fn note(&mut self, error: OpenError) -> Result<(), OpenError> {
        match error {
            OpenError::Corrupt(corruption) => self.damage(corruption),
            error => return Err(error),
        }
        Ok(())
    }
}

/// Verifies every checksum and every invariant of the store in a directory, without changing it. Reads all of it
/// and takes as much memory as having it open.
///
/// # Errors
/// Those of [`Store::open`](crate::Store::open) that are no damage: there is no store, it is of a newer format, it is
/// open for writing elsewhere, or the disk refuses. Damage is in the report.
pub fn check(path: impl AsRef<Path>) -> Result<CheckReport, OpenError> {
    let path = path.as_ref();
    in_pool(|| check_on(Arc::new(OsDisk), path))
}

/// As [`check`], on another disk.
///
/// # Errors
/// Those of [`check`].
pub fn check_on(disk: Arc<dyn Disk>, directory: &Path) -> Result<CheckReport, OpenError> {
    let mut report = CheckReport::default();
    match is_store(&*disk, directory) {
        Ok(true) => {}
        Ok(false) => return Err(OpenError::NotFound { path: directory.to_owned() }),
        Err(error) => return report.note(error).map(|()| report),
    }
    let _lock = disk.lock(&lock_path(directory), LockMode::Shared)?;
    let manifest = match Manifest::read(&*disk, directory) {
        Ok(manifest) => manifest,
        Err(error) => return report.note(error).map(|()| report),
    };
    report.sequence = manifest.sequence;
    let segments = check_segments(&*disk, directory, &manifest, &mut report)?;
    let bases = check_bases(&*disk, directory, &manifest, &mut report)?;
    check_log(&*disk, directory, &manifest, &bases, &mut report)?;
    for name in cursor_names(&*disk, directory)? {
        if let Err(error) = read_cursor(&*disk, directory, &manifest.store_id, &name) {
            report.note(error)?;
        }
    }
    if !report.is_healthy() {
        // What the lists say makes no sense while bytes are wrong.
        return Ok(report);
    }
    match rebuild(&*disk, directory, &manifest, &segments) {
        Ok(version) => {
            check_version(directory, &version, &mut report);
            version.release();
        }
        Err(error) => report.note(error)?,
    }
    Ok(report)
}

/// Looks for damage in every segment.
fn check_segments(
    disk: &dyn Disk,
    directory: &Path,
    manifest: &Manifest,
    report: &mut CheckReport,
) -> Result<Vec<Arc<Segment>>, OpenError> {
    let mut segments = Vec::new();
    for entry in &manifest.segments {
        report.segments += 1;
        report.segment_bytes += entry.bytes;
        segments.extend(whole_segment(disk, directory, entry, manifest, report)?.map(Arc::new));
    }
    Ok(segments)
}

/// The segment of an entry, if it is whole, and that one.
fn whole_segment(
    disk: &dyn Disk,
    directory: &Path,
    entry: &SegmentEntry,
    manifest: &Manifest,
    report: &mut CheckReport,
) -> Result<Option<Segment>, OpenError> {
    let path = &segment_path(directory, entry.number);
    match Segment::open(disk, path, &manifest.store_id) {
        Ok(segment) => match entry.mismatch(&segment) {
            Some(mismatch) => report.damage(mismatch),
            None => return Ok(Some(segment)),
        },
        Err(SegmentError::Corrupt(_)) => {
            let damage = Segment::find_damage(disk, path, &manifest.store_id)?;
            damage.into_iter().for_each(|corruption| report.damage(corruption));
        }
        Err(SegmentError::Disk(DiskError::NotFound { .. })) => {
            report.damage(Corruption::new(path, 0, "the file is missing"));
        }
        Err(error) => report.note(error.into())?,
    }
    Ok(None)
}

/// Looks for damage in what only older versions need, but for the log; gives the bases.
fn check_bases(
    disk: &dyn Disk,
    directory: &Path,
    manifest: &Manifest,
    report: &mut CheckReport,
) -> Result<Vec<Manifest>, OpenError> {
    let bases = match read_bases(disk, directory, manifest) {
        Ok(bases) => bases,
        Err(error) => return report.note(error).map(|()| Vec::new()),
    };
    let named = bases.iter().flat_map(|base| &base.segments);
    let mut older: BTreeMap<u64, &SegmentEntry> = named.map(|entry| (entry.number, entry)).collect();
    older.retain(|number, _| manifest.segments.iter().all(|entry| entry.number != *number));
    for entry in older.values() {
        whole_segment(disk, directory, entry, manifest, report)?;
    }
    Ok(bases)
}

/// Reads the log: what is behind the manifest, and what is behind the oldest base, from which every later version is made.
fn check_log(
    disk: &dyn Disk,
    directory: &Path,
    manifest: &Manifest,
    bases: &[Manifest],
    report: &mut CheckReport,
) -> Result<(), OpenError> {
    let mut records = 0;
    let mut count = |record: Record<'_>| -> Result<(), std::convert::Infallible> {
        records += u64::from(record.last_sequence > manifest.sequence);
        Ok(())
    };
    let log = log_directory(directory);
    let mut wanted = manifest.wanted();
    if let Some(oldest) = bases.first() {
        (wanted.after, wanted.needed_after) = (oldest.sequence, oldest.sequence);
    }
    let outcome = Log::scan(disk, &log, manifest.store_id, wanted, &mut count);
    report.log_records = records;
    match outcome {
        Ok(recovery) => {
            report.sequence = manifest.sequence.max(recovery.last_sequence);
            report.torn_bytes = recovery.torn.map_or(0, |torn| torn.bytes);
            Ok(())
        }
        Err(ReplayError::Log(error)) => report.note(error.into()),
        Err(ReplayError::Visit(never)) => match never {},
    }
}

/// The newest version, put together as on opening.
fn rebuild(
    disk: &dyn Disk,
    directory: &Path,
    manifest: &Manifest,
    segments: &[Arc<Segment>],
) -> Result<Arc<Version>, OpenError> {
    let mut recovery = Recovery::of_segments(manifest, segments, &Options::default())?;
    let scanned = recovery.scan_log(disk, directory, manifest);
    let version = Arc::new(recovery.finish());
    match scanned {
        Ok(()) => Ok(version),
        Err(error) => {
            version.release();
            Err(error)
        }
    }
}

fn check_version(directory: &Path, version: &Version, report: &mut CheckReport) {
    let mut wrong = |what: String| {
        report.problems.push(Problem { path: directory.to_owned(), offset: None, what });
    };
    let ids = version.vertex_ids();
    if ids.len() as u64 != version.num_vertices {
        wrong(format!("there are {} vertices, but {} were counted", ids.len(), version.num_vertices));
    }
    if version.schema.key_kind != Some(KeyKind::Dense) {
        let lost = ids.par_iter().find_any(|&&id| version.vertex_id(version.key(id).as_ref()) != Some(id));
        if let Some(&id) = lost {
            wrong(format!("vertex {} is not found by its key", version.key(id)));
        }
    }
    for (edge_type, kind) in version.schema.live_edge_types() {
        let name = &kind.name;
        for fault in check_lists(version, edge_type) {
            wrong(format!("edges of type {name:?}: {fault}"));
        }
    }
    report.num_vertices = version.num_vertices;
    report.num_edges =
        (0..version.edges.len() as EdgeTypeId).map(|edge_type| version.num_edges(edge_type)).sum();
}

/// What the lists of one direction add up to. `edges` is the same for both directions of the same edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    entries: u64,
    loops: u64,
    edges: u64,
    fault: Option<String>,
}

fn check_lists(version: &Version, edge_type: EdgeTypeId) -> Vec<String> {
    let options = &version.schema.edge_types[usize::from(edge_type)].options;
    let tables = &version.edges[usize::from(edge_type)];
    // Each builder hashes in a way of its own, so both directions share one.
    let builder = hashbrown::DefaultHashBuilder::default();
    let out = sum_lists(version, edge_type, Direction::Out, false, &builder);
    if !version.keeps_lists(edge_type, Direction::In) {
        let miscounted = (out.entries, out.loops) != (tables.out.entries, tables.out.loops);
        let fault = || format!("there are {} entries, but {} were counted", out.entries, tables.out.entries);
        return out.fault.iter().cloned().chain(miscounted.then(fault)).collect();
    }
    let reverse = sum_lists(version, edge_type, Direction::In, true, &builder);
    let mut faults: Vec<String> = [&out, &reverse].into_iter().filter_map(|sum| sum.fault.clone()).collect();
    if out.edges != reverse.edges || out.entries != reverse.entries {
        faults.push("the lists of both directions hold different edges".to_owned());
    }
    let counted =
        [(&out, &tables.out), (&reverse, if options.symmetric { &tables.out } else { &tables.reverse })];
    for (sum, lists) in counted {
        if (sum.entries, sum.loops) != (lists.entries, lists.loops) {
            faults.push(format!("there are {} entries, but {} were counted", sum.entries, lists.entries));
        }
    }
    faults
}

fn sum_lists(
    version: &Version,
    edge_type: EdgeTypeId,
    direction: Direction,
    reversed: bool,
    builder: &(impl BuildHasher + Sync),
) -> Sum {
    let options = &version.schema.edge_types[usize::from(edge_type)].options;
    let kind = &version.schema.edge_types[usize::from(edge_type)];
    let properties: Vec<PropertyId> = kind.properties().map(|(id, _)| id).collect();
    let of_vertex = |vertex: VertexId| {
        let mut sum = Sum::default();
        let mut previous = None;
        version.for_each_edge(edge_type, direction, vertex, &properties, &mut |neighbor, values| {
            let (src, dst) = if reversed { (neighbor, vertex) } else { (vertex, neighbor) };
            sum.entries += 1;
            sum.loops += u64::from(neighbor == vertex);
            // Addition does not mind the order, in which the directions differ.
            sum.edges = sum.edges.wrapping_add(hash_edge(builder, src, dst, values));
            let key = || version.key(vertex);
            if !version.has_vertex(neighbor) || !version.has_vertex(vertex) {
                sum.fault = Some(format!("an end of an edge at vertex {} does not exist", key()));
            } else if !options.multi && previous.is_some_and(|previous| previous >= neighbor) {
                sum.fault = Some(format!("the list of vertex {} does not ascend", key()));
            }
            previous = Some(neighbor);
        });
        sum
    };
    let add = |left: Sum, right: Sum| Sum {
        entries: left.entries + right.entries,
        loops: left.loops + right.loops,
        edges: left.edges.wrapping_add(right.edges),
        fault: left.fault.or(right.fault),
    };
    (0..version.id_bound).into_par_iter().with_min_len(1 << 10).map(of_vertex).reduce(Sum::default, add)
}

fn hash_edge(builder: &impl BuildHasher, src: VertexId, dst: VertexId, values: &[Value]) -> u64 {
    let mut hasher = builder.build_hasher();
    (src, dst).hash(&mut hasher);
    for value in values {
        hash_value(value, &mut hasher);
    }
    hasher.finish()
}

fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Bool(flag) => flag.hash(hasher),
        Value::Int(number) | Value::Timestamp(number) => number.hash(hasher),
        Value::UInt(number) => number.hash(hasher),
        Value::Float(number) => number.to_bits().hash(hasher),
        Value::Text(text) => text.hash(hasher),
        Value::Bytes(bytes) => bytes.hash(hasher),
        Value::Date(days) => days.hash(hasher),
        Value::List(items) => items.iter().for_each(|item| hash_value(item, hasher)),
    }
}
