//! What the writers write, so that the state after any number of transactions is known.
//!
//! ```text
//!  transaction n of writer w:   w ──► item(w, n)     both edges carry the number n
//!                               w ◄── item(w, n)
//!             and if n mod 4 = 3: delete what transaction n - 1 wrote, by vertex or by its two edges in turn
//!
//!  after m transactions:        items 0..m, without each n mod 4 = 2 below m - 1
//! ```
//!
//! Invariant: the last transaction's own item is always there, so the state tells `m`; transactions of different
//! writers touch different vertices, so none conflicts.

use std::collections::BTreeSet;

use evergraph::{CommitError, Direction, Key, Snapshot, Transaction, Value};

use super::CrashError;

/// The edge type that the writers use.
pub(super) const EDGE_TYPE: &str = "pays";
const NUMBER: &str = "number";
/// Keys of one writer lie this far from those of the next.
const ITEMS_PER_WRITER: u64 = 1 << 40;

fn writer_key(writer: u64) -> i64 {
    (writer * ITEMS_PER_WRITER) as i64
}

fn item_key(writer: u64, number: u64) -> i64 {
    writer_key(writer) + 1 + number as i64
}

/// Writes transaction `number` of a writer.
pub(super) fn fill(transaction: &mut Transaction, writer: u64, number: u64) -> Result<(), CommitError> {
    let (from, item) = (writer_key(writer), item_key(writer, number));
    let properties = [(NUMBER, Value::Int(number as i64))];
    transaction.put_edge(from, item, EDGE_TYPE, &properties)?;
    transaction.put_edge(item, from, EDGE_TYPE, &properties)?;
    let before = item - 1;
    match number % 8 {
        3 => {
            transaction.delete_edge(from, before, EDGE_TYPE)?;
            transaction.delete_edge(before, from, EDGE_TYPE)?;
        }
        7 => {
            transaction.delete_vertex(before)?;
        }
        _ => {}
    }
    Ok(())
}

/// The numbers that are there after so many transactions.
fn expected(transactions: u64) -> BTreeSet<u64> {
    (0..transactions).filter(|number| number % 4 != 2 || number + 1 >= transactions).collect()
}

/// How many transactions of each writer the snapshot holds.
///
/// # Errors
/// [`CrashError::Torn`] if what it holds is not exactly the state after that many.
pub fn states(snapshot: &Snapshot, writers: u64) -> Result<Vec<u64>, CrashError> {
    (0..writers).map(|writer| state(snapshot, writer)).collect()
}

fn state(snapshot: &Snapshot, writer: u64) -> Result<u64, CrashError> {
    let out = numbers(snapshot, writer, Direction::Out);
    let transactions = out.last().map_or(0, |last| last + 1);
    let torn = |what: String| CrashError::Torn { writer, transactions, what };
    let expected = expected(transactions);
    for (direction, found) in [("out", &out), ("in", &numbers(snapshot, writer, Direction::In))] {
        if let Some(number) = expected.symmetric_difference(found).next() {
            let what = if found.contains(number) { "should be gone" } else { "is missing" };
            return Err(torn(format!("the {direction} edge of transaction {number} {what}")));
        }
    }
    for &number in &expected {
        let (from, item) = (writer_key(writer), item_key(writer, number));
        for (src, dst) in [(from, item), (item, from)] {
            let edges = snapshot.edges_between(src, dst, Some(EDGE_TYPE));
            let [edge] = edges.as_slice() else {
                return Err(torn(format!("{} edges from {src} to {dst}, one expected", edges.len())));
            };
            if edge.properties != [(NUMBER.to_owned(), Value::Int(number as i64))] {
                return Err(torn(format!("the edge from {src} to {dst} has {:?}", edge.properties)));
            }
        }
    }
    Ok(transactions)
}

fn numbers(snapshot: &Snapshot, writer: u64, direction: Direction) -> BTreeSet<u64> {
    let neighbors = snapshot.neighbors(writer_key(writer), direction, Some(EDGE_TYPE)).unwrap_or_default();
    let number = |key: Key| match key {
        Key::Int(key) => u64::try_from(key - writer_key(writer) - 1).ok(),
        Key::Text(_) => None,
    };
    neighbors.into_iter().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_tell_the_number_of_transactions() {
        for transactions in 0..40 {
            assert_eq!(expected(transactions).last().map_or(0, |last| last + 1), transactions);
        }
        assert_eq!(expected(3), BTreeSet::from([0, 1, 2]));
        assert_eq!(expected(5), BTreeSet::from([0, 1, 3, 4]));
    }
}
