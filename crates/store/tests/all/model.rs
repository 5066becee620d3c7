//! Random actions give what a naive model gives: transactions with reads of their own writes, batches, bulk loads,
//! archiving, reopening; snapshots show what they showed, whatever follows.

use crate::common::{Action, Case, Runner, Write, actions, case, for_all};
use evergraph_proof::tally;

fn holds(cases: u32, longest: usize) {
    for_all(cases, &(case(), actions(longest)), |(case, actions)| run(case, &actions));
}

fn run(case: Case, actions: &[Action]) {
    let mut runner = Runner::new(case);
    actions.iter().for_each(|action| runner.run(action));
    runner.run(&Action::Compact);
    if case.on_disk {
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
    holds(2000, 60);
    tally("runs against the model", 2000);
}

#[test]
fn a_second_bulk_load_keeps_what_older_segments_hold() {
    let case = Case {
        keys: evergraph_types::KeyKind::Dense,
        bulk_edges: 6,
        memory_limit: None,
        keeps_history: false,
        on_disk: true,
        durability: Default::default(),
        format: evergraph_store::ListFormat::Compact,
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

/// Each way memory is handed around, in few steps: what Miri runs in minutes.
#[test]
fn a_small_store_is_its_model() {
    let put =
        |src, dst, edge_type| Write::PutEdge { src, dst, edge_type, given: vec![(1, Some(5)), (0, None)] };
    let hub = |edge_type, spokes| Action::Hub { edge_type, hub: 0, spokes, columns: 3, reverse: false };
    let name = |key| Write::PutVertex { key, label: Some(0), given: vec![(1, Some(6)), (0, Some(-1))] };
    let durability = evergraph_store::Durability::Sync;
    let keys = evergraph_types::KeyKind::Text;
    let case = Case {
        keys,
        bulk_edges: 600,
        memory_limit: None,
        keeps_history: false,
        on_disk: true,
        durability,
        format: Default::default(),
    };
    let mut runner = Runner::new(case);
    let actions = [
        Action::Commit(vec![put(0, 1, 0), put(0, 0, 2), put(2, 0, 3), name(1), name(2)]),
        Action::Keep,
        hub(1, 100..640),
        hub(0, 100..640),
        Action::Checkpoint,
        Action::Keep,
        Action::Commit(vec![put(0, 120, 0), put(0, 120, 1), name(1), Write::DeleteVertex { key: 2 }]),
        Action::Thin { edge_type: 0, hub: 0, spokes: 100..640, step: 3 },
        Action::Compact,
        Action::One(name(2)),
        Action::Reopen,
        Action::Commit(vec![put(0, 121, 0), name(2), Write::DeleteEdge { src: 0, dst: 120, edge_type: 1 }]),
    ];
    actions.iter().for_each(|action| {
        runner.try_run(action).unwrap_or_else(|failure| panic!("{failure:?} at {action:?}"));
    });
    runner.compare(&"all of it");
    runner.finish();
}
