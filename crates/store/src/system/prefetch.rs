//! Asking the processor to bring memory near before it is read.
//!
//! Invariant: a prefetch is a hint. It changes no result, and where a processor has none, nothing happens.
#![allow(unsafe_code)]

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// The most bytes that are asked for at once: a run of a list in memory. What is behind them the processor fetches by
/// itself once it sees that it is read in order.
const BYTES_MAX: usize = 1 << 10;

/// Asks for so many bytes of memory from an address on, which may be any.
#[inline]
pub fn prefetch(start: *const u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in (0..bytes.min(BYTES_MAX)).step_by(LINE) {
        // SAFETY: a prefetch reads nothing: from an address that is not the program's, nothing comes, and nothing happens.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                start.wrapping_add(line).cast(),
            );
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (start, bytes);
}
