//! Streams: the commits of a store in batches of edges, pulled by whoever reads them, with the state they lead to.
//!
//! ```text
//!  pull ─► acknowledge the batch before ─► commits, until there are enough edges, or no more for now ─► Batch
//!                                                                           stateful: and the version there
//! ```
//!
//! Invariant: a batch holds whole commits, all of them in order, and the next batch goes on where it ends; no commit is
//! acknowledged that was not given out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use evergraph_analytics::incremental::Changes;
use evergraph_store::{At, ChangeOptions, ChangeReader, Commit, EdgeOps, HistoryError, Store, Version};
use evergraph_types::{Column, EdgeType, EdgeTypeId, Schema, Sequence, VertexId};
use evergraph_view::{ListedEdges, Snapshot};

use crate::written::{Written, has_gaps};
use crate::{Pause, StreamError};

/// How long to wait at a time for a commit to become safe to read.
const UNTIL_SAFE: Duration = Duration::from_millis(20);

/// What a stream gives and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// The edge types whose edges it gives; `None` for all.
    pub edge_types: Option<Vec<String>>,
    /// A batch ends with the commit that brings it to so many edges.
    pub batch_size: usize,
    /// A batch waits so long for further commits after its first one; by default it takes those that are there.
    pub every: Option<Duration>,
    /// Whether each batch brings the state at its end.
    pub is_stateful: bool,
    /// It begins after this commit; by default with the next to come.
    pub after: Option<Sequence>,
    /// The name of a durable cursor, see [`ChangeOptions::name`].
    pub name: Option<String>,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions {
            edge_types: None,
            batch_size: 1 << 16,
            every: None,
            is_stateful: false,
            after: None,
            name: None,
        }
    }
}

/// The edges of some commits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Batch {
    /// The last commit of the batch before.
    pub after: Sequence,
    /// Its own last commit.
    pub version: Sequence,
    /// When that was made, in microseconds since 1970-01-01 UTC.
    pub time_micros: i64,
    /// Edges put, by commit and type.
    pub edges: Vec<ListedEdges>,
    /// Edges deleted, those of deleted vertices included, by commit and type.
    pub deleted: Vec<ListedEdges>,
    /// The ends of all these edges, ascending; of a stream of all edge types, also the vertices put or deleted.
    pub changed_vertices: Vec<VertexId>,
    /// The state after the batch, of a stateful stream.
    pub snapshot: Option<Snapshot>,
    /// The state before, where the stream had it: see [`Stream::state`].
    pub before: Option<Snapshot>,
    /// A later state, which tells all keys and names.
    pub names: Snapshot,
    /// What was written beside the edges above.
    beside: Written,
}

impl Batch {
    /// What led from `before` to `snapshot`, for incremental algorithms; `None` unless the batch has both. Made anew
    /// with each call, once for any number of algorithms.
    pub fn changes(&self) -> Option<Changes> {
        let (before, after) = (self.before.as_ref()?, self.snapshot.as_ref()?);
        let mut written = self.beside.clone();
        written.must_look_up |= !self.deleted.is_empty();
        for listed in self.edges.iter().chain(&self.deleted) {
            written.edges.extend(listed.src.iter().copied().zip(listed.dst.iter().copied()));
        }
        written.vertices.extend(&self.changed_vertices);
        Some(written.changes(before, after, false))
    }
}

/// Gives batches of the commits of a store; see [`StreamOptions`].
///
/// ```
/// use evergraph_store::{Options, Store};
/// use evergraph_stream::{Stream, StreamOptions};
///
/// let store = Store::in_memory(Options::default());
/// let mut stream = Stream::new(&store, StreamOptions { is_stateful: true, ..StreamOptions::default() })?;
/// store.put_edge(1, 2, "edge", &[])?;
/// store.put_edge(2, 3, "edge", &[])?;
/// let batch = stream.next(None)?.ok_or("closed")?;
/// assert_eq!((batch.version, batch.names.listed_edges(&batch.edges).num_rows()), (2, 2));
/// assert_eq!(batch.snapshot.map(|state| state.version()), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Stream {
    store: Store,
    reader: ChangeReader,
    options: StreamOptions,
    /// The edge types asked for, under whatever name; `None` for all.
    edge_types: Option<Vec<EdgeTypeId>>,
    /// The last commit of the last batch, or passed over since.
    given: Sequence,
    /// Of a stateful stream, the state that the next batch leads on from, if it could be had. Commits passed over since are
    /// in `gathered.beside`.
    state: Option<Snapshot>,
    /// What the next batch has so far. After an error it is still there, so that no commit is lost.
    gathered: Gathered,
}

/// A batch while it is gathered.
#[derive(Debug, Default)]
struct Gathered {
    edges: Vec<ListedEdges>,
    deleted: Vec<ListedEdges>,
    vertices: Vec<VertexId>,
    rows: usize,
    time_micros: i64,
    /// Until when it waits for further commits, once it has some: `None` inside is for ever.
    until: Option<Option<Instant>>,
    /// Of a stateful stream: what else was written.
    beside: Written,
}

/// What of a commit a stream is for.
struct Interest<'a> {
    edge_types: Option<&'a [EdgeTypeId]>,
    /// Types that are not in it are told no more.
    schema: &'a Schema,
    is_stateful: bool,
    /// Whether an edge of another type may bring a vertex under an old id.
    has_gaps: bool,
}

impl Stream {
    /// Begins a stream.
    ///
    /// # Errors
    /// [`StreamError::Schema`] if there is no such edge type, [`StreamError::BatchSize`], [`StreamError::Changes`].
    pub fn new(store: &Store, options: StreamOptions) -> Result<Self, StreamError> {
        if options.batch_size == 0 {
            return Err(StreamError::BatchSize);
        }
        let version = store.version()?;
        let ids_of = |names: &Vec<String>| -> Result<Vec<EdgeTypeId>, StreamError> {
            names.iter().map(|name| Ok(version.schema().require_edge_type(name)?.0)).collect()
        };
        let edge_types = options.edge_types.as_ref().map(ids_of).transpose()?;
        let begins_now = options.after.is_none() && options.name.is_none();
        let (mut reader, version) = loop {
            let (after, name) = (options.after, options.name.clone());
            let reader = store.changes(ChangeOptions { after, name })?;
            let version = store.version()?;
            // Whoever begins now begins at a version that is there, even if others commit meanwhile.
            if !(begins_now && options.is_stateful && version.sequence() != reader.position()) {
                break (reader, version);
            }
        };
        // A batch is gathered before it gets the version that tells its keys.
        reader.hold_keys();
        let given = reader.position();
        let gathered = Gathered::default();
        let mut stream =
            Stream { store: store.clone(), reader, options, edge_types, given, state: None, gathered };
        if stream.options.is_stateful && version.sequence() == given {
            stream.state = Some(stream.select(Snapshot::new(version)));
        }
        Ok(stream)
    }

    /// Of a stateful stream, the state that the next batch leads on from, for algorithms that follow it from there: that
    /// of the last batch, or of where it began. The stream holds it from then on, with what versions since have replaced.
    ///
    /// # Errors
    /// [`StreamError::Stateless`]; [`StreamError::History`] where a stream began in the past or goes on there, and
    /// that state cannot be had.
    pub fn state(&mut self) -> Result<Snapshot, StreamError> {
        if !self.options.is_stateful {
            return Err(StreamError::Stateless);
        }
        if self.state.is_none() {
            let version = self.store.version_at(At::Commit(self.given))?;
            self.state = Some(self.select(Snapshot::new(version)));
        }
        self.state.clone().ok_or(StreamError::Stateless)
    }

    /// The next batch, as soon as there is one within the time; `None` if none came. One that has begun within the time is
    /// waited for to its end. What was given out before counts as dealt with and is acknowledged.
    ///
    /// # Errors
    /// [`StreamError::Changes`], [`StreamError::History`], [`StreamError::TypesDropped`]. Nothing is lost with one: the
    /// next call goes on where this one was.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Batch>, StreamError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(batch) = self.try_next()? {
                return Ok(Some(batch));
            }
            let mut left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if self.is_gathering() {
                left = None;
            } else if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            self.pause().wait(left);
        }
    }

    /// As [`Stream::next`], without waiting: `None` if there is no batch yet, or one that is still gathered. Then
    /// [`Stream::pause`] waits for more.
    ///
    /// # Errors
    /// Those of [`Stream::next`].
    pub fn try_next(&mut self) -> Result<Option<Batch>, StreamError> {
        self.acknowledge()?;
        while self.reader.position() > self.given || self.reader.wait(Some(Duration::ZERO)) {
            let head = self.store.version()?;
            self.check_types(&head)?;
            let (state, is_full) = self.read_on(&head)?;
            if !is_full && !self.is_time_up() {
                return Ok(None);
            }
            if let Some(batch) = self.batch(state, &head)? {
                return Ok(Some(batch));
            }
        }
        self.store.version()?;
        Ok(None)
    }

    /// Whether commits of the next batch have been read, and it is not given out yet.
    pub fn is_gathering(&self) -> bool {
        self.gathered.until.is_some()
    }

    /// What to wait for before there can be a next batch, without the stream.
    pub fn pause(&self) -> Pause {
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        Pause { waiter: self.reader.waiter(), most: self.gathered.until.flatten().map(left) }
    }

    /// Whether the batch that is gathered waits for no further commits.
    fn is_time_up(&mut self) -> bool {
        let Some(every) = self.options.every else { return true };
        let now = Instant::now();
        let until = *self.gathered.until.get_or_insert_with(|| now.checked_add(every));
        until.is_some_and(|until| until <= now)
    }

    /// Says that what was given out has been dealt with: a stream of this name goes on after it, whatever happens.
    ///
    /// # Errors
    /// Those of [`ChangeReader::acknowledge`].
    pub fn acknowledge(&mut self) -> Result<(), StreamError> {
        Ok(self.reader.acknowledge(self.given)?)
    }

    /// The last commit given out.
    pub fn position(&self) -> Sequence {
        self.given
    }

    /// A batch of what was gathered, with the state there, if it is known; `None` if none of it is of interest.
    fn batch(
        &mut self,
        state: Option<Arc<Version>>,
        head: &Arc<Version>,
    ) -> Result<Option<Batch>, StreamError> {
        if self.gathered.rows == 0 && (self.edge_types.is_some() || self.gathered.vertices.is_empty()) {
            self.pass_over();
            return Ok(None);
        }
        let state = match state {
            None if self.options.is_stateful => Some(self.state_at_end(head)?),
            state => state,
        };
        let snapshot = state.map(|state| self.select(Snapshot::new(state)));
        let before = std::mem::replace(&mut self.state, snapshot.clone());
        let names = self.select(Snapshot::new(self.reader.version()));
        let after = std::mem::replace(&mut self.given, self.reader.position());
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.vertices.sort_unstable();
        gathered.vertices.dedup();
        Ok(Some(Batch {
            after,
            version: self.given,
            time_micros: gathered.time_micros,
            edges: gathered.edges,
            deleted: gathered.deleted,
            changed_vertices: gathered.vertices,
            snapshot,
            before,
            names,
            beside: gathered.beside,
        }))
    }

    /// Leaves commits out in which nothing is of interest, but for what changes the state.
    fn pass_over(&mut self) {
        self.given = self.reader.position();
        let beside = std::mem::take(&mut self.gathered).beside;
        if self.state.is_some() {
            self.gathered.beside = beside;
            self.gathered.beside.vertices.sort_unstable();
            self.gathered.beside.vertices.dedup();
        }
    }

    /// Reads commits until the batch is full, or no more are there: with the state, where the batch ends at one that can
    /// be had, and whether it is full. A stateful batch goes no further than a version that is there.
    fn read_on(&mut self, head: &Arc<Version>) -> Result<(Option<Arc<Version>>, bool), StreamError> {
        let is_stateful = self.options.is_stateful;
        let through = if is_stateful { head.sequence() } else { Sequence::MAX };
        loop {
            let is_full = self.gathered.rows >= self.options.batch_size;
            if is_full {
                let state = if is_stateful { self.state_here()? } else { None };
                if state.is_some() || !is_stateful {
                    return Ok((state, true));
                }
            }
            let Some(commit) = self.reader.next_through(through)? else { return Ok((None, is_full)) };
            self.take(commit, head.schema());
        }
    }

    /// The version after the last commit read, if it can be had; behind the newest one that takes history.
    fn state_here(&self) -> Result<Option<Arc<Version>>, StreamError> {
        match self.store.version_at(At::Commit(self.reader.position())) {
            Ok(version) => Ok(Some(version)),
            Err(HistoryError::NotRetained { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The state at the end of a batch: reads on to the version that was the newest when it began, unless the state
    /// here can be had.
    fn state_at_end(&mut self, head: &Arc<Version>) -> Result<Arc<Version>, StreamError> {
        while self.reader.position() < head.sequence() {
            if let Some(state) = self.state_here()? {
                return Ok(state);
            }
            match self.reader.next_through(head.sequence())? {
                Some(commit) => self.take(commit, head.schema()),
                // With durability="interval" the rest is not synced yet.
                None => drop(self.reader.wait(Some(UNTIL_SAFE))),
            }
        }
        Ok(head.clone())
    }

    fn take(&mut self, commit: Commit, schema: &Schema) {
        let interest = Interest {
            edge_types: self.edge_types.as_deref(),
            schema,
            is_stateful: self.options.is_stateful,
            has_gaps: self.state.as_ref().is_none_or(has_gaps),
        };
        self.gathered.take(commit, &interest);
    }

    /// Of some types, one at least must be left.
    fn check_types(&self, head: &Version) -> Result<(), StreamError> {
        let is_there = |id: &EdgeTypeId| head.schema().live_edge_types().any(|(live, _)| live == *id);
        match &self.edge_types {
            Some(ids) if !ids.is_empty() && !ids.iter().any(is_there) => {
                let names = self.options.edge_types.iter().flatten().cloned().collect();
                Err(StreamError::TypesDropped { names })
            }
            _ => Ok(()),
        }
    }

    /// A snapshot with the edge types asked for, as far as it has them.
    fn select(&self, snapshot: Snapshot) -> Snapshot {
        match &self.edge_types {
            None => snapshot,
            Some(ids) => snapshot.with_edge_type_ids(ids),
        }
    }
}

impl Gathered {
    /// Adds what a commit did.
    fn take(&mut self, commit: Commit, interest: &Interest<'_>) {
        let Commit { sequence, time_micros, writes } = commit;
        self.time_micros = time_micros;
        let wanted = interest.edge_types;
        if wanted.is_none() || interest.is_stateful {
            let vertices = if wanted.is_none() { &mut self.vertices } else { &mut self.beside.vertices };
            vertices.extend(writes.vertex_deletes);
            vertices.extend(writes.vertex_puts.iter().map(|put| put.vertex));
        }
        for (edge_type, ops) in writes.edges {
            let kind = interest.schema.edge_types.get(usize::from(edge_type));
            let is_wanted = wanted.is_none_or(|wanted| wanted.contains(&edge_type));
            if !is_wanted || kind.is_some_and(EdgeType::is_dropped) {
                if interest.is_stateful && interest.has_gaps {
                    self.beside.vertices.extend(ops.src.iter().chain(&ops.dst));
                }
                if interest.is_stateful && is_wanted {
                    // Told no more, but the state here may still have them.
                    self.beside.must_look_up = true;
                    self.beside.edges.extend(ops.src.into_iter().zip(ops.dst));
                }
                continue;
            }
            self.rows += ops.len();
            self.vertices.extend(ops.src.iter().chain(&ops.dst));
            let listed = |ops: EdgeOps| ListedEdges {
                edge_type,
                sequences: vec![sequence; ops.len()],
                times_micros: vec![time_micros; ops.len()],
                columns: ops.columns.into_iter().map(|column| (column.property, column.values)).collect(),
                src: ops.src,
                dst: ops.dst,
            };
            let (puts, deletes) = if ops.deletes.is_none() { (ops, None) } else { parted(&ops) };
            if !puts.is_empty() {
                self.edges.push(listed(puts));
            }
            self.deleted.extend(deletes.map(listed));
        }
    }
}

/// The puts and the deletes of some operations.
fn parted(ops: &EdgeOps) -> (EdgeOps, Option<EdgeOps>) {
    let (mut puts, mut deletes) = (EdgeOps::default(), EdgeOps::default());
    let mut rows = Vec::new();
    for row in 0..ops.len() {
        let side = if ops.is_delete(row) { &mut deletes } else { &mut puts };
        side.src.push(ops.src[row]);
        side.dst.push(ops.dst[row]);
        if !ops.is_delete(row) {
            rows.push(row);
        }
    }
    for column in &ops.columns {
        let mut values = Column::new(column.values.property_type());
        for &row in &rows {
            // The values have the column's own type.
            let _ = values.push(column.values.get(row));
        }
        puts.columns.push(evergraph_store::OpColumn { property: column.property, values, given: None });
    }
    (puts, Some(deletes))
}
