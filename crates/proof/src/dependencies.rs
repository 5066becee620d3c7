//! Which transaction must have come before which, from what they read.
//!
//! ```text
//!  write-write   T appended, U appended right behind        commit T < commit U; exclusive lists: commit T < begin U
//!  write-read    T appended what U read last                commit T < begin U
//!  read-write    T read up to where U appended              begin T  < commit U
//!  time          T had ended when U was about to begin      commit T < begin U
//! ```
//!
//! A history has snapshot isolation if all begins and commits can be put on one line that agrees with these; it is
//! serializable if that is so with the begin and the commit of each transaction in one place.

use std::collections::BTreeMap;

use crate::history::{List, Outcome, Transaction};
use crate::lists::Lists;

/// Why one transaction comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    WriteWrite(List),
    WriteRead(List),
    ReadWrite(List),
    Time,
}

/// A dependency between two transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Dependency {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) reason: Reason,
}

/// All dependencies of a history.
pub(crate) fn dependencies(history: &[Transaction], lists: &Lists) -> Vec<Dependency> {
    let mut all = Vec::new();
    let mut add = |from: usize, to: usize, reason| {
        if from != to {
            all.push(Dependency { from, to, reason });
        }
    };
    for (list, order) in &lists.orders {
        for pair in order.windows(2) {
            add(pair[0].1, pair[1].1, Reason::WriteWrite(*list));
        }
    }
    for seen in &lists.seen {
        let Some(order) = lists.orders.get(&seen.list) else { continue };
        if let Some((_, writer)) = seen.length.checked_sub(1).and_then(|last| order.get(last)) {
            add(*writer, seen.reader, Reason::WriteRead(seen.list));
        }
        if let Some((_, writer)) = order.get(seen.length) {
            add(seen.reader, *writer, Reason::ReadWrite(seen.list));
        }
    }
    time(history, &mut add);
    all.sort_unstable();
    all.dedup();
    all
}

/// From the newest transaction of each process that had ended when another began: what came before it follows.
fn time(history: &[Transaction], add: &mut impl FnMut(usize, usize, Reason)) {
    let mut ends: Vec<usize> = (0..history.len()).collect();
    let mut begins = ends.clone();
    // One that was told nothing may end at any time.
    ends.retain(|&transaction| history[transaction].outcome != Outcome::Unknown);
    ends.sort_by_key(|&transaction| history[transaction].ended);
    begins.sort_by_key(|&transaction| history[transaction].began);
    let mut ended = ends.into_iter().peekable();
    let mut newest: BTreeMap<u32, usize> = BTreeMap::new();
    for transaction in begins {
        while let Some(earlier) =
            ended.next_if(|&earlier| history[earlier].ended < history[transaction].began)
        {
            newest.insert(history[earlier].process, earlier);
        }
        newest.values().for_each(|&earlier| add(earlier, transaction, Reason::Time));
    }
}
