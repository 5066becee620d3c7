//! How long work tells where it is, and is told to stop.

use std::ops::ControlFlow;

/// Hears how far long work has come: between windows of a file that is read, between some rows and the next of a batch that is
/// committed. It is called often, from any thread, while a file is read by several at once.
///
/// A store that it hears from may be used: work that commits, archives or copies does not wait long for an answer.
pub trait Progress: Sync {
    /// So much is done, of `total` if that is known: bytes of a file (compressed ones where it is), rows, or shares of either.
    /// `Break` asks the work to stop. Work that can no longer be undone does not ask.
    fn update(&self, done: u64, total: Option<u64>) -> ControlFlow<()>;
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn update(&self, _done: u64, _total: Option<u64>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
