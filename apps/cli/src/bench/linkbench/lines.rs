//! The table: a line per measurement and store, and the bars that are judged on it.

use serde::Serialize;

use super::drive::Score;
use crate::table::{Layout, Side};
use crate::units;

/// What must hold in one comparison, beside that the slowest hundredth is not slower than the best rival's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bars {
    /// Requests a second, in multiples of the best rival's.
    pub(super) rate: Option<f64>,
    /// Also in multiples of certain rivals' rates.
    pub(super) each: &'static [(&'static str, f64)],
    /// The time half of Evergraph's reads may take at the most.
    pub(super) median_seconds: Option<f64>,
}

/// What is asked of Evergraph, and whether it holds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Bar {
    pub(super) what: String,
    pub(super) holds: bool,
}

/// A line of the table.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    measurement: String,
    store: &'static str,
    requests_per_second: f64,
    /// Evergraph's rate by this store's.
    pub(super) ratio: Option<f64>,
    median_read_seconds: Option<f64>,
    p99_read_seconds: Option<f64>,
    median_write_seconds: Option<f64>,
    p99_write_seconds: Option<f64>,
    longest_write_seconds: Option<f64>,
    pub(super) bars: Vec<Bar>,
}

pub(super) fn layout() -> Layout {
    Layout::new([
        ("measurement", Side::Left, 46),
        ("store", Side::Left, 9),
        ("requests/s", Side::Right, 10),
        ("Evergraph by it", Side::Right, 15),
        ("reads: median, p99", Side::Right, 18),
        ("writes: median, p99, longest", Side::Right, 28),
        ("bar", Side::Left, 0),
    ])
}

impl Line {
    pub(super) fn new(
        measurement: &str,
        store: &'static str,
        ratio: Option<f64>,
        score: &mut Score,
        bars: Vec<Bar>,
    ) -> Self {
        Line {
            measurement: measurement.to_owned(),
            store,
            requests_per_second: score.rate(),
            ratio,
            median_read_seconds: score.reads_below(50),
            p99_read_seconds: score.reads_below(99),
            median_write_seconds: score.writes_below(50),
            p99_write_seconds: score.writes_below(99),
            longest_write_seconds: score.longest_write(),
            bars,
        }
    }

    pub(super) fn cells(&self) -> [String; 7] {
        let times = |times: &[Option<f64>]| {
            let times: Vec<String> = times.iter().flatten().map(|time| units::seconds(*time)).collect();
            times.join(", ")
        };
        let told = |bar: &Bar| format!("{} {}", bar.what, if bar.holds { "holds" } else { "MISSED" });
        [
            self.measurement.clone(),
            self.store.to_owned(),
            units::count(self.requests_per_second as u64),
            self.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}x")),
            times(&[self.median_read_seconds, self.p99_read_seconds]),
            times(&[self.median_write_seconds, self.p99_write_seconds, self.longest_write_seconds]),
            self.bars.iter().map(told).collect::<Vec<_>>().join("; "),
        ]
    }
}

/// The bars of one comparison. `rates` are Evergraph's rate by those of the rivals; the first score is Evergraph's.
pub(super) fn judge(bars: Bars, rates: &[(&str, f64)], scores: &mut [Score]) -> Vec<Bar> {
    let mut judged = Vec::new();
    let best = rates.iter().map(|(_, ratio)| *ratio).min_by(f64::total_cmp);
    if let Some((best, least)) = best.zip(bars.rate) {
        judged.push(Bar { what: format!("rate {best:.2}x >= {least:.0}x"), holds: best >= least });
    }
    for (name, least) in bars.each {
        if let Some((_, ratio)) = rates.iter().find(|(rival, _)| rival == name) {
            judged.push(Bar { what: format!("{ratio:.1}x {name} >= {least:.0}x"), holds: ratio >= least });
        }
    }
    if let Some((most, median)) = bars.median_seconds.zip(scores[0].reads_below(50)) {
        judged.push(Bar { what: format!("median < {}", units::seconds(most)), holds: median < most });
    }
    let reads: Vec<_> = scores.iter_mut().map(|score| score.reads_below(99)).collect();
    let writes: Vec<_> = scores.iter_mut().map(|score| score.writes_below(99)).collect();
    for (name, times) in [("p99 of reads", reads), ("p99 of writes", writes)] {
        let Some((Some(ours), theirs)) = times.split_first() else { continue };
        if let Some(least) = theirs.iter().flatten().copied().min_by(f64::total_cmp) {
            judged.push(Bar { what: format!("{name} <= {}", units::seconds(least)), holds: *ours <= least });
        }
    }
    judged
}
