//! The style of this repository, as rules that a test applies to every file (`tests/repository.rs`).
//!
//! Each rule is one module with one `check` and its own tests on planted faults. The tables a contributor may have
//! to edit stand at the top of their modules: who may depend on whom in [`arrows`], which files may be unsafe in
//! [`tokens`]; the functions that are still too long are listed in `long-functions.txt`.
//!
//! Nothing here is shipped, and no other crate depends on this one.

pub mod arrows;
mod finding;
pub mod length;
pub mod links;
pub mod modules;
mod source;
pub mod text;
pub mod tokens;

pub use finding::{Finding, report};
pub use source::{Kind, Source, repository_root, sources};
