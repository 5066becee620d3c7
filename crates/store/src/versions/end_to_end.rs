//! Lists copied end to end, for whoever passes over all of them many times.
//!
//! ```text
//!  as they lie      ..|list 0|.....|list 2|..      |list 1|dead|list 3|      [run][run]..[run] of list 4
//!  end to end       |list 0|list 1|list 2|list 3|list 4           |.. AHEAD more words
//! ```
//!
//! Lists that commits have written, or several segments hold, lie apart: a pass over them waits for each where the processor does not see
//! it coming, and of what lies behind a list little is a neighbor of a later one, so that the hints of [`Neighbors::hinted`] are lost. Such a
//! pass takes up to half as long again, and the copy about as long as one pass.
//!
//! Invariants: the table says the same as the one it was made of; lists that lie end to end already, are compressed or not in memory stay
//! where they are.
//!
//! [`Neighbors::hinted`]: crate::Neighbors::hinted
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use evergraph_types::VertexId;
use rayon::prelude::*;

use crate::lists::adjacency::AHEAD;
use crate::lists::paged_array::LEAF_CELLS;
use crate::versions::flat_table::{EMPTY_PAGE, FlatTable, Page, entry_of};

/// So many vertices are looked at, and copied, together.
const STRETCH: usize = 1 << 11;

/// Lists are copied where more than one in so many neighbors of a sample is in a list that lies apart from the list before.
const APART: usize = 16;

/// The pages of some vertices whose lists were copied.
#[derive(Default)]
struct Stretch {
    pages: Vec<Page>,
    _directories: Vec<Vec<u64>>,
}

impl FlatTable {
    /// The same lists, those copied that lie apart: 4 bytes a neighbor, for a table that is passed over several times. `check` is called
    /// now and then.
    ///
    /// # Errors
    /// What `check` gives.
    pub fn end_to_end<E: Send>(&self, check: impl Fn() -> Result<(), E> + Sync) -> Result<FlatTable, E> {
        if self.is_cold() {
            return Ok(self.clone());
        }
        let vertices = self.pages().len() * LEAF_CELLS as usize;
        // Of 2^32 ids the last page stays where it is, since no range ends behind it.
        let id = |vertex: usize| VertexId::try_from(vertex.min(vertices)).unwrap_or(VertexId::MAX);
        let range = |stretch: usize| id(stretch * STRETCH)..id((stretch + 1) * STRETCH);
        let words = (0..vertices.div_ceil(STRETCH)).into_par_iter().map(|stretch| {
            check()?;
            Ok(if self.lie_apart(range(stretch)) { self.degrees(range(stretch)).sum() } else { 0 })
        });
        let words = words.collect::<Result<Vec<usize>, E>>()?;
        // In one piece, which the system gives in large pages.
        let mut neighbors: Vec<VertexId> = Vec::with_capacity(words.iter().sum::<usize>() + AHEAD);
        let mut left = neighbors.spare_capacity_mut();
        let mut rooms = Vec::with_capacity(words.len());
        for len in words {
            let (room, rest) = left.split_at_mut(len);
            rooms.push(room);
            left = rest;
        }
        left.fill(MaybeUninit::new(0));
        let stretches = rooms.into_par_iter().enumerate().map(|(stretch, room)| {
            check()?;
            Ok(if room.is_empty() { Stretch::default() } else { self.copy(range(stretch), room) })
        });
        let stretches = stretches.collect::<Result<Vec<Stretch>, E>>()?;
        // SAFETY: all rooms, and what is left, have been filled.
        unsafe { neighbors.set_len(neighbors.capacity()) };
        let mut pages = self.pages().to_vec();
        for (places, stretch) in pages.chunks_mut(STRETCH / LEAF_CELLS as usize).zip(&stretches) {
            for (place, page) in places.iter_mut().zip(&stretch.pages) {
                // SAFETY: the owner keeps the stretch where it is.
                *place = unsafe { &*std::ptr::from_ref(page) };
            }
        }
        Ok(self.with_pages(pages, Arc::new((neighbors, stretches))))
    }

    /// Whether many lists lie apart, as far as a sample tells.
    fn lie_apart(&self, range: Range<VertexId>) -> bool {
        let (mut all, mut apart) = (0, 0);
        for lists in self.samples(range) {
            let mut end = None;
            for list in lists {
                all += list.len();
                match list.as_slice() {
                    Some([]) => {}
                    Some(slice) => {
                        apart += if end.is_none_or(|end| slice.as_ptr() == end) { 0 } else { slice.len() };
                        end = Some(slice.as_ptr_range().end);
                    }
                    None if list.is_compressed() => {}
                    None => apart += list.len(),
                }
            }
        }
        apart * APART > all
    }

    /// Copies the lists of these vertices into a room that is as large, all of which is filled.
    fn copy(&self, range: Range<VertexId>, mut room: &mut [MaybeUninit<VertexId>]) -> Stretch {
        let mut directories = Vec::new();
        let mut pages = vec![EMPTY_PAGE; range.len() / LEAF_CELLS as usize];
        for (cell, entry) in pages.as_flattened_mut().iter_mut().zip(self.entries::<true>(range)) {
            // SAFETY: the owner keeps the lists alive as long as `self` is borrowed.
            let list = unsafe { entry.neighbors() };
            *cell = if list.is_compressed() {
                entry
            } else {
                let (copy, rest) = room.split_at_mut(list.len());
                room = rest;
                let mut end = 0;
                list.for_each_slice(|slice| {
                    copy[end..end + slice.len()].write_copy_of_slice(slice);
                    end += slice.len();
                });
                assert_eq!(end, copy.len(), "a list is as long as it says");
                // SAFETY: all of it was written.
                entry_of(unsafe { copy.assume_init_ref() }, &mut directories)
            };
        }
        room.fill(MaybeUninit::new(0));
        Stretch { pages, _directories: directories }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::versions::flat_table::SAMPLED_OF;

    /// Lists of these lengths, all numbers different.
    fn table(lengths: &[usize], chunk_len: usize) -> FlatTable {
        let mut offsets = vec![0];
        offsets.extend(lengths.iter().scan(0, |end, len| {
            *end += *len as u64;
            Some(*end)
        }));
        let neighbors = (0..offsets[lengths.len()] as VertexId).collect();
        FlatTable::from_csr_chunked(&offsets, neighbors, chunk_len)
    }

    fn end_to_end(table: &FlatTable) -> FlatTable {
        table.end_to_end(|| Ok::<(), Infallible>(())).unwrap_or_else(|never| match never {})
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The copy says the same, of a table with several stretches, too; its lists lie end to end if many lay apart, and stay where
        /// they are if few did.
        #[test]
        fn lists_end_to_end_are_the_same(
            mut lengths in prop::collection::vec(prop_oneof![Just(0), 1usize..20, Just(300)], 1..300),
            repeats in prop_oneof![Just(1), Just(2 * STRETCH / 100)],
            chunk_len in prop_oneof![Just(1usize), Just(10), Just(250), Just(usize::MAX)],
            hub in prop_oneof![Just(0), Just(8191usize), Just(8192), Just(20_000)],
        ) {
            lengths = lengths.repeat(repeats);
            lengths.push(hub);
            let before = table(&lengths, chunk_len);
            let after = end_to_end(&before);
            prop_assert_eq!(before.len(), after.len());
            let mut end = std::ptr::null();
            for first in (0..lengths.len()).step_by(STRETCH) {
                let stretch = first..lengths.len().min(first + STRETCH);
                let pages = lengths[stretch.clone()].chunks(LEAF_CELLS as usize);
                let sample: Vec<usize> = pages.step_by(SAMPLED_OF as usize).flatten().copied().collect();
                let in_runs = sample.iter().filter(|len| **len > chunk_len).sum::<usize>();
                let apart = in_runs * APART > sample.iter().sum();
                for vertex in stretch {
                    let (list, as_it_was) = (after.neighbors(vertex as VertexId), before.neighbors(vertex as VertexId));
                    prop_assert_eq!(list.to_vec(), as_it_was.to_vec());
                    let now = list.as_slice().map(<[VertexId]>::as_ptr_range);
                    let Some(place) = now.filter(|place| place.start != place.end) else {
                        prop_assert!(list.is_empty() || !apart, "a list in runs is left");
                        continue;
                    };
                    let was = as_it_was.as_slice().map(<[VertexId]>::as_ptr_range);
                    prop_assert!(!apart || list.has_hints());
                    prop_assert!(!apart || place.start == end || vertex == first || lengths[first..vertex].iter().all(|len| *len == 0));
                    prop_assert_eq!(was == Some(place.clone()), !apart);
                    end = place.end;
                }
            }
        }
    }

    #[test]
    fn a_copy_is_given_up_when_asked_to() {
        let table = table(&[3; 5], 1);
        assert_eq!(table.end_to_end(|| Err("enough")).map(|_| ()), Err("enough"));
    }

    /// What was copied outlives the table it was copied from.
    #[test]
    fn a_copy_stands_by_itself() {
        let lists = {
            let table = table(&[2, 0, 5, 700], 3);
            end_to_end(&end_to_end(&table))
        };
        assert_eq!(lists.neighbors(3).to_vec(), (7..707).collect::<Vec<VertexId>>());
    }
}
