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
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use evergraph_types::EdgeBatch;
use memchr::{memchr, memchr_iter};
use rayon::prelude::*;

use crate::block::{Block, Stop, parse_block};
use crate::column::settle;
use crate::parsed::{ParsedEdges, Reject, Rejects};
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
    let Some(threads) = options.threads else { return read_in_pool(path, options, progress) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        LoadError::Option { path: path.to_owned(), option: "threads", reason: error.to_string() }
    })?;
    pool.install(|| read_in_pool(path, options, progress))
}

fn read_in_pool(
    path: &Path,
    options: &LoadOptions,
    progress: &dyn Progress,
) -> Result<ParsedEdges, LoadError> {
    let source = Source::open(path)?;
    let mut sniffed = look(&source, options)?;
    let mut not_numeric = sniffed.widened.keys.take().map(|reject| reject.moved(sniffed.lines));
    loop {
        let mut pass = Pass::new(&source, options, progress, &sniffed);
        let outcome = match &source.bytes {
            Bytes::Mapped(map) => pass.read_mapped(map.get(sniffed.start..).unwrap_or_default()),
            Bytes::Packed(packed) => pass.read_packed(packed, sniffed.start),
        };
        match outcome.and_then(|()| pass.finish()) {
            Ok(mut parsed) => {
                parsed.not_numeric = not_numeric;
                return Ok(parsed);
            }
            Err(Halt::Error(error)) => return Err(error),
            Err(Halt::Widen(mut widen)) => {
                sniffed.plan.widen(&widen);
                not_numeric = not_numeric.or(widen.keys.take());
            }
        }
    }
}

/// The first look, at as much of the file as it takes to see a record.
fn look(source: &Source, options: &LoadOptions) -> Result<Sniffed, LoadError> {
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

/// Why a pass over the file ends early.
enum Halt {
    Error(LoadError),
    /// A guess was refuted; the file is to be read again without it.
    Widen(Widen),
}

impl From<LoadError> for Halt {
    fn from(error: LoadError) -> Self {
        Halt::Error(error)
    }
}

/// One pass over the file.
struct Pass<'a> {
    source: &'a Source,
    options: &'a LoadOptions,
    progress: &'a dyn Progress,
    sniffed: &'a Sniffed,
    plan: &'a Plan,
    blocks: Vec<Block>,
    /// The lines before the place that is reached.
    lines: u64,
    rejects: Rejects,
    /// The place is inside a line that was given up.
    in_endless_line: bool,
}

impl<'a> Pass<'a> {
    fn new(
        source: &'a Source,
        options: &'a LoadOptions,
        progress: &'a dyn Progress,
        sniffed: &'a Sniffed,
    ) -> Self {
        Pass {
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

    fn read_mapped(&mut self, data: &[u8]) -> Result<(), Halt> {
        let mut at = 0;
        self.report(self.sniffed.start as u64)?;
        while at < data.len() {
            at += self.window(&data[at..], self.window_bytes(), true)?;
            self.report((self.sniffed.start + at) as u64)?;
        }
        Ok(())
    }

    fn read_packed(&mut self, packed: &Packed, start: usize) -> Result<(), Halt> {
        let read_bytes = AtomicU64::new(0);
        packed.stream(self.block_bytes(), &read_bytes, |chunks| self.read_chunks(&chunks, start, &read_bytes))
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
                        to_skip -= skipped;
                        buffer.extend_from_slice(&chunk[skipped..]);
                    }
                    Ok(Err(error)) => ended = Some(Err(error)),
                    Err(_) => ended = Some(Ok(())),
                }
            }
            let complete = matches!(ended, Some(Ok(())));
            let consumed = self.window(&buffer, buffer.len(), complete)?;
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
        self.options.block_bytes.max(1)
    }

    /// Enough blocks that threads rarely wait for the last one.
    fn window_bytes(&self) -> usize {
        let blocks = match self.source.bytes {
            Bytes::Mapped(_) => 64.max(16 * rayon::current_num_threads()),
            Bytes::Packed(_) => 4 * rayon::current_num_threads(),
        };
        self.block_bytes().saturating_mul(blocks)
    }

    fn report(&self, done_bytes: u64) -> Result<(), Halt> {
        let total_bytes = self.source.total_bytes;
        match self.progress.update(done_bytes.min(total_bytes), Some(total_bytes)) {
            std::ops::ControlFlow::Continue(()) => Ok(()),
            std::ops::ControlFlow::Break(()) => {
                Err(LoadError::Cancelled { path: self.source.path().to_owned() }.into())
            }
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

    /// Puts the blocks together, once all columns are of one type throughout.
    fn finish(self) -> Result<ParsedEdges, Halt> {
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
        if !widen.is_empty() {
            return Err(Halt::Widen(widen));
        }
        let names = || self.plan.properties.iter().map(|property| property.name.clone());
        let batch = |block: Block| {
            let columns = block.columns.into_iter().zip(&kinds).map(|(column, kind)| column.finish(*kind));
            EdgeBatch { src: block.src, dst: block.dst, columns: names().zip(columns).collect() }
        };
        Ok(ParsedEdges {
            parts: self.blocks.into_par_iter().map(batch).collect(),
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
