//! A whole file: windows of bytes, cut into blocks at line ends, parsed side by side, put together in file order.
//!
//! ```text
//!  window  ├──────────────┬──────────────┬───────"──────┬──"───────────┤
//!  cuts    after the first line end past every block_bytes
//!  blocks  parsed in parallel, each as if a record started at its cut
//!  walk    in order: block i counts if block i-1 ended at its cut;     └ what is left of the last record
//!          if not (the cut was inside quotes) it is parsed again         goes in front of the next window
//!          from where block i-1 ended
//! ```
//!
//! Invariant: the blocks that count are exactly what one reader going record by record would have read.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use evergraph_disk::Checksum;
use evergraph_types::{EdgeBatch, PropertyType};
use memchr::{memchr, memchr_iter};
use rayon::prelude::*;

use crate::block::{Block, Stop, parse_block};
use crate::column::settle;
use crate::parsed::{ParsedEdges, Place, Reject, Rejects};
use crate::plan::{Plan, Widen};
use crate::sniff::{Sniffed, sniff};
use crate::source::{Bytes, Packed, Source};
use crate::{LoadError, LoadOptions, Progress};

/// Reads the edges of a text file, compressed or not, on all threads of the current rayon pool.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("friends.csv");
/// use evergraph_load::{LoadOptions, NoProgress, read_edges};
///
/// std::fs::write(&path, "src,dst,since\nalice,bob,2024-01-02\nbob,carol,\n")?;
/// let parsed = read_edges(&path, &LoadOptions::default(), &NoProgress)?;
/// assert_eq!(parsed.edges(), 2);
/// assert_eq!(parsed.parts[0].columns[0].0, "since");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Any [`LoadError`]; nothing of the file is returned then. With [`OnError::Skip`](crate::OnError::Skip) bad lines
/// are no error.
pub fn read_edges(
    path: &Path,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<ParsedEdges, LoadError> {
    in_pool(path, options, || read_in_pool(path, options, progress))
}

/// Runs `read` on as many threads as the options ask for.
pub(crate) fn in_pool<T: Send>(
    path: &Path,
    options: &LoadOptions,
    read: impl FnOnce() -> Result<T, LoadError> + Send,
) -> Result<T, LoadError> {
    let Some(threads) = options.threads else { return read() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        LoadError::Option { path: path.to_owned(), option: "threads", reason: error.to_string() }
    })?;
    pool.install(read)
}

fn read_in_pool(
    path: &Path,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<ParsedEdges, LoadError> {
    let source = Source::open(path)?;
    let mut sniffed = look(&source, options)?;
    let (mut parsed, not_numeric) = read_until_guesses_hold(&mut sniffed, |sniffed| {
        let mut take = Take::All;
        let mut pass = Pass::new(&source, options, progress, sniffed, &mut take);
        pass.read()?;
        pass.finish()
    })?;
    parsed.not_numeric = not_numeric;
    Ok(parsed)
}

/// Reads again and again, each time without the guesses that the time before has refuted. Gives also the first key that
/// is no int64, where that was guessed.
pub(crate) fn read_until_guesses_hold<T>(
    sniffed: &mut Sniffed,
    mut read: impl FnMut(&Sniffed) -> Result<T, Halt>,
) -> Result<(T, Option<Reject>), LoadError> {
    let mut not_numeric = sniffed.widened.keys.take().map(|reject| reject.moved(sniffed.lines));
    loop {
        match read(sniffed) {
            Ok(found) => return Ok((found, not_numeric)),
            Err(Halt::Error(error)) => return Err(error),
            Err(Halt::Widen(mut widen)) => {
                sniffed.plan.widen(&widen);
                not_numeric = not_numeric.or(widen.keys.take());
            }
        }
    }
}

/// The first look, at as much of the file as it takes to see a record.
pub(crate) fn look(source: &Source, options: &LoadOptions) -> Result<Sniffed, LoadError> {
    const HEAD_BYTES: usize = 1 << 20;
    let path = source.path();
    let mut wanted = HEAD_BYTES;
    loop {
        let head = source.head(wanted);
        if let Some(sniffed) = sniff(path, options, &head.bytes, head.complete)? {
            return Ok(sniffed);
        }
        if let Some((offset, source)) = head.failure {
            let line = memchr_iter(b'\n', &head.bytes).count() as u64;
            return Err(LoadError::Decompress { path: path.to_owned(), offset, line, source });
        }
        wanted = wanted.saturating_mul(4);
    }
}

/// Blocks are not made smaller than this for the sake of memory: their beginnings and ends would be most of the work.
const BLOCK_BYTES_MIN: usize = 64 << 10;

/// Why a pass over the file ends early.
pub(crate) enum Halt {
    Error(LoadError),
    /// A guess was refuted; the file is to be read again without it.
    Widen(Widen),
}

impl From<LoadError> for Halt {
    fn from(error: LoadError) -> Self {
        Halt::Error(error)
    }
}

/// What becomes of the blocks that a pass has read.
pub(crate) enum Take<'a> {
    /// They are put together when the file ends.
    All,
    /// Only the types of their columns are wanted.
    Types,
    /// They are handed over window by window, with the place that is reached. `Break` ends the pass.
    Windows(&'a mut (dyn FnMut(Vec<EdgeBatch>, Place) -> ControlFlow<()> + Send)),
}

/// One pass over the file.
pub(crate) struct Pass<'a, 't> {
    source: &'a Source,
    options: &'a LoadOptions,
    progress: &'a dyn Progress,
    sniffed: &'a Sniffed,
    plan: &'a Plan,
    blocks: Vec<Block>,
    take: &'a mut Take<'t>,
    /// Where the pass begins, if it goes on from where another one ended.
    from: Option<Place>,
    /// What lies before the place that is reached.
    passed: Passed,
    /// The lines before the place that is reached.
    lines: u64,
    pub(crate) rejects: Rejects,
    /// The place is inside a line that was given up.
    in_endless_line: bool,
}

/// The bytes before a place.
#[derive(Default)]
struct Passed {
    offset: u64,
    checksum: Checksum,
    last: Option<u8>,
}

impl Passed {
    fn add(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        self.checksum.update(bytes);
        self.last = bytes.last().copied().or(self.last);
    }
}

impl<'a, 't> Pass<'a, 't> {
    pub(crate) fn new(
        source: &'a Source,
        options: &'a LoadOptions,
        progress: &'a dyn Progress,
        sniffed: &'a Sniffed,
        take: &'a mut Take<'t>,
    ) -> Self {
        Pass {
            take,
            from: None,
            passed: Passed::default(),
            source,
            options,
            progress,
            sniffed,
            plan: &sniffed.plan,
            blocks: Vec::new(),
            lines: sniffed.lines,
            rejects: Rejects::default(),
            in_endless_line: false,
        }
    }

    /// The same pass, from a place behind the header on.
    pub(crate) fn from(mut self, from: Option<Place>) -> Self {
        self.lines = from.map_or(self.lines, |from| from.lines);
        self.from = from;
        self
    }

    /// Reads the file from its first record on, or from the place where another pass ended.
    pub(crate) fn read(&mut self) -> Result<(), Halt> {
        let start = self.from.map_or(self.sniffed.start, |from| from.offset as usize);
        match &self.source.bytes {
            Bytes::Mapped(map) => self.read_mapped(map, start),
            Bytes::Packed(packed) => self.read_packed(packed, start),
        }
    }

    fn read_mapped(&mut self, data: &[u8], start: usize) -> Result<(), Halt> {
        let mut at = start.min(data.len());
        self.skip(&data[..at]);
        self.check_place(at < data.len())?;
        self.report(at as u64)?;
        while at < data.len() {
            let consumed = self.window(&data[at..], self.window_bytes(), true)?;
            self.hand_over(&data[at..at + consumed])?;
            at += consumed;
            self.report(at as u64)?;
        }
        Ok(())
    }

    fn read_packed(&mut self, packed: &Packed, start: usize) -> Result<(), Halt> {
        let read_bytes = AtomicU64::new(0);
        packed.stream(self.block_bytes(), &read_bytes, |chunks| self.read_chunks(&chunks, start, &read_bytes))
    }

    /// Passes over bytes before the first record. Whether they are what they were matters only to who goes on behind them.
    fn skip(&mut self, bytes: &[u8]) {
        if matches!(self.take, Take::Windows(_)) {
            self.passed.add(bytes);
        }
    }

    /// Whether the place that is reached is the one to go on from.
    fn check_place(&self, goes_on: bool) -> Result<(), Halt> {
        let Some(from) = self.from else { return Ok(()) };
        let Passed { offset, checksum, last } = &self.passed;
        let path = || self.source.path().to_owned();
        if *offset != from.offset || checksum.finish() != from.checksum {
            return Err(LoadError::Changed { path: path(), offset: from.offset }.into());
        }
        // A last line without an end would go on with what was appended to it.
        if goes_on && !matches!(last, None | Some(b'\n')) {
            return Err(LoadError::Unended { path: path(), offset: from.offset }.into());
        }
        Ok(())
    }

    /// The place that is reached.
    pub(crate) fn place(&self) -> Place {
        let Passed { offset, checksum, .. } = &self.passed;
        Place { offset: *offset, lines: self.lines, checksum: checksum.finish() }
    }

    /// Disposes of what was read of a window, which had these bytes.
    fn hand_over(&mut self, bytes: &[u8]) -> Result<(), Halt> {
        match self.take {
            Take::All => return Ok(()),
            Take::Types => {
                self.blocks.par_iter_mut().for_each(Block::forget);
                return Ok(());
            }
            Take::Windows(_) => self.passed.add(bytes),
        }
        if self.in_endless_line {
            return Ok(());
        }
        let kinds: Vec<PropertyType> = self
            .plan
            .properties
            .iter()
            .map(|property| property.kind.unwrap_or(PropertyType::String))
            .collect();
        let parts = self.put_together(&kinds);
        let place = self.place();
        let flow = match self.take {
            Take::Windows(take) => take(parts, place),
            _ => ControlFlow::Continue(()),
        };
        if flow.is_break() { Err(self.cancelled()) } else { Ok(()) }
    }

    fn cancelled(&self) -> Halt {
        LoadError::Cancelled { path: self.source.path().to_owned() }.into()
    }

    fn read_chunks(
        &mut self,
        chunks: &Receiver<io::Result<Vec<u8>>>,
        start: usize,
        read_bytes: &AtomicU64,
    ) -> Result<(), Halt> {
        let mut buffer: Vec<u8> = Vec::new();
        let mut to_skip = start;
        loop {
            // Twice what the last window left, so that a long record comes to its end and is not looked at too often.
            let wanted = self.window_bytes().max(buffer.len().saturating_mul(2));
            let mut ended = None;
            while ended.is_none() && buffer.len() < wanted {
                match chunks.recv() {
                    Ok(Ok(chunk)) => {
                        let skipped = to_skip.min(chunk.len());
                        self.skip(&chunk[..skipped]);
                        to_skip -= skipped;
                        buffer.extend_from_slice(&chunk[skipped..]);
                    }
                    Ok(Err(error)) => ended = Some(Err(error)),
                    Err(_) => ended = Some(Ok(())),
                }
            }
            let complete = matches!(ended, Some(Ok(())));
            if self.passed.offset <= start as u64 && (to_skip == 0 || complete) {
                self.check_place(!buffer.is_empty())?;
            }
            let consumed = self.window(&buffer, buffer.len(), complete)?;
            self.hand_over(&buffer[..consumed])?;
            buffer.drain(..consumed);
            let offset = read_bytes.load(Ordering::Relaxed);
            self.report(offset)?;
            match ended {
                None => {}
                Some(Ok(())) => return Ok(()),
                Some(Err(source)) => {
                    let (path, line) = (self.source.path().to_owned(), self.lines);
                    return Err(LoadError::Decompress { path, offset, line, source }.into());
                }
            }
        }
    }

    fn block_bytes(&self) -> usize {
        let wanted = self.options.window_bytes.map(|bytes| bytes as usize / self.window_blocks());
        let most = wanted.map_or(usize::MAX, |bytes| bytes.max(BLOCK_BYTES_MIN));
        self.options.block_bytes.clamp(1, most)
    }

    /// Enough blocks that threads rarely wait for the last one.
    fn window_blocks(&self) -> usize {
        match (&self.source.bytes, &self.take) {
            (Bytes::Mapped(_), Take::All) => 64.max(16 * rayon::current_num_threads()),
            _ => 4 * rayon::current_num_threads(),
        }
    }

    fn window_bytes(&self) -> usize {
        self.block_bytes().saturating_mul(self.window_blocks())
    }

    fn report(&self, done_bytes: u64) -> Result<(), Halt> {
        let total_bytes = self.source.total_bytes;
        match self.progress.update(done_bytes.min(total_bytes), Some(total_bytes)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(self.cancelled()),
        }
    }

    /// Parses the records that start before `end`, or at the first line end after it; how far it came. `complete` says
    /// that the file ends with `data`; if not, a record at the end may be left over.
    fn window(&mut self, data: &[u8], end: usize, complete: bool) -> Result<usize, Halt> {
        let mut at = 0;
        if self.in_endless_line {
            at = memchr(b'\n', data).map_or(data.len(), |newline| newline + 1);
            self.in_endless_line = !complete && data[..at].last() != Some(&b'\n');
            self.lines += u64::from(!self.in_endless_line);
        }
        let cuts = cut(data, at, end, self.block_bytes());
        let plan = self.plan;
        let parse = |from: usize, to: usize| parse_block(plan, data, from, to, complete);
        let blocks: Vec<Block> =
            cuts.par_windows(2).with_max_len(1).map(|cut| parse(cut[0], cut[1])).collect();
        for (block, bounds) in blocks.into_iter().zip(cuts.windows(2)) {
            let (from, to) = (bounds[0], bounds[1]);
            if at >= to {
                // A quoted field of an earlier block reaches beyond this one.
                continue;
            }
            let block = if at == from { block } else { parse(at, to) };
            at = block.end;
            if !self.accept(block)? {
                break;
            }
        }
        Ok(at)
    }

    /// Takes over a block; whether the next one follows.
    fn accept(&mut self, block: Block) -> Result<bool, Halt> {
        let lines_before = self.lines;
        self.lines += block.lines;
        self.rejects.count += block.rejects.count;
        let room = self.plan.rejects_kept.saturating_sub(self.rejects.kept.len());
        let mut kept = block.rejects.kept.iter().map(|reject| reject.clone().moved(lines_before));
        match block.stop {
            Stop::Failed => {
                let Some(Reject { line, column, reason, text }) = kept.next() else { return Ok(false) };
                let path = self.source.path().to_owned();
                return Err(LoadError::Line { path, line, column, reason, text }.into());
            }
            Stop::Widen(Widen { keys, properties }) => {
                let keys = keys.map(|reject| reject.moved(lines_before));
                return Err(Halt::Widen(Widen { keys, properties }));
            }
            Stop::Endless => self.in_endless_line = true,
            Stop::Done | Stop::Incomplete => {}
        }
        self.rejects.kept.extend(kept.take(room));
        let follows = block.stop == Stop::Done;
        if !block.src.is_empty() {
            self.blocks.push(block);
        }
        Ok(follows)
    }

    /// The types of the columns, once they are of one type throughout.
    pub(crate) fn column_types(&self) -> Result<Vec<PropertyType>, Halt> {
        if self.blocks.is_empty() && self.rejects.count == 0 {
            return Err(LoadError::Empty { path: self.source.path().to_owned() }.into());
        }
        let mut kinds = Vec::with_capacity(self.plan.properties.len());
        let mut widen = Widen::default();
        for (position, property) in self.plan.properties.iter().enumerate() {
            let columns = self.blocks.iter().filter_map(|block| block.columns.get(position));
            match property.kind.filter(|_| property.declared).or_else(|| settle(columns)) {
                Some(kind) => kinds.push(kind),
                None => widen.properties.push(position),
            }
        }
        if widen.is_empty() { Ok(kinds) } else { Err(Halt::Widen(widen)) }
    }

    /// Takes the blocks as batches with columns of these types.
    fn put_together(&mut self, kinds: &[PropertyType]) -> Vec<EdgeBatch> {
        let names = || self.plan.properties.iter().map(|property| property.name.clone());
        let batch = |block: Block| {
            let columns = block.columns.into_iter().zip(kinds).map(|(column, kind)| column.finish(*kind));
            EdgeBatch { src: block.src, dst: block.dst, columns: names().zip(columns).collect() }
        };
        std::mem::take(&mut self.blocks).into_par_iter().map(batch).collect()
    }

    /// Puts the blocks together.
    fn finish(mut self) -> Result<ParsedEdges, Halt> {
        let kinds = self.column_types()?;
        Ok(ParsedEdges {
            parts: self.put_together(&kinds),
            lines: self.lines,
            rejects: self.rejects,
            keys: self.plan.keys,
            not_numeric: None,
            format: self.sniffed.format,
            header: self.sniffed.header.clone(),
        })
    }
}

/// Where blocks begin and end: after the first line end at least `block_bytes` on, until `end` is passed.
fn cut(data: &[u8], start: usize, end: usize, block_bytes: usize) -> Vec<usize> {
    let mut cuts = vec![start];
    let mut at = start;
    while at < end.min(data.len()) {
        at = at.saturating_add(block_bytes);
        at = match data.get(at - 1..).and_then(|rest| memchr(b'\n', rest)) {
            Some(newline) => at + newline,
            None => data.len(),
        };
        cuts.push(at);
    }
    cuts
}
