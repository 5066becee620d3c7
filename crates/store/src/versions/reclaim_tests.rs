//! Small examples of what is freed when. They lie apart from [`reclaim`](crate::versions::reclaim), which the tests of interleavings
//! compile as well.

use std::sync::Arc;

use evergraph_types::{Schema, Sequence};

use crate::keys::dictionary::Dictionary;
use crate::lists::heap::Block;
use crate::versions::reclaim::{GROUPS_MIN, Held, Reclaimer};
use crate::versions::version::Version;

fn version(sequence: Sequence) -> Arc<Version> {
    let mut version = Version::empty(Schema::default(), Dictionary::dense());
    version.sequence = sequence;
    Arc::new(version)
}

/// Retires `count` blocks of one birth with a version.
fn retire(reclaimer: &Reclaimer, version: &Arc<Version>, born: Sequence, count: usize) {
    let blocks: Vec<Block> = (0..count).map(|_| Block::allocate(8, born as u32)).collect();
    reclaimer.allocated(count * Block::footprint_of(8));
    reclaimer.retire(Held::Counted(Arc::downgrade(version)), version.sequence, blocks, None);
}

#[test]
fn a_block_lives_as_long_as_the_versions_that_reach_it() {
    let reclaimer = Reclaimer::default();
    let versions: Vec<_> = (5..9).map(version).collect();
    versions.iter().for_each(|version| retire(&reclaimer, version, 5, 1));
    let mut live = Vec::new();
    for version in versions {
        live.push(reclaimer.live_bytes());
        drop(version);
        reclaimer.collect();
    }
    assert_eq!(live, [64, 48, 32, 16]);
    assert_eq!(reclaimer.live_bytes(), 0);
}

#[test]
fn what_no_version_ever_reached_goes_at_once() {
    let reclaimer = Reclaimer::default();
    let version = version(7);
    retire(&reclaimer, &version, 8, 3);
    assert_eq!(reclaimer.live_bytes(), 0);
}

#[test]
fn between_two_kept_versions_blocks_are_freed_by_the_next_commit() {
    let reclaimer = Reclaimer::default();
    let (kept, middle, newest) = (version(10), version(20), version(30));
    retire(&reclaimer, &kept, 3, 1);
    retire(&reclaimer, &middle, 11, 100);
    retire(&reclaimer, &middle, 10, 5);
    drop(middle);
    retire(&reclaimer, &newest, 30, 10);
    assert_eq!(reclaimer.live_bytes(), 16 * (1 + 5 + 10));
    drop(kept);
    reclaimer.collect();
    assert_eq!(reclaimer.live_bytes(), 16 * 10);
}

#[test]
fn behind_a_kept_version_groups_do_not_pile_up() {
    let reclaimer = Reclaimer::default();
    let kept = version(1);
    retire(&reclaimer, &kept, 1, 1);
    for sequence in 2..2_000 {
        retire(&reclaimer, &version(sequence), sequence, 8);
        // That of the last version goes with the next commit.
        assert_eq!(reclaimer.queue.lock().groups.len(), 2);
        assert_eq!(reclaimer.live_bytes(), 16 * (1 + 8));
    }
    drop(kept);
    reclaimer.collect();
    assert_eq!(reclaimer.live_bytes(), 0);
}

/// As snapshots are, a few at a time, which are let go of in an order of their own.
#[test]
fn versions_that_die_late_leave_few_groups() {
    const AT_ONCE: usize = 20;
    let reclaimer = Reclaimer::default();
    let mut kept = vec![version(1)];
    retire(&reclaimer, &kept[0], 1, 1);
    for sequence in 2..5_000 {
        kept.push(version(sequence));
        retire(&reclaimer, &kept[kept.len() - 1], sequence, 8);
        if kept.len() > AT_ONCE {
            // Never the first.
            kept.remove(1 + sequence as usize * 7 % AT_ONCE);
        }
        let groups = reclaimer.queue.lock().groups.len();
        assert!(groups <= GROUPS_MIN.max(2 * AT_ONCE) + 1, "{groups} groups");
    }
    reclaimer.collect();
    assert_eq!(reclaimer.queue.lock().groups.len(), kept.len());
    kept.clear();
    reclaimer.collect();
    assert_eq!(reclaimer.live_bytes(), 0);
}

/// Whatever the low halves of births say after billions of commits, nothing that a kept version reaches is freed.
#[test]
fn births_long_ago_free_nothing_early() {
    for commits in [1 << 31, (1 << 31) + 5, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 40] {
        let reclaimer = Reclaimer::default();
        let (first, kept) = (version(1), version(2));
        retire(&reclaimer, &first, 1, 1);
        retire(&reclaimer, &kept, 1, 1);
        let late = version(2 + commits);
        retire(&reclaimer, &late, 2, 1_000);
        let last = version(3 + commits);
        drop(late);
        retire(&reclaimer, &last, 2, 1_000);
        assert_eq!(reclaimer.live_bytes(), 16 * 2_002, "{commits}");
        drop((first, kept, last));
        reclaimer.collect();
        assert_eq!(reclaimer.live_bytes(), 0);
    }
}

#[test]
fn a_version_that_dies_leaves_little() {
    let reclaimer = Reclaimer::default();
    let (small, large) = (version(1), version(2));
    retire(&reclaimer, &small, 1, 10);
    drop(small);
    reclaimer.version_died();
    assert_eq!(reclaimer.live_bytes(), 16 * 10);
    retire(&reclaimer, &large, 2, 10_000);
    assert_eq!(reclaimer.live_bytes(), 16 * 10_000);
    drop(large);
    reclaimer.version_died();
    assert_eq!((reclaimer.live_bytes(), reclaimer.retired_bytes()), (0, 0));
}
