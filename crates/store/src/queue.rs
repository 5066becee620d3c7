//! The commit queue: callers wait here, and one of them at a time commits all that wait as one group.
//!
//! ```text
//!  A: submit ─► leads ── commits A ──────────────► answers A, hands the lead to B ─► returns
//!  B:    submit ─► waits ......................... leads ── commits B, C, D ─► answers B, C, D
//!  C:        submit ─► waits .................................................. returns
//!  D:               submit ─► waits ........................................... returns
//! ```
//!
//! Where a commit takes microseconds, one who waits looks a while whether the answer has come before it sleeps: sleeping
//! and waking take longer than the commit.
//!
//! Nobody who waits holds or wants the committer, so that callers whose commit is done can ask for the next one
//! while the group after theirs is being synced.
//!
//! Invariant: as long as anyone waits, exactly one caller leads or has been told to; every request is answered, even
//! if whoever leads panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::commit::{BatchSummary, INTERRUPTED, Request};
use crate::error::CommitError;
use crate::sync::{Condvar, Mutex};

pub(crate) type Outcome = Result<BatchSummary, CommitError>;

/// Requests that wait for the committer.
#[derive(Debug, Default)]
pub(crate) struct CommitQueue {
    state: Mutex<QueueState>,
}

/// Of more callers than this none looks: they would take the processor from the one that commits.
const LOOKING_CALLERS: usize = 2;

#[derive(Debug, Default)]
struct QueueState {
    waiting: Vec<Pending>,
    is_led: bool,
}

/// A request in the queue.
#[derive(Debug)]
pub(crate) struct Pending {
    request: Option<Request>,
    ticket: Arc<Ticket>,
}

/// Where a caller waits.
#[derive(Debug, Default)]
struct Ticket {
    /// Whether there is more to see than that the caller waits.
    is_set: AtomicBool,
    state: Mutex<TicketState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
enum TicketState {
    #[default]
    Waiting,
    /// The caller is to commit the next group.
    Leads,
    Answered(Outcome),
    Taken,
}

impl CommitQueue {
    /// Hands in a request and waits for its answer, which `commit` gives to every request of the group it is called
    /// with; this caller's may be among them. Before it sleeps it looks for its answer at most `looks` times.
    pub(crate) fn submit(&self, looks: u32, request: Request, commit: impl FnOnce(Vec<Pending>)) -> Outcome {
        let ticket = Arc::new(Ticket::default());
        let mut state = self.state.lock();
        state.waiting.push(Pending { request: Some(request), ticket: ticket.clone() });
        if state.is_led {
            let looks = if state.waiting.len() <= LOOKING_CALLERS { looks } else { 0 };
            drop(state);
            ticket.look(looks);
            if let Some(outcome) = ticket.wait() {
                return outcome;
            }
            state = self.state.lock();
        }
        state.is_led = true;
        let group = std::mem::take(&mut state.waiting);
        drop(state);
        let lead = Lead { queue: self };
        commit(group);
        drop(lead);
        ticket.wait().unwrap_or_else(interrupted)
    }
}

/// The lead, handed on when dropped.
struct Lead<'a> {
    queue: &'a CommitQueue,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        match state.waiting.first() {
            Some(next) => next.ticket.set(TicketState::Leads),
            None => state.is_led = false,
        }
    }
}

fn interrupted() -> Outcome {
    Err(CommitError::Durability { reason: INTERRUPTED.to_owned() })
}

impl Ticket {
    fn set(&self, state: TicketState) {
        *self.state.lock() = state;
        self.is_set.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Returns once the state was set, or after so many looks.
    fn look(&self, looks: u32) {
        let mut left = looks;
        while left > 0 && !self.is_set.load(Ordering::Acquire) {
            std::hint::spin_loop();
            left -= 1;
        }
    }

    /// Waits for the answer; `None` if the caller is to lead.
    fn wait(&self) -> Option<Outcome> {
        let mut state = self.state.lock();
        loop {
            match std::mem::replace(&mut *state, TicketState::Taken) {
                TicketState::Waiting => {
                    *state = TicketState::Waiting;
                    self.changed.wait(&mut state);
                }
                TicketState::Leads => {
                    *state = TicketState::Waiting;
                    return None;
                }
                TicketState::Answered(outcome) => return Some(outcome),
                TicketState::Taken => return Some(interrupted()),
            }
        }
    }
}

impl Pending {
    /// Whether a batch is to be committed, which forks tasks.
    pub(crate) fn is_batch(&self) -> bool {
        matches!(self.request, Some(Request::Batch(_)))
    }

    /// What is asked for; once.
    pub(crate) fn take_request(&mut self) -> Option<Request> {
        self.request.take()
    }

    /// Answers the caller. Dropping a request that was not answered tells the caller that it failed.
    pub(crate) fn answer(self, outcome: Outcome) {
        self.ticket.set(TicketState::Answered(outcome));
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut state = self.ticket.state.lock();
        if matches!(*state, TicketState::Waiting | TicketState::Leads) {
            *state = TicketState::Answered(interrupted());
            self.ticket.changed.notify_one();
        }
    }
}
