//! What does not wait for a large load: whoever asks for versions of the past, and whoever closes the store or is told to stop.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::common::{HookedDisk, Pause, directory, number_batch, on, options};
use evergraph_disk::{Disk, SimDisk};
use evergraph_store::{
    At, BatchSummary, ChangeOptions, CommitError, HistoryError, Options, Retain, Store, check_on,
};
use evergraph_types::{EdgeBatch, Progress};

/// Longer than anything takes that does not wait.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How a load goes: beside commits; piece by piece, too; and in the log in parts, since history is kept.
fn kinds() -> [Options; 3] {
    let beside = || Options { bulk_edges: 1_000, ..options() };
    let pieces = || Options { memory_limit_bytes: Some(100_000), ..beside() };
    [beside(), pieces(), Options { retain: Some(Retain::Everything), ..pieces() }]
}

fn edges() -> Vec<EdgeBatch> {
    vec![number_batch((0..6_000i64).map(|row| (row % 700, row)))]
}

/// A store whose commits 1 to 5 are an edge each, with an archive after commit 2, on a disk that may be made to wait.
fn opened(options: &Options) -> (SimDisk, Arc<HookedDisk>, Store) {
    let sim = SimDisk::new(0);
    let disk = HookedDisk::over(on(&sim));
    let store = Store::open_on(disk.clone(), directory(), options.clone()).expect("a new store");
    for number in 1..=5 {
        store.put_edge(-number, -number - 1, "plain", &[]).expect("it fits");
        if number == 2 {
            store.checkpoint().expect("a good disk");
        }
    }
    (sim, disk, store)
}

/// Begins a load, and runs `meanwhile` while it writes its segment; gives what comes of it.
fn beside_load<T>(
    (disk, store): (&HookedDisk, &Store),
    meanwhile: impl FnOnce(&Pause) -> T,
) -> (Result<BatchSummary, CommitError>, T) {
    let (pause, hook) = Pause::new();
    disk.when_creating("segment", hook);
    let loading = {
        let store = store.clone();
        std::thread::spawn(move || store.add_edges("plain", edges()))
    };
    pause.begun("a load writes a segment");
    let came_of_it = meanwhile(&pause);
    (loading.join().expect("no panic"), came_of_it)
}

/// What `run` gives, unless it takes too long.
fn in_time<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, is_done) = channel();
    std::thread::spawn(move || done.send(run()));
    match is_done.recv_timeout(TIMEOUT) {
        Ok(value) => Some(value),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => panic!("it has panicked"),
    }
}

#[test]
fn versions_of_the_past_can_be_had_during_a_load() {
    for options in kinds() {
        let (_, disk, store) = opened(&options);
        let (outcome, asked) = beside_load((&disk, &store), |pause| {
            let store = store.clone();
            let asked = in_time(move || {
                let edges = |at| store.version_at(At::Commit(at)).map(|version| version.num_edges(0));
                let versions = [edges(1), edges(2), edges(3), edges(4)].map(Result::ok);
                let time = store.version_at(At::Commit(4)).expect("it is kept").time_micros();
                assert!(store.version_at(At::Time(time)).expect("it is kept").sequence() >= 4);
                let archived = store.archived_version().expect("it is kept").sequence();
                (store.retained(), versions, archived)
            });
            pause.end();
            asked
        });
        let summary = outcome.expect("it fits");
        let (retained, versions, archived) = asked.expect("it waits for the load");
        let first = if options.retain.is_none() { 2 } else { 0 };
        assert_eq!((retained.first, retained.last, archived), (first, 5, 2));
        assert_eq!(versions, [1, 2, 3, 4].map(|at| Some(at).filter(|at| *at >= first)));
        let retained = store.retained();
        let first = if options.retain.is_none() { summary.sequence } else { 0 };
        assert_eq!((retained.first, retained.last), (first, summary.sequence));
        let archived = store.archived_version().expect("it is kept");
        assert_eq!((archived.sequence(), archived.num_edges(0)), (summary.sequence, 5 + summary.edges));
    }
}

/// A load that is not in the log lets go of it, and of the version before: also while that is being read.
#[test]
fn a_version_that_is_let_go_of_while_it_is_made_is_not_retained() {
    let [options, ..] = kinds();
    let (_, disk, store) = opened(&options);
    let (pause, hook) = Pause::new();
    disk.when_reading("log", hook);
    let asking = {
        let store = store.clone();
        std::thread::spawn(move || store.version_at(At::Commit(4)))
    };
    pause.begun("a version is made from the log");
    let summary = store.add_edges("plain", edges()).expect("it fits");
    pause.end();
    match asking.join().expect("no panic") {
        Ok(version) => assert_eq!((version.sequence(), version.num_edges(0)), (4, 4)),
        Err(HistoryError::NotRetained { first, .. }) => assert_eq!(first, summary.sequence),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_store_that_is_closed_stops_a_load_unless_it_is_in_the_log() {
    for options in kinds() {
        let (sim, disk, store) = opened(&options);
        let (outcome, closing) = beside_load((&disk, &store), |pause| {
            let closing = {
                let store = store.clone();
                std::thread::spawn(move || store.close())
            };
            while store.usable().is_ok() {
                std::thread::yield_now();
            }
            pause.end();
            closing
        });
        closing.join().expect("no panic").expect("a good disk");
        match (&options.retain, &outcome) {
            (None, Err(CommitError::Closed(_))) | (Some(_), Ok(_)) => {}
            _ => panic!("{outcome:?}"),
        }
        let report = check_on(on(&sim), directory()).expect("a store");
        assert!(report.is_healthy(), "{report:?}");
        let opened = Store::open_on(on(&sim), directory(), options).expect("it was closed");
        assert_eq!(opened.version().expect("open").num_edges(0), 5 + outcome.map_or(0, |load| load.edges));
        assert!(sim.list(&directory().join("segments")).expect("a directory").len() <= 2);
    }
}

/// Says stop after some times.
struct StopAfter(AtomicUsize);

impl Progress for StopAfter {
    fn update(&self, _done: u64, _total: Option<u64>) -> ControlFlow<()> {
        let is_over = self.0.fetch_add(1, Ordering::Relaxed) >= 2;
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Work that waits for its turn.
#[test]
fn what_waits_for_a_load_is_stopped_where_it_waits() {
    for (options, is_load) in
        kinds().into_iter().flat_map(|options| [(options.clone(), true), (options, false)])
    {
        let (_, disk, store) = opened(&options);
        let (outcome, stopped) = beside_load((&disk, &store), |pause| {
            let store = store.clone();
            let stopped = in_time(move || {
                let progress = StopAfter(AtomicUsize::new(0));
                let watched = store.watched(&progress);
                if is_load { watched.add_edges("plain", edges()).map(drop) } else { watched.compact() }
            });
            pause.end();
            stopped
        });
        outcome.expect("it fits");
        assert!(matches!(stopped, Some(Err(CommitError::Cancelled))), "{stopped:?}");
    }
}

#[test]
fn whoever_waits_for_a_load_to_follow_what_comes_after_it_is_told_of_a_close() {
    let [options, ..] = kinds();
    let (_, disk, store) = opened(&options);
    let (outcome, following) = beside_load((&disk, &store), |pause| {
        let other = store.clone();
        let following = std::thread::spawn(move || other.changes(ChangeOptions::default()).map(drop));
        let other = store.clone();
        let closing = std::thread::spawn(move || other.close());
        while store.usable().is_ok() {
            std::thread::yield_now();
        }
        pause.end();
        closing.join().expect("no panic").expect("a good disk");
        following
    });
    assert!(matches!(outcome, Err(CommitError::Closed(_))), "{outcome:?}");
    following.join().expect("no panic").expect_err("it is closed");
}
