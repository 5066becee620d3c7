//! Commits of many callers who sleep, where each is synced: a thread of the store's own leads one group after the other.
//!
//! ```text
//!  leads    accept, append 1 │ apply 1 │ publish, answer 1 │ accept, append 2 │ apply 2 │ publish, answer 2 │ ...
//!  syncs                     └─── 1 ───┘                                      └─── 2 ───┘
//!  callers  those of 2 ask                                 those of 1 wake each other, and ask for 3
//! ```
//!
//! A caller who is to lead has to be awake first, which takes its time among many who were just woken: meanwhile the disk has nothing to do.
//!
//! Invariant: a group has the store to itself, and is answered when it is durable and published.

use std::sync::Arc;

use evergraph_disk::DiskError;
use evergraph_log::{Log, LogSync};

use crate::commits::commit::{Committer, INTERRUPTED, Record, Way};
use crate::commits::queue::Crowd;
use crate::store::Inner;
use crate::system::allocator::GivingBack;

/// What the thread that leads is asked for.
#[derive(Debug)]
pub(crate) enum Errand {
    Lead(Crowd),
    /// Of memory, what others have freed of its.
    GiveBack(Arc<GivingBack>),
}

impl Inner {
    /// Has a crowd led by the thread for that; gives it back if it has no time.
    pub(super) fn lead_by_thread(&self, crowd: Crowd) -> Result<(), Crowd> {
        match self.signal.errands.ask(Errand::Lead(crowd)) {
            Err(Errand::Lead(crowd)) => Err(crowd),
            _ => Ok(()),
        }
    }

    /// What that thread does.
    pub(crate) fn run_errand(&self, errand: Errand) {
        match errand {
            Errand::Lead(crowd) => self.lead_crowd(crowd),
            Errand::GiveBack(giving) => giving.here(),
        }
    }

    /// Leads as long as anyone waits.
    fn lead_crowd(&self, crowd: Crowd) {
        let mut next = Some(self.queue.lead_for(crowd));
        while let Some(mut lead) = next {
            let answers = self.commit_alone(self.enter_committer(), &mut lead.requests, Way::Aside);
            lead.answer(answers);
            next = lead.take_next();
        }
    }

    /// Brings a record to the disk, by the thread for that, while `apply` is done.
    pub(super) fn record_aside<T>(
        &self,
        committer: &mut Committer,
        (record, time_micros): (Option<Record>, i64),
        apply: impl FnOnce() -> T,
    ) -> (Result<(), String>, T) {
        let appended = committer.append(record, time_micros);
        let begun = committer.log.as_ref().and_then(Log::begin_sync).filter(|_| appended.is_ok());
        let Some(sync) = begun else { return (appended, apply()) };
        let (synced, applied) = self.signal.syncs.join(sync, LogSync::run, apply);
        let Some(synced) = synced else { return (Err(INTERRUPTED.to_owned()), applied) };
        let failure = synced.failure().map(DiskError::to_string);
        committer.end_sync(synced);
        (failure.map_or(Ok(()), Err), applied)
    }
}
