//! The commands as a shell sees them: what they write where, and their exit codes. One module per command.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

mod backup;
mod bench;
mod check;
mod compact;
mod demo;
mod export;
mod generate;
mod info;
mod load;
mod run;
mod shell;
mod stream;
mod usage;
mod views;
mod window;
