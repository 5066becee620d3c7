//! A store as ordered maps, too simple to be wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evergraph_types::{EdgeTypeOptions, Key, Value};

use super::{Dump, Props};

/// A vertex.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct VertexModel {
    pub(crate) vertex_type: Option<String>,
    pub(crate) properties: Props,
}

/// An edge type with its edges.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EdgeModel {
    pub(crate) multi: bool,
    pub(crate) symmetric: bool,
    pub(crate) properties: BTreeSet<String>,
    /// The edges between two ends, the smaller first in symmetric types, each with when it came.
    pub(crate) edges: BTreeMap<(Key, Key), Vec<(u64, Props)>>,
}

/// The whole state; a clone shares what neither changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) vertices: Arc<BTreeMap<Key, VertexModel>>,
    pub(crate) vertex_properties: BTreeSet<String>,
    pub(crate) types: BTreeMap<String, Arc<EdgeModel>>,
    arrivals: u64,
}

/// Sets what is given and takes away what is given as null.
fn overlay(properties: &mut Props, given: &[(&str, Value)]) {
    for (name, value) in given {
        match value {
            Value::Null => drop(properties.remove(name)),
            value => properties.insert((*name).into(), value.clone()),
        }
    }
}

impl EdgeModel {
    /// How an edge is kept.
    pub(crate) fn ends(&self, src: &Key, dst: &Key) -> (Key, Key) {
        if self.symmetric && dst < src { (dst.clone(), src.clone()) } else { (src.clone(), dst.clone()) }
    }

    /// The properties of each edge between two ends, in order of arrival.
    pub(crate) fn between(&self, src: &Key, dst: &Key) -> Vec<Props> {
        let edges = self.edges.get(&self.ends(src, dst));
        edges.into_iter().flatten().map(|(_, properties)| properties.clone()).collect()
    }

    pub(crate) fn num_edges(&self) -> u64 {
        self.edges.values().map(|edges| edges.len() as u64).sum()
    }

    /// The lists of one direction: by arrival in `multi` types, by neighbor in others.
    pub(crate) fn lists(&self, reverse: bool) -> BTreeMap<Key, Vec<(Key, Props)>> {
        let mut all: Vec<(u64, &Key, &Key, &Props)> = Vec::new();
        for ((src, dst), edges) in &self.edges {
            for (arrival, properties) in edges {
                let (near, far) = if reverse && !self.symmetric { (dst, src) } else { (src, dst) };
                all.push((*arrival, near, far, properties));
                if self.symmetric && src != dst {
                    all.push((*arrival, far, near, properties));
                }
            }
        }
        if self.multi {
            all.sort_by_key(|(arrival, ..)| *arrival);
        } else {
            all.sort_by_key(|(_, _, far, _)| *far);
        }
        let mut lists: BTreeMap<Key, Vec<(Key, Props)>> = BTreeMap::new();
        for (_, near, far, properties) in all {
            lists.entry(near.clone()).or_default().push((far.clone(), properties.clone()));
        }
        lists
    }
}

impl Model {
    fn vertices_mut(&mut self) -> &mut BTreeMap<Key, VertexModel> {
        Arc::make_mut(&mut self.vertices)
    }

    fn type_mut(&mut self, name: &str) -> &mut EdgeModel {
        Arc::make_mut(self.types.entry(name.to_owned()).or_default())
    }

    pub(crate) fn create_edge_type(&mut self, name: &str, options: &EdgeTypeOptions) {
        let kind = self.type_mut(name);
        kind.multi = options.multi;
        kind.symmetric = options.symmetric;
        kind.properties.extend(options.properties.iter().map(|property| property.name.clone()));
    }

    pub(crate) fn put_vertex(&mut self, key: &Key, vertex_type: Option<&str>, given: &[(&str, Value)]) {
        self.vertex_properties.extend(given.iter().map(|(name, _)| (*name).to_owned()));
        let vertex = self.vertices_mut().entry(key.clone()).or_default();
        if let Some(vertex_type) = vertex_type {
            vertex.vertex_type = Some(vertex_type.to_owned());
        }
        overlay(&mut vertex.properties, given);
    }

    pub(crate) fn delete_vertex(&mut self, key: &Key) -> bool {
        for kind in self.types.values_mut() {
            Arc::make_mut(kind).edges.retain(|(src, dst), _| src != key && dst != key);
        }
        self.vertices_mut().remove(key).is_some()
    }

    pub(crate) fn put_edge(&mut self, src: &Key, dst: &Key, edge_type: &str, given: &[(&str, Value)]) {
        for end in [src, dst] {
            self.vertices_mut().entry(end.clone()).or_default();
        }
        self.arrivals += 1;
        let arrival = self.arrivals;
        let kind = self.type_mut(edge_type);
        kind.properties.extend(given.iter().map(|(name, _)| (*name).to_owned()));
        let edges = kind.edges.entry(kind.ends(src, dst)).or_default();
        if kind.multi || edges.is_empty() {
            edges.push((arrival, Props::default()));
        }
        if let Some((_, properties)) = edges.last_mut() {
            overlay(properties, given);
        }
    }

    pub(crate) fn delete_edge(&mut self, src: &Key, dst: &Key, edge_type: &str) -> bool {
        let kind = self.types.get_mut(edge_type).map(Arc::make_mut);
        kind.is_some_and(|kind| kind.edges.remove(&kind.ends(src, dst)).is_some())
    }

    /// Adds a property to an edge type or to vertices; tells whether there was the type, and no such property.
    pub(crate) fn add_property(&mut self, edge_type: Option<&str>, name: &str) -> bool {
        let names = match edge_type {
            None => Some(&mut self.vertex_properties),
            Some(edge_type) => self.types.get_mut(edge_type).map(|kind| &mut Arc::make_mut(kind).properties),
        };
        names.is_some_and(|names| names.insert(name.to_owned()))
    }

    /// Drops a property of an edge type or of vertices; tells whether there was one.
    pub(crate) fn drop_property(&mut self, edge_type: Option<&str>, name: &str) -> bool {
        let Some(edge_type) = edge_type else {
            self.vertices_mut().values_mut().for_each(|vertex| drop(vertex.properties.remove(name)));
            return self.vertex_properties.remove(name);
        };
        let Some(kind) = self.types.get_mut(edge_type).map(Arc::make_mut) else { return false };
        kind.edges.values_mut().flatten().for_each(|(_, properties)| drop(properties.remove(name)));
        kind.properties.remove(name)
    }

    /// Renames a property of an edge type or of vertices; tells whether there was one.
    pub(crate) fn rename_property(&mut self, edge_type: Option<&str>, name: &str, new_name: &str) -> bool {
        let rename = |properties: &mut Props| {
            if let Some(value) = properties.remove(name) {
                properties.insert(new_name.into(), value);
            }
        };
        let names = match edge_type {
            None => {
                self.vertices_mut().values_mut().for_each(|vertex| rename(&mut vertex.properties));
                &mut self.vertex_properties
            }
            Some(edge_type) => {
                let Some(kind) = self.types.get_mut(edge_type).map(Arc::make_mut) else { return false };
                kind.edges.values_mut().flatten().for_each(|(_, properties)| rename(properties));
                &mut kind.properties
            }
        };
        let was_there = names.remove(name);
        names.extend(was_there.then(|| new_name.to_owned()));
        was_there
    }

    /// Takes a type away from the vertices that have it.
    pub(crate) fn drop_vertex_type(&mut self, name: &str) {
        for vertex in self.vertices_mut().values_mut() {
            vertex.vertex_type.take_if(|own| own == name);
        }
    }

    /// What a version of this state shows.
    pub(crate) fn dump(&self) -> Dump {
        let mut dump = Dump { vertices: BTreeMap::clone(&self.vertices), ..Dump::default() };
        for (name, kind) in &self.types {
            dump.edges.insert(name.clone(), kind.num_edges());
            dump.out.insert(name.clone(), kind.lists(false));
            dump.reverse.insert(name.clone(), kind.lists(true));
        }
        dump
    }
}
