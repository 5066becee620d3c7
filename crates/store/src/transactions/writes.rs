//! What a transaction wants changed, in handles, as it is gathered and as the committer gets it.
//!
//! Invariant: an edge operation that a later one of the same transaction made void is `dead` and has no effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use evergraph_types::{
    Direction, EdgeTypeId, Key, PropertyId, Schema, Sequence, Value, VertexId, VertexTypeId,
};
use hashbrown::HashMap;
use smallvec::SmallVec;

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
    /// Where the properties that it gives begin among those of all, and how many these are.
    first_property: usize,
    num_properties: u32,
    pub(crate) delete: bool,
    pub(crate) dead: bool,
}

/// The operations on edges of one type. Those of the first that are looked through one by one have no entry in the index
/// by either end. What most transactions write has room in here, so that they allocate little, and whoever commits for others reads
/// few places that they have just written.
#[derive(Clone, Debug, Default)]
pub(crate) struct EdgeWrites {
    pub(crate) writes: SmallVec<[EdgeWrite; 1]>,
    /// Those of each operation side by side.
    properties: SmallVec<[(PropertyId, Value); 4]>,
    by_vertex: Option<Box<HashMap<Handle, Vec<usize>>>>,
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
    /// By type, in order.
    pub(crate) edges: SmallVec<[(EdgeTypeId, EdgeWrites); 1]>,
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
            edges: SmallVec::new(),
            dictionary: None,
            items: BTreeMap::new(),
        }
    }

    /// Gives up the version, so that what a commit replaces in it is free if nobody else holds it; before that, asks the processor for
    /// what few edges will be merged into, if whoever gives it up is to. Handles of known keys mean what they do in it until the
    /// writes are resolved.
    pub(crate) fn let_go_of(&mut self, version: Arc<Version>, asks_ahead: bool) {
        if asks_ahead {
            self.prefetch_lists(&version);
        }
        self.dictionary = (!version.dictionary.is_dense()).then(|| version.dictionary.clone());
    }

    /// Asks the processor for what few edges will be merged into: whoever waits for that here keeps no others waiting.
    fn prefetch_lists(&self, version: &Version) {
        let few = |(_, edges): &&(EdgeTypeId, EdgeWrites)| edges.writes.len() <= PREFETCHED_ROWS;
        for (edge_type, edges) in self.edges.iter().filter(few) {
            let prefetch = |end, direction| {
                let vertex = base_id(end).into_iter();
                vertex.for_each(|vertex| version.entry(*edge_type, direction, vertex).prefetch());
            };
            for EdgeWrite { src, dst, .. } in &edges.writes {
                prefetch(*src, Direction::Out);
                prefetch(*dst, Direction::In);
            }
        }
    }

    /// The ids that the writes name.
    pub(crate) fn known_ids(&self) -> impl Iterator<Item = VertexId> {
        let ends = self.edges.iter().flat_map(|(_, edges)| &edges.writes).filter(|write| !write.dead);
        let ends = ends.flat_map(|write| [write.src, write.dst]);
        self.vertices.iter().map(|(handle, _)| *handle).chain(ends).filter_map(base_id)
    }
}

impl EdgeWrites {
    /// Appends an operation that gives no properties yet; tells its position.
    pub(crate) fn push(&mut self, src: Handle, dst: Handle, delete: bool) -> usize {
        let position = self.writes.len();
        if position >= UNINDEXED {
            let by_vertex = self.by_vertex.get_or_insert_default();
            by_vertex.entry(src).or_default().push(position);
            if dst != src {
                by_vertex.entry(dst).or_default().push(position);
            }
        }
        let first_property = self.properties.len();
        self.writes.push(EdgeWrite { src, dst, first_property, num_properties: 0, delete, dead: false });
        position
    }

    /// Has an operation give a property, in place of the value that it gave before, if any.
    pub(crate) fn give(&mut self, position: usize, property: PropertyId, value: Value) {
        let EdgeWrite { first_property: first, num_properties, .. } = &mut self.writes[position];
        let end = *first + *num_properties as usize;
        if let Some((_, before)) = self.properties[*first..end].iter_mut().find(|(id, _)| *id == property) {
            *before = value;
            return;
        }
        if end < self.properties.len() {
            let own = *first..end;
            *first = self.properties.len();
            for at in own {
                let moved = std::mem::replace(&mut self.properties[at], (0, Value::Null));
                self.properties.push(moved);
            }
        }
        self.properties.push((property, value));
        *num_properties += 1;
    }

    /// The properties that an operation gives, each once.
    pub(crate) fn given(&self, write: &EdgeWrite) -> &[(PropertyId, Value)] {
        &self.properties[write.first_property..][..write.num_properties as usize]
    }

    /// Has no operation give a property.
    pub(crate) fn forget(&mut self, property: PropertyId) {
        for EdgeWrite { first_property, num_properties, .. } in &mut self.writes {
            let own = &mut self.properties[*first_property..][..*num_properties as usize];
            if let Some(at) = own.iter().position(|(id, _)| *id == property) {
                own[at..].rotate_left(1);
                *num_properties -= 1;
            }
        }
    }

    /// The positions of those in the index with this end, in order.
    fn indexed(&self, end: Handle) -> &[usize] {
        self.by_vertex.as_ref().and_then(|by_vertex| by_vertex.get(&end)).map_or(&[][..], Vec::as_slice)
    }

    /// The positions of the live operations with this end, in order.
    fn positions(&self, vertex: Handle) -> impl DoubleEndedIterator<Item = usize> {
        let first = 0..self.writes.len().min(UNINDEXED);
        let indexed = self.indexed(vertex);
        let has_end = move |write: &EdgeWrite| !write.dead && (write.src == vertex || write.dst == vertex);
        first.chain(indexed.iter().copied()).filter(move |&position| has_end(&self.writes[position]))
    }

    pub(crate) fn of_vertex(&self, vertex: Handle) -> impl Iterator<Item = &EdgeWrite> {
        self.positions(vertex).map(|position| &self.writes[position])
    }

    /// The live operations on this edge, in order.
    pub(crate) fn of_edge(&self, src: Handle, dst: Handle) -> impl Iterator<Item = &EdgeWrite> {
        self.of_vertex(src).filter(move |write| (write.src, write.dst) == (src, dst))
    }

    /// The position of the newest live operation on this edge.
    pub(crate) fn last(&self, src: Handle, dst: Handle) -> Option<usize> {
        let end = if self.indexed(dst).len() < self.indexed(src).len() { dst } else { src };
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
        self.by_vertex.as_mut().and_then(|by_vertex| by_vertex.remove(&vertex));
    }
}

impl Writes {
    /// The schema the ids refer to.
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        self.new_schema.as_ref().unwrap_or(&self.base_schema)
    }

    /// The operations on edges of a type, if there are any.
    pub(crate) fn edges(&self, edge_type: EdgeTypeId) -> Option<&EdgeWrites> {
        self.edges.iter().find(|(id, _)| *id == edge_type).map(|(_, edges)| edges)
    }

    /// The operations on edges of a type, to be changed.
    pub(crate) fn edges_mut(&mut self, edge_type: EdgeTypeId) -> &mut EdgeWrites {
        let position = self.edges.partition_point(|(id, _)| *id < edge_type);
        if self.edges.get(position).is_none_or(|(id, _)| *id != edge_type) {
            self.edges.insert(position, (edge_type, EdgeWrites::default()));
        }
        &mut self.edges[position].1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.new_schema.is_none()
            && self.vertices.is_empty()
            && self.edges.iter().all(|(_, edges)| edges.writes.is_empty())
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push,
        Give(prop::sample::Index, PropertyId, i64),
        Forget(PropertyId),
    }

    fn step() -> impl Strategy<Value = Step> {
        let give = (any::<prop::sample::Index>(), 0..4 as PropertyId, any::<i64>());
        prop_oneof![
            2 => Just(Step::Push),
            8 => give.prop_map(|(at, property, value)| Step::Give(at, property, value)),
            1 => (0..4 as PropertyId).prop_map(Step::Forget),
        ]
    }

    proptest! {
        /// Operations give what was last given, in whatever order they are given it, less what was dropped.
        #[test]
        fn each_operation_gives_its_own_properties(steps in prop::collection::vec(step(), 1..60)) {
            let mut edges = EdgeWrites::default();
            let mut expected: Vec<BTreeMap<PropertyId, Value>> = Vec::new();
            for step in steps {
                match step {
                    Step::Give(at, property, value) if !expected.is_empty() => {
                        let position = at.index(expected.len());
                        edges.give(position, property, Value::Int(value));
                        expected[position].insert(property, Value::Int(value));
                    }
                    Step::Forget(property) => {
                        edges.forget(property);
                        expected.iter_mut().for_each(|given| drop(given.remove(&property)));
                    }
                    _ => {
                        let position = expected.len();
                        prop_assert_eq!(edges.push(position as Handle, 0, false), position);
                        expected.push(BTreeMap::new());
                    }
                }
                for (write, expected) in edges.writes.iter().zip(&expected) {
                    let given = edges.given(write);
                    prop_assert_eq!(given.len(), expected.len(), "each once");
                    prop_assert_eq!(&given.iter().cloned().collect::<BTreeMap<_, _>>(), expected);
                }
            }
        }
    }
}
