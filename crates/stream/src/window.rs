//! A sliding window: the recent events of a store, as a graph of their own.
//!
//! ```text
//!  log      ... e1 e2 e3 e4 e5 e6 e7 e8 e9 ...
//!                  ▲ tail            ▲ head          the log is the queue: no second copy of the edges is kept
//!  window          (start ─────── end]               start = end - length, in places on the axis
//! ```
//!
//! To advance is to move the end: the head reads what is new, and what it reads with a place in the window enters; the
//! tail reads what has fallen out, and that leaves. Both cost what they move. Events that are read before it is their turn
//! wait in a heap, which is empty unless events come out of order or the window moves in steps.
//!
//! Invariants: the end never falls; the content is what was put with a place in `(start, end]` and not late, in the log up
//! to the head, less what was deleted after; every event that entered leaves once or is deleted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant, SystemTime};

use evergraph_analytics::incremental::Changes;
use evergraph_store::{ChangeOptions, ChangeReader, ChangesError, Store};
use evergraph_types::{EdgeType, EdgeTypeId, Schema};
use evergraph_view::Snapshot;
use hashbrown::HashMap;

use crate::content::{Content, Moves};
use crate::cursor::{Axis, Cursor, Event, Pair, Put, Rules, Stop};
use crate::{Duplicates, Order, Pause, Span, WindowError, WindowOptions, WindowStep};

/// Rows read at a time, so that a window that has far to go does not hold everything at once.
const ROWS_AT_A_TIME: u64 = 1 << 20;

/// Deletions remembered before it is worth to look which are over.
const DELETIONS_LET_PASS: usize = 1 << 10;

/// What a window has seen and done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowStats {
    /// Edges that entered.
    pub entered: u64,
    /// Edges that left.
    pub left: u64,
    /// Events left out because they came too late.
    pub late: u64,
    /// Events left out because they have no time.
    pub untimed: u64,
}

/// What led from the last snapshot taken with changes to this one: ids are those of the window's snapshots.
#[derive(Clone, Debug)]
pub struct Advance {
    /// The window before.
    pub before: Snapshot,
    /// The window now.
    pub after: Snapshot,
    /// What led from one to the other.
    pub changes: Changes,
}

/// A put in the order of its place, then of the log.
#[derive(Clone, Debug)]
struct Waiting(Put);

impl Waiting {
    fn key(&self) -> (i64, u64) {
        (self.0.at, self.0.position)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// A sliding window over the edges of one type of a store.
///
/// ```
/// use evergraph_store::{Options, Store};
/// use evergraph_stream::{Span, Window, WindowOptions};
/// use evergraph_view::GraphView;
///
/// let store = Store::in_memory(Options::default());
/// store.create_edge_type("edge", Default::default())?;
/// let mut window = Window::new(&store, WindowOptions::new(Span::Edges(2)))?;
/// for dst in 1..=3 {
///     store.put_edge(0, dst, "edge", &[])?;
/// }
/// window.advance()?;
/// let snapshot = window.latest()?;
/// assert_eq!(snapshot.num_edges(), 2);
/// assert!(!snapshot.has_edge(0, 1, None) && snapshot.has_edge(0, 3, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Window {
    options: WindowOptions,
    axis: Axis,
    head: Cursor,
    tail: Cursor,
    content: Content,
    /// The last place in it; `None` before the first event.
    end: Option<i64>,
    /// Where it moves by the clock: the time at which the step ends whose events the head has begun to read.
    step: Option<i64>,
    /// Read by the head since the last move.
    fresh: Fresh,
    /// Read by the head before that, with places beyond the end.
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// Read by the tail, with places still in the window.
    leaving: BinaryHeap<Reverse<Waiting>>,
    /// Pairs that were deleted, each with where the log says so last.
    deletions: HashMap<Pair, u64>,
    deletions_let_pass: usize,
    stats: WindowStats,
}

/// What the head has read since the last move.
#[derive(Debug, Default)]
struct Fresh {
    /// Where in the log it began.
    start: u64,
    puts: Vec<Put>,
    deleted: Vec<Pair>,
    /// The place of the put that the head has stopped at.
    beyond: Option<i64>,
}

impl Window {
    /// A window over a store, empty until it is advanced.
    ///
    /// # Errors
    /// [`WindowError::NotPositive`] and [`WindowError::Invalid`] for arguments, [`WindowError::NoTime`],
    /// [`WindowError::Schema`] if there is no such edge type, [`WindowError::Changes`] if the log cannot be
    /// followed.
    pub fn new(store: &Store, options: WindowOptions) -> Result<Self, WindowError> {
        options.check()?;
        let version = store.version()?;
        let (id, edge_type) = wanted_type(version.schema(), options.edge_type.as_deref())?;
        let axis = axis_of(&options, edge_type)?;
        let symmetric = edge_type.options.symmetric;
        let rules = Rules { edge_type: id, symmetric, axis, lateness: options.lateness };
        let head = reader(store, options.after)?;
        let tail = store.changes(ChangeOptions { after: Some(head.position()), name: None })?;
        let by_time = if let Axis::Event(property) = axis { Some(property) } else { None };
        let content = Content::new(&version, edge_type.clone(), options.duplicates, by_time)?;
        let with_properties = options.duplicates != Duplicates::Count;
        Ok(Window {
            options,
            axis,
            head: Cursor::new(head, rules, with_properties),
            tail: Cursor::new(tail, rules, false),
            content,
            end: None,
            step: None,
            fresh: Fresh::default(),
            waiting: BinaryHeap::new(),
            leaving: BinaryHeap::new(),
            deletions: HashMap::new(),
            deletions_let_pass: DELETIONS_LET_PASS,
            stats: WindowStats::default(),
        })
    }

    /// The window as of the last advance: a snapshot like any other. It has the vertices that have edges in it.
    ///
    /// # Errors
    /// None at present.
    pub fn latest(&self) -> Result<Snapshot, WindowError> {
        Ok(self.content.snapshot())
    }

    /// The last place in the window: a time, or the number of an event. `None` before the first event.
    pub fn end(&self) -> Option<i64> {
        self.end
    }

    /// What it has seen and done so far.
    pub fn stats(&self) -> WindowStats {
        self.stats
    }

    /// Bytes that the window takes up in memory. The log that it follows is its store's.
    pub fn memory_bytes(&self) -> u64 {
        let waiting = self.waiting.capacity() + self.leaving.capacity() + self.fresh.puts.capacity();
        self.content.memory_bytes() + (waiting * size_of::<Put>()) as u64
    }

    /// Keeps no state for [`Window::changes`] any more, until it is called again.
    pub fn forget_changes(&mut self) {
        self.content.forget_changes();
    }

    /// What the advances since the last call changed: for incremental algorithms. The first call begins: it tells of no
    /// change, and from then on the window keeps the state that was told last.
    ///
    /// # Errors
    /// None at present.
    pub fn changes(&mut self) -> Result<Advance, WindowError> {
        let (before, after, changes) = self.content.take_changes();
        Ok(Advance { before, after, changes })
    }

    /// Moves the end to the newest event, or to now where time passes by the clock. Costs what enters and leaves.
    ///
    /// # Errors
    /// [`WindowError::Changes`] if the log cannot be followed, [`WindowError::PropertyChanged`].
    pub fn advance(&mut self) -> Result<(), WindowError> {
        (self.step, self.head.until) = (None, i64::MAX);
        loop {
            let stop = self.read(i64::MAX)?;
            let now = (self.axis == Axis::Ingest && stop == Stop::End).then(now_micros);
            if let Some(end) = self.head.newest.max(now).max(self.end) {
                self.move_to(end)?;
            }
            if stop == Stop::End {
                return Ok(());
            }
        }
    }

    /// The next view: with `every` the window at its next step, once that is over, else the window after the next commit.
    /// `None` if the time is up before. Steps in which nothing is in the window are passed over.
    ///
    /// # Errors
    /// Those of [`Window::advance`].
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Snapshot>, WindowError> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(view) = self.try_next()? {
                return Ok(Some(view));
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            self.pause().wait(left);
        }
    }

    /// As [`Window::next`], without waiting: `None` if there is no next view yet. Then [`Window::pause`] waits for one.
    ///
    /// # Errors
    /// Those of [`Window::advance`].
    pub fn try_next(&mut self) -> Result<Option<Snapshot>, WindowError> {
        match self.options.every {
            Some(WindowStep::Length(every)) => return self.try_next_step(every),
            Some(WindowStep::Clock(every)) => return self.try_next_by_clock(every),
            None => {}
        }
        if !self.head.reader.wait(Some(Duration::ZERO)) {
            return self.head.check().map(|()| None);
        }
        self.advance()?;
        self.latest().map(Some)
    }

    /// The window at its next step, once that is over.
    fn try_next_step(&mut self, every: i64) -> Result<Option<Snapshot>, WindowError> {
        loop {
            let allowed = self.boundary(every);
            let stop = self.read(allowed.or(self.end).unwrap_or(i64::MIN))?;
            // What was read may be earlier than what was expected first.
            let boundary = self.boundary(every).filter(|&end| allowed.is_some_and(|allowed| end <= allowed));
            if let Some(end) = boundary.filter(|&end| self.is_over(end, stop)) {
                let was_empty = self.content.num_edges() == 0;
                self.move_to(end)?;
                if !(was_empty && self.content.num_edges() == 0) {
                    return self.latest().map(Some);
                }
            } else if stop == Stop::End {
                return self.head.check().map(|()| None);
            }
        }
    }

    /// The window of so many edges at the end of the next step in which something came, once the clock has passed that.
    fn try_next_by_clock(&mut self, every: i64) -> Result<Option<Snapshot>, WindowError> {
        loop {
            let begun = self.step.or(self.head.next_time()?.map(|at| align_up(at, every)));
            let Some(end) = begun else { return self.head.check().map(|()| None) };
            (self.step, self.head.until) = (begun, end);
            let stop = self.read(i64::MAX)?;
            let newest = self.head.newest.max(self.end);
            if stop == Stop::Full {
                // What would be out again by the end of the step.
                let start = newest.unwrap_or_default().saturating_sub(self.options.length());
                self.fresh.puts.retain(|put| put.at > start);
            } else if stop == Stop::End && now_micros() <= end {
                return self.head.check().map(|()| None);
            } else {
                self.step = None;
                if let Some(newest) = newest {
                    self.move_to(newest)?;
                    return self.latest().map(Some);
                }
            }
        }
    }

    /// What to wait for before there can be a next view, without the window. By the clock a step is over without a commit.
    pub fn pause(&self) -> Pause {
        let due = match self.options.every {
            Some(WindowStep::Length(every)) if self.axis == Axis::Ingest => self.boundary(every),
            Some(WindowStep::Clock(_)) => self.step,
            _ => None,
        };
        let left = |end: i64| end.saturating_sub(now_micros()).max(0) as u64 + 1;
        Pause { waiter: self.head.reader.waiter(), most: due.map(left).map(Duration::from_micros) }
    }

    /// Where the next step ends; `None` if that takes an event to tell.
    fn boundary(&self, every: i64) -> Option<i64> {
        let next = self.end.map(|end| align_up(end.saturating_add(1), every));
        if next.is_some() && self.content.num_edges() > 0 {
            return next;
        }
        let waiting = self.waiting.peek().map(|Reverse(put)| put.0.at);
        let first = self.fresh.puts.iter().map(|put| put.at).chain(waiting).chain(self.fresh.beyond).min();
        first.map(|at| align_up(at, every).max(next.unwrap_or(i64::MIN)))
    }

    /// Whether no event can come any more that belongs before `end`, which the head was allowed to read to.
    fn is_over(&self, end: i64, stop: Stop) -> bool {
        match self.axis {
            // The head may have been allowed further than to this end, and have passed it.
            Axis::Event(_) => matches!(stop, Stop::Beyond(_)) || self.head.watermark() > Some(end),
            Axis::Ingest => matches!(stop, Stop::Beyond(_)) || (stop == Stop::End && now_micros() > end),
            Axis::Count => self.head.newest >= Some(end),
        }
    }

    /// Reads events while they do not take the watermark past `limit`.
    fn read(&mut self, limit: i64) -> Result<Stop, WindowError> {
        let Window { head, fresh, deletions, stats, .. } = self;
        if fresh.puts.is_empty() {
            fresh.puts.reserve(head.rows_at_hand()?.min(ROWS_AT_A_TIME as usize));
        }
        let stop = head.read(limit, ROWS_AT_A_TIME, |event| {
            fresh.beyond = None;
            match event {
                Event::Put(put) => fresh.puts.push(put),
                Event::Delete(pair, position) => {
                    deletions.insert(pair, position);
                    fresh.deleted.push(pair);
                }
                Event::Untimed => stats.untimed += 1,
                Event::Late => stats.late += 1,
            }
        })?;
        if let Stop::Beyond(at) = stop {
            fresh.beyond = Some(at);
        }
        Ok(stop)
    }

    /// Moves the end, with what has been read.
    fn move_to(&mut self, end: i64) -> Result<(), WindowError> {
        let start = end.saturating_sub(self.options.length());
        let position = self.head.position;
        let fresh = std::mem::replace(&mut self.fresh, Fresh { start: position, ..Fresh::default() });
        self.fresh.beyond = fresh.beyond;
        let mut entering = fresh.puts;
        let beyond = entering.extract_if(.., |put| put.at > end);
        self.waiting.extend(beyond.map(|put| Reverse(Waiting(put))));
        entering.extend(pop_through(&mut self.waiting, end));
        entering.retain(|put| put.at > start && !is_deleted(&self.deletions, put));
        if !entering.is_sorted_by_key(|put| (put.at, put.position)) {
            entering.sort_by_key(|put| (put.at, put.position));
        }
        let leaving = self.leave(start, fresh.start, entering.len())?;
        self.stats.entered += entering.len() as u64;
        self.stats.left += leaving.len() as u64;
        let before = self.end.replace(end);
        let moves = Moves { deleted: fresh.deleted, leaving, start, end: before, entering };
        let source = self.head.reader.version();
        self.content.apply(&source, moves)?;
        self.forget_deletions();
        Ok(())
    }

    /// The pairs of events in the window with a place up to `start`. What the head has read from `fresh_start` on is not
    /// in it yet. About so many are expected.
    fn leave(&mut self, start: i64, fresh_start: u64, expected: usize) -> Result<Vec<Pair>, WindowError> {
        let Window { head, tail, leaving, deletions, end, .. } = self;
        // What waited until now, and what is new, never entered.
        let was_in = |put: &Put| put.position < fresh_start && end.is_some_and(|end| put.at <= end);
        let mut left = Vec::with_capacity(expected);
        let mut leave = |put: Put| {
            if was_in(&put) && !is_deleted(deletions, &put) {
                left.push(put.pair);
            }
        };
        pop_through(leaving, start).for_each(&mut leave);
        tail.read(start, head.position - tail.position, |event| match event {
            Event::Put(put) if put.at <= start => leave(put),
            Event::Put(put) => leaving.push(Reverse(Waiting(put))),
            Event::Delete(..) | Event::Untimed | Event::Late => {}
        })?;
        Ok(left)
    }

    /// Forgets deletions before which nothing is left that they could be of.
    fn forget_deletions(&mut self) {
        if self.deletions.len() > self.deletions_let_pass {
            let heaps = self.waiting.iter().chain(&self.leaving).map(|Reverse(put)| put.0.position);
            let oldest = heaps.min().unwrap_or(u64::MAX).min(self.tail.position);
            self.deletions.retain(|_, position| *position > oldest);
            self.deletions_let_pass = DELETIONS_LET_PASS.max(2 * self.deletions.len());
        }
    }
}

/// Whether the pair was deleted after this put.
fn is_deleted(deletions: &HashMap<Pair, u64>, put: &Put) -> bool {
    deletions.get(&put.pair).is_some_and(|&position| position > put.position)
}

/// Takes the puts with places up to `last` from a heap, in order.
fn pop_through(heap: &mut BinaryHeap<Reverse<Waiting>>, last: i64) -> impl Iterator<Item = Put> {
    std::iter::from_fn(move || {
        heap.peek().filter(|Reverse(waiting)| waiting.0.at <= last)?;
        heap.pop().map(|Reverse(waiting)| waiting.0)
    })
}

/// The smallest multiple of `every` from a place on.
fn align_up(at: i64, every: i64) -> i64 {
    let above = at.rem_euclid(every);
    if above == 0 { at } else { at.saturating_add(every - above) }
}

fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The edge type of this name, or the only one.
pub(crate) fn wanted_type<'a>(
    schema: &'a Schema,
    name: Option<&str>,
) -> Result<(EdgeTypeId, &'a EdgeType), WindowError> {
    if let Some(name) = name {
        return Ok(schema.require_edge_type(name)?);
    }
    let all: Vec<(EdgeTypeId, &EdgeType)> = schema.live_edge_types().collect();
    match all[..] {
        [only] => Ok(only),
        ref several => {
            let names: Vec<&str> = several.iter().map(|(_, kind)| kind.name.as_str()).collect();
            let why = match names.is_empty() {
                true => "the store has no edge type yet; create one".to_owned(),
                false => format!("name one of {}", names.join(", ")),
            };
            Err(WindowError::Invalid { argument: "edge_type", why })
        }
    }
}

fn axis_of(options: &WindowOptions, edge_type: &EdgeType) -> Result<Axis, WindowError> {
    if matches!(options.span, Span::Edges(_)) {
        return Ok(Axis::Count);
    }
    let time = edge_type.options.time.as_ref().and_then(|time| edge_type.property(time));
    match (options.order, time) {
        (Some(Order::Ingest), _) | (None, None) if options.lateness == 0 => Ok(Axis::Ingest),
        (Some(Order::Event) | None, Some((_, time))) if time.kind.is_float() => {
            let (edge_type, property) = (edge_type.name.clone(), time.name.clone());
            Err(WindowError::TimeType { edge_type, property, found: time.kind })
        }
        (Some(Order::Event) | None, Some((property, _))) => Ok(Axis::Event(property)),
        _ => Err(WindowError::NoTime { edge_type: edge_type.name.clone() }),
    }
}

/// A reader of the log from a commit on, or from as far back as it goes.
fn reader(store: &Store, after: Option<u64>) -> Result<ChangeReader, WindowError> {
    let mut asked = after.unwrap_or(0);
    loop {
        match store.changes(ChangeOptions { after: Some(asked), name: None }) {
            // It may be trimmed again meanwhile.
            Err(ChangesError::Trimmed { first, .. }) if after.is_none() && first > asked + 1 => {
                asked = first - 1
            }
            outcome => return Ok(outcome?),
        }
    }
}
