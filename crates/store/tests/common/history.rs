//! A recorded run of a workload: what is promised and what may be found at every operation of its disk.

use evergraph_disk::{CrashPlan, SimDisk};
use evergraph_store::{Durability, Version, check_on};
use evergraph_types::Sequence;

use super::{Action, Case, Model, Runner, directory, dump, on};

/// What was true when an action returned.
#[derive(Debug)]
struct Moment {
    /// The number of operations of the disk so far.
    operations: u64,
    sequence: Sequence,
    /// Whether everything up to here is promised to survive from here on.
    is_durable: bool,
    model: Model,
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
            Some(Action::Add { edges, .. }) if edges.len() >= runner.case().bulk_edges => true,
            Some(_) => runner.case().durability == Durability::Sync,
        };
        let operations = runner.disk.operations();
        self.moments.push(Moment { operations, sequence, is_durable, model: runner.model.clone() });
    }

    /// Checks a version found after a crash at this operation, and gives the model of what was found: the state
    /// after some action, no earlier than the last promised one and no later than the one under way.
    pub(crate) fn check(&self, operations: u64, version: &std::sync::Arc<Version>, what: &str) -> &Model {
        let returned = self.moments.partition_point(|moment| moment.operations <= operations);
        let promised = self.moments[..returned].iter().rev().find(|moment| moment.is_durable);
        let least = promised.map_or(0, |moment| moment.sequence);
        let most = self.moments[returned.min(self.moments.len() - 1)].sequence;
        let found = version.sequence();
        assert!(found >= least, "{what}: commit {least} was promised, {found} is there");
        assert!(found <= most, "{what}: commit {found} is there, {most} was under way");
        let moment = self.moments.iter().find(|moment| moment.sequence == found);
        let model = &moment.unwrap_or_else(|| panic!("{what}: no action led to {found}")).model;
        assert_eq!(dump(version), model.dump(), "{what}");
        model
    }

    /// Opens each disk that a crash at each operation may leave, as far as the plans go, checks what is found, and
    /// hands it on. Gives the number of crash states.
    pub(crate) fn crash_everywhere(
        &self,
        disk: &SimDisk,
        case: Case,
        step: u64,
        plans: impl Fn(u64) -> Vec<CrashPlan>,
        mut go_on: impl FnMut(Runner, &str),
    ) -> u64 {
        let mut states = 0;
        let mut replay = disk.replay();
        let first = self.moments[0].operations;
        loop {
            let operations = replay.operations();
            if operations >= first && (operations - first).is_multiple_of(step) {
                for plan in plans(operations) {
                    let what = format!("operation {operations}, {plan:?}, {case:?}");
                    let crashed = replay.crash(plan);
                    if states % 8 == 0 {
                        let report = check_on(on(&crashed), directory());
                        assert!(
                            report.as_ref().is_ok_and(|report| report.is_healthy()),
                            "{what}: {report:?}"
                        );
                    }
                    let mut runner = Runner::resume(case, crashed, Model::default())
                        .unwrap_or_else(|failure| panic!("{what}: {failure:?}"));
                    let version = runner.store.version().expect("open");
                    runner.model = self.check(operations, &version, &what).clone();
                    states += 1;
                    go_on(runner, &what);
                }
            }
            if !replay.advance() {
                return states;
            }
        }
    }
}
