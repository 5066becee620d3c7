//! A version seen through some of its edge types and confined to a part of it, by id: what a snapshot answers by key.
//!
//! Invariant: `edge_types` holds ids of the version's schema, each once.

use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_store::{FlatTable, Run, Version};
use evergraph_types::{Direction, EdgeType, EdgeTypeId, KeyRef, VertexId};
use rayon::prelude::*;

use crate::FlatView;
use crate::confinement::Confinement;
use crate::flat::Counts;
use crate::gather::gather;

/// Vertices that one task counts the edges of.
const VERTICES_PER_TASK: VertexId = 1 << 12;

/// Edge types of a version, and the part of it that is shown.
#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) version: Arc<Version>,
    pub(crate) edge_types: Vec<EdgeTypeId>,
    /// `None` for all of it.
    pub(crate) confinement: Option<Confinement>,
}

impl Selection {
    /// The selected edge types with their ids.
    pub(crate) fn edge_types(&self) -> impl Iterator<Item = (EdgeTypeId, &EdgeType)> {
        let all = &self.version.schema().edge_types;
        self.edge_types.iter().filter_map(|&id| Some((id, all.get(usize::from(id))?)))
    }

    /// Of the selected edge types the one of this name, or all.
    pub(crate) fn named<'a>(&'a self, name: Option<&'a str>) -> impl Iterator<Item = EdgeTypeId> + 'a {
        let wanted = move |kind: &EdgeType| name.is_none_or(|name| kind.name == name);
        self.edge_types().filter(move |(_, kind)| wanted(kind)).map(|(id, _)| id)
    }

    /// Whether every edge holds in both directions. A graph without edge types is a directed one.
    pub(crate) fn is_symmetric(&self) -> bool {
        !self.edge_types.is_empty() && self.edge_types().all(|(_, kind)| kind.options.symmetric)
    }

    pub(crate) fn num_edges(&self) -> u64 {
        match &self.confinement {
            None => self.edge_types.iter().map(|&edge_type| self.version.num_edges(edge_type)).sum(),
            Some(confinement) => {
                if let Some(&count) = confinement.num_edges.get() {
                    return count;
                }
                // Not inside `get_or_init`: a worker that waits may run a task that asks too.
                let count = self.count_edges(confinement);
                *confinement.num_edges.get_or_init(|| count)
            }
        }
    }

    fn count_edges(&self, confinement: &Confinement) -> u64 {
        let of_vertex = |vertex: VertexId| -> u64 {
            let of_type = |(edge_type, kind): (EdgeTypeId, &EdgeType)| {
                let mut count = 0;
                confinement.for_each_run(&self.version, edge_type, Direction::Out, vertex, |run, rows| {
                    let neighbors = run.neighbors();
                    let counts = |row: &&usize| !kind.options.symmetric || neighbors[**row] >= vertex;
                    count += rows.iter().filter(counts).count() as u64;
                });
                count
            };
            self.edge_types().map(of_type).sum()
        };
        let starts = (0..self.version.id_bound()).into_par_iter().step_by(VERTICES_PER_TASK as usize);
        starts
            .map(|start| {
                let range = start..start.saturating_add(VERTICES_PER_TASK);
                confinement.vertices().range(range).map(of_vertex).sum::<u64>()
            })
            .sum()
    }

    pub(crate) fn num_vertices(&self) -> u64 {
        let all = || self.version.num_vertices();
        self.confinement.as_ref().map_or_else(all, |confinement| confinement.vertices().len())
    }

    pub(crate) fn has_vertex(&self, vertex: VertexId) -> bool {
        match &self.confinement {
            None => self.version.has_vertex(vertex),
            Some(confinement) => confinement.vertices().contains(vertex),
        }
    }

    /// The id of a key, for whoever looks for its edges next: it may be of no vertex, which then has none.
    pub(crate) fn id_with_edges(&self, key: KeyRef<'_>) -> Option<VertexId> {
        let id = self.version.id_with_edges(key)?;
        (self.confinement.is_none() || self.has_vertex(id)).then_some(id)
    }

    /// The ids of all vertices, ascending.
    pub(crate) fn vertex_ids(&self) -> Vec<VertexId> {
        match &self.confinement {
            None => self.version.vertex_ids(),
            Some(confinement) => confinement.vertices().iter().collect(),
        }
    }

    pub(crate) fn degree(&self, direction: Direction, vertex: VertexId) -> usize {
        self.degree_over(&self.edge_types, direction, vertex)
    }

    /// The length of the lists of a vertex over some of the selected edge types.
    pub(crate) fn degree_over(
        &self,
        edge_types: &[EdgeTypeId],
        direction: Direction,
        vertex: VertexId,
    ) -> usize {
        let of_type = |&edge_type: &EdgeTypeId| match &self.confinement {
            None => self.version.degree(edge_type, direction, vertex),
            Some(confinement) => {
                let mut len = 0;
                let count = |_: Run<'_>, rows: &[usize]| len += rows.len();
                confinement.for_each_run(&self.version, edge_type, direction, vertex, count);
                len
            }
        };
        edge_types.iter().map(of_type).sum()
    }

    /// Calls `visit` with each run of a vertex's list and the rows of it that are shown, `None` for all.
    pub(crate) fn for_each_run(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        vertex: VertexId,
        mut visit: impl FnMut(Run<'_>, Option<&[usize]>),
    ) {
        match &self.confinement {
            None => self.version.for_each_run(edge_type, direction, vertex, |run| visit(run, None)),
            Some(confinement) => {
                let visit = |run: Run<'_>, rows: &[usize]| visit(run, Some(rows));
                confinement.for_each_run(&self.version, edge_type, direction, vertex, visit);
            }
        }
    }

    /// Calls `visit` with the neighbors of a vertex over one edge type, piece by piece, until it breaks.
    pub(crate) fn for_each_slice(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        vertex: VertexId,
        visit: &mut dyn FnMut(&[VertexId]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.confinement.is_none() {
            let list = self.version.neighbors(edge_type, direction, vertex);
            return if list.is_empty() { ControlFlow::Continue(()) } else { list.try_for_each_slice(visit) };
        }
        let (mut flow, mut shown) = (ControlFlow::Continue(()), Vec::new());
        self.for_each_run(edge_type, direction, vertex, |run, rows| {
            let neighbors = run.neighbors();
            shown.clear();
            shown.extend(rows.into_iter().flatten().map(|&row| neighbors[row]));
            if flow.is_continue() && !shown.is_empty() {
                flow = visit(&shown);
            }
        });
        flow
    }

    /// Whether there is an edge that is shown from `src` to `dst`.
    pub(crate) fn has_edge(&self, edge_type: EdgeTypeId, src: VertexId, dst: VertexId) -> bool {
        if self.confinement.is_none() {
            return self.version.has_edge(edge_type, src, dst);
        }
        let mut found = false;
        self.for_each_edge_between(edge_type, src, dst, |_, _| found = true);
        found
    }

    /// Calls `visit` with each edge that is shown from `src` to `dst`, as a run and a row of it, in list order.
    pub(crate) fn for_each_edge_between(
        &self,
        edge_type: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
        mut visit: impl FnMut(Run<'_>, usize),
    ) {
        if self.confinement.is_none() {
            return self.version.for_each_edge_between(edge_type, src, dst, visit);
        }
        self.for_each_run(edge_type, Direction::Out, src, |run, rows| {
            let between = rows.into_iter().flatten().filter(|&&row| run.neighbors()[row] == dst);
            between.for_each(|&row| visit(run, row));
        });
    }

    /// The flat view: the lists of the version as they lie in memory if one edge type is selected, else merged
    /// lists in arrays of their own.
    pub(crate) fn flatten(&self) -> FlatView {
        let directed = !self.is_symmetric();
        let both = |table: &(dyn Fn(Direction) -> (FlatTable, bool) + Sync)| {
            rayon::join(|| table(Direction::Out), || directed.then(|| table(Direction::In)))
        };
        let ((out, out_sorted), reverse) = match self.edge_types[..] {
            [edge_type] if self.confinement.is_none() => {
                let simple = self.edge_types().all(|(_, kind)| !kind.options.multi);
                both(&|direction| (self.version.flatten(edge_type, direction), simple))
            }
            _ => both(&|direction| self.union(direction)),
        };
        let sorted = out_sorted && reverse.as_ref().is_none_or(|(_, sorted)| *sorted);
        let gaps = match &self.confinement {
            None => self.version.gaps(),
            Some(confinement) => {
                let ids = 0..self.version.id_bound();
                Some(ids.map(|id| confinement.vertices().contains(id)).collect())
            }
        };
        let all_entries =
            || self.edge_types.iter().map(|&edge_type| self.version.num_entries(edge_type)).sum();
        let shown_entries = |_| out.degrees(0..out.len() as VertexId).map(|degree| degree as u64).sum();
        let counts = Counts {
            num_vertices: self.num_vertices(),
            num_edges: self.num_edges(),
            num_entries: self.confinement.as_ref().map_or_else(all_entries, shown_entries),
        };
        let reverse = reverse.map(|(reverse, _)| reverse);
        FlatView::with_counts(out, reverse, gaps, sorted, counts)
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
            let _ = self.for_each_slice(edge_type, direction, vertex, &mut |slice| {
                list[at..at + slice.len()].copy_from_slice(slice);
                at += slice.len();
                ControlFlow::Continue(())
            });
        }
        if self.edge_types.len() > 1 {
            // Runs that ascend already are found and merged.
            list.sort();
        }
    }
}
