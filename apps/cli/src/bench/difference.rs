//! The difference of two versions that are a thousand commits apart, in a graph that they change very little of.
//!
//! ```text
//!  compact ─► version a ─► put, delete, … ─► version b ─► compact ─► version c        a.diff(b), a.diff(c)
//! ```
//!
//! Each is set against 5 ms + a scan / 100 x the share changed. The store has nothing left to bring together by itself when it begins;
//! in the second, all lists have moved in between.
//!
//! Invariant: no edge is written twice, so that each commit is in the difference.

use std::collections::HashSet;

use evergraph::{Database, GraphView, Snapshot};

use super::command::AddRow;
use super::load::EDGE_TYPE;
use super::report::{Bar, Row};
use super::scan::scan;
use super::timing::{Pair, median, time};
use crate::error::CommandError;

/// Commits from one version to the other.
const COMMITS: usize = 1000;
/// Each of two times is the median of so many: what is measured takes milliseconds, and a machine may stand still for longer.
const REPEATS: usize = 21;
/// What a difference may take: so many seconds, and this part of the time of a scan by the share of edges that changed.
const SECONDS: f64 = 5e-3;
const PART_OF_A_SCAN: f64 = 0.01;

/// Changes a graph, which has the first half of these edges and maybe others, and measures.
pub(super) fn measure(
    database: &Database,
    edges: &[(u32, u32)],
    add: &mut AddRow,
) -> Result<(), CommandError> {
    database.compact()?;
    let before = database.snapshot()?;
    let (added, removed) = change(database, edges)?;
    let after = database.snapshot()?;
    let flat = after.flat();
    let scans = (0..REPEATS).map(|_| time(|| scan(&flat, u64::from)).0).collect();
    let share = (added + removed) as f64 / after.num_edges().max(1) as f64;
    let allowed = SECONDS + PART_OF_A_SCAN * median(scans) * share;
    let row = |name: &str, after: &Snapshot| {
        let mut agrees = true;
        let mut differences = Vec::new();
        for _ in 0..REPEATS {
            let (seconds, difference) = time(|| before.diff(after));
            let difference = difference?;
            // All copies of an edge are deleted at once.
            agrees &= difference.added.num_rows() == added && difference.removed.num_rows() >= removed;
            differences.push(seconds);
        }
        let ours = median(differences);
        let pair = Pair { ours, theirs: allowed, ratio: ours / allowed };
        let what = format!("{added} edges added, {removed} removed, each by a commit");
        Ok::<_, CommandError>(Row::times(name, pair).agreement(agrees, what))
    };
    add(row("difference: what it may take", &after)?.bar(Bar::Ratio(1.0)))?;
    database.compact()?;
    add(row("  compacted: what it may take", &database.snapshot()?)?)
}

/// Deletes edges from all over the graph, and in turn puts others from the same sources. Tells how many it put and deleted.
fn change(database: &Database, edges: &[(u32, u32)]) -> Result<(usize, usize), CommandError> {
    let before = database.snapshot()?;
    let (present, others) = edges.split_at(edges.len() / 2);
    let (mut written, mut added, mut removed) = (HashSet::new(), 0, 0);
    let step = (present.len() / (4 * COMMITS)).max(1);
    for (&(src, dst), &(_, other)) in present.iter().zip(others).step_by(step) {
        if written.len() == COMMITS {
            break;
        }
        let puts = added <= removed;
        let dst = if puts { other } else { dst };
        let (from, to) = (i64::from(src), i64::from(dst));
        let is_there = before.has_edge(from, to, Some(EDGE_TYPE));
        if puts == is_there || !written.insert((src.min(dst), src.max(dst))) {
            continue;
        }
        if puts {
            database.put_edge(from, to, EDGE_TYPE, &[])?;
            added += 1;
        } else {
            database.delete_edge(from, to, EDGE_TYPE)?;
            removed += 1;
        }
    }
    Ok((added, removed))
}
