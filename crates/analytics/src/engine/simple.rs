//! The simple graph below a view: each neighbor once.
//!
//! Invariant: lists ascend strictly, and the vertices are those of the view.

use std::sync::Arc;

use evergraph_types::{Direction, VertexId};
use evergraph_view::{FlatTable, FlatView, GraphView};

use crate::{AlgorithmError, Control, Ranges};

/// The view itself if no list has a neighbor twice, else a copy without repeats.
pub(crate) fn simple(flat: Arc<FlatView>, control: &Control) -> Result<Arc<FlatView>, AlgorithmError> {
    if flat.is_sorted() {
        return Ok(flat);
    }
    let out = distinct(&flat, Direction::Out, control)?;
    let reverse = if flat.is_symmetric() { None } else { Some(distinct(&flat, Direction::In, control)?) };
    let exists: Arc<[bool]> = (0..flat.id_bound()).map(|vertex| flat.has_vertex(vertex)).collect();
    Ok(Arc::new(FlatView::new(out, reverse, Some(exists), true)))
}

fn distinct(flat: &FlatView, direction: Direction, control: &Control) -> Result<FlatTable, AlgorithmError> {
    let pieces = Ranges::by_edges(flat, direction).map(control, |range| {
        let (mut ends, mut neighbors, mut list) = (Vec::new(), Vec::<VertexId>::new(), Vec::new());
        for vertex in range {
            list.clear();
            flat.neighbors(direction, vertex).for_each_slice(|slice| list.extend_from_slice(slice));
            list.sort_unstable();
            list.dedup();
            neighbors.extend_from_slice(&list);
            ends.push(neighbors.len() as u64);
        }
        (ends, neighbors)
    })?;
    let (mut offsets, mut all) = (vec![0], Vec::new());
    for (ends, neighbors) in pieces {
        let start = all.len() as u64;
        offsets.extend(ends.iter().map(|end| start + end));
        all.extend_from_slice(&neighbors);
    }
    Ok(FlatTable::from_csr(&offsets, all))
}
