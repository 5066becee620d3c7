//! The commit queue: callers wait here, and one of them at a time commits all that wait as one group.
//!
//! ```text
//!  A: submit ─► leads ── commits A ──────────────► offers the lead, answers A ─► returns
//!  B:    submit ─► waits ......................... takes the lead ── commits B, C, D ─► answers B, C, D
//!  C:        submit ─► waits ............................................................. returns
//!  D:               submit ─► waits ...................................................... returns
//! ```
//!
//! The lead goes on before the answers are given: to wake those who sleep takes as long as to commit for them, and the next
//! group is committed meanwhile. A large group of few callers gives it up before it is synced, if that is quick. Those of a group wait in one
//! place, and one system call wakes them all. Where many sleep, a thread of the store's own takes the lead over, keeps it as long as anyone
//! waits, and wakes one of each group, who wakes the others ([`crowd`](crate::commits::crowd)).
//!
//! What a commit takes decides between two ways of waiting ([`Pace`]). Where it takes microseconds, sleeping and waking
//! take longer: one who waits looks a while whether the answer has come before it sleeps, unless others sleep already, who
//! could use the processor; and the lead is free for whoever comes first while one who waits wakes. Where it waits for a disk,
//! the lead is kept for those who wait: until one of them is awake, those who were just answered come back and join its group.
//! There, whoever leads looks a while for as many as asked during the last group, if they are few: they are on their way, and
//! would wait for the end of this group's sync and then for their own.
//!
//! A request may be handed in by a caller who waits for its answer later, or for those of many: it is committed with the group of
//! whoever is the next to wait, who leads unless another does.
//!
//! What was asked goes back with the answer: memory is freed by whoever took it, which is quicker than for another thread to do so.
//!
//! Nobody who waits holds or wants the committer, so that callers whose commit is done can ask for the next one
//! while the group after theirs is being synced.
//!
//! Invariant: as long as anyone waits, one caller leads or the lead is offered to those who wait; every request is
//! answered, even if whoever leads panics.

use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;
use std::time::Duration;

use crate::commits::commit::{BatchSummary, INTERRUPTED, Request};
use crate::error::CommitError;
use crate::system::sync::{
    AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, lock, look, look_for, wait,
};

pub(crate) type Outcome = Result<BatchSummary, CommitError>;

/// Requests that wait for the committer.
#[derive(Debug, Default)]
pub(crate) struct CommitQueue {
    state: Mutex<QueueState>,
    /// How many callers sleep; those of a group change it while they have its lock.
    sleepers: AtomicUsize,
    /// How many requests wait for the next group: changed with the state, and looked at without.
    gathered: AtomicUsize,
}

/// How long a commit takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It waits for a disk.
    Disk,
    /// It does not.
    Memory,
}

/// How long whoever leads looks for others: less than a quick sync takes.
const PATIENCE: Duration = Duration::from_micros(30);

/// How many it looks for, where they have another processor to come on: while one looks, more would be in want of it.
const LOOKED_FOR: RangeInclusive<usize> = 2..=3;

static HAS_PROCESSORS: LazyLock<bool> =
    LazyLock::new(|| available_parallelism().is_ok_and(|processors| processors.get() > 1));

/// Callers who hand in so many requests at once are few.
const REQUESTS_OF_A_CALLER: usize = 4;

/// How often a caller looks before it sleeps: for about as long as it takes to sleep and be woken, some commits' time.
const LOOKS: u32 = 3_000;

#[derive(Debug, Default)]
struct QueueState {
    /// What the next group is to commit.
    requests: Vec<Request>,
    /// Where its callers wait.
    group: Arc<Group>,
    is_led: bool,
    /// How many callers asked during the last group: its own, and those who waited when it was done.
    seen: usize,
}

/// A request that was handed in: whose caller is to be told its answer.
#[derive(Debug)]
pub(crate) struct HandedIn {
    group: Arc<Group>,
    place: usize,
}

impl HandedIn {
    /// Whether it was answered.
    pub(crate) fn is_answered(&self) -> bool {
        lock(&self.group.state).answers.is_some()
    }
}

/// Callers whose requests are committed together.
#[derive(Debug, Default)]
struct Group {
    /// Whether there is more to see than that they wait.
    is_called: AtomicBool,
    state: Mutex<GroupState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GroupState {
    /// The lead, until one of them takes it.
    offered: Option<Offer>,
    /// In the order of the requests, once there are any, with what is left of these; each caller takes its own.
    answers: Option<Vec<Option<(Outcome, Request)>>>,
    /// Whether the first to see them is to wake the others.
    wakes_others: bool,
}

/// A group whose lead is handed over.
#[derive(Debug)]
pub(crate) struct Crowd {
    requests: Vec<Request>,
    group: Arc<Group>,
}

/// The lead, as it is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offer {
    /// It is kept for those who wait.
    Kept,
    /// It is for whoever comes first.
    Free,
}

/// What a caller who waits is told.
enum Told {
    Answer(Outcome),
    Offer(Offer),
}

impl QueueState {
    /// Whether others are about to ask, for whom the next group is to wait.
    fn expects_others(&self, pace: Pace) -> bool {
        pace == Pace::Disk && LOOKED_FOR.contains(&self.seen) && *HAS_PROCESSORS
    }
}

impl CommitQueue {
    /// Hands in a request and waits for its answer, which `commit` gives, in order, for all requests of the lead it is
    /// called with; this caller's may be among them.
    pub(crate) fn submit(
        &self,
        pace: Pace,
        request: Request,
        commit: impl FnOnce(&mut Lead<'_>) -> Vec<Outcome>,
    ) -> Outcome {
        let mut state = lock(&self.state);
        let comes_first = !state.is_led && state.requests.is_empty();
        if comes_first && !state.expects_others(pace) {
            state.is_led = true;
            drop(state);
            let mut lead = Lead::new(self, pace, None, vec![request]);
            let answer = commit(&mut lead).pop();
            return answer.unwrap_or_else(interrupted);
        }
        let handed_in = self.join(&mut state, request);
        self.await_answer(pace, state, handed_in, commit)
    }

    /// Hands in a request whose answer is asked for later. It is committed with the group of whoever is the next to wait.
    pub(crate) fn hand_in(&self, request: Request) -> HandedIn {
        self.join(&mut lock(&self.state), request)
    }

    /// Waits for the answer to a request that was handed in; `commit` is that of [`submit`](Self::submit).
    pub(crate) fn answer(
        &self,
        pace: Pace,
        handed_in: HandedIn,
        commit: impl FnOnce(&mut Lead<'_>) -> Vec<Outcome>,
    ) -> Outcome {
        self.await_answer(pace, lock(&self.state), handed_in, commit)
    }

    /// How many requests wait for the next group.
    pub(crate) fn gathered(&self) -> usize {
        self.gathered.load(Ordering::Relaxed)
    }

    fn join(&self, state: &mut QueueState, request: Request) -> HandedIn {
        let handed_in = HandedIn { group: state.group.clone(), place: state.requests.len() };
        state.requests.push(request);
        self.gathered.store(state.requests.len(), Ordering::Relaxed);
        handed_in
    }

    /// Leads the group of this request, unless another caller does.
    fn await_answer<'a>(
        &'a self,
        pace: Pace,
        mut state: MutexGuard<'a, QueueState>,
        HandedIn { group: own, place }: HandedIn,
        commit: impl FnOnce(&mut Lead<'_>) -> Vec<Outcome>,
    ) -> Outcome {
        while state.is_led {
            drop(state);
            let looks = pace == Pace::Memory && self.sleepers.load(Ordering::Relaxed) == 0;
            let told = self.wait(&own, place, if looks { LOOKS } else { 0 });
            state = match told {
                Told::Answer(outcome) => return outcome,
                Told::Offer(_) => lock(&self.state),
            };
            if matches!(told, Told::Offer(Offer::Kept)) {
                break;
            }
        }
        if Arc::ptr_eq(&own, &state.group) {
            self.lead(pace, state, commit);
        } else {
            drop(state);
        }
        loop {
            // An offer that was left is too late: the group is led, or was.
            if let Told::Answer(outcome) = self.wait(&own, place, 0) {
                return outcome;
            }
        }
    }

    /// Commits those who wait.
    fn lead<'a>(
        &'a self,
        pace: Pace,
        mut state: MutexGuard<'a, QueueState>,
        commit: impl FnOnce(&mut Lead<'_>) -> Vec<Outcome>,
    ) {
        state.is_led = true;
        if state.expects_others(pace) {
            let seen = state.seen;
            drop(state);
            look_for(PATIENCE, || self.gathered() >= seen);
            state = lock(&self.state);
        }
        let mut lead = self.take_group(pace, &mut state);
        drop(state);
        lead.answers = commit(&mut lead);
    }

    /// Takes what waits, for whoever has the lead.
    fn take_group(&self, pace: Pace, state: &mut QueueState) -> Lead<'_> {
        // The next one will be about as large.
        let room = Vec::with_capacity(state.requests.len());
        let requests = std::mem::replace(&mut state.requests, room);
        let group = std::mem::take(&mut state.group);
        self.gathered.store(0, Ordering::Relaxed);
        Lead::new(self, pace, Some(group), requests)
    }

    /// Takes over the lead that was handed over, where commits wait for a disk.
    pub(crate) fn lead_for(&self, Crowd { requests, group }: Crowd) -> Lead<'_> {
        Lead::new(self, Pace::Disk, Some(group), requests)
    }

    /// Waits until there is something to tell the caller of a group whose request has this place; sleeps only after so many
    /// looks.
    fn wait(&self, group: &Group, place: usize, looks: u32) -> Told {
        look(looks, || group.is_called.load(Ordering::Acquire));
        let mut state = lock(&group.state);
        loop {
            if let Some(answers) = &mut state.answers {
                let answer = answers.get_mut(place).and_then(Option::take);
                let wakes_others = std::mem::take(&mut state.wakes_others);
                drop(state);
                if wakes_others {
                    group.changed.notify_all();
                }
                return Told::Answer(answer.map_or_else(interrupted, |(outcome, _)| outcome));
            }
            if let Some(offer) = state.offered.take() {
                group.is_called.store(false, Ordering::Relaxed);
                return Told::Offer(offer);
            }
            self.sleepers.fetch_add(1, Ordering::Relaxed);
            state = wait(&group.changed, state);
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Changes what a group is told, and has it notified.
    fn tell(&self, group: &Group, change: impl FnOnce(&mut GroupState), notify: impl FnOnce(&Condvar)) {
        let mut state = lock(&group.state);
        change(&mut state);
        group.is_called.store(true, Ordering::Release);
        let sleepers = self.sleepers.load(Ordering::Relaxed);
        drop(state);
        if sleepers > 0 {
            notify(&group.changed);
        }
    }
}

/// The answer to whoever gets none.
fn interrupted() -> Outcome {
    Err(CommitError::Durability { reason: INTERRUPTED.to_owned() })
}

/// The lead. When dropped it goes on, unless it has, and the group is answered.
pub(crate) struct Lead<'a> {
    queue: &'a CommitQueue,
    pace: Pace,
    /// Where those of the group wait; `None` if it is the caller alone, who leads.
    group: Option<Arc<Group>>,
    is_passed_on: bool,
    /// What it commits, until that is answered.
    pub(crate) requests: Vec<Request>,
    /// How many these were.
    size: usize,
    answers: Vec<Outcome>,
}

impl<'a> Lead<'a> {
    fn new(queue: &'a CommitQueue, pace: Pace, group: Option<Arc<Group>>, requests: Vec<Request>) -> Self {
        let size = requests.len();
        Lead { queue, pace, group, requests, size, is_passed_on: false, answers: Vec::new() }
    }

    /// Whether many callers sleep for what the group asks: of those who are answered and run at once, the system may let any run
    /// before whoever leads.
    pub(crate) fn is_crowded(&self) -> bool {
        REQUESTS_OF_A_CALLER * self.queue.sleepers.load(Ordering::Relaxed) > self.size
    }

    /// Hands the lead over, if it is taken; the caller then waits for the answer as all others do. Tells whether it was.
    pub(crate) fn hand_over(&mut self, take: impl FnOnce(Crowd) -> Result<(), Crowd>) -> bool {
        let Some(group) = self.group.take() else { return false };
        let requests = std::mem::take(&mut self.requests);
        if let Err(Crowd { requests, group }) = take(Crowd { requests, group }) {
            (self.requests, self.group) = (requests, Some(group));
            return false;
        }
        self.is_passed_on = true;
        true
    }

    /// The lead of the next group, if anyone waits, which this one no longer is.
    pub(crate) fn take_next(&mut self) -> Option<Lead<'a>> {
        let mut state = lock(&self.queue.state);
        if self.is_passed_on || state.requests.is_empty() {
            return None;
        }
        self.is_passed_on = true;
        Some(self.queue.take_group(self.pace, &mut state))
    }

    /// Gives the answers, of which one is told, who wakes the others.
    pub(crate) fn answer(&mut self, answers: Vec<Outcome>) {
        self.answers = answers;
        self.tell_group(true);
    }

    fn tell_group(&mut self, wakes_one: bool) {
        let Some(group) = self.group.take() else { return };
        let (answers, requests) = (std::mem::take(&mut self.answers), std::mem::take(&mut self.requests));
        let answers = answers.into_iter().zip(requests).map(Some).collect();
        let notify = if wakes_one { Condvar::notify_one } else { Condvar::notify_all };
        let change = |state: &mut GroupState| {
            state.answers = Some(answers);
            state.wakes_others = wakes_one;
        };
        self.queue.tell(&group, change, notify);
    }

    /// Lets the next group be committed, if those who may wait for it are awake: if some sleep, it is the larger for waiting.
    pub(crate) fn pass_on(&mut self) {
        if self.queue.sleepers.load(Ordering::Relaxed) == 0 {
            self.go_on();
        }
    }

    /// Lets the next group be committed.
    pub(crate) fn go_on(&mut self) {
        if std::mem::replace(&mut self.is_passed_on, true) {
            return;
        }
        let mut state = lock(&self.queue.state);
        let is_kept = self.pace == Pace::Disk && !state.requests.is_empty();
        state.is_led = is_kept;
        state.seen = self.size + state.requests.len();
        if !state.requests.is_empty() {
            let offer = if is_kept { Offer::Kept } else { Offer::Free };
            // Within the lock: what is offered here must not come after the answers.
            self.queue.tell(&state.group, |group| group.offered = Some(offer), Condvar::notify_one);
        }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.go_on();
        self.tell_group(false);
    }
}
