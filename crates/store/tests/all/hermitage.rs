//! The ten anomalies of Hermitage by name (Kleppmann, 2014), in each of their forms, with long forks: which of them each
//! isolation lets happen.
//!
//! A table of two rows, 1 holding 10 and 2 holding 20: vertices with a value, members of the table by an edge.

use crate::common::options;
use evergraph_store::{CommitError, Isolation, Store, Transaction, TransactionOptions};
use evergraph_types::{Direction, Key, Value};

const TABLE: &str = "table";

/// The table under one isolation.
struct World {
    store: Store,
    isolation: Isolation,
}

impl World {
    fn new(isolation: Isolation) -> Self {
        let world = World { store: Store::in_memory(options()), isolation };
        let mut transaction = world.begin();
        put(&mut transaction, "1", 10);
        put(&mut transaction, "2", 20);
        assert!(commits(transaction));
        world
    }

    fn begin(&self) -> Transaction {
        let options = TransactionOptions { isolation: self.isolation, ..TransactionOptions::default() };
        self.store.begin_with(options).expect("open")
    }

    /// The two rows as they are now.
    fn rows(&self) -> (i64, i64) {
        let transaction = self.begin();
        (get(&transaction, "1"), get(&transaction, "2"))
    }
}

/// Writes a row; a new one becomes a member of the table.
fn put(transaction: &mut Transaction, row: &str, value: i64) {
    let is_new = !transaction.has_vertex(row);
    transaction.put_vertex(row, None, &[("value", value.into())]).expect("it fits");
    if is_new {
        transaction.put_edge(TABLE, row, "holds", &[]).expect("it fits");
    }
}

fn get(transaction: &Transaction, row: &str) -> i64 {
    let found = transaction.vertex(row).map(|vertex| vertex.properties).unwrap_or_default();
    match found.first() {
        Some((_, Value::Int(value))) => *value,
        other => panic!("{row}: {other:?}"),
    }
}

/// The rows whose value is as asked for.
fn select(transaction: &Transaction, is_meant: impl Fn(i64) -> bool) -> Vec<String> {
    let rows = transaction.neighbors(TABLE, "holds", Direction::Out).expect("the table");
    let name = |key| match key {
        Key::Text(name) => name,
        Key::Int(number) => panic!("{number}"),
    };
    rows.into_iter().map(name).filter(|row| is_meant(get(transaction, row))).collect()
}

/// Whether it commits; only a conflict may stand against it.
fn commits(transaction: Transaction) -> bool {
    match transaction.commit() {
        Ok(_) => true,
        Err(CommitError::Conflict { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

/// G0, write cycles: two transactions write both rows, and each row keeps the value of another one.
fn write_cycle(world: &World) -> bool {
    let (mut one, mut two) = (world.begin(), world.begin());
    put(&mut one, "1", 11);
    put(&mut two, "1", 12);
    put(&mut one, "2", 21);
    assert!(commits(one));
    put(&mut two, "2", 22);
    commits(two);
    !matches!(world.rows(), (11, 21) | (12, 22))
}

/// G1a, aborted reads: a value is read that is rolled back.
fn aborted_read(world: &World) -> bool {
    let (mut one, two) = (world.begin(), world.begin());
    put(&mut one, "1", 101);
    let before = (get(&two, "1"), get(&world.begin(), "1"));
    one.rollback();
    [before.0, before.1, get(&two, "1"), get(&world.begin(), "1")].contains(&101)
}

/// G1b, intermediate reads: a value is read that its writer replaced before it committed.
fn intermediate_read(world: &World) -> bool {
    let (mut one, two) = (world.begin(), world.begin());
    put(&mut one, "1", 101);
    let before = (get(&two, "1"), get(&world.begin(), "1"));
    put(&mut one, "1", 11);
    let after = get(&two, "1");
    assert!(commits(one));
    assert_eq!(get(&world.begin(), "1"), 11);
    [before.0, before.1, after, get(&two, "1")].contains(&101)
}

/// G1c, circular information flow: each of two transactions reads what the other writes.
fn circular_flow(world: &World) -> bool {
    let (mut one, mut two) = (world.begin(), world.begin());
    put(&mut one, "1", 11);
    put(&mut two, "2", 22);
    let seen = (get(&one, "2"), get(&two, "1"));
    (commits(one) & commits(two)) && seen == (22, 11)
}

/// OTV, observed transaction vanishes: what was seen of a transaction is not there in the next read.
fn vanishing(world: &World) -> bool {
    let (mut one, mut two, early) = (world.begin(), world.begin(), world.begin());
    put(&mut one, "1", 11);
    put(&mut one, "2", 19);
    put(&mut two, "1", 12);
    assert!(commits(one));
    let late = world.begin();
    let first = [&early, &late].map(|three| get(three, "1"));
    put(&mut two, "2", 18);
    let second = [&early, &late].map(|three| get(three, "2"));
    commits(two);
    let third = [&early, &late].map(|three| (get(three, "1"), get(three, "2")));
    let is_one_state = |at: usize, state: (i64, i64)| (first[at], second[at]) == state && third[at] == state;
    !is_one_state(0, (10, 20)) || !is_one_state(1, (11, 19))
}

/// PMP, predicate-many-preceders: rows that match appear under a reader.
fn predicate_preceders(world: &World) -> bool {
    let (one, mut two) = (world.begin(), world.begin());
    assert!(select(&one, |value| value == 30).is_empty());
    put(&mut two, "3", 30);
    assert!(commits(two));
    !select(&one, |value| value % 3 == 0).is_empty()
}

/// PMP for a write: rows come to match while those that match are deleted.
fn predicate_preceders_of_a_write(world: &World) -> bool {
    let (mut one, mut two) = (world.begin(), world.begin());
    for row in ["1", "2"] {
        let value = get(&one, row);
        put(&mut one, row, value + 10);
    }
    for row in select(&two, |value| value == 20) {
        two.delete_vertex(row.as_str()).expect("it fits");
    }
    assert!(commits(one));
    commits(two)
}

/// P4, lost update: both read a row and write it anew.
fn lost_update(world: &World) -> bool {
    let (mut one, mut two) = (world.begin(), world.begin());
    let (from_one, from_two) = (get(&one, "1"), get(&two, "1"));
    put(&mut one, "1", from_one + 1);
    put(&mut two, "1", from_two + 1);
    commits(one) & commits(two)
}

/// G-single, read skew: one row is read as it was before a commit, the other as it is after.
fn read_skew(world: &World) -> bool {
    let (one, mut two) = (world.begin(), world.begin());
    let first = get(&one, "1");
    assert_eq!((get(&two, "1"), get(&two, "2")), (10, 20));
    put(&mut two, "1", 12);
    put(&mut two, "2", 18);
    assert!(commits(two));
    (first, get(&one, "2")) == (10, 18)
}

/// G-single of predicates: a row that matched does no longer.
fn read_skew_of_predicates(world: &World) -> bool {
    let (one, mut two) = (world.begin(), world.begin());
    assert_eq!(select(&one, |value| value % 5 == 0).len(), 2);
    put(&mut two, "1", 12);
    assert!(commits(two));
    !select(&one, |value| value % 3 == 0).is_empty()
}

/// G-single of a write: a row is deleted for a value that another commit took from it.
fn read_skew_of_a_write(world: &World) -> bool {
    let (mut one, mut two) = (world.begin(), world.begin());
    assert_eq!(get(&one, "1"), 10);
    put(&mut two, "1", 12);
    put(&mut two, "2", 18);
    assert!(commits(two));
    for row in select(&one, |value| value == 20) {
        one.delete_vertex(row.as_str()).expect("it fits");
    }
    commits(one)
}

/// Long fork: two readers see two commits in either order.
fn long_fork(world: &World) -> bool {
    let (mut one, mut two) = (world.begin(), world.begin());
    let mut readers = vec![world.begin()];
    put(&mut one, "1", 11);
    put(&mut two, "2", 21);
    assert!(commits(one));
    readers.push(world.begin());
    assert!(commits(two));
    readers.push(world.begin());
    let seen: Vec<_> = readers.iter().map(|reader| (get(reader, "1"), get(reader, "2"))).collect();
    seen.contains(&(11, 20)) && seen.contains(&(10, 21))
}

/// G2-item, write skew: both read both rows, each writes another one.
fn write_skew(world: &World) -> bool {
    let (mut one, mut two) = (world.begin(), world.begin());
    let sums = [&one, &two].map(|each| get(each, "1") + get(each, "2"));
    put(&mut one, "1", sums[0]);
    put(&mut two, "2", sums[1]);
    commits(one) & commits(two)
}

/// G2, anti-dependency cycles: both find no row that matches, and each inserts one.
fn phantoms(world: &World) -> bool {
    let (mut one, mut two) = (world.begin(), world.begin());
    for each in [&one, &two] {
        assert!(select(each, |value| value % 3 == 0).is_empty());
    }
    put(&mut one, "3", 30);
    put(&mut two, "4", 42);
    commits(one) & commits(two)
}

/// G2 with two edges (Fekete): a transaction that only reads shows that two others were not one after the other.
fn read_only_anomaly(world: &World) -> bool {
    let (mut one, mut two) = (world.begin(), world.begin());
    assert_eq!((get(&one, "1"), get(&one, "2")), (10, 20));
    let value = get(&two, "2");
    put(&mut two, "2", value + 5);
    assert!(commits(two));
    let three = world.begin();
    assert_eq!((get(&three, "1"), get(&three, "2")), (10, 25));
    assert!(commits(three));
    put(&mut one, "1", 0);
    commits(one)
}

/// A case: what it is called, whether it happened, whether snapshot isolation allows it.
type Anomaly = (&'static str, fn(&World) -> bool, bool);

const ANOMALIES: [Anomaly; 15] = [
    ("G0", write_cycle, false),
    ("G1a", aborted_read, false),
    ("G1b", intermediate_read, false),
    ("G1c", circular_flow, false),
    ("OTV", vanishing, false),
    ("PMP", predicate_preceders, false),
    ("PMP of a write", predicate_preceders_of_a_write, false),
    ("P4", lost_update, false),
    ("G-single", read_skew, false),
    ("G-single of predicates", read_skew_of_predicates, false),
    ("G-single of a write", read_skew_of_a_write, false),
    ("long fork", long_fork, false),
    ("G2-item", write_skew, true),
    ("G2", phantoms, true),
    ("G2 of two edges", read_only_anomaly, true),
];

#[test]
fn snapshot_isolation_allows_write_skew_and_nothing_else() {
    for (name, happens, is_allowed) in ANOMALIES {
        assert_eq!(happens(&World::new(Isolation::Snapshot)), is_allowed, "{name}");
    }
}

#[test]
fn serializable_allows_nothing() {
    for (name, happens, _) in ANOMALIES {
        assert!(!happens(&World::new(Isolation::Serializable)), "{name}");
    }
}
