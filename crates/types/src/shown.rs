//! Values as people read them: dates and times in ISO 8601, and of what is long the beginning.

use std::fmt::{self, Display, Write};

/// How much of a value a message shows: enough to know it again.
const SHOWN_CHARS: usize = 80;
const SECONDS_PER_DAY: i64 = 86_400;
const MICROS_PER_SECOND: i64 = 1_000_000;

/// What a message shows of a value: all of it, or the first 80 characters and the sign that there are more.
///
/// ```
/// use evergraph_types::shown;
///
/// assert_eq!(shown("short"), "short");
/// assert_eq!(shown("long ".repeat(1_000_000)), format!("{}\u{2026}", "long ".repeat(16)));
/// ```
pub fn shown(value: impl Display) -> String {
    let mut cut = Cut { text: String::new(), left: SHOWN_CHARS };
    // It ends early where the text is full.
    if write!(cut, "{value}").is_err() {
        cut.text.push('\u{2026}');
    }
    cut.text
}

/// What a message shows of the names there are: `none` where there is none.
///
/// ```
/// use evergraph_types::shown_names;
///
/// assert_eq!(shown_names(&["age".to_owned(), "city".to_owned()]), r#"["age", "city"]"#);
/// assert_eq!(shown_names(&[]), "none");
/// ```
pub fn shown_names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { shown(format_args!("{names:?}")) }
}

/// Takes so many characters, and refuses more.
struct Cut {
    text: String,
    left: usize,
}

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match text.char_indices().nth(self.left) {
            Some((end, _)) => {
                self.text.push_str(&text[..end]);
                self.left = 0;
                Err(fmt::Error)
            }
            None => {
                self.left -= text.chars().count();
                self.text.push_str(text);
                Ok(())
            }
        }
    }
}

/// A day, given in days since 1970-01-01: in ISO 8601, or, outside the years 1 to 9999, as that number.
///
/// ```
/// use evergraph_types::DateText;
///
/// assert_eq!(DateText(19_724).to_string(), "2024-01-02");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DateText(pub i32);

impl Display for DateText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match year_month_day(self.0.into()) {
            (year @ 1..=9999, month, day) => write!(f, "{year:04}-{month:02}-{day:02}"),
            _ => write!(f, "{}", self.0),
        }
    }
}

/// An instant, given in microseconds since 1970-01-01 UTC: in ISO 8601 in UTC, or, outside the years 1 to 9999, as that number.
///
/// ```
/// use evergraph_types::TimeText;
///
/// assert_eq!(TimeText(1_704_164_645_500_000).to_string(), "2024-01-02T03:04:05.500000Z");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TimeText(pub i64);

impl Display for TimeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimeText(micros) = *self;
        let seconds = micros.div_euclid(MICROS_PER_SECOND);
        let (year, month, day) = year_month_day(seconds.div_euclid(SECONDS_PER_DAY));
        if !(1..=9999).contains(&year) {
            return write!(f, "{micros}");
        }
        let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match micros.rem_euclid(MICROS_PER_SECOND) {
            0 => f.write_str("Z"),
            fraction => write!(f, ".{fraction:06}Z"),
        }
    }
}

/// The year, month and day of a day since 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the leap day
/// is the last; 400 years have 146,097 days.
fn year_month_day(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = (shifted_month + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted_month + 2) / 5 + 1)
}

/// Days since 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the leap day is the last;
/// 400 years have 146,097 days.
///
/// ```
/// use evergraph_types::days_from_civil;
///
/// assert_eq!(days_from_civil(2024, 1, 2), 19_724);
/// ```
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}
