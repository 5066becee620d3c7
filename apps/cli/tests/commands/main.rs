//! The commands as a shell sees them: what they write where, and their exit codes. One module per command.

mod bench;
//c mod check;
mod demo;
mod export;
mod generate;
mod info;
mod load;
mod run;
mod shell;
mod usage;
