//! Whoever is asked whether long work goes on may do anything with the store before it answers: it reads and commits beside the
//! work, and what has to wait for the work waits for its end. Nothing waits for ever.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::ThreadId;
use std::time::Duration;

use crate::common::{directory, dump, number_batch, on, open, options};
use evergraph_disk::SimDisk;
use evergraph_store::{At, ChangeOptions, Closed, CommitError, Options, Store, check_on};
use evergraph_types::{EdgeBatch, Progress};

/// Longer than anything takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Acts when it is asked for the time after so many.
struct ActAt<'a> {
    asked: AtomicUsize,
    after: usize,
    act: &'a (dyn Fn() + Sync),
}

impl Progress for ActAt<'_> {
    fn update(&self, _done: u64, _total: Option<u64>) -> ControlFlow<()> {
        if self.asked.fetch_add(1, Ordering::Relaxed) == self.after {
            (self.act)();
        }
        ControlFlow::Continue(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Home {
    Memory,
    Disk,
    /// Where a load comes in pieces.
    SmallMemory,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Load,
    Checkpoint,
    Compact,
    Backup,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Look,
    Commit,
    AddFew,
    Load,
    BeginLoad,
    Archive,
    Backup,
    Follow,
}

const HOMES: [Home; 3] = [Home::Memory, Home::Disk, Home::SmallMemory];
const WORKS: [Work; 4] = [Work::Load, Work::Checkpoint, Work::Compact, Work::Backup];
const ACTS: [Act; 8] =
    [Act::Look, Act::Commit, Act::AddFew, Act::Load, Act::BeginLoad, Act::Archive, Act::Backup, Act::Follow];

impl Home {
    fn open(self, disk: &SimDisk) -> Store {
        let options = Options { bulk_edges: 1_000, ..options() };
        match self {
            Home::Memory => Store::in_memory(options),
            Home::Disk => open(disk, options),
            Home::SmallMemory => open(disk, Options { memory_limit_bytes: Some(100_000), ..options }),
        }
    }
}

/// Many edges, no two the same, nor of another seed.
fn edges(seed: i64) -> Vec<EdgeBatch> {
    vec![number_batch((0..6_000i64).map(|row| (seed * 100_000 + row % 700, row)))]
}

impl Work {
    fn run(self, store: &Store, target: &std::path::Path, progress: &dyn Progress) {
        let watched = store.watched(progress);
        match self {
            Work::Load => drop(watched.add_edges("knows", edges(2)).expect("it fits")),
            Work::Checkpoint => watched.checkpoint().expect("a good disk"),
            Work::Compact => watched.compact().expect("a good disk"),
            Work::Backup => drop(watched.backup(target.join("outer")).expect("a good disk")),
        }
    }
}

impl Act {
    fn run(self, store: &Store, target: &std::path::Path) {
        match self {
            Act::Look => {
                assert!(store.stats().num_edges >= 6_000);
                assert!(store.read().expect("open").num_vertices() > 0);
                assert!(store.retained().last >= 1);
                store.archived_version().expect("it is kept");
                let newest = store.version().expect("open").sequence();
                store.version_at(At::Commit(newest)).expect("the newest");
            }
            Act::Commit => {
                store.put_edge(-1, -2, "knows", &[]).expect("it fits");
                assert!(store.delete_edge(-1, -2, "knows").expect("it fits"));
                store.put_edge(-3, -4, "other", &[]).expect("it fits");
            }
            // Of more rows than one thread takes.
            Act::AddFew => {
                let few = number_batch((0..900).map(|row| (500_000 + row, row)));
                assert_eq!(store.add_edges("other", vec![few]).expect("it fits").edges, 900);
            }
            Act::Load => assert_eq!(store.add_edges("knows", edges(3)).expect("it fits").edges, 6_000),
            Act::BeginLoad => {
                let mut load = store.bulk_load("knows", None);
                load.add(edges(3)).expect("it fits");
            }
            Act::Archive => {
                store.checkpoint().expect("a good disk");
                store.compact().expect("a good disk");
            }
            Act::Backup => drop(store.backup(target.join("inner")).expect("a good disk")),
            Act::Follow => drop(store.changes(ChangeOptions::default()).expect("open")),
        }
    }
}

/// Runs the work, acting at one of the times when it asks.
fn run(home: Home, work: Work, act: Act, after: usize) {
    let disk = SimDisk::new(0);
    let store = home.open(&disk);
    store.add_edges("knows", edges(1)).expect("it fits");
    for number in 0..300 {
        store.put_edge(number, number + 1, "other", &[]).expect("it fits");
    }
    let own = tempfile::tempdir().expect("a directory");
    // A store on a disk is saved to that disk.
    let target = if matches!(home, Home::Memory) {
        own.path().to_owned()
    } else {
        directory().with_file_name("copies")
    };
    let progress = ActAt { asked: AtomicUsize::new(0), after, act: &|| act.run(&store, &target) };
    work.run(&store, &target, &progress);
    store.put_edge(-5, -6, "other", &[]).expect("the store goes on");
    let loaded = usize::from(matches!(work, Work::Load));
    let has_acted = progress.asked.load(Ordering::Relaxed) > after;
    let added = usize::from(has_acted && matches!(act, Act::Load));
    assert_eq!(store.version().expect("open").num_edges(0), 6_000 * (1 + loaded + added) as u64);
    let before = dump(&store.version().expect("open"));
    store.close().expect("a good disk");
    if !matches!(home, Home::Memory) {
        assert!(check_on(on(&disk), directory()).is_ok_and(|report| report.is_healthy()));
        assert!(dump(&home.open(&disk).version().expect("open")) == before);
    }
}

/// Fails if it takes too long; what takes part in it is left behind then.
fn in_time(what: String, run: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel();
    let thread = std::thread::spawn(move || {
        run();
        done.send(()).ok();
    });
    // A run that panics lets go of the channel.
    if is_done.recv_timeout(TIMEOUT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        panic!("{what}: it waits for ever");
    }
    thread.join().unwrap_or_else(|_| panic!("{what}"));
}

fn use_the_store(work: Work) {
    for home in HOMES {
        for act in ACTS {
            let times: &[usize] = if matches!(home, Home::Disk) { &[1, 4] } else { &[2] };
            for &after in times {
                let what = format!("{act:?} when {work:?} asks after {after}, {home:?}");
                in_time(what, move || run(home, work, act, after));
            }
        }
    }
}

#[test]
fn whoever_is_asked_by_a_load_may_use_the_store() {
    use_the_store(WORKS[0]);
}

#[test]
fn whoever_is_asked_by_a_checkpoint_may_use_the_store() {
    use_the_store(WORKS[1]);
}

#[test]
fn whoever_is_asked_by_a_compaction_may_use_the_store() {
    use_the_store(WORKS[2]);
}

#[test]
fn whoever_is_asked_by_a_backup_may_use_the_store() {
    use_the_store(WORKS[3]);
}

#[test]
fn whoever_is_asked_may_close_the_store() {
    for (home, work) in HOMES.into_iter().flat_map(|home| WORKS.map(|work| (home, work))) {
        in_time(format!("{work:?}, {home:?}"), move || {
            let disk = SimDisk::new(0);
            let store = home.open(&disk);
            store.add_edges("knows", edges(1)).expect("it fits");
            store.put_edge(1, 2, "other", &[]).expect("it fits");
            let own = tempfile::tempdir().expect("a directory");
            let target =
                if matches!(home, Home::Memory) { own.path() } else { std::path::Path::new("/copies") };
            let close = || store.close().expect("a good disk");
            let progress = ActAt { asked: AtomicUsize::new(0), after: 1, act: &close };
            let watched = store.watched(&progress);
            let outcome = match work {
                Work::Load => watched.add_edges("knows", edges(2)).map(drop),
                Work::Checkpoint => watched.checkpoint(),
                Work::Compact => watched.compact(),
                Work::Backup => {
                    watched.backup(target.join("copy")).expect("it reads what does not go with the store");
                    Err(Closed::Ended.into())
                }
            };
            let is_closed = matches!(outcome, Err(CommitError::Closed(_)));
            assert!(is_closed || progress.asked.load(Ordering::Relaxed) < 2, "{outcome:?}");
            store.close().expect("a good disk");
            if !matches!(home, Home::Memory) {
                assert_eq!(home.open(&disk).version().expect("open").num_edges(0), 6_000);
            }
        });
    }
}

/// Which threads ask.
struct AskedOn(parking_lot::Mutex<Vec<ThreadId>>);

impl Progress for AskedOn {
    fn update(&self, _done: u64, _total: Option<u64>) -> ControlFlow<()> {
        self.0.lock().push(std::thread::current().id());
        ControlFlow::Continue(())
    }
}

#[test]
fn whoever_has_work_done_is_asked_on_its_own_thread() {
    for home in HOMES {
        let store = home.open(&SimDisk::new(0));
        let asked = AskedOn(Default::default());
        store.watched(&asked).add_edges("knows", edges(1)).expect("it fits");
        let watched = store.watched(&asked);
        watched.checkpoint().and_then(|()| watched.compact()).expect("a good disk");
        let threads = asked.0.into_inner();
        assert!(threads.len() > 5 && threads.iter().all(|id| *id == std::thread::current().id()), "{home:?}");
    }
}

/// Panics when it is asked for the time after so many.
#[test]
fn a_panic_of_whoever_is_asked_stops_the_work() {
    for (home, after) in HOMES.into_iter().flat_map(|home| [0, 3].map(|after| (home, after))) {
        in_time(format!("{home:?}, {after}"), move || {
            let store = home.open(&SimDisk::new(0));
            let act = || panic!("as whoever is asked may");
            let progress = ActAt { asked: AtomicUsize::new(0), after, act: &act };
            let load = || store.watched(&progress).add_edges("knows", edges(1)).map(drop);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(load)).expect_err("it goes on");
            assert_eq!(store.stats().num_edges, 0);
            store.add_edges("knows", edges(1)).expect("the store goes on");
        });
    }
}
