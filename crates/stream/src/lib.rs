//! What follows the log of a store: sliding windows, and the changes that incremental algorithms take.
//!
//! ```text
//!  log of a store ──► head ─► edges enter ─┐
//!        │                                 ├─► a store in memory ─► Snapshot     Window
//!        └──────────► tail ─► edges leave ─┘
//!        └──────────► reader ─► Changes between two snapshots of the store       Follower
//! ```
//!
//! The rules of windows are in docs/semantics.md.

mod content;
mod cursor;
mod error;
mod follower;
mod options;
mod window;

pub use error::WindowError;
pub use follower::{Followed, Follower};
pub use options::{Duplicates, Order, Span, WindowOptions};
pub use window::{Advance, Window, WindowStats};
