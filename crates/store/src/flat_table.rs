//! A vertex table flattened into one array, so that whole-graph work finds a list in one step.
//!
//! Invariant: `owner` keeps alive every byte the entries reach.
#![allow(unsafe_code)]

use std::any::Any;
use std::sync::Arc;

use evergraph_types::VertexId;

use crate::adjacency::{ChunkRef, Entry, Neighbors, tag};

/// One entry per vertex id, in order, and whatever keeps the lists alive.
#[derive(Clone)]
pub struct FlatTable {
    entries: Arc<[Entry]>,
    _owner: Arc<dyn Any + Send + Sync>,
}

impl FlatTable {
    /// Entries taken from a version that `owner` keeps alive.
    ///
    /// # Safety
    /// `owner` keeps alive everything the entries reach.
    pub(crate) unsafe fn new(entries: Arc<[Entry]>, owner: Arc<dyn Any + Send + Sync>) -> Self {
        FlatTable { entries, _owner: owner }
    }

    /// A table over plain arrays: the neighbors of vertex `v` are `neighbors[offsets[v]..offsets[v + 1]]`.
    ///
    /// # Panics
    /// If the offsets do not ascend from 0 to `neighbors.len()`, or a list is longer than 2^32 - 1.
    pub fn from_csr(offsets: &[u64], neighbors: Vec<VertexId>) -> Self {
        assert!(offsets.first() == Some(&0) && offsets.last() == Some(&(neighbors.len() as u64)), "offsets");
        let entries = offsets
            .windows(2)
            .map(|bounds| {
                let list = &neighbors[bounds[0] as usize..bounds[1] as usize];
                let len = u32::try_from(list.len()).unwrap_or_else(|_| panic!("a list is too long"));
                Entry::flat(ChunkRef { address: tag(list.as_ptr().cast(), true, false), len, first: 0 })
            })
            .collect();
        FlatTable { entries, _owner: Arc::new(neighbors) }
    }

    /// As [`FlatTable::from_csr`], with lists of more than `chunk_len` neighbors chunked, as a store keeps them in
    /// memory: for algorithms to be tested and measured on that shape.
    ///
    /// # Panics
    /// As [`FlatTable::from_csr`], and if `chunk_len` is 0.
    pub fn from_csr_chunked(offsets: &[u64], neighbors: Vec<VertexId>, chunk_len: usize) -> Self {
        let flat = Self::from_csr(offsets, neighbors);
        let directories: Vec<Vec<ChunkRef>> = (0..flat.len() as VertexId)
            .map(|vertex| match flat.neighbors(vertex).as_slice() {
                Some(list) if list.len() > chunk_len => list
                    .chunks(chunk_len)
                    .map(|chunk| ChunkRef {
                        address: tag(chunk.as_ptr().cast(), true, false),
                        len: chunk.len() as u32,
                        first: chunk[0],
                    })
                    .collect(),
                _ => Vec::new(),
            })
            .collect();
        let entries = flat
            .entries
            .iter()
            .zip(&directories)
            .map(|(&entry, directory)| match directory.len() {
                0 => entry,
                chunks => Entry::chunked(directory.as_ptr().cast(), chunks, entry.degree as usize),
            })
            .collect();
        FlatTable { entries, _owner: Arc::new((directories, flat)) }
    }

    /// One past the largest vertex id.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no vertex id.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of neighbors of `vertex`.
    ///
    /// # Panics
    /// If `vertex` is not below [`FlatTable::len`].
    #[inline]
    pub fn degree(&self, vertex: VertexId) -> usize {
        self.entries[vertex as usize].degree as usize
    }

    /// The neighbors of `vertex`.
    ///
    /// # Panics
    /// If `vertex` is not below [`FlatTable::len`].
    #[inline]
    pub fn neighbors(&self, vertex: VertexId) -> Neighbors<'_> {
        // SAFETY: the owner keeps the lists alive as long as `self` is borrowed.
        unsafe { self.entries[vertex as usize].neighbors() }
    }
}

impl std::fmt::Debug for FlatTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FlatTable({} vertices)", self.len())
    }
}
