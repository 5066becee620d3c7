//! A whole file, read-only, in memory: mapped by the system, or held in an aligned buffer by a simulated disk.
//!
//! Invariant: the bytes never change while a mapping lives, since files of the store only grow. The first byte
//! lies at an address divisible by [`Mapping::ALIGNMENT`].

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use memmap2::{Advice, Mmap};
use parking_lot::Mutex;

use crate::os::page_out;

/// What a pass reads at once, bytes from a multiple of it on: a large page of the system.
const PIECE_BYTES: usize = 2 << 20;

/// How a mapping will be read, so that the system can fetch ahead or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// No particular order.
    Normal,
    /// From the start to the end: fetch ahead.
    Sequential,
    /// Here and there: fetch only what is touched.
    Random,
    /// Here and there, and from the start to the end in passes: fetch ahead as long as one is under way.
    RandomWithPasses,
}

/// The bytes of a file. Clones share them.
#[derive(Clone)]
pub struct Mapping {
    bytes: Bytes,
}

#[derive(Clone)]
enum Bytes {
    Mapped(Arc<Mapped>),
    Owned { buffer: Arc<Vec<u8>>, start: usize },
}

struct Mapped {
    map: Mmap,
    reads: Mutex<Reads>,
}

/// How a map is read.
struct Reads {
    access: Access,
    /// How many passes are under way.
    passes: usize,
}

impl Mapped {
    /// Tells the system how the map will be read. Only a hint: that it was not taken is no error.
    fn advise(&self, reads: &Reads) {
        let advice = match reads.access {
            Access::RandomWithPasses if reads.passes > 0 => Advice::Normal,
            Access::Normal => Advice::Normal,
            Access::Sequential => Advice::Sequential,
            Access::Random | Access::RandomWithPasses => Advice::Random,
        };
        let _ = self.map.advise(advice);
    }

    /// Has the system read what is missing in pieces of [`PIECE_BYTES`], or no longer; whether it can.
    #[cfg(target_os = "linux")]
    fn read_in_pieces(&self, on: bool) -> bool {
        self.map.advise(if on { Advice::HugePage } else { Advice::NoHugePage }).is_ok()
    }

    #[cfg(not(target_os = "linux"))]
    fn read_in_pieces(&self, _: bool) -> bool {
        false
    }
}

/// A pass over most of a mapping that does not fit in memory: as long as one is under way, what is missing is read, by
/// whoever misses it, in large pieces, which the system keeps and maps as one page each where it can. That takes it an
/// eighth of the work of reading page by page. With [`Access::RandomWithPasses`] the piece behind it comes without
/// anybody waiting. What others look at meanwhile comes in such pieces, too.
#[derive(Debug)]
pub struct Pass {
    mapping: Mapping,
}

impl Pass {
    /// Tells the system that a part will not be read again soon, but for the piece that its end lies in, which goes with
    /// the part that comes next. Only a hint, as [`Mapping::advise`].
    pub fn release(&self, range: Range<usize>) {
        let floor = |offset: usize| offset / PIECE_BYTES * PIECE_BYTES;
        self.mapping.release(floor(range.start)..floor(range.end));
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Bytes::Mapped(mapped) = &self.mapping.bytes {
            let mut reads = mapped.reads.lock();
            reads.passes -= 1;
            if reads.passes == 0 {
                mapped.read_in_pieces(false);
                mapped.advise(&reads);
            }
        }
    }
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
        let reads = Mutex::new(Reads { access: Access::Normal, passes: 0 });
        Mapping { bytes: Bytes::Mapped(Arc::new(Mapped { map, reads })) }
    }

    /// Begins a pass over most of the bytes; `None` where the system knows no large pieces.
    pub fn pass(&self) -> Option<Pass> {
        let Bytes::Mapped(mapped) = &self.bytes else { return None };
        let mut reads = mapped.reads.lock();
        if reads.passes == 0 && !mapped.read_in_pieces(true) {
            return None;
        }
        reads.passes += 1;
        if reads.passes == 1 {
            mapped.advise(&reads);
        }
        Some(Pass { mapping: self.clone() })
    }

    /// Tells the system how the bytes will be read. Only a hint: that it was not taken is no error.
    pub fn advise(&self, access: Access) {
        let Bytes::Mapped(mapped) = &self.bytes else { return };
        let mut reads = mapped.reads.lock();
        reads.access = access;
        mapped.advise(&reads);
    }

    /// Tells the system that a part will not be read again soon, so that it takes that out of memory before anything else.
    /// Only a hint, as [`Mapping::advise`], and one that not every system has.
    pub fn release(&self, range: Range<usize>) {
        let Bytes::Mapped(mapped) = &self.bytes else { return };
        page_out(&mapped.map, range);
    }

    /// Has the system fetch a part that will be read soon, without waiting for it. Only a hint, as [`Mapping::advise`].
    pub fn will_need(&self, range: Range<usize>) {
        let Bytes::Mapped(mapped) = &self.bytes else { return };
        let map = &mapped.map;
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
            Bytes::Mapped(mapped) => &mapped.map,
            Bytes::Owned { buffer, start } => &buffer[*start..],
        }
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping({} bytes)", self.len())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::{Disk, OsDisk};

    /// Whether the system was told something of the map of the bytes: "hg" to read them in large pieces, "rr" to fetch nothing
    /// ahead.
    fn has_flag(mapping: &Mapping, told: &str) -> Result<bool, Box<dyn std::error::Error>> {
        let maps = std::fs::read_to_string("/proc/self/smaps")?;
        let start = format!("{:x}-", mapping.as_ptr() as usize);
        let ours = maps.lines().skip_while(|line| !line.starts_with(&start));
        let flags = ours.into_iter().find(|line| line.starts_with("VmFlags:")).ok_or("it is mapped")?;
        Ok(flags.split(' ').any(|flag| flag == told))
    }

    #[test]
    fn a_mapping_is_read_in_large_pieces_until_the_last_pass_ends() -> Result<(), Box<dyn std::error::Error>>
    {
        let home = tempfile::tempdir()?;
        let path = home.path().join("file");
        let bytes: Vec<u8> = (0..5 * PIECE_BYTES / 2).map(|position| (position % 251) as u8).collect();
        std::fs::write(&path, &bytes)?;
        let mapping = OsDisk.map(&path)?;
        mapping.advise(Access::Random);
        assert!(!has_flag(&mapping, "hg")? && has_flag(&mapping, "rr")?);
        let Some(first) = mapping.pass() else { return Ok(()) };
        let second = mapping.clone().pass().ok_or("as the first")?;
        drop(first);
        assert!(has_flag(&mapping, "hg")? && has_flag(&mapping, "rr")?);
        mapping.advise(Access::RandomWithPasses);
        assert!(has_flag(&mapping, "hg")? && !has_flag(&mapping, "rr")?);
        for end in (0..bytes.len()).step_by(PIECE_BYTES / 3) {
            second.release(end / 2..end);
        }
        assert_eq!(*mapping, bytes[..]);
        drop(second);
        assert!(!has_flag(&mapping, "hg")? && has_flag(&mapping, "rr")?);
        let third = mapping.pass();
        assert!(!has_flag(&mapping, "rr")?);
        drop(third);
        assert!(has_flag(&mapping, "rr")?);
        Ok(())
    }
}
