//! Windows against the rules of docs/semantics.md read out naively: after every advance over a random history of puts,
//! deletions and deleted vertices, with times that repeat, jump, come late and are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use evergraph_analytics::incremental::{IncrementalComponents, IncrementalCores, IncrementalDegrees};
use evergraph_analytics::{Control, connected_components, core_number, degree_statistics};
use evergraph_store::{ChangeOptions, ChangesError, Options, Store};
use evergraph_stream::{Advance, Duplicates, Order, Span, Window, WindowError, WindowOptions, WindowStep};
use evergraph_types::{
    Alteration, Direction, EdgeTypeOptions, Key, Property, PropertyOwner, PropertyType, SchemaError, Value,
};
use evergraph_view::{GraphView, Snapshot};
use proptest::prelude::*;

const TYPE: &str = "pays";

#[derive(Clone, Debug)]
enum Step {
    Put(i64, i64, Option<i64>),
    Delete(i64, i64),
    DeleteVertex(i64),
    /// Lets go of the keys of vertices that are gone, so that others get their ids.
    Compact,
    Advance,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    multi: bool,
    symmetric: bool,
    text_keys: bool,
    span: Span,
    duplicates: Duplicates,
    lateness: i64,
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let end = || 0i64..8;
    let time = prop_oneof![1 => Just(None), 12 => (0i64..12).prop_map(Some), 1 => (50i64..60).prop_map(Some)];
    let step = prop_oneof![
        14 => (end(), end(), time).prop_map(|(src, dst, time)| Step::Put(src, dst, time)),
        2 => (end(), end()).prop_map(|(src, dst)| Step::Delete(src, dst)),
        2 => end().prop_map(Step::DeleteVertex),
        2 => Just(Step::Compact),
        4 => Just(Step::Advance),
    ];
    prop::collection::vec(step, 0..80)
}

fn any_case() -> impl Strategy<Value = Case> {
    let span = prop_oneof![(1i64..15).prop_map(Span::Time), (1i64..12).prop_map(Span::Edges)];
    let rule = prop_oneof![Just(Duplicates::Keep), Just(Duplicates::Drop), Just(Duplicates::Count)];
    (any::<bool>(), any::<bool>(), any::<bool>(), span, rule, 0i64..6).prop_map(
        |(multi, symmetric, text_keys, span, duplicates, lateness)| {
            let lateness = if matches!(span, Span::Edges(_)) { 0 } else { lateness };
            Case { multi, symmetric, text_keys, span, duplicates, lateness }
        },
    )
}

impl Case {
    fn store(&self) -> Store {
        let store = Store::in_memory(Options { background: false, ..Options::default() });
        let property = |name: &str, kind| Property { name: name.to_owned(), kind };
        let properties = vec![property("n", PropertyType::Int64), property("time", PropertyType::Timestamp)];
        let time = Some("time".to_owned());
        let options =
            EdgeTypeOptions { multi: self.multi, symmetric: self.symmetric, reverse: true, time, properties };
        store.create_edge_type(TYPE, options).expect("a new type");
        store.create_edge_type("other", EdgeTypeOptions::default()).expect("a new type");
        store
    }

    fn options(&self) -> WindowOptions {
        WindowOptions {
            edge_type: Some(TYPE.to_owned()),
            duplicates: self.duplicates,
            lateness: self.lateness,
            ..WindowOptions::new(self.span)
        }
    }

    fn key(&self, vertex: i64) -> Key {
        if self.text_keys { Key::Text(format!("v{vertex}")) } else { Key::Int(vertex) }
    }

    fn pair(&self, src: i64, dst: i64) -> (i64, i64) {
        if self.symmetric { (src.min(dst), src.max(dst)) } else { (src, dst) }
    }
}

/// The rules, read out.
#[derive(Default)]
struct Naive {
    /// Accepted puts by place, with the ends and the number of the step: those deleted since are taken out.
    events: Vec<(i64, (i64, i64), i64)>,
    newest: Option<i64>,
    puts: i64,
    late: u64,
    untimed: u64,
}

impl Naive {
    fn put(&mut self, case: &Case, pair: (i64, i64), time: Option<i64>, number: i64) {
        self.puts += 1;
        let at = if matches!(case.span, Span::Edges(_)) { Some(self.puts) } else { time };
        match at {
            None => self.untimed += 1,
            Some(at) if self.newest.is_some_and(|newest| at < newest - case.lateness) => self.late += 1,
            Some(at) => {
                self.newest = self.newest.max(Some(at));
                self.events.push((at, pair, number));
            }
        }
    }

    /// The edges of the window that ends at a place, in a form that shows the rule for duplicates.
    fn content(&self, case: &Case, end: i64) -> Vec<((i64, i64), i64)> {
        let (Span::Time(length) | Span::Edges(length)) = case.span;
        let mut inside: Vec<_> =
            self.events.iter().filter(|(at, ..)| *at > end - length && *at <= end).copied().collect();
        // Stable: events of one time stay in the order of the log.
        inside.sort_by_key(|&(at, ..)| at);
        let mut by_pair: BTreeMap<(i64, i64), Vec<i64>> = BTreeMap::new();
        inside.iter().for_each(|&(_, pair, number)| by_pair.entry(pair).or_default().push(number));
        let mut edges: Vec<((i64, i64), i64)> = Vec::new();
        for (pair, numbers) in by_pair {
            match case.duplicates {
                Duplicates::Keep => edges.extend(numbers.iter().map(|&number| (pair, number))),
                Duplicates::Drop => edges.extend(numbers.last().map(|&number| (pair, number))),
                Duplicates::Count => edges.push((pair, numbers.len() as i64)),
            }
        }
        edges.sort_unstable();
        edges
    }
}

/// The edges of a snapshot in the same form.
fn found(case: &Case, snapshot: &Snapshot) -> Vec<((i64, i64), i64)> {
    let number = |key: &Key| match key {
        Key::Int(number) => *number,
        Key::Text(text) => text[1..].parse().expect("a number"),
    };
    let shown = if case.duplicates == Duplicates::Count { "count" } else { "n" };
    let mut edges = Vec::new();
    let mut ends = Vec::new();
    for batch in snapshot.edge_batches() {
        let column = batch.columns.iter().find(|(name, _)| name == shown).map(|(_, column)| column);
        for row in 0..batch.len() {
            let key = |keys: &evergraph_types::KeyColumn| {
                number(&match keys.get(row) {
                    evergraph_types::KeyRef::Int(key) => Key::Int(key),
                    evergraph_types::KeyRef::Text(key) => Key::Text(key.to_owned()),
                })
            };
            let (src, dst) = (key(&batch.src), key(&batch.dst));
            let Some(Value::Int(value)) = column.map(|column| column.get(row)) else { panic!("no number") };
            edges.push((case.pair(src, dst), value));
            ends.extend([src, dst]);
        }
    }
    ends.sort_unstable();
    ends.dedup();
    assert_eq!(snapshot.num_vertices(), ends.len() as u64, "the vertices are the ends of the edges");
    edges.sort_unstable();
    edges
}

/// How often each edge is in a view, in ids; those of a symmetric type with the smaller end first.
fn copies(case: &Case, view: &Snapshot) -> BTreeMap<(u32, u32), usize> {
    let flat = view.flat();
    let mut copies = BTreeMap::new();
    for src in 0..flat.id_bound() {
        let ends = flat.neighbors(Direction::Out, src).iter().map(|dst| (src, dst));
        ends.filter(|(src, dst)| !case.symmetric || src <= dst)
            .for_each(|edge| *copies.entry(edge).or_default() += 1);
    }
    copies
}

/// Whether changes are the difference of the views that they led from and to.
fn are_exact(case: &Case, moved: &Advance) -> bool {
    let Advance { before, after, changes } = moved;
    let (was, is) = (copies(case, before), copies(case, after));
    let count = |copies: &BTreeMap<_, usize>, edge: &(u32, u32)| copies.get(edge).copied().unwrap_or(0);
    let all: BTreeSet<_> = was.keys().chain(is.keys()).copied().collect();
    let more = |left: &BTreeMap<_, usize>, right: &BTreeMap<_, usize>| -> Vec<(u32, u32)> {
        let more = |edge: &(u32, u32)| count(left, edge).saturating_sub(count(right, edge));
        all.iter().flat_map(|edge| std::iter::repeat_n(*edge, more(edge))).collect()
    };
    changes.inserted == more(&is, &was)
        && changes.deleted == more(&was, &is)
        && changes.rewritten.iter().all(|edge| count(&was, edge).min(count(&is, edge)) > 0)
}

/// Applies a step to the store and to the rules.
fn apply(case: &Case, store: &Store, naive: &mut Naive, step: &Step, number: i64) {
    match *step {
        Step::Put(src, dst, time) => {
            let time_value = time.map_or(Value::Null, Value::Timestamp);
            let properties = [("n", number.into()), ("time", time_value)];
            store.put_edge(&case.key(src), &case.key(dst), TYPE, &properties).expect("put");
            store.put_edge(&case.key(src), &case.key(dst), "other", &[]).expect("put");
            naive.put(case, case.pair(src, dst), time, number);
        }
        Step::Delete(src, dst) => {
            store.delete_edge(&case.key(src), &case.key(dst), TYPE).expect("deleted");
            let pair = case.pair(src, dst);
            // What is not in the graph cannot be deleted, and then no window hears of it.
            naive.events.retain(|event| event.1 != pair);
        }
        Step::DeleteVertex(vertex) => {
            store
                .transact(0, |tx| Ok::<_, evergraph_store::CommitError>(tx.delete_vertex(&case.key(vertex))?))
                .expect("deleted");
            naive.events.retain(|(_, (src, dst), _)| *src != vertex && *dst != vertex);
        }
        Step::Compact => store.compact().expect("in memory"),
        Step::Advance => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_window_holds_what_the_rules_say(case in any_case(), steps in any_steps()) {
        let store = case.store();
        let mut window = Window::new(&store, case.options()).expect("a window");
        let mut naive = Naive::default();
        let empty = window.changes().expect("it begins").after;
        let mut degrees = IncrementalDegrees::new(&empty, &Control::new()).expect("degrees");
        let mut components = IncrementalComponents::new(&empty, &Control::new()).expect("components");
        let mut cores = IncrementalCores::new(&empty, &Control::new()).expect("cores");
        for (number, step) in (0..).zip(steps.iter().chain([&Step::Advance])) {
            apply(&case, &store, &mut naive, step, number);
            if matches!(step, Step::Advance) {
                window.advance().expect("an advance");
                prop_assert_eq!(window.end(), naive.newest);
                let snapshot = window.latest().expect("a snapshot");
                let expected = naive.newest.map_or(Vec::new(), |end| naive.content(&case, end));
                prop_assert_eq!(found(&case, &snapshot), expected);
                prop_assert_eq!((window.stats().late, window.stats().untimed), (naive.late, naive.untimed));
                let moved = window.changes().expect("changes");
                prop_assert!(are_exact(&case, &moved), "{:?}", moved.changes);
                degrees.update(&moved.after, &moved.changes).expect("an update");
                components.update(&moved.after, &moved.changes).expect("an update");
                cores.update(&moved.after, &moved.changes).expect("an update");
                let control = Control::new();
                prop_assert_eq!(degrees.result(), degree_statistics(&moved.after, &control).expect("a result"));
                prop_assert_eq!(components.result(), connected_components(&moved.after, &control).expect("a result"));
                prop_assert_eq!(cores.result(), core_number(&moved.after, &control).expect("a result"));
            }
        }
    }

    #[test]
    fn steps_come_in_order_and_none_with_an_edge_is_missed(
        case in any_case(),
        every in 1i64..20,
        tumbling in any::<bool>(),
        times in prop::collection::vec((0i64..6, 0i64..6, 0i64..90, 0i64..4), 0..60),
    ) {
        let (Span::Time(length) | Span::Edges(length)) = case.span;
        let every = if tumbling { length } else { every };
        let store = case.store();
        let mut window = Window::new(&store, WindowOptions { every: Some(WindowStep::Length(every)), ..case.options() }).expect("a window");
        let mut naive = Naive::default();
        let mut emitted = Vec::new();
        for (number, &(src, dst, time, back)) in (0..).zip(&times) {
            // Time goes on, with events that are a little late.
            let time = number + time / 30 - back;
            apply(&case, &store, &mut naive, &Step::Put(src, dst, Some(time)), number);
            if number % 5 == 4 || number as usize + 1 == times.len() {
                while let Some(snapshot) = window.next(Some(Duration::ZERO)).expect("a step") {
                    let end = window.end().expect("it has moved");
                    emitted.push((end, found(&case, &snapshot)));
                }
            }
        }
        let over = naive.newest.map(|newest| if matches!(case.span, Span::Edges(_)) { newest } else { newest - case.lateness - 1 });
        let over = over.unwrap_or(-1000);
        let ends: Vec<i64> = emitted.iter().map(|(end, _)| *end).collect();
        prop_assert!(ends.is_sorted_by(|left, right| left < right) && ends.iter().all(|end| end % every == 0));
        prop_assert!(ends.last().is_none_or(|&end| end <= over));
        for (end, edges) in &emitted {
            prop_assert_eq!(edges, &naive.content(&case, *end));
        }
        let first = ends.first().copied().unwrap_or(i64::MAX);
        for end in (-20..200).filter(|end| end % every == 0 && *end <= over && *end >= first) {
            prop_assert!(ends.contains(&end) || naive.content(&case, end).is_empty(), "no step to {}", end);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// By the clock, with times as the log has them: each step in which something came is told once, as it was at its end.
    #[test]
    fn steps_of_the_clock_hold_what_was_committed_by_their_ends(
        case in any_case(),
        steps in any_steps(),
        pauses in prop::collection::vec(0u64..3, 80),
        follows in any::<bool>(),
    ) {
        let every = 2_000;
        let case = Case { span: Span::Edges(5), lateness: 0, ..case };
        let store = case.store();
        let options = WindowOptions { every: Some(WindowStep::Clock(every)), ..case.options() };
        let mut window = Window::new(&store, options).expect("a window");
        let mut log = store.changes(ChangeOptions::default()).expect("a reader");
        let (mut naive, mut expected, mut told) = (Naive::default(), BTreeMap::new(), Vec::new());
        let mut next = |timeout| window.next(Some(timeout)).expect("no error").map(|view| found(&case, &view));
        for (number, (step, pause)) in (0..).zip(steps.iter().take(20).zip(pauses)) {
            std::thread::sleep(Duration::from_millis(pause));
            apply(&case, &store, &mut naive, step, number);
            while let Some(commit) = log.next().expect("a commit") {
                if commit.writes.edges.iter().any(|(edge_type, ops)| *edge_type == 0 && !ops.is_empty()) {
                    let end = (commit.time_micros + every - 1).div_euclid(every);
                    expected.insert(end, naive.content(&case, naive.puts));
                }
            }
            if follows {
                told.extend(next(Duration::ZERO));
            }
        }
        while told.len() < expected.len() {
            told.push(next(Duration::from_secs(10)).expect("a step in time"));
        }
        prop_assert_eq!(next(Duration::ZERO), None);
        prop_assert_eq!(told, expected.into_values().collect::<Vec<_>>());
    }
}

fn plain(span: Span) -> WindowOptions {
    WindowOptions { edge_type: Some(TYPE.to_owned()), ..WindowOptions::new(span) }
}

const CASE: Case = Case {
    multi: true,
    symmetric: false,
    text_keys: false,
    span: Span::Time(10),
    duplicates: Duplicates::Keep,
    lateness: 0,
};

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let store = CASE.store();
    for length in [0, -5] {
        for (span, argument) in [(Span::Time(length), "last"), (Span::Edges(length), "edges")] {
            let error = Window::new(&store, plain(span)).expect_err("refused");
            assert!(
                matches!(error, WindowError::NotPositive { argument: found, value } if (found, value) == (argument, length))
            );
        }
    }
    let refused = [
        WindowOptions { every: Some(WindowStep::Length(0)), ..plain(Span::Time(5)) },
        WindowOptions { every: Some(WindowStep::Clock(0)), ..plain(Span::Edges(5)) },
        WindowOptions { every: Some(WindowStep::Clock(5)), ..plain(Span::Time(5)) },
        WindowOptions { lateness: -1, ..plain(Span::Time(5)) },
        WindowOptions { lateness: 3, ..plain(Span::Edges(5)) },
        WindowOptions { order: Some(Order::Event), ..plain(Span::Edges(5)) },
        WindowOptions { order: Some(Order::Ingest), lateness: 1, ..plain(Span::Time(5)) },
        WindowOptions { edge_type: None, ..plain(Span::Time(5)) },
    ];
    for options in refused {
        assert!(Window::new(&store, options.clone()).is_err(), "{options:?}");
    }
    let timeless = WindowOptions {
        order: Some(Order::Event),
        edge_type: Some("other".to_owned()),
        ..plain(Span::Time(5))
    };
    assert!(
        matches!(Window::new(&store, timeless), Err(WindowError::NoTime { edge_type }) if edge_type == "other")
    );
    let unknown = WindowOptions { edge_type: Some("none".to_owned()), ..plain(Span::Time(5)) };
    assert!(matches!(
        Window::new(&store, unknown),
        Err(WindowError::Schema(SchemaError::UnknownEdgeType { .. }))
    ));
    let ahead = WindowOptions { after: Some(1_000), ..plain(Span::Time(5)) };
    assert!(matches!(Window::new(&store, ahead), Err(WindowError::Changes(ChangesError::Ahead { .. }))));
}

#[test]
fn by_the_order_of_ingest_edges_leave_as_the_clock_goes_on() {
    let store = CASE.store();
    let last = 500_000;
    let options = WindowOptions { order: Some(Order::Ingest), ..plain(Span::Time(last)) };
    let mut window = Window::new(&store, options.clone()).expect("a window");
    let mut steps = Window::new(&store, WindowOptions { every: Some(WindowStep::Length(last)), ..options })
        .expect("a window");
    store.put_edge(1, 2, TYPE, &[]).expect("put");
    window.advance().expect("an advance");
    assert_eq!(window.latest().expect("a snapshot").num_edges(), 1);
    std::thread::sleep(Duration::from_millis(520));
    window.advance().expect("an advance");
    assert_eq!(window.latest().expect("a snapshot").num_vertices(), 0);
    let step = steps.next(Some(Duration::from_secs(10))).expect("a step").expect("in time");
    assert_eq!(step.num_edges(), 1);
    let step = steps.next(Some(Duration::from_secs(10))).expect("a step").expect("in time");
    assert_eq!(step.num_edges(), 0, "it is said once that the window is empty");
    assert!(steps.next(Some(Duration::from_millis(1))).expect("no error").is_none());
}

/// The head may stop for want of events, not at one that lies beyond, when a step is over.
#[test]
fn a_step_to_an_event_out_of_order_is_not_missed() {
    let store = CASE.store();
    let options = WindowOptions { every: Some(WindowStep::Length(1)), lateness: 2, ..plain(Span::Time(1)) };
    let mut window = Window::new(&store, options).expect("a window");
    let mut ends = Vec::new();
    for batch in [&[17, 21][..], &[20, 23]] {
        for &time in batch {
            store.put_edge(1, 2, TYPE, &[("time", Value::Timestamp(time))]).expect("put");
        }
        while window.next(Some(Duration::ZERO)).expect("a step").is_some() {
            ends.extend(window.end());
        }
    }
    assert_eq!(ends, [17, 18, 20]);
}

#[test]
fn a_window_ends_with_its_store() {
    let store = CASE.store();
    let mut window = Window::new(&store, plain(Span::Edges(3))).expect("a window");
    let mut steps =
        Window::new(&store, WindowOptions { every: Some(WindowStep::Length(1)), ..plain(Span::Edges(3)) })
            .expect("a window");
    store.close().expect("closed");
    assert!(matches!(window.advance(), Err(WindowError::Changes(ChangesError::Closed(_)))));
    assert!(window.next(None).is_err() && steps.next(None).is_err());
    assert_eq!(window.latest().expect("what it was").num_edges(), 0);
}

#[test]
fn a_clock_that_jumps_ahead_empties_the_window_and_what_comes_after_is_late() {
    let store = CASE.store();
    let mut window = Window::new(&store, plain(Span::Time(10))).expect("a window");
    let put =
        |time| store.put_edge(1, 2, TYPE, &[("n", 0.into()), ("time", Value::Timestamp(time))]).expect("put");
    for time in [5, 6, i64::MAX - 1, 7] {
        put(time);
    }
    window.advance().expect("an advance");
    assert_eq!((window.end(), window.stats().late), (Some(i64::MAX - 1), 1));
    assert_eq!(window.latest().expect("a snapshot").num_edges(), 1);
    put(i64::MIN);
    window.advance().expect("an advance");
    assert_eq!(window.stats().late, 2);
}

#[test]
fn what_is_dropped_or_renamed_ends_the_window_and_it_stays_as_it_was() {
    let edge_type = || TYPE.to_owned();
    let owner = PropertyOwner::EdgeType(edge_type());
    let alterations = [
        (Alteration::DropEdgeType { name: edge_type() }, true),
        (Alteration::RenameEdgeType { name: edge_type(), new_name: "paid".to_owned() }, true),
        (Alteration::DropProperty { owner: owner.clone(), name: "n".to_owned() }, false),
        (Alteration::RenameProperty { owner, name: "n".to_owned(), new_name: "m".to_owned() }, false),
    ];
    for (alteration, of_type) in alterations {
        let store = CASE.store();
        let mut window = Window::new(&store, plain(Span::Edges(5))).expect("a window");
        store.put_edge(1, 2, TYPE, &[("n", 1.into())]).expect("put");
        window.advance().expect("an advance");
        store.alter(&alteration).expect("it is there");
        store.put_edge(1, 3, "other", &[]).expect("put");
        match window.advance() {
            Err(WindowError::TypeChanged { edge_type }) => assert!(of_type && edge_type == TYPE),
            Err(WindowError::PropertyChanged { property, .. }) => assert!(!of_type && property == "n"),
            outcome => panic!("{alteration:?}: {outcome:?}"),
        }
        assert_eq!(window.latest().expect("what it was").num_edges(), 1);
    }
}

#[test]
fn a_property_that_comes_later_is_in_the_window() {
    let store = CASE.store();
    let mut window = Window::new(&store, plain(Span::Edges(5))).expect("a window");
    store.put_edge(1, 2, TYPE, &[("n", 1.into())]).expect("put");
    window.advance().expect("an advance");
    store.put_edge(1, 3, TYPE, &[("note", "late".into())]).expect("put");
    window.advance().expect("an advance");
    let edge = &window.latest().expect("a snapshot").edges_between(1, 3, None)[0];
    assert_eq!(edge.properties, [("note".to_owned(), "late".into())]);
}
