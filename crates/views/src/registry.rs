//! The views of a store, by name.
//!
//! A view is one item of the catalog, so making, dropping and renaming one is a transaction like any other: it is durable
//! when it is acknowledged, two that meet conflict, and a backup has it.
//!
//! What a view was found to be on one version is kept, within a budget, for whoever asks for the same again.
//!
//! Invariant: what is kept for a version and a definition is what evaluating gives.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use evergraph_store::{CommitError, Store, Transaction, VIEW_ITEMS, Version};
use evergraph_types::Sequence;
use evergraph_view::{EdgeRule, GraphView, Snapshot};
use parking_lot::Mutex;
use roaring::RoaringBitmap;

use crate::definition::{Definition, ViewRequest};
use crate::error::{EvaluateError, EventError, ViewError};
use crate::events::{
    DeadLetter, EventReader, Events, Handler, HandlerOptions, HandlerStatus, Subscription, items_of_handlers,
};
use crate::part::Part;
use crate::scratch::Scratch;

/// Where the definitions are in the catalog.
pub(crate) const VIEW_PREFIX: &str = VIEW_ITEMS;
/// The longest name of a view; what the catalog puts before it fits too.
const NAME_CHARS: usize = 200;
/// How many names an error lists.
const NAMES_SHOWN: usize = 10;
/// How often a change of a view is tried again after a conflict.
const RETRIES: u32 = 100;
/// How many views are kept as they were last found. A set of vertices takes from some bytes to one bit for each id.
const KEPT_VIEWS: usize = 256;

/// The views of a store.
#[derive(Clone, Debug)]
pub struct Views {
    store: Store,
    state: Arc<State>,
    events: Arc<Events>,
}

#[derive(Debug, Default)]
struct State {
    evaluated: Mutex<HashMap<String, Evaluated>>,
    companions: Mutex<HashMap<String, Arc<Companion>>>,
    /// Counts evaluations, to know the one that was not asked for the longest.
    clock: AtomicU64,
}

/// What a view was found to be. It does not keep the version alive.
#[derive(Debug)]
struct Evaluated {
    definition: Arc<[u8]>,
    version: Weak<Version>,
    vertices: Arc<RoaringBitmap>,
    rule: Option<Arc<dyn EdgeRule>>,
    used: u64,
}

/// What a process keeps beside a view.
#[derive(Debug, Default)]
struct Companion {
    scratch: Arc<Scratch>,
    reads: AtomicU64,
}

/// A view of a store, by its name.
#[derive(Clone, Debug)]
pub struct View {
    views: Views,
    name: String,
}

/// How much there is in a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewStatistics {
    /// The version it was counted on.
    pub version: Sequence,
    /// Vertices.
    pub num_vertices: u64,
    /// Edges by type; those of symmetric types count once.
    pub edges: Vec<(String, u64)>,
    /// How often the view was evaluated in this process, for a reader or an algorithm.
    pub reads: u64,
}

impl Views {
    /// The views of a store.
    pub fn new(store: Store) -> Self {
        Views { events: Events::new(store.clone()), store, state: Arc::default() }
    }

    /// Makes a view.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_view::{GraphView, Snapshot};
    /// # use evergraph_views::{ViewRequest, Views};
    /// let store = Store::in_memory(Options::default());
    /// store.put_vertex("alice", None, &[("city", "Palo Alto".into())])?;
    /// store.put_vertex("bob", None, &[("city", "Oslo".into())])?;
    /// let views = Views::new(store.clone());
    /// let here = "city = 'Palo Alto'".to_owned();
    /// let view = views.create("here", &ViewRequest { vertices_where: Some(here), ..ViewRequest::default() })?;
    /// store.put_vertex("bob", None, &[("city", "Palo Alto".into())])?;
    /// assert_eq!(view.at(&Snapshot::new(store.version()?))?.snapshot().num_vertices(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ViewError::Exists`], or what is wrong with the request; then nothing is made.
    pub fn create(&self, name: &str, request: &ViewRequest) -> Result<View, ViewError> {
        check_name(name)?;
        self.change(|transaction| {
            let snapshot = Snapshot::new(transaction.version().clone());
            if transaction.item(&item(name)).is_some() {
                return Err(ViewError::Exists { name: name.to_owned() });
            }
            let definition = request.define(&snapshot)?;
            transaction.put_item(&item(name), &definition.encode()).map_err(CommitError::from)?;
            Ok(())
        })?;
        Ok(View { views: self.clone(), name: name.to_owned() })
    }

    /// The view of this name.
    ///
    /// # Errors
    /// [`ViewError::NotFound`] and [`ViewError::Closed`].
    pub fn get(&self, name: &str) -> Result<View, ViewError> {
        let version = self.store.version()?;
        match version.item(&item(name)) {
            Some(_) => Ok(View { views: self.clone(), name: name.to_owned() }),
            None => Err(not_found(&version, name)),
        }
    }

    /// The names of all views, ascending.
    ///
    /// # Errors
    /// [`ViewError::Closed`].
    pub fn names(&self) -> Result<Vec<String>, ViewError> {
        Ok(names(&*self.store.version()?).collect())
    }

    /// How all handlers of this process fare, by view and name.
    pub fn handlers(&self) -> Vec<HandlerStatus> {
        self.events.statuses()
    }

    /// Ends all handlers and writes down how far they have come. A call under way goes on to its end by itself.
    pub fn stop_handlers(&self) {
        if self.store.usable().is_ok() {
            self.events.stop_all();
        }
    }

    fn change(&self, run: impl FnMut(&mut Transaction) -> Result<(), ViewError>) -> Result<(), ViewError> {
        self.store.transact(RETRIES, run)
    }

    /// The definition in a version, as bytes.
    fn bytes(&self, version: &Version, name: &str) -> Result<Arc<[u8]>, ViewError> {
        version.item(&item(name)).map(Arc::from).ok_or_else(|| not_found(version, name))
    }

    fn companion(&self, name: &str) -> Arc<Companion> {
        self.state.companions.lock().entry(name.to_owned()).or_default().clone()
    }

    fn forget(&self, name: &str) {
        self.state.evaluated.lock().remove(name);
        self.state.companions.lock().remove(name);
    }
}

impl State {
    /// What is known of a view on this very snapshot.
    fn known(&self, name: &str, definition: &[u8], snapshot: &Snapshot) -> Option<Part> {
        let used = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut evaluated = self.evaluated.lock();
        let known = evaluated.get_mut(name)?;
        // The weak pointer keeps the address from being used again.
        let same = &*known.definition == definition
            && std::ptr::eq(known.version.as_ptr(), Arc::as_ptr(snapshot.store_version()));
        known.used = used;
        same.then(|| Part {
            whole: snapshot.clone(),
            vertices: known.vertices.clone(),
            rule: known.rule.clone(),
            depth: 1,
        })
    }

    /// Keeps what a view was found to be; gives up the one that was not used for the longest if there are many.
    fn keep(&self, name: &str, definition: Arc<[u8]>, part: &Part) {
        let used = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut evaluated = self.evaluated.lock();
        if evaluated.len() >= KEPT_VIEWS && !evaluated.contains_key(name) {
            let oldest = evaluated.iter().min_by_key(|(_, known)| known.used).map(|(name, _)| name.clone());
            oldest.map(|name| evaluated.remove(&name));
        }
        let version = Arc::downgrade(part.whole.store_version());
        let (vertices, rule) = (part.vertices.clone(), part.rule.clone());
        evaluated.insert(name.to_owned(), Evaluated { definition, version, vertices, rule, used });
    }
}

impl View {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is made of.
    ///
    /// # Errors
    /// [`ViewError::NotFound`] if it was dropped, [`ViewError::Unreadable`] and [`ViewError::Closed`].
    pub fn definition(&self) -> Result<Definition, ViewError> {
        let version = self.views.store.version()?;
        self.decode(&self.views.bytes(&version, &self.name)?)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Definition, ViewError> {
        let unreadable = |what| ViewError::Unreadable { name: self.name.clone(), what };
        Definition::decode(bytes).map_err(unreadable)
    }

    /// The view on a snapshot, which may be older than the view: its present definition, evaluated there. Nothing that was
    /// committed after the snapshot shows.
    ///
    /// # Errors
    /// [`ViewError::NotFound`] if it was dropped; [`ViewError::Evaluate`] if its predicate does not fit the snapshot's
    /// schema, or the snapshot is of another store.
    pub fn at(&self, snapshot: &Snapshot) -> Result<Part, ViewError> {
        let version = self.views.store.version()?;
        if !snapshot.store_version().is_of_same_store(&version) {
            return Err(EvaluateError::OtherStore.into());
        }
        let bytes = self.views.bytes(&version, &self.name)?;
        let companion = self.views.companion(&self.name);
        companion.reads.fetch_add(1, Ordering::Relaxed);
        if let Some(part) = self.views.state.known(&self.name, &bytes, snapshot) {
            return Ok(part);
        }
        let part = Part::of(&self.decode(&bytes)?, snapshot)?;
        self.views.state.keep(&self.name, bytes, &part);
        Ok(part)
    }

    /// The view on the newest version.
    ///
    /// # Errors
    /// Those of [`View::at`].
    pub fn latest(&self) -> Result<Part, ViewError> {
        self.at(&Snapshot::new(self.views.store.version()?))
    }

    /// How much there is in it on a snapshot. Counting is no read.
    ///
    /// # Errors
    /// Those of [`View::at`].
    pub fn statistics(&self, snapshot: &Snapshot) -> Result<ViewStatistics, ViewError> {
        let companion = self.views.companion(&self.name);
        let reads = companion.reads.load(Ordering::Relaxed);
        let shown = self.at(snapshot)?.snapshot();
        companion.reads.fetch_sub(1, Ordering::Relaxed);
        let names = shown.edge_types().into_iter();
        let count = |name: &str| shown.with_edge_types(&[name]).map_or(0, |of_type| of_type.num_edges());
        let edges = names.map(|name| (name.to_owned(), count(name))).collect();
        Ok(ViewStatistics { version: shown.version(), num_vertices: shown.num_vertices(), edges, reads })
    }

    /// Its scratch properties, which live as long as the process and the view.
    pub fn scratch(&self) -> Arc<Scratch> {
        let scratch = self.views.companion(&self.name).scratch.clone();
        // No ids are given out by a store that is closed.
        if let Ok(version) = self.views.store.version() {
            scratch.hold_keys(|| version.hold_keys());
        }
        scratch
    }

    /// Has a handler told of what changes in the view, on a thread of its own. Every commit after this returns is looked
    /// at, or, for a name that had come to an earlier one, every commit after that.
    ///
    /// ```
    /// # use std::sync::mpsc::channel;
    /// # use std::time::Duration;
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_views::{Event, HandlerOptions, Transition, ViewRequest, Views};
    /// let store = Store::in_memory(Options::default());
    /// store.put_vertex("pump", None, &[("site", "north".into()), ("pressure", 3.into())])?;
    /// let north = ViewRequest { vertices_where: Some("site = 'north'".to_owned()), ..ViewRequest::default() };
    /// let north = Views::new(store.clone()).create("north", &north)?;
    /// let (seen, told) = channel();
    /// let handler = move |events: &[Event], _: Option<&mut _>| {
    ///     events.iter().for_each(|event| drop(seen.send(event.transition.clone())));
    ///     Ok(())
    /// };
    /// let subscription = north.on_update(HandlerOptions::new("watch"), handler)?;
    /// store.put_vertex("pump", None, &[("pressure", 9.into())])?;
    /// let changed = Transition::Changed { property: "pressure".to_owned(), old: 3.into(), new: 9.into() };
    /// assert_eq!(told.recv_timeout(Duration::from_secs(10))?, changed);
    /// subscription.stop();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EventError::InUse`], [`EventError::BadName`], [`EventError::NotRetained`], [`EventError::Unreadable`], or what is wrong
    /// with the view.
    pub fn on_update(
        &self,
        options: HandlerOptions,
        handler: impl Handler,
    ) -> Result<Subscription, EventError> {
        self.views.events.subscribe(&self.name, self.definition()?, options, handler)
    }

    /// Reads the events of the view after a version, or those since it was made that the log still tells: what a handler with
    /// these options would be told, but nothing is kept of how far it has come. Of the options those that choose events count.
    ///
    /// ```
    /// # use evergraph_store::{Options, Retain, Store};
    /// # use evergraph_views::{HandlerOptions, Transition, ViewRequest, Views};
    /// let store = Store::in_memory(Options { retain: Some(Retain::Everything), ..Options::default() });
    /// store.put_vertex("pump", None, &[("pressure", 3.into())])?;
    /// let high = ViewRequest { vertices_where: Some("pressure > 5".to_owned()), ..ViewRequest::default() };
    /// let high = Views::new(store.clone()).create("high", &high)?;
    /// store.put_vertex("pump", None, &[("pressure", 9.into())])?;
    /// let mut events = high.events(None, HandlerOptions::new("show"))?;
    /// assert_eq!(events.next()?.map(|event| event.transition), Some(Transition::Added));
    /// assert_eq!(events.next()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EventError::NotRetained`] if the version is no longer kept, [`EventError::Changes`], or what is wrong with the view.
    pub fn events(
        &self,
        after: Option<Sequence>,
        options: HandlerOptions,
    ) -> Result<EventReader, EventError> {
        EventReader::new(&self.views.store, &self.name, self.definition()?, after, options)
    }

    /// Forgets how far a handler had come, and its dead letters, so that the log is no longer kept for it; tells whether
    /// there was one.
    ///
    /// # Errors
    /// [`EventError::InUse`] while it is at work, [`EventError::Commit`].
    pub fn forget_handler(&self, handler: &str) -> Result<bool, EventError> {
        self.views.events.forget(&self.name, handler)
    }

    /// The events that a handler could not deal with, oldest first.
    ///
    /// # Errors
    /// [`EventError::Unreadable`] and [`EventError::Closed`].
    pub fn dead_letters(&self, handler: &str) -> Result<Vec<DeadLetter>, EventError> {
        self.views.events.dead_letters(&self.name, handler)
    }

    /// Discards dead letters, dealt with by now or not worth it; tells how many there were.
    ///
    /// # Errors
    /// [`EventError::Commit`].
    pub fn discard_dead_letters(&self, handler: &str, letters: &[DeadLetter]) -> Result<usize, EventError> {
        self.views.events.discard(&self.name, handler, letters)
    }

    /// Drops the view with the places and dead letters of its handlers; the graph stays as it is.
    ///
    /// # Errors
    /// [`ViewError::NotFound`] if it was dropped before; [`ViewError::Commit`].
    pub fn drop_view(&self) -> Result<(), ViewError> {
        self.views.change(|transaction| {
            let dropped = transaction.delete_item(&item(&self.name)).map_err(CommitError::from)?;
            if !dropped {
                return Err(not_found(transaction.version(), &self.name));
            }
            for name in items_of_handlers(transaction.version(), &self.name) {
                transaction.delete_item(&name).map_err(CommitError::from)?;
            }
            Ok(())
        })?;
        self.views.forget(&self.name);
        Ok(())
    }

    /// Gives the view another name. Handles by the old name find nothing from then on; this one has the new name.
    ///
    /// # Errors
    /// [`ViewError::Exists`] if there is one of that name, [`ViewError::NotFound`] and [`ViewError::Commit`].
    pub fn rename(&mut self, name: &str) -> Result<(), ViewError> {
        check_name(name)?;
        if self.views.events.is_watched(&self.name) {
            return Err(ViewError::Watched { name: self.name.clone() });
        }
        self.views.change(|transaction| {
            let bytes = transaction
                .item(&item(&self.name))
                .ok_or_else(|| not_found(transaction.version(), &self.name))?;
            if transaction.item(&item(name)).is_some() {
                return Err(ViewError::Exists { name: name.to_owned() });
            }
            transaction.delete_item(&item(&self.name)).map_err(CommitError::from)?;
            transaction.put_item(&item(name), &bytes).map_err(CommitError::from)?;
            for old in items_of_handlers(transaction.version(), &self.name) {
                let new = old.replacen(&format!("/{}/", self.name), &format!("/{name}/"), 1);
                if let Some(bytes) = transaction.item(&old) {
                    transaction.put_item(&new, &bytes).map_err(CommitError::from)?;
                }
                transaction.delete_item(&old).map_err(CommitError::from)?;
            }
            Ok(())
        })?;
        let companion = self.views.state.companions.lock().remove(&self.name);
        self.views.forget(&self.name);
        if let Some(companion) = companion {
            self.views.state.companions.lock().insert(name.to_owned(), companion);
        }
        self.name = name.to_owned();
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), ViewError> {
    let usable = |c: char| c != '/' && !c.is_control();
    if (1..=NAME_CHARS).contains(&name.chars().count()) && name.chars().all(usable) {
        Ok(())
    } else {
        Err(ViewError::BadName { name: name.to_owned() })
    }
}

/// The item of a view.
pub(crate) fn item(name: &str) -> String {
    format!("{VIEW_PREFIX}{name}")
}

fn names(version: &Version) -> impl Iterator<Item = String> + '_ {
    version.items(VIEW_PREFIX).into_iter().map(|(name, _)| name[VIEW_PREFIX.len()..].to_owned())
}

fn not_found(version: &Version, name: &str) -> ViewError {
    ViewError::NotFound { name: name.to_owned(), known: names(version).take(NAMES_SHOWN).collect() }
}
