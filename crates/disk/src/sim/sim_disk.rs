//! The simulated disk: what a workload sees while it runs, and the journal of what it did.
//!
//! Invariant: the journal replayed over the start gives the state, so that every moment of the run can be had again.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::crash::{self, CrashPlan};
use super::journal::{Fault, Operation, Replay};
use super::random::Random;
use super::state::{FileNumber, State};
use crate::lock::LockTable;
use crate::poison::{PoisonedOnFailure, RawFile};
use crate::{AppendFile, Checksum, Disk, DiskError, DiskLock, LockMode, Mapping};

/// The simulated disk; clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct SimDisk {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    /// The state before the first operation of the journal.
    start: State,
    state: State,
    journal: Vec<Operation>,
    /// Faults to come, by operation number.
    faults: BTreeMap<u64, Fault>,
    /// How often something was looked at: read, mapped, measured, listed.
    looks: u64,
    /// The look that fails.
    failing_look: Option<u64>,
    /// What it says is free.
    free_bytes: Option<u64>,
    random: Random,
    locks: LockTable,
}

impl SimDisk {
    /// An empty disk with no directory but `/` and the current one. The seed decides how much a short write writes.
    pub fn new(seed: u64) -> Self {
        Self::from_state(State::default(), seed)
    }

    pub(super) fn from_state(state: State, seed: u64) -> Self {
        SimDisk {
            shared: Arc::new(Mutex::new(Shared {
                start: state.clone(),
                state,
                journal: Vec::new(),
                faults: BTreeMap::new(),
                looks: 0,
                failing_look: None,
                free_bytes: None,
                random: Random::new(seed),
                locks: LockTable::default(),
            })),
        }
    }

    /// How many mutating operations were tried so far, failed ones included.
    pub fn operations(&self) -> u64 {
        self.shared.lock().journal.len() as u64
    }

    /// Lets the `nth` mutating operation from now fail; 0 is the next one.
    pub fn fail_at(&self, nth: u64, fault: Fault) {
        let mut shared = self.shared.lock();
        let number = shared.journal.len() as u64 + nth;
        shared.faults.insert(number, fault);
    }

    /// Lets the `nth` look from now fail with an input/output error: a read, a mapping, a length, a listing.
    pub fn fail_look_at(&self, nth: u64) {
        let mut shared = self.shared.lock();
        shared.failing_look = Some(shared.looks + nth);
    }

    /// Lets the disk say that so much is free. It takes more all the same: let an operation fail with [`Fault::Enospc`].
    pub fn set_free_bytes(&self, bytes: u64) {
        self.shared.lock().free_bytes = Some(bytes);
    }

    /// A number that stands for everything on the disk: disks that hold the same have the same one.
    pub fn digest(&self) -> u64 {
        let state = &self.shared.lock().state;
        let mut digest = Checksum::new();
        for directory in state.directories() {
            digest.update(directory.as_os_str().as_encoded_bytes());
            digest.update(&[0]);
        }
        for (path, file) in state.names() {
            let content = state.content(*file);
            digest.update(path.as_os_str().as_encoded_bytes());
            digest.update(&content.len().to_le_bytes());
            content.parts().for_each(|part| digest.update(part));
        }
        digest.finish()
    }

    /// The disk a loss of power at this instant may leave. This one goes on undisturbed.
    pub fn crash(&self, plan: CrashPlan) -> SimDisk {
        let shared = self.shared.lock();
        Self::from_state(crash::crash(&shared.state, plan), plan.seed())
    }

    /// The disk a loss of power after the first `operations` operations may leave.
    pub fn state_at(&self, operations: u64, plan: CrashPlan) -> SimDisk {
        let mut replay = self.replay();
        while replay.operations() < operations && replay.advance() {}
        replay.crash(plan)
    }

    /// A walk through the journal from its start, to crash at every operation in turn for the price of one replay.
    pub fn replay(&self) -> Replay {
        let shared = self.shared.lock();
        Replay::new(shared.start.clone(), shared.journal.clone())
    }

    /// Flips one bit of a file, as failing hardware would. Nothing else on this disk changes synced bytes.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u8) -> Result<(), DiskError> {
        self.mutate(
            |state| Ok(Operation::FlipBit { file: state.find("damage", path)?, offset, bit }),
            "damage",
            path,
        )
    }

    /// Replaces the content of a file, or makes a new one, all durable: for tests that lay out files by hand.
    pub fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
        if self.len(path)?.is_some() {
            self.remove(path)?;
        }
        let mut file = self.create(path)?;
        file.append(bytes)?;
        file.sync()?;
        self.sync_dir(path.parent().unwrap_or(path))
    }

    /// Carries out one operation, or fails it if its turn for a fault has come. `prepare` refuses what a real disk
    /// would refuse; that is no operation.
    fn mutate(
        &self,
        prepare: impl FnOnce(&State) -> Result<Operation, DiskError>,
        name: &'static str,
        path: &Path,
    ) -> Result<(), DiskError> {
        let mut shared = self.shared.lock();
        let shared = &mut *shared;
        let mut operation = prepare(&shared.state)?;
        let fault = shared.faults.remove(&(shared.journal.len() as u64));
        if let Some(fault) = fault {
            operation = operation.failed(fault, &mut shared.random);
        }
        shared.state.apply(&operation);
        shared.journal.push(operation);
        match fault {
            None => Ok(()),
            Some(fault) => Err(DiskError::from_io(name, path, fault.error())),
        }
    }

    /// Looks at the state, or fails to if it is the turn.
    fn look<T>(
        &self,
        name: &'static str,
        path: &Path,
        look: impl FnOnce(&State) -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        let shared = &mut *self.shared.lock();
        shared.looks += 1;
        if shared.failing_look.take_if(|failing| *failing < shared.looks).is_some() {
            return Err(DiskError::from_io(name, path, Fault::Eio.error()));
        }
        look(&shared.state)
    }

    fn append_file(&self, path: &Path, file: FileNumber, length: u64) -> Box<dyn AppendFile> {
        let raw = SimFile { disk: self.clone(), path: path.to_owned(), file };
        Box::new(PoisonedOnFailure::new(raw, path.to_owned(), length))
    }
}

impl Disk for SimDisk {
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        if self.shared.lock().state.is_directory(path) {
            return Ok(());
        }
        self.mutate(|_| Ok(Operation::CreateDirectory(path.to_owned())), "create directory", path)
    }

    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
        let mut created = 0;
        let prepare = |state: &State| {
            state.check_parent("create", path)?;
            if state.find("create", path).is_ok() {
                return Err(DiskError::from_io("create", path, io::ErrorKind::AlreadyExists.into()));
            }
            created = state.next_file();
            Ok(Operation::Create(path.to_owned()))
        };
        self.mutate(prepare, "create", path)?;
        Ok(self.append_file(path, created, 0))
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
        let (file, length) = {
            let state = &self.shared.lock().state;
            let file = state.find("open", path)?;
            (file, state.content(file).len())
        };
        Ok(self.append_file(path, file, length))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        self.look("read", path, |state| {
            Ok(state.content(state.find("read", path)?).parts().collect::<Vec<_>>().concat())
        })
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> Result<Vec<u8>, DiskError> {
        self.look("read", path, |state| Ok(state.content(state.find("read", path)?).read_at(offset, length)))
    }

    fn map(&self, path: &Path) -> Result<Mapping, DiskError> {
        self.look("map", path, |state| {
            let content = state.content(state.find("map", path)?);
            Ok(Mapping::from_parts(content.len() as usize, content.parts()))
        })
    }

    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError> {
        self.look("look at", path, |state| {
            Ok(state.find("look at", path).ok().map(|file| state.content(file).len()))
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let prepare = |state: &State| {
            state.find("rename", from)?;
            state.check_parent("rename", to)?;
            Ok(Operation::Rename { from: from.to_owned(), to: to.to_owned() })
        };
        self.mutate(prepare, "rename", from)
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        let prepare = |state: &State| {
            state.find("remove", path)?;
            Ok(Operation::Remove(path.to_owned()))
        };
        self.mutate(prepare, "remove", path)
    }

    fn truncate(&self, path: &Path, length: u64) -> Result<(), DiskError> {
        let prepare = |state: &State| {
            let file = state.find("truncate", path)?;
            if length > state.content(file).len() {
                return Err(DiskError::from_io("truncate", path, io::ErrorKind::InvalidInput.into()));
            }
            Ok(Operation::Truncate { file, length })
        };
        self.mutate(prepare, "truncate", path)
    }

    fn rewrite(&self, path: &Path, offset: u64) -> Result<(), DiskError> {
        let prepare = |state: &State| Ok(Operation::Rewrite { file: state.find("rewrite", path)?, offset });
        self.mutate(prepare, "rewrite", path)
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, DiskError> {
        self.look("list", directory, |state| state.list(directory))
    }

    fn sync_dir(&self, directory: &Path) -> Result<(), DiskError> {
        let prepare = |state: &State| {
            if !state.is_directory(directory) {
                return Err(DiskError::from_io("sync directory", directory, io::ErrorKind::NotFound.into()));
            }
            Ok(Operation::SyncDirectory(directory.to_owned()))
        };
        self.mutate(prepare, "sync directory", directory)
    }

    /// Unlike on a real disk there is no lock file to see: what it holds is of use across processes only.
    fn free_bytes(&self, _directory: &Path) -> Option<u64> {
        self.shared.lock().free_bytes
    }

    fn lock(&self, path: &Path, mode: LockMode) -> Result<DiskLock, DiskError> {
        let shared = self.shared.lock();
        shared.state.check_parent("lock", path)?;
        shared.locks.lock(path, mode)
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    path: PathBuf,
    file: FileNumber,
}

impl RawFile for SimFile {
    fn append(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        let bytes: Arc<[u8]> = parts.concat().into();
        let operation = Operation::Write { file: self.file, offset, length: bytes.len(), bytes };
        self.disk.mutate(|_| Ok(operation), "append to", &self.path)
    }

    fn make_room(&self, range: Range<u64>) -> Result<(), DiskError> {
        let zeros = vec![0; (range.end - range.start) as usize];
        self.append(range.start, &[&zeros])
    }

    /// Durable at once: that it may not be is what a crash before it shows.
    fn cut(&self, length: u64) -> Result<(), DiskError> {
        let operation = Operation::Truncate { file: self.file, length };
        self.disk.mutate(|_| Ok(operation), "truncate", &self.path)
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.disk.mutate(|_| Ok(Operation::Sync(self.file)), "sync", &self.path)
    }
}
