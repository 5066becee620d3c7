//! When a retired block may be freed: epochs made of versions.
//!
//! ```text
//!  versions      5 ──── 6 ──── 7 ──── 8 (current)
//!  groups        [5→6]  [6→7]  [7→8]            what each publish retired
//!  freed when    5 dead 5,6 dead 5,6,7 dead     or no living version in born..=retired-1
//! ```
//!
//! Invariant: a block retired by the publish after version `v` is reachable only from versions `born..=v`.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::sync::Weak;
use std::sync::atomic::{AtomicUsize, Ordering};

use evergraph_types::Sequence;
use parking_lot::Mutex;

use crate::heap::Block;
use crate::version::Version;

/// Groups pile up only behind a pinned version; they are swept when there are twice as many as after the last sweep.
const SWEEP_BLOCKS: usize = 1 << 16;

/// Frees what no living version reaches.
#[derive(Debug, Default)]
pub(crate) struct Reclaimer {
    queue: Mutex<Queue>,
    live_bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    groups: VecDeque<Group>,
    blocks: usize,
    sweep_at: usize,
}

#[derive(Debug)]
struct Group {
    version: Weak<Version>,
    sequence: Sequence,
    blocks: Vec<Block>,
}

impl Reclaimer {
    /// Takes in what a commit allocated.
    pub(crate) fn allocated(&self, bytes: usize) {
        self.live_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of blocks that are not freed, headers included.
    pub(crate) fn live_bytes(&self) -> usize {
        self.live_bytes.load(Ordering::Relaxed)
    }

    /// Takes over the blocks that version `sequence` and older ones may reach, but no newer one. Those born after it
    /// were replaced before they were published: nobody ever reached them.
    pub(crate) fn retire(&self, version: Weak<Version>, sequence: Sequence, blocks: Vec<Block>) {
        // SAFETY: retired blocks are not freed yet.
        let is_published = |block: &Block| sequence_distance(sequence, unsafe { block.born() }) >= 0;
        let (blocks, unpublished) = blocks.into_iter().partition(is_published);
        self.free(unpublished);
        {
            let mut queue = self.queue.lock();
            queue.blocks += blocks.len();
            queue.groups.push_back(Group { version, sequence, blocks });
        }
        self.collect();
    }

    /// Frees what can be freed now.
    pub(crate) fn collect(&self) {
        let freed = {
            let mut queue = self.queue.lock();
            let mut freed = queue.pop_dead();
            if queue.blocks > queue.sweep_at.max(SWEEP_BLOCKS) {
                queue.sweep(&mut freed);
                queue.sweep_at = 2 * queue.blocks;
            }
            freed
        };
        self.free(freed);
    }

    fn free(&self, blocks: Vec<Block>) {
        // SAFETY: the queue hands out a block once, when no version that reaches it is alive.
        let bytes: usize = blocks.into_iter().map(|block| unsafe { block.free() }).sum();
        self.live_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// How many commits `born` lies before `sequence`; negative if behind it.
fn sequence_distance(sequence: Sequence, born: u32) -> i32 {
    (sequence as u32).wrapping_sub(born) as i32
}

impl Queue {
    fn pop_dead(&mut self) -> Vec<Block> {
        let mut dead = Vec::new();
        while let Some(group) = self.groups.pop_front_if(|group| group.version.strong_count() == 0) {
            self.blocks -= group.blocks.len();
            dead.extend(group.blocks);
        }
        dead
    }

    /// Takes out the blocks that lived only between two pinned versions.
    fn sweep(&mut self, dead: &mut Vec<Block>) {
        let mut pinned: Option<Sequence> = None;
        for group in &mut self.groups {
            if group.version.strong_count() > 0 {
                pinned = Some(group.sequence);
            }
            let Some(newest_pinned) = pinned else { continue };
            let last = group.sequence;
            group.blocks.retain(|&block| {
                // SAFETY: a block in the queue is not freed yet.
                let age = sequence_distance(last, unsafe { block.born() });
                let reachable = last.saturating_sub_signed(age.into()) <= newest_pinned;
                if !reachable {
                    dead.push(block);
                }
                reachable
            });
        }
        self.blocks = self.groups.iter().map(|group| group.blocks.len()).sum();
    }
}

impl Drop for Reclaimer {
    fn drop(&mut self) {
        // Every version holds the reclaimer, so none is alive.
        let groups = std::mem::take(&mut self.queue.get_mut().groups);
        self.free(groups.into_iter().flat_map(|group| group.blocks).collect());
    }
}
