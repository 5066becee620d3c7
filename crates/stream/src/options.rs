//! What a window holds and how it moves.

use evergraph_types::{Schema, Sequence};

use crate::WindowError;
use crate::window::wanted_type;

/// How much a window holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The events of this long: microseconds, or units of the time property where that is a number.
    Time(i64),
    /// The last so many events.
    Edges(i64),
}

/// How far a window moves from one view to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowStep {
    /// So far, in the units of the span. As long as the span, the window tumbles.
    Length(i64),
    /// By the clock, for a window of so many edges: to what was committed by the next multiple of so many microseconds.
    Clock(i64),
}

/// By what a window slides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The time property of the edge type. Time passes as events come.
    Event,
    /// When events were committed. Time passes by the clock.
    Ingest,
}

/// In what the spans of a window are counted whose arguments are times as users write them: microseconds, or units of the time
/// property where that is a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    per_second: f64,
}

impl Units {
    /// Those of a window on an edge type, or on the only one. Where there is no such type, of which the window will say so, they
    /// are microseconds.
    pub fn of(schema: &Schema, edge_type: Option<&str>, order: Option<Order>) -> Self {
        let owner = wanted_type(schema, edge_type).ok().map(|(_, owner)| owner);
        let time = owner.and_then(|owner| owner.property(owner.options.time.as_ref()?));
        let is_number = time.is_some_and(|(_, time)| time.kind.is_number());
        Units { per_second: if is_number && order != Some(Order::Ingest) { 1.0 } else { 1e6 } }
    }

    /// So many seconds, or units of a time that is a number; the nearest that 64 bits hold.
    pub fn count(self, seconds: f64) -> i64 {
        (seconds * self.per_second).round() as i64
    }
}

/// What happens to an edge that is in the window already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Both are in it, as parallel edges.
    #[default]
    Keep,
    /// One edge, with the properties of the latest, until the last of them leaves.
    Drop,
    /// One edge, whose only property `count` says how many there are.
    Count,
}

impl Duplicates {
    /// The rule of this name: `keep`, `drop` or `count`.
    pub fn from_name(name: &str) -> Option<Self> {
        [("keep", Duplicates::Keep), ("drop", Duplicates::Drop), ("count", Duplicates::Count)]
            .into_iter()
            .find_map(|(known, rule)| (known == name).then_some(rule))
    }
}

/// The arguments of a window. Start from [`WindowOptions::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowOptions {
    /// The edge type whose puts are the events. May be left out where the store has one.
    pub edge_type: Option<String>,
    /// How much it holds.
    pub span: Span,
    /// By what it slides; by default event time for a duration where the type has a time, else the order of ingest.
    pub order: Option<Order>,
    /// How far it moves from one view to the next; as events come if absent.
    pub every: Option<WindowStep>,
    /// What happens to edges that are in it already.
    pub duplicates: Duplicates,
    /// In event time, how much later than a later event one may come. What comes later still is counted and left out.
    pub lateness: i64,
    /// The first event is the first one after this commit; by default the oldest that the log holds.
    pub after: Option<Sequence>,
}

impl WindowOptions {
    /// A window of this span, everything else by default.
    pub fn new(span: Span) -> Self {
        WindowOptions {
            edge_type: None,
            span,
            order: None,
            every: None,
            duplicates: Duplicates::default(),
            lateness: 0,
            after: None,
        }
    }

    /// The length, whatever it is of.
    pub(crate) fn length(&self) -> i64 {
        match self.span {
            Span::Time(length) | Span::Edges(length) => length,
        }
    }

    pub(crate) fn check(&self) -> Result<(), WindowError> {
        let positive = |argument, value| {
            if value > 0 { Ok(()) } else { Err(WindowError::NotPositive { argument, value }) }
        };
        match self.span {
            Span::Time(length) => positive("last", length),
            Span::Edges(length) => positive("edges", length),
        }?;
        let invalid = |argument, why: &str| Err(WindowError::Invalid { argument, why: why.to_owned() });
        match (self.every, self.span) {
            (Some(WindowStep::Clock(_)), Span::Time(_)) => {
                return invalid("every", "a window of a time moves in the units of that time");
            }
            (Some(WindowStep::Length(every) | WindowStep::Clock(every)), _) => positive("every", every)?,
            (None, _) => {}
        }
        if self.lateness < 0 {
            return invalid("lateness", "it is a time from 0");
        }
        match (self.span, self.order) {
            (Span::Edges(_), Some(Order::Event)) => {
                invalid("order", "a window of so many edges slides in the order of ingest")
            }
            (Span::Edges(_), _) | (_, Some(Order::Ingest)) if self.lateness > 0 => {
                invalid("lateness", "nothing is late in the order of ingest")
            }
            _ => Ok(()),
        }
    }
}
