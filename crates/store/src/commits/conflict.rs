//! First committer wins: what commits changed recently, compared with what a transaction is about to change.
//!
//! ```text
//!  commit under way ╲  already changed ►  edge     its ends touched    vertex    vertex deleted    bulk of the type
//!  put of an edge (simple types)          x                                      x                 x
//!  put of an edge (multi types)                                                  x
//!  delete of an edge                      x                                      x                 x
//!  put of a vertex's type or properties                                x
//!  delete of a vertex                              x                   x                           x (any type)
//! ```
//!
//! An edge has to do with the deletion of either end, whether the other one is a vertex yet or not.
//!
//! Deleting a vertex deletes its edges, so it conflicts with whoever touched one of them. A put that only makes
//! sure that a vertex exists conflicts with nothing.
//!
//! Invariant: everything changed after the begin of the oldest open transaction is remembered.

use evergraph_disk::checksum;
use evergraph_types::{EdgeTypeId, Schema, Sequence, VertexId};
use hashbrown::HashMap;

use crate::commits::resolve::Resolver;
use crate::error::{CommitError, Contested, SchemaPart};
use crate::transactions::reads::Reads;
use crate::transactions::writes::{Handle, Writes};
use crate::write_sets::alteration::changed_parts;
use crate::write_sets::ops::{EdgeOps, WriteSet};

/// Batches of more edges than this are remembered by their edge type alone.
const BULK_EDGES: usize = 4096;
/// Remembering fewer changes than this is cheaper than looking for those to forget.
const FORGET_MIN: usize = 256;

/// There is always room for so many changes: few enough that it stays near the processor.
const ROOM_MIN: usize = 448;
/// Room for so many times the changes that were remembered is given back.
const ROOM_TIMES: usize = 8;

/// Something a commit changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Change {
    Edge(EdgeTypeId, VertexId, VertexId),
    /// An edge of the vertex.
    Touched(EdgeTypeId, VertexId),
    /// The type or properties of a vertex.
    Vertex(VertexId),
    /// A vertex that may not have existed before.
    Created(VertexId),
    VertexDeleted(VertexId),
    Bulk(EdgeTypeId),
    /// A catalog item, by the checksum of its name.
    Item(u64),
}

/// A transaction was too late: what it wanted to change, or has read, and the commit that changed it first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late<'a> {
    what: Thing<'a>,
    sequence: Sequence,
}

/// What two transactions have to do with.
#[derive(Clone, Copy, Debug)]
enum Thing<'a> {
    Edge(EdgeTypeId, VertexId, VertexId),
    Vertex(VertexId),
    /// Edges of a vertex; without one, many edges of the type.
    Edges(EdgeTypeId, Option<VertexId>),
    /// An edge type that was looked for in vain.
    EdgeType(&'a str),
    /// The schema, which was this one.
    Schema(&'a Schema),
    /// A catalog item.
    Item(&'a str),
}

impl Late<'static> {
    /// What stands against a transaction that has read what a load under way may change, which will be this commit at the earliest.
    pub(crate) fn for_load(edge_type: EdgeTypeId, sequence: Sequence) -> Self {
        Late { what: Thing::Edges(edge_type, None), sequence }
    }

    /// What stands against a transaction that knows a vertex, gone by now, by an id which lost its key at this commit.
    pub(crate) fn for_lost_key(vertex: VertexId, sequence: Sequence) -> Self {
        Late { what: Thing::Vertex(vertex), sequence }
    }
}

impl<'a> Late<'a> {
    /// What stands against one that puts an item made of ids, some of which may have lost their keys at this commit.
    pub(crate) fn for_lost_ids(item: &'a str, sequence: Sequence) -> Self {
        Late { what: Thing::Item(item), sequence }
    }

    /// The error, with names in place of ids.
    pub(crate) fn named(self, resolver: &Resolver) -> CommitError {
        let key = |vertex| resolver.dictionary.key(vertex);
        let edge_type = |id: EdgeTypeId| resolver.schema.edge_types[usize::from(id)].name.clone();
        let what = match self.what {
            Thing::Edge(id, src, dst) => {
                Contested::Edge { src: key(src), dst: key(dst), edge_type: edge_type(id) }
            }
            Thing::Vertex(vertex) => Contested::Vertex { key: key(vertex) },
            Thing::Edges(id, vertex) => Contested::Edges { key: vertex.map(key), edge_type: edge_type(id) },
            Thing::EdgeType(name) => {
                Contested::Schema { parts: vec![SchemaPart::EdgeType { name: name.to_owned() }] }
            }
            Thing::Schema(older) => Contested::Schema { parts: changed_parts(older, &resolver.schema) },
            Thing::Item(name) => Contested::Item { name: name.to_owned() },
        };
        CommitError::Conflict { what, sequence: self.sequence }
    }
}

/// The changes of recent commits.
#[derive(Debug, Default)]
pub(crate) struct RecentChanges {
    changes: HashMap<Change, Sequence>,
    /// The newest commit that deleted a vertex, and the vertex.
    newest_vertex_delete: (Sequence, VertexId),
    /// The newest commit that changed the schema.
    newest_schema: Sequence,
    /// The newest commit.
    newest: Sequence,
    forget_at: usize,
}

impl RecentChanges {
    /// Whether the writes may commit; if not, what stands against it. New keys are looked up in `resolver`, since
    /// another commit may have added them meanwhile.
    pub(crate) fn validate<'a>(
        &self,
        writes: &'a Writes,
        reads: Option<&'a Reads>,
        resolver: &Resolver,
    ) -> Result<(), Late<'a>> {
        let Some(begin) = writes.begin else { return Ok(()) };
        if let Some(reads) = reads {
            self.validate_schema_reads(writes, reads, resolver)?;
        }
        if self.changes.is_empty() {
            return Ok(());
        }
        if let Some(reads) = reads {
            self.validate_reads(reads, begin, resolver)?;
        }
        let id = |handle: Handle| resolver.known_id(handle, &writes.new_keys);
        for (handle, write) in &writes.vertices {
            let Some(vertex) = id(*handle) else { continue };
            let thing = Thing::Vertex(vertex);
            let sets = write.put.as_ref().is_some_and(|(label, given)| label.is_some() || !given.is_empty());
            if write.delete || sets {
                self.unchanged(Change::Vertex(vertex), begin, thing)?;
            }
            if write.delete {
                self.untouched(vertex, begin, resolver)?;
            }
        }
        for name in writes.items.keys() {
            self.unchanged_item(name, begin)?;
        }
        for &(edge_type, ref all) in &writes.edges {
            let options = writes.schema().edge_types.get(usize::from(edge_type)).map(|kind| &kind.options);
            let (multi, symmetric) =
                options.map_or((false, false), |options| (options.multi, options.symmetric));
            for write in all.writes.iter().filter(|write| !write.dead) {
                let (src, dst) = (id(write.src), id(write.dst));
                // An edge of a key that nobody has yet is new, but its other end may have been deleted.
                if let (Some(src), Some(dst), true) = (src, dst, write.delete || !multi) {
                    let thing = Thing::Edge(edge_type, src, dst);
                    self.unchanged(edge(edge_type, src, dst, symmetric), begin, thing)?;
                    self.unchanged(Change::Bulk(edge_type), begin, Thing::Edges(edge_type, None))?;
                }
                for end in [src, dst].into_iter().flatten() {
                    self.unchanged(Change::VertexDeleted(end), begin, Thing::Vertex(end))?;
                }
            }
        }
        Ok(())
    }

    /// Whether what a transaction read of the schema is as it was when it began.
    fn validate_schema_reads<'a>(
        &self,
        writes: &'a Writes,
        reads: &'a Reads,
        resolver: &Resolver,
    ) -> Result<(), Late<'a>> {
        let (older, newest) = (&writes.base_schema, &resolver.schema);
        // After an alteration whatever was read may have another name.
        let is_altered = older.alterations != newest.alterations && !reads.is_empty();
        if is_altered || reads.schema && older != newest {
            return Err(self.late_for_schema(older));
        }
        match reads.absent_types.iter().find(|name| newest.edge_type(name).is_some()) {
            Some(name) => Err(Late { what: Thing::EdgeType(name), sequence: self.newest_schema }),
            None => Ok(()),
        }
    }

    /// What stands against a transaction that began with another schema, and does not go together with the newest one.
    pub(crate) fn late_for_schema<'a>(&self, older: &'a Schema) -> Late<'a> {
        Late { what: Thing::Schema(older), sequence: self.newest_schema }
    }

    /// Whether everything a transaction read of the graph is as it was when it began.
    fn validate_reads<'a>(
        &self,
        reads: &'a Reads,
        begin: Sequence,
        resolver: &Resolver,
    ) -> Result<(), Late<'a>> {
        for &vertex in &reads.vertices {
            self.unchanged(Change::Vertex(vertex), begin, Thing::Vertex(vertex))?;
            self.unchanged(Change::Created(vertex), begin, Thing::Vertex(vertex))?;
        }
        for vertex in reads.absent_keys.iter().filter_map(|key| resolver.lookup(key.as_ref())) {
            self.unchanged(Change::Vertex(vertex), begin, Thing::Vertex(vertex))?;
            self.unchanged(Change::Created(vertex), begin, Thing::Vertex(vertex))?;
            self.untouched(vertex, begin, resolver)?;
        }
        for &(edge_type, src, dst) in &reads.edges {
            self.unchanged(Change::Edge(edge_type, src, dst), begin, Thing::Edge(edge_type, src, dst))?;
            self.unchanged(Change::Bulk(edge_type), begin, Thing::Edges(edge_type, None))?;
            for end in [src, dst] {
                self.unchanged(Change::VertexDeleted(end), begin, Thing::Vertex(end))?;
            }
        }
        for &(edge_type, vertex) in &reads.lists {
            self.unchanged(Change::Touched(edge_type, vertex), begin, Thing::Edges(edge_type, Some(vertex)))?;
            self.unchanged(Change::Bulk(edge_type), begin, Thing::Edges(edge_type, None))?;
            let (sequence, deleted) = self.newest_vertex_delete;
            if sequence > begin {
                // It may have been a neighbor.
                return Err(Late { what: Thing::Vertex(deleted), sequence });
            }
        }
        for name in &reads.items {
            self.unchanged_item(name, begin)?;
        }
        Ok(())
    }

    fn unchanged_item<'a>(&self, name: &'a str, begin: Sequence) -> Result<(), Late<'a>> {
        self.unchanged(Change::Item(checksum(name.as_bytes())), begin, Thing::Item(name))
    }

    /// Whether no edge of the vertex was put or deleted.
    fn untouched<'a>(&self, vertex: VertexId, begin: Sequence, resolver: &Resolver) -> Result<(), Late<'a>> {
        for (edge_type, _) in resolver.schema.live_edge_types() {
            let thing = Thing::Edges(edge_type, Some(vertex));
            self.unchanged(Change::Touched(edge_type, vertex), begin, thing)?;
            self.unchanged(Change::Bulk(edge_type), begin, Thing::Edges(edge_type, None))?;
        }
        Ok(())
    }

    fn unchanged<'a>(&self, change: Change, begin: Sequence, what: Thing<'a>) -> Result<(), Late<'a>> {
        match self.changes.get(&change) {
            Some(&sequence) if sequence > begin => Err(Late { what, sequence }),
            _ => Ok(()),
        }
    }

    /// Remembers what commit `sequence` changes.
    pub(crate) fn note(
        &mut self,
        writes: &WriteSet,
        symmetric: impl Fn(EdgeTypeId) -> bool,
        sequence: Sequence,
    ) {
        self.newest = sequence;
        if writes.schema.is_some() {
            self.newest_schema = sequence;
        }
        for &vertex in &writes.vertex_deletes {
            self.changes.insert(Change::Vertex(vertex), sequence);
            self.changes.insert(Change::VertexDeleted(vertex), sequence);
            self.newest_vertex_delete = (sequence, vertex);
        }
        for put in &writes.vertex_puts {
            let sets = put.label.is_some() || !put.properties.is_empty();
            let change = if sets { Change::Vertex(put.vertex) } else { Change::Created(put.vertex) };
            self.changes.insert(change, sequence);
        }
        for (name, _) in &writes.items {
            self.changes.insert(Change::Item(checksum(name.as_bytes())), sequence);
        }
        for (edge_type, ops) in &writes.edges {
            self.note_edges(*edge_type, ops, symmetric(*edge_type), sequence);
        }
    }

    fn note_edges(&mut self, edge_type: EdgeTypeId, ops: &EdgeOps, symmetric: bool, sequence: Sequence) {
        if ops.len() > BULK_EDGES {
            return self.note_bulk(edge_type, sequence);
        }
        for (&src, &dst) in ops.src.iter().zip(&ops.dst) {
            self.changes.insert(edge(edge_type, src, dst, symmetric), sequence);
            self.changes.insert(Change::Touched(edge_type, src), sequence);
            self.changes.insert(Change::Touched(edge_type, dst), sequence);
        }
    }

    /// Remembers that commit `sequence` changes many edges of a type.
    pub(crate) fn note_bulk(&mut self, edge_type: EdgeTypeId, sequence: Sequence) {
        self.changes.insert(Change::Bulk(edge_type), sequence);
    }

    /// Forgets changes that no transaction begun at `oldest` or later needs.
    pub(crate) fn forget(&mut self, oldest: Sequence) {
        if self.newest <= oldest {
            // Clearing takes as long as there is room, and what lies here and there in much of it is far from the processor.
            if self.changes.capacity() > ROOM_MIN.max(ROOM_TIMES * self.changes.len()) {
                self.changes = HashMap::with_capacity(ROOM_MIN);
            }
            self.changes.clear();
        } else if self.changes.len() > self.forget_at.max(FORGET_MIN) {
            self.changes.retain(|_, sequence| *sequence > oldest);
            self.forget_at = 2 * self.changes.len();
        }
    }
}

fn edge(edge_type: EdgeTypeId, src: VertexId, dst: VertexId, symmetric: bool) -> Change {
    if symmetric {
        Change::Edge(edge_type, src.min(dst), src.max(dst))
    } else {
        Change::Edge(edge_type, src, dst)
    }
}
