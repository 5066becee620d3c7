//! How long a list may be: lengths are kept in 32 bits, in memory ([`Entry`](crate::lists::entry::Entry) and its directory) and in segments
//! ([`WideRow`](crate::files::rows::WideRow)).
//!
//! ```text
//!  all lists of the type, and what is to come, together within the limit?  ─► yes, and nearly always: nothing is counted
//!                                                                          └► no: each list that grows is looked at
//! ```
//!
//! Lists of `simple` types are no longer than there are vertices. Those of `multi` types have an entry for each edge that was put;
//! a commit that would make one too long is refused, and a load is given up.
//!
//! Invariant: no version has a list that is longer.

use evergraph_types::{EdgeTypeId, Schema, SchemaError, VertexId};
use hashbrown::HashMap;

use crate::commits::batch::EndIds;
use crate::versions::version::{Adjacency, Version};
use crate::write_sets::ops::{EdgeOps, WriteSet};

/// The most entries of a list; fewer in tests of this crate, which come to them.
pub(crate) const LIST_MAX: u64 = if cfg!(test) { 1 << 16 } else { u32::MAX as u64 };

impl Version {
    /// Refuses writes that would make a list too long; `pending` others are not in this version yet.
    pub(crate) fn check_list_lengths(
        &self,
        schema: &Schema,
        writes: &WriteSet,
        pending: u64,
    ) -> Result<(), SchemaError> {
        writes.edges.iter().try_for_each(|(edge_type, ops)| {
            let rows = || put_rows(ops).map(|row| (ops.src[row], ops.dst[row]));
            self.check_lists(schema, *edge_type, ops.len() as u64, pending, rows)
        })
    }

    /// Refuses edges of a batch that would make a list too long.
    pub(crate) fn check_batch_lengths(
        &self,
        schema: &Schema,
        edge_type: EdgeTypeId,
        ends: &[EndIds],
    ) -> Result<(), SchemaError> {
        let rows = || ends.iter().flat_map(|part| part.src.iter().copied().zip(part.dst.iter().copied()));
        let len = ends.iter().map(|part| part.src.len() as u64).sum();
        self.check_lists(schema, edge_type, len, 0, rows)
    }

    fn check_lists<I: Iterator<Item = (VertexId, VertexId)>>(
        &self,
        schema: &Schema,
        edge_type: EdgeTypeId,
        len: u64,
        pending: u64,
        rows: impl Fn() -> I,
    ) -> Result<(), SchemaError> {
        let Some(kind) = schema.edge_types.get(usize::from(edge_type)) else { return Ok(()) };
        let tables = self.edges.get(usize::from(edge_type));
        let entries = tables.map_or(0, |tables| tables.out.entries.max(tables.reverse.entries));
        // Lists of a symmetric type have both ends of an edge.
        if !kind.options.multi || entries + 2 * (len + pending) <= LIST_MAX {
            return Ok(());
        }
        let (out, reverse) = (tables.map(|tables| tables.out), tables.map(|tables| tables.reverse));
        match kind.options.symmetric {
            true => self.check_growth(out, pending, rows().flat_map(|(src, dst)| [src, dst])),
            false => {
                self.check_growth(out, pending, rows().map(|(src, _)| src))?;
                self.check_growth(reverse, pending, rows().map(|(_, dst)| dst))
            }
        }
    }

    /// Refuses if a list of the table, with an entry more for each of the vertices, and those pending, is too long.
    fn check_growth(
        &self,
        table: Option<Adjacency>,
        pending: u64,
        vertices: impl Iterator<Item = VertexId>,
    ) -> Result<(), SchemaError> {
        let mut growth: HashMap<VertexId, u64> = HashMap::new();
        vertices.for_each(|vertex| *growth.entry(vertex).or_default() += 1);
        let degree = |vertex| {
            let entry = table.as_ref().and_then(|lists| lists.table.get(vertex));
            entry.map_or(0, |entry| u64::from(self.degree_of(entry)))
        };
        let is_too_long = |(vertex, more): (&VertexId, &u64)| degree(*vertex) + more + 2 * pending > LIST_MAX;
        match growth.iter().any(is_too_long) {
            true => Err(SchemaError::Limit { what: "edges of one type at one vertex", max: LIST_MAX }),
            false => Ok(()),
        }
    }
}

/// The rows that put an edge.
fn put_rows(ops: &EdgeOps) -> impl Iterator<Item = usize> {
    (0..ops.len()).filter(|row| !ops.is_delete(*row))
}

#[cfg(test)]
mod tests {
    use evergraph_types::{EdgeBatch, EdgeTypeOptions, KeyColumn};

    use super::*;
    use crate::error::CommitError;
    use crate::options::Options;
    use crate::store::Store;

    fn batch(src: impl Iterator<Item = i64>, dst: impl Iterator<Item = i64>) -> Vec<EdgeBatch> {
        let column = |keys: Vec<i64>| KeyColumn::Int(keys);
        vec![EdgeBatch { src: column(src.collect()), dst: column(dst.collect()), columns: Vec::new() }]
    }

    /// Their ids are for the next two keys, of which one comes with a commit that is refused.
    fn let_go_of_two_keys(store: &Store) -> Result<(), CommitError> {
        (500..502).try_for_each(|key| store.put_vertex(key, None, &[]).map(drop))?;
        (500..502).try_for_each(|key| store.delete_vertex(key).map(drop))?;
        (0..2).try_for_each(|_| store.compact())
    }

    /// Whatever way edges come, the last that fits is taken and one more is not; then all goes on, and opens again.
    #[test]
    fn a_list_is_as_long_as_it_may_be() -> Result<(), Box<dyn std::error::Error>> {
        let refused = |outcome: Result<(), CommitError>| {
            let is_told =
                matches!(outcome, Err(CommitError::Schema(SchemaError::Limit { max: LIST_MAX, .. })));
            assert!(is_told, "{outcome:?}");
        };
        let most = LIST_MAX as usize;
        for (symmetric, on_disk) in [(false, true), (true, true), (false, false)] {
            for bulk_edges in [100, usize::MAX] {
                let directory = tempfile::tempdir()?;
                let options = Options { bulk_edges, background: false, ..Options::default() };
                let open = |options: Options| match on_disk {
                    true => Store::open(directory.path(), options),
                    false => Ok(Store::in_memory(options)),
                };
                let store = open(options.clone())?;
                let kind = EdgeTypeOptions { multi: true, symmetric, ..EdgeTypeOptions::default() };
                store.create_edge_type("calls", kind)?;
                let add = |store: &Store, count: usize, reverse: bool| {
                    let (hub, others) =
                        (std::iter::repeat_n(7, count), (0..count as i64).map(|row| 8 + row % 5));
                    let edges = if reverse { batch(others, hub) } else { batch(hub, others) };
                    store.add_edges("calls", edges).map(drop)
                };
                refused(add(&store, most + 1, false));
                refused(add(&store, most + 1, true));
                add(&store, most - 1, false)?;
                refused(add(&store, 200, false));
                let_go_of_two_keys(&store)?;
                let bound = store.version()?.id_bound();
                store.put_edge(7, 99, "calls", &[])?;
                refused(store.put_edge(7, 100, "calls", &[]).map(drop));
                if symmetric {
                    refused(store.put_edge(100, 7, "calls", &[]).map(drop));
                }
                store.put_edge(8, 100, "calls", &[])?;
                assert_eq!(store.version()?.id_bound(), bound);
                let check = |store: &Store| {
                    let version = store.version().expect("open");
                    let id = |key: i64| version.vertex_id(key.into()).expect("a vertex");
                    let degree =
                        |key| version.neighbors(0, evergraph_types::Direction::Out, id(key)).len() as u64;
                    assert_eq!(degree(7), LIST_MAX, "{symmetric} {on_disk} {bulk_edges}");
                    assert!(degree(8) > 0 && version.has_edge(0, id(8), id(100)));
                };
                check(&store);
                let store = match on_disk {
                    true => {
                        store.close()?;
                        open(options.clone())?
                    }
                    false => store,
                };
                check(&store);
                store.checkpoint()?;
                check(&store);
                refused(add(&store, 200, false));
                store.delete_edge(7, 99, "calls")?;
                store.put_edge(7, 99, "calls", &[])?;
                check(&store);
                store.close()?;
                if on_disk {
                    check(&open(options)?);
                }
            }
        }
        Ok(())
    }
}
