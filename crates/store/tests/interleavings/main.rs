//! The commit queue, the stages, the threads that lead and sync for many callers, the newest version, the count of writers and what
//! frees blocks under a scheduler that tries the orders in which threads may come (shuttle): the very source files of the store,
//! compiled against primitives that hand every step to the scheduler, atomics included. What they lean on is stood in for.
//!
//! A schedule that fails is printed as a string; `shuttle::replay` runs it again.

mod committing;
mod publishing;
mod reclaiming;
mod remembering;

/// What the queue answers with.
mod error {
    pub(crate) use evergraph_store::CommitError;
}

mod commits {
    #[path = "../../../src/commits/aside.rs"]
    pub(crate) mod aside;
    pub(crate) mod commit;
    #[path = "../../../src/commits/queue.rs"]
    pub(crate) mod queue;
    // What the applier keeps nobody looks at here.
    #[allow(dead_code)]
    #[path = "../../../src/commits/stages.rs"]
    pub(crate) mod stages;
    #[path = "../../../src/commits/writers.rs"]
    pub(crate) mod writers;
}

mod lists {
    pub(crate) mod heap;
    pub(crate) mod merge;
    pub(crate) mod spares;
}

mod system {
    /// Where many blocks are freed.
    pub(crate) mod pool {
        pub(crate) fn in_pool<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
    }
    pub(crate) mod sync;
}

mod upkeep {
    /// Whom the death of a version tells: nobody, here.
    pub(crate) mod maintenance {
        use std::sync::Arc;

        pub(crate) const GIVE_BACK_BYTES_MIN: usize = 1 << 20;

        #[derive(Debug)]
        pub(crate) struct Signal;

        impl Signal {
            pub(crate) fn give_back(self: &Arc<Self>) {}
        }
    }
}

mod versions {
    #[path = "../../../src/versions/current.rs"]
    pub(crate) mod current;
    pub(crate) mod reader_slots;
    // Of a stand-in for a block nothing is unsafe, and not all is asked.
    #[allow(dead_code, unused_unsafe)]
    #[path = "../../../src/versions/reclaim.rs"]
    pub(crate) mod reclaim;
    pub(crate) mod version;
}

use evergraph_proof::tally;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

use commits::queue::Pace;
use committing::Fault;

/// Runs a body in many orders: random ones, and those with few changes of priority, which find other bugs.
fn in_many_orders(orders: usize, body: impl Fn() + Copy + Send + Sync + 'static) {
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        let mut config = Config::default();
        // The orders of steps are tried, not the reorderings of weak memory: docs/durability.md says so.
        config.silence_warnings = true;
        Runner::new(scheduler, config).run(body);
    };
    run(Box::new(RandomScheduler::new(orders)));
    run(Box::new(PctScheduler::new(3, orders)));
    tally("interleavings", 2 * orders as u64);
}

fn committing_in_many_orders(orders: usize) {
    for pace in [Pace::Disk, Pace::Memory] {
        in_many_orders(orders, move || committing::everyone_is_answered(pace, Fault::None));
        in_many_orders(orders, move || committing::what_is_handed_in_is_committed(pace));
        in_many_orders(orders, move || committing::a_leader_that_gives_up_leaves_nobody_waiting(pace));
        in_many_orders(orders, move || {
            committing::nothing_is_applied_after_a_group_that_was_interrupted(pace);
        });
    }
    in_many_orders(orders, committing::nothing_is_applied_after_a_sync_that_failed);
    in_many_orders(orders, committing::everyone_of_a_crowd_is_answered);
}

#[test]
fn the_queue_and_the_stages() {
    committing_in_many_orders(2_000);
}

#[test]
#[should_panic(expected = "accepted")]
fn groups_that_leave_the_committer_early_are_noticed() {
    in_many_orders(2_000, || committing::everyone_is_answered(Pace::Memory, Fault::LeaveEarly));
}

#[test]
#[should_panic(expected = "accepted")]
fn groups_that_leave_the_syncer_early_are_noticed() {
    in_many_orders(2_000, || committing::everyone_is_answered(Pace::Disk, Fault::LeaveEarly));
}

#[test]
fn the_writers() {
    in_many_orders(2_000, remembering::what_open_transactions_need_is_remembered);
}

#[test]
fn the_newest_version() {
    in_many_orders(2_000, publishing::what_is_guarded_is_alive);
}

#[test]
fn what_frees_blocks() {
    in_many_orders(2_000, reclaiming::what_is_read_is_not_freed);
}

#[test]
#[ignore = "long"]
fn soak_interleavings() {
    committing_in_many_orders(200_000);
    in_many_orders(200_000, remembering::what_open_transactions_need_is_remembered);
    in_many_orders(200_000, publishing::what_is_guarded_is_alive);
    in_many_orders(200_000, reclaiming::what_is_read_is_not_freed);
}
