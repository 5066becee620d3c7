//! The tests of streams and windows in one program.

mod follower;
mod streams;
mod windows;
