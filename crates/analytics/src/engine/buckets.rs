//! Ordered buckets of vertices: what is worked on next, by priority (Dhulipala, Blelloch, Shun, "Julienne", SPAA 2017,
//! section 3). Each thread has buckets of its own, kept from round to round.
//!
//! ```text
//!             current     near: a ring of lists        far: a map
//!  thread 0   7: v3 v9    8: v4      20: -         │   900: v5          pop ──────►  7: [v3 v9 v1]
//!  thread 1   7: v1       8: -       20: v2 v3     │
//!                                           v3 was moved: the copy in 7 is stale, or this one is
//! ```
//!
//! A vertex is moved by being put into another bucket; the copies left behind are for the caller to recognize, who knows
//! the bucket of every vertex. That makes a move one push.
//!
//! Invariants: no vertex is lost; the order of vertices in a bucket means nothing; what is near the current bucket, and
//! only that, is in the ring, in the place of its number by the length of the ring.

use std::collections::BTreeMap;

use evergraph_types::VertexId;

use crate::engine::per_thread::PerThread;

/// Buckets from the current one on that have a list each at hand.
const NEAR: u64 = 256;

/// Vertices by bucket; an item is a vertex, or a vertex with what the caller wants to know it by.
#[derive(Debug)]
pub struct Buckets<T = VertexId> {
    threads: PerThread<OwnBuckets<T>>,
}

impl<T: Send> Default for Buckets<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send> Buckets<T> {
    /// No vertex; for the threads of the current pool.
    pub fn new() -> Self {
        Buckets { threads: PerThread::new(OwnBuckets::new) }
    }

    /// Calls `body`, which must not call into rayon, with the buckets of this thread.
    pub fn with<R>(&self, body: impl FnOnce(&mut OwnBuckets<T>) -> R) -> R {
        self.threads.with(body)
    }

    /// Goes on to the smallest bucket that has vertices, and moves them, stale ones included, to `frontier`.
    pub fn pop(&mut self, frontier: &mut Vec<T>) -> Option<u64> {
        frontier.clear();
        let next = self.threads.iter_mut().filter_map(|own| own.next()).min()?;
        for own in self.threads.iter_mut() {
            own.advance(next);
            frontier.append(own.current());
        }
        Some(next)
    }
}

/// What one thread has put into buckets.
#[derive(Debug)]
pub struct OwnBuckets<T = VertexId> {
    current: u64,
    near: Vec<Vec<T>>,
    far: BTreeMap<u64, Vec<T>>,
}

impl<T> OwnBuckets<T> {
    fn new() -> Self {
        OwnBuckets { current: 0, near: (0..NEAR).map(|_| Vec::new()).collect(), far: BTreeMap::new() }
    }

    /// Puts a vertex into a bucket: the current one or a later one.
    #[inline]
    pub fn push(&mut self, bucket: u64, vertex: T) {
        debug_assert!(bucket >= self.current, "bucket {bucket} is over");
        if self.is_near(bucket) {
            self.near[(bucket % NEAR) as usize].push(vertex);
        } else {
            self.push_far(bucket, vertex);
        }
    }

    #[cold]
    fn push_far(&mut self, bucket: u64, vertex: T) {
        self.far.entry(bucket).or_default().push(vertex);
    }

    /// Takes what this thread has put into the current bucket, if that is some vertices and fewer than `most`.
    pub(crate) fn take_few(&mut self, most: usize) -> Option<Vec<T>> {
        let current = self.current();
        (!current.is_empty() && current.len() < most).then(|| std::mem::take(current))
    }

    #[inline]
    fn is_near(&self, bucket: u64) -> bool {
        bucket.wrapping_sub(self.current) < NEAR
    }

    fn current(&mut self) -> &mut Vec<T> {
        &mut self.near[(self.current % NEAR) as usize]
    }

    /// The first bucket that has vertices.
    fn next(&self) -> Option<u64> {
        let mut near = (0..NEAR).map(|later| self.current.wrapping_add(later));
        let is_some = |bucket: &u64| !self.near[(bucket % NEAR) as usize].is_empty();
        near.find(is_some).or_else(|| self.far.keys().next().copied())
    }

    /// Makes `bucket` the current one; there is nothing before it.
    fn advance(&mut self, bucket: u64) {
        self.current = bucket;
        while let Some((&first, _)) = self.far.first_key_value()
            && self.is_near(first)
            && let Some((_, vertices)) = self.far.pop_first()
        {
            self.near[(first % NEAR) as usize].extend(vertices);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_come_in_order_with_all_that_was_put_in() {
        let mut buckets = Buckets::new();
        let mut all: Vec<(u64, VertexId)> =
            [9, 9, 10, 8 + NEAR, 9 + NEAR, 10 + NEAR, 7 * NEAR, u64::MAX - 1, u64::MAX]
                .into_iter()
                .zip(1..)
                .collect();
        let mut frontier = Vec::new();
        buckets.with(|own| own.push(5, 0));
        assert_eq!((buckets.pop(&mut frontier), &frontier[..]), (Some(5), &[0][..]));
        buckets.with(|own| all.iter().rev().for_each(|&(bucket, vertex)| own.push(bucket, vertex)));
        let mut taken = Vec::new();
        while let Some(bucket) = buckets.pop(&mut frontier) {
            frontier.sort_unstable();
            taken.extend(frontier.iter().map(|&vertex| (bucket, vertex)));
            if bucket == 10 && !frontier.contains(&20) {
                buckets.with(|own| [10, 10 + NEAR].map(|bucket| own.push(bucket, 20)));
            }
        }
        all.extend([(10, 20), (10 + NEAR, 20)]);
        all.sort_unstable();
        assert_eq!(taken, all);
    }
}
