//! The one place with unsafe code: a file in memory.
//!
//! Invariant: the bytes are only ever read. Should another process cut the file short while it is being read, the
//! system ends this one with SIGBUS, as it does for every program that maps files.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::{Advice, Mmap};

/// The bytes of a file; an empty file is not mapped.
#[derive(Debug)]
pub(crate) struct FileMap(Option<Mmap>);

impl FileMap {
    /// Maps the file as long as it is now.
    pub(crate) fn open(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(FileMap(None));
        }
        // SAFETY: the mapping is private to this crate, read-only, and parsed as bytes of any value, so that a change
        // made to the file by others changes which edges are seen and nothing else.
        let map = unsafe { Mmap::map(file)? };
        // Only a hint: that the system did not take it is no error.
        let _ = map.advise(Advice::Sequential);
        Ok(FileMap(Some(map)))
    }
}

impl Deref for FileMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or(&[])
    }
}
