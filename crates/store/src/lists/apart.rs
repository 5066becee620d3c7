//! What of a list in two versions lies in different places: what lies in the same is the same, and needs no look.
//!
//! ```text
//!  one version:   [ whole list in its cluster                ]
//!  another one:   [ part ][ part ][part again][ part ][ part ][come since]
//!                                └ apart: this, what it replaced, and what came since
//! ```
//!
//! Invariant: of both lists the same is left out, so that their difference is that of what is left.

use std::ops::Range;

use crate::lists::adjacency::ChunkRef;

/// What the runs of two lists do not share with each other.
pub(crate) fn apart(mut own: &[ChunkRef], mut others: &[ChunkRef]) -> (Vec<ChunkRef>, Vec<ChunkRef>) {
    // Most of those that both have, they begin and end with.
    let is_shared = |(own, other): &(&ChunkRef, &ChunkRef)| place(own) == place(other);
    let front = own.iter().zip(others).take_while(is_shared).count();
    (own, others) = (&own[front..], &others[front..]);
    let back = own.iter().rev().zip(others.iter().rev()).take_while(is_shared).count();
    (own, others) = (&own[..own.len() - back], &others[..others.len() - back]);
    (without(own, others), without(others, own))
}

/// Where the neighbors of a run lie, were they not compressed.
fn place(run: &ChunkRef) -> (u64, u64) {
    let start = run.pointer() as u64;
    (start, start + 4 * u64::from(run.len))
}

/// The parts of runs that lie where none of the others does.
fn without(runs: &[ChunkRef], others: &[ChunkRef]) -> Vec<ChunkRef> {
    let places = |parts: bool| {
        let places = others.iter().filter(|run| run.has_parts() == parts).map(place);
        let mut places: Vec<(u64, u64)> = places.collect();
        places.sort_unstable();
        places
    };
    let (in_parts, whole) = (places(true), places(false));
    let mut left = Vec::new();
    for run in runs {
        let (start, end) = place(run);
        if !run.has_parts() {
            left.extend(whole.binary_search(&(start, end)).is_err().then_some(*run));
            continue;
        }
        let mut push = |part: Range<u64>| {
            let [from, len] =
                [part.start - start, part.end.saturating_sub(part.start)].map(|bytes| bytes / 4);
            left.extend((len > 0).then(|| run.part(from as usize, len as usize, run.first)));
        };
        let mut done = start;
        let first = in_parts.partition_point(|shared| shared.1 <= start);
        for shared in in_parts[first..].iter().take_while(|shared| shared.0 < end) {
            push(done..shared.0);
            done = shared.1;
        }
        push(done..end);
    }
    left
}

#[cfg(test)]
mod tests {
    use evergraph_types::VertexId;

    use super::*;

    #[test]
    fn of_runs_what_lies_elsewhere_is_left() {
        let memory: Vec<VertexId> = (0..100).collect();
        let run = |places: Range<usize>| {
            ChunkRef::mapped(memory[places.start..].as_ptr() as u64, false, places.len() as u32, 0)
        };
        let places = |runs: Vec<ChunkRef>| -> Vec<(usize, usize)> {
            let start = |run: &ChunkRef| (run.pointer() as usize - memory.as_ptr() as usize) / 4;
            runs.iter().map(|run| (start(run), start(run) + run.len as usize)).collect()
        };
        let parts = [run(0..10), run(90..95), run(20..30), run(30..50)];
        assert_eq!(places(without(&[run(0..50)], &parts)), [(10, 20)]);
        assert_eq!(places(without(&parts, &[run(0..50)])), [(90, 95)]);
        assert_eq!(places(without(&[run(5..25)], &parts)), [(10, 20)]);
        // A list that has grown in place, and one that has forgotten its front.
        assert_eq!(places(without(&[run(0..12)], &[run(0..10)])), [(10, 12)]);
        assert_eq!(places(without(&[run(0..12)], &[run(5..12)])), [(0, 5)]);
        assert_eq!(places(without(&[run(0..12)], &[])), [(0, 12)]);
        let with_columns = |len| ChunkRef::mapped(memory.as_ptr() as u64, true, len, 0);
        assert_eq!(without(&[with_columns(4)], &[with_columns(4)]), []);
        assert_eq!(without(&[with_columns(5)], &[with_columns(4)]).len(), 1);
    }
}
