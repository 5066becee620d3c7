//! Predicates over columns against a naive evaluation row by row, and texts that are none.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::BTreeMap;

use evergraph_store::{Options, Store};
use evergraph_types::{EdgeTypeOptions, Property, PropertyType, Value};
use evergraph_view::{GraphView, Snapshot};
use evergraph_views::{EvaluateError, Predicate, PredicateError, ViewError, ViewRequest, Views};
use proptest::prelude::*;

type Row = BTreeMap<&'static str, Value>;

/// A condition as the naive evaluation sees it.
#[derive(Clone, Debug)]
enum Tree {
    Compare(&'static str, &'static str, Value),
    Pair(&'static str, &'static str, &'static str),
    In(&'static str, Vec<Value>, bool),
    IsNull(&'static str, bool),
    Flag,
    TypeIs(&'static str, bool),
    Not(Box<Tree>),
    All(Vec<Tree>),
    Any(Vec<Tree>),
}

fn literal(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Timestamp(0) => "timestamp '1970-01-01'".to_owned(),
        Value::Timestamp(micros) => format!("'1970-01-01T00:00:00.{micros:06}Z'"),
        Value::Float(number) => format!("{number:?}"),
        other => other.to_string(),
    }
}

impl Tree {
    fn text(&self) -> String {
        let join = |parts: &[Tree], word: &str| {
            let parts: Vec<String> = parts.iter().map(|part| format!("({})", part.text())).collect();
            parts.join(word)
        };
        match self {
            Tree::Compare(name, sign, value) => format!("{name} {sign} {}", literal(value)),
            Tree::Pair(left, sign, right) => format!("{left}{sign}{right}"),
            Tree::In(name, values, negated) => {
                let values: Vec<String> = values.iter().map(literal).collect();
                format!("{name} {}in ({})", if *negated { "NOT " } else { "" }, values.join(", "))
            }
            Tree::IsNull(name, negated) => format!("{name} is {}null", if *negated { "not " } else { "" }),
            Tree::Flag => "flag".to_owned(),
            Tree::TypeIs(name, negated) => format!("type {} '{name}'", if *negated { "!=" } else { "=" }),
            Tree::Not(part) => format!("not ({})", part.text()),
            Tree::All(parts) => join(parts, " and "),
            Tree::Any(parts) => join(parts, " OR "),
        }
    }

    fn holds(&self, row: &Row) -> Option<bool> {
        let value = |name: &str| row.get(name).cloned().unwrap_or(Value::Null);
        match self {
            Tree::Compare(name, sign, wanted) => compare(&value(name), sign, wanted),
            Tree::Pair(left, sign, right) => compare(&value(left), sign, &value(right)),
            Tree::In(name, values, negated) => {
                let found = value(name);
                if found == Value::Null {
                    return None;
                }
                let any = values.iter().any(|wanted| compare(&found, "=", wanted) == Some(true));
                Some(any != *negated)
            }
            Tree::IsNull(name, negated) => Some((value(name) == Value::Null) != *negated),
            Tree::Flag => match value("flag") {
                Value::Bool(flag) => Some(flag),
                _ => None,
            },
            Tree::TypeIs(name, negated) => match value("type") {
                Value::Text(found) => Some((found == *name) != *negated),
                _ => None,
            },
            Tree::Not(part) => part.holds(row).map(|holds| !holds),
            Tree::All(parts) => {
                let all: Vec<_> = parts.iter().map(|part| part.holds(row)).collect();
                if all.contains(&Some(false)) {
                    Some(false)
                } else {
                    all.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
                }
            }
            Tree::Any(parts) => {
                let all: Vec<_> = parts.iter().map(|part| part.holds(row)).collect();
                if all.contains(&Some(true)) {
                    Some(true)
                } else {
                    all.into_iter().collect::<Option<Vec<_>>>().map(|_| false)
                }
            }
        }
    }
}

/// Numbers are small here, so that doubles are exact.
fn compare(left: &Value, sign: &str, right: &Value) -> Option<bool> {
    let number = |value: &Value| match value {
        Value::Int(number) | Value::Timestamp(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        _ => None,
    };
    let order = match (left, right) {
        (Value::Null, _) | (_, Value::Null) => return None,
        (Value::Text(left), Value::Text(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        _ => number(left).unwrap().partial_cmp(&number(right).unwrap()),
    };
    Some(match sign {
        "=" | "==" => order.is_some_and(|order| order.is_eq()),
        "!=" | "<>" => !order.is_some_and(|order| order.is_eq()),
        "<" => order.is_some_and(|order| order.is_lt()),
        "<=" => order.is_some_and(|order| order.is_le()),
        ">" => order.is_some_and(|order| order.is_gt()),
        _ => order.is_some_and(|order| order.is_ge()),
    })
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![(-3i64..4).prop_map(Value::Int), (-6i64..8).prop_map(|half| Value::Float(half as f64 / 2.0))]
}

fn text() -> impl Strategy<Value = Value> {
    "[ab'é]{0,2}".prop_map(Value::Text)
}

fn sign() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["=", "==", "!=", "<>", "<", "<=", ">", ">="])
}

fn tree() -> impl Strategy<Value = Tree> {
    let name = prop::sample::select(vec!["age", "score"]);
    let leaf = prop_oneof![
        (name.clone(), sign(), number()).prop_map(|(name, sign, value)| Tree::Compare(name, sign, value)),
        (sign(), text()).prop_map(|(sign, value)| Tree::Compare("name", sign, value)),
        (sign(), 0i64..3).prop_map(|(sign, at)| Tree::Compare("joined", sign, Value::Timestamp(at))),
        (sign(), -1i64..12).prop_map(|(sign, id)| Tree::Compare("id", sign, Value::Int(id))),
        any::<bool>().prop_map(|flag| Tree::Compare("flag", "=", Value::Bool(flag))),
        sign().prop_map(|sign| Tree::Pair("age", sign, "score")),
        (prop::collection::vec(text(), 1..4), any::<bool>())
            .prop_map(|(all, not)| Tree::In("name", all, not)),
        (name, prop::collection::vec(number(), 1..4), any::<bool>())
            .prop_map(|(name, all, not)| Tree::In(name, all, not)),
        (prop::sample::select(vec!["age", "name", "flag", "joined", "type", "id"]), any::<bool>())
            .prop_map(|(name, not)| Tree::IsNull(name, not)),
        Just(Tree::Flag),
        (prop::sample::select(vec!["Person", "Robot", "Nobody"]), any::<bool>())
            .prop_map(|(name, not)| Tree::TypeIs(name, not)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|part| Tree::Not(Box::new(part))),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::All),
            prop::collection::vec(inner, 1..4).prop_map(Tree::Any),
        ]
    })
}

fn row() -> impl Strategy<Value = Row> {
    let of = |name: &'static str, value: BoxedStrategy<Value>| {
        prop::option::weighted(0.8, value.prop_map(move |value| (name, value)))
    };
    (
        of("age", (-3i64..4).prop_map(Value::Int).boxed()),
        of(
            "score",
            prop_oneof![
                (-6i64..8).prop_map(|half| Value::Float(half as f64 / 2.0)),
                Just(Value::Float(f64::NAN))
            ]
            .boxed(),
        ),
        of("name", text().boxed()),
        of("flag", any::<bool>().prop_map(Value::Bool).boxed()),
        of("joined", (0i64..3).prop_map(Value::Timestamp).boxed()),
        of("type", prop::sample::select(vec!["Person", "Robot"]).prop_map(Value::from).boxed()),
    )
        .prop_map(|(a, b, c, d, e, f)| [a, b, c, d, e, f].into_iter().flatten().collect())
}

fn declare(store: &Store) {
    let properties = [
        ("age", PropertyType::Int64),
        ("score", PropertyType::Float64),
        ("name", PropertyType::String),
        ("flag", PropertyType::Bool),
        ("joined", PropertyType::Timestamp),
    ];
    store.create_vertex_type("Person", &properties).unwrap();
    store.create_vertex_type("Robot", &[]).unwrap();
    let properties = properties.map(|(name, kind)| Property { name: name.to_owned(), kind }).to_vec();
    let multi = EdgeTypeOptions { multi: true, properties, ..EdgeTypeOptions::default() };
    store.create_edge_type("Person", multi.clone()).unwrap();
    store.create_edge_type("Robot", EdgeTypeOptions { symmetric: true, ..multi }).unwrap();
}

fn where_vertices(views: &Views, text: &str) -> Result<Snapshot, ViewError> {
    let request = ViewRequest { vertices_where: Some(text.to_owned()), ..ViewRequest::default() };
    let view = views.create("v", &request)?;
    let shown = view.latest()?.snapshot();
    view.drop_view()?;
    Ok(shown)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn vertices_are_those_a_naive_reading_keeps(
        rows in prop::collection::vec(row(), 1..12), trees in prop::collection::vec(tree(), 8),
    ) {
        let store = Store::in_memory(Options::default());
        declare(&store);
        for (id, row) in rows.iter().enumerate() {
            let label = row.get("type").map(|label| match label {
                Value::Text(text) => text.clone(),
                _ => String::new(),
            });
            let properties: Vec<(&str, Value)> =
                row.iter().filter(|(name, _)| **name != "type").map(|(name, value)| (*name, value.clone())).collect();
            store.put_vertex(id as i64, label.as_deref(), &properties).unwrap();
        }
        let views = Views::new(store);
        for tree in trees {
            let shown = where_vertices(&views, &tree.text()).unwrap_or_else(|error| panic!("{}: {error}", tree.text()));
            for (id, row) in rows.iter().enumerate() {
                let mut row = row.clone();
                row.insert("id", Value::Int(id as i64));
                let expected = tree.holds(&row) == Some(true);
                prop_assert_eq!(shown.vertex_id(id as i64).is_some(), expected, "{} of {:?}", tree.text(), row);
            }
        }
    }

    #[test]
    fn edges_are_those_a_naive_reading_keeps(
        rows in prop::collection::vec((0i64..3, 0i64..3, row()), 1..12), trees in prop::collection::vec(tree(), 8),
    ) {
        let store = Store::in_memory(Options::default());
        declare(&store);
        let named = rows.iter().map(|(src, dst, row)| {
            let mut row = row.clone();
            row.entry("type").or_insert(Value::from("Person"));
            (*src, *dst, row)
        });
        let rows: Vec<_> = named.collect();
        for (src, dst, row) in &rows {
            let Value::Text(kind) = &row["type"] else { continue };
            let properties: Vec<(&str, Value)> =
                row.iter().filter(|(name, _)| **name != "type").map(|(name, value)| (*name, value.clone())).collect();
            store.put_edge(*src, *dst, kind, &properties).unwrap();
        }
        let views = Views::new(store);
        for tree in trees.into_iter().filter(|tree| !tree.text().contains("id ")) {
            let request = ViewRequest { edges_where: Some(tree.text()), ..ViewRequest::default() };
            let view = views.create("e", &request).unwrap();
            let shown = view.latest().unwrap().snapshot();
            view.drop_view().unwrap();
            let kept: Vec<_> = rows.iter().filter(|(_, _, row)| tree.holds(row) == Some(true)).collect();
            prop_assert_eq!(shown.num_edges(), kept.len() as u64, "{}", tree.text());
            let ends: std::collections::BTreeSet<i64> = kept.iter().flat_map(|(src, dst, _)| [*src, *dst]).collect();
            prop_assert_eq!(shown.num_vertices(), ends.len() as u64);
            let amounts = kept.iter().map(|(_, _, row)| row.get("age").cloned());
            let mut expected: Vec<String> = amounts.map(|age| format!("{age:?}")).collect();
            let between = (0..3).flat_map(|src| (0..3).map(move |dst| (src, dst)));
            let mut found: Vec<String> = between
                .flat_map(|(src, dst)| {
                    let mut edges = shown.edges_between(src, dst, Some("Person"));
                    if src <= dst {
                        edges.extend(shown.edges_between(src, dst, Some("Robot")));
                    }
                    edges
                })
                .map(|edge| {
                    let age = edge.properties.iter().find(|(name, _)| name == "age");
                    format!("{:?}", age.map(|(_, value)| value.clone()))
                })
                .collect();
            expected.sort();
            found.sort();
            prop_assert_eq!(found, expected, "{}", tree.text());
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}", words in prop::collection::vec(
        prop::sample::select(vec!["age", "type", "id", "and", "or", "not", "in", "is", "null", "(", ")", "=", "<", ",",
            "'x'", "1", "-2.5", "true", "timestamp", "'2024-01-01'", "\"age\"", "flag", "name", "joined"]), 0..14)) {
        let store = Store::in_memory(Options::default());
        declare(&store);
        store.put_vertex(1, Some("Person"), &[]).unwrap();
        let views = Views::new(store);
        for text in [text, words.join(" ")] {
            if let Err(error) = where_vertices(&views, &text) {
                prop_assert!(matches!(error, ViewError::Evaluate(EvaluateError::Predicate(_))), "{error}");
            }
        }
    }
}

/// Pages of 64 vertices are read as a whole where each has a value, of all vertices or of those that the parts before left.
#[test]
fn full_pages_and_others_are_read_alike() {
    let store = Store::in_memory(Options::default());
    declare(&store);
    for id in 0..400i64 {
        let (age, name) = (id % 7, format!("n{}", id % 5));
        let score = if id < 200 { Value::Float(id as f64) } else { Value::Null };
        let properties = [("age", age.into()), ("name", name.as_str().into()), ("score", score)];
        // One page with a null, one with a gap, and one that is not full.
        store.put_vertex(id, Some("Person"), if id == 150 { &properties[1..] } else { &properties }).unwrap();
    }
    store.delete_vertex(70).unwrap();
    let views = Views::new(store);
    let there = |id: &i64| *id != 70;
    let aged = |id: i64| id != 150;
    type Naive<'a> = &'a dyn Fn(i64) -> bool;
    let cases: [(&str, Naive<'_>); 5] = [
        ("age = 0", &|id| aged(id) && id % 7 == 0),
        ("age >= 3 and id < 250 and age < 6", &|id| aged(id) && id < 250 && (3..6).contains(&(id % 7))),
        ("id >= 100 and age is null", &|id| !aged(id)),
        ("age = 2 and name = 'n3' and score > 20 and type = 'Person'", &|id| {
            aged(id) && id % 7 == 2 && id % 5 == 3 && id > 20 && id < 200
        }),
        ("name in ('n1', 'n2') and not score <= 90", &|id| [1, 2].contains(&(id % 5)) && id > 90 && id < 200),
    ];
    for (text, naive) in cases {
        let shown = where_vertices(&views, text).unwrap();
        let found: Vec<i64> = (0..400).filter(|&id| shown.vertex_id(id).is_some()).collect();
        assert_eq!(found, (0..400).filter(there).filter(|&id| naive(id)).collect::<Vec<_>>(), "{text}");
    }
}

fn refused(text: &str) -> String {
    let store = Store::in_memory(Options::default());
    declare(&store);
    store.put_vertex(1, Some("Person"), &[]).unwrap();
    where_vertices(&Views::new(store), text).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn errors_say_where_and_what_would_do() {
    let cases = [
        (
            "age >",
            "the predicate does not parse at byte 5: a value or a property is expected here, not the end",
        ),
        ("age > 3)", "byte 7: 'and', 'or' or the end is expected here, not ')'"),
        ("age = null", "byte 6: nothing is equal to null; write 'is null'"),
        (
            "agee > 3",
            "vertices have no property \"agee\" (byte 0 of the predicate); they have [\"age\", \"flag\"",
        ),
        ("age = '3'", "compares a number with \"3\" at byte 4: strings are in single quotes"),
        ("joined > 5", "a time is written as '2024-05-01'"),
        ("joined > 'soon'", "a time is written as '2024-05-01'"),
        ("timestamp 'soon' < joined", "'soon' is no time"),
        ("age", "compares a number with a condition at byte 0: compare it with a value"),
        ("flag < true", "booleans are equal or not"),
        ("type < 'Person'", "types are equal or not"),
        ("type = 3", "a type is compared with a name"),
        ("age in (1, 'x')", "compares a number with \"x\" at byte 11"),
        ("age not 3", "'in' is expected here, not 3"),
        ("name in (age)", "a value is expected here, not the property \"age\""),
        ("", "a condition is expected here, not the end"),
    ];
    for (text, expected) in cases {
        let message = refused(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
    let deep = "(".repeat(100) + "age = 1" + &")".repeat(100);
    assert!(matches!(deep.parse::<Predicate>(), Err(PredicateError::TooDeep { .. })));
    let flat = vec!["age = 1"; 10_000].join(" or ");
    assert!(flat.parse::<Predicate>().is_ok());
}
