//! RocksDB: a log-structured merge tree.

use std::path::Path;

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, Direction, IteratorMode, Options,
    ReadOptions, SliceTransform, WriteBatch, WriteOptions,
};

use crate::cells::{dst_of, link_key, link_of, link_value, node_of, node_value, prefix, time_of};
use crate::{Fault, Link, LinkSession, LinkStore, Newest, Node};

/// Everything fits.
const CACHE_BYTES: usize = 2 << 30;
const WRITE_BUFFER_BYTES: usize = 128 << 20;
const BLOOM_BITS: f64 = 10.0;
const LOAD_BATCH: usize = 10_000;

pub(crate) struct Rocks {
    db: DB,
    sync: bool,
}

impl Rocks {
    pub(crate) fn open(directory: &Path, sync: bool) -> Result<Self, Fault> {
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
        blocks.set_bloom_filter(BLOOM_BITS, false);
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options
            .increase_parallelism(std::thread::available_parallelism().map_or(2, |count| count.get() as i32));
        options.set_write_buffer_size(WRITE_BUFFER_BYTES);
        options.set_block_based_table_factory(&blocks);
        let mut links = options.clone();
        links.set_prefix_extractor(SliceTransform::create_fixed_prefix(9));
        links.set_memtable_prefix_bloom_ratio(0.1);
        let families = [
            ColumnFamilyDescriptor::new("nodes", options.clone()),
            ColumnFamilyDescriptor::new("links", links),
        ];
        Ok(Rocks { db: DB::open_cf_descriptors(&options, directory, families)?, sync })
    }

    fn family(&self, name: &str) -> Result<&ColumnFamily, Fault> {
        Ok(self.db.cf_handle(name).ok_or("a column family is missing")?)
    }
}

impl LinkStore for Rocks {
    fn name(&self) -> &'static str {
        "RocksDB"
    }

    fn load(
        &self,
        nodes: &mut dyn Iterator<Item = (u64, Node)>,
        links: &mut dyn Iterator<Item = (u64, u8, Link)>,
    ) -> Result<(), Fault> {
        let (node_family, link_family) = (self.family("nodes")?, self.family("links")?);
        let mut batch = WriteBatch::default();
        for (id, node) in nodes {
            batch.put_cf(node_family, id.to_be_bytes(), node_value(&node));
            if batch.len() == LOAD_BATCH {
                self.db.write(std::mem::take(&mut batch))?;
            }
        }
        for (src, kind, link) in links {
            batch.put_cf(link_family, link_key(src, kind, link.dst), link_value(&link));
            if batch.len() == LOAD_BATCH {
                self.db.write(std::mem::take(&mut batch))?;
            }
        }
        self.db.write(batch)?;
        for family in [node_family, link_family] {
            self.db.flush_cf(family)?;
            self.db.compact_range_cf(family, None::<&[u8]>, None::<&[u8]>);
        }
        Ok(())
    }

    fn session(&self) -> Result<Box<dyn LinkSession + '_>, Fault> {
        let mut write = WriteOptions::default();
        write.set_sync(self.sync);
        Ok(Box::new(Session {
            db: &self.db,
            nodes: self.family("nodes")?,
            links: self.family("links")?,
            write,
        }))
    }
}

struct Session<'a> {
    db: &'a DB,
    nodes: &'a ColumnFamily,
    links: &'a ColumnFamily,
    write: WriteOptions,
}

impl Session<'_> {
    fn for_each_link(
        &self,
        src: u64,
        kind: u8,
        mut visit: impl FnMut(u64, Box<[u8]>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let prefix = prefix(src, kind);
        let mut read = ReadOptions::default();
        read.set_prefix_same_as_start(true);
        for entry in
            self.db.iterator_cf_opt(self.links, read, IteratorMode::From(&prefix, Direction::Forward))
        {
            let (key, value) = entry?;
            visit(dst_of(&key)?, value)?;
        }
        Ok(())
    }
}

impl LinkSession for Session<'_> {
    fn node(&mut self, id: u64) -> Result<Option<Node>, Fault> {
        let value = self.db.get_pinned_cf(self.nodes, id.to_be_bytes())?;
        value.map(|value| node_of(&value)).transpose()
    }

    fn put_node(&mut self, id: u64, node: &Node) -> Result<(), Fault> {
        Ok(self.db.put_cf_opt(self.nodes, id.to_be_bytes(), node_value(node), &self.write)?)
    }

    fn delete_node(&mut self, id: u64) -> Result<(), Fault> {
        Ok(self.db.delete_cf_opt(self.nodes, id.to_be_bytes(), &self.write)?)
    }

    fn link(&mut self, src: u64, kind: u8, dst: u64) -> Result<Option<Link>, Fault> {
        let value = self.db.get_pinned_cf(self.links, link_key(src, kind, dst))?;
        value.map(|value| link_of(dst, &value)).transpose()
    }

    fn put_link(&mut self, src: u64, kind: u8, link: &Link) -> Result<(), Fault> {
        Ok(self.db.put_cf_opt(self.links, link_key(src, kind, link.dst), link_value(link), &self.write)?)
    }

    fn delete_link(&mut self, src: u64, kind: u8, dst: u64) -> Result<(), Fault> {
        Ok(self.db.delete_cf_opt(self.links, link_key(src, kind, dst), &self.write)?)
    }

    fn count_links(&mut self, src: u64, kind: u8) -> Result<u64, Fault> {
        let mut count = 0;
        self.for_each_link(src, kind, |_, _| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    fn newest_links(&mut self, src: u64, kind: u8, limit: usize) -> Result<Vec<Link>, Fault> {
        let mut newest = Newest::new(limit);
        self.for_each_link(src, kind, |dst, value| {
            newest.offer(time_of(&value)?, dst, || value);
            Ok(())
        })?;
        newest.into_sorted().into_iter().map(|(_, dst, value)| link_of(dst, &value)).collect()
    }
    fn hop(&mut self, nodes: &[u64], kind: u8, into: &mut Vec<u64>) -> Result<(), Fault> {
        for &src in nodes {
            self.for_each_link(src, kind, |dst, _| {
                into.push(dst);
                Ok(())
            })?;
        }
        Ok(())
    }
}
