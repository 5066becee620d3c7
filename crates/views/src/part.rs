//! A view evaluated on one snapshot: the vertices and the edges it has there.
//!
//! Invariant: its vertices exist in the snapshot.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_store::Run;
use evergraph_types::{Column, Direction, EdgeTypeId, Schema, VertexId};
use evergraph_view::{Confinement, EdgeRule, GraphView, Snapshot, VertexBits};
use rayon::prelude::*;
use roaring::{RoaringBitmap, RoaringTreemap};

use crate::bind::{bind_edges, bind_vertices};
use crate::definition::{Definition, EdgeSelection, VertexSelection, pair};
use crate::error::EvaluateError;
use crate::evaluate::{EdgesWhere, vertices_where};

/// A part of one version of the graph: what a view is there, or what set operations made of views.
#[derive(Clone, Debug)]
pub struct Part {
    /// Not confined.
    pub(crate) whole: Snapshot,
    pub(crate) vertices: Arc<RoaringBitmap>,
    /// `None` where it has every edge between its vertices.
    pub(crate) rule: Option<Arc<dyn EdgeRule>>,
    /// How deep the rule is nested.
    pub(crate) depth: usize,
}

impl Part {
    /// These vertices of a snapshot, as far as they exist, with every edge between them.
    pub fn induced(whole: &Snapshot, vertices: RoaringBitmap) -> Self {
        let vertices = existing(whole, vertices);
        Part { whole: whole.clone(), vertices: Arc::new(vertices), rule: None, depth: 0 }
    }

    /// What a definition says of a snapshot.
    pub(crate) fn of(definition: &Definition, whole: &Snapshot) -> Result<Self, EvaluateError> {
        let schema = whole.schema();
        let version = whole.store_version();
        let mut vertices = match &definition.vertices {
            None => RoaringBitmap::new(),
            Some(VertexSelection::Members(members)) => existing(whole, members.clone()),
            Some(VertexSelection::Where(predicate)) => {
                vertices_where(&bind_vertices(predicate, schema)?, version, schema)
            }
        };
        let rule: Option<Arc<dyn EdgeRule>> = match &definition.edges {
            None => None,
            Some(EdgeSelection::Where(predicate)) => {
                let tests = bind_edges(predicate, schema)?;
                let empty = schema.edge_types.iter().map(|kind| {
                    kind.options.properties.iter().map(|property| Column::new(property.kind)).collect()
                });
                let rule = EdgesWhere { tests: tests.into_iter().zip(empty).collect() };
                if definition.vertices.is_none() {
                    vertices = ends_of(whole, &rule);
                }
                Some(Arc::new(rule))
            }
            Some(EdgeSelection::Members(members)) => {
                for (&edge_type, pairs) in members {
                    let present = pairs
                        .iter()
                        .map(|pair| ((pair >> 32) as VertexId, pair as VertexId))
                        .filter(|&(src, dst)| version.has_edge(edge_type, src, dst));
                    present.for_each(|(src, dst)| vertices.extend([src, dst]));
                }
                Some(Arc::new(EdgesListed { members: members.clone(), symmetric: symmetric(schema) }))
            }
        };
        Ok(Part { whole: whole.clone(), vertices: Arc::new(vertices), rule, depth: 1 })
    }

    /// The snapshot, confined to the part: algorithms and queries on it know nothing else.
    pub fn snapshot(&self) -> Snapshot {
        let bits = Arc::new(VertexBits::new(self.vertices.iter()));
        self.whole.confined(Confinement::new(bits, self.rule.clone()))
    }

    /// The snapshot it is a part of.
    pub fn whole(&self) -> &Snapshot {
        &self.whole
    }

    /// The ids of its vertices.
    pub fn vertices(&self) -> &RoaringBitmap {
        &self.vertices
    }

    /// Whether it has every edge between its vertices.
    pub fn is_induced(&self) -> bool {
        self.rule.is_none()
    }

    /// The part and all vertices up to `hops` edges away from it in the snapshot, over edges of any type in the directions
    /// given, with every edge between them.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_types::Direction;
    /// # use evergraph_view::{GraphView, Snapshot};
    /// # use evergraph_views::Part;
    /// let store = Store::in_memory(Options::default());
    /// (1..5).try_for_each(|key| store.put_edge(key, key + 1, "road", &[]).map(drop))?;
    /// let all = Snapshot::new(store.version()?);
    /// let middle = Part::induced(&all, all.vertex_id(3).into_iter().collect());
    /// assert_eq!(middle.expand(1, &[Direction::Out, Direction::In]).snapshot().num_vertices(), 3);
    /// assert_eq!(middle.expand(9, &[Direction::Out]).snapshot().num_vertices(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expand(&self, hops: usize, directions: &[Direction]) -> Part {
        let mut members = (*self.vertices).clone();
        let mut frontier: Vec<VertexId> = members.iter().collect();
        for _ in 0..hops {
            let mut next = Vec::new();
            for &vertex in &frontier {
                for &direction in directions {
                    self.whole.for_each_slice(direction, vertex, &mut |slice| {
                        next.extend(slice.iter().filter(|&&neighbor| members.insert(neighbor)));
                        ControlFlow::Continue(())
                    });
                }
            }
            if next.is_empty() {
                break;
            }
            frontier = next;
        }
        Part { whole: self.whole.clone(), vertices: Arc::new(members), rule: None, depth: 0 }
    }
}

/// Of these ids those that are vertices.
fn existing(whole: &Snapshot, mut ids: RoaringBitmap) -> RoaringBitmap {
    if whole.num_vertices() < u64::from(whole.id_bound()) {
        ids = RoaringBitmap::from_iter(ids.iter().filter(|&id| whole.has_vertex(id)));
    }
    ids.remove_range(whole.id_bound()..);
    ids
}

/// The ends of all edges that a rule keeps.
fn ends_of(whole: &Snapshot, rule: &EdgesWhere) -> RoaringBitmap {
    const IDS_PER_TASK: u32 = 1 << 12;
    let bound = whole.id_bound();
    let version = whole.store_version();
    let edge_types = 0..whole.schema().edge_types.len() as EdgeTypeId;
    let ends = |start: VertexId| {
        let mut ends = Vec::new();
        for vertex in start..bound.min(start.saturating_add(IDS_PER_TASK)) {
            for edge_type in edge_types.clone() {
                version.for_each_run(edge_type, Direction::Out, vertex, |run| {
                    let mut rows: Vec<usize> = (0..run.neighbors().len()).collect();
                    rule.retain(edge_type, Direction::Out, vertex, run, &mut rows);
                    ends.extend((!rows.is_empty()).then_some(vertex));
                    ends.extend(rows.iter().map(|&row| run.neighbors()[row]));
                });
            }
        }
        RoaringBitmap::from_iter(ends)
    };
    let parts = (0..bound).into_par_iter().step_by(IDS_PER_TASK as usize).map(ends);
    parts.reduce(RoaringBitmap::new, |left, right| left | right)
}

fn symmetric(schema: &Schema) -> Vec<bool> {
    schema.edge_types.iter().map(|kind| kind.options.symmetric).collect()
}

/// Keeps the edges between the ends listed.
#[derive(Debug)]
struct EdgesListed {
    members: BTreeMap<EdgeTypeId, RoaringTreemap>,
    symmetric: Vec<bool>,
}

impl EdgeRule for EdgesListed {
    fn retain(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        vertex: VertexId,
        run: Run<'_>,
        rows: &mut Vec<usize>,
    ) {
        let Some(members) = self.members.get(&edge_type) else { return rows.clear() };
        let symmetric = self.symmetric.get(usize::from(edge_type)).is_some_and(|symmetric| *symmetric);
        rows.retain(|&row| {
            let neighbor = run.neighbors()[row];
            let (src, dst) = match direction {
                Direction::Out => (vertex, neighbor),
                Direction::In => (neighbor, vertex),
            };
            members.contains(pair(symmetric, src, dst))
        });
    }
}
