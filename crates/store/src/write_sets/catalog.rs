//! The catalog: named items of bytes that are kept beside the graph and change in its transactions, such as the
//! definitions of views and the cursors of handlers.
//!
//! ```text
//!  Catalog ─► 64 shards by hash of the name ─► name: bytes        a commit copies the shards it changes,
//!                                                                 and shares the rest with the version before
//! ```
//!
//! An item is a unit of conflict as a vertex is: of two transactions that put or delete the same one, the first to
//! commit wins; a serializable transaction that read one conflicts with whoever changed it.
//!
//! An item may belong to an edge type ([`edge_type_item`]): it is the type's under any name that this is given, and goes with it.
//!
//! Invariant: an item is in the shard that the hash of its name says.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use evergraph_disk::checksum;
use evergraph_types::{EdgeTypeId, SchemaError};

use crate::error::WriteError;
use crate::transactions::transaction::Transaction;
use crate::versions::version::Version;
use crate::write_sets::codec::{Input, encode_items};

/// The most bytes one item may have.
pub const MAX_ITEM_BYTES: usize = 1 << 26;

const SHARDS: usize = 64;

/// An item's bytes as it becomes; `None` where it goes away.
pub type ItemChange = (Arc<str>, Option<Arc<[u8]>>);

/// The name of an item that belongs to an edge type: renaming the type changes nothing about it, and it goes when the type is
/// dropped.
pub fn edge_type_item(edge_type: EdgeTypeId, name: &str) -> String {
    format!("edge_type/{edge_type}/{name}")
}

type Shard = BTreeMap<Arc<str>, Arc<[u8]>>;

/// The items of a version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Catalog {
    /// None at all, or `SHARDS` of them.
    shards: Vec<Arc<Shard>>,
}

impl Catalog {
    fn shard_of(name: &str) -> usize {
        checksum(name.as_bytes()) as usize % SHARDS
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<[u8]>> {
        self.shards.get(Self::shard_of(name))?.get(name)
    }

    pub(crate) fn apply(&mut self, changes: Vec<ItemChange>) {
        if self.shards.is_empty() {
            self.shards.resize_with(SHARDS, Arc::default);
        }
        for (name, bytes) in changes {
            let shard = Arc::make_mut(&mut self.shards[Self::shard_of(&name)]);
            match bytes {
                Some(bytes) => drop(shard.insert(name, bytes)),
                None => drop(shard.remove(&name)),
            }
        }
    }

    /// Lets go of what belongs to an edge type.
    pub(crate) fn forget_edge_type(self: &mut Arc<Self>, edge_type: EdgeTypeId) {
        let items = self.with_prefix(&edge_type_item(edge_type, ""));
        let gone: Vec<ItemChange> = items.into_iter().map(|(name, _)| (name.into(), None)).collect();
        if !gone.is_empty() {
            Arc::make_mut(self).apply(gone);
        }
    }

    /// The items whose names begin with `prefix`, ascending by name.
    pub(crate) fn with_prefix(&self, prefix: &str) -> Vec<(&str, &[u8])> {
        let mut items = Vec::new();
        for shard in &self.shards {
            let found = shard.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
            let found = found.take_while(|(name, _)| name.starts_with(prefix));
            items.extend(found.map(|(name, bytes)| (&**name, &**bytes)));
        }
        items.sort_unstable_by_key(|(name, _)| *name);
        items
    }

    /// About how many bytes the items take.
    pub(crate) fn bytes(&self) -> usize {
        let items = self.shards.iter().flat_map(|shard| shard.iter());
        items.map(|(name, bytes)| name.len() + bytes.len()).sum()
    }

    /// All items as bytes, for the manifest; nothing if there is none.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let items = self.with_prefix("");
        let mut out = Vec::new();
        if !items.is_empty() {
            encode_items(items.into_iter().map(|(name, bytes)| (name, Some(bytes))), &mut out);
        }
        out
    }

    /// The catalog of these bytes; `None` if they are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut catalog = Catalog::default();
        if !bytes.is_empty() {
            let mut input = Input(bytes);
            catalog.apply(input.items()?);
            input.0.is_empty().then_some(())?;
        }
        Some(catalog)
    }
}

impl Version {
    /// The bytes of a catalog item.
    pub fn item(&self, name: &str) -> Option<&[u8]> {
        self.catalog.get(name).map(|bytes| &**bytes)
    }

    /// The catalog items whose names begin with `prefix`, ascending by name.
    pub fn items(&self, prefix: &str) -> Vec<(&str, &[u8])> {
        self.catalog.with_prefix(prefix)
    }

    /// Whether both versions have the same item objects, told without looking at bytes: `true` is certain, `false` may
    /// be said of catalogs that were written anew with the same content.
    pub fn shares_items_with(&self, other: &Version) -> bool {
        Arc::ptr_eq(&self.catalog, &other.catalog)
    }
}

impl Transaction {
    /// The bytes of a catalog item, own writes included.
    pub fn item(&self, name: &str) -> Option<Arc<[u8]>> {
        if let Some(reads) = &self.reads {
            reads.lock().items.insert(name.into());
        }
        match self.writes.items.get(name) {
            Some(written) => written.clone(),
            None => self.version.catalog.get(name).cloned(),
        }
    }

    /// Puts bytes under a name into the catalog, which is kept beside the graph and changes with it in one commit.
    ///
    /// ```
    /// # use evergraph_store::{CommitError, Options, Store};
    /// let store = Store::in_memory(Options::default());
    /// let mut tx = store.begin()?;
    /// tx.put_vertex("alice", None, &[])?;
    /// tx.put_item("import/position", b"17")?;
    /// tx.commit()?;
    /// assert_eq!(store.version()?.item("import/position"), Some(&b"17"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`WriteError::Schema`] if the name is not usable or the bytes are more than [`MAX_ITEM_BYTES`].
    pub fn put_item(&mut self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.check_writable()?;
        crate::write_sets::schema_change::check_name(name)?;
        if bytes.len() > MAX_ITEM_BYTES {
            let max = MAX_ITEM_BYTES as u64;
            return Err(SchemaError::Limit { what: "bytes of one catalog item", max }.into());
        }
        self.writes.items.insert(name.into(), Some(bytes.into()));
        Ok(())
    }

    /// Removes a catalog item. Tells whether there was one.
    ///
    /// # Errors
    /// [`WriteError::TimedOut`] after the deadline of the transaction.
    pub fn delete_item(&mut self, name: &str) -> Result<bool, WriteError> {
        self.check_writable()?;
        if self.item(name).is_none() {
            return Ok(false);
        }
        self.writes.items.insert(name.into(), None);
        Ok(true)
    }
}
