//! Keys of vertices and their ids: the dictionary over its index, and the ids that keys which are gone have left.

pub(crate) mod dictionary;
pub(crate) mod key_index;
pub(crate) mod key_range;
pub(crate) mod recycler;
pub(crate) mod text_cell;
