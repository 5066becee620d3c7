//! Breadth-first search from several sources, direction-optimizing on both sides.

use evergraph::algorithms::{self, BfsOptions, Control};
use evergraph_yardstick as yardstick;

use super::report::{Bar, Row};
use super::subjects::Subjects;
use super::timing::{Pair, in_turns, time};
use crate::error::CommandError;
use crate::units;

const SOURCES: usize = 8;

/// Measures: the sum over the sources of the median of each.
pub(super) fn measure(subjects: &Subjects, repeats: usize) -> Result<Vec<Row>, CommandError> {
    let flat = evergraph::GraphView::flat(&subjects.snapshot);
    let mut sum = Pair { ours: 0.0, theirs: 0.0 };
    let (mut same, mut reached, mut traversed) = (true, 0, 0);
    for source in subjects.sources(SOURCES) {
        let Some(id) = subjects.id(source) else { continue };
        let (mut ours, mut theirs) = (0, Vec::new());
        let pair = in_turns::<CommandError>(
            repeats,
            || {
                let search = || algorithms::bfs(&*flat, &[id], &BfsOptions::default(), &Control::new());
                let (seconds, found) = time(search);
                ours = found?.reached;
                Ok(seconds)
            },
            || {
                let (seconds, parents) = time(|| yardstick::bfs(&subjects.yardstick, source));
                theirs = parents;
                Ok(seconds)
            },
        )?;
        let reached_there = (0..).zip(&theirs).filter(|&(_, &parent)| parent != yardstick::UNREACHED);
        same &= ours == reached_there.clone().count() as u64;
        reached += ours;
        traversed += reached_there.map(|(vertex, _)| subjects.yardstick.out().degree(vertex)).sum::<u64>();
        sum = Pair { ours: sum.ours + pair.ours, theirs: sum.theirs + pair.theirs };
    }
    let rate = |seconds: f64| units::significant(traversed as f64 / seconds / 1e6);
    let what = format!("{reached} reached; {} and {} MTEPS", rate(sum.ours), rate(sum.theirs));
    let name = format!("bfs, {SOURCES} sources");
    Ok(vec![Row::times(&name, sum).bar(Bar::Ratio(1.3)).agreement(same, what)])
}
