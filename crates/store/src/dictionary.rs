//! The dictionary: vertex keys to dense ids and back.
//!
//! ```text
//!  key ─hash─► slots: [id + 1: u32], open addressing ─► keys[id] ─► equal? the id
//! ```
//!
//! Only the committer adds keys, with ids in order; readers look up at the same time without waiting. A reader of
//! version `v` looks only at ids below its bound, and those were added before `v` was published; a slot table that
//! is being replaced by a larger one still holds them.
//!
//! Invariant: a key once added keeps its id for ever; keys are never changed.

use std::hash::{BuildHasher, Hash};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use arc_swap::ArcSwap;
use evergraph_types::{Key, KeyColumn, KeyKind, KeyRef, TextValues, VertexId};
use hashbrown::DefaultHashBuilder;
use rayon::prelude::*;

/// Keys and ids of one store.
#[derive(Debug)]
pub(crate) enum Dictionary {
    /// Keys are ids.
    Dense,
    /// Numbers.
    Int(Index<IntKeys>),
    /// Strings.
    Text(Index<TextKeys>),
}

impl Dictionary {
    /// An empty dictionary for this kind of keys.
    pub(crate) fn new(kind: KeyKind) -> Self {
        match kind {
            KeyKind::Dense => Dictionary::Dense,
            KeyKind::Int64 => Dictionary::Int(Index::default()),
            KeyKind::Text => Dictionary::Text(Index::default()),
        }
    }

    /// The id of a key, if it was ever given one. A key of another kind has none.
    pub(crate) fn lookup(&self, key: KeyRef<'_>) -> Option<VertexId> {
        match (self, key) {
            (Dictionary::Dense, KeyRef::Int(number)) => VertexId::try_from(number).ok(),
            (Dictionary::Int(index), KeyRef::Int(number)) => index.find(&number),
            (Dictionary::Text(index), KeyRef::Text(text)) => index.find(text),
            _ => None,
        }
    }

    /// The key of an id that was given out.
    pub(crate) fn key(&self, id: VertexId) -> Key {
        match self {
            Dictionary::Dense => Key::Int(i64::from(id)),
            Dictionary::Int(index) => Key::Int(index.keys.get(id)),
            Dictionary::Text(index) => Key::Text(index.keys.get(id).to_owned()),
        }
    }

    /// Gives the next id, which is `id`, to a key that has none. Only the committer calls this.
    pub(crate) fn add(&self, id: VertexId, key: KeyRef<'_>) {
        match (self, key) {
            (Dictionary::Int(index), KeyRef::Int(number)) => {
                index.keys.put(id, number);
                index.insert(id);
            }
            (Dictionary::Text(index), KeyRef::Text(text)) => {
                index.keys.put(id, text);
                index.insert(id);
            }
            _ => {}
        }
    }

    /// Gives the ids from `first` on, which are the next, to keys that have none. Only the committer calls this.
    pub(crate) fn add_all(&self, first: VertexId, keys: &KeyColumn) {
        self.reserve(first + keys.len() as VertexId);
        match (self, keys) {
            (Dictionary::Int(index), KeyColumn::Int(numbers)) => {
                let ids = (first..).zip(numbers).collect::<Vec<_>>();
                ids.par_iter().with_min_len(1 << 12).for_each(|&(id, &number)| index.keys.put(id, number));
                index.insert_all(first..first + numbers.len() as VertexId);
            }
            _ => (0..keys.len()).for_each(|row| self.add(first + row as VertexId, keys.get(row))),
        }
    }

    /// Makes room for ids below `bound`. Only the committer calls this.
    pub(crate) fn reserve(&self, bound: VertexId) {
        match self {
            Dictionary::Dense => {}
            Dictionary::Int(index) => index.reserve(bound),
            Dictionary::Text(index) => index.reserve(bound),
        }
    }

    /// The keys of ids `range`, in order.
    pub(crate) fn keys(&self, range: std::ops::Range<VertexId>) -> KeyColumn {
        match self {
            Dictionary::Dense => KeyColumn::Int(range.map(i64::from).collect()),
            Dictionary::Int(index) => KeyColumn::Int(range.map(|id| index.keys.get(id)).collect()),
            Dictionary::Text(index) => {
                let mut keys = TextValues::default();
                range.for_each(|id| keys.push(index.keys.get(id)));
                KeyColumn::Text(keys)
            }
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Dictionary::Dense => 0,
            Dictionary::Int(index) => index.slot_bytes() + index.keys.0.bytes(),
            Dictionary::Text(index) => index.slot_bytes() + index.keys.bytes(),
        }
    }
}

/// Keys by id, as an index sees them.
pub(crate) trait Keys: Default + Sync {
    type Key: Hash + ?Sized;
    fn is(&self, id: VertexId, key: &Self::Key) -> bool;
    fn hash(&self, id: VertexId, hasher: &DefaultHashBuilder) -> u64;
}

/// An index from keys to ids.
#[derive(Debug)]
pub(crate) struct Index<K> {
    keys: K,
    hasher: DefaultHashBuilder,
    slots: ArcSwap<Vec<AtomicU32>>,
    used: AtomicU32,
}

impl<K: Keys> Default for Index<K> {
    fn default() -> Self {
        let slots = ArcSwap::from_pointee(empty_slots(64));
        Index { keys: K::default(), hasher: DefaultHashBuilder::default(), slots, used: AtomicU32::new(0) }
    }
}

fn empty_slots(count: usize) -> Vec<AtomicU32> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

/// The position of `hash` in a table of a power of two slots.
fn start(hash: u64, slots: usize) -> usize {
    (hash >> 7) as usize & (slots - 1)
}

impl<K: Keys> Index<K> {
    fn find(&self, key: &K::Key) -> Option<VertexId> {
        let slots = self.slots.load();
        let mut at = start(self.hasher.hash_one(key), slots.len());
        loop {
            let id = slots[at].load(Ordering::Acquire).checked_sub(1)?;
            if self.keys.is(id, key) {
                return Some(id);
            }
            at = (at + 1) & (slots.len() - 1);
        }
    }

    fn insert(&self, id: VertexId) {
        let used = self.used.load(Ordering::Relaxed) + 1;
        self.reserve(used);
        self.used.store(used, Ordering::Relaxed);
        place(&self.slots.load(), self.keys.hash(id, &self.hasher), id);
    }

    fn insert_all(&self, ids: std::ops::Range<VertexId>) {
        self.used.fetch_add(ids.len() as u32, Ordering::Relaxed);
        let slots = self.slots.load();
        let ids = ids.into_par_iter().with_min_len(1 << 12);
        ids.for_each(|id| place(&slots, self.keys.hash(id, &self.hasher), id));
    }

    fn reserve(&self, keys: VertexId) {
        let old = self.slots.load();
        if keys as usize * 2 <= old.len() {
            return;
        }
        let larger = empty_slots((keys as usize * 2).next_power_of_two());
        for slot in old.iter() {
            if let Some(id) = slot.load(Ordering::Relaxed).checked_sub(1) {
                place(&larger, self.keys.hash(id, &self.hasher), id);
            }
        }
        self.slots.store(std::sync::Arc::new(larger));
    }

    fn slot_bytes(&self) -> usize {
        4 * self.slots.load().len()
    }
}

fn place(slots: &[AtomicU32], hash: u64, id: VertexId) {
    let mut at = start(hash, slots.len());
    while slots[at].compare_exchange(0, id + 1, Ordering::Release, Ordering::Relaxed).is_err() {
        at = (at + 1) & (slots.len() - 1);
    }
}

/// Number keys by id.
#[derive(Debug, Default)]
pub(crate) struct IntKeys(Shelves<AtomicI64>);

impl IntKeys {
    fn get(&self, id: VertexId) -> i64 {
        self.0.get(id).map_or(0, |key| key.load(Ordering::Relaxed))
    }

    fn put(&self, id: VertexId, key: i64) {
        self.0.get_or_grow(id).store(key, Ordering::Relaxed);
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
}

/// String keys by id.
#[derive(Debug, Default)]
pub(crate) struct TextKeys {
    shelves: Shelves<OnceLock<Box<str>>>,
    text_bytes: std::sync::atomic::AtomicUsize,
}

impl TextKeys {
    fn get(&self, id: VertexId) -> &str {
        self.shelves.get(id).and_then(OnceLock::get).map_or("", |key| key)
    }

    fn put(&self, id: VertexId, key: &str) {
        self.text_bytes.fetch_add(key.len(), Ordering::Relaxed);
        self.shelves.get_or_grow(id).get_or_init(|| key.into());
    }

    fn bytes(&self) -> usize {
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

    #[test]
    fn finds_what_was_added_and_nothing_else() {
        let numbers = Dictionary::new(KeyKind::Int64);
        let texts = Dictionary::new(KeyKind::Text);
        for id in 0..10_000u32 {
            numbers.add(id, KeyRef::Int(i64::from(id) * -7919));
            texts.add(id, KeyRef::Text(&format!("v{id}")));
        }
        for id in 0..10_000u32 {
            let key = i64::from(id) * -7919;
            assert_eq!(numbers.lookup(KeyRef::Int(key)), Some(id));
            assert_eq!(numbers.key(id), Key::Int(key));
            assert_eq!(texts.lookup(KeyRef::Text(&format!("v{id}"))), Some(id));
            assert_eq!(texts.key(id), Key::Text(format!("v{id}")));
        }
        assert_eq!(numbers.lookup(KeyRef::Int(1)), None);
        assert_eq!(numbers.lookup(KeyRef::Text("v1")), None);
        assert_eq!(texts.lookup(KeyRef::Text("v10000")), None);
        assert_eq!(
            texts.keys(3..5),
            KeyColumn::Text(["v3", "v4"].into_iter().fold(TextValues::default(), |mut keys, key| {
                keys.push(key);
                keys
            }))
        );
    }

    #[test]
    fn the_last_id_has_a_place() {
        let (shelf, position, len) = Shelves::<u8>::place(VertexId::MAX);
        assert!(shelf < SHELVES && position < len);
    }

    #[test]
    fn readers_find_old_keys_while_the_committer_adds() {
        let dictionary = Dictionary::new(KeyKind::Int64);
        (0..1000).for_each(|id| dictionary.add(id, KeyRef::Int(i64::from(id) << 20)));
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                (0..200_000u32).all(|turn| {
                    let id = turn % 1000;
                    dictionary.lookup(KeyRef::Int(i64::from(id) << 20)) == Some(id)
                })
            });
            (1000..50_000).for_each(|id| dictionary.add(id, KeyRef::Int(i64::from(id) << 20)));
            assert!(reader.join().unwrap());
        });
    }
}
