//! A segment as readers have it: a mapped file of which every byte was checked before the first one is used.
//!
//! Invariant: `layout` was read from `file` and lies within it, so that taking a section apart cannot fail.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use evergraph_disk::{Access, Corruption, Disk, Mapping, Pass};
use rayon::prelude::*;

use crate::format::{self, Layout, Section};
use crate::{SectionId, SegmentError, SegmentInfo};

/// How many blocks are checked at a time before the next ones are touched, so that a disk reads front to back.
const BLOCKS_AT_A_TIME: usize = 32;

/// An open segment.
pub struct Segment {
    path: PathBuf,
    file: Mapping,
    info: SegmentInfo,
    layout: Layout,
    /// How the system was last told that it will be read.
    is_cold: AtomicBool,
}

impl Segment {
    /// Opens the segment in the file `path` after checking every byte of it, in parallel.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] naming the first damaged place, [`SegmentError::NewerFormat`],
    /// [`SegmentError::WrongStore`], or [`SegmentError::Disk`] if the file cannot be mapped.
    pub fn open(disk: &dyn Disk, path: &Path, store_id: &[u8; 16]) -> Result<Self, SegmentError> {
        let file = disk.map(path)?;
        let (info, layout) = check(path, &file, store_id)?;
        Ok(Segment { path: path.to_owned(), file, info, layout, is_cold: AtomicBool::new(false) })
    }

    /// All the damage in the file `path`, in the order of offsets; empty if it is whole. What cannot be found
    /// because the footer or the tables are damaged is not looked at.
    ///
    /// # Errors
    /// All of [`Segment::open`] but [`SegmentError::Corrupt`].
    pub fn find_damage(
        disk: &dyn Disk,
        path: &Path,
        store_id: &[u8; 16],
    ) -> Result<Vec<Corruption>, SegmentError> {
        let file = disk.map(path)?;
        let header = match format::read_header(path, &file, store_id) {
            Ok(_) => None,
            Err(SegmentError::Corrupt(corruption)) => Some(corruption),
            Err(error) => return Err(error),
        };
        let behind: Vec<Corruption> = match format::read_layout(path, &file) {
            Ok(layout) => damaged_blocks(path, &file, &layout).collect(),
            Err(corruption) => vec![corruption],
        };
        // A damaged header damages the first block too; that is one damage.
        let known = |corruption: &Corruption| {
            header.as_ref().is_some_and(|header| header.offset == corruption.offset)
        };
        let behind = behind.into_iter().filter(|corruption| !known(corruption));
        Ok(header.iter().cloned().chain(behind).collect())
    }

    /// Checks every byte once more.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] naming the first damaged place.
    pub fn verify(&self) -> Result<(), SegmentError> {
        check(&self.path, &self.file, &self.info.store_id).map(|_| ())
    }

    /// What the segment says about itself.
    pub fn info(&self) -> &SegmentInfo {
        &self.info
    }

    /// The least and the greatest time of an event in it, in the unit of the time property; `None` where there is none, and
    /// in segments from before times were noted.
    pub fn times(&self) -> Option<(i64, i64)> {
        self.layout.times
    }

    /// One of all its bytes: whatever differs in it, this does.
    pub fn checksum(&self) -> u64 {
        self.layout.checksum
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.file.len() as u64
    }

    /// Tells the system how the file will be read. Only a hint.
    pub fn advise(&self, access: Access) {
        let is_cold = matches!(access, Access::Random | Access::RandomWithPasses);
        self.is_cold.store(is_cold, Ordering::Relaxed);
        self.file.advise(access);
    }

    /// Whether the file is read here and there, so that the system fetches nothing ahead by itself and whoever knows
    /// what comes next asks for it with [`Segment::will_need`].
    pub fn is_cold(&self) -> bool {
        self.is_cold.load(Ordering::Relaxed)
    }

    /// Begins a pass over most of the file, which does not fit in memory; `None` where the system does nothing for it.
    pub fn pass(&self) -> Option<Pass> {
        self.file.pass()
    }

    /// Has the system fetch a part of the file that will be read soon. Only a hint.
    pub fn will_need(&self, range: Range<usize>) {
        self.file.will_need(range);
    }

    /// Tells the system that a part of the file will not be read again soon. Only a hint.
    pub fn release(&self, range: Range<usize>) {
        self.file.release(range);
    }

    /// The bytes of a section, the first one at an address divisible by [`crate::SECTION_ALIGNMENT`].
    pub fn section(&self, id: SectionId) -> Option<&[u8]> {
        let section = self.find(id)?;
        Some(&self.file[range(section)])
    }

    /// The file offset where a section starts.
    pub fn section_offset(&self, id: SectionId) -> Option<u64> {
        self.find(id).map(|section| section.offset)
    }

    /// All sections, ascending by id: the id, the file offset, the length in bytes.
    pub fn sections(&self) -> impl ExactSizeIterator<Item = (SectionId, u64, u64)> + '_ {
        self.layout.sections.iter().map(|section| (section.id, section.offset, section.length))
    }

    /// The whole file, for slices by the file offsets that sections hold.
    pub fn data(&self) -> &[u8] {
        &self.file
    }

    fn find(&self, id: SectionId) -> Option<&Section> {
        let sections = &self.layout.sections;
        sections.binary_search_by_key(&id, |section| section.id).ok().map(|position| &sections[position])
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment")
            .field("path", &self.path)
            .field("info", &self.info)
            .field("sections", &self.layout.sections)
            .field("bytes", &self.bytes())
            .finish()
    }
}

fn range(section: &Section) -> Range<usize> {
    let start = section.offset as usize;
    start..start + section.length as usize
}

/// Checks every byte of the file.
fn check(path: &Path, file: &[u8], store_id: &[u8; 16]) -> Result<(SegmentInfo, Layout), SegmentError> {
    let info = format::read_header(path, file, store_id)?;
    let layout = format::read_layout(path, file)?;
    let damage = damaged_blocks(path, file, &layout).find_first(|_| true);
    damage.map_or(Ok((info, layout)), |corruption| Err(corruption.into()))
}

/// The blocks that differ from their checksums, in their order.
fn damaged_blocks(path: &Path, file: &[u8], layout: &Layout) -> impl ParallelIterator<Item = Corruption> {
    (0..layout.blocks())
        .into_par_iter()
        .by_uniform_blocks(BLOCKS_AT_A_TIME)
        .filter_map(move |block| layout.check_block(path, file, block).err())
}
