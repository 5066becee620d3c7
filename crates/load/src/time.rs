//! Times as text: ISO 8601 to microseconds since 1970-01-01 UTC. The way back is in `evergraph_types`.

use evergraph_types::days_from_civil;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// `2024-01-02`, or that with a `T` or a blank and `03:04`, `03:04:05` or `03:04:05.678901`, or that with `Z` or an
/// offset (`+01:00`, `-0530`). Without an offset it is UTC. Digits beyond microseconds are dropped.
pub fn parse_timestamp(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let days = parse_date(date)?;
    let micros = match rest.split_first() {
        None => 0,
        Some((b'T' | b't' | b' ', time)) => parse_time(time)?,
        Some(_) => return None,
    };
    Some(days * SECONDS_PER_DAY * MICROS_PER_SECOND + micros)
}

/// A day as `2024-01-02`, in days since 1970-01-01.
pub(crate) fn parse_date(text: &[u8]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return None };
    let year = two(*y1, *y2)? * 100 + two(*y3, *y4)?;
    let (month, day) = (two(*m1, *m2)?, two(*d1, *d2)?);
    ((1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day) && year > 0)
        .then(|| days_from_civil(year, month, day))
}

/// The time of day with its offset, in microseconds.
fn parse_time(text: &[u8]) -> Option<i64> {
    let (hour_minute, rest) = text.split_at_checked(5)?;
    let minutes = parse_hour_minute(hour_minute)?;
    let (seconds, fraction, rest) = match rest {
        [b':', s1, s2, rest @ ..] => {
            let seconds = two(*s1, *s2).filter(|seconds| *seconds < 60)?;
            let (fraction, rest) = match rest {
                [b'.', rest @ ..] => parse_fraction(rest)?,
                rest => (0, rest),
            };
            (seconds, fraction, rest)
        }
        rest => (0, 0, rest),
    };
    let offset_minutes = parse_offset(rest)?;
    Some(((minutes - offset_minutes) * 60 + seconds) * MICROS_PER_SECOND + fraction)
}

fn parse_hour_minute(text: &[u8]) -> Option<i64> {
    let [h1, h2, b':', m1, m2] = text else { return None };
    let (hour, minute) = (two(*h1, *h2)?, two(*m1, *m2)?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// One to nine digits after the point, in microseconds.
fn parse_fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, rest) = text.split_at(digits);
    let micros = (0..6)
        .fold(0, |micros, place| micros * 10 + fraction.get(place).map_or(0, |byte| i64::from(byte - b'0')));
    (1..=9).contains(&digits).then_some((micros, rest))
}

fn parse_offset(text: &[u8]) -> Option<i64> {
    let (sign, minutes) = match text {
        [] | [b'Z' | b'z'] => return Some(0),
        [sign, h1, h2, m1, m2] => (sign, parse_hour_minute(&[*h1, *h2, b':', *m1, *m2])?),
        [sign, rest @ ..] => (sign, parse_hour_minute(rest)?),
    };
    match sign {
        b'+' => Some(minutes),
        b'-' => Some(-minutes),
        _ => None,
    }
}

fn two(high: u8, low: u8) -> Option<i64> {
    (high.is_ascii_digit() && low.is_ascii_digit())
        .then(|| i64::from(high - b'0') * 10 + i64::from(low - b'0'))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use evergraph_types::TimeText;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_times() {
        let hour = 3_600 * MICROS_PER_SECOND;
        for (text, micros) in [
            ("1970-01-01", 0),
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59.999999Z", -1),
            ("2000-02-29", 951_782_400 * MICROS_PER_SECOND),
            ("2024-01-02T03:04:05", 1_704_164_645 * MICROS_PER_SECOND),
            ("2024-01-02 03:04:05.5Z", 1_704_164_645 * MICROS_PER_SECOND + 500_000),
            ("2024-01-02T03:04:05.123456789", 1_704_164_645 * MICROS_PER_SECOND + 123_456),
            ("2024-01-02T03:04:05+01:00", 1_704_164_645 * MICROS_PER_SECOND - hour),
            ("2024-01-02T03:04:05-0530", 1_704_164_645 * MICROS_PER_SECOND + 5 * hour + hour / 2),
            ("1970-01-01T01:00", hour),
            ("0001-01-01", -62_135_596_800 * MICROS_PER_SECOND),
            ("9999-12-31", 253_402_214_400 * MICROS_PER_SECOND),
        ] {
            assert_eq!(parse_timestamp(text.as_bytes()), Some(micros), "{text}");
        }
    }

    #[test]
    fn not_times() {
        for text in [
            "",
            "2024",
            "2024-1-2",
            "2024-13-01",
            "2023-02-29",
            "2024-00-10",
            "2024-01-32",
            "0000-01-01",
            "2024-01-02X",
            "2024-01-02T",
            "2024-01-02T24:00:00",
            "2024-01-02T03:60",
            "2024-01-02T03:04:60",
            "2024-01-02T03:04:05.",
            "2024-01-02T03:04:05.1234567890",
            "2024-01-02T03:04:05+1",
            "2024-01-02T03:04:05*01:00",
            "2024-01-02T03:04:05+24:00",
            "2024-01-02T03:04.5",
            "2024-01-02T03:04.5678",
            "1704164645",
        ] {
            assert_eq!(parse_timestamp(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(micros in -62_135_596_800_000_000i64..253_402_300_800_000_000) {
            prop_assert_eq!(parse_timestamp(TimeText(micros).to_string().as_bytes()), Some(micros));
        }

        #[test]
        fn any_number_is_written(micros: i64) {
            prop_assert!(!TimeText(micros).to_string().is_empty());
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse_timestamp(&bytes);
        }
    }
}
