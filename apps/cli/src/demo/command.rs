//! demo
use std::ffi::OsString;

use clap::Args;

use crate::console::Console;
use crate::error::CommandError;

/// What the demo takes.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  evergraph demo")]
pub(crate) struct DemoArgs {}

pub(crate) fn run(
    _args: &DemoArgs,
    _program: &[OsString],
    _console: &mut Console,
) -> Result<(), CommandError> {
    Ok(())
}
