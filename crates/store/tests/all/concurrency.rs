//! Many threads at once: what holds in every state holds in every snapshot, and the history of what transactions saw
//! and did is one that snapshot isolation allows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::common::{
    Dump, HookedDisk, declare_for_commits, directory, dump, in_order, model_at, number_batch, on, options,
    random_commit,
};
use evergraph_disk::SimDisk;
use evergraph_proof::{Random, tally};
use evergraph_store::{
    CommitError, Durability, Isolation, Options, Store, Transaction, TransactionOptions, Version,
};
use evergraph_types::{Direction, EdgeTypeOptions, Value};
use parking_lot::Mutex;

/// A number below `bound`.
fn below(random: &mut Random, bound: i64) -> i64 {
    random.below(bound as u64) as i64
}

/// A store in a directory of its own that archives all the time.
fn on_disk(durability: Durability) -> (Store, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    (reopen(&directory, durability), directory)
}

fn reopen(directory: &tempfile::TempDir, durability: Durability) -> Store {
    let options = Options { durability, log_limit_bytes: 50_000, bulk_edges: 2000, ..Options::default() };
    Store::open(directory.path().join("net.eg"), options).expect("a good disk")
}

const ACCOUNTS: i64 = 12;
const BALANCE: i64 = 1000;

fn number(version: &Version, key: i64, property: &str) -> i64 {
    let id = version.vertex_id(key.into()).expect("a vertex");
    let (property, _) = version.schema().vertex_property(property).expect("a property");
    match version.vertex_property(id, property) {
        Value::Int(number) => number,
        other => panic!("{key}: {other}"),
    }
}

fn number_in(transaction: &Transaction, key: i64, property: &str) -> Option<i64> {
    let found = transaction.vertex(key)?.properties;
    found.into_iter().find_map(|(name, value)| match value {
        Value::Int(number) if name == property => Some(number),
        _ => None,
    })
}

/// Moves money between two accounts and notes it as an edge.
fn transfer(store: &Store, random: &mut Random) {
    let (from, to, amount) = (below(random, ACCOUNTS), below(random, ACCOUNTS), below(random, 50));
    let done = store.transact(100_000, |transaction| {
        for (account, change) in [(from, -amount), (to, amount)] {
            let balance = number_in(transaction, account, "balance").expect("an account");
            transaction.put_vertex(account, None, &[("balance", (balance + change).into())])?;
        }
        transaction.put_edge(from, to, "pays", &[("amount", amount.into())])?;
        let turns = transaction.edges(from, to, "meets").into_iter().flatten().next();
        let turns = match turns {
            Some((_, Value::Int(turns))) => turns + 1,
            _ => 1,
        };
        transaction.put_edge(from, to, "meets", &[("turns", turns.into())])?;
        Ok::<(), CommitError>(())
    });
    done.expect("retried often enough");
}

/// What holds after every transfer.
fn check_accounts(version: &Arc<Version>) {
    let pays = version.schema().edge_type("pays").expect("a type").0;
    let meets = version.schema().edge_type("meets").expect("a type").0;
    let mut total = 0;
    let (mut paid, mut received) = (0, 0);
    for account in 0..ACCOUNTS {
        let id = version.vertex_id(account.into()).expect("an account");
        let mut expected = BALANCE;
        for (direction, sign, edges) in [(Direction::Out, -1, &mut paid), (Direction::In, 1, &mut received)] {
            version.for_each_edge(pays, direction, id, &[0], &mut |_, values| match values {
                [Value::Int(amount)] => {
                    expected += sign * amount;
                    *edges += 1;
                }
                values => panic!("{values:?}"),
            });
        }
        let balance = number(version, account, "balance");
        assert_eq!(balance, expected, "account {account} in version {}", version.sequence());
        total += balance;
    }
    assert_eq!(total, ACCOUNTS * BALANCE);
    assert_eq!((paid, received), (version.num_edges(pays), version.num_edges(pays)));
    // Each meeting is in the list of both ends with the same count, and together they are the payments.
    let mut turns: BTreeMap<(u32, u32), Vec<i64>> = BTreeMap::new();
    for id in version.vertex_ids() {
        version.for_each_edge(meets, Direction::Out, id, &[0], &mut |other, values| {
            if let [Value::Int(count)] = values {
                turns.entry((id.min(other), id.max(other))).or_default().push(*count);
            }
        });
    }
    let agree = |(ends, counts): (&(u32, u32), &Vec<i64>)| {
        let twice = ends.0 != ends.1;
        counts.len() == 1 + usize::from(twice) && counts.iter().all(|count| *count == counts[0])
    };
    assert!(turns.iter().all(agree), "{turns:?}");
    assert_eq!(turns.values().map(|counts| counts[0]).sum::<i64>() as u64, paid);
}

/// Threads that transfer, one that looks, one that does what else a store does.
fn transfers(store: &Store, threads: u64, turns: u64) {
    store.create_edge_type("pays", EdgeTypeOptions { multi: true, ..Default::default() }).expect("new");
    store.create_edge_type("meets", EdgeTypeOptions { symmetric: true, ..Default::default() }).expect("new");
    let mut transaction = store.begin().expect("open");
    for account in 0..ACCOUNTS {
        transaction.put_vertex(account, None, &[("balance", BALANCE.into())]).expect("it fits");
    }
    transaction.commit().expect("alone");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let others = [
            scope.spawn(|| {
                let mut kept = Vec::new();
                for turn in 0.. {
                    let version = store.version().expect("open");
                    check_accounts(&version);
                    kept.push(version);
                    if turn % 7 == 0 {
                        kept.drain(..kept.len() / 2);
                    }
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
                kept.iter().for_each(check_accounts);
            }),
            scope.spawn(|| {
                for turn in 0.. {
                    let edges = (0..2500).map(|row| (1000 + row % 100, 2000 + row * turn % 3000));
                    store.add_edges("bulk", vec![number_batch(edges)]).expect("it fits");
                    store.checkpoint().expect("a good disk");
                    store.delete_vertex(1000 + turn % 100).expect("it fits");
                    if turn % 4 == 3 {
                        store.compact().expect("a good disk");
                    }
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }),
        ];
        let paying: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    let mut random = Random::new(thread);
                    (0..turns).for_each(|_| transfer(store, &mut random));
                })
            })
            .collect();
        let paid: Vec<_> = paying.into_iter().map(|thread| thread.join()).collect();
        done.store(true, Ordering::Relaxed);
        paid.into_iter().chain(others.map(|other| other.join())).for_each(|joined| joined.expect("no panic"));
    });
    let version = store.version().expect("open");
    check_accounts(&version);
    assert_eq!(version.num_edges(version.schema().edge_type("pays").expect("a type").0), threads * turns);
}

#[test]
fn every_snapshot_holds_together_in_memory() {
    transfers(&Store::in_memory(Options::default()), 3, 150);
}

#[test]
fn every_snapshot_holds_together_while_the_store_archives() {
    let (store, directory) = on_disk(Durability::None);
    transfers(&store, 3, 150);
    let before = dump(&store.version().expect("open"));
    store.close().expect("a good disk");
    drop(store);
    let store = reopen(&directory, Durability::Sync);
    assert_eq!(dump(&store.version().expect("open")), before);
}

/// What one transaction saw and did.
#[derive(Clone, Debug)]
struct Record {
    begin: u64,
    /// The commit; for one that was refused, the commit that the refusal names.
    commit: Result<u64, u64>,
    /// Registers as they were read before any own write.
    reads: BTreeMap<i64, Option<i64>>,
    writes: BTreeMap<i64, i64>,
    /// Lists as they were read before any own append.
    lists: BTreeMap<i64, Vec<i64>>,
    appends: BTreeMap<i64, i64>,
    isolation: Isolation,
}

/// Why a history is none that is allowed.
fn find_anomaly(history: &[Record]) -> Option<String> {
    let mut registers: BTreeMap<i64, BTreeMap<u64, i64>> = BTreeMap::new();
    let mut lists: BTreeMap<i64, BTreeMap<u64, i64>> = BTreeMap::new();
    for record in history {
        let Ok(commit) = record.commit else { continue };
        for (key, value) in &record.writes {
            if registers.entry(*key).or_default().insert(commit, *value).is_some() {
                return Some(format!("two transactions are commit {commit}"));
            }
        }
        for (key, value) in &record.appends {
            lists.entry(*key).or_default().insert(commit, *value);
        }
    }
    let none = BTreeMap::new();
    for record in history {
        let begin = record.begin;
        for (key, found) in &record.reads {
            let written = registers.get(key).unwrap_or(&none);
            let expected = written.range(..=begin).next_back().map(|(_, value)| *value);
            if *found != expected {
                return Some(format!("{record:?} reads {found:?} of {key}, but {expected:?} was there"));
            }
        }
        for (key, found) in &record.lists {
            let appended = lists.get(key).unwrap_or(&none);
            let expected: Vec<i64> = appended.range(..=begin).map(|(_, value)| *value).collect();
            if *found != expected {
                return Some(format!("{record:?} reads {found:?} of list {key}, but {expected:?} was there"));
            }
        }
        let Ok(commit) = record.commit else { continue };
        if commit <= begin && !(record.writes.is_empty() && record.appends.is_empty()) {
            return Some(format!("{record:?} is committed before it began"));
        }
        let changed = |all: &BTreeMap<i64, BTreeMap<u64, i64>>, key: &i64| {
            begin + 1 < commit
                && all.get(key).is_some_and(|written| written.range(begin + 1..commit).next().is_some())
        };
        if let Some(key) = record.writes.keys().find(|key| changed(&registers, key)) {
            return Some(format!("{record:?} loses an update of {key}"));
        }
        if record.isolation == Isolation::Serializable {
            let reads = record.reads.keys().find(|key| changed(&registers, key));
            if let Some(key) = reads.or_else(|| record.lists.keys().find(|key| changed(&lists, key))) {
                return Some(format!("{record:?} commits on what it read of {key} before that was changed"));
            }
        }
    }
    // A refusal names a commit that did write what the refused one wanted to.
    for record in history.iter().filter(|record| record.isolation == Isolation::Snapshot) {
        let Err(named) = record.commit else { continue };
        let reason = |key: &i64| registers.get(key).is_some_and(|written| written.contains_key(&named));
        if named <= record.begin || !record.writes.keys().any(reason) {
            return Some(format!("{record:?} is refused for no reason"));
        }
    }
    None
}

const REGISTERS: i64 = 8;

/// One random transaction.
fn random_transaction(
    store: &Store,
    random: &mut Random,
    values: &AtomicU64,
    isolation: Isolation,
) -> Option<Record> {
    let options = TransactionOptions { isolation, ..TransactionOptions::default() };
    let mut transaction = store.begin_with(options).expect("open");
    let mut record = Record {
        begin: transaction.version().sequence(),
        commit: Ok(0),
        reads: BTreeMap::new(),
        writes: BTreeMap::new(),
        lists: BTreeMap::new(),
        appends: BTreeMap::new(),
        isolation,
    };
    for _ in 0..1 + below(random, 5) {
        let key = below(random, REGISTERS);
        let own = record.writes.get(&key);
        match below(random, 6) {
            0 | 1 => {
                let found = number_in(&transaction, key, "value");
                match own {
                    Some(own) => assert_eq!(found, Some(*own), "own writes are read"),
                    None => drop(record.reads.insert(key, found)),
                }
            }
            2 | 3 => {
                let value = values.fetch_add(1, Ordering::Relaxed) as i64;
                transaction.put_vertex(key, None, &[("value", value.into())]).expect("it fits");
                record.writes.insert(key, value);
            }
            4 if !record.appends.contains_key(&key) => {
                let found = transaction.neighbors(100 + key, "holds", Direction::Out);
                let items = found.unwrap_or_default().into_iter().map(|item| match item {
                    evergraph_types::Key::Int(number) => number,
                    other => panic!("{other}"),
                });
                record.lists.insert(key, items.collect());
            }
            _ if !record.appends.contains_key(&key) => {
                let value = 1000 + values.fetch_add(1, Ordering::Relaxed) as i64;
                transaction.put_edge(100 + key, value, "holds", &[]).expect("it fits");
                record.appends.insert(key, value);
            }
            _ => {}
        }
    }
    record.commit = match transaction.commit() {
        Ok(sequence) => Ok(sequence),
        Err(CommitError::Conflict { sequence, .. }) => Err(sequence),
        Err(error) => panic!("{error}"),
    };
    Some(record)
}

fn record_history(store: &Store, threads: u64, turns: u64, isolation: Isolation) -> Vec<Record> {
    store.create_edge_type("holds", EdgeTypeOptions { multi: true, ..Default::default() }).expect("new");
    // So that no schema changes any more.
    store.put_vertex(-1, None, &[("value", 0.into())]).expect("it fits");
    let (history, values) = (Mutex::new(Vec::new()), AtomicU64::new(1));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (history, values) = (&history, &values);
            scope.spawn(move || {
                let mut random = Random::new(thread * 7919 + turns);
                for turn in 0..turns {
                    let record = random_transaction(store, &mut random, values, isolation);
                    history.lock().extend(record);
                    if thread == 0 && turn % 40 == 0 {
                        store.checkpoint().expect("a good disk");
                    }
                }
            });
        }
    });
    history.into_inner()
}

fn histories(threads: u64, turns: u64) {
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        let (on_disk, _directory) = on_disk(Durability::None);
        for store in [Store::in_memory(Options::default()), on_disk] {
            let history = record_history(&store, threads, turns, isolation);
            assert_eq!(find_anomaly(&history), None, "{isolation:?}");
            let refused = history.iter().filter(|record| record.commit.is_err()).count();
            assert!(refused < history.len() / 2, "{refused} of {} are refused", history.len());
        }
    }
}

#[test]
fn histories_are_those_of_their_isolation() {
    histories(4, 300);
}

#[test]
#[ignore = "long"]
fn soak_histories_and_transfers() {
    for round in 0..40 {
        histories(2 + round % 7, 2000);
        tally("histories checked", 4);
        commits_in_order(&Store::in_memory(Options::default()), 2 + round % 5, 3000);
        let (store, _directory) = on_disk(Durability::Interval);
        transfers(&store, 2 + round % 5, 1000);
    }
}

/// The checker finds what is planted.
#[test]
fn the_checker_finds_planted_anomalies() {
    let (store, values) = (Store::in_memory(Options::default()), AtomicU64::new(1));
    let mut random = Random::new(3);
    let history: Vec<Record> = (0..200)
        .filter_map(|_| random_transaction(&store, &mut random, &values, Isolation::Snapshot))
        .collect();
    assert_eq!(find_anomaly(&history), None);
    let planted = |change: &dyn Fn(&mut Record) -> bool| {
        let mut history = history.clone();
        let changed = history.iter_mut().rev().any(change);
        assert!(changed, "the history has such a transaction");
        assert!(find_anomaly(&history).is_some());
    };
    // A read of a value from the future or the past, a list without its last item, a snapshot from before a write of
    // the same register, a refusal without a reason.
    planted(&|record| record.reads.values_mut().next().map(|value| *value = Some(-5)).is_some());
    planted(&|record| record.lists.values_mut().any(|list| list.pop().is_some()));
    planted(&|record| {
        let old = record.begin > 100 && !record.writes.is_empty() && record.reads.is_empty();
        record.begin -= if old { 60 } else { 0 };
        old && record.lists.is_empty()
    });
    planted(&|record| {
        let wrote = !record.writes.is_empty();
        record.commit = if wrote { Err(record.begin) } else { record.commit };
        wrote && record.reads.is_empty()
    });
}

#[test]
fn closing_waits_for_commits_and_refuses_those_after() {
    // Those of many are led by the store's own thread.
    for (durability, threads) in [(Durability::Sync, 4), (Durability::Sync, 40), (Durability::None, 4)] {
        let (store, directory) = on_disk(durability);
        let acknowledged = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (store, acknowledged) = (&store, &acknowledged);
                scope.spawn(move || {
                    for turn in 0.. {
                        match store.put_edge(thread, turn, "knows", &[]) {
                            Ok(_) => acknowledged.fetch_add(1, Ordering::Relaxed),
                            Err(CommitError::Closed(_)) => break,
                            Err(error) => panic!("{error}"),
                        };
                    }
                });
            }
            while acknowledged.load(Ordering::Relaxed) < 15 * threads as u64 {
                std::thread::sleep(Duration::from_micros(100));
            }
            store.close().expect("a good disk");
        });
        assert!(store.version().is_err() && store.begin().is_err());
        assert!(matches!(store.checkpoint(), Err(CommitError::Closed(_))));
        assert!(matches!(
            store.add_edges("knows", vec![number_batch([(1, 2)])]),
            Err(CommitError::Closed(_))
        ));
        let again = reopen(&directory, durability);
        assert_eq!(again.stats().num_edges, acknowledged.into_inner(), "{durability}");
    }
}

/// However commits are put into groups, the outcome is that of one after the other.
fn commits_in_order(store: &Store, threads: u64, turns: u64) -> Dump {
    let model = declare_for_commits(store);
    let commits = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let commits = &commits;
            scope.spawn(move || {
                let mut random = Random::new(thread ^ turns << 8);
                let done: Vec<_> = (0..turns).filter_map(|_| random_commit(store, &mut random)).collect();
                commits.lock().extend(done);
            });
        }
    });
    let mut commits = commits.into_inner();
    in_order(&mut commits);
    let found = dump(&store.version().expect("open"));
    assert_eq!(found, model_at(&model, &commits, u64::MAX).dump());
    found
}

#[test]
fn groups_of_commits_are_commits_in_their_order() {
    commits_in_order(&Store::in_memory(Options::default()), 4, 400);
    commits_in_order(&Store::in_memory(Options { bulk_edges: 5, ..Options::default() }), 4, 400);
    // The store's own thread leads those of many.
    for (threads, turns) in [(6, 100), (40, 40)] {
        let (store, directory) = on_disk(Durability::Sync);
        let found = commits_in_order(&store, threads, turns);
        drop(store);
        assert_eq!(dump(&reopen(&directory, Durability::Sync).version().expect("open")), found);
    }
}

/// The request that fits nothing is answered with its error, and those that wait with it are committed.
#[test]
fn requests_that_fail_do_not_hold_up_the_others_of_their_group() {
    let store = Store::in_memory(Options::default());
    store.put_edge(0, 0, "knows", &[("weight", 0.5.into())]).expect("it fits");
    std::thread::scope(|scope| {
        for thread in 0..6i64 {
            let store = &store;
            scope.spawn(move || {
                for turn in 0..100i64 {
                    if thread % 3 == 0 {
                        let text = store.put_edge(thread, turn, "knows", &[("weight", "heavy".into())]);
                        assert!(matches!(text, Err(CommitError::Schema(_))), "{text:?}");
                        let mut late = store.begin().expect("open");
                        late.put_edge(-1 - thread, turn, "knows", &[]).expect("it fits");
                        late.put_vertex(-thread, None, &[("turn", turn.into())]).expect("it fits");
                        store.put_vertex(-thread, None, &[("turn", turn.into())]).expect("it fits");
                        assert!(matches!(late.commit(), Err(CommitError::Conflict { .. })));
                    } else {
                        store.put_edge(thread, turn, "knows", &[("weight", 1.into())]).expect("it fits");
                    }
                }
            });
        }
    });
    let version = store.version().expect("open");
    assert_eq!(version.num_edges(0), 1 + 4 * 100);
    assert_eq!(version.vertex_id((-1).into()), None, "the vertices of refused transactions are not there");
    dump(&version);
}

/// A panic in the middle of a group of commits: everyone is answered, and what was acknowledged is there.
#[test]
fn everyone_is_answered_though_a_commit_panics() {
    let disk = SimDisk::new(0);
    let hooked = HookedDisk::over(on(&disk));
    // Every group of commits gets a file of its own.
    let options = || Options { log_limit_bytes: 0, ..options() };
    let store = Store::open_on(hooked.clone(), directory(), options()).expect("new");
    let (acknowledged, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let committing: Vec<_> = (0..6i64)
            .map(|thread| {
                let (store, acknowledged, refused) = (&store, &acknowledged, &refused);
                scope.spawn(move || {
                    for turn in 0.. {
                        match store.put_edge(thread, turn, "knows", &[]) {
                            Ok(_) => acknowledged.fetch_add(1, Ordering::Relaxed),
                            Err(CommitError::Durability { .. }) => break,
                            Err(error) => panic!("{error}"),
                        };
                    }
                    refused.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        while acknowledged.load(Ordering::Relaxed) < 100 {
            std::thread::yield_now();
        }
        hooked.when_creating("log", || panic!("planted"));
        let panicked = committing.into_iter().filter_map(|thread| thread.join().err()).count();
        assert_eq!(panicked, 1, "the one who led");
    });
    assert_eq!(refused.into_inner(), 5);
    let acknowledged = acknowledged.into_inner();
    let version = store.version().expect("open");
    assert_eq!(version.num_edges(0), acknowledged);
    assert!(store.stats().failure.is_some());
    assert!(matches!(store.put_vertex(1, None, &[]), Err(CommitError::Durability { .. })));
    store.close().expect("nothing to sync");
    let again = Store::open_on(on(&disk), directory(), options()).expect("a good disk");
    assert_eq!(again.stats().num_edges, acknowledged);
}
