//! The router: one thread that reads the log for all handlers of a store, and the registry it works from.
//!
//! It follows the newest commits. A handler whose queue is full is taken out and given a follower of its own, so that
//! nobody waits for it; once that has caught up, it asks to join again. Places of handlers are written to the catalog a
//! few times a second, all in one transaction; the log is kept from the least of them on.
//!
//! Invariant: a live handler has been handed every event up to `through` of its queue. Those without events are told of that
//! now and then only.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use evergraph_disk::Mutex;
use evergraph_store::{
    At, ChangeOptions, ChangeReader, ChangesError, Closed, CommitError, HistoryError, Store, Version,
};
use evergraph_types::Sequence;
use hashbrown::HashMap;

use super::cursor::{self, Place};
use super::event::Event;
use super::follower::Follower;
use super::handler::{Handler, HandlerOptions};
use super::index::{Index, Wanted};
use super::letters::{self, DeadLetter};
use super::sets::ClassId;
use super::state::State;
use super::subscription::{
    HandlerState, HandlerStatus, QUEUE_EVENTS, Seed, Source, Subscriber, Subscription, start,
};
use crate::definition::Definition;
use crate::error::{EvaluateError, EventError};
use crate::registry::{VIEW_PREFIX, item as view_item};

/// Commits that are routed before queues are filled.
const COMMITS_AT_A_TIME: usize = 256;
/// Events that are made before queues are filled.
const EVENTS_AT_A_TIME: usize = 1 << 14;
/// How often handlers are told how far the router is that have no events.
const PASS: Duration = Duration::from_millis(1);
/// How long the router waits for a commit before it looks around.
const LOOK: Duration = Duration::from_millis(5);
/// How often places are written.
const KEEP: Duration = Duration::from_millis(250);
/// Commits that a place may be behind before it is written though nothing was dealt with.
const IDLE_COMMITS: u64 = 4096;

/// The handlers of a store.
#[derive(Debug)]
pub(crate) struct Events {
    pub(crate) store: Store,
    hub: Mutex<Hub>,
    /// Whether there are commands, for the router to ask while it waits and keeps nothing else alive.
    is_called: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Hub {
    subscribers: BTreeMap<(String, String), Arc<Subscriber>>,
    commands: Vec<Command>,
    is_running: bool,
}

#[derive(Debug)]
enum Command {
    /// Route to this handler, from its place on, or if it is new from here on.
    Join {
        subscriber: Arc<Subscriber>,
        is_new: bool,
        answer: Sender<Result<(), EventError>>,
    },
    /// Route to this one again; tells the commit after which.
    Rejoin(Arc<Subscriber>, Sender<Sequence>),
    Leave(Arc<Subscriber>),
    /// Write all places now.
    Keep(Sender<()>),
}

impl Events {
    pub(crate) fn new(store: Store) -> Arc<Self> {
        Arc::new(Events { store, hub: Mutex::default(), is_called: Arc::default() })
    }

    /// Puts a handler to work; every commit after this returns is looked at.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        view: &str,
        definition: Definition,
        options: HandlerOptions,
        handler: impl Handler,
    ) -> Result<Subscription, EventError> {
        check(&options)?;
        let key = (view.to_owned(), options.name.clone());
        let version = self.store.version()?;
        let known = version
            .item(&cursor::item(view, &options.name))
            .map(|bytes| Place::decode(bytes).ok_or_else(|| unreadable(view, &options.name, "the place")));
        let known = known.transpose()?;
        let in_memory = self.store.path().is_none();
        let known = known.filter(|place| !in_memory || version_at(&self.store, place.whole()).is_ok());
        let place = known.unwrap_or(Place::after(version.sequence()));
        let (answer, answered) = channel();
        let subscriber = Arc::new(Subscriber::new(view, Arc::new(definition), options, place));
        {
            let mut hub = self.hub.lock();
            hub.subscribers.retain(|_, other| !other.is_over());
            if hub.subscribers.contains_key(&key) {
                return Err(EventError::InUse { view: key.0, name: key.1 });
            }
            if !hub.is_running {
                self.run_router()?;
                hub.is_running = true;
            }
            hub.subscribers.insert(key.clone(), subscriber.clone());
        }
        self.command(Command::Join { subscriber: subscriber.clone(), is_new: known.is_none(), answer });
        let joined = answered.recv().unwrap_or(Err(Closed::Ended.into()));
        let started = joined.and_then(|()| {
            self.note_first(&subscriber, known.is_none())?;
            start(self, subscriber.clone(), handler)
                .map_err(|error| EventError::Thread { reason: error.to_string() })
        });
        if let Err(error) = started {
            subscriber.end(HandlerState::Stopped);
            self.hub.lock().subscribers.remove(&key);
            return Err(error);
        }
        Ok(Subscription { events: Arc::downgrade(self), subscriber })
    }

    /// Writes the place of a handler that is new, so that a crash does not make it start later.
    fn note_first(&self, subscriber: &Subscriber, is_new: bool) -> Result<(), EventError> {
        if !is_new {
            return Ok(());
        }
        let place = subscriber.queue.lock().place;
        let item = cursor::item(&subscriber.view, &subscriber.options.name);
        let put = self
            .store
            .transact(100, |transaction| Ok::<_, CommitError>(transaction.put_item(&item, &place.encode())?));
        Ok(put?)
    }

    fn run_router(self: &Arc<Self>) -> Result<(), EventError> {
        let reader = match reader(&self.store, None) {
            // Handlers that have come no further are refused when they join.
            Err(ChangesError::Trimmed { .. }) => reader_anew(&self.store, None)?,
            other => other?,
        };
        let base = self.store.version()?;
        let router = Router {
            events: Arc::downgrade(self),
            reader,
            follower: Follower::new(base),
            classes: HashMap::new(),
            passed: Instant::now(),
            is_passed: true,
            kept: Instant::now(),
        };
        let thread = std::thread::Builder::new().name("evergraph-events".to_owned());
        thread
            .spawn(move || router.run())
            .map(drop)
            .map_err(|error| EventError::Thread { reason: error.to_string() })
    }

    /// Has the router do something, at once if it waits.
    fn command(&self, command: Command) {
        self.hub.lock().commands.push(command);
        self.is_called.store(true, Ordering::SeqCst);
        self.store.call_readers();
    }

    pub(crate) fn leave(&self, subscriber: &Arc<Subscriber>) {
        self.command(Command::Leave(subscriber.clone()));
        self.keep();
    }

    /// Writes the places of all handlers.
    pub(crate) fn keep(&self) {
        let (answer, answered) = channel();
        if !self.hub.lock().is_running {
            return;
        }
        self.command(Command::Keep(answer));
        let _ = answered.recv_timeout(Duration::from_secs(5));
    }

    /// Has the router fill the queue again; gives the last commit that is not its business.
    pub(crate) fn rejoin(&self, subscriber: &Arc<Subscriber>) -> Option<Sequence> {
        let (answer, answered) = channel();
        self.command(Command::Rejoin(subscriber.clone(), answer));
        answered.recv().ok()
    }

    pub(crate) fn statuses(&self) -> Vec<HandlerStatus> {
        self.hub.lock().subscribers.values().map(|subscriber| subscriber.status()).collect()
    }

    /// Whether a view has handlers at work.
    pub(crate) fn is_watched(&self, view: &str) -> bool {
        self.hub
            .lock()
            .subscribers
            .iter()
            .any(|((other, _), subscriber)| other == view && !subscriber.is_over())
    }

    /// Ends all handlers and writes their places.
    pub(crate) fn stop_all(&self) {
        let all: Vec<_> = self.hub.lock().subscribers.values().cloned().collect();
        all.iter().for_each(|subscriber| subscriber.end(HandlerState::Stopped));
        self.keep();
    }

    pub(crate) fn dead_letters(&self, view: &str, handler: &str) -> Result<Vec<DeadLetter>, EventError> {
        let version = self.store.version()?;
        let items = version.items(&letters::prefix(view, handler));
        let letter = |bytes| letters::decode(bytes).ok_or_else(|| unreadable(view, handler, "a dead letter"));
        items.into_iter().map(|(_, bytes)| letter(bytes)).collect()
    }

    /// Forgets the place and the dead letters of a handler; tells whether it had a place.
    pub(crate) fn forget(&self, view: &str, handler: &str) -> Result<bool, EventError> {
        let key = (view.to_owned(), handler.to_owned());
        if self.hub.lock().subscribers.get(&key).is_some_and(|subscriber| !subscriber.is_over()) {
            return Err(EventError::InUse { view: key.0, name: key.1 });
        }
        self.hub.lock().subscribers.remove(&key);
        let forgotten = self.store.transact(100, |transaction| {
            for (name, _) in transaction.version().clone().items(&letters::prefix(view, handler)) {
                transaction.delete_item(name)?;
            }
            Ok::<_, CommitError>(transaction.delete_item(&cursor::item(view, handler))?)
        });
        Ok(forgotten?)
    }

    /// Discards dead letters; tells how many.
    pub(crate) fn discard(
        &self,
        view: &str,
        handler: &str,
        letters: &[DeadLetter],
    ) -> Result<usize, EventError> {
        let discarded = self.store.transact(100, |transaction| {
            let mut count = 0;
            for letter in letters {
                count +=
                    usize::from(transaction.delete_item(&letters::item(view, handler, &letter.event))?);
            }
            Ok::<_, CommitError>(count)
        });
        Ok(discarded?)
    }
}

fn unreadable(view: &str, handler: &str, what: &'static str) -> EventError {
    EventError::Unreadable { view: view.to_owned(), name: handler.to_owned(), what }
}

fn check(options: &HandlerOptions) -> Result<(), EventError> {
    let usable = |c: char| c != '/' && !c.is_control();
    if !(1..=40).contains(&options.name.chars().count()) || !options.name.chars().all(usable) {
        return Err(EventError::BadName { name: options.name.clone() });
    }
    if options.kinds.is_empty() || options.batch_size == 0 {
        return Err(EventError::Nothing);
    }
    Ok(())
}

/// A view that is watched, by the bytes... of its definition; views of the same definition share it.
#[derive(Debug)]
struct Watched {
    definition: Arc<Definition>,
    subscribers: Vec<Arc<Subscriber>>,
}

impl Watched {
    fn wanted(&self) -> Wanted {
        Wanted::of(self.subscribers.iter().map(|subscriber| &subscriber.options))
    }
}

/// Events by handler.
type Found = HashMap<*const Subscriber, (Arc<Subscriber>, Vec<Event>)>;

struct Router {
    events: Weak<Events>,
    reader: ChangeReader,
    follower: Follower,
    classes: HashMap<ClassId, Watched>,
    /// When handlers were told last how far this is, and whether it has not moved since.
    passed: Instant,
    is_passed: bool,
    kept: Instant,
}

impl Router {
    fn run(mut self) {
        loop {
            let Some(events) = self.events.upgrade() else { return self.end(&HandlerState::Stopped) };
            events.is_called.store(false, Ordering::SeqCst);
            let commands = std::mem::take(&mut events.hub.lock().commands);
            let moved = commands.into_iter().try_for_each(|command| self.obey(&events, command));
            let moved = moved.and_then(|()| self.go_on(&events));
            match moved {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    let state = match error {
                        ChangesError::Closed(_) => HandlerState::Stopped,
                        other => HandlerState::Failed(other.to_string()),
                    };
                    let mut hub = events.hub.lock();
                    hub.is_running = false;
                    hub.commands.clear();
                    hub.subscribers.values().for_each(|subscriber| subscriber.end(state.clone()));
                    return;
                }
            }
            if self.kept.elapsed() > KEEP {
                self.keep(&events);
            }
            self.pass();
            let wait = if self.classes.is_empty() { 4 * LOOK } else { LOOK };
            let is_called = events.is_called.clone();
            drop(events);
            self.reader.wait_or(Some(wait), || is_called.load(Ordering::SeqCst));
        }
    }

    /// Routes some commits; tells whether there may be more. Where retention has passed what is read next, those who were
    /// to be told of it are over, and whoever joins after that does so at the newest version.
    fn go_on(&mut self, events: &Events) -> Result<bool, ChangesError> {
        let mut moved = self.route();
        while let Err(error @ ChangesError::Trimmed { first, .. }) = moved {
            if first > self.follower.state.position + 1 {
                self.end(&HandlerState::Failed(error.to_string()));
                self.classes.clear();
                self.follower.index = Index::default();
            }
            moved = self.read_anew(events).map(|()| true);
        }
        moved
    }

    /// Reads on from where the state is, and where nobody is to be told of what is before it from the newest version.
    fn read_anew(&mut self, events: &Events) -> Result<(), ChangesError> {
        // The name is free once the old one is gone.
        self.reader = events.store.changes(ChangeOptions::default())?;
        if self.classes.is_empty() {
            self.skip();
        }
        self.reader = reader_anew(&events.store, Some(self.follower.state.position))?;
        Ok(())
    }

    fn end(&self, state: &HandlerState) {
        for watched in self.classes.values() {
            watched.subscribers.iter().for_each(|subscriber| subscriber.end(state.clone()));
        }
    }

    fn obey(&mut self, events: &Events, command: Command) -> Result<(), ChangesError> {
        match command {
            Command::Join { subscriber, is_new, answer } => {
                if self.classes.is_empty() {
                    self.skip();
                }
                let place = subscriber.queue.lock().place.whole();
                while self.follower.state.position < place {
                    if !self.go_on(events)? {
                        self.reader.wait(Some(LOOK));
                    }
                }
                let _ = answer.send(self.join(events, &subscriber, is_new));
            }
            Command::Rejoin(subscriber, answer) => {
                let through = self.follower.state.position;
                let joined = self.watch(&subscriber);
                {
                    let mut queue = subscriber.queue.lock();
                    queue.through = through;
                    if matches!(queue.state, HandlerState::Behind) {
                        queue.source = Some(Source::Live);
                        queue.state = HandlerState::Live;
                    }
                }
                if let Err(error) = joined {
                    subscriber.end(HandlerState::Failed(error.to_string()));
                }
                let _ = answer.send(through);
            }
            Command::Leave(subscriber) => self.forget(&subscriber),
            Command::Keep(answer) => {
                self.keep(events);
                let _ = answer.send(());
            }
        }
        Ok(())
    }

    fn join(
        &mut self,
        events: &Events,
        subscriber: &Arc<Subscriber>,
        is_new: bool,
    ) -> Result<(), EventError> {
        let position = self.follower.state.position;
        let place = subscriber.queue.lock().place;
        if place.whole() < position && !is_new {
            let base = version_at(&events.store, place.whole())?;
            let seed = seed(State::new(base), subscriber)?;
            let mut queue = subscriber.queue.lock();
            queue.source = Some(Source::Behind(seed));
            queue.state = HandlerState::Behind;
            return Ok(());
        }
        self.watch(subscriber)?;
        let mut queue = subscriber.queue.lock();
        queue.through = position;
        if is_new {
            (queue.place, queue.kept) = (Place::after(position), Place::after(position));
        }
        Ok(())
    }

    /// Routes to a subscriber from the next commit on.
    fn watch(&mut self, subscriber: &Arc<Subscriber>) -> Result<(), EventError> {
        let same = |watched: &Watched| *watched.definition == *subscriber.definition;
        let index = &mut self.follower.index;
        if let Some((class, watched)) = self.classes.iter_mut().find(|(_, watched)| same(watched)) {
            watched.subscribers.push(subscriber.clone());
            index.set_wanted(*class, watched.wanted());
            return Ok(());
        }
        let definition = subscriber.definition.clone();
        let wanted = Wanted::of([&subscriber.options]);
        let class = index.add(definition.clone(), wanted, &self.follower.state)?;
        self.classes.insert(class, Watched { definition, subscribers: vec![subscriber.clone()] });
        Ok(())
    }

    fn forget(&mut self, subscriber: &Arc<Subscriber>) {
        let index = &mut self.follower.index;
        self.classes.retain(|class, watched| {
            let before = watched.subscribers.len();
            watched.subscribers.retain(|other| !Arc::ptr_eq(other, subscriber));
            if watched.subscribers.is_empty() {
                index.remove(*class);
            } else if watched.subscribers.len() < before {
                index.set_wanted(*class, watched.wanted());
            }
            !watched.subscribers.is_empty()
        });
    }

    /// Goes on to the newest version, where nobody is to be told of what is before it.
    fn skip(&mut self) {
        let version = self.reader.version();
        if version.sequence() > self.follower.state.position {
            self.follower.state = State::new(version);
        }
    }

    /// Routes some commits; tells whether there may be more.
    fn route(&mut self) -> Result<bool, ChangesError> {
        if self.classes.is_empty() {
            self.skip();
        }
        self.follower.state.names = self.reader.version();
        let mut found: Found = HashMap::new();
        let (mut commits, mut events) = (0, 0);
        while commits < COMMITS_AT_A_TIME && events < EVENTS_AT_A_TIME {
            let Some(commit) = self.reader.next()? else { break };
            commits += 1;
            if commit.sequence <= self.follower.state.position {
                // From before this process, where handlers that need it read it by themselves, or passed over.
                continue;
            }
            self.is_passed = false;
            let step = self.follower.advance(&commit);
            for (class, error) in &step.broken {
                if let Some(watched) = self.classes.get(class) {
                    let state = HandlerState::Failed(error.to_string());
                    watched.subscribers.iter().for_each(|subscriber| subscriber.end(state.clone()));
                }
            }
            for concern in &step.concerns {
                let Some(watched) = self.classes.get(&concern.class) else { continue };
                let kind = self.follower.describe(&step, concern);
                for subscriber in
                    watched.subscribers.iter().filter(|subscriber| subscriber.options.wants(kind))
                {
                    let (_, told) = found
                        .entry(Arc::as_ptr(subscriber))
                        .or_insert_with(|| (subscriber.clone(), Vec::new()));
                    told.push(self.follower.event(&step, concern));
                    events += 1;
                }
            }
            self.end_dropped(&commit.writes.items);
        }
        self.follower.state.rebase(&self.reader.version());
        self.fill(found);
        if self.passed.elapsed() > PASS {
            self.pass();
        }
        Ok(commits == COMMITS_AT_A_TIME || events >= EVENTS_AT_A_TIME)
    }

    /// Ends the handlers of views that were dropped.
    fn end_dropped(&self, items: &[evergraph_store::ItemChange]) {
        let dropped = items.iter().filter(|(_, bytes)| bytes.is_none());
        for name in dropped.filter_map(|(name, _)| name.strip_prefix(VIEW_PREFIX)) {
            let all = self.classes.values().flat_map(|watched| &watched.subscribers);
            all.filter(|subscriber| subscriber.view == name).for_each(|it| it.end(HandlerState::Dropped));
        }
    }

    /// Hands events over, and takes out who has too much.
    fn fill(&mut self, found: Found) {
        let through = self.follower.state.position;
        let mut full = Vec::new();
        for (subscriber, events) in found.into_values() {
            let mut queue = subscriber.queue.lock();
            let was_idle = queue.events.is_empty();
            queue.through = through;
            if queue.is_at_work() {
                queue.events.extend(events);
            }
            if was_idle && !queue.events.is_empty() {
                subscriber.changed.notify_all();
            }
            if queue.events.len() > QUEUE_EVENTS {
                drop(queue);
                full.push(subscriber);
            }
        }
        for subscriber in full {
            match seed(self.follower.state.clone(), &subscriber) {
                Ok(seed) => subscriber.queue.lock().source = Some(Source::Behind(seed)),
                Err(error) => subscriber.end(HandlerState::Failed(error.to_string())),
            }
            self.forget(&subscriber);
        }
    }

    /// Tells all handlers how far this is, and takes out who is over.
    fn pass(&mut self) {
        if std::mem::replace(&mut self.is_passed, true) {
            return;
        }
        self.passed = Instant::now();
        let through = self.follower.state.position;
        let mut over = Vec::new();
        for subscriber in self.classes.values().flat_map(|watched| &watched.subscribers) {
            let mut queue = subscriber.queue.lock();
            queue.through = through;
            if !queue.is_at_work() {
                over.push(subscriber.clone());
            }
        }
        over.iter().for_each(|subscriber| self.forget(subscriber));
    }

    /// Writes the places that have moved, and lets the log go up to the least of all.
    fn keep(&mut self, events: &Events) {
        self.kept = Instant::now();
        let subscribers: Vec<_> = events.hub.lock().subscribers.values().cloned().collect();
        let mut moved = Vec::new();
        for subscriber in &subscribers {
            let mut queue = subscriber.queue.lock();
            let idle = queue.place.whole().saturating_sub(queue.kept.whole()) > IDLE_COMMITS;
            if queue.place > queue.kept && (queue.is_dirty || idle) {
                queue.is_dirty = false;
                moved.push((subscriber.clone(), queue.place));
            }
        }
        if !moved.is_empty() {
            let written = events.store.transact(100, |transaction| {
                for (subscriber, place) in &moved {
                    if transaction.item(&view_item(&subscriber.view)).is_some() {
                        let item = cursor::item(&subscriber.view, &subscriber.options.name);
                        transaction.put_item(&item, &place.encode())?;
                    }
                }
                Ok::<_, CommitError>(())
            });
            match written {
                Ok(()) => moved.iter().for_each(|(subscriber, place)| {
                    let mut queue = subscriber.queue.lock();
                    queue.kept = queue.kept.max(*place);
                }),
                Err(error) => tracing::warn!(%error, "the places of handlers could not be written"),
            }
        }
        let Ok(version) = events.store.version() else { return };
        let least = if events.store.path().is_some() {
            let places = version.items(cursor::PREFIX).into_iter();
            // One that cannot be read may be anywhere.
            places.map(|(_, bytes)| Place::decode(bytes).map_or(0, Place::whole)).min()
        } else {
            // In memory nobody comes back to an old place.
            let at_work = subscribers.iter().filter(|subscriber| !subscriber.is_over());
            at_work.map(|subscriber| subscriber.queue.lock().place.whole()).min()
        };
        let least = least.unwrap_or(Sequence::MAX).min(self.reader.position());
        if let Err(error) = self.reader.acknowledge(least) {
            tracing::debug!(%error, "the log is kept longer than needed");
        }
    }
}

/// The reader that keeps the log and its versions for handlers, from where it was.
fn reader(store: &Store, after: Option<Sequence>) -> Result<ChangeReader, ChangesError> {
    store.version_changes(after)
}

/// The same, wherever it was.
fn reader_anew(store: &Store, after: Option<Sequence>) -> Result<ChangeReader, ChangesError> {
    store.forget_version_changes()?;
    reader(store, after)
}

/// From where on a handler reads the log by itself.
fn seed(state: State, subscriber: &Subscriber) -> Result<Box<Seed>, EvaluateError> {
    let wanted = Wanted::of([&subscriber.options]);
    let (follower, class) = Follower::of(state, subscriber.definition.clone(), wanted)?;
    Ok(Box::new(Seed { follower, class }))
}

/// The catalog items that the handlers of a view have.
pub(crate) fn items_of_handlers(version: &Version, view: &str) -> Vec<String> {
    let prefixes = [format!("{}{view}/", cursor::PREFIX), format!("{}{view}/", letters::PREFIX)];
    let items = prefixes.iter().flat_map(|prefix| version.items(prefix));
    items.map(|(name, _)| name.to_owned()).collect()
}

/// The version to go on from.
pub(crate) fn version_at(store: &Store, sequence: Sequence) -> Result<Arc<Version>, EventError> {
    store.version_at(At::Commit(sequence)).map_err(|error| match error {
        HistoryError::NotRetained { .. } => EventError::NotRetained { version: sequence },
        HistoryError::Closed(closed) => closed.into(),
        other => EventError::History(other),
    })
}
