//! The command line of Evergraph, as a library with one function, so that the Python package and the plain program
//! are the same thing.
//!
//! ```text
//! run(args) ─► command_line: parse ─► one file per command ─► Console: text or JSON ─► exit code
//! ```
//!
//! Results go to standard output, everything else to standard error. The exit code is 0 when done, 1 when the data says
//! no, 2 for wrong usage, 130 when Ctrl-C has stopped it.

mod allocator;
mod at;
mod backup;
mod bench;
mod cell;
mod check;
mod command_line;
mod compact;
mod console;
pub mod crash;
mod demo;
mod directory_size;
mod error;
mod events;
mod export;
mod follow;
mod generate;
mod info;
mod interrupt;
mod layout;
mod load;
mod load_values;
mod output_file;
mod progress;
mod run;
mod run_args;
mod run_report;
mod store;
mod stream;
mod table;
mod units;
mod views;
mod window;

pub use allocator::{ALLOCATOR, prepare_allocator};
pub use command_line::{run, run_as};
