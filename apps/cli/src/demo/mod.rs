//! `evergraph demo`

mod command;

pub(crate) use command::{DemoArgs, run};
