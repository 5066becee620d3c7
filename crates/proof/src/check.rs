//! Which anomalies a history has.

use crate::anomaly::{Anomaly, Kind, Level};
use crate::cycles::{Edge, find_cycle};
use crate::dependencies::{Dependency, Reason, dependencies};
use crate::history::{List, Transaction};
use crate::lists::Lists;

/// The anomalies of a history: all that single lists show, and of cycles one for each way of looking for them. There is
/// none in a history that is strictly serializable.
///
/// ```
/// use evergraph_proof::{Kind, Level, List, Op, Outcome, Transaction, check};
///
/// // Each of two reads a list as empty that the other one appends to.
/// let (x, y) = (List::Shared(1), List::Shared(2));
/// let transaction = |process, read, list, item| Transaction {
///     process,
///     began: 0,
///     ended: 9,
///     outcome: Outcome::Committed,
///     ops: vec![Op::Read { list: read, items: vec![] }, Op::Append { list, item }],
/// };
/// let all = vec![Op::Read { list: x, items: vec![1] }, Op::Read { list: y, items: vec![2] }];
/// let last = Transaction { process: 0, began: 10, ended: 11, outcome: Outcome::Committed, ops: all };
/// let found = check(&[transaction(0, y, x, 1), transaction(1, x, y, 2), last]);
/// assert_eq!(found[0].kind, Kind::WriteSkew);
/// assert!(found[0].kind.is_allowed(Level::Snapshot));
/// ```
pub fn check(history: &[Transaction]) -> Vec<Anomaly> {
    let mut lists = Lists::of(history);
    let mut found = std::mem::take(&mut lists.anomalies);
    let all = dependencies(history, &lists);
    let find = |used: fn(Reason) -> bool| {
        find_cycle(2 * history.len(), &begins_and_commits(history.len(), &all, used))
    };
    let mut cycles = vec![
        find(|reason| matches!(reason, Reason::WriteWrite(_))),
        find(|reason| !matches!(reason, Reason::ReadWrite(_))),
        find(|_| true),
    ];
    let in_event_graph = cycles.iter().any(Option::is_some);
    if !in_event_graph {
        cycles.push(find_cycle(history.len(), &transactions(&all)));
    }
    for labels in cycles.into_iter().flatten() {
        let cycle: Vec<Dependency> = labels.into_iter().filter_map(|label| all.get(label).copied()).collect();
        let anomaly = describe(&cycle, in_event_graph);
        if found.iter().all(|other| other.kind != anomaly.kind) {
            found.push(anomaly);
        }
    }
    found.sort_by_key(|anomaly| anomaly.kind);
    found
}

/// The anomalies of a history that a level does not allow.
pub fn violations(history: &[Transaction], level: Level) -> Vec<Anomaly> {
    let mut found = check(history);
    found.retain(|anomaly| !anomaly.kind.is_allowed(level));
    found
}

/// The graph of begins (even) and commits (odd) of which snapshot isolation allows no cycle.
fn begins_and_commits(transactions: usize, all: &[Dependency], used: fn(Reason) -> bool) -> Vec<Edge> {
    let (begin, commit) = (|transaction: usize| 2 * transaction, |transaction: usize| 2 * transaction + 1);
    let own = |transaction| Edge {
        from: begin(transaction),
        to: commit(transaction),
        counts: false,
        label: usize::MAX,
    };
    let between = |(label, dependency): (usize, &Dependency)| {
        let Dependency { from, to, reason } = *dependency;
        let (from, to) = match reason {
            Reason::WriteWrite(List::Shared(_)) => (commit(from), commit(to)),
            Reason::ReadWrite(_) => (begin(from), commit(to)),
            _ => (commit(from), begin(to)),
        };
        Edge { from, to, counts: matches!(reason, Reason::ReadWrite(_)), label }
    };
    let dependencies = all.iter().enumerate().filter(|(_, dependency)| used(dependency.reason));
    (0..transactions).map(own).chain(dependencies.map(between)).collect()
}

/// The graph of transactions of which serializability allows no cycle.
fn transactions(all: &[Dependency]) -> Vec<Edge> {
    let edge = |(label, dependency): (usize, &Dependency)| Edge {
        from: dependency.from,
        to: dependency.to,
        counts: matches!(dependency.reason, Reason::ReadWrite(_)),
        label,
    };
    all.iter().enumerate().map(edge).collect()
}

fn describe(cycle: &[Dependency], in_event_graph: bool) -> Anomaly {
    let count = |is_meant: fn(Reason) -> bool| cycle.iter().filter(|edge| is_meant(edge.reason)).count();
    let antidependencies = count(|reason| matches!(reason, Reason::ReadWrite(_)));
    let reads = count(|reason| matches!(reason, Reason::WriteRead(_) | Reason::Time));
    let kind = match (in_event_graph, antidependencies, reads) {
        (false, ..) => Kind::WriteSkew,
        (true, 0, 0) => Kind::WriteCycle,
        (true, 0, _) => Kind::CircularFlow,
        (true, 1, _) => Kind::ReadSkew,
        (true, ..) => Kind::LongFork,
    };
    let steps: Vec<String> =
        cycle.iter().map(|edge| format!("{} -{:?}-> {}", edge.from, edge.reason, edge.to)).collect();
    Anomaly { kind, transactions: cycle.iter().map(|edge| edge.from).collect(), story: steps.join(", ") }
}
