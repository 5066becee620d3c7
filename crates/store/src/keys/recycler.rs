//! Ids of keys that came and went are given to other keys.
//!
//! ```text
//!  key, id          the vertex is deleted
//!     │ begin      a new dictionary for all versions to come: none of these has the vertex
//!     │            ... until nobody holds an older one: no version has it
//!     │ let go     nobody finds the key any more; a new dictionary again: nobody who has it knows the id by that key
//!     │            ... until nobody holds an older one, and an archive says that the id has no key
//!  free id
//!     │ a new key
//!  another key, id
//! ```
//!
//! All who may look a key up, or ask for that of an id, hold the dictionary that was the newest one when what they show was made:
//! versions and whoever holds these, windows, what a transaction has handed in to be committed.
//!
//! Both together are a *pass*. A key that is put again after it is new, and gets another id. The log does not say that
//! it was let go of: after a crash it has the id that it had, or the other one if the log says so.
//!
//! Of an id in the log, the newest version tells readers the key, and a window shows what was there at its reader's place. So no
//! key is let go of that a commit names which some reader had not passed when the pass began. Whoever wants to read later on
//! from before the place of the last of these readers is told that the log was trimmed there, and so is who asks for such a version.
//! Handlers are such a reader: in the versions from their place on, which are kept for them, those keys have no vertex.
//!
//! Not let go of at all are keys while history is kept; while a load is under way, which holds
//! ids of vertices that are not there yet; and while a view is in the catalog that is made of ids. (One that comes later cannot name an id
//! without a key: who makes it of a version from before conflicts.)
//!
//! Invariants: a key that was let go of has no vertex in any version that is held; its id is given to another key only when nobody holds a
//! dictionary from before; which ids have no keys as of the manifest its newest segment says, and which got some since the log.

use std::sync::{Arc, Weak};

use evergraph_types::{Sequence, VertexId};

use crate::keys::dictionary::Dictionary;
use crate::keys::text_cell::OldText;
use crate::write_sets::catalog::Catalog;

/// Catalog items of this prefix are the definitions of views.
pub const VIEW_ITEMS: &str = "view/";

/// The ids that keys were let go of, as only the committer knows them.
#[derive(Debug)]
pub(crate) struct Recycler {
    /// Which ids have no key, as bits.
    keyless: Vec<u64>,
    num_keyless: usize,
    /// What the pass that has begun may let go of.
    begun: Option<Begun>,
    /// Those that cannot be given out yet.
    waiting: Vec<Lot>,
    /// Those that can, descending.
    free: Vec<VertexId>,
    /// Those that other keys have got since the manifest.
    rebound: Vec<VertexId>,
    /// Of these, those whose commit was refused after that: the next commit brings their keys to the log.
    unlogged: Vec<VertexId>,
    /// The number of the newest dictionary …
    number: u64,
    /// … and those before it that somebody may hold.
    older: Vec<(u64, Weak<Dictionary>)>,
    /// Strings that ids had before, with the number of the dictionary that was the newest then.
    old_texts: Vec<(u64, OldText)>,
    /// From which commit on what was let go of had no vertex, and was named by no commit; 0 if there was no pass.
    last_pass: Sequence,
}

/// The begin of a pass.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// Nobody may hold this dictionary any more, or an older one.
    dictionary: u64,
    /// From which commit on there may have been no vertex.
    since: Sequence,
}

/// Ids that were let go of together.
#[derive(Debug)]
struct Lot {
    /// Nobody may hold this dictionary any more, or an older one.
    dictionary: u64,
    /// Whether it is known on disk that they have no keys.
    is_written: bool,
    ids: Vec<VertexId>,
}

/// What a segment is to say of them, as of a version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recycled {
    /// The ids that have no keys, ascending.
    pub(crate) free: Vec<VertexId>,
    /// Those that were given to other keys since the manifest, ascending.
    pub(crate) rebound: Vec<VertexId>,
    /// From which commit on they had none, and no vertices; 0 if there was no pass: then nothing is said.
    pub(crate) last_pass: Sequence,
    /// How many were noted as given to others.
    num_noted: usize,
    /// The number of the newest dictionary.
    number: u64,
}

impl Default for Recycler {
    fn default() -> Self {
        Recycler {
            keyless: Vec::new(),
            num_keyless: 0,
            begun: None,
            waiting: Vec::new(),
            free: Vec::new(),
            rebound: Vec::new(),
            unlogged: Vec::new(),
            // Of what waits for no dictionary, the number is less.
            number: 1,
            older: Vec::new(),
            old_texts: Vec::new(),
            last_pass: 0,
        }
    }
}

impl Recycler {
    /// That of a store that was opened, before its log is replayed.
    pub(crate) fn of_segments(free: &[VertexId], last_pass: Sequence) -> Self {
        let mut recycler = Recycler { last_pass, ..Recycler::default() };
        free.iter().for_each(|id| recycler.note_keyless(*id));
        recycler
    }

    /// Afterwards: nobody can hold anything, and whatever the log says is what an archive is to say, too.
    pub(crate) fn settle(&mut self) {
        let ids = self.keyless_ids();
        self.waiting = vec![Lot { dictionary: 0, is_written: true, ids }];
    }

    pub(crate) fn last_pass(&self) -> Sequence {
        self.last_pass
    }

    /// Notes that what was let go of had no vertex from commit `since` on.
    pub(crate) fn note_pass(&mut self, since: Sequence) {
        self.last_pass = self.last_pass.max(since);
    }

    /// Notes that versions from commit `needed` on are kept for handlers. So what was let go of behind the manifest, which says what
    /// was by commit `archived`, had no vertex by then, though the log only tells when its keys came again.
    pub(crate) fn note_needed(&mut self, needed: Sequence, archived: Sequence) {
        self.last_pass = self.last_pass.min(needed.max(archived));
    }

    pub(crate) fn num_keyless(&self) -> usize {
        self.num_keyless
    }

    /// Which ids have no key, as bits; those beyond its end have.
    pub(crate) fn keyless_bits(&self) -> &[u64] {
        &self.keyless
    }

    pub(crate) fn is_keyless(&self, id: VertexId) -> bool {
        is_in(&self.keyless, id)
    }

    /// Whether there is something to give out, or to free, once nobody is in its way.
    pub(crate) fn is_waiting(&self) -> bool {
        !(self.waiting.is_empty() && self.old_texts.is_empty())
    }

    /// Whether keys whose commits were refused are still to be logged.
    pub(crate) fn has_unlogged(&self) -> bool {
        !self.unlogged.is_empty()
    }

    fn keyless_ids(&self) -> Vec<VertexId> {
        let words = (0..).zip(&self.keyless);
        let ids = words.flat_map(|(at, word): (VertexId, &u64)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        });
        ids.collect()
    }

    /// Notes that an id has no key.
    pub(crate) fn note_keyless(&mut self, id: VertexId) {
        let word = (id / 64) as usize;
        if self.keyless.len() <= word {
            self.keyless.resize(word + 1, 0);
        }
        self.num_keyless += usize::from(!self.is_keyless(id));
        self.keyless[word] |= 1 << (id % 64);
    }

    /// Begins a pass that lets go of what has had no vertex since a commit; gives the dictionary that versions have from then on.
    pub(crate) fn begin_pass(&mut self, dictionary: &Arc<Dictionary>, since: Sequence) -> Arc<Dictionary> {
        self.begun = Some(Begun { dictionary: self.number, since });
        self.renew(dictionary)
    }

    /// Whether a pass has begun.
    pub(crate) fn has_begun_pass(&self) -> bool {
        self.begun.is_some()
    }

    /// Since when what the pass lets go of has had no vertex, if it has begun and can go on.
    pub(crate) fn goes_back_to(&mut self) -> Option<Sequence> {
        let oldest = self.oldest_held();
        self.begun.filter(|begun| begun.dictionary < oldest).map(|begun| begun.since)
    }

    /// Notes ids that have lost their keys, and that no commit after `since` names; gives the dictionary that versions have from
    /// then on.
    pub(crate) fn let_go(
        &mut self,
        dictionary: &Arc<Dictionary>,
        ids: Vec<VertexId>,
        since: Sequence,
        is_on_disk: bool,
    ) -> Arc<Dictionary> {
        ids.iter().for_each(|id| self.note_keyless(*id));
        self.waiting.push(Lot { dictionary: self.number, is_written: !is_on_disk, ids });
        self.note_pass(since);
        self.renew(dictionary)
    }

    /// Ends the pass.
    pub(crate) fn end_pass(&mut self) {
        self.begun = None;
    }

    fn renew(&mut self, dictionary: &Arc<Dictionary>) -> Arc<Dictionary> {
        self.older.push((self.number, Arc::downgrade(dictionary)));
        self.number += 1;
        Arc::new(dictionary.renewed())
    }

    /// The number of the oldest dictionary that somebody holds.
    fn oldest_held(&mut self) -> u64 {
        self.older.retain(|(_, dictionary)| dictionary.strong_count() > 0);
        self.older.iter().map(|(number, _)| *number).min().unwrap_or(self.number)
    }

    /// Makes ids free that nobody can take for another vertex, and frees strings that nobody can be reading. All that was accepted is
    /// published.
    pub(crate) fn promote(&mut self, dictionary: &Dictionary) {
        let oldest = self.oldest_held();
        let unread = self.old_texts.extract_if(.., |(number, _)| *number < oldest);
        unread.for_each(|(_, text)| dictionary.free(text));
        let free = self.waiting.extract_if(.., |lot| lot.is_written && lot.dictionary < oldest);
        free.for_each(|lot| self.free.extend(lot.ids));
        self.free.sort_unstable_by(|left, right| right.cmp(left));
    }

    /// How many ids there are to give out.
    pub(crate) fn num_free(&self) -> usize {
        self.free.len()
    }

    /// Takes out so many of them, if there are as many, ascending. They are to get keys.
    pub(crate) fn take_free(&mut self, most: usize) -> Vec<VertexId> {
        let left = self.free.len().saturating_sub(most);
        let mut ids = self.free.split_off(left);
        ids.reverse();
        ids
    }

    /// Notes that an id has got a key, and had this string before.
    pub(crate) fn note_bound(&mut self, id: VertexId, old: Option<OldText>) {
        if self.is_keyless(id) {
            self.keyless[(id / 64) as usize] &= !(1 << (id % 64));
            self.num_keyless -= 1;
        }
        self.rebound.push(id);
        self.old_texts.extend(old.map(|text| (self.number, text)));
    }

    /// Notes ids with keys whose commit was refused.
    pub(crate) fn note_unlogged(&mut self, ids: &[VertexId]) {
        self.unlogged.extend(ids);
    }

    pub(crate) fn take_unlogged(&mut self) -> Vec<VertexId> {
        std::mem::take(&mut self.unlogged)
    }

    /// What a segment is to say as of the version that has all that was accepted.
    pub(crate) fn recycled(&self) -> Recycled {
        if self.last_pass == 0 {
            return Recycled::default();
        }
        let mut rebound = self.rebound.clone();
        rebound.retain(|id| !self.is_keyless(*id));
        rebound.sort_unstable();
        rebound.dedup();
        Recycled {
            free: self.keyless_ids(),
            rebound,
            last_pass: self.last_pass,
            num_noted: self.rebound.len(),
            number: self.number,
        }
    }

    /// Notes that the manifest names a segment that says this.
    pub(crate) fn note_written(&mut self, recycled: &Recycled) {
        self.rebound.drain(..recycled.num_noted.min(self.rebound.len()));
        let written = self.waiting.iter_mut().filter(|lot| lot.dictionary < recycled.number);
        written.for_each(|lot| lot.is_written = true);
    }

    /// Forgets which ids other keys have got, in a store that has no segments to say so.
    pub(crate) fn forget_rebound(&mut self) {
        self.rebound.clear();
    }
}

/// Whether an id is in a set of bits.
pub(crate) fn is_in(bits: &[u64], id: VertexId) -> bool {
    bits.get((id / 64) as usize).is_some_and(|word| word >> (id % 64) & 1 == 1)
}

/// Whether a view in a catalog is made of ids.
pub(crate) fn holds_ids(catalog: &Catalog) -> bool {
    let views = catalog.with_prefix(VIEW_ITEMS);
    views.into_iter().any(|(name, bytes)| is_view_of_ids(name, bytes))
}

/// Whether an item is the definition of a view made of ids, as far as can be told: docs/format.md draws it.
pub(crate) fn is_view_of_ids(name: &str, bytes: &[u8]) -> bool {
    const NONE: u8 = 0;
    const WHERE: u8 = 2;
    if !name.starts_with(VIEW_ITEMS) {
        return false;
    }
    let edges = match bytes {
        [1, NONE, rest @ ..] => Some(rest),
        [1, WHERE, a, b, c, d, rest @ ..] => rest.get(u32::from_le_bytes([*a, *b, *c, *d]) as usize..),
        _ => None,
    };
    !matches!(edges, Some([NONE | WHERE, ..]))
}

#[cfg(test)]
mod tests {
    use evergraph_types::{KeyKind, KeyRef};

    use super::*;

    /// As the store does with each.
    #[test]
    fn an_id_is_free_once_it_is_written_and_nobody_holds_an_older_dictionary() {
        let mut dictionary = Arc::new(Dictionary::new(KeyKind::Text));
        for (id, key) in (0..).zip(["a", "b", "c"]) {
            assert!(dictionary.add(id, KeyRef::Text(key)).is_none());
        }
        let mut recycler = Recycler::default();
        let held = dictionary.clone();
        dictionary = recycler.begin_pass(&dictionary.clone(), 7);
        assert_eq!(recycler.goes_back_to(), None, "who holds the one before looks keys up");
        drop(held);
        assert_eq!(recycler.goes_back_to(), Some(7));
        let held = dictionary.clone();
        dictionary.remove(1);
        dictionary = recycler.let_go(&dictionary.clone(), vec![1], 7, true);
        assert_eq!(dictionary.lookup(KeyRef::Text("b")), None);
        assert_eq!(held.key(1), "b".into());
        recycler.promote(&dictionary);
        assert_eq!(recycler.num_free(), 0);
        recycler.note_written(&recycler.recycled());
        recycler.promote(&dictionary);
        assert_eq!(recycler.num_free(), 0, "somebody holds the one before");
        drop(held);
        recycler.promote(&dictionary);
        assert_eq!(recycler.take_free(5), [1]);
        let bytes = dictionary.bytes();
        recycler.note_bound(1, dictionary.add(1, KeyRef::Text("bb")));
        assert_eq!(dictionary.lookup(KeyRef::Text("bb")), Some(1));
        assert_eq!((recycler.recycled().free, recycler.recycled().rebound), (vec![], vec![1]));
        recycler.promote(&dictionary);
        assert_eq!(dictionary.bytes(), bytes + 6, "the old string may be read still");
        let held = dictionary.clone();
        dictionary.remove(0);
        dictionary = recycler.let_go(&dictionary.clone(), vec![0], 8, true);
        recycler.promote(&dictionary);
        assert_eq!(dictionary.bytes(), bytes + 6);
        drop(held);
        recycler.promote(&dictionary);
        assert_eq!(dictionary.bytes(), bytes + 1);
    }

    #[test]
    fn views_of_ids_are_told_from_others() {
        let is_of_ids = |bytes: &[u8]| is_view_of_ids("view/a", bytes);
        assert!(!is_of_ids(&[1, 0, 0, 0]) && !is_of_ids(&[1, 2, 1, 0, 0, 0, b'x', 0, 0]));
        assert!(!is_of_ids(&[1, 0, 2, 1, 0, 0, 0, b'x', 0]) && !is_view_of_ids("other", &[1, 1]));
        for bytes in
            [&[1, 1, 0, 0, 0, 0, 0, 0][..], &[1, 0, 1, 0, 0, 0], &[], &[2, 0, 0, 0], &[1, 2, 9, 0, 0, 0]]
        {
            assert!(is_of_ids(bytes), "{bytes:?}");
        }
    }
}
