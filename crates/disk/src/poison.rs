//! Refusing writes after a failed one, and making room for whoever appends, once for both disks.
//!
//! ```text
//!   [ appended             ][ room: zeros            ][ being made, by one at a time
//!                           ▲ length, whose appends    ▲ room end
//!                             wait for no one up to ───┘
//! ```
//!
//! Invariants: after the first error the file below is not touched again, but by an append, a sync or the making of room that was
//! under way when it came. Syncs follow each other: the system tells one of them of a failure, and the next must not pass for a
//! success. Nobody appends beyond the end of the room while somebody makes more.

use std::fmt::Debug;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::{AppendFile, DiskError, SharedFile};

/// A file to append to that need not remember its failures.
pub(crate) trait RawFile: Send + Sync + Debug {
    /// Writes the parts from `offset` on, where the call before ended; on an error any part of them may be in the file.
    fn append(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError>;
    /// Lengthens the file with zeros from `range.start` on, beside appends before that; on an error any part of them may be in it.
    fn make_room(&self, range: Range<u64>) -> Result<(), DiskError>;
    /// Cuts the file to so many bytes.
    fn cut(&self, length: u64) -> Result<(), DiskError>;
    /// Makes everything appended durable.
    fn sync(&self) -> Result<(), DiskError>;
}

/// The [`AppendFile`] over a [`RawFile`].
#[derive(Debug)]
pub(crate) struct PoisonedOnFailure<F> {
    shared: Arc<Guarded<F>>,
    length: u64,
}

/// What whoever appends shares with whoever syncs or makes room.
#[derive(Debug)]
struct Guarded<F> {
    file: F,
    path: PathBuf,
    failure: OnceLock<String>,
    syncing: Mutex<()>,
    room: Mutex<Room>,
    /// Where the room ends, or what was appended: changed by whoever has `room`, and looked at without.
    room_end: AtomicU64,
}

/// Whether there may be room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Wanted,
    CutOff,
}

impl<F: RawFile> PoisonedOnFailure<F> {
    pub(crate) fn new(file: F, path: PathBuf, length: u64) -> Self {
        let shared = Guarded {
            file,
            path,
            failure: OnceLock::new(),
            syncing: Mutex::default(),
            room: Mutex::new(Room::Wanted),
            room_end: AtomicU64::new(length),
        };
        PoisonedOnFailure { shared: Arc::new(shared), length }
    }
}

impl<F> Guarded<F> {
    fn guarded(&self, act: impl FnOnce(&F) -> Result<(), DiskError>) -> Result<(), DiskError> {
        if let Some(reason) = self.failure.get() {
            return Err(DiskError::Poisoned { path: self.path.clone(), reason: reason.clone() });
        }
        act(&self.file).inspect_err(|error| drop(self.failure.set(error.to_string())))
    }
}

impl<F: RawFile> Guarded<F> {
    /// Makes room up to `length`, if there is less; `_room` is locked.
    fn lengthen(&self, _room: &mut Room, length: u64) {
        let room_end = self.room_end.load(Ordering::Relaxed);
        if self.failure.get().is_none() && length > room_end {
            // Of what may fail here nothing was promised to anyone.
            drop(self.file.make_room(room_end..length));
            self.room_end.store(length, Ordering::Release);
        }
    }
}

impl<F: RawFile + 'static> AppendFile for PoisonedOnFailure<F> {
    fn append_vectored(&mut self, parts: &[&[u8]]) -> Result<(), DiskError> {
        let Guarded { room, room_end, .. } = &*self.shared;
        let end = self.length + parts.iter().map(|part| part.len() as u64).sum::<u64>();
        let is_beyond = || end > room_end.load(Ordering::Acquire);
        let _room = is_beyond().then(|| room.lock());
        self.shared.guarded(|file| file.append(self.length, parts))?;
        self.length = end;
        if is_beyond() {
            room_end.store(end, Ordering::Release);
        }
        Ok(())
    }

    fn make_room(&mut self, length: u64) {
        let mut room = self.shared.room.lock();
        *room = Room::Wanted;
        self.shared.lengthen(&mut room, length);
    }

    fn room_end(&self) -> u64 {
        self.shared.room_end.load(Ordering::Relaxed)
    }

    fn cut_room(&mut self) -> Result<(), DiskError> {
        let mut room = self.shared.room.lock();
        *room = Room::CutOff;
        if self.room_end() > self.length {
            self.shared.guarded(|file| file.cut(self.length))?;
            self.shared.room_end.store(self.length, Ordering::Release);
        }
        Ok(())
    }

    fn shared(&self) -> Arc<dyn SharedFile> {
        self.shared.clone()
    }

    fn len(&self) -> u64 {
        self.length
    }
}

impl<F: RawFile> SharedFile for Guarded<F> {
    fn sync(&self) -> Result<(), DiskError> {
        let _syncing = self.syncing.lock();
        self.guarded(RawFile::sync)
    }

    fn make_room(&self, length: u64) {
        let mut room = self.room.lock();
        if *room == Room::Wanted {
            self.lengthen(&mut room, length);
        }
    }
}
