//! Connected components, whatever the direction of edges, by Afforest on both sides.

use evergraph::algorithms::{self, Control};
use evergraph_yardstick as yardstick;

use super::report::Row;
use super::subjects::Subjects;
use super::timing::{in_turns, time};
use crate::error::CommandError;

/// The kernel is short: it takes many turns to see the middle.
const TURNS_PER_REPEAT: usize = 3;

/// Measures.
pub(super) fn measure(subjects: &Subjects, repeats: usize) -> Result<Vec<Row>, CommandError> {
    let flat = evergraph::GraphView::flat(&subjects.snapshot);
    let (mut ours, mut theirs) = (0, Vec::new());
    let pair = in_turns::<CommandError>(
        repeats * TURNS_PER_REPEAT,
        || {
            let (seconds, found) = time(|| algorithms::connected_components(&*flat, &Control::new()));
            ours = found?.count;
            Ok(seconds)
        },
        || {
            let (seconds, labels) = time(|| yardstick::components(&subjects.yardstick));
            theirs = labels;
            Ok(seconds)
        },
    )?;
    // A label is a vertex of its component; vertices that are in no line of the file are components of their own there.
    let labels = (0..).zip(&theirs).filter(|&(vertex, &label)| vertex == label).count() as u64;
    let theirs = labels - subjects.num_isolated();
    let same = ours == theirs;
    let what = if same { format!("{ours} components") } else { format!("{ours} and {theirs} components") };
    Ok(vec![Row::times("connected components", pair).agreement(same, what)])
}
