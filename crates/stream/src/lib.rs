//! What follows the log of a store: streams of batches, sliding windows, and the changes that incremental algorithms take.
//!
//! ```text
//!  log of a store ──► head ─► edges enter ─┐
//!        │                                 ├─► derived graph ─► Snapshot         Window
//!        └──────────► tail ─► edges leave ─┘
//!        ├──────────► reader ─► batches of edges, with the state at their end          Stream
//!        └──────────► reader ─► Changes between two snapshots of the store       Follower
//! ```
//!
//! The rules of windows are in docs/semantics.md.

mod content;
mod cursor;
mod error;
mod follower;
mod options;
mod pause;
mod stream;
mod window;
mod written;

pub use error::{StreamError, WindowError};
pub use follower::{Followed, Follower};
pub use options::{Duplicates, Order, Span, Units, WindowOptions, WindowStep};
pub use pause::Pause;
pub use stream::{Batch, Stream, StreamOptions};
pub use window::{Advance, Window, WindowStats};
