//! Evergraph as one of the stores: nodes are vertices, each kind of links an edge type.
//!
//! A link is stored in one direction, as the rivals do; a node whose payload is deleted stays a vertex, since its links stay.

use std::path::Path;

use evergraph::{
    Column, Database, Direction, Durability, EdgeBatch, EdgeTypeId, EdgeTypeOptions, Key, KeyColumn, KeyKind,
    Options, PropertyId, PropertyType, ReadGuard, Run, RunColumn, TextValues, Value, VertexId,
};
use evergraph_rivals::{Fault, Link, LinkSession, LinkStore, Newest, Node};

use super::workload::KINDS;

const KIND_NAMES: [&str; KINDS as usize] = ["likes", "follows"];
/// The properties of links in the order of [`Link`]'s fields: time, version, visible, data.
const PROPERTIES: [PropertyId; 4] = [0, 1, 2, 3];
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

fn missing() -> Fault {
    "a property that was stored is not there".into()
}

fn int(value: &Value) -> Result<i64, Fault> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(missing()),
    }
}

struct Session<'a>(&'a Database);

impl Session<'_> {
    fn version(&self) -> Result<ReadGuard, Fault> {
        Ok(self.0.store().read()?)
    }
}

/// The properties of the links of a run, each found once.
#[derive(Clone, Copy)]
struct LinkColumns<'a>([Option<RunColumn<'a>>; 4]);

impl<'a> LinkColumns<'a> {
    fn of(run: &Run<'a>) -> Self {
        LinkColumns(PROPERTIES.map(|property| run.column(property)))
    }

    fn bits(&self, place: usize, row: usize) -> Result<u64, Fault> {
        self.0[place].and_then(|column| column.bits(row)).ok_or_else(missing)
    }

    fn time(&self, row: usize) -> Result<i64, Fault> {
        Ok(self.bits(0, row)? as i64)
    }

    fn link(&self, dst: u64, row: usize) -> Result<Link, Fault> {
        let data = self.0[3].and_then(|column| column.bytes(row)).ok_or_else(missing)?;
        Ok(Link {
            dst,
            time: self.time(row)?,
            version: self.bits(1, row)? as i64,
            visible: self.bits(2, row)? != 0,
            data: std::str::from_utf8(data)?.to_owned(),
        })
    }
}

fn link_to(
    version: &ReadGuard,
    columns: &LinkColumns<'_>,
    neighbor: VertexId,
    row: usize,
) -> Result<Link, Fault> {
    match version.key(neighbor) {
        Key::Int(dst) => columns.link(dst as u64, row),
        Key::Text(_) => Err("a key is no number".into()),
    }
}

impl LinkSession for Session<'_> {
    fn node(&mut self, id: u64) -> Result<Option<Node>, Fault> {
        let version = self.version()?;
        let Some(vertex) = version.id_with_edges((id as i64).into()) else { return Ok(None) };
        let [time, node_version, data] = [0, 1, 2].map(|property| version.vertex_property(vertex, property));
        match data {
            Value::Text(data) => Ok(Some(Node { time: int(&time)?, version: int(&node_version)?, data })),
            _ => Ok(None),
        }
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

    fn link(&mut self, src: u64, kind: u8, dst: u64) -> Result<Option<Link>, Fault> {
        let version = self.version()?;
        let ends = (version.id_with_edges((src as i64).into()), version.id_with_edges((dst as i64).into()));
        let (Some(from), Some(to)) = ends else { return Ok(None) };
        let mut found = None;
        version.for_each_edge_between(EdgeTypeId::from(kind), from, to, |run, row| {
            found = Some(LinkColumns::of(&run).link(dst, row));
        });
        found.transpose()
    }

    fn put_link(&mut self, src: u64, kind: u8, link: &Link) -> Result<(), Fault> {
        let properties = [
            ("time", link.time.into()),
            ("version", link.version.into()),
            ("visible", link.visible.into()),
            ("data", link.data.as_str().into()),
        ];
        self.0.put_edge(src as i64, link.dst as i64, KIND_NAMES[usize::from(kind)], &properties)?;
        Ok(())
    }

    fn delete_link(&mut self, src: u64, kind: u8, dst: u64) -> Result<(), Fault> {
        self.0.delete_edge(src as i64, dst as i64, KIND_NAMES[usize::from(kind)])?;
        Ok(())
    }

    fn count_links(&mut self, src: u64, kind: u8) -> Result<u64, Fault> {
        let version = self.version()?;
        let Some(vertex) = version.id_with_edges((src as i64).into()) else { return Ok(0) };
        Ok(version.neighbors(EdgeTypeId::from(kind), Direction::Out, vertex).len() as u64)
    }

    fn newest_links(&mut self, src: u64, kind: u8, limit: usize) -> Result<Vec<Link>, Fault> {
        let version = self.version()?;
        let Some(vertex) = version.id_with_edges((src as i64).into()) else { return Ok(Vec::new()) };
        let edge_type = EdgeTypeId::from(kind);
        let mut newest = Newest::new(limit);
        let mut run_number = 0;
        version.for_each_run(edge_type, Direction::Out, vertex, |run| {
            let times = run.column(PROPERTIES[0]);
            for (row, &neighbor) in run.neighbors().iter().enumerate() {
                let time = times.and_then(|times| times.bits(row)).map_or(i64::MIN, |bits| bits as i64);
                newest.offer(time, neighbor.into(), || (run_number, row));
            }
            run_number += 1;
        });
        // The other properties are read of these only.
        let newest = newest.into_sorted();
        let mut links: Vec<Option<Link>> = vec![None; newest.len()];
        let mut result = Ok(());
        run_number = 0;
        version.for_each_run(edge_type, Direction::Out, vertex, |run| {
            let columns = LinkColumns::of(&run);
            for (place, &(_, neighbor, (at, row))) in links.iter_mut().zip(&newest) {
                if at == run_number && result.is_ok() {
                    match link_to(&version, &columns, neighbor as u32, row) {
                        Ok(link) => *place = Some(link),
                        Err(error) => result = Err(error),
                    }
                }
            }
            run_number += 1;
        });
        result?;
        links.into_iter().collect::<Option<_>>().ok_or_else(missing)
    }

    fn hop(&mut self, nodes: &[u64], kind: u8, into: &mut Vec<u64>) -> Result<(), Fault> {
        let version = self.version()?;
        for &src in nodes {
            let Some(vertex) = version.id_with_edges((src as i64).into()) else { continue };
            let neighbors = version.neighbors(EdgeTypeId::from(kind), Direction::Out, vertex);
            for neighbor in neighbors.iter() {
                match version.key(neighbor) {
                    Key::Int(dst) => into.push(dst as u64),
                    Key::Text(_) => return Err("a key is no number".into()),
                }
            }
        }
        Ok(())
    }
}
