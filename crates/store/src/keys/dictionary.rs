//! The dictionary: vertex keys to dense ids and back.
//!
//! ```text
//!  version ─► Dictionary ─┐
//!  version ─► Dictionary ─┴─► index of the store      each pass of recycling makes a new one over the same index
//! ```
//!
//! Only the committer adds keys, and lets go of them; readers look up at the same time without waiting. A reader of
//! version `v` looks only at ids below its bound, and those were added before `v` was published. Whoever holds a dictionary keeps
//! the ids that had keys when it was made from being given to others: [`recycler`](crate::keys::recycler) draws it.
//!
//! Invariant: an id tells its key until it is given to another, and nobody holds a dictionary then that was made before the key
//! was let go of.

use std::sync::Arc;

use evergraph_types::{Key, KeyColumn, KeyKind, KeyRef, VertexId};
use rayon::prelude::*;

use crate::keys::key_index::{Index, IntKeys, Keys, TextKeys};
use crate::keys::text_cell::OldText;
use crate::system::pool::{PARALLEL_ROWS, in_pool};

/// Stands for a key that has no id.
pub(crate) const NO_ID: VertexId = VertexId::MAX;

/// Keys and ids of one store. On a line of memory of its own, as [`Schema`](evergraph_types::Schema) is.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Dictionary(Arc<ByKind>);

#[derive(Debug)]
enum ByKind {
    /// Keys are ids.
    Dense,
    /// Numbers.
    Int(Index<IntKeys>),
    /// Strings.
    Text(Index<TextKeys>),
}

/// As long as there is this, no id that had a key when it was made is given to another key. For whoever keeps ids without a version.
#[derive(Debug)]
pub struct KeyHold {
    _dictionary: Arc<Dictionary>,
}

impl KeyHold {
    pub(crate) fn of(dictionary: &Arc<Dictionary>) -> Self {
        KeyHold { _dictionary: dictionary.clone() }
    }
}

impl Dictionary {
    /// An empty dictionary for this kind of keys.
    pub(crate) fn new(kind: KeyKind) -> Self {
        let by_kind = match kind {
            KeyKind::Dense => ByKind::Dense,
            KeyKind::Int64 => ByKind::Int(Index::default()),
            KeyKind::Text => ByKind::Text(Index::default()),
        };
        Dictionary(Arc::new(by_kind))
    }

    /// The dictionary whose keys are ids.
    pub(crate) fn dense() -> Self {
        Dictionary(Arc::new(ByKind::Dense))
    }

    /// Another one over the same keys and ids.
    pub(crate) fn renewed(&self) -> Self {
        Dictionary(self.0.clone())
    }

    pub(crate) fn is_dense(&self) -> bool {
        matches!(*self.0, ByKind::Dense)
    }

    pub(crate) fn has_numbers(&self) -> bool {
        matches!(*self.0, ByKind::Int(_))
    }

    /// The id of a key, if it has one. A key of another kind has none.
    pub(crate) fn lookup(&self, key: KeyRef<'_>) -> Option<VertexId> {
        match (&*self.0, key) {
            (ByKind::Dense, KeyRef::Int(number)) => VertexId::try_from(number).ok(),
            (ByKind::Int(index), KeyRef::Int(number)) => index.find(&number),
            (ByKind::Text(index), KeyRef::Text(text)) => index.find(text),
            _ => None,
        }
    }

    /// The key of an id that was given out, the last one that it had.
    #[inline]
    pub(crate) fn key(&self, id: VertexId) -> Key {
        match &*self.0 {
            ByKind::Dense => Key::Int(i64::from(id)),
            ByKind::Int(index) => Key::Int(index.keys().get(id)),
            ByKind::Text(index) => Key::Text(index.keys().get(id).to_owned()),
        }
    }

    /// Tells the ids of those of the keys from row `first` on whose place says [`NO_ID`]. Where a key has none, that stays.
    /// Of a dense dictionary no key is told.
    pub(crate) fn find_ids(&self, keys: &KeyColumn, first: usize, ids: &mut [VertexId]) {
        match (&*self.0, keys) {
            (ByKind::Int(index), KeyColumn::Int(numbers)) => {
                let numbers = &numbers[first..first + ids.len()];
                find_ids(index, |row| &numbers[row], ids);
            }
            (ByKind::Text(index), KeyColumn::Text(texts)) => {
                find_ids(index, |row| texts.get(first + row), ids);
            }
            _ => {}
        }
    }

    /// Gives an id to a key that has none; gives the string that the id had before, to be [freed](Self::free) in time. Only the
    /// committer calls this, with the next id or one that was let go of.
    #[must_use]
    pub(crate) fn add(&self, id: VertexId, key: KeyRef<'_>) -> Option<OldText> {
        match (&*self.0, key) {
            (ByKind::Int(index), KeyRef::Int(number)) => index.add(id, &number),
            (ByKind::Text(index), KeyRef::Text(text)) => index.add(id, text),
            _ => None,
        }
    }

    /// Gives the ids from `first` on, which never had keys, to keys that have none. Only the committer calls this.
    pub(crate) fn add_all(&self, first: VertexId, keys: &KeyColumn) {
        self.add_some(first, keys, 0..keys.len());
    }

    /// As [`Dictionary::add_all`], of these rows; `first` is the id of row 0.
    pub(crate) fn add_some(&self, first: VertexId, keys: &KeyColumn, rows: std::ops::Range<usize>) {
        let ids = first + rows.start as VertexId..first + rows.end as VertexId;
        match (&*self.0, keys) {
            (ByKind::Int(index), KeyColumn::Int(numbers)) => {
                index.add_all(ids, |row| &numbers[rows.start + row]);
            }
            (ByKind::Text(index), KeyColumn::Text(texts)) => {
                index.add_all(ids, |row| texts.get(rows.start + row));
            }
            _ => {}
        }
    }

    /// Lets go of the key of an id: nobody finds it any more, but the id tells it still. Only the committer calls this.
    pub(crate) fn remove(&self, id: VertexId) {
        let was_found = match &*self.0 {
            ByKind::Dense => true,
            ByKind::Int(index) => index.remove(id),
            ByKind::Text(index) => index.remove(id),
        };
        debug_assert!(was_found, "the key of id {id}");
    }

    /// Frees a string that nobody reads any more.
    pub(crate) fn free(&self, old: OldText) {
        if let ByKind::Text(index) = &*self.0 {
            index.keys().free(old);
        }
    }

    /// Makes room for so many keys. Only the committer calls this.
    pub(crate) fn reserve(&self, keys: u32) {
        match &*self.0 {
            ByKind::Dense => {}
            ByKind::Int(index) => index.reserve(keys),
            ByKind::Text(index) => index.reserve(keys),
        }
    }

    /// The keys of some ids, in order.
    pub(crate) fn keys(&self, ids: impl Iterator<Item = VertexId>) -> KeyColumn {
        self.keys_where(ids, |_| true)
    }

    /// The keys of some ids, in order, with 0 or an empty string for those that are not wanted.
    pub(crate) fn keys_where(
        &self,
        ids: impl Iterator<Item = VertexId>,
        mut is_wanted: impl FnMut(VertexId) -> bool,
    ) -> KeyColumn {
        match &*self.0 {
            ByKind::Dense => KeyColumn::Int(ids.map(i64::from).collect()),
            ByKind::Int(index) => {
                let keys = ids.map(|id| if is_wanted(id) { index.keys().get(id) } else { 0 });
                KeyColumn::Int(keys.collect())
            }
            ByKind::Text(index) => {
                let keys = ids.map(|id| if is_wanted(id) { index.keys().get(id) } else { "" });
                KeyColumn::Text(keys.collect())
            }
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match &*self.0 {
            ByKind::Dense => 0,
            ByKind::Int(index) => index.slot_bytes() + index.keys().bytes(),
            ByKind::Text(index) => index.slot_bytes() + index.keys().bytes(),
        }
    }
}

/// Looks up keys by row; many of them in parallel.
fn find_ids<'k, K: Keys>(index: &Index<K>, key: impl Fn(usize) -> &'k K::Key + Sync, ids: &mut [VertexId])
where
    K::Key: 'k,
{
    match ids.len() {
        0..PARALLEL_ROWS => index.find_all(key, ids),
        _ => in_pool(|| {
            let parts = ids.par_chunks_mut(PARALLEL_ROWS).enumerate();
            parts.for_each(|(part, ids)| index.find_all(|row| key(part * PARALLEL_ROWS + row), ids));
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn texts(keys: impl IntoIterator<Item = String>) -> KeyColumn {
        KeyColumn::Text(keys.into_iter().collect())
    }

    /// Numbers as keys of a kind.
    fn column(kind: KeyKind, numbers: &[i64]) -> KeyColumn {
        match kind {
            KeyKind::Text => {
                texts(numbers.iter().map(|number| "x".repeat((number & 3) as usize) + &number.to_string()))
            }
            _ => KeyColumn::Int(numbers.to_vec()),
        }
    }

    /// A column of numbers, some of them more than once: few or enough for several tasks, near each other or not.
    fn numbers() -> impl Strategy<Value = Vec<i64>> {
        let shape = prop_oneof![4 => Just((0usize..100, 60i64)), 1 => Just((0..3 * PARALLEL_ROWS, 1 << 40))];
        shape.prop_flat_map(|(count, bound)| (count, Just(bound), any::<u64>())).prop_map(
            |(count, bound, seed)| {
                let step = |state: &u64| {
                    Some(state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F))
                };
                let states = std::iter::successors(Some(seed | 1), step);
                let mut numbers: Vec<i64> =
                    states.take(count).map(|state| (state >> 20) as i64 % bound - bound / 3).collect();
                let again: Vec<i64> = numbers.iter().copied().step_by(3).collect();
                numbers.extend(again);
                numbers
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// Ids are those of a map, whether keys are looked up one by one or together, before and after the dictionary
        /// grows; what a place says already stays.
        #[test]
        fn ids_are_those_of_a_map(
            is_text: bool, columns in prop::collection::vec((numbers(), any::<bool>(), 0usize..40), 1..8))
        {
            let kind = if is_text { KeyKind::Text } else { KeyKind::Int64 };
            let dictionary = Dictionary::new(kind);
            let mut ids: HashMap<Key, VertexId> = HashMap::new();
            for (numbers, at_once, skipped) in columns {
                let keys = column(kind, &numbers);
                let id_of = |ids: &HashMap<Key, VertexId>, row| ids.get(&keys.get(row).to_key()).copied().unwrap_or(NO_ID);
                let known: Vec<VertexId> = (0..keys.len()).map(|row| id_of(&ids, row)).collect();
                let mut found = vec![NO_ID; keys.len()];
                dictionary.find_ids(&keys, 0, &mut found);
                prop_assert_eq!(&found, &known);

                let first = ids.len() as VertexId;
                let mut new = Vec::new();
                for row in (0..keys.len()).filter(|&row| known[row] == NO_ID) {
                    let id = first + new.len() as VertexId;
                    ids.entry(keys.get(row).to_key()).or_insert_with(|| {
                        new.push(numbers[row]);
                        id
                    });
                }
                let new = column(kind, &new);
                match at_once {
                    true => dictionary.add_all(first, &new),
                    false => (0..new.len()).for_each(|row| {
                        assert!(dictionary.add(first + row as VertexId, new.get(row)).is_none());
                    }),
                }
                prop_assert_eq!(&dictionary.keys(first..ids.len() as VertexId), &new);

                let skipped = skipped.min(keys.len());
                let mut found: Vec<VertexId> = known[skipped..].to_vec();
                found.iter_mut().step_by(5).for_each(|id| *id = 7);
                dictionary.find_ids(&keys, skipped, &mut found);
                for (row, &found) in (skipped..).zip(&found) {
                    let told = if (row - skipped).is_multiple_of(5) { 7 } else { id_of(&ids, row) };
                    prop_assert_eq!(found, told);
                    prop_assert_eq!(dictionary.lookup(keys.get(row)), Some(id_of(&ids, row)));
                }
            }
        }
    }

    #[test]
    fn keys_of_another_kind_have_no_id() {
        let (numbers, strings) = (Dictionary::new(KeyKind::Int64), Dictionary::new(KeyKind::Text));
        assert!(numbers.add(0, KeyRef::Int(1)).is_none());
        assert!(strings.add(0, KeyRef::Text("1")).is_none());
        assert_eq!(numbers.lookup(KeyRef::Text("1")), None);
        assert_eq!(strings.lookup(KeyRef::Int(1)), None);
        let mut ids = [NO_ID];
        numbers.find_ids(&texts(["1".to_owned()]), 0, &mut ids);
        strings.find_ids(&KeyColumn::Int(vec![1]), 0, &mut ids);
        assert_eq!(ids, [NO_ID]);
    }

    #[test]
    fn readers_find_old_keys_while_the_committer_adds() {
        for kind in [KeyKind::Int64, KeyKind::Text] {
            let dictionary = Dictionary::new(kind);
            let keys = |ids: std::ops::Range<i64>| column(kind, &ids.map(|id| id << 20).collect::<Vec<_>>());
            let old = keys(0..1000);
            dictionary.add_all(0, &old);
            std::thread::scope(|scope| {
                let together = scope.spawn(|| {
                    (0..300).all(|_| {
                        let mut ids = vec![NO_ID; old.len()];
                        dictionary.find_ids(&old, 0, &mut ids);
                        ids.into_iter().eq(0..1000)
                    })
                });
                let one_by_one = scope.spawn(|| {
                    (0..100_000)
                        .all(|turn| dictionary.lookup(old.get(turn % 1000)) == Some(turn as VertexId % 1000))
                });
                (1000..3000).for_each(|id| {
                    assert!(dictionary.add(id as VertexId, keys(id..id + 1).get(0)).is_none());
                });
                (3000..50_000)
                    .step_by(4700)
                    .for_each(|id| dictionary.add_all(id as VertexId, &keys(id..id + 4700)));
                assert!(together.join().unwrap() && one_by_one.join().unwrap());
            });
        }
    }
}
