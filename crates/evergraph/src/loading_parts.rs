//! A text file into a store part by part, in bounded memory, and from where an earlier load has come to.
//!
//! ```text
//!  survey: types of keys and properties ─► window ─► BulkLoad ─► window ─► BulkLoad ─► … ─► commit: edges and place
//!                                                                                                │
//!  a load that is resumed begins behind the place that the catalog holds  ◄──────────────────────┘
//! ```
//!
//! A load that nobody may resume commits once, at the end. One that can be resumed commits whenever a sixteenth of the
//! file is read: each part rewrites lists that the parts before have written, so that there are not to be many.
//!
//! Invariant: what the catalog says was read is in the store, and nothing of the file behind that, for both come with the
//! same commit.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use evergraph_load::{
    LoadError, LoadOptions, Place, Progress, PropertySpec, Survey, read_edges_in_parts, survey,
};
use evergraph_store::{BatchSummary, BulkLoad, CommitError, Store, Version, edge_type_item};
use evergraph_types::{EdgeBatch, EdgeType, EdgeTypeId, EdgeTypeOptions, Schema, SchemaError};

use crate::loading::{DatabaseLoadError, LoadReport, LoadRequest, with_time_as_found};
use crate::loading_course::Course;

/// A load that can be resumed commits at most so many parts of a file that is not compressed.
const MOST_PARTS: u64 = 16;
/// And none of less than so many bytes.
const PART_BYTES: u64 = 256 << 20;

/// The part of the memory limit that text may take on its way; the edges in it take as much again.
const WINDOWS_PER_LIMIT: u64 = 8;

/// Loads a file as one transaction or, if the request says that it can be resumed, as several.
pub(crate) fn load_in_parts(
    store: &Store,
    path: &Path,
    request: &LoadRequest,
    (schema, edge_type): (&Schema, Option<&EdgeType>),
    progress: &dyn Progress,
) -> Result<LoadReport, DatabaseLoadError> {
    let started = Instant::now();
    let course = &Course::new(progress, true);
    // A part is a number of windows.
    let of_limit = store.memory_limit_bytes().map(|limit| limit / WINDOWS_PER_LIMIT);
    let window_bytes =
        of_limit.into_iter().chain(request.part_bytes).chain(request.options.window_bytes).min();
    let options = LoadOptions { window_bytes, ..request.options.clone() };
    let Survey { options, not_numeric, .. } =
        say_all(path, options, (schema, edge_type), &course.surveying())?;
    let item = item_name(path);
    let version = request.resume.then(|| store.version()).transpose().map_err(CommitError::from)?;
    let earlier = version.and_then(|version| place_in(&version, &request.edge_type, &item));
    let (known, from) = earlier.unzip();
    let specs = options.properties.iter().flatten();
    let columns = specs.filter_map(|spec| Some((&*spec.name, spec.kind?)));
    let with_time = |options| with_time_as_found(path, options, edge_type, columns);
    let create = request.create.as_ref().map(with_time).transpose()?;
    let mut parts = Parts {
        store,
        course,
        edge_type: &request.edge_type,
        known,
        load: None,
        create,
        item: request.resume.then_some(item),
        committed: from.unwrap_or_default(),
        part_bytes: request.part_bytes.unwrap_or_else(|| part_bytes(path)),
        pending_rows: 0,
        rows: 0,
        total: BatchSummary::default(),
    };
    let mut failure = None;
    let outcome =
        read_edges_in_parts(path, &options, from, &course.reading(), &mut |edges, place| match parts
            .take(edges, place)
        {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        });
    let summary = match (outcome, failure) {
        (_, Some(error)) => return Err(error.into()),
        (outcome, None) => outcome?,
    };
    if parts.rows == 0 && from.is_none() && summary.rejects.count == 0 {
        return Err(LoadError::Empty { path: path.to_owned() }.into());
    }
    parts.commit(summary.end)?;
    Ok(LoadReport {
        edges: parts.total.edges,
        vertices: parts.total.vertices,
        lines: summary.end.lines,
        resumed_lines: from.map_or(0, |from| from.lines),
        rows: parts.rows,
        rejects: summary.rejects,
        not_numeric,
        format: summary.format,
        seconds: started.elapsed().as_secs_f64(),
        sequence: parts.total.sequence,
    })
}

/// How much of a file a load that can be resumed commits at once.
fn part_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len() / MOST_PARTS).max(PART_BYTES)
}

/// What the request and the store say of the file, and what it says itself where they leave something open.
fn say_all(
    path: &Path,
    mut options: LoadOptions,
    (schema, edge_type): (&Schema, Option<&EdgeType>),
    progress: &dyn Progress,
) -> Result<Survey, LoadError> {
    options.keys = options.keys.or(schema.key_kind);
    let as_declared = |specs: &mut Option<Vec<PropertySpec>>, always: bool| {
        for spec in specs.iter_mut().flatten().filter(|spec| always || spec.kind.is_none()) {
            let declared = edge_type.and_then(|kind| kind.property(&spec.name));
            spec.kind = declared.map(|(_, property)| property.kind).or(spec.kind);
        }
    };
    as_declared(&mut options.properties, false);
    let are_given = options.properties.is_some();
    let mut found = survey(path, &options, progress)?;
    // What was given is not overruled; what was inferred gives way to what the store has.
    as_declared(&mut found.options.properties, !are_given);
    Ok(found)
}

/// The commits of a load.
struct Parts<'a> {
    store: &'a Store,
    course: &'a Course<'a>,
    edge_type: &'a str,
    create: Option<EdgeTypeOptions>,
    /// Where earlier parts went, if there were any.
    known: Option<EdgeTypeId>,
    /// What is read and not committed.
    load: Option<BulkLoad>,
    /// The item of the edge type that keeps the place, if the load can be resumed.
    item: Option<String>,
    /// The place of the last commit.
    committed: Place,
    part_bytes: u64,
    pending_rows: u64,
    rows: u64,
    total: BatchSummary,
}

impl Parts<'_> {
    /// The next part.
    fn begin(&self) -> BulkLoad {
        let load = self.store.bulk_load(self.edge_type, self.create.clone());
        match self.known {
            Some(edge_type) => load.into_known(edge_type),
            None => load,
        }
    }

    /// Takes the edges of a window, behind which `place` is.
    fn take(&mut self, edges: Vec<EdgeBatch>, place: Place) -> Result<(), CommitError> {
        let rows = edges.iter().map(|part| part.len() as u64).sum::<u64>();
        self.rows += rows;
        self.pending_rows += rows;
        let mut load = self.load.take().unwrap_or_else(|| self.begin());
        load.add(edges)?;
        self.load = Some(load);
        if self.item.is_some() && place.offset - self.committed.offset >= self.part_bytes {
            self.commit(place)?;
        }
        Ok(())
    }

    /// Commits what is read up to a place.
    fn commit(&mut self, place: Place) -> Result<(), CommitError> {
        let is_new = self.item.is_some() && place != self.committed;
        if self.pending_rows == 0 && !is_new {
            self.total.sequence = self.store.version()?.sequence();
            return Ok(());
        }
        let bytes = bytes_of(place);
        let items = self.item.iter().map(|name| (name.as_str(), &bytes[..])).collect::<Vec<_>>();
        let load = self.load.take().unwrap_or_else(|| self.begin());
        let summary = load.commit_watched(&items, &self.course.committing())?;
        self.course.note_commit();
        self.total.sequence = summary.sequence;
        self.total.edges += summary.edges;
        self.total.vertices += summary.vertices;
        self.committed = place;
        self.pending_rows = 0;
        if self.item.is_some() && self.known.is_none() {
            let version = self.store.version()?;
            let (edge_type, _) = version
                .schema()
                .edge_type(self.edge_type)
                .ok_or_else(|| SchemaError::EdgeTypeGone { name: self.edge_type.to_owned() })?;
            self.known = Some(edge_type);
        }
        Ok(())
    }
}

/// The item of an edge type that says how far a file was loaded into it. A file is known by its name, wherever it lies.
fn item_name(path: &Path) -> String {
    format!("load/{}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// How far a file was loaded into an edge type, under whatever name that goes by now.
fn place_in(version: &Version, edge_type: &str, item: &str) -> Option<(EdgeTypeId, Place)> {
    let (edge_type, _) = version.schema().edge_type(edge_type)?;
    Some((edge_type, version.item(&edge_type_item(edge_type, item)).and_then(place_of)?))
}

fn bytes_of(place: Place) -> [u8; 24] {
    let mut bytes = [0; 24];
    for (part, number) in bytes.chunks_exact_mut(8).zip([place.offset, place.lines, place.checksum]) {
        part.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

fn place_of(bytes: &[u8]) -> Option<Place> {
    let (numbers, []) = bytes.as_chunks::<8>() else { return None };
    let [offset, lines, checksum] = <[_; 3]>::try_from(numbers).ok()?.map(u64::from_le_bytes);
    Some(Place { offset, lines, checksum })
}
