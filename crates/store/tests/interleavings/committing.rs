//! Callers who commit through the queue and the stages: everyone is answered, and groups are applied in their order.

use std::sync::Arc;

use evergraph_store::{BatchSummary, CommitError};
use shuttle::thread;

use crate::commits::aside::Aside;
use crate::commits::commit::{Committer, INTERRUPTED, Refusal, Synced};
use crate::commits::queue::{CommitQueue, Crowd, HandedIn, Lead, Outcome, Pace};
use crate::commits::stages::{Applier, Stages};
use crate::system::sync::fair::MutexGuard;
use crate::system::sync::{AtomicBool, AtomicU64, Ordering};

/// What is wrong with those who lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The first answers nobody, as one that unwinds.
    AnswersNobody,
    /// The first does not apply its group to its end.
    IsInterrupted,
    /// The sync of the first group fails, where commits are synced.
    SyncFails,
    /// A planted bug: they leave the committer, or, where commits are synced, the syncer, before they ask for the applier.
    LeaveEarly,
}

const NOT_SYNCED: &str = "the disk is gone";

/// What all threads of a test share.
struct Committing {
    pace: Pace,
    fault: Fault,
    queue: CommitQueue,
    stages: Stages,
    is_led: AtomicBool,
    is_syncing: AtomicBool,
    groups: AtomicU64,
}

impl Committing {
    fn at(pace: Pace, fault: Fault) -> Arc<Self> {
        Arc::new(Committing {
            pace,
            fault,
            queue: CommitQueue::default(),
            stages: Stages::new(Committer::default()),
            is_led: AtomicBool::default(),
            is_syncing: AtomicBool::default(),
            groups: AtomicU64::default(),
        })
    }

    /// Hands in a number, which the answer has to be about.
    fn submit(&self, number: u64) -> Outcome {
        self.queue.submit(self.pace, number, |lead| self.lead(number, lead))
    }

    /// Waits for the answer to a number that was handed in.
    fn answer(&self, number: u64, handed_in: HandedIn) -> Outcome {
        self.queue.answer(self.pace, handed_in, |lead| self.lead(number, lead))
    }

    fn lead(&self, number: u64, lead: &mut Lead<'_>) -> Vec<Outcome> {
        assert!(!self.is_led.swap(true, Ordering::SeqCst), "one leads at a time");
        let is_first = self.groups.fetch_add(1, Ordering::SeqCst) == 0;
        self.commit(number, is_first, lead)
    }

    /// As the store does, with the stages that it has. Every third leader has the store to itself, and one if many wait; of odd ones the group is applied
    /// while the next is accepted.
    fn commit(&self, number: u64, is_first: bool, lead: &mut Lead<'_>) -> Vec<Outcome> {
        let mut committer = self.stages.enter();
        committer.groups += 1;
        let turn = committer.groups;
        thread::yield_now();
        if number % 3 == 2 || number == 10 && lead.is_crowded() {
            let mut held = self.stages.all(committer);
            self.no_longer_leads();
            let (committer, applier) = held.split();
            if let Some(Refusal::Failed(reason)) = &committer.refusal {
                return refused(&lead.requests, reason);
            }
            return self.apply(applier, turn, &lead.requests, is_first);
        }
        if self.pace == Pace::Disk {
            return self.commit_synced(committer, number, turn, is_first, lead);
        }
        let mut applier = if self.fault == Fault::LeaveEarly {
            drop(committer);
            let applier = self.stages.applier_after(&mut Committer::default());
            self.no_longer_leads();
            applier
        } else {
            let applier = self.stages.applier_after(&mut committer);
            self.no_longer_leads();
            drop(committer);
            applier
        };
        if number % 2 == 1 {
            lead.pass_on();
        }
        self.apply(&mut applier, turn, &lead.requests, is_first)
    }

    /// The lead of even ones goes on while the group is synced.
    fn commit_synced(
        &self,
        mut committer: MutexGuard<'_, Committer>,
        number: u64,
        turn: u64,
        is_first: bool,
        lead: &mut Lead<'_>,
    ) -> Vec<Outcome> {
        let mut syncer = self.stages.syncer_after(&mut committer);
        self.no_longer_leads();
        if let Some(reason) = &syncer.failure {
            assert_eq!(committer.refusal, Some(Refusal::Failed(reason.clone())), "the committer knows");
            return refused(&lead.requests, reason);
        }
        syncer.failure = Some(INTERRUPTED.to_owned());
        drop(committer);
        if number.is_multiple_of(2) {
            lead.go_on();
        }
        assert!(!self.is_syncing.swap(true, Ordering::SeqCst), "one group is synced at a time");
        thread::yield_now();
        assert!(self.is_syncing.swap(false, Ordering::SeqCst));
        syncer.synced = Some(Synced(turn));
        let fails = is_first && self.fault == Fault::SyncFails;
        syncer.failure = fails.then(|| NOT_SYNCED.to_owned());
        lead.pass_on();
        if self.fault == Fault::LeaveEarly {
            drop(syncer);
            return self.apply(&mut self.stages.applier_after_sync(), turn, &lead.requests, is_first);
        }
        let mut applier = self.stages.applier_after_sync();
        if applier.is_busy {
            syncer.failure.get_or_insert(INTERRUPTED.to_owned());
        }
        if let Some(reason) = syncer.failure.clone() {
            drop((applier, syncer));
            assert!(self.stages.lock().refusal.is_some());
            return refused(&lead.requests, &reason);
        }
        drop(syncer);
        self.apply(&mut applier, turn, &lead.requests, is_first)
    }

    fn no_longer_leads(&self) {
        assert!(self.is_led.swap(false, Ordering::SeqCst));
    }

    fn apply(&self, applier: &mut Applier, turn: u64, group: &[u64], is_first: bool) -> Vec<Outcome> {
        if applier.is_busy {
            return refused(group, INTERRUPTED);
        }
        applier.is_busy = true;
        if is_first && self.fault == Fault::IsInterrupted {
            return Vec::new();
        }
        applier.scratch.groups += 1;
        let order = "groups are applied in the order in which they were accepted";
        assert_eq!(applier.scratch.groups, turn, "{order}");
        let commit = |request| {
            assert!(applier.scratch.requests.insert(request), "a request is committed once");
            thread::yield_now();
            Ok(BatchSummary { sequence: request, ..BatchSummary::default() })
        };
        let answers = group.iter().copied().map(commit).collect();
        applier.is_busy = false;
        if is_first && self.fault == Fault::AnswersNobody { Vec::new() } else { answers }
    }

    /// As an archive does: has the store to itself.
    fn look_in(&self) {
        let mut held = self.stages.lock();
        let (committer, applier) = held.split();
        assert_eq!(committer.groups, applier.scratch.groups, "all that was accepted is published");
        assert!(!applier.is_busy);
        held.unlock_fair();
    }
}

fn refused(group: &[u64], reason: &str) -> Vec<Outcome> {
    group.iter().map(|_| Err(CommitError::Durability { reason: reason.to_owned() })).collect()
}

/// Everyone gets the answer to what they asked, whoever leads; nobody waits forever (the scheduler notices).
pub(crate) fn everyone_is_answered(pace: Pace, fault: Fault) {
    let all = Committing::at(pace, fault);
    let mut threads: Vec<_> = (0..3u64)
        .map(|thread| {
            let all = all.clone();
            thread::spawn(move || {
                for turn in 0..2 {
                    let number = 10 * thread + turn;
                    assert_eq!(all.submit(number).expect("what is accepted is committed").sequence, number);
                }
            })
        })
        .collect();
    let looking = all.clone();
    threads.push(thread::spawn(move || looking.look_in()));
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let mut held = all.stages.lock();
    assert_eq!(held.split().1.scratch.requests.len(), 6);
    assert!(all.groups.load(Ordering::SeqCst) <= 6);
}

/// What is handed in is committed by whoever waits first, its own caller or another one, and each is told its own answer, in whatever
/// order they ask.
pub(crate) fn what_is_handed_in_is_committed(pace: Pace) {
    let all = Committing::at(pace, Fault::None);
    let threads: Vec<_> = (0..3u64)
        .map(|thread| {
            let all = all.clone();
            thread::spawn(move || {
                let mut handed_in: Vec<_> =
                    (0..thread).map(|turn| 10 * thread + turn).map(|n| (n, all.queue.hand_in(n))).collect();
                let last = 10 * thread + 9;
                assert_eq!(all.submit(last).expect("it is committed").sequence, last);
                if thread == 1 {
                    handed_in.iter().for_each(|(n, handed_in)| {
                        assert!(handed_in.is_answered(), "{n} came before what was waited for")
                    });
                }
                handed_in.reverse();
                for (number, handed_in) in handed_in {
                    assert_eq!(all.answer(number, handed_in).expect("it is committed").sequence, number);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let alone = all.queue.hand_in(70);
    assert!(!alone.is_answered());
    assert_eq!(all.queue.gathered(), 1);
    assert_eq!(all.answer(70, alone).expect("it is committed").sequence, 70);
    assert_eq!(all.stages.lock().split().1.scratch.requests.len(), 7);
}

/// Two threads that lead those who wait, and sync for them, as the store's do.
struct Crowded {
    all: Arc<Committing>,
    crowds: Aside<Crowd, ()>,
    syncs: Aside<u64, u64>,
}

impl Crowded {
    fn submit(&self, number: u64) -> Outcome {
        self.all.queue.submit(Pace::Disk, number, |lead| {
            match lead.hand_over(|crowd| self.crowds.ask(crowd)) {
                true => Vec::new(),
                false => self.all.lead(number, lead),
            }
        })
    }

    fn lead(&self, crowd: Crowd) {
        let mut next = Some(self.all.queue.lead_for(crowd));
        while let Some(mut lead) = next {
            assert!(!self.all.is_led.swap(true, Ordering::SeqCst), "one leads at a time");
            let mut held = self.all.stages.lock();
            let (committer, applier) = held.split();
            committer.groups += 1;
            let turn = committer.groups;
            let apply = || self.all.apply(applier, turn, &lead.requests, false);
            let (synced, answers) = self.syncs.join(turn, |turn| turn, apply);
            assert_eq!(synced, Some(turn), "a group is answered when it is synced itself");
            self.all.no_longer_leads();
            drop(held);
            lead.answer(answers);
            next = lead.take_next();
        }
    }
}

/// Whoever leads, a thread or a caller whose group that had no time for, everyone gets the answer to what they asked; both threads end.
pub(crate) fn everyone_of_a_crowd_is_answered() {
    let all = Committing::at(Pace::Disk, Fault::None);
    let crowded = Arc::new(Crowded { all: all.clone(), crowds: Aside::default(), syncs: Aside::default() });
    let spawn = |work: fn(&Crowded, u64), number| {
        let crowded = crowded.clone();
        thread::spawn(move || work(&crowded, number))
    };
    let leads = spawn(|crowded, _| crowded.crowds.serve(|crowd| crowded.lead(crowd)), 0);
    let syncs = spawn(|crowded, _| crowded.syncs.serve(|turn| turn), 0);
    let put = |crowded: &Crowded, caller| {
        for number in [caller, caller + 1] {
            assert_eq!(crowded.submit(number).expect("it is committed").sequence, number);
            // As if the store were closed amid the others, but that they go on by themselves.
            if number == 20 {
                crowded.crowds.end();
                crowded.syncs.end();
            }
        }
    };
    let callers = [0, 10, 20].map(|caller| spawn(put, caller));
    callers.into_iter().chain([leads, syncs]).for_each(|thread| thread.join().expect("no panic"));
    all.look_in();
    assert_eq!(all.stages.lock().split().1.scratch.requests.len(), 6);
}

/// Three callers, one of whom leads first, and what they are answered.
fn three_callers(all: &Arc<Committing>) -> Vec<(u64, Outcome)> {
    let threads: Vec<_> = (0..3u64)
        .map(|number| {
            let all = all.clone();
            thread::spawn(move || (number, all.submit(number)))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
}

/// The first leader answers nobody: its group is told that it failed, and the lead goes on.
pub(crate) fn a_leader_that_gives_up_leaves_nobody_waiting(pace: Pace) {
    let all = Committing::at(pace, Fault::AnswersNobody);
    for (number, outcome) in three_callers(&all) {
        match outcome {
            Ok(summary) => assert_eq!(summary.sequence, number),
            Err(CommitError::Durability { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(all.submit(9).expect("the queue goes on").sequence, 9);
}

/// The first group is not applied to its end: nothing is applied after it, and everybody is told.
pub(crate) fn nothing_is_applied_after_a_group_that_was_interrupted(pace: Pace) {
    let all = Committing::at(pace, Fault::IsInterrupted);
    let outcomes = three_callers(&all);
    for (number, outcome) in outcomes.into_iter().chain([(9, all.submit(9))]) {
        assert!(is_refused(&outcome, INTERRUPTED), "{number}: {outcome:?}");
    }
    let mut held = all.stages.lock();
    assert_eq!(held.refusal, Some(Refusal::Failed(INTERRUPTED.to_owned())), "the committer knows");
    assert!(held.split().1.scratch.requests.is_empty());
}

/// The first sync fails, unless the first to lead has the store to itself: nothing is applied, and everybody is told.
pub(crate) fn nothing_is_applied_after_a_sync_that_failed() {
    let all = Committing::at(Pace::Disk, Fault::SyncFails);
    let mut outcomes = three_callers(&all);
    outcomes.push((9, all.submit(9)));
    let mut held = all.stages.lock();
    let has_failed = held.refusal == Some(Refusal::Failed(NOT_SYNCED.to_owned()));
    assert_eq!(held.split().1.scratch.requests.len(), if has_failed { 0 } else { outcomes.len() });
    for (number, outcome) in outcomes {
        let is_told = if has_failed { is_refused(&outcome, NOT_SYNCED) } else { outcome.is_ok() };
        assert!(is_told, "{number}: {outcome:?}");
    }
}

fn is_refused(outcome: &Outcome, why: &str) -> bool {
    matches!(outcome, Err(CommitError::Durability { reason }) if reason == why)
}
