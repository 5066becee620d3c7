//! Following a store: every commit after a given one, in order, as it was logged.
//!
//! ```text
//!  Store::changes ─► enter the registry ─► next: log file ─► record ─► commits ─► acknowledge ─► cursor file
//!                    (pins the log)        up to what is safe                     (frees the log)
//! ```
//!
//! A store in memory has no log of its own; one begins, in memory, with the first reader and ends with the last.
//!
//! A load that the log holds in parts is one commit to a reader, all of it in memory.
//!
//! Invariant: a reader gets each commit after its start once, without gaps, or an error that says from where on
//! there is one; nothing a reader does or leaves undone makes a commit wait.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use evergraph_disk::{Corruption, Disk, MemoryDisk};
use evergraph_log::{Log, LogError, LogOptions, LogReader, Record, ReplayError, Wanted};
use evergraph_types::Sequence;

use crate::commits::commit::Committer;
use crate::error::{ChangesError, Closed};
use crate::files::open::new_store_id;
use crate::history::cursors::{
    Entered, ReaderId, VERSIONS_CURSOR, check_name, cursor_directory, remove_cursor, write_cursor,
};
use crate::store::{Inner, Store};
use crate::upkeep::watch::Watch;
use crate::versions::version::Version;
use crate::write_sets::codec::decode;
use crate::write_sets::ops::WriteSet;

/// Files of a log in memory are small, so that what every reader has passed goes soon.
const MEMORY_FILE_BYTES: u64 = 1 << 20;

/// Where a reader starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeOptions {
    /// The first commit given out is the one after this; by default the next to come.
    pub after: Option<Sequence>,
    /// The name of a durable cursor. One that is known goes on after the last commit it acknowledged, whatever
    /// `after` says. Such a reader keeps the log from being trimmed, also while it is closed, until
    /// [`Store::drop_cursor`].
    pub name: Option<String>,
}

/// One commit, as it was logged.
///
/// What it wrote is in ids; any version from this commit on tells the keys that is taken before the next one is asked for, or before
/// this is acknowledged. A put may repeat what was there, and a
/// delete may name an edge that was not: `writes` is what was asked for. The edges that a deleted vertex had are named
/// as deletes.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// Its number.
    pub sequence: Sequence,
    /// When it was made, in microseconds since 1970-01-01 UTC. Never less than that of the commit before.
    pub time_micros: i64,
    /// What it wrote.
    pub writes: WriteSet,
}

/// Where a log lies.
#[derive(Clone, Debug)]
pub(crate) struct LogPlace {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) directory: PathBuf,
    pub(crate) store_id: [u8; 16],
}

/// Reads the commits of a store one after the other, while others go on committing.
///
/// ```
/// # use evergraph_store::{ChangeOptions, Options, Store};
/// let store = Store::in_memory(Options::default());
/// let mut changes = store.changes(ChangeOptions::default())?;
/// store.put_edge("alice", "bob", "pays", &[])?;
/// let commit = changes.next()?.ok_or("nothing yet")?;
/// let (_, edges) = &commit.writes.edges[0];
/// let version = store.version()?;
/// assert_eq!(version.key(edges.src[0]), "alice".into());
/// assert!(changes.next()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChangeReader {
    inner: Arc<Inner>,
    id: ReaderId,
    name: Option<String>,
    log: LogReader,
    /// Commits read and not given out.
    ready: VecDeque<Commit>,
    /// The last commit given out.
    position: Sequence,
    acknowledged: Sequence,
    /// The commit up to which no keys are looked up any more.
    keys_done: Sequence,
    /// Whether that is only said by acknowledging.
    holds_keys: bool,
}

/// Waits for what a reader has not read yet, without the reader, so that whoever shares that need not wait along. Made by
/// [`ChangeReader::waiter`].
#[derive(Debug)]
pub struct Waiter {
    inner: Arc<Inner>,
    /// The last commit that the reader has given out; `None` if it has more at hand.
    position: Option<Sequence>,
}

impl Waiter {
    /// Waits until there is a commit to read, the time is over, or the store is closed; tells whether there is one.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        self.position.is_none_or(|position| self.inner.follow.wait_beyond(position, timeout))
    }
}

impl Store {
    /// A reader of every commit after one, see [`ChangeOptions`]. With `durability="interval"` it sees a commit once
    /// that is synced. As long as it has not come past a commit, or acknowledged it where it has a name, the log
    /// keeps that commit.
    ///
    /// # Errors
    /// [`ChangesError::Trimmed`] if the log no longer goes back so far, [`ChangesError::Ahead`],
    /// [`ChangesError::InUse`] and [`ChangesError::BadName`] for names, [`ChangesError::Disk`].
    pub fn changes(&self, options: ChangeOptions) -> Result<ChangeReader, ChangesError> {
        ChangeReader::open(self.inner(), options)
    }

    /// Has readers that wait for something else, too, look for that; see [`ChangeReader::wait_or`].
    pub fn call_readers(&self) {
        self.inner().follow.wake();
    }

    /// The reader that keeps the versions from its place on, as history does, and not only the log: for whoever needs what
    /// was there before each commit. There is one at a time; its place is kept as that of a cursor, which is none of
    /// [`Store::cursors`].
    ///
    /// # Errors
    /// Those of [`Store::changes`].
    pub fn version_changes(&self, after: Option<Sequence>) -> Result<ChangeReader, ChangesError> {
        ChangeReader::open_named(self.inner(), Some(VERSIONS_CURSOR.to_owned()), after)
    }

    /// Forgets the place of [`Store::version_changes`]; tells whether there was one.
    ///
    /// # Errors
    /// Those of [`Store::drop_cursor`].
    pub fn forget_version_changes(&self) -> Result<bool, ChangesError> {
        self.forget_cursor(VERSIONS_CURSOR)
    }

    /// The durable cursors there are, each with the last commit it acknowledged.
    pub fn cursors(&self) -> Vec<(String, Sequence)> {
        let mut names = self.inner().cursors.names();
        names.retain(|(name, _)| name != VERSIONS_CURSOR);
        names
    }

    /// Forgets a durable cursor, so that the log is no longer kept for it; tells whether there was one.
    ///
    /// # Errors
    /// [`ChangesError::InUse`] while it is open, [`ChangesError::BadName`], [`ChangesError::ReadOnly`],
    /// [`ChangesError::Closed`], [`ChangesError::Disk`].
    pub fn drop_cursor(&self, name: &str) -> Result<bool, ChangesError> {
        check_name(name)?;
        self.forget_cursor(name)
    }

    fn forget_cursor(&self, name: &str) -> Result<bool, ChangesError> {
        let inner = self.inner();
        if inner.options.read_only {
            return Err(ChangesError::ReadOnly);
        }
        inner.usable()?;
        let Some(home) = &inner.home else { return Ok(inner.cursors.forget(name)?.is_some()) };
        // Whoever begins anew with the name writes its file after this.
        let lock = home.lock.lock();
        if lock.is_none() {
            return Err(Closed::Ended.into());
        }
        let Some(done) = inner.cursors.forget(name)? else { return Ok(false) };
        let removed = remove_cursor(&*home.disk, &home.directory, name);
        // It is there until its file is gone for good, so that it can be dropped again.
        removed.inspect_err(|_| inner.cursors.remember(name, done))?;
        Ok(true)
    }
}

impl ChangeReader {
    fn open(inner: &Arc<Inner>, options: ChangeOptions) -> Result<Self, ChangesError> {
        if let Some(name) = &options.name {
            check_name(name)?;
        }
        Self::open_named(inner, options.name, options.after)
    }

    fn open_named(
        inner: &Arc<Inner>,
        name: Option<String>,
        after: Option<Sequence>,
    ) -> Result<Self, ChangesError> {
        if name.is_some() && inner.options.read_only {
            return Err(ChangesError::ReadOnly);
        }
        inner.usable()?;
        // What a load adds that began without a reader is not in the log.
        let waiting = inner.committer_without_load(&Watch::until_closed(inner));
        let mut committer = waiting.map_err(|_| Closed::Ended)?;
        inner.usable()?;
        let newest = inner.current.load().sequence;
        let start = after.unwrap_or(newest);
        let entered = match &name {
            Some(name) => inner.cursors.enter_named(name, start)?,
            None => Entered { id: inner.cursors.enter(start), done: start, is_new: true },
        };
        let place = Self::check_place(inner, &mut committer, entered, newest, name.is_some());
        if place.is_err() {
            inner.cursors.withdraw(entered);
            if inner.home.is_none() {
                committer.follow_no_more(inner);
            }
        }
        // From here on the log is kept.
        drop(committer);
        let LogPlace { disk, directory, store_id } = place?;
        let done = entered.done;
        let log = LogReader::new(disk, &directory, store_id, done + 1);
        let reader = ChangeReader {
            inner: inner.clone(),
            id: entered.id,
            name,
            log,
            ready: VecDeque::new(),
            position: done,
            acknowledged: done,
            keys_done: done,
            holds_keys: false,
        };
        if entered.is_new {
            reader.write_place(done).inspect_err(|_| inner.cursors.withdraw(entered))?;
        }
        Ok(reader)
    }

    /// Where the log is that a reader has entered, if that has what the reader is to be given, after a crash too.
    fn check_place(
        inner: &Inner,
        committer: &mut Committer,
        entered: Entered,
        newest: Sequence,
        is_named: bool,
    ) -> Result<LogPlace, ChangesError> {
        let Entered { done, is_new, .. } = entered;
        if done > newest {
            return Err(ChangesError::Ahead { asked: done, newest });
        }
        // From before a pass on, ids may mean keys that they have no more. Who was known then has been waited for.
        let last_pass = committer.resolver.recycler.last_pass();
        if is_new && done < last_pass {
            return Err(ChangesError::Trimmed { asked: done + 1, first: last_pass + 1 });
        }
        let place = committer.follow(newest)?;
        if let Some(log) = committer.log.as_ref().filter(|log| log.first_sequence() > done + 1) {
            return Err(ChangesError::Trimmed { asked: done + 1, first: log.first_sequence() });
        }
        // An archive that is under way did not know of the name, and may be about to replace a manifest that the log,
        // unsynced, is to follow.
        let is_held = !(is_named && is_new) || committer.refusal.is_none() && inner.sync_log(committer);
        match committer.failure() {
            _ if is_held => Ok(place),
            Some(reason) => Err(ChangesError::Log { reason }),
            None => Err(Closed::Ended.into()),
        }
    }

    /// The next commit; `None` if there is none yet that is safe. A load larger than memory is one commit like any other, and is
    /// given out whole: whoever follows such a store needs the memory.
    ///
    /// # Errors
    /// [`ChangesError::Trimmed`] if it has passed the limit of retention, [`ChangesError::Corrupt`],
    /// [`ChangesError::Closed`], [`ChangesError::Disk`].
    #[allow(clippy::should_implement_trait, reason = "an iterator that ended would not go on")]
    pub fn next(&mut self) -> Result<Option<Commit>, ChangesError> {
        self.next_through(Sequence::MAX)
    }

    /// As [`ChangeReader::next`], but nothing after commit `through`.
    ///
    /// # Errors
    /// Those of [`ChangeReader::next`].
    pub fn next_through(&mut self, through: Sequence) -> Result<Option<Commit>, ChangesError> {
        self.inner.usable()?;
        self.release_keys();
        while self.ready.is_empty() {
            if self.position >= through {
                return Ok(None);
            }
            let Some(commits) = next_commits(&mut self.log, self.inner.follow.through())? else {
                return Ok(None);
            };
            self.ready = commits;
        }
        let Some(commit) = self.ready.pop_front_if(|commit| commit.sequence <= through) else {
            return Ok(None);
        };
        self.position = commit.sequence;
        if self.name.is_none() {
            // Of a record read in part, the rest is held here.
            self.acknowledged = commit.sequence;
            self.inner.cursors.pass(self.id, commit.sequence, self.keys_done);
        }
        Ok(Some(commit))
    }

    /// Has it keep ids of commits that were given out from losing their keys until they are acknowledged, and not only until the
    /// next one is asked for: for who gathers commits before looking keys up. With a name it does so anyway.
    pub fn hold_keys(&mut self) {
        self.holds_keys = true;
    }

    /// Says that no key of what was given out is looked up any more, where the next one tells.
    fn release_keys(&mut self) {
        if self.name.is_none() && !self.holds_keys && self.keys_done < self.position {
            self.note_passed(self.position);
        }
    }

    /// Waits until there is a commit to read, the time is over, or the store is closed; tells whether there is one.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        !self.ready.is_empty() || self.inner.follow.wait_beyond(self.position, timeout)
    }

    /// As [`ChangeReader::wait`], but also ends when `is_called`. That is asked again after [`Store::call_readers`]; it must not
    /// commit.
    pub fn wait_or(&self, timeout: Option<Duration>, is_called: impl Fn() -> bool) -> bool {
        !self.ready.is_empty() || self.inner.follow.wait_beyond_or(self.position, timeout, is_called)
    }

    /// Waits as [`ChangeReader::wait`] does, from the commit on that this was given out last.
    pub fn waiter(&self) -> Waiter {
        let position = self.ready.is_empty().then_some(self.position);
        Waiter { inner: self.inner.clone(), position }
    }

    /// Says that everything up to a commit given out has been dealt with: a reader of this name goes on after it,
    /// whatever happens. Durable when this returns, for a store on disk.
    ///
    /// # Errors
    /// [`ChangesError::Ahead`] if the commit was not given out, [`ChangesError::Closed`], [`ChangesError::Disk`].
    pub fn acknowledge(&mut self, sequence: Sequence) -> Result<(), ChangesError> {
        self.inner.usable()?;
        if sequence > self.position {
            return Err(ChangesError::Ahead { asked: sequence, newest: self.position });
        }
        if sequence <= self.acknowledged && sequence <= self.keys_done {
            return Ok(());
        }
        self.write_place(sequence)?;
        self.note_passed(sequence);
        Ok(())
    }

    /// The last commit given out.
    pub fn position(&self) -> Sequence {
        self.position
    }

    /// The last commit acknowledged; for a reader without a name, that is each as soon as it is given out.
    pub fn acknowledged(&self) -> Sequence {
        self.acknowledged
    }

    /// The newest commit that may be read.
    pub fn through(&self) -> Sequence {
        self.inner.follow.through()
    }

    /// The newest version. It tells the keys and names of every commit given out.
    pub fn version(&self) -> Arc<Version> {
        self.inner.current.load_full()
    }

    fn note_passed(&mut self, sequence: Sequence) {
        self.acknowledged = self.acknowledged.max(sequence);
        self.keys_done = sequence;
        self.inner.cursors.pass(self.id, self.acknowledged, sequence);
    }

    /// Writes the cursor's file, if it has one.
    fn write_place(&self, sequence: Sequence) -> Result<(), ChangesError> {
        let (Some(name), Some(home)) = (&self.name, &self.inner.home) else { return Ok(()) };
        let lock = home.lock.lock();
        if lock.is_none() {
            return Err(Closed::Ended.into());
        }
        home.disk.create_dir_all(&cursor_directory(&home.directory))?;
        Ok(write_cursor(&*home.disk, &home.directory, &home.store_id, name, sequence)?)
    }
}

impl Drop for ChangeReader {
    fn drop(&mut self) {
        if !self.inner.process.is_here() {
            return;
        }
        self.inner.cursors.leave(self.id);
        if self.inner.home.is_none() {
            self.inner.committer.lock().follow_no_more(&self.inner);
        }
    }
}

impl Committer {
    /// Where the log is that a reader follows. A store in memory begins one, behind commit `newest`.
    fn follow(&mut self, newest: Sequence) -> Result<LogPlace, ChangesError> {
        if let Some(place) = &self.place {
            return Ok(place.clone());
        }
        let place = LogPlace {
            disk: Arc::new(MemoryDisk::new()),
            directory: PathBuf::from("log"),
            store_id: new_store_id(),
        };
        let options = LogOptions { file_bytes: MEMORY_FILE_BYTES, ..LogOptions::default() };
        let opened: Result<_, ReplayError<std::convert::Infallible>> = Log::open(
            place.disk.clone(),
            &place.directory,
            place.store_id,
            Wanted::after(newest),
            options,
            &mut |_| Ok(()),
        );
        let (log, _) = opened.map_err(|error| match error {
            ReplayError::Log(error) => ChangesError::from(error),
            ReplayError::Visit(never) => match never {},
        })?;
        self.log = Some(log);
        self.place = Some(place.clone());
        Ok(place)
    }

    /// Ends the log of a store in memory that nobody reads any more.
    fn follow_no_more(&mut self, inner: &Inner) {
        if inner.cursors.floor().is_none() {
            self.log = None;
            self.place = None;
        }
    }

    /// Lets go of what every reader of a log in memory has passed.
    pub(crate) fn trim_in_memory(&mut self, inner: &Inner) {
        let Some(log) = self.log.as_mut().filter(|log| log.bytes() > 2 * MEMORY_FILE_BYTES) else { return };
        let floor = inner.cursors.floor().unwrap_or(Sequence::MAX);
        if let Err(error) = log.trim(floor) {
            tracing::error!(%error, "a log in memory could not be trimmed");
        }
    }
}

/// The commits of the next record within `through`, or the one whose parts come next, put together.
fn next_commits(log: &mut LogReader, through: Sequence) -> Result<Option<VecDeque<Commit>>, ChangesError> {
    let mut begun: Option<Commit> = None;
    while let Some((mut commits, goes_on)) = next_record(log, through)? {
        if let (Some(mut commit), Some(part)) = (begun.take(), commits.front_mut()) {
            commit.writes.extend(std::mem::take(&mut part.writes));
            *part = commit;
        }
        if !goes_on {
            return Ok(Some(commits));
        }
        begun = commits.pop_front();
    }
    Ok(None)
}

/// The commits of the next record within `through` that were not read yet, and whether they are one that the next record
/// goes on with.
pub(crate) fn next_record(
    log: &mut LogReader,
    through: Sequence,
) -> Result<Option<(VecDeque<Commit>, bool)>, LogError> {
    let after = log.next_sequence() - 1;
    let Some(record) = log.next(through)? else { return Ok(None) };
    let goes_on = record.goes_on;
    match commits_of(record, after) {
        Some(commits) => Ok(Some((commits, goes_on))),
        None => Err(damage(log, "the record before holds other commits than it says").into()),
    }
}

/// Damage where a log is being read.
pub(crate) fn damage(log: &LogReader, what: impl Into<String>) -> Corruption {
    let (path, offset) = log.place();
    Corruption::new(path, offset, what)
}

/// The commits of a record that come after `after`; `None` if it is not made of commits.
fn commits_of(record: Record<'_>, after: Sequence) -> Option<VecDeque<Commit>> {
    let sets = decode(record.payload)?;
    let numbers = record.first_sequence..=record.last_sequence;
    if (numbers.end() - numbers.start()).checked_add(1)? != sets.len() as u64 {
        return None;
    }
    let commits = numbers.zip(sets).filter(|(sequence, _)| *sequence > after);
    let time_micros = record.time_micros;
    Some(commits.map(|(sequence, writes)| Commit { sequence, time_micros, writes }).collect())
}

impl From<LogError> for ChangesError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Trimmed { asked, first, .. } => {
                ChangesError::Trimmed { asked, first: first.unwrap_or(asked + 1) }
            }
            LogError::Disk(error) => ChangesError::Disk(error),
            LogError::Corruption(corruption) => ChangesError::Corrupt(corruption),
            other => ChangesError::Log { reason: other.to_string() },
        }
    }
}
