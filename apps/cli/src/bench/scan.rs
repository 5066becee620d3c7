//! All edges read once, list by list, in parallel: the sum of all neighbors.

use evergraph::{Direction, FlatView, GraphView, Neighbors, VertexId};
use evergraph_yardstick::sum_of_neighbors;
use rayon::prelude::*;

use super::report::{Bar, Row};
use super::subjects::Subjects;
use super::timing::{in_turns, time};
use crate::error::CommandError;

/// Vertices a task works on at a time, as on the other side.
const BLOCK: VertexId = 1 << 12;
/// A scan is short: it takes many turns to see the middle.
const TURNS_PER_REPEAT: usize = 5;

/// Measures.
pub(super) fn measure(subjects: &Subjects, repeats: usize) -> Result<Vec<Row>, CommandError> {
    let flat = subjects.snapshot.flat();
    let mut theirs = 0;
    let pair = in_turns::<CommandError>(
        repeats * TURNS_PER_REPEAT,
        || Ok(time(|| scan(&flat, u64::from)).0),
        || {
            let (seconds, sum) = time(|| sum_of_neighbors(subjects.yardstick.out()));
            theirs = sum;
            Ok(seconds)
        },
    )?;
    // Ids need not be the numbers of the file, so the sums are compared in numbers.
    let ours = scan(&flat, |id| subjects.numbers.get(id as usize).copied().unwrap_or_default().into());
    let same = ours == theirs;
    let what = if same { format!("sum {ours}") } else { format!("sums {ours} and {theirs}") };
    Ok(vec![Row::times("edge scan", pair).bar(Bar::Ratio(1.3)).agreement(same, what)])
}

/// The sum of all neighbors in all lists, wrapping, each as `number` has it.
pub(super) fn scan(flat: &FlatView, number: impl Fn(VertexId) -> u64 + Sync) -> u64 {
    let table = flat.table(Direction::Out);
    let sum_list = |list: Neighbors<'_>| {
        let mut sum = 0u64;
        list.for_each_slice(|slice| sum += slice.iter().map(|&neighbor| number(neighbor)).sum::<u64>());
        sum
    };
    let bound = flat.id_bound();
    (0..bound.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let vertices = block * BLOCK..((block + 1) * BLOCK).min(bound);
            table.lists(vertices).map(sum_list).fold(0, u64::wrapping_add)
        })
        .reduce(|| 0, u64::wrapping_add)
}
