//! Days and times of numpy: counts of a unit since 1970-01-01, of which the smallest is "not a time".
//!
//! Invariant: a time that its type does not hold is refused. numpy's own casts let it wrap.

use evergraph::{Column, PropertyType, days_from_civil};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::column::{is_masked, words};

const SECOND_MICROS: i128 = 1_000_000;
const DAY_MICROS: i128 = 86_400 * SECOND_MICROS;
/// Microseconds of 64 bits reach less far, and dates of 64 bits farther.
const MOST_YEARS: i128 = 300_000;

/// What a `datetime64` counts.
enum Unit {
    Months(i128),
    Days,
    Micros(i128),
    /// So many are a microsecond.
    Fractions(i128),
}

impl Unit {
    /// The unit of that many of what numpy calls `name`.
    fn of(name: &str, count: i128) -> Option<Unit> {
        Some(match name {
            "Y" => Unit::Months(12),
            "M" => Unit::Months(1),
            "W" => Unit::Micros(7 * DAY_MICROS),
            "D" if count == 1 => Unit::Days,
            "D" => Unit::Micros(DAY_MICROS),
            "h" => Unit::Micros(3_600 * SECOND_MICROS),
            "m" => Unit::Micros(60 * SECOND_MICROS),
            "s" => Unit::Micros(SECOND_MICROS),
            "ms" => Unit::Micros(1_000),
            "us" | "generic" => Unit::Micros(1),
            "ns" => Unit::Fractions(1_000),
            "ps" => Unit::Fractions(1_000_000),
            "fs" => Unit::Fractions(1_000_000_000),
            "as" => Unit::Fractions(1_000_000_000_000),
            _ => return None,
        })
    }

    fn kind(&self) -> PropertyType {
        match self {
            Unit::Days => PropertyType::Date,
            _ => PropertyType::Timestamp,
        }
    }

    /// So many of it as the number of a cell: days, or microseconds. `None` if it does not hold them.
    fn number(&self, units: i128) -> Option<i64> {
        let micros = match self {
            Unit::Days => return i32::try_from(units).ok().map(i64::from),
            Unit::Months(months) => {
                let months = units * months;
                let years = Some(months.div_euclid(12)).filter(|years| years.abs() < MOST_YEARS)?;
                let days = days_from_civil(1970 + years as i64, months.rem_euclid(12) as i64 + 1, 1);
                i128::from(days) * DAY_MICROS
            }
            Unit::Micros(micros) => units.checked_mul(*micros)?,
            Unit::Fractions(fractions) => units.div_euclid(*fractions),
        };
        i64::try_from(micros).ok()
    }
}

/// The days or times of an array of one dimension; `place` tells a message where in it a row is.
pub(crate) fn times_of(array: &Bound<'_, PyAny>, place: impl Fn(usize) -> String) -> PyResult<Column> {
    let numpy = array.py().import("numpy")?;
    let array = match is_masked(array)? {
        true => &array.call_method1("filled", (numpy.call_method1("datetime64", ("NaT",))?,))?,
        false => array,
    };
    let (name, count): (String, i128) =
        numpy.call_method1("datetime_data", (array.getattr("dtype")?,))?.extract()?;
    let unit = Unit::of(&name, count)
        .ok_or_else(|| PyValueError::new_err(format!("times in {name} cannot be stored: cast them")))?;
    let mut column = Column::new(unit.kind());
    for (row, bits) in words::<u64>(array, "uint64")?.into_iter().enumerate() {
        let number = bits as i64;
        if number == i64::MIN {
            column.push_nulls(1);
            continue;
        }
        let units = i128::from(number) * count;
        let cell = unit.number(units).ok_or_else(|| {
            let (place, kind) = (place(row), unit.kind());
            PyValueError::new_err(format!(
                "{place}{units} {name} since 1970 are out of the range of a {kind}"
            ))
        })?;
        column.push_bits(cell as u64);
    }
    Ok(column)
}
