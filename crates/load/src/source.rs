//! A file as bytes to parse: mapped, or decompressed by a thread of its own while others parse.
//!
//! Invariant: reading a source again gives the same bytes, which is what lets a refuted guess start over.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use flate2::bufread::MultiGzDecoder;

use crate::LoadError;
use crate::map::FileMap;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codec {
    Gzip,
    Zstd,
}

/// A file to read.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    pub(crate) bytes: Bytes,
    /// The length of the file.
    pub(crate) total_bytes: u64,
}

/// Its bytes.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// As they are in the file.
    Mapped(FileMap),
    /// To be decompressed.
    Packed(Packed),
}

/// A compressed file.
#[derive(Debug)]
pub(crate) struct Packed {
    path: PathBuf,
    codec: Codec,
}

/// The first bytes of a file.
pub(crate) struct Head<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    /// They are all there are.
    pub(crate) complete: bool,
    /// Why there are no more, if that is so, and how many compressed bytes had been read.
    pub(crate) failure: Option<(u64, io::Error)>,
}

impl Source {
    /// Opens a file; what it is compressed with is told by its first bytes.
    pub(crate) fn open(path: &Path) -> Result<Self, LoadError> {
        let fail = |source| LoadError::Open { path: path.to_owned(), source };
        let file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_dir() {
            return Err(fail(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        if !metadata.is_file() {
            let what =
                "not a regular file, and reading may have to start over: save it to a file first".to_owned();
            return Err(LoadError::Unsupported { path: path.to_owned(), what });
        }
        let map = FileMap::open(&file).map_err(fail)?;
        let bytes = match codec(path, &map)? {
            Some(codec) => Bytes::Packed(Packed { path: path.to_owned(), codec }),
            None => Bytes::Mapped(map),
        };
        Ok(Source { path: path.to_owned(), bytes, total_bytes: metadata.len() })
    }

    /// The first `wanted` bytes, or all if there are fewer.
    pub(crate) fn head(&self, wanted: usize) -> Head<'_> {
        match &self.bytes {
            Bytes::Packed(packed) => packed.head(wanted),
            Bytes::Mapped(map) => {
                let bytes = Cow::Borrowed(map.get(..wanted).unwrap_or(map));
                Head { complete: bytes.len() == map.len(), bytes, failure: None }
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// By the first bytes; a name that promises compression must keep it, for else a damaged file would be read as text.
fn codec(path: &Path, bytes: &[u8]) -> Result<Option<Codec>, LoadError> {
    let codec = match bytes {
        [0x1f, 0x8b, ..] => Some(Codec::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Codec::Zstd),
        // A skippable frame, with which some compressors start.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Codec::Zstd),
        _ => None,
    };
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let promised = match extension.to_ascii_lowercase().as_str() {
        "gz" | "gzip" => "gzip",
        "zst" | "zstd" => "zstd",
        _ => return Ok(codec),
    };
    if codec.is_none() && !bytes.is_empty() {
        let source =
            io::Error::new(io::ErrorKind::InvalidData, format!("it does not start as {promised} does"));
        return Err(LoadError::Decompress { path: path.to_owned(), offset: 0, line: 0, source });
    }
    Ok(codec)
}

impl Packed {
    fn head(&self, wanted: usize) -> Head<'static> {
        let mut bytes = Vec::new();
        let read_bytes = AtomicU64::new(0);
        let result = self.decoder(&read_bytes).and_then(|decoder| {
            // One more than wanted, to see whether that is all.
            decoder.take(wanted as u64 + 1).read_to_end(&mut bytes)
        });
        let complete = result.is_ok() && bytes.len() <= wanted;
        bytes.truncate(wanted);
        let failure = result.err().map(|error| (read_bytes.into_inner(), error));
        Head { bytes: Cow::Owned(bytes), complete, failure }
    }

    /// Decompresses from the start in a thread of its own and hands the receiver of the chunks to `consume`. A few
    /// chunks are ready ahead, no more.
    pub(crate) fn stream<T>(
        &self,
        chunk_bytes: usize,
        read_bytes: &AtomicU64,
        consume: impl FnOnce(Receiver<io::Result<Vec<u8>>>) -> T,
    ) -> T {
        const CHUNKS_AHEAD: usize = 8;
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(CHUNKS_AHEAD);
            scope.spawn(move || match self.decoder(read_bytes) {
                Ok(decoder) => send_chunks(decoder, chunk_bytes, &sender),
                // The receiver is gone only if it needs no more.
                Err(error) => drop(sender.send(Err(error))),
            });
            consume(receiver)
        })
    }

    fn decoder<'a>(&self, read_bytes: &'a AtomicU64) -> io::Result<Box<dyn Read + 'a>> {
        const BUFFER_BYTES: usize = 256 << 10;
        let file = Counting { file: File::open(&self.path)?, read_bytes };
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(match self.codec {
            Codec::Gzip => Box::new(MultiGzDecoder::new(file)),
            Codec::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(file)?),
        })
    }
}

/// Sends chunks until the end, the first error, or until nobody listens.
fn send_chunks(mut decoder: impl Read, chunk_bytes: usize, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = Vec::with_capacity(chunk_bytes);
        let result = decoder.by_ref().take(chunk_bytes as u64).read_to_end(&mut chunk);
        let ended = chunk.is_empty();
        // What came before an error is whole and goes first.
        if (!ended && sender.send(Ok(chunk)).is_err()) || (ended && result.is_ok()) {
            return;
        }
        if let Err(error) = result {
            return drop(sender.send(Err(error)));
        }
    }
}

/// Counts what is read of a file.
struct Counting<'a> {
    file: File,
    read_bytes: &'a AtomicU64,
}

impl Read for Counting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read_bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
