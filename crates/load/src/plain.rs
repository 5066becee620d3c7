//! The fast path: rows that are two unsigned integers, one delimiter and a line end, which is nearly every line of nearly
//! every big edge list. Eight digits are read at a time and nothing is allocated.
//!
//! Invariant: it takes only rows that the generic path would take with the same values, and stops before the first
//! line of any other shape, which the generic path then looks at. It decides nothing by itself.

use evergraph_types::{KeyKind, MAX_VERTICES};

use crate::number::plain_digits;
use crate::plan::Plan;

/// Appends the plain rows from `start` on that start before `end`; where it stopped.
pub(crate) fn plain_pairs(
    plan: &Plan,
    data: &[u8],
    start: usize,
    end: usize,
    first: &mut Vec<i64>,
    second: &mut Vec<i64>,
) -> usize {
    let delimiters = match plan.dialect.delimiter {
        None => [b' ', b'\t'],
        Some(delimiter) => [delimiter; 2],
    };
    let max = if plan.keys == KeyKind::Dense { MAX_VERTICES - 1 } else { i64::MAX as u64 };
    let mut at = start;
    while at < end {
        let Some((left, right, next)) = pair(data, at, delimiters) else { break };
        if left > max || right > max || next - at > plan.dialect.limit_bytes {
            break;
        }
        first.push(left as i64);
        second.push(right as i64);
        at = next;
    }
    at
}

#[inline(always)]
fn pair(data: &[u8], at: usize, delimiters: [u8; 2]) -> Option<(u64, u64, usize)> {
    let (left, next) = plain_digits(data, at)?;
    let delimiter = *data.get(next)?;
    if delimiter != delimiters[0] && delimiter != delimiters[1] {
        return None;
    }
    let (right, next) = plain_digits(data, next + 1)?;
    let next = match data.get(next)? {
        b'\n' => next + 1,
        b'\r' if data.get(next + 1) == Some(&b'\n') => next + 2,
        _ => return None,
    };
    Some((left, right, next))
}
