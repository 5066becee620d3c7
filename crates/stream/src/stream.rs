//! Streams: the commits of a store in batches of edges, pulled by whoever reads them, with the state they lead to.
//!
//! ```text
//!  pull ─► acknowledge the batch before ─► commits, until there are enough edges, or no more for now ─► Batch
//!                                                                           stateful: and the version there
//! ```
//!
//! Invariant: a batch holds whole commits, all of them in order, and the next batch goes on where it ends.

use std::time::{Duration, Instant};

use evergraph_store::{At, ChangeOptions, ChangeReader, ChangesError, Commit, EdgeOps, HistoryError, Store};
use evergraph_types::{Column, EdgeTypeId, Sequence, VertexId};
use evergraph_view::{ListedEdges, Snapshot};

use crate::StreamError;

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
    /// Vertices put or deleted, and the ends of all these edges, ascending.
    pub changed_vertices: Vec<VertexId>,
    /// The state after the batch, of a stateful stream.
    pub snapshot: Option<Snapshot>,
    /// A later state, which tells all keys and names.
    pub names: Snapshot,
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
}

/// A batch while it is gathered.
#[derive(Default)]
struct Gathered {
    edges: Vec<ListedEdges>,
    deleted: Vec<ListedEdges>,
    vertices: Vec<VertexId>,
    rows: usize,
    time_micros: i64,
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
        let schema = store.version()?.schema().clone();
        for name in options.edge_types.iter().flatten() {
            schema.require_edge_type(name)?;
        }
        let (after, name) = (options.after, options.name.clone());
        let reader = store.changes(ChangeOptions { after, name })?;
        Ok(Stream { store: store.clone(), reader, options })
    }

    /// The next batch, waiting for one at most so long; `None` if none came. What was given out before counts as dealt
    /// with and is acknowledged.
    ///
    /// # Errors
    /// [`StreamError::Changes`], [`StreamError::History`]; the stream is where it was then.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Batch>, StreamError> {
        self.acknowledge()?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if !self.reader.wait(left) {
                self.store.version().map_err(|_| ChangesError::Closed)?;
                return Ok(None);
            }
            if let Some(batch) = self.gather()? {
                return Ok(Some(batch));
            }
        }
    }

    /// Says that what was given out has been dealt with: a stream of this name goes on after it, whatever happens.
    ///
    /// # Errors
    /// Those of [`ChangeReader::acknowledge`].
    pub fn acknowledge(&mut self) -> Result<(), StreamError> {
        Ok(self.reader.acknowledge(self.reader.position())?)
    }

    /// The last commit given out.
    pub fn position(&self) -> Sequence {
        self.reader.position()
    }

    /// A batch of what there is; `None` if none of it is of interest.
    fn gather(&mut self) -> Result<Option<Batch>, StreamError> {
        let after = self.reader.position();
        let head = self.store.version().map_err(|_| ChangesError::Closed)?;
        // A stateful batch goes no further than a version that is there.
        let through = if self.options.is_stateful { head.sequence() } else { Sequence::MAX };
        let until = self.options.every.map(|every| Instant::now() + every);
        let wanted: Option<Vec<EdgeTypeId>> = self.wanted(&head);
        let mut gathered = Gathered::default();
        let mut snapshot = None;
        loop {
            while gathered.rows < self.options.batch_size || self.options.is_stateful {
                let full = gathered.rows >= self.options.batch_size;
                if full && self.state_here(&mut snapshot)? {
                    break;
                }
                let Some(commit) = self.reader.next_through(through)? else { break };
                gathered.take(commit, wanted.as_deref());
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let is_full = gathered.rows >= self.options.batch_size;
            match left.filter(|left| !left.is_zero() && !is_full && self.reader.position() < through) {
                Some(left) if self.reader.wait(Some(left)) => {}
                _ => break,
            }
        }
        if self.options.is_stateful && snapshot.is_none() {
            snapshot = self.state_at_end(&head, &mut gathered, wanted.as_deref())?;
        }
        if gathered.rows == 0 && gathered.vertices.is_empty() {
            return Ok(None);
        }
        let names = Snapshot::new(self.reader.version());
        let names = self.select(names)?;
        gathered.vertices.sort_unstable();
        gathered.vertices.dedup();
        Ok(Some(Batch {
            after,
            version: self.reader.position(),
            time_micros: gathered.time_micros,
            edges: gathered.edges,
            deleted: gathered.deleted,
            changed_vertices: gathered.vertices,
            snapshot: snapshot.map(|state| self.select(state)).transpose()?,
            names,
        }))
    }

    /// Whether the version after the last commit read can be had; behind the newest one that takes history.
    fn state_here(&self, snapshot: &mut Option<Snapshot>) -> Result<bool, StreamError> {
        match self.store.version_at(At::Commit(self.reader.position())) {
            Ok(version) => *snapshot = Some(Snapshot::new(version)),
            Err(HistoryError::NotRetained { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// The state at the end of a batch: reads on to the version that was the newest when it began, unless the state
    /// here can be had.
    fn state_at_end(
        &mut self,
        head: &std::sync::Arc<evergraph_store::Version>,
        gathered: &mut Gathered,
        wanted: Option<&[EdgeTypeId]>,
    ) -> Result<Option<Snapshot>, StreamError> {
        let mut snapshot = None;
        while self.reader.position() < head.sequence() {
            if self.state_here(&mut snapshot)? {
                return Ok(snapshot);
            }
            match self.reader.next_through(head.sequence())? {
                Some(commit) => gathered.take(commit, wanted),
                // With durability="interval" the rest is not synced yet.
                None => drop(self.reader.wait(Some(UNTIL_SAFE))),
            }
        }
        Ok(Some(Snapshot::new(head.clone())))
    }

    fn wanted(&self, version: &evergraph_store::Version) -> Option<Vec<EdgeTypeId>> {
        let names = self.options.edge_types.as_ref()?;
        Some(names.iter().filter_map(|name| Some(version.schema().edge_type(name)?.0)).collect())
    }

    fn select(&self, snapshot: Snapshot) -> Result<Snapshot, StreamError> {
        let Some(names) = &self.options.edge_types else { return Ok(snapshot) };
        // A version of the past may not have the type yet.
        let known = |name: &&String| snapshot.schema().edge_type(name).is_some();
        let names: Vec<&str> = names.iter().filter(known).map(String::as_str).collect();
        Ok(snapshot.with_edge_types(&names)?)
    }
}

impl Gathered {
    fn take(&mut self, commit: Commit, wanted: Option<&[EdgeTypeId]>) {
        let Commit { sequence, time_micros, writes } = commit;
        self.time_micros = time_micros;
        self.vertices.extend(writes.vertex_deletes);
        self.vertices.extend(writes.vertex_puts.iter().map(|put| put.vertex));
        for (edge_type, ops) in writes.edges {
            if wanted.is_some_and(|wanted| !wanted.contains(&edge_type)) {
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
