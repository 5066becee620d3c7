//! Changes to a schema: declared types, and what the first use of a name infers.

use evergraph_types::{
    CellValue, EdgeType, EdgeTypeOptions, KeyKind, KeyRef, MAX_TEXT_BYTES, MAX_VERTICES, Property,
    PropertyId, PropertyType, Schema, SchemaError, TextValues, Value, VertexTypeId, shown,
};

/// The most types, and properties of vertices: their ids have 16 bits, one of them kept back.
const MAX_NAMES: usize = 1 << 15;
/// The most properties of an edge type: the row of one edge, with as many of the longest strings, has less than 4 GiB.
const MAX_EDGE_PROPERTIES: usize = 4_000;
const EDGE_PROPERTIES: &str = "properties of an edge type (those that were dropped count)";
const MAX_NAME_CHARS: usize = 255;

/// Whether a key fits the store's kind of keys.
pub(crate) fn check_key(schema: &Schema, key: KeyRef<'_>) -> Result<(), SchemaError> {
    if let KeyRef::Text(text) = key {
        check_text_length(text.len(), || "the vertex key".to_owned())?;
    }
    match (schema.key_kind, key) {
        (None, _) | (Some(KeyKind::Int64), KeyRef::Int(_)) | (Some(KeyKind::Text), KeyRef::Text(_)) => Ok(()),
        (Some(KeyKind::Dense), KeyRef::Int(number)) if (0..MAX_VERTICES as i64).contains(&number) => Ok(()),
        (Some(KeyKind::Dense), KeyRef::Int(_)) => {
            Err(SchemaError::DenseRange { key: key.to_string(), max: MAX_VERTICES - 1 })
        }
        (Some(expected), _) => Err(SchemaError::KeyKind { key: key.to_string(), expected }),
    }
}

/// Fixes the kind of keys by the first key, unless it is fixed; `wanted` is the kind the store was opened for.
pub(crate) fn infer_key_kind(
    schema: &mut Schema,
    key: KeyRef<'_>,
    wanted: Option<KeyKind>,
) -> Result<(), SchemaError> {
    let natural = match key {
        KeyRef::Int(_) => KeyKind::Int64,
        KeyRef::Text(_) => KeyKind::Text,
    };
    schema.key_kind.get_or_insert(wanted.unwrap_or(natural));
    check_key(schema, key)
}

pub(crate) fn check_name(name: &str) -> Result<(), SchemaError> {
    let usable =
        !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS && !name.chars().any(char::is_control);
    if usable { Ok(()) } else { Err(SchemaError::BadName { name: name.to_owned() }) }
}

/// Whether a string of so many bytes may be kept.
pub(crate) fn check_text_length(found: usize, name: impl FnOnce() -> String) -> Result<(), SchemaError> {
    let max = MAX_TEXT_BYTES;
    if found <= max { Ok(()) } else { Err(SchemaError::TextLength { name: name(), found, max }) }
}

/// Whether every string of a column may be kept; `name` names one by its row.
pub(crate) fn check_text_lengths(
    texts: &TextValues,
    name: impl Fn(usize) -> String,
) -> Result<(), SchemaError> {
    if texts.bytes.len() <= MAX_TEXT_BYTES {
        return Ok(());
    }
    let lengths = texts.offsets.windows(2).map(|bounds| (bounds[1] - bounds[0]) as usize);
    lengths.enumerate().try_for_each(|(row, length)| check_text_length(length, || name(row)))
}

pub(crate) fn check_room(count: usize, max: usize, what: &'static str) -> Result<(), SchemaError> {
    if count < max { Ok(()) } else { Err(SchemaError::Limit { what, max: max as u64 }) }
}

/// Declares an edge type; it may exist with the same options, and properties beyond those listed. A `time` property
/// that is not listed is added.
pub(crate) fn create_edge_type(
    schema: &mut Schema,
    name: &str,
    mut options: EdgeTypeOptions,
) -> Result<(), SchemaError> {
    check_name(name)?;
    options.properties.iter().try_for_each(|property| check_name(&property.name))?;
    if let Some(time) = &options.time
        && !options.properties.iter().any(|property| property.name == *time)
    {
        options.properties.push(Property { name: time.clone(), kind: PropertyType::Timestamp });
    }
    if let Some((_, existing)) = schema.edge_type(name) {
        let known = &existing.options;
        for wanted in &options.properties {
            if let Some((_, found)) =
                existing.property(&wanted.name).filter(|(_, found)| found.kind != wanted.kind)
            {
                return Err(property_exists(name, found, wanted.kind));
            }
        }
        if !known.has_lists_like(&options) || known.time != options.time {
            return Err(known.exists(name, &options));
        }
        let missing = options.properties.iter().find(|property| !known.properties.contains(property));
        let missing = missing.map(|property| property.name.clone());
        return missing
            .map_or(Ok(()), |name| Err(SchemaError::PropertyMissing { owner: existing.name.clone(), name }));
    }
    for (position, property) in options.properties.iter().enumerate() {
        if options.properties[..position].iter().any(|earlier| earlier.name == property.name) {
            return Err(SchemaError::Twice { name: property.name.clone() });
        }
    }
    let is_time = |property: &&Property| options.time.as_ref() == Some(&property.name);
    if let Some(time) = options.properties.iter().find(is_time).filter(|time| !can_be_time(time.kind)) {
        let (owner, name) = (name.to_owned(), time.name.clone());
        return Err(SchemaError::TimeType { owner, name, found: time.kind });
    }
    check_room(schema.edge_types.len(), MAX_NAMES, "edge types (those that were dropped count)")?;
    check_room(options.properties.len(), MAX_EDGE_PROPERTIES + 1, EDGE_PROPERTIES)?;
    schema.edge_types.push(EdgeType { name: name.to_owned(), options });
    Ok(())
}

fn property_exists(owner: &str, found: &Property, wanted: PropertyType) -> SchemaError {
    let (owner, name) = (owner.to_owned(), found.name.clone());
    SchemaError::PropertyExists { owner, name, found: found.kind, wanted }
}

/// Whether values of a type are in an order as times are.
fn can_be_time(kind: PropertyType) -> bool {
    kind.is_number() || kind == PropertyType::Timestamp || kind == PropertyType::Date
}

/// Makes sure of an edge type that behaves like this: made if there is none, properties included.
pub(crate) fn ensure_edge_type_like(
    schema: &mut Schema,
    name: &str,
    wanted: &EdgeTypeOptions,
) -> Result<(), SchemaError> {
    match schema.edge_type(name) {
        None => create_edge_type(schema, name, wanted.clone()),
        Some((_, existing)) if existing.options.behaves_like(wanted) => Ok(()),
        Some((_, existing)) => Err(existing.options.exists(name, wanted)),
    }
}

/// Declares a vertex type and properties of vertices; both may exist, with the same types.
pub(crate) fn create_vertex_type(
    schema: &mut Schema,
    name: &str,
    properties: &[(&str, PropertyType)],
) -> Result<(), SchemaError> {
    ensure_vertex_type(schema, name)?;
    for (property, kind) in properties {
        match schema.vertex_property(property) {
            Some((_, existing)) if existing.kind == *kind => {}
            Some((_, existing)) => return Err(property_exists("vertex", existing, *kind)),
            None => add_vertex_property(schema, property, *kind).map(drop)?,
        }
    }
    Ok(())
}

/// The id of a vertex type, added if there is none of this name.
pub(crate) fn ensure_vertex_type(schema: &mut Schema, name: &str) -> Result<VertexTypeId, SchemaError> {
    if let Some(id) = schema.vertex_type(name) {
        return Ok(id);
    }
    check_name(name)?;
    check_room(schema.vertex_types.len(), MAX_NAMES, "vertex types (those that were dropped count)")?;
    schema.vertex_types.push(name.to_owned());
    Ok(schema.vertex_types.len() as VertexTypeId)
}

pub(crate) fn add_vertex_property(
    schema: &mut Schema,
    name: &str,
    kind: PropertyType,
) -> Result<PropertyId, SchemaError> {
    check_name(name)?;
    check_room(
        schema.vertex_properties.len(),
        MAX_NAMES,
        "properties of vertices (those that were dropped count)",
    )?;
    schema.vertex_properties.push(Property { name: name.to_owned(), kind });
    Ok(schema.vertex_properties.len() as PropertyId - 1)
}

/// Whether a vertex type and properties of vertices were declared.
pub(crate) fn require_vertex_names<'a>(
    schema: &Schema,
    vertex_type: Option<&str>,
    mut properties: impl Iterator<Item = &'a str>,
) -> Result<(), SchemaError> {
    if let Some(name) = vertex_type.filter(|name| schema.vertex_type(name).is_none()) {
        let known = schema.live_vertex_types().map(|(_, name)| name.to_owned()).collect();
        return Err(SchemaError::UnknownVertexType { name: name.to_owned(), known });
    }
    properties.find(|name| schema.vertex_property(name).is_none()).map_or(Ok(()), |name| {
        let known = schema.live_vertex_properties().map(|(_, property)| property.name.clone()).collect();
        Err(SchemaError::UnknownProperty { owner: "vertex".to_owned(), name: name.to_owned(), known })
    })
}

/// Whether an edge type and properties of its edges were declared.
pub(crate) fn require_edge_names<'a>(
    schema: &Schema,
    edge_type: &str,
    mut properties: impl Iterator<Item = &'a str>,
) -> Result<(), SchemaError> {
    let (_, owner) = schema.require_edge_type(edge_type)?;
    properties.try_for_each(|name| check_property(owner, name).map(drop))
}

/// The type that a new property has by its first value; none by null, which declares nothing.
fn infer_type(owner: &str, name: &str, value: &Value) -> Result<Option<PropertyType>, SchemaError> {
    let (owner, name) = (owner.to_owned(), name.to_owned());
    match value.type_told() {
        None if *value != Value::Null => Err(SchemaError::Untyped { owner, name, found: shown(value) }),
        // The type of a list whose items agree on none is one that they do not fit.
        Some(kind) if value.clone().coerce(kind).is_err() => {
            Err(SchemaError::MixedList { owner, name, found: shown(value) })
        }
        kind => Ok(kind),
    }
}

/// Makes sure of a vertex property: added with the type of `value`, if that is not null and there is none of this name.
pub(crate) fn infer_vertex_property(
    schema: &mut Schema,
    name: &str,
    value: &Value,
) -> Result<(), SchemaError> {
    if schema.vertex_property(name).is_none()
        && let Some(kind) = infer_type("vertex", name, value)?
    {
        add_vertex_property(schema, name, kind)?;
    }
    Ok(())
}

/// Makes sure of an edge type with these properties, but for those that are null: a type first seen becomes a `simple`,
/// directed one.
pub(crate) fn infer_edge_type(
    schema: &mut Schema,
    name: &str,
    properties: &[(&str, Value)],
) -> Result<(), SchemaError> {
    let is_known =
        |property: &str| schema.edge_type(name).is_some_and(|(_, owner)| owner.property(property).is_some());
    let mut typed = Vec::with_capacity(properties.len());
    for (property, value) in properties.iter().filter(|(property, _)| !is_known(property)) {
        typed.extend(infer_type(name, property, value)?.map(|kind| (*property, kind)));
    }
    ensure_edge_type(schema, name, typed)
}

/// Makes sure of an edge type that has at least these properties, adding what is missing.
pub(crate) fn ensure_edge_type<'a>(
    schema: &mut Schema,
    name: &str,
    properties: impl IntoIterator<Item = (&'a str, PropertyType)>,
) -> Result<(), SchemaError> {
    if schema.edge_type(name).is_none() {
        create_edge_type(schema, name, EdgeTypeOptions::default())?;
    }
    for (property, kind) in properties {
        let (_, owner) = schema.require_edge_type(name)?;
        if owner.property(property).is_none() {
            add_edge_property(schema, name, property, kind)?;
        }
    }
    Ok(())
}

/// Adds a property that the edge type does not have.
pub(crate) fn add_edge_property(
    schema: &mut Schema,
    edge_type: &str,
    name: &str,
    kind: PropertyType,
) -> Result<(), SchemaError> {
    let (id, _) = schema.require_edge_type(edge_type)?;
    let properties = &mut schema.edge_types[usize::from(id)].options.properties;
    check_name(name)?;
    check_room(properties.len(), MAX_EDGE_PROPERTIES, EDGE_PROPERTIES)?;
    properties.push(Property { name: name.to_owned(), kind });
    Ok(())
}

/// The id and type of a property of an edge type.
pub(crate) fn check_property(
    owner: &EdgeType,
    name: &str,
) -> Result<(PropertyId, PropertyType), SchemaError> {
    match owner.property(name) {
        Some((id, property)) => Ok((id, property.kind)),
        None => Err(SchemaError::UnknownProperty {
            owner: owner.name.clone(),
            name: name.to_owned(),
            known: owner.properties().map(|(_, property)| property.name.clone()).collect(),
        }),
    }
}

/// A value as a property of this type, if it fits.
pub(crate) fn coerce(
    owner: &str,
    name: &str,
    expected: PropertyType,
    value: Value,
) -> Result<Value, SchemaError> {
    let value = value.coerce(expected).map_err(|value| SchemaError::PropertyType {
        owner: owner.to_owned(),
        name: name.to_owned(),
        row: None,
        expected,
        found: value.misfit(expected),
    })?;
    if let Some(CellValue::Bytes(bytes)) = value.cell(expected) {
        check_text_length(bytes.len(), || format!("property {name:?} of {owner}"))?;
    }
    Ok(value)
}
