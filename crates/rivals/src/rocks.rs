//! RocksDB: a log-structured merge tree.

use std::path::Path;

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, Options, ReadOptions, SliceTransform,
    WriteBatch, WriteOptions,
};

use crate::cells::{dst_of, link_key, link_value, node_value, offer, prefix, read_node};
use crate::{Fault, Link, LinkSession, LinkStore, Links, Node};

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
        mut visit: impl FnMut(u64, &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut read = ReadOptions::default();
        read.set_prefix_same_as_start(true);
        let mut entries = self.db.raw_iterator_cf_opt(self.links, read);
        entries.seek(prefix(src, kind));
        while let Some((key, value)) = entries.item() {
            visit(dst_of(key)?, value)?;
            entries.next();
        }
        Ok(entries.status()?)
    }
}

impl LinkSession for Session<'_> {
    fn node(&mut self, id: u64, into: &mut Node) -> Result<bool, Fault> {
        let value = self.db.get_pinned_cf(self.nodes, id.to_be_bytes())?;
        value.map_or(Ok(false), |value| read_node(&value, into).map(|()| true))
    }

    fn put_node(&mut self, id: u64, node: &Node) -> Result<(), Fault> {
        Ok(self.db.put_cf_opt(self.nodes, id.to_be_bytes(), node_value(node), &self.write)?)
    }

    fn delete_node(&mut self, id: u64) -> Result<(), Fault> {
        Ok(self.db.delete_cf_opt(self.nodes, id.to_be_bytes(), &self.write)?)
    }

    fn link(&mut self, src: u64, kind: u8, dst: u64, into: &mut Links) -> Result<(), Fault> {
        let value = self.db.get_pinned_cf(self.links, link_key(src, kind, dst))?;
        value.map_or(Ok(()), |value| offer(dst, &value, into))
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

    fn links(&mut self, src: u64, kind: u8, into: &mut Links) -> Result<(), Fault> {
        self.for_each_link(src, kind, |dst, value| offer(dst, value, into))
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
