//! The tests of named views in one program.

mod events;
mod parts;
mod predicates;
