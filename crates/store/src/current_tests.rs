//! The newest version: what a guard keeps alive, and for how long. The orders in which threads may come are tried by
//! `tests/interleavings`.

use std::sync::{Arc, Weak};

use crate::current::Current;

#[test]
fn a_guard_keeps_its_version_and_nothing_else_does() {
    let current = Current::new(0);
    let mut guards = Vec::new();
    let mut versions: Vec<Weak<u32>> = Vec::new();
    // More than there are slots.
    for number in 1..=20 {
        guards.push(current.load());
        versions.push(Arc::downgrade(&current.swap(Arc::new(number))));
    }
    assert!(guards.iter().map(|guard| **guard).eq(0..20));
    while let Some(guard) = guards.pop() {
        let alive = versions.iter().filter(|version| version.strong_count() > 0).count();
        assert_eq!(alive, guards.len() + 1);
        drop(guard);
    }
    assert!(versions.iter().all(|version| version.strong_count() == 0));
    assert_eq!((*current.load(), *current.load_full()), (20, 20));
}

#[test]
fn guards_outlive_what_they_are_of_and_the_thread_that_made_them() {
    let current = Current::new("version".to_owned());
    let load = || (current.load(), current.load(), current.load_full());
    let (one, other, counted) = std::thread::scope(|scope| scope.spawn(load).join()).expect("no panic");
    drop(current);
    let weak = Arc::downgrade(&counted);
    assert_eq!((one.as_str(), other.as_str()), ("version", "version"));
    drop((one, counted));
    assert_eq!(weak.strong_count(), 1);
    drop(other);
    assert_eq!(weak.strong_count(), 0);
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
    let publish = || (0..10_000).for_each(|number| drop(current.swap(Arc::new(vec![number; 4]))));
    std::thread::scope(|scope| {
        scope.spawn(publish);
        (0..3).for_each(|_| drop(scope.spawn(read)));
    });
    assert_eq!(current.load()[0], 9_999);
}
