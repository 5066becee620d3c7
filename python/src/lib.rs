//! `evergraph._native`: the Python module, a thin layer over the crates.

mod command;
mod module;
