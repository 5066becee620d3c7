//! A whole file, read-only, in memory: mapped by the system, or held in an aligned buffer by a simulated disk.
//!
//! Invariant: the bytes never change while a mapping lives, since files of the store only grow. The first byte
//! lies at an address divisible by [`Mapping::ALIGNMENT`].

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use memmap2::{Advice, Mmap};

use crate::os::page_out;

/// How a mapping will be read, so that the system can fetch ahead or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// No particular order.
    Normal,
    /// From the start to the end: fetch ahead.
    Sequential,
    /// Here and there: fetch only what is touched.
    Random,
}

/// The bytes of a file. Clones share them.
#[derive(Clone)]
pub struct Mapping {
    bytes: Bytes,
}

#[derive(Clone)]
enum Bytes {
    Mapped(Arc<Mmap>),
    Owned { buffer: Arc<Vec<u8>>, start: usize },
}

impl Mapping {
    /// The alignment of the first byte, in bytes.
    pub const ALIGNMENT: usize = 64;

    /// A mapping of bytes that lie in no file.
    pub fn from_parts<'a>(length: usize, parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut buffer: Vec<u8> = Vec::with_capacity(length + Self::ALIGNMENT);
        // Pad inside the allocation rather than ask for an aligned one: that needs no unsafe code.
        let start = buffer.as_ptr().align_offset(Self::ALIGNMENT);
        buffer.resize(start, 0);
        for part in parts {
            buffer.extend_from_slice(part);
        }
        assert_eq!(buffer.len(), start + length, "the parts add up to the length, so that nothing was moved");
        Mapping { bytes: Bytes::Owned { buffer: Arc::new(buffer), start } }
    }

    pub(crate) fn mapped(map: Mmap) -> Self {
        Mapping { bytes: Bytes::Mapped(Arc::new(map)) }
    }

    /// Tells the system how the bytes will be read. Only a hint: that it was not taken is no error.
    pub fn advise(&self, access: Access) {
        let Bytes::Mapped(map) = &self.bytes else { return };
        let advice = match access {
            Access::Normal => Advice::Normal,
            Access::Sequential => Advice::Sequential,
            Access::Random => Advice::Random,
        };
        let _ = map.advise(advice);
    }

    /// Tells the system that a part will not be read again soon, so that it takes that out of memory before anything else.
    /// Only a hint, as [`Mapping::advise`], and one that not every system has.
    pub fn release(&self, range: Range<usize>) {
        let Bytes::Mapped(map) = &self.bytes else { return };
        page_out(map, range);
    }

    /// Has the system fetch a part that will be read soon, without waiting for it. Only a hint, as [`Mapping::advise`].
    pub fn will_need(&self, range: Range<usize>) {
        let Bytes::Mapped(map) = &self.bytes else { return };
        let end = range.end.min(map.len());
        if range.start < end {
            let _ = map.advise_range(Advice::WillNeed, range.start, end - range.start);
        }
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Owned { buffer, start } => &buffer[*start..],
        }
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping({} bytes)", self.len())
    }
}
