//! The graph on both sides: two edge types of a store, one without properties and one with lengths, and the yardstick's.

use std::path::Path;

use evergraph::generate::{ErdosRenyi, Generator, Kronecker, Model};
use evergraph::{
    Column, Database, EdgeBatch, EdgeTypeOptions, GraphView, KeyColumn, KeyKind, Options, Property,
    PropertyType, Snapshot,
};
use evergraph_yardstick::{Graph, WeightedCsr};
use tempfile::TempDir;

use crate::error::CommandError;

const SEED: u64 = 1;
/// Edges without properties.
const PLAIN: &str = "edge";
/// Edges with a length.
const WEIGHTED: &str = "road";
/// The algorithms that search from sources do so from as many.
const SOURCES: usize = 4;
/// Of so many edges one is changed.
const CHANGED_OF: usize = 100;
/// Segments of a store that was loaded in parts.
const SEGMENTS: usize = 10;

/// What is to be done, on the yardstick's side.
pub(super) struct Task {
    pub(super) graph: Graph,
    pub(super) lengths: WeightedCsr,
    pub(super) sources: Vec<u32>,
}

/// A store, and what algorithms see of it.
pub(super) struct Views {
    pub(super) plain: Snapshot,
    pub(super) weighted: Snapshot,
    pub(super) segments: u64,
    _database: Database,
    _directory: TempDir,
}

/// Edges as they were generated, each once or more.
pub(super) type Pairs = Vec<(u32, u32)>;

/// The edges of a model, self loops left out.
pub(super) fn generate(uniform: bool, scale: u32, edges_per_vertex: u64) -> Result<Pairs, CommandError> {
    let model = if uniform {
        Model::ErdosRenyi(ErdosRenyi { vertices: 1 << scale, edges: edges_per_vertex << scale })
    } else {
        Model::Kronecker(Kronecker::graph500(scale, edges_per_vertex))
    };
    let generator = Generator::new(model, SEED)?;
    let blocks = (0..generator.num_blocks()).flat_map(|block| generator.block(block));
    let ends = blocks.map(|(src, dst)| (src as u32, dst as u32));
    Ok(ends.filter(|(src, dst)| src != dst).collect())
}

/// The length of an edge, the same from both ends: 1 to 255, as in GAPBS.
fn length(src: u32, dst: u32) -> u32 {
    let ends = u64::from(src.min(dst)) << 32 | u64::from(src.max(dst));
    (ends.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u32 % 255 + 1
}

impl Task {
    pub(super) fn new(pairs: &Pairs) -> Result<Self, CommandError> {
        const STEP: u64 = 0x9E37_79B9;
        let graph = Graph::undirected(pairs)?;
        let lengths = WeightedCsr::new(graph.out(), length);
        let vertices = graph.num_vertices() as u64;
        let spread = (1..=vertices).map(|index| (index * STEP % vertices) as u32);
        let sources = spread.filter(|&vertex| graph.out().degree(vertex) > 0).take(SOURCES).collect();
        Ok(Task { graph, lengths, sources })
    }
}

impl Views {
    /// A store below `directory`, loaded in one part.
    pub(super) fn loaded(directory: &Path, pairs: &Pairs) -> Result<Self, CommandError> {
        Self::in_parts(directory, pairs, 1, |_| Ok(()))
    }

    /// One that has had some of its edges deleted and put back after it was loaded, each in a commit of its own kind, so
    /// that their lists lie in memory.
    pub(super) fn changed(directory: &Path, pairs: &Pairs) -> Result<Self, CommandError> {
        Self::in_parts(directory, pairs, 1, |database| {
            let some: Pairs = pairs.iter().copied().step_by(CHANGED_OF).collect();
            for edge_type in [PLAIN, WEIGHTED] {
                database.delete_edges(edge_type, vec![batch(&some, false)])?;
                database.add_edges(edge_type, vec![batch(&some, edge_type == WEIGHTED)])?;
            }
            Ok(())
        })
    }

    /// One that was loaded in parts, each archived.
    pub(super) fn segmented(directory: &Path, pairs: &Pairs) -> Result<Self, CommandError> {
        Self::in_parts(directory, pairs, SEGMENTS, |_| Ok(()))
    }

    fn in_parts(
        directory: &Path,
        pairs: &Pairs,
        parts: usize,
        change: impl FnOnce(&Database) -> Result<(), CommandError>,
    ) -> Result<Self, CommandError> {
        let directory =
            TempDir::with_prefix_in("store-", directory).map_err(CommandError::file(directory))?;
        let options = Options { keys: Some(KeyKind::Dense), ..Options::default() };
        let database = Database::open(directory.path(), options)?;
        let symmetric = EdgeTypeOptions { symmetric: true, ..EdgeTypeOptions::default() };
        let weight = Property { name: "weight".to_owned(), kind: PropertyType::Int64 };
        database.create_edge_type(PLAIN, symmetric.clone())?;
        database.create_edge_type(WEIGHTED, EdgeTypeOptions { properties: vec![weight], ..symmetric })?;
        for part in pairs.chunks(pairs.len().div_ceil(parts).max(1)) {
            database.add_edges(PLAIN, vec![batch(part, false)])?;
            database.add_edges(WEIGHTED, vec![batch(part, true)])?;
            database.checkpoint()?;
        }
        change(&database)?;
        let all = database.snapshot()?;
        let (plain, weighted) = (all.with_edge_types(&[PLAIN])?, all.with_edge_types(&[WEIGHTED])?);
        plain.flat();
        Ok(Views {
            plain,
            weighted,
            segments: database.stats().segments,
            _database: database,
            _directory: directory,
        })
    }
}

fn batch(pairs: &[(u32, u32)], weighted: bool) -> EdgeBatch {
    let keys =
        |end: fn(&(u32, u32)) -> u32| KeyColumn::Int(pairs.iter().map(|pair| end(pair).into()).collect());
    let lengths = || pairs.iter().map(|&(src, dst)| length(src, dst).into()).collect::<Vec<i64>>();
    let column = weighted.then(|| ("weight".to_owned(), Column::from(lengths())));
    EdgeBatch { src: keys(|pair| pair.0), dst: keys(|pair| pair.1), columns: column.into_iter().collect() }
}
