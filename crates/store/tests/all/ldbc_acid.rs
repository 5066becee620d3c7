//! The twelve cases of the LDBC ACID test suite (Waudby et al., TPCTC 2020) by name: threads that write and threads that
//! look, and what no one may ever see.
//!
//! Persons are vertices, who knows whom are edges; each case runs in a store of its own, in memory and on a disk that is
//! archived to meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::common::{open, options};
use evergraph_disk::SimDisk;
use evergraph_proof::Random;
use evergraph_store::{CommitError, Isolation, Options, Store, Transaction, TransactionOptions};
use evergraph_types::{Direction, EdgeTypeOptions, Value};

/// How many threads write, and how many look.
const THREADS: u64 = 3;
/// Transactions of each thread.
const TURNS: u64 = 30;
const RETRIES: u32 = 100_000;

/// A store under one isolation.
struct World {
    store: Store,
    options: TransactionOptions,
}

impl World {
    /// In memory, and on a disk.
    fn both(isolation: Isolation) -> [World; 2] {
        let on_disk = open(&SimDisk::new(1), Options { log_limit_bytes: 20_000, ..options() });
        [Store::in_memory(options()), on_disk].map(|store| {
            let options = TransactionOptions { isolation, ..TransactionOptions::default() };
            let world = World { store, options };
            world.run(|transaction| {
                let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
                transaction.create_edge_type("likes", multi)?;
                transaction.put_vertex(-1, None, &[("version", 0.into()), ("emails", "".into())])?;
                transaction.put_edge(-1, -1, "knows", &[("history", "".into())])
            });
            world
        })
    }

    fn begin(&self) -> Transaction {
        self.store.begin_with(self.options).expect("open")
    }

    /// Runs a transaction until it commits.
    fn run(&self, mut change: impl FnMut(&mut Transaction) -> Result<(), evergraph_store::WriteError>) {
        let done = self.store.transact_with(self.options, RETRIES, |transaction| {
            change(transaction)?;
            Ok::<(), CommitError>(())
        });
        done.expect("tried often enough");
    }

    /// Threads that write, and threads that look until those are done, while the store archives.
    fn concurrently(&self, write: impl Fn(&mut Random) + Sync, look: impl Fn(&mut Random) + Sync) {
        let (writing, done) = (AtomicU64::new(THREADS), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (writing, done, write, look) = (&writing, &done, &write, &look);
                scope.spawn(move || {
                    let mut random = Random::new(thread);
                    (0..TURNS).for_each(|_| write(&mut random));
                    done.store(writing.fetch_sub(1, Ordering::Relaxed) == 1, Ordering::Relaxed);
                });
                scope.spawn(move || {
                    let mut random = Random::new(100 + thread);
                    while !done.load(Ordering::Relaxed) {
                        look(&mut random);
                    }
                });
            }
            while !done.load(Ordering::Relaxed) {
                self.store.checkpoint().expect("a good disk");
                std::thread::yield_now();
            }
        });
    }
}

fn given(properties: Vec<(String, Value)>, name: &str) -> Option<Value> {
    properties.into_iter().find_map(|(other, value)| (other == name).then_some(value))
}

fn number(transaction: &Transaction, person: i64, property: &str) -> i64 {
    match transaction.vertex(person).and_then(|vertex| given(vertex.properties, property)) {
        Some(Value::Int(number)) => number,
        other => panic!("{person} has {other:?} for {property}"),
    }
}

fn text(transaction: &Transaction, person: i64, property: &str) -> String {
    match transaction.vertex(person).and_then(|vertex| given(vertex.properties, property)) {
        Some(Value::Text(text)) => text,
        _ => String::new(),
    }
}

fn set(transaction: &mut Transaction, person: i64, property: &str, value: impl Into<Value>) {
    transaction.put_vertex(person, Some("Person"), &[(property, value.into())]).expect("it fits");
}

/// Persons with a number each.
fn persons(world: &World, people: std::ops::Range<i64>, property: &str, value: i64) {
    world.run(|transaction| {
        people.clone().for_each(|person| set(transaction, person, property, value));
        Ok(())
    });
}

/// One transaction that writes one person's email and a new acquaintance. Gives whom it met.
fn meet(world: &World, random: &mut Random, ids: &AtomicU64, rolls_back: bool) {
    let (person, friend) = (random.below(4) as i64, 1000 + ids.fetch_add(1, Ordering::Relaxed) as i64);
    world.run(|transaction| {
        let emails = format!("{} {friend}@example.org", text(transaction, person, "emails"));
        set(transaction, person, "emails", emails.trim());
        set(transaction, friend, "emails", format!("{friend}@example.com").as_str());
        transaction.put_edge(person, friend, "knows", &[])?;
        if rolls_back {
            std::mem::replace(transaction, world.begin()).rollback();
        }
        Ok(())
    });
}

/// Persons but the first, their emails, and who knows whom.
fn count(world: &World) -> (usize, usize, usize) {
    let transaction = world.begin();
    let (mut emails, mut known) = (0, 0);
    for person in 0..4 {
        emails += text(&transaction, person, "emails").split_whitespace().count();
        known += transaction.neighbors(person, "knows", Direction::Out).map_or(0, |known| known.len());
    }
    let version = transaction.version();
    let is_friend = |id: &u32| matches!(version.key(*id), evergraph_types::Key::Int(1000..));
    (version.vertex_ids().iter().filter(|id| is_friend(id)).count(), emails, known)
}

/// Each commit is there in all its parts, each rollback in none.
fn atomicity(world: &World, rolls_back: impl Fn(u64) -> bool + Sync) {
    let ids = AtomicU64::new(0);
    let committed = AtomicU64::new(0);
    let write = |random: &mut Random| {
        let rolls_back = rolls_back(random.next());
        meet(world, random, &ids, rolls_back);
        committed.fetch_add(u64::from(!rolls_back), Ordering::Relaxed);
    };
    let look = |_: &mut Random| {
        let (friends, emails, known) = count(world);
        assert_eq!((friends, emails), (known, known));
    };
    world.concurrently(write, look);
    let committed = committed.into_inner() as usize;
    assert_eq!(count(world), (committed, committed, committed));
}

fn atomicity_of_commits(world: &World) {
    atomicity(world, |_| false);
}

fn atomicity_of_rollbacks(world: &World) {
    atomicity(world, |random| random.is_multiple_of(2));
}

/// G0: whoever appends to the histories of two persons and of their edge does so in one order.
fn dirty_writes(world: &World) {
    let ids = AtomicU64::new(0);
    let history = |transaction: &Transaction| match transaction.edges(0, 1, "knows").pop() {
        Some(properties) => match given(properties, "history") {
            Some(Value::Text(history)) => history,
            _ => String::new(),
        },
        None => String::new(),
    };
    let write = |_: &mut Random| {
        let id = ids.fetch_add(1, Ordering::Relaxed);
        world.run(|transaction| {
            for person in [0, 1] {
                let before = text(transaction, person, "emails");
                set(transaction, person, "emails", format!("{before} {id}").as_str());
            }
            let before = history(transaction);
            transaction.put_edge(0, 1, "knows", &[("history", format!("{before} {id}").as_str().into())])
        });
    };
    let look = |_: &mut Random| {
        let transaction = world.begin();
        let all = [text(&transaction, 0, "emails"), text(&transaction, 1, "emails"), history(&transaction)];
        assert!(all.iter().all(|other| *other == all[0]), "{all:?}");
    };
    world.concurrently(write, look);
    let written = text(&world.begin(), 0, "emails").split_whitespace().count() as u64;
    assert_eq!(written, THREADS * TURNS);
}

/// G1a: even versions are rolled back, and nobody sees one.
fn aborted_reads(world: &World) {
    persons(world, 0..4, "version", 1);
    let write = |random: &mut Random| {
        let mut transaction = world.begin();
        set(&mut transaction, random.below(4) as i64, "version", 2);
        transaction.rollback();
    };
    let look = |random: &mut Random| {
        assert_eq!(number(&world.begin(), random.below(4) as i64, "version"), 1);
    };
    world.concurrently(write, look);
}

/// G1b: versions are even only in the middle of a transaction.
fn intermediate_reads(world: &World) {
    persons(world, 0..4, "version", 1);
    let write = |random: &mut Random| {
        let person = random.below(4) as i64;
        world.run(|transaction| {
            set(transaction, person, "version", 2);
            set(transaction, person, "version", 3);
            Ok(())
        });
    };
    let look = |random: &mut Random| {
        assert_eq!(number(&world.begin(), random.below(4) as i64, "version") % 2, 1);
    };
    world.concurrently(write, look);
}

/// G1c: no two transactions each read what the other one wrote.
fn circular_flow(world: &World) {
    persons(world, 0..4, "version", 0);
    let (ids, seen) = (AtomicU64::new(1), parking_lot::Mutex::new(std::collections::BTreeMap::new()));
    let write = |random: &mut Random| {
        let id = ids.fetch_add(1, Ordering::Relaxed) as i64;
        let one = random.below(4) as i64;
        let two = (one + 1 + random.below(3) as i64) % 4;
        let mut read = 0;
        world.run(|transaction| {
            set(transaction, one, "version", id);
            read = number(transaction, two, "version");
            Ok(())
        });
        seen.lock().insert(id, read);
    };
    world.concurrently(write, |_| {});
    let seen = seen.into_inner();
    for (id, read) in &seen {
        assert_ne!(seen.get(read), Some(id), "{id} and {read} read each other");
    }
}

/// IMP, item-many-preceders: a person is the same in two reads.
fn item_preceders(world: &World) {
    persons(world, 0..4, "version", 0);
    let write = |random: &mut Random| {
        let person = random.below(4) as i64;
        world.run(|transaction| {
            let next = number(transaction, person, "version") + 1;
            set(transaction, person, "version", next);
            Ok(())
        });
    };
    let look = |random: &mut Random| {
        let (transaction, person) = (world.begin(), random.below(4) as i64);
        let first = number(&transaction, person, "version");
        std::thread::yield_now();
        assert_eq!(number(&transaction, person, "version"), first);
    };
    world.concurrently(write, look);
}

/// PMP, predicate-many-preceders: those who like a post are the same in two reads.
fn predicate_preceders(world: &World) {
    persons(world, 0..4, "version", 0);
    let post = 500;
    let write = |random: &mut Random| {
        let person = random.below(4) as i64;
        world.run(|transaction| transaction.put_edge(person, post, "likes", &[]));
    };
    let look = |_: &mut Random| {
        let transaction = world.begin();
        let first = transaction.neighbors(post, "likes", Direction::In);
        std::thread::yield_now();
        assert_eq!(transaction.neighbors(post, "likes", Direction::In), first);
    };
    world.concurrently(write, look);
}

/// Counts up the versions of four persons that are friends in a circle.
fn count_up(world: &World) {
    world.run(|transaction| {
        for person in 0..4 {
            let next = number(transaction, person, "version") + 1;
            set(transaction, person, "version", next);
        }
        Ok(())
    });
}

fn circle(transaction: &Transaction) -> [i64; 4] {
    [0, 1, 2, 3].map(|person| number(transaction, person, "version"))
}

/// OTV, observed transaction vanishes: what comes later is no older.
fn vanishing(world: &World) {
    persons(world, 0..4, "version", 0);
    let look = |_: &mut Random| {
        let transaction = world.begin();
        let (first, second) = (circle(&transaction), circle(&transaction));
        assert!(first.iter().max() <= second.iter().min(), "{first:?}, then {second:?}");
        let third = circle(&world.begin());
        assert!(second.iter().max() <= third.iter().min(), "{second:?}, then {third:?}");
    };
    world.concurrently(|_| count_up(world), look);
}

/// FR, fractured reads: all or nothing of a commit is read.
fn fractured_reads(world: &World) {
    persons(world, 0..4, "version", 0);
    let look = |_: &mut Random| {
        let transaction = world.begin();
        let (first, second) = (circle(&transaction), circle(&transaction));
        assert!(first == second && first.iter().all(|version| *version == first[0]), "{first:?} {second:?}");
    };
    world.concurrently(|_| count_up(world), look);
}

/// LU, lost updates: a person's count of friends is what was counted.
fn lost_updates(world: &World) {
    persons(world, 0..4, "version", 0);
    let ids = AtomicU64::new(1000);
    let write = |random: &mut Random| {
        let (person, friend) = (random.below(4) as i64, ids.fetch_add(1, Ordering::Relaxed) as i64);
        world.run(|transaction| {
            transaction.put_edge(person, friend, "knows", &[])?;
            let next = number(transaction, person, "version") + 1;
            set(transaction, person, "version", next);
            Ok(())
        });
    };
    let look = |random: &mut Random| {
        let (transaction, person) = (world.begin(), random.below(4) as i64);
        let friends = transaction.neighbors(person, "knows", Direction::Out).expect("a person").len();
        assert_eq!(number(&transaction, person, "version"), friends as i64);
    };
    world.concurrently(write, look);
    let total: i64 = circle(&world.begin()).iter().sum();
    assert_eq!(total as u64, THREADS * TURNS);
}

/// WS, write skew: two persons may each spend 100 as long as they have that much together. Tells whether a pair came
/// below zero.
fn write_skew(world: &World) -> bool {
    let pairs = 4;
    for pair in 0..pairs {
        persons(world, 2 * pair..2 * pair + 1, "version", 70);
        persons(world, 2 * pair + 1..2 * pair + 2, "version", 80);
    }
    let write = |random: &mut Random| {
        let person = random.below(2 * pairs as u64) as i64;
        let Ok(mut transaction) = world.store.begin_with(world.options) else { return };
        let (one, other) =
            (number(&transaction, person, "version"), number(&transaction, person ^ 1, "version"));
        if one + other >= 100 {
            set(&mut transaction, person, "version", one - 100);
            std::thread::yield_now();
            match transaction.commit() {
                Ok(_) | Err(CommitError::Conflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    world.concurrently(write, |_| {});
    let transaction = world.begin();
    let sum =
        |pair: i64| number(&transaction, 2 * pair, "version") + number(&transaction, 2 * pair + 1, "version");
    (0..pairs).any(|pair| sum(pair) < 0)
}

/// The case, without chance: both look before either commits.
fn certain_write_skew(world: &World) -> bool {
    persons(world, 0..2, "version", 75);
    let spend = |person: i64| {
        let mut transaction = world.begin();
        let one = number(&transaction, person, "version");
        assert_eq!(one + number(&transaction, person ^ 1, "version"), 150);
        set(&mut transaction, person, "version", one - 100);
        transaction
    };
    let both = [spend(0), spend(1)];
    both.into_iter().for_each(|transaction| drop(transaction.commit()));
    let after = world.begin();
    number(&after, 0, "version") + number(&after, 1, "version") < 0
}

const ISOLATIONS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

fn never_happens(case: impl Fn(&World)) {
    ISOLATIONS.into_iter().flat_map(World::both).for_each(|world| case(&world));
}

#[test]
fn atomicity_c() {
    never_happens(atomicity_of_commits);
}

#[test]
fn atomicity_rb() {
    never_happens(atomicity_of_rollbacks);
}

#[test]
fn g0() {
    never_happens(dirty_writes);
}

#[test]
fn g1a() {
    never_happens(aborted_reads);
}

#[test]
fn g1b() {
    never_happens(intermediate_reads);
}

#[test]
fn g1c() {
    never_happens(circular_flow);
}

#[test]
fn imp() {
    never_happens(item_preceders);
}

#[test]
fn pmp() {
    never_happens(predicate_preceders);
}

#[test]
fn otv() {
    never_happens(vanishing);
}

#[test]
fn fr() {
    never_happens(fractured_reads);
}

#[test]
fn lu() {
    never_happens(lost_updates);
}

#[test]
fn ws() {
    for world in World::both(Isolation::Serializable) {
        assert!(!write_skew(&world));
        assert!(!certain_write_skew(&world));
    }
    for world in World::both(Isolation::Snapshot) {
        assert!(certain_write_skew(&world), "the one anomaly that snapshot isolation allows");
    }
}
