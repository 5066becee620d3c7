//! Where a command says things: results to standard output, as text or as JSON, and a word to people on standard error.
//!
//! Invariant: standard output carries the result and nothing else. A reader that goes away (`| head`) ends the command
//! without a message, as with any other Unix program.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

use crate::error::CommandError;

/// The output of one command.
pub(crate) struct Console {
    out: BufWriter<Stdout>,
    json: bool,
}

impl Console {
    /// Standard output; `json` says what kind of reader there is.
    pub(crate) fn new(json: bool) -> Self {
        Console { out: BufWriter::new(io::stdout()), json }
    }

    /// Whether the reader is a machine.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// One line of text, or several.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<(), CommandError> {
        Ok(writeln!(self.out, "{text}")?)
    }

    /// One line of text that is to be seen now.
    pub(crate) fn line_now(&mut self, text: impl Display) -> Result<(), CommandError> {
        self.line(text)?;
        self.flush()
    }

    /// One line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        serde_json::to_writer(&mut self.out, value).map_err(io::Error::from)?;
        Ok(writeln!(self.out)?)
    }

    /// The result: `value` for a machine, the lines of `text` for people.
    pub(crate) fn result<T: Serialize>(
        &mut self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), CommandError> {
        if self.json { self.json(value) } else { self.line(text(value)) }
    }

    /// Hands everything to the reader.
    pub(crate) fn flush(&mut self) -> Result<(), CommandError> {
        Ok(self.out.flush()?)
    }
}

/// Whether somebody looks at standard output.
pub(crate) fn output_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// A word to people on standard error. There is nobody to tell if that fails.
pub(crate) fn notice(text: impl Display) {
    let _ = writeln!(io::stderr(), "evergraph: {text}");
}
