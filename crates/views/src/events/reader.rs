//! Events read one after the other by whoever wants them: without a handler, and no place is kept.
//!
//! Invariant: they are those that a handler would be told that had come to the same version and asks for the same.

use std::collections::VecDeque;

use evergraph_store::{ChangeOptions, ChangeReader, Store};
use evergraph_types::Sequence;

use super::event::Event;
use super::follower::Follower;
use super::handler::HandlerOptions;
use super::index::Wanted;
use super::router::version_at;
use super::sets::ClassId;
use super::state::State;
use crate::definition::Definition;
use crate::error::EventError;
use crate::registry::item;

/// Reads the events of a view from a version on: [`View::events`](crate::View::events).
#[derive(Debug)]
pub struct EventReader {
    changes: ChangeReader,
    follower: Follower,
    class: ClassId,
    options: HandlerOptions,
    /// Of commits that were read.
    ready: VecDeque<Event>,
}

impl EventReader {
    pub(crate) fn new(
        store: &Store,
        view: &str,
        definition: Definition,
        after: Option<Sequence>,
        options: HandlerOptions,
    ) -> Result<Self, EventError> {
        let after = after.map_or_else(|| made_at(store, view), Ok)?;
        let changes = store.changes(ChangeOptions { after: Some(after), ..ChangeOptions::default() })?;
        let state = State::new(version_at(store, after)?);
        let (follower, class) = Follower::of(state, definition.into(), Wanted::of([&options]))?;
        Ok(EventReader { changes, follower, class, options, ready: VecDeque::new() })
    }

    /// The next event; `None` if there is none yet.
    ///
    /// # Errors
    /// [`EventError::Changes`] if the log cannot be read, or retention has passed this place of it; [`EventError::View`] if the
    /// schema has changed so that the view's predicate does not fit it.
    #[allow(clippy::should_implement_trait, reason = "an iterator that ended would not go on")]
    pub fn next(&mut self) -> Result<Option<Event>, EventError> {
        while self.ready.is_empty() {
            let Some(commit) = self.changes.next()? else {
                self.follower.state.rebase(&self.changes.version());
                return Ok(None);
            };
            self.follower.state.names = self.changes.version();
            let mut step = self.follower.advance(&commit);
            if let Some((_, error)) = step.broken.pop() {
                return Err(error.into());
            }
            self.ready.extend(self.follower.events(&step, self.class, &self.options));
        }
        Ok(self.ready.pop_front())
    }

    /// The last commit that was read.
    pub fn position(&self) -> Sequence {
        self.follower.state.position
    }
}

/// The last commit that the log tells of which wrote the view's definition, or where the log begins if that was before.
fn made_at(store: &Store, view: &str) -> Result<Sequence, EventError> {
    let first = store.retained().first;
    let mut changes = store.changes(ChangeOptions { after: Some(first), ..ChangeOptions::default() })?;
    let (item, mut made) = (item(view), first);
    while let Some(commit) = changes.next()? {
        if commit.writes.items.iter().any(|(name, _)| **name == item) {
            made = commit.sequence;
        }
    }
    Ok(made)
}
