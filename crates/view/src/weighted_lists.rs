//! Neighbor lists with a number beside each neighbor: a property of edges as their weight.
//!
//! ```text
//!  neighbors   3     7     7     9          the lists of the selected edge types, one after the other,
//!  weights    0.5   2.0   1.0   1.0         each with its own column; 1 where an edge has no value
//! ```
//!
//! The weight of a timestamp is the number of its microseconds since 1970, and that of a date is that of its midnight.
//!
//! Invariant: `neighbors` and `weights` of a [`WeightedList`] have the same length, and so have `remainders` where they are
//! kept.

use evergraph_types::{Column, Direction, EdgeTypeId, PropertyId, PropertyType, VertexId};
use thiserror::Error;

use crate::selection::Selection;

/// The weight of an edge that has no value, as in NetworkX.
const DEFAULT_WEIGHT: f64 = 1.0;

/// Why a property cannot be the weight of edges.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WeightError {
    /// No edge type of the view has it.
    #[error("no edge type of this view has a property {property:?}; they have: {known}")]
    UnknownProperty {
        /// The name asked for.
        property: String,
        /// The names of the properties that are numbers.
        known: String,
    },
    /// It is not a number.
    #[error(
        "property {property:?} of edge type {edge_type:?} is of type {kind}; \
         an integer, a float, a timestamp or a date is wanted"
    )]
    NotANumber {
        /// The name asked for.
        property: String,
        /// The edge type whose property it is.
        edge_type: String,
        /// The type of the property.
        kind: &'static str,
    },
}

/// Neighbors and the weights of the edges to them: what [`WeightedLists::append`] appends to, made once and used again.
#[derive(Clone, Debug)]
pub struct WeightedList {
    /// The neighbors.
    pub neighbors: Vec<VertexId>,
    /// The weight of the edge to each.
    pub weights: Vec<f64>,
    /// What each weight has above the double that it was rounded to; of an [exact](WeightedList::exact) list only.
    pub remainders: Vec<i16>,
    is_exact: bool,
    /// Values on their way from a column of the store.
    column: Option<Column>,
    /// The weight of edges that have no value.
    missing: f64,
}

impl Default for WeightedList {
    /// Empty; edges without a value weigh 1.
    fn default() -> Self {
        Self::with_missing(DEFAULT_WEIGHT)
    }
}

impl WeightedList {
    /// Empty; edges without a value get this weight.
    pub fn with_missing(missing: f64) -> Self {
        let (neighbors, weights, remainders) = (Vec::new(), Vec::new(), Vec::new());
        WeightedList { neighbors, weights, remainders, is_exact: false, column: None, missing }
    }

    /// The same that keeps remainders, for those who compare whole numbers beyond 2^53.
    pub fn exact(missing: f64) -> Self {
        WeightedList { is_exact: true, ..Self::with_missing(missing) }
    }

    /// Makes up for the remainders of weights that were not rounded.
    pub(crate) fn fill_remainders(&mut self) {
        if self.is_exact {
            self.remainders.resize(self.weights.len(), 0);
        }
    }

    /// Removes all, and keeps the memory.
    pub fn clear(&mut self) {
        self.neighbors.clear();
        self.weights.clear();
        self.remainders.clear();
    }

    /// The edges.
    pub fn iter(&self) -> impl Iterator<Item = (VertexId, f64)> + '_ {
        self.neighbors.iter().copied().zip(self.weights.iter().copied())
    }
}

/// The lists of a view with weights, vertex by vertex: for point queries as they are, for whole-graph work to be laid
/// out once.
pub trait WeightedLists: Send + Sync {
    /// Appends the neighbors of a vertex in one direction, and the weights of the edges to them. Each edge of
    /// [`for_each_slice`](crate::GraphView::for_each_slice) comes once, in the same order.
    fn append(&self, direction: Direction, vertex: VertexId, into: &mut WeightedList);
}

/// The lists of some edge types of a version, and the property of each that is its weight.
#[derive(Debug)]
pub(crate) struct SelectedWeights<'a> {
    selection: &'a Selection,
    properties: Vec<(EdgeTypeId, Option<(PropertyId, PropertyType)>)>,
}

impl<'a> SelectedWeights<'a> {
    pub(crate) fn new(selection: &'a Selection, property: &str) -> Result<Self, WeightError> {
        let mut properties = Vec::new();
        for (edge_type, owner) in selection.edge_types() {
            let found = owner.property(property).map(|(id, declared)| (id, declared.kind));
            if let Some((_, kind)) = found.filter(|(_, kind)| !is_weight(*kind)) {
                let (property, edge_type) = (property.to_owned(), owner.name.clone());
                return Err(WeightError::NotANumber { property, edge_type, kind: kind.name() });
            }
            properties.push((edge_type, found));
        }
        if properties.iter().all(|(_, found)| found.is_none()) && !properties.is_empty() {
            return Err(unknown(selection, property));
        }
        Ok(SelectedWeights { selection, properties })
    }
}

/// Integers, floats, and the microseconds of timestamps and dates.
fn is_weight(kind: PropertyType) -> bool {
    kind.is_number() || kind == PropertyType::Timestamp || kind == PropertyType::Date
}

fn unknown(selection: &Selection, property: &str) -> WeightError {
    let all = selection.edge_types().flat_map(|(_, owner)| owner.properties().map(|(_, property)| property));
    let mut names: Vec<&str> =
        all.filter(|other| is_weight(other.kind)).map(|other| other.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let known = if names.is_empty() { "no number".to_owned() } else { names.join(", ") };
    WeightError::UnknownProperty { property: property.to_owned(), known }
}

impl WeightedLists for SelectedWeights<'_> {
    fn append(&self, direction: Direction, vertex: VertexId, into: &mut WeightedList) {
        for &(edge_type, property) in &self.properties {
            self.selection.for_each_run(edge_type, direction, vertex, |run, rows| {
                let neighbors = run.neighbors();
                match rows {
                    None => into.neighbors.extend_from_slice(neighbors),
                    Some(rows) => into.neighbors.extend(rows.iter().map(|&row| neighbors[row])),
                }
                let Some((property, kind)) = property else {
                    into.weights.resize(into.neighbors.len(), into.missing);
                    return into.fill_remainders();
                };
                let column = into.column.get_or_insert_with(|| Column::new(kind));
                if column.property_type() != kind {
                    *column = Column::new(kind);
                }
                match rows {
                    None => run.copy_rows(property, 0..neighbors.len(), column),
                    Some(rows) => run.copy_rows(property, rows.iter().copied(), column),
                }
                column.append_floats(into.missing, &mut into.weights);
                if into.is_exact {
                    column.append_remainders(&mut into.remainders);
                }
                column.clear();
            });
        }
    }
}
