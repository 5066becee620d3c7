//! The command: which stores take which turns, and what is asked of them.
//!
//! Invariant: stores are compared on the same requests, and only after they have answered alike.

use std::io::Write;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use evergraph::KeyKind;
use evergraph_rivals::{LinkStore, rivals};

use super::drive::{Score, Turn, drive, fingerprint};
use super::lines::{Bar, Bars, Line, judge, layout};
use super::ours::Ours;
use super::workload::{DEFAULT, Graph, LISTS, Mix, ONE_HOP, TAO, TWO_HOPS, WRITES, Workload};
use crate::console::Console;
use crate::error::CommandError;
use crate::progress::Activity;
use crate::units;

/// Requests that all stores must answer alike before any is measured.
const COMPARED_REQUESTS: usize = 20_000;
/// Clients that share one sync.
const MANY_CLIENTS: usize = 64;
/// Syncs of a file that nobody else writes to, each turn.
const SYNCS_ALONE: usize = 50;
/// Times that a line of memory goes from one core to another and back, each turn, and how many of them are timed at once.
const HANDED_OVER: u32 = 20_000;
const TIMED_AT_ONCE: u32 = 100;
/// The graph behind synced commits is this much smaller: the disk decides.
const SYNCED_SHARE: u64 = 10;
/// The names of measurements that are no mix alone. A reader that shares its core with others loses time to them: that
/// shows in its rate, and not in the time half of its reads take.
const READER: &str = "lists, one reader";
const SYNCED: &str = ", synced";

/// The size of the graph, and how long to measure.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LinkbenchArgs {
    /// The graph has so many nodes
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(100..))]
    nodes: u64,
    /// The graph has about so many links, of two kinds together
    #[arg(long, value_name = "N", default_value_t = 5_000_000, value_parser = clap::value_parser!(u64).range(100..))]
    links: u64,
    /// So many clients at once
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1024))]
    clients: u16,
    /// A turn of a store takes so long
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    /// Each store has so many turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,
    /// What Evergraph makes of the ids of nodes: vertex ids as they are, or keys like any numbers
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Keys::Dense)]
    keys: Keys,
    /// Only the measurements whose names contain this
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// Where stores are made [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// [`KeyKind`], as an argument.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Keys {
    /// As they are
    Dense,
    /// Through a dictionary
    Int64,
}

impl Keys {
    fn kind(self) -> KeyKind {
        match self {
            Keys::Dense => KeyKind::Dense,
            Keys::Int64 => KeyKind::Int64,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  evergraph bench linkbench                       Evergraph alone
  evergraph bench linkbench --nodes 100000 --links 500000 --seconds 1
  cargo run --release -p evergraph-cli --features rivals -- bench linkbench
                                                  beside LMDB, RocksDB and SQLite; compiling RocksDB needs a C++
                                                  compiler and libclang, and takes minutes

The stores take turns on the same requests. The bars compare with the best rival.";

/// Runs the benchmark.
pub(crate) fn run(args: &LinkbenchArgs, console: &mut Console) -> Result<(), CommandError> {
    let directory = tempfile::tempdir_in(args.dir.clone().unwrap_or_else(std::env::temp_dir))
        .map_err(|error| CommandError::Usage(format!("no directory for the stores: {error}")))?;
    let mut bench = Bench { args, console, activity: Activity::new("loading"), lines: Vec::new() };
    bench.head()?;
    bench.in_memory(&directory.path().join("unsynced"))?;
    bench.synced(&directory.path().join("synced"))?;
    bench.foot()
}

struct Bench<'a> {
    args: &'a LinkbenchArgs,
    console: &'a mut Console,
    activity: Activity<'a>,
    lines: Vec<Line>,
}

fn fault(error: evergraph_rivals::Fault) -> CommandError {
    CommandError::Rival(error.to_string())
}

impl Bench<'_> {
    /// Whether the measurement of this name is asked for.
    fn wants(&self, name: &str) -> bool {
        self.args.only.as_ref().is_none_or(|part| name.contains(part))
    }

    fn head(&mut self) -> Result<(), CommandError> {
        if self.console.is_json() {
            return Ok(());
        }
        self.console.line_now(format_args!(
            "LinkBench: {} nodes, about {} links; {}; {}, {} of {}\n\n{}",
            units::count(self.args.nodes),
            units::count(self.args.links),
            crate::bench::processor(),
            units::counted(self.args.clients.into(), "client", "clients"),
            units::counted(self.args.repeats.into(), "turn", "turns"),
            units::seconds(self.args.seconds),
            layout().head(),
        ))
    }

    fn foot(self) -> Result<(), CommandError> {
        if self.console.is_json() {
            return self.console.json(&self.lines);
        }
        let bars: Vec<&Bar> = self.lines.iter().flat_map(|line| &line.bars).collect();
        let held = bars.iter().filter(|bar| bar.holds).count();
        self.console.line(format_args!("\n{}.", units::bars(held as u64, bars.len() as u64)))?;
        if self.lines.iter().all(|line| line.ratio.is_none()) {
            self.console.line("No rival is built in: see --help.")?;
        }
        Ok(())
    }

    fn ours(&self, directory: &Path, sync: bool) -> Result<Ours, CommandError> {
        Ours::open(directory, sync, self.args.keys.kind()).map_err(fault)
    }

    /// Opens and loads all stores, Evergraph first, and has them answer the same.
    fn stores(
        &self,
        directory: &Path,
        sync: bool,
        graph: Graph,
    ) -> Result<Vec<Box<dyn LinkStore>>, CommandError> {
        let mut stores: Vec<Box<dyn LinkStore>> =
            vec![Box::new(self.ours(&directory.join("evergraph"), sync)?)];
        std::fs::create_dir_all(directory).map_err(CommandError::file(directory))?;
        stores.extend(rivals(directory, sync).map_err(fault)?);
        let mut found = None;
        let compared = if sync { COMPARED_REQUESTS / 20 } else { COMPARED_REQUESTS };
        for store in &stores {
            self.activity.say(format!("loading {}", store.name()));
            store.load(&mut graph.all_nodes(), &mut graph.all_links()).map_err(fault)?;
            let mut sums = [0; 2];
            for (sum, mix) in sums.iter_mut().zip([DEFAULT, TWO_HOPS]) {
                let mut client = Workload::new(graph).client(mix, 1, graph.nodes..graph.nodes + 10_000);
                *sum = fingerprint(&**store, &mut client, compared).map_err(fault)?;
            }
            if *found.get_or_insert(sums) != sums {
                let what = format!("{} answers otherwise than Evergraph", store.name());
                return Err(CommandError::Rival(what));
            }
        }
        Ok(stores)
    }

    /// Everything fits into memory and nothing is synced.
    fn in_memory(&mut self, directory: &Path) -> Result<(), CommandError> {
        let only = [LISTS, TAO, DEFAULT, ONE_HOP, TWO_HOPS].map(|mix| mix.name);
        if !only.into_iter().chain([READER]).any(|name| self.wants(name)) {
            return Ok(());
        }
        let graph = Graph::new(self.args.nodes, self.args.links);
        let stores = self.stores(directory, false, graph)?;
        let clients = usize::from(self.args.clients);
        let lists = Bars { each: &[("LMDB", 2.0), ("RocksDB", 5.0)], ..Bars::default() };
        self.compare(&stores, graph, LISTS, "", clients, lists)?;
        self.compare(&stores, graph, TAO, "", clients, Bars { rate: Some(3.0), ..Bars::default() })?;
        self.compare(&stores, graph, DEFAULT, "", clients, Bars { rate: Some(2.0), ..Bars::default() })?;
        let one_hop = Bars { median_seconds: Some(20e-6), ..Bars::default() };
        self.compare(&stores, graph, ONE_HOP, "", clients, one_hop)?;
        let two_hops = Bars { each: &[("RocksDB", 10.0)], ..Bars::default() };
        self.compare(&stores, graph, TWO_HOPS, "", clients, two_hops)?;
        self.readers_beside_a_writer(&*stores[0], directory, graph)
    }

    /// Every write is on disk when it is answered.
    fn synced(&mut self, directory: &Path) -> Result<(), CommandError> {
        if !self.wants(SYNCED) {
            return Ok(());
        }
        let graph = Graph::new(self.args.nodes / SYNCED_SHARE, self.args.links / SYNCED_SHARE);
        let stores = self.stores(directory, true, graph)?;
        let bars = Bars { rate: Some(1.0), ..Bars::default() };
        self.compare(&stores, graph, DEFAULT, SYNCED, usize::from(self.args.clients), bars)?;
        let (mut alone, mut together, mut shared) = (Score::default(), Score::default(), Score::default());
        let mut disk = Score::default();
        let per_thread = MANY_CLIENTS / usize::from(self.args.clients).clamp(1, MANY_CLIENTS);
        for round in 0..u64::from(self.args.repeats) {
            sync_alone(&directory.join("alone"), &mut disk).map_err(CommandError::file(directory))?;
            for (clients, per_thread, score) in [
                (1, 1, &mut alone),
                (MANY_CLIENTS, 1, &mut together),
                (MANY_CLIENTS, per_thread, &mut shared),
            ] {
                self.turn_of(&*stores[0], graph, WRITES, (clients, per_thread), round, score)?;
            }
        }
        self.add("64 bytes appended and synced", "the disk", None, &mut disk, Vec::new())?;
        let bar = |score: &Score| {
            let ratio = score.rate() / alone.rate();
            vec![Bar { what: format!("{ratio:.0}x of one client's >= 20x"), holds: ratio >= 20.0 }]
        };
        let (threads, few_threads) = (bar(&together), bar(&shared));
        self.add("links put, synced, 1 client", "Evergraph", None, &mut alone, Vec::new())?;
        self.add("links put, synced, 64 clients", "Evergraph", None, &mut together, threads)?;
        let name = format!("links put, synced, 64 clients, {} threads", self.args.clients);
        self.add(&name, "Evergraph", None, &mut shared, few_threads)
    }

    fn turn(
        &self,
        store: &dyn LinkStore,
        graph: Graph,
        mix: Mix,
        clients: usize,
        round: u64,
        score: &mut Score,
    ) -> Result<(), CommandError> {
        self.turn_of(store, graph, mix, (clients, 1), round, score)
    }

    /// A turn in which each thread serves some of the clients.
    fn turn_of(
        &self,
        store: &dyn LinkStore,
        graph: Graph,
        mix: Mix,
        (clients, clients_per_thread): (usize, usize),
        round: u64,
        score: &mut Score,
    ) -> Result<(), CommandError> {
        self.activity.say(format!("{}: {}", store.name(), mix.name));
        let first = graph.nodes * (round + 2);
        let turn = Turn {
            mix,
            clients,
            clients_per_thread,
            duration: Duration::from_secs_f64(self.args.seconds),
            seed: 1 << 20 | round << 10,
            new_ids: first..first + graph.nodes,
        };
        drive(store, &Workload::new(graph), &turn, score).map_err(fault)
    }

    /// All stores in turns on one mix.
    fn compare(
        &mut self,
        stores: &[Box<dyn LinkStore>],
        graph: Graph,
        mix: Mix,
        suffix: &str,
        clients: usize,
        bars: Bars,
    ) -> Result<(), CommandError> {
        let name = format!("{}{suffix}", mix.name);
        if !self.wants(&name) {
            return Ok(());
        }
        let mut scores = vec![Score::default(); stores.len()];
        for round in 0..u64::from(self.args.repeats) {
            for (store, score) in stores.iter().zip(&mut scores) {
                self.turn(&**store, graph, mix, clients, round, score)?;
            }
        }
        let ours = scores[0].rate();
        let rates: Vec<(&str, f64)> = stores
            .iter()
            .zip(&scores)
            .skip(1)
            .map(|(store, score)| (store.name(), ours / score.rate()))
            .collect();
        let mut judged = judge(bars, &rates, &mut scores);
        for (number, (store, mut score)) in stores.iter().zip(scores).enumerate() {
            let ratio = (number > 0).then(|| ours / score.rate());
            self.add(&name, store.name(), ratio, &mut score, std::mem::take(&mut judged))?;
        }
        Ok(())
    }

    /// What one reader loses while one writer works as fast as it can, beyond what it loses to a writer that has nothing
    /// in common with it but the processor: that one puts the same links into another store.
    fn readers_beside_a_writer(
        &mut self,
        store: &dyn LinkStore,
        directory: &Path,
        graph: Graph,
    ) -> Result<(), CommandError> {
        if !self.wants(READER) {
            return Ok(());
        }
        let elsewhere = self.ours(&directory.join("elsewhere"), false)?;
        elsewhere.load(&mut graph.all_nodes(), &mut graph.all_links()).map_err(fault)?;
        let writers = [None, Some(&elsewhere as &dyn LinkStore), Some(store)];
        let mut scores = [(); 3].map(|()| Score::default());
        let mut lines = Score::default();
        for round in 0..u64::from(self.args.repeats) {
            hand_over(&mut lines);
            for (writer, score) in writers.into_iter().zip(&mut scores) {
                std::thread::scope(|scope| {
                    let this = &*self;
                    let writing = writer.map(|store| {
                        let mut busy = Score::default();
                        scope.spawn(move || this.turn(store, graph, WRITES, 1, round + 100, &mut busy))
                    });
                    this.turn(store, graph, LISTS, 1, round, score)?;
                    let written =
                        writing.map(|writing| writing.join().unwrap_or_else(|panic| resume_unwind(panic)));
                    written.unwrap_or(Ok(()))
                })?;
            }
        }
        let [mut alone, mut elsewhere, mut beside] = scores;
        let rates = beside.rate() / elsewhere.rate();
        let medians = elsewhere.reads_below(50).zip(beside.reads_below(50));
        let kept = medians.map_or(rates, |(elsewhere, beside)| elsewhere / beside);
        let what = format!("{kept:.2} of that by medians, {rates:.2} by rates >= 0.90");
        let bars = vec![Bar { what, holds: kept >= 0.9 }];
        self.add("a line of memory, to another core and back", "the cores", None, &mut lines, Vec::new())?;
        self.add(READER, "Evergraph", None, &mut alone, Vec::new())?;
        self.add(
            &format!("{READER} beside another store's writer"),
            "Evergraph",
            None,
            &mut elsewhere,
            Vec::new(),
        )?;
        self.add(&format!("{READER} beside its writer"), "Evergraph", None, &mut beside, bars)
    }

    fn add(
        &mut self,
        measurement: &str,
        store: &'static str,
        ratio: Option<f64>,
        score: &mut Score,
        bars: Vec<Bar>,
    ) -> Result<(), CommandError> {
        let line = Line::new(measurement, store, ratio, score, bars);
        if !self.console.is_json() {
            self.console.line_now(layout().row(&line.cells()))?;
        }
        self.lines.push(line);
        Ok(())
    }
}

/// Appends to a file of its own and syncs it, again and again: what the disk allows, measured beside durable commits.
fn sync_alone(path: &Path, score: &mut Score) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    for _ in 0..SYNCS_ALONE {
        let begin = Instant::now();
        file.write_all(&[0; 64])?;
        file.sync_data()?;
        score.note(begin.elapsed(), true);
    }
    Ok(())
}

/// Hands a line of memory to another thread, which hands it back, again and again: what the processors allow, measured beside a reader
/// of what another thread has just written.
fn hand_over(score: &mut Score) {
    let handed_over = AtomicU32::new(0);
    let give = |number| handed_over.store(number, Ordering::Release);
    let await_one = |number| {
        let mut looks = 0_u32;
        while handed_over.load(Ordering::Acquire) != number {
            looks += 1;
            // The other thread may wait for this one's processor.
            if looks.is_multiple_of(1 << 10) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..HANDED_OVER {
                await_one(2 * number + 1);
                give(2 * number + 2);
            }
        });
        for first in (0..HANDED_OVER).step_by(TIMED_AT_ONCE as usize) {
            let begin = Instant::now();
            for number in first..first + TIMED_AT_ONCE {
                give(2 * number + 1);
                await_one(2 * number + 2);
            }
            score.note(begin.elapsed() / TIMED_AT_ONCE, false);
        }
    });
}
