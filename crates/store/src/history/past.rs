//! Versions of the past: a base opened as a store is, then the log replayed exactly up to the commit asked for.
//!
//! ```text
//!  version_at(n) ─► the newest one? kept from before? ─► the nearest of: a past on its way, a base
//!                                                            │ replay commit by commit, publish
//!                                                            ▼
//!                                                        version n
//! ```
//!
//! A past moves only forward, each version made from the one before as commits are, so that asking for one version
//! after the other replays each commit once. Keys come from the store's own dictionary, which forgets none while history is kept. Where
//! it is not, what was archived and the log behind that give versions too, but none from before a pass ([`recycler`](crate::keys::recycler)).
//!
//! Invariant: a past is the only one to make versions from the one it holds.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use evergraph_log::{LogError, LogReader};
use evergraph_segment::Segment;
use evergraph_types::{Sequence, TimeText};

use crate::commits::resolve::Resolver;
use crate::error::{HistoryError, OpenError};
use crate::files::home::Home;
use crate::files::manifest::Manifest;
use crate::files::open::{Recovery, open_segment};
use crate::history::changes::{Commit, LogPlace, damage, next_record};
use crate::history::cursors::ReaderId;
use crate::store::{Inner, Store};
use crate::system::pool::in_pool;
use crate::versions::draft::Draft;
use crate::versions::version::Version;

/// Versions kept for the next time they are asked for.
const RECENT: usize = 4;
/// Pasts kept on their way.
const PASTS: usize = 2;
/// Changes that are applied as one draft.
const CHANGES_AT_A_TIME: usize = 1 << 18;

/// Which version is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The one after this commit; 0 is the empty graph.
    Commit(Sequence),
    /// The one that was current at this time, in microseconds since 1970-01-01 UTC.
    Time(i64),
}

/// Which versions can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retained {
    /// The oldest commit whose version can be had.
    pub first: Sequence,
    /// When it was made, in microseconds since 1970-01-01 UTC; 0 for commit 0.
    pub first_time_micros: i64,
    /// The newest commit.
    pub last: Sequence,
}

/// What was asked for before.
#[derive(Debug, Default)]
pub(crate) struct HistoryCache {
    recent: VecDeque<Arc<Version>>,
    pasts: VecDeque<Past>,
}

/// A version of the past on its way forward.
#[derive(Debug)]
struct Past {
    version: Arc<Version>,
    resolver: Resolver,
    log: LogReader,
    ready: VecDeque<Commit>,
    /// Whether the last record read is a part of a commit, whose next one is to come. On the way through such a commit the version
    /// is nobody else's.
    goes_on: bool,
}

impl Store {
    /// The version after a commit, or at a time. The newest version takes no time; another one that of opening a
    /// store and replaying the log from the base before it, or from the last version asked for. Versions asked for
    /// in order, or again, take little. Where no history is kept, there is none from before the last time that an archive let go
    /// of keys without vertices.
    ///
    /// ```
    /// # use evergraph_store::{At, Options, Retain, Store};
    /// let store = Store::in_memory(Options { retain: Some(Retain::Everything), ..Options::default() });
    /// let first = store.put_edge("alice", "bob", "knows", &[])?;
    /// store.delete_vertex("alice")?;
    /// let then = store.version_at(At::Commit(first))?;
    /// assert!(then.vertex_id("alice".into()).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`HistoryError::NotRetained`] with what is retained, [`HistoryError::Open`], [`HistoryError::Closed`].
    pub fn version_at(&self, at: At) -> Result<Arc<Version>, HistoryError> {
        self.inner().version_at(at)
    }

    /// The version that is archived, without the commits that only the log holds; the newest one for a store in
    /// memory.
    ///
    /// # Errors
    /// Those of [`Store::version_at`].
    pub fn archived_version(&self) -> Result<Arc<Version>, HistoryError> {
        match &self.inner().home {
            None => Ok(self.version()?),
            Some(home) => loop {
                let archived = || home.kept().last().map_or(0, |manifest| manifest.sequence);
                let sequence = archived().max(self.inner().last_pass.lock().0);
                match self.version_at(At::Commit(sequence)) {
                    // An archive that came between has let go of it.
                    Err(HistoryError::NotRetained { .. }) if sequence < archived() => {}
                    made => return made,
                }
            },
        }
    }

    /// Which versions [`Store::version_at`] can give now.
    pub fn retained(&self) -> Retained {
        self.inner().retained()
    }
}

impl Inner {
    /// Bytes on the heap of all versions of the past that the store or anybody else holds.
    pub(crate) fn history_bytes(&self) -> usize {
        let mut pasts = self.pasts.lock();
        pasts.retain(|heap| heap.strong_count() > 0);
        pasts.iter().filter_map(Weak::upgrade).map(|heap| heap.live_bytes()).sum()
    }

    fn retained(&self) -> Retained {
        let kept = self.home.as_ref().map(Home::kept);
        let oldest = kept.as_ref().and_then(|kept| kept.first());
        let oldest = oldest.map(|oldest| (oldest.sequence, oldest.time_micros));
        // Looked for afterwards, for it must not be older.
        let newest = self.current.load();
        let (first, first_time_micros) = oldest.unwrap_or((newest.sequence, newest.time_micros));
        let (first, first_time_micros) = (first, first_time_micros).max(*self.last_pass.lock());
        Retained { first, first_time_micros, last: newest.sequence }
    }

    fn not_retained(&self, at: At) -> HistoryError {
        const KEEP_MORE: &str = "; open the store with retain= to keep more of what is to come";
        let Retained { first, first_time_micros, last } = self.retained();
        let (problem, advice) = match at {
            At::Commit(sequence) if sequence > last => (format!("version {sequence} is ahead"), ""),
            At::Commit(sequence) => (format!("version {sequence} is not retained"), KEEP_MORE),
            At::Time(micros) => (format!("the time {} is not retained", TimeText(micros)), KEEP_MORE),
        };
        HistoryError::NotRetained { problem, advice, first, first_time_micros, last }
    }

    pub(crate) fn version_at(&self, at: At) -> Result<Arc<Version>, HistoryError> {
        self.usable()?;
        let newest = self.current.load_full();
        let is_newest = match at {
            At::Commit(sequence) => sequence == newest.sequence,
            At::Time(micros) => micros >= newest.time_micros,
        };
        if is_newest {
            return Ok(newest);
        }
        if matches!(at, At::Commit(sequence) if sequence > newest.sequence) {
            return Err(self.not_retained(at));
        }
        let Some(home) = &self.home else { return Err(self.not_retained(at)) };
        let mut cache = self.history.lock();
        loop {
            let Some((base, pin)) = self.enter_base(home, at) else { return Err(self.not_retained(at)) };
            let made = self.make_version(home, &mut cache, &base, &newest, at);
            self.cursors.leave(pin);
            let is_kept = || home.kept().iter().any(|kept| Arc::ptr_eq(kept, &base));
            // An archive that came between may have let go of it, and of its files: where history has a limit, or before it knew of
            // this reader.
            if !matches!(made, Err(HistoryError::Open(_))) || is_kept() {
                return made;
            }
        }
    }

    /// The nearest base of a version, entered among the readers of the log.
    fn enter_base(&self, home: &Home, at: At) -> Option<(Arc<Manifest>, ReaderId)> {
        let is_before = |base: &&Arc<Manifest>| match at {
            At::Commit(sequence) => base.sequence <= sequence,
            At::Time(micros) => base.time_micros <= micros,
        };
        let base = home.kept().iter().take_while(is_before).last()?.clone();
        let pin = self.cursors.enter(base.sequence);
        Some((base, pin))
    }

    fn make_version(
        &self,
        home: &Home,
        cache: &mut HistoryCache,
        base: &Manifest,
        newest: &Version,
        at: At,
    ) -> Result<Arc<Version>, HistoryError> {
        let place = home.log_place();
        let target = match at {
            At::Commit(sequence) => sequence,
            At::Time(micros) => newest_at(&place, base, newest.sequence, micros)?,
        };
        if target < self.last_pass.lock().0 {
            return Err(self.not_retained(at));
        }
        if let Some(version) = cache.recent.iter().find(|version| version.sequence == target) {
            return Ok(version.clone());
        }
        let on_its_way = (0..cache.pasts.len())
            .filter(|&at| (base.sequence..=target).contains(&cache.pasts[at].version.sequence))
            .max_by_key(|&at| cache.pasts[at].version.sequence);
        let past = on_its_way.and_then(|at| cache.pasts.remove(at));
        let mut past = match past {
            Some(past) => past,
            None => {
                let past = Past::open(home, place, base, newest)?;
                self.pasts.lock().push(Arc::downgrade(&past.version.reclaimer));
                past
            }
        };
        match in_pool(|| past.advance(target, newest)) {
            Ok(()) => {}
            Err(error) => {
                past.close();
                return Err(error);
            }
        }
        let version = past.version.clone();
        cache.pasts.push_back(past);
        cache.recent.push_back(version.clone());
        cache.shrink(PASTS, RECENT);
        Ok(version)
    }
}

impl HistoryCache {
    /// Lets go of the oldest ones.
    pub(crate) fn shrink(&mut self, pasts: usize, recent: usize) {
        while self.recent.len() > recent {
            self.recent.pop_front();
        }
        while self.pasts.len() > pasts {
            self.pasts.pop_front().into_iter().for_each(Past::close);
        }
    }
}

impl Drop for HistoryCache {
    fn drop(&mut self) {
        self.shrink(0, 0);
    }
}

/// The last commit made by then.
fn newest_at(
    place: &LogPlace,
    base: &Manifest,
    through: Sequence,
    micros: i64,
) -> Result<Sequence, HistoryError> {
    let LogPlace { disk, directory, store_id } = place;
    let mut log = LogReader::new(disk.clone(), directory, *store_id, base.sequence + 1);
    let mut found = base.sequence;
    while let Some(record) = log.next(through)? {
        if record.time_micros > micros {
            break;
        }
        found = record.last_sequence;
    }
    Ok(found)
}

impl Past {
    /// The version a base is the state after. `newest` lends its keys.
    fn open(home: &Home, place: LogPlace, base: &Manifest, newest: &Version) -> Result<Self, HistoryError> {
        let segments = base_segments(home, base)?;
        let version = in_pool(|| {
            let recovery = Recovery::of_base(base, &segments, newest.dictionary.clone())?;
            let mut version = recovery.finish();
            version.origin = newest.origin;
            Ok::<_, OpenError>(Arc::new(version))
        })?;
        let mut resolver = Resolver::of(&version, None);
        resolver.keys_are_known = true;
        let LogPlace { disk, directory, store_id } = place;
        let log = LogReader::new(disk, &directory, store_id, base.sequence + 1);
        Ok(Past { version, resolver, log, ready: VecDeque::new(), goes_on: false })
    }

    /// Goes on to the version after commit `target`; `newest` is a later version, whose keys and log there are.
    fn advance(&mut self, target: Sequence, newest: &Version) -> Result<(), HistoryError> {
        while self.version.sequence < target || self.goes_on {
            let commits = self.gather(target, newest.sequence)?;
            let Some(last) = commits.back() else {
                return Err(OpenError::from(damage(&self.log, "the log ends too early")).into());
            };
            let (sequence, time_micros) = (last.sequence, last.time_micros);
            if let Some(commit) =
                commits.iter().find(|commit| !self.resolver.replay(&commit.writes, commit.sequence))
            {
                let what = format!("commit {}, before this, makes no sense", commit.sequence);
                return Err(OpenError::from(damage(&self.log, what)).into());
            }
            let mut draft = Draft::new(&self.version, newest.dictionary.clone(), sequence, time_micros);
            commits.into_iter().for_each(|commit| draft.apply(commit.writes));
            self.publish(draft);
        }
        Ok(())
    }

    /// Some of the next commits up to `target`, the last perhaps in part.
    fn gather(&mut self, target: Sequence, through: Sequence) -> Result<VecDeque<Commit>, HistoryError> {
        let mut commits: VecDeque<Commit> = VecDeque::new();
        let mut changes = 0;
        while changes < CHANGES_AT_A_TIME {
            let position = commits.back().map_or(self.version.sequence, |commit| commit.sequence);
            if position >= target && !self.goes_on {
                break;
            }
            if self.ready.is_empty() {
                let Some((commits, goes_on)) = next_record(&mut self.log, through)? else { break };
                (self.ready, self.goes_on) = (commits, goes_on);
            }
            let Some(commit) = self.ready.pop_front() else { continue };
            changes += 1 + commit.writes.edges.iter().map(|(_, ops)| ops.len()).sum::<usize>();
            commits.push_back(commit);
        }
        Ok(commits)
    }

    fn publish(&mut self, draft: Draft) {
        let (version, changes) = draft.finish();
        version.reclaimer.allocated(changes.allocated_bytes);
        let before = std::mem::replace(&mut self.version, Arc::new(version));
        before.retire(changes.retired);
    }

    /// No other version is made from here on.
    fn close(self) {
        self.version.release();
    }
}

/// The segments of a base; those that are mapped already are shared.
fn base_segments(home: &Home, base: &Manifest) -> Result<Vec<Arc<Segment>>, HistoryError> {
    let mapped = home.open_segments();
    let open = |entry: &crate::files::manifest::SegmentEntry| {
        let path = crate::files::home::segment_path(&home.directory, entry.number);
        match mapped.iter().find(|segment| segment.path() == path) {
            Some(segment) => Ok(segment.clone()),
            None => open_segment(&*home.disk, &home.directory, entry, &home.store_id)
                .inspect(|segment| home.note_opened(segment)),
        }
    };
    Ok(base.segments.iter().map(open).collect::<Result<_, OpenError>>()?)
}

impl From<LogError> for HistoryError {
    fn from(error: LogError) -> Self {
        HistoryError::Open(error.into())
    }
}
