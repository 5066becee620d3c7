//! How fast files are parsed, as ratios to a bare parallel parser of integer pairs that works on bytes already in
//! memory and knows no errors, comments or types. Both run in turn in one process; the best of five rounds counts.
//!
//! `cargo run --release -p evergraph-load --example parse_speed [MILLIONS_OF_EDGES] [THREADS] [FILE]`
#![expect(clippy::print_stdout, reason = "a program for people to read")]

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use evergraph_load::{
    ColumnRef, LoadOptions, NoProgress, PropertySpec, WriteOptions, read_edges, write_edges,
};
use rayon::prelude::*;

const BLOCK_BYTES: usize = 1 << 20;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let argument = |position| std::env::args().nth(position).map(|text| text.parse::<usize>());
    let edges = argument(1).transpose()?.unwrap_or(16_777_216 / 1_000_000) * 1_000_000;
    if let Some(threads) = argument(2).transpose()? {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    let directory = tempfile::tempdir()?;
    println!("{edges} edges, {} threads", rayon::current_num_threads());
    println!(
        "per byte: the ratio to the bare parser, by the clock and by the time of the cores; CSV out: MB/s written back"
    );
    println!(
        "{:16} {:>8} {:>9} {:>8} {:>10} {:>10} {:>10} {:>10}",
        "file", "MB", "seconds", "MB/s", "MB/s/core", "x (clock)", "x (cores)", "CSV out"
    );
    let only = std::env::args().nth(3);
    for (name, shape) in SHAPES.into_iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name))
    {
        let path = directory.path().join(name);
        write(&path, edges, shape)?;
        measure(name, &path, edges)?;
        fs::remove_file(&path)?;
    }
    Ok(())
}

/// Times one file against the bare parser on a plain file of as many edges.
fn measure(name: &str, path: &Path, edges: usize) -> Result<(), Box<dyn Error>> {
    let pairs = text(edges, SHAPES[0].1);
    let time_column = PropertySpec { column: ColumnRef::Index(2), name: "time".to_owned(), kind: None };
    let properties = (name == "temporal.txt").then(|| vec![time_column]);
    let options = LoadOptions { properties, ..LoadOptions::default() };
    let (mut bare_time, mut time, mut write_time) = (Time::zero(), Time::zero(), Time::zero());
    let mut written = Counter(0);
    for _ in 0..ROUNDS {
        let start = Time::now()?;
        let parts = bare(&pairs);
        bare_time.add(start)?;
        assert_eq!(parts.iter().map(|part| part.0.len()).sum::<usize>(), edges);
        drop(parts);
        let start = Time::now()?;
        let parsed = read_edges(path, &options, &NoProgress)?;
        time.add(start)?;
        assert_eq!(parsed.edges(), edges as u64);
        written = Counter(0);
        let start = Time::now()?;
        write_edges(&mut written, &parsed.parts, &WriteOptions::default())?;
        write_time.add(start)?;
    }
    let megabytes = fs::metadata(path)?.len() as f64 / 1e6;
    let per_byte = pairs.len() as f64 / 1e6 / megabytes;
    let core_rate = megabytes * ROUNDS as f64 / time.core_seconds;
    println!(
        "{name:16} {megabytes:8.1} {:9.3} {:8.0} {core_rate:10.0} {:10.2} {:10.2} {:10.0}",
        time.best_seconds,
        megabytes / time.best_seconds,
        time.best_seconds * per_byte / bare_time.best_seconds,
        time.core_seconds * per_byte / bare_time.core_seconds,
        written.0 as f64 / 1e6 / write_time.best_seconds,
    );
    Ok(())
}

/// Takes text and counts its bytes.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Times of all rounds: the best by the clock, and the sum over cores, which others on the machine disturb less.
struct Time {
    clock: Instant,
    best_seconds: f64,
    core_seconds: f64,
}

impl Time {
    fn zero() -> Self {
        Time { clock: Instant::now(), best_seconds: f64::INFINITY, core_seconds: 0.0 }
    }

    fn now() -> Result<Self, Box<dyn Error>> {
        Ok(Time { clock: Instant::now(), best_seconds: f64::INFINITY, core_seconds: core_seconds()? })
    }

    fn add(&mut self, start: Time) -> Result<(), Box<dyn Error>> {
        self.best_seconds = self.best_seconds.min(start.clock.elapsed().as_secs_f64());
        self.core_seconds += core_seconds()? - start.core_seconds;
        Ok(())
    }
}

/// The time all threads of this process have run, in and for it (Linux; 0 elsewhere).
fn core_seconds() -> Result<f64, Box<dyn Error>> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let Ok(stat) = fs::read_to_string("/proc/self/stat") else { return Ok(0.0) };
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name.split(' ').skip(12).take(2).map(|ticks| ticks.parse().unwrap_or(0u64)).sum();
    Ok(ticks as f64 / TICKS_PER_SECOND)
}

/// The parser to compare with: digits, one byte, digits, one byte.
fn bare(data: &[u8]) -> Vec<(Vec<i64>, Vec<i64>)> {
    let mut cuts = vec![0];
    while let Some(start) = cuts.last().filter(|start| **start < data.len()) {
        let rest = data.get(start + BLOCK_BYTES..).unwrap_or_default();
        let end = memchr::memchr(b'\n', rest).map_or(data.len(), |newline| start + BLOCK_BYTES + newline + 1);
        cuts.push(end);
    }
    cuts.par_windows(2).with_max_len(1).map(|cut| bare_block(&data[cut[0]..cut[1]])).collect()
}

fn bare_block(block: &[u8]) -> (Vec<i64>, Vec<i64>) {
    let rows = block.len() / 12;
    let (mut src, mut dst) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut at = 0;
    let mut number = || {
        let mut number = 0;
        while at < block.len() && block[at].is_ascii_digit() {
            number = number * 10 + i64::from(block[at] - b'0');
            at += 1;
        }
        at += 1;
        (number, at < block.len())
    };
    loop {
        src.push(number().0);
        let (last, more) = number();
        dst.push(last);
        if !more {
            return (src, dst);
        }
    }
}

type Shape = fn(&mut Vec<u8>, &mut dyn FnMut(u64) -> u64, u64);

/// One line of each kind of file.
const SHAPES: [(&str, Shape); 6] = [
    ("plain.txt", |out, random, _| line(out, format_args!("{}\t{}\n", random(1 << 20), random(1 << 20)))),
    ("temporal.txt", |out, random, row| {
        line(out, format_args!("{} {} {}\n", random(1 << 20), random(1 << 20), 1_082_040_961 + row))
    }),
    ("weighted.csv", |out, random, _| {
        let weight = random(1 << 20) as f64 / 1024.0;
        line(out, format_args!("{},{},{weight}\n", random(1 << 20), random(1 << 20)));
    }),
    ("properties.csv", |out, random, row| {
        let (amount, flag, note) = (random(1_000_000) as f64 / 100.0, random(2) == 0, random(1000));
        let (src, dst, second) = (random(1 << 20), random(1 << 20), row % 60);
        line(
            out,
            format_args!("{src},{dst},{amount},{flag},2024-01-02T03:04:{second:02}Z,\"note, {note}\"\n"),
        );
    }),
    ("names.csv", |out, random, _| {
        line(out, format_args!("user-{},user-{}\n", random(1 << 20), random(1 << 20)));
    }),
    ("plain.txt.gz", |out, random, _| {
        line(out, format_args!("{}\t{}\n", random(1 << 20), random(1 << 20)));
    }),
];

fn line(out: &mut Vec<u8>, arguments: std::fmt::Arguments) {
    out.extend_from_slice(arguments.to_string().as_bytes());
}

fn text(edges: usize, shape: Shape) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let mut out = Vec::new();
    for row in 0..edges as u64 {
        shape(&mut out, &mut random, row);
    }
    out
}

fn write(path: &Path, edges: usize, shape: Shape) -> Result<(), Box<dyn Error>> {
    let mut out = text(edges, shape);
    let header = match path.file_name().and_then(|name| name.to_str()) {
        Some("weighted.csv") => "src,dst,weight\n",
        Some("properties.csv") => "src,dst,amount,flag,time,note\n",
        Some("names.csv") => "src,dst\n",
        _ => "",
    };
    out.splice(0..0, header.bytes());
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut encoder = flate2::write::GzEncoder::new(fs::File::create(path)?, flate2::Compression::fast());
        encoder.write_all(&out)?;
        encoder.finish()?;
    } else {
        fs::write(path, out)?;
    }
    Ok(())
}
