//! The commit queue: callers wait here, and one of them at a time commits all that wait as one group.
//!
//! ```text
//!  A: submit ─► leads ── commits A ──────────────► tells B of the lead, answers A ─► returns
//!  B:    submit ─► waits ......................... leads ── commits B, C, D ─► answers B, C, D
//!  C:        submit ─► waits .................................................. returns
//!  D:               submit ─► waits ........................................... returns
//! ```
//!
//! The lead goes on before the answers are given: to wake those who sleep takes as long as to commit for them, and the next
//! group is committed meanwhile.
//!
//! What a commit takes decides between two ways of waiting ([`Pace`]). Where it takes microseconds, sleeping and waking
//! take longer: one who waits looks a while whether the answer has come before it sleeps, and the lead is free for whoever
//! comes first while the one who was told of it wakes. Where it waits for a disk, the lead is kept for the one
//! who was told: until that one is awake, those who were just answered come back and join its group.
//!
//! Nobody who waits holds or wants the committer, so that callers whose commit is done can ask for the next one
//! while the group after theirs is being synced.
//!
//! Invariant: as long as anyone waits, one caller leads or one who waits has been told of the lead; every request is
//! answered, even if whoever leads panics.

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

/// How long a commit takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It waits for a disk.
    Disk,
    /// It does not.
    Memory,
}

/// Of more callers than this none looks: they would take the processor from the one that commits.
const LOOKING_CALLERS: usize = 2;
/// How often a caller looks before it sleeps: for some commits' time.
const LOOKS: u32 = 1_000;

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
    /// The caller may commit the next group, unless another does.
    MayLead,
    Answered(Outcome),
    Taken,
}

/// What a caller who waits is told.
enum Told {
    Answer(Outcome),
    /// It leads.
    Leads,
    /// It leads unless another does.
    MayLead,
}

impl CommitQueue {
    /// Hands in a request and waits for its answer, which `commit` gives, or returns, for every request of the group it is
    /// called with; this caller's may be among them.
    pub(crate) fn submit(
        &self,
        pace: Pace,
        request: Request,
        commit: impl FnOnce(Vec<Pending>) -> Vec<(Pending, Outcome)>,
    ) -> Outcome {
        let ticket = Arc::new(Ticket::default());
        let mut state = self.state.lock();
        state.waiting.push(Pending { request: Some(request), ticket: ticket.clone() });
        while state.is_led {
            let looks = pace == Pace::Memory && state.waiting.len() <= LOOKING_CALLERS;
            drop(state);
            let told = ticket.wait(if looks { LOOKS } else { 0 });
            state = match told {
                Told::Answer(outcome) => return outcome,
                Told::Leads | Told::MayLead => self.state.lock(),
            };
            if matches!(told, Told::Leads) {
                break;
            }
        }
        state.is_led = true;
        let group = std::mem::take(&mut state.waiting);
        drop(state);
        let lead = Lead { queue: self, pace };
        let answers = if group.is_empty() { Vec::new() } else { commit(group) };
        drop(lead);
        answers.into_iter().for_each(|(pending, outcome)| pending.answer(outcome));
        match ticket.wait(0) {
            Told::Answer(outcome) => outcome,
            Told::Leads | Told::MayLead => interrupted(),
        }
    }
}

/// The lead, given up when dropped.
struct Lead<'a> {
    queue: &'a CommitQueue,
    pace: Pace,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        let is_kept = self.pace == Pace::Disk && !state.waiting.is_empty();
        state.is_led = is_kept;
        // Within the lock: what is told here must not come after the answer.
        if let Some(next) = state.waiting.first() {
            next.ticket.set(if is_kept { TicketState::Leads } else { TicketState::MayLead });
        }
    }
}

fn interrupted() -> Outcome {
    Err(CommitError::Durability { reason: INTERRUPTED.to_owned() })
}

impl Ticket {
    fn set(&self, state: TicketState) {
        let mut now = self.state.lock();
        *now = state;
        self.is_set.store(true, Ordering::Release);
        drop(now);
        self.changed.notify_one();
    }

    /// Waits until there is something to be told; sleeps only after so many looks.
    fn wait(&self, looks: u32) -> Told {
        for _ in 0..looks {
            if self.is_set.load(Ordering::Acquire) {
                break;
            }
            std::hint::spin_loop();
        }
        let mut state = self.state.lock();
        while matches!(*state, TicketState::Waiting) {
            self.changed.wait(&mut state);
        }
        match std::mem::replace(&mut *state, TicketState::Taken) {
            TicketState::Answered(outcome) => Told::Answer(outcome),
            TicketState::Taken => Told::Answer(interrupted()),
            told => {
                *state = TicketState::Waiting;
                self.is_set.store(false, Ordering::Relaxed);
                if matches!(told, TicketState::Leads) { Told::Leads } else { Told::MayLead }
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
        if !matches!(*state, TicketState::Answered(_) | TicketState::Taken) {
            *state = TicketState::Answered(interrupted());
            self.ticket.changed.notify_one();
        }
    }
}
