//! Seeded random graphs for tests, benchmarks and demos, streamed block by block so that none is ever held whole.
//!
//! ```text
//! Model ──► Generator::new(model, seed) ──► block(0) block(1) block(2) …   any block, any order, any thread
//!                                              └─────── in order ───────► for_each_block, write
//! ```
//!
//! Invariant: the edges depend on the model and the seed alone, never on the number of threads.

mod generator;
mod model;
mod permutation;
mod pipeline;
mod random;
mod write;

pub use generator::{EDGES_PER_BLOCK, Edge, Generator};
pub use model::{ErdosRenyi, Kronecker, MAX_SCALE, Model, ModelError};
pub use write::{Format, WriteError, write};
