//! A store that is opened to be strict takes only what was declared, and says what there is.

use crate::common::number_batch;
use evergraph_store::{CommitError, Options, Store};
use evergraph_types::{
    Alteration, Column, EdgeBatch, EdgeTypeOptions, Property, PropertyOwner, PropertyType, SchemaError, Value,
};

fn strict() -> Store {
    let store = Store::in_memory(Options { strict: true, ..Options::default() });
    let amount = Property { name: "amount".to_owned(), kind: PropertyType::Int64 };
    let pays = EdgeTypeOptions { properties: vec![amount], ..EdgeTypeOptions::default() };
    store.create_edge_type("pays", pays).expect("it fits");
    store.create_vertex_type("Person", &[("age", PropertyType::Int64)]).expect("it fits");
    store
}

fn with(name: &str) -> EdgeBatch {
    EdgeBatch { columns: vec![(name.to_owned(), Column::from(vec![1]))], ..number_batch([(1, 2)]) }
}

#[test]
fn what_was_not_declared_is_refused_with_what_may_be_meant() {
    let store = strict();
    let before = store.version().expect("open").schema().clone();
    let mut load = store.bulk_load("payz", None);
    load.add(vec![number_batch([(1, 2)])]).expect("memory holds it");
    let one = Value::from(1);
    for (write, told) in [
        (
            store.put_edge(1, 2, "payz", &[]).map(drop),
            "no edge type \"payz\"; the store has [\"pays\"], and \"pays\" may",
        ),
        (
            store.put_edge(1, 2, "likes", &[]).map(drop),
            "no edge type \"likes\"; the store has [\"pays\"]. create",
        ),
        (
            store.put_edge(1, 2, "pays", &[("amonut", one.clone())]).map(drop),
            "pays has no property \"amonut\"; it has [\"amount\"], and",
        ),
        (
            store.put_edge(1, 2, "pays", &[("amonut", Value::Null)]).map(drop),
            "pays has no property \"amonut\"",
        ),
        (
            store.put_vertex(1, Some("Persn"), &[]).map(drop),
            "no vertex type \"Persn\"; the store has [\"Person\"], and",
        ),
        (
            store.put_vertex(1, None, &[("agee", one.clone())]).map(drop),
            "vertex has no property \"agee\"; it has [\"age\"], and",
        ),
        (store.add_edges("payz", vec![number_batch([(1, 2)])]).map(drop), "no edge type \"payz\""),
        (store.add_edges("pays", vec![with("amonut")]).map(drop), "pays has no property \"amonut\""),
        (load.commit(&[]).map(drop), "no edge type \"payz\""),
    ] {
        match write {
            Err(CommitError::Schema(
                error @ (SchemaError::UnknownEdgeType { .. }
                | SchemaError::UnknownVertexType { .. }
                | SchemaError::UnknownProperty { .. }),
            )) => assert!(error.to_string().starts_with(told), "{error}"),
            other => panic!("{told}: {other:?}"),
        }
    }
    let after = store.version().expect("open");
    assert_eq!((after.schema(), after.num_vertices()), (&before, 0));
}

#[test]
fn what_was_declared_is_taken_and_so_are_declarations() {
    let store = strict();
    store.put_edge(1, 2, "pays", &[("amount", Value::from(1))]).expect("declared");
    store.put_vertex(1, Some("Person"), &[("age", Value::from(30))]).expect("declared");
    store.add_edges("pays", vec![with("amount"), number_batch([(2, 3)])]).expect("declared");
    let owner = PropertyOwner::EdgeType("pays".to_owned());
    let note = Alteration::AddProperty { owner, name: "note".to_owned(), kind: PropertyType::Int64 };
    store.alter(&note).expect("a declaration");
    store.add_edges("pays", vec![with("note")]).expect("declared");
    let mut tx = store.begin().expect("open");
    tx.create_edge_type("likes", EdgeTypeOptions::default()).expect("a declaration");
    tx.put_edge(3, 4, "likes", &[]).expect("declared before");
    tx.commit().expect("no conflict");
    store
        .add_edges_as("owes", EdgeTypeOptions::default(), vec![number_batch([(1, 2)])])
        .expect("declared by it");
    let refused = store.add_edges_as("lends", EdgeTypeOptions::default(), vec![with("amount")]);
    assert!(matches!(refused, Err(CommitError::Schema(SchemaError::UnknownProperty { .. }))), "{refused:?}");
    let types = store.version().expect("open").schema().live_edge_types().count();
    assert_eq!(types, 3);
}
