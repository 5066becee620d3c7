//! The log as its one writer holds it: open and recover, append, sync, trim.
//!
//! ```text
//!  append: [full? seal: sync the active file, let it go] ─► [none active? create, header, sync, sync_dir] ─► one write
//!  sync:   begin ─► fdatasync, beside which records may be appended ─► end: [several records were covered? append a mark]
//!  room:   begin ─► zeros behind the last record, beside which records may be appended
//!  trim:   begin ─► for each whole file, oldest first: remove ─► sync_dir, beside which records may be appended ─► end
//! ```
//!
//! Invariants:
//! - A file is synced before the next one is created, so only the newest can end in a torn record.
//! - Behind its last record a file may have room, zeros that the next records take the place of.
//! - What a crash leaves of a trim is an unbroken end of the log: it ends with the first file that cannot be removed, and that
//!   is no commit lost. The next trim begins with it.
//! - Whoever cuts off a torn tail goes on in a new file, so that bytes cut off cannot come back behind new records. So does
//!   whoever finds a file of an older format.
//! - All parts of a commit are in one file, so that no trim separates them, and nothing else is appended before its end.
//! - After any failed write or sync of a file the log is poisoned; only opening it again finds out what is on disk.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evergraph_disk::{Disk, DiskError};
use evergraph_types::Sequence;

use crate::active::{ActiveFile, ActiveRoom, ActiveSync};
use crate::directory::file_path;
use crate::file::Record;
use crate::format::{FORMAT_VERSION, FileIdentity, RecordKind};
use crate::recovery::{Found, FoundFile, Wanted, read_log};
use crate::{LogError, Recovery, ReplayError};

/// How the log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// A file that has grown to this size, in bytes, is followed by a new one.
    pub file_bytes: u64,
    /// How many bytes are made ahead, as zeros, for records that are small beside them: these are written and synced quicker.
    pub room_bytes: u64,
    /// How many of these are made at once, when as many are used: with few no record waits long for them, with many few
    /// syncs have a new length to record.
    pub step_bytes: u64,
    /// How many bytes are made ahead beside appends, when half of them are used, so that these find room: more, up to
    /// eight times as many, where appends come to make their own meanwhile; 0 if nobody does.
    pub beside_bytes: u64,
}

/// How many times the room made beside appends may grow.
const BESIDE_GROWTH_MAX: u64 = 8;

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions { file_bytes: 64 << 20, room_bytes: 256 << 10, step_bytes: 192 << 10, beside_bytes: 0 }
    }
}

/// The log, open for writing. The caller holds the store's exclusive lock.
#[derive(Debug)]
pub struct Log {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    store_id: [u8; 16],
    options: LogOptions,
    /// How many bytes are made ahead beside appends.
    beside_bytes: u64,
    /// All files, oldest first; the active one, if there is one, is the last.
    files: Vec<LogFile>,
    active: Option<ActiveFile>,
    next_sequence: Sequence,
    /// Whether the next commit was begun in parts.
    has_begun: bool,
    failure: Option<String>,
}

/// A sync of the log that runs beside whoever appends: [`Log::begin_sync`], [`LogSync::run`], [`Log::end_sync`].
#[derive(Debug)]
#[must_use]
pub struct LogSync {
    sync: ActiveSync,
    through: Sequence,
}

/// A sync that has run, and what became of it.
#[derive(Debug)]
#[must_use]
pub struct Synced {
    sync: LogSync,
    outcome: Result<(), DiskError>,
}

impl LogSync {
    /// Syncs. The log is to be told of it.
    pub fn run(self) -> Synced {
        let outcome = self.sync.run();
        Synced { sync: self, outcome }
    }
}

impl Synced {
    /// Why it failed, if it has: none of the records it was to cover counts as durable then.
    pub fn failure(&self) -> Option<&DiskError> {
        self.outcome.as_ref().err()
    }
}

/// Room for records to come that is made beside whoever appends: [`Log::begin_room`], [`LogRoom::run`].
#[derive(Debug)]
#[must_use]
pub struct LogRoom(ActiveRoom);

impl LogRoom {
    /// Makes the room. The log need not be told of it: if it fails, there is less.
    pub fn run(self) {
        self.0.run();
    }
}

/// A removal of files that runs beside whoever appends: [`Log::begin_trim`], [`LogTrim::run`], [`Log::end_trim`].
#[derive(Debug)]
#[must_use]
pub struct LogTrim {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    /// Oldest first.
    files: VecDeque<LogFile>,
    /// Why no more of them are to be removed.
    failure: Option<DiskError>,
}

/// A removal of files that has run, and what became of it.
#[derive(Debug)]
#[must_use]
pub struct Trimmed {
    left: VecDeque<LogFile>,
    failure: Option<DiskError>,
}

impl LogTrim {
    /// Removes the files, durably. The log is to be told of it.
    pub fn run(mut self) -> Trimmed {
        self.remove_files();
        Trimmed { left: self.files, failure: self.failure }
    }

    /// Removes one file after the other, until one cannot be.
    fn remove_files(&mut self) {
        while self.failure.is_none()
            && let Some(file) = self.files.front()
        {
            match self.remove(&file.path) {
                Ok(()) => drop(self.files.pop_front()),
                Err(error) => self.failure = Some(error),
            }
        }
    }

    /// Removes a file, which an earlier trim may have removed, if not durably.
    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        match self.disk.remove(path) {
            Err(DiskError::NotFound { .. }) => {}
            removed => removed?,
        }
        self.disk.sync_dir(&self.directory)
    }
}

/// A file of the log.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    first_sequence: Sequence,
    last_sequence: Sequence,
    bytes: u64,
}

impl Log {
    /// Opens the log in `directory`, creating it if absent, and hands each record with a commit that is wanted to
    /// `visit`, in order. What a crash left unfinished at the end is cut off, durably. Everything visited is
    /// durable when this returns.
    ///
    /// # Errors
    /// Damage, commits that must be there and are not, a newer format, another store's files, a refusing disk, or the visitor's own error. After any of
    /// them nothing in the directory has changed unless it was the disk that failed.
    pub fn open<E>(
        disk: Arc<dyn Disk>,
        directory: &Path,
        store_id: [u8; 16],
        wanted: Wanted,
        options: LogOptions,
        visit: &mut dyn FnMut(Record<'_>) -> Result<(), E>,
    ) -> Result<(Log, Recovery), ReplayError<E>> {
        disk.create_dir_all(directory)?;
        let Found { mut files, recovery } = read_log(&*disk, directory, store_id, wanted, visit)?;
        let ends_before = files.last().is_some_and(|file| file.last_sequence < wanted.after);
        let mut log = Log {
            disk,
            directory: directory.to_owned(),
            store_id,
            options,
            beside_bytes: options.beside_bytes,
            files: Vec::new(),
            active: None,
            next_sequence: recovery.last_sequence.saturating_add(1),
            has_begun: false,
            failure: None,
        };
        if ends_before {
            // Commits that were archived but never synced here are missing: what is left cannot be continued.
            log.remove_for_good(files.drain(..))?;
        }
        if let Some(newest) = files.last() {
            let torn = recovery.torn.is_some();
            let is_older = newest.version < FORMAT_VERSION;
            if (torn || is_older) && newest.last_sequence < newest.first_sequence {
                log.remove_for_good(files.pop())?;
            } else {
                log.active = log.mend(newest, torn)?;
                if let Some(older) = log.active.take_if(|_| is_older) {
                    older.seal()?;
                }
            }
        }
        log.files = files.into_iter().map(LogFile::from).collect();
        Ok((log, recovery))
    }

    /// Reads the log as [`Log::open`] does, but changes nothing. Nobody may have it open for writing meanwhile.
    pub fn scan<E>(
        disk: &dyn Disk,
        directory: &Path,
        store_id: [u8; 16],
        wanted: Wanted,
        visit: &mut dyn FnMut(Record<'_>) -> Result<(), E>,
    ) -> Result<Recovery, ReplayError<E>> {
        Ok(read_log(disk, directory, store_id, wanted, visit)?.recovery)
    }

    /// Appends one record: the group of commits `first` to `last`, written at `time_micros`. It is durable after the next [`Log::sync`].
    ///
    /// # Errors
    /// [`LogError::OutOfOrder`] if `first` is not [`Log::next_sequence`], [`LogError::Unfinished`] after a part of a commit;
    /// these leave the log usable.
    pub fn append(
        &mut self,
        first: Sequence,
        last: Sequence,
        time_micros: i64,
        payload: &[u8],
    ) -> Result<(), LogError> {
        self.append_record(RecordKind::Commits, (first, last), time_micros, payload)
    }

    /// Appends a part of commit `sequence`, which is no commit before [`Log::append_end`]: if that does not come, the next
    /// open cuts its parts off. Until then no other commit can be appended.
    ///
    /// # Errors
    /// Those of [`Log::append`].
    pub fn append_part(
        &mut self,
        sequence: Sequence,
        time_micros: i64,
        payload: &[u8],
    ) -> Result<(), LogError> {
        self.append_record(RecordKind::Part, (sequence, sequence), time_micros, payload)
    }

    /// Appends the last part of commit `sequence`, which makes it one. It is durable after the next [`Log::sync`].
    ///
    /// # Errors
    /// Those of [`Log::append`].
    pub fn append_end(
        &mut self,
        sequence: Sequence,
        time_micros: i64,
        payload: &[u8],
    ) -> Result<(), LogError> {
        self.append_record(RecordKind::End, (sequence, sequence), time_micros, payload)
    }

    /// Makes every appended record durable.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.check_usable()?;
        let Some(sync) = self.begin_sync() else { return Ok(()) };
        self.end_sync(sync.run()).map(drop)
    }

    /// A sync of every record appended so far, which need not hold up the log; `None` if all are synced.
    pub fn begin_sync(&self) -> Option<LogSync> {
        let sync = self.active.as_ref()?.begin_sync()?;
        Some(LogSync { sync, through: self.last_sequence() })
    }

    /// Whether room is to be made beside appends.
    pub fn is_short_of_room(&self) -> bool {
        let kept = self.beside_bytes / 2;
        self.active.as_ref().is_some_and(|active| active.room_bytes() < kept)
    }

    /// Makes room for records to come without holding up the log; `None` if there is no file that is appended to.
    pub fn begin_room(&mut self) -> Option<LogRoom> {
        let active = self.active.as_ref()?;
        // Appends have come to make it themselves; in a new file they had to.
        let is_late = active.room_bytes() <= self.options.room_bytes && active.bytes() > self.beside_bytes;
        if is_late && self.beside_bytes < BESIDE_GROWTH_MAX * self.options.beside_bytes {
            self.beside_bytes *= 2;
        }
        Some(LogRoom(active.begin_room(self.beside_bytes)))
    }

    /// Takes in what became of a sync; gives the last commit it made durable.
    ///
    /// # Errors
    /// The sync's, after which the log is poisoned, as by any failed write.
    pub fn end_sync(&mut self, synced: Synced) -> Result<Sequence, LogError> {
        self.check_usable()?;
        let Synced { sync: LogSync { sync, through }, outcome } = synced;
        let last_sequence = self.last_sequence();
        let result = match &mut self.active {
            Some(active) => outcome.and_then(|()| active.end_sync(&sync, last_sequence)),
            None => outcome,
        };
        self.note_active_bytes();
        self.poison_on_failure(result)?;
        Ok(through)
    }

    /// Syncs and, so that damage of the last record would be noticed, notes in the log that it was synced.
    pub fn close(mut self) -> Result<(), LogError> {
        self.check_usable()?;
        if let Some(sync) = self.begin_sync() {
            self.end_sync(sync.run())?;
        }
        let last_sequence = self.last_sequence();
        self.active.map_or(Ok(()), |active| Ok(active.close(last_sequence)?))
    }

    /// Removes every file that holds no commit after `through`. The caller vouches that no later open will ask for
    /// commits up to `through`. If files cannot be removed, gives why; the next trim tries again.
    pub fn trim(&mut self, through: Sequence) -> Result<Option<DiskError>, LogError> {
        let trim = self.begin_trim(through)?;
        Ok(trim.and_then(|trim| self.end_trim(trim.run())))
    }

    /// A trim that need not hold up the log; `None` if no file is to be removed. If all are, that is done at once, for no
    /// newer file may be created before: nothing was appended lately then.
    pub fn begin_trim(&mut self, through: Sequence) -> Result<Option<LogTrim>, LogError> {
        self.check_usable()?;
        let covered = self.files.iter().take_while(|file| file.last_sequence <= through).count();
        let is_kept = |file: &LogFile| self.has_begun || file.last_sequence < file.first_sequence;
        let keeps_active =
            covered == self.files.len() && self.active.is_some() && self.files.last().is_some_and(is_kept);
        let removed = covered - usize::from(keeps_active);
        if removed == 0 {
            return Ok(None);
        }
        let are_all = removed == self.files.len();
        let files: Vec<LogFile> = self.files.drain(..removed).collect();
        let mut trim = self.removal_of(files);
        if are_all {
            // No sync: the file will be gone, durably, before a new one is created.
            trim.remove_files();
            self.files.extend(trim.files.drain(..));
            self.keep_active_if_there()?;
        }
        Ok((trim.failure.is_some() || !are_all).then_some(trim))
    }

    /// Goes on with the newest file, which was to be removed, if it is there still: it was not synced, and none that is newer
    /// may be created beside it.
    fn keep_active_if_there(&mut self) -> Result<(), LogError> {
        let Some(active) = self.active.take() else { return Ok(()) };
        match self.files.last().map_or(Ok(None), |file| self.disk.len(&file.path)) {
            Ok(length) => self.active = length.map(|_| active),
            Err(error) => self.poison_on_failure(Err(error))?,
        }
        Ok(())
    }

    /// Takes in what became of a trim. If files could not be removed, gives why; the next trim tries again.
    pub fn end_trim(&mut self, trimmed: Trimmed) -> Option<DiskError> {
        let Trimmed { left, failure } = trimmed;
        self.files.splice(0..0, left);
        failure
    }

    /// The size of all files, in bytes, without the room behind the last record.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// What was made ahead, behind the last record, for the next ones, in bytes.
    pub fn room_bytes(&self) -> u64 {
        self.active.as_ref().map_or(0, ActiveFile::room_bytes)
    }

    /// What no sync has covered yet, in bytes: whoever fills the file waits for it.
    pub fn unsynced_bytes(&self) -> u64 {
        self.active.as_ref().map_or(0, ActiveFile::unsynced_bytes)
    }

    /// The size of the files that hold commits after `sequence`, in bytes.
    pub fn bytes_after(&self, sequence: Sequence) -> u64 {
        let newer = self.files.iter().rev().take_while(|file| file.last_sequence > sequence);
        newer.map(|file| file.bytes).sum()
    }

    /// The first commit still in the log; the next one to come if there is none.
    pub fn first_sequence(&self) -> Sequence {
        self.files.first().map_or(self.next_sequence, |file| file.first_sequence)
    }

    /// The last commit appended; 0 if there never was one.
    pub fn last_sequence(&self) -> Sequence {
        self.next_sequence - 1
    }

    /// The commit that must be appended next.
    pub fn next_sequence(&self) -> Sequence {
        self.next_sequence
    }

    /// Makes the newest file fit to be followed by new records; gives it as the active one if it can be continued.
    fn mend(&self, newest: &FoundFile, torn: bool) -> Result<Option<ActiveFile>, DiskError> {
        if newest.length > newest.bytes {
            self.disk.truncate(&newest.path, newest.bytes)?;
        }
        let mut synced_bytes = newest.synced_bytes;
        if synced_bytes < newest.commits_end {
            // Readable, but a sync may have failed on it before: put it on disk for sure.
            self.disk.rewrite(&newest.path, synced_bytes)?;
            synced_bytes = newest.bytes;
        }
        if torn {
            return Ok(None);
        }
        let file = self.disk.open_append(&newest.path)?;
        let identity = FileIdentity { store_id: self.store_id, first_sequence: newest.first_sequence };
        let is_vouched = newest.synced_bytes >= newest.commits_end;
        Ok(Some(ActiveFile::continuing(file, identity, synced_bytes, is_vouched)))
    }

    fn append_record(
        &mut self,
        kind: RecordKind,
        (first, last): (Sequence, Sequence),
        time_micros: i64,
        payload: &[u8],
    ) -> Result<(), LogError> {
        self.check_usable()?;
        if first != self.next_sequence || last < first || last == Sequence::MAX {
            return Err(LogError::OutOfOrder { expected: self.next_sequence, first, last });
        }
        if self.has_begun && kind == RecordKind::Commits {
            return Err(LogError::Unfinished { sequence: first });
        }
        let result = self.write(kind, (first, last), time_micros, payload);
        self.poison_on_failure(result)
    }

    fn write(
        &mut self,
        kind: RecordKind,
        (first, last): (Sequence, Sequence),
        time_micros: i64,
        payload: &[u8],
    ) -> Result<(), DiskError> {
        if !self.has_begun
            && let Some(full) = self.take_full()
        {
            full.seal()?;
        }
        let active = match self.active.take() {
            Some(active) => active,
            None => self.begin_file(first)?,
        };
        let active = self.active.insert(active);
        active.make_room(payload.len() as u64, self.options);
        active.append(kind, (first, last), time_micros, payload)?;
        self.has_begun = kind == RecordKind::Part;
        if !self.has_begun {
            self.next_sequence = last + 1;
        }
        self.note_active_bytes();
        if kind == RecordKind::End
            && let Some(full) = self.take_full()
        {
            // Large as it may be, it is not to be read by an open that only needs what comes after it.
            full.seal()?;
            self.active = Some(self.begin_file(self.next_sequence)?);
            self.note_active_bytes();
        }
        Ok(())
    }

    /// Takes the active file if it is full. One without commits never is, whatever marks are in it: its successor would have
    /// the same name.
    fn take_full(&mut self) -> Option<ActiveFile> {
        let holds_commits = self.files.last().is_some_and(|file| file.last_sequence >= file.first_sequence);
        self.active.take_if(|active| holds_commits && active.bytes() >= self.options.file_bytes)
    }

    /// A new file, to be the active one.
    fn begin_file(&mut self, first_sequence: Sequence) -> Result<ActiveFile, DiskError> {
        let identity = FileIdentity { store_id: self.store_id, first_sequence };
        let path = file_path(&self.directory, first_sequence);
        let created = ActiveFile::create(&*self.disk, &self.directory, &path, identity)?;
        self.files.push(LogFile { path, first_sequence, last_sequence: first_sequence - 1, bytes: 0 });
        Ok(created)
    }

    fn note_active_bytes(&mut self) {
        if let (Some(active), Some(file)) = (&self.active, self.files.last_mut()) {
            file.bytes = active.bytes();
            file.last_sequence = self.next_sequence - 1;
        }
    }

    /// Removes files that the log could not go on with.
    fn remove_for_good(&self, files: impl IntoIterator<Item = FoundFile>) -> Result<(), DiskError> {
        let removed = self.removal_of(files.into_iter().map(LogFile::from)).run();
        removed.failure.map_or(Ok(()), Err)
    }

    fn removal_of(&self, files: impl IntoIterator<Item = LogFile>) -> LogTrim {
        let files = files.into_iter().collect();
        LogTrim { disk: self.disk.clone(), directory: self.directory.clone(), files, failure: None }
    }

    fn check_usable(&self) -> Result<(), LogError> {
        match &self.failure {
            None => Ok(()),
            Some(reason) => Err(LogError::Poisoned { reason: reason.clone() }),
        }
    }

    fn poison_on_failure(&mut self, result: Result<(), DiskError>) -> Result<(), LogError> {
        if let Err(error) = &result {
            self.failure = Some(error.to_string());
        }
        Ok(result?)
    }
}

impl From<FoundFile> for LogFile {
    fn from(found: FoundFile) -> Self {
        LogFile {
            path: found.path,
            first_sequence: found.first_sequence,
            last_sequence: found.last_sequence,
            bytes: found.bytes,
        }
    }
}
