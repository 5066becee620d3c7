//! Predicates: conditions on the properties of vertices or edges, as a text and as the tree it says.
//!
//! ```text
//!  predicate  = all { "or" all }                          age >= 30 and (city = 'Palo Alto' or city is null)
//!  all        = one { "and" one }                         type in ('Person', 'Robot') and not retired
//!  one        = "not" one | "(" predicate ")"             joined < timestamp '2024-05-01T12:00:00Z'
//!             | operand [ sign operand
//!                       | "is" ["not"] "null"
//!                       | ["not"] "in" "(" literal { "," literal } ")" ]
//!  operand    = name | literal         sign = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">="
//!  literal    = 'text' | number | "true" | "false" | "timestamp" 'text'
//! ```
//!
//! Invariant: a tree is at most [`MAX_DEPTH`] deep, so that recursion over it is bounded.

use std::fmt;

use evergraph_types::Value;

use crate::error::PredicateError;
use crate::parse::parse;

/// How deep conditions may be nested.
pub(crate) const MAX_DEPTH: usize = 64;

/// A predicate that parses. Whether its names and types are right is found out against a schema, when it is used.
///
/// ```
/// use evergraph_views::Predicate;
///
/// let predicate: Predicate = "city = 'Palo Alto' and age >= 30".parse()?;
/// assert_eq!(predicate.source(), "city = 'Palo Alto' and age >= 30");
/// assert!("age >=".parse::<Predicate>().is_err());
/// # Ok::<(), evergraph_views::PredicateError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    source: String,
    pub(crate) condition: Condition,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Compare {
        left: Operand,
        sign: Sign,
        right: Operand,
        at: usize,
    },
    In {
        operand: Operand,
        values: Vec<Operand>,
    },
    IsNull {
        operand: Operand,
    },
    /// An operand that is true or false itself.
    Flag(Operand),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Something that has a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Name { name: String, quoted: bool, at: usize },
    Literal { value: Value, at: usize },
}

impl Operand {
    pub(crate) fn at(&self) -> usize {
        match self {
            Operand::Name { at, .. } | Operand::Literal { at, .. } => *at,
        }
    }
}

impl Predicate {
    /// The text it was made of.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl std::str::FromStr for Predicate {
    type Err = PredicateError;

    fn from_str(source: &str) -> Result<Self, PredicateError> {
        Ok(Predicate { source: source.to_owned(), condition: parse(source)? })
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}
