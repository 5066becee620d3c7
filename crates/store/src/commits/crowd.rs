//! Commits of many callers who sleep, where each is synced: a thread of the store's own leads one group after the other.
//!
//! ```text
//!  leads    log 1 │ apply 1, accept 2 │ publish 1, log 2, answer 1 │ apply 2, accept 3 │ publish 2, log 3, ...
//!  syncs          └──────── 1 ────────┘                   └───────────────── 2 ────────┘
//!  callers                                           those of 1 wake each other, and come back for 3
//! ```
//!
//! A caller who is to lead has to be awake first, which takes its time among many who were just woken. Two threads that are always there have
//! the disk sync nearly all the time, while every other group of callers is on its way.
//!
//! Invariant: a group is logged when the one before it is durable and published, and answered when it is itself; whoever
//! leads has all stages from the first group in line to the last.

use std::sync::Arc;

use evergraph_disk::DiskError;
use evergraph_log::{Log, LogSync};

use crate::commits::commit::{AcceptedGroup, Committer, INTERRUPTED, Record, Request, Synced};
use crate::commits::queue::{Crowd, Lead, Outcome, Pace};
use crate::commits::stages::AllStages;
use crate::store::Inner;
use crate::system::pool::GivingBack;

/// After so many groups in line whoever else wants the store has it.
const GROUPS: usize = 16;

/// What the thread that leads is asked for.
#[derive(Debug)]
pub(crate) enum Errand {
    Lead(Crowd),
    /// Of memory, what others have freed of its.
    GiveBack(Arc<GivingBack>),
}

/// What waits, and the lead of those who wait.
type Next<'a> = (Vec<Request>, Lead<'a>);

/// What a group waits for.
enum Syncing {
    /// All it wrote was durable before.
    Nothing,
    Aside,
    /// There was no thread for it.
    Done(Synced),
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
        let mut next = Some(self.queue.lead_for(Pace::Disk, crowd));
        while let Some((group, mut lead)) = next {
            let committer = self.enter_committer();
            if !committer.is_alone_with(&group) {
                next = self.commit_in_line(self.committer.all(committer), (group, lead));
                continue;
            }
            drop(committer);
            lead.answers = self.commit(group, &mut lead);
            next = lead.take_next();
        }
    }

    /// Commits group after group; gives what waits when it stops.
    fn commit_in_line<'a>(&'a self, mut stages: AllStages<'_>, (group, lead): Next<'a>) -> Option<Next<'a>> {
        let (committer, applier) = stages.split();
        let mut current = Some((committer.accept(self, group), lead));
        let (mut before, mut waiting, mut failure) = (None::<Lead<'_>>, None, None);
        for number in 1.. {
            let Some((accepted, mut lead)) = current.take() else { break };
            let begun = accepted.and_then(|accepted| self.begin(committer, accepted, failure.as_ref()));
            // Is answered.
            drop(before.take());
            let applied = begun.map(|(group, syncing)| (applier.apply(self, group), syncing));
            waiting = lead.take_next();
            let next = waiting.take_if(|(group, _)| number < GROUPS && !committer.is_alone_with(group));
            current = next.map(|(group, lead)| (committer.accept(self, group), lead));
            lead.answers = applied.map_or_else(
                |refused| refused,
                |(applied, syncing)| match self.end(committer, syncing) {
                    Ok(()) => self.publish_applied(applier, applied, None),
                    Err(reason) => {
                        failure = Some(reason.clone());
                        committer.give_up(applier, applied, reason)
                    }
                },
            );
            before = Some(lead);
        }
        stages.unlock_fair();
        waiting.or_else(|| before.as_mut()?.take_next())
    }

    /// Logs a group, unless there was a failure, and has it synced.
    fn begin(
        &self,
        committer: &mut Committer,
        (group, record): (AcceptedGroup, Option<Record>),
        failure: Option<&String>,
    ) -> Result<(AcceptedGroup, Syncing), Vec<Outcome>> {
        let intact = failure.map_or(Ok(()), |reason| Err(reason.clone()));
        if let Err(reason) = intact.and_then(|()| committer.append(record, group.time_micros)) {
            return Err(committer.fail(reason, group.into_answers()));
        }
        self.go_on(committer);
        let syncing = match committer.log.as_ref().and_then(Log::begin_sync) {
            None => Syncing::Nothing,
            Some(sync) => match self.signal.syncs.ask(sync) {
                Ok(()) => Syncing::Aside,
                Err(sync) => Syncing::Done(sync.run()),
            },
        };
        Ok((group, syncing))
    }

    /// Waits until a group is durable; why it is not, if it will never be.
    fn end(&self, committer: &mut Committer, syncing: Syncing) -> Result<(), String> {
        let synced = match syncing {
            Syncing::Nothing => return Ok(()),
            Syncing::Aside => self.signal.syncs.answer(LogSync::run).ok_or(INTERRUPTED)?,
            Syncing::Done(synced) => synced,
        };
        let failure = synced.failure().map(DiskError::to_string);
        committer.end_sync(synced);
        failure.map_or(Ok(()), Err)
    }
}
