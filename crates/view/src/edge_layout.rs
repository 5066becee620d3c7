//! Which columns a table of edges has besides their ends.
//!
//! A property is a column of its own name, shared by the edge types that have it. Where that cannot be, because two of
//! the types give one name to properties of different types, or because the name is taken by another column of the
//! table, it is a column `<edge type>.<name>`.
//!
//! Invariant: names are unique.

use std::collections::HashSet;

use evergraph_types::{EdgeType, EdgeTypeId, PropertyId, PropertyType};

use crate::selection::Selection;

/// The column of source keys.
pub(crate) const SRC: &str = "src";
/// The column of destination keys.
pub(crate) const DST: &str = "dst";
/// The column of edge types, or of vertex types.
pub(crate) const TYPE: &str = "type";

/// The columns of edges of the selected types.
#[derive(Debug)]
pub(crate) struct EdgeLayout {
    /// Whether there is a column of edge types: if more than one is selected.
    pub(crate) has_type: bool,
    pub(crate) properties: Vec<PropertyColumn>,
}

/// A column and the properties it shows.
#[derive(Debug)]
pub(crate) struct PropertyColumn {
    pub(crate) name: String,
    pub(crate) kind: PropertyType,
    sources: Vec<(EdgeTypeId, PropertyId)>,
}

impl PropertyColumn {
    /// The property of an edge type that this column shows.
    pub(crate) fn property(&self, edge_type: EdgeTypeId) -> Option<PropertyId> {
        self.sources.iter().find(|(source, _)| *source == edge_type).map(|(_, property)| *property)
    }
}

impl EdgeLayout {
    pub(crate) fn new(selection: &Selection) -> Self {
        Self::of_types(&selection.edge_types().collect::<Vec<_>>())
    }

    pub(crate) fn of_types(types: &[(EdgeTypeId, &EdgeType)]) -> Self {
        let has_type = types.len() > 1;
        let reserved = |name: &str| name == SRC || name == DST || has_type && name == TYPE;
        let agreed = |name: &str, kind: PropertyType| {
            let mut others = types.iter().filter_map(|(_, other)| other.property(name));
            !reserved(name) && others.all(|(_, other)| other.kind == kind)
        };
        let all = || types.iter().flat_map(|(_, kind)| kind.properties().map(|(_, property)| property));
        let plain = all().filter(|property| agreed(&property.name, property.kind));
        let mut taken: HashSet<String> = plain.map(|property| property.name.clone()).collect();
        let mut properties: Vec<PropertyColumn> = Vec::new();
        for &(edge_type, owner) in types {
            for (id, property) in owner.properties() {
                let mut name = property.name.clone();
                if agreed(&name, property.kind) {
                    if let Some(shared) = properties.iter_mut().find(|column| column.name == name) {
                        shared.sources.push((edge_type, id));
                        continue;
                    }
                } else {
                    name = format!("{}.{name}", owner.name);
                    while reserved(&name) || !taken.insert(name.clone()) {
                        name = format!("{}.{name}", owner.name);
                    }
                }
                properties.push(PropertyColumn { name, kind: property.kind, sources: vec![(edge_type, id)] });
            }
        }
        EdgeLayout { has_type, properties }
    }
}
