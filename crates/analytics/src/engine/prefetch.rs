//! Asking the processor to bring memory near before it is read: a pass that touches the start of many lists otherwise
//! waits for memory at each.
//!
//! Invariant: a prefetch is a hint. It changes no result, and where a processor has none, nothing happens.

use evergraph_view::prefetch as prefetch_bytes;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the first cache line of a slice.
#[inline]
pub(crate) fn prefetch<T>(items: &[T]) {
    prefetch_lines(items, 1);
}

/// Asks for so many lines of memory from the start of a slice on: behind some the processor fetches more by itself.
#[inline]
pub(crate) fn prefetch_lines<T>(items: &[T], lines: usize) {
    prefetch_bytes(items.as_ptr().cast(), LINE * lines);
}

/// Asks for the item at a place that is only a guess.
#[inline]
pub(crate) fn prefetch_place<T>(items: &[T], place: u32) {
    prefetch_bytes(items.as_ptr().wrapping_add(place as usize).cast(), 1);
}
