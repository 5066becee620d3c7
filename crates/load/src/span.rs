//! Spans of time as users write them: a number and a unit, such as `5s`, `1.5 h` or `1w`.

use thiserror::Error;

/// The units there are, each with its seconds.
pub const SPAN_UNITS: [(&str, f64); 8] = [
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("w", 604_800.0),
];

/// Why a text is no span of time.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SpanError {
    /// What stands before the unit is no number.
    #[error("{text:?} is not a number")]
    NoNumber {
        /// What stands there.
        text: String,
    },
    /// There is no such unit.
    #[error("{unit:?} is none of {}", SPAN_UNITS.map(|(name, _)| name).join(", "))]
    UnknownUnit {
        /// What stands for it.
        unit: String,
    },
    /// It is beyond all numbers.
    #[error("{text:?} is longer than any time")]
    TooLong {
        /// The whole text.
        text: String,
    },
}

/// The seconds of a span of time; without a unit it is one of seconds. Blanks may stand before the unit and around.
///
/// ```
/// use evergraph_load::parse_span;
///
/// assert_eq!(["90", "1.5 h", "1w"].map(parse_span), [Ok(90.0), Ok(5400.0), Ok(604_800.0)]);
/// assert_eq!(parse_span("1 y").unwrap_err().to_string(), r#""y" is none of us, ms, s, m, min, h, d, w"#);
/// ```
///
/// # Errors
/// Any [`SpanError`].
pub fn parse_span(text: &str) -> Result<f64, SpanError> {
    let whole = text.trim();
    let digits = whole.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &whole[digits.len()..] {
        "" => 1.0,
        unit => match SPAN_UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, seconds)) => *seconds,
            None => return Err(SpanError::UnknownUnit { unit: unit.to_owned() }),
        },
    };
    let digits = digits.trim_end();
    let number = digits.parse::<f64>().map_err(|_| SpanError::NoNumber { text: digits.to_owned() })?;
    let seconds = number * unit;
    if seconds.is_finite() { Ok(seconds) } else { Err(SpanError::TooLong { text: text.to_owned() }) }
}
