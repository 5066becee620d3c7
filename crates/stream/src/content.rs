//! What is in a window: a derived graph, to which an advance is one edit.
//!
//! ```text
//!  kept duplicates    leaving ─► expired       deleted ─► deleted       entering ─► put
//!  one edge a pair    all of them ─► by pair of ends ─► copies before and after ─► one delete, one put or nothing
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

/// Lists of so many pairs are asked for before they are searched.
const PAIRS_AT_A_TIME: usize = 1 << 6;

/// About so many moves are a task.
const MOVES_PER_TASK: usize = 1 << 12;

/// What an advance does with edges.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Pairs of which every copy before is deleted.
    pub(crate) deleted: Vec<Pair>,
    /// Pairs of which the oldest copy leaves, as often as named.
    pub(crate) leaving: Vec<Pair>,
    /// The last place on the axis that is not in the window any more.
    pub(crate) start: i64,
    /// Copies that enter, in the order of the axis.
    pub(crate) entering: Vec<Put>,
}

/// What becomes of a pair, in the order in which it does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    Delete,
    Leave,
    Enter(u32),
}

/// What becomes of a pair that is one edge.
struct Outcome {
    pair: Pair,
    /// Copies before and after.
    copies: [u32; 2],
    /// Whose properties it takes over.
    latest: Option<u32>,
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
        let edit = match self.duplicates {
            Duplicates::Keep => self.move_copies(moves)?,
            _ => self.move_edges(&moves)?,
        };
        self.graph.edit(source, edit);
        Ok(())
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
    fn move_copies(&mut self, moves: Moves) -> Result<DerivedEdit, WindowError> {
        let Moves { mut deleted, leaving, start, entering } = moves;
        deleted.sort_unstable();
        deleted.dedup();
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
        let ops = self.puts(entering.iter())?;
        Ok(DerivedEdit { expired: ends(&leaving), oldest, deleted: ends(&deleted), ops })
    }

    /// One edge for all copies.
    fn move_edges(&mut self, moves: &Moves) -> Result<DerivedEdit, WindowError> {
        let mut steps: Vec<(Pair, Move)> = moves.deleted.iter().map(|&pair| (pair, Move::Delete)).collect();
        steps.extend(moves.leaving.iter().map(|&pair| (pair, Move::Leave)));
        steps.extend((0..).zip(&moves.entering).map(|(place, put)| (put.pair, Move::Enter(place))));
        steps.par_sort_unstable();
        let outcomes: Vec<Vec<Outcome>> =
            whole_pairs(&steps).into_par_iter().map(|steps| self.outcomes(steps, moves)).collect();
        let (mut gone, mut come, mut counts) = (Vec::new(), Vec::new(), Column::new(PropertyType::Int64));
        let mut entering = Vec::new();
        for Outcome { pair, copies: [before, after], latest } in outcomes.into_iter().flatten() {
            match (before, after) {
                (0 | 1, 0 | 1) => {}
                (_, 0 | 1) => _ = self.extra.remove(&pair),
                _ => _ = self.extra.insert(pair, after - 1),
            }
            if let Some(followed) = &mut self.followed {
                followed.deleted.extend((before > 0).then_some(pair));
                followed.inserted.extend((after > 0).then_some(pair));
            }
            if after == 0 {
                gone.extend((before > 0).then_some(pair));
            } else if self.duplicates == Duplicates::Count {
                if before != after {
                    come.push(pair);
                    counts.push_bits(u64::from(after));
                }
            } else {
                entering.extend(latest.and_then(|place| moves.entering.get(place as usize)));
            }
        }
        let puts = if self.duplicates == Duplicates::Count {
            let [src, dst] = ends(&come);
            let columns = vec![OpColumn { property: 0, values: counts, given: None }];
            EdgeOps { src, dst, deletes: None, columns }
        } else {
            self.puts(entering.into_iter())?
        };
        Ok(DerivedEdit { ops: with_deletes(&gone, puts), ..DerivedEdit::default() })
    }

    /// What these moves come to, which are sorted by pair.
    fn outcomes(&self, steps: &[(Pair, Move)], moves: &Moves) -> Vec<Outcome> {
        let of_pairs: Vec<&[(Pair, Move)]> = steps.chunk_by(|left, right| left.0 == right.0).collect();
        let mut outcomes = Vec::with_capacity(of_pairs.len());
        for of_pairs in of_pairs.chunks(PAIRS_AT_A_TIME) {
            let searched = of_pairs.iter().map(|of_pair| of_pair[0]).filter(|step| step.1 != Move::Leave);
            self.graph.version().prefetch_searches(0, searched.map(|step| step.0));
            outcomes.extend(of_pairs.iter().map(|of_pair| self.outcome(of_pair, moves)));
        }
        outcomes
    }

    /// What these moves, all of one pair, come to.
    fn outcome(&self, of_pair: &[(Pair, Move)], moves: &Moves) -> Outcome {
        let pair = of_pair.first().map_or((0, 0), |&(pair, _)| pair);
        let version = self.graph.version();
        // What leaves is there.
        let mut is_there = matches!(of_pair.first(), Some((_, Move::Leave)));
        let mut time = i64::MIN;
        match self.by_time.filter(|_| self.duplicates == Duplicates::Drop) {
            Some(property) => version.for_each_edge_between(0, pair.0, pair.1, |run, row| {
                (is_there, time) = (true, run.value(property, row).time().unwrap_or(i64::MIN));
            }),
            None => is_there = is_there || version.has_edge(0, pair.0, pair.1),
        }
        let before = if is_there { 1 + self.extra.get(&pair).copied().unwrap_or(0) } else { 0 };
        let (mut copies, mut latest) = (before, None);
        for (_, step) in of_pair {
            match *step {
                Move::Delete => (copies, time) = (0, i64::MIN),
                Move::Leave => copies = copies.saturating_sub(1),
                Move::Enter(place) => {
                    copies += 1;
                    latest = Some(place);
                }
            }
        }
        let at = latest.and_then(|place| moves.entering.get(place as usize)).map(|put| put.at);
        let latest = latest.filter(|_| self.by_time.is_none() || at >= Some(time));
        Outcome { pair, copies: [before, copies], latest }
    }

    /// Puts with the properties that they have in the log, and with no others.
    fn puts<'a>(&self, puts: impl Iterator<Item = &'a Put> + Clone) -> Result<EdgeOps, WindowError> {
        let pairs: Vec<Pair> = puts.clone().map(|put| put.pair).collect();
        let [src, dst] = ends(&pairs);
        let mut columns = Vec::new();
        for (property, kind) in self.edge_type.properties() {
            let (mut values, mut are_null) = (Column::new(kind.kind), true);
            for put in puts.clone() {
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

/// The moves, which are sorted by pair, in parts of which none divides a pair.
fn whole_pairs(mut steps: &[(Pair, Move)]) -> Vec<&[(Pair, Move)]> {
    let mut parts = Vec::new();
    while let Some((last, _)) = steps.get(MOVES_PER_TASK) {
        let same = steps[MOVES_PER_TASK..].iter().take_while(|(pair, _)| pair == last).count();
        let (part, rest) = steps.split_at(MOVES_PER_TASK + same);
        parts.push(part);
        steps = rest;
    }
    parts.push(steps);
    parts
}

/// Sources and destinations.
fn ends(pairs: &[Pair]) -> [Vec<u32>; 2] {
    [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()]
}

/// Deletes of these edges, then the puts, which are of others.
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
