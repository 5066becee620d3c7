//! A graph that grows while PageRank loops on snapshots of it, each the newest: what the two cost each other beyond the
//! cores, caches and memory that they share.
//!
//! ```text
//! batches ─► store A ◄─ PageRank          beside      batches ─► store A      store B ◄─ PageRank
//! ```
//!
//! Store B took its edges in the same batches, and is left as they left it. So it costs the same to read, and whoever adds to
//! A loses to whoever reads B what it would lose to anybody. What is lost beyond that is the store's doing.
//!
//! A snapshot that is read holds what has been replaced since, so that store A comes to take more memory, once, and the system may take long
//! to give it. So the first of the batches are not counted.

use std::sync::atomic::{AtomicU8, Ordering};

use evergraph::algorithms::{self, Control, PageRankOptions};
use evergraph::{Database, GraphView, KeyKind, Options};

use super::ingest::{BATCH, MEDIUM_BATCH, ingest};
use super::load::declare;
use super::report::{Bar, Row, Unit};
use super::shuffled::ShuffledEdges;
use super::timing::{median, time};
use crate::error::CommandError;

const KEYS: KeyKind = KeyKind::Dense;
/// Either way is measured so often, in turns.
const TURNS: usize = 3;
/// Iterations on each snapshot.
const ITERATIONS: u32 = 5;
/// The last one of so many edges comes beside PageRank …
const ADDED_OF: usize = 4;
/// … and the first one of so many of these before anything is counted.
const UNCOUNTED_OF: usize = 3;

/// How far a turn is.
const UNCOUNTED: u8 = 0;
const COUNTED: u8 = 1;
const OVER: u8 = 2;

/// What one turn gives.
struct Turn {
    edges_per_second: f64,
    /// Of an iteration of PageRank, by a million undirected edges of its snapshot, the snapshot included.
    iteration_seconds: f64,
}

/// Measures.
pub(super) fn measure(edges: &ShuffledEdges) -> Result<Vec<Row>, CommandError> {
    let added = edges.len() / ADDED_OF;
    let before = edges.len() - added;
    // As large as the growing one is in the middle.
    let other = new_store(false)?;
    ingest(&other, edges, 0..before, BATCH, KEYS)?;
    ingest(&other, edges, before..before + added / 2, MEDIUM_BATCH, KEYS)?;
    let mut turns: [Vec<Turn>; 2] = Default::default();
    for turn in 0..2 * TURNS {
        let is_other = (turn + turn / 2) % 2 == 0;
        let growing = new_store(true)?;
        ingest(&growing, edges, 0..before, BATCH, KEYS)?;
        let read = if is_other { &other } else { &growing };
        turns[usize::from(is_other)].push(one_turn(&growing, read, edges, before..edges.len())?);
    }
    let medians = |of: fn(&Turn) -> f64| turns.each_ref().map(|turns| median(turns.iter().map(of).collect()));
    let [rate, other_rate] = medians(|turn| turn.edges_per_second);
    let [seconds, other_seconds] = medians(|turn| turn.iteration_seconds);
    Ok(vec![
        Row::new("batches beside PageRank", Unit::EdgesPerSecond, rate, Some(other_rate))
            .bar(Bar::RatioAtLeast(0.9)),
        Row::new("PageRank beside batches", Unit::Seconds, seconds, Some(other_seconds)).bar(Bar::Ratio(1.1)),
    ])
}

fn new_store(background: bool) -> Result<Database, CommandError> {
    let database = Database::in_memory(Options { keys: Some(KEYS), background, ..Options::default() });
    declare(&database, true, false)?;
    Ok(database)
}

/// Adds edges to a store while PageRank loops on the newest snapshots of one.
fn one_turn(
    growing: &Database,
    read: &Database,
    edges: &ShuffledEdges,
    range: std::ops::Range<usize>,
) -> Result<Turn, CommandError> {
    let begun = AtomicU8::new(UNCOUNTED);
    let middle = range.start + range.len() / UNCOUNTED_OF;
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| loop_pagerank(read, &begun));
        let first = ingest(growing, edges, range.start..middle, MEDIUM_BATCH, KEYS);
        begun.store(COUNTED, Ordering::Relaxed);
        let seconds = first.and_then(|_| ingest(growing, edges, middle..range.end, MEDIUM_BATCH, KEYS));
        begun.store(OVER, Ordering::Relaxed);
        let iteration_seconds = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Turn { edges_per_second: (range.end - middle) as f64 / seconds?, iteration_seconds })
    })
}

/// Seconds of an iteration by a million edges, of as many as there is time for while it counts.
fn loop_pagerank(database: &Database, begun: &AtomicU8) -> Result<f64, CommandError> {
    let options = PageRankOptions { max_iter: ITERATIONS, tol: 0.0, ..PageRankOptions::default() };
    let (mut seconds, mut millions) = (0.0, 0.0);
    loop {
        let counts = begun.load(Ordering::Relaxed) != UNCOUNTED;
        let (elapsed, read) = time(|| {
            let snapshot = database.snapshot()?;
            algorithms::pagerank(&snapshot, &options, &Control::new())?;
            Ok::<_, CommandError>(snapshot.num_edges())
        });
        let read = read?;
        if counts {
            seconds += elapsed;
            millions += f64::from(ITERATIONS) * read as f64 / 1e6;
        }
        if counts && begun.load(Ordering::Relaxed) == OVER {
            return Ok(seconds / millions);
        }
    }
}
