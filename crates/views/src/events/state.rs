//! The graph as it is at one place of the log: a version, and over it what later commits changed.
//!
//! ```text
//!  base: version 40  +  over it: commits 41, 42, 43 as far as they touched something   =   the state after commit 43
//!  as soon as the newest version is that of the place, it becomes the base and nothing is over it
//! ```
//!
//! So a place that keeps up with commits costs nothing, and one that lags costs what was touched on the way, each vertex
//! and edge once.
//!
//! Invariant: what is asked is answered as the version of `position` would.

use std::sync::Arc;

use evergraph_store::{Commit, EdgeOps, Version, VertexPut};
use evergraph_types::{EdgeTypeId, PropertyId, Schema, Sequence, Value, VertexId, VertexTypeId};
use hashbrown::HashMap;

use super::change::{Changes, EdgeChange, VertexChange};

/// A vertex as later commits left it.
#[derive(Clone, Debug, Default)]
struct VertexOver {
    exists: bool,
    /// Whether the base says nothing of it any more.
    hides_base: bool,
    label: Option<VertexTypeId>,
    properties: Vec<(PropertyId, Value)>,
}

/// The edges between two ends as later commits left them.
#[derive(Clone, Debug, Default)]
struct EdgesOver {
    hides_base: bool,
    /// The property values of each edge over those of the base.
    edges: Vec<Vec<Value>>,
}

/// The state at one place of the log.
#[derive(Clone, Debug)]
pub(crate) struct State {
    base: Arc<Version>,
    /// A version that tells the keys of every commit applied.
    pub(crate) names: Arc<Version>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) position: Sequence,
    pub(crate) time_micros: i64,
    vertices: HashMap<VertexId, VertexOver>,
    edges: HashMap<(EdgeTypeId, VertexId, VertexId), EdgesOver>,
}

impl State {
    pub(crate) fn new(base: Arc<Version>) -> Self {
        State {
            schema: base.schema().clone(),
            position: base.sequence(),
            time_micros: base.time_micros(),
            names: base.clone(),
            base,
            vertices: HashMap::new(),
            edges: HashMap::new(),
        }
    }

    /// Takes a version as the base, if it is that of the place.
    pub(crate) fn rebase(&mut self, version: &Arc<Version>) {
        if version.sequence() == self.position && !Arc::ptr_eq(version, &self.base) {
            self.base = version.clone();
            self.schema = version.schema().clone();
            (self.vertices, self.edges) = (HashMap::new(), HashMap::new());
        }
    }

    /// The version below, and whether nothing is over it.
    pub(crate) fn base(&self) -> (&Arc<Version>, bool) {
        (
            &self.base,
            self.vertices.is_empty() && self.edges.is_empty() && self.base.sequence() == self.position,
        )
    }

    /// The vertices that something is over.
    pub(crate) fn touched(&self) -> impl Iterator<Item = VertexId> + '_ {
        self.vertices.keys().copied()
    }

    /// Whether there is an edge between two ends.
    pub(crate) fn has_edge(&self, edge_type: EdgeTypeId, src: VertexId, dst: VertexId) -> bool {
        let Some(kind) = self.schema.edge_types.get(usize::from(edge_type)) else { return false };
        let key = key(kind.options.symmetric, edge_type, src, dst);
        !kind.is_dropped()
            && match self.edges.get(&key) {
                Some(over) if over.hides_base || !over.edges.is_empty() => !over.edges.is_empty(),
                _ => self.base.has_edge(edge_type, key.1, key.2),
            }
    }

    pub(crate) fn exists(&self, vertex: VertexId) -> bool {
        match self.vertices.get(&vertex) {
            Some(over) => over.exists,
            None => self.base.has_vertex(vertex),
        }
    }

    /// The type of a vertex, 0 for none. One that was dropped is none.
    pub(crate) fn label(&self, vertex: VertexId) -> VertexTypeId {
        let over = self.vertices.get(&vertex);
        let label = match over.and_then(|over| over.label) {
            Some(label) => label,
            None if over.is_some_and(|over| over.hides_base) => 0,
            None => self.base.vertex_type(vertex).unwrap_or(0),
        };
        if self.schema.vertex_type_name(label).is_some() { label } else { 0 }
    }

    pub(crate) fn property(&self, vertex: VertexId, property: PropertyId) -> Value {
        let over = self.vertices.get(&vertex);
        if let Some((_, value)) =
            over.into_iter().flat_map(|over| &over.properties).find(|(id, _)| *id == property)
        {
            return value.clone();
        }
        let hidden = over.is_some_and(|over| over.hides_base);
        if hidden { Value::Null } else { self.base.vertex_property(vertex, property) }
    }

    /// Goes on to the next commit.
    pub(crate) fn apply(&mut self, commit: &Commit) -> Changes {
        if let Some(schema) = &commit.writes.schema {
            self.schema = Arc::new(schema.clone());
        }
        let mut touched = Touched::default();
        let mut edges = Vec::new();
        for (edge_type, ops) in &commit.writes.edges {
            // A vertex that goes takes its edges along; they are named as deletes, and looked up while it is there.
            self.delete_edges(*edge_type, ops, &mut edges);
        }
        for &vertex in &commit.writes.vertex_deletes {
            // It may be put again by the same commit, without what it had.
            let properties = 0..self.schema.vertex_properties.len() as PropertyId;
            let had = properties.map(|property| (property, self.property(vertex, property)));
            let before = touched.note(vertex, self.exists(vertex));
            before.typed = true;
            had.for_each(|(property, old)| before.note_property(property, old));
            let gone = VertexOver { hides_base: true, ..VertexOver::default() };
            self.vertices.insert(vertex, gone);
        }
        for put in &commit.writes.vertex_puts {
            self.put_vertex(put, &mut touched);
        }
        for (edge_type, ops) in &commit.writes.edges {
            self.put_edges(*edge_type, ops, &mut touched, &mut edges);
        }
        self.position = commit.sequence;
        self.time_micros = commit.time_micros;
        Changes { vertices: touched.changes(self), edges }
    }

    /// Notes how a vertex was, and puts something over it to be changed.
    fn touch(&mut self, vertex: VertexId, touched: &mut Touched) -> &mut VertexOver {
        let existed = self.exists(vertex);
        touched.note(vertex, existed);
        self.vertices.entry(vertex).or_insert_with(|| VertexOver { exists: existed, ..VertexOver::default() })
    }

    fn put_vertex(&mut self, put: &VertexPut, touched: &mut Touched) {
        for (property, _) in &put.properties {
            let old = self.property(put.vertex, *property);
            let existed = self.exists(put.vertex);
            touched.note(put.vertex, existed).note_property(*property, old);
        }
        let over = self.touch(put.vertex, touched);
        over.exists = true;
        over.label = put.label.or(over.label);
        for (property, value) in &put.properties {
            match over.properties.iter_mut().find(|(id, _)| id == property) {
                Some((_, old)) => *old = value.clone(),
                None => over.properties.push((*property, value.clone())),
            }
        }
        if put.label.is_some() {
            touched.note(put.vertex, true).typed = true;
        }
    }

    fn kind(&self, edge_type: EdgeTypeId) -> (bool, bool, usize) {
        let kind = self.schema.edge_types.get(usize::from(edge_type)).map(|kind| &kind.options);
        kind.map_or((false, false, 0), |kind| (kind.multi, kind.symmetric, kind.properties.len()))
    }

    /// The property values of each edge of the base between two ends.
    fn base_edges(
        &self,
        edge_type: EdgeTypeId,
        src: VertexId,
        dst: VertexId,
        properties: usize,
    ) -> Vec<Vec<Value>> {
        let mut found = Vec::new();
        self.base.for_each_edge_between(edge_type, src, dst, |run, row| {
            found.push((0..properties as PropertyId).map(|property| run.value(property, row)).collect());
        });
        found
    }

    fn delete_edges(&mut self, edge_type: EdgeTypeId, ops: &EdgeOps, changes: &mut Vec<EdgeChange>) {
        let (_, symmetric, properties) = self.kind(edge_type);
        for row in (0..ops.len()).filter(|&row| ops.is_delete(row)) {
            let (src, dst) = (ops.src[row], ops.dst[row]);
            let key = key(symmetric, edge_type, src, dst);
            let over = self.edges.get(&key);
            let mut gone = match over {
                Some(over) if over.hides_base => Vec::new(),
                _ => self.base_edges(edge_type, key.1, key.2, properties),
            };
            gone.extend(over.into_iter().flat_map(|over| over.edges.iter().cloned()));
            changes.extend(gone.into_iter().map(|before| EdgeChange {
                edge_type,
                src,
                dst,
                before: Some(before),
                after: None,
            }));
            self.edges.insert(key, EdgesOver { hides_base: true, edges: Vec::new() });
        }
    }

    fn put_edges(
        &mut self,
        edge_type: EdgeTypeId,
        ops: &EdgeOps,
        touched: &mut Touched,
        changes: &mut Vec<EdgeChange>,
    ) {
        let (multi, symmetric, properties) = self.kind(edge_type);
        for row in (0..ops.len()).filter(|&row| !ops.is_delete(row)) {
            let (src, dst) = (ops.src[row], ops.dst[row]);
            for end in [src, dst] {
                if !self.exists(end) {
                    self.touch(end, touched).exists = true;
                }
            }
            let key = key(symmetric, edge_type, src, dst);
            let before = if multi { None } else { self.simple_edge(key, properties) };
            let mut after = before.clone().unwrap_or_else(|| vec![Value::Null; properties]);
            after.resize(properties, Value::Null);
            for column in ops.columns.iter().filter(|column| column.is_given(row)) {
                if let Some(value) = after.get_mut(usize::from(column.property)) {
                    *value = column.values.get(row);
                }
            }
            let over = self.edges.entry(key).or_default();
            if !multi {
                *over = EdgesOver { hides_base: true, edges: Vec::new() };
            }
            over.edges.push(after.clone());
            changes.push(EdgeChange { edge_type, src, dst, before, after: Some(after) });
        }
    }

    fn simple_edge(&self, key: (EdgeTypeId, VertexId, VertexId), properties: usize) -> Option<Vec<Value>> {
        match self.edges.get(&key) {
            Some(over) => over.edges.first().cloned(),
            None => self.base_edges(key.0, key.1, key.2, properties).into_iter().next(),
        }
    }
}

fn key(
    symmetric: bool,
    edge_type: EdgeTypeId,
    src: VertexId,
    dst: VertexId,
) -> (EdgeTypeId, VertexId, VertexId) {
    if symmetric && dst < src { (edge_type, dst, src) } else { (edge_type, src, dst) }
}

/// How the vertices that a commit touches were before it.
#[derive(Default)]
struct Touched {
    order: Vec<(VertexId, Before)>,
    places: HashMap<VertexId, usize>,
}

struct Before {
    existed: bool,
    typed: bool,
    properties: Vec<(PropertyId, Value)>,
}

impl Before {
    fn note_property(&mut self, property: PropertyId, old: Value) {
        if !self.properties.iter().any(|(id, _)| *id == property) {
            self.properties.push((property, old));
        }
    }
}

impl Touched {
    fn note(&mut self, vertex: VertexId, existed: bool) -> &mut Before {
        let place = *self.places.entry(vertex).or_insert_with(|| {
            self.order.push((vertex, Before { existed, typed: false, properties: Vec::new() }));
            self.order.len() - 1
        });
        &mut self.order[place].1
    }

    fn changes(self, state: &State) -> Vec<VertexChange> {
        let change = |(vertex, before): (VertexId, Before)| {
            let exists = state.exists(vertex);
            let now = |(property, old): (PropertyId, Value)| {
                let new = state.property(vertex, property);
                (old != new).then_some((property, old, new))
            };
            let properties =
                if exists { before.properties.into_iter().filter_map(now).collect() } else { Vec::new() };
            VertexChange { vertex, existed: before.existed, exists, typed: before.typed, properties }
        };
        self.order.into_iter().map(change).collect()
    }
}
