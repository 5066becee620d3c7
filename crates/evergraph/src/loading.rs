//! A text file into a store: read whole, then added as one transaction.
//!
//! ```text
//!  schema ──► what the request leaves open ──► read_edges ──► property types as the schema has them? ──► add_edges
//!                                                  ▲                         │ no: said outright
//!                                                  └─────────────────────────┘ (text that looked like numbers)
//! ```
//!
//! A load that can be resumed, and one into a store with a memory limit, goes part by part (`loading_parts.rs`).
//!
//! Invariant: after an error nothing is added, but by a load that can be resumed: no edge, no vertex and no edge type.

use std::path::Path;
use std::time::Instant;

use evergraph_load::{
    ColumnRef, Format, LoadError, LoadOptions, ParsedEdges, Progress, PropertySpec, Reject, Rejects,
    read_edges,
};
use evergraph_store::{CommitError, Store};
use evergraph_types::{
    EdgeType, EdgeTypeOptions, KeyKind, Property, PropertyType, Schema, SchemaError, Sequence,
};
use thiserror::Error;

use crate::loading_course::Course;
use crate::loading_parts::load_in_parts;

/// What to load a file as.
///
/// ```
/// use evergraph::LoadRequest;
///
/// assert_eq!(LoadRequest::default().edge_type, "edge");
/// ```
#[derive(Clone, Debug)]
pub struct LoadRequest {
    /// The type of the edges.
    pub edge_type: String,
    /// How to read the file.
    pub options: LoadOptions,
    /// How the edge type is made if there is none; one that is there must be like this, its properties aside. By
    /// default it is made simple and directed.
    pub create: Option<EdgeTypeOptions>,
    /// Commit the file in several parts, each with the place it has come to, and begin behind the place that an earlier
    /// load of a file of this name to this edge type has come to. So a load that was interrupted goes on, one that was
    /// complete adds nothing, and lines appended to the file since then are added. A load without it keeps no place: one that
    /// comes later with it begins at the start, and a `multi` type has the edges twice. Types of keys and properties that neither
    /// the options nor the store say are found out from all of the file first: nothing of one that is damaged anywhere is loaded
    /// then. Where all are said the parts before the damage are.
    pub resume: bool,
    /// With `resume`, commit whenever about so many bytes of the file are read, and at least 256 KiB for each thread. By default a
    /// sixteenth of the file, and at least 256 MiB. Each part writes the lists anew that it adds to, those of the parts before too: many
    /// small parts of a graph in random order write it as many times.
    pub part_bytes: Option<u64>,
}

impl Default for LoadRequest {
    fn default() -> Self {
        let edge_type = "edge".to_owned();
        LoadRequest {
            edge_type,
            options: LoadOptions::default(),
            create: None,
            resume: false,
            part_bytes: None,
        }
    }
}

/// What a load did.
///
/// ```
/// # use evergraph::load::NoProgress;
/// # use evergraph::{Database, LoadRequest, Options};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("edges.txt");
/// std::fs::write(&path, "# a comment\n1 2\n2 3\n1 2\n")?;
/// let db = Database::in_memory(Options::default());
/// let report = db.load(&path, &LoadRequest::default(), &NoProgress)?;
/// assert_eq!((report.lines, report.rows, report.edges, report.vertices), (4, 3, 2, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadReport {
    /// How many edges there are now that there were not before. Of a simple edge type, a repeated edge is one.
    pub edges: u64,
    /// How many vertices there are now that there were not before.
    pub vertices: u64,
    /// How many lines the file has, comments and header included.
    pub lines: u64,
    /// How many of them an earlier load had read, which this one has resumed.
    pub resumed_lines: u64,
    /// How many of them are edges.
    pub rows: u64,
    /// The lines left out, with `on_error: OnError::Skip`.
    pub rejects: Rejects,
    /// The first key that is no int64, where that made the kind of keys string by inference.
    pub not_numeric: Option<Reject>,
    /// The format the file was read as.
    pub format: Format,
    /// How long it took, from opening the file to the commit.
    pub seconds: f64,
    /// The commit the edges came with.
    pub sequence: Sequence,
}

/// A file that was not loaded. Nothing of it is in the store, but the parts of a load that can be resumed.
///
/// ```
/// # use evergraph::load::NoProgress;
/// # use evergraph::{Database, DatabaseLoadError, LoadRequest, Options};
/// let db = Database::in_memory(Options::default());
/// let error = db.load("no such file", &LoadRequest::default(), &NoProgress).unwrap_err();
/// assert!(matches!(error, DatabaseLoadError::Read(_)));
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatabaseLoadError {
    /// The file cannot be read as edges.
    #[error(transparent)]
    Read(#[from] LoadError),
    /// Its edges cannot be added.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Loads a file as one transaction.
pub(crate) fn load(
    store: &Store,
    path: &Path,
    request: &LoadRequest,
    progress: &dyn Progress,
) -> Result<LoadReport, DatabaseLoadError> {
    let started = Instant::now();
    if store.is_read_only() {
        return Err(CommitError::ReadOnly.into());
    }
    let schema = store.version().map_err(CommitError::from)?.schema().clone();
    let key_kind = schema.key_kind.or(store.wanted_key_kind());
    SchemaError::unless_keys_are(request.options.keys, key_kind).map_err(CommitError::from)?;
    let edge_type = edge_type_of(&schema, request)?;
    if request.resume || store.memory_limit_bytes().is_some() {
        return load_in_parts(store, path, request, (&schema, edge_type.as_ref()), progress);
    }
    let course = &Course::new(progress, false);
    let parsed = read_as(schema.key_kind, edge_type.as_ref(), path, request, &course.reading())?;
    let (rows, committing) = (parsed.edges(), course.committing());
    let store = store.watched(&committing);
    let summary = match &request.create {
        Some(options) => {
            let columns = parsed.parts.first().map_or(&[][..], |part| &part.columns);
            let found = columns.iter().map(|(name, column)| (name.as_str(), column.property_type()));
            let options = match parsed.parts.is_empty() {
                true => options.clone(),
                false => with_time_as_found(path, options, edge_type.as_ref(), found)?,
            };
            store.add_edges_as(&request.edge_type, options, parsed.parts)?
        }
        None => store.add_edges(&request.edge_type, parsed.parts)?,
    };
    course.note_commit();
    Ok(LoadReport {
        edges: summary.edges,
        vertices: summary.vertices,
        lines: parsed.lines,
        resumed_lines: 0,
        rows,
        rejects: parsed.rejects,
        not_numeric: parsed.not_numeric,
        format: parsed.format,
        seconds: started.elapsed().as_secs_f64(),
        sequence: summary.sequence,
    })
}

/// The edge type as far as it is known before the file is read.
fn edge_type_of(schema: &Schema, request: &LoadRequest) -> Result<Option<EdgeType>, CommitError> {
    let name = &request.edge_type;
    match (schema.edge_type(name), &request.create) {
        (Some((_, found)), Some(wanted)) if !found.options.behaves_like(wanted) => {
            Err(found.options.exists(name, wanted).into())
        }
        (Some((_, found)), _) => Ok(Some(found.clone())),
        (None, Some(wanted)) => Ok(Some(EdgeType { name: name.clone(), options: wanted.clone() })),
        (None, None) => Ok(None),
    }
}

/// Reads a file, with keys and properties of the types that the store gives them.
fn read_as(
    key_kind: Option<KeyKind>,
    edge_type: Option<&EdgeType>,
    path: &Path,
    request: &LoadRequest,
    progress: &dyn Progress,
) -> Result<ParsedEdges, LoadError> {
    let mut options = request.options.clone();
    options.keys = options.keys.or(key_kind);
    let Some(edge_type) = edge_type else { return read_edges(path, &options, progress) };
    for spec in options.properties.iter_mut().flatten() {
        spec.kind = spec.kind.or(edge_type.property(&spec.name).map(|(_, property)| property.kind));
    }
    let parsed = read_edges(path, &options, progress)?;
    let found = parsed.parts.first().map_or(&[][..], |part| &part.columns);
    let found = found.iter().map(|(name, column)| (name.as_str(), column.property_type()));
    match options.properties {
        None if found.clone().any(|(name, kind)| is_misread(edge_type, name, kind)) => {
            let specs = found.map(|(name, kind)| PropertySpec {
                column: ColumnRef::from(name),
                name: name.to_owned(),
                kind: Some(edge_type.property(name).map_or(kind, |(_, property)| property.kind)),
            });
            options.properties = Some(specs.collect());
            read_edges(path, &options, progress)
        }
        _ => Ok(parsed),
    }
}

/// An edge type whose time is of the type that the file has it in; `known` is that type as far as there is one, and `found` are the
/// columns of the file. One of them is to have the time.
pub(crate) fn with_time_as_found<'n>(
    path: &Path,
    options: &EdgeTypeOptions,
    known: Option<&EdgeType>,
    found: impl Iterator<Item = (&'n str, PropertyType)>,
) -> Result<EdgeTypeOptions, LoadError> {
    let mut options = options.clone();
    let Some(time) = &options.time else { return Ok(options) };
    let found: Vec<(&str, PropertyType)> = found.collect();
    let column = found.iter().find(|(name, _)| name == time);
    if column.is_none() && known.is_none_or(|known| known.property(time).is_none()) {
        let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
        let reason = format!("no property {time:?} is loaded from this file; there are {names:?}");
        return Err(LoadError::Option { path: path.to_owned(), option: "time", reason });
    }
    let is_declared = options.properties.iter().any(|property| property.name == *time);
    let column = column.filter(|_| !is_declared);
    options.properties.extend(column.map(|(name, kind)| Property { name: (*name).to_owned(), kind: *kind }));
    Ok(options)
}

/// Whether values were taken for something else because of their looks: strings that could all be numbers, doubles
/// that are all whole.
fn is_misread(edge_type: &EdgeType, name: &str, kind: PropertyType) -> bool {
    edge_type.property(name).is_some_and(|(_, property)| property.kind != kind)
}
