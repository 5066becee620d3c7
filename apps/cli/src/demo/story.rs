//! How the demo talks: headings, and lines under them. Nothing is said to machines, and no colors to pipes.

use std::fmt::Display;

use crate::bench::processor;
use crate::console::{Console, output_is_terminal};
use crate::error::CommandError;
use crate::units;

/// The teller.
pub(super) struct Story<'a> {
    console: &'a mut Console,
    is_bold: bool,
}

impl<'a> Story<'a> {
    /// Tells it to the readers of a console.
    pub(super) fn new(console: &'a mut Console) -> Self {
        let is_bold = output_is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Story { console, is_bold }
    }

    /// What this is, and where.
    pub(super) fn title(&mut self) -> Result<(), CommandError> {
        let name = format!("Evergraph {}", env!("CARGO_PKG_VERSION"));
        self.line(format_args!("{}: one store for graphs that never stop changing.", self.bold(&name)))?;
        self.line(format_args!(
            "All numbers are measured now, on this machine ({}, {}), but those called published.",
            processor(),
            units::counted(rayon::current_num_threads() as u64, "core", "cores"),
        ))
    }

    /// The beginning of an act.
    pub(super) fn heading(&mut self, text: &str) -> Result<(), CommandError> {
        self.line(format_args!("\n{}", self.bold(text)))
    }

    /// A line of an act.
    pub(super) fn say(&mut self, text: impl Display) -> Result<(), CommandError> {
        for line in text.to_string().lines() {
            self.line(format!("   {line}").trim_end())?;
        }
        Ok(())
    }

    /// An empty line.
    pub(super) fn pause(&mut self) -> Result<(), CommandError> {
        self.line("")
    }

    fn line(&mut self, text: impl Display) -> Result<(), CommandError> {
        if self.console.is_json() { Ok(()) } else { self.console.line_now(text) }
    }

    fn bold(&self, text: &str) -> String {
        if self.is_bold { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
