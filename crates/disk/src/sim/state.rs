//! The files and directories of a simulated disk: what the program sees, and what of it is safe.
//!
//! ```text
//!  names:   durable ──(pending changes, in order)──► live
//!  content: [ synced ][ synced ][ dropped ][ synced ][ unsynced ][ unsynced ]
//!                                   └ was unsynced when a sync failed; only a rewrite saves it
//! ```
//!
//! Invariant: applying all pending name changes to `durable` gives `live`. Cloning shares the bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::journal::Operation;
use crate::DiskError;

/// The position of a file in [`State::files`]; it outlives the name.
pub(super) type FileNumber = usize;
/// Which file has which name.
pub(super) type Names = BTreeMap<PathBuf, FileNumber>;

/// Everything on the disk.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    directories: BTreeSet<PathBuf>,
    files: Vec<Content>,
    live: Names,
    durable: Names,
    pending: Vec<NameChange>,
}

/// A change of a directory that happens whole or not at all.
#[derive(Clone, Debug)]
pub(super) struct NameChange {
    /// The name; the change is durable once its directory is synced.
    path: PathBuf,
    file: FileNumber,
    kind: NameChangeKind,
}

#[derive(Clone, Copy, Debug)]
enum NameChangeKind {
    /// The file gets this name and loses any other.
    Bind,
    /// The name goes.
    Unbind,
}

impl NameChange {
    pub(super) fn apply(&self, names: &mut Names) {
        match self.kind {
            NameChangeKind::Bind => {
                names.retain(|_, file| *file != self.file);
                names.insert(self.path.clone(), self.file);
            }
            // Where an earlier rename was lost the file keeps its old name.
            NameChangeKind::Unbind => names.retain(|path, file| *file != self.file || *path != self.path),
        }
    }
}

impl State {
    /// A disk in which everything is durable.
    pub(super) fn durable(
        directories: BTreeSet<PathBuf>,
        named: impl Iterator<Item = (PathBuf, Content)>,
    ) -> Self {
        let mut state = State { directories, ..State::default() };
        for (path, content) in named {
            state.durable.insert(path, state.files.len());
            state.files.push(content);
        }
        state.live = state.durable.clone();
        state
    }

    pub(super) fn directories(&self) -> &BTreeSet<PathBuf> {
        &self.directories
    }

    pub(super) fn names(&self) -> &Names {
        &self.live
    }

    pub(super) fn durable_names(&self) -> &Names {
        &self.durable
    }

    pub(super) fn pending(&self) -> &[NameChange] {
        &self.pending
    }

    pub(super) fn content(&self, file: FileNumber) -> &Content {
        &self.files[file]
    }

    pub(super) fn next_file(&self) -> FileNumber {
        self.files.len()
    }

    pub(super) fn find(&self, operation: &'static str, path: &Path) -> Result<FileNumber, DiskError> {
        let found = self.live.get(path).copied();
        found.ok_or_else(|| DiskError::from_io(operation, path, io::ErrorKind::NotFound.into()))
    }

    pub(super) fn is_directory(&self, path: &Path) -> bool {
        path == Path::new("")
            || path == Path::new("/")
            || path == Path::new(".")
            || self.directories.contains(path)
    }

    pub(super) fn check_parent(&self, operation: &'static str, path: &Path) -> Result<(), DiskError> {
        match path.parent() {
            Some(parent) if self.is_directory(parent) => Ok(()),
            _ => Err(DiskError::from_io(operation, path, io::ErrorKind::NotFound.into())),
        }
    }

    pub(super) fn list(&self, directory: &Path) -> Result<Vec<String>, DiskError> {
        if !self.is_directory(directory) {
            return Err(DiskError::from_io("list", directory, io::ErrorKind::NotFound.into()));
        }
        let inside = self.live.keys().filter(|path| path.parent() == Some(directory));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    /// Carries out an operation that was found possible when it was recorded.
    pub(super) fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::CreateDirectory(path) => {
                self.directories.extend(path.ancestors().map(Path::to_owned));
            }
            Operation::Create(path) => {
                self.files.push(Content::default());
                self.change(NameChange {
                    path: path.clone(),
                    file: self.files.len() - 1,
                    kind: NameChangeKind::Bind,
                });
            }
            Operation::Write { file, offset, bytes, length } => {
                self.files[*file].write(*offset, bytes, *length);
            }
            Operation::Sync(file) => self.files[*file].turn(Safety::Unsynced, Safety::Synced, 0),
            Operation::FailedSync(file) => self.files[*file].turn(Safety::Unsynced, Safety::Dropped, 0),
            Operation::Truncate { file, length } => {
                self.files[*file].truncate(*length);
                self.files[*file].turn(Safety::Unsynced, Safety::Synced, 0);
            }
            Operation::Rewrite { file, offset } => {
                self.files[*file].turn(Safety::Dropped, Safety::Synced, *offset);
                self.files[*file].turn(Safety::Unsynced, Safety::Synced, 0);
            }
            Operation::Rename { from, to } => {
                let file = self.live[from];
                self.change(NameChange { path: to.clone(), file, kind: NameChangeKind::Bind });
            }
            Operation::Remove(path) => {
                let file = self.live[path];
                self.change(NameChange { path: path.clone(), file, kind: NameChangeKind::Unbind });
            }
            Operation::SyncDirectory(directory) => {
                let (safe, pending) = std::mem::take(&mut self.pending)
                    .into_iter()
                    .partition(|change| change.path.parent() == Some(directory));
                self.pending = pending;
                let safe: Vec<NameChange> = safe;
                safe.iter().for_each(|change| change.apply(&mut self.durable));
            }
            Operation::FlipBit { file, offset, bit } => self.files[*file].flip_bit(*offset, *bit),
            Operation::Nothing => {}
        }
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.live);
        self.pending.push(change);
    }
}

/// How safe a run of bytes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Safety {
    Synced,
    Unsynced,
    Dropped,
}

/// A run of bytes of one safety: `length` of the shared ones, from `start`.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    /// Where in the file it begins.
    offset: u64,
    bytes: Arc<[u8]>,
    start: usize,
    length: usize,
    pub(super) safety: Safety,
}

impl Chunk {
    fn end(&self) -> u64 {
        self.offset + self.length as u64
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

/// The content of a file: chunks that are not empty, end to end.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    chunks: Vec<Chunk>,
}

impl Content {
    /// Content that is all synced: shared chunks and then some new bytes.
    pub(super) fn synced(chunks: &[Chunk], tail: Vec<u8>) -> Self {
        let mut content = Content { chunks: chunks.to_vec() };
        let length = tail.len();
        content.write(content.len(), &tail.into(), length);
        content.chunks.iter_mut().for_each(|chunk| chunk.safety = Safety::Synced);
        content
    }

    pub(super) fn len(&self) -> u64 {
        self.chunks.last().map_or(0, Chunk::end)
    }

    pub(super) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.chunks.iter().map(Chunk::bytes)
    }

    /// Up to `length` bytes from `offset` on.
    pub(super) fn read_at(&self, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let first = self.chunks.partition_point(|chunk| chunk.end() <= offset);
        for chunk in &self.chunks[first..] {
            let part = &chunk.bytes()[offset.saturating_sub(chunk.offset) as usize..];
            bytes.extend_from_slice(&part[..part.len().min(length - bytes.len())]);
            if bytes.len() == length {
                break;
            }
        }
        bytes
    }

    /// Writes behind what there is, or over it; a hole before it is zeros.
    fn write(&mut self, offset: u64, bytes: &Arc<[u8]>, length: usize) {
        let before = self.len();
        if offset > before {
            let hole = (offset - before) as usize;
            self.write(before, &vec![0; hole].into(), hole);
        }
        if length > 0 {
            let first = self.split(offset);
            let behind = self.split(offset + length as u64);
            let chunk = Chunk { offset, bytes: bytes.clone(), start: 0, length, safety: Safety::Unsynced };
            self.chunks.splice(first..behind, [chunk]);
        }
    }

    /// Changes the safety of the bytes from `offset` on that have safety `from`.
    fn turn(&mut self, from: Safety, to: Safety, offset: u64) {
        let first = self.split(offset);
        for chunk in self.chunks[first..].iter_mut().filter(|chunk| chunk.safety == from) {
            chunk.safety = to;
        }
    }

    fn truncate(&mut self, length: u64) {
        let first = self.split(length);
        self.chunks.truncate(first);
    }

    /// Lets a chunk begin at `offset` and gives its position.
    fn split(&mut self, offset: u64) -> usize {
        let position = self.chunks.partition_point(|chunk| chunk.offset < offset);
        if let Some(around) = position.checked_sub(1).filter(|&before| self.chunks[before].end() > offset) {
            let head = (offset - self.chunks[around].offset) as usize;
            let mut tail = self.chunks[around].clone();
            tail.offset = offset;
            tail.start += head;
            tail.length -= head;
            self.chunks[around].length = head;
            self.chunks.insert(position, tail);
        }
        position
    }

    fn flip_bit(&mut self, offset: u64, bit: u8) {
        if offset >= self.len() {
            return;
        }
        let position = self.split(offset);
        let chunk = &mut self.chunks[position];
        let mut bytes = chunk.bytes().to_vec();
        bytes[0] ^= 1 << (bit % 8);
        chunk.bytes = bytes.into();
        chunk.start = 0;
    }
}
