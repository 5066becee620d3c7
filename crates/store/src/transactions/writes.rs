//! What a transaction wants changed, in handles, as it is gathered and as the committer gets it.
//!
//! Invariant: an edge operation that a later one of the same transaction made void is `dead` and has no effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use evergraph_types::{
    Direction, EdgeTypeId, Key, PropertyId, Schema, Sequence, Value, VertexId, VertexTypeId,
};
use hashbrown::HashMap;

use crate::commits::commit::PREFETCHED_ROWS;
use crate::keys::dictionary::Dictionary;
use crate::versions::version::Version;

/// A vertex inside a transaction: the id of a key the dictionary knows, or `NEW | position` among the new keys.
pub(crate) type Handle = u64;
pub(crate) const NEW: Handle = 1 << 40;

/// The properties a put gives, by id.
pub(crate) type Properties = Vec<(PropertyId, Value)>;

/// What a transaction does to one vertex.
#[derive(Clone, Debug, Default)]
pub(crate) struct VertexWrite {
    /// Delete what was there, with its edges, before the put.
    pub(crate) delete: bool,
    /// The type and properties put, if any.
    pub(crate) put: Option<(Option<VertexTypeId>, Properties)>,
}

/// One edge operation.
#[derive(Clone, Debug)]
pub(crate) struct EdgeWrite {
    pub(crate) src: Handle,
    pub(crate) dst: Handle,
    pub(crate) delete: bool,
    pub(crate) properties: Properties,
    pub(crate) dead: bool,
}

/// The operations on edges of one type. Those of the first that are looked through one by one have no entry in the index
/// by either end.
#[derive(Clone, Debug, Default)]
pub(crate) struct EdgeWrites {
    pub(crate) writes: Vec<EdgeWrite>,
    by_vertex: HashMap<Handle, Vec<usize>>,
}

/// So many operations of a transaction are found without an index, which most transactions are too short for.
const UNINDEXED: usize = 8;

/// Everything a transaction wants changed.
#[derive(Clone, Debug)]
pub(crate) struct Writes {
    /// The version the writes were made over; `None` for writes that conflict with nothing.
    pub(crate) begin: Option<Sequence>,
    /// The schema of the version.
    pub(crate) base_schema: Arc<Schema>,
    /// The schema the ids below refer to, if it is another one.
    pub(crate) new_schema: Option<Arc<Schema>>,
    pub(crate) new_keys: Vec<Key>,
    /// In the order of first touch.
    pub(crate) vertices: Vec<(Handle, VertexWrite)>,
    pub(crate) edges: Vec<EdgeWrites>,
    /// The dictionary that handles of known keys come from, once there is no version any more to hold it: as long as it is held,
    /// their ids are given to no other keys.
    pub(crate) dictionary: Option<Arc<Dictionary>>,
    /// Items of the catalog as they become.
    pub(crate) items: BTreeMap<Arc<str>, Option<Arc<[u8]>>>,
}

impl Writes {
    /// Nothing yet.
    pub(crate) fn new(begin: Option<Sequence>, base_schema: Arc<Schema>) -> Self {
        Writes {
            begin,
            base_schema,
            new_schema: None,
            new_keys: Vec::new(),
            vertices: Vec::new(),
            edges: Vec::new(),
            dictionary: None,
            items: BTreeMap::new(),
        }
    }

    /// Gives up the version, so that what a commit replaces in it is free if nobody else holds it. Handles of known keys mean what they
    /// do in it until the writes are resolved.
    pub(crate) fn let_go_of(&mut self, version: Arc<Version>) {
        self.prefetch_lists(&version);
        self.dictionary = (!version.dictionary.is_dense()).then(|| version.dictionary.clone());
    }

    /// Asks the processor for what few edges will be merged into: others are not kept waiting by whoever waits for that here.
    fn prefetch_lists(&self, version: &Version) {
        let few = |(_, edges): &(EdgeTypeId, &EdgeWrites)| edges.writes.len() <= PREFETCHED_ROWS;
        for (edge_type, edges) in (0..).zip(&self.edges).filter(few) {
            let prefetch = |end, direction| {
                base_id(end)
                    .into_iter()
                    .for_each(|vertex| version.entry(edge_type, direction, vertex).prefetch());
            };
            for EdgeWrite { src, dst, .. } in &edges.writes {
                prefetch(*src, Direction::Out);
                prefetch(*dst, Direction::In);
            }
        }
    }

    /// The ids that the writes name.
    pub(crate) fn known_ids(&self) -> impl Iterator<Item = VertexId> {
        let ends = self.edges.iter().flat_map(|edges| &edges.writes).filter(|write| !write.dead);
        let ends = ends.flat_map(|write| [write.src, write.dst]);
        self.vertices.iter().map(|(handle, _)| *handle).chain(ends).filter_map(base_id)
    }
}

impl EdgeWrites {
    pub(crate) fn push(&mut self, write: EdgeWrite) {
        let position = self.writes.len();
        if position >= UNINDEXED {
            self.by_vertex.entry(write.src).or_default().push(position);
            if write.dst != write.src {
                self.by_vertex.entry(write.dst).or_default().push(position);
            }
        }
        self.writes.push(write);
    }

    /// The positions of the live operations with this end, in order.
    fn positions(&self, vertex: Handle) -> impl DoubleEndedIterator<Item = usize> {
        let first = 0..self.writes.len().min(UNINDEXED);
        let indexed = self.by_vertex.get(&vertex).map_or(&[][..], Vec::as_slice);
        let has_end = move |write: &EdgeWrite| !write.dead && (write.src == vertex || write.dst == vertex);
        first.chain(indexed.iter().copied()).filter(move |&position| has_end(&self.writes[position]))
    }

    pub(crate) fn of_vertex(&self, vertex: Handle) -> impl Iterator<Item = &EdgeWrite> {
        self.positions(vertex).map(|position| &self.writes[position])
    }

    /// The position of the newest live operation on this edge.
    pub(crate) fn last(&self, src: Handle, dst: Handle) -> Option<usize> {
        let indexed = |end: &Handle| self.by_vertex.get(end).map_or(0, Vec::len);
        let end = if indexed(&dst) < indexed(&src) { dst } else { src };
        let is_edge = |write: &EdgeWrite| (write.src, write.dst) == (src, dst);
        self.positions(end).rev().find(|&position| is_edge(&self.writes[position]))
    }

    pub(crate) fn kill_edge(&mut self, src: Handle, dst: Handle) {
        while let Some(position) = self.last(src, dst) {
            self.writes[position].dead = true;
        }
    }

    pub(crate) fn kill_vertex(&mut self, vertex: Handle) {
        let positions: Vec<usize> = self.positions(vertex).collect();
        positions.into_iter().for_each(|position| self.writes[position].dead = true);
        self.by_vertex.remove(&vertex);
    }
}

impl Writes {
    /// The schema the ids refer to.
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        self.new_schema.as_ref().unwrap_or(&self.base_schema)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.new_schema.is_none()
            && self.vertices.is_empty()
            && self.edges.iter().all(|edges| edges.writes.is_empty())
            && self.items.is_empty()
    }
}

/// Turns a handle into an id, `new_ids` being those given to the transaction's new keys.
pub(crate) fn id_of(handle: Handle, new_ids: &[VertexId]) -> VertexId {
    if handle >= NEW { new_ids[new_position(handle)] } else { handle as VertexId }
}

/// The position of a new key's handle among the transaction's new keys.
pub(crate) fn new_position(handle: Handle) -> usize {
    (handle - NEW) as usize
}

/// The id a handle stands for in the version, unless it is a new key.
pub(crate) fn base_id(handle: Handle) -> Option<VertexId> {
    (handle < NEW).then_some(handle as VertexId)
}

/// Puts the properties given over those before.
pub(crate) fn overlay(before: &mut Properties, given: impl IntoIterator<Item = (PropertyId, Value)>) {
    for (property, value) in given {
        match before.iter_mut().find(|(id, _)| *id == property) {
            Some((_, old)) => *old = value,
            None => before.push((property, value)),
        }
    }
}
