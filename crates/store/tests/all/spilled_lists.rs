//! Loads under a limit on memory, cut within lists, against the same loads without one: the same lists in the same order, with the
//! same properties, over whatever is there of them.

use crate::common::{Dump, directory, dump, number_batch, on, open, options, with_columns};
use evergraph_disk::SimDisk;
use evergraph_store::{ListFormat, Options, Store, check_on};
use evergraph_types::{EdgeBatch, EdgeTypeOptions, KeyKind, PropertyType, Value};
use proptest::prelude::*;

const PROPERTIES: [(&str, PropertyType); 2] =
    [("weight", PropertyType::Int64), ("note", PropertyType::String)];

#[derive(Clone, Copy, Debug)]
struct Kind {
    multi: bool,
    symmetric: bool,
    reverse: bool,
    format: ListFormat,
    /// How much memory the load takes that is cut.
    limit: u64,
}

/// Edges, most of them at a few hubs: to the neighbors of these in some order, some of them again.
#[derive(Clone, Copy, Debug)]
struct Rows {
    seed: u64,
    count: usize,
    hubs: u64,
    vertices: u64,
    /// Which properties they have.
    columns: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Load(Vec<Rows>),
    /// Edges put and, every third, deleted by commits, which leave lists in memory.
    Commits(Rows),
    Checkpoint,
    Compact,
    Reopen,
}

impl Rows {
    fn ends(self) -> impl Iterator<Item = (i64, i64)> {
        let mut state = self.seed | 1;
        let mut next = move |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % bound) as i64
        };
        (0..self.count).map(move |_| {
            let hub = next(self.hubs);
            let near = if next(8) == 0 { next(self.vertices) } else { hub };
            let far = next(self.vertices);
            if next(5) == 0 { (far, near) } else { (near, far) }
        })
    }

    fn batch(self) -> EdgeBatch {
        let columns: Vec<_> =
            (0..PROPERTIES.len()).filter(|at| self.columns >> at & 1 == 1).map(|at| PROPERTIES[at]).collect();
        with_columns(number_batch(self.ends()), &columns, |column, row| match columns[column].1 {
            _ if row.is_multiple_of(11) => Value::Null,
            PropertyType::Int64 => Value::Int((self.seed % 1000) as i64 + row as i64),
            _ => Value::Text(format!("{:0width$}", self.seed % 1000 + row as u64, width = row % 90)),
        })
    }
}

fn rows() -> impl Strategy<Value = Rows> {
    let vertices = prop_oneof![Just(40u64), Just(700), Just(9000)];
    (any::<u64>(), 1usize..2500, 1u64..4, vertices, 0usize..4)
        .prop_map(|(seed, count, hubs, vertices, columns)| Rows { seed, count, hubs, vertices, columns })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => prop::collection::vec(rows(), 1..5).prop_map(Step::Load),
        2 => rows().prop_map(|rows| Step::Commits(Rows { count: rows.count % 40, ..rows })),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    let format = prop_oneof![Just(ListFormat::Fast), Just(ListFormat::Compact)];
    let limit = prop_oneof![Just(600u64), Just(9_000), Just(60_000), Just(300_000)];
    (any::<bool>(), any::<bool>(), any::<bool>(), format, limit).prop_map(
        |(multi, symmetric, reverse, format, limit)| Kind { multi, symmetric, reverse, format, limit },
    )
}

/// What is there after each step, of a store with this limit.
fn dumps(kind: Kind, memory_limit_bytes: Option<u64>, has_properties: bool, steps: &[Step]) -> Vec<Dump> {
    let disk = SimDisk::new(0);
    let options = || Options {
        bulk_edges: 1,
        memory_limit_bytes,
        format: Some(kind.format),
        // Ids are the same, however the load is cut.
        keys: Some(KeyKind::Dense),
        ..options()
    };
    let Kind { multi, symmetric, reverse, .. } = kind;
    let mut store = open(&disk, options());
    let edge_type = EdgeTypeOptions { multi, symmetric, reverse, ..EdgeTypeOptions::default() };
    store.create_edge_type("knows", edge_type).expect("a new type");
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Load(rows) => {
                let mut load = store.bulk_load("knows", None);
                for rows in rows {
                    let columns = if has_properties { rows.columns } else { 0 };
                    load.add(vec![Rows { columns, ..*rows }.batch()]).expect("it fits");
                }
                load.commit(&[]).expect("it fits");
            }
            Step::Commits(rows) => commits(&store, rows),
            Step::Checkpoint => store.checkpoint().expect("a good disk"),
            Step::Compact => store.compact().expect("a good disk"),
            Step::Reopen => {
                drop(store);
                store = open(&disk, options());
            }
        }
        found.push(dump(&store.version().expect("open")));
    }
    store.compact().expect("a good disk");
    store.close().expect("a good disk");
    let report = check_on(on(&disk), directory()).expect("a store");
    assert!(report.is_healthy(), "{report:?}");
    found.push(dump(&open(&disk, options()).version().expect("open")));
    found
}

fn commits(store: &Store, rows: &Rows) {
    for (row, (src, dst)) in rows.ends().enumerate() {
        store.put_edge(src, dst, "knows", &[]).expect("it fits");
        if row.is_multiple_of(3) {
            store.delete_edge(src, dst, "knows").expect("it fits");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_load_that_is_cut_within_lists_gives_the_same_graph(
        kind in kind(), has_properties: bool, steps in prop::collection::vec(step(), 1..6))
    {
        let limited = dumps(kind, Some(kind.limit), has_properties, &steps);
        for (step, (found, expected)) in limited.iter().zip(dumps(kind, None, has_properties, &steps)).enumerate() {
            prop_assert!(*found == expected, "after step {}", step);
        }
    }
}
