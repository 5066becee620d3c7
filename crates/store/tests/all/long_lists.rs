//! Lists about as long as a table entry can tell, and longer: they read the same in every way, in memory and in a segment, as they
//! were and after changes, and leave nothing behind.

use crate::common::{number_batch, open, options};
use evergraph_disk::SimDisk;
use evergraph_store::{ListFormat, Options, Store, Version};
use evergraph_types::{Direction, EdgeTypeOptions, KeyKind, VertexId};

const HUB: VertexId = 0;
/// An entry tells up to 8191 neighbors of a flat list.
const LENGTHS: [i64; 8] = [1, 256, 257, 8190, 8191, 8192, 8193, 20_000];

fn check(version: &Version, expected: &[VertexId], what: &str) {
    let list = version.neighbors(0, Direction::Out, HUB);
    assert_eq!((list.len(), list.to_vec().as_slice()), (expected.len(), expected), "{what}");
    assert_eq!(version.degree(0, Direction::Out, HUB), expected.len(), "{what}");
    let mut runs = Vec::new();
    version.for_each_run(0, Direction::Out, HUB, |run| runs.extend_from_slice(run.neighbors()));
    assert_eq!(runs, expected, "{what}");
    for wanted in [1, 2, 3, 24_574, 24_576, 40_000] {
        assert_eq!(version.has_edge(0, HUB, wanted), expected.contains(&wanted), "{what}, {wanted}");
    }
    let layout = version.layout();
    assert_eq!(layout.tables[0].entries, expected.len() as u64, "{what}");
}

fn check_flat(store: &Store, expected: &[VertexId], what: &str) {
    let version = store.version().expect("open");
    check(&version, expected, what);
    let flat = version.flatten(0, Direction::Out);
    assert_eq!((flat.degree(HUB), flat.has_neighbors(HUB)), (expected.len(), !expected.is_empty()), "{what}");
    assert!(flat.degrees(0..4).eq([expected.len(), 0, 0, 0]), "{what}");
    assert!(!flat.has_neighbors(1), "{what}");
    let lists: Vec<Vec<VertexId>> = flat.lists(0..2).map(|list| list.to_vec()).collect();
    assert_eq!(lists, [expected, &[]], "{what}");
    let end_to_end = flat.end_to_end(|| Ok::<(), std::convert::Infallible>(())).expect("nothing to fail");
    let copied: Vec<Vec<VertexId>> = end_to_end.lists(0..2).map(|list| list.to_vec()).collect();
    assert_eq!(copied, lists, "{what}");
    let asked: Vec<Vec<VertexId>> = flat.lists_ahead(0..2).map(|list| list.to_vec()).collect();
    assert_eq!(asked, lists, "{what}");
    let found = flat.neighbors(HUB).fold_ahead(96, Vec::new(), |mut found, neighbor, _| {
        found.push(neighbor);
        found
    });
    assert_eq!(found, expected, "{what}");
}

/// The hub's list after more edges and, from a list that ascends, without some.
fn change(store: &Store, list: &mut Vec<VertexId>, multi: bool, added: std::ops::Range<i64>) {
    store
        .add_edges("edge", vec![number_batch(added.clone().map(|number| (0, 3 * number + 1)))])
        .expect("edges");
    list.extend(added.map(|number| (3 * number + 1) as VertexId));
    let last = list[list.len() - 1];
    assert!(store.delete_edge(0, i64::from(last), "edge").expect("an edge"));
    list.retain(|&neighbor| neighbor != last);
    if !multi {
        list.sort_unstable();
    }
}

#[test]
fn long_lists_read_the_same_wherever_they_lie() {
    for (len, format, multi) in LENGTHS.into_iter().flat_map(|len| {
        let formats = [ListFormat::Fast, ListFormat::Compact].into_iter();
        formats.flat_map(move |format| [false, true].map(|multi| (len, format, multi)))
    }) {
        let what = format!("{len} neighbors, {format}, multi {multi}");
        let options = || Options { keys: Some(KeyKind::Dense), format: Some(format), ..options() };
        let disk = SimDisk::new(1);
        let mut store = open(&disk, options());
        let kind = EdgeTypeOptions { multi, reverse: false, ..EdgeTypeOptions::default() };
        store.create_edge_type("edge", kind).expect("a new type");
        let batch = number_batch((1..=len).map(|number| (0, 3 * number)));
        store.add_edges("edge", vec![batch]).expect("edges");
        let mut list: Vec<VertexId> = (1..=len).map(|number| 3 * number as VertexId).collect();
        check_flat(&store, &list, &what);
        store.compact().expect("a good disk");
        check_flat(&store, &list, &what);
        let (kept, kept_list) = (store.version().expect("open"), list.clone());
        change(&store, &mut list, multi, 0..1);
        change(&store, &mut list, multi, 1..3);
        check_flat(&store, &list, &what);
        change(&store, &mut list, multi, 4..9_000);
        check_flat(&store, &list, &what);
        check(&kept, &kept_list, &what);
        drop((kept, store));
        store = open(&disk, options());
        check_flat(&store, &list, &what);
        store.compact().expect("a good disk");
        check_flat(&store, &list, &what);
        drop(store);
        store = open(&disk, options());
        check_flat(&store, &list, &what);
        let batch = number_batch(list.iter().map(|&neighbor| (0, i64::from(neighbor))));
        store.delete_edges("edge", vec![batch]).expect("edges");
        assert_eq!(store.version().expect("open").num_entries(0), 0, "{what}");
        assert_eq!(store.stats().memory.fragment_bytes, 0, "{what}");
    }
}
