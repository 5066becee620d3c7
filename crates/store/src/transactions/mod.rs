//! What a caller has before anything is shared: a transaction, what it writes and reads, and what it has handed in.

pub(crate) mod pending;
pub(crate) mod reads;
pub(crate) mod transaction;
pub(crate) mod writes;
