//! The rows of the benchmark: what was measured on both sides, the bar, and whether the results agree.

use serde::Serialize;

use super::timing::Pair;
use crate::table::{Layout, Side};
use crate::units;

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) unit: Unit,
    pub(super) ours: f64,
    pub(super) theirs: Option<f64>,
    /// Ours by theirs; of times, the median of this over the turns.
    pub(super) ratio: Option<f64>,
    pub(super) bar: Option<Bar>,
    /// Whether the bar holds.
    pub(super) holds: Option<bool>,
    /// What both sides found; `None` where nothing is found.
    pub(super) agreement: Option<Agreement>,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    Seconds,
    BytesPerEdge,
    EdgesPerSecond,
    Bytes,
    BytesPerSecond,
}

/// What is asked for at scale 20 on two cores.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bar {
    /// At most so many times the yardstick's value.
    Ratio(f64),
    /// At least so many times the other side's value.
    RatioAtLeast(f64),
    /// At most this value.
    Value(f64),
    /// At least this value.
    AtLeast(f64),
}

/// Whether both sides found the same, and what.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Agreement {
    pub(super) holds: bool,
    pub(super) what: String,
}

impl Row {
    /// A time of both sides.
    pub(super) fn times(name: &str, pair: Pair) -> Self {
        Row { ratio: Some(pair.ratio), ..Row::new(name, Unit::Seconds, pair.ours, Some(pair.theirs)) }
    }

    /// A value of Evergraph, and of the yardstick if it has one.
    pub(super) fn new(name: &str, unit: Unit, ours: f64, theirs: Option<f64>) -> Self {
        let ratio = theirs.map(|theirs| ours / theirs);
        Row { name: name.to_owned(), unit, ours, theirs, ratio, bar: None, holds: None, agreement: None }
    }

    /// With a bar.
    pub(super) fn bar(self, bar: Bar) -> Self {
        let holds = match bar {
            Bar::Ratio(most) => self.ratio.map(|ratio| ratio <= most),
            Bar::RatioAtLeast(least) => self.ratio.map(|ratio| ratio >= least),
            Bar::Value(most) => Some(self.ours <= most),
            Bar::AtLeast(least) => Some(self.ours >= least),
        };
        Row { bar: Some(bar), holds, ..self }
    }

    /// With what both sides found.
    pub(super) fn agreement(self, holds: bool, what: String) -> Self {
        Row { agreement: Some(Agreement { holds, what }), ..self }
    }

    /// Whether both sides found the same, as far as that was looked at.
    pub(super) fn agrees(&self) -> bool {
        self.agreement.as_ref().is_none_or(|agreement| agreement.holds)
    }

    /// The line of the table.
    pub(super) fn cells(&self) -> Vec<String> {
        let value = |value: f64| match self.unit {
            Unit::Seconds => units::seconds(value),
            Unit::BytesPerEdge => format!("{} B", units::significant(value)),
            Unit::EdgesPerSecond => units::rate(value, ""),
            Unit::Bytes => units::bytes(value as u64),
            Unit::BytesPerSecond => format!("{}/s", units::bytes(value as u64)),
        };
        let bar = match self.bar {
            None => String::new(),
            Some(Bar::Ratio(most)) => format!("<= {}x", (most * 100.0).round() / 100.0),
            Some(Bar::RatioAtLeast(least)) => format!(">= {least}x"),
            Some(Bar::Value(most)) => format!("<= {}", value(most)),
            Some(Bar::AtLeast(least)) => format!(">= {}", value(least)),
        };
        let holds = match self.holds {
            None => "",
            Some(true) => "holds",
            Some(false) => "MISSED",
        };
        let agreement = match &self.agreement {
            None => String::new(),
            Some(Agreement { holds: true, what }) => what.clone(),
            Some(Agreement { holds: false, what }) => format!("DIFFERS: {what}"),
        };
        vec![
            self.name.clone(),
            value(self.ours),
            self.theirs.map_or(String::new(), value),
            self.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}x")),
            bar,
            holds.to_owned(),
            agreement,
        ]
    }
}

/// The columns of the table; wide enough from the start, since rows are shown as they are measured.
pub(super) fn layout(other: &str) -> Layout {
    Layout::new([
        ("measurement", Side::Left, 54),
        ("Evergraph", Side::Right, 9),
        (other, Side::Right, 9),
        ("ratio", Side::Right, 6),
        ("bar", Side::Left, 11),
        ("", Side::Left, 6),
        ("same result on both sides", Side::Left, 0),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_compared_to_ratio_or_value() {
        let pair = Pair { ours: 1.2, theirs: 1.0, ratio: 1.2 };
        assert_eq!(Row::times("bfs", pair).bar(Bar::Ratio(1.3)).holds, Some(true));
        assert_eq!(Row::times("bfs", pair).bar(Bar::Ratio(1.1)).holds, Some(false));
        let bytes = Row::new("disk", Unit::BytesPerEdge, 8.5, None).bar(Bar::Value(8.0));
        assert_eq!(bytes.holds, Some(false));
        assert_eq!(
            Row::new("ingest", Unit::EdgesPerSecond, 5e6, None).bar(Bar::AtLeast(4e6)).holds,
            Some(true)
        );
        assert_eq!(bytes.cells()[1..6], ["8.50 B", "", "", "<= 8.00 B", "MISSED"]);
    }

    #[test]
    fn a_difference_is_said_aloud() {
        let row = Row::times("triangles", Pair { ours: 1.0, theirs: 2.0, ratio: 0.5 });
        assert!(row.agrees());
        let row = row.agreement(false, "3 and 4 triangles".to_owned());
        assert!(!row.agrees());
        assert_eq!(row.cells()[6], "DIFFERS: 3 and 4 triangles");
    }
}
