//! Which views a change concerns: members turned round (`sets.rs`), and predicates by the properties they look at.
//!
//! ```text
//!  vertex changed ─► its set before ─► predicates that look at what changed, over all changed vertices at once ─► its set
//!  edge changed   ─► a view was given it? ─► the sets of its ends    (`ends.rs`)
//!                 ─► the sets of its ends, in common ─► rule of the view, before and after
//!  schema altered ─► views whose predicate is another one now, or may find others, over all vertices
//!  told           ─► of those only the views whose handlers want to be told of that: one more set in common
//! ```
//!
//! A vertex that comes or goes without having changed itself is told of behind those that changed, and before edges: how many
//! there are is a matter of the view, so that the place of each event is the same whatever other views there are.
//!
//! Invariant: between commits, the set of a vertex holds exactly the classes whose members it is one of, and any of
//! classes that are gone.

use std::collections::BTreeSet;
use std::sync::Arc;

use evergraph_types::{Column, EdgeTypeId, PropertyId, PropertyType, Schema, Value, VertexId};
use hashbrown::HashMap;
use roaring::RoaringBitmap;

use super::change::{Changes, VertexChange};
use super::ends::{Ends, Pairs};
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
    /// Vertices given as members, existing or not.
    explicit: Option<RoaringBitmap>,
    /// Where edges were given.
    ends: Option<Ends>,
}

impl Class {
    /// The edges it was given.
    fn given(&self) -> Option<&Pairs> {
        match &self.definition.edges {
            Some(EdgeSelection::Members(given)) => Some(given),
            _ => None,
        }
    }

    /// Whether an existing vertex is a member, whatever a predicate says.
    fn names(&self, vertex: VertexId) -> bool {
        self.explicit.as_ref().is_some_and(|explicit| explicit.contains(vertex))
            || self.ends.as_ref().is_some_and(|ends| ends.contains(vertex))
    }

    /// The vertices it has in a state.
    fn members(&self, state: &State) -> RoaringBitmap {
        let mut members = self.test.as_ref().map_or_else(RoaringBitmap::new, |test| members_of(test, state));
        members.extend(self.explicit.iter().flatten().filter(|&vertex| state.exists(vertex)));
        members.extend(self.ends.iter().flat_map(Ends::vertices));
        members
    }
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
    /// Edges that some view was given, also of views that are gone.
    given: Pairs,
    /// Views whose members are to be looked for anew.
    altered: Vec<ClassId>,
    /// How often the schema was altered.
    alterations: u64,
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
        let explicit = match &definition.vertices {
            Some(VertexSelection::Members(members)) => Some(members.clone()),
            _ => None,
        };
        let is_alone =
            definition.vertices.is_none() && matches!(definition.edges, Some(EdgeSelection::Where(_)));
        let ends = match &definition.edges {
            Some(EdgeSelection::Members(given)) => {
                for (edge_type, pairs) in given {
                    *self.given.entry(*edge_type).or_default() |= pairs;
                }
                Some(Ends::of(given, state))
            }
            _ => None,
        };
        self.classes.push(Some(Class { definition, wanted, test: None, edge_tests: None, explicit, ends }));
        if let Err(error) = self.bind(class, &state.schema) {
            self.classes.pop();
            return Err(error);
        }
        self.look_up();
        if is_alone {
            self.edges_alone.push(class);
        }
        let members = self.classes.last().and_then(Option::as_ref).map(|found| found.members(state));
        let members = members.unwrap_or_default();
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
            self.given.clear();
            for (edge_type, pairs) in self.classes.iter().flatten().filter_map(Class::given).flatten() {
                *self.given.entry(*edge_type).or_default() |= pairs;
            }
            while self.classes.pop_if(|last| last.is_none()).is_some() {}
            self.num_gone = self.classes.iter().filter(|class| class.is_none()).count();
        }
    }

    /// Fits all views to another schema; gives those that no longer do.
    pub(crate) fn set_schema(&mut self, schema: &Schema) -> Vec<(ClassId, EvaluateError)> {
        let is_altered = schema.alterations != self.alterations;
        let mut misfits = Vec::new();
        for class in 0..self.classes.len() as ClassId {
            let before = self.classes[class as usize].as_ref().and_then(|found| found.test.clone());
            if let Err(error) = self.bind(class, schema) {
                misfits.push((class, error));
                continue;
            }
            let Some(found) = &self.classes[class as usize] else { continue };
            let may_differ = is_altered && (found.test.is_some() || found.ends.is_some());
            if may_differ || found.test != before {
                self.altered.push(class);
            }
        }
        self.look_up();
        misfits
    }

    fn bind(&mut self, class: ClassId, schema: &Schema) -> Result<(), EvaluateError> {
        self.symmetric = schema.edge_types.iter().map(|kind| kind.options.symmetric).collect();
        self.alterations = schema.alterations;
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

    /// Whom the changes of a commit concern, `state` being that after it. Takes the changes in, and adds the vertices that come
    /// and go with something else.
    pub(crate) fn concerns(&mut self, changes: &mut Changes, state: &State) -> Vec<Concern> {
        self.forget_sets();
        let touched = changes.vertices.len();
        let before = self.update(changes, state);
        let mut concerns = Vec::new();
        let mut index = 0;
        for (position, change) in changes.vertices[..touched].iter().enumerate() {
            let (old, new) = (before.get(&change.vertex).copied(), self.set_of(change.vertex));
            let old = old.unwrap_or(new);
            let kind = EventKind::Vertex;
            if old != new {
                let told = self.told_of_vertices();
                let [old, new] = [old, new].map(|set| self.sets.intersection(set, told));
                let turns = self.turns(old, new).into_iter();
                concerns.extend(turns.map(|(class, what)| Concern { class, what, kind, position, index }));
            }
            index += 1;
            let stayed = if change.properties.is_empty() { 0 } else { self.sets.intersection(old, new) };
            for (at, (property, ..)) in change.properties.iter().enumerate() {
                let told = self.told_of_property(*property, &state.schema);
                let told = self.sets.intersection(stayed, told);
                let what = What::Property(at);
                let members = self.sets.members(told).iter();
                concerns.extend(members.map(|&class| Concern { class, what, kind, position, index }));
                index += 1;
            }
        }
        let along = self.brought_along(changes, touched, &before, index, &mut concerns);
        for (position, change) in changes.edges.iter().enumerate() {
            let was = |vertex: VertexId| before.get(&vertex).copied().unwrap_or_else(|| self.set_of(vertex));
            let (src, dst) = (was(change.src), was(change.dst));
            let old = if change.before.is_some() { self.sets.intersection(src, dst) } else { 0 };
            let (src, dst) = (self.set_of(change.src), self.set_of(change.dst));
            let new = if change.after.is_some() { self.sets.intersection(src, dst) } else { 0 };
            let told = self.told_of_edges(&state.schema);
            let [old, new] = [old, new].map(|set| self.sets.intersection(set, told));
            let from = concerns.len();
            let properties = self.edge_concerns(changes, position, (old, new), index, &mut concerns);
            let shift = |concern: &mut Concern| concern.index += along.get(&concern.class).unwrap_or(&0);
            concerns[from..].iter_mut().for_each(shift);
            index += 1 + properties;
        }
        concerns
    }

    /// The views that have come to a vertex, and those that have gone from it.
    fn turns(&self, old: SetId, new: SetId) -> Vec<(ClassId, What)> {
        let (old, new) = (self.sets.members(old), self.sets.members(new));
        let only = |all: &[ClassId], others: &[ClassId], what| {
            let without = all.iter().filter(|class| others.binary_search(class).is_err());
            without.map(|class| (*class, what)).collect::<Vec<_>>()
        };
        [only(new, old, What::Added), only(old, new, What::Removed)].concat()
    }

    /// Whom the vertices from `touched` on concern, which come and go without having changed; gives how many there are for
    /// each view.
    fn brought_along(
        &mut self,
        changes: &Changes,
        touched: usize,
        before: &HashMap<VertexId, SetId>,
        index: u32,
        concerns: &mut Vec<Concern>,
    ) -> HashMap<ClassId, u32> {
        let mut counts = HashMap::new();
        for (position, change) in changes.vertices.iter().enumerate().skip(touched) {
            let new = self.set_of(change.vertex);
            let old = before.get(&change.vertex).copied().unwrap_or(new);
            let told = self.told_of_vertices();
            for (class, what) in self.turns(old, new) {
                let count: &mut u32 = counts.entry(class).or_default();
                let index = index + *count;
                *count += 1;
                if self.sets.members(told).binary_search(&class).is_ok() {
                    concerns.push(Concern { class, what, kind: EventKind::Vertex, position, index });
                }
            }
        }
        counts
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

    /// Brings the sets of all vertices up to date; gives what they were before. Those that come or go without having changed
    /// are added to the changes.
    fn update(&mut self, changes: &mut Changes, state: &State) -> HashMap<VertexId, SetId> {
        let mut before = HashMap::new();
        let mut to_test: HashMap<ClassId, Vec<VertexId>> = HashMap::new();
        let mut turned = self.turned_ends(changes, state);
        turned.extend(self.turned_by_schema(state));
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
                let named = |class: &Option<Class>| class.as_ref().is_some_and(|class| class.names(vertex));
                let named: Vec<ClassId> =
                    (0..).zip(&self.classes).filter(|(_, class)| named(class)).map(|(id, _)| id).collect();
                named.into_iter().for_each(|class| self.set_member(vertex, class, true));
            }
        }
        for &(vertex, class) in &turned {
            if !before.contains_key(&vertex) {
                before.insert(vertex, self.set_of(vertex));
                let (existed, exists) = (true, true);
                let change = VertexChange { vertex, existed, exists, typed: false, properties: Vec::new() };
                changes.vertices.push(change);
            }
            if state.exists(vertex) {
                to_test.entry(class).or_default().push(vertex);
            }
        }
        to_test.into_iter().for_each(|(class, vertices)| self.test(class, &vertices, state));
        before
    }

    /// Finds out which of some vertices a view has.
    fn test(&mut self, class: ClassId, vertices: &[VertexId], state: &State) {
        let Some(Some(found)) = self.classes.get(class as usize) else { return };
        let mut are_in = match &found.test {
            Some(test) => holds(test, &StateRows { state, vertices }),
            None => vec![false; vertices.len()],
        };
        are_in.iter_mut().zip(vertices).for_each(|(is_in, vertex)| *is_in |= found.names(*vertex));
        for (vertex, is_in) in vertices.iter().zip(are_in) {
            self.set_member(*vertex, class, is_in);
        }
    }

    /// The vertices that become an end of an edge that a view was given, or are one no longer, in order and each with the view.
    fn turned_ends(&mut self, changes: &Changes, state: &State) -> BTreeSet<(VertexId, ClassId)> {
        let mut turned = BTreeSet::new();
        for change in &changes.edges {
            let edge_type = change.edge_type;
            let symmetric = self.symmetric.get(usize::from(edge_type)) == Some(&true);
            let pair = pair(symmetric, change.src, change.dst);
            let is_among = |given: &Pairs| given.get(&edge_type).is_some_and(|pairs| pairs.contains(pair));
            if !is_among(&self.given) {
                continue;
            }
            let is_there = state.has_edge(edge_type, change.src, change.dst);
            for (class, found) in (0..).zip(&mut self.classes) {
                let Some(found) = found.as_mut().filter(|found| found.given().is_some_and(is_among)) else {
                    continue;
                };
                let ends = found.ends.iter_mut().flat_map(|ends| ends.note(edge_type, pair, is_there));
                turned.extend(ends.map(|vertex| (vertex, class)));
            }
        }
        turned
    }

    /// The vertices that come to a view or leave it since the schema was altered, each with the view.
    fn turned_by_schema(&mut self, state: &State) -> Vec<(VertexId, ClassId)> {
        let mut turned = Vec::new();
        for class in std::mem::take(&mut self.altered) {
            let Some(Some(found)) = self.classes.get_mut(class as usize) else { continue };
            found.ends.iter_mut().for_each(|ends| ends.fit(&state.schema));
            let differ = found.members(state) ^ self.members_before(class);
            turned.extend(differ.into_iter().map(|vertex| (vertex, class)));
        }
        turned
    }

    /// The vertices whose sets hold a view.
    fn members_before(&self, class: ClassId) -> RoaringBitmap {
        match &self.by_vertex {
            SetsOfVertices::One(members) => members.clone(),
            SetsOfVertices::Many(by_vertex) => {
                let holds = |set: &Arc<[ClassId]>| set.binary_search(&class).is_ok();
                let holding: Vec<bool> =
                    (0..self.sets.len() as SetId).map(|set| holds(self.sets.members(set))).collect();
                let ids = (0..).zip(by_vertex).filter(|(_, set)| holding[**set as usize]);
                ids.map(|(vertex, _): (VertexId, _)| vertex).collect()
            }
        }
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
    let mut members = vertices_where(test, state.base().0, &state.schema);
    let touched: Vec<VertexId> = state.touched().collect();
    for &vertex in &touched {
        members.remove(vertex);
    }
    let here: Vec<VertexId> = touched.into_iter().filter(|&vertex| state.exists(vertex)).collect();
    let found = holds(test, &StateRows { state, vertices: &here });
    members.extend(here.into_iter().zip(found).filter(|(_, is_in)| *is_in).map(|(vertex, _)| vertex));
    members
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
