//! Snapshots: how long taking one takes, and whether it stays what it was while others commit.

use std::hint::black_box;
use std::ops::ControlFlow;

use evergraph::{Direction, GraphView, Snapshot, VertexId};
use rayon::prelude::*;

use super::load::EDGE_TYPE;
use super::report::{Bar, Row, Unit};
use super::subjects::Subjects;
use super::timing::{median, time};
use crate::error::CommandError;

const SNAPSHOTS: usize = 100_000;
const COMMITS: usize = 1_000;
/// Vertices a task works on at a time.
const BLOCK: VertexId = 1 << 12;

/// Measures. Changes the store, so this comes after what wants it freshly loaded.
pub(super) fn measure(subjects: &Subjects, repeats: usize) -> Result<Vec<Row>, CommandError> {
    let database = &subjects.loaded.database;
    let mut creation = Vec::new();
    for _ in 0..repeats {
        let (seconds, taken) =
            time(|| (0..SNAPSHOTS).try_for_each(|_| database.snapshot().map(|it| drop(black_box(it)))));
        taken?;
        creation.push(seconds / SNAPSHOTS as f64);
    }
    let before = database.snapshot()?;
    let flat: Vec<f64> = (0..repeats)
        .map(|_| Ok(database.snapshot()?))
        .map(|fresh: Result<Snapshot, CommandError>| Ok(time(|| fresh.map(|fresh| fresh.flat())).0))
        .collect::<Result<_, CommandError>>()?;
    let digest_before = digest(&before);
    let commits = commit(subjects)?;
    let same = digest_before == digest(&before) && digest_before != digest(&database.snapshot()?);
    let what = if same { "same answers after" } else { "other answers after" };
    Ok(vec![
        Row::new("snapshot", Unit::Seconds, median(creation), None)
            .bar(Bar::Value(1e-6))
            .agreement(same, format!("{what} {COMMITS} commits")),
        Row::new("flat view, once a version", Unit::Seconds, median(flat), None),
        Row::new("commit of an edge, on disk", Unit::Seconds, median(commits), None),
    ])
}

/// Commits changes one by one, each acknowledged when it is on disk: three new edges, then one edge less.
fn commit(subjects: &Subjects) -> Result<Vec<f64>, CommandError> {
    let database = &subjects.loaded.database;
    let out = subjects.yardstick.out();
    let sources = subjects.sources(COMMITS);
    let mut seconds = Vec::with_capacity(COMMITS);
    for (index, &src) in (0..COMMITS).zip(sources.iter().cycle()) {
        let dst = (u64::from(src) * 7 + index as u64) % out.num_vertices() as u64;
        let (src, first) = (i64::from(src), out.neighbors(src).first().copied());
        let (elapsed, committed) = time(|| match first {
            Some(first) if index % 4 == 3 => database.delete_edge(src, i64::from(first), EDGE_TYPE).map(drop),
            _ => database.put_edge(src, dst as i64, EDGE_TYPE, &[]).map(drop),
        });
        committed?;
        seconds.push(elapsed);
    }
    Ok(seconds)
}

/// A number that any change of any list of either direction changes, read from the store list by list.
fn digest(snapshot: &Snapshot) -> (u64, u64, u64) {
    let list = |direction, vertex: VertexId| {
        let mut digest = u64::from(vertex) << 1 | u64::from(direction == Direction::Out);
        snapshot.for_each_slice(direction, vertex, &mut |slice| {
            for &neighbor in slice {
                digest = (digest ^ u64::from(neighbor)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
            }
            ControlFlow::Continue(())
        });
        digest
    };
    let bound = snapshot.id_bound();
    let vertex =
        |vertex| list(Direction::Out, vertex).wrapping_add(list(Direction::In, vertex).rotate_left(7));
    let lists = (0..bound.div_ceil(BLOCK)).into_par_iter().map(|block| {
        let vertices = block * BLOCK..((block + 1) * BLOCK).min(bound);
        vertices.map(vertex).fold(0, u64::wrapping_add)
    });
    (snapshot.num_vertices(), snapshot.num_edges(), lists.reduce(|| 0, u64::wrapping_add))
}
