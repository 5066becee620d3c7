//! Whole pages of memory, straight from the system.
//!
//! An allocator rounds large sizes up, by an eighth at the most, and what is behind the end of a block is in memory if the system gives large
//! pages. A block that is large and lives long takes pages of its own instead, large ones where they fit. Each time that costs a call of the system and its
//! clearing of the pages, so blocks that come and go with commits are not for this.
//!
//! The system has a limit on mappings, and the program others: there are at most [`BLOCKS_MAX`] from here.
//!
//! Invariant: what was allocated here is freed here, as many pages.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is counted as a page, whatever the system's are.
pub(crate) const PAGE_BYTES: usize = 4 << 10;

/// Smaller blocks lose little to rounding.
pub(crate) const PAGES_BYTES_MIN: usize = 256 << 10;

/// A quarter of what Linux lets a process have.
const BLOCKS_MAX: usize = 1 << 14;

/// How many there are.
static BLOCKS: AtomicUsize = AtomicUsize::new(0);

/// How many pages these are together.
static PAGES: AtomicUsize = AtomicUsize::new(0);

/// Bytes of all there are, in the whole process.
pub(crate) fn bytes() -> usize {
    PAGES.load(Ordering::Relaxed) * PAGE_BYTES
}

/// So many pages, all zero; `None` where the system has none to give, or none in this way.
pub(crate) fn allocate(count: usize) -> Option<NonNull<u8>> {
    #[cfg(all(unix, not(miri)))]
    if BLOCKS.load(Ordering::Relaxed) < BLOCKS_MAX {
        let bytes = count * PAGE_BYTES;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever there is room for it.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start != libc::MAP_FAILED {
            // SAFETY: how the system lays them out changes nothing of what they hold.
            #[cfg(target_os = "linux")]
            unsafe {
                libc::madvise(start, bytes, libc::MADV_HUGEPAGE)
            };
            BLOCKS.fetch_add(1, Ordering::Relaxed);
            PAGES.fetch_add(count, Ordering::Relaxed);
            return NonNull::new(start.cast());
        }
    }
    #[cfg(not(all(unix, not(miri))))]
    let _ = count;
    None
}

/// Gives them back.
///
/// # Safety
/// They are `allocate`'s, as many, and nobody reaches them.
pub(crate) unsafe fn free(start: NonNull<u8>, count: usize) {
    BLOCKS.fetch_sub(1, Ordering::Relaxed);
    PAGES.fetch_sub(count, Ordering::Relaxed);
    #[cfg(all(unix, not(miri)))]
    // SAFETY: by contract.
    unsafe {
        libc::munmap(start.as_ptr().cast(), count * PAGE_BYTES)
    };
    #[cfg(not(all(unix, not(miri))))]
    let _ = (start, count);
}
