//! What a handler is, and how it is treated.

use std::time::Duration;

use evergraph_store::Transaction;
use thiserror::Error;

use super::event::{Event, EventKind};

/// Why a handler did not deal with an event.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct HandlerError {
    message: String,
}

impl HandlerError {
    /// With a message, which a dead letter keeps.
    pub fn new(message: impl Into<String>) -> Self {
        HandlerError { message: message.into() }
    }
}

/// Code that is told of events, on a thread of its own.
pub trait Handler: Send + 'static {
    /// Deals with events of one view, in the order of commits. With `exactly_once` there is a transaction: what it writes is
    /// committed together with the note that these events are dealt with, or not at all. It may be called again with
    /// the same events, after an error, a conflict or a crash.
    ///
    /// # Errors
    /// Whatever keeps it from dealing with them; it is tried again as the options say.
    fn handle(&mut self, events: &[Event], transaction: Option<&mut Transaction>)
    -> Result<(), HandlerError>;
}

impl<F> Handler for F
where
    F: FnMut(&[Event], Option<&mut Transaction>) -> Result<(), HandlerError> + Send + 'static,
{
    fn handle(
        &mut self,
        events: &[Event],
        transaction: Option<&mut Transaction>,
    ) -> Result<(), HandlerError> {
        self(events, transaction)
    }
}

/// How a handler is told, and what happens when it fails.
#[derive(Clone, Debug, PartialEq)]
pub struct HandlerOptions {
    /// Its name, unique among the handlers of the view: it goes on where the handler of this name has come to.
    pub name: String,
    /// Only events of these kinds.
    pub kinds: Vec<EventKind>,
    /// Of property events, only those of these properties; all if empty.
    pub properties: Vec<String>,
    /// Whether it writes through a transaction that commits with its place.
    pub exactly_once: bool,
    /// How many events it is handed at a time at most.
    pub batch_size: usize,
    /// How often a call is tried again before its events become dead letters.
    pub retries: u32,
    /// How long to wait before the first of these; each next one waits twice as long, 10 s at most.
    pub backoff: Duration,
}

impl HandlerOptions {
    /// The usual treatment: all events, 64 at a time at most, five retries from 10 ms on.
    pub fn new(name: impl Into<String>) -> Self {
        HandlerOptions {
            name: name.into(),
            kinds: EventKind::ALL.to_vec(),
            properties: Vec::new(),
            exactly_once: false,
            batch_size: 64,
            retries: 5,
            backoff: Duration::from_millis(10),
        }
    }

    /// Whether it is told of events of a kind, and of this property where they are of one.
    pub(crate) fn wants(&self, (kind, property): (EventKind, Option<&str>)) -> bool {
        let wanted = &self.properties;
        self.kinds.contains(&kind)
            && property.is_none_or(|name| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name))
    }
}
