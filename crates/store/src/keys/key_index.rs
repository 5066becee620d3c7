//! The index from keys to ids, of one kind of keys.
//!
//! ```text
//!  key ─hash─► slots: [id + 1: u32], open addressing ─► keys[id] ─► equal? the id
//! ```
//!
//! Slots and keys of a large index are far away, so many keys are looked up, and many added, in step: all slots of a block of keys
//! are asked for before the first is read, and then all keys that these lead to.
//!
//! One caller adds keys and lets go of them, others look up at the same time. A slot table that is being replaced by another
//! still holds all keys that its readers may look for. Where a key was let go of, its slot says [`GONE`], which those who look
//! further pass over; a table is made anew before more than half of it is filled, those slots included, so that there is always an
//! empty one to end at.
//!
//! Invariant: a key keeps its id until it is let go of; an id gets another key only when nobody can be reading the one before
//! who would take it for that (`recycler.rs`).

use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use evergraph_types::VertexId;
use hashbrown::DefaultHashBuilder;
use rayon::prelude::*;

use crate::keys::dictionary::NO_ID;
use crate::keys::text_cell::{OldText, TextCell};
use crate::system::pool::{PARALLEL_ROWS, in_pool};
use crate::system::prefetch::prefetch;

/// A slot whose key was let go of.
const GONE: u32 = u32::MAX;
/// What that looks like where a slot is taken for an id: no vertex has it.
const GONE_ID: VertexId = GONE - 1;

/// So many keys are looked up in step.
const IN_STEP: usize = 32;

/// The smallest table.
const FEWEST_SLOTS: usize = 64;

/// Keys by id, as an index sees them.
pub(crate) trait Keys: Default + Sync {
    type Key: Hash + ?Sized;
    fn is(&self, id: VertexId, key: &Self::Key) -> bool;
    fn hash(&self, id: VertexId, hasher: &DefaultHashBuilder) -> u64;
    /// Sets the key of an id; gives what was there before, which may be read for some time yet.
    #[must_use]
    fn put(&self, id: VertexId, key: &Self::Key) -> Option<OldText>;
    /// Asks the processor for where the key of an id begins.
    fn prefetch(&self, id: VertexId);
    /// Asks for the rest of it, once that has come.
    fn prefetch_rest(&self, _id: VertexId) {}
}

/// An index from keys to ids.
#[derive(Debug)]
pub(crate) struct Index<K> {
    keys: K,
    hasher: DefaultHashBuilder,
    slots: ArcSwap<Vec<AtomicU32>>,
    /// Keys in it.
    live: AtomicU32,
    /// Slots that are not empty, at the most.
    filled: AtomicU32,
}

impl<K: Keys> Default for Index<K> {
    fn default() -> Self {
        let slots = ArcSwap::from_pointee(empty_slots(FEWEST_SLOTS));
        let (keys, hasher) = (K::default(), DefaultHashBuilder::default());
        Index { keys, hasher, slots, live: AtomicU32::new(0), filled: AtomicU32::new(0) }
    }
}

fn empty_slots(count: usize) -> Vec<AtomicU32> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

/// The position of `hash` in a table of a power of two slots.
fn start(hash: u64, slots: usize) -> usize {
    (hash >> 7) as usize & (slots - 1)
}

fn prefetch_slot(slots: &[AtomicU32], at: usize) {
    prefetch(slots.as_ptr().wrapping_add(at).cast(), 1);
}

impl<K: Keys> Index<K> {
    pub(crate) fn keys(&self) -> &K {
        &self.keys
    }

    /// The id of a key, if it has one.
    pub(crate) fn find(&self, key: &K::Key) -> Option<VertexId> {
        let slots = self.slots.load();
        let mut at = start(self.hasher.hash_one(key), slots.len());
        loop {
            let id = slots[at].load(Ordering::Acquire).checked_sub(1)?;
            if id != GONE_ID && self.keys.is(id, key) {
                return Some(id);
            }
            at = (at + 1) & (slots.len() - 1);
        }
    }

    /// Tells the ids of those keys, given by row, whose place says [`NO_ID`].
    pub(crate) fn find_all<'k>(&self, key: impl Fn(usize) -> &'k K::Key, ids: &mut [VertexId])
    where
        K::Key: 'k,
    {
        let slots = self.slots.load();
        let mut sought = [(0, 0); IN_STEP];
        let mut next = 0;
        while next < ids.len() {
            let mut count = 0;
            while count < IN_STEP && next < ids.len() {
                if ids[next] == NO_ID {
                    let at = start(self.hasher.hash_one(key(next)), slots.len());
                    prefetch_slot(&slots, at);
                    sought[count] = (next, at);
                    count += 1;
                }
                next += 1;
            }
            self.probe(&slots, &mut sought[..count], &key, ids);
        }
    }

    /// Looks from slot to slot for keys, given by row and first slot.
    fn probe<'k>(
        &self,
        slots: &[AtomicU32],
        mut sought: &mut [(usize, usize)],
        key: &impl Fn(usize) -> &'k K::Key,
        ids: &mut [VertexId],
    ) where
        K::Key: 'k,
    {
        while !sought.is_empty() {
            for &mut (row, at) in &mut *sought {
                // An empty slot says that there is no such key.
                ids[row] = slots[at].load(Ordering::Acquire).wrapping_sub(1);
                self.keys.prefetch(ids[row]);
            }
            sought.iter().for_each(|&(row, _)| self.keys.prefetch_rest(ids[row]));
            let mut left = 0;
            for position in 0..sought.len() {
                let (row, at) = sought[position];
                if ids[row] != NO_ID && (ids[row] == GONE_ID || !self.keys.is(ids[row], key(row))) {
                    sought[left] = (row, (at + 1) & (slots.len() - 1));
                    left += 1;
                }
            }
            sought = &mut sought[..left];
        }
    }

    /// Gives an id to a key that has none; gives the key that it had before, if that takes memory of its own. Keys are added, and
    /// let go of, by one caller at a time.
    #[must_use]
    pub(crate) fn add(&self, id: VertexId, key: &K::Key) -> Option<OldText> {
        let old = self.keys.put(id, key);
        self.make_room(1);
        self.count(1);
        place(&self.slots.load(), self.keys.hash(id, &self.hasher), id);
        old
    }

    /// Lets go of the key of an id: it is not found any more, but the id still tells it. Tells whether it was found.
    pub(crate) fn remove(&self, id: VertexId) -> bool {
        let slots = self.slots.load();
        let mut at = start(self.keys.hash(id, &self.hasher), slots.len());
        loop {
            match slots[at].load(Ordering::Relaxed) {
                0 => return false,
                slot if slot == id + 1 => break,
                _ => at = (at + 1) & (slots.len() - 1),
            }
        }
        slots[at].store(GONE, Ordering::Release);
        self.live.fetch_sub(1, Ordering::Relaxed);
        true
    }

    /// Counts keys that are about to be placed.
    fn count(&self, keys: u32) {
        self.live.fetch_add(keys, Ordering::Relaxed);
        self.filled.fetch_add(keys, Ordering::Relaxed);
    }

    /// Gives ids to keys that have none, given by row; many of them in parallel. Keys are added by one caller at a time.
    pub(crate) fn add_all<'k>(&self, ids: Range<VertexId>, key: impl Fn(usize) -> &'k K::Key + Sync)
    where
        K::Key: 'k,
    {
        self.make_room(ids.len() as u32);
        self.count(ids.len() as u32);
        let slots = self.slots.load();
        let add = |part: Range<VertexId>| {
            part.clone().for_each(|id| {
                let old = self.keys.put(id, key((id - ids.start) as usize));
                debug_assert!(old.is_none(), "ids of their own");
            });
            self.place_all(&slots, part);
        };
        if ids.len() < PARALLEL_ROWS {
            return add(ids.clone());
        }
        let starts = ids.clone().into_par_iter().step_by(PARALLEL_ROWS);
        in_pool(|| {
            starts.for_each(|start| add(start..ids.end.min(start.saturating_add(PARALLEL_ROWS as u32))))
        });
    }

    /// Makes room for so many keys in all. Called by who adds keys.
    pub(crate) fn reserve(&self, keys: u32) {
        self.make_room(keys.saturating_sub(self.filled.load(Ordering::Relaxed)));
    }

    /// Makes room for so many more keys. Slots of keys that were let go of take room until the table is made anew.
    fn make_room(&self, more: u32) {
        let old = self.slots.load();
        let (live, filled) = (self.live.load(Ordering::Relaxed), self.filled.load(Ordering::Relaxed));
        if (filled as usize + more as usize) * 2 <= old.len() {
            return;
        }
        let keys = live as usize + more as usize;
        // What comes and goes is to have some room before that is done again.
        let spare = if filled > live { keys / 4 } else { 0 };
        let larger = empty_slots(((keys + spare) * 2).next_power_of_two().max(FEWEST_SLOTS));
        let move_slots = |slots: &[AtomicU32]| {
            let ids = slots
                .iter()
                .map(|slot| slot.load(Ordering::Relaxed))
                .filter(|slot| ![0, GONE].contains(slot));
            self.place_all(&larger, ids.map(|slot| slot - 1));
        };
        match old.len() {
            0..PARALLEL_ROWS => move_slots(&old),
            _ => in_pool(|| old.par_chunks(PARALLEL_ROWS).for_each(move_slots)),
        }
        self.slots.store(std::sync::Arc::new(larger));
        self.filled.store(live, Ordering::Relaxed);
    }

    /// Puts ids whose keys are set into slots.
    fn place_all(&self, slots: &[AtomicU32], ids: impl IntoIterator<Item = VertexId>) {
        let mut ids = ids.into_iter();
        let mut block = [(0, 0); IN_STEP];
        loop {
            let mut count = 0;
            for (place, id) in block.iter_mut().zip(&mut ids) {
                self.keys.prefetch(id);
                *place = (id, 0);
                count += 1;
            }
            let block = &mut block[..count];
            block.iter().for_each(|(id, _)| self.keys.prefetch_rest(*id));
            for (id, hash) in &mut *block {
                *hash = self.keys.hash(*id, &self.hasher);
                prefetch_slot(slots, start(*hash, slots.len()));
            }
            block.iter().for_each(|&(id, hash)| place(slots, hash, id));
            if count < IN_STEP {
                return;
            }
        }
    }

    /// Bytes of the slots.
    pub(crate) fn slot_bytes(&self) -> usize {
        4 * self.slots.load().len()
    }
}

/// Puts an id whose key is in no slot into one.
fn place(slots: &[AtomicU32], hash: u64, id: VertexId) {
    let mut at = start(hash, slots.len());
    loop {
        let slot = slots[at].load(Ordering::Relaxed);
        // Others may be putting theirs there, but nobody lets go of a key meanwhile.
        let is_taken = ![0, GONE].contains(&slot)
            || slots[at].compare_exchange(slot, id + 1, Ordering::Release, Ordering::Relaxed).is_err();
        if !is_taken {
            return;
        }
        at = (at + 1) & (slots.len() - 1);
    }
}

/// Number keys by id.
#[derive(Debug, Default)]
pub(crate) struct IntKeys(Shelves<AtomicI64>);

impl IntKeys {
    /// The key of an id that was given out.
    pub(crate) fn get(&self, id: VertexId) -> i64 {
        self.0.get(id).map_or(0, |key| key.load(Ordering::Relaxed))
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl Keys for IntKeys {
    type Key = i64;
    fn is(&self, id: VertexId, key: &i64) -> bool {
        self.get(id) == *key
    }
    fn hash(&self, id: VertexId, hasher: &DefaultHashBuilder) -> u64 {
        hasher.hash_one(self.get(id))
    }
    fn put(&self, id: VertexId, key: &i64) -> Option<OldText> {
        self.0.get_or_grow(id).store(*key, Ordering::Relaxed);
        None
    }
    fn prefetch(&self, id: VertexId) {
        self.0.prefetch(id);
    }
}

/// String keys by id.
#[derive(Debug, Default)]
pub(crate) struct TextKeys {
    shelves: Shelves<TextCell>,
    /// Of all texts, those included that ids do not have any more, until they are freed.
    text_bytes: AtomicUsize,
}

impl TextKeys {
    /// The key of an id that was given out.
    pub(crate) fn get(&self, id: VertexId) -> &str {
        self.shelves.get(id).map_or("", TextCell::get)
    }

    /// Frees a text that nobody reads any more.
    pub(crate) fn free(&self, old: OldText) {
        self.text_bytes.fetch_sub(old.bytes(), Ordering::Relaxed);
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.shelves.bytes() + self.text_bytes.load(Ordering::Relaxed)
    }
}

impl Keys for TextKeys {
    type Key = str;
    fn is(&self, id: VertexId, key: &str) -> bool {
        self.get(id) == key
    }
    fn hash(&self, id: VertexId, hasher: &DefaultHashBuilder) -> u64 {
        hasher.hash_one(self.get(id))
    }
    fn put(&self, id: VertexId, key: &str) -> Option<OldText> {
        self.text_bytes.fetch_add(TextCell::bytes_of(key), Ordering::Relaxed);
        self.shelves.get_or_grow(id).replace(key)
    }
    fn prefetch(&self, id: VertexId) {
        self.shelves.prefetch(id);
    }
    fn prefetch_rest(&self, id: VertexId) {
        let text = self.get(id);
        prefetch(text.as_ptr(), text.len());
    }
}

const FIRST_SHELF: u32 = 1 << 10;
const SHELVES: usize = 23;

/// An array that grows without moving: each shelf is as long as all before it together.
#[derive(Debug)]
struct Shelves<T> {
    shelves: [OnceLock<Box<[T]>>; SHELVES],
}

impl<T> Default for Shelves<T> {
    fn default() -> Self {
        Shelves { shelves: [const { OnceLock::new() }; SHELVES] }
    }
}

impl<T: Default> Shelves<T> {
    /// Shelf, position and length of the shelf of `id`: 0..1024, 1024..2048, 2048..4096, ...
    fn place(id: VertexId) -> (usize, usize, usize) {
        let shelf = (u32::BITS - (id / FIRST_SHELF).leading_zeros()) as usize;
        let len = FIRST_SHELF << shelf.saturating_sub(1);
        let first = if shelf == 0 { 0 } else { len };
        (shelf, (id - first) as usize, len as usize)
    }

    fn get(&self, id: VertexId) -> Option<&T> {
        let (shelf, position, _) = Self::place(id);
        self.shelves[shelf].get().map(|shelf| &shelf[position])
    }

    fn prefetch(&self, id: VertexId) {
        if let Some(place) = self.get(id) {
            prefetch(std::ptr::from_ref(place).cast(), 1);
        }
    }

    fn get_or_grow(&self, id: VertexId) -> &T {
        let (shelf, position, len) = Self::place(id);
        &self.shelves[shelf].get_or_init(|| (0..len).map(|_| T::default()).collect())[position]
    }

    fn bytes(&self) -> usize {
        self.shelves.iter().filter_map(OnceLock::get).map(|shelf| size_of_val(&**shelf)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Far more keys come and go than there is room for at once.
    #[test]
    fn a_table_is_made_anew_before_it_is_full_of_what_was_let_go_of() {
        let index: Index<IntKeys> = Index::default();
        for key in 0..100_000_i64 {
            let id = (key % 40) as VertexId;
            if key >= 40 {
                assert!(index.remove(id) && !index.remove(id));
                assert_eq!((index.find(&(key - 40)), index.keys().get(id)), (None, key - 40));
            }
            assert!(index.add(id, &key).is_none());
            let oldest = (key - 39).max(0);
            let mut ids = vec![NO_ID; 3];
            index.find_all(|row| [&key, &oldest, &-1][row], &mut ids);
            assert_eq!(ids, [id, (oldest % 40) as VertexId, NO_ID]);
        }
        assert!(index.slot_bytes() <= 4 * 128, "{} bytes", index.slot_bytes());
    }

    #[test]
    fn the_last_id_has_a_place() {
        let (shelf, position, len) = Shelves::<u8>::place(VertexId::MAX);
        assert!(shelf < SHELVES && position < len);
    }
}
