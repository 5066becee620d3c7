//! A disk in memory that loses power whenever a test wants, stricter than a real one.
//!
//! ```text
//!  workload ──► SimDisk ── live state ──► what the running program sees
//!                  │
//!                  └─ journal of operations 0, 1, 2 … n
//!                          │ replay the first k
//!                          ▼
//!                     state + CrashPlan ──► a new SimDisk: one disk that a loss of power after k may leave
//! ```
//!
//! What a crash may do to what was not synced: keep any prefix of a file's tail, torn at any byte; lose sectors of
//! 512 bytes out of order, leaving zeros, noise or another sector's bytes; carry out any subset of the creations,
//! renames and removals, each whole or not at all. Synced bytes always survive. Everything follows from the seeds.
//!
//! So one recorded run of a workload gives every crash state of it, each for the price of a replay.

mod crash;
mod journal;
mod random;
mod sim_disk;
mod state;

pub use crash::CrashPlan;
pub use journal::{Fault, Replay};
pub use sim_disk::SimDisk;
