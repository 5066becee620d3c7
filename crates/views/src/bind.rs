//! A predicate against a schema: names become properties, and every comparison is one that can be made.
//!
//! Invariant: a test compares values of one class only, or nulls.

use evergraph_load::parse_timestamp;
use evergraph_types::{EdgeType, KeyKind, PropertyId, PropertyType, ScalarType, Schema, Value};

use crate::error::PredicateError;
use crate::predicate::{Condition, Operand, Predicate, Sign};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Constant(Value),
    /// The key of the vertex.
    Key,
    Property(PropertyId),
}

/// A condition that can be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
    Compare {
        left: Source,
        sign: Sign,
        right: Source,
    },
    In {
        source: Source,
        values: Vec<Value>,
    },
    IsNull(Source),
    Flag(Source),
    /// The type is one of these, by id.
    TypeIs(Vec<u16>),
    TypeIsNull,
}

/// What can be compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Number,
    Text,
    Flag,
    Time,
    /// Bytes and lists, which are there or not.
    Opaque,
    /// Of a store that has no vertex yet, or of a property that this edge type does not have.
    Unknown,
}

impl Class {
    fn of(kind: PropertyType) -> Self {
        match kind.as_scalar() {
            Some(ScalarType::Bool) => Class::Flag,
            Some(ScalarType::String) => Class::Text,
            Some(ScalarType::Timestamp | ScalarType::Date) => Class::Time,
            Some(scalar) if scalar.is_number() => Class::Number,
            _ => Class::Opaque,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::Number => "a number",
            Class::Text => "a string",
            Class::Flag => "a boolean",
            Class::Time => "a time",
            Class::Opaque => "bytes or a list",
            Class::Unknown => "a value",
        }
    }
}

/// An operand with its class.
#[derive(Clone, Debug)]
enum Bound {
    Value(Source, Class),
    Type,
}

/// What names mean.
enum Scope<'a> {
    Vertices(&'a Schema),
    Edges(&'a Schema, &'a EdgeType),
}

/// The test of a predicate over vertices.
pub(crate) fn bind_vertices(predicate: &Predicate, schema: &Schema) -> Result<Test, PredicateError> {
    Scope::Vertices(schema).bind(&predicate.condition)
}

/// The test of a predicate over edges, for each edge type.
pub(crate) fn bind_edges(predicate: &Predicate, schema: &Schema) -> Result<Vec<Test>, PredicateError> {
    let bind = |kind| Scope::Edges(schema, kind).bind(&predicate.condition);
    schema.edge_types.iter().map(bind).collect()
}

/// The properties that a test looks at.
pub(crate) fn properties_of(test: &Test, into: &mut Vec<PropertyId>) {
    let mut source = |source: &Source| {
        if let Source::Property(property) = source {
            into.push(*property);
        }
    };
    match test {
        Test::All(parts) | Test::Any(parts) => parts.iter().for_each(|part| properties_of(part, into)),
        Test::Not(part) => properties_of(part, into),
        Test::Compare { left, right, .. } => [left, right].into_iter().for_each(source),
        Test::In { source: of, .. } | Test::IsNull(of) | Test::Flag(of) => source(of),
        Test::TypeIs(_) | Test::TypeIsNull => {}
    }
}

impl Scope<'_> {
    fn bind(&self, condition: &Condition) -> Result<Test, PredicateError> {
        let all =
            |parts: &[Condition]| parts.iter().map(|part| self.bind(part)).collect::<Result<Vec<_>, _>>();
        Ok(match condition {
            Condition::All(parts) => Test::All(all(parts)?),
            Condition::Any(parts) => Test::Any(all(parts)?),
            Condition::Not(part) => Test::Not(Box::new(self.bind(part)?)),
            Condition::Compare { left, sign, right, at } => self.comparison(left, *sign, right, *at)?,
            Condition::In { operand, values } => self.choice(operand, values)?,
            Condition::IsNull { operand } => match self.operand(operand)? {
                Bound::Type => Test::TypeIsNull,
                Bound::Value(source, _) => Test::IsNull(source),
            },
            Condition::Flag(operand) => match self.operand(operand)? {
                Bound::Value(source, Class::Flag | Class::Unknown) => Test::Flag(source),
                other => {
                    return Err(mismatch(operand.at(), &other, "a condition", "compare it with a value"));
                }
            },
        })
    }

    fn comparison(
        &self,
        left: &Operand,
        sign: Sign,
        right: &Operand,
        at: usize,
    ) -> Result<Test, PredicateError> {
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        match (left, right) {
            (Bound::Type, Bound::Value(Source::Constant(Value::Text(name)), _))
            | (Bound::Value(Source::Constant(Value::Text(name)), _), Bound::Type) => {
                let test = Test::TypeIs(self.type_ids(&[name]));
                match sign {
                    Sign::Equal => Ok(test),
                    Sign::NotEqual => Ok(Test::Not(Box::new(test))),
                    _ => Err(mismatch(at, &Bound::Type, "a type by its order", "types are equal or not")),
                }
            }
            (left @ Bound::Type, right) | (left, right @ Bound::Type) => {
                Err(types(at, &left, &right, "a type is compared with a name, as type = 'Person'"))
            }
            (Bound::Value(left, left_class), Bound::Value(right, right_class)) => {
                let (left, right) = match_times(left, left_class, right, right_class);
                let (left_class, right_class) = (class_of(&left, left_class), class_of(&right, right_class));
                let unknown = left_class == Class::Unknown || right_class == Class::Unknown;
                if left_class != right_class && !unknown {
                    let hint = hint(left_class, right_class);
                    return Err(types(
                        at,
                        &Bound::Value(left, left_class),
                        &Bound::Value(right, right_class),
                        hint,
                    ));
                }
                if [left_class, right_class].contains(&Class::Opaque) {
                    let bound = Bound::Value(left, left_class);
                    return Err(mismatch(
                        at,
                        &bound,
                        "bytes or a list",
                        "these are null or not, and no more",
                    ));
                }
                if left_class == Class::Flag && !matches!(sign, Sign::Equal | Sign::NotEqual) {
                    let bound = Bound::Value(left, left_class);
                    return Err(mismatch(at, &bound, "a boolean by its order", "booleans are equal or not"));
                }
                Ok(Test::Compare { left, sign, right })
            }
        }
    }

    fn choice(&self, operand: &Operand, values: &[Operand]) -> Result<Test, PredicateError> {
        let bound = self.operand(operand)?;
        let mut constants = Vec::with_capacity(values.len());
        for value in values {
            let Operand::Literal { value, at } = value else { continue };
            let at = *at;
            let literal = Source::Constant(value.clone());
            let class = class_of(&literal, Class::Unknown);
            match &bound {
                Bound::Type if class == Class::Text => constants.push(value.clone()),
                Bound::Type => {
                    return Err(types(at, &bound, &Bound::Value(literal, class), "types are names"));
                }
                Bound::Value(source, wanted) => {
                    let (_, literal) = match_times(source.clone(), *wanted, literal, class);
                    let class = class_of(&literal, class);
                    if class != *wanted && *wanted != Class::Unknown {
                        return Err(types(at, &bound, &Bound::Value(literal, class), hint(*wanted, class)));
                    }
                    constants.extend(match literal {
                        Source::Constant(value) => Some(value),
                        _ => None,
                    });
                }
            }
        }
        Ok(match bound {
            Bound::Value(source, _) => Test::In { source, values: constants },
            Bound::Type => {
                let names = constants.into_iter().filter_map(|value| match value {
                    Value::Text(name) => Some(name),
                    _ => None,
                });
                Test::TypeIs(self.type_ids(&names.collect::<Vec<_>>()))
            }
        })
    }

    /// The ids of the types of these names; a name that no type has stands for none.
    fn type_ids(&self, names: &[String]) -> Vec<u16> {
        match self {
            Scope::Vertices(schema) => names.iter().filter_map(|name| schema.vertex_type(name)).collect(),
            Scope::Edges(schema, _) => {
                names.iter().filter_map(|name| schema.edge_type(name).map(|(id, _)| id)).collect()
            }
        }
    }

    fn operand(&self, operand: &Operand) -> Result<Bound, PredicateError> {
        let (name, quoted, at) = match operand {
            Operand::Literal { value, .. } => {
                let source = Source::Constant(value.clone());
                let class = class_of(&source, Class::Unknown);
                return Ok(Bound::Value(source, class));
            }
            Operand::Name { name, quoted, at } => (name, *quoted, *at),
        };
        let found = self.property(name, at)?;
        match (found, self) {
            (Some(bound), _) if quoted => Ok(bound),
            (_, Scope::Vertices(schema)) if name == "id" => {
                let class = match schema.key_kind {
                    Some(KeyKind::Int64 | KeyKind::Dense) => Class::Number,
                    Some(KeyKind::Text) => Class::Text,
                    None => Class::Unknown,
                };
                Ok(Bound::Value(Source::Key, class))
            }
            _ if name == "type" => Ok(Bound::Type),
            (Some(bound), _) => Ok(bound),
            (None, _) => Err(self.unknown(name, at)),
        }
    }

    /// A property, if there is one of this name.
    fn property(&self, name: &str, at: usize) -> Result<Option<Bound>, PredicateError> {
        match self {
            Scope::Vertices(schema) => Ok(schema
                .vertex_property(name)
                .map(|(id, property)| Bound::Value(Source::Property(id), Class::of(property.kind)))),
            Scope::Edges(schema, kind) => {
                let mut owners = schema.edge_types.iter().filter_map(|owner| {
                    let (_, property) = owner.property(name)?;
                    Some((owner, property.kind))
                });
                let Some((first, first_kind)) = owners.next() else { return Ok(None) };
                if let Some((second, second_kind)) =
                    owners.find(|(_, kind)| Class::of(*kind) != Class::of(first_kind))
                {
                    return Err(PredicateError::Ambiguous {
                        at,
                        name: name.to_owned(),
                        first_type: first.name.clone(),
                        first: first_kind,
                        second_type: second.name.clone(),
                        second: second_kind,
                    });
                }
                let source =
                    kind.property(name).map_or(Source::Constant(Value::Null), |(id, _)| Source::Property(id));
                Ok(Some(Bound::Value(source, Class::of(first_kind))))
            }
        }
    }

    fn unknown(&self, name: &str, at: usize) -> PredicateError {
        let (owner, always, all): (_, _, Vec<_>) = match self {
            Scope::Vertices(schema) => (
                "vertices",
                "\"id\" and \"type\"",
                schema.live_vertex_properties().map(|(_, property)| property).collect(),
            ),
            Scope::Edges(schema, _) => {
                let all = schema.live_edge_types().flat_map(|(_, kind)| kind.properties());
                ("edges", "\"type\"", all.map(|(_, property)| property).collect())
            }
        };
        let mut known: Vec<String> = all.into_iter().map(|property| property.name.clone()).collect();
        known.sort_unstable();
        known.dedup();
        PredicateError::UnknownProperty { at, owner, name: name.to_owned(), known, always }
    }
}

/// A string constant that stands beside a time becomes one, if it says one.
fn match_times(left: Source, left_class: Class, right: Source, right_class: Class) -> (Source, Source) {
    let as_time = |source: Source, wanted: bool| match source {
        Source::Constant(Value::Text(text)) if wanted => match parse_timestamp(text.as_bytes()) {
            Some(micros) => Source::Constant(Value::Timestamp(micros)),
            None => Source::Constant(Value::Text(text)),
        },
        source => source,
    };
    (as_time(left, right_class == Class::Time), as_time(right, left_class == Class::Time))
}

/// The class of a constant by its value; of anything else the class known.
fn class_of(source: &Source, known: Class) -> Class {
    match source {
        Source::Constant(value) => value.property_type().map_or(known, Class::of),
        _ => known,
    }
}

fn hint(left: Class, right: Class) -> &'static str {
    match (left, right) {
        (Class::Time, _) | (_, Class::Time) => {
            "a time is written as '2024-05-01' or timestamp '2024-05-01T12:30:00Z'"
        }
        (Class::Text, Class::Number) | (Class::Number, Class::Text) => {
            "strings are in single quotes, numbers are not"
        }
        _ => "both sides are numbers, or strings, or booleans, or times",
    }
}

fn shown(bound: &Bound) -> String {
    match bound {
        Bound::Type => "the type".to_owned(),
        Bound::Value(Source::Constant(value), _) => evergraph_types::shown(value),
        Bound::Value(_, class) => class.name().to_owned(),
    }
}

fn types(at: usize, left: &Bound, right: &Bound, hint: &str) -> PredicateError {
    PredicateError::Types { at, left: shown(left), right: shown(right), hint: hint.to_owned() }
}

fn mismatch(at: usize, found: &Bound, wanted: &str, hint: &str) -> PredicateError {
    PredicateError::Types { at, left: shown(found), right: wanted.to_owned(), hint: hint.to_owned() }
}
