//! What a view is made of, and its bytes in the catalog. docs/format.md draws them.
//!
//! Invariant: `decode(encode(x)) == x`, and `decode` gives an error for anything else, without panicking.

use std::collections::BTreeMap;

use evergraph_types::{EdgeTypeId, Key, Schema, VertexId, shown};
use evergraph_view::Snapshot;
use roaring::{RoaringBitmap, RoaringTreemap};

use crate::bind::{bind_edges, bind_vertices};
use crate::error::ViewError;
use crate::evaluate;
use crate::predicate::Predicate;

/// The first byte of a definition.
const FORMAT: u8 = 1;
const NONE: u8 = 0;
const MEMBERS: u8 = 1;
const WHERE: u8 = 2;

/// Which vertices a view has.
#[derive(Clone, Debug, PartialEq)]
pub enum VertexSelection {
    /// These, as far as they exist.
    Members(RoaringBitmap),
    /// All for which this holds.
    Where(Predicate),
}

/// Which edges a view has, of those between its vertices.
#[derive(Clone, Debug, PartialEq)]
pub enum EdgeSelection {
    /// Those between these ends, by edge type: `src << 32 | dst`, for symmetric types the smaller id first. They bring
    /// their ends along.
    Members(BTreeMap<EdgeTypeId, RoaringTreemap>),
    /// All for which this holds.
    Where(Predicate),
}

/// What a view is made of. With vertices only, it has every edge between them; with edges only, their ends.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Definition {
    /// Its vertices; `None` for the ends of its edges.
    pub vertices: Option<VertexSelection>,
    /// Its edges; `None` for all between its vertices.
    pub edges: Option<EdgeSelection>,
    /// The predicate its members were found with, if it was frozen.
    pub frozen_from: Option<String>,
}

/// What a caller wants a view to be made of, by key. [`Views::create`](crate::Views::create) takes it.
#[derive(Clone, Debug, Default)]
pub struct ViewRequest {
    /// These vertices.
    pub vertices: Vec<Key>,
    /// These edges, of one type or of all.
    pub edges: Vec<(Key, Key, Option<String>)>,
    /// Vertices for which this holds.
    pub vertices_where: Option<String>,
    /// Edges for which this holds.
    pub edges_where: Option<String>,
    /// Whether the vertices found now stay the members, whatever changes.
    pub frozen: bool,
}

impl ViewRequest {
    /// The definition, checked against a snapshot.
    pub(crate) fn define(&self, snapshot: &Snapshot) -> Result<Definition, ViewError> {
        let has_members = !self.vertices.is_empty() || !self.edges.is_empty();
        let parse = |source: &Option<String>| source.as_deref().map(str::parse::<Predicate>).transpose();
        let (vertices_where, edges_where) = (parse(&self.vertices_where)?, parse(&self.edges_where)?);
        if !has_members && vertices_where.is_none() && edges_where.is_none() {
            return Err(ViewError::Empty);
        }
        let mixed = |members: bool, predicate: &Option<Predicate>| members && predicate.is_some();
        if mixed(!self.vertices.is_empty(), &vertices_where) || mixed(!self.edges.is_empty(), &edges_where) {
            return Err(ViewError::Mixed);
        }
        if self.frozen && vertices_where.is_none() {
            return Err(ViewError::NothingToFreeze);
        }
        let schema = snapshot.schema();
        let mut definition = Definition::default();
        definition.vertices = match vertices_where {
            Some(predicate) => {
                let test = bind_vertices(&predicate, schema)?;
                if self.frozen {
                    definition.frozen_from = Some(predicate.source().to_owned());
                    Some(VertexSelection::Members(evaluate::vertices_where(
                        &test,
                        snapshot.store_version(),
                        schema,
                    )))
                } else {
                    Some(VertexSelection::Where(predicate))
                }
            }
            None if self.vertices.is_empty() => None,
            None => {
                let ids = self.vertices.iter().map(|key| require(snapshot, key));
                Some(VertexSelection::Members(ids.collect::<Result<_, _>>()?))
            }
        };
        definition.edges = match edges_where {
            Some(predicate) => {
                bind_edges(&predicate, schema)?;
                Some(EdgeSelection::Where(predicate))
            }
            None if self.edges.is_empty() => None,
            None => Some(EdgeSelection::Members(edge_members(snapshot, &self.edges)?)),
        };
        Ok(definition)
    }
}

fn require(snapshot: &Snapshot, key: &Key) -> Result<VertexId, ViewError> {
    let missing =
        || ViewError::NoSuchMember { what: format!("vertex {}", shown(key)), version: snapshot.version() };
    snapshot.vertex_id(key).ok_or_else(missing)
}

fn edge_members(
    snapshot: &Snapshot,
    edges: &[(Key, Key, Option<String>)],
) -> Result<BTreeMap<EdgeTypeId, RoaringTreemap>, ViewError> {
    let schema = snapshot.schema();
    let mut members: BTreeMap<EdgeTypeId, RoaringTreemap> = BTreeMap::new();
    for (src, dst, edge_type) in edges {
        let (from, to) = (require(snapshot, src)?, require(snapshot, dst)?);
        let named = |name: &str| edge_type.as_ref().is_none_or(|wanted| wanted == name);
        let mut found = false;
        for (id, kind) in (0..).zip(&schema.edge_types) {
            if named(&kind.name) && snapshot.store_version().has_edge(id, from, to) {
                members.entry(id).or_default().insert(pair(kind.options.symmetric, from, to));
                found = true;
            }
        }
        if !found {
            let kind = edge_type.as_ref().map(|name| format!(" of type {name:?}")).unwrap_or_default();
            let what = format!("edge {src} -> {dst}{kind}");
            return Err(ViewError::NoSuchMember { what, version: snapshot.version() });
        }
    }
    Ok(members)
}

/// An edge as a member.
pub(crate) fn pair(symmetric: bool, src: VertexId, dst: VertexId) -> u64 {
    let (src, dst) = if symmetric && dst < src { (dst, src) } else { (src, dst) };
    u64::from(src) << 32 | u64::from(dst)
}

impl Definition {
    /// The bytes in the catalog.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        match &self.vertices {
            None => out.push(NONE),
            Some(VertexSelection::Members(members)) => {
                out.push(MEMBERS);
                put_set(members.serialized_size(), |out| members.serialize_into(out), &mut out);
            }
            Some(VertexSelection::Where(predicate)) => put_text(WHERE, predicate.source(), &mut out),
        }
        match &self.edges {
            None => out.push(NONE),
            Some(EdgeSelection::Members(members)) => {
                out.push(MEMBERS);
                out.extend_from_slice(&(members.len() as u16).to_le_bytes());
                for (edge_type, pairs) in members {
                    out.extend_from_slice(&edge_type.to_le_bytes());
                    put_set(pairs.serialized_size(), |out| pairs.serialize_into(out), &mut out);
                }
            }
            Some(EdgeSelection::Where(predicate)) => put_text(WHERE, predicate.source(), &mut out),
        }
        match &self.frozen_from {
            None => out.push(NONE),
            Some(source) => put_text(WHERE, source, &mut out),
        }
        out
    }

    /// The definition of these bytes; what is wrong with them, if they are none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut input = bytes;
        let cut = || "it is cut off".to_owned();
        let byte = |input: &mut &[u8]| {
            let (&first, rest) = input.split_first().ok_or_else(cut)?;
            *input = rest;
            Ok::<u8, String>(first)
        };
        let format = byte(&mut input)?;
        if format != FORMAT {
            return Err(format!("its format is {format}, and this release reads {FORMAT}"));
        }
        let vertices = match byte(&mut input)? {
            NONE => None,
            MEMBERS => {
                let set = RoaringBitmap::deserialize_from(take(&mut input)?);
                Some(VertexSelection::Members(set.map_err(|error| error.to_string())?))
            }
            WHERE => Some(VertexSelection::Where(predicate(&mut input)?)),
            kind => return Err(format!("a kind of vertices {kind}")),
        };
        let edges = match byte(&mut input)? {
            NONE => None,
            MEMBERS => {
                let mut members = BTreeMap::new();
                for _ in 0..word(&mut input)? {
                    let edge_type = word(&mut input)?;
                    let pairs = RoaringTreemap::deserialize_from(take(&mut input)?);
                    members.insert(edge_type, pairs.map_err(|error| error.to_string())?);
                }
                Some(EdgeSelection::Members(members))
            }
            WHERE => Some(EdgeSelection::Where(predicate(&mut input)?)),
            kind => return Err(format!("a kind of edges {kind}")),
        };
        let frozen_from = match byte(&mut input)? {
            NONE => None,
            WHERE => Some(text(&mut input)?.to_owned()),
            kind => return Err(format!("a kind of origin {kind}")),
        };
        if input.is_empty() {
            Ok(Definition { vertices, edges, frozen_from })
        } else {
            Err(format!("{} bytes too many", input.len()))
        }
    }

    /// The definition in words.
    pub fn describe(&self, schema: &Schema) -> String {
        let vertices = self.vertices.as_ref().map(|vertices| match (vertices, &self.frozen_from) {
            (VertexSelection::Members(members), Some(source)) => {
                format!("{}, frozen from {source}", counted(members.len(), "vertex", "vertices"))
            }
            (VertexSelection::Members(members), None) => counted(members.len(), "vertex", "vertices"),
            (VertexSelection::Where(predicate), _) => format!("vertices where {predicate}"),
        });
        let edges = self.edges.as_ref().map(|edges| match edges {
            EdgeSelection::Where(predicate) => format!("edges where {predicate}"),
            EdgeSelection::Members(members) => {
                let name = |id: &EdgeTypeId| {
                    schema.edge_types.get(usize::from(*id)).map_or("?", |kind| kind.name.as_str())
                };
                let parts = members.iter().map(|(id, pairs)| {
                    format!("{} of {:?}", counted(pairs.len(), "edge", "edges"), name(id))
                });
                parts.collect::<Vec<_>>().join(", ")
            }
        });
        vertices.into_iter().chain(edges).collect::<Vec<_>>().join("; ")
    }
}

/// A count with its noun.
fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

fn put_set(size: usize, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>, out: &mut Vec<u8>) {
    out.extend_from_slice(&(size as u32).to_le_bytes());
    let written = write(out);
    debug_assert!(written.is_ok(), "writing to memory does not fail");
}

fn put_text(kind: u8, text: &str, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn word(input: &mut &[u8]) -> Result<u16, String> {
    let (word, rest) = input.split_first_chunk::<2>().ok_or_else(|| "it is cut off".to_owned())?;
    *input = rest;
    Ok(u16::from_le_bytes(*word))
}

fn take<'a>(input: &mut &'a [u8]) -> Result<&'a [u8], String> {
    let cut = || "it is cut off".to_owned();
    let (len, rest) = input.split_first_chunk::<4>().ok_or_else(cut)?;
    let (taken, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or_else(cut)?;
    *input = rest;
    Ok(taken)
}

fn text<'a>(input: &mut &'a [u8]) -> Result<&'a str, String> {
    std::str::from_utf8(take(input)?).map_err(|error| error.to_string())
}

fn predicate(input: &mut &[u8]) -> Result<Predicate, String> {
    text(input)?.parse().map_err(|error: crate::PredicateError| error.to_string())
}
