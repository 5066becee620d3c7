//! Passes of recycling, and what stands against them: [`recycler`](crate::keys::recycler) draws it.
//!
//! Invariant: a pass changes nothing that anybody who reads the newest version can see.

use std::sync::Arc;

use evergraph_types::{KeyKind, VertexId};

use crate::commits::commit::Committer;
use crate::commits::stages::AllStages;
use crate::history::retain::Retain;
use crate::keys::dictionary::Dictionary;
use crate::keys::recycler::{holds_ids, is_in};
use crate::lists::paged_array::LEAF_CELLS;
use crate::store::Inner;
use crate::upkeep::watch::Watch;
use crate::versions::draft::Draft;
use crate::versions::version::Version;

/// A pass is worth it for more keys without vertices than these …
const KEYLESS_MIN: u64 = 256;
/// … and than this part of all ids.
const KEYLESS_PART: u64 = 8;
/// So many keys are let go of while commits wait.
const IDS_AT_ONCE: usize = if cfg!(debug_assertions) { 1 << 8 } else { 1 << 13 };

impl Inner {
    /// Lets go of the keys of vertices that are gone, if there are many, or if it is `asked_for`, and makes ids free that nobody
    /// holds. Whoever calls this is the only one that archives.
    pub(crate) fn recycle(&self, asked_for: bool, watch: &Watch<'_>) {
        if self.retain != Retain::Nothing {
            return;
        }
        self.promote();
        if !self.committer.enter().resolver.recycler.has_begun_pass() {
            if !self.is_worth_a_pass(asked_for) {
                return;
            }
            self.begin_pass();
        }
        self.let_go_of_pasts();
        self.reclaimer.collect();
        if self.committer.enter().resolver.recycler.goes_back_to().is_none() {
            return;
        }
        for ids in self.ids_without_vertices().chunks(IDS_AT_ONCE) {
            let mut committer = self.committer.lock();
            if !self.may_recycle(&committer) || !watch.goes_on() {
                return;
            }
            self.let_go(&mut committer, ids);
            // Whoever waits to commit comes before the next ids.
            committer.unlock_fair();
        }
        self.committer.enter().resolver.recycler.end_pass();
        self.promote();
    }

    /// Whether there are enough keys without vertices.
    fn is_worth_a_pass(&self, asked_for: bool) -> bool {
        let version = self.current.load();
        let bound = u64::from(version.id_bound);
        if version.schema.key_kind.is_none_or(|kind| kind == KeyKind::Dense) {
            return false;
        }
        let num_keyless = self.committer.enter().resolver.recycler.num_keyless() as u64;
        let least = if asked_for { 0 } else { KEYLESS_MIN.max(bound / KEYLESS_PART) };
        bound.saturating_sub(version.num_vertices + num_keyless) > least
    }

    /// Has versions from here on hold another dictionary.
    fn begin_pass(&self) {
        let mut committer = self.committer.lock();
        if !self.may_recycle(&committer) {
            return;
        }
        let newest = self.current.load_full();
        let since = self.cursors.keys_floor().map_or(newest.sequence, |floor| floor.min(newest.sequence));
        // A version of the past that is made from now on has the new dictionary.
        let mut last_pass = self.last_pass.lock();
        *last_pass = (*last_pass).max((since, newest.time_micros));
        drop(last_pass);
        let resolver = &mut committer.resolver;
        resolver.dictionary = resolver.recycler.begin_pass(&resolver.dictionary, since);
        self.publish_with(resolver.dictionary.clone(), newest);
    }

    /// The ids that have a key and no vertex.
    fn ids_without_vertices(&self) -> Vec<VertexId> {
        let version = self.current.load_full();
        let bound = version.id_bound;
        let keyless = {
            let mut committer = self.committer.enter();
            let recycler = &mut committer.resolver.recycler;
            if self.home.is_none() {
                recycler.forget_rebound();
            }
            recycler.keyless_bits().to_vec()
        };
        let mut vertices = vec![0; bound.div_ceil(LEAF_CELLS) as usize];
        version.vertices.for_each_leaf(&mut |base, leaf| {
            if let Some(word) = vertices.get_mut((base / LEAF_CELLS) as usize) {
                *word = leaf.occupied;
            }
        });
        (0..bound).filter(|id| !is_in(&vertices, *id) && !is_in(&keyless, *id)).collect()
    }

    /// Whether nothing stands against letting go of keys. All that was accepted is published.
    fn may_recycle(&self, committer: &Committer) -> bool {
        let newest = self.current.load();
        // What was read and not dealt with by then may name keys that only a batch has deleted edges of.
        let is_read = self.cursors.keys_floor().is_some_and(|floor| floor < committer.deleted_by_batch);
        committer.refusal.is_none()
            && committer.branch.is_none()
            && !committer.resolver.recycler.has_unlogged()
            && Arc::ptr_eq(&committer.resolver.dictionary, &newest.dictionary)
            && !is_read
            && !holds_ids(&newest.catalog)
    }

    /// Lets go of the keys of those of the ids that have no vertex, and that no commit names which somebody may still read.
    fn let_go(&self, committer: &mut AllStages<'_>, ids: &[VertexId]) {
        let newest = self.current.load_full();
        let resolver = &mut committer.resolver;
        let Some(since) = resolver.recycler.goes_back_to() else { return };
        // Whoever came since the pass began has been let in only if all that was let go of before was gone at its place.
        let since = self.cursors.keys_floor().map_or(since, |floor| floor.min(since));
        let bound = newest.id_bound.min(resolver.logged_bound());
        let is_gone = |id: &VertexId| is_gone_since(&newest, *id, since);
        let wanted = |id: &VertexId| *id < bound && !resolver.recycler.is_keyless(*id) && is_gone(id);
        let ids: Vec<VertexId> = ids.iter().copied().filter(wanted).collect();
        if ids.is_empty() {
            return;
        }
        ids.iter().for_each(|id| resolver.dictionary.remove(*id));
        let is_on_disk = self.home.is_some();
        resolver.dictionary = resolver.recycler.let_go(&resolver.dictionary, ids, since, is_on_disk);
        self.publish_with(resolver.dictionary.clone(), newest);
    }

    /// Publishes the newest version with another dictionary. The committer is the caller's.
    fn publish_with(&self, dictionary: Arc<Dictionary>, newest: Arc<Version>) {
        let mut draft = Draft::new(&newest, dictionary, newest.sequence, newest.time_micros);
        draft.changes.stamp = None;
        let (version, changes) = draft.finish();
        drop(newest);
        self.publish(version, changes);
    }

    /// Makes ids free that nobody can take for another vertex any more.
    pub(crate) fn promote(&self) {
        if !self.committer.enter().resolver.recycler.is_waiting() {
            return;
        }
        self.let_go_of_pasts();
        self.reclaimer.collect();
        let mut committer = self.committer.lock();
        let resolver = &mut committer.resolver;
        resolver.recycler.promote(&resolver.dictionary);
    }

    /// Lets go of versions of the past that are kept for the next time, and of the dictionaries that they hold.
    fn let_go_of_pasts(&self) {
        // Whoever asks for one just now holds it anyway.
        self.history.try_lock().into_iter().for_each(|mut history| history.shrink(0, 0));
    }
}

/// Whether there is no vertex of an id, and has been none since commit `floor`.
fn is_gone_since(version: &Version, id: VertexId, floor: u64) -> bool {
    version.vertices.leaf(id).is_none_or(|leaf| {
        let changed = leaf.changed_since(floor) >> (id % LEAF_CELLS) & 1;
        leaf.get(id).is_none() && changed == 0
    })
}
