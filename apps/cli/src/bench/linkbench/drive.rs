//! Clients at work: requests as fast as a store answers them, the time of each, and what was answered.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use evergraph_rivals::{Fault, LinkRef, LinkSession, LinkStore, Links, Node};

use super::workload::{Client, LIST_LIMIT, Mix, Request, Workload};

/// What one store did in all its turns.
#[derive(Clone, Debug, Default)]
pub(super) struct Score {
    requests: u64,
    /// How long a client was waiting for answers, on average.
    seconds: f64,
    /// Nanoseconds of each request.
    reads: Vec<u32>,
    writes: Vec<u32>,
}

impl Score {
    /// One that has room.
    fn with_room() -> Self {
        Score { reads: Vec::with_capacity(ROOM), writes: Vec::with_capacity(ROOM), ..Score::default() }
    }

    /// Requests a second of all clients together, the time left out that making them up takes.
    pub(super) fn rate(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    /// The time so many percent of the reads stay below, in seconds.
    pub(super) fn reads_below(&mut self, percent: usize) -> Option<f64> {
        percentile(&mut self.reads, percent)
    }

    /// The time so many percent of the writes stay below, in seconds.
    pub(super) fn writes_below(&mut self, percent: usize) -> Option<f64> {
        percentile(&mut self.writes, percent)
    }

    /// The time of the longest write, in seconds: whether a client is ever held up by what the store does beside its work.
    pub(super) fn longest_write(&self) -> Option<f64> {
        self.writes.iter().max().map(|nanoseconds| f64::from(*nanoseconds) / 1e9)
    }

    /// Takes in a request of this thread.
    pub(super) fn note(&mut self, elapsed: Duration, is_write: bool) {
        let nanoseconds = elapsed.as_nanos().min(u32::MAX.into()) as u32;
        self.requests += 1;
        self.seconds += elapsed.as_secs_f64();
        if is_write { &mut self.writes } else { &mut self.reads }.push(nanoseconds);
    }

    /// Takes in the requests of another.
    pub(super) fn add(&mut self, other: Score) {
        self.requests += other.requests;
        self.seconds += other.seconds;
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
    }
}

fn percentile(nanoseconds: &mut [u32], percent: usize) -> Option<f64> {
    let at = nanoseconds.len() * percent / 100;
    let (_, found, _) = (at < nanoseconds.len()).then(|| nanoseconds.select_nth_unstable(at))?;
    Some(f64::from(*found) / 1e9)
}

/// Who asks for what, and how long.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) mix: Mix,
    pub(super) clients: usize,
    /// So many of these are served by each thread, which hands in what they ask for and then waits for all of it.
    pub(super) clients_per_thread: usize,
    pub(super) duration: Duration,
    pub(super) seed: u64,
    /// Ids for nodes that are added.
    pub(super) new_ids: Range<u64>,
}

impl Turn {
    fn client(&self, workload: &Workload, number: usize) -> Client {
        let share = (self.new_ids.end - self.new_ids.start) / self.clients as u64;
        let start = self.new_ids.start + share * number as u64;
        workload.client(self.mix, self.seed + number as u64, start..start + share)
    }
}

/// What part of a turn comes before it, in which clients work as they do in it, and nothing is noted: a thread that has just begun takes memory
/// that the system has to clear first, and of many threads that is much.
const WARM_UP: f64 = 0.25;

/// Room for the times of so many requests is made before a client begins, so that it does not grow while many clients share a core.
const ROOM: usize = 1 << 15;

/// Lets all clients of a turn work.
pub(super) fn drive(
    store: &dyn LinkStore,
    workload: &Workload,
    turn: &Turn,
    score: &mut Score,
) -> Result<(), Fault> {
    let (is_noted, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let scores: Result<Vec<Score>, Fault> = std::thread::scope(|scope| {
        let numbers: Vec<usize> = (0..turn.clients).collect();
        let threads: Vec<_> = numbers
            .chunks(turn.clients_per_thread)
            .map(|numbers| {
                let clients = numbers.iter().map(|&number| turn.client(workload, number)).collect();
                let (is_noted, is_over) = (&is_noted, &is_over);
                scope.spawn(move || work(&mut *store.session()?, clients, is_noted, is_over))
            })
            .collect();
        std::thread::sleep(turn.duration.mul_f64(WARM_UP));
        is_noted.store(true, Ordering::Relaxed);
        std::thread::sleep(turn.duration);
        is_over.store(true, Ordering::Relaxed);
        let ended = threads.into_iter().map(|thread| thread.join().map_err(|_| "a client panicked")?);
        ended.collect()
    });
    for mut client in scores? {
        client.seconds /= turn.clients as f64;
        score.add(client);
    }
    Ok(())
}

fn work(
    session: &mut dyn LinkSession,
    mut clients: Vec<Client>,
    is_noted: &AtomicBool,
    is_over: &AtomicBool,
) -> Result<Score, Fault> {
    let (mut score, mut answers) = (Score::with_room(), Answers::default());
    let mut note = |begin: Instant, requests: usize, is_write| {
        let elapsed = begin.elapsed();
        if is_noted.load(Ordering::Relaxed) {
            (0..requests).for_each(|_| score.note(elapsed, is_write));
        }
    };
    while !is_over.load(Ordering::Relaxed) {
        if let [client] = &mut clients[..] {
            let request = client.next();
            let begin = Instant::now();
            std::hint::black_box(answers.of(session, &request)?);
            note(begin, 1, request.writes());
            continue;
        }
        let links = clients.iter_mut().filter_map(|client| client.next().into_link()).collect::<Vec<_>>();
        let begin = Instant::now();
        session.put_links(&links)?;
        note(begin, links.len(), true);
    }
    Ok(score)
}

/// The sum of what a store answers to the first requests of one client: the same for all.
pub(super) fn fingerprint(store: &dyn LinkStore, client: &mut Client, requests: usize) -> Result<u64, Fault> {
    let (mut session, mut answers) = (store.session()?, Answers::default());
    let mut sum = 0_u64;
    for _ in 0..requests {
        sum = sum.rotate_left(5).wrapping_add(answers.of(&mut *session, &client.next())?);
    }
    Ok(sum)
}

/// What a client is answered, kept for the next answer.
#[derive(Default)]
struct Answers {
    node: Node,
    links: Links,
    /// Where hops lead, and the hop before.
    nodes: Vec<u64>,
    before: Vec<u64>,
}

impl Answers {
    /// Carries out a request; the answer as a number.
    fn of(&mut self, session: &mut dyn LinkSession, request: &Request) -> Result<u64, Fault> {
        let Answers { node, links, nodes, before } = self;
        Ok(match request {
            Request::GetNode(id) => match session.node(*id, node)? {
                true => node.time as u64 ^ node.data.len() as u64,
                false => 0,
            },
            Request::AddNode(id, node) | Request::UpdateNode(id, node) => {
                session.put_node(*id, node)?;
                0
            }
            Request::DeleteNode(id) => {
                session.delete_node(*id)?;
                0
            }
            Request::GetLinks(src, kind, wanted) => {
                links.begin(wanted.len());
                wanted.iter().try_for_each(|dst| session.link(*src, *kind, *dst, links))?;
                links.iter().map(link_sum).fold(0, u64::wrapping_add)
            }
            Request::ListLinks(src, kind) => {
                links.begin(LIST_LIMIT);
                session.links(*src, *kind, links)?;
                links.finish();
                links.iter().fold(links.len() as u64, |sum, link| sum.rotate_left(1) ^ link_sum(link))
            }
            Request::Hops(src, kind, steps) => {
                nodes.clear();
                nodes.push(*src);
                for _ in 0..*steps {
                    std::mem::swap(nodes, before);
                    nodes.clear();
                    session.hop(before, *kind, nodes)?;
                }
                nodes.iter().fold(nodes.len() as u64, |sum, node| sum.wrapping_add(node.wrapping_mul(*node)))
            }
            Request::CountLinks(src, kind) => session.count_links(*src, *kind)?,
            Request::AddLink(src, kind, link) | Request::UpdateLink(src, kind, link) => {
                session.put_link(*src, *kind, link)?;
                0
            }
            Request::DeleteLink(src, kind, dst) => {
                session.delete_link(*src, *kind, *dst)?;
                0
            }
        })
    }
}

fn link_sum(link: LinkRef<'_>) -> u64 {
    link.dst ^ link.time as u64 ^ link.payload.data.len() as u64
}
