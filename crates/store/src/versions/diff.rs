//! What changed between two versions, in time that grows with the change and not with the graph.
//!
//! ```text
//!  pages:  the same page in both? skip
//!  leaf:   cells not touched since the older version? skip; the same entry in both? skip
//!  lists:  runs that both have? skip; edges that both name in this order? skip
//!  edges:  what is left is sorted and compared
//! ```
//!
//! A leaf remembers the commit that last changed what it says, and which cells the last commits changed. Archiving and gathering change
//! neither: lists that moved in between are not looked at.
//!
//! Types and properties are compared by id, so that one under another name is the same. What was dropped in between is
//! seen as the newer schema has it: edges of a dropped type are gone, values of a dropped property are not compared, and a
//! dropped vertex type is none, so that dropping one is no change of each vertex.
//!
//! Invariant: the result is the symmetric difference of two sets of edges (of two multisets, where a type is `multi`),
//! whatever was skipped.

use std::collections::BTreeMap;

use evergraph_types::{
    Column, Direction, EdgeTypeId, PropertyId, PropertyType, Sequence, Value, VertexId, VertexTypeId,
};
use rayon::prelude::*;

use crate::lists::bits::set_bits;
use crate::lists::fragment::RunColumn;
use crate::lists::paged_array::{Cell, Leaf, PagedArray};
use crate::system::pool::in_pool;
use crate::versions::scan::Run;
use crate::versions::version::Version;

/// So many lists are compared by one task.
const LISTS_PER_TASK: usize = 32;

/// What a later version has that an earlier one has not, and the other way round.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Diff {
    /// The commit of the version compared from.
    pub before: Sequence,
    /// The commit of the version compared to.
    pub after: Sequence,
    /// Vertices only the second has, ascending.
    pub added_vertices: Vec<VertexId>,
    /// Vertices only the first has, ascending.
    pub removed_vertices: Vec<VertexId>,
    /// Vertices of both whose type or properties differ, ascending.
    pub changed_vertices: Vec<VertexId>,
    /// Edges by type, for types with differences.
    pub edges: Vec<EdgeDiff>,
}

/// The edges of one type that differ. Of a symmetric type, each is told once, from the smaller id.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EdgeDiff {
    /// The type.
    pub edge_type: EdgeTypeId,
    /// Edges only the second version has.
    pub added: EdgeRows,
    /// Edges only the first version has.
    pub removed: EdgeRows,
    /// Edges of both whose properties differ, as the first has them. Of `multi` types there are none: such an edge
    /// counts as removed and added.
    pub changed_from: EdgeRows,
    /// The same edges, as the second has them.
    pub changed_to: EdgeRows,
}

/// Edges with their properties.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EdgeRows {
    /// The source by row.
    pub src: Vec<VertexId>,
    /// The destination by row.
    pub dst: Vec<VertexId>,
    /// All properties of the type by property id; of those that were dropped, what is left.
    pub columns: Vec<Column>,
}

impl EdgeRows {
    fn new(kinds: &[PropertyType]) -> Self {
        let columns = kinds.iter().map(|kind| Column::new(*kind)).collect();
        EdgeRows { src: Vec::new(), dst: Vec::new(), columns }
    }

    /// The number of edges.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    fn append(&mut self, other: EdgeRows) {
        self.src.extend(other.src);
        self.dst.extend(other.dst);
        for (column, other) in self.columns.iter_mut().zip(other.columns) {
            if column.append(&other).is_err() {
                unreachable!("rows of one edge type have columns of the same types");
            }
        }
    }

    fn push(&mut self, src: VertexId, row: Row<'_>) {
        self.src.push(src);
        self.dst.push(row.neighbor());
        for (property, column) in self.columns.iter_mut().enumerate() {
            row.run.copy_rows(property as PropertyId, std::iter::once(row.row), column);
        }
    }
}

impl Diff {
    /// Whether the versions hold the same.
    pub fn is_empty(&self) -> bool {
        self.added_vertices.is_empty()
            && self.removed_vertices.is_empty()
            && self.changed_vertices.is_empty()
            && self.edges.is_empty()
    }

    fn reversed(mut self) -> Self {
        std::mem::swap(&mut self.before, &mut self.after);
        std::mem::swap(&mut self.added_vertices, &mut self.removed_vertices);
        for edges in &mut self.edges {
            std::mem::swap(&mut edges.added, &mut edges.removed);
            std::mem::swap(&mut edges.changed_from, &mut edges.changed_to);
        }
        self
    }
}

impl Version {
    /// What changed from this version to another one of the same store, which may be older.
    ///
    /// ```
    /// # use evergraph_store::{Options, Store};
    /// let store = Store::in_memory(Options::default());
    /// store.put_edge(1, 2, "edge", &[])?;
    /// let before = store.version()?;
    /// store.put_edge(2, 3, "edge", &[])?;
    /// let diff = before.diff(&*store.version()?);
    /// assert_eq!((diff.added_vertices.len(), diff.edges[0].added.len()), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn diff(&self, other: &Version) -> Diff {
        self.diff_of(other, &|_| true)
    }

    /// As [`Version::diff`], of the edge types that are wanted.
    pub fn diff_of(&self, other: &Version, is_wanted: &dyn Fn(EdgeTypeId) -> bool) -> Diff {
        if self.sequence <= other.sequence {
            diff(self, other, is_wanted)
        } else {
            diff(other, self, is_wanted).reversed()
        }
    }

    /// Whether two versions come from one open store, and ids mean the same in both.
    pub fn is_of_same_store(&self, other: &Version) -> bool {
        self.origin == other.origin
    }
}

fn diff(old: &Version, new: &Version, is_wanted: &dyn Fn(EdgeTypeId) -> bool) -> Diff {
    let mut diff = Diff { before: old.sequence, after: new.sequence, ..Diff::default() };
    vertices(old, new, &mut diff);
    let edge_types = 0..new.schema.edge_types.len() as EdgeTypeId;
    for edge_type in edge_types.filter(|&edge_type| is_wanted(edge_type)) {
        let edges = edges(old, new, edge_type);
        let parts = [&edges.added, &edges.removed, &edges.changed_to];
        if parts.iter().any(|rows| !rows.is_empty()) {
            diff.edges.push(edges);
        }
    }
    diff
}

/// Calls `visit` with each index whose cells may say different things.
fn for_each_difference<T: Cell + PartialEq>(
    old: PagedArray<T>,
    new: PagedArray<T>,
    since: Sequence,
    visit: &mut dyn FnMut(VertexId),
) {
    old.zip_leaves(&new, &mut |base, old: Option<&Leaf<T>>, new: Option<&Leaf<T>>| {
        // Of what an empty version lacks, no leaf can tell since when it is there.
        let touched = old.and(new).map_or(u64::MAX, |new| new.changed_since(since));
        for cell in set_bits(touched) {
            let [from, to] = [old, new].map(|leaf| leaf.and_then(|leaf| leaf.get(cell)));
            if from != to {
                visit(base + cell);
            }
        }
    });
}

fn vertices(old: &Version, new: &Version, diff: &mut Diff) {
    let Diff { added_vertices, removed_vertices, changed_vertices, .. } = diff;
    // A type that was dropped is none.
    let name = |label: VertexTypeId| new.schema.vertex_type_name(label);
    for_each_difference(old.vertices, new.vertices, old.sequence, &mut |vertex| match (
        old.vertices.get(vertex),
        new.vertices.get(vertex),
    ) {
        (None, _) => added_vertices.push(vertex),
        (_, None) => removed_vertices.push(vertex),
        (Some(from), Some(to)) if name(from) == name(to) => {}
        _ => changed_vertices.push(vertex),
    });
    for (property, _) in new.schema.live_vertex_properties() {
        let column =
            |version: &Version| version.columns.get(usize::from(property)).copied().unwrap_or_default();
        for_each_difference(column(old), column(new), old.sequence, &mut |vertex| {
            let values = || [old, new].map(|version| version.vertex_property(vertex, property));
            let in_both = old.vertices.get(vertex).is_some() && new.vertices.get(vertex).is_some();
            if in_both && !same(&values()[0], &values()[1]) {
                changed_vertices.push(vertex);
            }
        });
    }
    changed_vertices.sort_unstable();
    changed_vertices.dedup();
}

fn edges(old: &Version, new: &Version, edge_type: EdgeTypeId) -> EdgeDiff {
    // Of a dropped type, only the older schema still knows how its edges were.
    let kind = new.schema.edge_types.get(usize::from(edge_type)).filter(|kind| !kind.is_dropped());
    let kind = kind.or(old.schema.edge_types.get(usize::from(edge_type)));
    let options = kind.map(|kind| kind.options.clone()).unwrap_or_default();
    let properties = kind.iter().flat_map(|kind| kind.properties().map(|(id, _)| id)).collect();
    let kinds: Vec<PropertyType> = options.properties.iter().map(|property| property.kind).collect();
    let rows = || EdgeRows::new(&kinds);
    let nothing =
        || EdgeDiff { edge_type, added: rows(), removed: rows(), changed_from: rows(), changed_to: rows() };
    let table = |version: &Version| {
        version.adjacency(edge_type, Direction::Out).map_or_else(PagedArray::default, |lists| lists.table)
    };
    let compared = Compared { properties, multi: options.multi, symmetric: options.symmetric };
    let mut vertices = Vec::new();
    for_each_difference(table(old), table(new), old.sequence, &mut |vertex| vertices.push(vertex));
    let of_lists = |vertices: &[VertexId]| {
        let mut edges = nothing();
        for &vertex in vertices {
            let mut buffers = [Vec::new(), Vec::new()];
            let [old_buffers, new_buffers] = &mut buffers;
            let (old, new) = old.runs_apart(new, edge_type, vertex, old_buffers, new_buffers);
            compared.lists(vertex, &old, &new, &mut edges);
        }
        edges
    };
    if vertices.len() <= LISTS_PER_TASK {
        return of_lists(&vertices);
    }
    let parts: Vec<EdgeDiff> = in_pool(|| vertices.par_chunks(LISTS_PER_TASK).map(of_lists).collect());
    parts.into_iter().fold(nothing(), |mut edges, part| {
        edges.added.append(part.added);
        edges.removed.append(part.removed);
        edges.changed_from.append(part.changed_from);
        edges.changed_to.append(part.changed_to);
        edges
    })
}

/// One edge of a list.
#[derive(Clone, Copy)]
struct Row<'a> {
    run: Run<'a>,
    row: usize,
}

impl Row<'_> {
    fn neighbor(&self) -> VertexId {
        self.run.neighbors()[self.row]
    }

    fn value(&self, property: PropertyId) -> Value {
        self.run.value(property, self.row)
    }
}

/// What is left of a list: runs, none of them empty, the first from a row on.
#[derive(Clone, Copy)]
struct Rest<'r, 'a> {
    runs: &'r [Run<'a>],
    row: usize,
}

impl<'a> Rest<'_, 'a> {
    fn first(&self) -> Option<Row<'a>> {
        self.runs.first().map(|&run| Row { run, row: self.row })
    }

    /// Goes on by so many rows, at most to the next run.
    fn advance(&mut self, rows: usize) {
        self.row += rows;
        if self.runs.first().is_some_and(|run| self.row == run.neighbors().len()) {
            (self.runs, self.row) = (&self.runs[1..], 0);
        }
    }
}

impl<'a> Iterator for Rest<'_, 'a> {
    type Item = Row<'a>;

    fn next(&mut self) -> Option<Row<'a>> {
        let first = self.first()?;
        self.advance(1);
        Some(first)
    }
}

/// How two lists of one edge type are compared.
struct Compared {
    /// Those that were not dropped.
    properties: Vec<PropertyId>,
    multi: bool,
    symmetric: bool,
}

impl Compared {
    fn lists(&self, src: VertexId, old: &[Run<'_>], new: &[Run<'_>], edges: &mut EdgeDiff) {
        let (mut gone, mut come) = self.apart(old, new);
        for rows in [&mut gone, &mut come] {
            rows.retain(|row| !self.symmetric || src <= row.neighbor());
            // Lists of `multi` types are in order of arrival.
            rows.sort_by_key(Row::neighbor);
        }
        let (mut old, mut new) = (&*gone, &*come);
        loop {
            let (from, to) = (old.first().map(Row::neighbor), new.first().map(Row::neighbor));
            let Some(neighbor) = from.into_iter().chain(to).min() else { break };
            let cut = |rows: &[Row<'_>]| rows.iter().take_while(|row| row.neighbor() == neighbor).count();
            let (gone, left) = old.split_at(cut(old));
            let (come, right) = new.split_at(cut(new));
            self.between(src, gone, come, edges);
            (old, new) = (left, right);
        }
    }

    /// Two lists without the edges that both name, in one pass: all that are in both, of lists that ascend, and of lists in
    /// order of arrival all that were there before and still are.
    fn apart<'a>(&self, old: &[Run<'a>], new: &[Run<'a>]) -> (Vec<Row<'a>>, Vec<Row<'a>>) {
        let (mut old, mut new) = (Rest { runs: old, row: 0 }, Rest { runs: new, row: 0 });
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        while let (Some(from), Some(to)) = (old.first(), new.first()) {
            let both = self.in_both(from, to);
            if both > 0 {
                old.advance(both);
                new.advance(both);
                continue;
            }
            // What came later is at the end of a list in order of arrival.
            if self.multi || from.neighbor() <= to.neighbor() {
                gone.extend(old.next());
            }
            if !self.multi && to.neighbor() <= from.neighbor() {
                come.extend(new.next());
            }
        }
        gone.extend(old);
        come.extend(new);
        (gone, come)
    }

    /// How many edges two runs both have from these rows on.
    fn in_both(&self, from: Row<'_>, to: Row<'_>) -> usize {
        let neighbors = common(&from.run.neighbors()[from.row..], &to.run.neighbors()[to.row..]);
        self.properties.iter().fold(neighbors, |rows, &property| {
            let columns = (from.run.column(property), to.run.column(property));
            (0..rows).take_while(|row| same_cell(columns, from.row + row, to.row + row)).count()
        })
    }

    /// Compares the edges between two vertices.
    fn between(&self, src: VertexId, old: &[Row<'_>], new: &[Row<'_>], edges: &mut EdgeDiff) {
        match (old, new) {
            ([from], [to]) if !self.multi => {
                if self.in_both(*from, *to) == 0 {
                    edges.changed_from.push(src, *from);
                    edges.changed_to.push(src, *to);
                }
            }
            ([], new) => new.iter().for_each(|row| edges.added.push(src, *row)),
            (old, []) => old.iter().for_each(|row| edges.removed.push(src, *row)),
            (old, new) => self.multisets(src, old, new, edges),
        }
    }

    /// Parallel edges are the same if their properties are.
    fn multisets(&self, src: VertexId, old: &[Row<'_>], new: &[Row<'_>], edges: &mut EdgeDiff) {
        let spelled = |row: &Row<'_>| -> Vec<String> {
            self.properties.iter().map(|&property| format!("{:?}", row.value(property))).collect()
        };
        let mut left: BTreeMap<Vec<String>, Vec<Row<'_>>> = BTreeMap::new();
        old.iter().rev().for_each(|row| left.entry(spelled(row)).or_default().push(*row));
        for row in new {
            if left.get_mut(&spelled(row)).and_then(Vec::pop).is_none() {
                edges.added.push(src, *row);
            }
        }
        left.into_values().flatten().for_each(|row| edges.removed.push(src, row));
    }
}

/// How many numbers two slices have in common at the front.
fn common(left: &[VertexId], right: &[VertexId]) -> usize {
    const STEP: usize = 16;
    let is_same = |(left, right): &(&[VertexId], &[VertexId])| left == right;
    let steps = STEP * left.chunks_exact(STEP).zip(right.chunks_exact(STEP)).take_while(is_same).count();
    let rest = left[steps..].iter().zip(&right[steps..]);
    steps + rest.take_while(|(left, right)| left == right).count()
}

/// Whether two columns of one property, null throughout if there is none, have the same value in these rows.
fn same_cell(columns: (Option<RunColumn<'_>>, Option<RunColumn<'_>>), from: usize, to: usize) -> bool {
    match columns {
        (Some(left), Some(right)) => left.is_same(from, &right, to),
        (Some(column), None) => column.is_null(from),
        (None, Some(column)) => column.is_null(to),
        (None, None) => true,
    }
}

/// Whether two values are the same; a NaN is itself. Lists hold scalars only.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Float(left), Value::Float(right)) => left.to_bits() == right.to_bits(),
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (left, right) => left == right,
    }
}
