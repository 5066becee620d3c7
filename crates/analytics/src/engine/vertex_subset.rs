//! A set of vertices, sparse or dense: the frontier that [`edge_map`](crate::edge_map) maps to the next one
//! (Shun and Blelloch, "Ligra", PPoPP 2013, section 3).
//!
//! Sparse is a list of ids, fit for pushing along the edges of few vertices. Dense is a bitmap, fit for asking of each
//! in-neighbor whether it is a member. `edge_map` picks the form it needs; results do not depend on it.
//!
//! Invariant: a sparse list holds no id twice.

use std::borrow::Cow;

use evergraph_types::VertexId;
use evergraph_view::{FlatView, GraphView};
use rayon::prelude::*;

use crate::engine::parallel::{for_each, try_map};
use crate::{AlgorithmError, Bitmap, Control};

/// How many vertices are worth a task of their own.
const VERTICES_PER_TASK: usize = 1 << 10;

/// A set of vertices of one view.
#[derive(Clone, Debug)]
pub struct VertexSubset(Form);

#[derive(Clone, Debug)]
enum Form {
    Sparse { ids: Vec<VertexId>, bound: VertexId },
    Dense { members: Bitmap, count: usize },
}

impl VertexSubset {
    /// No vertex of a view with ids below `bound`.
    pub fn empty(bound: VertexId) -> Self {
        Self::from_distinct(bound, Vec::new())
    }

    /// These vertices; repeats count once.
    ///
    /// # Panics
    /// If an id is not below `bound`.
    pub fn from_ids(bound: VertexId, mut ids: Vec<VertexId>) -> Self {
        ids.par_sort_unstable();
        ids.dedup();
        assert!(ids.last().is_none_or(|&last| last < bound), "a vertex is not below {bound}");
        Self::from_distinct(bound, ids)
    }

    /// Every vertex that exists in the view.
    pub fn all(view: &FlatView) -> Self {
        Self::from_bitmap(Bitmap::from_predicate(view.id_bound(), |vertex| view.has_vertex(vertex)))
    }

    /// The members of a bitmap.
    pub fn from_bitmap(members: Bitmap) -> Self {
        let count = members.count();
        Self::from_counted(members, count)
    }

    pub(crate) fn from_counted(members: Bitmap, count: usize) -> Self {
        VertexSubset(Form::Dense { members, count })
    }

    pub(crate) fn from_distinct(bound: VertexId, ids: Vec<VertexId>) -> Self {
        VertexSubset(Form::Sparse { ids, bound })
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Sparse { ids, .. } => ids.len(),
            Form::Dense { count, .. } => *count,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One past the largest id a member can have.
    pub fn bound(&self) -> VertexId {
        match &self.0 {
            Form::Sparse { bound, .. } => *bound,
            Form::Dense { members, .. } => members.bound(),
        }
    }

    /// The members, in no particular order.
    pub fn ids(&self) -> Cow<'_, [VertexId]> {
        match &self.0 {
            Form::Sparse { ids, .. } => Cow::Borrowed(ids),
            Form::Dense { members, .. } => Cow::Owned(members.to_ids()),
        }
    }

    /// The members as bits.
    pub fn bitmap(&self) -> Cow<'_, Bitmap> {
        match &self.0 {
            Form::Sparse { ids, bound } => Cow::Owned(Bitmap::from_ids(*bound, ids)),
            Form::Dense { members, .. } => Cow::Borrowed(members),
        }
    }
}

/// Calls `visit` with every member, in parallel, until the caller cancels.
pub fn vertex_map(
    subset: &VertexSubset,
    control: &Control,
    visit: impl Fn(VertexId) + Sync,
) -> Result<(), AlgorithmError> {
    for_each(control, subset.ids().chunks(VERTICES_PER_TASK), |ids| {
        ids.iter().for_each(|&vertex| visit(vertex));
    })
}

/// The members for which `keep` holds, asked in parallel.
pub fn vertex_filter(
    subset: &VertexSubset,
    control: &Control,
    keep: impl Fn(VertexId) -> bool + Sync,
) -> Result<VertexSubset, AlgorithmError> {
    let ids = subset.ids();
    let kept = try_map(control, ids.chunks(VERTICES_PER_TASK), |ids| {
        Ok(ids.iter().copied().filter(|&vertex| keep(vertex)).collect::<Vec<_>>())
    });
    let kept = kept?.concat();
    Ok(VertexSubset::from_distinct(subset.bound(), kept))
}

/// What `map` gives for all members, combined in parallel from `identity` on. The order of members means nothing, so
/// `combine` is associative and commutative.
pub fn vertex_reduce<R: Send + Sync + Clone>(
    subset: &VertexSubset,
    control: &Control,
    identity: R,
    map: impl Fn(VertexId) -> R + Sync,
    combine: impl Fn(R, R) -> R + Sync,
) -> Result<R, AlgorithmError> {
    let ids = subset.ids();
    let pieces = try_map(control, ids.chunks(VERTICES_PER_TASK), |ids| {
        Ok(ids.iter().map(|&vertex| map(vertex)).fold(identity.clone(), &combine))
    })?;
    Ok(pieces.into_iter().fold(identity.clone(), &combine))
}
