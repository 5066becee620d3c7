//! What a store holds and takes up, how its lists lie, and whether its files are in order.

pub(crate) mod check;
pub(crate) mod disk_use;
pub(crate) mod layout;
pub(crate) mod memory_use;
pub(crate) mod stats;
