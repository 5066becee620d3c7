//! A recorded run of a workload: what is promised and what may be found at every operation of its disk; and the disks
//! that were looked into already.

use std::collections::HashMap;
use std::sync::Arc;

use evergraph_disk::{CrashPlan, SimDisk};
use evergraph_store::{Durability, Options, Store, Version, check_on};
use evergraph_types::Sequence;

use super::{Action, Case, Dump, Model, Runner, directory, dump, on, try_open};

/// The disks that crashes left so far, and what was found on each: no disk is looked into twice.
#[derive(Debug, Default)]
pub(crate) struct States {
    found: HashMap<u64, Sequence>,
}

impl States {
    /// How many different disks there were.
    pub(crate) fn count(&self) -> u64 {
        self.found.len() as u64
    }

    /// The commit that is found on a crashed disk, which must lie between these two. The first time the disk is opened
    /// and `look` compares what is there; every eighth is checked as a whole before.
    pub(crate) fn visit(
        &mut self,
        disk: &SimDisk,
        options: Options,
        (least, most): (Sequence, Sequence),
        what: &str,
        look: impl FnOnce(Store, &Arc<Version>),
    ) {
        let digest = disk.digest();
        let known = self.found.get(&digest).copied();
        let found = known.unwrap_or_else(|| {
            if self.found.len().is_multiple_of(8) {
                let report = check_on(on(disk), directory());
                assert!(report.as_ref().is_ok_and(|report| report.is_healthy()), "{what}: {report:?}");
            }
            let store = try_open(disk, options).unwrap_or_else(|error| panic!("{what}: {error}"));
            let version = store.version().expect("open");
            let found = version.sequence();
            self.found.insert(digest, found);
            look(store, &version);
            found
        });
        assert!(found >= least, "{what}: commit {least} was promised, {found} is there");
        assert!(found <= most, "{what}: commit {found} is there, {most} was under way");
    }
}

/// What was true when an action returned.
#[derive(Debug)]
struct Moment {
    /// The number of operations of the disk so far.
    operations: u64,
    sequence: Sequence,
    /// Whether everything up to here is promised to survive from here on.
    is_durable: bool,
    model: Model,
    dump: Dump,
}

/// Whether a batch of so many edges is surely committed as a segment.
fn is_segment(case: Case, edges: usize) -> bool {
    edges >= case.bulk_edges && (!case.keeps_history || case.memory_limit == Some(0))
}

/// The run.
#[derive(Debug)]
pub(crate) struct History {
    moments: Vec<Moment>,
}

impl History {
    /// Carries out the actions one after the other, from the state the runner is in.
    pub(crate) fn record(runner: &mut Runner, actions: &[Action]) -> Self {
        let mut history = History { moments: Vec::new() };
        history.note(runner, None);
        for action in actions {
            runner.run(action);
            history.note(runner, Some(action));
        }
        history
    }

    /// Notes what the runner reached.
    fn note(&mut self, runner: &Runner, action: Option<&Action>) {
        let sequence = runner.store.version().expect("open").sequence();
        let is_durable = match action {
            None | Some(Action::Checkpoint | Action::Compact | Action::Reopen) => true,
            Some(Action::Add { edges, .. }) if is_segment(runner.case(), edges.len()) => true,
            Some(_) => runner.case().durability == Durability::Sync,
        };
        let operations = runner.disk.operations();
        let (model, dump) = (runner.model.clone(), runner.model.dump());
        self.moments.push(Moment { operations, sequence, is_durable, model, dump });
    }

    /// The oldest and the newest commit that a crash at this operation may leave: the last promised one, and the one
    /// under way.
    fn bounds(&self, operations: u64) -> (Sequence, Sequence) {
        let returned = self.moments.partition_point(|moment| moment.operations <= operations);
        let promised = self.moments[..returned].iter().rev().find(|moment| moment.is_durable);
        let least = promised.map_or(0, |moment| moment.sequence);
        (least, self.moments[returned.min(self.moments.len() - 1)].sequence)
    }

    /// Checks that a version found after a crash is the state after some action, and gives the model of it.
    fn check(&self, version: &Arc<Version>, what: &str) -> &Model {
        let found = version.sequence();
        let moment = self.moments.iter().find(|moment| moment.sequence == found);
        let moment = moment.unwrap_or_else(|| panic!("{what}: no action led to {found}"));
        assert_eq!(dump(version), moment.dump, "{what}");
        &moment.model
    }

    /// Opens each disk that a crash at each operation may leave, as far as the plans go, checks what is found, and
    /// hands on those that were not met before. Of more operations than `most`, so many are tried, evenly spread.
    pub(crate) fn crash_everywhere(
        &self,
        disk: &SimDisk,
        case: Case,
        most: u64,
        plans: impl Fn(u64) -> Vec<CrashPlan>,
        states: &mut States,
        mut go_on: impl FnMut(Runner, &str),
    ) {
        let mut replay = disk.replay();
        let first = self.moments[0].operations;
        let step = (disk.operations() - first).div_ceil(most).max(1);
        loop {
            let operations = replay.operations();
            if operations >= first && (operations - first).is_multiple_of(step) {
                for plan in plans(operations) {
                    let what = format!("operation {operations}, {plan:?}, {case:?}");
                    let crashed = replay.crash(plan);
                    let bounds = self.bounds(operations);
                    states.visit(&crashed, Runner::options(case), bounds, &what, |store, version| {
                        let model = self.check(version, &what).clone();
                        go_on(Runner::of(case, crashed.clone(), store, model), &what);
                    });
                }
            }
            if !replay.advance() {
                return;
            }
        }
    }
}
