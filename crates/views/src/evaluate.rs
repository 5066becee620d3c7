//! Tests over many rows at a time, with the logic of SQL: what compares with null is unknown, and only what is true is
//! kept.
//!
//! ```text
//!  truth     FALSE 0   UNKNOWN 1   TRUE 2        and = least,  or = greatest,  not x = 2 - x
//! ```
//!
//! Numbers compare by their exact value, whatever their types. NaN is unequal to everything, itself included, and in no
//! order. Strings compare by their bytes.
//!
//! Invariant: a test gives one truth for each row.

use std::cmp::Ordering;
use std::ops::Range;

use evergraph_store::{Run, Version};
use evergraph_types::{
    Cells, Column, Direction, EdgeTypeId, KeyColumn, PropertyId, ScalarType, Schema, TextValues, Value,
    VertexId,
};
use evergraph_view::EdgeRule;
use rayon::prelude::*;
use roaring::RoaringBitmap;

use crate::bind::{Source, Test};
use crate::predicate::Sign;

/// Whether a test holds for a row.
type Truth = u8;
const FALSE: Truth = 0;
const UNKNOWN: Truth = 1;
const TRUE: Truth = 2;

const MICROS_PER_DAY: i128 = 86_400_000_000;

/// Vertices that one task tests.
const IDS_PER_TASK: usize = 1 << 14;

/// Rows to test.
pub(crate) trait Rows {
    fn len(&self) -> usize;
    /// The values of a property, one for each row; `None` if there is no such property.
    fn property(&self, property: PropertyId) -> Option<Column>;
    /// The keys of the vertices.
    fn keys(&self) -> Option<Column>;
    /// The ids of the types; 0 for a vertex without one.
    fn types(&self) -> Vec<u16>;
    /// Whether a type of 0 is none.
    fn may_lack_type(&self) -> bool;
}

/// The truth of a test for each row.
fn evaluate(test: &Test, rows: &dyn Rows) -> Vec<Truth> {
    match test {
        Test::All(parts) => merge(parts, rows, Truth::min),
        Test::Any(parts) => merge(parts, rows, Truth::max),
        Test::Not(part) => {
            let mut truths = evaluate(part, rows);
            truths.iter_mut().for_each(|truth| *truth = TRUE - *truth);
            truths
        }
        Test::Compare { left: Source::Constant(value), sign, right } => {
            compare_constant(&column(right, rows), sign.turned(), value)
        }
        Test::Compare { left, sign, right: Source::Constant(value) } => {
            compare_constant(&column(left, rows), *sign, value)
        }
        Test::Compare { left, sign, right } => {
            let (left, right) = (column(left, rows), column(right, rows));
            let truth = |row| match (left.get(row), right.get(row)) {
                (Value::Null, _) | (_, Value::Null) => UNKNOWN,
                (left, right) => truth(sign.holds(compare(&left, &right))),
            };
            (0..rows.len()).map(truth).collect()
        }
        Test::In { source, values } => {
            let column = column(source, rows);
            let mut any = vec![FALSE; rows.len()];
            for value in values {
                let one = compare_constant(&column, Sign::Equal, value);
                any.iter_mut().zip(one).for_each(|(any, one)| *any = one.max(*any));
            }
            any
        }
        Test::IsNull(source) => {
            let column = column(source, rows);
            (0..rows.len()).map(|row| truth(column.is_null(row))).collect()
        }
        Test::Flag(source) => compare_constant(&column(source, rows), Sign::Equal, &Value::Bool(true)),
        Test::TypeIs(wanted) => {
            let may_lack = rows.may_lack_type();
            let of_type = |id: u16| if may_lack && id == 0 { UNKNOWN } else { truth(wanted.contains(&id)) };
            rows.types().into_iter().map(of_type).collect()
        }
        Test::TypeIsNull => {
            let may_lack = rows.may_lack_type();
            rows.types().into_iter().map(|id| truth(may_lack && id == 0)).collect()
        }
    }
}

/// For each row, whether the test holds.
pub(crate) fn holds(test: &Test, rows: &dyn Rows) -> Vec<bool> {
    evaluate(test, rows).into_iter().map(|truth| truth == TRUE).collect()
}

fn truth(holds: bool) -> Truth {
    if holds { TRUE } else { FALSE }
}

fn merge(parts: &[Test], rows: &dyn Rows, with: impl Fn(Truth, Truth) -> Truth) -> Vec<Truth> {
    let mut parts = parts.iter().map(|part| evaluate(part, rows));
    let mut truths = parts.next().unwrap_or_default();
    for part in parts {
        truths.iter_mut().zip(part).for_each(|(truth, other)| *truth = with(*truth, other));
    }
    truths
}

/// The values of a source, one for each row.
fn column(source: &Source, rows: &dyn Rows) -> Column {
    let found = match source {
        Source::Property(property) => rows.property(*property),
        Source::Key => rows.keys(),
        Source::Constant(value) => {
            let kind = value.property_type().unwrap_or(evergraph_types::PropertyType::Bool);
            let mut column = Column::new(kind);
            (0..rows.len()).for_each(|_| drop(column.push(value.clone())));
            Some(column)
        }
    };
    found.filter(|column| column.len() == rows.len()).unwrap_or_else(|| {
        let mut nulls = Column::new(evergraph_types::PropertyType::Bool);
        nulls.push_nulls(rows.len());
        nulls
    })
}

fn compare_constant(column: &Column, sign: Sign, value: &Value) -> Vec<Truth> {
    if *value == Value::Null {
        return vec![UNKNOWN; column.len()];
    }
    let mut truths: Vec<Truth> = match (column.cells(), column.property_type().as_scalar(), value) {
        (Cells::Eight(bits), Some(ScalarType::Int64), Value::Int(wanted))
        | (Cells::Eight(bits), Some(ScalarType::Timestamp), Value::Timestamp(wanted)) => {
            bits.iter().map(|&bits| truth(sign.holds(Some((bits as i64).cmp(wanted))))).collect()
        }
        (Cells::Eight(bits), Some(ScalarType::Float64), Value::Float(wanted)) => {
            bits.iter().map(|&bits| truth(sign.holds(f64::from_bits(bits).partial_cmp(wanted)))).collect()
        }
        (Cells::Variable(texts), Some(ScalarType::String), Value::Text(wanted)) => {
            let wanted = wanted.as_bytes();
            let all = (0..texts.len()).map(|row| texts.get_bytes(row).cmp(wanted));
            all.map(|order| truth(sign.holds(Some(order)))).collect()
        }
        _ => {
            let truth = |row| match column.get(row) {
                Value::Null => UNKNOWN,
                found => truth(sign.holds(compare(&found, value))),
            };
            return (0..column.len()).map(truth).collect();
        }
    };
    if let Some(validity) = &column.validity {
        let nulls = truths.iter_mut().zip(validity).filter(|(_, valid)| !**valid);
        nulls.for_each(|(truth, _)| *truth = UNKNOWN);
    }
    truths
}

/// The order of two values that are not null; `None` if they have none.
fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::UInt(left), Value::UInt(right)) => Some(left.cmp(right)),
        // An unsigned value is one that no signed integer is.
        (Value::Int(_), Value::UInt(_)) => Some(Ordering::Less),
        (Value::UInt(_), Value::Int(_)) => Some(Ordering::Greater),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        (Value::Int(left), Value::Float(right)) => compare_exactly((*left).into(), *right),
        (Value::UInt(left), Value::Float(right)) => compare_exactly((*left).into(), *right),
        (Value::Float(_), Value::Int(_) | Value::UInt(_)) => compare(right, left).map(Ordering::reverse),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        _ => Some(micros_of(left)?.cmp(&micros_of(right)?)),
    }
}

/// A time in microseconds; a date is its midnight in UTC, which 64 bits may not hold.
fn micros_of(value: &Value) -> Option<i128> {
    match value {
        Value::Timestamp(micros) => Some((*micros).into()),
        Value::Date(days) => Some(i128::from(*days) * MICROS_PER_DAY),
        _ => None,
    }
}

/// Compares exactly: not every 64-bit integer is a double. `left` fits 65 bits.
fn compare_exactly(left: i128, right: f64) -> Option<Ordering> {
    const BEYOND: f64 = 36_893_488_147_419_103_232.0;
    if right.is_nan() {
        return None;
    }
    if right.abs() >= BEYOND {
        return Some(if right > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let whole = right.trunc();
    Some(left.cmp(&(whole as i128)).then_with(|| 0.0f64.total_cmp(&(right - whole + 0.0))))
}

impl Sign {
    /// The sign with its sides swapped.
    fn turned(self) -> Self {
        match self {
            Sign::Less => Sign::Greater,
            Sign::LessOrEqual => Sign::GreaterOrEqual,
            Sign::Greater => Sign::Less,
            Sign::GreaterOrEqual => Sign::LessOrEqual,
            Sign::Equal | Sign::NotEqual => self,
        }
    }

    #[inline]
    fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Sign::Equal => order == Some(Ordering::Equal),
            Sign::NotEqual => order != Some(Ordering::Equal),
            Sign::Less => order == Some(Ordering::Less),
            Sign::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Sign::Greater => order == Some(Ordering::Greater),
            Sign::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

/// The vertices of a version for which a test holds, by this schema: that of the version, or a later one.
pub(crate) fn vertices_where(test: &Test, version: &Version, schema: &Schema) -> RoaringBitmap {
    let found: Vec<Vec<VertexId>> = (0..version.id_bound())
        .into_par_iter()
        .step_by(IDS_PER_TASK)
        .map(|start| {
            let range = start..version.id_bound().min(start.saturating_add(IDS_PER_TASK as VertexId));
            vertices_in(test, version, schema, range)
        })
        .collect();
    let mut members = RoaringBitmap::new();
    found.into_iter().for_each(|ids| drop(members.append(ids)));
    members
}

/// The vertices of a range of ids for which a test holds, ascending. What is excluded by one part of it is not asked for
/// the next.
fn vertices_in(test: &Test, version: &Version, schema: &Schema, range: Range<VertexId>) -> Vec<VertexId> {
    let existing = version.vertex_ids_in(range.clone());
    let mut found = existing.clone();
    let parts = if let Test::All(parts) = test { &parts[..] } else { std::slice::from_ref(test) };
    for part in parts {
        let rows = VertexRows { version, schema, range: range.clone(), existing: &existing, ids: &found };
        let mut truths = evaluate(part, &rows).into_iter();
        found.retain(|_| truths.next() == Some(TRUE));
    }
    found
}

struct VertexRows<'a> {
    version: &'a Version,
    /// That of the version, or a later one.
    schema: &'a Schema,
    range: Range<VertexId>,
    /// All vertices of the range, and those asked for.
    existing: &'a [VertexId],
    ids: &'a [VertexId],
}

impl VertexRows<'_> {
    /// Of all vertices of the range, the places of those asked for.
    fn rows(&self) -> impl Iterator<Item = usize> + Clone {
        let mut ids = self.ids.iter().peekable();
        let asked = move |(_, id): &(usize, &VertexId)| ids.next_if_eq(id).is_some();
        self.existing.iter().enumerate().filter(asked).map(|(row, _)| row)
    }
}

impl Rows for VertexRows<'_> {
    fn len(&self) -> usize {
        self.ids.len()
    }

    fn property(&self, property: PropertyId) -> Option<Column> {
        let all = self.version.vertex_column(property, self.range.clone())?;
        if self.ids.len() == self.existing.len() {
            return Some(all);
        }
        Some(all.pick(self.rows()))
    }

    fn keys(&self) -> Option<Column> {
        let all = self.version.keys(self.range.clone());
        let rows = self.ids.iter().map(|id| (id - self.range.start) as usize);
        Some(match all {
            KeyColumn::Int(keys) => Column::from(rows.map(|row| keys[row]).collect::<Vec<i64>>()),
            KeyColumn::Text(keys) => {
                let mut texts = TextValues::default();
                rows.for_each(|row| texts.push(keys.get(row)));
                Column::from(texts)
            }
        })
    }

    fn types(&self) -> Vec<u16> {
        let all = self.version.vertex_types(self.range.clone());
        // A type that was dropped is none.
        let is_there = |id: &u16| self.schema.vertex_type_name(*id).is_some();
        self.rows().map(|row| Some(all[row]).filter(is_there).unwrap_or(0)).collect()
    }

    fn may_lack_type(&self) -> bool {
        true
    }
}

/// Keeps the edges for which a predicate holds.
#[derive(Debug)]
pub(crate) struct EdgesWhere {
    /// By edge type.
    pub(crate) tests: Vec<(Test, Vec<Column>)>,
}

impl EdgeRule for EdgesWhere {
    fn retain(&self, edge_type: EdgeTypeId, _: Direction, _: VertexId, run: Run<'_>, rows: &mut Vec<usize>) {
        let Some((test, empty)) = self.tests.get(usize::from(edge_type)) else { return rows.clear() };
        let truths = evaluate(test, &EdgeRows { run, rows, empty, edge_type });
        let mut truths = truths.into_iter();
        rows.retain(|_| truths.next() == Some(TRUE));
    }
}

struct EdgeRows<'a> {
    run: Run<'a>,
    rows: &'a [usize],
    /// An empty column of each property.
    empty: &'a [Column],
    edge_type: EdgeTypeId,
}

impl Rows for EdgeRows<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn property(&self, property: PropertyId) -> Option<Column> {
        let mut column = self.empty.get(usize::from(property))?.clone();
        self.run.copy_rows(property, self.rows.iter().copied(), &mut column);
        Some(column)
    }

    fn keys(&self) -> Option<Column> {
        None
    }

    fn types(&self) -> Vec<u16> {
        vec![self.edge_type; self.rows.len()]
    }

    fn may_lack_type(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_doubles_compare_exactly() {
        let big = (1i128 << 53) + 1;
        assert_eq!(compare_exactly(big, (1u64 << 53) as f64), Some(Ordering::Greater));
        assert_eq!(compare_exactly(i64::MAX.into(), 9.3e18), Some(Ordering::Less));
        assert_eq!(compare_exactly(u64::MAX.into(), 18_446_744_073_709_551_616.0), Some(Ordering::Less));
        assert_eq!(compare_exactly(u64::MAX.into(), f64::INFINITY), Some(Ordering::Less));
        assert_eq!(compare_exactly(i64::MIN.into(), -9.3e18), Some(Ordering::Greater));
        assert_eq!(compare_exactly(i64::MIN.into(), -9_223_372_036_854_775_808.0), Some(Ordering::Equal));
        assert_eq!(compare_exactly(3, 3.5), Some(Ordering::Less));
        assert_eq!(compare_exactly(-3, -3.5), Some(Ordering::Greater));
        assert_eq!(compare_exactly(0, -0.0), Some(Ordering::Equal));
        assert_eq!(compare_exactly(0, f64::NAN), None);
        let day = Value::Date(1);
        assert_eq!(compare(&day, &Value::Timestamp(MICROS_PER_DAY as i64)), Some(Ordering::Equal));
        assert_eq!(compare(&Value::Date(i32::MAX), &Value::Timestamp(i64::MAX)), Some(Ordering::Greater));
        assert_eq!(compare(&Value::Date(i32::MIN), &Value::Timestamp(i64::MIN)), Some(Ordering::Less));
        assert_eq!(compare(&Value::Int(-1), &Value::UInt(u64::MAX)), Some(Ordering::Less));
    }
}
