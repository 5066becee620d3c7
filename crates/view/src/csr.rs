//! Compressed sparse rows: a view as the two arrays that SciPy, NetworKit and others take.

use evergraph_types::{Direction, VertexId};

use crate::gather::gather;
use crate::{FlatView, GraphView};

/// The edges of a view in one direction: row `i` is the `i`-th vertex in the order of ids, and its neighbors are
/// the rows `indices[indptr[i]..indptr[i + 1]]`.
///
/// Rows are vertices without [gaps](crate::GraphView::id_bound): where no vertex was deleted, row and id are the same.
/// A row keeps the order of the flat view's list; parallel edges are repeated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Csr {
    /// Where each row begins; one more than there are rows.
    pub indptr: Vec<i64>,
    /// The neighbors of all rows end to end.
    pub indices: Vec<u32>,
}

impl Csr {
    /// The rows of a view that holds the vertices `ids`, ascending.
    pub(crate) fn new(view: &FlatView, ids: &[VertexId], direction: Direction) -> Self {
        let bound = view.id_bound() as usize;
        let rows = (ids.len() < bound).then(|| {
            let mut rows = vec![0; bound];
            ids.iter().zip(0..).for_each(|(&id, row)| rows[id as usize] = row);
            rows
        });
        let lists = gather(
            ids.len(),
            |row| view.degree(direction, ids[row]),
            |row, list| {
                let mut rest = list;
                view.neighbors(direction, ids[row]).for_each_slice(|slice| {
                    let (part, after) = std::mem::take(&mut rest).split_at_mut(slice.len());
                    match &rows {
                        None => part.copy_from_slice(slice),
                        Some(rows) => {
                            part.iter_mut().zip(slice).for_each(|(to, &id)| *to = rows[id as usize])
                        }
                    }
                    rest = after;
                });
            },
        );
        Csr { indptr: lists.offsets.into_iter().map(|offset| offset as i64).collect(), indices: lists.values }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.indptr.len().saturating_sub(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
