//! Waiting for what a store does by itself.

use std::time::{Duration, Instant};

use evergraph::Database;

/// Space settles within this time, or what is there then counts.
const SETTLING: Duration = Duration::from_secs(30);

/// Waits until two looks, farther apart than commits have to pause, find the same space.
pub(super) fn settle(database: &Database) {
    let space = || {
        let stats = database.stats();
        (stats.memory_bytes, stats.segment_bytes)
    };
    let (start, mut last) = (Instant::now(), None);
    while start.elapsed() < SETTLING && last != Some(space()) {
        last = Some(space());
        std::thread::sleep(Duration::from_secs(2));
    }
}
