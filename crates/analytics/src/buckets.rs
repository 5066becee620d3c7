//! Ordered buckets of vertices: what is worked on next, by priority (Dhulipala, Blelloch, Shun, "Julienne", SPAA 2017,
//! section 3).
//!
//! ```text
//!  tasks of a round              Buckets                          the next round
//!  LocalBuckets  ──┐     7: [v3 v9] [v1]          pop ──────►  7: [v3 v9 v1]
//!  LocalBuckets  ──┴──►  8: [v4]
//!                       20: [v2 v3]   v3 was moved: the copy in 7 is stale, or this one is
//! ```
//!
//! A vertex is moved by being put into another bucket; the copies left behind are for the caller to recognize, who knows
//! the bucket of every vertex. That makes a move one push.
//!
//! Invariant: no vertex is lost; the order of vertices in a bucket means nothing.

use std::collections::BTreeMap;

use evergraph_types::VertexId;

/// Buckets from the current one on that a task keeps apart; later ones share a list of pairs.
const NEAR: usize = 128;

/// Vertices by bucket.
#[derive(Debug, Default)]
pub struct Buckets {
    buckets: BTreeMap<u64, Vec<Vec<VertexId>>>,
}

impl Buckets {
    /// No vertex.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts vertices into a bucket.
    pub fn insert(&mut self, bucket: u64, vertices: Vec<VertexId>) {
        if !vertices.is_empty() {
            self.buckets.entry(bucket).or_default().push(vertices);
        }
    }

    /// Puts in what a task has collected.
    pub fn merge(&mut self, local: LocalBuckets) {
        for (index, vertices) in (0..).zip(local.near) {
            self.insert(local.first.saturating_add(index), vertices);
        }
        for (bucket, vertex) in local.far {
            match self.buckets.entry(bucket).or_default().last_mut() {
                Some(vertices) => vertices.push(vertex),
                None => self.insert(bucket, vec![vertex]),
            }
        }
    }

    /// Takes the smallest bucket that has vertices, stale ones included.
    pub fn pop(&mut self) -> Option<(u64, Vec<VertexId>)> {
        let (bucket, mut pieces) = self.buckets.pop_first()?;
        Some((bucket, if pieces.len() == 1 { pieces.swap_remove(0) } else { pieces.concat() }))
    }
}

/// What one task puts into buckets during a round.
#[derive(Debug)]
pub struct LocalBuckets {
    first: u64,
    near: Vec<Vec<VertexId>>,
    far: Vec<(u64, VertexId)>,
}

impl LocalBuckets {
    /// For a round on bucket `first`: only this one and later ones are put into.
    pub fn new(first: u64) -> Self {
        LocalBuckets { first, near: Vec::new(), far: Vec::new() }
    }

    /// Takes what is in the bucket of the round itself, if it is some vertices and fewer than `most`, and all are `fit`.
    pub(crate) fn take_first(
        &mut self,
        most: usize,
        fit: impl Fn(&VertexId) -> bool,
    ) -> Option<Vec<VertexId>> {
        let first = self.near.first_mut()?;
        let takes = !first.is_empty() && first.len() < most && first.iter().all(fit);
        takes.then(|| std::mem::take(first))
    }

    /// Puts a vertex into a bucket.
    #[inline]
    pub fn push(&mut self, bucket: u64, vertex: VertexId) {
        debug_assert!(bucket >= self.first, "bucket {bucket} is over");
        let index = bucket.saturating_sub(self.first);
        if index >= NEAR as u64 {
            return self.far.push((bucket, vertex));
        }
        let index = index as usize;
        if index >= self.near.len() {
            self.near.resize_with(index + 1, Vec::new);
        }
        self.near[index].push(vertex);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_come_in_order_with_all_that_was_put_in() {
        let mut buckets = Buckets::new();
        buckets.insert(9, vec![1, 2]);
        buckets.insert(5, Vec::new());
        for task in 0..3 {
            let mut local = LocalBuckets::new(9);
            for offset in [0, 1, NEAR as u64 - 1, NEAR as u64] {
                local.push(9 + offset, 10 + task);
            }
            buckets.merge(local);
            let mut last = LocalBuckets::new(u64::MAX);
            last.push(u64::MAX, 10 + task);
            buckets.merge(last);
        }
        let mut taken = Vec::new();
        while let Some((bucket, mut vertices)) = buckets.pop() {
            vertices.sort_unstable();
            taken.push((bucket, vertices));
        }
        let all = vec![10, 11, 12];
        let near = NEAR as u64;
        let expected = [
            (9, vec![1, 2, 10, 11, 12]),
            (10, all.clone()),
            (8 + near, all.clone()),
            (9 + near, all.clone()),
        ];
        assert_eq!(taken, [&expected[..], &[(u64::MAX, all)]].concat());
    }
}
