//! Messages on their way into a store from many threads, and what is seen of it from beside: PageRank on one snapshot
//! after the other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use evergraph::algorithms::{Control, PageRankOptions, pagerank};
use evergraph::{Database, GraphView, Key, Snapshot, Value, VertexId};

use super::messages::{EDGE_TYPE, Message, TIME};
use super::story::Story;
use crate::bench::time;
use crate::error::CommandError;
use crate::table::{Layout, Side};
use crate::units;

/// Many more than cores: they wait for the disk together, and one sync serves all that wait.
pub(super) const WRITERS: usize = 16;
const LINES: usize = 8;

/// Messages on their way into a store.
pub(super) struct Replay<'a> {
    database: &'a Database,
    messages: &'a [Message],
    /// The next message to be sent.
    next: AtomicUsize,
    failed: AtomicBool,
}

/// What was seen from beside.
pub(super) struct Watched {
    /// The first snapshot that was shown.
    pub(super) first: Remembered,
    /// How many snapshots were analyzed.
    pub(super) analyzed: u64,
}

/// A snapshot and the answers it gave when it was new.
pub(super) struct Remembered {
    snapshot: Snapshot,
    edges: u64,
    scores: Vec<f64>,
}

impl<'a> Replay<'a> {
    /// Of these messages, into an open store.
    pub(super) fn new(database: &'a Database, messages: &'a [Message]) -> Self {
        Replay { database, messages, next: AtomicUsize::new(0), failed: AtomicBool::new(false) }
    }

    /// Sends all messages, and shows how it goes.
    pub(super) fn run(&self, story: &mut Story) -> Result<Watched, CommandError> {
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
            let failed = self.failed.load(Relaxed);
            let snapshot = self.database.snapshot()?;
            let (seconds, ranks) = time(|| pagerank(&snapshot, &PageRankOptions::default(), &Control::new()));
            let scores = ranks?.scores;
            analyzed += 1;
            let edges = snapshot.num_edges();
            let is_last = failed || edges == self.messages.len() as u64;
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
    pub(super) fn is_unchanged(&self) -> Result<bool, CommandError> {
        let scores = pagerank(&self.snapshot, &PageRankOptions::default(), &Control::new())?.scores;
        Ok(self.snapshot.num_edges() == self.edges && scores == self.scores)
    }
}
