//! The fast path: rows of unsigned integers (and fields that nobody asked for), one delimiter between them and a line end,
//! which is nearly every line of nearly every big edge list. Eight digits are read at a time and nothing is allocated.
//!
//! Invariant: it takes only rows that the generic path would take with the same values, and stops before the first
//! line of any other shape, which the generic path then looks at. It decides nothing by itself.

use evergraph_types::{KeyColumn, KeyKind, MAX_VERTICES};

use crate::block::Block;
use crate::number::plain_digits;
use crate::plan::Plan;
use crate::scan::{find_blank, find_delimiter};

/// Rows with more fields are left to the generic path.
const MAX_FIELDS: usize = 8;

/// Where the integers of a field go.
#[derive(Default)]
enum Target<'a> {
    /// Nobody asked for the field.
    #[default]
    Skipped,
    Key(&'a mut Vec<i64>),
    Cell(&'a mut Vec<u64>),
}

impl Target<'_> {
    fn is_skipped(&self) -> bool {
        matches!(self, Target::Skipped)
    }
}

/// Appends the plain rows from the end of the block on that start before `end`, and moves its end behind them. Whether
/// there can be more later on in the block.
pub(crate) fn plain_rows(plan: &Plan, data: &[u8], end: usize, block: &mut Block) -> bool {
    let start = block.end;
    let Some(mut targets) = targets(plan, block) else { return false };
    let shape = Shape {
        delimiters: plan.dialect.delimiter.map_or([b' ', b'\t'], |delimiter| [delimiter; 2]),
        blanks: plan.dialect.delimiter.is_none(),
        max_key: if plan.keys == KeyKind::Dense { MAX_VERTICES - 1 } else { i64::MAX as u64 },
        limit_bytes: plan.dialect.limit_bytes,
        data,
    };
    let (rows, next) = match &mut targets[..plan.fields] {
        [Target::Key(first), Target::Key(second)] => shape.pairs(start, end, first, second),
        targets => shape.rows(start, end, targets, [plan.src, plan.dst]),
    };
    block.lines += rows;
    block.end = next;
    true
}

/// The columns to append to by field; `None` if some value is to be more than a plain integer.
fn targets<'a>(plan: &Plan, block: &'a mut Block) -> Option<[Target<'a>; MAX_FIELDS]> {
    let (KeyColumn::Int(src), KeyColumn::Int(dst)) = (&mut block.src, &mut block.dst) else { return None };
    if plan.fields > MAX_FIELDS {
        return None;
    }
    let mut targets: [Target; MAX_FIELDS] = Default::default();
    let ends = [(plan.src, Some(src)), (plan.dst, Some(dst))];
    let columns = plan.properties.iter().map(|property| property.field);
    let columns = columns.zip(block.columns.iter_mut().map(|column| column.plain_integers()));
    let ends = ends.into_iter().map(|(field, keys)| (field, keys.map(Target::Key)));
    for (field, column) in ends.chain(columns.map(|(field, cells)| (field, cells.map(Target::Cell)))) {
        if !std::mem::replace(&mut targets[field], column?).is_skipped() {
            return None;
        }
    }
    // A first field that must be a number rules out comments.
    (!targets[0].is_skipped() || !plan.dialect.comments).then_some(targets)
}

/// What plain rows look like.
struct Shape<'a> {
    delimiters: [u8; 2],
    blanks: bool,
    max_key: u64,
    limit_bytes: usize,
    data: &'a [u8],
}

impl Shape<'_> {
    /// Rows of two keys. How many there were, and where the next row starts.
    fn pairs(&self, start: usize, end: usize, first: &mut Vec<i64>, second: &mut Vec<i64>) -> (u64, usize) {
        let mut at = start;
        let mut rows = 0;
        while at < end {
            let Some((left, right, next)) = self.pair(at) else { break };
            if left > self.max_key || right > self.max_key || next - at > self.limit_bytes {
                break;
            }
            first.push(left as i64);
            second.push(right as i64);
            rows += 1;
            at = next;
        }
        (rows, at)
    }

    #[inline(always)]
    fn pair(&self, at: usize) -> Option<(u64, u64, usize)> {
        let (left, next) = plain_digits(self.data, at)?;
        let next = self.delimiter(next)?;
        let (right, next) = plain_digits(self.data, next)?;
        Some((left, right, self.line_end(next)?))
    }

    /// Rows of any number of fields.
    fn rows(&self, start: usize, end: usize, targets: &mut [Target], keys: [usize; 2]) -> (u64, usize) {
        let mut at = start;
        let mut rows = 0;
        let mut row = [0u64; MAX_FIELDS];
        while at < end {
            let Some(next) = self.row(at, targets, &mut row) else { break };
            if keys.iter().any(|key| row[*key] > self.max_key) || next - at > self.limit_bytes {
                break;
            }
            for (target, value) in targets.iter_mut().zip(row) {
                match target {
                    Target::Key(keys) => keys.push(value as i64),
                    Target::Cell(cells) => cells.push(value),
                    Target::Skipped => {}
                }
            }
            rows += 1;
            at = next;
        }
        (rows, at)
    }

    #[inline(always)]
    fn row(&self, at: usize, targets: &[Target], row: &mut [u64; MAX_FIELDS]) -> Option<usize> {
        let mut at = at;
        let (last, others) = targets.split_last()?;
        for (target, value) in others.iter().zip(row.iter_mut()) {
            (*value, at) = self.field(at, target)?;
            at = self.delimiter(at)?;
        }
        (row[others.len()], at) = self.field(at, last)?;
        self.line_end(at)
    }

    #[inline(always)]
    fn field(&self, at: usize, target: &Target) -> Option<(u64, usize)> {
        if !target.is_skipped() {
            return plain_digits(self.data, at);
        }
        let next = if self.blanks {
            find_blank(self.data, at)
        } else {
            find_delimiter(self.data, at, self.delimiters[0])
        };
        // Quotes may hide a delimiter, and nothing between blanks is no field.
        let plain = self.data.get(at) != Some(&b'"') && (next > at || !self.blanks);
        plain.then_some((0, next))
    }

    #[inline(always)]
    fn delimiter(&self, at: usize) -> Option<usize> {
        self.data.get(at).filter(|byte| self.delimiters.contains(byte)).map(|_| at + 1)
    }

    #[inline(always)]
    fn line_end(&self, at: usize) -> Option<usize> {
        match self.data.get(at)? {
            b'\n' => Some(at + 1),
            b'\r' if self.data.get(at + 1) == Some(&b'\n') => Some(at + 2),
            _ => None,
        }
    }
}
