//! A version seen through some of its edge types, by id: what a snapshot answers by key.
//!
//! Invariant: `edge_types` holds ids of the version's schema, each once.

use std::sync::Arc;

use evergraph_store::{FlatTable, Version};
use evergraph_types::{Direction, EdgeType, EdgeTypeId, VertexId};
use rayon::prelude::*;

use crate::FlatView;
use crate::flat::Counts;
use crate::gather::gather;

/// Edge types of a version.
#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) version: Arc<Version>,
    pub(crate) edge_types: Vec<EdgeTypeId>,
}

impl Selection {
    /// The selected edge types with their ids.
    pub(crate) fn edge_types(&self) -> impl Iterator<Item = (EdgeTypeId, &EdgeType)> {
        let all = &self.version.schema().edge_types;
        self.edge_types.iter().filter_map(|&id| Some((id, all.get(usize::from(id))?)))
    }

    /// Of the selected edge types the one of this name, or all.
    pub(crate) fn named(&self, name: Option<&str>) -> Vec<EdgeTypeId> {
        let wanted = |kind: &EdgeType| name.is_none_or(|name| kind.name == name);
        self.edge_types().filter(|(_, kind)| wanted(kind)).map(|(id, _)| id).collect()
    }

    /// Whether every edge holds in both directions. A graph without edge types is a directed one.
    pub(crate) fn is_symmetric(&self) -> bool {
        !self.edge_types.is_empty() && self.edge_types().all(|(_, kind)| kind.options.symmetric)
    }

    pub(crate) fn num_edges(&self) -> u64 {
        self.edge_types.iter().map(|&edge_type| self.version.num_edges(edge_type)).sum()
    }

    pub(crate) fn degree(&self, direction: Direction, vertex: VertexId) -> usize {
        self.edge_types
            .iter()
            .map(|&edge_type| self.version.neighbors(edge_type, direction, vertex).len())
            .sum()
    }

    /// The flat view: the lists of the version as they lie in memory if one edge type is selected, else merged
    /// lists in arrays of their own.
    pub(crate) fn flatten(&self) -> FlatView {
        let directed = !self.is_symmetric();
        let both = |table: &(dyn Fn(Direction) -> (FlatTable, bool) + Sync)| {
            rayon::join(|| table(Direction::Out), || directed.then(|| table(Direction::In)))
        };
        let ((out, out_sorted), reverse) = match self.edge_types[..] {
            [edge_type] => {
                let simple = self.edge_types().all(|(_, kind)| !kind.options.multi);
                both(&|direction| (self.version.flatten(edge_type, direction), simple))
            }
            _ => both(&|direction| self.union(direction)),
        };
        let sorted = out_sorted && reverse.as_ref().is_none_or(|(_, sorted)| *sorted);
        let counts = Counts {
            num_vertices: self.version.num_vertices(),
            num_edges: self.num_edges(),
            num_entries: self.edge_types.iter().map(|&edge_type| self.version.num_entries(edge_type)).sum(),
        };
        let reverse = reverse.map(|(reverse, _)| reverse);
        FlatView::with_counts(out, reverse, self.version.gaps(), sorted, counts)
    }

    /// The lists of all selected types as one, ascending, with parallel edges kept; whether all ascend strictly.
    fn union(&self, direction: Direction) -> (FlatTable, bool) {
        let ids = self.version.id_bound() as usize;
        let lists = gather(
            ids,
            |vertex| self.degree(direction, vertex as VertexId),
            |vertex, list| self.merge(direction, vertex as VertexId, list),
        );
        let sorted = lists.offsets.par_windows(2).with_min_len(1 << 12).all(|bounds| {
            lists.values[bounds[0] as usize..bounds[1] as usize].is_sorted_by(|left, right| left < right)
        });
        (FlatTable::from_csr(&lists.offsets, lists.values), sorted)
    }

    fn merge(&self, direction: Direction, vertex: VertexId, list: &mut [VertexId]) {
        let mut at = 0;
        for &edge_type in &self.edge_types {
            for slice in self.version.neighbors(edge_type, direction, vertex).slices() {
                list[at..at + slice.len()].copy_from_slice(slice);
                at += slice.len();
            }
        }
        // Runs that ascend already are found and merged.
        list.sort();
    }
}
