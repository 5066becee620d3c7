//! One handler of one view: its queue, its thread, and what is done when it fails.
//!
//! ```text
//!  Live      events come through the queue             ── queue full ──► Behind
//!  Behind    a follower of its own reads the log       ◄── joins at commit R: follower up to R, queue from R + 1 ──► Live
//! ```
//!
//! Invariant: events come in the order of their places, and none is skipped; the place in the catalog is never after an
//! event that was not dealt with.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use evergraph_disk::{Condvar, Mutex};
use evergraph_store::{ChangeOptions, CommitError, Store, conflict_backoff};
use evergraph_types::Sequence;

use super::cursor::{self, Place};
use super::event::Event;
use super::follower::Follower;
use super::handler::{Handler, HandlerError, HandlerOptions};
use super::letters::{self, DeadLetter};
use super::router::Events;
use super::sets::ClassId;
use crate::definition::Definition;
use crate::registry::item as view_item;

/// Events that wait in a queue before the handler goes over to reading the log by itself.
pub(crate) const QUEUE_EVENTS: usize = 8192;
/// Commits a follower reads before it hands over events.
const COMMITS_AT_A_TIME: usize = 64;
/// How long a thread waits before it looks whether it is wanted any more.
const LOOK: Duration = Duration::from_millis(200);
const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// How often a transaction of a handler is run again after conflicts before that counts as a failure.
const CONFLICTS: u32 = 100;

/// What a handler is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlerState {
    /// It is told of events as they are made.
    Live,
    /// It reads older events from the log, at its own pace.
    Behind,
    /// It was stopped, or the store was closed.
    Stopped,
    /// The view was dropped.
    Dropped,
    /// It cannot go on, for this reason.
    Failed(String),
}

/// How a handler fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerStatus {
    /// Its view.
    pub view: String,
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub state: HandlerState,
    /// The last commit it has dealt with as a whole.
    pub version: Sequence,
    /// Events dealt with in this process.
    pub handled: u64,
    /// Calls that failed in this process.
    pub failures: u64,
    /// Events given up in this process.
    pub dead: u64,
    /// Events that wait in memory.
    pub waiting: u64,
}

/// Where events come from.
#[derive(Debug)]
pub(crate) enum Source {
    Live,
    Behind(Box<Seed>),
}

/// From where on a handler reads the log by itself.
#[derive(Debug)]
pub(crate) struct Seed {
    pub(crate) follower: Follower,
    pub(crate) class: ClassId,
}

#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) events: VecDeque<Event>,
    /// The last commit the router has passed.
    pub(crate) through: Sequence,
    pub(crate) source: Option<Source>,
    pub(crate) state: HandlerState,
    pub(crate) place: Place,
    /// The place that is in the catalog.
    pub(crate) kept: Place,
    /// Whether events were dealt with since then.
    pub(crate) is_dirty: bool,
    handled: u64,
    failures: u64,
    dead: u64,
}

impl Queue {
    /// Whether there is a handler for it.
    pub(crate) fn is_at_work(&self) -> bool {
        matches!(self.state, HandlerState::Live | HandlerState::Behind)
    }
}

/// What the router and the thread of a handler share.
#[derive(Debug)]
pub(crate) struct Subscriber {
    pub(crate) view: String,
    pub(crate) definition: Arc<Definition>,
    pub(crate) options: HandlerOptions,
    pub(crate) queue: Mutex<Queue>,
    pub(crate) changed: Condvar,
}

impl Subscriber {
    pub(crate) fn new(
        view: &str,
        definition: Arc<Definition>,
        options: HandlerOptions,
        place: Place,
    ) -> Self {
        let queue = Queue {
            events: VecDeque::new(),
            through: place.whole(),
            source: Some(Source::Live),
            state: HandlerState::Live,
            place,
            kept: place,
            is_dirty: false,
            handled: 0,
            failures: 0,
            dead: 0,
        };
        Subscriber {
            view: view.to_owned(),
            definition,
            options,
            queue: Mutex::new(queue),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        !self.queue.lock().is_at_work()
    }

    /// Ends it, unless it has ended.
    pub(crate) fn end(&self, state: HandlerState) {
        let mut queue = self.queue.lock();
        if queue.is_at_work() {
            queue.state = state;
            queue.events.clear();
            queue.source = None;
        }
        self.changed.notify_all();
    }

    pub(crate) fn status(&self) -> HandlerStatus {
        let queue = self.queue.lock();
        HandlerStatus {
            view: self.view.clone(),
            name: self.options.name.clone(),
            state: queue.state.clone(),
            version: queue.place.whole(),
            handled: queue.handled,
            failures: queue.failures,
            dead: queue.dead,
            waiting: queue.events.len() as u64,
        }
    }
}

/// A handler that was put to work. It goes on when this is dropped; [`Subscription::stop`] ends it.
#[derive(Clone, Debug)]
pub struct Subscription {
    pub(crate) events: Weak<Events>,
    pub(crate) subscriber: Arc<Subscriber>,
}

impl Subscription {
    /// How it fares.
    pub fn status(&self) -> HandlerStatus {
        self.subscriber.status()
    }

    /// Whether it is told of no events any more: it was ended, its view was dropped, or it cannot go on.
    pub fn is_over(&self) -> bool {
        self.subscriber.is_over()
    }

    /// Ends it after the call under way; its place stays, and a handler of this name goes on from there.
    pub fn stop(&self) {
        self.subscriber.end(HandlerState::Stopped);
        if let Some(events) = self.events.upgrade() {
            events.leave(&self.subscriber);
        }
    }

    /// Waits until it has dealt with everything up to a commit, has ended, or the time is over; tells whether it has.
    pub fn wait(&self, version: Sequence, timeout: Duration) -> bool {
        let deadline = Instant::now().checked_add(timeout);
        let mut queue = self.subscriber.queue.lock();
        loop {
            let has_dealt = queue.place.whole() >= version;
            if has_dealt || !queue.is_at_work() {
                return has_dealt;
            }
            let changed = &self.subscriber.changed;
            match deadline {
                Some(deadline) if changed.wait_until(&mut queue, deadline) => {
                    return queue.place.whole() >= version;
                }
                Some(_) => {}
                None => changed.wait(&mut queue),
            }
        }
    }
}

/// Starts the thread of a handler.
pub(crate) fn start(
    events: &Arc<Events>,
    subscriber: Arc<Subscriber>,
    handler: impl Handler,
) -> std::io::Result<()> {
    let name = format!("evergraph-{}", subscriber.options.name);
    let events = Arc::downgrade(events);
    let worker = Worker { events, subscriber, handler: Box::new(handler) };
    std::thread::Builder::new().name(name).spawn(move || worker.run()).map(drop)
}

struct Worker {
    /// Not held while waiting, so that the store closes when nobody else has it.
    events: Weak<Events>,
    subscriber: Arc<Subscriber>,
    handler: Box<dyn Handler>,
}

/// What there is to do.
enum Work {
    Deal(Vec<Event>, Place),
    Follow(Box<Seed>),
    Look,
    End,
}

impl Worker {
    fn run(mut self) {
        loop {
            let done = match self.next() {
                Work::End => return,
                Work::Look => match self.events.upgrade() {
                    Some(_) => Ok(()),
                    None => return self.subscriber.end(HandlerState::Stopped),
                },
                Work::Deal(events, place) => self.deal(&events).map(|()| self.pass(place)),
                Work::Follow(seed) => self.follow(*seed),
            };
            if let Err(state) = done {
                self.subscriber.end(state);
            }
        }
    }

    fn next(&self) -> Work {
        let mut queue = self.subscriber.queue.lock();
        loop {
            if !queue.is_at_work() {
                return Work::End;
            }
            if !queue.events.is_empty() {
                let count = queue.events.len().min(self.subscriber.options.batch_size.max(1));
                let events: Vec<Event> = queue.events.drain(..count).collect();
                let place = match (queue.events.is_empty(), events.last()) {
                    (false, Some(last)) => Place::after_event(last.version, last.index),
                    _ => Place::after(queue.through),
                };
                return Work::Deal(events, place);
            }
            if let Some(Source::Behind(seed)) =
                queue.source.take_if(|source| matches!(source, Source::Behind(_)))
            {
                queue.state = HandlerState::Behind;
                return Work::Follow(seed);
            }
            let through = Place::after(queue.through);
            if through > queue.place {
                queue.place = through;
                self.subscriber.changed.notify_all();
            }
            if self.subscriber.changed.wait_for(&mut queue, LOOK) {
                return Work::Look;
            }
        }
    }

    /// Notes that everything before a place is dealt with.
    fn pass(&self, place: Place) {
        let mut queue = self.subscriber.queue.lock();
        queue.place = queue.place.max(place);
        self.subscriber.changed.notify_all();
    }

    /// Reads the log from a place on, until the queue is joined.
    fn follow(&mut self, seed: Seed) -> Result<(), HandlerState> {
        let Seed { mut follower, class } = seed;
        let failed = |error: &dyn std::fmt::Display| HandlerState::Failed(error.to_string());
        let mut reader = {
            let Some(events) = self.events.upgrade() else { return Err(HandlerState::Stopped) };
            let options = ChangeOptions { after: Some(follower.state.position), ..ChangeOptions::default() };
            events.store.changes(options).map_err(|error| failed(&error))?
        };
        let mut limit = Sequence::MAX;
        while follower.state.position < limit {
            if self.subscriber.is_over() {
                return Ok(());
            }
            follower.state.names = reader.version();
            let (mut found, mut is_head) = (Vec::new(), false);
            for _ in 0..COMMITS_AT_A_TIME {
                match reader.next_through(limit) {
                    Ok(Some(commit)) => {
                        let step = follower.advance(&commit);
                        if let Some((_, error)) = step.broken.first() {
                            return Err(failed(error));
                        }
                        found.extend(follower.events(&step, class, &self.subscriber.options));
                    }
                    Ok(None) => {
                        is_head = true;
                        break;
                    }
                    Err(evergraph_store::ChangesError::Closed(_)) => return Err(HandlerState::Stopped),
                    Err(error) => return Err(failed(&error)),
                }
                if found.len() >= self.subscriber.options.batch_size {
                    break;
                }
            }
            follower.state.rebase(&reader.version());
            for events in found.chunks(self.subscriber.options.batch_size.max(1)) {
                self.deal(events)?;
                if let Some(last) = events.last() {
                    self.pass(Place::after_event(last.version, last.index));
                }
            }
            self.pass(Place::after(follower.state.position));
            if is_head && limit == Sequence::MAX {
                let Some(events) = self.events.upgrade() else { return Err(HandlerState::Stopped) };
                limit = events.rejoin(&self.subscriber).ok_or(HandlerState::Stopped)?;
            }
        }
        Ok(())
    }

    /// Has the handler deal with events, some of which it may have dealt with before.
    fn deal(&mut self, events: &[Event]) -> Result<(), HandlerState> {
        let place = self.subscriber.queue.lock().place;
        let dealt = events.iter().take_while(|event| place.is_past(event.version, event.index)).count();
        let events = &events[dealt..];
        let Some(last) = events.last() else { return Ok(()) };
        let mut tries = 0;
        loop {
            let Some(hub) = self.events.upgrade() else { return Err(HandlerState::Stopped) };
            let store = hub.store.clone();
            drop(hub);
            tries += 1;
            let Err(error) = self.call(&store, events)? else {
                return {
                    self.count(events.len() as u64, Place::after_event(last.version, last.index));
                    Ok(())
                };
            };
            drop(store);
            self.subscriber.queue.lock().failures += 1;
            if tries > self.subscriber.options.retries {
                break self.give_up(events, tries, &error);
            }
            self.pause(tries)?;
        }
    }

    /// Gives up: each event on its own first, so that one that cannot be dealt with takes no other along.
    fn give_up(&mut self, events: &[Event], tries: u32, error: &HandlerError) -> Result<(), HandlerState> {
        if events.len() > 1 {
            return events.iter().try_for_each(|event| self.deal(std::slice::from_ref(event)));
        }
        let Some(event) = events.first() else { return Ok(()) };
        let Some(hub) = self.events.upgrade() else { return Err(HandlerState::Stopped) };
        let letter = DeadLetter { event: event.clone(), error: error.to_string(), tries };
        let (view, name) = (&self.subscriber.view, &self.subscriber.options.name);
        let place = Place::after_event(event.version, event.index);
        let kept = hub.store.transact(CONFLICTS, |transaction| {
            if transaction.item(&view_item(view)).is_some() {
                transaction.put_item(&letters::item(view, name, event), &letters::encode(&letter))?;
                transaction.put_item(&cursor::item(view, name), &place.encode())?;
            }
            Ok::<_, CommitError>(())
        });
        kept.map_err(|error| ended(&error))?;
        let mut queue = self.subscriber.queue.lock();
        queue.dead += 1;
        queue.place = queue.place.max(place);
        queue.kept = queue.kept.max(place);
        Ok(())
    }

    fn count(&self, events: u64, place: Place) {
        let mut queue = self.subscriber.queue.lock();
        queue.handled += events;
        queue.place = queue.place.max(place);
        if self.subscriber.options.exactly_once {
            queue.kept = queue.kept.max(place);
        } else {
            queue.is_dirty = true;
        }
        self.subscriber.changed.notify_all();
    }

    /// Waits before the next try, unless it is ended meanwhile.
    fn pause(&self, tries: u32) -> Result<(), HandlerState> {
        let factor = 1u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX);
        let backoff = self.subscriber.options.backoff.saturating_mul(factor).min(BACKOFF_MAX);
        let deadline = Instant::now() + backoff;
        let mut queue = self.subscriber.queue.lock();
        loop {
            if !matches!(queue.state, HandlerState::Live | HandlerState::Behind) {
                return Err(HandlerState::Stopped);
            }
            if self.subscriber.changed.wait_until(&mut queue, deadline) {
                return Ok(());
            }
        }
    }

    /// Calls the handler once. An error of the store ends it, one of its own does not.
    fn call(&mut self, store: &Store, events: &[Event]) -> Result<Result<(), HandlerError>, HandlerState> {
        let Some(last) = events.last() else { return Ok(Ok(())) };
        if !self.subscriber.options.exactly_once {
            return Ok(self.caught(|handler| handler.handle(events, None)));
        }
        let (view, name) = (self.subscriber.view.clone(), self.subscriber.options.name.clone());
        let place = Place::after_event(last.version, last.index);
        for tried in 0..CONFLICTS {
            let began = Instant::now();
            let mut transaction = store.begin().map_err(|error| ended(&error))?;
            if let Err(error) = self.caught(|handler| handler.handle(events, Some(&mut transaction))) {
                return Ok(Err(error));
            }
            if transaction.item(&view_item(&view)).is_none() {
                // The view is gone, or the handler drops it: what it wrote counts, and nothing is left to be noted.
                let _ = transaction.commit();
                return Err(HandlerState::Dropped);
            }
            let noted = transaction.put_item(&cursor::item(&view, &name), &place.encode());
            if let Err(error) = noted {
                return Ok(Err(HandlerError::new(error.to_string())));
            }
            match transaction.commit() {
                Ok(_) => return Ok(Ok(())),
                Err(CommitError::Conflict { .. }) => {
                    std::thread::sleep(conflict_backoff(tried, began.elapsed()));
                }
                Err(
                    error @ (CommitError::Closed(_) | CommitError::Durability { .. } | CommitError::ReadOnly),
                ) => {
                    return Err(ended(&error));
                }
                Err(error) => return Ok(Err(HandlerError::new(error.to_string()))),
            }
        }
        Ok(Err(HandlerError::new("other transactions changed the same things first, again and again")))
    }

    fn caught(
        &mut self,
        call: impl FnOnce(&mut dyn Handler) -> Result<(), HandlerError>,
    ) -> Result<(), HandlerError> {
        let handler = &mut *self.handler;
        catch_unwind(AssertUnwindSafe(|| call(handler)))
            .unwrap_or_else(|_| Err(HandlerError::new("the handler panicked")))
    }
}

fn ended(error: &CommitError) -> HandlerState {
    match error {
        CommitError::Closed(_) => HandlerState::Stopped,
        other => HandlerState::Failed(other.to_string()),
    }
}
