//! Writing a segment: once, from front to back, at the speed of the disk.
//!
//! ```text
//!  write ──small──► buffer, at most a block ──full──► checksum ──► file
//!     └────large────────────────────────────────────► checksum ──► file     no copy
//! ```
//!
//! A block is checksummed right before it goes to the file, while it is in the cache of the processor. Invariant:
//! everything before the buffer is in the file and covered by `checksums`; a block starts where the buffer starts.

use std::fmt;
use std::mem;
use std::path::{Path, PathBuf};

use evergraph_disk::{AppendFile, Checksum, Disk};

use crate::format::{self, BLOCK_BYTES, SECTION_ALIGNMENT, Section};
use crate::{SectionId, SegmentError, SegmentInfo};

/// A segment being written. It can be opened once [`SegmentWriter::finish`] has returned; a file left behind by an
/// error or a crash before that is never taken for a segment and can be removed.
pub struct SegmentWriter {
    file: Box<dyn AppendFile>,
    path: PathBuf,
    /// What is not in the file yet. Only padding lets it grow to a block and beyond.
    buffer: Vec<u8>,
    /// How many bytes are in the file, a multiple of a block until the end.
    written: u64,
    checksums: Vec<u64>,
    /// In the order they were begun; the length of the last one is not known yet.
    sections: Vec<Section>,
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
            buffer: new_buffer(),
            written: 0,
            checksums: Vec::new(),
            sections: Vec::new(),
        };
        writer.buffer.extend_from_slice(&format::encode_header(info));
        Ok(writer)
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
        if self.buffer.len() + bytes.len() < BLOCK_BYTES {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.write_padding()?;
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
        self.write_padding()?;
        if !self.buffer.is_empty() {
            self.write_block(&[])?;
        }
        self.sections.sort_unstable_by_key(|section| section.id);
        if let Some(twice) = self.sections.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(SegmentError::DuplicateSection { path: self.path, id: twice[0].id });
        }
        let tables = format::encode_tables(self.written, &self.sections, &self.checksums);
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

    /// Brings the buffer below a block again after padding.
    fn write_padding(&mut self) -> Result<(), SegmentError> {
        if self.buffer.len() < BLOCK_BYTES {
            return Ok(());
        }
        let padded = mem::replace(&mut self.buffer, new_buffer());
        self.write_blocks(&padded)
    }

    /// Writes all whole blocks that the buffer and `bytes` make up, and keeps the rest in the buffer.
    fn write_blocks(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        let mut rest = bytes;
        while let Some((block_end, behind)) = rest.split_at_checked(BLOCK_BYTES - self.buffer.len()) {
            self.write_block(block_end)?;
            rest = behind;
        }
        self.buffer.extend_from_slice(rest);
        Ok(())
    }

    /// Writes the block that starts with the buffer and ends with `block_end`.
    fn write_block(&mut self, block_end: &[u8]) -> Result<(), SegmentError> {
        let mut sum = Checksum::new();
        sum.update(&self.buffer);
        sum.update(block_end);
        self.file.append_vectored(&[&self.buffer, block_end])?;
        self.checksums.push(sum.finish());
        self.written += (self.buffer.len() + block_end.len()) as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// With room for the padding that may follow.
fn new_buffer() -> Vec<u8> {
    Vec::with_capacity(BLOCK_BYTES + SECTION_ALIGNMENT)
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
