//! What the allocator of both programs, mimalloc, is asked for beyond memory, and how its memory is laid out.
//!
//! It asks the system for one large area, in large pages, and fills that from the front. Whoever touches a byte of a large page has two megabytes
//! in memory, which is much for a store of one, and what was given back of such a page comes back when the system makes it whole again. So the
//! front of the area is of small pages: a small store takes what it takes, and a large one has large pages beyond. Once there is much of
//! it, what fills nearly all of a large page is moved to one when commits pause, since reads find their way to it sooner.
//!
//! Invariant: all of this is advice to the system; nothing depends on whether it is taken.
#![allow(unsafe_code)]

use std::ffi::c_long;

use evergraph::{Allocator, GiveBack};

/// What [`evergraph::use_allocator`] is to be told.
pub const ALLOCATOR: Allocator = Allocator { give_back, bytes };

/// Has the allocator take back what other threads have freed of this thread's memory, and give it to the system, if it is to go there.
pub(crate) fn give_back(to: GiveBack) {
    let is_for_system = to == GiveBack::ToSystem;
    // SAFETY: any thread may call it at any time.
    unsafe { libmimalloc_sys::mi_collect(is_for_system) }
    #[cfg(target_os = "linux")]
    if is_for_system {
        large_pages::use_for_full_parts();
    }
}

/// What the allocator has in memory: pages of the areas that it has the system place.
fn bytes() -> Option<u64> {
    #[cfg(target_os = "linux")]
    return areas::bytes_in_memory();
    #[cfg(not(target_os = "linux"))]
    None
}

/// The place of an option among the allocator's, which the bindings have no name for: for how many milliseconds memory that was freed is
/// kept for whoever wants some next.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// What commits take and free again from one to the next is kept so long while they go on: the system may take milliseconds to give a megabyte
/// anew. In a pause it is given back at once, by [`give_back`].
const KEPT_MILLIS: c_long = 10_000;

/// Has the allocator give memory back the moment it is freed: for work that is to stay near a limit. It takes more calls of the system.
pub(crate) fn give_back_at_once() {
    // SAFETY: options are numbers that any thread may set at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) }
}

/// Has the allocator keep for a while what is freed, unless the environment says for how long (`MIMALLOC_PURGE_DELAY`), and the first memory that
/// it hands out lie in small pages, where the system is told such things. A program calls it once, before it has allocated much.
pub fn prepare_allocator() {
    // SAFETY: as above.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, KEPT_MILLIS) }
    #[cfg(target_os = "linux")]
    large_pages::begin();
}

#[cfg(target_os = "linux")]
mod areas {
    use std::ops::Range;

    use libc::c_void;

    /// Pages are as large, or larger.
    pub(super) const SMALL_PAGE: usize = 4 << 10;

    /// Where the allocator asks for its areas to be, if they take less than 16 GiB each; nothing else of a process of 64 bits is there.
    const PLACES: Range<usize> = 2 << 40..32 << 40;

    /// So much is asked about at a time.
    const PIECE: usize = 32 << 20;

    /// What is in memory of all areas; none if the system does not tell which there are, or the allocator had none there.
    pub(super) fn bytes_in_memory() -> Option<u64> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let areas = maps.lines().filter_map(area_of).filter(|area| PLACES.contains(&area.start));
        let pieces = areas.flat_map(|area| {
            let starts = area.clone().step_by(PIECE);
            starts.map(move |start| (start, PIECE.min(area.end - start)))
        });
        let pages = pieces.map(|(start, bytes)| pages_in_memory(start, bytes)).sum::<usize>();
        // SAFETY: it asks for a constant of the system.
        let page_bytes = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        (pages > 0).then_some(pages as u64 * page_bytes)
    }

    /// Where a line about the memory of a process says that there is some.
    fn area_of(line: &str) -> Option<Range<usize>> {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        let place = |digits| usize::from_str_radix(digits, 16).ok();
        Some(place(start)?..place(end)?)
    }

    /// How many pages of a piece are in memory.
    pub(super) fn pages_in_memory(start: usize, bytes: usize) -> usize {
        let mut pages = [0_u8; PIECE / SMALL_PAGE];
        let pages = &mut pages[..bytes.div_ceil(SMALL_PAGE)];
        // SAFETY: there is a byte for each page, and more where pages are larger; where nothing is mapped, the system says so.
        let is_told = unsafe { libc::mincore(start as *mut c_void, bytes, pages.as_mut_ptr()) } == 0;
        if is_told { pages.iter().filter(|&page| page & 1 == 1).count() } else { 0 }
    }
}

#[cfg(target_os = "linux")]
mod large_pages {
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use libc::{MADV_HUGEPAGE, MADV_NOHUGEPAGE, c_void};

    use super::areas::{SMALL_PAGE, pages_in_memory};

    /// What a large page takes, and is aligned to.
    const LARGE: usize = 2 << 20;
    /// So much of the front of the area is of small pages: the allocator has pieces of 32 MiB for small, middle and large blocks.
    const FRONT: usize = 96 << 20;
    /// The area, unless the program takes more: then there is another one somewhere.
    const AREA: usize = 1 << 30;
    /// A part of which so many small pages are in memory is worth a large one, which has all of them in memory.
    const FULL: usize = LARGE / SMALL_PAGE * 15 / 16;
    /// A store that takes less takes what it takes.
    const MUCH: usize = 64 << 20;

    /// Memory is given back by all threads of a pool, one after the other, and by whoever asks for statistics: one look does for all.
    const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

    /// `MADV_COLLAPSE` of Linux 6.1, which the bindings have for few targets.
    const MADV_COLLAPSE: i32 = 25;

    /// The area, once it is known.
    static PARTS: Mutex<Option<Parts>> = Mutex::new(None);

    struct Parts {
        /// Where the first one begins.
        start: usize,
        /// Which of them lie in a large page.
        are_large: [bool; AREA / LARGE],
        /// When they were looked at.
        looked: Option<Instant>,
    }

    pub(super) fn begin() {
        let first = Box::new(0_u64);
        let start = std::ptr::from_ref(&*first).addr() & !(LARGE - 1);
        advise(start, FRONT, MADV_NOHUGEPAGE);
        if let Ok(mut parts) = PARTS.try_lock() {
            *parts = Some(Parts { start, are_large: [false; AREA / LARGE], looked: None });
        }
    }

    /// Moves each part that is as good as full to a large page, if much of the area is in memory: a sixteenth of little is felt.
    pub(super) fn use_for_full_parts() {
        let Ok(mut parts) = PARTS.try_lock() else { return };
        let Some(Parts { start, are_large, looked }) = &mut *parts else { return };
        if looked.is_some_and(|looked| looked.elapsed() < BETWEEN_LOOKS) {
            return;
        }
        *looked = Some(Instant::now());
        let parts = (0..are_large.len()).map(|number| *start + number * LARGE);
        if parts.clone().map(|start| pages_in_memory(start, LARGE)).sum::<usize>() * SMALL_PAGE < MUCH {
            return;
        }
        for (number, (is_large, start)) in are_large.iter_mut().zip(parts).enumerate() {
            // Looked at again: others give memory back meanwhile, and what they gave would come back with a large page.
            let is_full = pages_in_memory(start, LARGE) >= FULL;
            if is_full && !*is_large {
                advise(start, LARGE, MADV_HUGEPAGE);
                advise(start, LARGE, MADV_COLLAPSE);
                if number < FRONT / LARGE {
                    // Else the system would make it whole again after some of it was given back.
                    advise(start, LARGE, MADV_NOHUGEPAGE);
                }
            }
            *is_large = is_full;
        }
    }

    fn advise(start: usize, bytes: usize, advice: i32) {
        // SAFETY: which pages memory lies in changes nothing of it. What is not mapped is left as it is.
        unsafe { libc::madvise(start as *mut c_void, bytes, advice) };
    }
}
