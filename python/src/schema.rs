//! The schema between Python and Rust: names of types, and the options of edge and vertex types.

use evergraph::{
    Alteration, EdgeTypeOptions, KeyKind, Property, PropertyId, PropertyOwner, PropertyType, Schema,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::key::type_name;

/// The property type of this name.
pub(crate) fn property_type(name: &str) -> PyResult<PropertyType> {
    PropertyType::from_name(name).ok_or_else(|| {
        let known = PropertyType::known_names();
        PyValueError::new_err(format!("{name:?} is no property type; there are {known}"))
    })
}

/// The type of a property of vertices, or of edges of a type.
pub(crate) fn kind_in(schema: &Schema, edge_type: Option<&str>, name: &str) -> Option<PropertyType> {
    let found = match edge_type {
        None => schema.vertex_property(name),
        Some(edge_type) => schema.edge_type(edge_type)?.1.property(name),
    };
    found.map(|(_, property)| property.kind)
}

/// The kind of keys of this name.
pub(crate) fn key_kind(name: &str) -> PyResult<KeyKind> {
    let kinds = [KeyKind::Int64, KeyKind::Text, KeyKind::Dense];
    kinds.into_iter().find(|kind| kind.to_string() == name).ok_or_else(|| {
        PyValueError::new_err(format!("{name:?} is no kind of vertex keys; there are int64, string, dense"))
    })
}

/// Properties as `{name: type}`, in order.
pub(crate) fn vertex_properties(properties: &Bound<'_, PyDict>) -> PyResult<Vec<(String, PropertyType)>> {
    let pair = |(name, kind): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let Ok(name) = name.extract::<String>() else {
            let message = format!("a property is named by a str, not {}", type_name(&name));
            return Err(PyTypeError::new_err(message));
        };
        let Ok(type_text) = kind.extract::<String>() else {
            let message =
                format!("property {name:?}: its type is a name such as \"int64\", not {}", type_name(&kind));
            return Err(PyTypeError::new_err(message));
        };
        Ok((name, property_type(&type_text)?))
    };
    properties.iter().map(pair).collect()
}

/// The options of an edge type; `traits` are whether it is multi and symmetric and whether it has lists in reverse.
pub(crate) fn edge_type_options(
    properties: &Bound<'_, PyDict>,
    (multi, symmetric, reverse): (bool, bool, bool),
    time: Option<String>,
) -> PyResult<EdgeTypeOptions> {
    let properties = vertex_properties(properties)?;
    let properties = properties.into_iter().map(|(name, kind)| Property { name, kind }).collect();
    Ok(EdgeTypeOptions { multi, symmetric, reverse, time, properties })
}

/// An alteration by its name, as the methods of the package are called. `argument` is the new name or the type.
pub(crate) fn alteration_of(
    action: &str,
    edge_type: Option<String>,
    name: String,
    argument: Option<String>,
) -> PyResult<Alteration> {
    let owner = edge_type.map_or(PropertyOwner::Vertices, PropertyOwner::EdgeType);
    let new_name = argument.unwrap_or_default();
    Ok(match action {
        "add_property" => Alteration::AddProperty { owner, name, kind: property_type(&new_name)? },
        "drop_property" => Alteration::DropProperty { owner, name },
        "rename_property" => Alteration::RenameProperty { owner, name, new_name },
        "drop_edge_type" => Alteration::DropEdgeType { name },
        "rename_edge_type" => Alteration::RenameEdgeType { name, new_name },
        "drop_vertex_type" => Alteration::DropVertexType { name },
        "rename_vertex_type" => Alteration::RenameVertexType { name, new_name },
        other => return Err(PyValueError::new_err(format!("{other:?} is no alteration"))),
    })
}

/// Names of properties and of their types.
type Columns = Vec<(String, &'static str)>;

/// Kind of keys, vertex types, vertex properties, and edge types: name, properties, multi, symmetric, reverse, time.
pub(crate) type Described =
    (Option<String>, Vec<String>, Columns, Vec<(String, Columns, bool, bool, bool, Option<String>)>);

/// A schema without what was dropped.
pub(crate) fn described(schema: &Schema) -> Described {
    fn columns<'a>(properties: impl Iterator<Item = (PropertyId, &'a Property)>) -> Columns {
        properties.map(|(_, property)| (property.name.clone(), property.kind.name())).collect()
    }
    let edge_types = schema.live_edge_types().map(|(_, kind)| {
        let options = &kind.options;
        let name = kind.name.clone();
        (
            name,
            columns(kind.properties()),
            options.multi,
            options.symmetric,
            options.reverse,
            options.time.clone(),
        )
    });
    (
        schema.key_kind.map(|kind| kind.to_string()),
        schema.live_vertex_types().map(|(_, name)| name.to_owned()).collect(),
        columns(schema.live_vertex_properties()),
        edge_types.collect(),
    )
}
