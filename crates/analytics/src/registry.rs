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
use evergraph_view::GraphView;

use crate::{AlgorithmError, Control};

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
    /// What it gives: columns of vertex values first, then single values; the names of an [`Outcome`] in order.
    pub results: &'static [Field],
    pub(crate) run: fn(&dyn GraphView, &Arguments, Check, &Control) -> Result<Outcome, AlgorithmError>,
}

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
        (self.run)(view, arguments, check, control)
    }

    /// Refuses arguments that it does not know, that are of the wrong kind, or that are missing.
    fn require(&self, arguments: &Arguments) -> Result<(), AlgorithmError> {
        for (name, value) in &arguments.0 {
            let known = self.arguments.iter().find(|argument| argument.name == name);
            let names = || self.arguments.iter().map(|argument| argument.name).collect::<Vec<_>>().join(", ");
            let argument = known.ok_or_else(|| {
                invalid(name, format!("{} has no such argument; it has: {}", self.name, names()))
            })?;
            if argument.kind != value.kind() {
                return Err(invalid(
                    name,
                    format!("a {:?} is wanted, not a {:?}", argument.kind, value.kind()),
                ));
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
    /// The value that a text stands for. Kinds that name vertices are not read here: whoever knows the keys does.
    pub fn parse(&self, text: &str) -> Result<Value, AlgorithmError> {
        let wrong = |wanted: &str| invalid(self.name, format!("{text:?} is not {wanted}"));
        match self.kind {
            Kind::Flag => text.parse().map(Value::Flag).map_err(|_| wrong("true or false")),
            Kind::Count => text.parse().map(Value::Count).map_err(|_| wrong("a whole number from 0")),
            Kind::Float => text.parse().map(Value::Float).map_err(|_| wrong("a number")),
            Kind::Vertices | Kind::Weights => Err(wrong("a list of vertex ids")),
        }
    }
}

/// What an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Yes or no.
    Flag,
    /// A whole number.
    Count,
    /// A number.
    Float,
    /// One vertex or several.
    Vertices,
    /// A number per vertex id.
    Weights,
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

    /// A count, capped where the algorithm counts in 32 bits.
    pub(crate) fn count(&self, name: &str) -> Option<u32> {
        if let Some(Value::Count(count)) = self.0.get(name) {
            Some(u32::try_from(*count).unwrap_or(u32::MAX))
        } else {
            None
        }
    }

    pub(crate) fn float(&self, name: &str) -> Option<f64> {
        if let Some(Value::Float(number)) = self.0.get(name) { Some(*number) } else { None }
    }

    pub(crate) fn vertices(&self, name: &str) -> &[VertexId] {
        if let Some(Value::Vertices(vertices)) = self.0.get(name) { vertices } else { &[] }
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
    /// A value per vertex id; rows of ids that are not in the view mean nothing.
    pub columns: Vec<(&'static str, VertexColumn)>,
    /// Values of the whole graph.
    pub values: Vec<(&'static str, Scalar)>,
}

/// One value per vertex id.
#[derive(Clone, Debug, PartialEq)]
pub enum VertexColumn {
    /// Vertices; [`NO_VERTEX`](crate::NO_VERTEX) is null.
    Vertices(Vec<VertexId>),
    /// Whole numbers; `u32::MAX` is null.
    Counts(Vec<u32>),
    /// Numbers.
    Floats(Vec<f64>),
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
    static ALGORITHMS: [&Algorithm; 4] = [
        &crate::bfs::ALGORITHM,
        &crate::connected_components::ALGORITHM,
        &crate::pagerank::ALGORITHM,
        &crate::triangle_count::ALGORITHM,
    ];
    &ALGORITHMS
}

/// The algorithm of this name.
pub fn algorithm(name: &str) -> Option<&'static Algorithm> {
    algorithms().iter().copied().find(|algorithm| algorithm.name == name)
}

pub(crate) fn invalid(name: &str, why: String) -> AlgorithmError {
    AlgorithmError::InvalidArgument { name: name.to_owned(), why }
}
