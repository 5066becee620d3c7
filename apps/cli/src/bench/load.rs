//! From the text file to something that answers queries: for Evergraph a durable store on disk and a snapshot of it, for
//! the yardstick a CSR in each direction.

use std::path::Path;

use evergraph::load::{LoadOptions, NoProgress};
use evergraph::{Database, EdgeTypeOptions, GraphView, KeyKind, LoadRequest, Options, Snapshot};
use evergraph_yardstick::{Graph, parse_edge_list};
use tempfile::TempDir;

use super::report::{Bar, Row};
use super::subjects::Subjects;
use super::timing::{in_turns, time};
use crate::error::CommandError;

/// The edge type that graphs are loaded as.
pub(super) const EDGE_TYPE: &str = "edge";

/// Declares it.
pub(super) fn declare(database: &Database, symmetric: bool, multi: bool) -> Result<(), CommandError> {
    let kind = EdgeTypeOptions { symmetric, multi, ..EdgeTypeOptions::default() };
    Ok(database.create_edge_type(EDGE_TYPE, kind)?)
}

/// A store in a directory that goes when it does.
pub(super) struct Loaded {
    pub(super) database: Database,
    pub(super) snapshot: Snapshot,
    /// None for a store in memory.
    pub(super) _directory: Option<TempDir>,
}

/// Loads into a new store below `directory`, and tells the seconds it took.
pub(super) fn load(file: &Path, directory: &Path, keys: KeyKind) -> Result<(f64, Loaded), CommandError> {
    let directory = TempDir::with_prefix_in("store-", directory).map_err(CommandError::file(directory))?;
    let options = Options { keys: Some(keys), ..Options::default() };
    let (seconds, loaded) = time(|| -> Result<_, CommandError> {
        let database = Database::open(directory.path(), options)?;
        database.load(file, &request(keys), &NoProgress)?;
        let snapshot = database.snapshot()?;
        Ok((database, snapshot))
    });
    let (database, snapshot) = loaded?;
    Ok((seconds, Loaded { database, snapshot, _directory: Some(directory) }))
}

/// What is asked of the loader: as little as possible.
pub(super) fn request(keys: KeyKind) -> LoadRequest {
    let options = LoadOptions { keys: Some(keys), ..LoadOptions::default() };
    LoadRequest { edge_type: EDGE_TYPE.to_owned(), options, ..LoadRequest::default() }
}

/// Parses and builds the yardstick's graph, and tells the seconds it took.
pub(super) fn build(file: &Path) -> Result<(f64, Graph), CommandError> {
    let (seconds, graph) = time(|| -> Result<Graph, CommandError> {
        let pairs = parse_edge_list(file)?;
        Ok(Graph::directed(&pairs)?)
    });
    Ok((seconds, graph?))
}

/// Measures loading with keys of one kind; both sides are what the last turn left.
pub(super) fn measure(
    file: &Path,
    directory: &Path,
    keys: KeyKind,
    repeats: usize,
) -> Result<(Row, Subjects), CommandError> {
    // Whoever reads the file first would pay for bringing it into memory.
    drop(std::fs::read(file).map_err(CommandError::file(file))?);
    let (mut ours, mut theirs) = (None, None);
    let pair = in_turns::<CommandError>(
        repeats,
        || {
            // The store of the turn before goes first, outside the time.
            ours = None;
            let (seconds, loaded) = load(file, directory, keys)?;
            ours = Some(loaded);
            Ok(seconds)
        },
        || {
            theirs = None;
            let (seconds, graph) = build(file)?;
            theirs = Some(graph);
            Ok(seconds)
        },
    )?;
    let (Some(loaded), Some(graph)) = (ours, theirs) else {
        return Err(CommandError::Usage("--repeats must be at least 1".to_owned()));
    };
    let edges = (loaded.snapshot.num_edges(), graph.num_edges());
    let same = edges.0 == edges.1;
    let what = if same { format!("{} edges", edges.0) } else { format!("{} and {} edges", edges.0, edges.1) };
    let row = Row::times(&format!("load, {keys} keys"), pair).bar(Bar::Ratio(2.0)).agreement(same, what);
    Ok((row, Subjects::new(loaded, graph)))
}
