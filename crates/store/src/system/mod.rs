//! What the store needs of threads, of the processor and of the allocator.

pub(crate) mod allocator;
pub(crate) mod parallel;
pub(crate) mod pool;
pub(crate) mod prefetch;
pub(crate) mod sync;
