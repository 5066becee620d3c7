//! From what was read to the order each list was written in, and what is wrong before any dependency is looked at.
//!
//! ```text
//!  reads of one list     [1 2]   [1 2 3 4]   []   [1 2 3]+[9]      the longest gives the order,
//!  order                  1 2 3 4                                  all others must be prefixes of it;
//!                                                                  own appends (+) stand apart at the end
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::anomaly::{Anomaly, Kind};
use crate::history::{List, Op, Outcome, Transaction};

/// A read, without the reader's own appends.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) reader: usize,
    pub(crate) list: List,
    /// How many items of the list's order it saw.
    pub(crate) length: usize,
}

/// The order in which lists were written, as far as reads show it, and the reads.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// Items of each list with who wrote them.
    pub(crate) orders: BTreeMap<List, Vec<(u64, usize)>>,
    pub(crate) seen: Vec<Seen>,
    /// What is wrong already.
    pub(crate) anomalies: Vec<Anomaly>,
}

/// Who appended an item, and whether more of theirs followed in the same list.
#[derive(Clone, Copy, Debug)]
struct Writer {
    transaction: usize,
    list: List,
    is_last: bool,
}

/// One read as it was made.
struct Read<'a> {
    reader: usize,
    list: List,
    base: &'a [u64],
}

impl Lists {
    /// Reads a history.
    pub(crate) fn of(history: &[Transaction]) -> Self {
        let mut lists = Lists::default();
        let writers = writers(history);
        let mut reads = Vec::new();
        for (reader, transaction) in history.iter().enumerate() {
            lists.read_one(reader, transaction, &mut reads);
        }
        let mut longest: BTreeMap<List, &[u64]> = BTreeMap::new();
        for read in &reads {
            let order = longest.entry(read.list).or_default();
            if read.base.len() > order.len() {
                *order = read.base;
            }
        }
        for (list, order) in &longest {
            let known = order.iter().filter_map(|item| Some((*item, writers.get(item)?.transaction)));
            lists.orders.insert(*list, known.collect());
            lists.find_duplicates(*list, order);
        }
        for read in reads {
            lists.check_read(history, &writers, &longest, &read);
        }
        lists.find_lost(history);
        lists
    }

    fn report(&mut self, kind: Kind, transactions: Vec<usize>, story: String) {
        self.anomalies.push(Anomaly { kind, transactions, story });
    }

    /// Takes the reads of one transaction apart from its own appends.
    fn read_one<'a>(&mut self, reader: usize, transaction: &'a Transaction, reads: &mut Vec<Read<'a>>) {
        let mut own: BTreeMap<List, Vec<u64>> = BTreeMap::new();
        let mut before: BTreeMap<List, &[u64]> = BTreeMap::new();
        for op in &transaction.ops {
            match op {
                Op::Append { list, item } => own.entry(*list).or_default().push(*item),
                Op::Read { list, items } => {
                    let mine = own.get(list).map_or(&[][..], |items| items);
                    let Some(base) = items.strip_suffix(mine) else {
                        let story = format!("{reader} appended {mine:?} to {list:?} and then read {items:?}");
                        self.report(Kind::Internal, vec![reader], story);
                        continue;
                    };
                    let first = *before.entry(*list).or_insert(base);
                    if first != base {
                        let story = format!("{reader} read {first:?} of {list:?} first, then {base:?}");
                        self.report(Kind::Internal, vec![reader], story);
                    }
                    reads.push(Read { reader, list: *list, base });
                }
            }
        }
    }

    fn find_duplicates(&mut self, list: List, order: &[u64]) {
        let mut met = BTreeSet::new();
        if let Some(item) = order.iter().find(|item| !met.insert(**item)) {
            self.report(Kind::Duplicate, Vec::new(), format!("{item} is in {list:?} twice: {order:?}"));
        }
    }

    fn check_read(
        &mut self,
        history: &[Transaction],
        writers: &HashMap<u64, Writer>,
        longest: &BTreeMap<List, &[u64]>,
        read: &Read<'_>,
    ) {
        let Read { reader, list, base } = *read;
        let order = longest.get(&list).copied().unwrap_or_default();
        if !order.starts_with(base) {
            let story = format!("{reader} read {base:?} of {list:?}, another one {order:?}");
            return self.report(Kind::Disorder, vec![reader], story);
        }
        for item in base {
            match writers.get(item) {
                Some(writer) if writer.list == list => {
                    if history[writer.transaction].outcome == Outcome::Aborted {
                        let story =
                            format!("{reader} read {item} of {list:?} from {writer:?}, which aborted");
                        self.report(Kind::AbortedRead, vec![writer.transaction, reader], story);
                    }
                }
                _ => {
                    let story = format!("{reader} read {item} of {list:?}, which nobody appended");
                    self.report(Kind::Garbage, vec![reader], story);
                }
            }
        }
        if let Some(writer) = base.last().and_then(|item| writers.get(item))
            && !writer.is_last
            && writer.transaction != reader
        {
            let story = format!("{reader} read {base:?} of {list:?}, in the middle of {writer:?}");
            self.report(Kind::IntermediateRead, vec![writer.transaction, reader], story);
        }
        self.seen.push(Seen { reader, list, length: base.len() });
    }

    /// Committed appends that are in no list, though a later transaction looked.
    fn find_lost(&mut self, history: &[Transaction]) {
        let mut latest: BTreeMap<List, (u64, usize)> = BTreeMap::new();
        for seen in &self.seen {
            let began = history[seen.reader].began;
            let entry = latest.entry(seen.list).or_insert((began, seen.reader));
            *entry = (*entry).max((began, seen.reader));
        }
        for (writer, transaction) in history.iter().enumerate() {
            if transaction.outcome != Outcome::Committed {
                continue;
            }
            for op in &transaction.ops {
                let Op::Append { list, item } = op else { continue };
                let is_there = |order: &Vec<(u64, usize)>| order.iter().any(|(other, _)| other == item);
                let looked = latest.get(list).filter(|(began, _)| *began > transaction.ended);
                if let Some((_, reader)) = looked
                    && !self.orders.get(list).is_some_and(is_there)
                {
                    let story = format!("{writer} appended {item} to {list:?}, and {reader} finds it gone");
                    self.report(Kind::Lost, vec![writer, *reader], story);
                }
            }
        }
    }
}

fn writers(history: &[Transaction]) -> HashMap<u64, Writer> {
    let mut writers = HashMap::new();
    for (transaction, Transaction { ops, .. }) in history.iter().enumerate() {
        let mut last: BTreeMap<List, u64> = BTreeMap::new();
        for op in ops {
            let Op::Append { list, item } = *op else { continue };
            writers.insert(item, Writer { transaction, list, is_last: true });
            let earlier = last.insert(list, item).and_then(|earlier| writers.get_mut(&earlier));
            if let Some(earlier) = earlier {
                earlier.is_last = false;
            }
        }
    }
    writers
}
