//! What the tests of the store share: a naive model of a store, ways to read a version into the same form, random
//! actions carried out on both, and disks to run them on.

#![allow(dead_code, unused_imports, reason = "no test file uses all of it")]

mod actions;
mod commits;
mod difference;
mod dump;
mod for_all;
mod history;
mod hooked_disk;
mod model;
mod props;
mod replica;
mod setup;

pub(crate) use actions::{Action, Case, Failure, Runner, Write, actions, altering_actions, case};
pub(crate) use commits::{Made, declare_for_commits, in_order, model_at, random_commit};
pub(crate) use difference::compare_difference;
pub(crate) use dump::{Dump, dump};
pub(crate) use for_all::for_all;
pub(crate) use history::{History, States};
pub(crate) use hooked_disk::{HookedDisk, Pause};
pub(crate) use model::{EdgeModel, Model, VertexModel};
pub(crate) use props::Props;
pub(crate) use replica::Replica;
pub(crate) use setup::{
    batch, directory, number, number_batch, on, open, open_error, options, try_open, with_columns,
};
