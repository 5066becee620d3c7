//! `evergraph bench stream`: edges stream into a graph that has half of them already, and algorithms follow after each
//! batch (GraphOne's experiment: Kumar and Huang, FAST 2019, section 7).
//!
//! ```text
//! first half ─► database ─► batches of the second half, each: write ─► follow ─► update      against   flat view ─► batch twin
//! ```
//!
//! Last, what a thousand commits to that graph have changed is told, of which `difference.rs` says what it may take.
//!
//! The second column has what the first is measured against, which the row names: here it is no yardstick.

use clap::Args;
use evergraph::algorithms::incremental::{IncrementalBfs, IncrementalComponents};
use evergraph::algorithms::{self, BfsOptions, Control};
use evergraph::generate::{Generator, Kronecker, Model};
use evergraph::{
    Database, EdgeBatch, EdgeTypeOptions, GraphView, KeyColumn, KeyKind, Options, Snapshot, VertexId,
};
use rayon::prelude::*;

use super::command::AddRow;
use super::difference;
use super::load::EDGE_TYPE;
use super::report::{Bar, Row, Unit};
use super::timing::{Pair, time};
use crate::error::CommandError;
use crate::progress::Activity;
use crate::units;

/// How much to stream.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct StreamArgs {
    /// The graph has 2^N vertices
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=30))]
    scale: u32,
    /// The graph has so many edges per vertex
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    edges_per_vertex: u64,
    /// A batch has so many edges
    #[arg(long, value_name = "N", default_value_t = 1 << 16, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
    /// Stop after so many batches
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    batches: u64,
}

/// Searches that follow the stream together.
const SEARCHES: usize = 8;

/// Edges a second that streaming components are to follow.
const COMPONENT_EDGES_PER_SECOND: f64 = 5e6;

/// A batch of edges between numbers.
pub(super) fn batch(edges: &[(u32, u32)]) -> EdgeBatch {
    let keys =
        |end: fn(&(u32, u32)) -> u32| KeyColumn::Int(edges.iter().map(|edge| end(edge).into()).collect());
    EdgeBatch { src: keys(|edge| edge.0), dst: keys(|edge| edge.1), columns: Vec::new() }
}

/// The edges of a Kronecker graph in random order.
pub(super) fn edges(scale: u32, edges_per_vertex: u64) -> Result<Vec<(u32, u32)>, CommandError> {
    let generator = Generator::new(Model::Kronecker(Kronecker::graph500(scale, edges_per_vertex)), 1)?;
    Ok(generator.collect_pairs()?)
}

/// An empty database in memory with one edge type.
pub(super) fn database(options: EdgeTypeOptions) -> Result<Database, CommandError> {
    let database = Database::in_memory(Options { keys: Some(KeyKind::Dense), ..Options::default() });
    database.create_edge_type(EDGE_TYPE, options)?;
    Ok(database)
}

/// Seconds of all batches together.
#[derive(Default)]
struct Spent {
    batches: u64,
    streamed: usize,
    write: f64,
    /// Reading what was written, and finding out what it changed.
    follow: f64,
    /// The flat view, which all of them run on.
    flatten: f64,
    bfs: f64,
    full_bfs: f64,
    /// Eight searches.
    searches: f64,
    components: f64,
    full_components: f64,
    same: bool,
}

/// What follows the stream.
struct Subjects {
    /// Where the searches begin.
    sources: Vec<VertexId>,
    alone: IncrementalBfs,
    searches: Vec<IncrementalBfs>,
    components: IncrementalComponents,
}

impl Subjects {
    fn new(view: &Snapshot, control: &Control) -> Result<Self, CommandError> {
        let start = |&source| IncrementalBfs::new(view, &[source], &BfsOptions::default(), control);
        let sources = by_degree(view);
        let searches = sources.iter().map(start).collect::<Result<Vec<_>, _>>()?;
        let components = IncrementalComponents::new(view, control)?;
        let alone = searches.first().ok_or_else(|| CommandError::Usage("the graph is empty".to_owned()))?;
        Ok(Subjects { sources, alone: alone.clone(), searches, components })
    }
}

/// Measures everything.
pub(super) fn measure(args: StreamArgs, add: &mut AddRow) -> Result<(), CommandError> {
    let activity = Activity::new("making the graph");
    let edges = edges(args.scale, args.edges_per_vertex)?;
    for (name, multi) in [("each edge once", false), ("each event an edge", true)] {
        activity.say(format!("streaming, {name}"));
        let (spent, database) = stream(&edges, args, multi)?;
        rows(&spent, name).into_iter().try_for_each(&mut *add)?;
        difference::measure(&database, &edges, add)?;
    }
    Ok(())
}

/// Streams the second half of the edges into the first, and gives the graph.
fn stream(edges: &[(u32, u32)], args: StreamArgs, multi: bool) -> Result<(Spent, Database), CommandError> {
    let (base, rest) = edges.split_at(edges.len() / 2);
    let database = database(EdgeTypeOptions { symmetric: true, multi, ..EdgeTypeOptions::default() })?;
    database.add_edges(EDGE_TYPE, vec![batch(base)])?;
    let mut follower = database.follow(Some(EDGE_TYPE))?;
    // Neither searches nor components mind them.
    follower.take_repeats();
    let (options, control) = (BfsOptions::default(), Control::new());
    let mut subjects = Subjects::new(follower.snapshot(), &control)?;
    let mut spent = Spent { same: true, ..Spent::default() };
    let Subjects { sources, alone, searches, components } = &mut subjects;
    let batches = usize::try_from(args.batches).unwrap_or(usize::MAX);
    for piece in rest.chunks(args.batch as usize).take(batches) {
        spent.streamed += piece.len();
        let piece = batch(piece);
        spent.write += timed(|| database.add_edges(EDGE_TYPE, vec![piece]))?.0;
        let (seconds, followed) = timed(|| follower.advance())?;
        spent.follow += seconds;
        let (view, changes) = (&followed.after, &followed.changes);
        spent.flatten += time(|| view.flat()).0;
        spent.bfs += timed(|| alone.update(view, changes))?.0;
        spent.searches +=
            timed(|| searches.par_iter_mut().try_for_each(|search| search.update(view, changes)))?.0;
        spent.components += timed(|| components.update(view, changes))?.0;
        let (seconds, full) = timed(|| algorithms::bfs(view, &sources[..1], &options, &control))?;
        spent.full_bfs += seconds;
        spent.same &= full.distances == alone.distances() && full.distances == searches[0].distances();
        let (seconds, full) = timed(|| algorithms::connected_components(view, &control))?;
        spent.full_components += seconds;
        spent.same &= full.count == components.count();
        spent.batches += 1;
    }
    Ok((spent, database))
}

fn timed<T, E: Into<CommandError>>(work: impl FnOnce() -> Result<T, E>) -> Result<(f64, T), CommandError> {
    let (seconds, result) = time(work);
    Ok((seconds, result.map_err(Into::into)?))
}

fn rows(spent: &Spent, name: &str) -> Vec<Row> {
    let pair = |ours: f64, theirs: f64| Pair { ours, theirs, ratio: ours / theirs };
    let per_second = |seconds: f64| spent.streamed as f64 / seconds;
    let shared = spent.write + spent.follow + spent.flatten;
    let what = format!("{name}, {} batches", spent.batches);
    let reading = spent.follow + spent.flatten + spent.components;
    let rate = |seconds| units::rate(per_second(seconds), "edges");
    let read = format!("written at {}, read at {}", rate(spent.write), rate(spent.follow));
    vec![
        Row::times("bfs after batches: full", pair(spent.bfs, spent.full_bfs))
            .bar(Bar::Ratio(0.1))
            .agreement(spent.same, what),
        Row::times("  with reading: full", pair(spent.follow + spent.flatten + spent.bfs, spent.full_bfs))
            .agreement(spent.same, read),
        Row::times("8 bfs and writing: 1 bfs", pair(shared + spent.searches, shared + spent.bfs))
            .bar(Bar::Ratio(2.0)),
        Row::times("  8 bfs alone: 1 bfs", pair(spent.searches, spent.bfs)),
        Row::new("components, with reading", Unit::EdgesPerSecond, per_second(reading), None)
            .bar(Bar::AtLeast(COMPONENT_EDGES_PER_SECOND))
            .agreement(spent.same, "the number of components after every batch".to_owned()),
        Row::times("  components: full", pair(spent.components, spent.full_components)),
    ]
}

/// The vertices of the highest degrees.
fn by_degree(view: &Snapshot) -> Vec<VertexId> {
    let flat = view.flat();
    let mut ids: Vec<VertexId> = (0..flat.id_bound()).collect();
    ids.sort_by_key(|&id| std::cmp::Reverse(flat.out_neighbors(id).len()));
    ids.truncate(SEARCHES);
    ids
}
