//! The result of an algorithm for people, as CSV and as JSON.
//!
//! ```text
//! Outcome ─► values: one line each
//!         └► rows: the first column is numbers ─► a row per vertex; --top: those that have one, the largest first
//!                                     vertices ─► --top: a row per group, the largest first
//!                           a list ─► a row per item; --top: the first ones
//! ```
//!
//! Invariant: rows are written as they are made, so that a graph of any size can be written out.

use std::cmp::Ordering;
use std::collections::HashMap;

use evergraph::algorithms::{self, NO_VERTEX, Outcome, VertexColumn};
use evergraph::{GraphView, Snapshot, VertexId};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::cell::Cell;
use crate::console::Console;
use crate::error::CommandError;
use crate::run_args::RunArgs;
use crate::table::{Layout, Side};
use crate::units;

/// How many rows people see if they do not say.
const SHOWN: usize = 10;

/// What there is to report.
pub(crate) struct Report<'a> {
    pub(crate) args: &'a RunArgs,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) outcome: &'a Outcome,
    pub(crate) seconds: f64,
}

/// Which rows there are.
enum Rows {
    Listed(usize),
    Vertices(Vec<VertexId>),
    Groups(Vec<(VertexId, u64)>),
}

impl Report<'_> {
    /// Writes it the way that was asked for.
    pub(crate) fn write(&self, console: &mut Console) -> Result<(), CommandError> {
        if console.is_json() {
            return console.json(self);
        }
        if self.args.common.csv { self.write_csv(console) } else { self.write_text(console) }
    }

    fn write_csv(&self, console: &mut Console) -> Result<(), CommandError> {
        let rows = self.rows(self.args.common.top);
        if self.outcome.columns.is_empty() {
            let values = &self.outcome.values;
            console.line(values.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(","))?;
            return console.line(
                values.iter().map(|(_, value)| Cell::from(*value).plain()).collect::<Vec<_>>().join(","),
            );
        }
        console.line(self.titles(&rows).join(","))?;
        for row in 0..rows.len() {
            let cells: Vec<String> = self.cells(&rows, row).iter().map(Cell::quoted).collect();
            console.line(cells.join(","))?;
        }
        Ok(())
    }

    fn write_text(&self, console: &mut Console) -> Result<(), CommandError> {
        let common = &self.args.common;
        console.line(format_args!(
            "{} on {}, version {}: {}, {}; {}{}",
            self.args.algorithm.name,
            common.database.display(),
            self.snapshot.version(),
            units::counted(self.snapshot.num_vertices(), "vertex", "vertices"),
            units::counted(self.snapshot.num_edges(), "edge", "edges"),
            units::seconds(self.seconds),
            if common.verify { ", verified" } else { "" },
        ))?;
        let width = self.outcome.values.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in &self.outcome.values {
            console.line(format_args!("{name:<width$}  {}", Cell::from(*value).pretty()))?;
        }
        if self.outcome.columns.is_empty() {
            return Ok(());
        }
        let rows = self.rows(Some(common.top.unwrap_or(SHOWN)));
        let titles = self.titles(&rows);
        let side = |index| if index == 0 { Side::Left } else { Side::Right };
        let layout = Layout::new(titles.iter().enumerate().map(|(index, title)| (*title, side(index), 0)));
        let lines: Vec<Vec<String>> =
            (0..rows.len()).map(|row| self.cells(&rows, row).iter().map(Cell::pretty).collect()).collect();
        console.line("")?;
        console.line(layout.table(&lines))?;
        if common.top.is_none() && rows.len() == SHOWN {
            let order = if matches!(rows, Rows::Listed(_)) { "The first ones" } else { "The largest first" };
            console.line(format_args!("\n{order}; --top N shows more, --csv and --json write all."))?;
        }
        Ok(())
    }

    /// The rows; all in the order of ids, or so many of the largest, of vertices that have a value: what was not reached is no
    /// farthest vertex.
    fn rows(&self, top: Option<usize>) -> Rows {
        if self.outcome.rows == algorithms::Rows::Listed {
            let listed = self.outcome.columns.first().map_or(0, |(_, column)| column.len());
            return Rows::Listed(listed.min(top.unwrap_or(usize::MAX)));
        }
        // No number: nobody asked for it.
        let is_asked_for = |id: VertexId| match self.outcome.columns.first() {
            Some((_, VertexColumn::Floats(values))) => {
                values.get(id as usize).is_some_and(|value| !value.is_nan())
            }
            _ => true,
        };
        let vertices =
            || (0..self.snapshot.id_bound()).filter(|&id| self.snapshot.has_vertex(id) && is_asked_for(id));
        match (self.outcome.columns.first(), top) {
            (None, _) => Rows::Vertices(Vec::new()),
            (Some(_), None) => Rows::Vertices(vertices().collect()),
            (Some((_, VertexColumn::Vertices(labels))), Some(top)) => {
                let mut sizes: HashMap<VertexId, u64> = HashMap::new();
                for vertex in
                    vertices().filter_map(|id| labels.get(id as usize)).filter(|&&id| id != NO_VERTEX)
                {
                    *sizes.entry(*vertex).or_default() += 1;
                }
                let mut groups: Vec<(VertexId, u64)> = sizes.into_iter().collect();
                groups.sort_unstable_by_key(|&(label, size)| (std::cmp::Reverse(size), label));
                groups.truncate(top);
                Rows::Groups(groups)
            }
            (Some((_, column)), Some(top)) => {
                let mut ids: Vec<VertexId> = vertices().filter(|&id| has_value(column, id)).collect();
                let largest =
                    |one: &VertexId, other: &VertexId| compare(column, *other, *one).then(one.cmp(other));
                if top < ids.len() {
                    ids.select_nth_unstable_by(top, largest);
                    ids.truncate(top);
                }
                ids.sort_unstable_by(largest);
                Rows::Vertices(ids)
            }
        }
    }

    fn titles(&self, rows: &Rows) -> Vec<&'static str> {
        let names = self.outcome.columns.iter().map(|(name, _)| *name);
        match rows {
            Rows::Listed(_) => names.collect(),
            Rows::Vertices(_) => std::iter::once("vertex").chain(names).collect(),
            Rows::Groups(_) => names.take(1).chain(["vertices"]).collect(),
        }
    }

    fn cells(&self, rows: &Rows, row: usize) -> Vec<Cell> {
        match rows {
            Rows::Listed(_) => {
                self.outcome.columns.iter().map(|(_, column)| self.cell(column, row as VertexId)).collect()
            }
            Rows::Vertices(ids) => {
                let key = Cell::from(self.snapshot.key(ids[row]));
                let values = self.outcome.columns.iter().map(|(_, column)| self.cell(column, ids[row]));
                std::iter::once(key).chain(values).collect()
            }
            Rows::Groups(groups) => {
                let (label, size) = groups[row];
                vec![Cell::from(self.snapshot.key(label)), Cell::Count(size)]
            }
        }
    }

    fn cell(&self, column: &VertexColumn, row: VertexId) -> Cell {
        let row = row as usize;
        let cell = match column {
            VertexColumn::Vertices(values) => {
                let named = values.get(row).filter(|&&value| value != NO_VERTEX);
                named.map(|&value| Cell::from(self.snapshot.key(value)))
            }
            VertexColumn::Counts(values) => {
                values.get(row).filter(|&&value| value != u32::MAX).map(|&value| Cell::Count(value.into()))
            }
            VertexColumn::Floats(values) => values.get(row).map(|&value| Cell::Float(value)),
        };
        cell.unwrap_or(Cell::Null)
    }
}

/// Whether a row has a value, which an infinite number is not: it stands for no way there.
fn has_value(column: &VertexColumn, row: VertexId) -> bool {
    let row = row as usize;
    match column {
        VertexColumn::Vertices(values) => values.get(row).is_some_and(|&value| value != NO_VERTEX),
        VertexColumn::Counts(values) => values.get(row).is_some_and(|&value| value != u32::MAX),
        VertexColumn::Floats(values) => values.get(row).is_some_and(|value| value.is_finite()),
    }
}

/// The order of two rows by value, which both have.
fn compare(column: &VertexColumn, one: VertexId, other: VertexId) -> Ordering {
    let (one, other) = (one as usize, other as usize);
    match column {
        VertexColumn::Vertices(values) | VertexColumn::Counts(values) => values[one].cmp(&values[other]),
        VertexColumn::Floats(values) => values[one].total_cmp(&values[other]),
    }
}

impl Rows {
    fn len(&self) -> usize {
        match self {
            Rows::Listed(count) => *count,
            Rows::Vertices(ids) => ids.len(),
            Rows::Groups(groups) => groups.len(),
        }
    }
}

impl Serialize for Report<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let common = &self.args.common;
        let values: serde_json::Map<String, serde_json::Value> = self
            .outcome
            .values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), serde_json::json!(Cell::from(*value))))
            .collect();
        let mut report = serializer.serialize_struct("Report", 8)?;
        report.serialize_field("algorithm", self.args.algorithm.name)?;
        report.serialize_field("version", &self.snapshot.version())?;
        report.serialize_field("vertices", &self.snapshot.num_vertices())?;
        report.serialize_field("edges", &self.snapshot.num_edges())?;
        report.serialize_field("seconds", &self.seconds)?;
        report.serialize_field("verified", &common.verify)?;
        report.serialize_field("values", &values)?;
        report.serialize_field("rows", &JsonRows { report: self, rows: self.rows(common.top) })?;
        report.end()
    }
}

/// Rows as JSON objects.
struct JsonRows<'a> {
    report: &'a Report<'a>,
    rows: Rows,
}

struct JsonRow<'a>(&'a [&'static str], Vec<Cell>);

impl Serialize for JsonRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let titles = self.report.titles(&self.rows);
        let rows = (0..self.rows.len()).map(|row| JsonRow(&titles, self.report.cells(&self.rows, row)));
        serializer.collect_seq(rows)
    }
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(Some(self.0.len()))?;
        for (title, cell) in self.0.iter().zip(&self.1) {
            row.serialize_entry(title, cell)?;
        }
        row.end()
    }
}
