//! Lists in the in direction of edge types that keep none: the out lists turned round, once for each version that is
//! asked for them.
//!
//! ```text
//!  out lists     0: 2 3   1: 3   2:          offsets  0 0 0 1 3
//!  turned        2: 0     3: 0 1             sources  0 0 1
//! ```
//!
//! Invariant: a list ascends by source, with as many entries as there are edges; it belongs to the version it was made
//! of, which a draft is not yet.

use std::sync::OnceLock;

use evergraph_types::{Direction, EdgeTypeId, VertexId};

use crate::lists::neighbors::Neighbors;
use crate::lists::paged_array::LEAF_CELLS;
use crate::versions::flat_table::FlatTable;
use crate::versions::scan::Run;
use crate::versions::version::Version;

/// The turned lists of one edge type.
#[derive(Debug)]
struct Turned {
    offsets: Vec<u64>,
    sources: Vec<VertexId>,
}

/// The turned lists of a version, by edge type, where they were asked for.
#[derive(Debug, Default)]
pub(crate) struct TurnedLists(OnceLock<Box<[OnceLock<Turned>]>>);

impl TurnedLists {
    /// The bytes of those that were asked for.
    pub(crate) fn bytes(&self) -> usize {
        let made = self.0.get().into_iter().flat_map(|all| all.iter().filter_map(OnceLock::get));
        made.map(|turned| size_of_val(&*turned.offsets) + size_of_val(&*turned.sources)).sum()
    }
}

impl Turned {
    fn new(version: &Version, edge_type: EdgeTypeId) -> Self {
        let ids = version.id_bound() as usize;
        let mut offsets = vec![0u64; ids + 1];
        for_each_out_list(version, edge_type, &mut |_, neighbors| {
            neighbors
                .for_each_slice(|slice| slice.iter().for_each(|&neighbor| offsets[neighbor as usize] += 1));
        });
        let mut total = 0;
        for offset in &mut offsets {
            total += std::mem::replace(offset, total);
        }
        let mut next = offsets.clone();
        let mut sources = vec![0; total as usize];
        for_each_out_list(version, edge_type, &mut |source, neighbors| {
            neighbors.for_each_slice(|slice| {
                for &neighbor in slice {
                    let place = &mut next[neighbor as usize];
                    sources[*place as usize] = source;
                    *place += 1;
                }
            });
        });
        Turned { offsets, sources }
    }

    fn of_vertex(&self, vertex: VertexId) -> &[VertexId] {
        match self.offsets.get(vertex as usize..vertex as usize + 2) {
            Some(&[start, end]) => &self.sources[start as usize..end as usize],
            _ => &[],
        }
    }
}

/// Calls `visit` with every out list of a type that has neighbors.
pub(crate) fn for_each_out_list(
    version: &Version,
    edge_type: EdgeTypeId,
    visit: &mut dyn FnMut(VertexId, Neighbors<'_>),
) {
    let Some(lists) = version.adjacency(edge_type, Direction::Out) else { return };
    lists.table.for_each_leaf(&mut |base, leaf| {
        let entries = (base..=base + (LEAF_CELLS - 1)).map(|vertex| (vertex, leaf.get(vertex)));
        for (vertex, entry) in entries.filter(|(_, entry)| entry.is_some()) {
            visit(vertex, version.neighbors_of(entry));
        }
    });
}

impl Version {
    /// Whether lists of the type are kept in the direction.
    pub(crate) fn keeps_lists(&self, edge_type: EdgeTypeId, direction: Direction) -> bool {
        let kind = self.schema.edge_types.get(usize::from(edge_type));
        direction == Direction::Out || kind.is_none_or(|kind| kind.options.reverse || kind.options.symmetric)
    }

    fn turned(&self, edge_type: EdgeTypeId) -> Option<&Turned> {
        let types = self.schema.edge_types.len();
        let all = self.turned.0.get_or_init(|| (0..types).map(|_| OnceLock::new()).collect());
        all.get(usize::from(edge_type)).map(|lists| lists.get_or_init(|| Turned::new(self, edge_type)))
    }

    /// The sources of the edges of a type that keeps no in lists.
    pub(crate) fn turned_neighbors(&self, edge_type: EdgeTypeId, vertex: VertexId) -> Neighbors<'_> {
        Neighbors::from_slice(self.turned(edge_type).map_or(&[], |turned| turned.of_vertex(vertex)))
    }

    /// Calls `visit` with each edge to a vertex, as a run of one row, in the order of its turned list.
    pub(crate) fn for_each_turned_run(
        &self,
        edge_type: EdgeTypeId,
        vertex: VertexId,
        visit: &mut dyn FnMut(Run<'_>),
    ) {
        let sources = self.turned(edge_type).map_or(&[][..], |turned| turned.of_vertex(vertex));
        for parallel in sources.chunk_by(|left, right| left == right) {
            let mut next = parallel.chunks(1);
            self.for_each_edge_between(edge_type, parallel[0], vertex, |run, row| {
                if let Some(source) = next.next() {
                    visit(run.row(source, row));
                }
            });
        }
    }

    /// The turned lists laid out for whole-graph work.
    pub(crate) fn flatten_turned(&self, edge_type: EdgeTypeId) -> Option<FlatTable> {
        self.turned(edge_type).map(|turned| FlatTable::from_csr(&turned.offsets, turned.sources.clone()))
    }
}
