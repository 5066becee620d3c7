//! Views: `GraphView` is the only thing algorithms know; `FlatView` is what they run on.

mod flat;
mod graph_view;

pub use evergraph_store::{FlatTable, Neighbors};
pub use flat::FlatView;
pub use graph_view::GraphView;
