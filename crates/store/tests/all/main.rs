//! The tests of the store in one program, but for those that need one of their own.

mod alterations;
mod archive;
mod background;
mod backup;
mod bad_files;
mod beside_loads;
mod bulk;
mod bulk_history;
mod callbacks;
mod cancelled;
mod catalog;
mod changes;
mod common;
mod concurrency;
mod conflicts;
mod crash;
mod crowds;
mod cursors;
mod derived;
mod faults;
mod hermitage;
mod histories;
mod history;
mod hub;
mod keys;
mod ldbc_acid;
mod limits;
mod load_waits;
mod long_lists;
mod model;
mod moved;
mod older_formats;
mod overlaps;
mod pending;
mod pools;
mod read_only;
mod recluster;
mod recycle;
mod savepoints;
mod serial_order;
mod serializable;
mod spilled_lists;
mod stats;
mod strict;
mod values;

/// As in the programs that users run; naive models allocate more than what they are compared with.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
