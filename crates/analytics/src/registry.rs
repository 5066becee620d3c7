//! What algorithms there are, described once: the command line, the Python bindings and docs/algorithms.md are made from
//! this list. Each algorithm's file ends with its own entry.
//!
//! ```text
//!  algorithm("pagerank") ──► Algorithm { name, summary, arguments, ... }
//!                               .arguments[i].parse("0.9") ──► Value ──► Arguments ──► .run(view, ...) ──► Outcome
//! ```
//!
//! Invariant: names are unique; an argument without a default is required; every other may be left out.

use std::collections::BTreeMap;

use evergraph_types::VertexId;
use evergraph_view::{GraphView, WeightError, room_for_ids};

use crate::{AlgorithmError, Control, Weight};

/// An algorithm as users see it.
#[derive(Debug)]
pub struct Algorithm {
    /// The name in Rust, in Python and on the command line.
    pub name: &'static str,
    /// One line: what it finds.
    pub summary: &'static str,
    /// Work, in vertices V and edges E.
    pub complexity: &'static str,
    /// The paper the method is from, with the section.
    pub source: &'static str,
    /// What it takes besides the view.
    pub arguments: &'static [Argument],
    /// What it gives: columns first, then single values; the names of an [`Outcome`] in order.
    pub results: &'static [Field],
    pub(crate) run: fn(&dyn GraphView, &Arguments, Check, &Control) -> Result<Outcome, AlgorithmError>,
}

/// Algorithms that keep nothing for each vertex id, or a bit, but for what they come to: they run where arrays do not fit.
const LOCAL: [&str; 9] = [
    "k_hop",
    "local_cluster",
    "nibble",
    "shortest_path",
    "common_neighbors",
    "jaccard_coefficient",
    "adamic_adar_index",
    "resource_allocation_index",
    "preferential_attachment",
];

impl Algorithm {
    /// Runs it on a view, and the slow verifier on the result if `check` asks for it.
    pub fn run(
        &self,
        view: &dyn GraphView,
        arguments: &Arguments,
        check: Check,
        control: &Control,
    ) -> Result<Outcome, AlgorithmError> {
        self.require(arguments)?;
        if check == Check::Verify || !LOCAL.contains(&self.name) {
            room_for_ids(view.id_bound().into()).map_err(AlgorithmError::NoRoom)?;
        }
        (self.run)(view, arguments, check, control)
    }

    /// Refuses arguments that it does not know, that are of the wrong kind, or that are missing.
    pub(crate) fn require(&self, arguments: &Arguments) -> Result<(), AlgorithmError> {
        for (name, value) in &arguments.0 {
            let known = self.arguments.iter().find(|argument| argument.name == name);
            let names = || self.arguments.iter().map(|argument| argument.name).collect::<Vec<_>>().join(", ");
            let argument = known.ok_or_else(|| {
                invalid(name, format!("{} has no such argument; it has: {}", self.name, names()))
            })?;
            if !argument.kind.takes(value.kind()) {
                return Err(invalid(
                    name,
                    format!("a {:?} is wanted, not a {:?}", argument.kind, value.kind()),
                ));
            }
            match value {
                Value::Count(count) if *count > u64::from(u32::MAX) && argument.name != SEED.name => {
                    return Err(invalid(name, format!("{count} is more than 2^32 - 1, the most there is")));
                }
                _ => {}
            }
        }
        let missing =
            |argument: &&Argument| argument.default.is_none() && !arguments.0.contains_key(argument.name);
        match self.arguments.iter().find(missing) {
            Some(argument) => {
                Err(invalid(argument.name, format!("{} needs it: {}", self.name, argument.summary)))
            }
            None => Ok(()),
        }
    }
}

/// Whether a result is checked by the slow verifier before it is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Trust the algorithm.
    Skip,
    /// Run the verifier; a wrong result becomes [`AlgorithmError::WrongResult`].
    Verify,
}

/// An argument of an algorithm.
#[derive(Debug)]
pub struct Argument {
    /// Its name, NetworkX's where it has one.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it is when left out, in words; `None` if it must be given.
    pub default: Option<&'static str>,
    /// One line: what it means.
    pub summary: &'static str,
}

impl Argument {
    pub(crate) const fn required(name: &'static str, kind: Kind, summary: &'static str) -> Self {
        Argument { name, kind, default: None, summary }
    }

    pub(crate) const fn optional(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        summary: &'static str,
    ) -> Self {
        Argument { name, kind, default: Some(default), summary }
    }

    /// The value that a text stands for. Kinds that name vertices are not read here: whoever knows the keys does.
    pub fn parse(&self, text: &str) -> Result<Value, AlgorithmError> {
        let wrong = |wanted: &str| invalid(self.name, format!("{text:?} is not {wanted}"));
        match self.kind {
            Kind::Flag => text.parse().map(Value::Flag).map_err(|_| wrong("true or false")),
            Kind::Count => text.parse().map(Value::Count).map_err(|_| wrong("a whole number from 0")),
            Kind::Float | Kind::FloatOrWeights => {
                text.parse().map(Value::Float).map_err(|_| wrong("a number"))
            }
            Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::Vertex | Kind::Vertices | Kind::Weights => Err(wrong("a list of vertex ids")),
        }
    }
}

/// Which property of edges is their weight: every weighted algorithm takes it.
pub(crate) const WEIGHT: Argument = Argument::optional(
    "weight",
    Kind::Text,
    "weight",
    "the property of edges that is their weight, 1 where an edge has none; an empty name: 1 for all",
);

/// The same for algorithms that go by hops unless they are told otherwise.
pub(crate) const OPTIONAL_WEIGHT: Argument = Argument::optional(
    WEIGHT.name,
    Kind::Text,
    "none: every edge weighs 1",
    "the property of edges that is their weight, 1 where an edge has none",
);

/// Where random numbers begin: every algorithm that draws takes it.
pub(crate) const SEED: Argument = Argument::optional(
    "seed",
    Kind::Count,
    "0",
    "where random numbers begin: the same seed on the same graph gives the same result",
);

/// Against the edges: every search from a source takes it.
pub(crate) const REVERSE: Argument =
    Argument::optional("reverse", Kind::Flag, "false", "go against the edges of a directed view");

/// How far a breadth-first search goes.
pub(crate) const DEPTH_LIMIT: Argument =
    Argument::optional("depth_limit", Kind::Count, "none", "do not visit vertices more hops away than this");

/// When scores that are found by iteration are good enough.
pub(crate) const TOLERANCE: Argument = Argument::optional(
    "tol",
    Kind::Float,
    "1e-6",
    "converged when scores change by less than this per vertex on average",
);

/// What the last iteration over such scores tells.
pub(crate) const ERROR: Field =
    Field { name: "error", summary: "how much the last iteration changed the scores in all" };

/// What every algorithm that iterates tells.
pub(crate) const ITERATIONS: Field = Field { name: "iterations", summary: "iterations done" };

/// What every algorithm tells that iterates until changes are small.
pub(crate) const CONVERGED: Field =
    Field { name: "converged", summary: "whether the error fell below the tolerance" };

/// What an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Yes or no.
    Flag,
    /// A whole number.
    Count,
    /// A number.
    Float,
    /// A name.
    Text,
    /// One vertex.
    Vertex,
    /// One vertex or several.
    Vertices,
    /// A number per vertex id.
    Weights,
    /// A number for all vertices, or one per vertex id.
    FloatOrWeights,
}

impl Kind {
    /// Whether a value of another kind will do.
    fn takes(self, kind: Kind) -> bool {
        self == kind || (self == Kind::FloatOrWeights && matches!(kind, Kind::Float | Kind::Weights))
    }
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Float(f64),
    /// A name.
    Text(String),
    /// One vertex.
    Vertex(VertexId),
    /// One vertex or several.
    Vertices(Vec<VertexId>),
    /// A number per vertex id.
    Weights(Vec<f64>),
}

impl Value {
    /// What it is.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Flag(_) => Kind::Flag,
            Value::Count(_) => Kind::Count,
            Value::Float(_) => Kind::Float,
            Value::Text(_) => Kind::Text,
            Value::Vertex(_) => Kind::Vertex,
            Value::Vertices(_) => Kind::Vertices,
            Value::Weights(_) => Kind::Weights,
        }
    }
}

/// The arguments of one run, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(BTreeMap<String, Value>);

impl Arguments {
    /// None: everything by default.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more; a name given twice keeps the last value.
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        if let Some(Value::Flag(flag)) = self.0.get(name) { Some(*flag) } else { None }
    }

    /// A count; [`Algorithm::require`] refuses those of more than 32 bits.
    pub(crate) fn count(&self, name: &str) -> Option<u32> {
        self.seed(name).map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }

    pub(crate) fn float(&self, name: &str) -> Option<f64> {
        if let Some(Value::Float(number)) = self.0.get(name) { Some(*number) } else { None }
    }

    /// A whole number where all 64 bits count.
    pub(crate) fn seed(&self, name: &str) -> Option<u64> {
        if let Some(Value::Count(count)) = self.0.get(name) { Some(*count) } else { None }
    }

    /// The weight of edges of an algorithm that takes [`WEIGHT`].
    pub(crate) fn weight(&self) -> Weight {
        self.text(WEIGHT.name).map_or(Weight::Usual, |_| self.optional_weight())
    }

    /// The weight of edges of an algorithm that takes [`OPTIONAL_WEIGHT`].
    pub(crate) fn optional_weight(&self) -> Weight {
        self.weight_named(WEIGHT.name)
    }

    /// The weight of edges that an argument names; 1 for all if it is left out.
    pub(crate) fn weight_named(&self, name: &str) -> Weight {
        match self.text(name) {
            None | Some("") => Weight::One,
            Some(property) => Weight::Property(property.to_owned()),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        if let Some(Value::Text(text)) = self.0.get(name) { Some(text) } else { None }
    }

    /// The vertex of an argument that names one.
    pub(crate) fn vertex(&self, name: &str) -> Result<VertexId, AlgorithmError> {
        let given = if let Some(Value::Vertex(vertex)) = self.0.get(name) { Some(*vertex) } else { None };
        given.ok_or_else(|| invalid(name, "a vertex is wanted".to_owned()))
    }

    pub(crate) fn vertices(&self, name: &str) -> &[VertexId] {
        self.optional_vertices(name).unwrap_or_default()
    }

    /// The same where none given is something else than nothing given.
    pub(crate) fn optional_vertices(&self, name: &str) -> Option<&[VertexId]> {
        if let Some(Value::Vertices(vertices)) = self.0.get(name) { Some(vertices) } else { None }
    }

    pub(crate) fn weights(&self, name: &str) -> Option<&[f64]> {
        if let Some(Value::Weights(weights)) = self.0.get(name) { Some(weights) } else { None }
    }
}

/// A named part of a result.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// One line: what it means, and what stands for nothing.
    pub summary: &'static str,
}

/// A result in a form that needs no knowledge of the algorithm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What the rows of the columns stand for.
    pub rows: Rows,
    /// Values by row, equally many in each.
    pub columns: Vec<(&'static str, VertexColumn)>,
    /// Values of the whole graph.
    pub values: Vec<(&'static str, Scalar)>,
}

impl Outcome {
    pub(crate) fn by_vertex(
        columns: Vec<(&'static str, VertexColumn)>,
        values: Vec<(&'static str, Scalar)>,
    ) -> Self {
        Outcome { rows: Rows::ByVertex, columns, values }
    }

    pub(crate) fn listed(
        columns: Vec<(&'static str, VertexColumn)>,
        values: Vec<(&'static str, Scalar)>,
    ) -> Self {
        Outcome { rows: Rows::Listed, columns, values }
    }
}

/// What the rows of an [`Outcome`] are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    /// A row per vertex id; rows of ids that are not in the view mean nothing.
    #[default]
    ByVertex,
    /// A list, in an order that means something: a path, a walk, the members of a set. The columns say all there is.
    Listed,
}

/// One value per row.
#[derive(Clone, Debug, PartialEq)]
pub enum VertexColumn {
    /// Vertices; [`NO_VERTEX`](crate::NO_VERTEX) is null.
    Vertices(Vec<VertexId>),
    /// Whole numbers; `u32::MAX` is null.
    Counts(Vec<u32>),
    /// Numbers.
    Floats(Vec<f64>),
}

impl VertexColumn {
    /// How many rows it has.
    pub fn len(&self) -> usize {
        match self {
            VertexColumn::Vertices(values) => values.len(),
            VertexColumn::Counts(values) => values.len(),
            VertexColumn::Floats(values) => values.len(),
        }
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One value of the whole graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Float(f64),
}

/// All algorithms, in the order of a table of contents.
pub fn algorithms() -> &'static [&'static Algorithm] {
    static ALGORITHMS: [&Algorithm; 40] = [
        &crate::paths::bfs::ALGORITHM,
        &crate::paths::multi_source_bfs::ALGORITHM,
        &crate::paths::k_hop::ALGORITHM,
        &crate::paths::sssp::ALGORITHM,
        &crate::paths::bellman_ford::ALGORITHM,
        &crate::paths::shortest_path::ALGORITHM,
        &crate::paths::temporal_reachability::ALGORITHM,
        &crate::paths::diameter::ALGORITHM,
        &crate::structure::connected_components::ALGORITHM,
        &crate::structure::strongly_connected_components::ALGORITHM,
        &crate::structure::topological_sort::ALGORITHM,
        &crate::structure::topological_sort::FIND_CYCLE,
        &crate::ranking::pagerank::ALGORITHM,
        &crate::ranking::eigenvector_centrality::ALGORITHM,
        &crate::ranking::katz_centrality::ALGORITHM,
        &crate::ranking::hits::ALGORITHM,
        &crate::ranking::betweenness_centrality::ALGORITHM,
        &crate::ranking::closeness_centrality::ALGORITHM,
        &crate::ranking::degree_statistics::ALGORITHM,
        &crate::structure::triangle_count::ALGORITHM,
        &crate::structure::clustering::ALGORITHM,
        &crate::structure::clustering::LOCAL,
        &crate::structure::core_number::ALGORITHM,
        &crate::structure::core_number::K_CORE,
        &crate::communities::label_propagation::ALGORITHM,
        &crate::communities::louvain::ALGORITHM,
        &crate::communities::leiden::ALGORITHM,
        &crate::communities::local_cluster::ALGORITHM,
        &crate::communities::nibble::ALGORITHM,
        &crate::structure::maximal_independent_set::ALGORITHM,
        &crate::structure::maximal_matching::ALGORITHM,
        &crate::structure::greedy_color::ALGORITHM,
        &crate::structure::minimum_spanning_edges::ALGORITHM,
        &crate::pairs::link_prediction::COMMON_NEIGHBORS,
        &crate::pairs::link_prediction::JACCARD,
        &crate::pairs::link_prediction::ADAMIC_ADAR,
        &crate::pairs::link_prediction::RESOURCE_ALLOCATION,
        &crate::pairs::link_prediction::PREFERENTIAL_ATTACHMENT,
        &crate::paths::random_walk::ALGORITHM,
        &crate::paths::node2vec_walk::ALGORITHM,
    ];
    &ALGORITHMS
}

/// The algorithm of this name.
pub fn algorithm(name: &str) -> Option<&'static Algorithm> {
    algorithms().iter().copied().find(|algorithm| algorithm.name == name)
}

/// An argument that gives a number for each vertex, and a wrong one for this.
pub(crate) fn invalid_at(name: &str, vertex: VertexId, why: String) -> AlgorithmError {
    AlgorithmError::InvalidNumber { name: name.to_owned(), vertex, why }
}

/// An argument that names a property of edges, and one that does not do.
pub(crate) fn unfit_property(name: &str, error: &WeightError) -> AlgorithmError {
    AlgorithmError::UnfitProperty { name: name.to_owned(), why: error.to_string() }
}

pub(crate) fn invalid(name: &str, why: String) -> AlgorithmError {
    AlgorithmError::InvalidArgument { name: name.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_algorithms_are_in_the_registry() {
        assert!(LOCAL.iter().all(|name| algorithm(name).is_some()));
    }
}
