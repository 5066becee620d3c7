//! The second act: messages arrive as durable transactions from many threads, and PageRank runs meanwhile, each time on
//! a snapshot that does not change while the store does.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use evergraph::algorithms::{Control, PageRankOptions, pagerank};
use evergraph::load::{LoadOptions, NoProgress, PropertySpec, read_edges};
use evergraph::{
    ColumnValues, Database, Direction, EdgeBatch, EdgeTypeOptions, GraphView, Key, Options, PropertyType,
    Snapshot, Value, VertexId,
};
use serde::Serialize;

use super::data::{COLLEGE_MSG, Fact};
use super::story::Story;
use crate::bench::time;
use crate::error::CommandError;
use crate::table::{Layout, Side};
use crate::units;

const EDGE_TYPE: &str = "message";
const TIME: &str = "time";
/// Many more than cores: they wait for the disk together, and one sync serves all that wait.
const WRITERS: usize = 16;
const LINES: usize = 8;

/// What came out.
#[derive(Serialize)]
pub(super) struct Report {
    writers: usize,
    seconds: f64,
    commits_per_second: f64,
    snapshots_analyzed: u64,
    messages: Fact,
    students: Fact,
    pairs: Fact,
    /// Whether the first snapshot still gave the same answers at the end.
    snapshot_unchanged: bool,
}

impl Report {
    /// Whether all statistics are as published, and snapshots kept still.
    pub(super) fn is_as_published(&self) -> bool {
        [self.messages, self.students, self.pairs].iter().all(Fact::holds) && self.snapshot_unchanged
    }
}

/// A message: from, to, and when, in microseconds since 1970.
type Message = (i64, i64, i64);

/// Plays it.
pub(super) fn play(story: &mut Story, directory: &Path) -> Result<Report, CommandError> {
    story.heading("2  Change it while it is analyzed")?;
    let messages = messages(&COLLEGE_MSG.unpack(directory)?)?;
    let options = EdgeTypeOptions { multi: true, time: Some(TIME.to_owned()), ..EdgeTypeOptions::default() };
    let database = Database::open(directory.join("messages.eg"), Options::default())?;
    database.create_edge_type(EDGE_TYPE, options)?;
    story.say(format_args!(
        "CollegeMsg: {} messages between students, each a transaction of its own that is on disk\n\
         before it is acknowledged. {WRITERS} threads send them; meanwhile PageRank runs on one snapshot\n\
         after the other.",
        units::count(messages.len() as u64),
    ))?;
    story.pause()?;
    let replay = Replay {
        database: &database,
        messages: &messages,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
    };
    let (seconds, watched) = time(|| replay.run(story));
    let Watched { first, analyzed } = watched?;
    let last = database.snapshot()?;
    let report = Report {
        writers: WRITERS,
        seconds,
        commits_per_second: messages.len() as f64 / seconds,
        snapshots_analyzed: analyzed,
        messages: Fact { found: last.num_edges(), published: 59_835 },
        students: Fact { found: last.num_vertices(), published: 1_899 },
        pairs: Fact { found: pairs(&last), published: 20_296 },
        snapshot_unchanged: first.is_unchanged()?,
    };
    story.pause()?;
    story.say(format_args!(
        "{} messages of {} students over {} pairs (published: {}, {} and {}), {}",
        units::count(report.messages.found),
        units::count(report.students.found),
        units::count(report.pairs.found),
        units::count(report.messages.published),
        units::count(report.students.published),
        units::count(report.pairs.published),
        if report.is_as_published() { "all the same" } else { "NOT the same" },
    ))?;
    story.say(format_args!(
        "{}, all durable; the snapshot of line one {} its {} edges and gives the same ranks",
        units::rate(report.commits_per_second, "commits"),
        if report.snapshot_unchanged { "still has" } else { "LOST" },
        units::count(first.edges),
    ))?;
    database.close()?;
    Ok(report)
}

/// Reads the messages, in the order they were sent.
fn messages(file: &Path) -> Result<Vec<Message>, CommandError> {
    let time = PropertySpec { column: 2.into(), name: TIME.to_owned(), kind: Some(PropertyType::Int64) };
    let options = LoadOptions { properties: Some(vec![time]), ..LoadOptions::default() };
    let parsed = read_edges(file, &options, &NoProgress)?;
    Ok(parsed.parts.iter().flat_map(rows).collect())
}

fn rows(batch: &EdgeBatch) -> Vec<Message> {
    const MICROS_PER_SECOND: i64 = 1_000_000;
    let times = match batch.columns.first().map(|(_, column)| &column.values) {
        Some(ColumnValues::Int64(times)) => times.as_slice(),
        _ => &[],
    };
    let keys = (batch.src.as_numbers().unwrap_or_default(), batch.dst.as_numbers().unwrap_or_default());
    let ends = keys.0.iter().zip(keys.1);
    ends.zip(times).map(|((&src, &dst), &seconds)| (src, dst, seconds * MICROS_PER_SECOND)).collect()
}

/// Messages on their way into a store.
struct Replay<'a> {
    database: &'a Database,
    messages: &'a [Message],
    /// The next message to be sent.
    next: AtomicUsize,
    /// Messages acknowledged.
    done: AtomicUsize,
    failed: AtomicBool,
}

/// What was seen from beside.
struct Watched {
    first: Remembered,
    analyzed: u64,
}

/// A snapshot and the answers it gave when it was new.
struct Remembered {
    snapshot: Snapshot,
    edges: u64,
    scores: Vec<f64>,
}

impl Replay<'_> {
    fn run(&self, story: &mut Story) -> Result<Watched, CommandError> {
        thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(|| self.write())).collect();
            let watched = self.watch(story);
            if watched.is_err() {
                self.failed.store(true, Relaxed);
            }
            for written in writers.into_iter().flat_map(|writer| writer.join()) {
                written?;
            }
            watched
        })
    }

    /// Sends messages until there are no more.
    fn write(&self) -> Result<(), CommandError> {
        while let Some(&(src, dst, time)) = self.messages.get(self.next.fetch_add(1, Relaxed)) {
            let sent = self.database.put_edge(src, dst, EDGE_TYPE, &[(TIME, Value::Timestamp(time))]);
            if sent.is_err() || self.failed.load(Relaxed) {
                self.failed.store(true, Relaxed);
                return Ok(sent.map(drop)?);
            }
            self.done.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    /// Analyzes one snapshot after the other until all messages are sent, and shows some of them.
    fn watch(&self, story: &mut Story) -> Result<Watched, CommandError> {
        let layout = layout();
        story.say(layout.head())?;
        let (mut first, mut analyzed) = (None, 0);
        let (mut shown, mut since, mut before) = (0, Instant::now(), 0);
        loop {
            let is_last = self.done.load(Relaxed) == self.messages.len() || self.failed.load(Relaxed);
            let snapshot = self.database.snapshot()?;
            let (seconds, ranks) = time(|| pagerank(&snapshot, &PageRankOptions::default(), &Control::new()));
            let scores = ranks?.scores;
            analyzed += 1;
            let edges = snapshot.num_edges();
            if !is_last && edges as usize * LINES < self.messages.len() * (shown + 1) {
                // Leave the cores to the writers for a while.
                thread::sleep(Duration::from_millis(5));
                continue;
            }
            let rate = (edges - before) as f64 / since.elapsed().as_secs_f64();
            (shown, since, before) = (edges as usize * LINES / self.messages.len(), Instant::now(), edges);
            story.say(layout.row(&line(&snapshot, rate, seconds, &scores)))?;
            let seen = Remembered { snapshot, edges, scores };
            if is_last {
                return Ok(Watched { first: first.unwrap_or(seen), analyzed });
            }
            first.get_or_insert(seen);
        }
    }
}

fn layout() -> Layout {
    Layout::new([
        ("version", Side::Right, 8),
        ("messages", Side::Right, 8),
        ("students", Side::Right, 8),
        ("speed", Side::Right, 16),
        ("PageRank in", Side::Right, 11),
        ("most central student", Side::Left, 0),
    ])
}

fn line(snapshot: &Snapshot, rate: f64, seconds: f64, scores: &[f64]) -> Vec<String> {
    let top = scores.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1));
    let top = top.map_or(String::new(), |(id, score)| match snapshot.key(id as VertexId) {
        Key::Int(key) => format!("{key} (score {score:.4})"),
        Key::Text(key) => key,
    });
    vec![
        units::count(snapshot.version()),
        units::count(snapshot.num_edges()),
        units::count(snapshot.num_vertices()),
        units::rate(rate, "commits"),
        units::seconds(seconds),
        top,
    ]
}

impl Remembered {
    /// Whether the snapshot gives the answers it gave.
    fn is_unchanged(&self) -> Result<bool, CommandError> {
        let scores = pagerank(&self.snapshot, &PageRankOptions::default(), &Control::new())?.scores;
        Ok(self.snapshot.num_edges() == self.edges && scores == self.scores)
    }
}

/// How many pairs of vertices have an edge from the first to the second.
fn pairs(snapshot: &Snapshot) -> u64 {
    let distinct = |vertex| {
        let flat = snapshot.flat();
        flat.neighbors(Direction::Out, vertex).iter().collect::<HashSet<_>>().len() as u64
    };
    (0..snapshot.id_bound()).map(distinct).sum()
}
