//! What commits wrote, and what of it changed anything.
//!
//! Invariant: every edge of the view and every vertex that differs between the two states is named; more may be.

use std::ops::ControlFlow;

use evergraph_analytics::incremental::Changes;
use evergraph_types::{Direction, VertexId};
use evergraph_view::{GraphView, Snapshot};

use crate::cursor::Pair;

/// Edges and vertices that commits wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    pub(crate) edges: Vec<Pair>,
    /// Vertices that may have come or gone; those of new ids need not be named.
    pub(crate) vertices: Vec<VertexId>,
    /// Whether an edge may be anything but one that was put and is there.
    pub(crate) must_look_up: bool,
}

impl Written {
    /// What led from one state to the other, given all that was written in between; with repeats where they are taken and
    /// nothing was deleted.
    pub(crate) fn changes(self, before: &Snapshot, after: &Snapshot, takes_repeats: bool) -> Changes {
        let Written { mut edges, mut vertices, must_look_up } = self;
        vertices.extend(before.id_bound()..after.id_bound());
        let dropped = edges_dropped(before, after);
        let is_multi = |name: &&str| {
            let mut kinds = after.schema().live_edge_types();
            kinds.any(|(_, kind)| kind.name == *name && kind.options.multi)
        };
        let is_of_puts = !must_look_up && dropped.is_empty() && !after.is_mixed();
        edges.extend(dropped);
        if !is_of_puts {
            Changes::between(before, after, edges, vertices)
        } else if takes_repeats || after.edge_types().iter().all(is_multi) {
            Changes::of_insertions(before, after, edges, vertices)
        } else {
            Changes::of_puts(before, after, edges, vertices)
        }
    }
}

/// Whether a vertex that is an end of an edge may be new under an old id.
pub(crate) fn has_gaps(state: &Snapshot) -> bool {
    state.num_vertices() < u64::from(state.id_bound())
}

/// The edges of the types that were dropped from one snapshot to the next. The log does not name them.
fn edges_dropped(before: &Snapshot, after: &Snapshot) -> Vec<Pair> {
    let mut edges = Vec::new();
    let is_gone = |id| after.schema().edge_types.get(usize::from(id)).is_some_and(|kind| kind.is_dropped());
    let selected = before.edge_types();
    for (id, kind) in before.schema().live_edge_types().filter(|(id, _)| is_gone(*id)) {
        if !selected.contains(&kind.name.as_str()) {
            continue;
        }
        let dropped = before.with_edge_type_ids(&[id]);
        for vertex in 0..dropped.id_bound() {
            dropped.for_each_slice(Direction::Out, vertex, &mut |neighbors| {
                edges.extend(neighbors.iter().map(|&neighbor| (vertex, neighbor)));
                ControlFlow::Continue(())
            });
        }
    }
    edges
}
