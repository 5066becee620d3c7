//! Real kills: a process that writes durable transactions, its death by SIGKILL at any instant, and the proof that the
//! store has all it acknowledged. The demo does it once, `make soak` hundreds of times.
//!
//! ```text
//!  this process                              writer process (hidden command demo-writer)
//!  Trial::run: start it ───────────────────► open, recover, go on where the store is
//!              read acknowledgements ◄────── commit, then one line "writer transaction"    × threads
//!              SIGKILL ────────────────────► †
//!              open, recover
//!              states: each writer's part is exactly that after m transactions, m ≥ acknowledged
//! ```

mod error;
mod ledger;
mod trial;
mod writer;

pub use error::CrashError;
pub use ledger::states;
pub use trial::{Fuse, Outcome, Trial};
pub(crate) use writer::{WriterArgs, write};
