//! What the allocator of both programs, mimalloc, is asked for beyond memory, and how its memory is laid out.
//!
//! It asks the system for one large area, in large pages, and fills that from the front. Whoever touches a byte of a large page has two megabytes
//! in memory, which is much for a store of one, and what was given back of such a page comes back when the system makes it whole again. So the
//! front of the area is of small pages: a small store takes what it takes, and a large one has large pages beyond.
//!
//! Invariant: all of this is advice to the system; nothing depends on whether it is taken.
#![allow(unsafe_code)]

/// So much of the front of the area is of small pages: the allocator has pieces of 32 MiB for small, middle and large blocks.
#[cfg(target_os = "linux")]
const SMALL_PAGES_BYTES: usize = 96 << 20;

/// What a large page is aligned to.
#[cfg(target_os = "linux")]
const LARGE_PAGE_BYTES: usize = 2 << 20;

/// Has the allocator take back what other threads have freed of this thread's memory, and give it to the system: what
/// [`evergraph::give_back_with`] is to be told.
pub fn give_back() {
    // SAFETY: any thread may call it at any time.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

/// Has the allocator give memory back the moment it is freed, not up to a second later: for work that is to stay near a limit. It takes more calls of
/// the system.
pub(crate) fn give_back_at_once() {
    /// Its place among the allocator's options, which the bindings have no name for.
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    // SAFETY: options are numbers that any thread may set at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) }
}

/// Has the first memory that the allocator hands out lie in small pages, where the system is told such things. A program calls it once, before it
/// has allocated much.
pub fn begin_with_small_pages() {
    #[cfg(target_os = "linux")]
    {
        let first = Box::new(0_u64);
        let start = std::ptr::from_ref(&*first).addr() & !(LARGE_PAGE_BYTES - 1);
        // SAFETY: which pages memory lies in changes nothing of it. Where the area ends before, what lies behind it is left as it is.
        unsafe { libc::madvise(start as *mut libc::c_void, SMALL_PAGES_BYTES, libc::MADV_NOHUGEPAGE) };
    }
}
