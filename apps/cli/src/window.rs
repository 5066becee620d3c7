//! `evergraph window`: the events that a store's log holds, window by window.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use evergraph::load::{SpanError, parse_span};
use evergraph::{Duplicates, GraphView, Order, Schema, Span, Units, Window, WindowOptions, WindowStep};
use serde::Serialize;

use crate::console::Console;
use crate::error::CommandError;
use crate::store::open_to_read;
use crate::table::{Layout, Side};
use crate::units;

/// Which store, and which windows over it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("length").required(true))]
pub(crate) struct WindowArgs {
    /// The store
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Hold the edges of so long: 90, 5s, 10m, 2h, 7d, 1w; plain numbers are seconds, or units of a time that is a number
    #[arg(long, value_name = "TIME", value_parser = parse_span, group = "length")]
    last: Option<f64>,
    /// Hold the last so many edges
    #[arg(long, value_name = "N", group = "length")]
    edges: Option<i64>,
    /// Move so far from one window to the next: a time, or, with --edges, so many edges or a time with its unit, by the clock; by
    /// default show the last window only
    #[arg(long, value_name = "STEP", value_parser = parse_every)]
    every: Option<Every>,
    /// What several edges with the same ends are
    #[arg(long, value_enum, default_value = "keep")]
    duplicates: DuplicatesArg,
    /// The type of the edges; may be left out where there is one
    #[arg(long, value_name = "NAME")]
    edge_type: Option<String>,
    /// By what to slide [default: event, where the edges have a time]
    #[arg(long, value_enum)]
    order: Option<OrderArg>,
    /// In event time, how much earlier than the newest edge one may be
    #[arg(long, value_name = "TIME", value_parser = parse_span, default_value = "0")]
    lateness: f64,
}

const EXAMPLES: &str = "\
Examples:
  evergraph window logins.eg --last 1h --every 10m      an hour, every ten minutes
  evergraph window logins.eg --edges 100000             the last 100,000 edges
  evergraph window logins.eg --edges 1000 --every 30s   the last 1,000, as of every half minute
  evergraph window logins.eg --last 1d --every 1d --json

A window sees what the log still holds: what was archived or bulk loaded before it is gone from there.";

/// A step as it is written.
#[derive(Clone, Copy, Debug)]
enum Every {
    Number(f64),
    Time(f64),
}

fn parse_every(text: &str) -> Result<Every, SpanError> {
    let has_unit = text.trim_end().ends_with(|letter: char| letter.is_ascii_alphabetic());
    parse_span(text).map(if has_unit { Every::Time } else { Every::Number })
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DuplicatesArg {
    Keep,
    Drop,
    Count,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OrderArg {
    Event,
    Ingest,
}

/// One window.
#[derive(Serialize)]
struct Report {
    /// A time in microseconds or in units of its property, or the number of an edge.
    end: Option<i64>,
    vertices: u64,
    edges: u64,
    entered: u64,
    left: u64,
    late: u64,
    untimed: u64,
}

impl WindowArgs {
    fn options(&self, schema: &Schema) -> Result<WindowOptions, CommandError> {
        let order = self.order.map(|order| match order {
            OrderArg::Event => Order::Event,
            OrderArg::Ingest => Order::Ingest,
        });
        let units = Units::of(schema, self.edge_type.as_deref(), order);
        let in_units = |time: f64| units.count(time);
        let span = self.edges.map_or(Span::Time(in_units(self.last.unwrap_or_default())), Span::Edges);
        let every = match (self.every, span) {
            (Some(Every::Number(every)), Span::Edges(_)) if every.fract() != 0.0 => {
                let message = format!("--every {every}: a window of so many edges moves by whole edges");
                return Err(CommandError::Usage(message));
            }
            (Some(Every::Number(edges)), Span::Edges(_)) => Some(WindowStep::Length(edges as i64)),
            (Some(Every::Time(time)), Span::Edges(_)) => Some(WindowStep::Clock((time * 1e6).round() as i64)),
            (Some(Every::Number(time) | Every::Time(time)), Span::Time(_)) => {
                Some(WindowStep::Length(in_units(time)))
            }
            (None, _) => None,
        };
        Ok(WindowOptions {
            edge_type: self.edge_type.clone(),
            every,
            duplicates: match self.duplicates {
                DuplicatesArg::Keep => Duplicates::Keep,
                DuplicatesArg::Drop => Duplicates::Drop,
                DuplicatesArg::Count => Duplicates::Count,
            },
            order,
            lateness: in_units(self.lateness),
            ..WindowOptions::new(span)
        })
    }
}

/// Runs the command.
pub(crate) fn run(args: &WindowArgs, console: &mut Console) -> Result<(), CommandError> {
    let database = open_to_read(&args.database)?;
    let mut window = database.window(args.options(database.snapshot()?.schema())?)?;
    if !console.is_json() {
        console.line(layout().head())?;
    }
    if args.every.is_some() {
        while window.next(Some(Duration::ZERO))?.is_some() {
            show(&window, console)?;
        }
    } else {
        window.advance()?;
        show(&window, console)?;
    }
    Ok(())
}

fn show(window: &Window, console: &mut Console) -> Result<(), CommandError> {
    let (view, stats) = (window.latest()?, window.stats());
    let report = Report {
        end: window.end(),
        vertices: view.num_vertices(),
        edges: view.num_edges(),
        entered: stats.entered,
        left: stats.left,
        late: stats.late,
        untimed: stats.untimed,
    };
    if console.is_json() {
        return console.json(&report);
    }
    let counts = [report.vertices, report.edges, report.entered, report.left, report.late, report.untimed];
    let end = report.end.map_or_else(|| "-".to_owned(), |end| end.to_string());
    let cells = [end].into_iter().chain(counts.map(units::count));
    console.line(layout().row(&cells.collect::<Vec<_>>()))
}

fn layout() -> Layout {
    let counts = ["vertices", "edges", "entered", "left", "late", "untimed"];
    Layout::new([("end", Side::Right, 17)].into_iter().chain(counts.map(|name| (name, Side::Right, 10))))
}
