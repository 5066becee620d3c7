//! Serializable transactions that are open at the same time, their reads and writes in any order: one that commits might as
//! well have run at that moment. So it is run once more right before it commits, as another transaction that sees the newest version,
//! and must be told the same, word for word.

use crate::common::{declare_for_commits, options};
use evergraph_proof::tally;
use evergraph_store::{CommitError, Isolation, Options, Store, Transaction, TransactionOptions};
use evergraph_types::{Direction, KeyKind, Value};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// The last one is there once somebody has put an edge of it.
const TYPES: [&str; 5] = ["simple", "multi", "mirror", "both", "late"];
/// So many transactions are open at once.
const OPEN: usize = 3;
/// Some keys have a vertex, some had one, some never had.
const KEYS: i64 = 5;

/// What a transaction asks for and does.
#[derive(Clone, Copy, Debug)]
enum Act {
    HasVertex(i64),
    Vertex(i64),
    HasEdge(i64, i64, &'static str),
    Edges(i64, i64, &'static str),
    Neighbors(i64, &'static str, Direction),
    Degree(i64, &'static str, Direction),
    Types,
    PutVertex(i64, Option<i64>),
    DeleteVertex(i64),
    PutEdge(i64, i64, &'static str, Option<i64>),
    DeleteEdge(i64, i64, &'static str),
}

impl Act {
    /// Does it, and tells what the transaction was told.
    fn told(self, transaction: &mut Transaction) -> String {
        let given = |value: Option<i64>| value.map(|value| ("value", Value::Int(value)));
        match self {
            Act::HasVertex(key) => format!("{}", transaction.has_vertex(key)),
            Act::Vertex(key) => format!("{:?}", transaction.vertex(key)),
            Act::HasEdge(src, dst, kind) => format!("{}", transaction.has_edge(src, dst, kind)),
            Act::Edges(src, dst, kind) => format!("{:?}", transaction.edges(src, dst, kind)),
            Act::Neighbors(key, kind, direction) => {
                format!("{:?}", transaction.neighbors(key, kind, direction))
            }
            Act::Degree(key, kind, direction) => format!("{:?}", transaction.degree(key, kind, direction)),
            Act::Types => format!("{}", transaction.schema().edge_type("late").is_some()),
            Act::PutVertex(key, value) => {
                format!("{:?}", transaction.put_vertex(key, None, given(value).as_slice()))
            }
            Act::DeleteVertex(key) => format!("{:?}", transaction.delete_vertex(key)),
            Act::PutEdge(src, dst, kind, value) => {
                format!("{:?}", transaction.put_edge(src, dst, kind, given(value).as_slice()))
            }
            Act::DeleteEdge(src, dst, kind) => format!("{:?}", transaction.delete_edge(src, dst, kind)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Of one of the transactions, which begins if it has not.
    Act(usize, Act),
    Commit(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let key = || 0..KEYS;
    let kind = || proptest::sample::select(&TYPES[..]);
    let direction = || proptest::sample::select(&[Direction::Out, Direction::In][..]);
    let value = || proptest::option::of(0..9i64);
    prop_oneof![
        2 => key().prop_map(Act::HasVertex),
        2 => key().prop_map(Act::Vertex),
        2 => (key(), key(), kind()).prop_map(|(src, dst, kind)| Act::HasEdge(src, dst, kind)),
        2 => (key(), key(), kind()).prop_map(|(src, dst, kind)| Act::Edges(src, dst, kind)),
        2 => (key(), kind(), direction()).prop_map(|(key, kind, direction)| Act::Neighbors(key, kind, direction)),
        2 => (key(), kind(), direction()).prop_map(|(key, kind, direction)| Act::Degree(key, kind, direction)),
        1 => Just(Act::Types),
        2 => (key(), value()).prop_map(|(key, value)| Act::PutVertex(key, value)),
        1 => key().prop_map(Act::DeleteVertex),
        4 => (key(), key(), kind(), value())
            .prop_map(|(src, dst, kind, value)| Act::PutEdge(src, dst, kind, value)),
        2 => (key(), key(), kind()).prop_map(|(src, dst, kind)| Act::DeleteEdge(src, dst, kind)),
    ]
}

fn steps(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..OPEN, act()).prop_map(|(number, act)| Step::Act(number, act)),
        1 => (0..OPEN).prop_map(Step::Commit),
    ];
    proptest::collection::vec(step, 1..longest)
}

/// An open transaction, with all it did and was told, and how many had committed when it began.
struct Open {
    transaction: Transaction,
    acts: Vec<(Act, String)>,
    begin: usize,
}

/// How the transactions of one or more runs ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ends {
    committed: usize,
    /// Of these, were told what they would not have been if they had run when they committed.
    out_of_order: usize,
    refused: usize,
    /// Of these, would have been told the same.
    in_vain: usize,
}

impl Ends {
    fn add(&mut self, other: Ends) {
        self.committed += other.committed;
        self.out_of_order += other.out_of_order;
        self.refused += other.refused;
        self.in_vain += other.in_vain;
    }
}

struct Run {
    store: Store,
    options: TransactionOptions,
    ends: Ends,
}

impl Run {
    fn begin(&self) -> Open {
        let transaction = self.store.begin_with(self.options).expect("open");
        Open { transaction, acts: Vec::new(), begin: self.ends.committed }
    }

    fn commit(&mut self, open: Open) {
        let mut again = self.begin();
        let is_same = open.acts.iter().all(|(act, told)| act.told(&mut again.transaction) == *told);
        drop(again);
        let alone = open.begin == self.ends.committed;
        let newest = self.store.version().expect("open").sequence();
        match open.transaction.commit() {
            Ok(sequence) if sequence <= newest => {}
            Ok(_) => {
                self.ends.committed += 1;
                self.ends.out_of_order += usize::from(!is_same);
            }
            Err(CommitError::Conflict { what, .. }) => {
                assert!(!alone, "{what}: nobody has committed since it began");
                self.ends.refused += 1;
                self.ends.in_vain += usize::from(is_same);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn run(keys: KeyKind, isolation: Isolation, steps: &[Step]) -> Ends {
    let store = Store::in_memory(Options { keys: Some(keys), ..options() });
    declare_for_commits(&store);
    let options = TransactionOptions { isolation, ..TransactionOptions::default() };
    let mut run = Run { store, options, ends: Ends::default() };
    let mut open: [Option<Open>; OPEN] = Default::default();
    for step in steps {
        match *step {
            Step::Act(number, act) => {
                let open = open[number].get_or_insert_with(|| run.begin());
                let told = act.told(&mut open.transaction);
                open.acts.push((act, told));
            }
            Step::Commit(number) => open[number].take().into_iter().for_each(|open| run.commit(open)),
        }
    }
    open.into_iter().flatten().for_each(|open| run.commit(open));
    run.ends
}

/// Runs of transactions of this isolation; none may be out of order if it is serializable.
fn runs(isolation: Isolation, cases: u32, longest: usize) -> Ends {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let keys = proptest::sample::select(&[KeyKind::Int64, KeyKind::Dense][..]);
    let all = std::cell::Cell::new(Ends::default());
    let outcome = TestRunner::new(config).run(&(keys, steps(longest)), |(keys, steps)| {
        let ends = run(keys, isolation, &steps);
        prop_assert!(isolation == Isolation::Snapshot || ends.out_of_order == 0, "{ends:?}");
        let mut sum = all.get();
        sum.add(ends);
        all.set(sum);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    all.get()
}

#[test]
fn what_commits_might_as_well_have_run_then() {
    let ends = runs(Isolation::Serializable, 600, 60);
    // Most that are refused had a reason: what they were told has changed.
    assert!(ends.committed > ends.refused && 2 * ends.in_vain < ends.refused, "{ends:?}");
}

#[test]
fn snapshot_isolation_is_seen_to_be_less() {
    let ends = runs(Isolation::Snapshot, 200, 60);
    assert!(ends.out_of_order > 0, "{ends:?}");
}

#[test]
#[ignore = "long"]
fn soak_what_commits_might_as_well_have_run_then() {
    runs(Isolation::Serializable, 40_000, 90);
    tally("runs of serializable transactions side by side", 40_000);
}
