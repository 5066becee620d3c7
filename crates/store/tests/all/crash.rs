//! Power lost at every operation of a workload, and again while what was found is worked with: each commit that was
//! acknowledged as durable is there whole, every other whole or not at all, and the store goes on.

use crate::common::{
    Action, Case, Dump, History, Model, Runner, States, Write, altering_actions, declare_for_commits, dump,
    in_order, model_at, open, options, random_commit,
};
use evergraph_disk::{CrashPlan, SimDisk};
use evergraph_proof::{Random, tally};
use evergraph_store::{Durability, ListFormat, Options, parallel_map};
use evergraph_types::KeyKind;
use parking_lot::Mutex;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::sync::atomic::{AtomicU64, Ordering};

const CASE: Case = Case {
    keys: KeyKind::Text,
    bulk_edges: 10,
    memory_limit: None,
    keeps_history: false,
    on_disk: true,
    durability: Durability::Sync,
    format: ListFormat::Compact,
};

fn put_edge(src: u16, dst: u16, edge_type: usize) -> Write {
    Write::PutEdge { src, dst, edge_type, given: vec![(src as usize % 5, Some(dst as i8)), (1, Some(3))] }
}

fn put_vertex(key: u16) -> Write {
    Write::PutVertex {
        key,
        label: Some(usize::from(key % 2)),
        given: vec![(1, Some(key as i8)), (0, Some(-1))],
    }
}

/// Every kind of commit, with archives of every kind between them.
fn workload() -> Vec<Action> {
    let few = |from: u16| (0..5).map(|row| (from + row, from + 2 * row)).collect::<Vec<_>>();
    let many = |from: u16| (0..30).map(|row| (from + row % 7, from + row % 5)).collect::<Vec<_>>();
    vec![
        Action::Declare,
        Action::Commit(vec![put_vertex(1), put_vertex(2), put_edge(1, 2, 0), put_edge(1, 1, 3)]),
        Action::One(put_edge(2, 3, 0)),
        Action::Add { edge_type: 1, edges: few(0), columns: 0b10, parts: 2 },
        Action::Checkpoint,
        Action::Commit(vec![put_edge(4, 1, 2), Write::DeleteEdge { src: 1, dst: 2, edge_type: 0 }]),
        Action::Add { edge_type: 0, edges: many(3), columns: 0, parts: 2 },
        Action::One(Write::DeleteVertex { key: 3 }),
        Action::Add { edge_type: 1, edges: many(1), columns: 0b11, parts: 1 },
        Action::Checkpoint,
        Action::Delete { edge_type: 0, edges: few(3) },
        Action::One(put_vertex(3)),
        Action::Reopen,
        Action::Hub { edge_type: 2, hub: 0, spokes: 100..720, columns: 0, reverse: true },
        Action::Commit(vec![put_edge(0, 101, 2), Write::DeleteVertex { key: 2 }, put_vertex(2)]),
        Action::Checkpoint,
        Action::One(put_edge(0, 105, 2)),
        Action::DropProperty { edge_type: Some(1), property: 1 },
        Action::AddProperty { edge_type: Some(1), property: 1 },
        Action::RenameProperty { edge_type: None, property: 0 },
        Action::RenameType { edge_type: 3 },
        Action::Compact,
        Action::DropType { edge_type: 0 },
        Action::Thin { edge_type: 2, hub: 0, spokes: 100..720, step: 1 },
        Action::Commit((0..8).map(|key| put_edge(key, key + 1, 1)).collect()),
        Action::Reopen,
        Action::Commit((0..8).map(|key| Write::DeleteVertex { key }).collect()),
        Action::Checkpoint,
        Action::Reopen,
    ]
}

/// What is done after a crash.
fn afterwards() -> Vec<Action> {
    vec![
        Action::Commit(vec![put_vertex(5), put_edge(6, 7, 0)]),
        Action::Checkpoint,
        Action::Add {
            edge_type: 0,
            edges: (0..12).map(|row| (row, row + 1)).collect(),
            columns: 0,
            parts: 1,
        },
        Action::One(put_edge(7, 8, 0)),
        Action::Compact,
    ]
}

fn plans(seeds: u64, operations: u64) -> Vec<CrashPlan> {
    let random = (0..seeds).map(|seed| CrashPlan::Random(operations << 8 | seed));
    [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced].into_iter().chain(random).collect()
}

/// Where power is lost in a workload, and what is left then.
#[derive(Clone, Copy)]
struct Crashes {
    /// So many operations of the workload, evenly spread, if it has more.
    most: u64,
    /// So many disks of random outcome for each, beside those that keep all and nothing.
    seeds: u64,
    /// One of so many states is worked with and crashed once more.
    again: u64,
}

const EVERYWHERE: Crashes = Crashes { most: u64::MAX, seeds: 1, again: 60 };

/// Runs the workload on a new store and crashes it. Gives the number of different crash states.
fn crash(case: Case, actions: &[Action], crashes: Crashes) -> u64 {
    let Crashes { most, seeds, again } = crashes;
    let mut runner = start(case);
    let history = History::record(&mut runner, actions);
    let disk = runner.disk.clone();
    drop(runner);
    let (mut count, mut first, mut second) = (0, States::default(), States::default());
    history.crash_everywhere(
        &disk,
        case,
        most,
        |at| plans(seeds, at),
        &mut first,
        |mut runner, what| {
            count += 1;
            if count % again == 0 {
                let before = second.count();
                let history = History::record(&mut runner, &afterwards());
                let disk = runner.disk.clone();
                drop(runner);
                let plan = |at: u64| vec![CrashPlan::Random(at ^ count << 10)];
                history.crash_everywhere(&disk, case, 50, plan, &mut second, |mut runner, _| {
                    runner.run(&Action::One(put_edge(1, 2, 0)));
                });
                assert!(second.count() > before, "{what}");
            }
        },
    );
    first.count() + second.count()
}

fn start(case: Case) -> Runner {
    Runner::resume(case, SimDisk::new(1), Model::default()).unwrap_or_else(|failure| panic!("{failure:?}"))
}

#[test]
fn what_was_acknowledged_survives_a_crash_at_every_operation() {
    let cases = [KeyKind::Text, KeyKind::Dense].map(|keys| Case { keys, ..CASE });
    let states = cases
        .map(|case| crash(case, &workload(), Crashes { seeds: 9, again: 12, ..EVERYWHERE }))
        .iter()
        .sum::<u64>();
    assert!(states >= 2000, "{states} states");
}

/// Keys come and go, so that ids are given to others: archives that let go of keys and say so, keys that come again before and after
/// that, and loads between.
fn coming_and_going() -> Vec<Action> {
    let delete =
        |keys: std::ops::Range<u16>| Action::Commit(keys.map(|key| Write::DeleteVertex { key }).collect());
    let put = |keys: std::ops::Range<u16>| {
        Action::Commit(keys.map(|key| put_edge(key, key + 1, usize::from(key % 4))).collect())
    };
    let many = |from: u16| (0..12).map(|row| (from + row % 7, from + row % 5)).collect::<Vec<_>>();
    vec![
        Action::Declare,
        put(0..6),
        Action::Checkpoint,
        delete(1..5),
        Action::Compact,
        put(20..23),
        Action::One(put_vertex(3)),
        delete(20..22),
        Action::Compact,
        Action::One(put_edge(20, 2, 0)),
        Action::Add { edge_type: 0, edges: many(30), columns: 0, parts: 1 },
        delete(30..34),
        Action::Compact,
        Action::Add { edge_type: 1, edges: vec![(40, 41), (42, 30)], columns: 0, parts: 1 },
        Action::Checkpoint,
        put(50..53),
        Action::Reopen,
        delete(40..42),
        Action::Compact,
        Action::One(put_edge(40, 60, 1)),
        Action::Add { edge_type: 0, edges: many(61), columns: 0, parts: 1 },
        Action::Checkpoint,
    ]
}

#[test]
fn ids_that_are_given_to_other_keys_survive_a_crash_at_every_operation() {
    let cases = [KeyKind::Text, KeyKind::Int64].map(|keys| Case { keys, ..CASE });
    let states = cases
        .map(|case| crash(case, &coming_and_going(), Crashes { seeds: 5, again: 9, ..EVERYWHERE }))
        .iter()
        .sum::<u64>();
    assert!(states >= 800, "{states} states");
}

#[test]
fn loads_larger_than_memory_survive_a_crash_at_every_operation() {
    let states = crash(Case { memory_limit: Some(0), ..CASE }, &workload(), EVERYWHERE);
    assert!(states > 4000, "{states} states");
}

#[test]
fn loads_in_parts_of_the_log_survive_a_crash_at_every_operation() {
    let case = Case { memory_limit: Some(400), keeps_history: true, ..CASE };
    let states = crash(case, &workload(), EVERYWHERE);
    assert!(states > 4000, "{states} states");
}

/// So many that groups are large enough to be applied while they are synced.
const THREADS: u64 = 9;

/// Threads commit, in groups and as bulk loads, while the store archives; power is lost at every operation of the disk:
/// what is found is the outcome of the first commits in their order, of all at least that were acknowledged by then.
fn crash_threads(seed: u64, turns: u64, seeds: u64) -> u64 {
    let disk = SimDisk::new(seed);
    let options = || Options { log_limit_bytes: 4000, bulk_edges: 6, ..options() };
    let store = open(&disk, options());
    let model = declare_for_commits(&store);
    let declared = (store.version().expect("open").sequence(), disk.operations());
    let (commits, acknowledged) = (Mutex::new(Vec::new()), Mutex::new(vec![declared]));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, disk, commits, acknowledged) = (&store, &disk, &commits, &acknowledged);
            scope.spawn(move || {
                let mut random = Random::new(seed << 8 | thread);
                for _ in 0..turns {
                    let Some(made) = random_commit(store, &mut random) else { continue };
                    acknowledged.lock().push((made.sequence, disk.operations()));
                    commits.lock().push(made);
                }
            });
        }
        for round in 0..6 {
            let done = if round == 4 { store.compact() } else { store.checkpoint() };
            done.expect("a good disk");
        }
    });
    drop(store);
    let mut commits = commits.into_inner();
    in_order(&mut commits);
    let mut acknowledged = acknowledged.into_inner();
    acknowledged.sort_unstable();
    let dump_at = |(sequence, _): &(u64, u64)| model_at(&model, &commits, *sequence).dump();
    let dumps: Vec<Dump> = acknowledged.iter().map(dump_at).collect();
    let newest = acknowledged[acknowledged.len() - 1].0;
    let (mut states, mut replay) = (States::default(), disk.replay());
    loop {
        let operations = replay.operations();
        let known = acknowledged.iter().filter(|(_, at)| *at <= operations);
        let least = known.map(|(sequence, _)| *sequence).max().unwrap_or(0);
        for plan in plans(seeds, operations).into_iter().filter(|_| operations >= declared.1) {
            let what = format!("threads with seed {seed}, operation {operations}, {plan:?}");
            states.visit(&replay.crash(plan), options(), (least, newest), &what, |_, version| {
                // A commit that changed nothing has the sequence of the one before.
                let at = acknowledged.partition_point(|(sequence, _)| *sequence <= version.sequence());
                assert_eq!(dump(version), dumps[at - 1], "{what}");
            });
        }
        if !replay.advance() {
            return states.count();
        }
    }
}

#[test]
fn what_was_acknowledged_to_threads_survives() {
    let mut states = 0;
    // How many states a run has depends on how the threads fall into groups.
    for seed in 0.. {
        states += crash_threads(seed, 25, 4);
        if states > 2000 {
            break;
        }
        assert!(seed < 30, "{states} states");
    }
}

#[test]
fn with_interval_and_none_a_prefix_survives_that_ends_no_earlier_than_the_last_archive() {
    for durability in [Durability::Interval, Durability::None] {
        crash(Case { durability, ..CASE }, &workload(), EVERYWHERE);
        let kept = Case { durability, memory_limit: Some(0), keeps_history: true, ..CASE };
        crash(kept, &workload(), EVERYWHERE);
    }
}

#[test]
fn a_store_that_was_being_created_opens() {
    let runner = start(CASE);
    let mut replay = runner.disk.replay();
    loop {
        for plan in plans(20, replay.operations()) {
            let mut runner = Runner::resume(CASE, replay.crash(plan), Model::default())
                .unwrap_or_else(|failure| panic!("{plan:?}: {failure:?}"));
            afterwards().iter().for_each(|action| runner.run(action));
        }
        if !replay.advance() {
            break;
        }
    }
}

/// Workloads drawn from the actions of the model test.
fn random_workloads(count: usize, longest: usize, crashes: Crashes) -> u64 {
    let mut random = TestRunner::deterministic();
    let strategy = (crate::common::case(), altering_actions(longest));
    let mut draw = || strategy.new_tree(&mut random).expect("a workload").current();
    let workloads: Vec<_> = (0..count).map(|_| draw()).collect();
    let durabilities = [Durability::Sync, Durability::Interval, Durability::None];
    let run = |(number, (case, actions)): (usize, (Case, Vec<Action>))| {
        let durability = durabilities[number % durabilities.len()];
        crash(Case { on_disk: true, durability, ..case }, &actions, crashes)
    };
    parallel_map(workloads.into_iter().enumerate(), run).iter().sum()
}

#[test]
fn random_workloads_survive() {
    random_workloads(5, 14, Crashes { again: 40, ..EVERYWHERE });
}

#[test]
#[ignore = "long"]
fn soak_random_workloads_survive() {
    let in_threads = AtomicU64::new(0);
    parallel_map(100..1000, |seed| {
        if in_threads.load(Ordering::Relaxed) <= 90_000 {
            in_threads.fetch_add(crash_threads(seed, 60, 12), Ordering::Relaxed);
        }
    });
    let in_threads = in_threads.into_inner();
    assert!(in_threads > 90_000, "{in_threads} states");
    let states = in_threads + random_workloads(300, 30, Crashes { most: 200, seeds: 4, again: 40 });
    tally("crash states", states);
    assert!(states > 100_000, "{states} states");
}
