//! Set operations on parts of one snapshot.
//!
//! ```text
//!             vertices    edges, induced            edges, edge-wise
//!  a | b      A ∪ B       all between these         those of a or of b
//!  a & b      A ∩ B       all between these         those of a and of b
//!  a - b      A ∖ B       all between these         those of a and not of b
//! ```
//!
//! In every case an edge has both its ends in the result. Invariant: an edge-wise rule keeps the parts it was made of, so
//! that it is exact for parallel edges too.

use std::sync::Arc;

use evergraph_store::Run;
use evergraph_types::{Direction, EdgeTypeId, VertexId};
use evergraph_view::{EdgeRule, VertexBits};

use crate::error::EvaluateError;
use crate::part::Part;

/// How deep edge-wise operations may be nested.
const MAX_DEPTH: usize = 64;

/// Which edges the result of a set operation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EdgeMode {
    /// Induced if both operands are, else edge-wise.
    #[default]
    Inherit,
    /// Every edge of the snapshot between the vertices.
    Induced,
    /// The edges of the operands.
    EdgeWise,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

impl Part {
    /// What is in either part.
    ///
    /// # Errors
    /// [`EvaluateError::OtherVersion`] if they are not parts of one version, [`EvaluateError::TooDeep`] if edge-wise
    /// operations are nested too deeply.
    pub fn union(&self, other: &Part, edges: EdgeMode) -> Result<Part, EvaluateError> {
        self.combine(Operation::Union, other, edges)
    }

    /// What is in both parts.
    ///
    /// # Errors
    /// Those of [`Part::union`].
    pub fn intersection(&self, other: &Part, edges: EdgeMode) -> Result<Part, EvaluateError> {
        self.combine(Operation::Intersection, other, edges)
    }

    /// What is in this part and not in the other.
    ///
    /// # Errors
    /// Those of [`Part::union`].
    pub fn difference(&self, other: &Part, edges: EdgeMode) -> Result<Part, EvaluateError> {
        self.combine(Operation::Difference, other, edges)
    }

    fn combine(&self, operation: Operation, other: &Part, edges: EdgeMode) -> Result<Part, EvaluateError> {
        let (left, right) = (self.whole.version(), other.whole.version());
        if !Arc::ptr_eq(self.whole.store_version(), other.whole.store_version()) {
            return Err(EvaluateError::OtherVersion { left, right });
        }
        let vertices = match operation {
            Operation::Union => &*self.vertices | &*other.vertices,
            Operation::Intersection => &*self.vertices & &*other.vertices,
            Operation::Difference => &*self.vertices - &*other.vertices,
        };
        let induced = match edges {
            EdgeMode::Inherit => self.is_induced() && other.is_induced(),
            EdgeMode::Induced => true,
            EdgeMode::EdgeWise => false,
        };
        let depth = if induced { 0 } else { 1 + self.depth.max(other.depth) };
        if depth > MAX_DEPTH {
            return Err(EvaluateError::TooDeep { max: MAX_DEPTH });
        }
        let rule = (!induced).then(|| {
            Arc::new(Combined { operation, left: Side::of(self), right: Side::of(other) })
                as Arc<dyn EdgeRule>
        });
        Ok(Part { whole: self.whole.clone(), vertices: Arc::new(vertices), rule, depth })
    }
}

/// The edges of one operand.
#[derive(Debug)]
struct Side {
    vertices: VertexBits,
    rule: Option<Arc<dyn EdgeRule>>,
}

impl Side {
    fn of(part: &Part) -> Self {
        Side { vertices: VertexBits::new(part.vertices.iter()), rule: part.rule.clone() }
    }

    /// Of these rows those whose edges it has.
    fn rows(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        vertex: VertexId,
        run: Run<'_>,
        rows: &[usize],
    ) -> Vec<usize> {
        if !self.vertices.contains(vertex) {
            return Vec::new();
        }
        let inside = |row: &usize| self.vertices.contains(run.neighbors()[*row]);
        let mut rows = rows.iter().copied().filter(inside).collect();
        if let Some(rule) = &self.rule {
            rule.retain(edge_type, direction, vertex, run, &mut rows);
        }
        rows
    }
}

/// Keeps the edges that an operation on two parts has.
#[derive(Debug)]
struct Combined {
    operation: Operation,
    left: Side,
    right: Side,
}

impl EdgeRule for Combined {
    fn retain(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        vertex: VertexId,
        run: Run<'_>,
        rows: &mut Vec<usize>,
    ) {
        let of = |side: &Side| side.rows(edge_type, direction, vertex, run, rows);
        let (left, right) = (of(&self.left), of(&self.right));
        // Rows stay in order on both sides.
        let among = |side: &[usize], row: &usize| side.binary_search(row).is_ok();
        rows.retain(|row| match self.operation {
            Operation::Union => among(&left, row) || among(&right, row),
            Operation::Intersection => among(&left, row) && among(&right, row),
            Operation::Difference => among(&left, row) && !among(&right, row),
        });
    }
}
