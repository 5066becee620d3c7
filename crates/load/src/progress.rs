//! How a long read tells where it is, and is told to stop.

use std::ops::ControlFlow;

/// Hears how far a read has come. It is called between windows of some tens of megabytes, from one thread.
pub trait Progress: Sync {
    /// `done_bytes` of the file (of `total_bytes`, compressed where the file is) are parsed. `Break` cancels.
    fn update(&self, done_bytes: u64, total_bytes: Option<u64>) -> ControlFlow<()>;
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn update(&self, _done_bytes: u64, _total_bytes: Option<u64>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
