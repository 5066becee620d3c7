//! What was before: how long versions are kept and how past ones are made again; the log as others follow it.

pub(crate) mod bases;
pub(crate) mod changes;
pub(crate) mod cursors;
pub(crate) mod follow;
pub(crate) mod past;
pub(crate) mod retain;
