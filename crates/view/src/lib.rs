//! Views: `GraphView` is the only thing algorithms know; `FlatView` is what they run on; `Snapshot` is the view of one
//! version of a store.

mod arrays;
mod confinement;
mod csr;
mod difference;
mod edge_layout;
mod edge_rows;
mod flat;
mod gather;
mod graph_view;
mod key_table;
mod listed_edges;
mod room;
mod selection;
mod snapshot;
mod tables;
mod weighted_lists;

pub use arrow_array::RecordBatch;
pub use confinement::{Confinement, EdgeRule, VertexBits};
pub use csr::Csr;
pub use difference::{DiffError, Difference};
pub use evergraph_store::{
    FlatTable, Hinted, ListPass, Neighbors, Reads, Run, by_reference, parallel_map, prefetch,
};
pub use flat::FlatView;
pub use graph_view::GraphView;
pub use listed_edges::ListedEdges;
pub use room::{NoRoom, room_for_ids};
pub use snapshot::Snapshot;
pub use weighted_lists::{WeightError, WeightedList, WeightedLists};
