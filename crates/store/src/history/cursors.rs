//! Who reads the log, and how far each has come: what trimming asks. Named readers keep their place in a file.
//!
//! ```text
//!  cursors/NAME.cursor, 48 bytes
//!   0  8  magic "EVGCURS\0"            32  8  sequence: the last commit acknowledged
//!   8  4  format version, 1            40  8  checksum of bytes 0..40
//!  12  4  of NAME, the low half of its checksum; 0 in files from before it was noted
//!  16 16  store id
//! ```
//!
//! Invariants: a cursor's place in the registry is never ahead of its file, so that what a crash makes a reader ask
//! for again is still there; files are written and removed by whoever holds the lock of the store, a name being taken before its
//! file is written and forgotten before that is removed, so that one who reads by a name has its file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use evergraph_disk::{Corruption, Disk, DiskError, checksum, write_atomically};
use evergraph_types::Sequence;
use parking_lot::Mutex;

use crate::error::{ChangesError, OpenError};

const MAGIC: &[u8; 8] = b"EVGCURS\0";
const FORMAT_VERSION: u32 = 1;
const FILE_BYTES: usize = 48;
const CHECKED_BYTES: usize = 40;
const SUFFIX: &str = ".cursor";
/// The longest name of a cursor, in bytes.
const NAME_MAX: usize = 100;

/// The cursor of this name keeps the versions from its place on, as history does, and not only the log: for readers that
/// need what was there before each commit. Users cannot give it: theirs do not begin with a dot.
pub(crate) const VERSIONS_CURSOR: &str = ".handlers";
/// The name it had when users could give it.
const VERSIONS_CURSOR_BEFORE: &str = "events";
/// Catalog items of this prefix say how far those have come for whom versions are kept: the handlers of views.
pub const HANDLER_ITEMS: &str = "handler/";

/// What tells one reader from another while both are open.
pub(crate) type ReaderId = u64;

/// A reader that was counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered {
    pub(crate) id: ReaderId,
    /// The commit up to which it needs nothing any more.
    pub(crate) done: Sequence,
    /// Whether there is no other trace of it: no name of it was known.
    pub(crate) is_new: bool,
}

/// All readers of a store's log.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    state: Mutex<State>,
}

/// How far an open reader has come.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The commit up to which it needs nothing of the log any more …
    done: Sequence,
    /// … and that up to which it has looked up the keys of ids.
    keys: Sequence,
}

#[derive(Debug, Default)]
struct State {
    next_id: ReaderId,
    /// By open reader.
    open: BTreeMap<ReaderId, Place>,
    /// The last commit acknowledged by name, and who has the name now.
    named: BTreeMap<String, (Sequence, Option<ReaderId>)>,
}

impl Cursors {
    /// The named cursors of a store whose newest commit is `newest`: a commit after it that was acknowledged before
    /// a loss of power never happened.
    pub(crate) fn of_store(
        disk: &dyn Disk,
        directory: &Path,
        store_id: &[u8; 16],
        newest: Sequence,
    ) -> Result<Self, OpenError> {
        let mut state = State::default();
        for name in cursor_names(disk, directory)? {
            let sequence = read_cursor(disk, directory, store_id, &name)?;
            state.named.insert(name, (sequence.min(newest), None));
        }
        Ok(Cursors { state: Mutex::new(state) })
    }

    /// Gives the place of handlers, where there are any, its present name. Nothing is written if the store is `read_only`.
    pub(crate) fn rename_handlers(
        &self,
        disk: &dyn Disk,
        directory: &Path,
        store_id: &[u8; 16],
        has_handlers: bool,
        read_only: bool,
    ) -> Result<(), OpenError> {
        let mut state = self.state.lock();
        if !has_handlers || state.named.contains_key(VERSIONS_CURSOR) {
            return Ok(());
        }
        let Some(place) = state.named.remove(VERSIONS_CURSOR_BEFORE) else { return Ok(()) };
        if !read_only {
            write_cursor(disk, directory, store_id, VERSIONS_CURSOR, place.0)?;
            remove_cursor(disk, directory, VERSIONS_CURSOR_BEFORE)?;
        }
        state.named.insert(VERSIONS_CURSOR.to_owned(), place);
        Ok(())
    }

    /// The commit up to which no reader needs anything any more; `None` if there is no reader.
    pub(crate) fn floor(&self) -> Option<Sequence> {
        let state = self.state.lock();
        let named = state.named.values().map(|(sequence, _)| *sequence);
        state.open.values().map(|place| place.done).chain(named).min()
    }

    /// The commit up to which no reader will look up the key of an id any more; `None` if there is no reader.
    pub(crate) fn keys_floor(&self) -> Option<Sequence> {
        let state = self.state.lock();
        let named = state.named.values().map(|(sequence, _)| *sequence);
        state.open.values().map(|place| place.keys).chain(named).min()
    }

    /// Counts a reader that needs nothing up to `done`.
    pub(crate) fn enter(&self, done: Sequence) -> ReaderId {
        let mut state = self.state.lock();
        state.next_id += 1;
        let id = state.next_id;
        state.open.insert(id, Place { done, keys: done });
        id
    }

    /// Counts the reader that has this name from now on, a new one from `start` on.
    pub(crate) fn enter_named(&self, name: &str, start: Sequence) -> Result<Entered, ChangesError> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let is_new = !state.named.contains_key(name);
        let (done, reader) = state.named.entry(name.to_owned()).or_insert((start, None));
        if reader.is_some() {
            return Err(ChangesError::InUse { name: name.to_owned() });
        }
        state.next_id += 1;
        *reader = Some(state.next_id);
        state.open.insert(state.next_id, Place { done: *done, keys: *done });
        Ok(Entered { id: state.next_id, done: *done, is_new })
    }

    /// As if the reader had never entered, whose name nobody can have had meanwhile.
    pub(crate) fn withdraw(&self, entered: Entered) {
        let mut state = self.state.lock();
        state.open.remove(&entered.id);
        if entered.is_new {
            state.named.retain(|_, (_, reader)| *reader != Some(entered.id));
        }
        state.release(entered.id);
    }

    /// The commit from which on versions are needed, not only the log; the largest number if from none on.
    pub(crate) fn versions_floor(&self) -> Sequence {
        self.place(VERSIONS_CURSOR).unwrap_or(Sequence::MAX)
    }

    /// The place of a name.
    pub(crate) fn place(&self, name: &str) -> Option<Sequence> {
        self.state.lock().named.get(name).map(|(sequence, _)| *sequence)
    }

    /// All names, each with the last commit acknowledged.
    pub(crate) fn names(&self) -> Vec<(String, Sequence)> {
        let state = self.state.lock();
        state.named.iter().map(|(name, (sequence, _))| (name.clone(), *sequence)).collect()
    }

    /// Notes that a reader needs nothing of the log up to `done`, and no keys of what is up to `keys`.
    pub(crate) fn pass(&self, id: ReaderId, done: Sequence, keys: Sequence) {
        let mut state = self.state.lock();
        if let Some(place) = state.open.get_mut(&id) {
            *place = Place { done, keys };
        }
        if let Some((place, _)) = state.named.values_mut().find(|(_, reader)| *reader == Some(id)) {
            *place = done;
        }
    }

    /// Counts a reader no longer; its name stays.
    pub(crate) fn leave(&self, id: ReaderId) {
        let mut state = self.state.lock();
        state.open.remove(&id);
        state.release(id);
    }

    /// Forgets a name that nobody has; gives its place, if it was there.
    pub(crate) fn forget(&self, name: &str) -> Result<Option<Sequence>, ChangesError> {
        let mut state = self.state.lock();
        match state.named.get(name) {
            Some((_, Some(_))) => Err(ChangesError::InUse { name: name.to_owned() }),
            _ => Ok(state.named.remove(name).map(|(done, _)| done)),
        }
    }

    /// Takes a name back that was forgotten, unless somebody has begun anew with it.
    pub(crate) fn remember(&self, name: &str, done: Sequence) {
        self.state.lock().named.entry(name.to_owned()).or_insert((done, None));
    }
}

impl State {
    /// Lets a reader's name go, which stays.
    fn release(&mut self, id: ReaderId) {
        let own = self.named.values_mut().filter(|(_, reader)| *reader == Some(id));
        own.for_each(|(_, reader)| *reader = None);
    }
}

/// Where the named cursors lie.
pub(crate) fn cursor_directory(directory: &Path) -> PathBuf {
    directory.join("cursors")
}

fn file_name(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

/// Where a cursor lies.
pub(crate) fn cursor_path(directory: &Path, name: &str) -> PathBuf {
    cursor_directory(directory).join(file_name(name))
}

/// A name is also one of a file, on every system.
pub(crate) fn check_name(name: &str) -> Result<(), ChangesError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let usable = (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('.');
    if usable { Ok(()) } else { Err(ChangesError::BadName { name: name.to_owned() }) }
}

/// The names of the cursors in a store.
pub(crate) fn cursor_names(disk: &dyn Disk, directory: &Path) -> Result<Vec<String>, DiskError> {
    match disk.list(&cursor_directory(directory)) {
        Err(DiskError::NotFound { .. }) => Ok(Vec::new()),
        names => Ok(names?.iter().filter_map(|name| name.strip_suffix(SUFFIX)).map(str::to_owned).collect()),
    }
}

/// What tells the file of one cursor from that of another.
fn name_checksum(name: &str) -> u32 {
    checksum(name.as_bytes()) as u32
}

/// Reads the last commit a cursor acknowledged.
pub(crate) fn read_cursor(
    disk: &dyn Disk,
    directory: &Path,
    store_id: &[u8; 16],
    name: &str,
) -> Result<Sequence, OpenError> {
    let path = cursor_path(directory, name);
    let bytes = disk.read(&path)?;
    let damaged = |offset, what: &str| Corruption::new(&path, offset, what);
    let Ok(bytes): Result<&[u8; FILE_BYTES], _> = bytes.as_slice().try_into() else {
        return Err(damaged(bytes.len() as u64, "its length is not that of a cursor").into());
    };
    let word = |at: usize| bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    if !bytes.starts_with(MAGIC) || word(CHECKED_BYTES) != checksum(&bytes[..CHECKED_BYTES]) {
        return Err(damaged(0, "the checksum does not match").into());
    }
    let found = word(8) as u32;
    if found > FORMAT_VERSION {
        return Err(OpenError::NewerFormat { path, found, supported: FORMAT_VERSION });
    }
    if bytes[16..32] != *store_id {
        return Err(damaged(16, "the file belongs to another store").into());
    }
    if ![0, name_checksum(name)].contains(&((word(8) >> 32) as u32)) {
        return Err(damaged(12, "the file belongs to another cursor").into());
    }
    Ok(word(32))
}

/// Removes the file of a cursor, durably. It may be gone already.
pub(crate) fn remove_cursor(disk: &dyn Disk, directory: &Path, name: &str) -> Result<(), DiskError> {
    match disk.remove(&cursor_path(directory, name)) {
        Err(DiskError::NotFound { .. }) => {}
        removed => removed?,
    }
    disk.sync_dir(&cursor_directory(directory))
}

/// Puts down the last commit a cursor acknowledged, durably.
pub(crate) fn write_cursor(
    disk: &dyn Disk,
    directory: &Path,
    store_id: &[u8; 16],
    name: &str,
    sequence: Sequence,
) -> Result<(), DiskError> {
    let mut bytes = Vec::with_capacity(FILE_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&name_checksum(name).to_le_bytes());
    bytes.extend_from_slice(store_id);
    bytes.extend_from_slice(&sequence.to_le_bytes());
    bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
    write_atomically(disk, &cursor_directory(directory), &file_name(name), &bytes)
}
