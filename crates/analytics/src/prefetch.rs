//! Asking the processor to bring memory near before it is read: a pass that touches the start of many lists otherwise
//! waits for memory at each.
//!
//! Invariant: a prefetch is a hint. It changes no result, and where a processor has none, nothing happens.
#![allow(unsafe_code)]

use evergraph_types::VertexId;
use evergraph_view::FlatTable;

/// Asks for the first cache line of a slice.
#[inline]
pub(crate) fn prefetch<T>(items: &[T]) {
    if !items.is_empty() {
        prefetch_address(items.as_ptr().cast());
    }
}

/// Asks for the item at a place that is only a guess.
#[inline]
pub(crate) fn prefetch_place<T>(items: &[T], place: u32) {
    prefetch_address(items.as_ptr().wrapping_add(place as usize).cast());
}

/// Asks for the start of a neighbor list; nothing for a vertex out of range.
#[inline]
pub(crate) fn prefetch_list(table: &FlatTable, vertex: VertexId) {
    prefetch_lines(table, vertex, 1);
}

/// Asks for so many lines of memory from the start of a neighbor list on: behind some the processor fetches more by itself.
#[inline]
pub(crate) fn prefetch_lines(table: &FlatTable, vertex: VertexId, lines: usize) {
    if (vertex as usize) < table.len() {
        let start = table.neighbors(vertex).start();
        (0..lines).for_each(|line| prefetch_address(start.wrapping_add(64 * line)));
    }
}

#[inline]
fn prefetch_address(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing: from an address that is not the program's, nothing comes, and nothing happens.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
}
