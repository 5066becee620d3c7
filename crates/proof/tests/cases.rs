//! The smallest history of each kind of anomaly is told for what it is, and its neighbors without one are not.

use evergraph_proof::Kind::{self, *};
use evergraph_proof::{Level, List, Op, Outcome, Transaction, check, violations};

const X: List = List::Shared(1);
const Y: List = List::Shared(2);
const A: List = List::Exclusive(3);
const B: List = List::Exclusive(4);

fn read(list: List, items: &[u64]) -> Op {
    Op::Read { list, items: items.to_vec() }
}

fn append(list: List, item: u64) -> Op {
    Op::Append { list, item }
}

/// A transaction of a process of its own, at the same time as all the others.
fn at_once(process: u32, ops: Vec<Op>) -> Transaction {
    Transaction { process, began: 0, ended: 100, outcome: Outcome::Committed, ops }
}

/// One that comes after all of these.
fn last(ops: Vec<Op>) -> Transaction {
    Transaction { process: 99, began: 200, ended: 201, outcome: Outcome::Committed, ops }
}

fn history(transactions: &[Vec<Op>]) -> Vec<Transaction> {
    transactions.iter().enumerate().map(|(process, ops)| at_once(process as u32, ops.clone())).collect()
}

fn kinds(history: &[Transaction]) -> Vec<Kind> {
    check(history).into_iter().map(|anomaly| anomaly.kind).collect()
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    let history = [
        history(&[vec![append(X, 1), append(A, 2)], vec![read(X, &[]), append(X, 3), read(X, &[3])]]),
        vec![last(vec![read(X, &[3, 1]), read(A, &[2])])],
    ];
    assert_eq!(kinds(&history.concat()), []);
    assert_eq!(kinds(&[]), []);
}

#[test]
fn what_single_lists_show() {
    let one = |ops: Vec<Op>| history(&[vec![append(X, 1), append(X, 2)], ops]);
    assert_eq!(kinds(&one(vec![read(X, &[1, 2, 7])])), [Garbage]);
    assert_eq!(kinds(&one(vec![read(X, &[1, 2, 1])])), [Duplicate, IntermediateRead]);
    assert_eq!(kinds(&one(vec![read(X, &[1])])), [IntermediateRead]);
    assert_eq!(kinds(&one(vec![append(X, 3), read(X, &[1, 2])])), [Internal]);
    assert_eq!(kinds(&one(vec![read(X, &[]), read(X, &[1, 2])])), [Internal, ReadSkew]);
    let two = history(&[vec![append(X, 1)], vec![append(X, 2)], vec![read(X, &[1, 2])], vec![read(X, &[2])]]);
    assert_eq!(kinds(&two), [Disorder]);
    let mut aborted = history(&[vec![append(X, 1)], vec![read(X, &[1])]]);
    aborted[0].outcome = Outcome::Aborted;
    assert_eq!(kinds(&aborted), [AbortedRead]);
    aborted[0].outcome = Outcome::Unknown;
    assert_eq!(kinds(&aborted), []);
    let mut gone = history(&[vec![append(X, 1)]]);
    gone.push(last(vec![read(X, &[])]));
    assert_eq!(kinds(&gone), [Lost]);
    gone[0].outcome = Outcome::Unknown;
    assert_eq!(kinds(&gone), []);
}

#[test]
fn g0_write_cycle() {
    let writes = [vec![append(A, 1), append(B, 2)], vec![append(A, 3), append(B, 4)]];
    let mut found = history(&writes);
    found.push(last(vec![read(A, &[1, 3]), read(B, &[4, 2])]));
    assert_eq!(kinds(&found)[0], WriteCycle);
    // Lists that never conflict are no less in one order.
    let shared = [vec![append(X, 1), append(Y, 2)], vec![append(X, 3), append(Y, 4)]];
    let mut found = history(&shared);
    found.push(last(vec![read(X, &[1, 3]), read(Y, &[4, 2])]));
    assert_eq!(kinds(&found)[0], WriteCycle);
}

#[test]
fn g1c_circular_flow() {
    let flow = [vec![append(X, 1), read(Y, &[2])], vec![append(Y, 2), read(X, &[1])]];
    assert_eq!(kinds(&history(&flow)), [CircularFlow]);
}

#[test]
fn read_skew() {
    let skew = [vec![append(X, 1), append(Y, 2)], vec![read(X, &[1]), read(Y, &[])], vec![read(Y, &[2])]];
    assert_eq!(kinds(&history(&skew)), [ReadSkew]);
}

/// Two append to an exclusive list that both read as empty.
#[test]
fn lost_update() {
    let update = |item| vec![read(A, &[]), append(A, item)];
    let mut found = history(&[update(1), update(2)]);
    found.push(last(vec![read(A, &[1, 2])]));
    assert_eq!(kinds(&found), [ReadSkew]);
    // Shared lists allow it: both events are there. It is not serializable.
    let append = |item| vec![read(X, &[]), append(X, item)];
    let mut found = history(&[append(1), append(2)]);
    found.push(last(vec![read(X, &[1, 2])]));
    assert_eq!(kinds(&found), [WriteSkew]);
}

#[test]
fn long_fork() {
    let fork = [
        vec![append(X, 1)],
        vec![append(Y, 2)],
        vec![read(X, &[1]), read(Y, &[])],
        vec![read(X, &[]), read(Y, &[2])],
    ];
    assert_eq!(kinds(&history(&fork)), [LongFork]);
}

#[test]
fn write_skew_is_what_snapshot_isolation_allows() {
    let mut found = history(&[vec![read(A, &[]), append(B, 1)], vec![read(B, &[]), append(A, 2)]]);
    found.push(last(vec![read(A, &[2]), read(B, &[1])]));
    assert_eq!(kinds(&found), [WriteSkew]);
    assert_eq!(violations(&found, Level::Snapshot), []);
    assert_eq!(violations(&found, Level::Serializable).len(), 1);
}

/// The read-only transaction that makes two others visible as not serial (Fekete, O'Neil and O'Neil, 2004).
#[test]
fn the_read_only_anomaly_is_a_write_skew() {
    let withdraw = vec![read(A, &[]), read(B, &[]), append(A, 1)];
    let mut found = history(&[withdraw, vec![read(B, &[]), append(B, 2)], vec![read(A, &[]), read(B, &[2])]]);
    found.push(last(vec![read(A, &[1]), read(B, &[2])]));
    assert_eq!(kinds(&found), [WriteSkew]);
}

#[test]
fn a_read_that_lags_behind_time() {
    let mut found = history(&[vec![append(X, 1)], vec![read(X, &[1])]]);
    found.push(last(vec![read(X, &[])]));
    assert_eq!(kinds(&found), [ReadSkew]);
    // Nobody can say that it lags while the writer is not answered.
    found[0].ended = 300;
    found[1].ended = 300;
    assert_eq!(kinds(&found), []);
}
