//! The operations of a simulated disk in order, how faults change them, and the walk through them.
//!
//! Invariant: applying the first `k` operations to the start state gives exactly the state the program saw after
//! them, failed operations included; so every entry says what happened, not what was asked for.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::SimDisk;
use super::crash::{self, CrashPlan};
use super::random::Random;
use super::state::{FileNumber, State};

/// One operation as it was carried out.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    CreateDirectory(PathBuf),
    Create(PathBuf),
    /// The first `length` of `bytes` reached the file, at its end or in the place of zeros there.
    Write {
        file: FileNumber,
        offset: u64,
        bytes: Arc<[u8]>,
        length: usize,
    },
    Sync(FileNumber),
    /// The system reported an error and forgot what it had not written: a later sync does not write it either.
    FailedSync(FileNumber),
    Truncate {
        file: FileNumber,
        length: u64,
    },
    Rewrite {
        file: FileNumber,
        offset: u64,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove(PathBuf),
    SyncDirectory(PathBuf),
    FlipBit {
        file: FileNumber,
        offset: u64,
        bit: u8,
    },
    /// A failed operation without effect.
    Nothing,
}

impl Operation {
    /// What happens instead under a fault.
    pub(super) fn failed(self, fault: Fault, random: &mut Random) -> Operation {
        match (self, fault) {
            (Operation::Write { file, offset, bytes, length }, Fault::ShortWrite) if length > 0 => {
                let length = random.below(length as u64) as usize;
                Operation::Write { file, offset, bytes, length }
            }
            (Operation::Sync(file) | Operation::FailedSync(file), _) => Operation::FailedSync(file),
            _ => Operation::Nothing,
        }
    }
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An input/output error; a failing sync loses track of what it had to write.
    Eio,
    /// No space left, nothing written.
    Enospc,
    /// An append writes only a part, then there is no space left.
    ShortWrite,
}

impl Fault {
    pub(super) fn error(self) -> io::Error {
        match self {
            Fault::Eio => io::Error::other("input/output error (simulated)"),
            Fault::Enospc | Fault::ShortWrite => io::ErrorKind::StorageFull.into(),
        }
    }
}

/// A walk through the journal of a [`SimDisk`], stopping after every operation.
#[derive(Clone, Debug)]
pub struct Replay {
    state: State,
    journal: Vec<Operation>,
    position: usize,
}

impl Replay {
    pub(super) fn new(start: State, journal: Vec<Operation>) -> Self {
        Replay { state: start, journal, position: 0 }
    }

    /// How many operations are behind.
    pub fn operations(&self) -> u64 {
        self.position as u64
    }

    /// Carries out the next operation; `false` if there is none.
    pub fn advance(&mut self) -> bool {
        let Some(operation) = self.journal.get(self.position) else { return false };
        self.state.apply(operation);
        self.position += 1;
        true
    }

    /// The disk a loss of power here may leave.
    pub fn crash(&self, plan: CrashPlan) -> SimDisk {
        SimDisk::from_state(crash::crash(&self.state, plan), plan.seed())
    }
}
