//! Evergraph as one of the stores: nodes are vertices, each kind of links an edge type.
//!
//! A link is stored in one direction, as the rivals do; a node whose payload is deleted stays a vertex, since its links stay.

use std::path::Path;

use evergraph::{
    Column, CommitError, Database, Direction, Durability, EdgeBatch, EdgeTypeId, EdgeTypeOptions, Key,
    KeyColumn, KeyKind, Options, PropertyId, PropertyType, ReadGuard, Run, RunColumn, TextValues, Value,
    VertexId,
};
use evergraph_rivals::{Fault, Link, LinkSession, LinkStore, Links, Node, Payload};

use super::workload::KINDS;

const KIND_NAMES: [&str; KINDS as usize] = ["likes", "follows"];
/// The properties of links in the order of [`Link`]'s fields: time, version, visible, data.
const PROPERTIES: [PropertyId; 4] = [0, 1, 2, 3];
/// Those of nodes in the order of [`Node`]'s: time, version, data.
const NODE_PROPERTIES: [PropertyId; 3] = [0, 1, 2];
const LOAD_NODES: usize = 10_000;

pub(super) struct Ours {
    db: Database,
}

impl Ours {
    pub(super) fn open(directory: &Path, sync: bool, keys: KeyKind) -> Result<Self, Fault> {
        let durability = if sync { Durability::Sync } else { Durability::None };
        let options = Options { durability, keys: Some(keys), ..Options::default() };
        let db = Database::open(directory, options)?;
        let property = |name: &str, kind| evergraph::Property { name: name.to_owned(), kind };
        for name in KIND_NAMES {
            let properties = vec![
                property("time", PropertyType::Int64),
                property("version", PropertyType::Int64),
                property("visible", PropertyType::Bool),
                property("data", PropertyType::String),
            ];
            db.create_edge_type(
                name,
                EdgeTypeOptions { properties, reverse: false, ..EdgeTypeOptions::default() },
            )?;
        }
        let properties =
            [("time", PropertyType::Int64), ("version", PropertyType::Int64), ("data", PropertyType::String)];
        db.create_vertex_type("Node", &properties)?;
        Ok(Ours { db })
    }
}

impl LinkStore for Ours {
    fn name(&self) -> &'static str {
        "Evergraph"
    }

    fn load(
        &self,
        nodes: &mut dyn Iterator<Item = (u64, Node)>,
        links: &mut dyn Iterator<Item = (u64, u8, Link)>,
    ) -> Result<(), Fault> {
        let mut nodes = nodes.peekable();
        while nodes.peek().is_some() {
            let mut tx = self.db.begin()?;
            for (id, node) in nodes.by_ref().take(LOAD_NODES) {
                tx.put_vertex(id as i64, Some("Node"), &payload(&node))?;
            }
            tx.commit()?;
        }
        let mut kinds: [Vec<(u64, Link)>; KINDS as usize] = Default::default();
        links.for_each(|(src, kind, link)| kinds[usize::from(kind)].push((src, link)));
        for (name, links) in KIND_NAMES.into_iter().zip(kinds) {
            self.db.add_edges(name, vec![batch(&links)])?;
        }
        Ok(self.db.compact()?)
    }

    fn session(&self) -> Result<Box<dyn LinkSession + '_>, Fault> {
        Ok(Box::new(Session(&self.db)))
    }
}

fn batch(links: &[(u64, Link)]) -> EdgeBatch {
    fn column<T>(name: &str, links: &[(u64, Link)], get: impl Fn(&Link) -> T) -> (String, Column)
    where
        Column: From<Vec<T>>,
    {
        (name.to_owned(), Column::from(links.iter().map(|(_, link)| get(link)).collect::<Vec<T>>()))
    }
    let mut data = TextValues::default();
    links.iter().for_each(|(_, link)| data.push(&link.data));
    EdgeBatch {
        src: KeyColumn::Int(links.iter().map(|(src, _)| *src as i64).collect()),
        dst: KeyColumn::Int(links.iter().map(|(_, link)| link.dst as i64).collect()),
        columns: vec![
            column("time", links, |link| link.time),
            column("version", links, |link| link.version),
            column("visible", links, |link| link.visible),
            ("data".to_owned(), Column::from(data)),
        ],
    }
}

fn payload(node: &Node) -> [(&'static str, Value); 3] {
    [("time", node.time.into()), ("version", node.version.into()), ("data", node.data.as_str().into())]
}

fn link_properties(link: &Link) -> [(&'static str, Value); 4] {
    [
        ("time", link.time.into()),
        ("version", link.version.into()),
        ("visible", link.visible.into()),
        ("data", link.data.as_str().into()),
    ]
}

fn missing() -> Fault {
    "a property that was stored is not there".into()
}

struct Session<'a>(&'a Database);

impl Session<'_> {
    fn version(&self) -> Result<ReadGuard<'_>, Fault> {
        Ok(self.0.store().read()?)
    }
}

/// The properties of the links of a run, each found once.
#[derive(Clone, Copy)]
struct LinkColumns<'a>([Option<RunColumn<'a>>; 4]);

impl<'a> LinkColumns<'a> {
    fn of(run: &Run<'a>) -> Self {
        let [time, version, visible, data] = PROPERTIES;
        // Each is made where it stays; `map` would copy them, and wait for what was just written.
        LinkColumns([run.column(time), run.column(version), run.column(visible), run.column(data)])
    }

    #[inline]
    fn bits(&self, place: usize, row: usize) -> Result<u64, Fault> {
        self.0[place].as_ref().and_then(|column| column.bits(row)).ok_or_else(missing)
    }

    #[inline]
    fn offer(&self, dst: u64, row: usize, into: &mut Links) -> Result<(), Fault> {
        into.offer(self.bits(0, row)? as i64, dst, || {
            let data = self.0[3].as_ref().and_then(|column| column.text(row)).ok_or_else(missing)?;
            Ok(Payload { version: self.bits(1, row)? as i64, visible: self.bits(2, row)? != 0, data })
        })
    }
}

/// The number of a node.
fn number(version: &ReadGuard<'_>, vertex: VertexId) -> Result<u64, Fault> {
    match version.key(vertex) {
        Key::Int(number) => Ok(number as u64),
        Key::Text(_) => Err("a key is no number".into()),
    }
}

impl LinkSession for Session<'_> {
    fn node(&mut self, id: u64, into: &mut Node) -> Result<bool, Fault> {
        let version = self.version()?;
        let Some(vertex) = version.id_with_edges((id as i64).into()) else { return Ok(false) };
        let [time, node_version, data] = NODE_PROPERTIES;
        // Numbers first: what lies in other columns is then fetched while the text is waited for.
        let numbers = [time, node_version].map(|property| version.vertex_bits(vertex, property));
        let Some(data) = version.vertex_text(vertex, data) else { return Ok(false) };
        let [Some(time), Some(node_version)] = numbers else { return Err(missing()) };
        (into.time, into.version) = (time as i64, node_version as i64);
        into.data.clear();
        into.data.push_str(data);
        Ok(true)
    }

    fn put_node(&mut self, id: u64, node: &Node) -> Result<(), Fault> {
        self.0.put_vertex(id as i64, None, &payload(node))?;
        Ok(())
    }

    fn delete_node(&mut self, id: u64) -> Result<(), Fault> {
        let nothing = [("time", Value::Null), ("version", Value::Null), ("data", Value::Null)];
        self.0.put_vertex(id as i64, None, &nothing)?;
        Ok(())
    }

    fn link(&mut self, src: u64, kind: u8, dst: u64, into: &mut Links) -> Result<(), Fault> {
        let version = self.version()?;
        let ends = (version.id_with_edges((src as i64).into()), version.id_with_edges((dst as i64).into()));
        let (Some(from), Some(to)) = ends else { return Ok(()) };
        let mut result = Ok(());
        version.for_each_edge_between(EdgeTypeId::from(kind), from, to, |run, row| {
            result = LinkColumns::of(&run).offer(dst, row, into);
        });
        result
    }

    fn put_link(&mut self, src: u64, kind: u8, link: &Link) -> Result<(), Fault> {
        let (dst, properties) = (link.dst as i64, link_properties(link));
        self.0.put_edge(src as i64, dst, KIND_NAMES[usize::from(kind)], &properties)?;
        Ok(())
    }

    fn put_links(&mut self, links: &[(u64, u8, Link)]) -> Result<(), Fault> {
        let mut pending = Vec::with_capacity(links.len());
        for (src, kind, link) in links {
            let mut transaction = self.0.begin()?;
            let (dst, properties) = (link.dst as i64, link_properties(link));
            transaction.put_edge(*src as i64, dst, KIND_NAMES[usize::from(*kind)], &properties)?;
            pending.push(transaction.submit()?);
        }
        for (commit, (src, kind, link)) in pending.into_iter().zip(links) {
            match commit.wait() {
                // Another client put the same link meanwhile.
                Err(CommitError::Conflict { .. }) => self.put_link(*src, *kind, link)?,
                outcome => drop(outcome?),
            }
        }
        Ok(())
    }

    fn delete_link(&mut self, src: u64, kind: u8, dst: u64) -> Result<(), Fault> {
        self.0.delete_edge(src as i64, dst as i64, KIND_NAMES[usize::from(kind)])?;
        Ok(())
    }

    fn count_links(&mut self, src: u64, kind: u8) -> Result<u64, Fault> {
        let version = self.version()?;
        let Some(vertex) = version.id_with_edges((src as i64).into()) else { return Ok(0) };
        Ok(version.degree(EdgeTypeId::from(kind), Direction::Out, vertex) as u64)
    }

    fn links(&mut self, src: u64, kind: u8, into: &mut Links) -> Result<(), Fault> {
        let version = self.version()?;
        let Some(vertex) = version.id_with_edges((src as i64).into()) else { return Ok(()) };
        let mut result = Ok(());
        version.for_each_run(EdgeTypeId::from(kind), Direction::Out, vertex, |run| {
            let columns = LinkColumns::of(&run);
            let mut rows = run.neighbors().iter().enumerate();
            if result.is_ok() {
                result = rows
                    .try_for_each(|(row, &neighbor)| columns.offer(number(&version, neighbor)?, row, into));
            }
        });
        result
    }

    fn hop(&mut self, nodes: &[u64], kind: u8, into: &mut Vec<u64>) -> Result<(), Fault> {
        let version = self.version()?;
        for &src in nodes {
            let Some(vertex) = version.id_with_edges((src as i64).into()) else { continue };
            let neighbors = version.neighbors(EdgeTypeId::from(kind), Direction::Out, vertex);
            for neighbor in neighbors.iter() {
                into.push(number(&version, neighbor)?);
            }
        }
        Ok(())
    }
}
