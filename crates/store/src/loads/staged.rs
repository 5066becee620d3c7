//! A bulk load that comes in pieces: gathered in memory as far as the store's limit lets it, beyond that in a file, and
//! committed as one transaction.
//!
//! ```text
//!  add ─► parts ──more than an eighth of the limit──► file, encoded          commit ─► read back piece by piece,
//!                                                                                      as one batch
//! ```
//!
//! Invariant: until `commit` nothing of it is in the store; a load that is dropped leaves nothing.

use std::ops::Range;

use evergraph_disk::DiskError;
use evergraph_types::{Column, EdgeBatch, EdgeTypeId, EdgeTypeOptions, KeyColumn, Progress, PropertyType};

use crate::commits::batch::{BatchWrites, check_pieces};
use crate::commits::commit::BatchSummary;
use crate::error::CommitError;
use crate::loads::spill::SpillFile;
use crate::store::Store;
use crate::system::pool::in_background;
use crate::write_sets::catalog::ItemChange;
use crate::write_sets::codec::{decode_batch, encode_batch};

/// The part of the memory limit that one piece of a load may take.
const PIECES_PER_LIMIT: u64 = 8;
/// And no more than this, so that rows of a piece, of 16 bytes at least, are numbered in 31 bits.
const PIECE_BYTES_MAX: u64 = 1 << 34;
/// The part above which a load is worked on piece by piece.
const LARGE_PER_LIMIT: u64 = 4;

/// Edges that wait in a file.
#[derive(Debug)]
pub(crate) struct Staged {
    file: SpillFile,
    places: Vec<Range<u64>>,
    pub(crate) rows: usize,
    /// A row of each shape that they have.
    pub(crate) heads: Vec<EdgeBatch>,
}

impl Staged {
    fn read(&self, place: &Range<u64>) -> Result<Vec<EdgeBatch>, CommitError> {
        self.file.read(place.clone(), decode_batch).map_err(CommitError::not_loaded)
    }
}

/// A load under way, see [`Store::bulk_load`].
///
/// ```
/// # use evergraph_store::{Options, Store};
/// # use evergraph_types::{EdgeBatch, KeyColumn};
/// let store = Store::in_memory(Options::default());
/// let mut load = store.bulk_load("follows", None);
/// for first in [1, 2] {
///     let keys = |key| KeyColumn::Int(vec![key]);
///     load.add(vec![EdgeBatch { src: keys(first), dst: keys(first + 1), columns: Vec::new() }])?;
/// }
/// assert_eq!(load.commit(&[])?.edges, 2);
/// # Ok::<(), evergraph_store::CommitError>(())
/// ```
#[derive(Debug)]
pub struct BulkLoad {
    store: Store,
    batch: BatchWrites,
    /// Of the parts in memory.
    bytes: u64,
}

impl BulkLoad {
    pub(crate) fn new(store: Store, edge_type: &str, create: Option<EdgeTypeOptions>) -> Self {
        BulkLoad { batch: store.batch_of(edge_type, create), store, bytes: 0 }
    }

    /// Has the load go to this edge type, which earlier ones went to, and to no other that has its name by then.
    #[must_use]
    pub fn into_known(mut self, edge_type: EdgeTypeId) -> Self {
        self.batch.known = Some(edge_type);
        self
    }

    /// Takes edges, which have the same columns as those before.
    ///
    /// # Errors
    /// [`CommitError::Closed`], [`CommitError::Schema`] if the store cannot take them, [`CommitError::NotLoaded`] if the disk
    /// takes no more. The load is then to be dropped, and the store is as it was. What fits memory may be refused by `commit` only.
    pub fn add(&mut self, parts: Vec<EdgeBatch>) -> Result<(), CommitError> {
        self.store.usable()?;
        self.bytes += parts.iter().map(bytes_of).sum::<u64>();
        self.batch.parts.extend(parts);
        let inner = self.store.inner();
        let limit =
            inner.options.memory_limit_bytes.zip(inner.home.as_ref().filter(|home| !home.is_in_memory));
        let Some((limit, home)) = limit.filter(|(limit, _)| self.bytes > piece_bytes(*limit)) else {
            return Ok(());
        };
        self.bytes = 0;
        // What cannot be committed is refused before it is written.
        let schema = inner.committer.lock().resolver.schema.clone();
        let batch = &mut self.batch;
        in_background(move || check_pieces(&schema, inner.options.keys, batch))?;
        self.batch.stage(limit, || SpillFile::create(home))
    }

    /// Commits all that was added as one transaction that conflicts with nothing, together with catalog items that belong to
    /// the edge type; [`edge_type_item`](crate::edge_type_item) tells their names.
    ///
    /// # Errors
    /// Those of [`Store::add_edges_as`].
    pub fn commit(self, items: &[(&str, &[u8])]) -> Result<BatchSummary, CommitError> {
        self.commit_with(items, None)
    }

    /// [`BulkLoad::commit`], which `progress` watches and may stop, as [`Store::watched`] says.
    ///
    /// # Errors
    /// Its errors, and [`CommitError::Cancelled`].
    pub fn commit_watched(
        self,
        items: &[(&str, &[u8])],
        progress: &dyn Progress,
    ) -> Result<BatchSummary, CommitError> {
        self.commit_with(items, Some(progress))
    }

    fn commit_with(
        mut self,
        items: &[(&str, &[u8])],
        progress: Option<&dyn Progress>,
    ) -> Result<BatchSummary, CommitError> {
        self.batch.items =
            items.iter().map(|(name, bytes)| ((*name).into(), Some((*bytes).into()))).collect();
        self.store.commit_batch(self.batch, progress)
    }
}

impl Store {
    /// A batch without edges yet.
    pub(crate) fn batch_of(&self, edge_type: &str, create: Option<EdgeTypeOptions>) -> BatchWrites {
        BatchWrites {
            edge_type: edge_type.to_owned(),
            create,
            known: None,
            is_strict: self.is_strict(),
            parts: Vec::new(),
            staged: None,
            items: Vec::new(),
            delete: false,
        }
    }
}

impl BatchWrites {
    /// Brings the parts in memory to the file.
    fn stage(
        &mut self,
        limit: u64,
        create: impl FnOnce() -> Result<SpillFile, DiskError>,
    ) -> Result<(), CommitError> {
        let mut staged = match self.staged.take() {
            Some(staged) => staged,
            None => Staged {
                file: create().map_err(CommitError::not_loaded)?,
                places: Vec::new(),
                rows: 0,
                heads: Vec::new(),
            },
        };
        let mut bytes = Vec::new();
        for part in std::mem::take(&mut self.parts) {
            for piece in pieces_of(&part, piece_bytes(limit)) {
                bytes.clear();
                encode_batch(piece.as_ref().unwrap_or(&part), &mut bytes);
                staged.places.push(staged.file.append(&bytes).map_err(CommitError::not_loaded)?);
            }
            staged.rows += part.len();
            if !staged.heads.iter().any(|known| shape_of(known).eq(shape_of(&part))) {
                staged.heads.push(slice_of(&part, 0..part.len().min(1)));
            }
        }
        self.staged = Some(staged);
        Ok(())
    }

    /// Whether the batch is worked on piece by piece under this limit.
    pub(crate) fn is_large(&self, limit: Option<u64>) -> bool {
        let is_large = |limit| self.parts.iter().map(bytes_of).sum::<u64>() > limit / LARGE_PER_LIMIT;
        !self.delete && (self.staged.is_some() || limit.is_some_and(is_large))
    }

    /// Calls `take` with piece after piece of the batch, each a batch of the same type, in the order of the edges.
    pub(crate) fn for_each_piece(
        self,
        limit: Option<u64>,
        mut take: impl FnMut(BatchWrites) -> Result<(), CommitError>,
    ) -> Result<(), CommitError> {
        let BatchWrites { edge_type, create, known, is_strict, parts, staged, items, delete } = self;
        let mut items = Some(items);
        let mut piece = |parts| {
            let items: Vec<ItemChange> = items.take().unwrap_or_default();
            let (edge_type, create) = (edge_type.clone(), create.clone());
            take(BatchWrites { edge_type, create, known, is_strict, parts, staged: None, items, delete })
        };
        if let Some(staged) = &staged {
            staged.places.iter().try_for_each(|place| piece(staged.read(place)?))?;
        }
        let most = limit.map_or(PIECE_BYTES_MAX, piece_bytes);
        for part in parts {
            for slice in pieces_of(&part, most) {
                let Some(slice) = slice else {
                    piece(vec![part])?;
                    break;
                };
                piece(vec![slice])?;
            }
        }
        Ok(())
    }

    /// The batch with what was staged back in memory, for those who need all of it at once.
    pub(crate) fn unstaged(mut self) -> Result<Self, CommitError> {
        let Some(staged) = self.staged.take() else { return Ok(self) };
        let mut parts = Vec::new();
        for place in &staged.places {
            parts.extend(staged.read(place)?);
        }
        parts.append(&mut self.parts);
        Ok(BatchWrites { parts, ..self })
    }
}

/// How many bytes a piece has under a limit on memory.
fn piece_bytes(limit: u64) -> u64 {
    (limit / PIECES_PER_LIMIT).min(PIECE_BYTES_MAX)
}

/// A part in slices of about so many bytes; `None` stands for all of it, where it is no larger.
fn pieces_of(part: &EdgeBatch, most: u64) -> Vec<Option<EdgeBatch>> {
    let slices = bytes_of(part).div_ceil(most.max(1)).min(part.len() as u64).max(1);
    if slices == 1 {
        return vec![None];
    }
    let rows = part.len().div_ceil(slices as usize);
    let bounds = (0..part.len()).step_by(rows).map(|start| start..part.len().min(start + rows));
    bounds.map(|rows| Some(slice_of(part, rows))).collect()
}

/// A part in slices of so many rows.
pub(crate) fn slices_of(part: EdgeBatch, rows: usize) -> Box<dyn Iterator<Item = EdgeBatch>> {
    if part.len() <= rows {
        return Box::new(std::iter::once(part));
    }
    let len = part.len();
    let slice = move |start| slice_of(&part, start..len.min(start + rows));
    Box::new((0..len).step_by(rows).map(slice))
}

fn slice_of(part: &EdgeBatch, rows: Range<usize>) -> EdgeBatch {
    let columns = part.columns.iter().map(|(name, column)| (name.clone(), column.pick(rows.clone())));
    EdgeBatch {
        src: part.src.pick(rows.clone()),
        dst: part.dst.pick(rows.clone()),
        columns: columns.collect(),
    }
}

/// The names and types of the columns of a part.
fn shape_of(part: &EdgeBatch) -> impl Iterator<Item = (&str, PropertyType)> {
    part.columns.iter().map(|(name, column)| (name.as_str(), column.property_type()))
}

/// About what a part takes in memory.
fn bytes_of(part: &EdgeBatch) -> u64 {
    let of_keys = |keys: &KeyColumn| match keys {
        KeyColumn::Int(numbers) => 8 * numbers.len(),
        KeyColumn::Text(texts) => texts.bytes.len() + 8 * texts.offsets.len(),
    };
    let of_columns = part.columns.iter().map(|(_, column)| bytes_of_column(column));
    (of_keys(&part.src) + of_keys(&part.dst) + of_columns.sum::<usize>()) as u64
}

/// About what a column takes in memory.
pub(crate) fn bytes_of_column(column: &Column) -> usize {
    match column.cells().texts() {
        Some(texts) => texts.bytes.len() + 8 * texts.offsets.len(),
        None => column.cells().width().unwrap_or(8) * column.len(),
    }
}
