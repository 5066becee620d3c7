//! Commits that replace blocks beside readers of older versions: no block is freed or used again that a version in use reaches, and
//! in the end all are freed, once.

use std::sync::Arc;

use shuttle::thread;

use crate::lists::heap::{Block, empty_heap, is_all_freed};
use crate::lists::spares::Spares;
use crate::system::sync::{Mutex, lock};
use crate::versions::current::Current;
use crate::versions::reader_slots::forget_slots;
use crate::versions::reclaim::{Held, Reclaimer};
use crate::versions::version::Version;

/// A store of a few blocks.
struct Publishing {
    reclaimer: Arc<Reclaimer>,
    current: Current<Version>,
    /// Held as the applier is.
    applier: Mutex<Spares>,
}

impl Publishing {
    fn new() -> Arc<Self> {
        empty_heap();
        forget_slots();
        let reclaimer = Arc::new(Reclaimer::default());
        let blocks: Vec<_> = (0..2).map(|_| Block::allocate(1)).collect();
        reclaimer.allocated(blocks.len());
        let first = Version { sequence: 1, blocks, reclaimer: Some(reclaimer.clone()), has_retired: false };
        Arc::new(Publishing { reclaimer, current: Current::new(first), applier: Mutex::default() })
    }

    /// A commit that replaces the oldest block, with a spare if there is one.
    fn commit(&self) {
        let mut applier = lock(&self.applier);
        let (sequence, mut blocks) = {
            let base = self.current.load();
            (base.sequence + 1, base.blocks.clone())
        };
        let spare = applier.take().inspect(|spare| spare.renew(sequence as u32));
        let replaced = blocks.remove(0);
        blocks.push(spare.unwrap_or_else(|| Block::allocate(sequence as u32)));
        self.reclaimer.allocated(1);
        let reclaimer = Some(self.reclaimer.clone());
        let version = Version { sequence, blocks, reclaimer, has_retired: false };
        let held = Held::Noted(self.current.swap(Arc::new(version)));
        self.reclaimer.retire(held, sequence - 1, vec![replaced], Some(&mut applier));
        self.reclaimer.note_spares(&applier);
        drop(applier);
    }

    /// A reader of two versions, the first of which it has until it has read the second.
    fn read(&self, counts: bool) {
        let (counted, noted);
        let older: &Version = if counts {
            counted = self.current.load_full();
            &counted
        } else {
            noted = self.current.load();
            &noted
        };
        thread::yield_now();
        let newer = self.current.load();
        for version in [&*newer, older] {
            for block in &version.blocks {
                let (born, sequence) = (u64::from(block.born()), version.sequence);
                assert!(born <= sequence, "version {sequence} reads a block of {born}");
                thread::yield_now();
            }
        }
    }
}

pub(crate) fn what_is_read_is_not_freed() {
    let all = Publishing::new();
    let committing = all.clone();
    let mut threads = vec![thread::spawn(move || (0..4).for_each(|_| committing.commit()))];
    threads.extend((0..2).map(|_| {
        let all = all.clone();
        thread::spawn(move || [false, true].into_iter().for_each(|counts| all.read(counts)))
    }));
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    all.reclaimer.collect();
    assert_eq!(all.reclaimer.live_bytes(), 2, "nobody reads but the newest version");
    // The newest version has nobody to retire its blocks.
    all.current.load().blocks.iter().for_each(|block| {
        block.free();
    });
    drop(all);
    assert!(is_all_freed());
}
