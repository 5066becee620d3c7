//! The tests of the log in one program.

mod arbitrary;
mod common;
mod crash;
mod damage;
mod parts;
mod roundtrip;
mod trim;
