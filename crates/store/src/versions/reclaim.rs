//! When a retired block may be freed: epochs made of versions.
//!
//! ```text
//!  versions      5 ──── 6 ──── 7 ──── 8 (current)
//!  groups        [5→6]  [6→7]  [7→8]            what each publish retired
//!  freed when    5 dead 5,6 dead 5,6,7 dead     or no living version in born..=retired-1
//!
//!  5 is held, and 7 is dead:
//!  groups        [5→6]  [7→8]  ─►  [5→6, what of 7→8 was born by 5]; the rest is freed
//! ```
//!
//! Behind a version that is held, what later commits give up joins its group, or is freed at once if it was born after it. So
//! there are as many groups as versions that are held, and some of the last few commits.
//!
//! Invariant: a block retired by the publish after version `v` is reachable only from versions `born..=v`. Blocks keep
//! the low half of `born` only, so births count as known for the first 2^31 commits of a process; after those, blocks
//! are freed by the death of versions alone.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};

use evergraph_disk::Process;
use evergraph_types::Sequence;
use rayon::prelude::*;

use crate::lists::heap::Block;
use crate::lists::spares::Spares;
use crate::system::pool::in_pool;
use crate::system::sync::fair::Mutex;
use crate::system::sync::{AtomicU64, AtomicUsize, Ordering, fence};
use crate::upkeep::maintenance::{GIVE_BACK_BYTES_MIN, Signal};
use crate::versions::current::{Replaced, take_unread};
use crate::versions::version::Version;

/// So many of the newest groups are looked through by each commit: their versions die soon, whoever reads them.
const GROUPS_BY_COMMIT: usize = 1 << 3;

/// So many when a version dies that was held.
const GROUPS_BY_DEATH: usize = 1 << 10;

/// All of them when there are twice as many as after the last time, and more than so many.
pub(crate) const GROUPS_MIN: usize = 1 << 6;

/// Fewer blocks than this are not worth a parallel task.
const PARALLEL_BLOCKS: usize = 1 << 11;

/// Some of so few blocks, which a small commit gave up, are kept for the next one.
const SMALL_BLOCKS: usize = 1 << 6;

/// What a dead version leaves to the next commit at the most: what some commits of few edges give up.
const LEFT_BYTES: usize = 1 << 16;

/// A list of blocks that wait gives back its room for so many more.
const ROOM_BLOCKS: usize = 1 << 8;

/// So many blocks before one is looked at it is asked for.
const BLOCKS_AHEAD: usize = 1 << 4;

/// Frees what no living version reaches.
#[derive(Debug, Default)]
pub(crate) struct Reclaimer {
    pub(crate) queue: Mutex<Queue>,
    /// Bytes of the blocks in the queue, for those who look before they lock it.
    queued_bytes: AtomicUsize,
    written_bytes: AtomicU64,
    freed_bytes: AtomicU64,
    spare_bytes: AtomicUsize,
    /// Whose threads lock the queue.
    process: Process,
    /// Whom to ask that memory is given back which the death of a version has freed.
    pub(crate) signal: OnceLock<Arc<Signal>>,
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) groups: VecDeque<Group>,
    /// Versions that were being read, when last looked, by somebody who has counted no reference.
    noted: Vec<Replaced<Version>>,
    /// The first version that blocks were retired with: nothing was born long before it.
    first: Option<Sequence>,
    bytes: usize,
    /// Of the groups themselves, with their lists of blocks.
    list_bytes: usize,
    /// How many groups there were when all were last looked through.
    groups_before: usize,
}

/// Who keeps the version alive that blocks are retired with.
#[derive(Debug)]
pub(crate) enum Held {
    /// Those who have counted it, if any.
    Counted(Weak<Version>),
    /// Maybe also those who have noted it.
    Noted(Replaced<Version>),
}

#[derive(Debug)]
pub(crate) struct Group {
    version: Weak<Version>,
    sequence: Sequence,
    blocks: Vec<Block>,
    bytes: usize,
}

impl Reclaimer {
    /// Takes in what a commit allocated.
    pub(crate) fn allocated(&self, bytes: usize) {
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes of all blocks there ever were.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// Bytes of blocks that are not freed, headers included.
    pub(crate) fn live_bytes(&self) -> usize {
        // What is freed was written, and is looked at first.
        let freed = self.freed_bytes.load(Ordering::Acquire);
        self.written_bytes().saturating_sub(freed) as usize
    }

    /// Of these, bytes of blocks that no newer version than one that was replaced reaches.
    pub(crate) fn retired_bytes(&self) -> usize {
        self.queue.lock().bytes
    }

    /// Bytes of the lists of these blocks.
    pub(crate) fn list_bytes(&self) -> usize {
        self.queue.lock().list_bytes
    }

    /// Bytes of freed blocks that wait for the next commit.
    pub(crate) fn spare_bytes(&self) -> usize {
        self.spare_bytes.load(Ordering::Relaxed)
    }

    /// Takes note of the blocks that wait for the next commit.
    pub(crate) fn note_spares(&self, spares: &Spares) {
        self.spare_bytes.store(spares.bytes(), Ordering::Relaxed);
    }

    /// Takes over the blocks that version `sequence` and older ones may reach, but no newer one, and frees what can be freed
    /// now: some of it to `spares`, if there are any to keep. Blocks born after that version were replaced before they were
    /// published: nobody ever reached them.
    pub(crate) fn retire(
        &self,
        held: Held,
        sequence: Sequence,
        mut blocks: Vec<Block>,
        mut spares: Option<&mut Spares>,
    ) {
        let (unpublished, dead) = {
            let mut queue = self.queue.lock();
            let births_are_known = queue.knows_births(sequence);
            let (unpublished, bytes) = take_born_after(births_are_known.then_some(sequence), &mut blocks);
            let version = queue.watch(held);
            queue.push(Group { version, sequence, blocks, bytes });
            let dead = self.pop_free(&mut queue, GROUPS_BY_COMMIT);
            queue.shrink_newest();
            (unpublished, dead)
        };
        self.free(unpublished, spares.as_deref_mut());
        self.free(dead, spares);
    }

    /// Whether births can be told from their low halves for a billion commits more.
    pub(crate) fn will_know_births(&self, sequence: Sequence) -> bool {
        let mut queue = self.queue.lock();
        queue.knows_births(sequence) && queue.knows_births(sequence.saturating_add(1 << 30))
    }

    /// Frees those of the blocks that were born with `sequence`, by a draft of it that is not published.
    pub(crate) fn discard(&self, sequence: Sequence, mut blocks: Vec<Block>) {
        if self.queue.lock().knows_births(sequence) {
            // SAFETY: none of the blocks is freed yet.
            blocks.retain(|block| unsafe { block.born() } == sequence as u32);
            self.free(blocks, None);
        }
    }

    /// A version is dead: frees what can be freed now, unless it is so little that it is left to the next commit, which takes such
    /// blocks for its own.
    pub(crate) fn version_died(&self) {
        // In a process that was forked meanwhile, whoever had the queue then has it for ever.
        if !self.process.is_here() || self.queued_bytes.load(Ordering::Relaxed) <= LEFT_BYTES {
            return;
        }
        let freed = self.collect();
        if freed > GIVE_BACK_BYTES_MIN {
            self.signal.get().into_iter().for_each(Signal::give_back);
        }
    }

    /// Frees what can be freed now; tells how many bytes.
    pub(crate) fn collect(&self) -> usize {
        let dead = self.pop_free(&mut self.queue.lock(), GROUPS_BY_DEATH);
        self.free(dead, None)
    }

    /// Whether a version that was replaced is still read by somebody who has counted no reference, and so does not say when it is done.
    pub(crate) fn is_read(&self) -> bool {
        !self.queue.lock().noted.is_empty()
    }

    /// Takes out the blocks that no living version reaches, as far as so many of the newest groups tell.
    fn pop_free(&self, queue: &mut Queue, newest: usize) -> Vec<Block> {
        take_unread(&mut queue.noted, drop_quietly);
        let mut free = queue.pop_dead();
        let is_long = queue.groups.len() > GROUPS_MIN.max(2 * queue.groups_before);
        queue.fold(if is_long { usize::MAX } else { newest }, &mut free);
        self.queued_bytes.store(queue.bytes, Ordering::Relaxed);
        // A version was seen to be dead without synchronizing with its last reader: this does.
        fence(Ordering::Acquire);
        free
    }

    fn free(&self, mut blocks: Vec<Block>, spares: Option<&mut Spares>) -> usize {
        let mut bytes = 0;
        if blocks.len() < SMALL_BLOCKS
            && let Some(spares) = spares
        {
            let mut keep = |block: &mut Block| {
                // SAFETY: the queue hands out a block once, when no version that reaches it is alive.
                unsafe { spares.keep(*block) }.map(|kept| bytes += kept).is_err()
            };
            blocks.retain_mut(&mut keep);
        }
        let free = |blocks: &[Block]| -> usize {
            // SAFETY: as above.
            asked(blocks).map(|block| unsafe { block.free() }).sum()
        };
        bytes += match blocks.len() {
            0..PARALLEL_BLOCKS => free(&blocks),
            _ => in_pool(|| blocks.par_chunks(PARALLEL_BLOCKS / 4).map(free).sum()),
        };
        if bytes > 0 {
            self.freed_bytes.fetch_add(bytes as u64, Ordering::Release);
        }
        bytes
    }
}

/// Lets go of a version whose blocks are looked for after this.
pub(crate) fn drop_quietly(version: Arc<Version>) {
    Arc::into_inner(version).into_iter().for_each(|mut version| version.has_retired = true);
}

/// Takes out those of the blocks, all of them alive, that were born with commit `sequence` or before.
pub(crate) fn take_born_by(sequence: Sequence, blocks: &mut Vec<Block>) -> Vec<Block> {
    // SAFETY: alive by contract.
    extract_asked(blocks, |block| sequence_distance(sequence, unsafe { block.born() }) >= 0)
}

/// Takes out those of the blocks, all of them alive, that were born after commit `sequence`, or none; tells the bytes of the others.
fn take_born_after(sequence: Option<Sequence>, blocks: &mut Vec<Block>) -> (Vec<Block>, usize) {
    let mut left_bytes = 0;
    let taken = extract_asked(blocks, |block| {
        // SAFETY: alive by contract.
        let (born, footprint) = unsafe { (block.born(), block.footprint()) };
        let is_taken = sequence.is_some_and(|sequence| sequence_distance(sequence, born) < 0);
        left_bytes += if is_taken { 0 } else { footprint };
        is_taken
    });
    (taken, left_bytes)
}

/// How many commits `born` lies before `sequence`; negative if behind it.
fn sequence_distance(sequence: Sequence, born: u32) -> i32 {
    (sequence as u32).wrapping_sub(born) as i32
}

/// The blocks, all of them alive, each asked for some time before it comes: their headers lie anywhere in memory.
fn asked(blocks: &[Block]) -> impl Iterator<Item = Block> {
    (0..blocks.len()).map(|at| ask_ahead(blocks, at))
}

/// As [`Vec::extract_if`], of all blocks at once, which are [`asked`] for.
fn extract_asked(blocks: &mut Vec<Block>, mut is_taken: impl FnMut(Block) -> bool) -> Vec<Block> {
    let (mut taken, mut kept) = (Vec::new(), 0);
    for at in 0..blocks.len() {
        let block = ask_ahead(blocks, at);
        if is_taken(block) {
            taken.push(block);
        } else {
            blocks[kept] = block;
            kept += 1;
        }
    }
    blocks.truncate(kept);
    taken
}

/// The block at a place, one some places on asked for.
#[inline]
fn ask_ahead(blocks: &[Block], at: usize) -> Block {
    blocks.get(at + BLOCKS_AHEAD).into_iter().for_each(|next| next.prefetch());
    blocks[at]
}

impl Group {
    fn list_bytes(&self) -> usize {
        size_of::<Self>() + size_of::<Block>() * self.blocks.capacity()
    }

    fn shrink(&mut self) {
        if self.blocks.capacity() > self.blocks.len() + ROOM_BLOCKS {
            self.blocks.shrink_to_fit();
        }
    }
}

impl Queue {
    /// Whether the births of all blocks retired with this version or before can be told from their low halves.
    fn knows_births(&mut self, sequence: Sequence) -> bool {
        let first = *self.first.get_or_insert(sequence);
        sequence.saturating_sub(first) < 1 << 31
    }

    /// The version that blocks are retired with, to see whether it is alive.
    fn watch(&mut self, held: Held) -> Weak<Version> {
        match held {
            Held::Counted(version) => version,
            Held::Noted(version) => {
                let watched = version.watched();
                self.noted.push(version);
                watched
            }
        }
    }

    fn push(&mut self, group: Group) {
        // One without blocks waits for nothing but those before it.
        let is_over = |last: &mut Group| last.blocks.is_empty() && last.version.strong_count() == 0;
        while let Some(over) = self.groups.pop_back_if(is_over) {
            self.list_bytes -= over.list_bytes();
        }
        self.bytes += group.bytes;
        self.list_bytes += group.list_bytes();
        self.groups.push_back(group);
    }

    /// What still waits was retired with a version that somebody holds, maybe for long: it keeps no room that it has no use for.
    fn shrink_newest(&mut self) {
        let Some(newest) = self.groups.back_mut() else { return };
        self.list_bytes -= newest.list_bytes();
        newest.shrink();
        self.list_bytes += newest.list_bytes();
    }

    fn pop_dead(&mut self) -> Vec<Block> {
        let mut dead = Vec::new();
        while let Some(group) = self.groups.pop_front_if(|group| group.version.strong_count() == 0) {
            self.bytes -= group.bytes;
            self.list_bytes -= group.list_bytes();
            match dead.is_empty() {
                true => dead = group.blocks,
                false => dead.extend(group.blocks),
            }
        }
        dead
    }

    /// Of the newest groups, those of dead versions join the group of a version that is alive and lies before them; takes out the
    /// blocks that were born after that one, which nobody reaches.
    fn fold(&mut self, newest: usize, free: &mut Vec<Block>) {
        let last = self.groups.back().map_or(0, |group| group.sequence);
        if self.groups.len() < 2 || !self.knows_births(last) {
            return;
        }
        let first = self.groups.len().saturating_sub(newest);
        let mut at = first.max(1);
        while let (Some(before), Some(group)) = (self.groups.get(at - 1), self.groups.get(at)) {
            let is_folded = group.version.strong_count() == 0 && before.version.strong_count() > 0;
            let folded = if is_folded { self.groups.remove(at) } else { None };
            match folded {
                Some(folded) => self.join(at - 1, folded, free),
                None => at += 1,
            }
        }
        if first == 0 {
            self.groups_before = self.groups.len();
        }
    }

    /// Has the blocks of a group wait for a version before it, unless they were born after that.
    fn join(&mut self, place: usize, mut folded: Group, free: &mut Vec<Block>) {
        self.list_bytes -= folded.list_bytes();
        let group = &mut self.groups[place];
        let (freed, left_bytes) = take_born_after(Some(group.sequence), &mut folded.blocks);
        self.bytes -= folded.bytes - left_bytes;
        self.list_bytes -= group.list_bytes();
        group.bytes += left_bytes;
        group.blocks.append(&mut folded.blocks);
        self.list_bytes += group.list_bytes();
        free.extend(freed);
    }
}

impl Drop for Reclaimer {
    fn drop(&mut self) {
        // Every version holds the reclaimer, so none is alive.
        let groups = std::mem::take(&mut self.queue.get_mut().groups);
        self.free(groups.into_iter().flat_map(|group| group.blocks).collect(), None);
    }
}
