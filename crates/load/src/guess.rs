//! What is known of the type of a column from the values so far, and the join of two such things.
//!
//! Invariant: the join does not depend on the order of values. Which integers there were is remembered until the type
//! holds them whatever comes: an int64 may have to become uint64, and both float64.

use evergraph_types::{Cells, Column, PropertyType};

/// What is known of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Guess {
    /// The narrowest type that holds the values so far; `None` while all are null.
    pub(crate) kind: Option<PropertyType>,
    /// Some integer is below zero.
    negative: bool,
    /// Some integer is not exactly a double.
    inexact: bool,
}

impl Guess {
    /// Of values that are no integers.
    pub(crate) fn of_kind(kind: Option<PropertyType>) -> Self {
        Guess { kind, ..Guess::default() }
    }

    /// Of one value.
    pub(crate) fn of_bits(kind: PropertyType, bits: u64) -> Self {
        Guess::of_kind(Some(kind)).with(kind, &[bits])
    }

    /// Of a column whose values are of this type, if it has any.
    pub(crate) fn of_column(kind: Option<PropertyType>, column: &Column) -> Self {
        let guess = Guess::of_kind(kind);
        match (kind, column.cells()) {
            // Nulls are zero here, which every type of numbers holds.
            (Some(kind), Cells::Eight(bits)) => guess.with(kind, bits),
            _ => guess,
        }
    }

    fn with(self, kind: PropertyType, bits: &[u64]) -> Self {
        let is_small = |number: i64| number.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS;
        let is_exact = |number: i64| is_small(number) || number as f64 as i128 == i128::from(number);
        match kind {
            PropertyType::Int64 => {
                let negative = bits.iter().any(|bits| (*bits as i64) < 0);
                Guess { negative, inexact: bits.iter().any(|bits| !is_exact(*bits as i64)), ..self }
            }
            PropertyType::UInt64 => {
                let inexact = bits.iter().any(|bits| *bits as f64 as i128 != i128::from(*bits));
                Guess { inexact, ..self }
            }
            _ => self,
        }
    }

    /// The type that holds the values of both.
    pub(crate) fn join(self, other: Guess) -> Guess {
        let (negative, inexact) = (self.negative || other.negative, self.inexact || other.inexact);
        let kind = match (self.kind, other.kind) {
            (None, kind) | (kind, None) => kind,
            (Some(left), Some(right)) if left == right => Some(left),
            (Some(left), Some(right)) if left.is_number() && right.is_number() => {
                let integers = [left, right].iter().all(|kind| *kind != PropertyType::Float64);
                Some(match (integers && !negative, inexact) {
                    (true, _) => PropertyType::UInt64,
                    (false, false) => PropertyType::Float64,
                    (false, true) => PropertyType::String,
                })
            }
            _ => Some(PropertyType::String),
        };
        Guess { kind, negative, inexact }
    }
}

/// The bits of a number as one of a type that holds it.
pub(crate) fn recoded(bits: u64, from: PropertyType, to: PropertyType) -> u64 {
    match (from, to) {
        (PropertyType::Int64, PropertyType::Float64) => (bits as i64 as f64).to_bits(),
        (PropertyType::UInt64, PropertyType::Float64) => (bits as f64).to_bits(),
        _ => bits,
    }
}
