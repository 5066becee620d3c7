//! The second act: messages arrive as durable transactions from many threads, and PageRank runs meanwhile, each time on
//! a snapshot that does not change while the store does.

use std::collections::HashSet;
use std::path::Path;

use evergraph::load::{LoadOptions, NoProgress, PropertySpec, read_edges};
use evergraph::{
    Database, Direction, EdgeBatch, EdgeTypeOptions, GraphView, Options, PropertyType, Snapshot, Value,
};
use serde::Serialize;

use super::data::{COLLEGE_MSG, Fact, fact_table};
use super::replay::{Replay, WRITERS, Watched};
use super::story::Story;
use crate::bench::time;
use crate::error::CommandError;
use crate::units;

pub(super) const EDGE_TYPE: &str = "message";
pub(super) const TIME: &str = "time";

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
pub(super) type Message = (i64, i64, i64);

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
    let replay = Replay::new(&database, &messages);
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
    story.say(fact_table(&[
        ("messages", report.messages, ""),
        ("students", report.students, ""),
        ("pairs", report.pairs, ""),
    ]))?;
    story.pause()?;
    story.say(format_args!(
        "{}, all durable. The snapshot of the first line {} the answers it gave.",
        units::rate(report.commits_per_second, "commits"),
        if report.snapshot_unchanged { "still gives" } else { "NO LONGER gives" },
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
    let column = batch.columns.first().map(|(_, column)| column);
    let times = (0..batch.len()).map(|row| match column.map(|column| column.get(row)) {
        Some(Value::Int(seconds)) => seconds,
        _ => 0,
    });
    let keys = (batch.src.as_numbers().unwrap_or_default(), batch.dst.as_numbers().unwrap_or_default());
    let ends = keys.0.iter().zip(keys.1);
    ends.zip(times).map(|((&src, &dst), seconds)| (src, dst, seconds * MICROS_PER_SECOND)).collect()
}

/// How many pairs of vertices have an edge from the first to the second.
fn pairs(snapshot: &Snapshot) -> u64 {
    let distinct = |vertex| {
        let flat = snapshot.flat();
        flat.neighbors(Direction::Out, vertex).iter().collect::<HashSet<_>>().len() as u64
    };
    (0..snapshot.id_bound()).map(distinct).sum()
}
