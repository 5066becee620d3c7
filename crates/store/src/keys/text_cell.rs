//! A string key of one id: a thin pointer, so that the cells of ids lie close, which may be given another string.
//!
//! ```text
//!  cell: pointer ─► length: u32 | bytes          null: no key
//! ```
//!
//! Readers take the string without waiting, while the committer gives the cell another one. That gives the old one back as an
//! [`OldText`], which whoever has it keeps until nobody can be reading it: readers come by a dictionary, which they keep
//! alive while they read (`recycler.rs` knows which of these are).
//!
//! Invariant: the pointer is null or leads to a length and so many bytes of UTF-8, which do not change.
#![allow(unsafe_code)]

use std::ptr::null_mut;
use std::slice::from_raw_parts;
use std::sync::atomic::{AtomicPtr, Ordering};

const LENGTH_BYTES: usize = size_of::<u32>();

/// The string of an id.
#[derive(Debug, Default)]
pub(crate) struct TextCell(AtomicPtr<u8>);

/// A string that no cell has any more. It is freed when this is dropped: no sooner than nobody can be reading it.
#[derive(Debug)]
#[must_use = "it may be read for some time yet"]
pub(crate) struct OldText(Box<[u8]>);

impl OldText {
    /// What it takes, as [`TextCell::bytes_of`] tells it.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }
}

impl TextCell {
    /// What a string takes beside the cell.
    pub(crate) fn bytes_of(text: &str) -> usize {
        LENGTH_BYTES + text.len()
    }

    /// The string; an empty one if there is none.
    pub(crate) fn get(&self) -> &str {
        let start = self.0.load(Ordering::Acquire);
        if start.is_null() {
            return "";
        }
        // SAFETY: it leads to a length and so many bytes of UTF-8, written before the pointer was. They are not freed before
        // the cell is dropped, which is borrowed, or gets another string and its readers are gone: see the module.
        unsafe {
            let len = start.cast::<u32>().read_unaligned() as usize;
            std::str::from_utf8_unchecked(from_raw_parts(start.add(LENGTH_BYTES), len))
        }
    }

    /// Gives it another string; gives the one that it had.
    pub(crate) fn replace(&self, text: &str) -> Option<OldText> {
        let mut bytes = Vec::with_capacity(Self::bytes_of(text));
        bytes.extend_from_slice(&(text.len() as u32).to_ne_bytes());
        bytes.extend_from_slice(text.as_bytes());
        let start: *mut u8 = Box::into_raw(bytes.into_boxed_slice()).cast();
        owned(self.0.swap(start, Ordering::AcqRel))
    }
}

/// The string that a cell has led to, and does not any more.
fn owned(start: *mut u8) -> Option<OldText> {
    if start.is_null() {
        return None;
    }
    // SAFETY: it was made of a box of just these bytes by `replace`, and the cell that had it has given it up.
    unsafe {
        let len = start.cast::<u32>().read_unaligned() as usize;
        Some(OldText(Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, LENGTH_BYTES + len))))
    }
}

impl Drop for TextCell {
    fn drop(&mut self) {
        drop(owned(std::mem::replace(self.0.get_mut(), null_mut())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_tells_its_string_and_gives_back_the_one_before() {
        let cell = TextCell::default();
        assert_eq!(cell.get(), "");
        assert!(cell.replace("ä").is_none());
        assert_eq!(cell.get(), "ä");
        let old = cell.replace("").expect("it had one");
        assert_eq!((old.bytes(), cell.get()), (TextCell::bytes_of("ä"), ""));
        assert_eq!(cell.replace("bob").map(|old| old.bytes()), Some(4));
        assert_eq!(cell.get(), "bob");
    }
}
