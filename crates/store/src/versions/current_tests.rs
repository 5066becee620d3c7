//! The newest version: what a guard keeps alive, and for how long. The orders in which threads may come are tried by
//! `tests/interleavings`.

use std::sync::{Arc, Weak};

use crate::versions::current::{Current, Replaced, take_unread};

#[test]
fn a_guard_keeps_its_version_and_nothing_else_does() {
    let current = Current::new(0);
    let (mut guards, mut replaced) = (Vec::new(), Vec::new());
    // More than there are slots.
    for number in 1..=20 {
        guards.push(current.load());
        replaced.push(current.swap(Arc::new(number)));
    }
    let versions: Vec<Weak<u32>> = replaced.iter().map(Replaced::watched).collect();
    assert!(guards.iter().map(|guard| **guard).eq(0..20));
    while let Some(guard) = guards.pop() {
        take_unread(&mut replaced, drop);
        let alive = versions.iter().filter(|version| version.strong_count() > 0).count();
        assert_eq!(alive, guards.len() + 1);
        drop(guard);
    }
    take_unread(&mut replaced, drop);
    assert!(versions.iter().all(|version| version.strong_count() == 0));
    assert_eq!((*current.load(), *current.load_full()), (20, 20));
}

#[test]
fn a_guard_outlives_the_thread_that_made_it() {
    let current = Current::new("version".to_owned());
    let load = || (current.load(), current.load_full());
    let (guard, counted) = std::thread::scope(|scope| scope.spawn(load).join()).expect("no panic");
    let mut replaced = vec![current.swap(Arc::new("next".to_owned()))];
    take_unread(&mut replaced, |_| panic!("it is noted"));
    assert_eq!((guard.as_str(), counted.as_str()), ("version", "version"));
    drop(guard);
    take_unread(&mut replaced, |version| assert_eq!(Arc::strong_count(&version), 2));
    assert!(replaced.is_empty(), "nobody has noted it");
}

/// Threads that read and threads that publish, all as fast as they can.
#[test]
fn what_is_read_is_whole() {
    let current = Current::new(vec![0_u64; 4]);
    let read = || {
        for turn in 0..20_000 {
            let (one, other) = (current.load(), current.load_full());
            assert!(one.iter().all(|part| *part == one[0]) && other[0] >= one[0], "{turn}");
        }
    };
    let publish = || {
        let mut replaced = Vec::new();
        for number in 0..10_000 {
            replaced.push(current.swap(Arc::new(vec![number; 4])));
            take_unread(&mut replaced, drop);
        }
        replaced
    };
    let mut replaced = std::thread::scope(|scope| {
        let publishing = scope.spawn(publish);
        (0..3).for_each(|_| drop(scope.spawn(read)));
        publishing.join().expect("no panic")
    });
    take_unread(&mut replaced, drop);
    assert!(replaced.is_empty(), "nobody reads");
    assert_eq!(current.load()[0], 9_999);
}
