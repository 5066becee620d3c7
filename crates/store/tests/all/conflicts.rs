//! First committer wins: every pair of writes by two transactions that began at the same time, and what follows from
//! it for counters, skewed writes, schemas and retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{HookedDisk, directory, dump, number_batch, on, open, options};
use evergraph_disk::SimDisk;
use evergraph_store::{
    CommitError, Contested, Isolation, Options, SchemaPart, Store, Transaction, TransactionOptions, Version,
};
use evergraph_types::{
    Alteration, Direction, EdgeTypeOptions, Key, KeyRef, PropertyOwner, PropertyType, SchemaError, Value,
};

/// One write, done to a transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    PutEdge(&'static str, &'static str, &'static str),
    DeleteEdge(&'static str, &'static str, &'static str),
    /// With a property.
    PutVertex(&'static str),
    /// With nothing: only so that it is there.
    EnsureVertex(&'static str),
    DeleteVertex(&'static str),
}

use Op::{DeleteEdge, DeleteVertex, EnsureVertex, PutEdge, PutVertex};

impl Op {
    fn run(self, transaction: &mut Transaction) {
        match self {
            PutEdge(src, dst, edge_type) => {
                transaction.put_edge(src, dst, edge_type, &[("at", 7.into())]).expect("it fits");
            }
            DeleteEdge(src, dst, edge_type) => {
                assert!(transaction.delete_edge(src, dst, edge_type).expect("it fits"), "{self:?}");
            }
            PutVertex(key) => transaction.put_vertex(key, None, &[("age", 4.into())]).expect("it fits"),
            EnsureVertex(key) => transaction.put_vertex(key, None, &[]).expect("it fits"),
            DeleteVertex(key) => assert!(transaction.delete_vertex(key).expect("it fits"), "{self:?}"),
        }
    }
}

/// Vertices a, b and c; an edge of each type from a to b, and of the symmetric one from b to c.
fn store() -> Store {
    let store = Store::in_memory(options());
    let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
    store.create_edge_type("pays", multi).expect("it fits");
    let symmetric = EdgeTypeOptions { symmetric: true, ..EdgeTypeOptions::default() };
    store.create_edge_type("meets", symmetric).expect("it fits");
    for edge_type in ["knows", "pays", "meets"] {
        store.put_edge("a", "b", edge_type, &[("at", 1.into())]).expect("it fits");
    }
    store.put_edge("b", "c", "meets", &[]).expect("it fits");
    store.put_vertex("c", None, &[("age", 3.into())]).expect("it fits");
    store
}

/// Whether the second of two writes is refused.
fn conflict(first: Op, second: Op) -> bool {
    let store = store();
    let (mut one, mut two) = (store.begin().expect("open"), store.begin().expect("open"));
    first.run(&mut one);
    second.run(&mut two);
    one.commit().expect("nothing stands against the first");
    let before = store.version().expect("open");
    match two.commit() {
        Ok(sequence) => {
            assert_eq!(sequence, before.sequence() + 1);
            false
        }
        Err(CommitError::Conflict { sequence, .. }) => {
            assert_eq!(sequence, before.sequence(), "it names the commit that came first");
            let after = store.version().expect("open");
            assert_eq!((after.sequence(), after.id_bound()), (before.sequence(), before.id_bound()));
            assert_eq!(dump(&after), dump(&before));
            true
        }
        Err(error) => panic!("{first:?} then {second:?}: {error}"),
    }
}

const KNOWS: Op = PutEdge("a", "b", "knows");
const UNKNOWS: Op = DeleteEdge("a", "b", "knows");
const PAYS: Op = PutEdge("a", "b", "pays");
const UNPAYS: Op = DeleteEdge("a", "b", "pays");
const MEETS: Op = PutEdge("a", "b", "meets");
const MEETS_BACK: Op = PutEdge("b", "a", "meets");

#[test]
fn the_second_of_two_writes_to_one_thing_is_refused() {
    let refused = [
        (KNOWS, KNOWS),
        (KNOWS, UNKNOWS),
        (UNKNOWS, KNOWS),
        (UNKNOWS, UNKNOWS),
        (MEETS, MEETS_BACK),
        (MEETS_BACK, DeleteEdge("a", "b", "meets")),
        (PAYS, UNPAYS),
        (UNPAYS, UNPAYS),
        (PutVertex("a"), PutVertex("a")),
        (PutVertex("a"), DeleteVertex("a")),
        (DeleteVertex("a"), PutVertex("a")),
        (DeleteVertex("a"), DeleteVertex("a")),
        // A vertex goes with its edges.
        (KNOWS, DeleteVertex("a")),
        (KNOWS, DeleteVertex("b")),
        (PAYS, DeleteVertex("b")),
        (UNKNOWS, DeleteVertex("a")),
        (PutEdge("c", "b", "knows"), DeleteVertex("b")),
        (DeleteVertex("a"), KNOWS),
        (DeleteVertex("b"), KNOWS),
        (DeleteVertex("b"), PAYS),
        (DeleteVertex("a"), MEETS_BACK),
        (DeleteVertex("c"), PutEdge("a", "c", "knows")),
        (DeleteVertex("a"), UNKNOWS),
        (DeleteVertex("b"), UNPAYS),
        // Also if the other end of the edge is new.
        (DeleteVertex("a"), PutEdge("a", "new", "knows")),
        (DeleteVertex("a"), PutEdge("new", "a", "knows")),
        (DeleteVertex("a"), PutEdge("a", "new", "pays")),
        (DeleteVertex("a"), PutEdge("new", "a", "pays")),
        (DeleteVertex("a"), PutEdge("a", "new", "meets")),
        (DeleteVertex("a"), PutEdge("new", "a", "meets")),
        (PutEdge("a", "new", "pays"), DeleteVertex("a")),
        (PutEdge("new", "a", "meets"), DeleteVertex("a")),
        // Both bring the vertex or the edge.
        (PutVertex("new"), PutVertex("new")),
        (PutEdge("new", "a", "knows"), PutEdge("new", "a", "knows")),
    ];
    for (first, second) in refused {
        assert!(conflict(first, second), "{first:?} then {second:?}");
    }
}

#[test]
fn writes_to_different_things_both_commit() {
    let fine = [
        (KNOWS, PutEdge("b", "a", "knows")),
        (KNOWS, PAYS),
        (KNOWS, PutVertex("a")),
        (PutVertex("a"), KNOWS),
        (PutVertex("a"), UNKNOWS),
        (EnsureVertex("a"), KNOWS),
        (EnsureVertex("a"), EnsureVertex("a")),
        (EnsureVertex("a"), PutVertex("a")),
        (PutVertex("a"), EnsureVertex("a")),
        (EnsureVertex("a"), DeleteVertex("a")),
        (DeleteVertex("a"), EnsureVertex("a")),
        // Every append is an edge of its own.
        (PAYS, PAYS),
        (UNPAYS, PAYS),
        (KNOWS, DeleteVertex("c")),
        (DeleteVertex("c"), KNOWS),
        (DeleteVertex("a"), DeleteVertex("b")),
        // Both bring the vertex, and neither says anything of it.
        (PutEdge("new", "a", "knows"), PutEdge("new", "b", "knows")),
        (PutEdge("a", "new", "knows"), EnsureVertex("new")),
        (DeleteVertex("a"), PutEdge("b", "new", "knows")),
        (PutEdge("new", "a", "pays"), PutEdge("new", "a", "pays")),
    ];
    for (first, second) in fine {
        assert!(!conflict(first, second), "{first:?} then {second:?}");
    }
}

#[test]
fn a_key_two_transactions_bring_is_one_vertex() {
    let store = store();
    let (mut one, mut two) = (store.begin().expect("open"), store.begin().expect("open"));
    one.put_edge("new", "a", "knows", &[]).expect("it fits");
    two.put_edge("new", "b", "knows", &[]).expect("it fits");
    two.put_vertex("newer", None, &[]).expect("it fits");
    one.commit().expect("the first");
    two.commit().expect("another edge");
    let version = store.version().expect("open");
    let id = version.vertex_id("new".into()).expect("a vertex");
    assert_eq!(
        version.neighbors(0, Direction::Out, id).len() + version.neighbors(2, Direction::Out, id).len(),
        2
    );
    assert_eq!((version.num_vertices(), version.id_bound()), (5, 5));
    dump(&version);
}

/// A deletion of a vertex that moved its edges elsewhere and a deletion of one of these edges: if both committed, the
/// moved edge would outlive its deletion.
#[test]
fn an_edge_deleted_while_its_vertex_is_replaced_is_not_lost_sight_of() {
    let store = store();
    let (mut moving, mut deleting) = (store.begin().expect("open"), store.begin().expect("open"));
    for neighbor in moving.neighbors("a", "knows", Direction::Out).expect("a vertex") {
        moving.put_edge("successor", &neighbor, "knows", &[]).expect("it fits");
    }
    moving.delete_vertex("a").expect("it fits");
    deleting.delete_edge("a", "b", "knows").expect("it fits");
    moving.commit().expect("the first");
    assert!(matches!(deleting.commit(), Err(CommitError::Conflict { .. })));
}

#[test]
fn a_bulk_load_stands_against_writes_to_its_type_and_deletions_of_vertices() {
    for on_disk in [false, true] {
        let second: [(Op2, bool); 5] = [
            (|tx| drop(tx.put_edge(7, 8, "bulk", &[])), true),
            (|tx| drop(tx.delete_edge(1, 2, "bulk")), true),
            (|tx| drop(tx.delete_vertex(1)), true),
            (|tx| drop(tx.put_edge(7, 8, "other", &[])), false),
            (|tx| drop(tx.put_vertex(7, None, &[("age", 1.into())])), false),
        ];
        for (number, (op, refused)) in second.into_iter().enumerate() {
            let options = Options { bulk_edges: 5000, ..options() };
            let store = if on_disk { open(&SimDisk::new(0), options) } else { Store::in_memory(options) };
            store.put_edge(1, 2, "bulk", &[]).expect("it fits");
            store.put_edge(1, 2, "other", &[]).expect("it fits");
            let mut transaction = store.begin().expect("open");
            op(&mut transaction);
            let edges = (0..5000).map(|row| (row % 70, 100 + row));
            store.add_edges("bulk", vec![number_batch(edges)]).expect("it fits");
            let outcome = transaction.commit();
            let bulk = Contested::Edges { key: None, edge_type: "bulk".to_owned() };
            let is_refused = matches!(&outcome, Err(CommitError::Conflict { what, .. }) if *what == bulk);
            assert_eq!(is_refused, refused, "{number}: {outcome:?}");
            assert_eq!(outcome.is_ok(), !refused);
        }
    }
}

type Op2 = fn(&mut Transaction);

/// What a transaction that did `second` is told if another did `first` meanwhile.
fn contested(first: impl Fn(&mut Transaction), second: impl Fn(&mut Transaction)) -> Contested {
    let store = store();
    let isolation = Isolation::Serializable;
    let mut two = store.begin_with(TransactionOptions { isolation, timeout: None }).expect("open");
    second(&mut two);
    let mut one = store.begin().expect("open");
    first(&mut one);
    let won = one.commit().expect("nothing stands against the first");
    let error = two.commit().expect_err("it is late");
    let message = error.to_string();
    let CommitError::Conflict { what, sequence } = error else { panic!("{error}") };
    assert_eq!(sequence, won);
    let told = format!("commit {won} changed {what} after this transaction began; run the transaction again");
    assert_eq!(message, told);
    what
}

#[test]
fn a_conflict_names_what_it_is_about() {
    let cases = [
        (KNOWS, UNKNOWS, r#"edge "a" -> "b" of type "knows""#),
        (MEETS_BACK, MEETS, r#"edge "a" -> "b" of type "meets""#),
        (PutVertex("a"), PutVertex("a"), r#"vertex "a""#),
        (PutVertex("new"), PutVertex("new"), r#"vertex "new""#),
        (DeleteVertex("b"), PAYS, r#"vertex "b""#),
        (DeleteVertex("a"), PutEdge("new", "a", "knows"), r#"vertex "a""#),
        (PAYS, DeleteVertex("b"), r#"edges of type "pays" of vertex "b""#),
    ];
    for (first, second, told) in cases {
        let what = contested(|tx| first.run(tx), |tx| second.run(tx));
        assert_eq!(what.to_string(), told, "{first:?} then {second:?}");
    }
    let (key, edge_type) = (Key::from("b"), "pays".to_owned());
    assert_eq!(
        contested(|tx| KNOWS.run(tx), |tx| UNKNOWS.run(tx)),
        Contested::Edge { src: "a".into(), dst: key.clone(), edge_type: "knows".to_owned() }
    );
    let read = |tx: &mut Transaction| {
        assert!(tx.neighbors("b", "pays", Direction::In).is_some());
        PutVertex("c").run(tx);
    };
    assert_eq!(contested(|tx| PAYS.run(tx), read), Contested::Edges { key: Some(key), edge_type });
    // It may have been a neighbor.
    let deleted = Contested::Vertex { key: "a".into() };
    assert_eq!(contested(|tx| DeleteVertex("a").run(tx), read), deleted);
}

#[test]
fn a_conflict_over_the_schema_names_what_of_it() {
    let named = |name: &str| name.to_owned();
    let put = |edge_type: &'static str, property: &'static str| {
        move |tx: &mut Transaction| {
            tx.put_edge("a", "b", edge_type, &[(property, 1.into())]).expect("it fits")
        }
    };
    let likes = SchemaPart::EdgeType { name: named("likes") };
    let new_type = Contested::Schema { parts: vec![likes.clone()] };
    assert_eq!(new_type.to_string(), r#"the schema, namely edge type "likes","#);
    assert_eq!(contested(put("likes", "x"), put("hates", "x")), new_type);
    let looked = |tx: &mut Transaction| {
        assert!(!tx.has_edge("a", "b", "likes"));
        PutVertex("c").run(tx);
    };
    assert_eq!(contested(put("likes", "x"), looked), new_type);
    let since = SchemaPart::Property { owner: PropertyOwner::EdgeType(named("knows")), name: named("since") };
    let new_property = Contested::Schema { parts: vec![since] };
    assert_eq!(contested(put("knows", "since"), put("pays", "until")), new_property);
    assert_eq!(new_property.to_string(), r#"the schema, namely property "since" of edge type "knows","#);
    let height =
        |tx: &mut Transaction| tx.put_vertex("a", Some("Person"), &[("height", 2.into())]).expect("it fits");
    let parts = vec![
        SchemaPart::VertexType { name: named("Person") },
        SchemaPart::Property { owner: PropertyOwner::Vertices, name: named("height") },
    ];
    assert_eq!(contested(height, put("likes", "x")), Contested::Schema { parts });
    let rename = |tx: &mut Transaction| {
        let (name, new_name) = (named("pays"), named("paid"));
        tx.alter(&Alteration::RenameEdgeType { name, new_name }).expect("it is there");
    };
    let parts = vec![SchemaPart::EdgeType { name: named("pays") }];
    assert_eq!(contested(rename, looked), Contested::Schema { parts });
}

fn age(transaction: &Transaction, key: &str) -> i64 {
    let found = transaction.vertex(key).expect("a vertex").properties;
    match found.into_iter().find(|(name, _)| name == "age") {
        Some((_, Value::Int(age))) => age,
        other => panic!("{other:?}"),
    }
}

/// Threads count, each so many times and with so many retries; tells how often one gave up.
fn count(store: &Store, threads: usize, times: i64, retries: u32) -> usize {
    store.put_vertex("counter", None, &[("age", 0.into())]).expect("it fits");
    let failed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..times {
                    let counted = store.transact(retries, |transaction| {
                        let next = age(transaction, "counter") + 1;
                        transaction.put_vertex("counter", None, &[("age", next.into())])?;
                        Ok::<(), CommitError>(())
                    });
                    match counted {
                        Ok(()) => {}
                        Err(CommitError::Conflict { .. }) => drop(failed.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    assert_eq!(age(&store.begin().expect("open"), "counter"), threads as i64 * times - failed as i64);
    failed
}

#[test]
fn no_update_is_lost() {
    assert_eq!(count(&Store::in_memory(options()), 4, 100, 10_000), 0);
}

/// As many retries as Python's default, which the documentation of `transact` tells to be enough.
#[test]
fn those_who_contend_for_one_thing_all_get_through_on_a_slow_disk() {
    let disk = HookedDisk::slow(on(&SimDisk::new(0)), Duration::from_millis(1));
    let store = Store::open_on(disk, directory(), options()).expect("a good disk");
    assert_eq!(count(&store, 16, 20, 32), 0);
}

/// Snapshot isolation allows this one anomaly: each transaction writes what the other one only read.
#[test]
fn skewed_writes_both_commit() {
    let store = store();
    store.put_vertex("a", None, &[("age", 1.into())]).expect("it fits");
    let (mut one, mut two) = (store.begin().expect("open"), store.begin().expect("open"));
    let sum = age(&one, "a") + age(&one, "c");
    assert_eq!(sum, age(&two, "a") + age(&two, "c"));
    one.put_vertex("a", None, &[("age", (-sum).into())]).expect("it fits");
    two.put_vertex("c", None, &[("age", (-sum).into())]).expect("it fits");
    one.commit().expect("the first");
    two.commit().expect("another vertex");
}

#[test]
fn operations_of_their_own_never_conflict() {
    let store = store();
    let (mut open_one, mut other) = (store.begin().expect("open"), store.begin().expect("open"));
    open_one.put_edge("a", "b", "knows", &[]).expect("it fits");
    other.delete_vertex("a").expect("it fits");
    std::thread::scope(|scope| {
        for thread in 0..4i64 {
            let store = &store;
            scope.spawn(move || {
                for turn in 0..50i64 {
                    let given = [("at", Value::Int(thread * 100 + turn))];
                    store.put_edge("a", "b", "knows", &given).expect("blind");
                    store.put_edge("a", "b", "pays", &given).expect("blind");
                    store.put_vertex("c", None, &[("age", turn.into())]).expect("blind");
                    store.delete_edge("a", "b", "meets").expect("blind");
                    store
                        .put_edge("b", "a", "meets", &[(["p", "q", "r", "s"][thread as usize], turn.into())])
                        .expect("blind, also where the schema grows");
                    if turn % 10 == 0 {
                        store.delete_vertex("c").expect("blind");
                    }
                }
            });
        }
    });
    let version = store.version().expect("open");
    let pays = version.schema().edge_type("pays").expect("a type").0;
    assert_eq!(version.num_edges(pays), 201);
    assert!(matches!(open_one.commit(), Err(CommitError::Conflict { .. })));
    assert!(matches!(other.commit(), Err(CommitError::Conflict { .. })));
}

#[test]
fn a_transaction_that_only_read_commits() {
    let store = store();
    let reading = store.begin().expect("open");
    let sequence = reading.version().sequence();
    store.delete_vertex("a").expect("it fits");
    assert!(reading.has_vertex("a") && reading.has_edge("a", "b", "knows"));
    assert_eq!(reading.commit().expect("nothing to commit"), sequence);
}

fn names(version: &Arc<Version>) -> Vec<String> {
    version.schema().edge_types.iter().map(|kind| kind.name.clone()).collect()
}

#[test]
fn schemas_that_grow_in_two_places_are_one_after_the_other() {
    let store = store();
    let (mut one, mut two, mut three) =
        (store.begin().expect("open"), store.begin().expect("open"), store.begin().expect("open"));
    one.create_edge_type("likes", EdgeTypeOptions::default()).expect("it fits");
    one.put_edge("a", "c", "likes", &[]).expect("it fits");
    // The same type twice is one type.
    two.put_edge("b", "c", "likes", &[]).expect("it fits");
    three.put_edge("a", "b", "hates", &[]).expect("it fits");
    store.put_vertex("a", None, &[]).expect("another commit");
    let first = one.commit().expect("the first");
    two.commit().expect("the same type");
    match three.commit() {
        Err(CommitError::Conflict { what: Contested::Schema { parts }, sequence }) => {
            assert_eq!(parts, [SchemaPart::EdgeType { name: "likes".to_owned() }]);
            assert_eq!(sequence, first);
        }
        outcome => panic!("{outcome:?}"),
    }
    store.put_edge("a", "b", "hates", &[]).expect("run again, it fits");
    let version = store.version().expect("open");
    assert_eq!(names(&version), ["pays", "meets", "knows", "likes", "hates"]);
    let likes = version.schema().edge_type("likes").expect("a type").0;
    assert_eq!(version.num_edges(likes), 2);
}

#[test]
fn a_schema_that_grows_stands_against_no_write_that_leaves_it_alone() {
    let store = store();
    let mut writing = store.begin().expect("open");
    writing.put_edge("c", "a", "knows", &[("at", 5.into())]).expect("it fits");
    store.create_vertex_type("Person", &[("height", PropertyType::Float64)]).expect("it fits");
    store.create_edge_type("likes", EdgeTypeOptions::default()).expect("it fits");
    store.put_edge("a", "b", "knows", &[("why", "because".into())]).expect("it fits");
    writing.commit().expect("nothing in common");
    let kinds = dump(&store.version().expect("open"));
    assert_eq!(kinds.edges["knows"], 2);
}

#[test]
fn a_type_declared_in_two_ways_has_the_first() {
    let store = store();
    let (mut one, mut two) = (store.begin().expect("open"), store.begin().expect("open"));
    let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
    one.create_edge_type("likes", multi.clone()).expect("it fits");
    two.create_edge_type("likes", EdgeTypeOptions::default()).expect("it fits");
    one.commit().expect("the first");
    assert!(matches!(two.commit(), Err(CommitError::Conflict { .. })));
    let again = store.create_edge_type("likes", EdgeTypeOptions::default());
    assert!(matches!(again, Err(CommitError::Schema(SchemaError::TypeExists { .. }))), "{again:?}");
    store.create_edge_type("likes", multi).expect("as it is");
}

#[test]
fn a_property_of_two_types_has_the_first() {
    let store = store();
    let (mut one, mut two) = (store.begin().expect("open"), store.begin().expect("open"));
    one.put_edge("a", "b", "knows", &[("since", 5.into())]).expect("it fits");
    two.put_edge("b", "a", "knows", &[("since", "long ago".into())]).expect("it fits");
    one.commit().expect("the first");
    assert!(matches!(two.commit(), Err(CommitError::Conflict { .. })));
    let again = store.put_edge("b", "a", "knows", &[("since", "long ago".into())]);
    assert!(matches!(again, Err(CommitError::Schema(SchemaError::PropertyType { .. }))), "{again:?}");
}

#[test]
fn the_first_key_decides_the_kind() {
    let store = Store::in_memory(options());
    let (mut one, mut two) = (store.begin().expect("open"), store.begin().expect("open"));
    one.put_vertex(5, None, &[]).expect("any kind");
    two.put_vertex("five", None, &[]).expect("any kind");
    one.commit().expect("the first");
    assert!(matches!(two.commit(), Err(CommitError::Conflict { .. })));
    let again = store.put_vertex("five", None, &[]);
    assert!(matches!(again, Err(CommitError::Schema(SchemaError::KeyKind { .. }))), "{again:?}");
    let version = store.version().expect("open");
    assert_eq!(version.vertex_id(KeyRef::Int(5)), Some(0));
    assert_eq!((version.num_vertices(), version.id_bound()), (1, 1));
}

#[test]
fn declaring_a_type_again_with_what_was_declared_is_no_error_though_it_has_grown() {
    let store = Store::in_memory(options());
    let declared = EdgeTypeOptions { multi: true, time: Some("at".to_owned()), ..EdgeTypeOptions::default() };
    store.create_edge_type("pays", declared.clone()).expect("it fits");
    store
        .put_edge("a", "b", "pays", &[("amount", 1.5.into()), ("at", Value::Timestamp(3))])
        .expect("it fits");
    store.create_edge_type("pays", declared).expect("what was declared");
    let other = EdgeTypeOptions { symmetric: true, ..EdgeTypeOptions::default() };
    assert!(store.create_edge_type("pays", other).is_err());
}
