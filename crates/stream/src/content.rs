//! What is in a window: a derived graph, to which an advance is one edit.
//!
//! ```text
//!  kept duplicates    leaving ─► expired       deleted ─► deleted       entering ─► put
//!  one edge a pair    leaving, deleted ─► copies left? ─► delete    entering ─► put ─► was it there? ─► a copy more
//! ```
//!
//! Invariant: between advances the graph has for each pair the copies that are in the window: as parallel edges where
//! duplicates are kept, else as one edge, and `extra` how many there are beyond the first.

use evergraph_analytics::incremental::Changes;
use evergraph_store::{DerivedEdit, DerivedGraph, EdgeOps, Oldest, OpColumn, Version};
use evergraph_types::{
    Column, EdgeType, EdgeTypeId, EdgeTypeOptions, Property, PropertyId, PropertyType, Value,
};
use evergraph_view::Snapshot;
use hashbrown::HashMap;
use rayon::prelude::*;

use crate::cursor::{Pair, Put};
use crate::{Duplicates, WindowError};

/// The property that counts copies.
const COUNT: &str = "count";

/// Fewer pairs than this are looked up by one task.
const PAIRS_AT_A_TIME: usize = 1 << 12;

/// What an advance does with edges.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Pairs of which every copy before is deleted.
    pub(crate) deleted: Vec<Pair>,
    /// Pairs of which the oldest copy leaves, as often as named.
    pub(crate) leaving: Vec<Pair>,
    /// The last place on the axis that is not in the window any more.
    pub(crate) start: i64,
    /// The last place in the window before.
    pub(crate) end: Option<i64>,
    /// Copies that enter, in the order of the axis.
    pub(crate) entering: Vec<Put>,
}

/// Where changes were last taken, and the copies moved since.
#[derive(Debug)]
struct Followed {
    before: Snapshot,
    inserted: Vec<Pair>,
    deleted: Vec<Pair>,
}

#[derive(Debug)]
pub(crate) struct Content {
    graph: DerivedGraph,
    /// The edge type in the store that the window follows.
    id: EdgeTypeId,
    /// As that store has it.
    edge_type: EdgeType,
    duplicates: Duplicates,
    /// The time of an event, where the window slides by it.
    by_time: Option<PropertyId>,
    /// Copies beyond the first of pairs that have several; only where they are one edge.
    extra: HashMap<Pair, u32>,
    /// Only once someone wants changes, for it keeps that state.
    followed: Option<Followed>,
}

impl Content {
    /// An empty window on an edge type of a store.
    pub(crate) fn new(
        source: &Version,
        edge_type: EdgeType,
        duplicates: Duplicates,
        by_time: Option<PropertyId>,
    ) -> Result<Self, WindowError> {
        let id = source.schema().require_edge_type(&edge_type.name)?.0;
        let EdgeTypeOptions { symmetric, time, properties, .. } = edge_type.options.clone();
        let is_count = duplicates == Duplicates::Count;
        let counter = || vec![Property { name: COUNT.to_owned(), kind: PropertyType::Int64 }];
        let options = EdgeTypeOptions {
            multi: duplicates == Duplicates::Keep,
            symmetric,
            reverse: true,
            time: time.filter(|_| !is_count),
            properties: if is_count { counter() } else { properties },
        };
        let graph = DerivedGraph::new(source, EdgeType { name: edge_type.name.clone(), options });
        Ok(Content { graph, id, edge_type, duplicates, by_time, extra: HashMap::new(), followed: None })
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.graph.version().clone())
    }

    /// The number of edges in it.
    pub(crate) fn num_edges(&self) -> u64 {
        self.graph.version().num_edges(0)
    }

    /// Bytes in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.graph.memory_bytes() + self.extra.allocation_size() as u64
    }

    /// Nobody wants changes.
    pub(crate) fn forget_changes(&mut self) {
        self.followed = None;
    }

    /// What the moves since the last call changed, from one snapshot to the other; nothing the first time.
    pub(crate) fn take_changes(&mut self) -> (Snapshot, Snapshot, Changes) {
        let after = self.snapshot();
        let next = Followed { before: after.clone(), inserted: Vec::new(), deleted: Vec::new() };
        let Some(Followed { before, inserted, deleted }) = self.followed.replace(next) else {
            return (after.clone(), after, Changes::default());
        };
        let changes = Changes::of_copies(&before, &after, inserted, deleted);
        (before, after, changes)
    }

    /// Makes the moves. Entering puts must be of the schema that `source` has.
    pub(crate) fn apply(&mut self, source: &Version, moves: Moves) -> Result<(), WindowError> {
        self.follow_schema(source)?;
        match self.duplicates {
            Duplicates::Keep => self.move_copies(source, moves),
            _ => self.move_edges(source, moves),
        }
    }

    /// Takes over properties that the edge type has got since.
    fn follow_schema(&mut self, source: &Version) -> Result<(), WindowError> {
        let name = &self.edge_type.name;
        let Some((_, now)) = source.schema().edge_type(name).filter(|(id, _)| *id == self.id) else {
            return Err(WindowError::TypeChanged { edge_type: name.clone() });
        };
        for (old, new) in self.edge_type.options.properties.iter().zip(&now.options.properties) {
            if old != new {
                let (edge_type, property) = (name.clone(), old.name.clone());
                return Err(WindowError::PropertyChanged { edge_type, property });
            }
        }
        if self.edge_type.options.properties.len() < now.options.properties.len() {
            self.edge_type.options.properties = now.options.properties.clone();
            if self.duplicates != Duplicates::Count {
                self.graph.set_properties(source, now.options.properties.clone());
            }
        }
        Ok(())
    }

    /// Parallel edges.
    fn move_copies(&mut self, source: &Version, moves: Moves) -> Result<(), WindowError> {
        let Moves { deleted, leaving, start, entering, .. } = moves;
        let deleted = unique(deleted);
        let version = self.graph.version();
        if let Some(followed) = &mut self.followed {
            followed.inserted.extend(entering.iter().map(|put| put.pair));
            followed.deleted.extend(&leaving);
            // What is deleted does not leave.
            for &(src, dst) in &deleted {
                version.for_each_edge_between(0, src, dst, |_, _| followed.deleted.push((src, dst)));
            }
        }
        let oldest = self.by_time.map_or(Oldest::First, |property| Oldest::Until(property, start));
        let ops = self.puts(&entering)?;
        let edit = DerivedEdit { expired: ends(&leaving), oldest, deleted: ends(&deleted), ops };
        self.graph.edit(source, edit);
        Ok(())
    }

    /// One edge for all copies. What leaves is there; of what enters, the edit tells what was there.
    fn move_edges(&mut self, source: &Version, moves: Moves) -> Result<(), WindowError> {
        let Moves { deleted, leaving, end, mut entering, .. } = moves;
        let mut gone = unique(deleted);
        gone.retain(|&(src, dst)| self.graph.version().has_edge(0, src, dst));
        gone.iter().for_each(|pair| _ = self.extra.remove(pair));
        self.hide_late(&mut entering, end, &gone);
        let fewer = self.take_copies(&leaving, &mut gone);
        let ops = with_deletes(&gone, self.puts(&entering)?);
        let found = self.graph.edit(source, DerivedEdit { ops, ..DerivedEdit::default() });
        found.iter().for_each(|pair| *self.extra.entry(*pair).or_default() += 1);
        let recounted = match self.duplicates {
            Duplicates::Count => self.count_again(source, unique([&fewer[..], &found].concat())),
            _ => Vec::new(),
        };
        if let Some(followed) = &mut self.followed {
            followed.deleted.extend(gone.into_iter().chain(found).chain(recounted.iter().copied()));
            followed.inserted.extend(entering.iter().map(|put| put.pair).chain(recounted));
        }
        Ok(())
    }

    /// Takes out the copies that come too late for their properties to show: an edge that stays, as these that are gone do not,
    /// has those of a later event. `end` is that of the window before.
    fn hide_late(&mut self, entering: &mut Vec<Put>, end: Option<i64>, gone: &[Pair]) {
        let Some(property) = self.by_time.filter(|_| self.duplicates == Duplicates::Drop) else { return };
        let (version, extra) = (self.graph.version(), &mut self.extra);
        entering.retain(|put| {
            let (src, dst) = put.pair;
            let mut is_hidden = false;
            if Some(put.at) <= end && gone.binary_search(&put.pair).is_err() {
                version.for_each_edge_between(0, src, dst, |run, row| {
                    is_hidden = run.value(property, row).time() > Some(put.at);
                });
            }
            if is_hidden {
                *extra.entry(put.pair).or_default() += 1;
            }
            !is_hidden
        });
    }

    /// Takes one copy for each pair named, and adds the pairs of which none is left to those that are gone. Tells of which
    /// others there are fewer.
    fn take_copies(&mut self, leaving: &[Pair], gone: &mut Vec<Pair>) -> Vec<Pair> {
        // Most pairs have one copy. Which have more is looked up by all threads.
        let looked_up = leaving.par_iter().with_min_len(PAIRS_AT_A_TIME);
        let have_more: Vec<bool> = looked_up.map(|pair| self.extra.contains_key(pair)).collect();
        let mut fewer = Vec::new();
        for (&pair, has_more) in leaving.iter().zip(have_more) {
            match has_more.then(|| self.extra.get_mut(&pair)).flatten() {
                Some(1) => _ = self.extra.remove(&pair),
                Some(more) => *more -= 1,
                None => {
                    gone.push(pair);
                    continue;
                }
            }
            fewer.push(pair);
        }
        fewer
    }

    /// Writes the counts of these pairs, of which each is named once. Tells which of them are there.
    fn count_again(&mut self, source: &Version, mut pairs: Vec<Pair>) -> Vec<Pair> {
        pairs.retain(|&(src, dst)| self.graph.version().has_edge(0, src, dst));
        let copies = pairs.iter().map(|pair| 1 + self.extra.get(pair).copied().unwrap_or(0));
        let ops = counted(&pairs, copies);
        self.graph.edit(source, DerivedEdit { ops, ..DerivedEdit::default() });
        pairs
    }

    /// Puts with the properties that they have in the log, and with no others; as if each were the only copy, where these are
    /// counted.
    fn puts(&self, puts: &[Put]) -> Result<EdgeOps, WindowError> {
        let pairs: Vec<Pair> = puts.iter().map(|put| put.pair).collect();
        if self.duplicates == Duplicates::Count {
            return Ok(counted(&pairs, pairs.iter().map(|_| 1)));
        }
        let [src, dst] = ends(&pairs);
        let mut columns = Vec::new();
        for (property, kind) in self.edge_type.properties() {
            let (mut values, mut are_null) = (Column::new(kind.kind), true);
            for put in puts {
                let column = put.logged.as_ref().and_then(|logged| logged.edges.column(property));
                let given = column.filter(|given| given.is_given(put.row as usize));
                let value = given.map_or(Value::Null, |given| given.values.get(put.row as usize));
                are_null &= value == Value::Null;
                values.push(value).map_err(|_| WindowError::PropertyChanged {
                    edge_type: self.edge_type.name.clone(),
                    property: kind.name.clone(),
                })?;
            }
            // An edge that replaces another replaces its properties as well.
            if !are_null || self.duplicates != Duplicates::Keep {
                columns.push(OpColumn { property, values, given: None });
            }
        }
        Ok(EdgeOps { src, dst, deletes: None, columns })
    }
}

/// Each pair once, in order.
fn unique(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Puts with so many copies each.
fn counted(pairs: &[Pair], copies: impl Iterator<Item = u32>) -> EdgeOps {
    let [src, dst] = ends(pairs);
    let mut values = Column::new(PropertyType::Int64);
    copies.for_each(|copies| values.push_bits(u64::from(copies)));
    EdgeOps { src, dst, deletes: None, columns: vec![OpColumn { property: 0, values, given: None }] }
}

/// Sources and destinations.
fn ends(pairs: &[Pair]) -> [Vec<u32>; 2] {
    [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()]
}

/// Deletes of these edges, then the puts.
fn with_deletes(gone: &[Pair], puts: EdgeOps) -> EdgeOps {
    if gone.is_empty() {
        return puts;
    }
    let [mut src, mut dst] = ends(gone);
    src.extend(puts.src);
    dst.extend(puts.dst);
    let deletes = Some((0..src.len()).map(|row| row < gone.len()).collect());
    let columns = puts.columns.into_iter().map(|column| {
        let mut values = Column::new(column.values.property_type());
        values.push_nulls(gone.len());
        // Columns of one type fit.
        let _ = values.append(&column.values);
        OpColumn { values, ..column }
    });
    EdgeOps { deletes, columns: columns.collect(), src, dst }
}
