//! The two stages of a commit, and who has them.
//!
//! ```text
//!  group 3 ─► committer: accepted, logged ─┐
//!  group 2 ─────────────────────────────── └─► applier: applied, published
//!  group 1 ─────────────────────────────────────────────────────────────── read
//! ```
//!
//! A group asks for the applier before it leaves the committer. So groups are published in the order in which they were
//! accepted, and while one is applied the next is logged.
//!
//! Invariants: who has both has the store to itself, and all that was accepted is published; the committer is asked for first;
//! nothing is applied after a group that was not to its end.

use std::ops::{Deref, DerefMut};

use crate::commits::commit::{Committer, INTERRUPTED, Refusal};
use crate::lists::merge::Scratch;
use crate::lists::spares::Spares;
use crate::system::sync::fair::{Mutex, MutexGuard};
use crate::system::sync::look;

/// How often one who waits for the applier looks before it sleeps: for some groups' time.
const LOOKS: u32 = 1_000;

/// The committer and the applier.
#[derive(Debug)]
pub(crate) struct Stages {
    committer: Mutex<Committer>,
    applier: Mutex<Applier>,
}

/// What only the one touches who applies.
#[derive(Debug, Default)]
pub(crate) struct Applier {
    /// Buffers of the commit before, which a small one would spend its time on growing.
    pub(crate) scratch: Scratch,
    /// Blocks that the commits before gave up.
    pub(crate) spares: Spares,
    /// Whether a group is being applied, or was not to its end.
    pub(crate) is_busy: bool,
}

/// Both of them.
#[derive(Debug)]
pub(crate) struct Both<'a> {
    // Let go of first, since whoever has the committer wants it next.
    applier: MutexGuard<'a, Applier>,
    committer: MutexGuard<'a, Committer>,
}

impl Stages {
    pub(crate) fn new(committer: Committer) -> Self {
        Stages { committer: Mutex::new(committer), applier: Mutex::default() }
    }

    /// The committer, which has accepted nothing that is not published.
    pub(crate) fn lock(&self) -> Both<'_> {
        self.both(self.enter())
    }

    /// The committer alone.
    pub(crate) fn enter(&self) -> MutexGuard<'_, Committer> {
        self.committer.lock()
    }

    /// Both, for the one who has the committer.
    pub(crate) fn both<'a>(&'a self, mut committer: MutexGuard<'a, Committer>) -> Both<'a> {
        let applier = self.applier_after(&mut committer);
        Both { applier, committer }
    }

    /// The applier, for the one who has the committer.
    pub(crate) fn applier_after(&self, committer: &mut Committer) -> MutexGuard<'_, Applier> {
        look(LOOKS, || !self.applier.is_locked());
        let applier = self.applier.lock();
        if applier.is_busy {
            committer.refusal.get_or_insert(Refusal::Failed(INTERRUPTED.to_owned()));
        }
        applier
    }
}

impl Both<'_> {
    /// Each of them.
    pub(crate) fn split(&mut self) -> (&mut Committer, &mut Applier) {
        (&mut self.committer, &mut self.applier)
    }

    /// Lets go of them; whoever waits to commit is next.
    pub(crate) fn unlock_fair(self) {
        let Both { applier, committer } = self;
        drop(applier);
        MutexGuard::unlock_fair(committer);
    }
}

impl Deref for Both<'_> {
    type Target = Committer;

    fn deref(&self) -> &Committer {
        &self.committer
    }
}

impl DerefMut for Both<'_> {
    fn deref_mut(&mut self) -> &mut Committer {
        &mut self.committer
    }
}
