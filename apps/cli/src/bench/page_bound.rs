//! A bound on the memory of this process, kept by itself: what it has on its heap and what the system holds of the
//! segments it has mapped stay below a limit together.
//!
//! ```text
//!  every few milliseconds:  heap + pages of segments > limit ?  ─► hand ─► gives pages back, part by part, in the
//!                           /proc       mincore                            order of the files, until there is room
//! ```
//!
//! A control group does that from outside, but takes rights that a benchmark should not ask for. What differs: pages go
//! in the order they lie in, not the least recently used first. For a pass from front to back both are the same; what
//! comes again in no order fares no better here.
//!
//! Invariant: pages are given back, never changed: the files are read-only maps, and the next look reads them again.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::resident::resident_bytes;

/// How long nobody looks.
const NAP: Duration = Duration::from_millis(2);
/// Pages are counted and given back by so many bytes.
const PART_BYTES: usize = 1 << 20;
/// Of the limit, in hundredths, is kept free for what comes in between two looks.
const HEADROOM_PERCENT: u64 = 10;

/// Keeps a bound while it is told to.
#[derive(Debug)]
pub(super) struct PageBound {
    limit_bytes: u64,
    peak_bytes: AtomicU64,
    looks: AtomicU64,
    is_over: AtomicBool,
}

/// A file of which a part of memory is a map.
struct Map {
    start: usize,
    length: usize,
    file: Option<File>,
    /// Bytes in memory, by part.
    resident: Vec<usize>,
}

impl PageBound {
    pub(super) fn new(limit_bytes: u64) -> Self {
        let zero = || AtomicU64::new(0);
        PageBound { limit_bytes, peak_bytes: zero(), looks: zero(), is_over: AtomicBool::new(false) }
    }

    /// Runs `work` while the bound is kept.
    pub(super) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        self.is_over.store(false, Ordering::Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| self.keep());
            let result = work();
            self.is_over.store(true, Ordering::Relaxed);
            result
        })
    }

    /// The most that was there at any look, and forgets it.
    pub(super) fn take_peak_bytes(&self) -> u64 {
        self.peak_bytes.swap(0, Ordering::Relaxed)
    }

    fn keep(&self) {
        let (mut hand, mut maps) = (0, Vec::new());
        while !self.is_over.load(Ordering::Relaxed) {
            // Maps come when a store is opened; that is not to be looked for at each turn.
            if self.looks.fetch_add(1, Ordering::Relaxed).is_multiple_of(16) {
                maps = segment_maps();
            }
            maps.iter_mut().for_each(Map::count);
            let pages: usize = maps.iter().flat_map(|map| &map.resident).sum();
            let heap = resident_bytes().unwrap_or(0);
            self.peak_bytes.fetch_max(heap + pages as u64, Ordering::Relaxed);
            let room = self.limit_bytes * (100 - HEADROOM_PERCENT) / 100;
            let excess = (heap + pages as u64).saturating_sub(room).min(pages as u64);
            give_back(&maps, excess as usize, &mut hand);
            std::thread::sleep(NAP);
        }
    }
}

/// Gives back this much, from the part on where it stopped the last time.
fn give_back(maps: &[Map], excess: usize, hand: &mut usize) {
    let parts: Vec<(&Map, usize)> =
        maps.iter().flat_map(|map| (0..map.resident.len()).map(move |part| (map, part))).collect();
    let mut given = 0;
    for _ in 0..parts.len() {
        if given >= excess {
            return;
        }
        let (map, part) = parts[*hand % parts.len()];
        if map.resident[part] > 0 {
            map.give_back(part);
            given += map.resident[part];
        }
        *hand = (*hand + 1) % parts.len();
    }
}

impl Map {
    fn part(&self, part: usize) -> (usize, usize) {
        let offset = part * PART_BYTES;
        (offset, PART_BYTES.min(self.length - offset))
    }

    /// Asks the system which pages are in memory.
    fn count(&mut self) {
        // SAFETY: `sysconf` reads a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let mut pages = vec![0u8; self.length.div_ceil(page)];
        // SAFETY: the vector has a byte for each page; if the range is no longer mapped, the call fails and writes none.
        let failed = unsafe { libc::mincore(self.start as *mut _, self.length, pages.as_mut_ptr()) } != 0;
        let resident = |pages: &[u8]| page * pages.iter().filter(|&&page| page & 1 == 1).count();
        self.resident = pages.chunks(PART_BYTES / page).map(resident).collect();
        if failed {
            self.resident.fill(0);
        }
    }

    fn give_back(&self, part: usize) {
        let (offset, length) = self.part(part);
        // SAFETY: the range is a read-only map of a file, of which the next look reads the same bytes again; if it is no
        // longer mapped, the call fails. Nothing else is mapped in its place while the store is open.
        unsafe { libc::madvise((self.start + offset) as *mut _, length, libc::MADV_DONTNEED) };
        if let Some(file) = &self.file {
            drop_cached(file, offset, length);
        }
    }
}

/// Has the system forget what it holds of a part of a file; 0 bytes are all behind the offset.
fn drop_cached(file: &File, offset: usize, length: usize) {
    let (offset, length) = (offset as libc::off_t, length as libc::off_t);
    // SAFETY: the call touches no memory of this process.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, length, libc::POSIX_FADV_DONTNEED) };
}

/// Has the system forget what it holds of a file that is on disk.
pub(super) fn forget(path: &Path) -> std::io::Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    drop_cached(&file, 0, 0);
    Ok(())
}

/// The segments that are mapped, in the order of addresses.
fn segment_maps() -> Vec<Map> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let map = |line: &str| {
        let path = PathBuf::from(&line[line.find('/')?..]);
        path.extension().filter(|extension| *extension == "segment")?;
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        Some(Map { start, length: end - start, file: File::open(path).ok(), resident: Vec::new() })
    };
    maps.lines().filter_map(map).collect()
}
