//! The operating system's files.
//!
//! Assumed of the system: `fdatasync` returns after the bytes are on stable storage, a rename within a directory
//! is atomic, and a write past the synced end never damages bytes before it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Read, Seek, SeekFrom, Write};
use std::ops::Range;
#[cfg(unix)]
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use memmap2::Mmap;
use parking_lot::Mutex;

use crate::lock::lock_file;
use crate::mapped_room::{MappedRoom, Pages};
use crate::poison::{PoisonedOnFailure, RawFile};
use crate::{AppendFile, Disk, DiskError, DiskLock, LockMode, Mapping};

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsDisk;

/// Names the operation and the path in an error.
fn failed<'a>(operation: &'static str, path: &'a Path) -> impl Fn(io::Error) -> DiskError + 'a {
    move |source| DiskError::from_io(operation, path, source)
}

impl Disk for OsDisk {
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        let mut missing: Vec<&Path> = Vec::new();
        let mut level = Some(path);
        while let Some(directory) = level.filter(|directory| !directory.as_os_str().is_empty()) {
            if directory.is_dir() {
                break;
            }
            missing.push(directory);
            level = directory.parent();
        }
        for directory in missing.into_iter().rev() {
            match fs::create_dir(directory) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
                result => result.map_err(failed("create directory", directory))?,
            }
            self.sync_dir(parent(directory))?;
        }
        Ok(())
    }

    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(failed("create", path))?;
        Ok(append_file(file, path, 0))
    }

    fn open_append(&self, path: &Path) -> Result<Box<dyn AppendFile>, DiskError> {
        let failed = failed("open", path);
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(&failed)?;
        let length = file.seek(SeekFrom::End(0)).map_err(&failed)?;
        Ok(append_file(file, path, length))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, DiskError> {
        fs::read(path).map_err(failed("read", path))
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> Result<Vec<u8>, DiskError> {
        let failed = failed("read", path);
        let mut file = File::open(path).map_err(&failed)?;
        file.seek(SeekFrom::Start(offset)).map_err(&failed)?;
        let mut bytes = Vec::new();
        file.take(length as u64).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    fn map(&self, path: &Path) -> Result<Mapping, DiskError> {
        let failed = failed("map", path);
        let file = File::open(path).map_err(&failed)?;
        if file.metadata().map_err(&failed)?.len() == 0 {
            return Ok(Mapping::from_parts(0, []));
        }
        map_file(&file).map(Mapping::mapped).map_err(failed)
    }

    fn len(&self, path: &Path) -> Result<Option<u64>, DiskError> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("look at", path)(error)),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        fs::rename(from, to).map_err(failed("rename", from))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        fs::remove_file(path).map_err(failed("remove", path))
    }

    fn truncate(&self, path: &Path, length: u64) -> Result<(), DiskError> {
        let failed = failed("truncate", path);
        let file = OpenOptions::new().write(true).open(path).map_err(&failed)?;
        if length > file.metadata().map_err(&failed)?.len() {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        }
        file.set_len(length).map_err(&failed)?;
        file.sync_all().map_err(failed)
    }

    fn rewrite(&self, path: &Path, offset: u64) -> Result<(), DiskError> {
        rewrite(path, offset).map_err(failed("rewrite", path))
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, DiskError> {
        let failed = failed("list", directory);
        let mut names = Vec::new();
        for entry in fs::read_dir(directory).map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            if !entry.file_type().map_err(&failed)?.is_dir() {
                // Names that are no UTF-8 are not ours.
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_dir(&self, directory: &Path) -> Result<(), DiskError> {
        // Only Unix lets a directory be opened and synced; elsewhere the file system does it by itself.
        if cfg!(unix) {
            let failed = failed("sync directory", directory);
            File::open(directory).map_err(&failed)?.sync_all().map_err(failed)?;
        }
        Ok(())
    }

    #[cfg(unix)]
    fn free_bytes(&self, directory: &Path) -> Option<u64> {
        let found = rustix::fs::statvfs(directory).ok()?;
        found.f_bavail.checked_mul(found.f_frsize)
    }

    fn lock(&self, path: &Path, mode: LockMode) -> Result<DiskLock, DiskError> {
        lock_file(path, mode)
    }
}

/// The directory `path` lies in, where `a` lies in `.`.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

#[expect(unsafe_code)]
fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes of a mapped file must not change. Files of a store are only appended to, beyond the
    // length mapped here, and are cut off only by recovery, under the exclusive lock, before any mapping of them
    // is handed out. Another program that writes into a store's files breaks this, as it breaks the store.
    unsafe { Mmap::map(file) }
}

/// Has the system take the pages that lie within a part of a map out of memory, where it can.
#[cfg(target_os = "linux")]
#[expect(unsafe_code)]
pub(crate) fn page_out(map: &Mmap, range: Range<usize>) {
    const PAGE_BYTES: usize = 4096;
    let (start, end) =
        (range.start.next_multiple_of(PAGE_BYTES), range.end.min(map.len()) / PAGE_BYTES * PAGE_BYTES);
    if start < end {
        // SAFETY: the pages are of this map, which lives, and stay what they are: they are read again when they are looked
        // at. A page larger than assumed makes the call fail, which is no harm.
        unsafe { libc::madvise(map.as_ptr().add(start) as *mut _, end - start, libc::MADV_PAGEOUT) };
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn page_out(_map: &Mmap, _range: Range<usize>) {}

fn rewrite(path: &Path, offset: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut position = offset;
    loop {
        file.seek(SeekFrom::Start(position))?;
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return file.sync_all();
        }
        file.seek(SeekFrom::Start(position))?;
        file.write_all(&buffer[..count])?;
        position += count as u64;
    }
}

fn append_file(file: File, path: &Path, length: u64) -> Box<dyn AppendFile> {
    let raw = OsFile { file, path: path.to_owned(), ahead: Mutex::default() };
    Box::new(PoisonedOnFailure::new(raw, path.to_owned(), length))
}

/// What is shorter is copied into the room ahead, where there is some; what is longer costs no more as a system call.
const COPIED_BYTES: usize = 4096;
/// So many times is written as a system call after each sync: a page that was synced is protected, and to have it made ready
/// again takes as long as a call.
const CALLS_AFTER_SYNC: u32 = 16;

#[derive(Debug)]
struct OsFile {
    file: File,
    path: PathBuf,
    ahead: Mutex<Ahead>,
}

/// The room ahead, up to a place in the file, and as memory.
#[derive(Debug, Default)]
struct Ahead {
    end: u64,
    /// In order, if it is written to as memory: what is being written to, and what comes after that.
    maps: Vec<MappedRoom>,
    appends_since_sync: u32,
}

impl Ahead {
    /// Copies the parts to these bytes, if they are in the room.
    fn write(&mut self, file: &File, bytes: Range<u64>, parts: &[&[u8]]) -> bool {
        self.appends_since_sync = self.appends_since_sync.saturating_add(1);
        if bytes.end > self.end || self.appends_since_sync <= CALLS_AFTER_SYNC {
            return false;
        }
        // What ends before these bytes is not written to any more.
        let passed = self.maps.iter().take_while(|map| !map.holds(&bytes)).count();
        self.maps.drain(..passed);
        if self.maps.is_empty() {
            self.maps.extend(MappedRoom::open(file, bytes.start));
        }
        let is_written = self.maps.first_mut().is_some_and(|map| map.write(bytes, self.end, parts));
        if !is_written {
            // What refused once is not asked again before there is new room.
            self.end = 0;
            self.maps.clear();
        }
        is_written
    }

    /// The pages of these bytes, if room is written to as memory.
    fn pages(&mut self, file: &File, bytes: &Range<u64>) -> Vec<Pages> {
        if self.maps.last().is_some_and(|map| !map.holds(bytes)) {
            self.maps.extend(MappedRoom::open(file, bytes.start));
        }
        self.maps.iter().filter_map(|map| map.pages(bytes)).collect()
    }
}

impl OsFile {
    /// Has the system make pages of the room ready beside whoever appends, who then need not ask.
    fn ask(&self, mut pages: Vec<Pages>) {
        let now = Instant::now();
        pages.retain(Pages::ask);
        for map in &mut self.ahead.lock().maps {
            pages.iter().for_each(|pages| map.note_asked(pages, now));
        }
    }
}

impl RawFile for OsFile {
    fn append(&self, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let bytes = offset..offset + length as u64;
        if length < COPIED_BYTES && self.ahead.lock().write(&self.file, bytes, parts) {
            return Ok(());
        }
        write_at(&self.file, offset, parts).map_err(failed("append to", &self.path))
    }

    #[cfg(unix)]
    fn make_room(&self, range: Range<u64>) -> Result<(), DiskError> {
        write_zeros(&self.file, range.clone()).map_err(failed("make room in", &self.path))?;
        let pages = self.ahead.lock().pages(&self.file, &range);
        self.ask(pages);
        self.ahead.lock().end = range.end;
        Ok(())
    }

    /// None: elsewhere two who write share one position in the file.
    #[cfg(not(unix))]
    fn make_room(&self, _: Range<u64>) -> Result<(), DiskError> {
        Ok(())
    }

    fn cut(&self, length: u64) -> Result<(), DiskError> {
        *self.ahead.lock() = Ahead::default();
        self.file.set_len(length).map_err(failed("truncate", &self.path))
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.ahead.lock().appends_since_sync = 0;
        self.file.sync_data().map_err(failed("sync", &self.path))?;
        // What was written is protected, and whoever appends would wait for each page to be made ready.
        let pages = self.ahead.lock().maps.iter().filter_map(MappedRoom::asked_pages).collect();
        self.ask(pages);
        Ok(())
    }
}

/// Zeros that are written, not a hole: its blocks would have to be found, and recorded, when they are filled.
#[cfg(unix)]
fn write_zeros(file: &File, range: Range<u64>) -> io::Result<()> {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    for start in range.clone().step_by(ZEROS.len()) {
        let length = (range.end - start).min(ZEROS.len() as u64) as usize;
        file.write_all_at(&ZEROS[..length], start)?;
    }
    Ok(())
}

/// Writes the parts from `offset` on, whatever position in the file the system keeps.
fn write_at(mut file: &File, offset: u64, parts: &[&[u8]]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    let mut slices: Vec<IoSlice<'_>> =
        parts.iter().filter(|part| !part.is_empty()).map(|part| IoSlice::new(part)).collect();
    let mut rest = slices.as_mut_slice();
    while !rest.is_empty() {
        match file.write_vectored(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut rest, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
