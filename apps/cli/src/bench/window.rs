//! `evergraph bench window`: a window of the last edges of a stream moves on, against the same graph built anew.
//!
//! ```text
//! stream  ═══════════════════════╪═══╪═══╪══►      window: the last N edges; each step a hundredth of it enters and leaves
//!                 └── window ────┘                 anew:   one batch of these N edges into an empty database
//! ```
//!
//! The second column is the graph built anew; where copies are counted, that is part of it.

use clap::Args;
use evergraph::algorithms::{Control, PageRankOptions, pagerank};
use evergraph::{
    Column, Database, Duplicates, EdgeBatch, EdgeTypeOptions, GraphView, Property, PropertyType, Snapshot,
    Span, Window, WindowOptions,
};
use rayon::prelude::*;

use super::command::AddRow;
use super::load::EDGE_TYPE;
use super::report::{Bar, Row, Unit};
use super::stream::{batch, database, edges};
use super::timing::{Pair, in_turns, median, time};
use crate::error::CommandError;
use crate::progress::Activity;

/// How large the window is.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct WindowArgs {
    /// The window has so many edges
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(100..))]
    edges: u64,
    /// The edges are those of a Kronecker graph of 2^N vertices; by default the smallest with 16 a vertex that has enough
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=30))]
    scale: Option<u32>,
    /// So many steps are measured
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    steps: u16,
    /// The graph is built anew so often
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,
}

/// Edges that enter and leave in a step: one of so many parts of the window.
const STEPS_IN_WINDOW: usize = 100;

/// The property that has the time.
const TIME: &str = "at";

/// The property that has the number of copies.
const COUNT: &str = "count";

/// One kind of window.
struct Case {
    name: &'static str,
    duplicates: Duplicates,
    /// Whether events have a time, by which the window slides.
    timed: bool,
}

const CASES: [Case; 4] = [
    Case { name: "keep", duplicates: Duplicates::Keep, timed: false },
    Case { name: "drop", duplicates: Duplicates::Drop, timed: false },
    Case { name: "count", duplicates: Duplicates::Count, timed: false },
    Case { name: "keep, by time", duplicates: Duplicates::Keep, timed: true },
];

/// Measures everything.
pub(super) fn measure(args: WindowArgs, add: &mut AddRow) -> Result<(), CommandError> {
    let activity = Activity::new("making the graph");
    let length = args.edges as usize;
    let wanted = length + length / STEPS_IN_WINDOW * usize::from(args.steps);
    let scale = args.scale.unwrap_or_else(|| (wanted as f64 / 16.0).log2().ceil().clamp(1.0, 30.0) as u32);
    let per_vertex = (wanted as u64).div_ceil(1 << scale).max(16);
    let edges = edges(scale, per_vertex)?;
    for case in CASES {
        activity.say(format!("measuring {}", case.name));
        measure_case(&case, &edges[..wanted.min(edges.len())], length, args.repeats.into(), add)?;
    }
    Ok(())
}

impl Case {
    /// Of the stream, and of what the window makes of it.
    fn options(&self, is_window: bool) -> EdgeTypeOptions {
        let property = |name: &str, kind| vec![Property { name: name.to_owned(), kind }];
        let properties = match self.duplicates {
            _ if self.timed => property(TIME, PropertyType::Timestamp),
            Duplicates::Count if is_window => property(COUNT, PropertyType::Int64),
            _ => Vec::new(),
        };
        let multi = !is_window || self.duplicates == Duplicates::Keep;
        let time = self.timed.then(|| TIME.to_owned());
        EdgeTypeOptions { multi, properties, time, ..EdgeTypeOptions::default() }
    }

    /// Edges as events, the first of this number.
    fn batch(&self, edges: &[(u32, u32)], first: usize) -> EdgeBatch {
        let times = || Column::timestamps((first..first + edges.len()).map(|number| number as i64).collect());
        let columns = if self.timed { vec![(TIME.to_owned(), times())] } else { Vec::new() };
        EdgeBatch { columns, ..batch(edges) }
    }

    fn window(&self, database: &Database, length: usize) -> Result<Window, CommandError> {
        let length = length as i64;
        let span = if self.timed { Span::Time(length) } else { Span::Edges(length) };
        Ok(database.window(WindowOptions { duplicates: self.duplicates, ..WindowOptions::new(span) })?)
    }
}

fn measure_case(
    case: &Case,
    edges: &[(u32, u32)],
    length: usize,
    repeats: usize,
    add: &mut AddRow,
) -> Result<(), CommandError> {
    let step = length / STEPS_IN_WINDOW;
    let stream = database(case.options(false))?;
    let mut window = case.window(&stream, length)?;
    let (mut advances, mut rebuilds) = (Vec::new(), Vec::new());
    let mut fresh = None;
    let steps = edges.len().saturating_sub(length).div_ceil(step);
    for number in 0..=steps {
        let written = (length + number * step).min(edges.len());
        let first = if number == 0 { 0 } else { length + (number - 1) * step };
        stream.add_edges(EDGE_TYPE, vec![case.batch(&edges[first..written], first)])?;
        let (spent, advanced) = time(|| window.advance());
        advanced?;
        if number > 0 {
            advances.push(spent);
        }
        // Spread over the steps, so that both sides meet the same hours of the machine.
        for _ in rebuilds.len()..number * repeats / steps.max(1) {
            let start = written - length;
            // What one took, the next may take.
            drop(fresh.take());
            let (spent, rebuilt) = rebuilt(case, &edges[start..written], start)?;
            rebuilds.push(spent);
            fresh = Some(rebuilt);
        }
    }
    let fresh = fresh.map_or_else(|| database(case.options(true)), Ok)?;
    let (advance, rebuild) = (median(advances), median(rebuilds));
    let (ours, theirs) = (window.latest()?, fresh.snapshot()?);
    let size = |view: &Snapshot| (view.num_vertices(), view.num_edges());
    let times = Pair { ours: advance, theirs: rebuild, ratio: advance / rebuild };
    let what = format!("{step} edges in and out of {length}");
    add(Row::times(&format!("{}, advance", case.name), times)
        .bar(Bar::Ratio(0.1))
        .agreement(size(&ours) == size(&theirs), what))?;
    let per_edge = |bytes: u64| bytes as f64 / ours.num_edges().max(1) as f64;
    let stats = fresh.stats();
    let plain = per_edge(stats.memory_bytes + stats.dictionary_bytes);
    add(Row::new("  memory", Unit::BytesPerEdge, per_edge(window.memory_bytes()), Some(plain))
        .bar(Bar::Ratio(1.35)))?;
    add(ranks(&ours, &theirs, repeats)?)
}

/// A graph of these edges, the first of this number, and the seconds that it takes to build. Copies are counted in that time,
/// where the graph has their number.
fn rebuilt(case: &Case, edges: &[(u32, u32)], first: usize) -> Result<(f64, Database), CommandError> {
    let fresh = database(case.options(true))?;
    let given = (case.duplicates != Duplicates::Count).then(|| case.batch(edges, first));
    let (spent, added) = time(|| {
        let content = given.unwrap_or_else(|| counted(edges));
        fresh.add_edges(EDGE_TYPE, vec![content])
    });
    added?;
    Ok((spent, fresh))
}

/// Each edge once, with the number of its copies.
fn counted(edges: &[(u32, u32)]) -> EdgeBatch {
    let mut sorted = edges.to_vec();
    sorted.par_sort_unstable();
    let (mut pairs, mut counts) = (Vec::new(), Column::new(PropertyType::Int64));
    for copies in sorted.chunk_by(|left, right| left == right) {
        pairs.push(copies[0]);
        counts.push_bits(copies.len() as u64);
    }
    EdgeBatch { columns: vec![(COUNT.to_owned(), counts)], ..batch(&pairs) }
}

/// PageRank on both, in turns.
fn ranks(ours: &Snapshot, theirs: &Snapshot, repeats: usize) -> Result<Row, CommandError> {
    let (options, control) = (PageRankOptions::default(), Control::new());
    let run = |view: &Snapshot, scores: &mut Vec<f64>| {
        let (seconds, result) = time(|| pagerank(view, &options, &control));
        *scores = result?.scores;
        Ok::<_, CommandError>(seconds)
    };
    let (mut found, mut wanted) = (Vec::new(), Vec::new());
    let times = in_turns(repeats, || run(ours, &mut found), || run(theirs, &mut wanted))?;
    let difference: f64 = found.iter().zip(&wanted).map(|(left, right)| (left - right).abs()).sum();
    let what = format!("scores differ by {difference:.1e}");
    Ok(Row::times("  pagerank", times).bar(Bar::Ratio(1.3)).agreement(difference < 1e-6, what))
}
