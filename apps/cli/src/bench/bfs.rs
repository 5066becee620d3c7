//! Breadth-first search from several sources, direction-optimizing on both sides.

use evergraph::algorithms::{self, BfsOptions, Control};
use evergraph_yardstick as yardstick;

use super::report::{Bar, Row};
use super::subjects::Subjects;
use super::timing::{in_turns, time};
use crate::error::CommandError;
use crate::units;

const SOURCES: usize = 8;
const TURNS_PER_REPEAT: usize = 3;

/// Measures. A turn searches from all sources.
pub(super) fn measure(subjects: &Subjects, repeats: usize) -> Result<Vec<Row>, CommandError> {
    let flat = evergraph::GraphView::flat(&subjects.snapshot);
    let sources = subjects.sources(SOURCES);
    let ids: Vec<_> = sources.iter().filter_map(|&source| subjects.id(source)).collect();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let pair = in_turns::<CommandError>(
        repeats * TURNS_PER_REPEAT,
        || {
            let search = |&id| algorithms::bfs(&*flat, &[id], &BfsOptions::default(), &Control::new());
            let (seconds, found) = time(|| ids.iter().map(search).collect::<Result<Vec<_>, _>>());
            ours = found?.iter().map(|found| found.reached).collect();
            Ok(seconds)
        },
        || {
            let search = |&source| yardstick::bfs(&subjects.yardstick, source);
            let (seconds, found) = time(|| sources.iter().map(search).collect::<Vec<_>>());
            theirs = found;
            Ok(seconds)
        },
    )?;
    let out = subjects.yardstick.out();
    let reached = theirs.iter().map(|parents| {
        let reached = (0..).zip(parents).filter(|&(_, &parent)| parent != yardstick::UNREACHED);
        reached.fold((0, 0), |(count, edges), (vertex, _)| (count + 1, edges + out.degree(vertex)))
    });
    let (reached, traversed): (Vec<u64>, Vec<u64>) = reached.unzip();
    let rate = |seconds: f64| units::significant(traversed.iter().sum::<u64>() as f64 / seconds / 1e6);
    let what = format!(
        "{} reached; {} and {} MTEPS",
        reached.iter().sum::<u64>(),
        rate(pair.ours),
        rate(pair.theirs)
    );
    let name = format!("bfs, {} sources", sources.len());
    Ok(vec![Row::times(&name, pair).bar(Bar::Ratio(1.3)).agreement(ours == reached, what)])
}
