//! A cursor over the events of one edge type in the log: puts and deletes, each put with its place on the axis that the
//! window slides along.
//!
//! ```text
//!  axis      time property │ time of the commit │ number of the put
//!  newest    the largest place so far, on which nothing turns but what is late:  place < newest - lateness
//! ```
//!
//! Invariant: what a cursor accepts, and where it places it, depends on the log alone, so that the head and the tail of a
//! window, which read the same log at different times, agree on every event.

use std::sync::Arc;

use evergraph_store::{ChangeReader, EdgeOps};
use evergraph_types::{EdgeTypeId, PropertyId, VertexId};

use crate::WindowError;

/// Two ends of an edge, in ids of the store followed.
pub(crate) type Pair = (VertexId, VertexId);

/// What a window slides along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// The time property.
    Event(PropertyId),
    /// The time of the commit.
    Ingest,
    /// The number of the put.
    Count,
}

/// The events of one commit.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) time_micros: i64,
    pub(crate) edges: EdgeOps,
}

/// A put that was accepted.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    /// Its place on the axis.
    pub(crate) at: i64,
    /// The number of the row in the log, among those of this edge type.
    pub(crate) position: u64,
    pub(crate) pair: Pair,
    /// The row of the commit it is in.
    pub(crate) row: u32,
    /// The commit, if it gives properties and the cursor tells them.
    pub(crate) logged: Option<Arc<Logged>>,
}

/// A row of the log.
#[derive(Debug)]
pub(crate) enum Event {
    Put(Put),
    /// Of a pair, with the number of the row.
    Delete(Pair, u64),
    /// A put without a time.
    Untimed,
    /// A put that came too late.
    Late,
}

/// Why a cursor has stopped reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// At a put at this place, which would take the watermark past the limit, or at a commit of this time, which is past the
    /// time to read to. It is still to come.
    Beyond(i64),
    /// At the end of the log.
    End,
    /// It has read as much as it was to read.
    Full,
}

/// What all cursors of a window share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) edge_type: EdgeTypeId,
    pub(crate) symmetric: bool,
    pub(crate) axis: Axis,
    pub(crate) lateness: i64,
}

#[derive(Debug)]
pub(crate) struct Cursor {
    pub(crate) reader: ChangeReader,
    rules: Rules,
    /// Whether puts come with their properties.
    with_properties: bool,
    current: Option<Arc<Logged>>,
    row: usize,
    /// The number of the next row.
    pub(crate) position: u64,
    /// Commits are read up to this time, in microseconds.
    pub(crate) until: i64,
    /// Puts so far.
    puts: i64,
    /// The largest place so far.
    pub(crate) newest: Option<i64>,
}

impl Cursor {
    pub(crate) fn new(reader: ChangeReader, rules: Rules, with_properties: bool) -> Self {
        Cursor {
            reader,
            rules,
            with_properties,
            current: None,
            row: 0,
            position: 0,
            until: i64::MAX,
            puts: 0,
            newest: None,
        }
    }

    /// Below this place a put is late.
    pub(crate) fn watermark(&self) -> Option<i64> {
        self.newest.map(|newest| newest.saturating_sub(self.rules.lateness))
    }

    /// The time of the commit that the next row is in, in microseconds; `None` at the end of the log.
    pub(crate) fn next_time(&mut self) -> Result<Option<i64>, WindowError> {
        let is_there = self.read_rows()?;
        Ok(self.current.as_ref().filter(|_| is_there).map(|logged| logged.time_micros))
    }

    /// Rows of the commit at hand that are still to come; 0 at the end of the log.
    pub(crate) fn rows_at_hand(&mut self) -> Result<usize, WindowError> {
        self.read_rows()?;
        Ok(self.current.as_ref().map_or(0, |logged| logged.edges.len() - self.row))
    }

    /// Calls `visit` with row after row, at most so many, while they do not take the watermark past `limit` and were committed
    /// in the time to read to.
    pub(crate) fn read(
        &mut self,
        limit: i64,
        most: u64,
        mut visit: impl FnMut(Event),
    ) -> Result<Stop, WindowError> {
        let end = self.position.saturating_add(most);
        while self.position < end {
            if !self.read_rows()? {
                return Ok(Stop::End);
            }
            let Some(logged) = self.current.clone() else { return Ok(Stop::End) };
            if logged.time_micros > self.until {
                return Ok(Stop::Beyond(logged.time_micros));
            }
            while self.position < end && self.row < logged.edges.len() {
                match self.event(&logged, limit) {
                    Ok(event) => visit(event),
                    Err(at) => return Ok(Stop::Beyond(at)),
                }
            }
        }
        Ok(Stop::Full)
    }

    /// The next row, which is in this commit; the place of a put that would take the watermark past `limit`.
    #[inline]
    fn event(&mut self, logged: &Arc<Logged>, limit: i64) -> Result<Event, i64> {
        let (edges, row, position) = (&logged.edges, self.row, self.position);
        let (src, dst) = (edges.src[row], edges.dst[row]);
        let pair = if self.rules.symmetric && src > dst { (dst, src) } else { (src, dst) };
        let is_delete = edges.is_delete(row);
        let event = match self.place(logged, row).filter(|_| !is_delete || self.rules.axis == Axis::Ingest) {
            None if is_delete => Event::Delete(pair, position),
            None => Event::Untimed,
            Some(at) if self.watermark().is_some_and(|watermark| at < watermark) => Event::Late,
            Some(at) => {
                let newest = self.newest.map_or(at, |newest| newest.max(at));
                if newest.saturating_sub(self.rules.lateness) > limit {
                    return Err(at);
                }
                self.newest = Some(newest);
                if is_delete {
                    Event::Delete(pair, position)
                } else {
                    let tells = self.with_properties && !edges.columns.is_empty();
                    let logged = tells.then(|| logged.clone());
                    Event::Put(Put { at, position, pair, row: row as u32, logged })
                }
            }
        };
        self.puts += i64::from(!is_delete);
        self.position += 1;
        self.row += 1;
        Ok(event)
    }

    /// An error if the store was closed.
    pub(crate) fn check(&mut self) -> Result<(), WindowError> {
        Ok(self.reader.next_through(self.reader.position()).map(|_| ())?)
    }

    /// Reads on to the commit that the next row is in; tells whether there is one.
    fn read_rows(&mut self) -> Result<bool, WindowError> {
        while self.current.as_ref().is_none_or(|logged| self.row >= logged.edges.len()) {
            let Some(commit) = self.reader.next()? else { return Ok(false) };
            let time_micros = commit.time_micros;
            let wanted = |(edge_type, _): &(EdgeTypeId, EdgeOps)| *edge_type == self.rules.edge_type;
            let mut of_type = commit.writes.edges.into_iter().filter(wanted).map(|(_, edges)| edges);
            let edges = of_type.next().unwrap_or_default();
            self.current = Some(Arc::new(Logged { time_micros, edges }));
            self.row = 0;
        }
        Ok(true)
    }

    fn place(&self, logged: &Logged, row: usize) -> Option<i64> {
        match self.rules.axis {
            Axis::Ingest => Some(logged.time_micros),
            Axis::Count => Some(self.puts + 1),
            Axis::Event(property) => {
                let column = logged.edges.column(property).filter(|column| column.is_given(row))?;
                column.values.get(row).time()
            }
        }
    }
}
