//! Commits that swap the newest version beside readers: what a guard is of stays alive as long as the guard, and not longer.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use shuttle::thread;

use crate::versions::current::{Current, take_unread};
use crate::versions::reader_slots::forget_slots;

thread_local! {
    // The scheduler runs all threads of a test on the one that asked for it.
    static ALIVE: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
}

/// A version that is nothing but its number.
#[derive(Debug)]
struct Numbered(u64);

impl Numbered {
    fn new(number: u64) -> Self {
        ALIVE.with_borrow_mut(|alive| assert!(alive.insert(number)));
        Numbered(number)
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        ALIVE.with_borrow_mut(|alive| assert!(alive.remove(&self.0), "{} is freed twice", self.0));
    }
}

fn assert_alive(number: u64) {
    ALIVE.with_borrow(|alive| assert!(alive.contains(&number), "{number} is freed while it is read"));
}

pub(crate) fn what_is_guarded_is_alive() {
    forget_slots();
    ALIVE.with_borrow_mut(BTreeSet::clear);
    let current = Arc::new(Current::new(Numbered::new(0)));
    let read = |current: Arc<Current<Numbered>>| {
        let mut last = 0;
        for turn in 0..3 {
            let guard = current.load();
            let counted = (turn == 1).then(|| current.load_full());
            let (number, later) = (guard.0, counted.as_ref().map_or(guard.0, |counted| counted.0));
            thread::yield_now();
            assert_alive(number);
            drop(guard);
            counted.iter().for_each(|counted| assert_alive(counted.0));
            assert!(last <= number && number <= later, "{last}, {number}, {later}");
            last = later;
        }
    };
    let publishing = current.clone();
    let publish = thread::spawn(move || {
        let mut replaced = Vec::new();
        for number in 1..5 {
            replaced.push(publishing.swap(Arc::new(Numbered::new(number))));
            take_unread(&mut replaced, drop);
        }
        replaced
    });
    let reads = [(); 2].map(|()| {
        let current = current.clone();
        thread::spawn(move || read(current))
    });
    let mut replaced = publish.join().expect("no panic");
    reads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    take_unread(&mut replaced, drop);
    assert!(ALIVE.with_borrow(|alive| alive.iter().eq(&[4])), "nobody reads but the newest version");
    drop(current);
    assert!(ALIVE.with_borrow(BTreeSet::is_empty));
}
