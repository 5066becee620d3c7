//! Random access: is there an edge from here to there, and what are the neighbors of this vertex.

use std::ops::ControlFlow;

use evergraph::{Direction, GraphView};
use evergraph_yardstick::count_edges_present;
use rayon::prelude::*;

use super::report::Row;
use super::subjects::Subjects;
use super::timing::{in_turns, time};
use crate::error::CommandError;

const LOOKUPS: usize = 1 << 20;
/// Lookups a task does at a time, as on the other side.
const BLOCK: usize = 1 << 12;

/// Measures.
pub(super) fn measure(subjects: &Subjects, repeats: usize) -> Result<Vec<Row>, CommandError> {
    let pairs = pairs(subjects);
    Ok(vec![edges(subjects, &pairs, repeats)?, neighbors(subjects, &pairs, repeats)?])
}

/// Pairs of which every other one is an edge; the rest join random vertices.
fn pairs(subjects: &Subjects) -> Vec<(u32, u32)> {
    let out = subjects.yardstick.out();
    let vertices = out.num_vertices() as u64;
    let mut random = Random(1);
    let pair = |index| {
        let (src, dst) = ((random.next() % vertices) as u32, (random.next() % vertices) as u32);
        match out.degree(src) {
            degree if index % 2 == 0 && degree > 0 => {
                (src, out.neighbors(src)[(u64::from(dst) % degree) as usize])
            }
            _ => (src, dst),
        }
    };
    (0..LOOKUPS).map(pair).collect()
}

fn edges(subjects: &Subjects, pairs: &[(u32, u32)], repeats: usize) -> Result<Row, CommandError> {
    let present =
        |&&(src, dst): &&(u32, u32)| subjects.snapshot.has_edge(i64::from(src), i64::from(dst), None);
    let (mut ours, mut theirs) = (0, 0);
    let pair = in_turns::<CommandError>(
        repeats,
        || {
            let (seconds, count) = time(|| pairs.par_iter().with_min_len(BLOCK).filter(present).count());
            ours = count;
            Ok(seconds / LOOKUPS as f64)
        },
        || {
            let (seconds, count) = time(|| count_edges_present(&subjects.yardstick, pairs));
            theirs = count;
            Ok(seconds / LOOKUPS as f64)
        },
    )?;
    let what = if ours == theirs { format!("{ours} of {LOOKUPS}") } else { format!("{ours} and {theirs}") };
    Ok(Row::times("edge look-up, by key", pair).agreement(ours == theirs, what))
}

fn neighbors(subjects: &Subjects, pairs: &[(u32, u32)], repeats: usize) -> Result<Row, CommandError> {
    // Whoever walks from vertex to vertex has ids in hand, as the yardstick has its numbers.
    let ids: Vec<_> = pairs.iter().map(|&(src, _)| subjects.id(src)).collect();
    // Counting what no neighbor is reads them all and gives the same whatever their numbers.
    let degree = |id: &Option<u32>| {
        let mut sum = 0;
        if let Some(id) = *id {
            subjects.snapshot.for_each_slice(Direction::Out, id, &mut |slice| {
                sum += slice.iter().map(|&neighbor| usize::from(neighbor != u32::MAX)).sum::<usize>();
                ControlFlow::Continue(())
            });
        }
        sum
    };
    let out = subjects.yardstick.out();
    let their_degree = |&(src, _): &(u32, u32)| {
        out.neighbors(src).iter().map(|&neighbor| usize::from(neighbor != u32::MAX)).sum::<usize>()
    };
    let (mut ours, mut theirs) = (0, 0);
    let pair = in_turns::<CommandError>(
        repeats,
        || {
            let (seconds, sum) = time(|| ids.par_iter().with_min_len(BLOCK).map(degree).sum());
            ours = sum;
            Ok(seconds / LOOKUPS as f64)
        },
        || {
            let (seconds, sum) = time(|| pairs.par_iter().with_min_len(BLOCK).map(their_degree).sum());
            theirs = sum;
            Ok(seconds / LOOKUPS as f64)
        },
    )?;
    let what = if ours == theirs { format!("{ours} read") } else { format!("{ours} and {theirs} read") };
    Ok(Row::times("neighbors of a vertex", pair).agreement(ours == theirs, what))
}

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
