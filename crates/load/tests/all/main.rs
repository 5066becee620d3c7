//! The tests of reading and writing files in one program.

mod errors;
mod export;
mod formats;
mod fuzz;
mod naive;
mod oracle;
mod packed;
mod real_files;
