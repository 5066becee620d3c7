//! The tests of views of graphs in one program.

mod common;
mod flat_weights;
mod oracle;
mod tables;
