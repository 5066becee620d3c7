//! SQLite: B-trees and a write-ahead log; one writer at a time, a connection a thread.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, Row, Rows, params};

use crate::{Fault, Link, LinkSession, LinkStore, Links, Node, Payload};

const PATIENCE: Duration = Duration::from_secs(60);
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS nodes (id INTEGER PRIMARY KEY, time INTEGER, version INTEGER, data TEXT);
    CREATE TABLE IF NOT EXISTS links (src INTEGER, kind INTEGER, dst INTEGER,
        time INTEGER, version INTEGER, visible INTEGER, data TEXT, PRIMARY KEY (src, kind, dst)) WITHOUT ROWID;";
const PUT_NODE: &str = "INSERT OR REPLACE INTO nodes VALUES (?1, ?2, ?3, ?4)";
const PUT_LINK: &str = "INSERT OR REPLACE INTO links VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(crate) struct Sqlite {
    path: PathBuf,
    sync: bool,
}

impl Sqlite {
    pub(crate) fn open(directory: &Path, sync: bool) -> Result<Self, Fault> {
        std::fs::create_dir_all(directory)?;
        let store = Sqlite { path: directory.join("links.sqlite"), sync };
        store.connect()?.execute_batch(SCHEMA)?;
        Ok(store)
    }

    fn connect(&self) -> Result<Connection, Fault> {
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", if self.sync { "FULL" } else { "OFF" })?;
        connection.pragma_update(None, "cache_size", -(1 << 20))?;
        connection.pragma_update(None, "mmap_size", 1_i64 << 33)?;
        Ok(connection)
    }
}

impl LinkStore for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn load(
        &self,
        nodes: &mut dyn Iterator<Item = (u64, Node)>,
        links: &mut dyn Iterator<Item = (u64, u8, Link)>,
    ) -> Result<(), Fault> {
        let mut connection = self.connect()?;
        let tx = connection.transaction()?;
        for (id, node) in nodes {
            put_node(&tx, id, &node)?;
        }
        for (src, kind, link) in links {
            put_link(&tx, src, kind, &link)?;
        }
        tx.commit()?;
        Ok(connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?)
    }

    fn session(&self) -> Result<Box<dyn LinkSession + '_>, Fault> {
        Ok(Box::new(Session(self.connect()?)))
    }
}

fn put_node(connection: &Connection, id: u64, node: &Node) -> Result<(), Fault> {
    let row = params![id as i64, node.time, node.version, node.data];
    connection.prepare_cached(PUT_NODE)?.execute(row)?;
    Ok(())
}

fn put_link(connection: &Connection, src: u64, kind: u8, link: &Link) -> Result<(), Fault> {
    let row = params![src as i64, kind, link.dst as i64, link.time, link.version, link.visible, link.data];
    connection.prepare_cached(PUT_LINK)?.execute(row)?;
    Ok(())
}

struct Session(Connection);

fn offer(row: &Row<'_>, into: &mut Links) -> Result<(), Fault> {
    let dst: i64 = row.get(0)?;
    into.offer(row.get(1)?, dst as u64, || {
        Ok(Payload { version: row.get(2)?, visible: row.get(3)?, data: row.get_ref(4)?.as_str()? })
    })
}

fn offer_all(rows: &mut Rows<'_>, into: &mut Links) -> Result<(), Fault> {
    while let Some(row) = rows.next()? {
        offer(row, into)?;
    }
    Ok(())
}

impl LinkSession for Session {
    fn node(&mut self, id: u64, into: &mut Node) -> Result<bool, Fault> {
        let mut query = self.0.prepare_cached("SELECT time, version, data FROM nodes WHERE id = ?1")?;
        let mut rows = query.query([id as i64])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        (into.time, into.version) = (row.get(0)?, row.get(1)?);
        into.data.clear();
        into.data.push_str(row.get_ref(2)?.as_str()?);
        Ok(true)
    }

    fn put_node(&mut self, id: u64, node: &Node) -> Result<(), Fault> {
        put_node(&self.0, id, node)
    }

    fn delete_node(&mut self, id: u64) -> Result<(), Fault> {
        self.0.prepare_cached("DELETE FROM nodes WHERE id = ?1")?.execute([id as i64])?;
        Ok(())
    }

    fn link(&mut self, src: u64, kind: u8, dst: u64, into: &mut Links) -> Result<(), Fault> {
        let mut query = self.0.prepare_cached(
            "SELECT dst, time, version, visible, data FROM links WHERE src = ?1 AND kind = ?2 AND dst = ?3",
        )?;
        let mut rows = query.query(params![src as i64, kind, dst as i64])?;
        offer_all(&mut rows, into)
    }

    fn put_link(&mut self, src: u64, kind: u8, link: &Link) -> Result<(), Fault> {
        put_link(&self.0, src, kind, link)
    }

    fn delete_link(&mut self, src: u64, kind: u8, dst: u64) -> Result<(), Fault> {
        let delete = "DELETE FROM links WHERE src = ?1 AND kind = ?2 AND dst = ?3";
        self.0.prepare_cached(delete)?.execute(params![src as i64, kind, dst as i64])?;
        Ok(())
    }

    fn count_links(&mut self, src: u64, kind: u8) -> Result<u64, Fault> {
        let mut query = self.0.prepare_cached("SELECT count(*) FROM links WHERE src = ?1 AND kind = ?2")?;
        let count: i64 = query.query_row(params![src as i64, kind], |row| row.get(0))?;
        Ok(count as u64)
    }

    fn links(&mut self, src: u64, kind: u8, into: &mut Links) -> Result<(), Fault> {
        let mut query = self.0.prepare_cached(
            "SELECT dst, time, version, visible, data FROM links WHERE src = ?1 AND kind = ?2",
        )?;
        let mut rows = query.query(params![src as i64, kind])?;
        offer_all(&mut rows, into)
    }

    fn hop(&mut self, nodes: &[u64], kind: u8, into: &mut Vec<u64>) -> Result<(), Fault> {
        let mut query = self.0.prepare_cached("SELECT dst FROM links WHERE src = ?1 AND kind = ?2")?;
        for &src in nodes {
            let mut rows = query.query(params![src as i64, kind])?;
            while let Some(row) = rows.next()? {
                into.push(row.get::<_, i64>(0)? as u64);
            }
        }
        Ok(())
    }
}
