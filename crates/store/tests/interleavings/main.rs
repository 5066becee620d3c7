//! The commit queue and the count of writers under a scheduler that tries the orders in which threads may come
//! (shuttle): the very source files of the store, compiled against primitives that hand every step to the scheduler.
//!
//! A schedule that fails is printed as a string; `shuttle::replay` runs it again.

mod commit;
mod sync;
mod version;
/// What the queue answers with.
mod error {
    pub(crate) use evergraph_store::CommitError;
}

#[path = "../../src/queue.rs"]
mod queue;
#[path = "../../src/writers.rs"]
mod writers;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use evergraph_proof::tally;
use evergraph_store::{BatchSummary, CommitError};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};

use queue::{CommitQueue, Outcome, Pace};
use sync::{Mutex, lock};
use version::Version;
use writers::Writers;

/// Runs a body in many orders: random ones, and those with few changes of priority, which find other bugs.
fn in_many_orders(orders: usize, body: fn()) {
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        Runner::new(scheduler, Config::default()).run(body);
    };
    run(Box::new(RandomScheduler::new(orders)));
    run(Box::new(PctScheduler::new(3, orders)));
    tally("interleavings", 2 * orders as u64);
}

/// What all threads of a test of the queue share.
struct Committing {
    pace: Pace,
    queue: CommitQueue,
    is_busy: AtomicBool,
    /// How many groups were accepted; held as the committer is.
    accepted: Mutex<u64>,
    /// How many were applied, and what was; held as the applier is.
    applied: Mutex<(u64, BTreeSet<u64>)>,
    groups: AtomicU64,
}

impl Committing {
    fn at(pace: Pace) -> Arc<Self> {
        Arc::new(Committing {
            pace,
            queue: CommitQueue::default(),
            is_busy: AtomicBool::default(),
            accepted: Mutex::default(),
            applied: Mutex::default(),
            groups: AtomicU64::default(),
        })
    }

    /// Hands in a number, which the answer has to be about. Of odd ones the group is applied while the next is accepted.
    fn submit(&self, number: u64, forgets: bool) -> Outcome {
        self.queue.submit(self.pace, number, |group, lead| {
            assert!(!self.is_busy.swap(true, Ordering::SeqCst), "one leads at a time");
            let mut accepted = lock(&self.accepted);
            thread::yield_now();
            let is_first = self.groups.fetch_add(1, Ordering::SeqCst) == 0;
            *accepted += 1;
            let turn = *accepted;
            let mut applied = lock(&self.applied);
            drop(accepted);
            assert!(self.is_busy.swap(false, Ordering::SeqCst));
            if number % 2 == 1 {
                lead.pass_on();
            }
            applied.0 += 1;
            assert_eq!(applied.0, turn, "groups are applied in the order in which they were accepted");
            let commit = |request| {
                assert!(applied.1.insert(request), "a request is committed once");
                thread::yield_now();
                Ok(BatchSummary { sequence: request, ..BatchSummary::default() })
            };
            let answers = group.into_iter().map(commit).collect();
            // No answers are what a leader leaves that unwinds.
            if forgets && is_first { Vec::new() } else { answers }
        })
    }
}

/// Everyone gets the answer to what they asked, whoever leads; nobody waits forever (the scheduler notices).
fn everyone_is_answered(pace: Pace) {
    let all = Committing::at(pace);
    let threads: Vec<_> = (0..3u64)
        .map(|thread| {
            let all = all.clone();
            thread::spawn(move || {
                for turn in 0..2 {
                    let number = 10 * thread + turn;
                    assert_eq!(all.submit(number, false).expect("it is committed").sequence, number);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(lock(&all.applied).1.len(), 6);
    assert!(all.groups.load(Ordering::SeqCst) <= 6);
}

/// The first leader answers nobody: its group is told that it failed, and the lead goes on.
fn a_leader_that_gives_up_leaves_nobody_waiting(pace: Pace) {
    let all = Committing::at(pace);
    let threads: Vec<_> = (0..3u64)
        .map(|number| {
            let all = all.clone();
            thread::spawn(move || match all.submit(number, true) {
                Ok(summary) => assert_eq!(summary.sequence, number),
                Err(CommitError::Durability { .. }) => {}
                Err(error) => panic!("{error}"),
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let after = all.submit(9, true).expect("the queue goes on");
    assert_eq!(after.sequence, 9);
}

/// The protocol of a transaction's begin and of forgetting old changes: no change that an open transaction must be
/// compared with is forgotten.
#[derive(Default)]
struct Remembering {
    writers: Writers,
    current: Mutex<Arc<Version>>,
    /// The newest commit that was accepted, and those whose changes are remembered; held as the committer is.
    recent: Mutex<(u64, BTreeSet<u64>)>,
    /// Held as the applier is.
    applier: Mutex<()>,
}

impl Remembering {
    /// A commit: forgets, remembers, publishes, in the order in which the stages do.
    fn commit(&self) {
        let mut recent = lock(&self.recent);
        let published = lock(&self.current).sequence;
        let oldest = self.writers.oldest().unwrap_or(published);
        recent.1.retain(|sequence| *sequence > oldest);
        recent.0 += 1;
        let sequence = recent.0;
        recent.1.insert(sequence);
        let applier = lock(&self.applier);
        drop(recent);
        thread::yield_now();
        *lock(&self.current) = Arc::new(Version { sequence });
        drop(applier);
    }

    /// A transaction from its begin to its validation.
    fn transaction(&self) {
        let (version, pin) = self.writers.begin(|| lock(&self.current).clone());
        thread::yield_now();
        let recent = lock(&self.recent);
        for sequence in version.sequence + 1..=recent.0 {
            assert!(recent.1.contains(&sequence), "{sequence} is forgotten, begun at {}", version.sequence);
        }
        drop((recent, pin));
    }
}

fn what_open_transactions_need_is_remembered() {
    let all = Arc::new(Remembering::default());
    let committing = (0..2).map(|_| {
        let all = all.clone();
        thread::spawn(move || (0..2).for_each(|_| all.commit()))
    });
    let mut threads: Vec<_> = committing.collect();
    threads.extend((0..2).map(|_| {
        let all = all.clone();
        thread::spawn(move || (0..2).for_each(|_| all.transaction()))
    }));
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(all.writers.oldest(), None);
    all.commit();
    assert_eq!(lock(&all.recent).1.len(), 1, "nobody needs anything but what the next commit will forget");
}

fn the_queue_in_many_orders(orders: usize) {
    in_many_orders(orders, || everyone_is_answered(Pace::Disk));
    in_many_orders(orders, || everyone_is_answered(Pace::Memory));
    in_many_orders(orders, || a_leader_that_gives_up_leaves_nobody_waiting(Pace::Disk));
    in_many_orders(orders, || a_leader_that_gives_up_leaves_nobody_waiting(Pace::Memory));
}

#[test]
fn the_queue() {
    the_queue_in_many_orders(800);
}

#[test]
fn the_writers() {
    in_many_orders(800, what_open_transactions_need_is_remembered);
}

#[test]
#[ignore = "long"]
fn soak_interleavings() {
    the_queue_in_many_orders(200_000);
    in_many_orders(200_000, what_open_transactions_need_is_remembered);
}
