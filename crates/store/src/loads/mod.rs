//! Loads: batches so large that their edges become a segment at once, with or without the memory to hold them.
//!
//! ```text
//!  staged ─┬─────────────────────────► bulk ─► additions ─► a segment
//!          └─ spill: runs in a file ──────────► spill_merge, long_list ─┘
//! ```

pub(crate) mod additions;
pub(crate) mod bulk;
pub(crate) mod long_list;
pub(crate) mod spill;
pub(crate) mod spill_merge;
pub(crate) mod staged;
