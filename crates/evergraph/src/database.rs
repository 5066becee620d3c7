//! The database: a store, and what is done with it that the store itself knows nothing of.

use std::ops::Deref;
use std::path::Path;

use evergraph_load::Progress;
use evergraph_store::{At, Closed, CommitError, HistoryError, OpenError, Options, Store};
use evergraph_stream::{Follower, Stream, StreamError, StreamOptions, Window, WindowError, WindowOptions};
use evergraph_view::Snapshot;
use evergraph_views::Views;

use crate::loading::{DatabaseLoadError, LoadReport, LoadRequest, load};

/// An open database. Clones are handles to the same one; when the last is dropped, it closes.
///
/// All methods of [`Store`] are its own: transactions, bulk writes, schema, statistics, maintenance.
///
/// ```
/// use evergraph::{Database, Options};
///
/// let db = Database::in_memory(Options::default());
/// db.put_edge("alice", "bob", "knows", &[])?;
/// assert_eq!(db.snapshot()?.neighbors("alice", evergraph::Direction::Out, None), Some(vec!["bob".into()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Database {
    store: Store,
    views: Views,
}

impl Database {
    /// Opens the database in a directory; creates it if there is none, unless the options say `read_only`.
    ///
    /// # Errors
    /// Those of [`Store::open`]; nothing is changed then.
    ///
    /// ```
    /// use evergraph::{Database, Durability, Options};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("net.eg");
    /// let db = Database::open(&path, Options { durability: Durability::Interval, ..Options::default() })?;
    /// db.put_vertex("alice", None, &[("age", 30.into())])?;
    /// db.close()?;
    ///
    /// let again = Database::open(&path, Options { read_only: true, ..Options::default() })?;
    /// assert!(again.snapshot()?.vertex("alice").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        Store::open(path, options).map(Self::from)
    }

    /// A new database that lives in memory only.
    ///
    /// ```
    /// use evergraph::{Database, Options};
    ///
    /// let db = Database::in_memory(Options::default());
    /// assert_eq!(db.path(), None);
    /// ```
    pub fn in_memory(options: Options) -> Self {
        Self::from(Store::in_memory(options))
    }

    /// The newest version, with all edge types. Takes well under a microsecond, whatever the size.
    ///
    /// # Errors
    /// [`Closed`] after [`Store::close`]. Snapshots taken before stay usable.
    ///
    /// ```
    /// use evergraph::{Database, GraphView, Options};
    ///
    /// let db = Database::in_memory(Options::default());
    /// db.put_edge(1, 2, "edge", &[])?;
    /// let before = db.snapshot()?;
    /// db.put_edge(2, 3, "edge", &[])?;
    /// assert_eq!((before.num_edges(), db.snapshot()?.num_edges()), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&self) -> Result<Snapshot, Closed> {
        self.store.version().map(Snapshot::new)
    }

    /// The graph after a commit, or at a time; how far back that goes, [`Options::retain`] says.
    ///
    /// # Errors
    /// Those of [`Store::version_at`].
    ///
    /// ```
    /// use evergraph::{At, Database, GraphView, Options, Retain};
    ///
    /// let db = Database::in_memory(Options { retain: Some(Retain::Commits(100)), ..Options::default() });
    /// let first = db.put_edge(1, 2, "edge", &[])?;
    /// db.delete_edge(1, 2, "edge")?;
    /// assert_eq!(db.snapshot_at(At::Commit(first))?.num_edges(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot_at(&self, at: At) -> Result<Snapshot, HistoryError> {
        self.store.version_at(at).map(Snapshot::new)
    }

    /// Follows the commits in batches of edges; see [`StreamOptions`].
    ///
    /// # Errors
    /// Those of [`Stream::new`].
    ///
    /// ```
    /// use evergraph::{Database, Options, StreamOptions};
    ///
    /// let db = Database::in_memory(Options::default());
    /// let mut stream = db.stream(StreamOptions::default())?;
    /// db.put_edge("alice", "bob", "pays", &[("amount", 10.0.into())])?;
    /// let batch = stream.next(None)?.ok_or("closed")?;
    /// let table = batch.names.listed_edges(&batch.edges);
    /// assert_eq!((table.num_rows(), table.num_columns()), (1, 5)); // src, dst, amount, version, time
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(&self, options: StreamOptions) -> Result<Stream, StreamError> {
        Stream::new(&self.store, options)
    }

    /// Adds the edges of a text file, compressed or not, as one transaction. Unknown vertices, an unknown edge type and
    /// unknown properties are created. What the file leaves open is read as the store has it: keys of its kind,
    /// properties of their types.
    ///
    /// # Errors
    /// [`DatabaseLoadError::Read`] if the file cannot be read, with the line; [`DatabaseLoadError::Commit`] if its
    /// edges cannot be added. Nothing is added then, and neither if `progress` says stop: [`LoadError::Cancelled`](crate::LoadError::Cancelled) while the file is
    /// read, [`CommitError::Cancelled`](crate::CommitError::Cancelled) after that. What it hears are bytes of the file, each of which counts when it is read and
    /// when it is committed, and once more if types have to be found out before.
    ///
    /// ```
    /// use evergraph::load::NoProgress;
    /// use evergraph::{Database, LoadRequest, Options};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("payments.csv");
    /// std::fs::write(&path, "src,dst,amount\nalice,bob,10\nbob,carol,2.5\n")?;
    /// let db = Database::in_memory(Options::default());
    /// let request = LoadRequest { edge_type: "pays".to_owned(), ..LoadRequest::default() };
    /// let report = db.load(&path, &request, &NoProgress)?;
    /// assert_eq!((report.edges, report.vertices, report.lines), (2, 3, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(
        &self,
        path: impl AsRef<Path>,
        request: &LoadRequest,
        progress: &dyn Progress,
    ) -> Result<LoadReport, DatabaseLoadError> {
        load(&self.store, path.as_ref(), request, progress)
    }

    /// A sliding window over the edges of one type, in memory; empty until it is advanced. Any number of them may be open.
    ///
    /// # Errors
    /// Those of [`Window::new`].
    ///
    /// ```
    /// use evergraph::{Database, GraphView, Options, Span, WindowOptions};
    ///
    /// let db = Database::in_memory(Options::default());
    /// db.create_edge_type("login", Default::default())?;
    /// let mut window = db.window(WindowOptions::new(Span::Edges(1000)))?;
    /// db.put_edge("alice", "host1", "login", &[])?;
    /// window.advance()?;
    /// assert_eq!(window.latest()?.num_edges(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn window(&self, options: WindowOptions) -> Result<Window, WindowError> {
        Window::new(&self.store, options)
    }

    /// Follows the edges of one type, or of all, from now on: gives the changes that
    /// [`algorithms::incremental`](crate::algorithms::incremental) takes.
    ///
    /// # Errors
    /// Those of [`Follower::new`].
    ///
    /// ```
    /// use evergraph::algorithms::{Control, incremental::IncrementalComponents};
    /// use evergraph::{Database, Options};
    ///
    /// let db = Database::in_memory(Options::default());
    /// db.put_edge(1, 2, "edge", &[])?;
    /// let mut follower = db.follow(Some("edge"))?;
    /// let mut components = IncrementalComponents::new(follower.snapshot(), &Control::new())?;
    /// db.put_edge(2, 3, "edge", &[])?;
    /// let followed = follower.advance()?;
    /// components.update(&followed.after, &followed.changes)?;
    /// assert_eq!(components.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn follow(&self, edge_type: Option<&str>) -> Result<Follower, WindowError> {
        Follower::new(&self.store, edge_type)
    }

    /// The named views of the database.
    ///
    /// ```
    /// use evergraph::algorithms::{Control, connected_components};
    /// use evergraph::{Database, GraphView, Options, ViewRequest};
    ///
    /// let db = Database::in_memory(Options::default());
    /// db.put_vertex("alice", None, &[("age", 41.into())])?;
    /// db.put_vertex("bob", None, &[("age", 12.into())])?;
    /// db.put_edge("alice", "bob", "knows", &[])?;
    /// let adults = ViewRequest { vertices_where: Some("age >= 18".to_owned()), ..ViewRequest::default() };
    /// let adults = db.views().create("adults", &adults)?;
    /// let part = adults.at(&db.snapshot()?)?.snapshot();
    /// assert_eq!((part.num_vertices(), part.num_edges()), (1, 0));
    /// assert_eq!(connected_components(&part, &Control::new())?.count, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn views(&self) -> &Views {
        &self.views
    }

    /// Ends the handlers of views, writes down how far they have come, and closes the store, as [`Store::close`] does.
    ///
    /// # Errors
    /// Those of [`Store::close`].
    ///
    /// ```
    /// use evergraph::{Database, Options};
    ///
    /// let db = Database::in_memory(Options::default());
    /// db.close()?;
    /// assert!(db.snapshot().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) -> Result<(), CommitError> {
        self.views.stop_handlers();
        self.store.close()
    }

    /// The store below.
    ///
    /// ```
    /// use evergraph::{Database, Options, Store};
    ///
    /// let db = Database::in_memory(Options::default());
    /// let store: &Store = db.store();
    /// assert!(!store.is_read_only());
    /// ```
    pub fn store(&self) -> &Store {
        &self.store
    }
}

impl From<Store> for Database {
    fn from(store: Store) -> Self {
        Database { views: Views::new(store.clone()), store }
    }
}

impl Deref for Database {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}
