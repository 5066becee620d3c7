//! A commit that was handed in and is waited for later.
//!
//! ```text
//!  submit ─► queue                       submit ─► queue        wait ─► leads a group of both, unless another caller does
//! ```
//!
//! Invariant: what was handed in is committed or refused by the end of the one who waits for it, or lets go of it.

use evergraph_types::Sequence;

use crate::commits::commit::Request;
use crate::commits::queue::HandedIn;
use crate::commits::writers::PinnedWriter;
use crate::error::CommitError;
use crate::store::Store;

/// So many that wait for nobody to lead them are committed by whoever hands in the next.
const WAITING_MAX: usize = 1 << 10;

/// A commit that was handed in with [`Transaction::submit`](crate::Transaction::submit). Letting go of it waits for it, too.
#[derive(Debug)]
#[must_use = "what was handed in is acknowledged by `wait`"]
pub struct PendingCommit(State);

#[derive(Debug)]
enum State {
    Waiting {
        store: Store,
        handed_in: HandedIn,
        /// What it is compared with is to be remembered until then.
        _pin: Option<PinnedWriter>,
    },
    Done(Result<Sequence, CommitError>),
    Taken,
}

impl PendingCommit {
    pub(crate) fn done(outcome: Result<Sequence, CommitError>) -> Self {
        PendingCommit(State::Done(outcome))
    }

    pub(crate) fn hand_in(
        store: Store,
        request: Request,
        _pin: Option<PinnedWriter>,
    ) -> Result<Self, CommitError> {
        let inner = store.inner();
        let handed_in = inner.hand_in(request)?;
        let is_full = inner.queue.gathered() >= WAITING_MAX;
        let mut pending = PendingCommit(State::Waiting { store, handed_in, _pin });
        if is_full {
            pending.0 = State::Done(pending.take());
        }
        Ok(pending)
    }

    /// Waits until it is committed, as durable as the store promises, and tells the commit; it is committed with all others that
    /// were handed in by then.
    ///
    /// # Errors
    /// Those of [`Transaction::commit`](crate::Transaction::commit).
    pub fn wait(mut self) -> Result<Sequence, CommitError> {
        self.take()
    }

    /// Whether `wait` would tell at once.
    pub fn is_done(&self) -> bool {
        match &self.0 {
            State::Waiting { handed_in, .. } => handed_in.is_answered(),
            State::Done(_) | State::Taken => true,
        }
    }

    fn take(&mut self) -> Result<Sequence, CommitError> {
        match std::mem::replace(&mut self.0, State::Taken) {
            State::Waiting { store, handed_in, _pin } => {
                store.inner().answer(handed_in).map(|summary| summary.sequence)
            }
            State::Done(outcome) => outcome,
            State::Taken => Ok(0),
        }
    }
}

impl Drop for PendingCommit {
    fn drop(&mut self) {
        if let Err(error) = self.take() {
            tracing::warn!(%error, "a commit that nobody waited for failed");
        }
    }
}
