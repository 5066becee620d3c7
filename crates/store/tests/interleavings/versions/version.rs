//! A version that is nothing but its number and the blocks that it reaches.

use std::sync::Arc;

use crate::lists::heap::Block;
use crate::versions::reclaim::Reclaimer;

/// The version.
#[derive(Debug, Default)]
pub(crate) struct Version {
    pub(crate) sequence: u64,
    pub(crate) blocks: Vec<Block>,
    pub(crate) reclaimer: Option<Arc<Reclaimer>>,
    pub(crate) has_retired: bool,
}

impl Drop for Version {
    fn drop(&mut self) {
        self.reclaimer.iter().filter(|_| !self.has_retired).for_each(|reclaimer| reclaimer.version_died());
    }
}
