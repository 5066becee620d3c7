//! What a commit changes, in ids: edges and vertices (`ops`), the schema, items of the catalog; and their bytes in the log.

pub(crate) mod alteration;
pub(crate) mod catalog;
pub(crate) mod codec;
pub(crate) mod ops;
pub(crate) mod schema_change;
