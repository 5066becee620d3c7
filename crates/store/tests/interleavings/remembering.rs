//! The protocol of a transaction's begin and of forgetting old changes: no change that an open transaction must be
//! compared with is forgotten.

use std::collections::BTreeSet;
use std::sync::Arc;

use shuttle::thread;

use crate::commits::writers::Writers;
use crate::system::sync::{Mutex, lock};
use crate::versions::version::Version;

#[derive(Default)]
struct Remembering {
    writers: Writers,
    current: Mutex<Arc<Version>>,
    /// The newest commit that was accepted, and those whose changes are remembered; held as the committer is.
    recent: Mutex<(u64, BTreeSet<u64>)>,
    /// Held as the applier is.
    applier: Mutex<()>,
}

impl Remembering {
    /// A commit: forgets, remembers, publishes, in the order in which the stages do.
    fn commit(&self) {
        let mut recent = lock(&self.recent);
        let published = lock(&self.current).sequence;
        let oldest = self.writers.oldest().unwrap_or(published);
        recent.1.retain(|sequence| *sequence > oldest);
        recent.0 += 1;
        let sequence = recent.0;
        recent.1.insert(sequence);
        let applier = lock(&self.applier);
        drop(recent);
        thread::yield_now();
        *lock(&self.current) =
            Arc::new(Version { sequence, blocks: Vec::new(), reclaimer: None, has_retired: false });
        drop(applier);
    }

    /// A transaction from its begin to its validation.
    fn transaction(&self) {
        let (version, pin) = self.writers.begin(|| lock(&self.current).clone());
        thread::yield_now();
        let recent = lock(&self.recent);
        for sequence in version.sequence + 1..=recent.0 {
            assert!(recent.1.contains(&sequence), "{sequence} is forgotten, begun at {}", version.sequence);
        }
        drop((recent, pin));
    }
}

pub(crate) fn what_open_transactions_need_is_remembered() {
    let all = Arc::new(Remembering::default());
    let committing = (0..2).map(|_| {
        let all = all.clone();
        thread::spawn(move || (0..2).for_each(|_| all.commit()))
    });
    let mut threads: Vec<_> = committing.collect();
    threads.extend((0..2).map(|_| {
        let all = all.clone();
        thread::spawn(move || (0..2).for_each(|_| all.transaction()))
    }));
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(all.writers.oldest(), None);
    all.commit();
    assert_eq!(lock(&all.recent).1.len(), 1, "nobody needs anything but what the next commit will forget");
}
