//! A store that is made of nothing but what a reader of another one's log is told.

use evergraph_store::{Commit, CommitError, Options, Store, Version, WriteSet};
use evergraph_types::{
    Alteration, Direction, Key, KeyKind, Property, PropertyOwner, PropertyType, Schema, Value,
};

use super::{Dump, dump};

/// The copy.
#[derive(Debug)]
pub(crate) struct Replica {
    store: Store,
    schema: Schema,
}

impl Replica {
    pub(crate) fn new(options: Options) -> Self {
        Replica { store: Store::in_memory(options), schema: Schema::default() }
    }

    /// Does what the commit did, one write after the other, through keys. `version` tells those.
    pub(crate) fn apply(&mut self, commit: &Commit, version: &Version) {
        let Commit { writes, .. } = commit;
        if let Some(schema) = &writes.schema {
            self.declare(schema);
        }
        let applied: Result<(), CommitError> = self.store.transact(0, |tx| {
            for &vertex in &writes.vertex_deletes {
                // The edges it had are named, so it has none any more.
                self.delete_edges_first(tx, writes, version)?;
                tx.delete_vertex(&version.key(vertex))?;
            }
            for put in &writes.vertex_puts {
                let label = put.label.and_then(|label| self.schema.vertex_type_name(label));
                let named = |(property, value): &(u16, Value)| {
                    (self.schema.vertex_properties[usize::from(*property)].name.clone(), value.clone())
                };
                let properties: Vec<(String, Value)> = put.properties.iter().map(named).collect();
                let given: Vec<_> =
                    properties.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
                tx.put_vertex(&version.key(put.vertex), label, &given)?;
            }
            for (edge_type, ops) in &writes.edges {
                let kind = &self.schema.edge_types[usize::from(*edge_type)];
                for row in 0..ops.len() {
                    let (src, dst) = (version.key(ops.src[row]), version.key(ops.dst[row]));
                    let properties = &kind.options.properties;
                    let given: Vec<(&str, Value)> = ops
                        .columns
                        .iter()
                        .filter(|column| column.is_given(row))
                        .map(|column| {
                            let name = properties[usize::from(column.property)].name.as_str();
                            (name, column.values.get(row))
                        })
                        .collect();
                    match ops.is_delete(row) {
                        true => drop(tx.delete_edge(&src, &dst, &kind.name)?),
                        false => tx.put_edge(&src, &dst, &kind.name, &given)?,
                    }
                }
            }
            Ok(())
        });
        applied.unwrap_or_else(|error| panic!("{error} at commit {}", commit.sequence));
    }

    /// Deletes the edges that the commit names as deleted, so that a vertex without a name in there would show.
    fn delete_edges_first(
        &self,
        tx: &mut evergraph_store::Transaction,
        writes: &WriteSet,
        version: &Version,
    ) -> Result<(), CommitError> {
        for (edge_type, ops) in &writes.edges {
            let name = &self.schema.edge_types[usize::from(*edge_type)].name;
            for row in (0..ops.len()).filter(|&row| ops.is_delete(row)) {
                tx.delete_edge(&version.key(ops.src[row]), &version.key(ops.dst[row]), name)?;
            }
        }
        for &vertex in &writes.vertex_deletes {
            for direction in [evergraph_types::Direction::Out, evergraph_types::Direction::In] {
                for kind in &self.schema.edge_types {
                    let left = tx.neighbors(&version.key(vertex), &kind.name, direction).unwrap_or_default();
                    assert_eq!(left, [], "edges of a deleted vertex that the commit does not name");
                }
            }
        }
        Ok(())
    }

    /// Makes what is new in the schema. Properties are made by values of their types, at a vertex that goes again.
    fn declare(&mut self, schema: &Schema) {
        self.drop_what_is_gone(schema);
        for (_, kind) in schema.live_vertex_types() {
            self.store.create_vertex_type(kind, &[]).expect("a vertex type");
        }
        let key = match schema.key_kind {
            Some(KeyKind::Text) => Key::from("for a moment"),
            _ => Key::from(60_000),
        };
        let typed = |properties: &[Property]| -> Vec<(String, Value)> {
            let live = properties.iter().filter(|property| !property.is_dropped());
            live.map(|property| (property.name.clone(), some_value(property.kind))).collect()
        };
        for (id, kind) in schema.edge_types.iter().enumerate() {
            match self.schema.edge_types.get(id) {
                _ if kind.is_dropped() => {}
                None => {
                    let mut options = kind.options.clone();
                    options.properties.retain(|property| !property.is_dropped());
                    self.store.create_edge_type(&kind.name, options).expect("an edge type");
                }
                Some(known) if known == kind => {}
                Some(_) => {
                    let values = typed(&kind.options.properties);
                    let given: Vec<_> =
                        values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
                    self.store.put_edge(&key, &key, &kind.name, &given).expect("put");
                    self.store.delete_vertex(&key).expect("deleted");
                }
            }
        }
        if schema.vertex_properties != self.schema.vertex_properties {
            let values = typed(&schema.vertex_properties);
            let given: Vec<_> = values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            self.store.put_vertex(&key, None, &given).expect("put");
            self.store.delete_vertex(&key).expect("deleted");
        }
        self.schema = schema.clone();
    }

    /// Drops the types and properties that the schema no longer has.
    fn drop_what_is_gone(&mut self, schema: &Schema) {
        let alter = |alteration: Alteration| self.store.alter(&alteration).expect("it is there");
        let gone = |known: &[Property], now: &[Property]| -> Vec<String> {
            let pairs = known.iter().zip(now).filter(|(known, now)| !known.is_dropped() && now.is_dropped());
            pairs.map(|(known, _)| known.name.clone()).collect()
        };
        for (id, kind) in self.schema.live_edge_types() {
            // A schema read from an older version has fewer.
            let Some(now) = schema.edge_types.get(usize::from(id)) else { continue };
            if now.is_dropped() {
                alter(Alteration::DropEdgeType { name: kind.name.clone() });
                continue;
            }
            for name in gone(&kind.options.properties, &now.options.properties) {
                alter(Alteration::DropProperty { owner: PropertyOwner::EdgeType(kind.name.clone()), name });
            }
        }
        for name in gone(&self.schema.vertex_properties, &schema.vertex_properties) {
            alter(Alteration::DropProperty { owner: PropertyOwner::Vertices, name });
        }
    }

    /// Takes over the schema of a version, where the reader began after the commits that made it.
    pub(crate) fn declare_like(&mut self, version: &Version) {
        self.declare(version.schema());
    }

    /// Puts the vertices and edges of a version, which have no properties.
    pub(crate) fn apply_all(&mut self, version: &Version) {
        let put: Result<(), CommitError> = self.store.transact(0, |tx| {
            for id in version.vertex_ids() {
                tx.put_vertex(&version.key(id), None, &[])?;
                for (edge_type, kind) in version.schema().live_edge_types() {
                    for neighbor in version.neighbors(edge_type, Direction::Out, id).iter() {
                        tx.put_edge(&version.key(id), &version.key(neighbor), &kind.name, &[])?;
                    }
                }
            }
            Ok(())
        });
        put.expect("nothing is in its way");
    }

    pub(crate) fn dump(&self) -> Dump {
        dump(&self.store.version().expect("open"))
    }
}

fn some_value(kind: PropertyType) -> Value {
    match kind {
        PropertyType::Bool => Value::Bool(true),
        PropertyType::Float32 | PropertyType::Float64 => Value::Float(0.5),
        PropertyType::Timestamp => Value::Timestamp(1),
        PropertyType::Date => Value::Date(1),
        PropertyType::Bytes => Value::Bytes(vec![1]),
        PropertyType::String => Value::Text("x".to_owned()),
        kind if kind.is_number() => Value::Int(1),
        _ => Value::List(vec![Value::Int(1)]),
    }
}
