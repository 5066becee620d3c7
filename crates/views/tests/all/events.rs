//! Events against a naive reading: what a view held before each commit and after it, and what becomes of handlers that
//! fail, are slow, never end, or are started again.
#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evergraph_disk::SimDisk;
use evergraph_store::{CommitError, Options, Retain, Store, Transaction};
use evergraph_types::{EdgeTypeOptions, Key, KeyKind, Value};
use evergraph_view::Snapshot;
use evergraph_views::{
    Event, EventError, EventKind, HandlerError, HandlerOptions, HandlerState, Subject, Subscription,
    Transition, View, ViewRequest, Views,
};
use proptest::prelude::*;

const LONG: Duration = Duration::from_secs(20);
type Seen = Arc<Mutex<Vec<Event>>>;

fn collect(view: &View, options: HandlerOptions) -> (Subscription, Seen) {
    let seen = Seen::default();
    let told = seen.clone();
    let handler = move |events: &[Event], _: Option<&mut Transaction>| {
        told.lock().unwrap().extend_from_slice(events);
        Ok::<(), HandlerError>(())
    };
    (view.on_update(options, handler).unwrap(), seen)
}

fn by(text: &str) -> ViewRequest {
    ViewRequest { vertices_where: Some(text.to_owned()), ..ViewRequest::default() }
}

/// Whether it becomes so before long.
fn within(mut is_so: impl FnMut() -> bool) -> bool {
    (0..4000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        is_so()
    })
}

fn settle(store: &Store, subscription: &Subscription) {
    let version = store.version().unwrap().sequence();
    assert!(subscription.wait(version, LONG), "{:?}", subscription.status());
}

/// One write of a commit.
#[derive(Clone, Debug)]
enum Step {
    Vertex(i64, Option<i64>, Option<i64>),
    DeleteVertex(i64),
    Edge(i64, i64, usize, Option<i64>),
    DeleteEdge(i64, i64, usize),
}

const TYPES: [&str; 3] = ["simple", "multi", "mirror"];

fn step() -> impl Strategy<Value = Step> {
    let key = || 0i64..6;
    prop_oneof![
        4 => (key(), prop::option::of(0i64..4), prop::option::of(0i64..3))
            .prop_map(|(key, level, load)| Step::Vertex(key, level, load)),
        1 => key().prop_map(Step::DeleteVertex),
        4 => (key(), key(), 0usize..3, prop::option::of(0i64..4))
            .prop_map(|(src, dst, kind, weight)| Step::Edge(src, dst, kind, weight)),
        1 => (key(), key(), 0usize..3).prop_map(|(src, dst, kind)| Step::DeleteEdge(src, dst, kind)),
    ]
}

fn new_store() -> Store {
    let store = Store::in_memory(Options::default());
    let weight = || {
        vec![evergraph_types::Property {
            name: "weight".to_owned(),
            kind: evergraph_types::PropertyType::Int64,
        }]
    };
    for (name, multi, symmetric) in
        [("simple", false, false), ("multi", true, false), ("mirror", false, true)]
    {
        let options =
            EdgeTypeOptions { multi, symmetric, properties: weight(), ..EdgeTypeOptions::default() };
        store.create_edge_type(name, options).unwrap();
    }
    let int = evergraph_types::PropertyType::Int64;
    store.create_vertex_type("Node", &[("level", int), ("load", int)]).unwrap();
    for key in 0..4 {
        store.put_vertex(key, None, &[("level", key.into())]).unwrap();
    }
    store
}

fn commit(store: &Store, steps: &[Step]) {
    let mut tx = store.begin().unwrap();
    for step in steps {
        match step {
            Step::Vertex(key, level, load) => {
                let level = level.map(|level| ("level", Value::Int(level)));
                let load = load.map(|load| ("load", Value::Int(load)));
                let given: Vec<_> = level.into_iter().chain(load).collect();
                tx.put_vertex(*key, None, &given).unwrap();
            }
            Step::DeleteVertex(key) => drop(tx.delete_vertex(*key).unwrap()),
            Step::Edge(src, dst, kind, weight) => {
                let given: Vec<_> = weight.map(|weight| ("weight", Value::Int(weight))).into_iter().collect();
                tx.put_edge(*src, *dst, TYPES[*kind], &given).unwrap();
            }
            Step::DeleteEdge(src, dst, kind) => drop(tx.delete_edge(*src, *dst, TYPES[*kind]).unwrap()),
        }
    }
    tx.commit().unwrap();
}

/// Vertices with their properties, and edges with their number and, of simple types, their weight.
#[derive(Clone, Debug, Default, PartialEq)]
struct Held {
    vertices: BTreeMap<i64, (Value, Value)>,
    edges: BTreeMap<(usize, i64, i64), Vec<Value>>,
}

fn held(view: &View, store: &Store) -> Held {
    let shown = view.at(&Snapshot::new(store.version().unwrap())).unwrap().snapshot();
    let mut held = Held::default();
    for key in (0..6).filter(|key| shown.vertex_id(*key).is_some()) {
        let data = shown.vertex(key).unwrap();
        let of = |name: &str| {
            let found = data.properties.iter().find(|(other, _)| other == name);
            found.map_or(Value::Null, |(_, value)| value.clone())
        };
        held.vertices.insert(key, (of("level"), of("load")));
    }
    for (kind, name) in TYPES.iter().enumerate() {
        for (src, dst) in (0..6).flat_map(|src| (0..6).map(move |dst| (src, dst))) {
            if kind == 2 && dst < src {
                continue;
            }
            let weights = shown
                .edges_between(src, dst, Some(name))
                .into_iter()
                .map(|edge| edge.properties.first().map_or(Value::Null, |(_, value)| value.clone()));
            let mut weights: Vec<Value> = weights.collect();
            weights.sort_by_key(|weight| format!("{weight:?}"));
            if !weights.is_empty() {
                held.edges.insert((kind, src, dst), weights);
            }
        }
    }
    held
}

fn number(key: &Key) -> i64 {
    match key {
        Key::Int(number) => *number,
        Key::Text(_) => unreachable!(),
    }
}

/// Carries events out on what was held, checking that the old values are those that were there.
fn replay(held: &mut Held, event: &Event, entered: &BTreeSet<i64>, left: &BTreeSet<i64>) {
    match (&event.subject, &event.transition) {
        (Subject::Vertex(key), Transition::Added) => {
            assert!(held.vertices.insert(number(key), (Value::Null, Value::Null)).is_none(), "{event:?}");
        }
        (Subject::Vertex(key), Transition::Removed) => {
            assert!(held.vertices.remove(&number(key)).is_some(), "{event:?}");
        }
        (Subject::Vertex(key), Transition::Changed { property, old, new }) => {
            let values = held.vertices.get_mut(&number(key)).unwrap();
            let value = if property == "level" { &mut values.0 } else { &mut values.1 };
            assert_eq!(value, old, "{event:?}");
            *value = new.clone();
        }
        (Subject::Edge(src, dst, kind), transition) => {
            let (src, dst) = (number(src), number(dst));
            let kind = TYPES.iter().position(|name| name == kind).unwrap();
            let (src, dst) = if kind == 2 && dst < src { (dst, src) } else { (src, dst) };
            assert!(!entered.contains(&src) || !left.contains(&dst));
            let edges = held.edges.entry((kind, src, dst)).or_default();
            match transition {
                Transition::Added => edges.push(Value::Null),
                Transition::Removed => drop(edges.pop()),
                Transition::Changed { old, new, .. } => {
                    assert_eq!(edges.as_slice(), std::slice::from_ref(old), "{event:?}");
                    edges[0] = new.clone();
                }
            }
            held.edges.retain(|_, edges| !edges.is_empty());
        }
    }
}

/// Puts edges, for a view to be made of them.
fn some_edges(store: &Store) -> Vec<(Key, Key, Option<String>)> {
    let given = [(0, 1, "simple"), (1, 3, "multi"), (2, 0, "mirror"), (3, 3, "simple")];
    for (src, dst, kind) in given {
        store.put_edge(src, dst, kind, &[]).unwrap();
    }
    given.map(|(src, dst, kind)| (Key::Int(src), Key::Int(dst), Some(kind.to_owned()))).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]
    #[test]
    fn events_are_the_differences_between_what_a_view_held(
        commits in prop::collection::vec(prop::collection::vec(step(), 1..6), 1..12),
        which in 0usize..7,
        alone in any::<bool>(),
    ) {
        let store = new_store();
        let views = Views::new(store.clone());
        let edges = some_edges(&store);
        let request = match which {
            0 => by("level >= 2"),
            1 => by("level = 1 or load = 2 or load is null"),
            2 => ViewRequest { vertices: [0, 1, 3].map(Key::Int).to_vec(), ..ViewRequest::default() },
            3 => ViewRequest { edges, ..ViewRequest::default() },
            4 => ViewRequest { edges, ..by("level >= 2") },
            5 => ViewRequest { edges, vertices: [0, 2].map(Key::Int).to_vec(), ..ViewRequest::default() },
            _ => ViewRequest { edges_where: Some("weight >= 2 or type = 'mirror'".to_owned()), ..by("level < 3") },
        };
        let view = views.create("v", &request).unwrap();
        let other = views.create("other", &by("load = 1")).unwrap();
        let (subscription, seen) = collect(&view, HandlerOptions::new("h"));
        let _other = collect(&other, HandlerOptions::new("h"));
        // Another one with which events come that are not of this view.
        let mirrored = vec![(Key::Int(2), Key::Int(0), None)];
        let mirrored = views.create("mirrored", &ViewRequest { edges: mirrored, ..ViewRequest::default() }).unwrap();
        let _mirrored = collect(&mirrored, HandlerOptions::new("h"));
        let mut reader = view.events(Some(store.version().unwrap().sequence()), HandlerOptions::new("r")).unwrap();
        let mut told = Vec::new();
        let mut before = held(&view, &store);
        for steps in &commits {
            commit(&store, steps);
            if !alone {
                continue;
            }
            settle(&store, &subscription);
            let after = held(&view, &store);
            let events = std::mem::take(&mut *seen.lock().unwrap());
            let places: Vec<_> = events.iter().map(|event| (event.version, event.index)).collect();
            prop_assert!(places.is_sorted_by(|left, right| left < right), "{events:?}");
            let entered: BTreeSet<i64> =
                after.vertices.keys().filter(|key| !before.vertices.contains_key(key)).copied().collect();
            let left: BTreeSet<i64> =
                before.vertices.keys().filter(|key| !after.vertices.contains_key(key)).copied().collect();
            let mut replayed = before.clone();
            events.iter().for_each(|event| replay(&mut replayed, event, &entered, &left));
            prop_assert_eq!(replayed.vertices.keys().collect::<Vec<_>>(), after.vertices.keys().collect::<Vec<_>>());
            for (key, values) in &after.vertices {
                // What a vertex brings along when it comes is not told.
                prop_assert!(entered.contains(key) || &replayed.vertices[key] == values);
            }
            let steady = |(_, src, dst): &(usize, i64, i64)| {
                [src, dst].iter().all(|end| after.vertices.contains_key(end) && before.vertices.contains_key(end))
            };
            let counts = |held: &Held| {
                let edges = held.edges.iter().filter(|(pair, _)| steady(pair));
                edges.map(|(pair, edges)| (*pair, edges.len())).collect::<Vec<_>>()
            };
            prop_assert_eq!(counts(&replayed), counts(&after), "{:?}", events);
            told.extend(events);
            before = after;
        }
        settle(&store, &subscription);
        told.append(&mut seen.lock().unwrap());
        let read: Vec<Event> = std::iter::from_fn(|| reader.next().unwrap()).collect();
        prop_assert_eq!(read, told);
        prop_assert!(reader.position() >= subscription.status().version);
        prop_assert_eq!(subscription.status().state, HandlerState::Live);
    }
}

#[test]
fn a_handler_is_told_what_it_asked_for() {
    let store = new_store();
    let views = Views::new(store.clone());
    let view = views.create("high", &by("level >= 2")).unwrap();
    let mut options = HandlerOptions::new("loads");
    options.kinds = vec![EventKind::Property];
    options.properties = vec!["load".to_owned()];
    let (subscription, seen) = collect(&view, options);
    store.put_vertex(2, None, &[("load", 5.into())]).unwrap();
    store.put_vertex(1, None, &[("load", 6.into())]).unwrap();
    store.put_vertex(3, None, &[("level", 9.into()), ("load", 7.into())]).unwrap();
    store.put_vertex(2, None, &[("load", 5.into())]).unwrap();
    store.put_edge(2, 3, "simple", &[]).unwrap();
    settle(&store, &subscription);
    let told: Vec<_> =
        seen.lock().unwrap().iter().map(|event| (event.subject.clone(), event.transition.clone())).collect();
    let changed =
        |new: i64| Transition::Changed { property: "load".to_owned(), old: Value::Null, new: new.into() };
    assert_eq!(
        told,
        [(Subject::Vertex(Key::Int(2)), changed(5)), (Subject::Vertex(Key::Int(3)), changed(7))]
    );
}

#[test]
fn a_handler_that_fails_is_tried_again_and_its_event_ends_as_a_dead_letter() {
    let store = new_store();
    let views = Views::new(store.clone());
    let view = views.create("high", &by("level >= 2")).unwrap();
    let (calls, dealt) = (Arc::new(AtomicU64::new(0)), Seen::default());
    let (counted, told) = (calls.clone(), dealt.clone());
    let mut options = HandlerOptions::new("picky");
    options.retries = 2;
    options.backoff = Duration::from_millis(1);
    let handler = move |events: &[Event], _: Option<&mut Transaction>| {
        counted.fetch_add(1, Ordering::Relaxed);
        if events.iter().any(|event| event.subject == Subject::Vertex(Key::Int(13))) {
            assert!(counted.load(Ordering::Relaxed) % 2 == 0, "thirteen");
            return Err(HandlerError::new("thirteen"));
        }
        told.lock().unwrap().extend_from_slice(events);
        Ok(())
    };
    let subscription = view.on_update(options, handler).unwrap();
    let mut tx = store.begin().unwrap();
    (11..16).for_each(|key| tx.put_vertex(key, None, &[("level", 5.into())]).unwrap());
    tx.commit().unwrap();
    settle(&store, &subscription);
    let keys: Vec<_> = dealt.lock().unwrap().iter().map(|event| event.subject.clone()).collect();
    assert_eq!(keys, [11, 12, 14, 15].map(|key| Subject::Vertex(Key::Int(key))));
    let letters = view.dead_letters("picky").unwrap();
    assert_eq!((letters.len(), letters[0].tries), (1, 3));
    assert_eq!(letters[0].event.subject, Subject::Vertex(Key::Int(13)));
    assert!(letters[0].error == "thirteen" || letters[0].error == "the handler panicked");
    assert_eq!((subscription.status().dead, subscription.status().handled), (1, 4));
    assert_eq!(view.discard_dead_letters("picky", &letters).unwrap(), 1);
    assert_eq!(view.dead_letters("picky").unwrap(), []);
}

#[test]
fn a_handler_that_never_ends_harms_nobody() {
    let store = new_store();
    let views = Views::new(store.clone());
    let view = views.create("all", &by("id >= 0")).unwrap();
    let release = Arc::new(AtomicBool::new(false));
    let released = release.clone();
    let endless = move |_: &[Event], _: Option<&mut Transaction>| {
        while !released.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok::<(), HandlerError>(())
    };
    let stuck = view.on_update(HandlerOptions::new("stuck"), endless).unwrap();
    let (quick, seen) = collect(&view, HandlerOptions::new("quick"));
    for round in 0..200i64 {
        let mut tx = store.begin().unwrap();
        (0..100).for_each(|key| tx.put_vertex(key, None, &[("load", round.into())]).unwrap());
        tx.commit().unwrap();
    }
    settle(&store, &quick);
    assert!(seen.lock().unwrap().len() >= 19_900);
    assert!(stuck.status().waiting <= 8192 + 256 * 100, "the log is the queue: {:?}", stuck.status());
    assert!(stuck.status().handled < 100);
    release.store(true, Ordering::Relaxed);
    settle(&store, &stuck);
    assert_eq!(stuck.status().handled, seen.lock().unwrap().len() as u64, "nothing was lost on the way");
    assert!(within(|| stuck.status().state == HandlerState::Live), "it has caught up");
    store.put_vertex(0, None, &[("load", 1_000.into())]).unwrap();
    settle(&store, &stuck);
    settle(&store, &quick);
    assert_eq!(stuck.status().handled, seen.lock().unwrap().len() as u64);
}

#[test]
fn with_exactly_once_what_a_handler_writes_counts_once() {
    let store = new_store();
    let views = Views::new(store.clone());
    let view = views.create("high", &by("level >= 2")).unwrap();
    store.put_vertex(100, None, &[("load", 0.into())]).unwrap();
    let failures = Arc::new(AtomicU64::new(0));
    let failed = failures.clone();
    let mut options = HandlerOptions::new("counter");
    options.exactly_once = true;
    options.batch_size = 3;
    options.backoff = Duration::from_millis(1);
    let counter = move |events: &[Event], tx: Option<&mut Transaction>| {
        let tx = tx.ok_or_else(|| HandlerError::new("no transaction"))?;
        let load =
            tx.vertex(100).and_then(|data| data.properties.into_iter().find(|(name, _)| name == "load"));
        let Some((_, Value::Int(load))) = load else { return Err(HandlerError::new("no counter")) };
        let count = load + events.len() as i64;
        tx.put_vertex(100, None, &[("load", count.into())])
            .map_err(|error| HandlerError::new(error.to_string()))?;
        if failed.fetch_add(1, Ordering::Relaxed) % 3 == 1 {
            return Err(HandlerError::new("after writing"));
        }
        Ok(())
    };
    let subscription = view.on_update(options, counter).unwrap();
    for key in 20..60i64 {
        store.put_vertex(key, None, &[("level", 5.into())]).unwrap();
    }
    settle(&store, &subscription);
    let snapshot = Snapshot::new(store.version().unwrap());
    let load = snapshot.vertex(100).unwrap().properties;
    assert_eq!(load, [("load".to_owned(), Value::Int(40))]);
    assert!(subscription.status().failures > 0);
}

#[test]
fn a_handler_goes_on_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Store::open(directory.path().join("net.eg"), Options::default()).unwrap();
    let mut all = Vec::new();
    for round in 0..3i64 {
        let store = open();
        let views = Views::new(store.clone());
        let view =
            if round == 0 { views.create("all", &by("id >= 0")).unwrap() } else { views.get("all").unwrap() };
        if round > 0 {
            // Nobody listens: the log keeps it.
            store.put_vertex(100 + round, None, &[]).unwrap();
            store.checkpoint().unwrap();
            store.put_vertex(200 + round, None, &[]).unwrap();
            store.compact().unwrap();
        }
        let (subscription, seen) = collect(&view, HandlerOptions::new("h"));
        store.put_vertex(round, None, &[]).unwrap();
        settle(&store, &subscription);
        all.extend(seen.lock().unwrap().iter().map(|event| event.subject.clone()));
        views.stop_handlers();
        assert_eq!(subscription.status().state, HandlerState::Stopped);
        store.close().unwrap();
    }
    assert_eq!(all, [0, 101, 201, 1, 102, 202, 2].map(|key| Subject::Vertex(Key::Int(key))));
}

/// Those who listen are told of keys, and ids of keys that are gone are given to others beside them.
#[test]
fn handlers_are_told_the_right_keys_while_ids_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let options = || Options { keys: Some(KeyKind::Int64), ..Options::default() };
    let on_disk = Store::open(directory.path().join("net.eg"), options()).unwrap();
    for store in [Store::in_memory(options()), on_disk] {
        let views = Views::new(store.clone());
        let mut tx = store.begin().unwrap();
        tx.put_vertex(-1, None, &[("level", 5.into())]).unwrap();
        tx.commit().unwrap();
        let view = views.create("high", &by("level >= 2")).unwrap();
        let (subscription, seen) = collect(&view, HandlerOptions::new("h"));
        let mut expected = Vec::new();
        let mut keys = 0..0;
        let is_enough = |keys: i64| keys >= 1000 && i64::from(store.version().unwrap().id_bound()) < keys / 2;
        assert!(within(|| {
            keys = keys.end..keys.end + 20;
            let mut tx = store.begin().unwrap();
            for key in keys.clone() {
                tx.put_vertex(key, None, &[("level", (key % 4).into())]).unwrap();
            }
            tx.commit().unwrap();
            for key in keys.clone() {
                assert!(store.delete_vertex(key).unwrap());
            }
            let high = || keys.clone().filter(|key| key % 4 >= 2).map(|key| Subject::Vertex(Key::Int(key)));
            expected.extend(high().map(|subject| (subject, Transition::Added)));
            expected.extend(high().map(|subject| (subject, Transition::Removed)));
            store.compact().unwrap();
            is_enough(keys.end)
        }));
        settle(&store, &subscription);
        let told = seen.lock().unwrap();
        let told: Vec<_> =
            told.iter().map(|event| (event.subject.clone(), event.transition.clone())).collect();
        assert!(told == expected, "{} events, {} expected", told.len(), expected.len());
        assert_eq!(subscription.status().state, HandlerState::Live);
    }
}

/// Handlers come and go while others write: each is told of everything from when it was put to work until it is stopped.
#[test]
fn handlers_join_and_leave_in_the_midst_of_commits() {
    let store = new_store();
    let views = Views::new(store.clone());
    let view_of =
        |bound: i64| views.create(&format!("from {bound}"), &by(&format!("id >= {bound}"))).unwrap();
    let made: Vec<View> = (0..20).map(view_of).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                store.put_vertex(round % 20, None, &[("load", round.into())]).unwrap();
            }
        });
        for (bound, view) in (0i64..).zip(&made) {
            let mut options = HandlerOptions::new("h");
            (options.kinds, options.batch_size) = (vec![EventKind::Property], 64);
            let (subscription, seen) = collect(view, options);
            let first = store.version().unwrap().sequence();
            assert!(within(|| store.version().unwrap().sequence() > first + 200));
            let last = store.version().unwrap().sequence();
            assert!(subscription.wait(last, LONG), "{:?}", subscription.status());
            subscription.stop();
            let seen = seen.lock().unwrap();
            // Each value once, the next of its vertex 20 after it; all of those between the two versions.
            let mut newest = BTreeMap::new();
            for event in &*seen {
                let Subject::Vertex(Key::Int(key)) = event.subject else { panic!("{event:?}") };
                let Transition::Changed { new: Value::Int(new), .. } = event.transition else {
                    panic!("{event:?}")
                };
                assert!(key >= bound && new % 20 == key, "{event:?}");
                assert_eq!(newest.insert(key, new).unwrap_or(new - 20), new - 20, "{event:?}");
            }
            assert_eq!(newest.len() as i64, 20 - bound);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_handler_that_retention_has_passed_is_refused_until_it_is_forgotten() {
    let (retain, log_limit_bytes) = (Some(Retain::Commits(10)), 1000);
    let options = Options { retain, background: false, log_limit_bytes, ..Options::default() };
    let disk = Arc::new(SimDisk::new(0));
    let open = || Store::open_on(disk.clone(), Path::new("/net.eg"), options.clone()).unwrap();
    let write = |store: &Store| {
        for round in 0..20 {
            (0..20).for_each(|key| _ = store.put_vertex(20 * round + key, None, &[]).unwrap());
            store.checkpoint().unwrap();
        }
    };
    let mut store = open();
    let mut views = Views::new(store.clone());
    views.create("all", &by("id >= 0")).unwrap();
    // While a router is there that nobody listens to, and while there is none.
    for is_open in [true, false] {
        let (subscription, seen) = collect(&views.get("all").unwrap(), HandlerOptions::new("h"));
        store.put_vertex(1000, None, &[]).unwrap();
        settle(&store, &subscription);
        subscription.stop();
        assert_eq!(seen.lock().unwrap().len(), usize::from(is_open));
        if !is_open {
            views.stop_handlers();
            store.close().unwrap();
            store = open();
            views = Views::new(store.clone());
        }
        write(&store);
        refused_until_forgotten(&store, &views);
    }
}

fn refused_until_forgotten(store: &Store, views: &Views) {
    let view = views.get("all").unwrap();
    let again = view.on_update(HandlerOptions::new("h"), |_: &[Event], _: Option<&mut Transaction>| Ok(()));
    assert!(matches!(again, Err(EventError::NotRetained { .. })), "{again:?}");
    assert!(view.forget_handler("h").unwrap());
    let (subscription, seen) = collect(&view, HandlerOptions::new("h"));
    store.delete_vertex(7).unwrap();
    settle(store, &subscription);
    assert_eq!(seen.lock().unwrap().len(), 1);
    subscription.stop();
}

/// Whoever joins is never refused because others were passed, or because nobody listened while it happened.
#[test]
fn handlers_join_while_retention_passes_by() {
    let (retain, log_limit_bytes) = (Some(Retain::Commits(1)), 1000);
    let options = Options { retain, background: false, log_limit_bytes, ..Options::default() };
    let store = Store::open_on(Arc::new(SimDisk::new(0)), Path::new("/net.eg"), options).unwrap();
    let views = Views::new(store.clone());
    let view = views.create("all", &by("id >= 0")).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..4000 {
                (0..5).for_each(|key| _ = store.put_vertex(key, None, &[]).unwrap());
                store.checkpoint().unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let slow = |_: &[Event], _: Option<&mut Transaction>| {
            std::thread::sleep(Duration::from_millis(1));
            Ok(())
        };
        let (mut joined, mut passed) = (0, 0);
        while !is_over.load(Ordering::Relaxed) {
            joined += 1;
            let subscription = view.on_update(HandlerOptions::new("h"), slow).unwrap();
            if joined % 3 == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
            subscription.stop();
            match view.on_update(HandlerOptions::new("h"), slow) {
                Ok(again) => again.stop(),
                Err(EventError::NotRetained { .. }) => passed += 1,
                Err(other) => panic!("{other:?}"),
            }
            assert!(view.forget_handler("h").unwrap());
        }
        assert!(passed > 0, "retention was to pass by");
    });
}

#[test]
fn handlers_and_their_views_end_together() {
    let store = new_store();
    let views = Views::new(store.clone());
    let mut view = views.create("all", &by("id >= 0")).unwrap();
    let own = view.clone();
    let dropping = move |_: &[Event], _: Option<&mut Transaction>| {
        own.drop_view().map_err(|error| HandlerError::new(error.to_string()))
    };
    let subscription = view.on_update(HandlerOptions::new("h"), dropping).unwrap();
    let (same, _) =
        (view.on_update(HandlerOptions::new("h"), |_: &[Event], _: Option<&mut Transaction>| Ok(())), ());
    assert!(matches!(same, Err(EventError::InUse { .. })));
    assert!(view.rename("other").is_err(), "not while there are handlers");
    store.put_vertex(77, None, &[]).unwrap();
    assert!(within(|| subscription.status().state == HandlerState::Dropped), "{:?}", subscription.status());
    assert_eq!(views.names().unwrap(), Vec::<String>::new());
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(store.version().unwrap().items("handler/").len(), 0, "nothing of it is left");

    let view = views.create("again", &by("id >= 0")).unwrap();
    let (subscription, _) = collect(&view, HandlerOptions::new("h"));
    store.close().unwrap();
    assert!(within(|| subscription.status().state == HandlerState::Stopped), "{:?}", subscription.status());
    let (closed, _) =
        (view.on_update(HandlerOptions::new("i"), |_: &[Event], _: Option<&mut Transaction>| Ok(())), ());
    assert!(matches!(closed, Err(EventError::Closed(_) | EventError::View(_))));
    let store = Store::in_memory(Options::default());
    let views = Views::new(store.clone());
    let view = views.create("v", &by("id >= 0")).unwrap();
    let bad = |name: &str| {
        view.on_update(HandlerOptions::new(name), |_: &[Event], _: Option<&mut Transaction>| Ok(()))
    };
    assert!(matches!(bad("a/b"), Err(EventError::BadName { .. })));
    // What cannot be read is told, and goes when the handler is forgotten; to begin anew instead would leave out events.
    let put = |name: &str| {
        store.transact(1, |transaction| Ok::<_, CommitError>(transaction.put_item(name, b"x")?)).unwrap();
    };
    put("handler/v/odd");
    assert!(matches!(bad("odd"), Err(EventError::Unreadable { what: "the place", .. })));
    put("dead/v/odd/1-0");
    assert!(matches!(view.dead_letters("odd"), Err(EventError::Unreadable { what: "a dead letter", .. })));
    assert!(view.forget_handler("odd").unwrap());
    assert!(view.dead_letters("odd").unwrap().is_empty());
    bad("odd").unwrap().stop();
    let (kept, _) = collect(&view, HandlerOptions::new("kept"));
    drop((views, view, store));
    assert!(within(|| kept.status().state == HandlerState::Stopped), "handlers do not keep a store open");
}
