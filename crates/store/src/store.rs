//! The handle: everything a program does with a store starts here.
//!
//! Invariants: `current` is the newest version whose commit was recorded; locks are taken in the order
//! `Home::archive` or `gathering`, `committer`.

use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use evergraph_disk::{Access, Disk, MemoryDisk, OsDisk, Process};
use evergraph_types::{
    Alteration, EdgeBatch, EdgeTypeOptions, KeyKind, KeyRef, Progress, PropertyType, Schema, Sequence, Value,
};
use parking_lot::{Condvar, Mutex};

use crate::commits::batch::BatchWrites;
use crate::commits::commit::{BatchSummary, Committer, Refusal, Request, Written};
use crate::commits::conflict::RecentChanges;
use crate::commits::queue::CommitQueue;
use crate::commits::resolve::Resolver;
use crate::commits::stages::{AllStages, Stages};
use crate::commits::writers::Writers;
use crate::error::{BackupError, Closed, CommitError, OpenError};
use crate::files::home::{Home, absolute};
use crate::history::cursors::Cursors;
use crate::history::follow::Follow;
use crate::history::past::HistoryCache;
use crate::history::retain::Retain;
use crate::keys::dictionary::Dictionary;
use crate::keys::recycler::Recycler;
use crate::loads::bulk::{STEPS_PER_ROW, commit_bulk};
use crate::loads::staged::BulkLoad;
use crate::options::Options;
use crate::reports::stats::Stats;
use crate::system::allocator::{GiveBack, give_back};
use crate::system::pool::in_pool;
use crate::transactions::reads::Reads;
use crate::transactions::transaction::{Transaction, TransactionOptions};
use crate::transactions::writes::Writes;
use crate::upkeep::maintenance::Signal;
use crate::upkeep::watch::{TURN, Watch};
use crate::versions::current::{Current, Guard, take_unread};
use crate::versions::reclaim::Reclaimer;
use crate::versions::version::Version;

/// How often an operation that is a transaction of its own is run again after conflicts. Each of them means that
/// another transaction got through.
const OWN_RETRIES: u32 = 1_000;

/// The shortest span of which a random part is waited after a conflict, and the longest.
const BACKOFF_MIN: Duration = Duration::from_micros(10);
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// An open store. Clones are handles to the same one; when the last is dropped, it closes.
#[derive(Clone, Debug)]
pub struct Store {
    handle: Arc<Handle>,
}

/// A version that is being read, kept alive until the guard is dropped. A thread should hold few of them, and not for
/// long: [`Store::version`] is for that. What commits replace meanwhile is freed by a later commit, or once commits pause.
#[derive(Debug)]
pub struct ReadGuard<'a>(Guard<'a, Version>);

impl Deref for ReadGuard<'_> {
    type Target = Version;

    #[inline]
    fn deref(&self) -> &Version {
        &self.0
    }
}

/// What all handles share. The store's own thread shares `inner` only, so that whatever it does, the store is closed
/// when the last handle is gone. On a line of memory of its own: those who read are not to wait for those who count handles.
#[derive(Debug)]
#[repr(align(64))]
struct Handle {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) current: Current<Version>,
    pub(crate) reclaimer: Arc<Reclaimer>,
    pub(crate) writers: Writers,
    pub(crate) queue: CommitQueue,
    pub(crate) committer: Stages,
    /// Told when a load under way has caught up with commits, or ended; waited for with the committer.
    pub(crate) branch_moved: Condvar,
    pub(crate) options: Options,
    /// Where it lives on disk; `None` for a store in memory.
    pub(crate) home: Option<Home>,
    /// Held by whoever brings the lists of a store without a home together.
    pub(crate) gathering: Mutex<()>,
    /// Of all bytes written, those before that was last done.
    pub(crate) gathered_bytes: AtomicU64,
    /// Of what commits have taken of memory, the bytes before some was last given back.
    pub(crate) given_back_bytes: AtomicU64,
    /// How far the log may be read.
    pub(crate) follow: Follow,
    /// How much history is kept.
    pub(crate) retain: Retain,
    /// The commit from which on ids that have lost their keys had no vertices, and about its time: new readers, and versions of the
    /// past, begin no earlier.
    pub(crate) last_pass: Mutex<(Sequence, i64)>,
    /// Versions of the past that were asked for.
    pub(crate) history: Mutex<HistoryCache>,
    /// The heaps of these, and of those that somebody still holds.
    pub(crate) pasts: Mutex<Vec<Weak<Reclaimer>>>,
    /// Who reads the log.
    pub(crate) cursors: Cursors,
    pub(crate) is_closed: AtomicBool,
    /// Who opened it.
    pub(crate) process: Process,
    pub(crate) signal: Arc<Signal>,
    /// Dropped when all the rest of it was.
    memory: GivenBack,
}

/// Has the process give back to the system what a store has taken, if that is much.
#[derive(Debug, Default)]
struct GivenBack {
    is_wanted: bool,
}

impl Drop for GivenBack {
    fn drop(&mut self) {
        if self.is_wanted {
            give_back(GiveBack::ToSystem, drop);
        }
    }
}

impl Store {
    /// Opens the store in a directory; creates it if there is none, unless the options say `read_only`.
    ///
    /// # Errors
    /// [`OpenError::Locked`] naming the process that has it open, [`OpenError::NotAStore`],
    /// [`OpenError::NotFound`], [`OpenError::NewerFormat`], [`OpenError::Corrupt`] naming the place, or
    /// [`OpenError::Disk`]. Nothing is changed then.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// # let directory = tempfile::tempdir()?;
    /// let store = Store::open(directory.path().join("net.eg"), Options::default())?;
    /// store.put_edge("alice", "bob", "pays", &[("amount", 10.0.into())])?;
    /// store.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Store, OpenError> {
        let path = path.as_ref();
        Store::open_on(Arc::new(OsDisk), &absolute(path)?, options).map_err(|error| match error {
            // By the name that was asked for.
            OpenError::NotFound { .. } => OpenError::NotFound { path: path.to_owned() },
            error => error,
        })
    }

    /// As [`Store::open`], on another disk.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn open_on(disk: Arc<dyn Disk>, path: &Path, options: Options) -> Result<Store, OpenError> {
        let inner = in_pool(|| crate::files::open::open(disk, path, options))?;
        Ok(Store::start(inner))
    }

    /// A new store that lives in memory only, with its history if the options ask for that.
    pub fn in_memory(options: Options) -> Store {
        if options.retain.is_some_and(|retain| retain != Retain::Nothing) {
            let opened = in_pool(|| {
                crate::files::open::open(Arc::new(MemoryDisk::new()), Path::new("memory"), options)
            });
            return match opened {
                Ok(mut inner) => {
                    inner.home.iter_mut().for_each(|home| home.is_in_memory = true);
                    Store::start(inner)
                }
                Err(error) => unreachable!("a new store in memory did not open: {error}"),
            };
        }
        let mut version = Version::empty(Schema::default(), Dictionary::dense());
        version.format = options.format.unwrap_or_default();
        let recycler = Recycler::default();
        Store::start(Inner::new(version, recycler, None, None, Cursors::default(), options))
    }

    fn start(inner: Inner) -> Store {
        let inner = Arc::new(inner);
        inner.promote();
        inner.settle_access();
        crate::upkeep::maintenance::start(&inner);
        Store { handle: Arc::new(Handle { inner }) }
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.handle.inner
    }

    /// The directory; `None` for a store in memory.
    pub fn path(&self) -> Option<&Path> {
        let home = self.inner().home.as_ref().filter(|home| !home.is_in_memory);
        home.map(|home| home.directory.as_path())
    }

    /// The limit on memory it was opened with.
    pub fn memory_limit_bytes(&self) -> Option<u64> {
        self.inner().options.memory_limit_bytes
    }

    /// Whether every write is refused.
    pub fn is_read_only(&self) -> bool {
        self.inner().options.read_only
    }

    /// Whether it may be used: it was not closed, and it was this process that opened it, not one that this was forked from.
    ///
    /// # Errors
    /// [`Closed`], which says what is the case.
    #[inline]
    pub fn usable(&self) -> Result<(), Closed> {
        self.inner().usable()
    }

    /// The newest version. Takes well under a microsecond, whatever the size; the version never changes.
    ///
    /// # Errors
    /// [`Closed`] after [`Store::close`], and in a process that was forked from the one that opened it.
    pub fn version(&self) -> Result<Arc<Version>, Closed> {
        self.usable()?;
        Ok(self.inner().current.load_full())
    }

    /// The newest version for a short read. Unlike [`Store::version`] it counts no reference, so that any number of
    /// threads that read at once write to nothing they share.
    ///
    /// # Errors
    /// [`Closed`] after [`Store::close`].
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// let store = Store::in_memory(Options::default());
    /// store.put_edge(1, 2, "knows", &[])?;
    /// assert_eq!(store.read()?.num_vertices(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn read(&self) -> Result<ReadGuard<'_>, Closed> {
        self.usable()?;
        Ok(ReadGuard(self.inner().current.load()))
    }

    /// Begins a transaction that reads the newest version.
    ///
    /// # Errors
    /// [`CommitError::ReadOnly`] and [`CommitError::Closed`].
    pub fn begin(&self) -> Result<Transaction, CommitError> {
        self.begin_with(TransactionOptions::default())
    }

    /// Begins a transaction of another isolation, or with a deadline.
    ///
    /// # Errors
    /// Those of [`Store::begin`].
    pub fn begin_with(&self, options: TransactionOptions) -> Result<Transaction, CommitError> {
        self.writable()?;
        let (version, pin) = self.inner().writers.begin(|| self.inner().current.load_full());
        Ok(Transaction::new(self.clone(), version, Some(pin), options))
    }

    fn writable(&self) -> Result<(), CommitError> {
        if self.is_read_only() {
            return Err(CommitError::ReadOnly);
        }
        Ok(self.usable()?)
    }

    /// Runs `run` in a transaction and commits it; after a conflict waits a moment, longer each time ([`conflict_backoff`]),
    /// and runs it again, at most `retries` times. Where dozens of threads change the same thing, 32 are enough.
    ///
    /// # Errors
    /// What `run` fails with; [`CommitError::Conflict`] if the last retry conflicts too.
    ///
    /// ```
    /// # use evergraph_store::{CommitError, Options, Store};
    /// let store = Store::in_memory(Options::default());
    /// let is_new = store.transact(8, |tx| {
    ///     let is_new = !tx.has_vertex("alice");
    ///     tx.put_vertex("alice", Some("Person"), &[])?;
    ///     Ok::<_, CommitError>(is_new)
    /// })?;
    /// assert!(is_new);
    /// # Ok::<(), CommitError>(())
    /// ```
    pub fn transact<T, E: From<CommitError>>(
        &self,
        retries: u32,
        run: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<T, E> {
        self.transact_with(TransactionOptions::default(), retries, run)
    }

    /// [`Store::transact`] with transactions of another isolation, or with a deadline each; no wait between them is longer.
    ///
    /// # Errors
    /// Those of [`Store::transact`].
    pub fn transact_with<T, E: From<CommitError>>(
        &self,
        options: TransactionOptions,
        retries: u32,
        mut run: impl FnMut(&mut Transaction) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut tried = 0;
        loop {
            let began = Instant::now();
            let mut transaction = self.begin_with(options)?;
            let value = run(&mut transaction)?;
            match transaction.commit() {
                Ok(_) => return Ok(value),
                Err(CommitError::Conflict { .. }) if tried < retries => {
                    let wait = conflict_backoff(tried, began.elapsed());
                    std::thread::sleep(options.timeout.map_or(wait, |timeout| wait.min(timeout)));
                    tried += 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// [`Transaction::put_vertex`] as a transaction of its own. It never conflicts.
    ///
    /// # Errors
    /// All of [`CommitError`] but the conflict.
    pub fn put_vertex<'k>(
        &self,
        key: impl Into<KeyRef<'k>>,
        vertex_type: Option<&str>,
        properties: &[(&str, Value)],
    ) -> Result<Sequence, CommitError> {
        let key = key.into();
        self.commit_blind(|transaction| Ok(transaction.put_vertex(key, vertex_type, properties)?))
    }

    /// [`Transaction::put_edge`] as a transaction of its own. It never conflicts.
    ///
    /// # Errors
    /// All of [`CommitError`] but the conflict.
    pub fn put_edge<'s, 'd>(
        &self,
        src: impl Into<KeyRef<'s>>,
        dst: impl Into<KeyRef<'d>>,
        edge_type: &str,
        properties: &[(&str, Value)],
    ) -> Result<Sequence, CommitError> {
        let (src, dst) = (src.into(), dst.into());
        self.commit_blind(|transaction| Ok(transaction.put_edge(src, dst, edge_type, properties)?))
    }

    /// [`Transaction::delete_vertex`] as a transaction of its own.
    ///
    /// # Errors
    /// Those of [`CommitError`].
    pub fn delete_vertex<'k>(&self, key: impl Into<KeyRef<'k>>) -> Result<bool, CommitError> {
        let key = key.into();
        self.transact(OWN_RETRIES, |transaction| Ok(transaction.delete_vertex(key)?))
    }

    /// [`Transaction::delete_edge`] as a transaction of its own.
    ///
    /// # Errors
    /// Those of [`CommitError`].
    pub fn delete_edge<'s, 'd>(
        &self,
        src: impl Into<KeyRef<'s>>,
        dst: impl Into<KeyRef<'d>>,
        edge_type: &str,
    ) -> Result<bool, CommitError> {
        let (src, dst) = (src.into(), dst.into());
        self.transact(OWN_RETRIES, |transaction| Ok(transaction.delete_edge(src, dst, edge_type)?))
    }

    /// Declares an edge type. It is no error if it exists with the same options.
    ///
    /// # Errors
    /// [`CommitError::Schema`] if it exists with others or a name is not usable.
    pub fn create_edge_type(&self, name: &str, options: EdgeTypeOptions) -> Result<(), CommitError> {
        self.transact(OWN_RETRIES, |transaction| Ok(transaction.create_edge_type(name, options.clone())?))
    }

    /// Declares a vertex type and properties of vertices. It is no error if they exist with the same types.
    ///
    /// # Errors
    /// [`CommitError::Schema`] if a property exists with another type or a name is not usable.
    pub fn create_vertex_type(
        &self,
        name: &str,
        properties: &[(&str, PropertyType)],
    ) -> Result<(), CommitError> {
        self.transact(OWN_RETRIES, |transaction| Ok(transaction.create_vertex_type(name, properties)?))
    }

    /// [`Transaction::alter`] as a transaction of its own.
    ///
    /// # Errors
    /// [`CommitError::Schema`] if there is nothing of the name, or something of the new name.
    pub fn alter(&self, alteration: &Alteration) -> Result<(), CommitError> {
        self.transact(OWN_RETRIES, |transaction| Ok(transaction.alter(alteration)?))
    }

    /// Adds edges of one type as one transaction, which conflicts with nothing. The parts have the same columns.
    /// Unknown vertices, an unknown type and unknown properties are created. Others commit while as many edges as
    /// [`Options::bulk_edges`] are added, and what they write counts as later.
    ///
    /// # Errors
    /// All of [`CommitError`] but the conflict; then nothing is added.
    pub fn add_edges(&self, edge_type: &str, parts: Vec<EdgeBatch>) -> Result<BatchSummary, CommitError> {
        self.unwatched().add_edges(edge_type, parts)
    }

    /// [`Store::add_edges`], with an edge type that is made by the same transaction if there is none. One that is there
    /// must behave like it; its properties may be others.
    ///
    /// # Errors
    /// Those of [`Store::add_edges`], and [`SchemaError::TypeExists`](evergraph_types::SchemaError::TypeExists); then
    /// nothing is added, and no type is made.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// # use evergraph_types::{Alteration, EdgeBatch, EdgeTypeOptions, KeyColumn};
    /// let store = Store::in_memory(Options::default());
    /// let multi = EdgeTypeOptions { multi: true, ..EdgeTypeOptions::default() };
    /// let keys = |keys: &[i64]| KeyColumn::Int(keys.to_vec());
    /// let twice = EdgeBatch { src: keys(&[1, 1]), dst: keys(&[2, 2]), columns: Vec::new() };
    /// assert_eq!(store.add_edges_as("pays", multi, vec![twice.clone()])?.edges, 2);
    /// assert!(store.add_edges_as("pays", EdgeTypeOptions::default(), vec![twice]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_edges_as(
        &self,
        edge_type: &str,
        options: EdgeTypeOptions,
        parts: Vec<EdgeBatch>,
    ) -> Result<BatchSummary, CommitError> {
        self.unwatched().add_edges_as(edge_type, options, parts)
    }

    /// Begins to add edges that come in pieces, as one transaction. On a store with a memory limit they wait in a file, so
    /// that they may be more than memory holds. `create` says how the edge type is made if there is none; one that is
    /// there must behave like it.
    pub fn bulk_load(&self, edge_type: &str, create: Option<EdgeTypeOptions>) -> BulkLoad {
        BulkLoad::new(self.clone(), edge_type, create)
    }

    /// Deletes the edges of one type between these ends as one transaction, which conflicts with nothing. Edges
    /// that are not there are passed over; columns are not looked at.
    ///
    /// # Errors
    /// All of [`CommitError`] but the conflict; then nothing is deleted.
    pub fn delete_edges(&self, edge_type: &str, parts: Vec<EdgeBatch>) -> Result<BatchSummary, CommitError> {
        self.unwatched().delete_edges(edge_type, parts)
    }

    /// Archives what is in memory only, so that the log can be trimmed. In a store in memory, lists that commits have
    /// scattered are brought together instead. A store does either by itself in time.
    ///
    /// # Errors
    /// [`CommitError::Durability`] if the disk refuses, [`CommitError::Closed`], [`CommitError::ReadOnly`].
    pub fn checkpoint(&self) -> Result<(), CommitError> {
        self.unwatched().checkpoint()
    }

    /// Archives everything into one segment, each list in one piece. In a store in memory the lists are brought together
    /// where they are, range by range of vertices, so that little room is taken beside theirs.
    ///
    /// # Errors
    /// Those of [`Store::checkpoint`].
    pub fn compact(&self) -> Result<(), CommitError> {
        self.unwatched().compact()
    }

    /// Writes the newest version to a new store in a directory, durably, while commits go on here; gives the commit it
    /// is the state after. It takes the time to write everything once, and gives a compact store; a store in memory is
    /// saved to disk this way.
    ///
    /// # Errors
    /// Those of [`BackupError`]. What was written until then is no store and can be removed.
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<Sequence, BackupError> {
        self.unwatched().backup(directory)
    }

    /// Tells the system how the segments there are now will be read. It is a hint: results do not depend on it.
    pub fn advise(&self, access: Access) {
        self.inner().current.load().segments.iter().for_each(|segment| segment.advise(access));
    }

    /// What the store holds and takes up. Once it is settled, the calling thread gives back what others have freed of its memory,
    /// such as batches it made, as the store's own threads do by themselves: nobody can do it for another.
    pub fn stats(&self) -> Stats {
        Stats::of(self.inner())
    }

    /// Waits for commits under way, syncs and gives the lock back. Archives give up, and so do large loads and those that wait for
    /// their turn, with [`CommitError::Closed`]: nothing of them is in the store. One at its end, and one that is in the log in parts,
    /// since history is kept or somebody follows it, is waited for. Snapshots stay usable, and what can be told
    /// without the files ([`Store::stats`], [`Store::retained`], [`Store::cursors`]) is what it was; everything else gives an
    /// error from then on. Closing twice is no error, and closing it in a process forked from the one that opened it does nothing.
    ///
    /// # Errors
    /// [`CommitError::Durability`] if the last sync fails.
    pub fn close(&self) -> Result<(), CommitError> {
        self.inner().close()
    }

    /// The kind of keys the store was opened for, if the caller said so: that of a new store, whose first key has yet to come.
    ///
    /// ```
    /// use evergraph_store::{Options, Store};
    /// use evergraph_types::KeyKind;
    ///
    /// let store = Store::in_memory(Options { keys: Some(KeyKind::Dense), ..Options::default() });
    /// assert_eq!(store.wanted_key_kind(), Some(KeyKind::Dense));
    /// ```
    pub fn wanted_key_kind(&self) -> Option<KeyKind> {
        self.inner().options.keys
    }

    /// Whether only what was declared may be used.
    pub fn is_strict(&self) -> bool {
        self.inner().options.strict
    }

    pub(crate) fn commit_writes(
        &self,
        writes: Box<Writes>,
        reads: Option<Box<Mutex<Reads>>>,
    ) -> Result<Sequence, CommitError> {
        self.inner().submit(Request::Writes(writes, reads)).map(|summary| summary.sequence)
    }

    fn commit_blind(
        &self,
        run: impl Fn(&mut Transaction) -> Result<(), CommitError>,
    ) -> Result<Sequence, CommitError> {
        let mut left = OWN_RETRIES;
        loop {
            self.writable()?;
            // What nothing is compared with needs no pin.
            let version = self.inner().current.load_full();
            let mut transaction =
                Transaction::new(self.clone(), version, None, TransactionOptions::default());
            run(&mut transaction)?;
            match transaction.commit() {
                // Only the schema can conflict, and a vertex that was gone and whose key lost its id meanwhile.
                Err(CommitError::Conflict { .. }) if left > 0 => left -= 1,
                outcome => return outcome,
            }
        }
    }

    pub(crate) fn commit_batch(
        &self,
        batch: BatchWrites,
        progress: Option<&dyn Progress>,
    ) -> Result<BatchSummary, CommitError> {
        self.usable()?;
        let (inner, total) = (self.inner(), Some(STEPS_PER_ROW * batch.rows() as u64));
        if progress.is_some_and(|progress| progress.update(0, total).is_break()) {
            return Err(CommitError::Cancelled);
        }
        match inner.is_bulk(&batch) {
            true => Watch::until_closed(inner).ask(progress, total, |watch| commit_bulk(inner, batch, watch)),
            false => inner.submit(Request::Batch(Box::new(batch.unstaged()?))),
        }
    }
}

/// How long to wait after a conflict before trying again, given the number of tries before and how long this one took,
/// from its beginning to the answer: nothing at first, then a random part of a span that begins with that time and doubles
/// with each try. So those who got in each other's way come to be as far apart as their commits are long, on a slow disk
/// too. It is less than two seconds. [`Store::transact`] waits so by itself.
///
/// ```
/// use std::time::Duration;
///
/// let tried = |times| evergraph_store::conflict_backoff(times, Duration::from_millis(1));
/// assert_eq!(tried(0), Duration::ZERO);
/// assert!(tried(3) < Duration::from_millis(8) && tried(1000) < Duration::from_secs(2));
/// ```
pub fn conflict_backoff(tried: u32, took: Duration) -> Duration {
    // Of so many that contend, one gets through with each commit, so that no span need be longer.
    let span = took.saturating_mul(1 << tried.min(8)).clamp(BACKOFF_MIN, BACKOFF_MAX);
    let random = RandomState::new().hash_one(tried);
    if tried == 0 { Duration::ZERO } else { Duration::from_nanos(random % span.as_nanos() as u64) }
}

impl Inner {
    /// A store whose newest version is `version`.
    pub(crate) fn new(
        version: Version,
        recycler: Recycler,
        log: Option<evergraph_log::Log>,
        home: Option<Home>,
        cursors: Cursors,
        options: Options,
    ) -> Self {
        let archived = home.as_ref().map_or_else(Written::default, |home| Written {
            logged_bytes: 0,
            heap_bytes: home.heap_bytes.load(Ordering::Relaxed) as u64,
        });
        let replayed = |home: &Home| {
            log.as_ref().map_or(0, |log| log.bytes_after(home.archived_sequence.load(Ordering::Relaxed)))
        };
        let logged_bytes = home.as_ref().map_or(0, replayed);
        let last_pass = Mutex::new((recycler.last_pass(), version.time_micros));
        let mut resolver = Resolver::of(&version, options.keys);
        resolver.recycler = recycler;
        let committer = Committer {
            resolver,
            recent: RecentChanges::default(),
            log,
            place: home.as_ref().map(Home::log_place),
            durability: options.durability,
            sequence: version.sequence,
            time_micros: version.time_micros,
            logged_bytes,
            archived,
            unpublished: Vec::new(),
            // Of what was archived, it is not known when it was changed.
            deleted_by_batch: version.sequence,
            branch: None,
            refusal: options.read_only.then_some(Refusal::ReadOnly),
        };
        let follow = Follow::new(version.sequence);
        let retain = home.as_ref().map_or(Retain::Nothing, |home| home.archive.lock().manifest.retain);
        Inner {
            reclaimer: version.reclaimer.clone(),
            current: Current::new(version),
            writers: Writers::default(),
            queue: CommitQueue::default(),
            committer: Stages::new(committer),
            branch_moved: Condvar::new(),
            options,
            home,
            gathering: Mutex::default(),
            gathered_bytes: AtomicU64::new(0),
            given_back_bytes: AtomicU64::new(0),
            retain,
            last_pass,
            history: Mutex::default(),
            pasts: Mutex::default(),
            follow,
            cursors,
            is_closed: AtomicBool::new(false),
            process: Process::here(),
            signal: Arc::default(),
            memory: GivenBack::default(),
        }
    }

    /// Whether commits must be in the log though segments hold what they did.
    pub(crate) fn is_log_kept(&self) -> bool {
        self.retain != Retain::Nothing || self.cursors.floor().is_some()
    }

    /// Whether others commit beside a batch: one that memory does not hold, and one of many edges unless the log is kept.
    fn is_bulk(&self, batch: &BatchWrites) -> bool {
        let is_spilled =
            self.is_in_pieces(batch) && self.home.as_ref().is_some_and(|home| !home.is_in_memory);
        is_spilled || batch.rows() >= self.options.bulk_edges && !self.is_log_kept()
    }

    /// Whether such a batch is taken piece by piece.
    pub(crate) fn is_in_pieces(&self, batch: &BatchWrites) -> bool {
        self.home.is_some() && batch.is_large(self.options.memory_limit_bytes)
    }

    /// The committer, when no load is under way, unless whoever asks is told to stop before.
    pub(crate) fn committer_without_load(&self, watch: &Watch<'_>) -> Result<AllStages<'_>, CommitError> {
        loop {
            let mut committer = self.committer.enter();
            let is_waited_for = |committer: &mut Committer| committer.branch.is_some();
            if !self.branch_moved.wait_while_for(&mut committer, is_waited_for, TURN).timed_out() {
                return Ok(self.committer.all(committer));
            }
            drop(committer);
            watch.check()?;
        }
    }

    /// Whether it may be used.
    #[inline]
    pub(crate) fn usable(&self) -> Result<(), Closed> {
        if !self.process.is_here() {
            Err(Closed::Forked)
        } else if self.is_closed.load(Ordering::Acquire) {
            Err(Closed::Ended)
        } else {
            Ok(())
        }
    }

    pub(crate) fn close(&self) -> Result<(), CommitError> {
        if !self.process.is_here() {
            return Ok(());
        }
        self.commit_handed_in();
        // Whoever archives or loads gives up.
        self.is_closed.store(true, Ordering::Release);
        let mut archive = self.home.as_ref().map(|home| home.archive.lock());
        let mut committer = self.committer.lock();
        if matches!(committer.refusal, Some(Refusal::Closed)) {
            return Ok(());
        }
        let failed = matches!(committer.refusal, Some(Refusal::Failed(_)));
        committer.refusal = Some(Refusal::Closed);
        self.signal.stop();
        self.follow.end();
        let log = committer.log.take();
        let outcome = match log {
            // A failed log has told its error to whoever committed, and a sync of it would prove nothing.
            Some(log) if !failed => {
                let newest = log.last_sequence();
                let closed = log.close().map_err(CommitError::durability);
                if let (Ok(()), Some(home), Some(archived)) = (&closed, &self.home, &mut archive) {
                    archived.manifest.note_logged(&*home.disk, &home.directory, newest);
                }
                closed
            }
            _ => Ok(()),
        };
        drop((committer, archive));
        self.signal.join();
        self.history.lock().shrink(0, 0);
        if let Some(home) = &self.home {
            home.lock.lock().take();
        }
        outcome
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.inner.process.is_here() {
            // Its files and locks are the parent's, which has them open still: nothing of it ends here.
            std::mem::forget(self.inner.clone());
        } else if let Err(error) = self.inner.close() {
            tracing::error!(%error, "the last sync of a store failed");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.memory.is_wanted = self.has_taken_much(0);
        // From here on only snapshots keep the version alive.
        let empty = Version::empty(Schema::default(), Dictionary::dense());
        take_unread(&mut vec![self.current.swap(Arc::new(empty))], Version::release);
    }
}
