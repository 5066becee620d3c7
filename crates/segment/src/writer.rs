//! Writing a segment: once, from front to back, at the speed of the disk.
//!
//! ```text
//!  write ──► buffer ──a block is full──► checksum
//!                   └─a piece is full──► file
//! ```
//!
//! A block is checksummed when its last byte comes, while it is in the cache of the processor. Pieces are as large as a large page
//! of the system, and lie in the file at multiples of that: written at once, such a piece is kept as one page where the
//! system can, and mapped as one. Invariant: everything before the buffer is in the file, and everything before `summed` covered by
//! `checksums`; a piece starts where the buffer starts.

use std::fmt;
use std::path::{Path, PathBuf};

use evergraph_disk::{AppendFile, Checksum, Disk};

use crate::format::{self, BLOCK_BYTES, SECTION_ALIGNMENT, Section};
use crate::{SectionId, SegmentError, SegmentInfo};

/// What is written to the file at once.
const PIECE_BYTES: usize = 2 << 20;

const _: () = assert!(PIECE_BYTES.is_multiple_of(BLOCK_BYTES));

/// A segment being written. It can be opened once [`SegmentWriter::finish`] has returned; a file left behind by an
/// error or a crash before that is never taken for a segment and can be removed.
pub struct SegmentWriter {
    file: Box<dyn AppendFile>,
    path: PathBuf,
    /// What is not in the file yet; less than a piece. Only padding lets it grow to more.
    buffer: Vec<u8>,
    /// How many bytes of it are in blocks that have their checksums; less than a block is behind them, padding aside.
    summed: usize,
    /// How many bytes are in the file, a multiple of a piece until the end.
    written: u64,
    checksums: Vec<u64>,
    /// In the order they were begun; the length of the last one is not known yet.
    sections: Vec<Section>,
    times: Option<(i64, i64)>,
}

impl SegmentWriter {
    /// Starts a new segment in the file `path`, which must not exist.
    ///
    /// # Errors
    /// [`SegmentError::Disk`] if the file cannot be created.
    pub fn create(disk: &dyn Disk, path: &Path, info: &SegmentInfo) -> Result<Self, SegmentError> {
        let mut writer = SegmentWriter {
            file: disk.create(path)?,
            path: path.to_owned(),
            buffer: Vec::new(),
            summed: 0,
            written: 0,
            checksums: Vec::new(),
            sections: Vec::new(),
            times: None,
        };
        writer.buffer.extend_from_slice(&format::encode_header(info));
        Ok(writer)
    }

    /// The file it writes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the section being written and begins the next; gives the file offset where it starts, a multiple of
    /// [`SECTION_ALIGNMENT`]. An id may be used once; a second use is refused by [`SegmentWriter::finish`].
    pub fn begin(&mut self, id: SectionId) -> u64 {
        self.end_section();
        self.pad_to(SECTION_ALIGNMENT);
        let offset = self.position();
        self.sections.push(Section { id, offset, length: 0 });
        offset
    }

    /// Writes the next bytes of the section.
    ///
    /// # Errors
    /// [`SegmentError::Disk`] if the disk refuses; then nothing more can be written to this segment.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        if self.buffer.len() - self.summed + bytes.len() < BLOCK_BYTES {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.sum_padding()?;
        self.write_blocks(bytes)
    }

    /// The file offset of the next byte.
    #[inline]
    pub fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Writes zeros, as part of the section, until the file offset is a multiple of `alignment`. In memory only
    /// alignments up to [`SECTION_ALIGNMENT`] are kept.
    pub fn pad_to(&mut self, alignment: usize) {
        let padding = self.position().next_multiple_of(alignment.max(1) as u64) - self.position();
        // Always into the buffer, so that padding cannot fail.
        self.buffer.resize(self.buffer.len() + padding as usize, 0);
    }

    /// Notes the least and the greatest time of an event in the segment, if it has any: [`Segment::times`](crate::Segment::times).
    pub fn set_times(&mut self, times: Option<(i64, i64)>) {
        self.times = times;
    }

    /// Brings to disk what is in the file, so that [`SegmentWriter::finish`] has less to wait for.
    ///
    /// # Errors
    /// [`SegmentError::Disk`] if the disk refuses; then nothing more can be written to this segment.
    pub fn sync(&mut self) -> Result<(), SegmentError> {
        Ok(self.file.sync()?)
    }

    /// Ends the last section, writes the tables and the footer and syncs the file; gives its length in bytes. The
    /// caller syncs the directory.
    ///
    /// # Errors
    /// [`SegmentError::Disk`] if the disk refuses, [`SegmentError::DuplicateSection`] if an id was used twice.
    pub fn finish(mut self) -> Result<u64, SegmentError> {
        self.end_section();
        self.pad_to(SECTION_ALIGNMENT);
        self.sum_padding()?;
        if self.summed < self.buffer.len() {
            self.end_block()?;
        }
        if !self.buffer.is_empty() {
            self.write_piece()?;
        }
        self.sections.sort_unstable_by_key(|section| section.id);
        if let Some(twice) = self.sections.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(SegmentError::DuplicateSection { path: self.path, id: twice[0].id });
        }
        let tables = format::encode_tables(self.written, &self.sections, &self.checksums, self.times);
        self.file.append(&tables)?;
        self.file.sync()?;
        Ok(self.file.len())
    }

    fn end_section(&mut self) {
        let end = self.position();
        if let Some(section) = self.sections.last_mut() {
            section.length = end - section.offset;
        }
    }

    /// Sums the whole blocks that padding has added to the buffer.
    fn sum_padding(&mut self) -> Result<(), SegmentError> {
        if self.buffer.len() - self.summed < BLOCK_BYTES {
            return Ok(());
        }
        let padded = self.buffer.split_off(self.summed);
        self.write_blocks(&padded)
    }

    /// Takes in bytes that fill a block and maybe more.
    fn write_blocks(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        let mut rest = bytes;
        while let Some((block_end, behind)) =
            rest.split_at_checked(BLOCK_BYTES - (self.buffer.len() - self.summed))
        {
            self.buffer.extend_from_slice(block_end);
            self.end_block()?;
            rest = behind;
        }
        self.buffer.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the block that the buffer ends with, and the piece if it does too.
    fn end_block(&mut self) -> Result<(), SegmentError> {
        let mut sum = Checksum::new();
        sum.update(&self.buffer[self.summed..]);
        self.checksums.push(sum.finish());
        self.summed = self.buffer.len();
        if self.summed >= PIECE_BYTES { self.write_piece() } else { Ok(()) }
    }

    fn write_piece(&mut self) -> Result<(), SegmentError> {
        self.file.append(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        self.summed = 0;
        Ok(())
    }
}

impl fmt::Debug for SegmentWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SegmentWriter({}, {} sections, {} bytes)",
            self.path.display(),
            self.sections.len(),
            self.position()
        )
    }
}
