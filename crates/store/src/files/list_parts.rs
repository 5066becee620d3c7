//! What becomes a piece of a segment: some lists, or some runs of one that is too long for a piece.
//!
//! ```text
//!  selected lists ─► [list list list] [list] [runs of a long list] [its next runs] [list list] ─► a piece each
//! ```
//!
//! Invariant: parts ascend, and those of one list follow each other in the order of its runs.

use evergraph_types::{EdgeTypeId, Property, VertexId};

use crate::lists::adjacency::{CHUNK_MAX, ChunkRef};
use crate::lists::entry::Entry;
use crate::lists::merge::runs_of;
use crate::versions::version::Version;

/// Selected lists in one piece, at most.
const LISTS_PER_PIECE: usize = 1 << 12;

/// A list to write: the entry of the version, `None` for one that is gone.
pub(crate) type Selected = (VertexId, Option<Entry>);

/// What becomes a piece.
pub(crate) enum Part<'s> {
    /// Whole lists.
    Lists(&'s [Selected]),
    /// Some runs of one.
    Runs(ListRuns),
}

/// Runs of a list that comes in several pieces.
pub(crate) struct ListRuns {
    pub(crate) vertex: VertexId,
    pub(crate) runs: Vec<ChunkRef>,
    /// Whether any run of the list may have columns.
    pub(crate) has_columns: bool,
}

/// How much room lists of an edge type take.
#[derive(Clone, Copy)]
pub(crate) struct Sizes<'v> {
    version: &'v Version,
    /// About what a neighbor takes, with its properties of fixed width.
    words_per_neighbor: usize,
    /// Whether all are.
    is_fixed: bool,
}

impl<'v> Sizes<'v> {
    pub(crate) fn of(version: &'v Version, edge_type: EdgeTypeId) -> Self {
        let kind = version.schema().edge_types.get(usize::from(edge_type));
        let properties = || kind.into_iter().flat_map(|kind| kind.properties());
        let width = |property: &Property| property.kind.width();
        let words = properties().filter_map(|(_, property)| width(property)).map(|width| width.div_ceil(4));
        Sizes {
            version,
            words_per_neighbor: 1 + words.sum::<usize>(),
            is_fixed: properties().all(|(_, property)| width(property).is_some()),
        }
    }

    /// About how many words a run takes, which is asked of the run only if its properties do not tell.
    pub(crate) fn of_run(&self, run: ChunkRef) -> usize {
        match self.is_fixed || !run.has_columns() {
            true => self.words_per_neighbor * run.len as usize,
            false => self.version.run_bytes(run) / size_of::<u32>(),
        }
    }

    /// About how many words a list takes.
    pub(crate) fn of_list(&self, entry: Option<Entry>) -> usize {
        let Some(entry) = entry else { return 0 };
        if self.is_fixed {
            return self.words_per_neighbor * self.version.degree_of(entry) as usize;
        }
        let mut runs = Vec::new();
        runs_of(entry, &mut runs);
        runs.into_iter().map(|run| self.of_run(run)).sum()
    }

    /// Lists in parts of about so many words each, if that is more than one run.
    pub(crate) fn parts<'s>(self, selected: &'s [Selected], most: usize) -> impl Iterator<Item = Part<'s>> {
        let mut rest = selected;
        let mut long = Vec::new().into_iter();
        std::iter::from_fn(move || {
            if let Some(runs) = long.next() {
                return Some(Part::Runs(runs));
            }
            let mut words = 0;
            let fits = |list: &&Selected| {
                words += self.of_list(list.1);
                words <= most
            };
            let len = rest.iter().take(LISTS_PER_PIECE).take_while(fits).count();
            let (part, others) = rest.split_at(len.max(1).min(rest.len()));
            rest = others;
            if let [(vertex, Some(entry))] = part
                && len == 0
            {
                let mut runs = Vec::new();
                runs_of(*entry, &mut runs);
                let has_columns = runs.iter().any(|run| run.has_columns());
                let parts: Vec<ListRuns> = self.parts_of_list(*vertex, &runs, has_columns, most).collect();
                if parts.len() > 1 {
                    long = parts.into_iter();
                    return long.next().map(Part::Runs);
                }
            }
            (!part.is_empty()).then_some(Part::Lists(part))
        })
    }

    /// The runs of a list in parts of about so many words.
    pub(crate) fn parts_of_list(
        self,
        vertex: VertexId,
        runs: &[ChunkRef],
        has_columns: bool,
        most: usize,
    ) -> impl Iterator<Item = ListRuns> {
        let mut rest = runs.iter().flat_map(|run| short_parts(*run)).peekable();
        std::iter::from_fn(move || {
            let mut runs = vec![rest.next()?];
            let mut words = self.of_run(runs[0]);
            while let Some(run) = rest.next_if(|run| words + self.of_run(*run) <= most) {
                words += self.of_run(run);
                runs.push(run);
            }
            Some(ListRuns { vertex, runs, has_columns })
        })
    }
}

/// A run in parts that are no longer than runs of chunked lists, where it has parts: `multi` lists in memory grow longer.
fn short_parts(run: ChunkRef) -> impl Iterator<Item = ChunkRef> {
    let len = run.len as usize;
    let step = if run.has_parts() { CHUNK_MAX } else { len.max(1) };
    (0..len).step_by(step).map(move |start| match len <= step {
        true => run,
        false => run.part(start, step.min(len - start), run.first),
    })
}
