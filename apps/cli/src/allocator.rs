//! What the allocator of both programs, mimalloc, is asked for beyond memory.
#![allow(unsafe_code)]

/// Has the allocator take back what other threads have freed of this thread's memory, and give it to the system: what
/// [`evergraph::give_back_with`] is to be told.
pub fn give_back() {
    // SAFETY: any thread may call it at any time.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
