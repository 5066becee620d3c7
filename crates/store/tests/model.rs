//! Random actions give what a naive model gives: transactions with reads of their own writes, batches, bulk loads,
//! archiving, reopening; snapshots show what they showed, whatever follows.

mod common;

use common::{Action, Case, Runner, actions, case};
use proptest::test_runner::{Config, TestRunner};

fn holds(cases: u32, longest: usize) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&(case(), actions(longest)), |(case, actions)| {
        run(case, &actions);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

fn run(case: Case, actions: &[Action]) {
    let mut runner = Runner::new(case);
    actions.iter().for_each(|action| runner.run(action));
    if case.on_disk {
        runner.run(&Action::Compact);
        runner.run(&Action::Reopen);
    }
    runner.finish();
}

#[test]
fn a_store_is_its_model() {
    holds(96, 24);
}

#[test]
#[ignore = "long"]
fn soak_a_store_is_its_model() {
    holds(4000, 60);
}
#[test]
fn a_second_bulk_load_keeps_what_older_segments_hold() {
    let case = Case {
        keys: evergraph_types::KeyKind::Dense,
        bulk_edges: 6,
        on_disk: true,
        durability: Default::default(),
    };
    let add = |from: u16| Action::Add {
        edge_type: 0,
        edges: (0..8).map(|row| (row % 3, from + row)).collect(),
        columns: 0,
        parts: 2,
    };
    let mirror = || Action::Add {
        edge_type: 2,
        edges: vec![(0, 0), (1, 0), (0, 1), (2, 1), (1, 2), (0, 0)],
        columns: 0,
        parts: 1,
    };
    run(case, &[Action::Declare, add(0), add(4), mirror(), Action::Checkpoint, mirror(), add(0)]);
}
