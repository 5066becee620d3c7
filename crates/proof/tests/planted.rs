//! A small store of lists with many versions, and the bugs that stores like it have had: the checker finds each, and
//! finds nothing in the store without them.

use std::collections::BTreeMap;

use evergraph_proof::{Level, List, Op, Outcome, Random, Transaction, check, violations};

/// What is wrong with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// Each read is of the newest version.
    ReadsNewest,
    /// Reads see what is not committed.
    ReadsUncommitted,
    /// Appends are shared at once, and stay when their transaction is refused.
    AbortLeaves,
    /// Two that change one exclusive list both commit.
    NoWriteCheck,
    /// A commit becomes visible list by list.
    TornPublish,
    /// A transaction begins with a version from before.
    StaleBegin,
    /// A commit is acknowledged and dropped now and then.
    DropsCommit,
    /// A commit drops the first of two appends to a list.
    DropsFirstAppend,
    /// A commit puts its items in front of those of the commit before it.
    Reorders,
    /// The reads of serializable transactions are not validated.
    NoReadCheck,
    /// Of a serializable transaction the lists that were empty are not validated.
    ForgetsEmptyReads,
}

type Lists = BTreeMap<List, Vec<u64>>;

/// A store of lists.
struct Store {
    bug: Bug,
    level: Level,
    versions: Vec<Lists>,
    /// Appends of open transactions.
    dirty: Vec<(usize, List, u64)>,
}

/// A transaction that is open.
#[derive(Clone)]
struct Open {
    process: usize,
    begin: usize,
    began: u64,
    ops: Vec<Op>,
}

impl Store {
    fn read(&self, open: &Open, list: List, random: &mut Random) -> Vec<u64> {
        let newest = self.versions.len() - 1;
        let version = match self.bug {
            Bug::ReadsNewest => newest,
            // The list is that of a later version.
            Bug::TornPublish if random.below(4) == 0 => newest.min(open.begin + 1),
            _ => open.begin,
        };
        let mut items = self.versions[version].get(&list).cloned().unwrap_or_default();
        let own = |op: &Op| match op {
            Op::Append { list: other, item } if *other == list => Some(*item),
            _ => None,
        };
        if self.bug == Bug::ReadsUncommitted {
            let others = self.dirty.iter().filter(|dirty| dirty.0 != open.process && dirty.1 == list);
            items.extend(others.map(|(.., item)| *item));
        }
        items.extend(open.ops.iter().filter_map(own));
        items
    }

    fn is_refused(&self, open: &Open) -> bool {
        let newest = &self.versions[self.versions.len() - 1];
        let changed = |list: &List| newest.get(list) != self.versions[open.begin].get(list);
        let writes = open.ops.iter().any(|op| matches!(op, Op::Append { .. }));
        open.ops.iter().any(|op| match op {
            Op::Append { list: list @ List::Exclusive(_), .. } => {
                self.bug != Bug::NoWriteCheck && changed(list)
            }
            Op::Append { .. } => false,
            Op::Read { list, items } => {
                let is_validated = match self.bug {
                    Bug::NoReadCheck => false,
                    Bug::ForgetsEmptyReads => !items.is_empty(),
                    _ => true,
                };
                self.level == Level::Serializable && writes && is_validated && changed(list)
            }
        })
    }

    fn commit(&mut self, open: &Open, random: &mut Random) -> Outcome {
        self.dirty.retain(|dirty| dirty.0 != open.process);
        let refused = self.is_refused(open);
        if refused && self.bug != Bug::AbortLeaves {
            return Outcome::Aborted;
        }
        let mut next = self.versions[self.versions.len() - 1].clone();
        for (position, op) in open.ops.iter().enumerate() {
            let Op::Append { list, item } = *op else { continue };
            let again = |op: &Op| matches!(op, Op::Append { list: other, .. } if *other == list);
            if self.bug == Bug::DropsFirstAppend && open.ops[position + 1..].iter().any(again) {
                continue;
            }
            let items = next.entry(list).or_default();
            match self.bug {
                Bug::Reorders if random.below(3) == 0 => items.insert(items.len().saturating_sub(1), item),
                _ => items.push(item),
            }
        }
        if self.bug != Bug::DropsCommit || random.below(8) > 0 {
            self.versions.push(next);
        }
        if refused { Outcome::Aborted } else { Outcome::Committed }
    }

    fn begin(&self, random: &mut Random) -> usize {
        let newest = self.versions.len() - 1;
        match self.bug {
            Bug::StaleBegin if random.below(3) == 0 => newest.saturating_sub(2),
            _ => newest,
        }
    }
}

const LISTS: [List; 6] = [
    List::Shared(0),
    List::Shared(1),
    List::Shared(2),
    List::Exclusive(3),
    List::Exclusive(4),
    List::Exclusive(5),
];

/// A run of a store by some processes, one operation at a time.
fn run(bug: Bug, level: Level, seed: u64, operations: usize) -> Vec<Transaction> {
    let mut random = Random::new(seed);
    let mut store = Store { bug, level, versions: vec![Lists::new()], dirty: Vec::new() };
    let mut open: Vec<Option<Open>> = vec![None; 4];
    let (mut history, mut items) = (Vec::new(), 0);
    for time in 0..operations as u64 {
        let process = random.below(4) as usize;
        let list = LISTS[random.below(6) as usize];
        match &mut open[process] {
            None => {
                let begin = store.begin(&mut random);
                open[process] = Some(Open { process, begin, began: time, ops: Vec::new() });
            }
            Some(this) if this.ops.len() > 1 && random.below(3) == 0 => {
                let outcome = store.commit(this, &mut random);
                let (began, ops) = (this.began, std::mem::take(&mut this.ops));
                history.push(Transaction { process: process as u32, began, ended: time, outcome, ops });
                open[process] = None;
            }
            Some(this) if random.below(2) == 0 => {
                let items = store.read(this, list, &mut random);
                this.ops.push(Op::Read { list, items });
            }
            Some(this) => {
                items += 1;
                this.ops.push(Op::Append { list, item: items });
                store.dirty.push((process, list, items));
            }
        }
    }
    let newest = &store.versions[store.versions.len() - 1];
    let all = |list: &List| Op::Read { list: *list, items: newest.get(list).cloned().unwrap_or_default() };
    let ops = LISTS.iter().map(all).collect();
    let end = operations as u64;
    history.push(Transaction { process: 9, began: end, ended: end + 1, outcome: Outcome::Committed, ops });
    history
}

#[test]
fn a_store_without_bugs_has_none() {
    let mut skewed = 0;
    for seed in 0..30 {
        assert_eq!(check(&run(Bug::None, Level::Serializable, seed, 400)), [], "seed {seed}");
        let history = run(Bug::None, Level::Snapshot, seed, 400);
        assert_eq!(violations(&history, Level::Snapshot), [], "seed {seed}");
        skewed += usize::from(!violations(&history, Level::Serializable).is_empty());
    }
    assert!(skewed > 25, "snapshot isolation skews writes, and that is seen: {skewed} of 30");
}

#[test]
fn every_planted_bug_is_found() {
    use Bug::*;
    let of_both = [
        ReadsNewest,
        ReadsUncommitted,
        AbortLeaves,
        NoWriteCheck,
        TornPublish,
        StaleBegin,
        DropsCommit,
        DropsFirstAppend,
        Reorders,
    ];
    let snapshot = of_both.map(|bug| (bug, Level::Snapshot));
    let serializable = [NoReadCheck, ForgetsEmptyReads].map(|bug| (bug, Level::Serializable));
    for (bug, level) in snapshot.into_iter().chain(serializable) {
        let found = |seed: &u64| !violations(&run(bug, level, *seed, 400), level).is_empty();
        let count = (0..20).filter(found).count();
        let least = if bug == ForgetsEmptyReads { 5 } else { 15 };
        assert!(count >= least, "{bug:?} is found in {count} of 20 runs");
    }
}

/// Every place of a good history where a change must be noticed, changed one at a time.
#[test]
fn every_change_of_a_history_is_found() {
    let history = run(Bug::None, Level::Serializable, 7, 600);
    let mut changes = 0;
    let mut changed = |change: &dyn Fn(&mut Vec<Transaction>), what: String| {
        let mut history = history.clone();
        change(&mut history);
        assert_ne!(check(&history), [], "{what}");
        changes += 1;
    };
    let reads = |history: &mut Vec<Transaction>, change: &dyn Fn(&mut Vec<u64>)| {
        for op in history.iter_mut().flat_map(|transaction| &mut transaction.ops) {
            if let Op::Read { items, .. } = op {
                change(items);
            }
        }
    };
    let committed: Vec<usize> = (0..history.len()).filter(|&at| is_committed(&history[at])).collect();
    for &writer in &committed {
        let appended = history[writer].ops.iter().filter_map(|op| match op {
            Op::Append { item, .. } => Some(*item),
            Op::Read { .. } => None,
        });
        for item in appended.collect::<Vec<_>>() {
            let lose =
                |history: &mut Vec<Transaction>| reads(history, &|items| items.retain(|&at| at != item));
            changed(&lose, format!("{item} is lost"));
            changed(&|history| history[writer].outcome = Outcome::Aborted, format!("{writer} is refused"));
        }
    }
    for reader in 0..history.len() {
        for op in 0..history[reader].ops.len() {
            let Op::Read { items, .. } = &history[reader].ops[op] else { continue };
            let with = |change: &'static dyn Fn(&mut Vec<u64>)| {
                move |history: &mut Vec<Transaction>| {
                    if let Op::Read { items, .. } = &mut history[reader].ops[op] {
                        change(items);
                    }
                }
            };
            changed(&with(&|items| items.push(1_000_000)), format!("{reader} reads what nobody wrote"));
            if items.len() > 1 {
                changed(&with(&|items| items.swap(0, 1)), format!("{reader} reads in another order"));
            }
            let newest = items.last().and_then(|item| writer_of(&history, *item));
            if newest.is_some_and(|writer| history[writer].ended < history[reader].began) {
                changed(
                    &with(&|items| items.truncate(items.len() - 1)),
                    format!("{reader} reads what was before"),
                );
            }
        }
    }
    assert!(changes > 300, "{changes} changes");
}

fn is_committed(transaction: &Transaction) -> bool {
    transaction.outcome == Outcome::Committed
}

fn writer_of(history: &[Transaction], item: u64) -> Option<usize> {
    let wrote = |op: &Op| matches!(op, Op::Append { item: other, .. } if *other == item);
    history.iter().position(|transaction| transaction.ops.iter().any(wrote))
}
