//! Spares of one size, one of which is kept.

use crate::lists::heap::Block;

#[derive(Debug, Default)]
pub(crate) struct Spares(Option<Block>);

impl Spares {
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().count()
    }

    pub(crate) fn keep(&mut self, block: Block) -> Result<usize, Block> {
        if self.0.is_some() {
            return Err(block);
        }
        block.keep();
        self.0 = Some(block);
        Ok(1)
    }

    pub(crate) fn take(&mut self) -> Option<Block> {
        self.0.take()
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        self.0.iter().for_each(|block| {
            block.free();
        });
    }
}
