//! Alterations of a schema: adding, dropping and renaming properties, dropping and renaming types.
//!
//! ```text
//!  the schema a transaction began with ─► its own   the newest one when it commits
//!           S                              S'       S as it was         S' becomes the schema
//!           S                              S        anything            fine if all that the writes name is still there
//!           S                              S + new  S + other new       fine if ids agree: one of both contains the other
//!           S                              altered  changed             conflict
//!           S                              S + new  altered             conflict
//! ```
//!
//! Ids are positions and stay: what is dropped leaves its place with an empty name. Lists and columns in memory go away
//! with the commit that drops them; those in segments are passed over from then on, and not written again when the
//! segment is merged. The alternative, to rewrite all lists under new ids, would make a commit as long as the store is
//! large, and would have readers of older versions, the log and a backup under way translate ids.
//!
//! Invariant: `succeeds(newer, older)` holds for every two schemas of a store that follow each other.

use evergraph_types::{
    Alteration, EdgeType, EdgeTypeId, EdgeTypeOptions, Property, PropertyId, PropertyOwner, Schema,
    SchemaError, VertexTypeId,
};

use crate::error::SchemaPart;
use crate::transactions::writes::Writes;
use crate::write_sets::schema_change::{add_edge_property, add_vertex_property, check_name, check_property};

/// What an alteration dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    Nothing,
    EdgeType(EdgeTypeId),
    VertexType(VertexTypeId),
    EdgeProperty(EdgeTypeId, PropertyId),
    VertexProperty(PropertyId),
}

/// Alters a schema. After an error it has not changed.
pub(crate) fn alter(schema: &mut Schema, alteration: &Alteration) -> Result<Dropped, SchemaError> {
    let dropped = match alteration {
        Alteration::AddProperty { owner, name, kind } => {
            let taken = property(schema, owner, name).is_ok();
            if taken {
                return Err(SchemaError::NameTaken { what: "property", name: name.clone() });
            }
            match owner {
                PropertyOwner::Vertices => add_vertex_property(schema, name, *kind).map(drop)?,
                PropertyOwner::EdgeType(edge_type) => add_edge_property(schema, edge_type, name, *kind)?,
            }
            // What is new changes nothing about what is there.
            return Ok(Dropped::Nothing);
        }
        Alteration::DropProperty { owner, name } => drop_property(schema, owner, name)?,
        Alteration::RenameProperty { owner, name, new_name } => {
            rename_property(schema, owner, name, new_name)?;
            Dropped::Nothing
        }
        Alteration::DropEdgeType { name } => {
            let (id, _) = schema.require_edge_type(name)?;
            schema.edge_types[usize::from(id)] =
                EdgeType { name: String::new(), options: EdgeTypeOptions::default() };
            Dropped::EdgeType(id)
        }
        Alteration::RenameEdgeType { name, new_name } => {
            let (id, _) = schema.require_edge_type(name)?;
            check_new_name("edge type", new_name, schema.edge_type(new_name).is_some())?;
            new_name.clone_into(&mut schema.edge_types[usize::from(id)].name);
            Dropped::Nothing
        }
        Alteration::DropVertexType { name } => {
            let id = require_vertex_type(schema, name)?;
            schema.vertex_types[usize::from(id) - 1].clear();
            Dropped::VertexType(id)
        }
        Alteration::RenameVertexType { name, new_name } => {
            let id = require_vertex_type(schema, name)?;
            check_new_name("vertex type", new_name, schema.vertex_type(new_name).is_some())?;
            new_name.clone_into(&mut schema.vertex_types[usize::from(id) - 1]);
            Dropped::Nothing
        }
    };
    schema.alterations += 1;
    Ok(dropped)
}

fn check_new_name(what: &'static str, name: &str, taken: bool) -> Result<(), SchemaError> {
    check_name(name)?;
    if taken { Err(SchemaError::NameTaken { what, name: name.to_owned() }) } else { Ok(()) }
}

fn require_vertex_type(schema: &Schema, name: &str) -> Result<VertexTypeId, SchemaError> {
    schema.vertex_type(name).ok_or_else(|| SchemaError::UnknownVertexType {
        name: name.to_owned(),
        known: schema.live_vertex_types().map(|(_, name)| name.to_owned()).collect(),
    })
}

/// A property, and the edge type that has it.
fn property(
    schema: &Schema,
    owner: &PropertyOwner,
    name: &str,
) -> Result<(Option<EdgeTypeId>, PropertyId), SchemaError> {
    match owner {
        PropertyOwner::EdgeType(edge_type) => {
            let (id, kind) = schema.require_edge_type(edge_type)?;
            check_property(kind, name).map(|(property, _)| (Some(id), property))
        }
        PropertyOwner::Vertices => match schema.vertex_property(name) {
            Some((property, _)) => Ok((None, property)),
            None => Err(SchemaError::UnknownProperty {
                owner: owner.to_string(),
                name: name.to_owned(),
                known: schema.live_vertex_properties().map(|(_, property)| property.name.clone()).collect(),
            }),
        },
    }
}

fn drop_property(schema: &mut Schema, owner: &PropertyOwner, name: &str) -> Result<Dropped, SchemaError> {
    let (edge_type, id) = property(schema, owner, name)?;
    let Some(edge_type) = edge_type else {
        schema.vertex_properties[usize::from(id)].name.clear();
        return Ok(Dropped::VertexProperty(id));
    };
    let kind = &mut schema.edge_types[usize::from(edge_type)];
    if kind.options.time.as_deref() == Some(name) {
        return Err(SchemaError::TimeProperty { owner: kind.name.clone(), name: name.to_owned() });
    }
    kind.options.properties[usize::from(id)].name.clear();
    Ok(Dropped::EdgeProperty(edge_type, id))
}

fn rename_property(
    schema: &mut Schema,
    owner: &PropertyOwner,
    name: &str,
    new_name: &str,
) -> Result<(), SchemaError> {
    let (edge_type, id) = property(schema, owner, name)?;
    check_new_name("property", new_name, property(schema, owner, new_name).is_ok())?;
    let Some(edge_type) = edge_type else {
        new_name.clone_into(&mut schema.vertex_properties[usize::from(id)].name);
        return Ok(());
    };
    let options = &mut schema.edge_types[usize::from(edge_type)].options;
    new_name.clone_into(&mut options.properties[usize::from(id)].name);
    if options.time.as_deref() == Some(name) {
        options.time = Some(new_name.to_owned());
    }
    Ok(())
}

/// Whether every id of `older` means the same in `newer`, which may have more.
pub(crate) fn extends(newer: &Schema, older: &Schema) -> bool {
    (older.key_kind.is_none() || older.key_kind == newer.key_kind)
        && newer.alterations == older.alterations
        && newer.vertex_types.starts_with(&older.vertex_types)
        && newer.vertex_properties.starts_with(&older.vertex_properties)
        && older.edge_types.len() <= newer.edge_types.len()
        && older.edge_types.iter().zip(&newer.edge_types).all(|(older, newer)| {
            older.name == newer.name
                && older.options.has_lists_like(&newer.options)
                && older.options.time == newer.options.time
                && newer.options.properties.starts_with(&older.options.properties)
        })
}

/// Whether `newer` may follow `older`: what is new comes last, what is there keeps its type, what was dropped stays so.
pub(crate) fn succeeds(newer: &Schema, older: &Schema) -> bool {
    let same_place = |older: &str, newer: &str| !older.is_empty() || newer.is_empty();
    let properties = |newer: &[Property], older: &[Property]| {
        older.len() <= newer.len()
            && older
                .iter()
                .zip(newer)
                .all(|(older, newer)| same_place(&older.name, &newer.name) && older.kind == newer.kind)
    };
    (older.key_kind.is_none() || older.key_kind == newer.key_kind)
        && older.alterations <= newer.alterations
        && older.vertex_types.len() <= newer.vertex_types.len()
        && older.vertex_types.iter().zip(&newer.vertex_types).all(|(older, newer)| same_place(older, newer))
        && properties(&newer.vertex_properties, &older.vertex_properties)
        && older.edge_types.len() <= newer.edge_types.len()
        && older.edge_types.iter().zip(&newer.edge_types).all(|(older, newer)| {
            let same_lists = older.options.has_lists_like(&newer.options)
                && properties(&newer.options.properties, &older.options.properties);
            same_place(&older.name, &newer.name) && (newer.is_dropped() || same_lists)
        })
}

/// What `newer` has beyond `older`, and what it has no longer, or under another name.
pub(crate) fn changed_parts(older: &Schema, newer: &Schema) -> Vec<SchemaPart> {
    let mut parts = Vec::new();
    if older.key_kind != newer.key_kind {
        parts.push(SchemaPart::Keys);
    }
    let names = changed_names(&older.vertex_types, &newer.vertex_types, |name| name);
    parts.extend(names.map(|name| SchemaPart::VertexType { name }));
    let names = changed_names(&older.edge_types, &newer.edge_types, |kind| &kind.name);
    parts.extend(names.map(|name| SchemaPart::EdgeType { name }));
    let property = |owner: PropertyOwner| move |name| SchemaPart::Property { owner: owner.clone(), name };
    let names = changed_names(&older.vertex_properties, &newer.vertex_properties, |property| &property.name);
    parts.extend(names.map(property(PropertyOwner::Vertices)));
    for (older, newer) in
        older.edge_types.iter().zip(&newer.edge_types).filter(|(_, newer)| !newer.is_dropped())
    {
        let (before, after) = (&older.options.properties, &newer.options.properties);
        let names = changed_names(before, after, |property| &property.name);
        parts.extend(names.map(property(PropertyOwner::EdgeType(older.name.clone()))));
    }
    parts
}

/// The names that are not in the same place as before: by the older one, if there was one.
fn changed_names<'a, T>(
    older: &'a [T],
    newer: &'a [T],
    name: impl Fn(&'a T) -> &'a String,
) -> impl Iterator<Item = String> {
    newer.iter().enumerate().filter_map(move |(position, item)| {
        let (before, after) = (older.get(position).map(&name), name(item));
        let named = before.unwrap_or(after);
        // What came and went meanwhile has no name.
        (before != Some(after) && !named.is_empty()).then(|| named.clone())
    })
}

/// Whether all types and properties that the writes name are in the schema, not dropped.
pub(crate) fn still_there(writes: &Writes, schema: &Schema) -> bool {
    let is_there = |properties: &[Property], id: PropertyId| {
        properties.get(usize::from(id)).is_some_and(|property| !property.is_dropped())
    };
    let vertices =
        writes.vertices.iter().filter_map(|(_, write)| write.put.as_ref()).all(|(label, given)| {
            label.is_none_or(|label| label == 0 || schema.vertex_type_name(label).is_some())
                && given.iter().all(|(id, _)| is_there(&schema.vertex_properties, *id))
        });
    vertices
        && writes.edges.iter().all(|(edge_type, edges)| {
            let mut live = edges.writes.iter().filter(|write| !write.dead).peekable();
            live.peek().is_none()
                || schema.edge_types.get(usize::from(*edge_type)).is_some_and(|kind| {
                    let properties = &kind.options.properties;
                    !kind.is_dropped()
                        && live.flat_map(|write| edges.given(write)).all(|(id, _)| is_there(properties, *id))
                })
        })
}

/// Takes what was dropped out of writes made before.
pub(crate) fn forget(writes: &mut Writes, dropped: Dropped) {
    match dropped {
        Dropped::Nothing => {}
        Dropped::EdgeType(id) => writes.edges.retain(|(edge_type, _)| *edge_type != id),
        Dropped::EdgeProperty(edge_type, id) => {
            let all = writes.edges.iter_mut().filter(|(other, _)| *other == edge_type);
            all.for_each(|(_, edges)| edges.forget(id));
        }
        Dropped::VertexType(id) => {
            for (label, _) in writes.vertices.iter_mut().filter_map(|(_, write)| write.put.as_mut()) {
                if *label == Some(id) {
                    // The type it had before, it has lost all the same.
                    *label = Some(0);
                }
            }
        }
        Dropped::VertexProperty(id) => {
            for (_, given) in writes.vertices.iter_mut().filter_map(|(_, write)| write.put.as_mut()) {
                given.retain(|(property, _)| *property != id);
            }
        }
    }
}
