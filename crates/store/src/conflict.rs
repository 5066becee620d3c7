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
use evergraph_types::{EdgeTypeId, Sequence, VertexId};
use hashbrown::HashMap;

use crate::ops::{EdgeOps, WriteSet};
use crate::reads::Reads;
use crate::resolve::Resolver;
use crate::writes::{Handle, Writes};

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

/// A transaction was too late: what it wanted to change and the commit that changed it first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Late {
    pub(crate) what: Thing,
    pub(crate) sequence: Sequence,
}

/// What two commits wanted to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    Edge(EdgeTypeId, VertexId, VertexId),
    Vertex(VertexId),
    Neighbors(EdgeTypeId, VertexId),
    EdgeType,
    /// Something was dropped or renamed.
    Schema,
    /// A catalog item, by the checksum of its name.
    Item(u64),
}

/// The changes of recent commits.
#[derive(Debug, Default)]
pub(crate) struct RecentChanges {
    changes: HashMap<Change, Sequence>,
    newest_bulk: Sequence,
    newest_vertex_delete: Sequence,
    /// The newest commit that changed the schema.
    pub(crate) newest_schema: Sequence,
    /// The newest commit.
    newest: Sequence,
    forget_at: usize,
}

impl RecentChanges {
    /// Whether the writes may commit; if not, what stands against it. New keys are looked up in `resolver`, since
    /// another commit may have added them meanwhile.
    pub(crate) fn validate(
        &self,
        writes: &Writes,
        reads: Option<&Reads>,
        resolver: &Resolver,
    ) -> Result<(), Late> {
        let Some(begin) = writes.begin else { return Ok(()) };
        let altered = writes.base_schema.alterations != resolver.schema.alterations;
        if altered && reads.is_some_and(|reads| !reads.is_empty()) {
            return Err(Late { what: Thing::Schema, sequence: self.newest_schema });
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
                self.untouched(vertex, begin, thing, resolver)?;
            }
        }
        for name in writes.items.keys() {
            self.unchanged_item(name, begin)?;
        }
        for (edge_type, all) in writes.edges.iter().enumerate() {
            let edge_type = edge_type as EdgeTypeId;
            let options = writes.schema.edge_types.get(usize::from(edge_type)).map(|kind| &kind.options);
            let (multi, symmetric) =
                options.map_or((false, false), |options| (options.multi, options.symmetric));
            for write in all.writes.iter().filter(|write| !write.dead) {
                let (src, dst) = (id(write.src), id(write.dst));
                // An edge of a key that nobody has yet is new, but its other end may have been deleted.
                if let (Some(src), Some(dst), true) = (src, dst, write.delete || !multi) {
                    let thing = Thing::Edge(edge_type, src, dst);
                    self.unchanged(edge(edge_type, src, dst, symmetric), begin, thing)?;
                    self.unchanged(Change::Bulk(edge_type), begin, thing)?;
                }
                for end in [src, dst].into_iter().flatten() {
                    self.unchanged(Change::VertexDeleted(end), begin, Thing::Vertex(end))?;
                }
            }
        }
        Ok(())
    }

    /// Whether everything a transaction read is as it was when it began.
    fn validate_reads(&self, reads: &Reads, begin: Sequence, resolver: &Resolver) -> Result<(), Late> {
        for &vertex in &reads.vertices {
            let thing = Thing::Vertex(vertex);
            self.unchanged(Change::Vertex(vertex), begin, thing)?;
            self.unchanged(Change::Created(vertex), begin, thing)?;
        }
        for vertex in reads.absent_keys.iter().filter_map(|key| resolver.lookup(key.as_ref())) {
            let thing = Thing::Vertex(vertex);
            self.unchanged(Change::Vertex(vertex), begin, thing)?;
            self.unchanged(Change::Created(vertex), begin, thing)?;
            self.untouched(vertex, begin, thing, resolver)?;
        }
        for &(edge_type, src, dst) in &reads.edges {
            let thing = Thing::Edge(edge_type, src, dst);
            self.unchanged(Change::Edge(edge_type, src, dst), begin, thing)?;
            self.unchanged(Change::Bulk(edge_type), begin, thing)?;
            self.unchanged(Change::VertexDeleted(src), begin, thing)?;
            self.unchanged(Change::VertexDeleted(dst), begin, thing)?;
        }
        for &(edge_type, vertex) in &reads.lists {
            let thing = Thing::Neighbors(edge_type, vertex);
            self.unchanged(Change::Touched(edge_type, vertex), begin, thing)?;
            self.unchanged(Change::Bulk(edge_type), begin, thing)?;
            if self.newest_vertex_delete > begin {
                // The vertex deleted may have been a neighbor.
                return Err(Late { what: thing, sequence: self.newest_vertex_delete });
            }
        }
        for name in &reads.items {
            self.unchanged_item(name, begin)?;
        }
        let found = |name: &String| resolver.schema.edge_type(name).is_some();
        if reads.absent_types.iter().any(found) {
            return Err(Late { what: Thing::EdgeType, sequence: self.newest_schema });
        }
        Ok(())
    }

    fn unchanged_item(&self, name: &str, begin: Sequence) -> Result<(), Late> {
        let hash = checksum(name.as_bytes());
        self.unchanged(Change::Item(hash), begin, Thing::Item(hash))
    }

    /// Whether no edge of the vertex was put or deleted.
    fn untouched(
        &self,
        vertex: VertexId,
        begin: Sequence,
        what: Thing,
        resolver: &Resolver,
    ) -> Result<(), Late> {
        for edge_type in 0..resolver.schema.edge_types.len() as EdgeTypeId {
            self.unchanged(Change::Touched(edge_type, vertex), begin, what)?;
        }
        if self.newest_bulk > begin { Err(Late { what, sequence: self.newest_bulk }) } else { Ok(()) }
    }

    fn unchanged(&self, change: Change, begin: Sequence, what: Thing) -> Result<(), Late> {
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
            self.newest_vertex_delete = sequence;
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
        self.newest_bulk = sequence;
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
