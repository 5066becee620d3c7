//! A wait for what a stream or a window gives next, apart from it: whoever shares one with others waits without it.

use std::time::Duration;

use evergraph_store::Waiter;

/// Until when it is of no use to ask a stream or a window again. Made by [`Stream::pause`](crate::Stream::pause) and
/// [`Window::pause`](crate::Window::pause).
#[derive(Debug)]
pub struct Pause {
    pub(crate) waiter: Waiter,
    /// How long at most, whatever is committed.
    pub(crate) most: Option<Duration>,
}

impl Pause {
    /// Waits until it may be worth to ask again, at most so long.
    pub fn wait(&self, timeout: Option<Duration>) {
        self.waiter.wait(self.most.into_iter().chain(timeout).min());
    }
}
