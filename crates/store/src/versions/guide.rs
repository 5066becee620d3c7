//! The segments of a version, and where they have the lists and texts of vertices, roughly.
//!
//! A point read waits for memory twice: for the entry of its vertex, and then for what that leads to. A segment is in the order of
//! vertices, so that two bits for each vertex, which is little enough to stay near, tell about where it is, and both are waited for
//! at once.
//!
//! ```text
//!  Stretch, 16 bytes for 64 vertices:   the line where theirs begin: u32 | lines from there to where those of each eighth begin: u8 × 9
//! ```
//!
//! Invariant: a guide is a hint. Where it is wrong, since a commit has put a list elsewhere or the segment is gone, a read waits as it
//! would without, and gives the same.

use std::ops::Deref;
use std::ptr::without_provenance;
use std::sync::Arc;

use evergraph_segment::Segment;
use evergraph_types::{Direction, EdgeTypeId, PropertyId, VertexId};

use crate::system::prefetch::{LINE, prefetch};

/// Vertices of a group, of which is told where they begin. With fewer a guide is larger, and further away; with more it tells less.
pub(crate) const GROUP: u32 = 8;
const GROUPS: usize = 8;
const STRETCH: u32 = GROUP * GROUPS as u32;

/// So many lines are asked for, from one before the place where evenly long lists would have it.
const LINES_ASKED: usize = 8;
/// What begins so many lines behind a stretch or more is not told of: some list is long, and where the others are cannot be guessed.
const FAR: u8 = u8::MAX;

/// Where a table's lists or texts lie in a segment.
#[derive(Clone, Debug)]
pub(crate) struct Guide {
    /// The address that lines are counted from, which is that of the segment. Nothing is read through it.
    start: usize,
    stretches: Arc<[Stretch]>,
}

/// Where those of neighboring vertices lie.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
struct Stretch {
    /// The line where the first of them begins.
    first: u32,
    /// How many lines from there on each group begins, and the last one ends.
    groups: [u8; GROUPS + 1],
}

const _: () = assert!(size_of::<Stretch>() == 16);

impl Guide {
    /// One to what begins in these lines of a segment, by group, and behind the last.
    pub(crate) fn new(segment: &Segment, lines: &[u32]) -> Self {
        let stretch = |from: usize| {
            let first = lines[from];
            let mut before = 0;
            let groups = std::array::from_fn(|group| {
                let line = lines[(from + group).min(lines.len() - 1)];
                before = line.saturating_sub(first).min(FAR.into()).max(before);
                before as u8
            });
            Stretch { first, groups }
        };
        let groups = lines.len().saturating_sub(1);
        let stretches = (0..groups).step_by(GROUPS).map(stretch).collect();
        Guide { start: segment.data().as_ptr().addr(), stretches }
    }

    /// Whether it is one to this segment, which is still there.
    pub(crate) fn leads_to(&self, segment: &Segment) -> bool {
        self.start == segment.data().as_ptr().addr()
    }

    /// Asks the processor for what the segment has of a vertex.
    #[inline]
    fn ask(&self, vertex: VertexId) {
        if let Some(place) = self.place(vertex) {
            prefetch(without_provenance(place), LINE * LINES_ASKED);
        }
    }

    /// The address from which on it is asked for.
    #[inline]
    fn place(&self, vertex: VertexId) -> Option<usize> {
        let stretch = self.stretches.get((vertex / STRETCH) as usize)?;
        let group = (vertex % STRETCH / GROUP) as usize;
        let (begin, end) = (stretch.groups[group], stretch.groups[group + 1]);
        let before = u32::from(end - begin) * (vertex % GROUP) / GROUP;
        let line = stretch.first as usize + usize::from(begin) + before as usize;
        (end < FAR).then_some(self.start + LINE * line.saturating_sub(1))
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.stretches)
    }
}

/// Of each table, the guide to the segment that has the most rows of it, where there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guides {
    /// By edge type and direction.
    pub(crate) lists: Vec<[Option<Guide>; 2]>,
    /// By property of vertices.
    pub(crate) texts: Vec<Option<Guide>>,
}

/// The mapped files that entries and cells of a version may point into. On lines of memory of its own, as [`Schema`](evergraph_types::Schema) is.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Mapped {
    segments: Box<[Arc<Segment>]>,
    guides: Guides,
}

impl Mapped {
    pub(crate) fn new(segments: impl IntoIterator<Item = Arc<Segment>>, guides: Guides) -> Self {
        Mapped { segments: segments.into_iter().collect(), guides }
    }

    pub(crate) fn guides(&self) -> &Guides {
        &self.guides
    }

    /// Asks the processor for a list, if a guide tells where it is.
    #[inline]
    pub(crate) fn ask_for_list(&self, edge_type: EdgeTypeId, direction: Direction, vertex: VertexId) {
        if let Some(guides) = self.guides.lists.get(usize::from(edge_type))
            && let Some(guide) = &guides[direction as usize]
        {
            guide.ask(vertex);
        }
    }

    /// Asks the processor for a text, if a guide tells where it is.
    #[inline]
    pub(crate) fn ask_for_text(&self, property: PropertyId, vertex: VertexId) {
        if let Some(Some(guide)) = self.guides.texts.get(usize::from(property)) {
            guide.ask(vertex);
        }
    }

    /// Bytes of the guides.
    pub(crate) fn guide_bytes(&self) -> usize {
        let Guides { lists, texts } = &self.guides;
        lists.iter().flatten().chain(texts).flatten().map(Guide::bytes).sum()
    }
}

impl Deref for Mapped {
    type Target = [Arc<Segment>];

    fn deref(&self) -> &[Arc<Segment>] {
        &self.segments
    }
}

#[cfg(test)]
mod tests {
    use evergraph_types::{EdgeBatch, EdgeTypeOptions, KeyColumn, PropertyType};

    use super::*;
    use crate::options::Options;
    use crate::store::Store;
    use crate::versions::version::Version;

    const VERTICES: i64 = 70_000;

    /// Vertices with texts of some lines, and edges from each to the next few.
    fn fill(store: &Store) -> Result<(), Box<dyn std::error::Error>> {
        store.create_vertex_type("Account", &[("name", PropertyType::String)])?;
        store.create_edge_type("paid", EdgeTypeOptions::default())?;
        let mut transaction = store.begin()?;
        for key in 0..VERTICES {
            let name = "n".repeat(90 + (key * key % 70) as usize);
            transaction.put_vertex(key, Some("Account"), &[("name", name.as_str().into())])?;
        }
        transaction.commit()?;
        let ends = |key: i64| (1..2 + key * key % 5).map(move |step| (key, (key + step) % VERTICES));
        let (src, dst) = (0..VERTICES).flat_map(ends).unzip();
        let (src, dst) = (KeyColumn::Int(src), KeyColumn::Int(dst));
        store.add_edges("paid", vec![EdgeBatch { src, dst, columns: Vec::new() }])?;
        Ok(())
    }

    /// Of a version whose lists and texts all lie in one segment, that each begins where it is asked for.
    fn assert_found(version: &Version) {
        let mapped = &version.segments;
        let assert_asked = |guide: &Option<Guide>, vertex, place: usize| {
            let asked = guide.as_ref().and_then(|guide| guide.place(vertex)).expect("none lies far");
            assert!(
                (asked..asked + LINE * LINES_ASKED).contains(&place),
                "vertex {vertex}: {asked:x}, {place:x}"
            );
        };
        for vertex in 0..VERTICES as u32 {
            for direction in [Direction::Out, Direction::In] {
                let entry = version.entry(0, direction, vertex);
                if !entry.is_empty() {
                    let guide = &mapped.guides.lists[0][direction as usize];
                    assert_asked(guide, vertex, entry.run().pointer().addr());
                }
            }
            let text = version.vertex_text(vertex, 0).expect("each has a name");
            assert_asked(&mapped.guides.texts[0], vertex, text.as_ptr().addr());
        }
        assert!(mapped.guide_bytes() < VERTICES as usize);
    }

    #[test]
    fn what_a_segment_holds_is_asked_for_where_it_lies() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let options = Options { background: false, ..Options::default() };
        let store = Store::open(directory.path(), options.clone())?;
        fill(&store)?;
        store.compact()?;
        assert!(store.version()?.segments.guide_bytes() > 0);
        assert_found(&*store.version()?);
        store.close()?;
        let store = Store::open(directory.path(), options)?;
        assert_found(&*store.version()?);

        // A small segment beside it has too little to tell.
        let leads_to = |version: &Version, segment: usize| {
            let guides = version.segments.guides.lists[0].iter().chain(&version.segments.guides.texts);
            let segment = &version.segments[segment];
            guides.flatten().filter(|guide| guide.leads_to(segment)).count()
        };
        store.put_edge(5, 2000, "paid", &[])?;
        store.checkpoint()?;
        let version = store.version()?;
        assert_eq!((version.segments.len(), leads_to(&version, 0)), (2, 3));
        assert!(version.has_edge(0, 5, 2000));
        store.compact()?;
        let version = store.version()?;
        assert_eq!((version.segments.len(), leads_to(&version, 0)), (1, 3));
        assert_found(&version);
        Ok(())
    }

    #[test]
    fn what_lies_far_is_not_asked_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(directory.path(), Options::default()).expect("it opens");
        fill(&store).and_then(|()| Ok(store.compact()?)).expect("it is written");
        let segment = &store.version().expect("open").segments[0];
        // A list of 300 lines in the second group, and one at the very end; then lines that do not ascend.
        for lines in [vec![10, 12, 312, 314], vec![u32::MAX - 1, u32::MAX], vec![500, 7, 400, 300, 9]] {
            let guide = Guide::new(segment, &lines);
            let place = |vertex| guide.place(vertex).map(|place| (place - guide.start) / LINE);
            assert_eq!(place(0), Some(lines[0] as usize - 1), "{lines:?}");
            assert!(place(8 * lines.len() as u32).is_none_or(|line| line < u32::MAX as usize), "{lines:?}");
            assert_eq!(place(64), None);
        }
        let guide = Guide::new(segment, &[10, 12, 312, 314]);
        assert_eq!((guide.place(8), guide.place(23)), (None, None));
        assert_eq!(Guide::new(segment, &[]).place(0), None);
    }
}
