//! What is done beside commits: the threads of a store, lists brought together again, keys let go of, and who watches long work.

pub(crate) mod maintenance;
pub(crate) mod recluster;
pub(crate) mod recycle;
pub(crate) mod watch;
