//! The stages of a commit, and who has them.
//!
//! ```text
//!  group 4 ─► committer: accepted, logged ─┐
//!  group 3 ─────────────────────────────── └─► syncer: synced ─┐
//!  group 2 ─────────────────────────────────────────────────── └─► applier: applied, published
//!  group 1 ─────────────────────────────────────────────────────────────────────────────────── read
//! ```
//!
//! A group asks for the next stage before it leaves the one it has. So groups are published in the order in which they were
//! accepted, and while one is applied the next is synced, and the one after that accepted. Where commits are not synced there is no
//! stage between the committer and the applier. Nothing is logged while another group is synced: of two syncs of a file at once,
//! the system tells one of them of an error.
//!
//! Invariants: who has all of them has the store to itself, and all that was accepted is published; they are asked for in their
//! order; nothing is synced or applied after a group that was not to its end.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::commits::commit::{Committer, INTERRUPTED, Refusal, Synced};
use crate::lists::merge::Scratch;
use crate::lists::spares::Spares;
use crate::system::sync::fair::{Mutex, MutexGuard};
use crate::system::sync::look;

/// How often one who waits for the applier looks before it sleeps: for some groups' time.
const LOOKS: u32 = 1_000;

/// The committer, the syncer and the applier.
#[derive(Debug)]
pub(crate) struct Stages {
    committer: Mutex<Committer>,
    syncer: Mutex<Syncer>,
    applier: Mutex<Applier>,
}

/// What only the one touches who syncs what others may not yet follow.
#[derive(Debug, Default)]
pub(crate) struct Syncer {
    /// The last sync, until the log is told of it by whoever comes next.
    pub(crate) synced: Option<Synced>,
    /// How long that took.
    pub(crate) took: Duration,
    /// Why nothing is synced any more; while a group is, that it was interrupted.
    pub(crate) failure: Option<String>,
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

/// All of them.
#[derive(Debug)]
pub(crate) struct AllStages<'a> {
    // Let go of first, since whoever has the committer wants them next.
    applier: MutexGuard<'a, Applier>,
    syncer: MutexGuard<'a, Syncer>,
    committer: MutexGuard<'a, Committer>,
}

impl Stages {
    pub(crate) fn new(committer: Committer) -> Self {
        Stages { committer: Mutex::new(committer), syncer: Mutex::default(), applier: Mutex::default() }
    }

    /// The committer, which has accepted nothing that is not published.
    pub(crate) fn lock(&self) -> AllStages<'_> {
        self.all(self.enter())
    }

    /// The committer alone.
    pub(crate) fn enter(&self) -> MutexGuard<'_, Committer> {
        self.committer.lock()
    }

    /// All, for the one who has the committer.
    pub(crate) fn all<'a>(&'a self, mut committer: MutexGuard<'a, Committer>) -> AllStages<'a> {
        let syncer = self.syncer_after(&mut committer);
        let applier = self.applier_after(&mut committer);
        AllStages { applier, syncer, committer }
    }

    /// The syncer, for the one who has the committer, which has told the log of the last sync. If that failed, or was not to its end,
    /// the committer takes no more commits.
    pub(crate) fn syncer_after(&self, committer: &mut Committer) -> MutexGuard<'_, Syncer> {
        let mut syncer = self.syncer.lock();
        if let Some(synced) = syncer.synced.take() {
            committer.end_sync(synced);
        }
        if let Some(reason) = &syncer.failure {
            committer.refusal.get_or_insert(Refusal::Failed(reason.clone()));
        }
        syncer
    }

    /// The applier, for the one who has the committer.
    pub(crate) fn applier_after(&self, committer: &mut Committer) -> MutexGuard<'_, Applier> {
        let applier = self.applier_after_sync();
        if applier.is_busy {
            committer.refusal.get_or_insert(Refusal::Failed(INTERRUPTED.to_owned()));
        }
        applier
    }

    /// The applier, for the one who has the syncer.
    pub(crate) fn applier_after_sync(&self) -> MutexGuard<'_, Applier> {
        look(LOOKS, || !self.applier.is_locked());
        self.applier.lock()
    }
}

impl AllStages<'_> {
    /// The committer and the applier.
    pub(crate) fn split(&mut self) -> (&mut Committer, &mut Applier) {
        (&mut self.committer, &mut self.applier)
    }

    /// Lets go of them; whoever waits to commit is next.
    pub(crate) fn unlock_fair(self) {
        let AllStages { applier, syncer, committer } = self;
        drop((applier, syncer));
        MutexGuard::unlock_fair(committer);
    }
}

impl Deref for AllStages<'_> {
    type Target = Committer;

    fn deref(&self) -> &Committer {
        &self.committer
    }
}

impl DerefMut for AllStages<'_> {
    fn deref_mut(&mut self) -> &mut Committer {
        &mut self.committer
    }
}
