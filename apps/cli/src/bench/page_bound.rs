//! A bound on the memory of this process, kept by itself: what it has on its heap and what the system holds of the
//! segments it has mapped stay below a limit together.
//!
//! ```text
//!  every few milliseconds:  heap + pages of segments > limit ?  ─► hand ─► gives pages back, part by part, in the
//!                           /proc      cachestat                           order of the files, until there is room
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
/// Pages are counted and given back by so many bytes: as many as the largest piece the system keeps as one, for it gives
/// back none of which it is asked for a part.
const PART_BYTES: usize = 1 << 21;
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
    file: File,
}

impl PageBound {
    /// A bound of so many bytes; an error where the system does not tell what it holds of a file.
    pub(super) fn new(limit_bytes: u64) -> std::io::Result<Self> {
        cached_bytes(&File::open("/proc/self/exe")?, 0, 1)?;
        let zero = || AtomicU64::new(0);
        Ok(PageBound { limit_bytes, peak_bytes: zero(), looks: zero(), is_over: AtomicBool::new(false) })
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
            let pages: u64 = maps.iter().map(|map| cached_bytes(&map.file, 0, map.length).unwrap_or(0)).sum();
            let heap = resident_bytes().unwrap_or(0);
            self.peak_bytes.fetch_max(heap + pages, Ordering::Relaxed);
            let room = self.limit_bytes * (100 - HEADROOM_PERCENT) / 100;
            give_back(&maps, (heap + pages).saturating_sub(room).min(pages), &mut hand);
            std::thread::sleep(NAP);
        }
    }
}

/// Gives back this much, from the part on where it stopped the last time.
fn give_back(maps: &[Map], excess: u64, hand: &mut usize) {
    let parts: Vec<(&Map, usize)> = maps
        .iter()
        .flat_map(|map| (0..map.length).step_by(PART_BYTES).map(move |offset| (map, offset)))
        .collect();
    let mut given = 0;
    for _ in 0..parts.len() {
        if given >= excess {
            return;
        }
        let (map, offset) = parts[*hand % parts.len()];
        let length = PART_BYTES.min(map.length - offset);
        let cached = cached_bytes(&map.file, offset, length).unwrap_or(0);
        if cached > 0 {
            map.give_back(offset, length);
            given += cached;
        }
        *hand = (*hand + 1) % parts.len();
    }
}

impl Map {
    fn give_back(&self, offset: usize, length: usize) {
        // SAFETY: the range is a read-only map of a file, of which the next look reads the same bytes again; if it is no
        // longer mapped, the call fails. Nothing else is mapped in its place while the store is open.
        unsafe { libc::madvise((self.start + offset) as *mut _, length, libc::MADV_DONTNEED) };
        drop_cached(&self.file, offset, length);
    }
}

/// What the system holds of a part of a file; an error where it does not tell (Linux before 6.5).
fn cached_bytes(file: &File, offset: usize, length: usize) -> std::io::Result<u64> {
    const CACHESTAT: libc::c_long = 451;
    const PAGE_BYTES: u64 = 4096;
    let range = [offset as u64, length as u64];
    // In pages: cached, dirty, being written, evicted, recently evicted.
    let mut pages = [0u64; 5];
    // SAFETY: both arrays are laid out as the structures of the call, which reads the first and writes the second.
    let failed = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &range, &mut pages, 0u32) } != 0;
    if failed { Err(std::io::Error::last_os_error()) } else { Ok(pages[0] * PAGE_BYTES) }
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
        Some(Map { start, length: end - start, file: File::open(path).ok()? })
    };
    maps.lines().filter_map(map).collect()
}
