//! Many callers who sleep until their commits are synced, which a thread of the store's own leads: what they are told holds, also when
//! the disk fails, the power does, or one of the threads panics.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{HookedDisk, directory, on, options};
use evergraph_disk::{CrashPlan, Fault, SimDisk};
use evergraph_proof::tally;
use evergraph_store::{CommitError, Options, Store};
use evergraph_types::Direction;

/// So many callers that groups of half of them are crowds.
const CALLERS: usize = 40;

fn crowd_options() -> Options {
    Options { background: true, ..options() }
}

/// Callers who put one edge after the other, each from its own vertex, until one is refused or they are stopped; and how many each has put.
struct Callers {
    acknowledged: Vec<AtomicU64>,
    is_over: AtomicBool,
}

impl Callers {
    fn new() -> Self {
        let acknowledged = (0..CALLERS).map(|_| AtomicU64::new(0)).collect();
        Callers { acknowledged, is_over: AtomicBool::new(false) }
    }

    fn total(&self) -> u64 {
        self.counts().iter().sum()
    }

    fn counts(&self) -> Vec<u64> {
        self.acknowledged.iter().map(|count| count.load(Ordering::Acquire)).collect()
    }

    fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    fn wait_for(&self, total: u64) {
        while self.total() < total {
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Lets them all put while `work` is done; tells how many were refused, and how many panicked.
    fn put_while(&self, store: &Store, work: impl FnOnce()) -> (usize, usize) {
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..CALLERS).map(|caller| scope.spawn(move || self.put(store, caller))).collect();
            let stops = StopsIfPanicking(self);
            work();
            drop(stops);
            let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            let refused = outcomes.iter().filter(|outcome| matches!(outcome, Ok(true))).count();
            (refused, outcomes.iter().filter(|outcome| outcome.is_err()).count())
        })
    }

    /// Tells whether an edge was refused.
    fn put(&self, store: &Store, caller: usize) -> bool {
        for turn in self.acknowledged[caller].load(Ordering::Acquire).. {
            if self.is_over.load(Ordering::Acquire) {
                break;
            }
            match store.put_edge(caller as i64, turn as i64, "knows", &[]) {
                Ok(_) => self.acknowledged[caller].store(turn + 1, Ordering::Release),
                Err(CommitError::Durability { .. }) => return true,
                Err(error) => panic!("{error}"),
            }
        }
        false
    }
}

/// Whoever looks finds something wrong: the callers end, too.
struct StopsIfPanicking<'a>(&'a Callers);

impl Drop for StopsIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// What is there is what was acknowledged, and at most one more edge of each caller.
fn holds(store: &Store, acknowledged: &[u64], may_be_there: u64, what: &str) {
    let version = store.version().expect("open");
    for (caller, &count) in acknowledged.iter().enumerate() {
        let Some(vertex) = version.vertex_id((caller as i64).into()) else {
            assert_eq!(count, 0, "{what}: {caller} has a vertex");
            continue;
        };
        let found = version.degree(0, Direction::Out, vertex) as u64;
        assert!((count..=count + may_be_there).contains(&found), "{what}: {caller}: {found} of {count}");
    }
}

fn reopened(disk: &SimDisk) -> Store {
    Store::open_on(on(disk), directory(), options()).expect("what is left opens")
}

#[test]
fn what_crowds_were_told_survives_crashes() {
    crashes(1, 40);
}

#[test]
#[ignore = "long"]
fn soak_what_crowds_were_told_survives_crashes() {
    (0..50).for_each(|seed| crashes(seed, 100));
}

/// The power fails at some moments: whatever was acknowledged before is there.
fn crashes(seed: u64, count: u64) {
    let disk = SimDisk::new(seed);
    let slow = HookedDisk::slow(on(&disk), Duration::from_micros(50));
    // Logs and segments come and go.
    let options = Options { log_limit_bytes: 20_000, ..crowd_options() };
    let store = Store::open_on(slow, directory(), options).expect("new");
    let callers = Callers::new();
    let (refused, panicked) = callers.put_while(&store, || {
        for crash in 0..count {
            callers.wait_for(100 * crash);
            let acknowledged = callers.counts();
            let plan =
                if crash % 4 == 0 { CrashPlan::LoseUnsynced } else { CrashPlan::Random(seed << 10 | crash) };
            // Callers go on while it is looked at what is left: so there may be any number more of each.
            holds(&reopened(&disk.crash(plan)), &acknowledged, u64::MAX / 2, &format!("{plan:?}"));
        }
        callers.stop();
    });
    tally("crash states", count);
    assert_eq!((refused, panicked), (0, 0));
    holds(&store, &callers.counts(), 0, "in the end");
    store.close().expect("a good disk");
    holds(&reopened(&disk), &callers.counts(), 0, "opened again");
}

/// An operation fails amid them: all are told, and what was acknowledged before is there.
#[test]
fn a_failure_is_told_to_all_of_a_crowd() {
    for after in 0..24 {
        let disk = SimDisk::new(after);
        let slow = HookedDisk::slow(on(&disk), Duration::from_micros(50));
        let store = Store::open_on(slow, directory(), crowd_options()).expect("new");
        let callers = Callers::new();
        let fault = [Fault::Eio, Fault::Enospc, Fault::ShortWrite][after as usize % 3];
        let (refused, panicked) = callers.put_while(&store, || {
            callers.wait_for(300);
            disk.fail_at(disk.operations() + after, fault);
        });
        let what = format!("{fault:?} {after} operations later");
        assert_eq!((refused, panicked), (CALLERS, 0), "{what}");
        let acknowledged = callers.counts();
        holds(&store, &acknowledged, 0, &what);
        store.close().expect("nothing to sync");
        holds(&reopened(&disk), &acknowledged, 1, &what);
        holds(&reopened(&disk.crash(CrashPlan::LoseUnsynced)), &acknowledged, 1, &what);
    }
}

/// A thread panics, where a log file is made or as one is synced: everyone is answered all the same.
#[test]
fn everyone_of_a_crowd_is_answered_though_a_thread_panics() {
    for hook in [HookedDisk::when_creating, HookedDisk::when_syncing] {
        let disk = SimDisk::new(0);
        let slow = HookedDisk::slow(on(&disk), Duration::from_micros(50));
        // Every group of commits gets a file of its own.
        let options = Options { log_limit_bytes: 0, ..crowd_options() };
        let store = Store::open_on(slow.clone(), directory(), options).expect("new");
        let callers = Callers::new();
        let (refused, panicked) = callers.put_while(&store, || {
            callers.wait_for(300);
            hook(&slow, "log", || panic!("planted"));
        });
        assert!(panicked <= 1 && refused + panicked == CALLERS, "{refused}, {panicked}");
        let acknowledged = callers.counts();
        holds(&store, &acknowledged, 0, "before it is closed");
        assert!(matches!(store.put_vertex(1, None, &[]), Err(CommitError::Durability { .. })));
        store.close().expect("nothing to sync");
        holds(&reopened(&disk), &acknowledged, 1, "opened again");
    }
}
