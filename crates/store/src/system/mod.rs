//! What the store needs of threads and of the processor.

pub(crate) mod parallel;
pub(crate) mod pool;
pub(crate) mod prefetch;
pub(crate) mod sync;
