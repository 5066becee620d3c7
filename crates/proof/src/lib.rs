//! What the tests prove with, and nothing that is tested: it knows no store.
//!
//! [`check`] tells which isolation a history of transactions kept, from what they saw alone; [`mutate`] damages bytes;
//! [`tally`] counts what long runs have gone through.

mod anomaly;
mod check;
mod cycles;
mod dependencies;
mod history;
mod lists;
mod mutate;
mod random;
mod tally;

pub use anomaly::{Anomaly, Kind, Level};
pub use check::{check, violations};
pub use history::{List, Op, Outcome, Transaction};
pub use mutate::mutate;
pub use random::Random;
pub use tally::tally;
