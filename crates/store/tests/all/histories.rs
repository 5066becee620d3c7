//! Histories of transactions that append to lists and read them, on real stores, judged from what they saw alone: by
//! threads, in every order of the steps of small transactions, and through crashes.
//!
//! ```text
//!  Shared(n)      the neighbors of vertex n over `holds`, a multi type      an append is an edge
//!  Exclusive(n)   n even: a property of vertex n                            an append is a put of the longer text
//!                 n odd: a property of the symmetric edge n -- n + 1000
//! ```

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{open, options};
use evergraph_disk::{CrashPlan, SimDisk};
use evergraph_proof::{Level, List, Op, Outcome, Random, Transaction, check, tally, violations};
use evergraph_store::{
    CommitError, Durability, Isolation, Options, Store, Transaction as Open, TransactionOptions,
};
use evergraph_types::{Direction, EdgeTypeOptions, Key, Value};
use parking_lot::Mutex;

const LISTS: [List; 8] = [
    List::Shared(0),
    List::Shared(1),
    List::Shared(2),
    List::Shared(3),
    List::Exclusive(10),
    List::Exclusive(11),
    List::Exclusive(12),
    List::Exclusive(13),
];

/// Items are vertices behind these.
const ITEMS: i64 = 1 << 20;

fn level_of(isolation: Isolation) -> Level {
    match isolation {
        Isolation::Snapshot => Level::Snapshot,
        Isolation::Serializable => Level::Serializable,
    }
}

/// So that transactions do not conflict over the schema.
fn declare(store: &Store) {
    let mut transaction = store.begin().expect("open");
    let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
    transaction.create_edge_type("holds", multi).expect("new");
    let symmetric = EdgeTypeOptions { symmetric: true, ..EdgeTypeOptions::default() };
    transaction.create_edge_type("pair", symmetric).expect("new");
    transaction.put_edge(-1, -1, "pair", &[("items", "".into())]).expect("it fits");
    transaction.put_vertex(-1, None, &[("items", "".into())]).expect("it fits");
    transaction.commit().expect("alone");
}

fn in_text(properties: Option<Vec<(String, Value)>>) -> Vec<u64> {
    let text = match properties.and_then(|mut properties| properties.pop()) {
        Some((_, Value::Text(text))) => text,
        _ => String::new(),
    };
    text.split_whitespace().map(|item| item.parse().expect("a number")).collect()
}

/// The two ends of the edge that holds an exclusive list, in either order.
fn ends(list: u32, turned: bool) -> (i64, i64) {
    let (one, two) = (i64::from(list), i64::from(list) + 1000);
    if turned { (two, one) } else { (one, two) }
}

fn read(open: &Open, list: List) -> Vec<u64> {
    match list {
        List::Shared(list) => {
            let items = open.neighbors(i64::from(list), "holds", Direction::Out).unwrap_or_default();
            let item = |key| match key {
                Key::Int(key) => (key - ITEMS) as u64,
                Key::Text(text) => panic!("{text}"),
            };
            items.into_iter().map(item).collect()
        }
        List::Exclusive(list) if list.is_multiple_of(2) => {
            in_text(open.vertex(i64::from(list)).map(|vertex| vertex.properties))
        }
        List::Exclusive(list) => {
            let (src, dst) = ends(list, true);
            in_text(open.edges(src, dst, "pair").pop())
        }
    }
}

fn append(open: &mut Open, list: List, item: u64) {
    let appended = |list| {
        let mut items: Vec<String> = read(open, list).iter().map(u64::to_string).collect();
        items.push(item.to_string());
        Value::Text(items.join(" "))
    };
    let done = match list {
        List::Shared(list) => open.put_edge(i64::from(list), ITEMS + item as i64, "holds", &[]),
        List::Exclusive(key) if key.is_multiple_of(2) => {
            let items = appended(list);
            open.put_vertex(i64::from(key), None, &[("items", items)])
        }
        List::Exclusive(key) => {
            let (items, (src, dst)) = (appended(list), ends(key, item.is_multiple_of(2)));
            open.put_edge(src, dst, "pair", &[("items", items)])
        }
    };
    done.expect("it fits");
}

/// What a run shares: a clock, and who has which number.
#[derive(Default)]
struct Shared {
    clock: AtomicU64,
    items: AtomicU64,
    processes: AtomicU64,
    history: Mutex<Vec<Transaction>>,
}

impl Shared {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// One random transaction. Gives how it ended; `None` if the store is no more.
    fn transaction(
        &self,
        store: &Store,
        isolation: Isolation,
        process: u32,
        random: &mut Random,
    ) -> Option<()> {
        let options = TransactionOptions { isolation, ..TransactionOptions::default() };
        let began = self.now();
        let mut open = store.begin_with(options).ok()?;
        let mut ops = Vec::new();
        for _ in 0..1 + random.below(5) {
            // Some lists are busier than others.
            let list = LISTS[random.below(random.clone().below(8) + 1) as usize];
            if random.below(2) == 0 {
                ops.push(Op::Read { list, items: read(&open, list) });
            } else {
                let item = self.items.fetch_add(1, Ordering::Relaxed);
                append(&mut open, list, item);
                ops.push(Op::Append { list, item });
            }
            if random.below(4) == 0 {
                std::thread::yield_now();
            }
        }
        let outcome = match random.below(16) {
            0 => {
                open.rollback();
                Outcome::Aborted
            }
            _ => match open.commit() {
                Ok(_) => Outcome::Committed,
                Err(CommitError::Conflict { .. }) => Outcome::Aborted,
                Err(CommitError::Closed(_) | CommitError::Durability { .. }) => Outcome::Unknown,
                Err(error) => panic!("{error}"),
            },
        };
        let ended = self.now();
        self.history.lock().push(Transaction { process, began, ended, outcome, ops });
        Some(())
    }

    /// Threads with a transaction after the other, while something else is done.
    fn run(&self, store: &Store, isolation: Isolation, threads: u64, turns: u64, meanwhile: impl FnOnce()) {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let process = self.processes.fetch_add(1, Ordering::Relaxed);
                    let mut random = Random::new(process << 32 | turns);
                    for _ in 0..turns {
                        if self.transaction(store, isolation, process as u32, &mut random).is_none() {
                            break;
                        }
                    }
                });
            }
            meanwhile();
        });
    }

    /// The history, and what is there at its end.
    fn finish(self, store: &Store) -> Vec<Transaction> {
        let began = self.now();
        let open = store.begin().expect("open");
        let ops = LISTS.iter().map(|&list| Op::Read { list, items: read(&open, list) }).collect();
        let process = self.processes.fetch_add(1, Ordering::Relaxed) as u32;
        let ended = self.now();
        let mut history = self.history.into_inner();
        history.push(Transaction { process, began, ended, outcome: Outcome::Committed, ops });
        history
    }
}

#[track_caller]
fn judge(history: &[Transaction], isolation: Isolation, what: &str) {
    let found = violations(history, level_of(isolation));
    assert!(found.is_empty(), "{what}, {isolation:?}: {}", found[0]);
}

const ISOLATIONS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

/// Histories in memory, on a simulated disk and on a real one, both archiving. Gives how many transactions.
fn histories(threads: u64, turns: u64) -> u64 {
    let place = tempfile::tempdir().expect("a directory");
    let mut transactions = 0;
    for isolation in ISOLATIONS {
        let small = Options { log_limit_bytes: 20_000, durability: Durability::None, ..Options::default() };
        let stores = [
            ("in memory", Store::in_memory(options())),
            ("simulated disk", open(&SimDisk::new(3), Options { log_limit_bytes: 5000, ..options() })),
            ("disk", Store::open(place.path().join(isolation.name()), small).expect("new")),
        ];
        for (name, store) in stores {
            declare(&store);
            let shared = Shared::default();
            shared.run(&store, isolation, threads, turns, || {
                for round in 0..6 {
                    std::thread::sleep(Duration::from_millis(turns / 20));
                    let done = if round % 3 == 2 { store.compact() } else { store.checkpoint() };
                    done.expect("a good disk");
                }
            });
            let history = shared.finish(&store);
            judge(&history, isolation, name);
            let committed = history.iter().filter(|one| one.outcome == Outcome::Committed).count();
            assert!(committed > history.len() / 3, "{committed} of {}", history.len());
            transactions += history.len() as u64;
        }
    }
    transactions
}

#[test]
fn threads() {
    histories(4, 250);
}

/// A crash while threads commit: what was acknowledged before it is there after it, the rest whole or not at all, and
/// whoever goes on from there goes on from one state. What was seen after the crash never happened.
fn crashed_history(isolation: Isolation, threads: u64, turns: u64, plan: CrashPlan) -> Vec<Transaction> {
    let disk = SimDisk::new(5);
    let store = open(&disk, Options { log_limit_bytes: 5000, ..options() });
    declare(&store);
    let shared = Shared::default();
    let (mut before, mut crashed, mut after) = (0, None, 0);
    shared.run(&store, isolation, threads, turns, || {
        while shared.items.load(Ordering::Relaxed) < threads * turns / 2 {
            store.checkpoint().expect("a good disk");
            std::thread::yield_now();
        }
        before = shared.now();
        crashed = Some(disk.crash(plan));
        after = shared.now();
    });
    drop(store);
    let mut history = shared.history.lock();
    // One that began while the disk was being copied may be on it.
    history.retain(|transaction| transaction.began < after);
    for transaction in history.iter_mut().filter(|transaction| transaction.ended > before) {
        if transaction.outcome == Outcome::Committed {
            transaction.outcome = Outcome::Unknown;
        }
        transaction.ops.retain(|op| matches!(op, Op::Append { .. }));
    }
    drop(history);
    let store = open(&crashed.expect("a crash"), options());
    shared.run(&store, isolation, threads, turns / 4, || {});
    shared.finish(&store)
}

fn crashes(seeds: std::ops::Range<u64>, turns: u64) -> u64 {
    let mut transactions = 0;
    for seed in seeds {
        let isolation = ISOLATIONS[seed as usize % 2];
        let plan = match seed % 5 {
            0 => CrashPlan::LoseUnsynced,
            1 => CrashPlan::KeepUnsynced,
            _ => CrashPlan::Random(seed),
        };
        let history = crashed_history(isolation, 3, turns, plan);
        judge(&history, isolation, &format!("a crash with seed {seed}"));
        transactions += history.len() as u64;
    }
    transactions
}

#[test]
fn through_crashes() {
    crashes(0..10, 80);
}

/// One step of a small transaction: begin, operations, commit.
struct Stepping {
    script: Vec<(bool, List)>,
    next: usize,
    open: Option<Open>,
    record: Transaction,
}

/// Runs scripts in one order of their steps.
fn step_through(scripts: &[&[(bool, List)]], order: &[usize], isolation: Isolation) -> Vec<Transaction> {
    let store = Store::in_memory(options());
    declare(&store);
    let shared = Shared::default();
    let new = |(process, script): (usize, &&[(bool, List)])| Stepping {
        script: script.to_vec(),
        next: 0,
        open: None,
        record: Transaction {
            process: process as u32,
            began: 0,
            ended: 0,
            outcome: Outcome::Unknown,
            ops: Vec::new(),
        },
    };
    let mut all: Vec<Stepping> = scripts.iter().enumerate().map(new).collect();
    shared.processes.store(scripts.len() as u64, Ordering::Relaxed);
    for &at in order {
        let Stepping { script, next, open, record } = &mut all[at];
        match (open.as_mut(), script.get(*next)) {
            (None, _) => {
                record.began = shared.now();
                let options = TransactionOptions { isolation, ..TransactionOptions::default() };
                *open = Some(store.begin_with(options).expect("open"));
                continue;
            }
            (Some(open), Some((true, list))) => {
                let item = shared.items.fetch_add(1, Ordering::Relaxed);
                append(open, *list, item);
                record.ops.push(Op::Append { list: *list, item });
            }
            (Some(open), Some((false, list))) => {
                record.ops.push(Op::Read { list: *list, items: read(open, *list) });
            }
            (Some(_), None) => {
                let committed = open.take().expect("open").commit();
                record.outcome = if committed.is_ok() { Outcome::Committed } else { Outcome::Aborted };
                record.ended = shared.now();
                shared.history.lock().push(record.clone());
            }
        }
        *next += 1;
    }
    shared.finish(&store)
}

/// Every order of the steps of some transactions, given how many each has.
fn orders(steps: &mut [usize], so_far: &mut Vec<usize>, visit: &mut impl FnMut(&[usize])) {
    if steps.iter().all(|left| *left == 0) {
        return visit(so_far);
    }
    for at in 0..steps.len() {
        if steps[at] > 0 {
            steps[at] -= 1;
            so_far.push(at);
            orders(steps, so_far, visit);
            so_far.pop();
            steps[at] += 1;
        }
    }
}

/// Each `stride`th order of the steps of two or three transactions gives a history that is allowed. Gives how many
/// orders were run, and how many of them were skewed.
fn every_order(scripts: &[&[(bool, List)]], isolation: Isolation, stride: usize) -> (u64, u64) {
    let mut steps: Vec<usize> = scripts.iter().map(|script| script.len() + 2).collect();
    let (mut number, mut count, mut skewed) = (0, 0, 0);
    orders(&mut steps, &mut Vec::new(), &mut |order| {
        number += 1;
        if number % stride > 0 {
            return;
        }
        let history = step_through(scripts, order, isolation);
        judge(&history, isolation, &format!("{scripts:?} in the order {order:?}"));
        count += 1;
        skewed += u64::from(!check(&history).is_empty());
    });
    (count, skewed)
}

#[test]
fn every_order_of_steps() {
    const READ: bool = false;
    const APPEND: bool = true;
    let (x, y) = (List::Shared(1), List::Shared(2));
    let (a, b) = (List::Exclusive(10), List::Exclusive(11));
    for (x, y) in [(x, y), (a, b), (x, a), (b, y)] {
        let pairs: [[&[(bool, List)]; 2]; 3] = [
            [&[(READ, x), (APPEND, y)], &[(READ, y), (APPEND, x)]],
            [&[(READ, x), (APPEND, x)], &[(READ, x), (APPEND, x)]],
            [&[(APPEND, x), (APPEND, y)], &[(READ, y), (READ, x)]],
        ];
        for isolation in ISOLATIONS {
            let skews: Vec<bool> =
                pairs.iter().map(|scripts| every_order(scripts, isolation, 1).1 > 0).collect();
            let appends_conflict = matches!(x, List::Exclusive(_));
            match isolation {
                Isolation::Snapshot => assert_eq!(skews, [true, !appends_conflict, false], "{x:?} {y:?}"),
                Isolation::Serializable => assert_eq!(skews, [false; 3]),
            }
        }
    }
    // Two writers and one who looks: long forks and the read-only anomaly.
    let triple: [&[(bool, List)]; 3] = [&[(READ, y), (APPEND, x)], &[(APPEND, y)], &[(READ, x), (READ, y)]];
    for isolation in ISOLATIONS {
        let (count, skewed) = every_order(&triple, isolation, 11);
        assert_eq!((count, skewed > 0), (1050, isolation == Isolation::Snapshot));
    }
}

#[test]
#[ignore = "long"]
fn soak_histories() {
    let mut transactions = 0;
    let (mut count, rounds) = (0, 15);
    for round in 0..rounds {
        transactions += histories(2 + round % 6, 2000);
        transactions += crashes(round * 10..round * 10 + 10, 300);
        count += 6 + 10;
    }
    tally("histories checked", count);
    tally("transactions in histories", transactions);
}
