//! The checksum that covers every stored byte: XXH3 with 64 bits. It finds accidental damage; it is no defense
//! against someone who forges files.

use std::fmt;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The checksum of the bytes.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// The checksum of bytes that come in parts; the same as [`checksum`] of all of them joined.
#[derive(Clone, Default)]
pub struct Checksum {
    state: Xxh3,
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checksum({:#018x})", self.finish())
    }
}

impl Checksum {
    /// The checksum of nothing so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the next part.
    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
    }

    /// The checksum of all parts so far.
    pub fn finish(&self) -> u64 {
        self.state.digest()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_give_the_checksum_of_the_whole(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8)) {
            let mut streamed = Checksum::new();
            for part in &parts {
                streamed.update(part);
            }
            prop_assert_eq!(streamed.finish(), checksum(&parts.concat()));
        }
    }

    #[test]
    fn the_value_on_disk_never_changes() {
        assert_eq!(checksum(b""), 0x2d06_8005_38d3_94c2);
    }
}
