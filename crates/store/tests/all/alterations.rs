//! Types and properties dropped, renamed and added: what was there is gone or goes by the new name, at once and for
//! good, whatever is in memory, in the log or in segments; new things of old names are new; other transactions
//! conflict only where they wrote to what is gone; power may fail at every step.

use crate::common::{Dump, directory, dump, number_batch, on, open, options, try_open};
use evergraph_disk::{CrashPlan, SimDisk};
use evergraph_store::{
    CommitError, Contested, Isolation, Options, SchemaPart, Store, TransactionOptions, check_on,
};
use evergraph_types::{
    Alteration, Column, Direction, EdgeTypeOptions, Property, PropertyOwner, PropertyType, ScalarType,
    SchemaError, Value,
};

fn of(edge_type: &str) -> PropertyOwner {
    PropertyOwner::EdgeType(edge_type.to_owned())
}

fn drop_type(name: &str) -> Alteration {
    Alteration::DropEdgeType { name: name.to_owned() }
}

fn rename_type(name: &str, new_name: &str) -> Alteration {
    Alteration::RenameEdgeType { name: name.to_owned(), new_name: new_name.to_owned() }
}

fn drop_property(owner: PropertyOwner, name: &str) -> Alteration {
    Alteration::DropProperty { owner, name: name.to_owned() }
}

fn rename_property(owner: PropertyOwner, name: &str, new_name: &str) -> Alteration {
    Alteration::RenameProperty { owner, name: name.to_owned(), new_name: new_name.to_owned() }
}

fn add_property(owner: PropertyOwner, name: &str, kind: PropertyType) -> Alteration {
    Alteration::AddProperty { owner, name: name.to_owned(), kind }
}

/// Some edges of two types with properties, and named vertices.
fn fill(store: &Store) {
    let text = |name: &str, kind| Property { name: name.to_owned(), kind };
    let properties = vec![text("note", PropertyType::String), text("size", PropertyType::Int16)];
    let multi = EdgeTypeOptions { multi: true, properties, ..EdgeTypeOptions::default() };
    store.create_edge_type("pays", multi).expect("it fits");
    let one_way = EdgeTypeOptions { reverse: false, ..EdgeTypeOptions::default() };
    store.create_edge_type("follows", one_way).expect("it fits");
    for row in 0..40i64 {
        let (src, dst) = (row % 7, row % 5);
        let given = [("note", Value::Text("x".repeat(row as usize))), ("size", Value::Int(row))];
        store.put_edge(src, dst, "pays", &given).expect("it fits");
        store.put_edge(src, dst, "follows", &[("since", Value::Int(row))]).expect("it fits");
    }
    for key in 0..5i64 {
        let name = Value::Text(format!("number {key}"));
        store.put_vertex(key, Some("Person"), &[("name", name), ("age", Value::Int(key))]).expect("it fits");
    }
}

/// Everything, under the names it goes by.
fn state(store: &Store) -> Dump {
    dump(&store.version().expect("open"))
}

#[test]
fn what_was_dropped_never_comes_back() {
    for bulk_edges in [20, usize::MAX] {
        let disk = SimDisk::new(0);
        let options = || Options { bulk_edges, ..options() };
        let mut store = open(&disk, options());
        fill(&store);
        store.checkpoint().expect("a good disk");
        fill_again(&store);
        let kept = store.version().expect("open");
        let before = dump(&kept);
        let list = PropertyType::list(ScalarType::UInt8);
        for alteration in [
            drop_property(of("pays"), "note"),
            add_property(of("pays"), "note", list),
            drop_property(PropertyOwner::Vertices, "name"),
            add_property(PropertyOwner::Vertices, "name", PropertyType::Bool),
            rename_property(PropertyOwner::Vertices, "age", "years"),
            drop_type("follows"),
            Alteration::DropVertexType { name: "Person".to_owned() },
        ] {
            store.alter(&alteration).expect("it is there");
        }
        let mut expected = before.clone();
        for vertex in expected.vertices.values_mut() {
            vertex.vertex_type = None;
            vertex.properties.remove("name");
            if let Some(age) = vertex.properties.remove("age") {
                vertex.properties.insert("years".into(), age);
            }
        }
        for lists in [&mut expected.out, &mut expected.reverse] {
            lists.remove("follows");
            let entries = lists.values_mut().flat_map(|lists| lists.values_mut()).flatten();
            entries.for_each(|(_, properties)| drop(properties.remove("note")));
        }
        expected.edges.remove("follows");
        for step in ["memory", "log", "segment", "opened", "compacted", "opened again"] {
            match step {
                "segment" => store.checkpoint().expect("a good disk"),
                "compacted" => store.compact().expect("a good disk"),
                "memory" => {}
                _ => {
                    drop(store);
                    let report = check_on(on(&disk), directory()).expect("a store");
                    assert!(report.is_healthy(), "{report:?}");
                    store = open(&disk, options());
                }
            }
            assert_eq!(state(&store), expected, "{step}");
        }
        assert_eq!(dump(&kept), before, "a version that was kept");
        store.put_edge(0, 0, "follows", &[("since", Value::from("new"))]).expect("a type of its own");
        assert_eq!(store.stats().num_edges, expected.edges.values().sum::<u64>() + 1);
    }
}

/// More edges by a batch, over lists that are in a segment.
fn fill_again(store: &Store) {
    let mut batch = number_batch((0..30).map(|row| (row % 3, row % 4)));
    batch.columns.push(("since".to_owned(), Column::from((0..30).collect::<Vec<i64>>())));
    store.add_edges("follows", vec![batch]).expect("it fits");
    store.add_edges("pays", vec![number_batch((0..30).map(|row| (row % 3, row % 4)))]).expect("it fits");
}

#[test]
fn a_transaction_conflicts_if_it_wrote_to_what_is_gone() {
    let store = Store::in_memory(options());
    fill(&store);
    let begin = |write: &dyn Fn(&mut evergraph_store::Transaction)| {
        let mut transaction = store.begin().expect("open");
        write(&mut transaction);
        transaction
    };
    let edge = begin(&|tx| tx.put_edge(1, 9, "follows", &[]).expect("it fits"));
    let property = begin(&|tx| tx.put_edge(1, 9, "pays", &[("note", Value::from("late"))]).expect("it fits"));
    let label = begin(&|tx| tx.put_vertex(1, Some("Person"), &[]).expect("it fits"));
    let fine = begin(&|tx| tx.put_edge(1, 9, "pays", &[("size", Value::Int(7))]).expect("it fits"));
    let new = begin(&|tx| tx.put_edge(1, 9, "brand new", &[]).expect("it fits"));
    let deletes = begin(&|tx| assert!(tx.delete_vertex(4).expect("it fits")));
    let rename = begin(&|tx| tx.alter(&rename_type("pays", "paid")).expect("it is there"));
    store.alter(&drop_type("follows")).expect("it is there");
    store.alter(&drop_property(of("pays"), "note")).expect("it is there");
    store.alter(&Alteration::DropVertexType { name: "Person".to_owned() }).expect("it is there");
    let note = SchemaPart::Property { owner: of("pays"), name: "note".to_owned() };
    let person = SchemaPart::VertexType { name: "Person".to_owned() };
    let dropped = [person, SchemaPart::EdgeType { name: "follows".to_owned() }, note];
    for late in [edge, property, label, new, rename] {
        let error = late.commit().expect_err("too late");
        assert!(
            matches!(&error, CommitError::Conflict { what: Contested::Schema { parts }, .. } if *parts == dropped),
            "{error}"
        );
    }
    fine.commit().expect("nothing it wrote to is gone");
    deletes.commit().expect("nothing it wrote to is gone");
    assert!(!store.version().expect("open").has_vertex(4));
}

#[test]
fn a_serializable_transaction_that_read_anything_conflicts_with_an_alteration() {
    let store = Store::in_memory(options());
    fill(&store);
    let serializable =
        TransactionOptions { isolation: Isolation::Serializable, ..TransactionOptions::default() };
    for reads in [false, true] {
        let mut transaction = store.begin_with(serializable).expect("open");
        if reads {
            assert!(transaction.vertex(1).is_some());
        }
        transaction.put_edge(1, 2, "pays", &[]).expect("it fits");
        let new_name = format!("name {reads}");
        let name = if reads { "name false" } else { "name" };
        store.alter(&rename_property(PropertyOwner::Vertices, name, &new_name)).expect("it is there");
        assert_eq!(transaction.commit().is_err(), reads);
    }
}

#[test]
fn writes_before_a_drop_in_the_same_transaction_are_dropped_too() {
    let store = Store::in_memory(options());
    fill(&store);
    let before = state(&store);
    let mut tx = store.begin().expect("open");
    let savepoint = tx.savepoint();
    tx.put_edge(1, 6, "follows", &[]).expect("it fits");
    tx.put_edge(1, 6, "pays", &[("note", Value::from("gone"))]).expect("it fits");
    tx.put_vertex(77, Some("Person"), &[("name", Value::from("gone"))]).expect("it fits");
    tx.alter(&drop_type("follows")).expect("it is there");
    tx.alter(&drop_property(of("pays"), "note")).expect("it is there");
    tx.alter(&drop_property(PropertyOwner::Vertices, "name")).expect("it is there");
    tx.alter(&Alteration::DropVertexType { name: "Person".to_owned() }).expect("it is there");
    tx.put_edge(1, 6, "follows", &[("since", Value::from("text"))]).expect("a new type");
    assert_eq!(tx.edges(1, 6, "follows"), [vec![("since".to_owned(), Value::from("text"))]]);
    assert_eq!(tx.vertex(77).expect("put").vertex_type, None);
    let mut other = store.begin().expect("open");
    other.put_edge(3, 3, "pays", &[]).expect("it fits");
    tx.rollback_to(savepoint).expect("it is there");
    assert!(tx.has_edge(0, 0, "follows"));
    tx.rollback();
    assert_eq!(state(&store), before);
    let mut tx = store.begin().expect("open");
    tx.put_vertex(77, Some("Person"), &[("name", Value::from("gone"))]).expect("it fits");
    tx.put_edge(1, 6, "follows", &[]).expect("it fits");
    tx.alter(&drop_type("follows")).expect("it is there");
    tx.alter(&Alteration::DropVertexType { name: "Person".to_owned() }).expect("it is there");
    tx.alter(&rename_type("pays", "follows")).expect("the name is free");
    tx.commit().expect("nobody else");
    let found = state(&store);
    assert_eq!(found.edges.keys().collect::<Vec<_>>(), ["follows"]);
    assert_eq!(found.edges["follows"], before.edges["pays"]);
    assert_eq!(found.vertices.values().filter(|vertex| vertex.vertex_type.is_some()).count(), 0);
}

#[test]
fn alterations_that_make_no_sense_change_nothing() {
    let store = Store::in_memory(options());
    fill(&store);
    let time = EdgeTypeOptions { time: Some("at".to_owned()), ..EdgeTypeOptions::default() };
    store.create_edge_type("timed", time).expect("it fits");
    let before = store.version().expect("open").schema().clone();
    for (alteration, what) in [
        (drop_type("nothing"), "no edge type"),
        (drop_type(""), "no edge type"),
        (rename_type("pays", "follows"), "already"),
        (rename_type("pays", "\n"), "usable name"),
        (drop_property(of("timed"), "at"), "time"),
        (drop_property(of("pays"), "nothing"), "no property"),
        (rename_property(of("pays"), "note", "size"), "already"),
        (rename_property(PropertyOwner::Vertices, "nothing", "x"), "no property"),
        (add_property(of("pays"), "size", PropertyType::Bool), "already"),
        (add_property(of("nothing"), "size", PropertyType::Bool), "no edge type"),
        (Alteration::DropVertexType { name: "Firm".to_owned() }, "no vertex type"),
    ] {
        match store.alter(&alteration) {
            Err(CommitError::Schema(error)) => assert!(error.to_string().contains(what), "{error}"),
            other => panic!("{alteration:?}: {other:?}"),
        }
    }
    let other_way = EdgeTypeOptions { reverse: true, ..EdgeTypeOptions::default() };
    let error = store.create_edge_type("follows", other_way).expect_err("it has no in lists");
    assert!(matches!(error, CommitError::Schema(SchemaError::TypeExists { .. })));
    assert_eq!(*store.version().expect("open").schema(), before);
}

/// A type without in lists answers like one with them, and deleting a vertex takes its edges along.
#[test]
fn a_type_without_in_lists_is_like_one_with_them() {
    for multi in [false, true] {
        for bulk_edges in [20, usize::MAX] {
            let disk = SimDisk::new(0);
            let mut store = open(&disk, Options { bulk_edges, ..options() });
            for (name, reverse) in [("kept", true), ("turned", false)] {
                let created = EdgeTypeOptions { multi, reverse, ..EdgeTypeOptions::default() };
                store.create_edge_type(name, created).expect("it fits");
                store
                    .add_edges(name, vec![number_batch((0..50).map(|row| (row * 7 % 11, row % 6)))])
                    .expect("it fits");
                store.put_edge(3, 3, name, &[("weight", Value::Int(1))]).expect("it fits");
                store.put_edge(4, 3, name, &[("weight", Value::Int(2))]).expect("it fits");
            }
            for step in 0..4 {
                let version = store.version().expect("open");
                let names =
                    ["kept", "turned"].map(|name| version.schema().edge_type(name).expect("it is there").0);
                let shown = dump(&version);
                assert_eq!(shown.out["kept"], shown.out["turned"]);
                let sorted = |name: &str| {
                    let mut lists = shown.reverse[name].clone();
                    lists.values_mut().for_each(|list| {
                        list.sort_by_key(|(key, properties)| (key.clone(), format!("{properties:?}")))
                    });
                    lists
                };
                assert_eq!(sorted("kept"), sorted("turned"), "step {step}");
                let entries = |id: u16| store.stats().edge_types[usize::from(id)].entries;
                assert_eq!(entries(names[0]), 2 * entries(names[1]), "half the entries");
                for vertex in 0..version.id_bound() {
                    let neighbors = |id| version.neighbors(id, Direction::In, vertex).len();
                    assert_eq!(neighbors(names[0]), neighbors(names[1]));
                }
                match step {
                    0 => _ = store.delete_vertex(3).expect("open"),
                    1 => {
                        store.checkpoint().expect("a good disk");
                        drop(store);
                        store = open(&disk, Options { bulk_edges, ..options() });
                    }
                    _ => _ = store.delete_vertex(step + 2).expect("open"),
                }
            }
            drop(store);
            let report = check_on(on(&disk), directory()).expect("a store");
            assert!(report.is_healthy(), "{report:?}");
        }
    }
}

#[test]
fn a_crash_at_every_operation_leaves_one_of_the_states() {
    let disk = SimDisk::new(0);
    let store = open(&disk, options());
    let mut states = vec![state(&store)];
    let mut then = |act: &dyn Fn(&Store)| {
        act(&store);
        states.push(state(&store));
    };
    then(&fill_few);
    then(&|store| store.checkpoint().expect("a good disk"));
    then(&|store| store.alter(&drop_property(of("pays"), "note")).expect("it is there"));
    then(&|store| _ = store.put_edge(1, 2, "pays", &[("note", Value::Int(1))]).expect("it fits"));
    then(&|store| store.alter(&rename_type("pays", "paid")).expect("it is there"));
    then(&|store| store.checkpoint().expect("a good disk"));
    then(&|store| store.alter(&drop_type("paid")).expect("it is there"));
    then(&|store| store.alter(&drop_property(PropertyOwner::Vertices, "name")).expect("it is there"));
    then(&|store| _ = store.put_edge(2, 2, "paid", &[("note", Value::Bool(true))]).expect("it fits"));
    then(&|store| store.compact().expect("a good disk"));
    drop(store);
    let mut replay = disk.replay();
    let (mut crashes, mut reached) = (0, 0);
    loop {
        for plan in [CrashPlan::LoseUnsynced, CrashPlan::KeepUnsynced, CrashPlan::Random(replay.operations())]
        {
            let after = replay.crash(plan);
            let store = try_open(&after, options()).unwrap_or_else(|error| panic!("{plan:?}: {error}"));
            let found = state(&store);
            let place = states.iter().rposition(|state| *state == found);
            reached =
                reached.max(place.unwrap_or_else(|| panic!("{plan:?}: a state that never was: {found:?}")));
            drop(store);
            let report = check_on(on(&after), directory()).expect("a store");
            assert!(report.is_healthy(), "{report:?}");
            crashes += 1;
        }
        if !replay.advance() {
            break;
        }
    }
    assert_eq!(reached, states.len() - 1);
    assert!(crashes > 100, "{crashes} crashes");
}

/// All in one commit, so that there are no states between.
fn fill_few(store: &Store) {
    let mut tx = store.begin().expect("open");
    let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
    tx.create_edge_type("pays", multi).expect("it fits");
    for key in 0..4i64 {
        let note = Value::Text("x".repeat(key as usize));
        tx.put_edge(key, key + 1, "pays", &[("note", note)]).expect("it fits");
        tx.put_vertex(key, Some("Person"), &[("name", Value::from("somebody"))]).expect("it fits");
    }
    tx.commit().expect("nobody else");
}
