//! Numbers as people read them: counts with separators, times and sizes in the unit that leaves one to three digits
//! before the point.

/// A count with a comma between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun, in the plural unless it is one: `1 edge`, `2 edges`.
pub(crate) fn counted(number: u64, singular: &str, plural: &str) -> String {
    format!("{} {}", count(number), if number == 1 { singular } else { plural })
}

/// How many bars hold: `1 of 2 bars holds`, `2 of 2 bars hold`.
pub(crate) fn bars(held: u64, all: u64) -> String {
    format!("{held} of {} {}", counted(all, "bar", "bars"), if held == 1 { "holds" } else { "hold" })
}

/// A time with three significant digits.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1e-6 => format!("{} ns", significant(seconds * 1e9)),
        seconds if seconds < 1e-3 => format!("{} us", significant(seconds * 1e6)),
        seconds if seconds < 1.0 => format!("{} ms", significant(seconds * 1e3)),
        seconds => format!("{} s", significant(seconds)),
    }
}

/// A size in binary units.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut size, mut unit) = (bytes as f64 / 1024.0, UNITS[0]);
    for next in &UNITS[1..] {
        if size < 1023.95 {
            break;
        }
        (size, unit) = (size / 1024.0, next);
    }
    format!("{size:.1} {unit}")
}

/// How many of something a second: `950 edges/s`, `12.3 k edges/s`, `4.56 M edges/s`; `4.56 M/s` where a heading says of what.
pub(crate) fn rate(per_second: f64, what: &str) -> String {
    let (number, prefix) = match per_second {
        rate if rate < 1e3 => (rate, ""),
        rate if rate < 1e6 => (rate / 1e3, "k"),
        rate => (rate / 1e6, "M"),
    };
    let number = significant(number);
    let parts = [&*number, prefix, what].into_iter().filter(|part| !part.is_empty());
    format!("{}/s", parts.collect::<Vec<_>>().join(" "))
}

/// Three significant digits where there are fewer before the point.
pub(crate) fn significant(number: f64) -> String {
    match number.abs() {
        size if size < 9.995 => format!("{number:.2}"),
        size if size < 99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_a_comma_between_thousands() {
        let counts = [0, 12, 123, 1234, 123_456, 1_234_567].map(count);
        assert_eq!(counts, ["0", "12", "123", "1,234", "123,456", "1,234,567"]);
        assert_eq!(counted(1, "edge", "edges"), "1 edge");
        assert_eq!(counted(0, "edge", "edges"), "0 edges");
    }

    #[test]
    fn measures_choose_their_unit() {
        assert_eq!(
            [3.2e-8, 0.00123, 0.5, 12.345, 99.96].map(seconds),
            ["32.0 ns", "1.23 ms", "500 ms", "12.3 s", "100 s"]
        );
        assert_eq!(
            [0, 1023, 1024, 1_048_575, 10 << 30].map(bytes),
            ["0 B", "1023 B", "1.0 KiB", "1.0 MiB", "10.0 GiB"]
        );
        let rates = [950.0, 12_300.0, 4.56e6].map(|number| rate(number, "edges"));
        assert_eq!(rates, ["950 edges/s", "12.3 k edges/s", "4.56 M edges/s"]);
        assert_eq!([950.0, 4.56e6].map(|number| rate(number, "")), ["950/s", "4.56 M/s"]);
    }
}
