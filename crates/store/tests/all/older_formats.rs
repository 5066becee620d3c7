//! Stores as older releases wrote them, kept for ever: they open, say what they said, and go on in the format of today.

use crate::common::{directory, open, options};
use evergraph_disk::{Disk, SimDisk};
use evergraph_store::Store;
use evergraph_types::{Direction, Value};

/// A compact store of segment format 1: 60 payments of the accounts 0 and 1, in turns, number `i` to account `i`, with an
/// amount that every fifth lacks, a time and a kind.
fn segment_format_1() -> SimDisk {
    let disk = SimDisk::new(0);
    for folder in ["segments", "log"] {
        disk.create_dir_all(&directory().join(folder)).expect("a good disk");
    }
    for (name, bytes) in [
        ("MANIFEST", &include_bytes!("data/segment_format_1/MANIFEST")[..]),
        (
            "segments/0000000000000001.segment",
            &include_bytes!("data/segment_format_1/0000000000000001.segment")[..],
        ),
    ] {
        disk.put(&directory().join(name), bytes).expect("a good disk");
    }
    disk
}

/// What a payment has.
fn payment(number: i64) -> Vec<Value> {
    let amount = if number % 5 == 0 { Value::Null } else { Value::Int(number - 20) };
    let at = Value::Timestamp(1_704_067_200_000_000 + 1_000_000 * number);
    vec![amount, at, Value::Text(["card", "cash", "transfer"][number as usize % 3].to_owned())]
}

fn check(store: &Store, what: &str) {
    let version = store.version().expect("open");
    let id = |key: i64| version.vertex_id(key.into()).expect("an account");
    let mut found = vec![Vec::new(); 60];
    for payer in [0, 1] {
        version.for_each_edge(0, Direction::Out, id(payer), &[0, 1, 2], &mut |to, values| {
            let number = (0..60).find(|&number| id(number) == to).expect("an account");
            found[number as usize].push((payer, values.to_vec()));
        });
    }
    for (number, found) in (0..60).zip(found) {
        assert_eq!(found, [(number % 2, payment(number))], "{what}: payment {number}");
    }
}

#[test]
fn segments_of_format_1_open_and_are_written_anew() {
    let disk = segment_format_1();
    let segment = |disk: &SimDisk| {
        let folder = directory().join("segments");
        let names = disk.list(&folder).expect("a folder");
        let [name] = &names[..] else { panic!("one segment: {names:?}") };
        disk.read(&folder.join(name)).expect("a file")
    };
    let old = segment(&disk);
    let mut store = open(&disk, options());
    for what in ["as it was", "opened again", "written anew", "that opened again"] {
        check(&store, what);
        if what == "opened again" {
            store.compact().expect("a good disk");
        }
        if what != "opened again" {
            drop(store);
            store = open(&disk, options());
        }
    }
    let new = segment(&disk);
    assert_eq!((old[8], new[8]), (1, 3), "the format version");
    assert!(new.len() < old.len() - 500, "columns take less room: {} and {}", new.len(), old.len());
}

/// A store of log format 1, all of it in the log: 60 payments as above but with an amount alone, of which the last two and all to
/// account 13 are gone again, with that account; account 0 has a type and a name, and knows account 7.
fn log_format_1() -> SimDisk {
    let disk = SimDisk::new(0);
    for folder in ["segments", "log"] {
        disk.create_dir_all(&directory().join(folder)).expect("a good disk");
    }
    for (name, bytes) in [
        ("MANIFEST", &include_bytes!("data/log_format_1/MANIFEST")[..]),
        ("log/0000000000000001.log", &include_bytes!("data/log_format_1/0000000000000001.log")[..]),
    ] {
        disk.put(&directory().join(name), bytes).expect("a good disk");
    }
    disk
}

fn check_log_format_1(store: &Store, what: &str) {
    let version = store.version().expect("open");
    let (pays, knows) = (version.schema().edge_type("pays"), version.schema().edge_type("knows"));
    let [pays, knows] = [pays, knows].map(|found| found.expect("a type").0);
    let id = |key: i64| version.vertex_id(key.into());
    assert_eq!((id(13), version.num_vertices()), (None, 59), "{what}");
    let first = id(0).expect("an account");
    assert_eq!(version.vertex_property(first, 0), "first".into(), "{what}");
    assert_eq!(version.neighbors(knows, Direction::Out, first).to_vec(), [id(7).expect("an account")]);
    let mut found = Vec::new();
    for payer in [0, 1] {
        let payer_id = id(payer).expect("an account");
        version.for_each_edge(pays, Direction::Out, payer_id, &[0], &mut |to, values| {
            let evergraph_types::Key::Int(to) = version.key(to) else { panic!("a number") };
            found.push((to, payer, values[0].clone()));
        });
    }
    found.sort_by_key(|payment| payment.0);
    let left = (0..58).filter(|number| *number != 13);
    let expected: Vec<_> = left.map(|number| (number, number % 2, Value::Int(number - 20))).collect();
    assert_eq!(found, expected, "{what}");
}

#[test]
fn a_log_of_format_1_is_replayed_and_followed_by_one_of_today() {
    let disk = log_format_1();
    let version_of =
        |disk: &SimDisk, name: &str| disk.read(&directory().join("log").join(name)).expect("a file")[8];
    assert_eq!(version_of(&disk, "0000000000000001.log"), 1);
    let mut store = open(&disk, options());
    for what in ["as it was", "gone on with", "archived"] {
        check_log_format_1(&store, what);
        match what {
            "as it was" => drop(store.put_vertex(1, None, &[]).expect("put")),
            "gone on with" => {
                let names = disk.list(&directory().join("log")).expect("a folder");
                assert_eq!((names.len(), version_of(&disk, &names[1])), (2, 2), "{names:?}");
                store.checkpoint().expect("a good disk");
            }
            _ => {}
        }
        drop(store);
        store = open(&disk, options());
    }
    check_log_format_1(&store, "at the end");
}
