//! Asking the processor to bring memory near before it is read: a pass that touches the start of many lists otherwise
//! waits for memory at each.
//!
//! Invariant: a prefetch is a hint. It changes no result, and where a processor has none, nothing happens.
#![allow(unsafe_code)]

/// Asks for the first cache line of a slice.
#[inline]
pub(crate) fn prefetch<T>(items: &[T]) {
    prefetch_lines(items, 1);
}

/// Asks for so many lines of memory from the start of a slice on: behind some the processor fetches more by itself.
#[inline]
pub(crate) fn prefetch_lines<T>(items: &[T], lines: usize) {
    let start: *const u8 = items.as_ptr().cast();
    (0..lines).for_each(|line| prefetch_address(start.wrapping_add(64 * line)));
}

/// Asks for the item at a place that is only a guess.
#[inline]
pub(crate) fn prefetch_place<T>(items: &[T], place: u32) {
    prefetch_address(items.as_ptr().wrapping_add(place as usize).cast());
}

#[inline]
fn prefetch_address(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing: from an address that is not the program's, nothing comes, and nothing happens.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
}
