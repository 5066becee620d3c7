//! LMDB: a B+ tree that is mapped; one writer, readers without locks.
#![allow(unsafe_code)]

use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags};

use crate::cells::{dst_of, link_key, link_value, node_value, offer, prefix, read_node};
use crate::{Fault, Link, LinkSession, LinkStore, Links, Node};

/// Address space, not memory.
const MAP_BYTES: usize = 1 << 34;

pub(crate) struct Lmdb {
    env: Env,
    nodes: Database<Bytes, Bytes>,
    links: Database<Bytes, Bytes>,
}

impl Lmdb {
    pub(crate) fn open(directory: &Path, sync: bool) -> Result<Self, Fault> {
        std::fs::create_dir_all(directory)?;
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES).max_dbs(2).max_readers(256);
        if !sync {
            // SAFETY: what a crash may damage is a benchmark's; no other process writes to the mapped file.
            unsafe { options.flags(EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP) };
        }
        // SAFETY: the directory is the benchmark's own, and is opened once.
        let env = unsafe { options.open(directory)? };
        let mut tx = env.write_txn()?;
        let nodes = env.create_database(&mut tx, Some("nodes"))?;
        let links = env.create_database(&mut tx, Some("links"))?;
        tx.commit()?;
        Ok(Lmdb { env, nodes, links })
    }
}

impl LinkStore for Lmdb {
    fn name(&self) -> &'static str {
        "LMDB"
    }

    fn load(
        &self,
        nodes: &mut dyn Iterator<Item = (u64, Node)>,
        links: &mut dyn Iterator<Item = (u64, u8, Link)>,
    ) -> Result<(), Fault> {
        let mut tx = self.env.write_txn()?;
        for (id, node) in nodes {
            self.nodes.put_with_flags(&mut tx, PutFlags::APPEND, &id.to_be_bytes(), &node_value(&node))?;
        }
        for (src, kind, link) in links {
            let key = link_key(src, kind, link.dst);
            self.links.put_with_flags(&mut tx, PutFlags::APPEND, &key, &link_value(&link))?;
        }
        Ok(tx.commit()?)
    }

    fn session(&self) -> Result<Box<dyn LinkSession + '_>, Fault> {
        Ok(Box::new(Session(self)))
    }
}

struct Session<'a>(&'a Lmdb);

impl LinkSession for Session<'_> {
    fn node(&mut self, id: u64, into: &mut Node) -> Result<bool, Fault> {
        let tx = self.0.env.read_txn()?;
        let value = self.0.nodes.get(&tx, &id.to_be_bytes())?;
        value.map_or(Ok(false), |value| read_node(value, into).map(|()| true))
    }

    fn put_node(&mut self, id: u64, node: &Node) -> Result<(), Fault> {
        let mut tx = self.0.env.write_txn()?;
        self.0.nodes.put(&mut tx, &id.to_be_bytes(), &node_value(node))?;
        Ok(tx.commit()?)
    }

    fn delete_node(&mut self, id: u64) -> Result<(), Fault> {
        let mut tx = self.0.env.write_txn()?;
        self.0.nodes.delete(&mut tx, &id.to_be_bytes())?;
        Ok(tx.commit()?)
    }

    fn link(&mut self, src: u64, kind: u8, dst: u64, into: &mut Links) -> Result<(), Fault> {
        let tx = self.0.env.read_txn()?;
        let value = self.0.links.get(&tx, &link_key(src, kind, dst))?;
        value.map_or(Ok(()), |value| offer(dst, value, into))
    }

    fn put_link(&mut self, src: u64, kind: u8, link: &Link) -> Result<(), Fault> {
        let mut tx = self.0.env.write_txn()?;
        self.0.links.put(&mut tx, &link_key(src, kind, link.dst), &link_value(link))?;
        Ok(tx.commit()?)
    }

    fn delete_link(&mut self, src: u64, kind: u8, dst: u64) -> Result<(), Fault> {
        let mut tx = self.0.env.write_txn()?;
        self.0.links.delete(&mut tx, &link_key(src, kind, dst))?;
        Ok(tx.commit()?)
    }

    fn count_links(&mut self, src: u64, kind: u8) -> Result<u64, Fault> {
        let tx = self.0.env.read_txn()?;
        let mut count = 0;
        for entry in self.0.links.prefix_iter(&tx, &prefix(src, kind))? {
            entry?;
            count += 1;
        }
        Ok(count)
    }

    fn links(&mut self, src: u64, kind: u8, into: &mut Links) -> Result<(), Fault> {
        let tx = self.0.env.read_txn()?;
        for entry in self.0.links.prefix_iter(&tx, &prefix(src, kind))? {
            let (key, value) = entry?;
            offer(dst_of(key)?, value, into)?;
        }
        Ok(())
    }

    fn hop(&mut self, nodes: &[u64], kind: u8, into: &mut Vec<u64>) -> Result<(), Fault> {
        let tx = self.0.env.read_txn()?;
        for &src in nodes {
            for entry in self.0.links.prefix_iter(&tx, &prefix(src, kind))? {
                into.push(dst_of(entry?.0)?);
            }
        }
        Ok(())
    }
}
