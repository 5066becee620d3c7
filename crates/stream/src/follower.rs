//! The changes of a store, commit after commit, in the form that incremental algorithms take.
//!
//! Invariant: the changes handed out lead from the snapshot before to the snapshot after, exactly.

use std::time::Duration;

use evergraph_analytics::incremental::Changes;
use evergraph_store::{ChangeOptions, ChangeReader, Store, WriteSet};
use evergraph_types::{EdgeType, EdgeTypeId, Sequence};
use evergraph_view::Snapshot;

use crate::WindowError;
use crate::written::{Written, has_gaps};

/// How long to wait at a time for a commit to become safe to read.
const UNTIL_SAFE: Duration = Duration::from_millis(20);

/// Follows the edges of one type of a store, for incremental algorithms.
///
/// ```
/// use evergraph_analytics::Control;
/// use evergraph_analytics::incremental::IncrementalComponents;
/// use evergraph_store::{Options, Store};
/// use evergraph_stream::Follower;
///
/// let store = Store::in_memory(Options::default());
/// store.put_edge(1, 2, "edge", &[])?;
/// let mut follower = Follower::new(&store, Some("edge"))?;
/// let mut components = IncrementalComponents::new(follower.snapshot(), &Control::new())?;
/// store.put_edge(3, 4, "edge", &[])?;
/// store.delete_edge(1, 2, "edge")?;
/// let followed = follower.advance()?;
/// components.update(&followed.after, &followed.changes)?;
/// assert_eq!(components.count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Follower {
    store: Store,
    reader: ChangeReader,
    edge_type: Option<String>,
    takes_repeats: bool,
    snapshot: Snapshot,
}

/// One step of a [`Follower`].
#[derive(Clone, Debug)]
pub struct Followed {
    /// The state that the last step led to.
    pub before: Snapshot,
    /// The state now.
    pub after: Snapshot,
    /// What led from one to the other, in ids.
    pub changes: Changes,
}

impl Follower {
    /// Follows the edges of one type from now on; of all types if none is named, which costs a union of their lists each
    /// step.
    ///
    /// # Errors
    /// [`WindowError::Schema`] if there is no such type; [`WindowError::Changes`], [`WindowError::Closed`].
    pub fn new(store: &Store, edge_type: Option<&str>) -> Result<Self, WindowError> {
        let reader = store.changes(ChangeOptions::default())?;
        let snapshot = selected(Snapshot::new(store.version()?), edge_type)?;
        let edge_type = edge_type.map(str::to_owned);
        let mut follower =
            Follower { store: store.clone(), reader, edge_type, takes_repeats: false, snapshot };
        follower.read_through(follower.snapshot.version(), |_| {})?;
        Ok(follower)
    }

    /// From now on edges that were there may be among those inserted, for algorithms that
    /// [take repeats](evergraph_analytics::incremental::takes_repeats): where edges are put and none deleted, none is looked up.
    pub fn take_repeats(&mut self) {
        self.takes_repeats = true;
    }

    /// The state that the last step led to.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Goes on to the newest state. With `durability="interval"` waits until the log is synced that far.
    ///
    /// # Errors
    /// [`WindowError::Changes`] and [`WindowError::Closed`]; the follower is of no use then.
    pub fn advance(&mut self) -> Result<Followed, WindowError> {
        let after = selected(Snapshot::new(self.store.version()?), self.edge_type.as_deref())?;
        let selected: Vec<bool> = {
            let names = after.edge_types();
            let is_there = |kind: &EdgeType| !kind.is_dropped() && names.contains(&kind.name.as_str());
            after.schema().edge_types.iter().map(is_there).collect()
        };
        let is_selected = |edge_type: EdgeTypeId| selected.get(usize::from(edge_type)) == Some(&true);
        let before = self.snapshot.clone();
        let has_gaps = has_gaps(&before);
        let mut written = Written::default();
        self.read_through(after.version(), |writes| {
            written.vertices.extend(writes.vertex_deletes);
            written.vertices.extend(writes.vertex_puts.iter().map(|put| put.vertex));
            for (edge_type, ops) in writes.edges {
                if has_gaps {
                    written.vertices.extend(ops.src.iter().chain(&ops.dst));
                }
                if is_selected(edge_type) {
                    written.must_look_up |= ops.deletes.is_some();
                    written.edges.extend(ops.src.into_iter().zip(ops.dst));
                }
            }
        })?;
        self.snapshot = after.clone();
        let changes = written.changes(&before, &after, self.takes_repeats);
        Ok(Followed { before, after, changes })
    }

    /// Waits for a commit after the last step; tells whether there is one.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        self.reader.wait(timeout)
    }

    fn read_through(&mut self, last: Sequence, mut visit: impl FnMut(WriteSet)) -> Result<(), WindowError> {
        while self.reader.position() < last {
            match self.reader.next_through(last)? {
                Some(commit) => visit(commit.writes),
                None => {
                    self.reader.wait(Some(UNTIL_SAFE));
                }
            }
        }
        Ok(())
    }
}

fn selected(snapshot: Snapshot, edge_type: Option<&str>) -> Result<Snapshot, WindowError> {
    match edge_type {
        Some(name) => Ok(snapshot.with_edge_types(&[name])?),
        None => Ok(snapshot),
    }
}
