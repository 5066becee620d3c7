//! Room ahead in a file as memory: what is copied there is in the file, as if written, without asking the system.
//!
//! Invariant: only room that was written as zeros is touched, so that no place for it has to be found on the disk, and the
//! file is not cut while it is mapped. Pages are asked for before they are touched, by a system call that can fail, by whoever makes
//! the room or by whoever writes: where the disk refuses, the write that takes the place of the copy tells why. Between that call and
//! the copy, a tenth of a second at most, a disk that begins to fail ends the process, as it does for every program that maps files.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memmap2::{MmapOptions, MmapRaw};

/// How much is mapped at once, however little of it is room yet: to give a map up takes as long as a hundred copies.
const MAP_BYTES: usize = 1 << 22;
/// Where maps begin in a file, in bytes: at multiples of every usual page.
const MAP_ALIGN: u64 = 1 << 16;
/// What is asked for at once, in bytes, or the page it is in: most writes ask for nothing, and none waits for many pages.
const STEP_BYTES: usize = 1 << 12;
/// After so long pages are asked for again: the system may have written them, or even let go of them.
const FRESH: Duration = Duration::from_millis(100);

/// A part of a file that ends in room, or beyond it.
#[derive(Debug)]
pub(crate) struct MappedRoom {
    map: Arc<MmapRaw>,
    /// Where in the file the map begins.
    start: u64,
    /// What of it was asked for, in order; what was written to may be gone.
    asked: VecDeque<Asked>,
}

/// Pages of a map that were asked for.
#[derive(Debug)]
struct Asked {
    range: Range<usize>,
    when: Instant,
}

impl MappedRoom {
    /// Maps the file from about `offset` on; `None` where the system does not.
    pub(crate) fn open(file: &File, offset: u64) -> Option<MappedRoom> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let start = offset / MAP_ALIGN * MAP_ALIGN;
        let map = MmapOptions::new().offset(start).len(MAP_BYTES).map_raw(file).ok()?;
        Some(MappedRoom { map: Arc::new(map), start, asked: VecDeque::new() })
    }

    /// Whether these bytes of the file are mapped.
    pub(crate) fn holds(&self, bytes: &Range<u64>) -> bool {
        self.start <= bytes.start && bytes.end <= self.start + MAP_BYTES as u64
    }

    /// The pages with these bytes, as far as they are mapped.
    pub(crate) fn pages(&self, bytes: &Range<u64>) -> Option<Pages> {
        let within = |place: u64| (place.saturating_sub(self.start) as usize).min(MAP_BYTES);
        let range = within(bytes.start) / STEP_BYTES * STEP_BYTES..within(bytes.end);
        (!range.is_empty()).then(|| Pages { map: self.map.clone(), range })
    }

    /// The pages that were asked for and are still to be written to.
    pub(crate) fn asked_pages(&self) -> Option<Pages> {
        let range = self.asked.front()?.range.start..self.asked.back()?.range.end;
        Some(Pages { map: self.map.clone(), range })
    }

    /// Notes that pages were asked for, if they are of this map.
    pub(crate) fn note_asked(&mut self, Pages { map, range }: &Pages, when: Instant) {
        if Arc::ptr_eq(&self.map, map) {
            let (before, after) =
                (self.part_of_asked(0..range.start), self.part_of_asked(range.end..MAP_BYTES));
            let asked = Asked { range: range.clone(), when };
            self.asked = before.into_iter().chain([asked]).chain(after).collect();
        }
    }

    /// What was asked for of a part of the map.
    fn part_of_asked(&self, part: Range<usize>) -> Vec<Asked> {
        let within = |Asked { range, when }: &Asked| {
            let range = range.start.max(part.start)..range.end.min(part.end);
            Asked { range, when: *when }
        };
        self.asked.iter().map(within).filter(|asked| !asked.range.is_empty()).collect()
    }

    /// Whether the pages of these bytes, which are written to, were asked for so lately that they need not be again.
    fn is_ready(&mut self, bytes: &Range<usize>, now: Instant) -> bool {
        while self.asked.pop_front_if(|asked| asked.range.end <= bytes.start).is_some() {}
        let is_fresh = |asked: &&Asked| now.duration_since(asked.when) <= FRESH;
        let mut ready = bytes.start;
        for Asked { range, .. } in self.asked.iter().take_while(is_fresh) {
            if ready >= bytes.end || !range.contains(&ready) {
                break;
            }
            ready = range.end;
        }
        ready >= bytes.end
    }

    /// Copies the parts to these bytes of the file, which are mapped and in room that ends at `room_end`. False if the system
    /// refuses the pages: then nothing was copied.
    pub(crate) fn write(&mut self, bytes: Range<u64>, room_end: u64, parts: &[&[u8]]) -> bool {
        let start = self.start;
        let within = |place: u64| (place - start) as usize;
        let (begin, end) = (within(bytes.start), within(bytes.end));
        let now = Instant::now();
        if !self.is_ready(&(begin..end), now) {
            let room_end = within(room_end).min(MAP_BYTES);
            let range = begin / STEP_BYTES * STEP_BYTES..end.next_multiple_of(STEP_BYTES).min(room_end);
            let pages = Pages { map: self.map.clone(), range };
            if !pages.ask() {
                return false;
            }
            self.note_asked(&pages, now);
        }
        let mut place = begin;
        for part in parts {
            assert!(place + part.len() <= end);
            #[expect(unsafe_code)]
            // SAFETY: the place is in the map, whose pages are there. Nobody else reads or writes these bytes as memory: a file with
            // room ahead is not mapped while it is appended to (`disk.rs`), and this is the one who appends.
            unsafe {
                self.map.as_mut_ptr().add(place).copy_from_nonoverlapping(part.as_ptr(), part.len());
            }
            place += part.len();
        }
        true
    }
}

/// Pages of a map, for someone who asks for them before they are written to.
#[derive(Debug)]
pub(crate) struct Pages {
    map: Arc<MmapRaw>,
    range: Range<usize>,
}

impl Pages {
    /// Has the system make them ready to be written, with a call that reports failures; tells whether it has. If not, or if there is
    /// no such call, whoever writes asks once more.
    #[cfg(target_os = "linux")]
    pub(crate) fn ask(&self) -> bool {
        let Pages { map, range } = self;
        map.advise_range(memmap2::Advice::PopulateWrite, range.start, range.len()).is_ok()
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn ask(&self) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What was asked for, and when, page by page of a small part of the map.
    const PAGES: usize = 24;

    proptest! {
        /// Pages count as ready as a naive model says, whoever asked for them, and in whatever order they are written to.
        #[test]
        fn pages_are_ready_for_a_while_after_they_were_asked_for(
            steps in prop::collection::vec((0..PAGES, 1..PAGES, 0..60_u64, any::<bool>()), 1..60))
        {
            let file = tempfile::tempfile().unwrap();
            let mut room = MappedRoom::open(&file, 0).unwrap();
            let mut model = [None; PAGES];
            let (mut now, mut written) = (Instant::now(), 0);
            for (first, count, milliseconds, asks) in steps {
                now += Duration::from_millis(milliseconds);
                let pages = first.max(written)..(first + count).min(PAGES);
                if pages.is_empty() {
                    continue;
                }
                let range = STEP_BYTES * pages.start..STEP_BYTES * pages.end;
                if asks {
                    room.note_asked(&Pages { map: room.map.clone(), range }, now);
                    model[pages].fill(Some(now));
                } else {
                    written = pages.start;
                    let is_fresh = |when: &Option<Instant>| when.is_some_and(|when| now - when <= FRESH);
                    let is_ready = model[pages].iter().all(is_fresh);
                    prop_assert_eq!(room.is_ready(&range, now), is_ready);
                }
            }
        }
    }
}
