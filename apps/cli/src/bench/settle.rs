//! Waiting for what a store does by itself.

use std::time::{Duration, Instant};

use evergraph::Database;

/// Space settles within this time, or what is there then counts.
const SETTLING: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Waits until the store has nothing left to do in the background.
pub(super) fn settle(database: &Database) {
    let start = Instant::now();
    while start.elapsed() < SETTLING && !database.stats().settled {
        std::thread::sleep(LOOK);
    }
}
