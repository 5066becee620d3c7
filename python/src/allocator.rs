//! The allocator of the module: many threads allocate small blocks at once here, where mimalloc is at its best.

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;
