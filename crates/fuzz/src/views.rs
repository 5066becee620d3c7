//! Predicates, and what views and their handlers keep in the catalog.

use std::collections::BTreeSet;

use evergraph_store::{CommitError, Options, Retain, Store};
use evergraph_types::{Key, Value};
use evergraph_view::{GraphView, Snapshot};
use evergraph_views::{
    Event, EventError, HandlerError, HandlerOptions, Predicate, View, ViewError, ViewRequest, Views,
};

/// Some people of two types and what is between them, in memory.
fn people() -> Result<Store, Box<dyn std::error::Error>> {
    let store = Store::in_memory(Options { retain: Some(Retain::Everything), ..Options::default() });
    for id in 0..6i64 {
        let given: [(&str, Value); 3] = [
            ("age", (id * 7 % 40).into()),
            ("name", ["Ann", "it's", "B \"C\""][id as usize % 3].into()),
            ("score", if id == 2 { Value::Null } else { Value::Float(id as f64 / 2.0) }),
        ];
        let mut transaction = store.begin()?;
        transaction.put_vertex(id, (id < 4).then_some("Person"), &given)?;
        transaction.put_edge(id, id * 5 % 6, ["knows", "pays"][id as usize % 2], &[("amount", id.into())])?;
        transaction.put_vertex(
            id,
            None,
            &[("ok", (id > 2).into()), ("at", Value::Timestamp(id * 1_000_000))],
        )?;
        transaction.commit()?;
    }
    Ok(store)
}

/// The people, which are made without fail where the store is not broken; other tests tell that better.
fn sample() -> Store {
    people().unwrap_or_else(|error| panic!("the sample cannot be made: {error}"))
}

/// The keys of what a view has, vertices and edges; nothing where it is no view.
fn found(store: &Store, request: &ViewRequest) -> Option<(BTreeSet<String>, u64)> {
    let views = Views::new(store.clone());
    match views.create("it", request) {
        Ok(view) => {
            let shown = shown(&view);
            assert!(view.drop_view().is_ok());
            shown
        }
        Err(ViewError::Evaluate(_)) => None,
        Err(error) => panic!("a predicate leads to {error:?}"),
    }
}

fn shown(view: &View) -> Option<(BTreeSet<String>, u64)> {
    match view.latest() {
        Ok(part) => {
            let snapshot = part.snapshot();
            let keys = snapshot.vertex_ids().into_iter().map(|id| snapshot.key(id).to_string());
            Some((keys.collect(), snapshot.num_edges()))
        }
        Err(ViewError::Evaluate(_)) => None,
        Err(error) => panic!("a view leads to {error:?}"),
    }
}

/// Any text as a predicate of vertices, and of edges. What it says twice is what it says once, and nothing is both in it and
/// in its opposite.
pub fn fuzz_predicate(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(predicate) = text.parse::<Predicate>() else { return };
    assert_eq!(predicate.to_string().parse(), Ok(predicate));
    let store = sample();
    let vertices =
        |text: String| found(&store, &ViewRequest { vertices_where: Some(text), ..ViewRequest::default() });
    let edges =
        |text: String| found(&store, &ViewRequest { edges_where: Some(text), ..ViewRequest::default() });
    let (once, twice) = (vertices(text.to_owned()), vertices(format!("({text}) and ({text})")));
    if let (Some(once), Some(twice)) = (&once, &twice) {
        assert_eq!(once, twice);
    }
    if let (Some((those, _)), Some((others, _))) = (&once, vertices(format!("not ({text})"))) {
        assert!(those.is_disjoint(&others), "{those:?} and {others:?}");
    }
    if let (Some(once), Some(twice)) = (edges(text.to_owned()), edges(format!("({text}) or ({text})"))) {
        assert_eq!(once, twice);
    }
}

/// Any bytes as the stored definition of a view.
pub fn fuzz_view(data: &[u8]) {
    let store = sample();
    put_items(&store, &[("view/it", data)]);
    let Ok(view) = Views::new(store.clone()).get("it") else { panic!("the view is there") };
    match view.definition() {
        Ok(definition) => {
            shown(&view);
            let Ok(version) = store.version() else { return };
            definition.describe(version.schema());
            let statistics = view.statistics(&Snapshot::new(version));
            assert!(matches!(statistics, Ok(_) | Err(ViewError::Evaluate(_))), "{statistics:?}");
        }
        Err(ViewError::Unreadable { .. }) => {
            let latest = view.latest();
            assert!(matches!(latest, Err(ViewError::Unreadable { .. })), "what is not read is not shown");
        }
        Err(error) => panic!("a definition leads to {error:?}"),
    }
}

/// Any bytes as the place of a handler or as one of its dead letters; the first byte chooses.
pub fn fuzz_handler(data: &[u8]) {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let store = sample();
    let views = Views::new(store.clone());
    let everyone = ViewRequest { vertices_where: Some("age >= 0".to_owned()), ..ViewRequest::default() };
    let Ok(view) = views.create("it", &everyone) else { panic!("a good view is made") };
    let item = if choice % 2 == 0 { "handler/it/reader" } else { LETTER };
    put_items(&store, &[(item, bytes)]);
    match view.dead_letters("reader") {
        Ok(letters) => assert_eq!(letters.len(), usize::from(item == LETTER)),
        Err(error) => assert!(matches!(error, EventError::Unreadable { .. }), "{error:?}"),
    }
    let nothing = |_: &[Event], _: Option<&mut _>| Ok::<(), HandlerError>(());
    match view.on_update(HandlerOptions::new("reader"), nothing) {
        Ok(subscription) => subscription.stop(),
        // Where its place is from before the properties that the view asks of, it does not fit.
        Err(EventError::Unreadable { .. } | EventError::NotRetained { .. } | EventError::View(_)) => {}
        Err(error) => panic!("a place leads to {error:?}"),
    }
}

/// The item of a dead letter.
const LETTER: &str = "dead/it/reader/0000000000000003-00000000";

fn put_items(store: &Store, items: &[(&str, &[u8])]) {
    let put = store.transact(1, |transaction| {
        items
            .iter()
            .try_for_each(|(name, bytes)| transaction.put_item(name, bytes))
            .map_err(CommitError::from)
    });
    assert!(put.is_ok(), "{put:?}");
}

/// Predicates of each form.
pub(crate) fn predicates() -> Vec<Vec<u8>> {
    let texts = [
        "age >= 20 and (name = 'Ann' or name is null)",
        "type in ('Person', 'Robot') and not ok",
        "at < timestamp '1970-01-01T00:00:02Z' or score <> -1.5e3",
        "\"name\" = 'it''s' and age not in (1, 2, +3)",
        "id = 3 or not (id <= 2 and ok == true)",
        "amount > 2 and type != 'pays'",
        "score is not null and age > score",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// Definitions of each kind.
pub(crate) fn definitions() -> Vec<Vec<u8>> {
    let store = sample();
    let views = Views::new(store.clone());
    let text = |text: &str| Some(text.to_owned());
    let requests = [
        ViewRequest { vertices: (0..4).map(Key::Int).collect(), ..ViewRequest::default() },
        ViewRequest { vertices_where: text("age > 3"), ..ViewRequest::default() },
        ViewRequest { vertices_where: text("age > 3"), frozen: true, ..ViewRequest::default() },
        ViewRequest { edges_where: text("amount > 2"), ..ViewRequest::default() },
        ViewRequest {
            edges: vec![(Key::Int(1), Key::Int(5), None), (Key::Int(2), Key::Int(4), None)],
            ..ViewRequest::default()
        },
    ];
    for (number, request) in requests.iter().enumerate() {
        let made = views.create(&number.to_string(), request);
        assert!(made.is_ok(), "{number}");
    }
    let bytes = store
        .version()
        .map(|version| version.items("view/").into_iter().map(|(_, bytes)| bytes.to_vec()).collect());
    bytes.unwrap_or_default()
}

/// Places and dead letters.
pub(crate) fn handler_items() -> Vec<Vec<u8>> {
    let places = ["0", "7", "3 0", "4 17"].map(|place| [b"\0", place.as_bytes()].concat());
    let added = letter(&[b"\0\0", &7i64.to_le_bytes()[..]].concat(), b"\0");
    let edge = [b"\x01\x01\x01\0\0\0a\0", &(-1i64).to_le_bytes()[..], b"\x04\0\0\0pays"].concat();
    let list = b"\x02\x03\0\0\0age\x00\x09\x03\0\0\0\x01\x01\x04\x01\0\0\0x\x08\x02\0\0\0\0\xff";
    places.into_iter().chain([added, letter(&edge, list)]).collect()
}

/// A dead letter about this subject, behind the byte that chooses letters.
fn letter(subject: &[u8], transition: &[u8]) -> Vec<u8> {
    let (tries, error) = (6u32.to_le_bytes(), b"\x02\0\0\0no");
    let place = [&3u64.to_le_bytes()[..], &0u32.to_le_bytes(), &1_000_000i64.to_le_bytes()].concat();
    [b"\x01\x01", &tries[..], error, &place, b"\x02", subject, transition].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target that refused its seeds would try nothing behind the first check.
    #[test]
    fn good_items_are_read() {
        let store = sample();
        for (number, bytes) in definitions().into_iter().enumerate() {
            put_items(&store, &[("view/it", &bytes)]);
            let view = Views::new(store.clone()).get("it").expect("it is there");
            assert!(!shown(&view).expect("it fits").0.is_empty(), "{number}");
        }
        let seeds = handler_items();
        for bytes in seeds.iter().filter(|bytes| bytes[0] == 1) {
            put_items(&store, &[(LETTER, &bytes[1..])]);
            let view = Views::new(store.clone()).get("it").expect("it is there");
            assert_eq!(view.dead_letters("reader").expect("they are read").len(), 1);
        }
    }

    #[test]
    fn good_predicates_find_some() {
        let store = sample();
        let somewhere = |text: Vec<u8>| {
            let text = String::from_utf8(text).expect("text");
            let vertices = ViewRequest { vertices_where: Some(text.clone()), ..ViewRequest::default() };
            let edges = ViewRequest { edges_where: Some(text.clone()), ..ViewRequest::default() };
            let found = found(&store, &vertices).or_else(|| found(&store, &edges)).expect(&text);
            assert!(!found.0.is_empty(), "{text}");
        };
        predicates().into_iter().for_each(somewhere);
    }
}
