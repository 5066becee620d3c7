//! Snapshots: how long taking one takes, whether it stays what it was while others commit, and how long it takes to tell what
//! these commits changed.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::ops::ControlFlow;

use evergraph::{Direction, EdgeDiff, GraphView, Snapshot, VertexId};
use evergraph_yardstick::sum_of_neighbors;
use rayon::prelude::*;

use super::load::EDGE_TYPE;
use super::report::{Bar, Row, Unit};
use super::subjects::Subjects;
use super::timing::{in_turns, median, time};
use crate::error::CommandError;

const SNAPSHOTS: usize = 100_000;
const COMMITS: usize = 1_000;
/// A difference may take so long, and besides
const DIFFERENCE_SECONDS: f64 = 0.005;
/// so much of a scan, by the share of the edges that changed.
const DIFFERENCE_OF_SCAN: f64 = 0.01;
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
    let mut rows = vec![
        Row::new("snapshot", Unit::Seconds, median(creation), None)
            .bar(Bar::Value(1e-6))
            .agreement(same, format!("{what} {COMMITS} commits")),
        Row::new("flat view, once a version", Unit::Seconds, median(flat), None),
        Row::new("commit of an edge, on disk", Unit::Seconds, median(commits), None),
        difference(subjects, &before, "difference of snapshots", repeats)?,
    ];
    database.checkpoint()?;
    rows.push(difference(subjects, &before, "difference, archived since", repeats)?);
    Ok(rows)
}

/// What the commits changed, against a scan of all edges.
fn difference(
    subjects: &Subjects,
    before: &Snapshot,
    name: &str,
    repeats: usize,
) -> Result<Row, CommandError> {
    let after = subjects.loaded.database.snapshot()?;
    let edges: BTreeSet<(i64, i64)> = changes(subjects).map(|(src, dst, _)| (src, dst)).collect();
    let has = |snapshot: &Snapshot, (src, dst): (i64, i64)| snapshot.has_edge(src, dst, None);
    let expected = [(before, &after), (&after, before)]
        .map(|(without, with)| edges.iter().filter(|&&edge| !has(without, edge) && has(with, edge)).count());
    let mut found = [0; 2];
    let pair = in_turns::<CommandError>(
        repeats,
        || {
            let (seconds, diff) = time(|| before.whole().diff(after.whole()));
            found = [|edges: &EdgeDiff| edges.added.len(), |edges: &EdgeDiff| edges.removed.len()]
                .map(|count| diff.edges.iter().map(count).sum());
            Ok(seconds)
        },
        || Ok(time(|| sum_of_neighbors(subjects.yardstick.out())).0),
    )?;
    let share = expected.iter().sum::<usize>() as f64 / after.num_edges() as f64;
    let most = DIFFERENCE_SECONDS + DIFFERENCE_OF_SCAN * pair.theirs * share;
    let same = found == expected;
    let what = format!("{} added, {} removed, against a scan of all edges", found[0], found[1]);
    Ok(Row::times(name, pair).bar(Bar::Value(most)).agreement(same, what))
}

/// Changes that follow each other: three new edges, then one edge less.
fn changes(subjects: &Subjects) -> impl Iterator<Item = (i64, i64, bool)> + '_ {
    let out = subjects.yardstick.out();
    let sources = subjects.sources(COMMITS).into_iter().cycle();
    (0..COMMITS).zip(sources).map(move |(index, src)| {
        let dst = (u64::from(src) * 7 + index as u64) % out.num_vertices() as u64;
        let first = out.neighbors(src).first().filter(|_| index % 4 == 3);
        (src.into(), first.map_or(dst as i64, |&first| first.into()), first.is_some())
    })
}

/// Commits the changes one by one, each acknowledged when it is on disk.
fn commit(subjects: &Subjects) -> Result<Vec<f64>, CommandError> {
    let database = &subjects.loaded.database;
    let mut seconds = Vec::with_capacity(COMMITS);
    for (src, dst, is_delete) in changes(subjects) {
        let (elapsed, committed) = time(|| {
            if is_delete {
                database.delete_edge(src, dst, EDGE_TYPE).map(drop)
            } else {
                database.put_edge(src, dst, EDGE_TYPE, &[]).map(drop)
            }
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
