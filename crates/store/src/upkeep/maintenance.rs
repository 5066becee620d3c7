//! The store's own threads: one syncs what commits did not, by the clock and as the log grows, and makes room in the log ahead of them;
//! one archives when memory or the log has grown, and brings lists together that commits have scattered. Where each commit is synced, two
//! others wait for many callers at once ([`crowd`](crate::commits::crowd)).
//!
//! ```text
//!  commit ─► much not synced, little room? ─► signal ─► thread for the log, which also syncs by the clock
//!        └─► enough to do? ─► signal ─► thread, which starts with the first signal
//!                                        ├ archive: at once
//!                                        ├ tidy:    when commits pause, or, if they do not, after some time
//!                                        │   ├ files:    all segments merged into one, if much in them is dead; in a pause
//!                                        │   │           an archive, if the heap is full of holes
//!                                        │   └ no files: lists gathered in clusters, a slice at a time amid commits
//!                                        └ give back memory that was freed: after these to the threads it came from,
//!                                            when commits pause, or under a limit, to the system
//! ```
//!
//! Invariant: a thread keeps the store alive only while it works for it, and has ended when the store is closed.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use evergraph_disk::{Access, Condvar, Mutex};
use evergraph_log::{Log, LogRoom, LogSync};
use evergraph_types::Sequence;

use crate::commits::aside::Aside;
use crate::commits::commit::{Committer, Synced, Written};
use crate::commits::crowd::Errand;
use crate::error::CommitError;
use crate::files::archive::{Merge, checkpoint};
use crate::files::home::Home;
use crate::options::Durability;
use crate::store::Inner;
use crate::system::allocator::{GiveBack, give_back, is_giving_back};
use crate::upkeep::recluster::{AT_REST, Pass, UNDER_LOAD};
use crate::upkeep::watch::Watch;

/// So much of the log is synced beside commits, whatever they promise: the one that fills a file waits for what is left.
const SYNC_BYTES: u64 = 4 << 20;
/// Lists are not worth bringing together before so much was written.
const TIDY_BYTES_MIN: u64 = 4 << 20;
/// Nor, without files, before as much was written as this part of what there is.
const GATHER_PART: u64 = 8;
/// Nor, with files, while no more than this part of what lists need is dead: so, each byte that is written to segments is
/// written so many times more, at the most.
const DEAD_PART: u64 = 4;
/// Commits that change little of many lists copy much in memory. It counts as dead, but only so many times what they have brought to
/// the log, since it takes a merge to archive it.
const COPIED_MAX: u64 = 16;
/// Nor is what is on the heap worth archiving because commits have scattered it, before they have written so many bytes …
const SCATTERED_BYTES_MIN: u64 = 32 << 20;
/// … and so many times what there is: what is left of that lies here and there among what was freed.
const SCATTERED_TIMES: u64 = 4;
/// Memory is not worth giving back before commits have taken so much, or the death of a version has freed so much.
pub(crate) const GIVE_BACK_BYTES_MIN: usize = 1 << 20;
/// About what a vertex takes beside lists: its key, on the way and in the dictionary, and its place in the index.
const VERTEX_BYTES: u64 = 32;
/// Commits have paused if there was none for so long: longer than what whoever commits does in between.
const PAUSE: Duration = Duration::from_millis(500);
/// If they do not pause, lists are brought together amid them after so long …
const PATIENCE: Duration = Duration::from_secs(1);
/// … and after so many times what it took the last time: no more than this part of the time is spent on it.
const PATIENCE_TURNS: u32 = 16;
/// Of a store in memory they are brought together so long at a time, or one range of them, …
const SLICE: Duration = Duration::from_millis(2);
/// … and left alone so many times as long before it goes on.
const REST_TURNS: u32 = 8;
/// Passes over segments that do not fit in memory have what comes next fetched where the limit has so much for each thread:
/// eight times what is on its way then. With less, it drives out what was not read yet.
const FETCH_AHEAD_BYTES: u64 = 32 << 20;

/// How the store wakes its thread.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
    /// For the thread for the log.
    log_changed: Condvar,
    /// For the one that leads callers who sleep, and the one that syncs for it.
    pub(crate) errands: Aside<Errand, ()>,
    pub(crate) syncs: Aside<LogSync, Synced>,
    threads: Mutex<Threads>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    sync: bool,
    room: bool,
    archive: bool,
    tidy: bool,
    give_back: bool,
    stop: bool,
    /// Whether the thread does something that was wished for.
    busy: bool,
}

#[derive(Debug, Default)]
struct Threads {
    /// The store, until the thread that does something for it starts, when there is something to do.
    wanted: Option<Weak<Inner>>,
    running: Vec<JoinHandle<()>>,
}

impl Signal {
    /// Has the log synced.
    pub(crate) fn sync(&self) {
        self.wish(&self.log_changed, |state| &mut state.sync);
    }

    /// Has room made in the log.
    pub(crate) fn room(&self) {
        self.wish(&self.log_changed, |state| &mut state.room);
    }

    /// Notes a wish, and notifies; false if it was noted before.
    fn wish(&self, changed: &Condvar, wish: impl FnOnce(&mut State) -> &mut bool) -> bool {
        let is_new = !std::mem::replace(wish(&mut self.state.lock()), true);
        if is_new {
            changed.notify_all();
        }
        is_new
    }

    /// Has the thread archive. Commits ask for it again and again until it does: the thread is woken once.
    pub(crate) fn archive(self: &Arc<Self>) {
        self.wake(|state| &mut state.archive);
    }

    /// Has the thread bring lists together in time.
    pub(crate) fn tidy(self: &Arc<Self>) {
        self.wake(|state| &mut state.tidy);
    }

    /// Has the thread give back, when commits pause, what memory was freed.
    pub(crate) fn give_back(self: &Arc<Self>) {
        self.wake(|state| &mut state.give_back);
    }

    /// Has memory given back by the threads of the pools, this one, and the one that leads callers, unless it does.
    fn have_given_back(&self, to: GiveBack) {
        give_back(to, |giving| drop(self.errands.ask(Errand::GiveBack(giving))));
    }

    fn wake(self: &Arc<Self>, wish: impl FnOnce(&mut State) -> &mut bool) {
        if !self.wish(&self.changed, wish) {
            return;
        }
        let mut threads = self.threads.lock();
        if let Some(store) = threads.wanted.take() {
            let signal = self.clone();
            threads.start("evergraph-maintenance", move || run(&signal, &store));
        }
    }

    /// Whether nothing is left to do, and memory that was freed is given back.
    pub(crate) fn is_settled(&self) -> bool {
        let state = self.state.lock();
        !(state.archive || state.tidy || state.give_back || state.busy || is_giving_back())
    }

    /// Ends the threads.
    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_all();
        self.log_changed.notify_all();
        self.errands.end();
        self.syncs.end();
    }

    /// Waits until the threads, which were told to stop, have ended.
    pub(crate) fn join(&self) {
        let running = std::mem::take(&mut *self.threads.lock()).running;
        for thread in running {
            if thread.join().is_err() {
                tracing::error!("a thread of the store has panicked");
            }
        }
    }

    /// Waits until there is something to do, or, where that is for later, so long; takes the wish to archive.
    fn wait(&self, rest: Duration) -> State {
        let mut state = self.state.lock();
        state.busy = false;
        if !state.archive && !state.stop {
            match state.tidy || state.give_back {
                true => drop(self.changed.wait_for(&mut state, rest)),
                false => self.changed.wait(&mut state),
            }
        }
        state.busy = true;
        let taken = *state;
        state.archive = false;
        taken
    }

    /// Waits until there is something to do for the log, which is synced at `end` if not before; takes the wishes.
    fn wait_for_log(&self, end: Option<Instant>) -> State {
        let mut state = self.state.lock();
        while !(state.sync || state.room || state.stop) {
            match end {
                Some(end) => state.sync = self.log_changed.wait_until(&mut state, end),
                None => self.log_changed.wait(&mut state),
            }
        }
        let taken = *state;
        (state.sync, state.room) = (false, false);
        taken
    }
}

impl State {
    /// Takes the wishes for a pause; if there is none, those that do not wait for it.
    fn take(&mut self, is_calm: bool) {
        self.tidy = false;
        self.give_back &= !is_calm;
    }
}

impl Threads {
    fn start(&mut self, name: &str, work: impl FnOnce() + Send + 'static) {
        match std::thread::Builder::new().name(name.to_owned()).spawn(work) {
            Ok(thread) => self.running.push(thread),
            Err(error) => tracing::warn!(%error, "no thread {name}: its work is done only when asked for"),
        }
    }
}

/// Has the threads start when they are needed, if the store wants any.
pub(crate) fn start(inner: &Arc<Inner>) {
    if inner.options.read_only || !inner.options.background {
        return;
    }
    let mut threads = inner.signal.threads.lock();
    threads.wanted = Some(Arc::downgrade(inner));
    inner.reclaimer.signal.get_or_init(|| inner.signal.clone());
    let (signal, store) = (inner.signal.clone(), Arc::downgrade(inner));
    if inner.is_synced() {
        let syncs = signal.clone();
        threads.start("evergraph-sync", move || syncs.syncs.serve(LogSync::run));
        threads.start("evergraph-commit", move || {
            // Whoever waits for an answer has the store open.
            signal.errands.serve(|errand| store.upgrade().map_or((), |inner| inner.run_errand(errand)))
        });
    } else if inner.home.is_some() {
        let has_clock = inner.options.durability == Durability::Interval;
        let interval = has_clock.then_some(inner.options.interval);
        threads.start("evergraph-log", move || keep_log(&signal, &store, interval));
    }
    drop(threads);
    // Opening it may have taken much.
    inner.note_taken();
}

/// Syncs whenever the interval is over, if there is one, or the log has grown, and makes room, whatever else is going on.
fn keep_log(signal: &Signal, store: &Weak<Inner>, interval: Option<Duration>) {
    let next_sync = || interval.map(|interval| Instant::now() + interval);
    let mut end = next_sync();
    loop {
        let state = signal.wait_for_log(end);
        let Some(inner) = store.upgrade().filter(|_| !state.stop) else { return };
        if state.room {
            inner.make_room_beside_commits();
        }
        if state.sync {
            inner.sync_beside_commits();
            end = next_sync();
        }
    }
}

fn run(signal: &Signal, store: &Weak<Inner>) {
    let mut tidying = Tidying::default();
    loop {
        let state = signal.wait(tidying.rest());
        let Some(inner) = store.upgrade().filter(|_| !state.stop) else { return };
        if state.archive {
            warn_of(checkpoint(&inner, Merge::Tiered, &Watch::until_closed(&inner)));
            inner.give_back_amid_commits();
        }
        if state.tidy || state.give_back {
            tidying.go_on(&inner, signal);
        }
    }
}

/// Warns of a failure, but not of what a store that is being closed gives up.
fn warn_of<T>(outcome: Result<T, CommitError>) -> Option<T> {
    match outcome {
        Ok(done) => return Some(done),
        Err(CommitError::Closed(_)) => {}
        Err(error) => tracing::warn!(%error, "the store could not archive, or bring lists together"),
    }
    None
}

/// When lists are brought together, and memory is given back: when commits pause, and amid them, if they do not, with more patience.
#[derive(Debug, Default)]
struct Tidying {
    /// The newest commit at the last look, and when it was first seen.
    newest: Option<(Sequence, Instant)>,
    /// When commits began to wait for it, or it was last done amid them.
    since: Option<Instant>,
    /// How long it took then, rests left out.
    took: Duration,
    /// What is being done amid them, and when it goes on.
    under_way: Option<(Pass, Instant)>,
}

impl Tidying {
    /// How long there is nothing to look for.
    fn rest(&self) -> Duration {
        let left = |(_, next): &(Pass, Instant)| next.saturating_duration_since(Instant::now());
        self.under_way.as_ref().map_or(PAUSE, left).min(PAUSE)
    }

    /// Looks whether it is time, and tidies then, if that is wished for, and gives memory back if commits pause; amid them they have
    /// it again. It is done with for good once the signal says so.
    fn go_on(&mut self, inner: &Inner, signal: &Signal) {
        let (now, sequence) = (Instant::now(), inner.current.load().sequence());
        let (newest, first_seen) = *self.newest.get_or_insert((sequence, now));
        if newest != sequence {
            self.newest = Some((sequence, now));
        }
        let is_calm = newest == sequence && first_seen.elapsed() >= PAUSE;
        let is_wanted = signal.state.lock().tidy;
        if !(is_calm || is_wanted && self.is_due(now)) {
            return;
        }
        // A commit that is made from here on asks for it again.
        signal.state.lock().take(is_calm);
        // After a failure, until the next commit.
        let tidied = match (is_wanted, is_calm) {
            (true, true) => {
                self.under_way = None;
                inner.tidy_at_rest(sequence)
            }
            (true, false) => self.tidy_amid_commits(inner),
            (false, _) => inner.archive_scattered().map(|()| true),
        };
        let is_done = warn_of(tidied).unwrap_or(true);
        if !(is_calm && is_done) {
            signal.state.lock().tidy = true;
        }
        if self.under_way.is_some() {
            return;
        }
        self.since = Some(Instant::now()).filter(|_| !is_calm);
        match is_calm {
            true => inner.give_back(),
            false => inner.give_back_amid_commits(),
        }
    }

    /// Whether commits that do not pause have waited for it long enough.
    fn is_due(&mut self, now: Instant) -> bool {
        match &self.under_way {
            Some((_, next)) => now >= *next,
            None => {
                let patience = PATIENCE.max(PATIENCE_TURNS * self.took);
                self.since.get_or_insert(now).elapsed() >= patience
            }
        }
    }

    /// Brings lists together while commits go on: with files all at once, if much is dead; without, some, and more after a rest, and
    /// lets go of keys before.
    /// Tells whether nothing was left to do.
    fn tidy_amid_commits(&mut self, inner: &Inner) -> Result<bool, CommitError> {
        let begin = Instant::now();
        if inner.home.is_some() {
            inner.merge_if_wasted(false)?;
            self.took = begin.elapsed();
            return Ok(true);
        }
        let mut pass = match self.under_way.take() {
            Some((pass, _)) => pass,
            None => {
                self.took = Duration::ZERO;
                inner.recycle(false, &Watch::until_closed(inner));
                Pass::new(inner, UNDER_LOAD)
            }
        };
        let has_begun = Cell::new(false);
        let goes_on = || !has_begun.replace(true) || begin.elapsed() < SLICE;
        let is_done = pass.go_on(inner, &Watch::until_closed(inner), goes_on)?;
        let took = begin.elapsed();
        self.took += took;
        if !is_done {
            self.under_way = Some((pass, Instant::now() + REST_TURNS * took));
        }
        Ok(is_done)
    }
}

impl Inner {
    /// Brings lists together: with files in a new segment for all, if much is dead; without, in clusters, as long as `newest` is the
    /// newest commit. Tells whether nothing was left to do.
    fn tidy_at_rest(&self, newest: Sequence) -> Result<bool, CommitError> {
        if self.home.is_none() {
            self.recycle(false, &Watch::until_closed(self));
            let goes_on = || self.current.load().sequence() == newest;
            return Pass::new(self, AT_REST).go_on(self, &Watch::until_closed(self), goes_on);
        }
        if !self.merge_if_wasted(true)? {
            self.archive_scattered()?;
        }
        Ok(true)
    }

    /// Merges all segments, if there are any, so much in them is dead that it is worth it, and the disk has the room; tells whether it
    /// has.
    fn merge_if_wasted(&self, is_calm: bool) -> Result<bool, CommitError> {
        let Some(home) = &self.home else { return Ok(false) };
        let space = Space::of(self, home, &self.committer.lock());
        let is_worth_it = space.is_wasted(is_calm) && space.is_there_for_merge(home);
        if is_worth_it {
            checkpoint(self, Merge::Everything, &Watch::until_closed(self))?;
        }
        Ok(is_worth_it)
    }

    /// Archives what is on the heap of a store on disk, if commits have written it many times over: the allocator cannot give back the pages in
    /// which some of it is left, which may be many times as much, and an archive is no more than it.
    fn archive_scattered(&self) -> Result<(), CommitError> {
        let Some(home) = self.home.as_ref().filter(|home| !home.is_in_memory) else { return Ok(()) };
        self.reclaimer.collect();
        let (live, written) = {
            let committer = self.committer.lock();
            let written = self.written(&committer).heap_bytes - committer.archived.heap_bytes;
            (self.reclaimer.live_bytes() as u64, written)
        };
        let is_scattered = written > SCATTERED_BYTES_MIN.max(SCATTERED_TIMES * live);
        if is_scattered && home.disk.free_bytes(&home.directory).is_none_or(|free| free >= 2 * live) {
            checkpoint(self, Merge::Tiered, &Watch::until_closed(self))?;
        }
        Ok(())
    }

    /// How far commits are.
    pub(crate) fn written(&self, committer: &Committer) -> Written {
        Written { logged_bytes: committer.logged_bytes, heap_bytes: self.reclaimer.written_bytes() }
    }

    /// Notes what is on the heap once an archive is done, and how far commits were when its version was made.
    pub(crate) fn note_archived(&self, home: &Home, committer: &mut Committer, archived: Written) {
        home.heap_bytes.store(self.reclaimer.live_bytes(), Ordering::Relaxed);
        committer.archived = archived;
    }

    /// Begins something that is done to the log while commits go on.
    fn begin_for_log<T>(&self, begin: impl FnOnce(&mut Log) -> Option<T>) -> Option<T> {
        let mut committer = self.committer.enter();
        let is_usable = committer.refusal.is_none();
        committer.log.as_mut().filter(|_| is_usable).and_then(begin)
    }

    /// Makes room for commits to come, while others are logged.
    fn make_room_beside_commits(&self) {
        self.begin_for_log(Log::begin_room).into_iter().for_each(LogRoom::run);
    }

    /// Syncs what was appended since the last time, while commits go on.
    fn sync_beside_commits(&self) {
        let Some(synced) = self.begin_for_log(|log| log.begin_sync()).map(LogSync::run) else { return };
        let mut committer = self.committer.lock();
        let ended = committer.ask_log(|log| Ok((log.end_sync(synced)?, log.unsynced_bytes())));
        let Some((through, unsynced_bytes)) = ended else { return };
        // Commits have asked all the while, for what was on its way.
        self.signal.state.lock().sync = unsynced_bytes > SYNC_BYTES;
        self.follow.advance(through);
    }

    /// Syncs the log, so that readers may see all of it; tells whether that was possible.
    pub(crate) fn sync_log(&self, committer: &mut Committer) -> bool {
        if committer.log.is_none() {
            return true;
        }
        let through = committer.ask_log(|log| log.sync().map(|()| log.last_sequence()));
        through.into_iter().for_each(|through| self.follow.advance(through));
        committer.refusal.is_none()
    }

    /// Tells the system how segments will be read: where they are larger than the limit on memory, here and there, for what
    /// it fetched ahead would drive out what is still needed; passes ask for what comes next themselves.
    pub(crate) fn settle_access(&self) {
        let Some(limit) = self.options.memory_limit_bytes else { return };
        let segments = self.current.load().segments.clone();
        let bytes: u64 = segments.iter().map(|segment| segment.bytes()).sum();
        let has_room = limit >= FETCH_AHEAD_BYTES * rayon::current_num_threads() as u64;
        let cold = if has_room { Access::RandomWithPasses } else { Access::Random };
        for segment in segments.iter() {
            if bytes <= limit {
                segment.advise(Access::Normal);
                continue;
            }
            segment.advise(cold);
            // It was read to be checked, and to be found by the vertex tables.
            segment.release(0..segment.data().len());
        }
    }

    /// About how many bytes of memory commits have taken since the store was opened, whatever became of these.
    fn taken_bytes(&self) -> u64 {
        self.reclaimer.written_bytes() + VERTEX_BYTES * u64::from(self.current.load().id_bound)
    }

    /// Wakes the thread if commits have taken enough to give back what they have freed of it.
    fn note_taken(&self) {
        if self.has_taken_much(self.given_back_bytes.load(Ordering::Relaxed)) {
            self.signal.give_back();
        }
    }

    /// Whether commits have taken enough memory, beyond these bytes, to give some back.
    pub(crate) fn has_taken_much(&self, before: u64) -> bool {
        self.taken_bytes() > before + GIVE_BACK_BYTES_MIN as u64
    }

    /// Has all threads take back what others have freed of their memory, for the next commits; under a limit, or once commits pause,
    /// it goes to the system.
    fn give_back_amid_commits(&self) {
        if self.options.memory_limit_bytes.is_some() {
            return self.give_back();
        }
        self.reclaimer.collect();
        self.signal.have_given_back(GiveBack::ToThreads);
        self.signal.give_back();
    }

    /// Has all threads give back to the system what memory was freed.
    pub(crate) fn give_back(&self) {
        self.given_back_bytes.store(self.taken_bytes(), Ordering::Relaxed);
        self.reclaimer.collect();
        self.signal.have_given_back(GiveBack::ToSystem);
        if self.reclaimer.is_read() {
            self.signal.give_back();
        }
    }

    /// Wakes the threads if there is enough to sync, to archive, to bring together, or to give back, or little room in the log.
    pub(crate) fn note_growth(&self, committer: &Committer) {
        self.note_taken();
        let live = self.reclaimer.live_bytes();
        let Some(home) = &self.home else {
            let written = self.reclaimer.written_bytes() - self.gathered_bytes.load(Ordering::Relaxed);
            if written > TIDY_BYTES_MIN.max(live as u64 / GATHER_PART) {
                self.signal.tidy();
            }
            return;
        };
        if Space::of(self, home, committer).is_wasted(true) {
            self.signal.tidy();
        }
        let Some(log) = &committer.log else { return };
        if log.unsynced_bytes() > SYNC_BYTES {
            self.signal.sync();
        }
        if log.is_short_of_room() {
            self.signal.room();
        }
        let archived = home.heap_bytes.load(Ordering::Relaxed);
        let unarchived = log.bytes_after(home.archived_sequence.load(Ordering::Relaxed));
        let memory_is_full = self.options.memory_limit_bytes.is_some_and(|limit| {
            // What stays on the heap after an archive is no reason for another.
            live as u64 > limit / 2 && live.saturating_sub(archived) as u64 > limit / 8
        });
        if unarchived > self.options.log_limit_bytes || memory_is_full {
            self.signal.archive();
        }
    }
}

/// What the segments of a store take, beside what its lists need.
#[derive(Clone, Copy, Debug)]
struct Space {
    /// What a segment with all lists would take, by what entries take in those there are.
    needed_bytes: u64,
    /// What the segments take.
    segment_bytes: u64,
    /// What was copied to the heap since the last archive, as far as it counts.
    copied_bytes: u64,
}

impl Space {
    fn of(inner: &Inner, home: &Home, committer: &Committer) -> Self {
        let segment_bytes = home.segment_bytes.load(Ordering::Relaxed);
        let written = home.segment_entries.load(Ordering::Relaxed);
        if written == 0 {
            // What lists there are, are in memory alone.
            return Space { needed_bytes: segment_bytes, segment_bytes, copied_bytes: 0 };
        }
        let entries = inner.current.load().list_entries();
        let (until_now, archived) = (inner.written(committer), committer.archived);
        let copied = until_now.heap_bytes - archived.heap_bytes;
        let brought = until_now.logged_bytes - archived.logged_bytes;
        Space {
            needed_bytes: (segment_bytes as f64 * entries as f64 / written as f64) as u64,
            segment_bytes,
            copied_bytes: copied.min(inner.reclaimer.live_bytes() as u64).min(COPIED_MAX * brought),
        }
    }

    /// Whether so much is dead that it is worth a merge of everything: at rest, or amid commits.
    fn is_wasted(self, is_calm: bool) -> bool {
        let (taken, part) = match is_calm {
            true => (self.segment_bytes + self.copied_bytes, DEAD_PART),
            // What was copied is archived when the log has grown.
            false => (self.segment_bytes, 1),
        };
        taken.saturating_sub(self.needed_bytes) > TIDY_BYTES_MIN.max(self.needed_bytes / part)
    }

    /// Whether the disk has room for the merge and for as much again: commits that found it full would fail.
    fn is_there_for_merge(self, home: &Home) -> bool {
        let written = self.needed_bytes + self.copied_bytes;
        home.disk.free_bytes(&home.directory).is_none_or(|free| free >= 2 * written)
    }
}
