//! A place in the log that moves forward: the state there, and whom each commit concerns.
//!
//! Invariant: `state` and `index` are of the same commit.

use std::sync::Arc;

use evergraph_store::{Commit, Version};
use evergraph_types::{Property, Schema, VertexId};

use super::change::Changes;
use super::event::{Event, EventKind, Subject, Transition};
use super::handler::HandlerOptions;
use super::index::{Concern, Index, Wanted, What};
use super::sets::ClassId;
use super::state::State;
use crate::definition::Definition;
use crate::error::EvaluateError;

/// A state and the views that are watched on it.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) state: State,
    pub(crate) index: Index,
}

/// A commit and whom it concerns.
#[derive(Debug)]
pub(crate) struct Step {
    changes: Changes,
    pub(crate) concerns: Vec<Concern>,
    /// Views that no longer fit the schema.
    pub(crate) broken: Vec<(ClassId, EvaluateError)>,
}

impl Follower {
    pub(crate) fn new(base: Arc<Version>) -> Self {
        Follower { state: State::new(base), index: Index::default() }
    }

    /// One view alone, from a state on.
    pub(crate) fn of(
        state: State,
        definition: Arc<Definition>,
        wanted: Wanted,
    ) -> Result<(Self, ClassId), EvaluateError> {
        let mut follower = Follower { state, index: Index::of_one() };
        let class = follower.index.add(definition, wanted, &follower.state)?;
        Ok((follower, class))
    }

    /// Goes on to the next commit.
    pub(crate) fn advance(&mut self, commit: &Commit) -> Step {
        let mut changes = self.state.apply(commit);
        let mut broken = Vec::new();
        if commit.writes.schema.is_some() {
            broken = self.index.set_schema(&self.state.schema);
        }
        let concerns = self.index.concerns(&mut changes, &self.state);
        Step { changes, concerns, broken }
    }

    /// The kind of the event that a concern is, and the property where it is of one.
    pub(crate) fn describe<'a>(&'a self, step: &Step, concern: &Concern) -> (EventKind, Option<&'a str>) {
        let What::Property(at) = concern.what else { return (concern.kind, None) };
        let name = self.property_name(step, concern, at);
        (EventKind::Property, Some(name))
    }

    fn property_name(&self, step: &Step, concern: &Concern, at: usize) -> &str {
        let schema: &Schema = &self.state.schema;
        let property: Option<&Property> = match concern.kind {
            EventKind::Edge => {
                let edge_type = step.changes.edges[concern.position].edge_type;
                let kind = schema.edge_types.get(usize::from(edge_type));
                kind.and_then(|kind| kind.options.properties.get(at))
            }
            _ => {
                let (property, ..) = step.changes.vertices[concern.position].properties[at];
                schema.vertex_properties.get(usize::from(property))
            }
        };
        property.map_or("", |property| &property.name)
    }

    /// The events of a step that a handler of a view with these options is told.
    pub(crate) fn events(&self, step: &Step, class: ClassId, options: &HandlerOptions) -> Vec<Event> {
        let wanted =
            |concern: &&Concern| concern.class == class && options.wants(self.describe(step, concern));
        step.concerns.iter().filter(wanted).map(|concern| self.event(step, concern)).collect()
    }

    /// The event that a concern is.
    pub(crate) fn event(&self, step: &Step, concern: &Concern) -> Event {
        let key = |vertex: VertexId| self.state.names.key(vertex);
        let (subject, values) = match concern.kind {
            EventKind::Edge => {
                let change = &step.changes.edges[concern.position];
                let kind = self.state.schema.edge_types.get(usize::from(change.edge_type));
                let name = kind.map_or_else(String::new, |kind| kind.name.clone());
                let values = match concern.what {
                    What::Property(at) => change
                        .before
                        .as_ref()
                        .zip(change.after.as_ref())
                        .and_then(|(old, new)| Some((old.get(at)?.clone(), new.get(at)?.clone()))),
                    _ => None,
                };
                (Subject::Edge(key(change.src), key(change.dst), name), values)
            }
            _ => {
                let change = &step.changes.vertices[concern.position];
                let values = match concern.what {
                    What::Property(at) => {
                        change.properties.get(at).map(|(_, old, new)| (old.clone(), new.clone()))
                    }
                    _ => None,
                };
                (Subject::Vertex(key(change.vertex)), values)
            }
        };
        let transition = match (concern.what, values) {
            (What::Property(at), Some((old, new))) => {
                Transition::Changed { property: self.property_name(step, concern, at).to_owned(), old, new }
            }
            (What::Removed, _) => Transition::Removed,
            _ => Transition::Added,
        };
        Event {
            version: self.state.position,
            time_micros: self.state.time_micros,
            index: concern.index,
            kind: self.describe(step, concern).0,
            subject,
            transition,
        }
    }
}
