//! The changes of a store, commit after commit, in the form that incremental algorithms take.
//!
//! Invariant: the changes handed out lead from the snapshot before to the snapshot after, exactly.

use std::ops::ControlFlow;
use std::time::Duration;

use evergraph_analytics::incremental::Changes;
use evergraph_store::{ChangeOptions, ChangeReader, Store, WriteSet};
use evergraph_types::{Direction, EdgeTypeId, Sequence, VertexId};
use evergraph_view::{GraphView, Snapshot};

use crate::WindowError;

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
        let mut follower = Follower { store: store.clone(), reader, edge_type, snapshot };
        follower.read_through(follower.snapshot.version(), |_| {})?;
        Ok(follower)
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
            after.schema().edge_types.iter().map(|kind| names.contains(&kind.name.as_str())).collect()
        };
        let is_selected = |edge_type: EdgeTypeId| selected.get(usize::from(edge_type)) == Some(&true);
        let kinds = after.schema().edge_types.iter().zip(&selected).filter(|(_, selected)| **selected);
        let mut is_plain = kinds.into_iter().all(|(kind, _)| kind.options.multi);
        let before = self.snapshot.clone();
        // Without gaps, whoever is not new has been there.
        let has_gaps = before.num_vertices() < u64::from(before.id_bound());
        let mut vertices: Vec<VertexId> = (before.id_bound()..after.id_bound()).collect();
        let mut edges = edges_dropped(&before, &after)?;
        is_plain &= edges.is_empty();
        self.read_through(after.version(), |writes| {
            vertices.extend(writes.vertex_deletes);
            vertices.extend(writes.vertex_puts.iter().map(|put| put.vertex));
            for (edge_type, ops) in writes.edges {
                if has_gaps {
                    vertices.extend(ops.src.iter().chain(&ops.dst));
                }
                if is_selected(edge_type) {
                    is_plain &= ops.deletes.is_none();
                    edges.extend(ops.src.into_iter().zip(ops.dst));
                }
            }
        })?;
        self.snapshot = after.clone();
        let changes = if is_plain {
            Changes::of_insertions(&before, &after, edges, vertices)
        } else {
            Changes::between(&before, &after, edges, vertices)
        };
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

/// The edges of the types that were dropped from one snapshot to the next. The log does not name them.
fn edges_dropped(before: &Snapshot, after: &Snapshot) -> Result<Vec<(VertexId, VertexId)>, WindowError> {
    let mut edges = Vec::new();
    let is_gone = |id| after.schema().edge_types.get(usize::from(id)).is_some_and(|kind| kind.is_dropped());
    for (_, kind) in before.schema().live_edge_types().filter(|(id, _)| is_gone(*id)) {
        if !before.edge_types().contains(&kind.name.as_str()) {
            continue;
        }
        let dropped = before.with_edge_types(&[&kind.name])?;
        for vertex in 0..dropped.id_bound() {
            dropped.for_each_slice(Direction::Out, vertex, &mut |neighbors| {
                edges.extend(neighbors.iter().map(|&neighbor| (vertex, neighbor)));
                ControlFlow::Continue(())
            });
        }
    }
    Ok(edges)
}
