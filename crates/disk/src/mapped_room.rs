//! Room ahead in a file as memory: what is copied there is in the file, as if written, without asking the system.
//!
//! Invariant: only room that was written as zeros is touched, so that no place for it has to be found on the disk, and the
//! file is not cut while it is mapped. Pages are asked for before they are touched, by a system call that can fail: where
//! the disk refuses, the write that takes the place of the copy tells why. Between that call and the copy, a tenth of a
//! second at most, a disk that begins to fail ends the process, as it does for every program that maps files.

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
    /// Up to where in it pages were asked for, and when.
    ready: usize,
    asked: Instant,
}

impl MappedRoom {
    /// Maps the file from about `offset` on; `None` where the system does not.
    pub(crate) fn open(file: &File, offset: u64) -> Option<MappedRoom> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let start = offset / MAP_ALIGN * MAP_ALIGN;
        let map = MmapOptions::new().offset(start).len(MAP_BYTES).map_raw(file).ok()?;
        Some(MappedRoom { map: Arc::new(map), start, ready: 0, asked: Instant::now() })
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

    /// Copies the parts to these bytes of the file, which are mapped and in room that ends at `room_end`. False if the system
    /// refuses the pages: then nothing was copied.
    pub(crate) fn write(&mut self, bytes: Range<u64>, room_end: u64, parts: &[&[u8]]) -> bool {
        let within = |place: u64| (place - self.start) as usize;
        let (begin, end) = (within(bytes.start), within(bytes.end));
        let now = Instant::now();
        if end > self.ready || now.duration_since(self.asked) > FRESH {
            let room_end = within(room_end).min(MAP_BYTES);
            let asked = begin / STEP_BYTES * STEP_BYTES..end.next_multiple_of(STEP_BYTES).min(room_end);
            if !ask(&self.map, asked.clone()) {
                return false;
            }
            (self.ready, self.asked) = (asked.end, now);
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
    /// Has the system make them ready to be written. Whoever writes asks once more, and finds out what it refuses.
    pub(crate) fn ask(&self) {
        ask(&self.map, self.range.clone());
    }
}

/// Has the system make these pages ready to be written, with a call that reports failures, unless there is none.
#[cfg(target_os = "linux")]
fn ask(map: &MmapRaw, range: Range<usize>) -> bool {
    map.advise_range(memmap2::Advice::PopulateWrite, range.start, range.len()).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn ask(_: &MmapRaw, _: Range<usize>) -> bool {
    false
}
