//! From the queue to the log: callers form groups, and the committer checks, resolves and records one group at a time.
//!
//! ```text
//!  queue ─► stages ─► commit ─┬─ writers, conflict     may it?
//!                             ├─ resolve, batch        keys become ids
//!                             └─ branch                what a load beside it is to know
//!    └► crowd, aside           many callers who sleep: a thread leads their groups, another one syncs
//! ```

pub(crate) mod aside;
pub(crate) mod batch;
pub(crate) mod branch;
pub(crate) mod commit;
pub(crate) mod conflict;
pub(crate) mod crowd;
pub(crate) mod queue;
pub(crate) mod resolve;
pub(crate) mod stages;
pub(crate) mod writers;
