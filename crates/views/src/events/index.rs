//! Which views a change concerns: members turned round (`sets.rs`), and predicates by the properties they look at.
//!
//! ```text
//!  vertex changed ─► its set before ─► predicates that look at what changed, over all changed vertices at once ─► its set
//!  edge changed   ─► the sets of its ends, in common ─► rule of the view, before and after
//!  told           ─► of those only the views whose handlers want to be told of that: one more set in common
//! ```
//!
//! Invariant: between commits, the set of a vertex holds exactly the classes whose members it is one of, and any of
//! classes that are gone.

use std::sync::Arc;

use evergraph_types::{Column, EdgeTypeId, PropertyId, PropertyType, Schema, Value, VertexId};
use hashbrown::HashMap;
use roaring::RoaringBitmap;

use super::change::Changes;
use super::event::EventKind;
use super::handler::HandlerOptions;
use super::sets::{ClassId, SetId, Sets};
use super::state::State;
use crate::bind::{Test, bind_edges, bind_vertices, properties_of};
use crate::definition::{Definition, EdgeSelection, VertexSelection, pair};
use crate::error::EvaluateError;
use crate::evaluate::{Rows, holds, vertices_where};

/// Fewer sets than these are all kept.
const SETS_KEPT: usize = 1 << 16;

/// What a change is to a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Added,
    Removed,
    /// The property at this position of the change.
    Property(usize),
}

/// A change that concerns a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Concern {
    pub(crate) class: ClassId,
    pub(crate) what: What,
    /// The vertex or edge, by its position among the changes of the commit.
    pub(crate) kind: EventKind,
    pub(crate) position: usize,
    /// The place among the events of the commit.
    pub(crate) index: u32,
}

/// What the handlers of a view want to be told of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    vertices: bool,
    edges: bool,
    /// Every property, or those of these names.
    every_property: bool,
    properties: Vec<String>,
}

impl Wanted {
    /// What at least one of some handlers wants.
    pub(crate) fn of<'a>(handlers: impl IntoIterator<Item = &'a HandlerOptions>) -> Self {
        let mut wanted = Wanted::default();
        for options in handlers {
            wanted.vertices |= options.kinds.contains(&EventKind::Vertex);
            wanted.edges |= options.kinds.contains(&EventKind::Edge);
            if options.kinds.contains(&EventKind::Property) {
                wanted.every_property |= options.properties.is_empty();
                wanted.properties.extend(options.properties.iter().cloned());
            }
        }
        wanted
    }

    fn wants_property(&self, name: &str) -> bool {
        self.every_property || self.properties.iter().any(|wanted| wanted == name)
    }

    /// Whether it wants anything that is told of edges.
    fn looks_at_edges(&self, schema: &Schema) -> bool {
        let of_edges = schema.edge_types.iter().flat_map(|kind| &kind.options.properties);
        self.edges || of_edges.into_iter().any(|property| self.wants_property(&property.name))
    }
}

/// The views to tell of something, as sets. Made when something is first to be told.
#[derive(Debug, Default)]
struct Told {
    vertices: Option<SetId>,
    edges: Option<SetId>,
    properties: HashMap<PropertyId, SetId>,
}

/// A view as events see it.
#[derive(Debug)]
struct Class {
    definition: Arc<Definition>,
    wanted: Wanted,
    test: Option<Test>,
    edge_tests: Option<Vec<Test>>,
    /// Members by name, existing or not.
    explicit: Option<RoaringBitmap>,
}

/// The set of each vertex.
#[derive(Debug)]
enum SetsOfVertices {
    /// By id.
    Many(Vec<SetId>),
    /// With one view there is one set besides the empty one: its members.
    One(RoaringBitmap),
}

impl Default for SetsOfVertices {
    fn default() -> Self {
        SetsOfVertices::Many(Vec::new())
    }
}

impl SetsOfVertices {
    fn get(&self, vertex: VertexId) -> SetId {
        match self {
            SetsOfVertices::Many(sets) => sets.get(vertex as usize).copied().unwrap_or(0),
            SetsOfVertices::One(members) => SetId::from(members.contains(vertex)),
        }
    }

    fn set(&mut self, vertex: VertexId, set: SetId) {
        match self {
            SetsOfVertices::Many(sets) => {
                let at = vertex as usize;
                if at >= sets.len() {
                    sets.resize((at + 1).max(2 * sets.len()), 0);
                }
                sets[at] = set;
            }
            SetsOfVertices::One(members) if set == 0 => _ = members.remove(vertex),
            SetsOfVertices::One(members) => _ = members.insert(vertex),
        }
    }
}

/// The views there are handlers for.
#[derive(Debug, Default)]
pub(crate) struct Index {
    classes: Vec<Option<Class>>,
    sets: Sets,
    by_vertex: SetsOfVertices,
    /// Views that look at a property of vertices, and those that look at the type.
    by_property: HashMap<PropertyId, Vec<ClassId>>,
    predicates: Vec<ClassId>,
    /// Views of edges by a predicate alone, which any edge may be in.
    edges_alone: Vec<ClassId>,
    told: Told,
    /// Views that are gone, which sets may still hold.
    num_gone: usize,
    /// By edge type.
    symmetric: Vec<bool>,
    /// How many sets there may be before those in use are looked for.
    sets_wanted: usize,
}

impl Index {
    /// Room for one view, which takes a bit for each vertex at the most.
    pub(crate) fn of_one() -> Self {
        Index { by_vertex: SetsOfVertices::One(RoaringBitmap::new()), ..Index::default() }
    }

    /// Takes a view in, as it is on the state.
    pub(crate) fn add(
        &mut self,
        definition: Arc<Definition>,
        wanted: Wanted,
        state: &State,
    ) -> Result<ClassId, EvaluateError> {
        let class = self.classes.len() as ClassId;
        let explicit = match (&definition.vertices, &definition.edges) {
            (Some(VertexSelection::Members(members)), Some(EdgeSelection::Members(edges))) => {
                Some(members | ends(edges))
            }
            (Some(VertexSelection::Members(members)), _) => Some(members.clone()),
            (None, Some(EdgeSelection::Members(edges))) => Some(ends(edges)),
            (Some(VertexSelection::Where(_)), _) | (None, _) => None,
        };
        self.classes.push(Some(Class { definition, wanted, test: None, edge_tests: None, explicit }));
        if let Err(error) = self.bind(class, &state.schema) {
            self.classes.pop();
            return Err(error);
        }
        self.look_up();
        let members = match self.classes.last() {
            Some(Some(Class { explicit: Some(explicit), .. })) => {
                explicit.iter().filter(|&vertex| state.exists(vertex)).collect()
            }
            Some(Some(Class { test: Some(test), .. })) => members_of(test, state),
            _ => {
                self.edges_alone.push(class);
                RoaringBitmap::new()
            }
        };
        let mut last = (0, self.sets.step(0, class, true));
        for vertex in &members {
            let before = self.set_of(vertex);
            if before != last.0 {
                last = (before, self.sets.step(before, class, true));
            }
            self.by_vertex.set(vertex, last.1);
        }
        Ok(class)
    }

    /// Changes what the handlers of a view want to be told of.
    pub(crate) fn set_wanted(&mut self, class: ClassId, wanted: Wanted) {
        if let Some(Some(found)) = self.classes.get_mut(class as usize) {
            found.wanted = wanted;
            self.told = Told::default();
        }
    }

    /// Lets go of a view. Sets are gone through once as many views are gone as are left.
    pub(crate) fn remove(&mut self, class: ClassId) {
        let place = self.classes.get_mut(class as usize);
        self.num_gone += usize::from(place.is_some_and(|place| place.take().is_some()));
        self.edges_alone.retain(|other| *other != class);
        self.look_up();
        if 2 * self.num_gone >= self.classes.len() {
            self.sweep();
            while self.classes.pop_if(|last| last.is_none()).is_some() {}
            self.num_gone = self.classes.iter().filter(|class| class.is_none()).count();
        }
    }

    /// Fits all views to another schema; gives those that no longer do.
    pub(crate) fn set_schema(&mut self, schema: &Schema) -> Vec<(ClassId, EvaluateError)> {
        let all = 0..self.classes.len() as ClassId;
        let misfits =
            all.filter_map(|class| self.bind(class, schema).err().map(|error| (class, error))).collect();
        self.look_up();
        misfits
    }

    fn bind(&mut self, class: ClassId, schema: &Schema) -> Result<(), EvaluateError> {
        self.symmetric = schema.edge_types.iter().map(|kind| kind.options.symmetric).collect();
        let Some(Some(found)) = self.classes.get_mut(class as usize) else { return Ok(()) };
        if let Some(VertexSelection::Where(predicate)) = &found.definition.vertices {
            found.test = Some(bind_vertices(predicate, schema)?);
        }
        if let Some(EdgeSelection::Where(predicate)) = &found.definition.edges {
            found.edge_tests = Some(bind_edges(predicate, schema)?);
        }
        Ok(())
    }

    /// Looks up which predicates there are, and forgets whom to tell.
    fn look_up(&mut self) {
        self.told = Told::default();
        self.by_property.clear();
        self.predicates.clear();
        for (class, found) in (0..).zip(&self.classes) {
            let Some(test) = found.as_ref().and_then(|found| found.test.as_ref()) else { continue };
            self.predicates.push(class);
            let mut properties = Vec::new();
            properties_of(test, &mut properties);
            properties.sort_unstable();
            properties.dedup();
            properties
                .into_iter()
                .for_each(|property| self.by_property.entry(property).or_default().push(class));
        }
    }

    fn set_of(&self, vertex: VertexId) -> SetId {
        self.by_vertex.get(vertex)
    }

    fn set_member(&mut self, vertex: VertexId, class: ClassId, add: bool) {
        let before = self.set_of(vertex);
        let after = self.sets.step(before, class, add);
        if before != after {
            self.by_vertex.set(vertex, after);
        }
    }

    /// The set of the views that are wanted.
    fn set_of_wanting(&mut self, is_wanted: impl Fn(&Wanted) -> bool) -> SetId {
        let is_wanted = |class: &Option<Class>| class.as_ref().is_some_and(|class| is_wanted(&class.wanted));
        let wanting = (0..).zip(&self.classes).filter(|(_, class)| is_wanted(class)).map(|(id, _)| id);
        let wanting = wanting.collect();
        self.sets.number(wanting)
    }

    fn told_of_vertices(&mut self) -> SetId {
        let known = self.told.vertices;
        let set = known.unwrap_or_else(|| self.set_of_wanting(|wanted| wanted.vertices));
        *self.told.vertices.insert(set)
    }

    fn told_of_edges(&mut self, schema: &Schema) -> SetId {
        let known = self.told.edges;
        let set = known.unwrap_or_else(|| self.set_of_wanting(|wanted| wanted.looks_at_edges(schema)));
        *self.told.edges.insert(set)
    }

    fn told_of_property(&mut self, property: PropertyId, schema: &Schema) -> SetId {
        if let Some(&known) = self.told.properties.get(&property) {
            return known;
        }
        let name = schema.vertex_properties.get(usize::from(property)).map_or("", |found| &found.name);
        let set = self.set_of_wanting(|wanted| wanted.wants_property(name));
        self.told.properties.insert(property, set);
        set
    }

    /// Whom the changes of a commit concern, `state` being that after it. Takes the changes in.
    pub(crate) fn concerns(&mut self, changes: &Changes, state: &State) -> Vec<Concern> {
        self.forget_sets();
        let before = self.update(changes, state);
        let mut concerns = Vec::new();
        let mut index = 0;
        for (position, change) in changes.vertices.iter().enumerate() {
            let (old, new) = (before.get(&change.vertex).copied(), self.set_of(change.vertex));
            let old = old.unwrap_or(new);
            let mut tell = |class, what, index| {
                concerns.push(Concern { class, what, kind: EventKind::Vertex, position, index });
            };
            if old != new {
                let told = self.told_of_vertices();
                let [old, new] = [old, new].map(|set| self.sets.intersection(set, told));
                let (old, new) = (self.sets.members(old), self.sets.members(new));
                let without = |all: &[ClassId], class| all.binary_search(class).is_err();
                new.iter()
                    .filter(|class| without(old, class))
                    .for_each(|class| tell(*class, What::Added, index));
                old.iter()
                    .filter(|class| without(new, class))
                    .for_each(|class| tell(*class, What::Removed, index));
            }
            index += 1;
            let stayed = if change.properties.is_empty() { 0 } else { self.sets.intersection(old, new) };
            for (at, (property, ..)) in change.properties.iter().enumerate() {
                let told = self.told_of_property(*property, &state.schema);
                let told = self.sets.intersection(stayed, told);
                self.sets.members(told).iter().for_each(|class| tell(*class, What::Property(at), index));
                index += 1;
            }
        }
        for (position, change) in changes.edges.iter().enumerate() {
            let was = |vertex: VertexId| before.get(&vertex).copied().unwrap_or_else(|| self.set_of(vertex));
            let (src, dst) = (was(change.src), was(change.dst));
            let old = if change.before.is_some() { self.sets.intersection(src, dst) } else { 0 };
            let (src, dst) = (self.set_of(change.src), self.set_of(change.dst));
            let new = if change.after.is_some() { self.sets.intersection(src, dst) } else { 0 };
            let told = self.told_of_edges(&state.schema);
            let [old, new] = [old, new].map(|set| self.sets.intersection(set, told));
            let properties = self.edge_concerns(changes, position, (old, new), index, &mut concerns);
            index += 1 + properties;
        }
        concerns
    }

    /// Whom one edge concerns; gives how many properties it has.
    fn edge_concerns(
        &self,
        changes: &Changes,
        position: usize,
        (old, new): (SetId, SetId),
        index: u32,
        concerns: &mut Vec<Concern>,
    ) -> u32 {
        let change = &changes.edges[position];
        let (old, new) = (self.sets.members(old), self.sets.members(new));
        let others = new.iter().filter(|class| old.binary_search(class).is_err());
        let told = self.told.edges.map_or(&[][..], |told| self.sets.members(told));
        let alone = self.edges_alone.iter().filter(|class| told.binary_search(class).is_ok());
        let mut tell = |class, what, index| {
            concerns.push(Concern { class, what, kind: EventKind::Edge, position, index })
        };
        let pair = (change.src, change.dst);
        for &class in old.iter().chain(others).chain(alone) {
            let alone = self.edges_alone.contains(&class);
            let is_in = |members: &[ClassId], values: &Option<Vec<Value>>| {
                let values = values.as_ref().filter(|_| alone || members.binary_search(&class).is_ok());
                values.is_some_and(|values| self.has_edge(class, change.edge_type, pair, values))
            };
            match (is_in(old, &change.before), is_in(new, &change.after)) {
                (false, true) => tell(class, What::Added, index),
                (true, false) => tell(class, What::Removed, index),
                (true, true) => {
                    let values = change.before.iter().flatten().zip(change.after.iter().flatten());
                    let differ = values.enumerate().filter(|(_, (old, new))| old != new);
                    differ.for_each(|(at, _)| tell(class, What::Property(at), index + 1 + at as u32));
                }
                (false, false) => {}
            }
        }
        change.after.as_ref().or(change.before.as_ref()).map_or(0, |values| values.len() as u32)
    }

    /// Whether an edge between members belongs to a view.
    fn has_edge(
        &self,
        class: ClassId,
        edge_type: EdgeTypeId,
        (src, dst): (VertexId, VertexId),
        values: &[Value],
    ) -> bool {
        let Some(Some(found)) = self.classes.get(class as usize) else { return false };
        match (&found.definition.edges, &found.edge_tests) {
            (None, _) => true,
            (Some(EdgeSelection::Members(members)), _) => members.get(&edge_type).is_some_and(|pairs| {
                let symmetric =
                    self.symmetric.get(usize::from(edge_type)).is_some_and(|symmetric| *symmetric);
                pairs.contains(pair(symmetric, src, dst))
            }),
            (Some(EdgeSelection::Where(_)), Some(tests)) => {
                let test = tests.get(usize::from(edge_type));
                test.is_some_and(|test| holds(test, &EdgeRow { values, edge_type })[0])
            }
            (Some(EdgeSelection::Where(_)), None) => false,
        }
    }

    /// Brings the sets of all vertices that changed up to date; gives what they were before.
    fn update(&mut self, changes: &Changes, state: &State) -> HashMap<VertexId, SetId> {
        let mut before = HashMap::new();
        let mut to_test: HashMap<ClassId, Vec<VertexId>> = HashMap::new();
        for change in &changes.vertices {
            let vertex = change.vertex;
            let old = self.set_of(vertex);
            before.insert(vertex, old);
            if !change.exists {
                if old != 0 {
                    self.by_vertex.set(vertex, 0);
                }
                continue;
            }
            let mut look = |classes: &[ClassId]| {
                classes.iter().for_each(|class| to_test.entry(*class).or_default().push(vertex));
            };
            if change.existed && !change.typed {
                let properties = change.properties.iter();
                let looking = properties.filter_map(|(property, ..)| self.by_property.get(property));
                looking.for_each(|classes| look(classes));
            } else {
                look(&self.predicates);
            }
            if !change.existed {
                let named = |class: &Option<Class>| {
                    let explicit = class.as_ref().and_then(|class| class.explicit.as_ref());
                    explicit.is_some_and(|explicit| explicit.contains(vertex))
                };
                let named: Vec<ClassId> =
                    (0..).zip(&self.classes).filter(|(_, class)| named(class)).map(|(id, _)| id).collect();
                named.into_iter().for_each(|class| self.set_member(vertex, class, true));
            }
        }
        for (class, vertices) in to_test {
            let Some(Some(Class { test: Some(test), .. })) = self.classes.get(class as usize) else {
                continue;
            };
            let found = holds(test, &StateRows { state, vertices: &vertices });
            for (vertex, is_in) in vertices.into_iter().zip(found) {
                self.set_member(vertex, class, is_in);
            }
        }
        before
    }

    /// Forgets combinations that no vertex is in any more, once there are many.
    fn forget_sets(&mut self) {
        if self.sets.len() < self.sets_wanted.max(SETS_KEPT) {
            return;
        }
        self.sweep();
        self.sets_wanted = 2 * self.sets.len();
    }

    /// Keeps the sets that vertices are in, without the views that are gone.
    fn sweep(&mut self) {
        let SetsOfVertices::Many(by_vertex) = &mut self.by_vertex else { return };
        let mut kept = Sets::default();
        let mut numbers: Vec<Option<SetId>> = vec![None; self.sets.len()];
        for set in by_vertex {
            let number = &mut numbers[*set as usize];
            *set = *number.get_or_insert_with(|| {
                let is_there =
                    |class: &ClassId| self.classes.get(*class as usize).is_some_and(Option::is_some);
                kept.number(self.sets.members(*set).iter().copied().filter(is_there).collect())
            });
        }
        self.sets = kept;
        self.told = Told::default();
    }
}

/// The vertices of a state for which a test holds.
fn members_of(test: &Test, state: &State) -> RoaringBitmap {
    let mut members = vertices_where(test, state.base().0);
    let touched: Vec<VertexId> = state.touched().collect();
    for &vertex in &touched {
        members.remove(vertex);
    }
    let here: Vec<VertexId> = touched.into_iter().filter(|&vertex| state.exists(vertex)).collect();
    let found = holds(test, &StateRows { state, vertices: &here });
    members.extend(here.into_iter().zip(found).filter(|(_, is_in)| *is_in).map(|(vertex, _)| vertex));
    members
}

fn ends(edges: &std::collections::BTreeMap<EdgeTypeId, roaring::RoaringTreemap>) -> RoaringBitmap {
    let pairs = edges.values().flat_map(|pairs| pairs.iter());
    pairs.flat_map(|pair| [(pair >> 32) as VertexId, pair as VertexId]).collect()
}

/// Some vertices of a state.
struct StateRows<'a> {
    state: &'a State,
    vertices: &'a [VertexId],
}

impl Rows for StateRows<'_> {
    fn len(&self) -> usize {
        self.vertices.len()
    }

    fn property(&self, property: PropertyId) -> Option<Column> {
        let kind = self.state.schema.vertex_properties.get(usize::from(property))?.kind;
        Some(column(kind, self.vertices.iter().map(|&vertex| self.state.property(vertex, property))))
    }

    fn keys(&self) -> Option<Column> {
        let keys = self.vertices.iter().map(|&vertex| match self.state.names.key(vertex) {
            evergraph_types::Key::Int(number) => Value::Int(number),
            evergraph_types::Key::Text(text) => Value::Text(text),
        });
        let keys: Vec<Value> = keys.collect();
        let kind = keys.first().and_then(Value::property_type)?;
        Some(column(kind, keys.into_iter()))
    }

    fn types(&self) -> Vec<u16> {
        self.vertices.iter().map(|&vertex| self.state.label(vertex)).collect()
    }

    fn may_lack_type(&self) -> bool {
        true
    }
}

/// One edge, by its values.
struct EdgeRow<'a> {
    values: &'a [Value],
    edge_type: EdgeTypeId,
}

impl Rows for EdgeRow<'_> {
    fn len(&self) -> usize {
        1
    }

    fn property(&self, property: PropertyId) -> Option<Column> {
        let value = self.values.get(usize::from(property))?;
        let kind = value.property_type().unwrap_or(PropertyType::Bool);
        Some(column(kind, std::iter::once(value.clone())))
    }

    fn keys(&self) -> Option<Column> {
        None
    }

    fn types(&self) -> Vec<u16> {
        vec![self.edge_type]
    }

    fn may_lack_type(&self) -> bool {
        false
    }
}

fn column(kind: PropertyType, values: impl Iterator<Item = Value>) -> Column {
    let mut column = Column::new(kind);
    for value in values {
        if column.push(value).is_err() {
            column.push_nulls(1);
        }
    }
    column
}
